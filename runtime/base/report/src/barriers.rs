//! Barriers that are missing: which barrier interval two accesses share, and where a new barrier would part
//! them.
//!
//! Two accesses of a thread block may run at once if both can be reached from one barrier, or from the
//! kernel's start, without passing another barrier. All barriers here are textually aligned: the threads of
//! a block pass one together. Conditions of branches are ignored, so accesses that this module calls parted
//! are parted in every launch, while others may still be. What conditions and addresses add for one launch,
//! [`Unordered::runs_clean`] finds out.

use std::collections::{BTreeSet, HashMap};

use gpurace_abi::flow::{Flow, Step};

use crate::paths::{StepPlace, is_one_statement, loops, places, reversed};

/// The sites of a race in their module, the earlier first.
pub type Pair = [u32; 2];

/// The barriers from which an access is reached, as bits: the kernel's start is bit 0, others follow in the
/// order of the code.
type Reaching = u128;

/// Barriers of larger kernels are not analysed.
const MOST_BARRIERS: u32 = 120;
/// One new barrier is looked for at this many places at most.
const MOST_CANDIDATES: usize = 200;
/// Two new barriers are looked for at this many places at most: each two are tried.
const MOST_FOR_TWO: usize = 40;
/// More races of one finding are not tried.
const MOST_PAIRS: usize = 10_000;
/// Kernels are run with one new barrier at this many places at most.
const MOST_RUNS: usize = 16;

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
    /// Each follows the other: one way lies in an iteration of a loop, the other one leads to the next iteration.
    pub is_both_ways: bool,
}

/// Returns how two accesses lie to each other. `None` if a barrier parts them or the flow does not have them.
pub fn relation(flow: &Flow, [earlier, later]: Pair, level: Level) -> Option<Relation> {
    let reaching = reaching(flow, &[], level)?;
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
    let is_reversed = !after(from, true).contains(&to) && after(to, true).contains(&from);
    let (first, second) = if is_reversed { (to, from) } else { (from, to) };
    let between: BTreeSet<_> = after(first, false).intersection(&before(second)).copied().collect();
    Some(Relation {
        interval: shared.trailing_zeros(),
        over_back_edge,
        is_statement: is_one_statement(flow, from, to),
        is_reversed,
        is_sequence: over_back_edge.is_some() || after(first, true).contains(&second),
        may_poll,
        has_atomics: meets(&after(from, false), &is_atomic) && meets(&before(to), &is_atomic),
        has_lanes: meets(&between, &|step| matches!(step, Step::Lanes)),
        is_both_ways: after(first, true).contains(&second) && after(second, false).contains(&first),
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

/// The races of one kernel that a fix must order.
pub struct Unordered<'a> {
    /// The kernel's control flow.
    pub flow: &'a Flow,
    /// Its races.
    pub pairs: Vec<Pair>,
    /// Runs launches of the kernel with a further barrier. Returns true if the races are gone.
    pub runs_clean: &'a dyn Fn(&NewBarrier, &[Pair]) -> bool,
}

/// A new barrier in a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBarrier {
    /// Which threads wait for each other.
    pub level: Level,
    /// The accesses that a thread reaches only through the barrier, in each iteration of the loops around it.
    pub precedes: BTreeSet<u32>,
    /// The number of loops around it.
    pub loops: usize,
}

/// Barriers that order all races.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The lines of the source before which they stand: one, or two.
    pub lines: Vec<u32>,
    /// They do so in every launch of the kernels. Otherwise in the launches of this run.
    pub in_every_launch: bool,
}

