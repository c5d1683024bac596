//! Expressions that are linear over the bits of other expressions: each bit is the exclusive or of some
//! bits. Exclusive or, shifts by constants, constant masks, and sums and unions of disjoint bits are of
//! this kind; so are bit reversal, Gray codes, Morton codes and swizzled indices.
//!
//! # The rule
//! If the columns of the matrix are independent, different bits of the operands give different values.
//! Only the bits that the operands' ranges allow have columns. The prover says so of two threads that
//! compute such a value: equal values have equal operands. Operands that are equal anyway, like a mask
//! that all threads have, need no columns.

use std::collections::HashMap;

use gpurace_protocol::expr::{BinOp, Cast, Expr, ExprId, Width};
use gpurace_protocol::range::{Range, View};

use crate::bits::{MOST_BITS, MOST_FIELDS, fields};
use crate::encode::{Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin};

/// The largest number of operands.
const MOST_OPERANDS: usize = 4;
/// The largest number of bits of one exclusive or.
const MOST_SUMMANDS: usize = 12;
/// The largest number of values of one kind that are compared with each other.
const MOST_COMPARED: usize = 6;

/// A bit: the exclusive or of bits of operands, and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Parity {
    /// Operands, by their numbers, and the number of the bit. In order.
    of: Vec<(usize, u32)>,
    flipped: bool,
}

impl Parity {
    fn constant(bit: bool) -> Self {
        Self { of: Vec::new(), flipped: bit }
    }

    fn as_constant(&self) -> Option<bool> {
        self.of.is_empty().then_some(self.flipped)
    }

    /// Returns the exclusive or.
    fn plus(&self, other: &Self) -> Self {
        let (own, others) = (self.of.iter(), other.of.iter());
        let alone = |bits: &[(usize, u32)], bit| !bits.contains(bit);
        let mut of: Vec<_> = own.filter(|bit| alone(&other.of, bit)).copied().collect();
        of.extend(others.filter(|bit| alone(&self.of, bit)));
        of.sort_unstable();
        Self { of, flipped: self.flipped != other.flipped }
    }
}

/// A value whose bits are parities, from the lowest bit on, and the number of bits of each operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Parities {
    bits: Vec<Parity>,
    operands: Vec<u32>,
}

impl Parities {
    /// True if different operands of this set, a mask of their numbers, give different values, as long as
    /// the other operands are equal.
    fn is_injective_in(&self, set: u32) -> bool {
        let mut rows: Vec<u64> = Vec::new();
        for (operand, count) in self.operands.iter().enumerate() {
            if set >> operand & 1 == 0 {
                continue;
            }
            for bit in 0..*count {
                let mut column = 0;
                for (at, parity) in self.bits.iter().enumerate() {
                    column |= u64::from(parity.of.contains(&(operand, bit))) << at;
                }
                for row in &rows {
                    column = column.min(column ^ row);
                }
                if column == 0 {
                    return false;
                }
                rows.push(column);
            }
        }
        true
    }

    /// The width, if each bit is the exclusive or of the operands' bits at that place.
    fn of_whole_operands(&self) -> Option<Width> {
        let at = |place: usize| {
            let has = |(_, count): &(usize, &u32)| place < **count as usize;
            let of = self.operands.iter().enumerate().filter(has).map(|(operand, _)| (operand, place as u32));
            Parity { of: of.collect(), flipped: false }
        };
        let whole = self.bits.iter().enumerate().all(|(place, bit)| *bit == at(place));
        Width::from_bits(self.bits.len() as u32).filter(|_| whole)
    }

    /// The largest sets of operands, as masks of their numbers, in which the value is injective.
    fn injective_sets(&self) -> Vec<u32> {
        let mut sets: Vec<u32> = (1..1 << self.operands.len()).collect();
        sets.sort_by_key(|set| std::cmp::Reverse(set.count_ones()));
        let mut found: Vec<u32> = Vec::new();
        for set in sets {
            if !found.iter().any(|known| known & set == set) && self.is_injective_in(set) {
                found.push(set);
            }
        }
        found
    }
}

/// A value of one thread, and its operands.
pub(crate) struct ParityValue {
    shape: Parities,
    operands: Vec<Lin>,
    value: Lin,
    in_bits: Option<InBits>,
}

/// Terms with their bits, from the lowest one on.
struct InBits {
    operands: Vec<(Lin, Vec<Lin>)>,
    value: (Lin, Vec<Lin>),
}

/// Parities under construction.
struct ParityMaker {
    /// The whole expression.
    whole: ExprId,
    known: HashMap<ExprId, Vec<Parity>>,
    operands: Vec<(Lin, u32)>,
    /// Set if a mask has many runs of bits, or bits are mixed.
    hard: bool,
}

