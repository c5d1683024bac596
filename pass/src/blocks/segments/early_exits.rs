//! Threads that end while others go on to a barrier: an early `return`, mostly of the threads behind the end of
//! an array. A barrier does not wait for threads that have ended. So it is enough if the other threads reach each
//! barrier together, and the analysis leaves out the basic blocks in which threads end early.
//!
//! Each thread of such a kernel has a point of its own in the frame. A segment that begins at a barrier runs for
//! the threads that have not ended.

use std::collections::HashSet;

use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::read_once::{self, ReadOnce};
use super::{Cutter, ThreadParameter};
use crate::analysis::control_flow::{ControlFlow, dying, reversed};
use crate::analysis::uniform::BlockUniform;
use crate::blocks::entries::Checks;
use crate::ir;

impl Cutter {
    /// Returns what the threads of a block have in common, if they reach each barrier together. If values that threads
    /// read decide about that, one thread reads these for all. `None` if threads may not reach each barrier together.
    pub(super) unsafe fn uniform_at(
        &mut self,
        barriers: &[LLVMValueRef],
        has_collectives: bool,
        read_only: &[bool],
        checks: Checks,
    ) -> Option<BlockUniform> {
        // SAFETY: by contract.
        unsafe {
            let varying =
                [ThreadParameter::X, ThreadParameter::Y, ThreadParameter::Z, ThreadParameter::Linear]
                    .map(|p| self.parameter(p));
            let warps = has_collectives.then(|| self.whole_warps());
            let (module, function) = (self.module, self.function);
            let analyse = |reads: &ReadOnce, ending| {
                let reads = reads.clone();
                BlockUniform::of(function, &varying, read_only, warps.clone(), ending, reads)
            };
            let at = barriers.iter().map(|&b| LLVMGetInstructionParent(b)).collect();
            let meeting = |reads: &ReadOnce| meeting_at(function, &at, |ending| analyse(reads, ending));
            let (uniform, some_end) = match meeting(&ReadOnce::new()) {
                None if !has_collectives && read_once::is_for(function, checks) => {
                    let parting = analyse(&ReadOnce::new(), HashSet::new());
                    let reads = read_once::candidates(module, &at, function, &parting);
                    let uniform = meeting(&reads)?.0;
                    meeting(&self.read_once(&reads, &uniform)?)
                }
                met => met,
            }?;
            if some_end {
                self.own_point = Some(self.thread_place(4, 4));
            }
            Some(uniform)
        }
    }
}

/// Analyses a function whose barriers are in these basic blocks. `analyse` gets the basic blocks to leave out: those
/// in which single threads end before a barrier. Returns its result, and whether there are such basic blocks. `None`
/// if the threads that have not ended may still not reach each barrier together.
///
/// # Safety
/// The function is live; its blocks do not change meanwhile.
unsafe fn meeting_at(
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

/// Returns the basic blocks on the ways of threads that have parted from others on the way to a barrier, and that come
/// to no barrier any more.
unsafe fn ends_of_threads(
    function: LLVMValueRef,
    barriers: &HashSet<LLVMBasicBlockRef>,
    uniform: &BlockUniform,
) -> HashSet<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(function);
        let mut leads_to_barrier: HashSet<_> =
            flow.blocks.iter().copied().filter(|block| barriers.contains(block)).collect();
        let mut pending: Vec<_> = leads_to_barrier.iter().copied().collect();
        while let Some(block) = pending.pop() {
            let before = flow.predecessors[flow.index[&block]].iter().map(|&node| flow.blocks[node]);
            pending.extend(before.filter(|&block| leads_to_barrier.insert(block)));
        }
        let mut found = HashSet::new();
        for &block in &flow.blocks {
            let ways = ir::successors(block);
            if ways.iter().any(|to| leads_to_barrier.contains(to)) && uniform.parts(block) {
                let away = ways.into_iter().filter(|to| !leads_to_barrier.contains(to));
                found.extend(away.flat_map(|to| ControlFlow::from(to).blocks));
            }
        }
        found
    }
}

/// True if control can still come to an end from everywhere without these basic blocks. It cannot from a loop that only
/// single threads leave: the code after it would seem never to be reached.
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
