//! Ways through a kernel's control flow: its steps, blocks and loops, and what reaches what. Blocks are in reverse
//! post-order, so only a way back to the start of a loop leads to an earlier block.

use std::collections::{BTreeSet, HashMap};

use gpurace_abi::flow::{Flow, Step};

/// A step: its block, and its index there.
pub(crate) type StepPlace = (usize, usize);

/// Returns the step of each access.
pub(crate) fn places(flow: &Flow) -> HashMap<u32, StepPlace> {
    let mut places = HashMap::new();
    for (block, body) in flow.blocks.iter().enumerate() {
        for (at, step) in body.steps.iter().enumerate() {
            if let Step::Access(site) | Step::Atomic(site) = *step {
                places.insert(site, (block, at));
            }
        }
    }
    places
}

/// True if two accesses of one basic block are of one statement: no line begins between them, or what comes later has
/// no later line. Then the statement has several lines.
pub(crate) fn is_one_statement(flow: &Flow, a: StepPlace, b: StepPlace) -> bool {
    let (first, last) = (a.min(b), a.max(b));
    let steps = &flow.blocks[a.0].steps;
    a.0 == b.0
        && match (line_of(steps, first.1), line_of(steps, last.1)) {
            (Some((place, line)), Some((other_place, other))) => place == other_place && other <= line,
            _ => !steps[first.1..last.1].iter().any(|step| line(step).is_some()),
        }
}

/// The last line that has begun before a step of a block, and the call that it is of.
fn line_of(steps: &[Step], at: usize) -> Option<(Option<u32>, u32)> {
    steps[..at].iter().rev().find_map(line)
}

/// The lines that may have begun last before a step, each with the call that it is of.
pub(crate) fn lines_before(flow: &Flow, at: StepPlace) -> BTreeSet<(Option<u32>, u32)> {
    let reversed = reversed(flow);
    let mut lines = BTreeSet::new();
    let mut entered = BTreeSet::new();
    let mut pending = vec![at];
    while let Some((block, at)) = pending.pop() {
        match line_of(&flow.blocks[block].steps, at) {
            Some(line) => _ = lines.insert(line),
            None => pending.extend(
                reversed[block]
                    .iter()
                    .filter(|&&before| entered.insert(before))
                    .map(|&before| (before, flow.blocks[before].steps.len())),
            ),
        }
    }
    lines
}

/// The line that a step begins, and the call that it is of.
pub(crate) fn line(step: &Step) -> Option<(Option<u32>, u32)> {
    match *step {
        Step::Line(line) => Some((None, line)),
        Step::Inlined { line, call, .. } => Some((Some(call), line)),
        _ => None,
    }
}

/// Which ways lead on.
#[derive(Clone, Copy)]
pub(crate) struct Walk {
    /// Ways back to the start of a loop do.
    pub back: bool,
    /// Ways through such a step do not.
    pub stops: fn(Step) -> bool,
}

/// True if a way leads from one step to another.
pub(crate) fn reaches(flow: &Flow, from: StepPlace, to: StepPlace, walk: Walk) -> bool {
    let mut entered = vec![false; flow.blocks.len()];
    let mut pending = vec![(from.0, from.1 + 1)];
    while let Some((block, first)) = pending.pop() {
        let mut goes_on = true;
        for (at, &step) in flow.blocks[block].steps.iter().enumerate().skip(first) {
            if (block, at) == to {
                return true;
            }
            if (walk.stops)(step) {
                goes_on = false;
                break;
            }
        }
        let next = flow.blocks[block].next.iter().map(|&next| next as usize).filter(|_| goes_on);
        for next in next.filter(|&next| walk.back || next > block) {
            if entered.get(next) == Some(&false) {
                entered[next] = true;
                pending.push((next, 0));
            }
        }
    }
    false
}

/// True if a way leads from one step to another within one iteration of each loop around both. It may run through other
/// loops.
pub(crate) fn reaches_in_turn(flow: &Flow, from: StepPlace, to: StepPlace) -> bool {
    let reversed = reversed(flow);
    let around = loops(flow, &reversed).filter(|(_, of)| of.contains(&from.0) && of.contains(&to.0));
    let headers: BTreeSet<usize> = around.map(|(header, _)| header).collect();
    let leads = |block: usize, next: usize| next > block || !headers.contains(&next);
    let mut next = successors(flow, from.0).filter(|&next| leads(from.0, next));
    from.0 == to.0 && from.1 < to.1 || next.any(|next| reached_by(flow, next, leads).contains(&to.0))
}

/// Returns the blocks that follow a block.
pub(crate) fn successors(flow: &Flow, block: usize) -> impl Iterator<Item = usize> + '_ {
    let next = flow.blocks[block].next.iter().map(|&next| next as usize);
    next.filter(|&next| next < flow.blocks.len())
}

