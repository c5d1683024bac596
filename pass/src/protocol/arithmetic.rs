//! Arithmetic: the results of operations on integers, of comparisons and of intrinsics.

use std::rc::Rc;

use gpurace_protocol::expr::{BinOp, Cast, CmpOp, Expr, ExprId, Width};
use gpurace_protocol::protocol::ObjectKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use super::frame::{Extraction, Frame, LoopPlace, Pointer, Root, Value, int_width};
use crate::ir;

impl Extraction<'_> {
    /// Applies `op`. The preparation turns `x / d` into `d == 0 ? ... : x / (d == 0 ? 1 : d)`. This
    /// turns the inner division back into `x / d`.
    pub fn divide_or(&mut self, op: BinOp, a: ExprId, b: ExprId) -> ExprId {
        if matches!(op, BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem)
            && let Expr::Select(traps, one, divisor) = self.b.get(b)
            && self.b.as_const(one) == Some(1)
            && self.says_zero(traps, divisor)
        {
            return self.b.bin(op, a, divisor);
        }
        self.b.bin(op, a, b)
    }

    /// True for the condition `divisor == 0`, alone or together with the test for an overflow. After
    /// an overflow the wrapping division has the right result.
    fn says_zero(&self, condition: ExprId, divisor: ExprId) -> bool {
        match self.b.get(condition) {
            Expr::Cmp(CmpOp::Eq, d, zero) => d == divisor && self.b.as_const(zero) == Some(0),
            Expr::Bin(BinOp::Or, zero, overflow) => {
                self.says_zero(zero, divisor)
                    && match self.b.get(overflow) {
                        Expr::Bin(BinOp::And, _, minus_one) => match self.b.get(minus_one) {
                            Expr::Cmp(CmpOp::Eq, d, ones) => {
                                d == divisor && self.b.as_const(ones) == Some(self.b.width(d).mask())
                            }
                            _ => false,
                        },
                        _ => false,
                    }
            }
            _ => false,
        }
    }

    /// `c ? a : b`. If `c` guards a division by zero, that is the division: it may have any value, so
    /// also the one that the preparation chooses.
    pub fn select_total(&mut self, c: ExprId, a: ExprId, b: ExprId) -> ExprId {
        if let Expr::Bin(BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem, x, divisor) = self.b.get(b)
            && let Expr::Cmp(CmpOp::Eq, d, zero) = self.b.get(c)
            && d == divisor
            && self.b.as_const(zero) == Some(0)
            && (a == x || self.b.as_const(a) == Some(self.b.width(a).mask()))
        {
            return b;
        }
        self.b.select(c, a, b)
    }

    /// The sum of a shared address and an integer, or the difference of two addresses of one
    /// object.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_address(
        &mut self,
        f: &mut Frame,
        place: LoopPlace,
        op: BinOp,
        a: LLVMValueRef,
        b: LLVMValueRef,
        width: Width,
    ) -> Option<Value> {
        if !matches!(op, BinOp::Add | BinOp::Sub) || width.bits() < 32 {
            return None;
        }
        // SAFETY: by contract.
        let (a, b) = unsafe { (self.value(f, a, place), self.value(f, b, place)) };
        match (op, a, b) {
            (_, Value::Address(p, space), Value::Int(by)) => Some(self.moved(&p, space, op, by, width)),
            (BinOp::Add, Value::Int(by), Value::Address(p, space)) => {
                Some(self.moved(&p, space, op, by, width))
            }
            (BinOp::Sub, Value::Address(p, _), Value::Address(q, _)) => {
                let [one] = p.aims.as_slice() else { return None };
                if q.aims.as_slice() != [*one] || !self.is_one_place(one.root) {
                    return None;
                }
                let distance = self.b.bin(BinOp::Sub, p.offset, q.offset);
                Some(Value::Int(self.b.cast(Cast::Trunc, width, distance)))
            }
            _ => None,
        }
    }

    /// The sum of an address and an integer. An address of 32 bits points into shared memory, and the
    /// sum stays in the window of shared memory.
    fn moved(&mut self, p: &Pointer, space: u32, op: BinOp, by: ExprId, width: Width) -> Value {
        let offset = match width {
            Width::W64 => self.b.bin(op, p.offset, by),
            _ => {
                let low = self.b.cast(Cast::Trunc, width, p.offset);
                let sum = self.b.bin(op, low, by);
                self.b.cast(Cast::Sext, Width::W64, sum)
            }
        };
        let offset = self.tame(offset);
        Value::Address(Rc::new(Pointer { offset, aims: p.aims.clone() }), space)
    }

    /// The result of a comparison.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_compare(
        &mut self,
        f: &mut Frame,
        place: LoopPlace,
        instruction: LLVMValueRef,
    ) -> Option<ExprId> {
        use LLVMIntPredicate::*;
        // SAFETY: by contract.
        unsafe {
            let [a, b] = [0, 1].map(|i| LLVMGetOperand(instruction, i));
            let predicate = LLVMGetICmpPredicate(instruction);
            let (x, y) = if ir::space_of(a).is_some() {
                let (Value::Pointer(p), Value::Pointer(q)) =
                    (self.value(f, a, place), self.value(f, b, place))
                else {
                    return None;
                };
                let ([one], [other]) = (p.aims.as_slice(), q.aims.as_slice()) else { return None };
                if one != other || !self.is_one_place(one.root) {
                    return None;
                }
                (p.offset, q.offset)
            } else {
                int_width(LLVMTypeOf(a))?;
                (self.wanted_int(f, a, place)?, self.wanted_int(f, b, place)?)
            };
            // Offsets into one object are signed distances from its base.
            let signed = ir::space_of(a).is_some();
            let (op, x, y) = match predicate {
                LLVMIntEQ => (CmpOp::Eq, x, y),
                LLVMIntNE => (CmpOp::Ne, x, y),
                LLVMIntULT if !signed => (CmpOp::Ult, x, y),
                LLVMIntULE if !signed => (CmpOp::Ule, x, y),
                LLVMIntUGT if !signed => (CmpOp::Ult, y, x),
                LLVMIntUGE if !signed => (CmpOp::Ule, y, x),
                LLVMIntSLT | LLVMIntULT => (CmpOp::Slt, x, y),
                LLVMIntSLE | LLVMIntULE => (CmpOp::Sle, x, y),
                LLVMIntSGT | LLVMIntUGT => (CmpOp::Slt, y, x),
                LLVMIntSGE | LLVMIntUGE => (CmpOp::Sle, y, x),
            };
            Some(self.b.cmp(op, x, y))
        }
    }

    /// The integer that an intrinsic computes.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_intrinsic(
        &mut self,
        f: &mut Frame,
        place: LoopPlace,
        call: LLVMValueRef,
        name: &str,
    ) -> Option<ExprId> {
        // SAFETY: by contract; the intrinsics have the operands that LLVM's manual says.
        unsafe {
            let mut operand = |this: &mut Self, i: u32| this.wanted_int(f, LLVMGetOperand(call, i), place);
            let op = match name.strip_prefix("llvm.")?.split('.').next()? {
                "umin" => BinOp::UMin,
                "umax" => BinOp::UMax,
                "smin" => BinOp::SMin,
                "smax" => BinOp::SMax,
                "expect" => return operand(self, 0),
                "bitreverse" => {
                    let x = operand(self, 0)?;
                    return Some(self.reversed(x));
                }
                "abs" => {
                    let x = operand(self, 0)?;
                    let zero = self.b.constant(self.b.width(x), 0);
                    let (negative, minus) =
                        (self.b.cmp(CmpOp::Slt, x, zero), self.b.bin(BinOp::Sub, zero, x));
                    return Some(self.b.select(negative, minus, x));
                }
                "usub" if name.starts_with("llvm.usub.sat.") => {
                    let (x, y) = (operand(self, 0)?, operand(self, 1)?);
                    let most = self.b.bin(BinOp::UMax, x, y);
                    return Some(self.b.bin(BinOp::Sub, most, y));
                }
                which @ ("fshl" | "fshr") => {
                    let (x, y, by) = (operand(self, 0)?, operand(self, 1)?, operand(self, 2)?);
                    let width = self.b.width(x);
                    let bits = u64::from(width.bits());
                    let by = self.b.as_const(by)? % bits;
                    if by == 0 {
                        return Some(if which == "fshl" { x } else { y });
                    }
                    let left = if which == "fshl" { by } else { bits - by };
                    let (left, right) =
                        (self.b.constant(width, left as i64), self.b.constant(width, (bits - left) as i64));
                    let (high, low) = (self.b.bin(BinOp::Shl, x, left), self.b.bin(BinOp::LShr, y, right));
                    return Some(self.b.bin(BinOp::Or, high, low));
                }
                _ => return None,
            };
            let (x, y) = (operand(self, 0)?, operand(self, 1)?);
            Some(self.b.bin(op, x, y))
        }
    }

    /// The value with its bits in the opposite order: halves of ever fewer bits are swapped.
    fn reversed(&mut self, x: ExprId) -> ExprId {
        let width = self.b.width(x);
        let mut value = x;
        let mut half = width.bits() / 2;
        while half > 0 {
            // The low half of each `2 * half` bits.
            let low = (0..width.bits())
                .filter(|at| (at / half).is_multiple_of(2))
                .fold(0u64, |mask, at| mask | 1 << at);
            let (low, by) = (self.b.constant(width, low as i64), self.b.constant(width, half.into()));
            let down = self.b.bin(BinOp::LShr, value, by);
            let (down, up) = (self.b.bin(BinOp::And, down, low), self.b.bin(BinOp::And, value, low));
            let up = self.b.bin(BinOp::Shl, up, by);
            value = self.b.bin(BinOp::Or, up, down);
            half /= 2;
        }
        value
    }

    /// True if all pointers with this root count from the same address.
    fn is_one_place(&self, root: Root) -> bool {
        match root {
            Root::Object(object) => !matches!(
                self.b.protocol.objects[object.0 as usize].kind,
                ObjectKind::Opaque { .. } | ObjectKind::Image(_) | ObjectKind::GridBarrier
            ),
            Root::Constant(_) => true,
            Root::Arguments(_) | Root::Context | Root::Private | Root::Local(_) => false,
        }
    }
}

/// The operation of an instruction that has two operands.
pub fn binary(op: LLVMOpcode) -> Option<BinOp> {
    Some(match op {
        LLVMOpcode::LLVMAdd => BinOp::Add,
        LLVMOpcode::LLVMSub => BinOp::Sub,
        LLVMOpcode::LLVMMul => BinOp::Mul,
        LLVMOpcode::LLVMUDiv => BinOp::UDiv,
        LLVMOpcode::LLVMSDiv => BinOp::SDiv,
        LLVMOpcode::LLVMURem => BinOp::URem,
        LLVMOpcode::LLVMSRem => BinOp::SRem,
        LLVMOpcode::LLVMShl => BinOp::Shl,
        LLVMOpcode::LLVMLShr => BinOp::LShr,
        LLVMOpcode::LLVMAShr => BinOp::AShr,
        LLVMOpcode::LLVMAnd => BinOp::And,
        LLVMOpcode::LLVMOr => BinOp::Or,
        LLVMOpcode::LLVMXor => BinOp::Xor,
        _ => return None,
    })
}
