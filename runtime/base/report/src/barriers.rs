//! Barrier intervals: which one two accesses share.
//!
//! Two accesses of a thread block may run at once if both can be reached from one barrier, or from the
//! kernel's start, without passing another barrier. All barriers here are textually aligned: the threads of
//! a block pass one together. Conditions of branches are ignored, so accesses that this module calls parted
//! are parted in every launch, while others may still be. What conditions and addresses add for one launch,
//! [`Unordered::runs_clean`](crate::missing::Unordered::runs_clean) finds out.

use std::collections::{BTreeSet, HashMap};

use gpurace_abi::flow::{Flow, FlowBlock, Step};

use crate::paths::{StepPlace, is_one_statement, loops, places, reversed};

/// The sites of a race in their module, the earlier first.
pub type Pair = [u32; 2];

/// The barriers from which an access is reached, as bits: the kernel's start is bit 0, others follow in the
/// order of the code.
type Reaching = u128;

/// Barriers of larger kernels are not analysed.
const MOST_BARRIERS: u32 = 120;

/// Which steps part threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Those of the whole block: for threads of different warps.
    Block,
    /// Those of a warp too: for threads of one warp.
    Warp,
    /// Those of the grid: for threads of different blocks.
    Grid,
}

/// How two accesses lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The number of the first barrier interval that has both.
    pub interval: u32,
    /// One follows the other only in a loop's next iteration: true if it is the earlier one that does.
    pub over_back_edge: Option<bool>,
    /// They are one statement.
    pub is_statement: bool,
    /// The later access comes first in the program.
    pub is_reversed: bool,
    /// A thread that makes one of them comes to the other one later.
    pub is_sequence: bool,
    /// A loop without a barrier has both: threads may look there for what others do.
    pub may_poll: bool,
    /// Threads may synchronise through atomics between them.
    pub has_atomics: bool,
    /// A synchronisation of some lanes is between them.
    pub has_lanes: bool,
    /// Threads arrive at an mbarrier between them.
    pub has_arrival: bool,
    /// Each follows the other: one way lies in an iteration of a loop, the other one leads to the next iteration.
    pub is_both_ways: bool,
}

/// Returns how two accesses lie to each other. `None` if a barrier parts them or the flow does not have them.
pub fn relation(flow: &Flow, [earlier, later]: Pair, level: Level) -> Option<Relation> {
    let reaching = reaching(flow, level)?;
    let shared = reaching.get(&earlier)? & reaching.get(&later)?;
    if shared == 0 {
        return None;
    }
    let (places, reverse) = (places(flow), reversed(flow));
    let (from, to) = (*places.get(&earlier)?, *places.get(&later)?);
    let around: Vec<_> = loops(flow, &reverse)
        .filter(|(_, blocks)| blocks.contains(&from.0) && blocks.contains(&to.0))
        .collect();
    let has_barrier = |block: &usize| flow.blocks[*block].steps.iter().any(|&step| parts(step, level));
    let may_poll = around.iter().any(|(_, blocks)| !blocks.iter().any(has_barrier));
    let common: BTreeSet<usize> = around.into_iter().map(|(header, _)| header).collect();
    let none = BTreeSet::new();
    // Forward: in one iteration of the loops around both.
    let after = |place, forward| walk(flow, &Next(flow), place, level, if forward { &common } else { &none });
    let before = |place| walk(flow, &Previous(flow, &reverse), place, level, &none);
    let meets = |steps: &BTreeSet<StepPlace>, wanted: &dyn Fn(&Step) -> bool| {
        steps.iter().any(|&(block, at)| wanted(&flow.blocks[block].steps[at]))
    };
    let over_back_edge = if is_one_statement(flow, from, to) {
        // No barrier can stand within a statement.
        after(from, false).contains(&from).then_some(false)
    } else if common.is_empty() || after(from, true).contains(&to) || after(to, true).contains(&from) {
        None
    } else if after(from, false).contains(&to) {
        Some(false)
    } else if after(to, false).contains(&from) {
        Some(true)
    } else {
        None
    };
    let is_atomic = |step: &Step| matches!(step, Step::Atomic(site) if level != Level::Grid || !flow.shared.contains(site));
    let is_arrival = |step: &Step| matches!(step, Step::Atomic(site) if flow.arrivals.contains(site));
    let is_reversed = !after(from, true).contains(&to) && after(to, true).contains(&from);
    let (first, second) = if is_reversed { (to, from) } else { (from, to) };
    let between: BTreeSet<_> = after(first, false).intersection(&before(second)).copied().collect();
    // Lanes that synchronise behind both order nothing within an iteration. They stand between the sides if the earlier
    // one is the second of an iteration.
    let in_iteration = after(first, true);
    let is_sequence = in_iteration.contains(&second);
    let is_between = |at: &StepPlace| {
        !is_sequence || is_reversed || in_iteration.contains(at) && after(*at, true).contains(&second)
    };
    let between_both = between.iter().copied().filter(is_between).collect();
    Some(Relation {
        interval: shared.trailing_zeros(),
        over_back_edge,
        is_statement: is_one_statement(flow, from, to),
        is_reversed,
        is_sequence: over_back_edge.is_some() || is_sequence,
        may_poll,
        has_atomics: meets(&after(from, false), &is_atomic) && meets(&before(to), &is_atomic),
        has_lanes: meets(&between_both, &|step| matches!(step, Step::Lanes)),
        has_arrival: meets(&between, &is_arrival),
        is_both_ways: is_sequence && after(second, false).contains(&first),
    })
}

