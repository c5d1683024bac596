//! Updates by several threads, and asynchronous copies: whether a barrier is what lacks.

use std::collections::BTreeSet;

use gpurace_abi::flow::{Flow, Step, Update};

use crate::barriers::{Pair, Relation};
use crate::cause::InKernel;
use crate::diagnosis::is_one_place;
use crate::hint::SideFacts;
use crate::paths::{Walk, is_one_statement, loops, places, reaches, reversed};
use crate::schema::{Race, RaceKind};

/// What a race has to do with an update: one thread reads bytes and then changes them, and so does another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundUpdate {
    /// The change is atomic, so only the read is plain.
    pub is_atomic: bool,
    /// See [`Update::by_value`].
    pub by_value: bool,
}

/// True if the sides of a race are the read and the change of the same bytes by one thread, or both are the change.
pub fn is_known(flow: &Flow, pair: Pair) -> bool {
    flow.updates.iter().any(|update| is_of(update, pair))
}

/// True if one side of a race changes what its thread has read before, and the other side is another statement before
/// that read: a step over a table that another statement fills.
pub fn is_changed_value(flow: &Flow, pair: Pair) -> bool {
    let places = places(flow);
    let is_before = |fill: u32, read: u32| match (places.get(&fill), places.get(&read)) {
        (Some(&fill), Some(&read)) => reaches(flow, fill, read, Walk { back: true, stops: |_| false }),
        _ => false,
    };
    let [a, b] = pair;
    let is_step = |update: &Update| {
        update.change == a && is_before(b, update.read) || update.change == b && is_before(a, update.read)
    };
    !is_known(flow, pair) && flow.updates.iter().any(is_step)
}

fn is_of(update: &Update, [a, b]: Pair) -> bool {
    let sides = [update.read, update.change];
    sides == [a, b] || sides == [b, a] || a == b && a == update.change
}

/// Returns the update that a race is of: its sides are the read and the change of one, or both are the change.
///
/// If one thread of a block makes the change, only blocks update at once. A barrier in the loop could also be what
/// lacks, if the bytes go by the thread and the iteration: then threads may have the same bytes in different iterations
/// only. It does not order the blocks of `across_blocks`.
pub fn of(flow: &Flow, pair: Pair, across_blocks: bool) -> Option<FoundUpdate> {
    let places = places(flow);
    let several = flow.updates.iter().filter(|update| across_blocks || !update.by_one);
    let found = several.filter(|update| is_of(update, pair)).find(|update| {
        let (Some(&read), Some(&change)) = (places.get(&update.read), places.get(&update.change)) else {
            return false;
        };
        let leads_back =
            || reaches(flow, change, read, Walk { back: true, stops: |step| step == Step::Barrier });
        let is_atomic = matches!(flow.blocks[change.0].steps[change.1], Step::Atomic(_));
        reaches(flow, read, change, Walk { back: false, stops: |step| step == Step::Barrier })
            && (is_atomic || update.by_value || across_blocks || !leads_back())
    })?;
    let &(block, at) = places.get(&found.change)?;
    let is_atomic = matches!(flow.blocks[block].steps[at], Step::Atomic(_));
    Some(FoundUpdate { is_atomic, by_value: found.by_value })
}

/// True if a thread comes from an asynchronous copy to another access only through a wait for copies. If no barrier
/// parts the two, the copy is waited for and a barrier is what lacks.
pub fn is_waited(flow: &Flow, copy: u32, other: u32) -> bool {
    let places = places(flow);
    let (Some(&from), Some(&to)) = (places.get(&copy), places.get(&other)) else { return false };
    !is_one_statement(flow, from, to)
        && !reaches(flow, from, to, Walk { back: true, stops: |step| step == Step::Wait })
}

