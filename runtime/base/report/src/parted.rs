//! Which accesses barriers part, if there are further ones.
//!
//! All threads of a block take the same ways until a branch that they do not decide together. So two accesses may run
//! at once only if one follows the other without a barrier, or if both follow such a branch.

use std::collections::{BTreeSet, HashMap};

use gpurace_abi::flow::{Flow, Step};

use crate::barriers::{Level, Pair, is_run_together, parts};
use crate::paths::{StepPlace, loops, places, reversed, successors};

/// A kernel's barriers, and further ones.
pub(crate) struct Parted<'a> {
    flow: &'a Flow,
    places: HashMap<u32, StepPlace>,
    /// The steps of each block that a barrier is at or before, in order.
    barriers: Vec<Vec<usize>>,
    /// The blocks that are entered from each branch that threads do not decide together.
    behind_branches: Vec<Vec<bool>>,
}

impl<'a> Parted<'a> {
    /// `added` are steps before which there is a further barrier.
    pub(crate) fn new(flow: &'a Flow, added: &[StepPlace], level: Level) -> Self {
        let is_barrier = |step: &Step| parts(*step, level);
        let of_block = |block: usize| {
            let steps = &flow.blocks[block].steps;
            let is_at = |at: &usize| steps.get(*at).is_some_and(is_barrier) || added.contains(&(block, *at));
            (0..=steps.len()).filter(is_at).collect()
        };
        let barriers = (0..flow.blocks.len()).map(of_block).collect();
        let mut parted = Self { flow, places: places(flow), barriers, behind_branches: Vec::new() };
        let reversed = reversed(flow);
        let loops: Vec<_> = loops(flow, &reversed).collect();
        // Also right behind a barrier they may part.
        let branches =
            (0..flow.blocks.len()).filter(|&block| is_decided_apart(flow, &reversed, &loops, block, level));
        parted.behind_branches = branches.map(|block| parted.entered(block)).collect();
        parted
    }

    /// True if barriers part two accesses.
    pub(crate) fn parts(&self, [a, b]: Pair) -> bool {
        let (Some(&one), Some(&other)) = (self.places.get(&a), self.places.get(&b)) else { return false };
        let meet = |entered: &Vec<bool>| self.comes_to(entered, one) && self.comes_to(entered, other);
        a != b
            && !self.follows(one, other)
            && !self.follows(other, one)
            && !self.behind_branches.iter().any(meet)
    }

    /// True if a way without a barrier leads from one step to another.
    fn follows(&self, from: StepPlace, to: StepPlace) -> bool {
        let stops = |range: std::ops::RangeInclusive<usize>| {
            self.barriers[from.0].iter().any(|barrier| range.contains(barrier))
        };
        let is_direct = from.0 == to.0 && from.1 < to.1 && !stops(from.1 + 1..=to.1);
        let ends = !stops(from.1 + 1..=self.flow.blocks[from.0].steps.len());
        is_direct || ends && self.comes_to(&self.entered(from.0), to)
    }

    fn comes_to(&self, entered: &[bool], (block, at): StepPlace) -> bool {
        entered[block] && self.barriers[block].first().is_none_or(|barrier| *barrier > at)
    }

    /// The blocks that are entered from the end of a block without a barrier.
    fn entered(&self, from: usize) -> Vec<bool> {
        let mut entered = vec![false; self.flow.blocks.len()];
        let mut pending = vec![from];
        while let Some(block) = pending.pop() {
            for next in successors(self.flow, block) {
                if !std::mem::replace(&mut entered[next], true) && self.barriers[next].is_empty() {
                    pending.push(next);
                }
            }
        }
        entered
    }
}