/// Returns barriers that order all races. All threads of a block reach each of the places together. `accepts`
/// says before which lines a statement can stand, `begins_loop` which lines begin with the head of a loop.
pub fn missing(
    all: &[Unordered<'_>],
    level: Level,
    accepts: impl Fn(u32) -> bool,
    begins_loop: impl Fn(u32) -> bool,
) -> Option<Missing> {
    let in_every_launch = |lines| Some(Missing { lines, in_every_launch: true });
    if all.iter().map(|kernel| kernel.pairs.len()).sum::<usize>() > MOST_PAIRS {
        return None;
    }
    // Lanes that alone reach a sync of some lanes could wait there for others that wait at a new barrier.
    let alone = |flow: &Flow| {
        let lanes = |step: &Step| matches!(step, Step::Lanes);
        flow.blocks.iter().any(|block| !block.uniform && block.steps.iter().any(lanes))
    };
    if all.iter().any(|kernel| alone(kernel.flow)) {
        return None;
    }
    let mut lines: Option<BTreeSet<u32>> = None;
    for kernel in all {
        let own: BTreeSet<u32> = places_of_lines(kernel.flow, &begins_loop)
            .into_iter()
            .filter(|(_, (block, _))| kernel.flow.blocks[*block].uniform)
            .map(|(line, _)| line)
            .collect();
        lines = Some(match lines {
            Some(lines) => lines.intersection(&own).copied().collect(),
            None => own,
        });
    }
    // A barrier right before the later access is what a programmer would write, so later lines come first.
    let lines: Vec<u32> = lines?.into_iter().filter(|&line| accepts(line)).rev().collect();
    if lines.len() > MOST_CANDIDATES {
        return None;
    }
    let order_all = |lines: &[u32]| {
        all.iter().all(|kernel| {
            let first = places_of_lines(kernel.flow, &begins_loop);
            let added: Vec<StepPlace> = lines.iter().filter_map(|line| first.get(line).copied()).collect();
            reaching(kernel.flow, &added, level).is_some_and(|reaching| {
                kernel.pairs.iter().all(|pair| match pair.map(|site| reaching.get(&site)) {
                    [Some(a), Some(b)] => a & b == 0,
                    _ => false,
                })
            })
        })
    };
    if let Some(&line) = lines.iter().find(|&&line| order_all(&[line])) {
        return in_every_launch(vec![line]);
    }
    let barriers = |line: u32| {
        let barrier = |kernel: &Unordered<'_>| {
            let place = places_of_lines(kernel.flow, &begins_loop).get(&line).copied()?;
            let barrier = new_barrier(kernel.flow, place, level)?;
            let reaches = |pair: &Pair| pair.iter().any(|site| barrier.precedes.contains(site));
            kernel.pairs.iter().all(reaches).then_some(barrier)
        };
        Some((line, all.iter().map(barrier).collect::<Option<Vec<_>>>()?))
    };
    let mut tried = lines.iter().filter_map(|&line| barriers(line)).take(MOST_RUNS);
    let runs_clean = |new: &[NewBarrier]| {
        all.iter().zip(new).all(|(kernel, barrier)| (kernel.runs_clean)(barrier, &kernel.pairs))
    };
    if let Some((line, _)) = tried.find(|(_, new)| runs_clean(new)) {
        return Some(Missing { lines: vec![line], in_every_launch: false });
    }
    if lines.len() > MOST_FOR_TWO {
        return None;
    }
    for (at, &later) in lines.iter().enumerate() {
        for &earlier in &lines[at + 1..] {
            if order_all(&[earlier, later]) {
                return in_every_launch(vec![earlier, later]);
            }
        }
    }
    None
}

