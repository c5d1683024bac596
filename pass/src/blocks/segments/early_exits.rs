//! Threads that end while others go on to a barrier: an early `return`, mostly of the threads behind the end of
//! an array. A barrier does not wait for threads that have ended, so the others reach it together if that holds
//! without the basic blocks in which the former end.
//!
//! Each thread of such a kernel has a point of its own in the frame. A segment that begins at a barrier runs for
//! the threads that have not ended.

use std::collections::HashSet;

use llvm_sys::prelude::*;

use crate::analysis::control_flow::{ControlFlow, dying, reversed};
use crate::analysis::uniform::BlockUniform;
use crate::ir;

/// Analyses a function with these barriers, without the basic blocks in which single threads end before a barrier.
/// `None` if the threads that have not ended may still not reach each barrier together. `analyse` gets the blocks to
/// leave out. Returns whether there are any too.
///
/// # Safety
/// The function is live; its blocks do not change meanwhile.
pub(super) unsafe fn meeting_at(
    function: LLVMValueRef,
    barriers: &HashSet<LLVMBasicBlockRef>,
    analyse: impl Fn(HashSet<LLVMBasicBlockRef>) -> BlockUniform,
) -> Option<(BlockUniform, bool)> {
    let mut ending = HashSet::new();
    // SAFETY: by contract.
    unsafe {
        loop {
            let uniform = analyse(ending.clone());
            if !barriers.iter().any(|&block| uniform.is_divergent(block)) {
                return Some((uniform, !ending.is_empty()));
            }
            let found = ends_of_threads(function, barriers, &uniform);
            let before = ending.len();
            ending.extend(found);
            if ending.len() == before || !all_can_end(function, &ending) {
                return None;
            }
        }
    }
}

/// The basic blocks in which a thread ends that has left the way of others to a barrier.
unsafe fn ends_of_threads(
    function: LLVMValueRef,
    barriers: &HashSet<LLVMBasicBlockRef>,
    uniform: &BlockUniform,
) -> HashSet<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(function);
        let mut comes: HashSet<_> =
            flow.blocks.iter().copied().filter(|block| barriers.contains(block)).collect();
        let mut pending: Vec<_> = comes.iter().copied().collect();
        while let Some(block) = pending.pop() {
            let before = flow.predecessors[flow.index[&block]].iter().map(|&node| flow.blocks[node]);
            pending.extend(before.filter(|&block| comes.insert(block)));
        }
        let mut found = HashSet::new();
        for &block in &flow.blocks {
            let ways = ir::successors(block);
            if ways.iter().any(|to| comes.contains(to)) && uniform.parts(block) {
                let away = ways.into_iter().filter(|to| !comes.contains(to));
                found.extend(away.flat_map(|to| ControlFlow::from(to).blocks));
            }
        }
        found
    }
}

/// True if every way without these basic blocks still comes to an end. A loop that only single threads leave does
/// not: what follows would seem never to be reached.
unsafe fn all_can_end(function: LLVMValueRef, without: &HashSet<LLVMBasicBlockRef>) -> bool {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(function);
        let kept = |node: usize| !without.contains(&flow.blocks[node]);
        let successors: Vec<Vec<usize>> = flow
            .successors
            .iter()
            .map(|to| to.iter().copied().filter(|&node| kept(node)).collect())
            .collect();
        let dies = dying(&reversed(&successors), |node| successors[node].is_empty());
        (0..successors.len()).all(|node| !kept(node) || !dies[node])
    }
}
