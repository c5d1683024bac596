//! Asynchronous copies that their thread waits for before its next sync. Such a copy accesses memory in the interval in
//! which it starts, so barriers order it like a plain access. Only what its own thread does until the wait may meet it.

use std::collections::HashSet;
use std::ops::ControlFlow;

use gpurace_abi::entry::{Effect as EntryEffect, Entry};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::entry_calls::EntryCall;
use crate::protocol::effects::{Effect, Facts};

/// The largest number of basic blocks between a copy and its waits.
const MOST_BLOCKS: usize = 200;

/// True if a thread that starts this copy waits for it on every way, before it meets a sync, ends or returns.
///
/// # Safety
/// `copy` is a live instruction of the module.
pub unsafe fn is_waited_for(facts: &Facts<'_>, copy: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        let start = LLVMGetInstructionParent(copy);
        let rest = ir::block_instructions(start).skip_while(|i| *i != copy).skip(1);
        let mut seen = HashSet::new();
        let mut left = vec![];
        match walk(facts, rest, false) {
            ControlFlow::Break(waited) => return waited,
            ControlFlow::Continue(committed) => left.push((start, committed)),
        }
        while let Some((block, committed)) = left.pop() {
            let next = ir::successors(block);
            if next.is_empty() || seen.len() > MOST_BLOCKS {
                return false;
            }
            for block in next {
                if !seen.insert((block, committed)) {
                    continue;
                }
                match walk(facts, ir::block_instructions(block), committed) {
                    ControlFlow::Break(true) => {}
                    ControlFlow::Break(false) => return false,
                    ControlFlow::Continue(committed) => left.push((block, committed)),
                }
            }
        }
        true
    }
}

/// Follows a thread through instructions of a basic block. Breaks with true where it waits for the copy, with false
/// where it may sync before. Else returns whether a group has the copy.
unsafe fn walk(
    facts: &Facts<'_>,
    instructions: impl Iterator<Item = LLVMValueRef>,
    mut committed: bool,
) -> ControlFlow<bool, bool> {
    for instruction in instructions {
        // SAFETY: by contract; the entry point has this operand.
        unsafe {
            if ir::opcode(instruction) != LLVMOpcode::LLVMCall {
                continue;
            }
            match facts.effect(instruction) {
                Effect::Nothing => {}
                Effect::Function(callee) => {
                    let summary = facts.summary(callee);
                    if summary.syncs || summary.leaves || summary.clusters {
                        return ControlFlow::Break(false);
                    }
                }
                Effect::Sync(_) | Effect::Lanes(_) | Effect::Unknown(_) => return ControlFlow::Break(false),
            }
            let Some(call) = EntryCall::of(instruction) else { continue };
            match call.entry {
                Entry::AsyncCommit => committed = true,
                Entry::AsyncWait if committed && call.constant(0) == Some(0) => {
                    return ControlFlow::Break(true);
                }
                Entry::AsyncWait => {}
                entry if may_sync(entry) => return ControlFlow::Break(false),
                _ => {}
            }
        }
    }
    ControlFlow::Continue(committed)
}

/// True if other threads may learn at this call how far the thread has come, by more than atomics and fences, or if the
/// thread does not come back.
fn may_sync(entry: Entry) -> bool {
    match entry.effect() {
        EntryEffect::Check(_)
        | EntryEffect::AtomicDone
        | EntryEffect::Batch
        | EntryEffect::Fence
        | EntryEffect::Annotation
        | EntryEffect::Exchange
        | EntryEffect::Service
        | EntryEffect::Heap
        | EntryEffect::Image
        | EntryEffect::Cluster => false,
        // A copy that an mbarrier tracks is in no group.
        EntryEffect::AsyncGroup
        | EntryEffect::Passed
        | EntryEffect::Barrier
        | EntryEffect::WarpSync
        | EntryEffect::ClusterSync
        | EntryEffect::ClusterAddress
        | EntryEffect::Pause
        | EntryEffect::EndsThread
        | EntryEffect::EndsLaunch
        | EntryEffect::Beside => true,
    }
}