impl<'a> Encoder<'a> {
    /// Returns the value of an expression that is linear over bits, if the encoding by divisions does not
    /// suit it.
    pub(crate) fn parities(&mut self, f: &mut Frame<'a>, id: ExprId) -> Encoded<Option<Lin>> {
        if !self.mixes_bits(id) {
            return Ok(None);
        }
        let mut maker = ParityMaker { whole: id, known: HashMap::new(), operands: Vec::new(), hard: false };
        let Some(bits) = self.parities_of(f, &mut maker, id)? else { return Ok(None) };
        let ParityMaker { operands, hard, .. } = maker;
        if !hard {
            return Ok(None);
        }
        let Some((shape, operands)) = used(bits, operands) else { return Ok(None) };
        let known = self.seen.parity_values.iter().find(|v| v.shape == shape && v.operands == operands);
        if let Some(known) = known {
            return Ok(Some(known.value.clone()));
        }
        let (value, in_bits) = self.parity_value(&shape, &operands)?;
        let new = ParityValue { shape, operands, value: value.clone(), in_bits };
        for other in self.seen.parity_values.iter().take(MOST_COMPARED) {
            if other.shape == new.shape {
                self.facts.extend(equal_operands(other, &new)?);
            }
            self.facts.extend(equal_bits(other, &new)?);
        }
        self.seen.parity_values.push(new);
        Ok(Some(value))
    }

    /// True if the encoding of the expression by divisions may be hard. It looks only at operators.
    fn mixes_bits(&mut self, id: ExprId) -> bool {
        if let Some(known) = self.seen.mixes.get(&id) {
            return *known;
        }
        let exprs = self.setting.exprs;
        let mixes = match exprs.get(id) {
            Expr::Bin(BinOp::Xor, a, b) if exprs.as_const(a).is_none() && exprs.as_const(b).is_none() => {
                exprs.width(a) != Width::W1
            }
            Expr::Bin(BinOp::And, a, b) => {
                let many = |mask| fields(i128::from(mask)).len() > MOST_FIELDS;
                exprs.as_const(b).is_some_and(many) || self.mixes_bits(a) || self.mixes_bits(b)
            }
            Expr::Bin(BinOp::Xor | BinOp::Or | BinOp::Add, a, b) => self.mixes_bits(a) || self.mixes_bits(b),
            Expr::Bin(BinOp::Shl | BinOp::LShr | BinOp::Mul | BinOp::UDiv | BinOp::URem, a, _)
            | Expr::Cast(_, _, a) => self.mixes_bits(a),
            _ => false,
        };
        self.seen.mixes.insert(id, mixes);
        mixes
    }

    /// Returns the bits of an expression. `None` if there are too many operands, or if one has few values
    /// that another encoding treats one by one.
    fn parities_of(
        &mut self,
        f: &mut Frame<'a>,
        maker: &mut ParityMaker,
        id: ExprId,
    ) -> Encoded<Option<Vec<Parity>>> {
        if let Some(known) = maker.known.get(&id) {
            return Ok(Some(known.clone()));
        }
        let exprs = self.setting.exprs;
        let width = exprs.width(id).bits() as usize;
        let bits = match exprs.get(id) {
            Expr::Const { bits, .. } => {
                Some((0..width).map(|i| Parity::constant(bits >> i & 1 == 1)).collect())
            }
            Expr::Bin(op @ (BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Add), a, b) if width > 1 => {
                let Some(x) = self.parities_of(f, maker, a)? else { return Ok(None) };
                let Some(y) = self.parities_of(f, maker, b)? else { return Ok(None) };
                if let (BinOp::And, Some(mask)) = (op, exprs.as_const(b)) {
                    maker.hard |= fields(i128::from(mask)).len() > MOST_FIELDS;
                }
                if op == BinOp::Xor {
                    maker.hard |= x.iter().zip(&y).any(|(p, q)| !p.of.is_empty() && !q.of.is_empty());
                }
                x.iter().zip(&y).map(|(p, q)| joined(op, p, q)).collect()
            }
            Expr::Bin(op @ (BinOp::Shl | BinOp::LShr | BinOp::Mul | BinOp::UDiv | BinOp::URem), a, b)
                if width > 1 =>
            {
                match self.shift(f, op, b)? {
                    None => None,
                    Some(by) => {
                        let Some(x) = self.parities_of(f, maker, a)? else { return Ok(None) };
                        Some(shifted(op, &x, by))
                    }
                }
            }
            Expr::Cast(cast, _, a) if exprs.width(a) != Width::W1 && width > 1 => {
                let Some(x) = self.parities_of(f, maker, a)? else { return Ok(None) };
                let top = if cast == Cast::Sext { x[x.len() - 1].clone() } else { Parity::default() };
                Some((0..width).map(|i| x.get(i).unwrap_or(&top).clone()).collect())
            }
            _ => None,
        };
        let bits = match bits {
            Some(bits) => bits,
            None => match self.operand(f, maker, id)? {
                Some(bits) => bits,
                None => return Ok(None),
            },
        };
        if bits.iter().any(|parity| parity.of.len() > MOST_SUMMANDS) {
            return Ok(None);
        }
        maker.known.insert(id, bits.clone());
        Ok(Some(bits))
    }