/// Returns what a barrier before a step precedes. `None` if it is unknown what threads would then wait for.
fn new_barrier(flow: &Flow, (at, step): StepPlace, level: Level) -> Option<NewBarrier> {
    // Lanes that wait for some others could wait forever if those wait at a new barrier.
    if flow.blocks.iter().flat_map(|block| &block.steps).any(|step| matches!(step, Step::Lanes)) {
        return None;
    }
    let reversed = reversed(flow);
    // Only loops lead back, so a block's dominators are known when those of an earlier one are.
    let mut behind = vec![false; flow.blocks.len()];
    *behind.get_mut(at)? = true;
    for block in at + 1..flow.blocks.len() {
        let mut forward = reversed[block].iter().filter(|&&from| from < block).peekable();
        behind[block] = forward.peek().is_some() && forward.all(|&from| behind[from]);
    }
    let loops: Vec<_> =
        loops(flow, &reversed).map(|(_, blocks)| blocks).filter(|blocks| blocks.contains(&at)).collect();
    let innermost = loops.iter().min_by_key(|blocks| blocks.len());
    let mut precedes = BTreeSet::new();
    for (block, body) in flow.blocks.iter().enumerate() {
        if behind[block] && innermost.is_none_or(|blocks| blocks.contains(&block)) {
            let skipped = if block == at { step } else { 0 };
            precedes.extend(body.steps.iter().skip(skipped).filter_map(|step| match *step {
                Step::Access(site) | Step::Atomic(site) => Some(site),
                _ => None,
            }));
        }
    }
    Some(NewBarrier { level, precedes, loops: loops.len() })
}

/// Returns the first step of each line.
fn first_of_lines(flow: &Flow) -> HashMap<u32, StepPlace> {
    let mut first = HashMap::new();
    for (block, body) in flow.blocks.iter().enumerate() {
        for (at, step) in body.steps.iter().enumerate() {
            if let Step::Line(line) = *step {
                first.entry(line).or_insert((block, at));
            }
        }
    }
    first
}

/// Returns the place before each line. Before the head of a loop is before the loop, and no place if the loop is not
/// the line's own.
fn places_of_lines(flow: &Flow, begins_loop: &impl Fn(u32) -> bool) -> HashMap<u32, StepPlace> {
    let reverse = reversed(flow);
    let before = |line: u32, (block, at): StepPlace| {
        if !begins_loop(line) {
            return Some((block, at));
        }
        let all: Vec<_> = loops(flow, &reverse).filter(|(_, blocks)| blocks.contains(&block)).collect();
        // An outer loop has earlier lines. So has one of whose head nothing is left but a step.
        let lines = |blocks: &BTreeSet<usize>| {
            let steps = blocks.iter().flat_map(|&block| &flow.blocks[block].steps);
            steps.filter_map(|step| if let Step::Line(line) = *step { Some(line) } else { None }).min()
        };
        match all.iter().find(|(_, blocks)| lines(blocks) >= Some(line)) {
            None => Some((block, at)),
            Some((header, _)) => {
                let outer = &mut reverse[*header].iter().copied().filter(|from| from < header);
                let from = outer.next().filter(|_| outer.next().is_none())?;
                let is_only_way = flow.blocks[from].next.len() == 1;
                is_only_way.then(|| (from, flow.blocks[from].steps.len()))
            }
        }
    };
    let first = first_of_lines(flow);
    first.into_iter().filter_map(|(line, place)| Some((line, before(line, place)?))).collect()
}

fn parts(step: Step, level: Level) -> bool {
    match step {
        Step::Grid => true,
        Step::Barrier => level != Level::Grid,
        Step::Warp => level == Level::Warp,
        Step::Lanes | Step::Wait | Step::Line(_) | Step::Access(_) | Step::Atomic(_) => false,
    }
}

