//! Facts about the digits of a sum that mixes several radices.
//!
//! `1024 k + 128 b + t == 1024 k' + 128 b' + t'` with `t < 128` and `b < 8` gives
//! `t == t'`, `b == b'` and `k == k'`: the difference `t - t'` lies between -127 and 127, and it is
//! a multiple of 128. A solver of linear arithmetic needs a long search to find this. The query
//! states it as a fact, which costs nothing.
//!
//! A digit may be small only for the threads that make the access: in `1025 r + c`, which is row `r` and
//! column `r + c` of rows of 1024, the column is below 1024 where a guard says `r + c < 1024`.

use gpurace_protocol::range::Range;

use crate::encode::Encoder;
use crate::linear::{Atom, Encoded, Formula, Lin};

/// The largest number of facts about one sum.
const MOST: usize = 24;
/// The largest depth to which parts of a sum are split.
const DEEPEST: u32 = 6;
/// The largest number of known sums that bound one part of a sum.
const MOST_KNOWN: usize = 4;

/// Returns bounds on the digits of a sum. They follow from the bounds `within` of the sum, the ranges of its unknowns
/// and what the formulas say.
pub fn cuts(encoder: &mut Encoder, sum: &Lin, within: Range, known: &[Formula]) -> Encoded<Vec<Formula>> {
    let in_digits = in_digits(encoder, sum)?;
    let mut nonpositive = Vec::new();
    for formula in known {
        formula.nonpositive(&mut nonpositive)?;
    }
    let bounds = Bounds { encoder, nonpositive };
    let mut found = Vec::new();
    for sum in [Some(sum), (in_digits != *sum).then_some(&in_digits)].into_iter().flatten() {
        let mut facts = Vec::new();
        split(&bounds, sum, within, DEEPEST, &mut facts)?;
        found.append(&mut facts);
    }
    Ok(found)
}

/// What bounds the parts of a sum.
struct Bounds<'a, 'e> {
    /// The ranges of unknowns.
    encoder: &'a Encoder<'e>,
    /// Sums that are at most 0.
    nonpositive: Vec<Lin>,
}

impl Bounds<'_, '_> {
    /// Returns the range of a sum.
    fn range(&self, sum: &Lin) -> Encoded<Range> {
        Ok(Range::new(-self.most(&sum.times(-1)?)?, self.most(sum)?))
    }

    /// Returns the largest value that a sum can have. A sum is at most what is left of it when a sum of at
    /// most 0 is taken away.
    fn most(&self, sum: &Lin) -> Encoded<i128> {
        let mut left = sum.clone();
        let mut most = self.encoder.range(sum).hi;
        for _ in 0..MOST_KNOWN {
            let mut best = None;
            for known in &self.nonpositive {
                let Some(times) = times(&left, known) else { continue };
                let rest = left.plus(-times, known)?;
                let hi = self.encoder.range(&rest).hi;
                if hi < most {
                    most = hi;
                    best = Some(rest);
                }
            }
            let Some(rest) = best else { break };
            left = rest;
        }
        Ok(most)
    }
}

/// Returns how many times `known` must be taken from `sum` so that an unknown of both goes.
fn times(sum: &Lin, known: &Lin) -> Option<i128> {
    known.terms.iter().find_map(|(atom, by)| {
        let (_, c) = sum.terms.iter().find(|(of, _)| of == atom)?;
        (c % by == 0 && c / by > 0).then_some(c / by)
    })
}

/// Adds to `found` the ranges of the digits of a sum that is `within` a range: of the highest digit, then of the rest.
fn split(bounds: &Bounds, sum: &Lin, within: Range, depth: u32, found: &mut Vec<Formula>) -> Encoded<()> {
    if depth == 0 || sum.terms.len() < 2 {
        return Ok(());
    }
    let mut radices: Vec<_> = sum.terms.iter().map(|(_, c)| c.abs()).filter(|c| *c > 1).collect();
    radices.sort_unstable();
    radices.dedup();
    for radix in radices.into_iter().rev() {
        if found.len() >= MOST {
            return Ok(());
        }
        let (high, low) = parts(sum, radix);
        let (own, rest) = (bounds.range(&high)?, bounds.range(&low)?);
        if !rest.bounded() || !within.bounded() {
            continue;
        }
        let least = -(rest.hi - within.lo).div_euclid(radix);
        let most = (within.hi - rest.lo).div_euclid(radix);
        if least <= own.lo && own.hi <= most {
            continue;
        }
        if least > most {
            found.push(Formula::False);
            return Ok(());
        }
        let digits = Range::new(least, most);
        found.push(Formula::within(&high, digits)?);
        split(bounds, &high, Range::new(least.max(own.lo), most.min(own.hi)), depth - 1, found)?;
        if least == most {
            let left = Range::new(within.lo - radix * least, within.hi - radix * least);
            return split(bounds, &low, left, depth - 1, found);
        }
    }
    Ok(())
}