/// True if all blocks meet somewhere in the kernel.
pub(crate) fn has_grid_barriers(flow: &Flow) -> bool {
    flow.blocks.iter().flat_map(|block| &block.steps).any(|step| matches!(step, Step::Grid))
}

/// True if threads of a block, or lanes, meet somewhere in the kernel.
pub(crate) fn has_barriers(flow: &Flow) -> bool {
    let meet = |step: &Step| matches!(step, Step::Grid | Step::Barrier | Step::Warp | Step::Lanes);
    flow.blocks.iter().any(|block| block.steps.iter().any(meet))
}

/// True if all threads that a barrier of this level is for run a basic block together, or none does.
pub(crate) fn is_run_together(block: &FlowBlock, level: Level) -> bool {
    block.uniform || block.warp && level == Level::Warp
}

/// True for a step that parts threads.
pub(crate) fn parts(step: Step, level: Level) -> bool {
    match step {
        Step::Grid => true,
        Step::Barrier => level != Level::Grid,
        Step::Warp => level == Level::Warp,
        Step::Lanes
        | Step::Wait
        | Step::Line(_)
        | Step::Inlined { .. }
        | Step::Access(_)
        | Step::Atomic(_) => false,
    }
}

/// Returns the barriers that reach each access. `None` if there are too many barriers.
fn reaching(flow: &Flow, level: Level) -> Option<HashMap<u32, Reaching>> {
    let mut bits: HashMap<StepPlace, u32> = HashMap::new();
    for (block, body) in flow.blocks.iter().enumerate() {
        for (at, &step) in body.steps.iter().enumerate() {
            if parts(step, level) {
                bits.insert((block, at), bits.len() as u32 + 1);
            }
        }
    }
    if bits.len() as u32 > MOST_BARRIERS {
        return None;
    }
    let mut entering: Vec<Reaching> = vec![0; flow.blocks.len()];
    *entering.first_mut()? = 1;
    let mut of_access = HashMap::new();
    loop {
        let mut changed = false;
        for (block, body) in flow.blocks.iter().enumerate() {
            let mut now = entering[block];
            for (at, &step) in body.steps.iter().enumerate() {
                if let Some(bit) = bits.get(&(block, at)) {
                    now = 1 << bit;
                }
                if let Step::Access(site) | Step::Atomic(site) = step {
                    of_access.insert(site, now);
                }
            }
            for &next in &body.next {
                let target = entering.get_mut(next as usize)?;
                changed |= *target | now != *target;
                *target |= now;
            }
        }
        if !changed {
            return Some(of_access);
        }
    }
}

/// A direction of the control flow.
trait Direction {
    /// The steps after a place, in its block.
    fn rest(&self, place: StepPlace) -> Vec<StepPlace>;
    /// The blocks after a block.
    fn blocks(&self, block: usize) -> Vec<usize>;
    /// All steps of a block, in this direction.
    fn steps(&self, block: usize) -> Vec<StepPlace>;
}

struct Next<'a>(&'a Flow);
struct Previous<'a>(&'a Flow, &'a [Vec<usize>]);

