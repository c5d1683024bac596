//! Numbers and addresses as sums of multiples of the thread's index.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMGetModuleDataLayout, LLVMOffsetOfElement};
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

use super::{AffineBuilder, When};
use crate::blocks::segments::ThreadParameter;
use crate::ir;

/// A number `rest + x * by[0] + y * by[1] + z * by[2]`, modulo the range of its type. An address is a
/// 64-bit number.
#[derive(Clone, Copy)]
pub(super) struct Affine {
    pub(super) rest: LLVMValueRef,
    pub(super) by: [Option<LLVMValueRef>; 3],
}

impl AffineBuilder<'_> {
    /// The value as a sum of multiples of the index.
    pub(super) unsafe fn affine(&mut self, value: LLVMValueRef, used: LLVMBasicBlockRef) -> Option<Affine> {
        // SAFETY: by contract.
        unsafe {
            let ty = LLVMTypeOf(value);
            let is_pointer = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMPointerTypeKind;
            if !is_pointer
                && (LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMIntegerTypeKind || LLVMGetIntTypeWidth(ty) > 64)
            {
                return None;
            }
            if !self.source.uniform.varies(value) {
                let rest = self.exact(value, used)?;
                let rest = if is_pointer {
                    LLVMBuildPtrToInt(self.builder, rest, self.long(), c"".as_ptr())
                } else {
                    rest
                };
                return Some(Affine { rest, by: [None; 3] });
            }
            if LLVMIsAInstruction(value).is_null() {
                let one = LLVMConstInt(ty, 1, 0);
                let rest = LLVMConstInt(ty, 0, 0);
                if let Some(axis) = self.axis(value) {
                    return Some(Affine { rest, by: std::array::from_fn(|i| (i == axis).then_some(one)) });
                }
                // The linear index. The parameters for the index hold the dimensions.
                let linear = self.after_kernel(self.source.function, ThreadParameter::Linear as usize);
                let [x, y] = [ThreadParameter::X, ThreadParameter::Y]
                    .map(|d| LLVMBuildZExt(self.builder, self.own(d), self.long(), c"".as_ptr()));
                let by = [one, x, LLVMBuildMul(self.builder, x, y, c"".as_ptr())].map(Some);
                return (value == linear).then_some(Affine { rest, by });
            }
            match self.when(value, used)? {
                When::There if ir::opcode(value) == LLVMOpcode::LLVMPHI => {
                    let (chosen, from) = self.chosen(value)?;
                    self.following(value, |copy| copy.affine(chosen, from))
                }
                When::There => self.following(value, |copy| copy.computed(value, ty)),
                When::Before(_) => None,
            }
        }
    }

    /// The result of an instruction.
    unsafe fn computed(&mut self, value: LLVMValueRef, ty: LLVMTypeRef) -> Option<Affine> {
        // SAFETY: by contract.
        unsafe {
            let block = LLVMGetInstructionParent(value);
            let b = self.builder;
            let operand = |copy: &mut Self, i| copy.affine(LLVMGetOperand(value, i), block);
            type Build = unsafe extern "C" fn(
                LLVMBuilderRef,
                LLVMValueRef,
                LLVMValueRef,
                *const std::ffi::c_char,
            ) -> LLVMValueRef;
            let each = |a: Affine, other: LLVMValueRef, build: Build| Affine {
                rest: build(b, a.rest, other, c"".as_ptr()),
                by: a.by.map(|by| by.map(|by| build(b, by, other, c"".as_ptr()))),
            };
            Some(match ir::opcode(value) {
                opcode @ (LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub | LLVMOpcode::LLVMOr) => {
                    if opcode == LLVMOpcode::LLVMOr && LLVMGetIsDisjoint(value) == 0 {
                        return None;
                    }
                    let (a, other) = (operand(self, 0)?, operand(self, 1)?);
                    self.sum(a, other, opcode == LLVMOpcode::LLVMSub)
                }
                LLVMOpcode::LLVMMul => match (operand(self, 0)?, operand(self, 1)?) {
                    (a, Affine { rest, by: [None, None, None] })
                    | (Affine { rest, by: [None, None, None] }, a) => each(a, rest, LLVMBuildMul),
                    _ => return None,
                },
                LLVMOpcode::LLVMShl => match operand(self, 1)? {
                    Affine { rest, by: [None, None, None] } => each(operand(self, 0)?, rest, LLVMBuildShl),
                    _ => return None,
                },
                opcode @ (LLVMOpcode::LLVMSExt | LLVMOpcode::LLVMZExt) => {
                    let fewer = operand(self, 0)?;
                    self.extended(fewer, opcode == LLVMOpcode::LLVMSExt, ty)?
                }
                LLVMOpcode::LLVMTrunc => {
                    let Affine { rest, by } = operand(self, 0)?;
                    let part = |v| LLVMBuildTrunc(b, v, ty, c"".as_ptr());
                    Affine { rest: part(rest), by: by.map(|by| by.map(part)) }
                }
                LLVMOpcode::LLVMPtrToInt | LLVMOpcode::LLVMIntToPtr | LLVMOpcode::LLVMAddrSpaceCast => {
                    let whole =
                        |ty| LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMPointerTypeKind || ty == self.long();
                    if !whole(ty) || !whole(LLVMTypeOf(LLVMGetOperand(value, 0))) {
                        return None;
                    }
                    operand(self, 0)?
                }
                LLVMOpcode::LLVMGetElementPtr => self.element(value, block)?,
                _ => return None,
            })
        }
    }

    /// The sum of two affine numbers, or with `minus` their difference.
    unsafe fn sum(&self, a: Affine, other: Affine, minus: bool) -> Affine {
        let (b, none) = (self.builder, c"".as_ptr());
        // SAFETY: by contract.
        let of =
            |x, y| unsafe { if minus { LLVMBuildSub(b, x, y, none) } else { LLVMBuildAdd(b, x, y, none) } };
        // SAFETY: by contract.
        let negative = |y| unsafe { if minus { LLVMBuildNeg(b, y, none) } else { y } };
        let by = std::array::from_fn(|i| match (a.by[i], other.by[i]) {
            (Some(x), Some(y)) => Some(of(x, y)),
            (x, y) => x.or(y.map(negative)),
        });
        Affine { rest: of(a.rest, other.rest), by }
    }

    /// Extends a number to more bits. The result is the same sum if no thread of the block leaves
    /// the range of the fewer bits, which becomes a condition.
    unsafe fn extended(&mut self, a: Affine, signed: bool, ty: LLVMTypeRef) -> Option<Affine> {
        // SAFETY: by contract.
        unsafe {
            let (b, none, long) = (self.builder, c"".as_ptr(), self.long());
            let bits = LLVMGetIntTypeWidth(LLVMTypeOf(a.rest));
            // So a step times an index has at most 43 bits.
            if bits > 32 || a.by == [None; 3] {
                return None;
            }
            let rest = if signed {
                LLVMBuildSExt(b, a.rest, long, none)
            } else {
                LLVMBuildZExt(b, a.rest, long, none)
            };
            let by = a.by.map(|by| by.map(|by| LLVMBuildSExt(b, by, long, none)));
            let zero = LLVMConstInt(long, 0, 0);
            let (mut least, mut most) = (rest, rest);
            for (by, dim) in by.into_iter().zip([ThreadParameter::X, ThreadParameter::Y, ThreadParameter::Z])
            {
                let Some(by) = by else { continue };
                let dim = LLVMBuildZExt(b, self.own(dim), long, none);
                let last = LLVMBuildSub(b, dim, LLVMConstInt(long, 1, 0), none);
                let far = LLVMBuildMul(b, by, last, none);
                let below = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntSLT, far, zero, none);
                least = LLVMBuildAdd(b, least, LLVMBuildSelect(b, below, far, zero, none), none);
                most = LLVMBuildAdd(b, most, LLVMBuildSelect(b, below, zero, far, none), none);
            }
            let (low, high) = if signed {
                (-1i64 << (bits - 1), (1i64 << (bits - 1)) - 1)
            } else {
                (0, (1i64 << bits) - 1)
            };
            let n = |n: i64| LLVMConstInt(long, n as u64, 1);
            self.holds.push(LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntSGE, least, n(low), none));
            self.holds.push(LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntSLE, most, n(high), none));
            let part = |v| if ty == long { v } else { LLVMBuildTrunc(b, v, ty, none) };
            Some(Affine { rest: part(rest), by: by.map(|by| by.map(part)) })
        }
    }

    /// The address of an element.
    unsafe fn element(&mut self, value: LLVMValueRef, block: LLVMBasicBlockRef) -> Option<Affine> {
        // SAFETY: by contract.
        unsafe {
            let (b, long) = (self.builder, self.long());
            let mut sum = self.affine(LLVMGetOperand(value, 0), block)?;
            let mut ty = LLVMGetGEPSourceElementType(value);
            for (i, &index) in ir::operands(value).iter().enumerate().skip(1) {
                match LLVMGetTypeKind(ty) {
                    LLVMTypeKind::LLVMStructTypeKind if i > 1 => {
                        let field = LLVMConstIntGetZExtValue(index) as u32;
                        let offset =
                            LLVMOffsetOfElement(LLVMGetModuleDataLayout(self.source.module), ty, field);
                        sum.rest = LLVMBuildAdd(b, sum.rest, LLVMConstInt(long, offset, 0), c"".as_ptr());
                        ty = LLVMStructGetTypeAtIndex(ty, field);
                        continue;
                    }
                    LLVMTypeKind::LLVMArrayTypeKind if i > 1 => ty = LLVMGetElementType(ty),
                    _ if i > 1 => return None,
                    _ => {}
                }
                let number = self.affine(index, block)?;
                let number = match LLVMGetIntTypeWidth(LLVMTypeOf(number.rest)) {
                    64 => number,
                    _ if number.by == [None; 3] => {
                        Affine { rest: LLVMBuildSExt(b, number.rest, long, c"".as_ptr()), ..number }
                    }
                    _ => self.extended(number, true, long)?,
                };
                let size = LLVMConstInt(long, ir::alloc_size(self.source.module, ty), 0);
                let times = |v| LLVMBuildMul(b, v, size, c"".as_ptr());
                let offset = Affine { rest: times(number.rest), by: number.by.map(|by| by.map(times)) };
                sum = self.sum(sum, offset, false);
            }
            Some(sum)
        }
    }
}
