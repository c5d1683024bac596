//! Loop variables whose values are powers of two, as the strides of sorting networks and transforms are.
//!
//! `for (s = n / 2; s > 0; s >>= 1) a[2 * t - (t & (s - 1))]`: if `n` is a power of two, `t & (s - 1)` is the remainder
//! of `t` by `s` in each iteration. So one query with one unknown power of two stands for all iterations. It leaves
//! out which iteration has which value.

use std::collections::BTreeSet;

use gpurace_protocol::expr::{BinOp, Cast, CmpOp, Expr, ExprId, Exprs, VarId, Width};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::{Protocol, Step, Test};
use gpurace_protocol::range::{Loops, Ranges, VarInfo, View};

use crate::encode::{Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin};

/// Why the values of an expression are powers of two, or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Powers {
    /// The arguments that must be powers of two, or 0, for that.
    pub arguments: BTreeSet<ExprId>,
    /// Values with the sign bit may be anything.
    pub signed: bool,
}

impl Powers {
    /// The same, but values with the sign bit are exceptions.
    fn signed(self) -> Self {
        Self { signed: true, ..self }
    }

    /// Why the values of both expressions are powers of two.
    fn and(mut self, other: Self) -> Self {
        self.arguments.extend(other.arguments);
        Self { signed: self.signed || other.signed, ..self }
    }

    /// The same, if no value with the sign bit is an exception.
    fn all(self) -> Option<Self> {
        (!self.signed).then_some(self)
    }
}

/// Finds loop variables whose values are powers of two.
pub struct Finder<'a> {
    exprs: &'a Exprs,
    loops: Loops<'a>,
    ranges: Ranges<'a>,
    /// Variables whose first values are being looked at.
    open: Vec<VarId>,
}

impl<'a> Finder<'a> {
    /// Returns a finder for the loops of a protocol whose expressions are in `exprs`.
    pub fn new(protocol: &'a Protocol, exprs: &'a Exprs, launch: Option<&'a Launch>) -> Self {
        let ranges = Ranges::new(protocol, exprs, launch);
        Self { exprs, loops: Loops::of(protocol), ranges, open: Vec::new() }
    }

    /// Returns why all values of a variable in its loop are powers of two or 0, if they are.
    pub fn of_var(&mut self, id: VarId) -> Option<Powers> {
        if self.open.contains(&id) {
            return None;
        }
        let info = *self.loops.vars.get(&id)?;
        self.open.push(id);
        let from = self.of(info.var.from);
        self.open.pop();
        let mut from = from?;
        if from.signed && self.is_never_negative(info) {
            from.signed = false;
        }
        match info.var.step {
            Step::Mul(by) | Step::UDiv(by) if by.is_power_of_two() => from.all(),
            // Half of the number with the sign bit alone has two bits.
            Step::SDiv(by) if by.is_power_of_two() => Some(from.signed()),
            Step::AShr(_) => Some(from.signed()),
            Step::Mul(_) | Step::UDiv(_) | Step::SDiv(_) | Step::Add(_) | Step::Any(_) => None,
        }
    }

    /// True if no iteration has a value with the sign bit. So no step makes another value of one.
    fn is_never_negative(&self, info: VarInfo) -> bool {
        let Some(var) = info.expr else { return false };
        let mut guards = self.loops.entry.get(&info.of.id).cloned().unwrap_or_default();
        if info.of.test == Test::Before {
            guards.push((info.of.cond, true));
        }
        self.ranges.guarded(&guards).computed(var, View::Signed).lo >= 0
    }

    /// Returns why all values of an expression are powers of two or 0, if they are.
    fn of(&mut self, id: ExprId) -> Option<Powers> {
        let exprs = self.exprs;
        let constant = |id| exprs.as_const(id).map(|value| exprs.width(id).truncate(value));
        let is_power = |id| constant(id).is_some_and(u64::is_power_of_two);
        match exprs.get(id) {
            Expr::Const { width, bits } => {
                let bits = width.truncate(bits);
                (bits == 0 || bits.is_power_of_two()).then(Powers::default)
            }
            Expr::Param { .. } => Some(Powers { arguments: BTreeSet::from([id]), signed: false }),
            Expr::Var { id, .. } => self.of_var(id),
            Expr::Bin(BinOp::Mul | BinOp::UDiv, a, b) if is_power(b) => self.of(a)?.all(),
            Expr::Bin(BinOp::Shl | BinOp::LShr, a, b) => {
                constant(b)?;
                self.of(a)?.all()
            }
            // The divisor is positive.
            Expr::Bin(BinOp::SDiv, a, b)
                if is_power(b) && constant(b)? >> (exprs.width(b).bits() - 1) == 0 =>
            {
                Some(self.of(a)?.signed())
            }
            Expr::Bin(BinOp::AShr, a, b) => {
                constant(b)?;
                Some(self.of(a)?.signed())
            }
            Expr::Bin(BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax, a, b)
            | Expr::Select(_, a, b) => Some(self.of(a)?.and(self.of(b)?)),
            Expr::Cast(Cast::Zext | Cast::Trunc, _, a) => self.of(a)?.all(),
            Expr::Cast(Cast::Sext, _, a) => Some(self.of(a)?.signed()),
            _ => None,
        }
    }
}

