//! Asynchronous copies, and over how many barriers they are in flight. A copy's group is done at a wait that leaves no
//! more groups in flight than its thread has made after it. So the groups, waits and barriers after a copy are counted
//! on every way. Most kernels wait before the next barrier. A ring of tiles has copies in flight over some.
//!
//! Where a loop may end at once, ways exist that the kernel never takes. They count too, unless what the thread knows
//! on them rules them out ([`known`]).

mod known;

use std::collections::HashSet;
use std::ops::ControlFlow;

use gpurace_abi::entry::{Effect as EntryEffect, Entry};
use gpurace_protocol::protocol::{Op, Sync};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::entry_calls::EntryCall;
use crate::protocol::effects::{Effect, Facts};
use crate::protocol::mbarriers::{MbarrierPlace, mbarrier};
use known::{Knowledge, Relevant};

/// The most barriers over which a copy may be in flight.
const MOST_BARRIERS: u32 = 8;
/// The most groups after a copy's own that are counted.
const MOST_GROUPS: u64 = 16;
/// The most combinations of a basic block with what is known at its start.
const MOST_STATES: usize = 4000;

/// What a thread has done since it started a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Since {
    /// A group has the copy.
    committed: bool,
    /// The groups after it, at most [`MOST_GROUPS`].
    later: u64,
    /// The block barriers that the thread has passed.
    barriers: u32,
    /// It has made a sync of lanes: only a barrier of the block ends the copy then.
    other: bool,
    /// The mbarrier that it has told of the copy. It has not waited for it.
    told: Option<MbarrierPlace>,
}

/// Returns the most block barriers that a thread passes after it has started this copy and before it waits for it, on
/// every way ([`Op::Copy`]). [`Op::NO_WAIT`] if it may pass too many, or another sync than those of the block and of
/// lanes.
///
/// # Safety
/// `copy` is a live instruction of the module.
pub unsafe fn barriers_in_flight(facts: &Facts<'_>, copy: LLVMValueRef) -> u32 {
    // SAFETY: by contract.
    unsafe {
        let start = LLVMGetInstructionParent(copy);
        let function = LLVMGetBasicBlockParent(start);
        let on_every_way = most_barriers(facts, copy, &Relevant::default(), &[Knowledge::default()]);
        if on_every_way == 0 {
            return 0;
        }
        // Ways that no thread takes are left out where this is known. Both numbers are bounds.
        let Some(relevant) = Relevant::of(function) else { return on_every_way };
        let Some(known) = known_at(function, start, &relevant) else { return on_every_way };
        on_every_way.min(most_barriers(facts, copy, &relevant, &known))
    }
}

/// All that a thread may know where it comes to a block. `None` if this is too much.
unsafe fn known_at(
    function: LLVMValueRef,
    block: LLVMBasicBlockRef,
    relevant: &Relevant,
) -> Option<Vec<Knowledge>> {
    // SAFETY: by contract.
    unsafe {
        let mut seen = HashSet::new();
        let mut pending = vec![(LLVMGetEntryBasicBlock(function), Knowledge::default())];
        while let Some((from, known)) = pending.pop() {
            if !seen.insert((from, known.clone())) {
                continue;
            }
            if seen.len() > MOST_STATES {
                return None;
            }
            pending.extend(
                ir::successors(from).into_iter().filter_map(|to| Some((to, known.step(relevant, from, to)?))),
            );
        }
        Some(seen.into_iter().filter(|(at, _)| *at == block).map(|(_, known)| known).collect())
    }
}