/// Returns the barriers that reach each access. `added` are steps before which there is a new barrier. `None`
/// if there are too many barriers.
fn reaching(flow: &Flow, added: &[StepPlace], level: Level) -> Option<HashMap<u32, Reaching>> {
    let mut bits: HashMap<StepPlace, u32> = HashMap::new();
    for (block, body) in flow.blocks.iter().enumerate() {
        for (at, &step) in body.steps.iter().enumerate() {
            if parts(step, level) || added.contains(&(block, at)) {
                bits.insert((block, at), bits.len() as u32 + 1);
            }
        }
        let end = (block, body.steps.len());
        if added.contains(&end) {
            bits.insert(end, bits.len() as u32 + 1);
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
            if let Some(bit) = bits.get(&(block, body.steps.len())) {
                now = 1 << bit;
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
    use gpurace_abi::flow::FlowBlock;

    use super::*;

    /// Builds a flow from lines such as `ud 1,2: L17 a0 B`: uniform, decides by an atomic (or spins, `s`), successors,
    /// steps.
    pub(crate) fn flow(text: &str) -> Flow {
        let block = |line: &str| {
            let (head, steps) = line.split_once(':').unwrap();
            let uniform = head.contains('u');
            let next = head.trim_start_matches([' ', 'u', 'd', 's']).split(',');
            let next = next.filter_map(|next| next.trim().parse().ok()).collect();
            let step = |step: &str| {
                let number = || step[1..].parse().unwrap();
                match &step[..1] {
                    "L" => Step::Line(number()),
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
                decides: head.contains('d'),
                spins: head.contains('s'),
                next,
                steps: steps.split_whitespace().map(step).collect(),
            }
        };
        let blocks = text.lines().filter(|line| !line.trim().is_empty()).map(block).collect();
        Flow { blocks, ..Flow::default() }
    }

    fn fix(text: &str, pairs: &[Pair]) -> Option<Vec<u32>> {
        fix_with(text, pairs, None)
    }

    fn fix_with(text: &str, pairs: &[Pair], head: Option<u32>) -> Option<Vec<u32>> {
        let flow = flow(text);
        let all = [Unordered { flow: &flow, pairs: pairs.to_vec(), runs_clean: &|_, _| false }];
        missing(&all, Level::Block, |_| true, |line| Some(line) == head).map(|found| found.lines)
    }

    #[test]
    fn straight_code_needs_a_barrier_before_the_later_access() {
        let text = "u: L1 L17 a0 L18 a1 L19";
        let found = relation(&flow(text), [0, 1], Level::Block).unwrap();
        assert_eq!((found.interval, found.over_back_edge), (0, None));
        assert_eq!(fix(text, &[[0, 1]]), Some(vec![18]));
    }

    #[test]
    fn before_the_head_of_a_loop_is_before_the_loop() {
        // A tile is stored and then added up by a loop of one line, in an outer loop that ends with a barrier.
        let tiled = "u 1: L1\nu 2: L6 L7 a0\nu 2,3: L9 a1\nu 1,4: L10 B\nu:";
        assert_eq!(fix_with(tiled, &[[0, 1]], Some(9)), Some(vec![9]));
        // The same with the loop unrolled: the line is not a loop of its own any more.
        assert_eq!(fix_with("u 1: L1\nu 1,2: L6 a0 L9 a1 L10 B\nu:", &[[0, 1]], Some(9)), Some(vec![9]));
        // Without the barrier at the end, the next iteration's store needs one, too.
        let open = "u 1: L1\nu 2: L6 L7 a0\nu 2,3: L9 a1\nu 1,4: L10\nu:";
        assert_eq!(fix_with(open, &[[0, 1]], Some(9)), Some(vec![9, 10]));
        // What iterations of the loop do to each other stays.
        assert_eq!(fix_with("u 1: L1\nu 1,2: L9 a0 a1\nu:", &[[1, 0]], Some(9)), None);
        // Some threads skip the loop: the place before it is not that of the line alone.
        let skipped = "u 1: L1 a0\nu 2,3: L8\nu 2,3: L9 a1\nu:";
        assert_eq!(fix_with(skipped, &[[0, 1]], Some(9)), Some(vec![8]));
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
        assert_eq!(fix(text, &[[0, 1]]), Some(vec![17]));
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
    fn a_loop_without_barriers_needs_two() {
        let text = "u 1: L1
             u 2,3: L2
             u 1: L17 a0 L18 a1
             u: L20";
        assert_eq!(fix(text, &[[0, 1]]), Some(vec![17, 18]));
    }

    #[test]
    fn no_barrier_is_put_where_only_some_threads_come() {
        assert_eq!(fix(": L17 a0 L18 a1", &[[0, 1]]), None);
        let text = "u 1,2: L1
             2: L17 a0
             u: L18 a1";
        assert_eq!(fix(text, &[[0, 1]]), Some(vec![18]));
        let text = "u 1,2: L1
             2: L17 a0
             : L18 a1";
        assert_eq!(fix(text, &[[0, 1]]), None);
    }

    #[test]
    fn no_barrier_is_put_beside_lanes_that_wait_alone() {
        let text = "u 1,2: L1
             2: l
             u: L17 a0 l L18 a1";
        assert_eq!(fix(text, &[[0, 1]]), None);
        assert_eq!(fix(&text.replace("2: l", "2:"), &[[0, 1]]), Some(vec![18]));
    }

    #[test]
    fn threads_on_two_branches_are_not_parted() {
        let text = "u 1,2: L1
             3: L17 a0
             3: L18 a1
             u: L19";
        assert!(relation(&flow(text), [0, 1], Level::Block).is_some());
        assert_eq!(fix(text, &[[0, 1]]), None);
    }

    #[test]
    fn all_races_must_be_ordered() {
        let text = "u: L1 a0 L2 a1 L3 a2";
        assert_eq!(fix(text, &[[0, 1], [0, 2]]), Some(vec![2]));
        assert_eq!(fix(text, &[[0, 1], [1, 2]]), Some(vec![2, 3]));
        assert_eq!(fix(text, &[[0, 1], [2, 2]]), None);
        assert_eq!(fix(text, &[[0, 7]]), None);
    }

    #[test]
    fn a_line_must_be_one_place_in_all_kernels() {
        let (one, two) = (flow("u: L17 a0 L18 a1"), flow("u 1: L17 a0\n : L18 a1"));
        let of = |flow| Unordered { flow, pairs: vec![[0, 1]], runs_clean: &|_, _| false };
        let found = missing(&[of(&one)], Level::Block, |_| true, |_| false);
        assert_eq!(found, Some(Missing { lines: vec![18], in_every_launch: true }));
        assert_eq!(missing(&[of(&one), of(&two)], Level::Block, |_| true, |_| false), None);
        assert_eq!(missing(&[of(&one)], Level::Block, |line| line != 18, |_| false), None);
    }

    #[test]
    fn a_launch_decides_what_conditions_exclude() {
        // A loop whose statement meets itself: only the launch knows if it also does within an iteration.
        let text = "u 1: L1
             u 2,3: L17
             u 4,5: L18
             u: L20 a2
             5: a0 a1
             u 1:";
        let flow = flow(text);
        for answer in [true, false] {
            let asked = std::cell::RefCell::new(Vec::new());
            let runs_clean = |barrier: &NewBarrier, pairs: &[Pair]| {
                assert_eq!(pairs, [[0, 1]]);
                asked.borrow_mut().push(barrier.clone());
                answer
            };
            let all = [Unordered { flow: &flow, pairs: vec![[0, 1]], runs_clean: &runs_clean }];
            let found = missing(&all, Level::Block, |line| line == 18, |_| false);
            let wanted = Missing { lines: vec![18], in_every_launch: false };
            assert_eq!(found, answer.then_some(wanted));
            let precedes = BTreeSet::from([0, 1]);
            assert_eq!(asked.into_inner(), [NewBarrier { level: Level::Block, precedes, loops: 1 }]);
        }
        let with_lanes = self::flow(&text.replace("a0 a1", "a0 a1 l"));
        assert_eq!(new_barrier(&with_lanes, (2, 0), Level::Block), None);
        let after = new_barrier(&flow, (3, 0), Level::Block).unwrap();
        assert_eq!((after.precedes, after.loops), (BTreeSet::from([2]), 0));
    }
}