/// True if threads of a block, or of a warp, may take several ways at the end of a basic block, or one way in different
/// iterations of a loop around it. They decide together on the way into code that all of them run or none does, and
/// which has no other way to it; and on the way out of a loop if all of them run the block in each iteration.
fn is_decided_apart(
    flow: &Flow,
    reversed: &[Vec<usize>],
    loops: &[(usize, BTreeSet<usize>)],
    block: usize,
    level: Level,
) -> bool {
    let mut next: Vec<usize> = successors(flow, block).collect();
    next.sort_unstable();
    next.dedup();
    let leaves = |next| loops.iter().any(|(_, of)| of.contains(&block) && !of.contains(&next));
    let is_of_all = |next: &&usize| match leaves(**next) {
        true => is_run_together(&flow.blocks[block], level),
        false => is_run_together(&flow.blocks[**next], level) && reversed[**next] == [block],
    };
    next.len() > 1 + next.iter().filter(is_of_all).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::tests::flow;

    fn are_parted(text: &str, added: &[StepPlace]) -> bool {
        let flow = flow(text);
        let parted = Parted::new(&flow, added, Level::Block);
        assert_eq!(parted.parts([0, 1]), parted.parts([1, 0]));
        assert!(!parted.parts([0, 0]) && !parted.parts([0, 9]));
        parted.parts([0, 1])
    }

    #[test]
    fn a_barrier_parts_what_comes_before_and_after() {
        assert!(are_parted("u: L1 a0 B L2 a1", &[]));
        assert!(!are_parted("u: L1 a0 L2 a1", &[]));
        assert!(are_parted("u: L1 a0 L2 a1", &[(0, 2)]));
        assert!(!are_parted("u: L1 a0 L2 a1", &[(0, 0)]) && !are_parted("u: L1 a0 L2 a1", &[(0, 4)]));
        // At the end of a block, and at the start of the next one.
        for barrier in [(0, 2), (1, 0), (1, 1)] {
            assert!(are_parted("u 1: L1 a0\nu: L2 a1", &[barrier]), "{barrier:?}");
        }
        assert!(!are_parted("u 1: L1 a0\nu: L2 a1", &[(1, 3)]));
    }

    #[test]
    fn the_end_of_a_loop_parts_its_rounds_from_what_follows() {
        let text = "u 1: L1 B\nu 2,3: L2\nu 1: L3 a0\nu: L4 a1";
        assert!(!are_parted(text, &[]));
        assert!(are_parted(text, &[(2, 2)]));
        // Threads that leave the loop alone may meet others in it.
        let alone = text.replace("u 2,3", " 2,3").replace("u 1: L3", " 1: L3").replace("u: L4", " : L4");
        assert!(!are_parted(&alone, &[(2, 2)]));
        // They do so if each has its own number of rounds, though all of them come to what follows.
        assert!(!are_parted(&text.replace("u 2,3", " 2,3").replace("u 1: L3", " 1: L3"), &[(2, 2)]));
        // A loop with its condition at the end.
        let rotated = "u 1: L1 B\nu 1,2: L3 a0\nu: L4 a1";
        assert!(!are_parted(rotated, &[]) && are_parted(rotated, &[(1, 2)]));
        assert!(!are_parted(&rotated.replace("u 1,2", " 1,2"), &[(1, 2)]));
        // Before the access, a barrier does not part it from what follows the loop.
        assert!(!are_parted(rotated, &[(1, 0)]));
    }

    #[test]
    fn all_threads_take_one_of_two_branches_or_each_its_own() {
        let branches = "u 1,2: L1\nu 3: L2 a0\nu 3: L3 a1\nu: L4";
        assert!(are_parted(branches, &[]));
        assert!(are_parted(&branches.replace("u 3: L3", " 3: L3"), &[]));
        assert!(!are_parted(&branches.replace("u 3:", " 3:"), &[]));
        // Another way leads to the code of all: of the branch nothing is known.
        assert!(!are_parted("u 1,2: L1\nu 2: L2 a0\nu: L3 a1", &[]));
        let shared = "u 1,2: L1\n 3,4: L2\n 3,4: L3\nu: L4 a0\nu: L5 a1";
        assert!(!are_parted(shared, &[]));
        // The threads part before a barrier that all come to.
        assert!(are_parted("u 1,2: L1\n 2: L2\nu 3,4: L3 B\nu: L4 a0\nu: L5 a1", &[]));
        assert!(!are_parted("u 1,2: L1\n 2: L2\nu 3,4: L3 B\n : L4 a0\n : L5 a1", &[]));
    }
}