/// True if one wait would end the copies of two races: in an iteration no wait, barrier or atomic stands between a side
/// of the one and a side of the other.
pub fn lack_one_wait(flow: &Flow, a: Pair, b: Pair) -> bool {
    let places = places(flow);
    let anyway = Walk { back: false, stops: |_| false };
    let stops = |step| matches!(step, Step::Wait | Step::Barrier | Step::Atomic(_));
    let are_parted =
        |from, to| reaches(flow, from, to, anyway) && !reaches(flow, from, to, Walk { back: false, stops });
    let is_near = |one: u32, other: u32| match (places.get(&one), places.get(&other)) {
        (Some(&one), Some(&other)) => !are_parted(one, other) && !are_parted(other, one),
        _ => false,
    };
    let [first, second] = b;
    is_near(a[0], first) && is_near(a[1], second) || is_near(a[0], second) && is_near(a[1], first)
}

/// True if one side is an asynchronous copy whose thread waits for it before it comes to the other side.
pub fn is_copy_waited_for(race: &Race, facts: [SideFacts; 2], kernel: InKernel<'_>) -> bool {
    let [later, earlier] = &race.accesses;
    let is_one_thread = (later.thread, later.block) == (earlier.thread, earlier.block);
    // The sites of a pair are the earlier first, the facts are not.
    let [first, second] = kernel.pair;
    match facts.map(|side| side.asynchronous) {
        _ if is_one_thread => false,
        [true, false] => is_waited(kernel.flow, second, first),
        [false, true] => is_waited(kernel.flow, first, second),
        _ => false,
    }
}

/// True if several threads copy to the same bytes by one statement, and no loop lets one of them come later.
pub fn are_copies_of_one_place(race: &Race, facts: [SideFacts; 2], relation: Option<Relation>) -> bool {
    let [later, earlier] = &race.accesses;
    facts.iter().all(|side| side.asynchronous)
        && race.kind == RaceKind::WriteWrite
        && is_one_place(race)
        && (later.thread, later.block) != (earlier.thread, earlier.block)
        && relation.is_none_or(|relation| relation.over_back_edge.is_none())
}

/// True if a loop that waits for copies has both sides. Of two copies, the first ones stand before the loop.
pub fn are_copies_in_pipeline(facts: [SideFacts; 2], kernel: Option<InKernel<'_>>) -> bool {
    let are_copies = facts.iter().all(|side| side.asynchronous);
    kernel.is_some_and(|InKernel { flow, pair }| {
        is_in_pipeline(flow, pair) || are_copies && pair.iter().any(|&site| is_in_pipeline(flow, [site; 2]))
    })
}