    /// Returns the number of bits by which an operator moves its first operand's bits, or which it leaves of them, if
    /// that is known.
    fn shift(&mut self, f: &mut Frame<'a>, op: BinOp, by: ExprId) -> Encoded<Option<usize>> {
        Ok(match op {
            // A launch may give the amount of a shift.
            BinOp::Shl | BinOp::LShr => {
                let by = self.computed(f, by, View::Unsigned)?.as_constant();
                by.and_then(|by| usize::try_from(by).ok())
            }
            _ => {
                let power = self.setting.exprs.as_const(by).filter(|by| by.is_power_of_two());
                power.map(|by| by.trailing_zeros() as usize)
            }
        })
    }

    /// Returns the bits of an expression that is not linear over other bits.
    fn operand(
        &mut self,
        f: &mut Frame<'a>,
        maker: &mut ParityMaker,
        id: ExprId,
    ) -> Encoded<Option<Vec<Parity>>> {
        if id == maker.whole {
            return Ok(None);
        }
        let width = self.setting.exprs.width(id);
        let value = self.computed(f, id, View::Unsigned)?;
        if let Some(c) = value.as_constant() {
            // A condition of the proof may rule it out.
            let held = View::Unsigned.all(width);
            return Ok(Range::one(c)
                .within(held)
                .then(|| (0..width.bits()).map(|i| Parity::constant(c >> i & 1 == 1)).collect()));
        }
        if self.constant_cases(&value).is_some() {
            return Ok(None);
        }
        let range = f.ranges.computed(id, View::Unsigned);
        let most = range.hi.min(self.range(&value).hi).max(0);
        let count = (128 - most.leading_zeros()).min(width.bits());
        let known = maker.operands.iter().position(|known| *known == (value.clone(), count));
        let number = known.unwrap_or(maker.operands.len());
        if known.is_none() {
            maker.operands.push((value, count));
        }
        let bit =
            |i| if i < count { Parity { of: vec![(number, i)], flipped: false } } else { Parity::default() };
        Ok(Some((0..width.bits()).map(bit).collect()))
    }

    /// Returns the value of these operands: bit by bit, unless there are too many bits.
    fn parity_value(&mut self, shape: &Parities, operands: &[Lin]) -> Encoded<(Lin, Option<InBits>)> {
        let all: u32 = shape.operands.iter().sum();
        let highest = shape.bits.iter().rposition(|parity| parity.as_constant() != Some(false));
        let mixed = shape.bits.iter().any(|parity| parity.of.len() > 1);
        if mixed && all > MOST_BITS {
            if let [x, y] = operands
                && let Some(width) = shape.of_whole_operands()
            {
                return Ok((self.by_common_bits(BinOp::Xor, x, y, width)?, None));
            }
            let most = highest.map_or(0, |at| (2i128 << at) - 1);
            return Ok((Lin::atom(self.fresh("bits", Range::new(0, most))), None));
        }
        let mut of_operands = Vec::new();
        for (value, count) in operands.iter().zip(&shape.operands) {
            let bits = self.bits_of(value, *count)?;
            of_operands.push(bits);
        }
        let mut pairs = HashMap::new();
        let mut bits = Vec::new();
        for parity in &shape.bits[..highest.map_or(0, |at| at + 1)] {
            let mut of = parity.of.iter().map(|&(operand, i)| of_operands[operand][i as usize].clone());
            let mut bit = of.next().unwrap_or_default();
            for next in of {
                bit = self.exclusive_or(&mut pairs, bit, next)?;
            }
            bits.push(if parity.flipped { Lin::constant(1).minus(&bit)? } else { bit });
        }
        let mut sum = Lin::default();
        for (at, bit) in bits.iter().enumerate() {
            sum = sum.plus(1 << at, bit)?;
        }
        let operands = operands.iter().cloned().zip(of_operands).collect();
        Ok((sum.clone(), Some(InBits { operands, value: (sum, bits) })))
    }

    /// Returns the exclusive or of two bits. `known` has those of pairs.
    fn exclusive_or(&mut self, known: &mut HashMap<(Lin, Lin), Lin>, bit: Lin, other: Lin) -> Encoded<Lin> {
        let pair = (bit, other);
        if let Some(known) = known.get(&pair) {
            return Ok(known.clone());
        }
        let one = Lin::constant(1);
        let differ = Formula::differ(Formula::eq(&pair.0, &one)?, Formula::eq(&pair.1, &one)?);
        let made = self.bit_of(differ)?;
        known.insert(pair, made.clone());
        Ok(made)
    }
}