/// Returns `high` and `low` with `sum == radix * high + low`. A factor goes to `high` if it is nearly a multiple of the
/// radix: `1025 r` is a digit `r` of 1024, and `r`. Else all of it stays in `low`: half a radix is a digit of its own.
fn parts(sum: &Lin, radix: i128) -> (Lin, Lin) {
    let mut high = Lin::default();
    let mut low = Lin::constant(sum.constant);
    for &(atom, c) in &sum.terms {
        let nearest = (2 * c + radix).div_euclid(2 * radix);
        let digit = if 4 * (c - nearest * radix).abs() <= radix { nearest } else { 0 };
        high.terms.extend((digit != 0).then_some((atom, digit)));
        low.terms.extend((c != digit * radix).then_some((atom, c - digit * radix)));
    }
    (high, low)
}

/// Returns the sum, with each dividend of a division by a positive constant written as quotient and
/// remainder: `2 t - (t mod 8)`, which is `t + 8 q` for the solver, as `16 q + r`, and
/// `b + 64 ((a + b) mod 8)`, which is `64 a + 65 b - 512 q`, as `b + 64 r`.
fn in_digits(encoder: &mut Encoder, sum: &Lin) -> Encoded<Lin> {
    let divided = encoder.seen.divided.iter().filter(|(q, _)| sum.terms.iter().any(|(atom, _)| atom == *q));
    let divided: Vec<_> = divided.map(|(q, (x, by))| (x.clone(), *by, *q)).collect();
    let mut sum = sum.clone();
    for (x, by, q) in divided {
        // The factor of the whole dividend in the sum; if it is not there as a whole, the factor of
        // the remainder.
        let of = |wanted: Atom| sum.terms.iter().find(|(atom, _)| *atom == wanted).map_or(0, |(_, c)| *c);
        let Some((first, c)) = x.terms.first() else { continue };
        let all = of(*first) / c;
        let whole = all != 0 && x.terms.iter().all(|(atom, c)| of(*atom) == c * all);
        let times = if whole { all } else { -of(q) / by };
        if times == 0 || !whole && of(q) % by != 0 {
            continue;
        }
        let r = Lin::atom(encoder.fresh("digit", Range::new(0, by - 1)));
        let digits = Lin::atom(q).times(by)?.plus(1, &r)?;
        let fact = Formula::eq(&x, &digits)?;
        encoder.facts.push(fact);
        sum = sum.plus(-times, &x)?.plus(times, &digits)?;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use gpurace_protocol::expr::Exprs;
    use gpurace_protocol::group::Group;
    use gpurace_protocol::protocol::Protocol;

    use super::*;
    use crate::encode::{Setting, Wrap};

    /// True if the formula holds for these values.
    fn holds(formula: &Formula, values: &[i128]) -> bool {
        let value = |lin: &Lin| {
            lin.terms.iter().map(|(Atom(i), c)| c * values[*i as usize]).sum::<i128>() + lin.constant
        };
        match formula {
            Formula::True => true,
            Formula::False => false,
            Formula::Nonpositive(lin) => value(lin) <= 0,
            Formula::Zero(lin) => value(lin) == 0,
            Formula::Not(inner) => !holds(inner, values),
            Formula::All(parts) => parts.iter().all(|part| holds(part, values)),
            Formula::Any(parts) => parts.iter().any(|part| holds(part, values)),
        }
    }

    /// Returns the facts about `sum of factors * unknowns + constant`. Each term is a factor and
    /// the range of its unknown. Each known sum, which is at most 0, is a constant and the factors of its unknowns.
    fn facts(
        terms: &[(i128, i128, i128)],
        constant: i128,
        within: Range,
        known: &[(i128, Vec<i128>)],
    ) -> Vec<Formula> {
        let (protocol, exprs, next) = (Protocol::default(), Exprs::default(), HashMap::new());
        let setting = Setting {
            protocol: &protocol,
            exprs: &exprs,
            launch: None,
            wrap: Wrap::Exact,
            next: &next,
            handed: &Default::default(),
            last: &Default::default(),
        };
        let mut encoder = Encoder::new(setting, Group::Block);
        let small = "the numbers are small";
        let atoms: Vec<_> =
            terms.iter().map(|(_, lo, hi)| encoder.fresh("x", Range::new(*lo, *hi))).collect();
        let sum = |constant, factors: &mut dyn Iterator<Item = i128>| {
            let start = Lin::constant(constant);
            factors.zip(&atoms).fold(start, |sum, (c, atom)| sum.plus(c, &Lin::atom(*atom)).expect(small))
        };
        let known: Vec<_> = known
            .iter()
            .map(|(c, factors)| {
                Formula::le(&sum(*c, &mut factors.iter().copied()), &Lin::default()).expect(small)
            })
            .collect();
        let sum = sum(constant, &mut terms.iter().map(|(c, ..)| *c));
        cuts(&mut encoder, &sum, within, &known).expect(small)
    }

    /// Returns all combinations of values of the unknowns.
    fn all(terms: &[(i128, i128, i128)]) -> Vec<Vec<i128>> {
        terms.iter().fold(vec![Vec::new()], |known, (_, lo, hi)| {
            known.iter().flat_map(|v| (*lo..=*hi).map(move |x| [v.as_slice(), &[x]].concat())).collect()
        })
    }

    #[test]
    fn each_digit_is_told() {
        let terms = [(32, 0, 3), (4, 0, 7), (1, 0, 3), (-32, 0, 3), (-4, 0, 7), (-1, 0, 3)];
        let found = facts(&terms, 0, Range::one(0), &[]);
        for values in all(&terms) {
            let same = values[..3] == values[3..];
            assert_eq!(
                found.iter().all(|fact| holds(fact, &values)) && digit_sum(&terms, &values) == 0,
                same
            );
        }
        // With one digit too many, different digits have equal sums. No fact may exclude that.
        let terms = [(4, 0, 7), (1, 0, 4), (-4, 0, 7), (-1, 0, 4)];
        let found = facts(&terms, 0, Range::one(0), &[]);
        assert!(found.iter().all(|fact| holds(fact, &[0, 4, 1, 0])));
    }

    fn digit_sum(terms: &[(i128, i128, i128)], values: &[i128]) -> i128 {
        terms.iter().zip(values).map(|((factor, ..), value)| factor * value).sum()
    }

    #[test]
    fn what_is_known_bounds_a_digit() {
        // Rows of 4: `5 r + k` is row `r`, column `r + k`, which a guard keeps below 4.
        let terms = [(5, 0, 3), (1, 0, 9), (-4, 0, 3), (-1, 0, 3)];
        let same_place = |values: &[i128]| values[0] == values[2] && values[0] + values[1] == values[3];
        let told = |most: i128| {
            let found = facts(&terms, 0, Range::one(0), &[(-most, vec![1, 1, 0, 0])]);
            move |values: &[i128]| found.iter().all(|fact| holds(fact, values))
        };
        let (inside, beyond) = (told(3), told(4));
        for values in all(&terms).into_iter().filter(|values| digit_sum(&terms, values) == 0) {
            if values[0] + values[1] <= 3 {
                assert!(same_place(&values) && inside(&values), "{values:?}");
            } else {
                assert!(!inside(&values), "{values:?}");
            }
            assert!(values[0] + values[1] > 4 || beyond(&values), "{values:?}");
        }
    }

    #[test]
    fn no_solution_is_excluded() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below) as i128
        };
        let mut told = 0;
        for _ in 0..3000 {
            let terms: Vec<_> = (0..2 + random(3))
                .map(|_| {
                    let factor = [1, 2, 3, 4, 6, 8, 12, 16][random(8) as usize] * (1 - 2 * random(2));
                    let lo = random(5) - 2;
                    (factor, lo, lo + random(5))
                })
                .collect();
            let constant = random(9) - 4;
            let lo = random(9) - 4;
            let within = Range::new(lo, lo + random(4));
            let known: Vec<_> = (0..random(3))
                .map(|_| (random(9) - 4, terms.iter().map(|_| random(7) - 3).collect::<Vec<_>>()))
                .collect();
            let found = facts(&terms, constant, within, &known);
            told += usize::from(!found.is_empty());
            for values in all(&terms) {
                let sum = digit_sum(&terms, &values) + constant;
                let is_possible = known.iter().all(|(c, factors)| {
                    c + factors.iter().zip(&values).map(|(factor, value)| factor * value).sum::<i128>() <= 0
                });
                if within.lo <= sum && sum <= within.hi && is_possible {
                    assert!(
                        found.iter().all(|fact| holds(fact, &values)),
                        "{terms:?} + {constant} in {within:?}"
                    );
                }
            }
        }
        assert!(told > 1000, "{told}");
    }
}
