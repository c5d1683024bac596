//! `&`, `|` and `^` of numbers of which neither is known, in one unknown: the bits that both have.
//!
//! With `c = x & y`, `x | y` is `x + y - c`, and `x ^ y` is `x + y - 2 c`. Where two threads have one mask `y`, the
//! exclusive or pairs the numbers: if `x ^ y` of one thread is the `x` of another, then `x ^ y` of the other is the `x`
//! of the first. Each bit of the mask is then in one of the two `x`. Threads with equal `x ^ y` have equal `x`.
//! So butterflies and bitonic sorts are race-free, whatever the mask: `if ((i ^ j) > i)` or `if ((i & j) == 0)` leaves
//! one thread of each pair.

use gpurace_protocol::expr::{BinOp, Expr, ExprId, Exprs, Width};
use gpurace_protocol::range::{Range, View};

use crate::bits::MOST_EXACT_BITS;
use crate::encode::{Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin};

/// The largest number of values that are compared with each other.
const MOST_COMPARED: usize = 8;

/// Two numbers, and the bits that both have.
pub(crate) struct Masked {
    x: Lin,
    y: Lin,
    width: Width,
    common: Lin,
    /// Holds if the numbers are in the range of their width.
    holds: Formula,
}

impl Masked {
    /// `x ^ y`
    fn exclusive(&self) -> Encoded<Lin> {
        self.x.plus(1, &self.y)?.plus(-2, &self.common)
    }
}

impl<'a> Encoder<'a> {
    /// Returns the value of a bitwise operator, as an unsigned number.
    pub(crate) fn by_common_bits(&mut self, op: BinOp, x: &Lin, y: &Lin, width: Width) -> Encoded<Lin> {
        let common = self.common_bits(x, y, width)?;
        match op {
            BinOp::And => Ok(common),
            BinOp::Or => x.plus(1, y)?.minus(&common),
            _ => x.plus(1, y)?.plus(-2, &common),
        }
    }

    /// Returns `a & b` if `b` is `p - 1` or `-p` for a number `p` that is not known, and is wide or a power of two.
    pub(crate) fn around_power(&mut self, f: &mut Frame<'a>, a: ExprId, b: ExprId) -> Encoded<Option<Lin>> {
        let exprs = self.setting.exprs;
        let width = exprs.width(a);
        let Some((p, below)) = beside_power(exprs, b) else { return Ok(None) };
        let p = self.computed(f, p, View::Unsigned)?;
        let is_wide = self.range(&p).hi >> MOST_EXACT_BITS != 0;
        let is_known = p.as_constant().is_some() || self.constant_cases(&p).is_some();
        if is_known || !is_wide && !self.is_power(&p) {
            return Ok(None);
        }
        let x = self.computed(f, a, View::Unsigned)?;
        // If `p` is 0, this is no number of the width, and nothing is known of the common bits.
        let mask = p.shifted(-1)?;
        let common = self.common_bits(&x, &mask, width)?;
        if x != p {
            self.remainder_by_power((&x, &p), &common, width)?;
        }
        // `-p` has the bits that `p - 1` does not have.
        Ok(Some(if below { common } else { x.minus(&common)? }))
    }

    /// Adds a fact: if `p` is a power of two, the common bits of `x` and `p - 1` are the remainder of `x` by `p`. Then
    /// `p` and `p - 1` have no common bit.
    fn remainder_by_power(&mut self, (x, p): (&Lin, &Lin), common: &Lin, width: Width) -> Encoded<()> {
        let clear = self.common_bits(p, &p.shifted(-1)?, width)?;
        let (_, rest) = self.divide_by(x, p, View::Unsigned, BinOp::URem, width)?;
        let is_power = Formula::all([
            Formula::within(x, View::Unsigned.all(width))?,
            Formula::le(&Lin::constant(1), p)?,
            self.when_power(p, width, &clear)?,
        ]);
        self.facts.push(is_power.implies(Formula::eq(common, &rest)?));
        Ok(())
    }

    /// Returns the bits that both numbers have: one unknown for each two numbers.
    pub(crate) fn common_bits(&mut self, x: &Lin, y: &Lin, width: Width) -> Encoded<Lin> {
        let (x, y) = if x <= y { (x, y) } else { (y, x) };
        let is_known = |known: &&Masked| known.width == width && known.x == *x && known.y == *y;
        if let Some(known) = self.seen.masked.iter().find(is_known) {
            return Ok(known.common.clone());
        }
        let all = View::Unsigned.all(width);
        let mut held = Vec::new();
        for of in [x, y] {
            // Guards may keep a number in its range, and do not hold in moments that are not reached.
            if !self.range(of).within(all) {
                held.push(Formula::within(of, all)?);
            }
        }
        let most = if held.is_empty() { self.range(x).hi.min(self.range(y).hi) } else { all.hi };
        let common = Lin::atom(self.fresh("common", Range::new(0, most)));
        let new = Masked { x: x.clone(), y: y.clone(), width, common, holds: Formula::all(held) };
        let fits = Formula::all([
            Formula::le(&new.common, x)?,
            Formula::le(&new.common, y)?,
            Formula::within(&x.plus(1, y)?.minus(&new.common)?, all)?,
        ]);
        self.facts.push(new.holds.clone().implies(fits));
        for known in self.seen.masked.iter().take(MOST_COMPARED) {
            for fact in pairs(known, &new)? {
                self.facts.push(fact);
            }
        }
        let common = new.common.clone();
        self.seen.masked.push(new);
        Ok(common)
    }
}

/// Returns `p` if the expression is `p - 1`, with true, or `-p`, with false.
pub(crate) fn beside_power(exprs: &Exprs, id: ExprId) -> Option<(ExprId, bool)> {
    let Expr::Bin(op, a, b) = exprs.get(id) else { return None };
    match op {
        BinOp::Add if exprs.as_const(b) == Some(exprs.width(b).mask()) => Some((a, true)),
        BinOp::Sub if exprs.as_const(b) == Some(1) => Some((a, true)),
        BinOp::Sub if exprs.as_const(a) == Some(0) => Some((b, false)),
        _ => None,
    }
}

/// Facts about two values with one mask.
fn pairs(a: &Masked, b: &Masked) -> Encoded<Vec<Formula>> {
    let both = Formula::all([a.holds.clone(), b.holds.clone()]);
    let mut facts = Vec::new();
    for (x, mask) in [(&a.x, &a.y), (&a.y, &a.x)] {
        for (other, its) in [(&b.x, &b.y), (&b.y, &b.x)] {
            if mask != its {
                continue;
            }
            let (of_a, of_b) = (a.exclusive()?, b.exclusive()?);
            let same = Formula::eq(x, other)?;
            let pairs = Formula::any([Formula::eq(&of_a, other)?, Formula::eq(&of_b, x)?]);
            let pairs = pairs.implies(Formula::eq(&a.common.plus(1, &b.common)?, mask)?);
            let apart = Formula::eq(&of_a, &of_b)?.implies(same.clone());
            let alike = same.implies(Formula::eq(&a.common, &b.common)?);
            facts.extend([pairs, apart, alike].map(|fact| both.clone().implies(fact)));
        }
    }
    Ok(facts)
}