/// The facts that terms of two values have equal bits if they are equal: an index and the other one's
/// mirror image, or two values of different kinds.
fn equal_bits(a: &ParityValue, b: &ParityValue) -> Encoded<Vec<Formula>> {
    let mut facts = Vec::new();
    let mut compare = |(x, p): &(Lin, Vec<Lin>), (y, q): &(Lin, Vec<Lin>)| {
        // An operand has its bits, as long as it has no more.
        let has = |value, bits: &[Lin]| Formula::within(value, Range::new(0, (1i128 << bits.len()) - 1));
        let given = [Formula::eq(x, y)?, has(x, p)?, has(y, q)?];
        let zero = Lin::default();
        let bit = |bits: &[Lin], at: usize| bits.get(at).unwrap_or(&zero).clone();
        let all = 0..p.len().max(q.len());
        let same: Vec<Formula> =
            all.map(|at| Formula::eq(&bit(p, at), &bit(q, at))).collect::<Encoded<_>>()?;
        facts.push(Formula::all(given).implies(Formula::all(same)));
        Ok(())
    };
    let (Some(x), Some(y)) = (&a.in_bits, &b.in_bits) else { return Ok(facts) };
    if let ([x_operand], [y_operand]) = (&x.operands[..], &y.operands[..]) {
        compare(x_operand, &y.value)?;
        compare(&x.value, y_operand)?;
    }
    if a.shape != b.shape {
        compare(&x.value, &y.value)?;
    }
    Ok(facts)
}

/// Returns the value over the operands that its bits use. `None` if there are too many.
fn used(mut bits: Vec<Parity>, operands: Vec<(Lin, u32)>) -> Option<(Parities, Vec<Lin>)> {
    let mut numbers: Vec<usize> =
        bits.iter().flat_map(|p| p.of.iter().map(|(operand, _)| *operand)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.len() > MOST_OPERANDS {
        return None;
    }
    for (operand, _) in bits.iter_mut().flat_map(|p| &mut p.of) {
        *operand = numbers.binary_search(operand).unwrap_or_default();
    }
    let of = |number: &usize| operands[*number].clone();
    let (operands, counts) = numbers.iter().map(of).unzip();
    Some((Parities { bits, operands: counts }, operands))
}

/// The bits of `op` on a value with these bits, where `op` is a shift by `by` bits, or a product, quotient or remainder
/// with `1 << by`.
fn shifted(op: BinOp, bits: &[Parity], by: usize) -> Vec<Parity> {
    let bit = |i: usize| match op {
        BinOp::Shl | BinOp::Mul => i.checked_sub(by),
        BinOp::URem => (i < by).then_some(i),
        _ => i.checked_add(by),
    };
    (0..bits.len()).map(|i| bit(i).and_then(|at| bits.get(at)).cloned().unwrap_or_default()).collect()
}

/// The bit of `op` on two bits. `None` if it is not linear, or if a sum may carry.
fn joined(op: BinOp, p: &Parity, q: &Parity) -> Option<Parity> {
    match (op, p.as_constant(), q.as_constant()) {
        (BinOp::Xor, _, _) => Some(p.plus(q)),
        (BinOp::And, Some(false), _) | (BinOp::And, _, Some(false)) => Some(Parity::default()),
        (BinOp::And, Some(true), _) => Some(q.clone()),
        (BinOp::And, _, Some(true)) => Some(p.clone()),
        (BinOp::Or | BinOp::Add, Some(false), _) => Some(q.clone()),
        (BinOp::Or | BinOp::Add, _, Some(false)) => Some(p.clone()),
        (BinOp::Or, Some(true), _) | (BinOp::Or, _, Some(true)) => Some(Parity::constant(true)),
        (BinOp::And | BinOp::Or, _, _) if p == q => Some(p.clone()),
        _ => None,
    }
}

/// The facts that equal values have equal operands.
fn equal_operands(a: &ParityValue, b: &ParityValue) -> Encoded<Vec<Formula>> {
    let mut within = vec![Formula::eq(&a.value, &b.value)?];
    for of in [a, b] {
        for (operand, count) in of.operands.iter().zip(&of.shape.operands) {
            within.push(Formula::within(operand, Range::new(0, (1i128 << count) - 1))?);
        }
    }
    let mut facts = Vec::new();
    for set in a.shape.injective_sets() {
        let (mut given, mut follow) = (within.clone(), Vec::new());
        for (i, (x, y)) in a.operands.iter().zip(&b.operands).enumerate() {
            let same = Formula::eq(x, y)?;
            if set >> i & 1 == 1 { follow.push(same) } else { given.push(same) }
        }
        facts.push(Formula::all(given).implies(Formula::all(follow)));
    }
    Ok(facts)
}
