//! Variables of loops that are cut at their end. Mostly they start from the thread's index, and all threads add the
//! same in each iteration. Such a variable becomes the sum of what it starts from and of what was added, which the
//! threads share. LLVM and [`crate::blocks::affine_rows`] then see how addresses depend on the thread's index.
//!
//! Where threads leave a loop one by one, a thread would store a shared value only if it stays, and LLVM does not
//! vectorise such a store. Instead all threads that begin an iteration store what will have been added at its end.

use gpurace_protocol::protocol::Uniform;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use super::Cutter;
use crate::analysis::uniform::BlockUniform;
use crate::blocks::cut_loops::LoopEnd;
use crate::ir;

/// A sum that threads share at the end of a loop: each iteration adds the same step.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedSum {
    /// The end of the loop.
    latch: LLVMBasicBlockRef,
    /// Its value there.
    sum: LLVMValueRef,
    step: LLVMValueRef,
}

/// A shared sum at the end of the iteration that begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextSum {
    /// The number of the cut at the loop's end.
    pub(super) cut: usize,
    /// The sum at the end of the last iteration.
    pub(super) sum: LLVMValueRef,
    /// The value, which is computed where the iteration begins.
    pub(super) next: LLVMValueRef,
}

impl Cutter {
    /// Splits the variables of loops with these ends. Returns the sums that threads share.
    pub(super) unsafe fn split_variables(
        &self,
        ends: &[LoopEnd],
        uniform: &mut BlockUniform,
    ) -> Vec<SharedSum> {
        // SAFETY: by contract.
        unsafe {
            let mut found = Vec::new();
            for end in ends {
                let phis: Vec<_> = ir::block_instructions(end.header)
                    .take_while(|&i| ir::opcode(i) == LLVMOpcode::LLVMPHI)
                    .collect();
                found.extend(phis.into_iter().filter_map(|phi| self.split_variable(phi, end, uniform)));
            }
            found
        }
    }

    /// Splits a variable to which all threads add the same in each iteration: what was added becomes a value that they
    /// share. Returns the sum that they have at the end of the iteration, if it is known there.
    unsafe fn split_variable(
        &self,
        phi: LLVMValueRef,
        end: &LoopEnd,
        uniform: &mut BlockUniform,
    ) -> Option<SharedSum> {
        // SAFETY: by contract; the new values are computed where those are that they stand for.
        unsafe {
            let (b, none, ty, latch) = (self.builder, c"".as_ptr(), LLVMTypeOf(phi), end.latch);
            let is_shared = |value| uniform.group_at(value, latch) >= Uniform::Block;
            if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMIntegerTypeKind || LLVMCountIncoming(phi) != 2 {
                return None;
            }
            let back = (0..2).find(|&i| LLVMGetIncomingBlock(phi, i) == latch)?;
            let [next, start] = [back, 1 - back].map(|i| LLVMGetIncomingValue(phi, i));
            if ir::value_opcode(next) != Some(LLVMOpcode::LLVMAdd) {
                return None;
            }
            let step = match ir::operands(next)[..] {
                [variable, step] if variable == phi => step,
                [step, variable] if variable == phi => step,
                _ => return None,
            };
            if step == phi || !is_shared(step) {
                return None;
            }
            // What the next iteration adds is known only where all iterations add the same.
            let is_constant =
                LLVMIsAInstruction(step).is_null() || !end.body.contains(&LLVMGetInstructionParent(step));
            let of_loop = |sum| is_constant.then_some(SharedSum { latch, sum, step });
            if is_shared(phi) {
                return of_loop(next);
            }
            let header = LLVMGetInstructionParent(phi);
            LLVMPositionBuilderBefore(b, phi);
            let added = LLVMBuildPhi(b, ty, none);
            let first = ir::block_instructions(header).find(|&i| ir::opcode(i) != LLVMOpcode::LLVMPHI);
            LLVMPositionBuilderBefore(b, first.unwrap_or_else(|| LLVMGetBasicBlockTerminator(header)));
            LLVMReplaceAllUsesWith(phi, LLVMBuildAdd(b, start, added, none));
            LLVMPositionBuilderBefore(b, next);
            let sum = LLVMBuildAdd(b, added, step, none);
            let mut values = [LLVMConstInt(ty, 0, 0), sum];
            let mut blocks = [LLVMGetIncomingBlock(phi, 1 - back), latch];
            LLVMAddIncoming(added, values.as_mut_ptr(), blocks.as_mut_ptr(), 2);
            // The analysis knows the old variable by its address, which no other value may get. So it stays, unused.
            LLVMSetOperand(phi, back, phi);
            uniform.add(added, Uniform::Block);
            uniform.add(sum, Uniform::Block);
            of_loop(sum)
        }
    }

    /// Computes the next sums of loops that threads leave one by one, where their iterations begin.
    pub(super) unsafe fn next_sums(
        &self,
        sums: &[SharedSum],
        cuts: &[super::Cut],
        after: &[LLVMBasicBlockRef],
    ) -> Vec<NextSum> {
        // SAFETY: by contract; what is added each time is known before the end of an iteration.
        unsafe {
            let next = |&SharedSum { latch, sum, step }: &SharedSum| {
                let cut = cuts.iter().position(|cut| cut.apart == Some(latch))?;
                LLVMPositionBuilderBefore(self.builder, LLVMGetFirstInstruction(after[cut]));
                Some(NextSum { cut, sum, next: LLVMBuildAdd(self.builder, sum, step, c"".as_ptr()) })
            };
            sums.iter().filter_map(next).collect()
        }
    }
}