/// Returns a block and those that it reaches. Without `back`, ways back to the start of a loop are left out.
pub(crate) fn reached(flow: &Flow, block: usize, back: bool) -> BTreeSet<usize> {
    reached_by(flow, block, |from, next| back || next > from)
}

/// Returns a block and those that it reaches by ways that do not come to `without`.
pub(crate) fn reached_without(flow: &Flow, block: usize, without: usize) -> BTreeSet<usize> {
    reached_by(flow, block, |_, next| next != without)
}

fn reached_by(flow: &Flow, block: usize, leads: impl Fn(usize, usize) -> bool) -> BTreeSet<usize> {
    let mut reached = BTreeSet::from([block]);
    let mut pending = vec![block];
    while let Some(block) = pending.pop() {
        let next = successors(flow, block).filter(|&next| leads(block, next));
        pending.extend(next.filter(|&next| reached.insert(next)));
    }
    reached
}

/// Returns the blocks before each block.
pub(crate) fn reversed(flow: &Flow) -> Vec<Vec<usize>> {
    let mut reversed = vec![Vec::new(); flow.blocks.len()];
    for (block, body) in flow.blocks.iter().enumerate() {
        for &next in &body.next {
            if let Some(previous) = reversed.get_mut(next as usize) {
                previous.push(block);
            }
        }
    }
    reversed
}

/// Returns the header and the blocks of each loop.
pub(crate) fn loops<'a>(
    flow: &'a Flow,
    reversed: &'a [Vec<usize>],
) -> impl Iterator<Item = (usize, BTreeSet<usize>)> + 'a {
    (0..flow.blocks.len()).filter_map(|header| {
        let mut pending: Vec<usize> =
            reversed[header].iter().copied().filter(|&from| from >= header).collect();
        let mut blocks = BTreeSet::from([header]);
        let is_loop = !pending.is_empty();
        while let Some(block) = pending.pop() {
            if blocks.insert(block) {
                pending.extend(&reversed[block]);
            }
        }
        is_loop.then_some((header, blocks))
    })
}

/// Returns the header and the blocks of the innermost loop around all of these blocks.
pub(crate) fn innermost_loop(flow: &Flow, all: &[usize]) -> Option<(usize, BTreeSet<usize>)> {
    let reverse = reversed(flow);
    let around = loops(flow, &reverse).filter(|(_, blocks)| all.iter().all(|block| blocks.contains(block)));
    around.min_by_key(|(_, blocks)| blocks.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::tests::flow;

    #[test]
    fn a_loop_around_one_of_two_steps_is_on_the_way_in_a_turn() {
        let is_reached = |text: &str, [from, to]: [u32; 2]| {
            let flow = flow(text);
            let places = places(&flow);
            reaches_in_turn(&flow, places[&from], places[&to])
        };
        // The loop of blocks 1 and 2 has the first step alone.
        let behind = "u 1:\nu 2,3:\nu 1: a0\nu: a1";
        assert!(is_reached(behind, [0, 1]) && !is_reached(behind, [1, 0]));
        // Both are in the loop, in this order or in two branches.
        let within = "u 1:\nu 2,4:\nu 3: a0\nu 1: a1\nu:";
        assert!(is_reached(within, [0, 1]) && !is_reached(within, [1, 0]));
        let branches = "u 1:\nu 2,3,5:\nu 4: a0\nu 4: a1\nu 1:\nu:";
        assert!(!is_reached(branches, [0, 1]) && !is_reached(branches, [1, 0]));
        assert!(is_reached("u: a0 a1", [0, 1]) && !is_reached("u: a0 a1", [1, 0]));
    }

    #[test]
    fn a_statement_may_have_several_lines() {
        let is_one = |text: &str| {
            let flow = flow(text);
            let places = places(&flow);
            let (a, b) = (places[&0], places[&1]);
            assert_eq!(is_one_statement(&flow, a, b), is_one_statement(&flow, b, a));
            is_one_statement(&flow, a, b)
        };
        assert!(is_one("u: L20 a0 a1"));
        assert!(is_one("u: L20 L21 a0 L20 a1"));
        assert!(is_one("u: L20 a0 L21 a2 L20 a1"));
        assert!(is_one("u: L20 I5.1 a0 I6.1 a2 I5.1 a1"));
        assert!(is_one("u: a0 a1") && !is_one("u: a0 L20 a1"));
        // A later line, code of another function, another block.
        assert!(!is_one("u: L20 a0 L21 a1"));
        assert!(!is_one("u: L20 I5.1 a0 L20 a1") && !is_one("u: L20 I5.1 a0 I5.2 a1"));
        assert!(!is_one("u 1: L20 a0\nu: L20 a1"));
    }
}