/// The unknown for a loop variable that is a power of two.
pub(crate) struct Power {
    value: Lin,
    width: Width,
    /// The condition under which it is one, unless it is 0.
    holds: Formula,
}

impl<'a> Encoder<'a> {
    /// Returns the power of two, or 0, that a loop variable is in the iteration of both threads, as an unsigned number.
    pub(crate) fn power(&mut self, f: &mut Frame<'a>, id: VarId, width: Width, of: &Powers) -> Encoded<Lin> {
        if let Some(known) = self.seen.powers.get(&id) {
            return Ok(known.value.clone());
        }
        let all = View::Unsigned.all(width);
        let info = f.ranges.loops().vars.get(&id).copied();
        let range = match info.and_then(|info| info.expr) {
            // Without the guards of one thread.
            Some(var) => Frame::top(self.setting, f.side).ranges.computed(var, View::Unsigned).meet(all),
            None => all,
        };
        let value = Lin::atom(self.fresh("power", range));
        if let Some(info) = info {
            self.grows(f, info, &value)?;
        }
        let mut holds = Vec::new();
        for &argument in &of.arguments {
            let x = self.computed(f, argument, View::Unsigned)?;
            holds.push(match x.as_constant() {
                Some(0) => Formula::True,
                Some(value) if u64::try_from(value).is_ok_and(u64::is_power_of_two) => Formula::True,
                Some(_) => Formula::False,
                None => {
                    let common = self.common_bits(&x, &x.shifted(-1)?, self.setting.exprs.width(argument))?;
                    let zero = Lin::constant(0);
                    Formula::any([Formula::eq(&x, &zero)?, Formula::eq(&common, &zero)?])
                }
            });
        }
        if of.signed {
            holds.push(Formula::le(&value, &Lin::constant(View::Signed.all(width).hi))?);
        }
        let power = Power { value: value.clone(), width, holds: Formula::all(holds) };
        self.seen.powers.insert(id, power);
        Ok(value)
    }

    /// Adds the fact that a variable which is multiplied in each iteration is no smaller than at first, if it never
    /// wraps as its loop compares it.
    fn grows(&mut self, f: &mut Frame<'a>, info: VarInfo<'a>, value: &Lin) -> Encoded<()> {
        let view = match self.setting.exprs.get(info.of.cond) {
            Expr::Cmp(CmpOp::Slt | CmpOp::Sle, ..) => View::Signed,
            Expr::Cmp(CmpOp::Ult | CmpOp::Ule, ..) => View::Unsigned,
            _ => return Ok(()),
        };
        let least = f.ranges.computed(info.var.from, view).lo;
        if matches!(info.var.step, Step::Mul(_)) && least > 0 && self.assume_no_wrap(f, info, value, view)? {
            self.facts.push(Formula::le(&Lin::constant(least), value)?);
        }
        Ok(())
    }

    /// True for the unknown of a loop variable that is a power of two.
    pub(crate) fn is_power(&self, lin: &Lin) -> bool {
        self.seen.powers.values().any(|power| power.value == *lin)
    }

    /// Returns the condition under which a number is a power of two, or 0: it and the number below it have no `common`
    /// bit, or it is the value of such a loop variable.
    pub(crate) fn when_power(&self, lin: &Lin, width: Width, common: &Lin) -> Encoded<Formula> {
        let of_var = self.seen.powers.values().find(|power| power.value == *lin && power.width == width);
        let clear = Formula::eq(common, &Lin::constant(0))?;
        Ok(Formula::any(of_var.map(|power| power.holds.clone()).into_iter().chain([clear])))
    }
}
