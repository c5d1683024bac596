//! Quotients and remainders as linear terms. Each is one unknown, with the facts that define it.

use gpurace_protocol::expr::{BinOp, Width};
use gpurace_protocol::range::{Range, View};

use crate::encode::{Division, Encoder};
use crate::linear::{Encoded, Formula, Lin, TooBig, gcd};

/// The largest number of quotients that are compared with each other.
const MOST_COMPARED: usize = 4;

impl Encoder<'_> {
    /// Returns the quotient and remainder of a division by a positive constant. The remainder is
    /// not negative.
    pub(crate) fn divide(&mut self, x: &Lin, by: i128) -> Encoded<(Lin, Lin)> {
        if by == 1 {
            return Ok((x.clone(), Lin::constant(0)));
        }
        // Terms that are multiples of the divisor need no new unknown.
        let (whole, rest) = x.split(by);
        let range = self.range(&rest);
        if range.lo >= 0 && range.hi < by {
            return Ok((whole, rest));
        }
        if rest.terms.is_empty() {
            return Ok((whole, rest));
        }
        let key = Division::new(rest.clone(), Lin::constant(by));
        let (q, r) = match self.seen.quotients.get(&key) {
            Some(known) => known.clone(),
            None => {
                let both = self.divide_anew(&rest, by)?;
                self.seen.quotients.insert(key, both.clone());
                both
            }
        };
        Ok((whole.plus(1, &q)?, r))
    }

    /// Returns the quotient and remainder of a division that was not asked for before.
    fn divide_anew(&mut self, x: &Lin, by: i128) -> Encoded<(Lin, Lin)> {
        if let Some(both) = self.by_larger_quotient(x, by)? {
            return Ok(both);
        }
        // A digit below a factor of the divisor stays in the remainder:
        // (g h + l) / by == h / (by / g), where 0 <= l < g.
        if let Some((g, high, low)) = self.low_digit(x, by) {
            let (q, r) = self.divide(&high, by / g)?;
            return Ok((q, r.times(g)?.plus(1, &low)?));
        }
        // If the dividend and the divisor have a common factor, both are divided by it first.
        let g = gcd(x.gcd(), by);
        if g > 1 {
            let low = x.constant.rem_euclid(g);
            let small = Lin {
                constant: (x.constant - low) / g,
                terms: x.terms.iter().map(|(a, c)| (*a, c / g)).collect(),
            };
            let (q, r) = self.divide(&small, by / g)?;
            return Ok((q, r.times(g)?.shifted(low)?));
        }
        let range = self.range(x);
        if !range.bounded() {
            return Err(TooBig);
        }
        if let Some(both) = self.by_smaller_quotient(x, by)? {
            return Ok(both);
        }
        let range = Range::new(range.lo.div_euclid(by), range.hi.div_euclid(by));
        let q = match self.constant_cases(x) {
            Some(cases) => {
                let quotient = |(at, c): (Formula, i128)| (at, Lin::constant(c.div_euclid(by)));
                self.by_cases("quotient", cases.into_iter().map(quotient).collect(), range)?
            }
            None => {
                let q = self.fresh("quotient", range);
                self.seen.divided.insert(q, (x.clone(), by));
                Lin::atom(q)
            }
        };
        let r = x.plus(-by, &q)?;
        self.facts.push(Formula::within(&r, Range::new(0, by - 1))?);
        Ok((q, r))
    }

    /// Returns quotient and remainder if `x` was divided before by a number that divides `by`: x / (m n) == x / m / n.
    /// So a thread's index has the same digits wherever they come from: `i % nx`, `i / nx % ny`, `i / (nx * ny)`.
    fn by_larger_quotient(&mut self, x: &Lin, by: i128) -> Encoded<Option<(Lin, Lin)>> {
        let known = self.known_quotients(x).filter(|(other, _)| by % other == 0);
        let Some((other, (q, r))) = known.max_by_key(|(other, _)| *other) else { return Ok(None) };
        let (quotient, digit) = self.divide(&q, by / other)?;
        Ok(Some((quotient, r.plus(other, &digit)?)))
    }

    /// Returns quotient and remainder if `x` was divided before by a multiple of `by`: x / m == n (x / (m n)) + a digit
    /// below n.
    fn by_smaller_quotient(&mut self, x: &Lin, by: i128) -> Encoded<Option<(Lin, Lin)>> {
        let known = self.known_quotients(x).filter(|(other, _)| other % by == 0);
        let Some((other, (q, _))) = known.min_by_key(|(other, _)| *other) else { return Ok(None) };
        let mut digit = |below: i128| Lin::atom(self.fresh("digit", Range::new(0, below - 1)));
        let (quotient, rest) = (digit(other / by).plus(other / by, &q)?, digit(by));
        self.facts.push(Formula::eq(x, &quotient.times(by)?.plus(1, &rest)?)?);
        Ok(Some((quotient, rest)))
    }

    /// Returns the constants above 1 that `x` was divided by, with quotient and remainder.
    fn known_quotients(&self, x: &Lin) -> impl Iterator<Item = (i128, (Lin, Lin))> {
        let known = self.seen.quotients.iter().filter(move |(division, _)| {
            division.x == *x && !division.towards_zero && division.otherwise.is_none()
        });
        let known = known.filter_map(|(division, both)| Some((division.by.as_constant()?, both.clone())));
        known.filter(|(other, _)| *other > 1)
    }

    /// Returns the range of a sum that contains a remainder `x - by * q`, which lies between 0 and `by - 1`.
    pub(crate) fn with_remainder(&self, sum: &Lin) -> Option<Range> {
        sum.terms.iter().find_map(|(q, c)| {
            let (x, by) = self.seen.divided.get(q)?;
            let times = (c % by == 0).then_some(-c / by)?;
            let rest = sum.plus(-times, x).ok()?.plus(times * by, &Lin::atom(*q)).ok()?;
            let is_smaller = rest.terms.len() + x.terms.len() < sum.terms.len();
            is_smaller.then(|| self.range(&rest).plus(Range::new(0, by - 1).times(Range::one(times))))
        })
    }

    /// Splits `x` into `g * high + low`, where `0 <= low < g` and `g` divides `by`.
    fn low_digit(&self, x: &Lin, by: i128) -> Option<(i128, Lin, Lin)> {
        let mut radices: Vec<_> =
            x.terms.iter().map(|(_, c)| c.abs()).filter(|c| *c > 1 && by % c == 0).collect();
        radices.sort_unstable();
        radices.dedup();
        radices.into_iter().rev().find_map(|g| {
            let (high, low) = x.split(g);
            let range = self.range(&low);
            (!low.terms.is_empty() && range.lo >= 0 && range.hi < g).then_some((g, high, low))
        })
    }

    /// Returns the quotient, rounded towards zero, and its remainder. Both are unknown if the
    /// divisor is not positive. With `Unsigned` the dividend is not negative.
    pub(crate) fn divide_by(
        &mut self,
        x: &Lin,
        by: &Lin,
        view: View,
        op: BinOp,
        width: Width,
    ) -> Encoded<(Lin, Lin)> {
        let floor = view == View::Unsigned || self.range(x).lo >= 0;
        if let Some(c) = by.as_constant()
            && c >= 1
            && floor
        {
            return self.divide(x, c);
        }
        let positive = self.range(by).lo >= 1;
        let key = Division {
            towards_zero: !floor,
            otherwise: (!positive).then_some((matches!(op, BinOp::SDiv | BinOp::SRem), width)),
            ..Division::new(x.clone(), by.clone())
        };
        if let Some(known) = self.seen.quotients.get(&key) {
            return Ok(known.clone());
        }
        // A divisor with few constant values gets one case for each value.
        if let Some(cases) = self.constant_cases(by)
            && floor
            && cases.iter().all(|(_, c)| *c >= 0)
        {
            let both = self.divide_by_each(x, cases, View::Unsigned.all(width))?;
            self.seen.quotients.insert(key, both.clone());
            return Ok(both);
        }
        // Neither is further from 0 than the dividend, or any value.
        let all = View::Signed.all(width).hull(View::Unsigned.all(width)).hull(self.range(x));
        let q = Lin::atom(self.fresh("quotient", all));
        let r = Lin::atom(self.fresh("remainder", all));
        let whole = self.product(&q, by)?;
        let divides = Formula::all([Formula::eq(x, &whole.plus(1, &r)?)?, rounds(x, by, &q, &r)?]);
        self.facts.push(Formula::le(&Lin::constant(1), by)?.implies(divides));
        if floor {
            self.compare_quotients(x, by, &q)?;
        }
        self.seen.quotients.insert(key, (q.clone(), r.clone()));
        Ok((q, r))
    }

    /// Returns the quotient and remainder by a divisor with these values, of which those above 0 have a case each.
    fn divide_by_each(&mut self, x: &Lin, cases: Vec<(Formula, i128)>, all: Range) -> Encoded<(Lin, Lin)> {
        let (mut quotients, mut remainders) = (Vec::new(), Vec::new());
        for (at, c) in cases.into_iter().filter(|(_, c)| *c >= 1) {
            let (q, r) = self.divide(x, c)?;
            quotients.push((at.clone(), q));
            remainders.push((at, r));
        }
        Ok((self.by_cases("quotient", quotients, all)?, self.by_cases("remainder", remainders, all)?))
    }

    /// Adds facts about quotients by one divisor. A larger dividend has no smaller quotient. If the dividend grows by
    /// the divisor, the quotient grows by one.
    fn compare_quotients(&mut self, x: &Lin, by: &Lin, q: &Lin) -> Encoded<()> {
        let alike = self.seen.quotients.iter().filter(|(other, _)| other.by == *by && !other.towards_zero);
        let mut alike: Vec<(Lin, Lin)> = alike.map(|(other, (q, _))| (other.x.clone(), q.clone())).collect();
        alike.sort_unstable();
        let zero = Lin::constant(0);
        for (other, its) in alike.iter().take(MOST_COMPARED) {
            let given = Formula::all([
                Formula::le(&Lin::constant(1), by)?,
                Formula::le(&zero, x)?,
                Formula::le(&zero, other)?,
            ]);
            for ((low, p), (high, q)) in [((x, q), (other, its)), ((other, its), (x, q))] {
                let (next, after) = (low.plus(1, by)?, p.shifted(1)?);
                let grows = Formula::le(low, high)?.implies(Formula::le(p, q)?);
                let far = Formula::le(&next, high)?.implies(Formula::le(&after, q)?);
                let near = Formula::le(high, &next)?.implies(Formula::le(q, &after)?);
                self.facts.extend([grows, far, near].map(|fact| given.clone().implies(fact)));
            }
        }
        Ok(())
    }
}

/// Returns the formula that a quotient is rounded towards zero, and its remainder has the dividend's sign.
fn rounds(x: &Lin, by: &Lin, q: &Lin, r: &Lin) -> Encoded<Formula> {
    let zero = Lin::constant(0);
    Ok(Formula::any([
        Formula::all([
            Formula::le(&zero, x)?,
            Formula::le(&zero, r)?,
            Formula::lt(r, by)?,
            Formula::le(&zero, q)?,
            Formula::le(q, x)?,
        ]),
        Formula::all([
            Formula::lt(x, &zero)?,
            Formula::le(r, &zero)?,
            Formula::lt(&zero.minus(by)?, r)?,
            Formula::le(q, &zero)?,
            Formula::le(x, q)?,
        ]),
    ]))
}
