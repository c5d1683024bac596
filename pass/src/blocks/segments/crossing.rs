//! Values that are computed before a barrier and needed after it. Values that depend only on parameters are
//! computed again. The others are kept in the frame.

use std::collections::{HashMap, HashSet};
use std::mem::offset_of;

use gpurace_abi::batch::{FrameCommon, SHARED_VALUES};
use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::context::FIELDS;
use super::frame;
use super::{Cut, Cutter, Runs, THREAD_PARAMETERS};
use crate::analysis::uniform::BlockUniform;
use crate::blocks::number::{from_number, is_number, to_number};
use crate::ir;

unsafe extern "C" {
    fn gpurace_demote(instruction: LLVMValueRef) -> LLVMValueRef;
}

/// A value that is needed after a barrier.
pub(super) struct Crossing {
    pub(super) value: LLVMValueRef,
    /// The basic block that computes it.
    defined: LLVMBasicBlockRef,
    /// Its index among the values that all threads share, if it is one.
    pub(super) shared: Option<usize>,
    /// The cuts after which it is needed.
    pub(super) points: Vec<usize>,
    /// All these cuts are within a segment of the block.
    in_warp: bool,
}

impl Cutter {
    /// Moves instructions to the start block if they depend only on parameters and are harmless where their
    /// result is not needed.
    pub(super) unsafe fn compute_at_start(&self) {
        // SAFETY: by contract; an instruction moves after its operands.
        unsafe {
            let mut moved = true;
            while moved {
                moved = false;
                for i in ir::instructions(self.function) {
                    if LLVMGetInstructionParent(i) == self.start || !ir::is_speculatable(i) {
                        continue;
                    }
                    let ready = ir::operands(i).into_iter().all(|o| {
                        LLVMIsAInstruction(o).is_null() || LLVMGetInstructionParent(o) == self.start
                    });
                    if ready {
                        LLVMInstructionRemoveFromParent(i);
                        self.at_start();
                        LLVMInsertIntoBuilder(self.builder, i);
                        moved = true;
                    }
                }
            }
        }
    }

    /// Finds the values that are used after a barrier and computed before it.
    pub(super) unsafe fn crossing(
        &self,
        cuts: &[Cut],
        after: &[LLVMBasicBlockRef],
        uniform: &BlockUniform,
    ) -> Vec<Crossing> {
        // SAFETY: by contract.
        unsafe {
            let points: HashMap<_, _> = after.iter().enumerate().map(|(p, &b)| (b, p)).collect();
            let mut before: HashMap<LLVMBasicBlockRef, Vec<LLVMBasicBlockRef>> = HashMap::new();
            for block in ir::blocks(self.function) {
                let end = LLVMGetBasicBlockTerminator(block);
                for i in 0..LLVMGetNumSuccessors(end) {
                    before.entry(LLVMGetSuccessor(end, i)).or_default().push(block);
                }
            }
            let (mut found, mut shared) = (Vec::new(), 0);
            for value in ir::instructions(self.function) {
                let defined = LLVMGetInstructionParent(value);
                if defined == self.start {
                    continue;
                }
                // Backwards from its uses to its computation.
                let mut live = HashSet::new();
                let mut pending: Vec<_> = Vec::new();
                for user in ir::users(value) {
                    if ir::opcode(user) == LLVMOpcode::LLVMPHI {
                        for i in 0..LLVMCountIncoming(user) {
                            if LLVMGetIncomingValue(user, i) == value {
                                let from = LLVMGetIncomingBlock(user, i);
                                if from != defined && live.insert(from) {
                                    pending.push(from);
                                }
                            }
                        }
                    } else {
                        let block = LLVMGetInstructionParent(user);
                        if block != defined && live.insert(block) {
                            pending.push(block);
                        }
                    }
                }
                while let Some(block) = pending.pop() {
                    for &b in before.get(&block).into_iter().flatten() {
                        if b != defined && live.insert(b) {
                            pending.push(b);
                        }
                    }
                }
                let mut points: Vec<_> = live.iter().filter_map(|b| points.get(b).copied()).collect();
                points.sort_unstable();
                if !points.is_empty() {
                    // Shared values are passed as 64-bit numbers.
                    let ty = LLVMTypeOf(value);
                    let in_warp = points.iter().all(|&p| cuts[p].runs != Runs::Block);
                    // Warps run one after another, and each loads what it has stored itself. Lanes that part
                    // may be in different iterations.
                    let group = if in_warp { Uniform::Warp } else { Uniform::Block };
                    let parts = self.parts && points.iter().any(|&p| cuts[p].runs != Runs::Block);
                    let may_be = !parts
                        && uniform.group(value) >= group
                        && ir::alloc_size(self.module, ty) <= 8
                        && is_number(ty)
                        && shared < SHARED_VALUES;
                    found.push(Crossing {
                        value,
                        defined,
                        shared: may_be.then_some(shared),
                        points,
                        in_warp,
                    });
                    shared += usize::from(may_be);
                }
            }
            found
        }
    }