/// True if a loop has both accesses and a wait for copies.
pub fn is_in_pipeline(flow: &Flow, pair: Pair) -> bool {
    let (places, reverse) = (places(flow), reversed(flow));
    let waits = |block: &usize| flow.blocks[*block].steps.contains(&Step::Wait);
    let is_in =
        |blocks: &BTreeSet<usize>, site| places.get(site).is_some_and(|(block, _)| blocks.contains(block));
    loops(flow, &reverse)
        .any(|(_, blocks)| pair.iter().all(|site| is_in(&blocks, site)) && blocks.iter().any(waits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::tests::flow;

    fn update(text: &str, by_value: bool, pair: Pair) -> Option<bool> {
        let updates = vec![Update { read: 0, change: 1, by_value, by_one: false }];
        of(&Flow { updates, ..flow(text) }, pair, false).map(|update| update.is_atomic)
    }

    #[test]
    fn a_read_and_a_change_of_the_same_bytes_are_an_update() {
        for pair in [[0, 1], [1, 0], [1, 1]] {
            assert_eq!(update("u: L1 a0 L2 a1", false, pair), Some(false));
            assert_eq!(update("u: L1 a0 L2 x1", false, pair), Some(true));
            // A barrier between them makes them two steps.
            assert_eq!(update("u: L1 a0 B L2 a1", false, pair), None);
            // The change comes first: what is read is the new value.
            assert_eq!(update("u: L1 a1 L2 a0", false, pair), None);
        }
        // One thread of a block makes the change, which is no update among its threads.
        let by_one = vec![Update { read: 0, change: 1, by_value: true, by_one: true }];
        let by_one = Flow { updates: by_one, ..flow("u: L1 a0 L2 a1") };
        assert_eq!(of(&by_one, [0, 1], false), None);
        assert!(of(&by_one, [0, 1], true).is_some());
        // Something else is read.
        assert_eq!(update("u: L1 a0 a2 L2 a1", false, [2, 1]), None);
    }

    #[test]
    fn a_step_changes_what_another_statement_has_filled() {
        let updates = vec![Update { read: 0, change: 1, by_value: false, by_one: false }];
        let steps = Flow { updates, ..flow("u: L1 a2 L2 a0 L3 a1") };
        assert!(is_changed_value(&steps, [2, 1]) && is_changed_value(&steps, [1, 2]));
        // The change of one update, and a statement that changes nothing.
        assert!(!is_changed_value(&steps, [1, 1]) && !is_changed_value(&steps, [0, 1]));
        assert!(!is_changed_value(&steps, [2, 2]));
        // The other statement comes after the change, and what it writes is what stays.
        let updates = vec![Update { read: 0, change: 1, by_value: false, by_one: false }];
        let overwritten = Flow { updates, ..flow("u: L1 a0 L2 a1 L3 a2") };
        assert!(!is_changed_value(&overwritten, [1, 2]) && !is_changed_value(&overwritten, [2, 1]));
    }

    #[test]
    fn in_a_loop_the_bytes_decide() {
        // Threads may have the same bytes in different iterations.
        let round = "u 1: L1
             u 2,3: L2
             u 1: L3 a0 L4 a1
             u: L5";
        assert_eq!(update(round, false, [0, 1]), None);
        assert_eq!(update(round, true, [0, 1]), Some(false));
        // With a barrier in the loop, they have them in one.
        assert_eq!(update(&round.replace("a1", "a1 B"), false, [0, 1]), Some(false));
        // No barrier in the loop orders blocks.
        let updates = vec![Update { read: 0, change: 1, by_value: false, by_one: false }];
        let looped = Flow { updates, ..flow(round) };
        assert_eq!(of(&looped, [0, 1], false), None);
        assert_eq!(of(&looped, [0, 1], true), Some(FoundUpdate { is_atomic: false, by_value: false }));
        // A plain read before an atomic, as of a loop of compare-and-swaps.
        assert_eq!(update(&round.replace("a1", "x1"), false, [0, 1]), Some(true));
    }

    #[test]
    fn a_copy_is_waited_for_on_each_way() {
        let text = "u 1: L1
             u 2,3: L2
             u 1: L3 a0 C B L4 a1
             u: L5";
        assert!(is_waited(&flow(text), 0, 1));
        assert!(!is_waited(&flow(&text.replace("C B", "")), 0, 1));
        assert!(is_waited(&flow(&text.replace("C B", "C")), 0, 1));
        assert!(!is_waited(&flow(&text.replace("C B", "B")), 0, 1));
        assert!(is_in_pipeline(&flow(text), [0, 1]));
        // No wait in the loop, or one side is behind it.
        assert!(!is_in_pipeline(&flow(&text.replace("C B", "B")), [0, 1]));
        assert!(!is_in_pipeline(&flow(&text.replace(" L4 a1", "").replace("L5", "L5 a1")), [0, 1]));
    }

    #[test]
    fn one_wait_ends_copies_that_are_read_together() {
        let lack_one = |text: &str| lack_one_wait(&flow(text), [0, 1], [2, 3]);
        let rounds = "u 1:\nu 2,3: L1 a0 L2 a2 L3 a1 a3\nu 1: C\nu:";
        assert!(lack_one(rounds));
        // In two branches; a wait, a barrier or an atomic between the reads; one between the copies.
        assert!(lack_one("u 1,2:\n3: a0\n3: a2\nu: a1 a3"));
        for parted in ["a1 C a3", "a1 B a3", "a1 x9 a3"] {
            assert!(!lack_one(&rounds.replace("a1 a3", parted)));
        }
        assert!(!lack_one(&rounds.replace("L2", "C")));
    }
}
