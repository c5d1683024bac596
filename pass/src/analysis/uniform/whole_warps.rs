//! Values that are the same for a warp because it has 32 lanes in one row of the block: `threadIdx.x / 32`
//! and its like.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use super::Uniformity;
use crate::ir;
use gpurace_protocol::protocol::Uniform;

/// The parameters of a function from which uniformity in a warp follows, if `blockDim.x` is a
/// multiple of 32 and no block's index in x, times `blockDim.x`, exceeds 2^31. Each warp then has 32
/// lanes in one row of the block.
#[derive(Clone, Debug)]
pub struct WholeWarps {
    /// `threadIdx.x`, and the linear index.
    pub lanes: [LLVMValueRef; 2],
    /// `blockDim.x`, if it is a parameter.
    pub dim: Option<LLVMValueRef>,
    /// `blockIdx.x`, if it is a parameter.
    pub block: Option<LLVMValueRef>,
}

impl Uniformity {
    /// True if an instruction computes the same for all lanes of a warp from an index of which only the
    /// lane differs in it: it drops the index's five lowest bits.
    pub(super) unsafe fn drops_lane(&self, instruction: LLVMValueRef, place: Option<usize>) -> bool {
        // SAFETY: by contract; the instruction has two operands.
        unsafe {
            let [index, by] = [0, 1].map(|i| LLVMGetOperand(instruction, i));
            if LLVMIsAConstantInt(by).is_null() || LLVMGetIntTypeWidth(LLVMTypeOf(by)) > 64 {
                return false;
            }
            let by = LLVMConstIntGetZExtValue(by);
            let drops = match ir::opcode(instruction) {
                LLVMOpcode::LLVMLShr | LLVMOpcode::LLVMAShr => by >= 5,
                // Negative numbers are rounded towards 0.
                LLVMOpcode::LLVMSDiv => {
                    by > 0 && by.is_multiple_of(32) && by < 1 << 31 && self.is_not_negative(index)
                }
                LLVMOpcode::LLVMUDiv => by > 0 && by.is_multiple_of(32),
                _ => by.is_multiple_of(32),
            };
            drops && self.has_lane(index, place)
        }
    }

    /// True if a value is a multiple of 32 that is the same for a warp, plus the lane.
    unsafe fn has_lane(&self, value: LLVMValueRef, place: Option<usize>) -> bool {
        // SAFETY: by contract.
        unsafe {
            let Some(warps) = &self.inputs.warps else { return false };
            let value = uncast(value);
            let base = |v| self.is_multiple(v) && self.at(v, place) >= Uniform::Warp;
            warps.lanes.contains(&value)
                || ir::value_opcode(value) == Some(LLVMOpcode::LLVMAdd) && {
                    let [a, b] = [0, 1].map(|i| LLVMGetOperand(value, i));
                    base(a) && self.has_lane(b, place) || base(b) && self.has_lane(a, place)
                }
        }
    }

    /// True if a value is a multiple of 32, in numbers of any width.
    unsafe fn is_multiple(&self, value: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            let value = uncast(value);
            if !LLVMIsAConstantInt(value).is_null() {
                return LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64
                    && LLVMConstIntGetZExtValue(value).is_multiple_of(32);
            }
            if self.inputs.warps.as_ref().is_some_and(|warps| warps.dim == Some(value)) {
                return true;
            }
            let operand = |i| LLVMGetOperand(value, i);
            match ir::value_opcode(value) {
                Some(LLVMOpcode::LLVMMul | LLVMOpcode::LLVMAnd) => {
                    self.is_multiple(operand(0)) || self.is_multiple(operand(1))
                }
                Some(LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub | LLVMOpcode::LLVMOr) => {
                    self.is_multiple(operand(0)) && self.is_multiple(operand(1))
                }
                Some(LLVMOpcode::LLVMShl) => {
                    !LLVMIsAConstantInt(operand(1)).is_null() && LLVMConstIntGetZExtValue(operand(1)) >= 5
                }
                _ => false,
            }
        }
    }

    /// True for an index in the block or in the grid that is below 2^31.
    unsafe fn is_not_negative(&self, value: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            let Some(warps) = &self.inputs.warps else { return false };
            let is = |v, what: Option<LLVMValueRef>| what == Some(uncast(v));
            let value = uncast(value);
            let of_grid = |product, index| {
                ir::value_opcode(product) == Some(LLVMOpcode::LLVMMul)
                    && warps.lanes.contains(&uncast(index))
                    && {
                        let [a, b] = [0, 1].map(|i| LLVMGetOperand(product, i));
                        is(a, warps.block) && is(b, warps.dim) || is(b, warps.block) && is(a, warps.dim)
                    }
            };
            warps.lanes.contains(&value)
                || ir::value_opcode(value) == Some(LLVMOpcode::LLVMAdd) && {
                    let [a, b] = [0, 1].map(|i| LLVMGetOperand(value, i));
                    of_grid(a, b) || of_grid(b, a)
                }
        }
    }
}

/// The integer that casts between 32 and more bits lead to.
unsafe fn uncast(mut value: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract; a cast has one operand.
    unsafe {
        while let Some(LLVMOpcode::LLVMTrunc | LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt) =
            ir::value_opcode(value)
        {
            let from = LLVMGetOperand(value, 0);
            let is_wide = |v| {
                let ty = LLVMTypeOf(v);
                LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMIntegerTypeKind && LLVMGetIntTypeWidth(ty) >= 32
            };
            if !is_wide(value) || !is_wide(from) {
                break;
            }
            value = from;
        }
        value
    }
}
