//! Which basic blocks threads run together, since a barrier or a collective is there.

use std::collections::HashSet;

use gpurace_abi::entry::Entry;
use gpurace_abi::flow::{FlowBlock, Step};

use super::exits::is_line;
use crate::analysis::control_flow::{dominators, postdominators, reversed};
use crate::analysis::regions::Graph;
use crate::ir::entry_calls::EntryCall;

/// Marks the blocks that a thread runs as often as one with a barrier: CUDA wants all threads of the thread block
/// there, or all lanes of the warp, whatever the pass knows of the conditions on the way.
///
/// # Safety
/// The instructions of `graph` are live.
pub unsafe fn run_where_threads_meet(blocks: &mut [FlowBlock], graph: &Graph) {
    let has = |block: &FlowBlock, wanted: fn(&Step) -> bool| block.steps.iter().any(wanted);
    let is_barrier = |step: &Step| matches!(step, Step::Barrier | Step::Grid);
    let meeting: Vec<usize> = (0..blocks.len()).filter(|&at| has(&blocks[at], is_barrier)).collect();
    run_alike(blocks, graph, &meeting, |block| &mut block.uniform);
    // SAFETY: by contract.
    let is_of_warp = |at: &usize| unsafe {
        has(&blocks[*at], |step| *step == Step::Warp)
            || graph.instructions[*at].iter().any(|&instruction| is_of_all_lanes(EntryCall::of(instruction)))
    };
    let meeting: Vec<usize> = (0..blocks.len()).filter(is_of_warp).collect();
    blocks.iter_mut().for_each(|block| block.warp |= block.uniform);
    run_alike(blocks, graph, &meeting, |block| &mut block.warp);
    blocks.iter_mut().for_each(|block| block.warp &= !block.uniform);
}

/// True for a collective of all lanes of a warp.
unsafe fn is_of_all_lanes(call: Option<EntryCall>) -> bool {
    let collectives = [Entry::Vote, Entry::Redux, Entry::Shfl];
    // SAFETY: by contract of the callers; the mask of these is their second operand.
    call.is_some_and(|call| unsafe {
        collectives.contains(&call.entry) && call.constant(1) == Some(u32::MAX.into())
    })
}

/// Marks the blocks that a thread runs as often as one of `meeting`. In a loop, a thread may also end between the two.
/// All threads begin the first iteration together, and those that have met begin the next one. This is said only of
/// loops behind which threads access no memory.
fn run_alike(
    blocks: &mut [FlowBlock],
    graph: &Graph,
    meeting: &[usize],
    together: impl Fn(&mut FlowBlock) -> &mut bool,
) {
    let next = next_of(blocks);
    let mut are_together: Vec<bool> = blocks.iter_mut().map(|block| *together(block)).collect();
    let ways = Dominance::of(&next, graph);
    let alike = |first, then| graph.loop_of[first] == graph.loop_of[then] && ways.are_alike(first, then);
    let before = reversed(&next);
    let begins_together = |at: usize, are_together: &[bool]| {
        let Some(header) = graph.loop_of[at].map(|around| graph.loops[around].header) else { return false };
        let (latches, enters): (Vec<usize>, Vec<usize>) =
            before[header].iter().partition(|&&from| from >= header);
        let all_enter = matches!(enters[..], [from] if are_together[from] && next[from] == [header]);
        let leads_on = |barrier: usize| {
            graph.loop_of[at] == graph.loop_of[barrier]
                && ways.dominates(at, barrier)
                && ways.follows(barrier, header)
                && latches.iter().all(|&latch| ways.dominates(barrier, latch))
        };
        // What threads that leave alone do then would run beside the others.
        let is_within = |block: usize| graph.within(graph.loop_of[block], graph.loop_of[at]);
        let within = (0..blocks.len()).filter(|&block| is_within(block));
        let mut left: Vec<usize> = within.flat_map(|block| next[block].iter().copied()).collect();
        left.retain(|&block| !is_within(block));
        let mut behind = HashSet::new();
        while let Some(block) = left.pop() {
            left.extend(next[block].iter().filter(|&&next| behind.insert(next)));
            behind.insert(block);
        }
        let ends = behind.iter().all(|&block| blocks[block].steps.iter().all(is_line));
        all_enter && ends && ways.follows(header, at) && meeting.iter().any(|&barrier| leads_on(barrier))
    };
    for at in 0..next.len() {
        let is_alike = meeting.iter().any(|&other| alike(at.min(other), at.max(other)));
        are_together[at] |= is_alike || begins_together(at, &are_together);
    }
    for (block, are_together) in blocks.iter_mut().zip(are_together) {
        *together(block) = are_together;
    }
}