impl Direction for Next<'_> {
    fn rest(&self, (block, at): StepPlace) -> Vec<StepPlace> {
        (at + 1..self.0.blocks[block].steps.len()).map(|at| (block, at)).collect()
    }

    fn blocks(&self, block: usize) -> Vec<usize> {
        self.0.blocks[block].next.iter().map(|&next| next as usize).collect()
    }

    fn steps(&self, block: usize) -> Vec<StepPlace> {
        (0..self.0.blocks[block].steps.len()).map(|at| (block, at)).collect()
    }
}

impl Direction for Previous<'_> {
    fn rest(&self, (block, at): StepPlace) -> Vec<StepPlace> {
        (0..at).rev().map(|at| (block, at)).collect()
    }

    fn blocks(&self, block: usize) -> Vec<usize> {
        self.1[block].clone()
    }

    fn steps(&self, block: usize) -> Vec<StepPlace> {
        (0..self.0.blocks[block].steps.len()).rev().map(|at| (block, at)).collect()
    }
}

/// Returns the steps that are reached from a place without passing a barrier. Ways back to `headers` of loops
/// are left out.
fn walk(
    flow: &Flow,
    direction: &impl Direction,
    from: StepPlace,
    level: Level,
    headers: &BTreeSet<usize>,
) -> BTreeSet<StepPlace> {
    let mut met = BTreeSet::new();
    let mut entered = BTreeSet::new();
    let mut pending = vec![(from.0, direction.rest(from))];
    while let Some((block, steps)) = pending.pop() {
        let mut goes_on = true;
        for (block, at) in steps {
            if parts(flow.blocks[block].steps[at], level) {
                goes_on = false;
                break;
            }
            met.insert((block, at));
        }
        if goes_on {
            for next in direction.blocks(block) {
                if !(next <= block && headers.contains(&next)) && entered.insert(next) {
                    pending.push((next, direction.steps(next)));
                }
            }
        }
    }
    met
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Builds a flow from lines such as `ud 1,2: L17 a0 B`: uniform (or for a warp, `w`), decides by an atomic (or
    /// spins, `s`), successors, steps. `I17.2` is line 17 of function 0, in the call 2.
    pub(crate) fn flow(text: &str) -> Flow {
        let block = |line: &str| {
            let (head, steps) = line.split_once(':').unwrap();
            let uniform = head.contains('u');
            let next = head.trim_start_matches([' ', 'u', 'w', 'd', 's']).split(',');
            let next = next.filter_map(|next| next.trim().parse().ok()).collect();
            let step = |step: &str| {
                let number = || step[1..].parse().unwrap();
                match &step[..1] {
                    "L" => Step::Line(number()),
                    "I" => {
                        let (line, call) = step[1..].split_once('.').unwrap();
                        let (line, call) = (line.parse().unwrap(), call.parse().unwrap());
                        Step::Inlined { function: 0, line, call }
                    }
                    "a" => Step::Access(number()),
                    "x" => Step::Atomic(number()),
                    "B" => Step::Barrier,
                    "G" => Step::Grid,
                    "W" => Step::Warp,
                    "C" => Step::Wait,
                    _ => Step::Lanes,
                }
            };
            FlowBlock {
                uniform,
                warp: head.contains('w'),
                decides: head.contains('d'),
                spins: head.contains('s'),
                next,
                steps: steps.split_whitespace().map(step).collect(),
            }
        };
        let blocks = text.lines().filter(|line| !line.trim().is_empty()).map(block).collect();
        Flow { blocks, ..Flow::default() }
    }

    #[test]
    fn straight_code_needs_a_barrier_before_the_later_access() {
        let text = "u: L1 L17 a0 L18 a1 L19";
        let found = relation(&flow(text), [0, 1], Level::Block).unwrap();
        assert_eq!((found.interval, found.over_back_edge), (0, None));
    }

    #[test]
    fn a_barrier_between_parts_them() {
        assert_eq!(relation(&flow("u: L17 a0 B L18 a1"), [0, 1], Level::Block), None);
        assert!(relation(&flow("u: L17 a0 W L18 a1"), [0, 1], Level::Block).is_some());
        assert_eq!(relation(&flow("u: L17 a0 W L18 a1"), [0, 1], Level::Warp), None);
        for pair in [[0, 1], [1, 0]] {
            let found = relation(&flow("u: L17 a0 l L18 a1"), pair, Level::Warp).unwrap();
            assert_eq!((found.has_lanes, found.is_reversed), (true, pair == [1, 0]));
        }
    }

    #[test]
    fn lanes_that_synchronise_behind_both_are_not_between() {
        let has = |text: &str| relation(&flow(text), [0, 1], Level::Warp).unwrap().has_lanes;
        let rounds = "u 1:\nu 1,2: L1 a0 L2 a1 L3 l\nu:";
        assert!(!has(rounds) && has(&rounds.replace("L2", "l L2")));
        // The second access of an iteration comes before the first one of the next.
        assert!(has(&rounds.replace("a0 L2 a1", "a1 L2 a0")));
        // One access follows the other in the next iteration only.
        assert!(has("u 1:\nu 1,2: L1 a1 W L2 a0 L3 l\nu:"));
    }

    #[test]
    fn threads_may_arrive_between() {
        let has = |text: &str| {
            let flow = Flow { arrivals: vec![2], ..flow(text) };
            relation(&flow, [0, 1], Level::Block).unwrap().has_arrival
        };
        assert!(has("u: L17 a0 x2 L18 a1") && has("u: L17 a1 x2 L18 a0"));
        assert!(!has("u: L17 x2 a0 L18 a1 x2") && !has("u: L17 a0 x3 L18 a1"));
    }

    #[test]
    fn a_loop_without_a_barrier_at_its_end() {
        let text = "u 1: L1
             u 2,3: L2
             u 1: L17 a0 L18 B L19 a1
             u: L20";
        // The read comes before the write of the next iteration.
        let found = relation(&flow(text), [0, 1], Level::Block).unwrap();
        assert_eq!((found.interval, found.over_back_edge), (1, Some(true)));
        let found = relation(&flow(text), [1, 0], Level::Block).unwrap();
        assert_eq!((found.interval, found.over_back_edge), (1, Some(false)));
    }

    #[test]
    fn blocks_meet_at_barriers_of_the_grid_alone() {
        // In each iteration all write, meet and read.
        let meets = |barrier| format!("u 1: L1\nu 2,3: L7 a0 {barrier} L9 a1\nu 1:\nu:");
        let of = |barrier, pair| relation(&flow(&meets(barrier)), pair, Level::Grid);
        let found = of("B G", [1, 0]).unwrap();
        assert_eq!((found.over_back_edge, found.may_poll), (Some(false), false));
        assert_eq!(of("B G", [0, 1]).unwrap().over_back_edge, Some(true));
        // With a barrier at the end too nothing is left.
        let both = "u 1: L1\nu 2,3: L7 a0 B G L9 a1 B G\nu 1:\nu:";
        assert_eq!(relation(&flow(both), [1, 0], Level::Grid), None);
        // A barrier of the block is none for other blocks.
        assert!(of("B", [0, 1]).unwrap().may_poll);
    }

    #[test]
    fn what_follows_a_loop_is_in_no_next_iteration() {
        // The loop's header leads to its body and behind it, and comes before both.
        let text = "u 1: L1
             u 2,3: L2
             u: L20 a1
             u 1: L17 a0";
        for pair in [[0, 1], [1, 0]] {
            let found = relation(&flow(text), pair, Level::Block).unwrap();
            assert_eq!((found.over_back_edge, found.is_reversed), (None, pair == [1, 0]));
        }
        // An inner loop, and the rest of the outer one.
        let text = "u 1: L1
             u 2,5: L2
             u 3,4: L3
             u 2: L17 a0
             u 1: L20 a1
             u: L30";
        for pair in [[0, 1], [1, 0]] {
            let found = relation(&flow(text), pair, Level::Block).unwrap();
            assert_eq!((found.over_back_edge, found.is_reversed), (None, pair == [1, 0]));
        }
    }

    #[test]
    fn a_statement_in_a_loop_meets_itself_in_the_next_iteration() {
        let text = "u 1: L1
             u 2,3: L2
             u 1: L18 a0 a1
             u: L20";
        assert_eq!(relation(&flow(text), [0, 1], Level::Block).unwrap().over_back_edge, Some(false));
        assert_eq!(relation(&flow("u: L18 a0 a1"), [0, 1], Level::Block).unwrap().over_back_edge, None);
    }

    #[test]
    fn threads_on_two_branches_are_not_parted() {
        let text = "u 1,2: L1
             3: L17 a0
             3: L18 a1
             u: L19";
        assert!(relation(&flow(text), [0, 1], Level::Block).is_some());
    }
}
