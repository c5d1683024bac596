//! Uniform values of a lowered kernel: those that are the same for all threads of a block. It also
//! says which basic blocks all threads run together. The loops over a block's threads need both.
//!
//! The analysis starts from "all values are uniform". A value varies if an operand does, if it
//! comes from memory or from a call, or if it is a phi where threads meet that took different
//! branches. A branch on a value that varies makes all basic blocks up to its immediate
//! postdominator divergent, and all phis in them and there vary. The prover's analysis
//! (`protocol::uniformity`) runs before the lowering and knows more: it tells warps, blocks and
//! grids apart.

use std::collections::HashSet;

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::control_flow::{self, ControlFlow};
use crate::ir;

/// The values and basic blocks of a function that are not uniform.
#[derive(Debug, Default)]
pub struct Uniform {
    varying: HashSet<LLVMValueRef>,
    /// Basic blocks that only some of the threads may run.
    divergent: HashSet<LLVMBasicBlockRef>,
}

impl Uniform {
    /// Analyses a function; `varying` are the parameters that vary.
    ///
    /// # Safety
    /// `function` is a live definition.
    pub unsafe fn of(function: LLVMValueRef, varying: &[LLVMValueRef]) -> Self {
        let mut result = Self { varying: varying.iter().copied().collect(), ..Self::default() };
        // SAFETY: by contract.
        unsafe {
            let flow = ControlFlow::of(function);
            let meetings = meetings(&flow);
            let instructions = ir::instructions(function);
            loop {
                let before = (result.varying.len(), result.divergent.len());
                for &i in &instructions {
                    if !result.varying.contains(&i) && result.differs(i) {
                        result.varying.insert(i);
                    }
                }
                for (at, &block) in flow.blocks.iter().enumerate() {
                    if flow.successors[at].len() > 1
                        && result.varies(LLVMGetOperand(LLVMGetBasicBlockTerminator(block), 0))
                    {
                        result.diverge(&flow, at, meetings[at]);
                    }
                }
                if before == (result.varying.len(), result.divergent.len()) {
                    return result;
                }
            }
        }
    }

    /// True if threads may see different values.
    pub fn varies(&self, value: LLVMValueRef) -> bool {
        self.varying.contains(&value)
    }

    /// True if only some threads may run the basic block.
    pub fn is_divergent(&self, block: LLVMBasicBlockRef) -> bool {
        self.divergent.contains(&block)
    }

    unsafe fn differs(&self, i: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            let pure = match ir::opcode(i) {
                LLVMOpcode::LLVMCall => ir::callee(i).is_some_and(|f| ir::is_pure_intrinsic(&ir::name(f))),
                LLVMOpcode::LLVMLoad
                | LLVMOpcode::LLVMAlloca
                | LLVMOpcode::LLVMAtomicRMW
                | LLVMOpcode::LLVMAtomicCmpXchg
                | LLVMOpcode::LLVMInvoke
                | LLVMOpcode::LLVMFreeze
                | LLVMOpcode::LLVMVAArg => false,
                _ => true,
            };
            !pure || ir::operands(i).into_iter().any(|o| self.varies(o))
        }
    }

    /// Threads part at the end of block `at`, and come together in block `meet`.
    fn diverge(&mut self, flow: &ControlFlow, at: usize, meet: Option<usize>) {
        let mut seen = HashSet::new();
        let mut pending = flow.successors[at].clone();
        while let Some(b) = pending.pop() {
            if Some(b) == meet || !seen.insert(b) {
                continue;
            }
            pending.extend(&flow.successors[b]);
        }
        for b in seen.iter().copied().chain(meet) {
            // SAFETY: the blocks are the live function's.
            let first = unsafe { ir::block_instructions(flow.blocks[b]) };
            // SAFETY: as above.
            self.varying.extend(first.take_while(|&i| unsafe { ir::opcode(i) } == LLVMOpcode::LLVMPHI));
        }
        self.divergent.extend(seen.into_iter().map(|b| flow.blocks[b]));
    }
}

/// For each block, the one where its branches meet again: its immediate postdominator. `None` where
/// that is the function's end. Blocks that end the launch lead nowhere: nobody comes back from
/// them.
unsafe fn meetings(flow: &ControlFlow) -> Vec<Option<usize>> {
    let is_lost = |&node: &usize| {
        // SAFETY: by contract; every block of a definition has a terminator.
        unsafe {
            let last = LLVMGetBasicBlockTerminator(flow.blocks[node]);
            ir::opcode(last) == LLVMOpcode::LLVMUnreachable
        }
    };
    let ends = |node: usize| !is_lost(&node) && flow.successors[node].iter().all(is_lost);
    let end = flow.blocks.len();
    let found = control_flow::postdominators(&flow.successors, ends);
    found.into_iter().map(|meeting| meeting.filter(|&node| node != end)).collect()
}