/// As [`barriers_in_flight`], if a thread knows one of these where it comes to the copy's block.
unsafe fn most_barriers(
    facts: &Facts<'_>,
    copy: LLVMValueRef,
    relevant: &Relevant,
    known: &[Knowledge],
) -> u32 {
    // SAFETY: by contract.
    unsafe {
        let start = LLVMGetInstructionParent(copy);
        let is_kernel = ir::is_kernel(LLVMGetBasicBlockParent(start));
        let rest = ir::block_instructions(start).skip_while(|i| *i != copy).skip(1);
        let mut seen = HashSet::new();
        let mut left = vec![];
        let mut most = 0;
        match walk(facts, rest, Since::default()) {
            ControlFlow::Break(barriers) => return barriers.unwrap_or(Op::NO_WAIT),
            ControlFlow::Continue(since) => {
                left.extend(known.iter().map(|known| (start, since, known.clone())));
            }
        }
        while let Some((block, since, known)) = left.pop() {
            let next = ir::successors(block);
            if seen.len() > MOST_STATES {
                return Op::NO_WAIT;
            }
            if next.is_empty() {
                // A function's end is not the end of its thread.
                if !is_kernel {
                    return Op::NO_WAIT;
                }
                // Its last interval is that of its end, as for a plain access there.
                most = most.max(since.passes());
            }
            for to in next {
                let Some(known) = known.step(relevant, block, to) else { continue };
                let since = match meet(facts, to, since) {
                    ControlFlow::Break(barriers) => {
                        most = most.max(barriers);
                        continue;
                    }
                    ControlFlow::Continue(since) => since,
                };
                if !seen.insert((to, since, known.clone())) {
                    continue;
                }
                match walk(facts, ir::block_instructions(to), since) {
                    ControlFlow::Break(barriers) => most = most.max(barriers.unwrap_or(Op::NO_WAIT)),
                    ControlFlow::Continue(since) => left.push((to, since, known)),
                }
            }
        }
        most
    }
}

impl Since {
    fn passes(self) -> u32 {
        self.barriers.max(self.other.into())
    }
}

/// Follows a thread to the start of a basic block, where phases of mbarriers may end. An mbarrier that was told of the
/// copy is a wait for it. Behind other arrivals, nothing is known of it.
fn meet(facts: &Facts<'_>, block: LLVMBasicBlockRef, mut since: Since) -> ControlFlow<u32, Since> {
    if facts.phases.arrives(block) {
        return ControlFlow::Break(Op::NO_WAIT);
    }
    for meeting in facts.mbarriers.at(block) {
        if since.told == Some(meeting.at) {
            return ControlFlow::Break(since.passes());
        }
        if since.barriers == MOST_BARRIERS {
            return ControlFlow::Break(Op::NO_WAIT);
        }
        since.barriers += 1;
    }
    ControlFlow::Continue(since)
}

/// Follows a thread through instructions of a basic block. Breaks where it waits for the copy, with the barriers that
/// it has passed, or where they cannot be counted. Else returns what it has done.
unsafe fn walk(
    facts: &Facts<'_>,
    instructions: impl Iterator<Item = LLVMValueRef>,
    mut since: Since,
) -> ControlFlow<Option<u32>, Since> {
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
                        return ControlFlow::Break(None);
                    }
                }
                Effect::Sync(Sync::Block) if since.barriers < MOST_BARRIERS => {
                    since.barriers += 1;
                    continue;
                }
                Effect::Lanes(_) => {
                    since.other = true;
                    continue;
                }
                Effect::Sync(_) | Effect::Named(..) | Effect::Unknown(_) => return ControlFlow::Break(None),
            }
            let Some(call) = EntryCall::of(instruction) else { continue };
            match call.entry {
                Entry::AsyncCommit if since.committed => since.later = MOST_GROUPS.min(since.later + 1),
                Entry::AsyncCommit => since.committed = true,
                Entry::AsyncWait => {
                    let in_flight = call.constant(0);
                    if since.committed && in_flight.is_some_and(|groups| groups <= since.later) {
                        return ControlFlow::Break(Some(since.passes()));
                    }
                }
                // The thread's next arrival counts when the copy is done.
                Entry::AsyncArrive => since.told = mbarrier(call.operand(0)),
                // Nothing comes after the copy.
                entry if entry.effect() == EntryEffect::EndsLaunch => {
                    return ControlFlow::Break(Some(since.passes()));
                }
                entry if may_sync(entry) => return ControlFlow::Break(None),
                _ => {}
            }
        }
    }
    ControlFlow::Continue(since)
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
        | EntryEffect::Pause
        | EntryEffect::Cluster => false,
        EntryEffect::AsyncGroup
        | EntryEffect::Passed
        | EntryEffect::Barrier
        | EntryEffect::WarpSync
        | EntryEffect::ClusterSync
        | EntryEffect::ClusterAddress
        | EntryEffect::EndsThread
        | EntryEffect::EndsLaunch
        | EntryEffect::Beside => true,
    }
}
