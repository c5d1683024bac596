//! Flags and locks: whether a program seems to order two accesses by what atomics have read.

use std::collections::BTreeSet;

use gpurace_abi::flow::{Flow, Step};

use crate::barriers::{Pair, is_one_statement, loops, places, reversed};

/// True if the program seems to order two accesses by a flag or a lock: an atomic follows the earlier one, and what
/// an atomic has read decides whether or when a thread comes to the later one.
pub fn is_handed_over(flow: &Flow, [earlier, later]: Pair) -> bool {
    let places = places(flow);
    let (Some(&from), Some(&to)) = (places.get(&earlier), places.get(&later)) else {
        return false;
    };
    let is_atomic = |step: &Step| matches!(step, Step::Atomic(_));
    let has_atomic = |block: usize| flow.blocks[block].steps.iter().any(is_atomic);
    let follows = flow.blocks[from.0].steps[from.1 + 1..].iter().any(is_atomic)
        || successors(flow, from.0).any(|next| reached(flow, next, true).into_iter().any(has_atomic));
    let in_sequence = !is_one_statement(flow, from, to)
        && (from.0 == to.0 && from.1 < to.1
            || from.0 != to.0 && reached(flow, from.0, false).contains(&to.0));
    let from_first = if in_sequence { reached(flow, from.0, false) } else { BTreeSet::new() };
    follows
        && (0..flow.blocks.len()).any(|block| {
            // A way back to the start of a loop counts: the wait may stand in it. One to the decision itself does not.
            let reaches = |next: usize| next != block && reached_without(flow, next, block).contains(&to.0);
            flow.blocks[block].decides
                && (!in_sequence || from_first.contains(&block))
                && successors(flow, block).any(|next| next > block && reaches(next))
                && successors(flow, block).any(|next| next <= block || !reaches(next))
        })
}

/// True if a plain flag seems to order two accesses: one side of the race on the flag is in a loop that waits or looks
/// for a value to change. A thread comes to one of the accesses through this loop only, and to the other one before it
/// sets the flag.
pub fn is_told_of(flow: &Flow, pair: Pair, flag: Pair) -> bool {
    let (places, reverse) = (places(flow), reversed(flow));
    let is_before = |a: u32, b: u32| match (places.get(&a), places.get(&b)) {
        (Some(a), Some(b)) => {
            a.0 == b.0 && a.1 < b.1 || a.0 != b.0 && reached(flow, a.0, true).contains(&b.0)
        }
        _ => false,
    };
    let is_behind = |access: u32, look: u32| {
        let (Some(look), Some(access)) = (places.get(&look), places.get(&access)) else { return false };
        let around = loops(flow, &reverse).filter(|(_, blocks)| blocks.contains(&look.0));
        let innermost = around.min_by_key(|(_, blocks)| blocks.len());
        innermost.is_some_and(|(header, blocks)| {
            let is_reached_past = header != 0 && reached_without(flow, 0, header).contains(&access.0);
            !blocks.contains(&access.0) && !is_reached_past
        })
    };
    let both = |[a, b]: Pair| [[a, b], [b, a]];
    both(flag).into_iter().filter(|&[look, _]| spins(flow, look)).any(|[look, set]| {
        both(pair).into_iter().any(|[given, taken]| is_before(given, set) && is_behind(taken, look))
    })
}

/// True if an access is in a loop that waits for a plain value to change.
pub fn spins(flow: &Flow, site: u32) -> bool {
    places(flow).get(&site).is_some_and(|&(block, _)| flow.blocks[block].spins)
}

fn successors(flow: &Flow, block: usize) -> impl Iterator<Item = usize> + '_ {
    let next = flow.blocks[block].next.iter().map(|&next| next as usize);
    next.filter(|&next| next < flow.blocks.len())
}

/// Returns a block and those that it reaches. Without `back`, ways back to the start of a loop are left out.
fn reached(flow: &Flow, block: usize, back: bool) -> BTreeSet<usize> {
    reached_by(flow, block, |from, next| back || next > from)
}

/// Returns a block and those that it reaches by ways that do not come to `without`.
fn reached_without(flow: &Flow, block: usize, without: usize) -> BTreeSet<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::tests::flow;

    #[test]
    fn a_flag_or_a_lock_hands_over() {
        for (text, handed_over) in [
            // One thread stores and sets a flag, another one waits for it and loads.
            ("u 1,2:\n 4: L1 a0 L2 x2\nd 2,3: L5 x3\n 4: L6 a1\nu:", true),
            // The wait is there, but nobody sets anything behind the store.
            ("u 1,2:\n 4: L1 x2 L2 a0\nd 2,3: L5 x3\n 4: L6 a1\nu:", false),
            // The flag is set, but nobody looks at it.
            ("u 1,2:\n 4: L1 a0 L2 x2\n 2,3: L5 x3\n 4: L6 a1\nu:", false),
            // A lock around one statement.
            ("d 0,1: L1 x3\n 2: L2 a0 a1 L3 x2\nu:", true),
            // The loop with the compare-and-swap comes before both.
            ("d 0,1: L1 x3\n 2: L2 a0 L3 a1 x2\nu:", false),
            // It is between them.
            ("u 1: L2 a0\nd 1,2: L1 x3\nu: L3 a1", true),
            // The last one to count looks at all; barriers stand between.
            ("u 1: L1 a0 B L2 x2\nd 2,3: B\n 3: L5 a1\nu:", true),
            // The wait is in a loop over all that are waited for, or for all locks, as its head begins.
            ("u 1: L1 a0 L2 x2\n 2,4: L3\nd 2,3: L4 x3\n 1: L5\nu: L6 a1", true),
            ("u 1:\n 2,4: L3\nd 2,3: L4 x3\n 1: L5\nu: L6 a0 a1 L7 x2", true),
            // What the atomic gave decides what the loop does, not when it ends.
            ("u 1: L1 a0 L2 x2\n 2,5: L3\nd 3,4: L4 x3\n 4: a9\n 1: L5\nu: L6 a1", false),
            // What the atomic gave decides something else.
            ("u 1: L1 a0 L2 x2\nd 2,3:\n 3: L5 a9\nu: L6 a1", false),
        ] {
            assert_eq!(is_handed_over(&flow(text), [0, 1]), handed_over, "{text}");
        }
        let told = |text: &str| is_told_of(&flow(text), [0, 1], [2, 3]);
        let wait = "u 1,2:\n 4: L1 a0 L2 a2\ns 2,3: L5 a3\n 4: L6 a1\nu:";
        let look = "u 1,2:\n 5: L1 a0 L2 a2\n 3,4: L5\ns 2,4: L5 a3\n 5: L6 a1\nu:";
        assert!(told(wait) && told(look));
        // What it tells of is stored in a loop.
        assert!(told("u 1,4:\n 2,3: L1\n 1: a0\n 6: L2 a2\ns 4,5: L5 a3\n 6: L6 a1\nu:"));
        // The flag is set first, another way leads to what it tells of, or nobody waits.
        assert!(!told(&wait.replace("L1 a0 L2 a2", "L1 a2 L2 a0")));
        assert!(!told(&wait.replace("u 1,2:", "u 1,2,3:")));
        assert!(!told(&wait.replace("s 2,3", "2,3")));
        assert!(spins(&flow("s 0,1: a0\nu: a1"), 0) && !spins(&flow("s 0,1: a0\nu: a1"), 1));
    }
}