/// Gives each loop a block of its own on the way to it, if the block before it may lead elsewhere too: that is a place
/// for a barrier before the loop.
pub fn give_entries(blocks: &mut Vec<FlowBlock>, graph: &Graph) {
    let next = next_of(blocks);
    let (ways, before) = (Dominance::of(&next, graph), reversed(&next));
    let mut entries: Vec<(usize, FlowBlock)> = Vec::new();
    for around in &graph.loops {
        let header = around.header;
        let outside: Vec<usize> = before[header].iter().copied().filter(|&from| from < header).collect();
        if !matches!(outside[..], [from] if next[from].len() > 1) {
            continue;
        }
        // A thread comes to the loop as often as to such a block.
        let is_like = |at: &usize| {
            graph.loop_of[*at] == around.parent
                && (ways.are_alike(*at, header) || ways.are_alike(header, *at))
        };
        let like: Vec<&FlowBlock> = (0..blocks.len()).filter(is_like).map(|at| &blocks[at]).collect();
        let uniform = like.iter().any(|block| block.uniform);
        let warp = !uniform && like.iter().any(|block| block.warp);
        entries.push((header, FlowBlock { uniform, warp, ..FlowBlock::default() }));
    }
    // Blocks behind a new one get other numbers.
    entries.sort_unstable_by_key(|(header, _)| std::cmp::Reverse(*header));
    for (header, entry) in entries {
        for (at, block) in blocks.iter_mut().enumerate() {
            let moves =
                |next: &&mut u32| **next as usize > header || **next as usize == header && at >= header;
            block.next.iter_mut().filter(moves).for_each(|next| *next += 1);
        }
        blocks.insert(header, FlowBlock { next: vec![header as u32 + 1], ..entry });
    }
}

/// Where the ways through a kernel's blocks meet.
struct Dominance {
    dominators: Vec<usize>,
    after: Vec<Option<usize>>,
}

impl Dominance {
    fn of(next: &[Vec<usize>], graph: &Graph) -> Self {
        let after = postdominators(next, |block| next[block].is_empty() && !graph.dies[block]);
        Self { dominators: dominators(&reversed(next)), after }
    }

    /// True if a thread comes to a block only by way of the first one.
    fn dominates(&self, first: usize, then: usize) -> bool {
        // No way leads to a block of which the dominator is not known.
        let dominator =
            |block: usize| Some(self.dominators[block]).filter(|&of| block != 0 && of != usize::MAX);
        std::iter::successors(Some(then), |&block| dominator(block)).any(|block| block == first)
    }

    /// True if a thread that has come to the first block comes to the other one too.
    fn follows(&self, first: usize, then: usize) -> bool {
        let after = |&block: &usize| self.after.get(block).copied().flatten();
        std::iter::successors(Some(first), after).any(|block| block == then)
    }

    /// True if a thread that comes to one of the blocks comes to both.
    fn are_alike(&self, first: usize, then: usize) -> bool {
        self.dominates(first, then) && self.follows(first, then)
    }
}

fn next_of(blocks: &[FlowBlock]) -> Vec<Vec<usize>> {
    blocks.iter().map(|block| block.next.iter().map(|&next| next as usize).collect()).collect()
}
