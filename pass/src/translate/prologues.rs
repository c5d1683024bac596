//! Unrolls loops that start the first groups of asynchronous copies, so that each group is one of its own.
//!
//! A ring of tiles begins with such a loop. Its first group is done sooner than its last one, so proofs must tell them
//! apart ([`crate::protocol::copies`]).

use gpurace_abi::entry::Entry;
use llvm_sys::prelude::*;

use crate::analysis::control_flow::ControlFlow;
use crate::analysis::counted;
use crate::analysis::loops::Loops;
use crate::ir;
use crate::ir::entry_calls::EntryCall;
use crate::ir::unroll;

/// The most iterations of such a loop.
const MOST_GROUPS: usize = 8;
/// The most instructions of all its iterations.
const MOST_INSTRUCTIONS: usize = 4000;

/// The passes, in `opt -passes=` form. They unroll only what is marked.
const PASSES: &str = "loop-simplify,lcssa,\
    loop-unroll<O2;no-partial;no-peeling;no-profile-peeling;no-runtime;no-upperbound;full-unroll-max=0>,\
    sccp,simplifycfg";

/// Unrolls the loops of a module that end groups of copies, a constant number of times, and wait for none.
///
/// # Safety
/// `module` is live and used by this thread alone. Its PTX is translated.
pub unsafe fn unroll_prologues(module: LLVMModuleRef) {
    // SAFETY: by contract.
    unsafe {
        for function in ir::definitions(module).collect::<Vec<_>>() {
            if mark(function) {
                unroll::unroll_marked(function, PASSES);
            }
        }
    }
}

/// Marks such loops. True if there is one.
unsafe fn mark(function: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        let entries =
            |block| ir::block_instructions(block).filter_map(|i| EntryCall::of(i)).map(|call| call.entry);
        let ends_group = |entry| entry == Entry::AsyncCommit;
        if !ir::blocks(function).any(|block| entries(block).any(ends_group)) {
            return false;
        }
        let flow = ControlFlow::of(function);
        let mut any = false;
        for of in &Loops::of(&flow.successors).loops {
            let blocks: Vec<_> = of.nodes.iter().map(|&node| flow.blocks[node]).collect();
            let inside: Vec<_> = blocks.iter().flat_map(|&block| entries(block)).collect();
            let length: usize = blocks.iter().map(|&block| ir::block_instructions(block).count()).sum();
            let is_prologue = inside.iter().any(|&entry| ends_group(entry))
                && inside.iter().all(|entry| !matches!(entry, Entry::AsyncWait | Entry::Barrier));
            if is_prologue
                && let Some(times) = counted::iterations(&flow, of, MOST_GROUPS)
                && times * length <= MOST_INSTRUCTIONS
                && let Some(latch) = counted::latch(&flow, of)
            {
                unroll::mark(flow.blocks[latch]);
                any = true;
            }
        }
        any
    }
}
