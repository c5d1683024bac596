//! Values that are the same for a warp because it has 32 lanes in one row of the block: `threadIdx.x / 32`,
//! `threadIdx.x < 64` and their like.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

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
            let Some(by) = ir::constant(by) else { return false };
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

    /// True if all lanes of a warp compare alike: an index of which only the lane differs in the warp, and a limit at
    /// which no warp parts.
    pub(super) unsafe fn compares_alike(&self, comparison: LLVMValueRef, place: Option<usize>) -> bool {
        // SAFETY: by contract; the instruction has two operands.
        unsafe {
            let operands = [0, 1].map(|i| LLVMGetOperand(comparison, i));
            let of = |[index, limit]: [LLVMValueRef; 2], predicate| match limits_whole_warps(predicate) {
                Some(Limit::First) => {
                    self.has_lane(index, place)
                        && self.is_multiple(limit)
                        && self.at(limit, place) >= Uniform::Warp
                }
                Some(Limit::Last) => {
                    ir::constant(limit).is_some_and(|limit| limit % 32 == 31) && self.has_lane(index, place)
                }
                None => false,
            };
            let [index, limit] = operands;
            let predicate = LLVMGetICmpPredicate(comparison);
            of([index, limit], predicate) || of([limit, index], swapped(predicate))
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
            if let Some(number) = ir::constant(value) {
                return number.is_multiple_of(32);
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
                Some(LLVMOpcode::LLVMShl) => ir::constant(operand(1)).is_some_and(|by| by >= 5),
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

/// A limit at which no warp parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// The index of a first lane: a multiple of 32.
    First,
    /// The index of a last lane.
    Last,
}

/// The limit with which all lanes of a warp compare alike. Their indices are one multiple of 32, plus the lane: so one
/// lies below a multiple of 32, as a signed number too, if all do.
fn limits_whole_warps(predicate: LLVMIntPredicate) -> Option<Limit> {
    use LLVMIntPredicate::*;
    match predicate {
        LLVMIntULT | LLVMIntUGE | LLVMIntSLT | LLVMIntSGE => Some(Limit::First),
        LLVMIntULE | LLVMIntUGT | LLVMIntSLE | LLVMIntSGT => Some(Limit::Last),
        LLVMIntEQ | LLVMIntNE => None,
    }
}

/// The predicate that says the same with its operands swapped.
fn swapped(predicate: LLVMIntPredicate) -> LLVMIntPredicate {
    use LLVMIntPredicate::*;
    match predicate {
        LLVMIntULT => LLVMIntUGT,
        LLVMIntUGT => LLVMIntULT,
        LLVMIntULE => LLVMIntUGE,
        LLVMIntUGE => LLVMIntULE,
        LLVMIntSLT => LLVMIntSGT,
        LLVMIntSGT => LLVMIntSLT,
        LLVMIntSLE => LLVMIntSGE,
        LLVMIntSGE => LLVMIntSLE,
        LLVMIntEQ | LLVMIntNE => predicate,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(predicate: LLVMIntPredicate, a: u8, b: u8) -> bool {
        use LLVMIntPredicate::*;
        let (signed_a, signed_b) = (a as i8, b as i8);
        match predicate {
            LLVMIntULT => a < b,
            LLVMIntUGT => a > b,
            LLVMIntULE => a <= b,
            LLVMIntUGE => a >= b,
            LLVMIntSLT => signed_a < signed_b,
            LLVMIntSGT => signed_a > signed_b,
            LLVMIntSLE => signed_a <= signed_b,
            LLVMIntSGE => signed_a >= signed_b,
            LLVMIntEQ => a == b,
            LLVMIntNE => a != b,
        }
    }

    const PREDICATES: [LLVMIntPredicate; 10] = {
        use LLVMIntPredicate::*;
        [
            LLVMIntULT, LLVMIntUGT, LLVMIntULE, LLVMIntUGE, LLVMIntSLT, LLVMIntSGT, LLVMIntSLE, LLVMIntSGE,
            LLVMIntEQ, LLVMIntNE,
        ]
    };

    #[test]
    fn lanes_compare_alike_with_limits_of_warps_alone() {
        for predicate in PREDICATES {
            let alike = |first: u8, limit: u8| {
                let found = compare(predicate, first, limit);
                (0..32).all(|lane| compare(predicate, first | lane, limit) == found)
            };
            // All warps compare alike with these limits modulo 32, and some do not with others.
            let limits: Vec<_> =
                (0..32).filter(|low| (0..64).all(|i| alike(i / 8 * 32, (i % 8 * 32) | low))).collect();
            match limits_whole_warps(predicate) {
                Some(Limit::First) => assert_eq!(limits, [0], "{predicate:?}"),
                Some(Limit::Last) => assert_eq!(limits, [31], "{predicate:?}"),
                None => assert!(limits.is_empty(), "{predicate:?}"),
            }
            for (a, b) in (0..=255).flat_map(|a| (0..=255).map(move |b| (a, b))) {
                assert_eq!(compare(predicate, a, b), compare(swapped(predicate), b, a));
            }
        }
    }
}