    /// Keeps the crossing values in the frame, and cuts the function at the barriers. Returns how
    /// many of them all threads share; `None` if a value cannot be kept.
    pub(super) unsafe fn keep_over(
        &mut self,
        cuts: &[Cut],
        after: &[LLVMBasicBlockRef],
        crossing: Vec<Crossing>,
    ) -> Option<usize> {
        // SAFETY: by contract.
        unsafe {
            let mut shared = 0;
            let mut kept = vec![Vec::new(); after.len()];
            for c in crossing {
                let ty = LLVMTypeOf(c.value);
                let variable = gpurace_demote(c.value);
                if variable.is_null() {
                    return None;
                }
                let place = if let Some(number) = c.shared {
                    shared += 1;
                    (self.common_place(offset_of!(FrameCommon, shared) + 8 * number), Some(number))
                } else {
                    let size = ir::alloc_size(self.module, ty);
                    let alignment = u64::from(ir::abi_alignment(self.module, ty)).clamp(1, 16);
                    let size = size.next_multiple_of(alignment);
                    let place = if c.in_warp {
                        self.lane_place(size, alignment)
                    } else {
                        self.thread_place(size, alignment).1
                    };
                    (place, None)
                };
                for &p in &c.points {
                    // It is there already if it was needed at the start of the same basic block. The places
                    // of shared values are overwritten by the warps that have run since a barrier.
                    let block = LLVMGetInstructionParent(cuts[p].at);
                    let is_kept = after.iter().position(|&b| b == block).is_some_and(|before| {
                        c.defined != block && (c.shared.is_none() || cuts[before].runs != Runs::Block)
                    });
                    kept[p].push((variable, ty, place, !is_kept));
                }
            }
            let next = self.next_point();
            let int = LLVMInt32TypeInContext(self.context);
            for (p, (&Cut { at: barrier, .. }, &block)) in cuts.iter().zip(after).enumerate() {
                for &(variable, ty, (place, parameter), is_stored) in &kept[p] {
                    LLVMPositionBuilderBefore(self.builder, barrier);
                    let value = LLVMBuildLoad2(self.builder, ty, variable, c"".as_ptr());
                    match parameter {
                        _ if !is_stored => {}
                        Some(_) => {
                            let number = to_number(self.builder, self.context, value);
                            LLVMBuildStore(self.builder, number, place);
                        }
                        None => frame::store(self.builder, self.context, value, place),
                    }
                    LLVMPositionBuilderBefore(self.builder, LLVMGetFirstInstruction(block));
                    let value = match parameter {
                        Some(i) => {
                            let number = LLVMGetParam(
                                self.function,
                                (self.kernel_parameters + THREAD_PARAMETERS + FIELDS + i) as u32,
                            );
                            from_number(self.builder, self.context, number, ty)
                        }
                        None => frame::load(self.builder, self.context, ty, place),
                    };
                    LLVMBuildStore(self.builder, value, variable);
                }
                LLVMPositionBuilderBefore(self.builder, barrier);
                LLVMBuildStore(self.builder, LLVMConstInt(int, p as u64 + 1, 0), next);
                let block = LLVMGetInstructionParent(barrier);
                LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(block));
                LLVMInstructionEraseFromParent(barrier);
                LLVMPositionBuilderAtEnd(self.builder, block);
                LLVMBuildRetVoid(self.builder);
            }
            Some(shared)
        }
    }
}
