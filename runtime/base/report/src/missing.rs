//! Barriers that are missing: where new ones would order the races of a finding.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use gpurace_abi::flow::{Flow, Step};

use crate::barriers::{Level, Pair};
use crate::parted::Parted;
use crate::paths::{StepPlace, loops, places, reversed, successors};

/// One new barrier is looked for at this many places at most.
const MOST_CANDIDATES: usize = 200;
/// Two new barriers that only together order a race are looked for at this many places at most: each two are tried.
const MOST_FOR_TWO: usize = 40;
/// No more barriers are offered.
const MOST_NEW: usize = 8;
/// More races of one finding are not tried.
const MOST_PAIRS: usize = 10_000;
/// Kernels are run with one new barrier at this many places at most.
const MOST_RUNS: usize = 16;

/// The races of one kernel that a fix must order, and where it may change the one file that it changes.
pub struct Unordered<'a> {
    /// The kernel's control flow.
    pub flow: &'a Flow,
    /// It may change the kernel's own lines.
    pub in_kernel: bool,
    /// It may change these lines of functions that were inlined, by function: all threads of a block run such a line
    /// together, wherever the program calls the function.
    pub in_functions: HashMap<u32, BTreeSet<u32>>,
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
    /// It ends each iteration of the innermost of them, whose accesses are those that it precedes in the next one.
    pub ends_iteration: bool,
}

/// What a line of the source, before which a statement of its own can stand, begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A statement that is no loop.
    Statement,
    /// The head of a loop.
    LoopHead,
    /// The brace that ends the body of a loop. The body has no `continue`.
    LoopEnd,
}

/// Barriers that order all races.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The lines of the source before which they stand, in their order.
    pub lines: Vec<u32>,
    /// They do so in every launch of the kernels. Otherwise in the launches of this run.
    pub in_every_launch: bool,
    /// Of several barriers, what each one alone parts: the closest accesses, and the index of their kernel.
    pub parted: Vec<(usize, Pair)>,
}

/// Returns barriers that order all races. All threads of a block reach each of the places together. `kind` is
/// that of a line; `None` if no statement can stand before the line. `depth` is the number of braces around it.
pub fn missing(
    all: &[Unordered<'_>],
    level: Level,
    kind: impl Fn(u32) -> Option<Line>,
    depth: impl Fn(u32) -> usize,
) -> Option<Missing> {
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
    let of_lines: Vec<PlacesOfLines> = all.iter().map(|kernel| places_of_lines(kernel, &kind)).collect();
    let lines = candidates(all, &of_lines, &kind)?;
    // The races that new barriers before some lines leave.
    let left = |lines: &[u32]| -> Vec<(usize, Pair)> {
        let of_kernel = |(at, kernel): (usize, &Unordered<'_>)| {
            let added = lines.iter().filter_map(|line| of_lines[at].get(line)).flatten();
            let parted = Parted::new(kernel.flow, &added.copied().collect::<Vec<_>>(), level);
            let left = kernel.pairs.iter().filter(|pair| !parted.parts(**pair));
            left.map(|&pair| (at, pair)).collect::<Vec<_>>()
        };
        all.iter().enumerate().flat_map(of_kernel).collect()
    };
    // Outside of loops and conditions a barrier is cheaper, and easier to understand.
    let mut by_depth = lines.clone();
    by_depth.sort_by_key(|line| depth(*line));
    if let Some(&line) = by_depth.iter().find(|&&line| left(&[line]).is_empty()) {
        return Some(Missing { lines: vec![line], in_every_launch: true, parted: Vec::new() });
    }
    let barriers = |line: u32| {
        let left = left(&[line]);
        let barriers = |(at, kernel): (usize, &Unordered<'_>)| {
            let of_place = |&place: &StepPlace| new_barrier(kernel.flow, place, level);
            let places = of_lines[at].get(&line)?;
            let barriers: Vec<NewBarrier> = places.iter().map(of_place).collect::<Option<_>>()?;
            let pairs = left.iter().filter(|(of, _)| *of == at).map(|(_, pair)| *pair);
            let pairs: Vec<Pair> = pairs.collect();
            let reaches = |pair: &Pair| barriers.iter().any(|barrier| barrier.reaches(*pair));
            pairs.iter().all(reaches).then_some((barriers, pairs))
        };
        Some((line, all.iter().enumerate().map(barriers).collect::<Option<Vec<_>>>()?))
    };
    let mut tried = lines.iter().filter_map(|&line| barriers(line)).take(MOST_RUNS);
    let runs_clean = |new: Vec<(Vec<NewBarrier>, Vec<Pair>)>| {
        all.iter().zip(new).all(|(kernel, (barriers, pairs))| kernel.runs_with(&barriers, pairs))
    };
    if let Some(line) = tried.find_map(|(line, new)| runs_clean(new).then_some(line)) {
        return Some(Missing { lines: vec![line], in_every_launch: false, parted: Vec::new() });
    }
    let lines = several(&by_depth, |lines| left(lines).len())?;
    let parted = lines.iter().filter_map(|line| {
        let others: Vec<u32> = lines.iter().copied().filter(|other| other != line).collect();
        let distance = |&(at, pair): &(usize, Pair)| {
            let places = places(all[at].flow);
            let place = |site| places.get(&site).copied().unwrap_or_default();
            let [(a, first), (b, second)] = pair.map(place);
            (a.abs_diff(b), first.abs_diff(second))
        };
        left(&others).into_iter().min_by_key(distance)
    });
    let parted = parted.collect();
    Some(Missing { lines, in_every_launch: true, parted })
}

/// True if one barrier would order all races of a kernel, at some place that all threads of a block reach together,
/// whether or not a statement can stand there.
pub fn one_would_do(flow: &Flow, pairs: &[Pair], level: Level) -> bool {
    let blocks = flow.blocks.iter().enumerate().filter(|(_, block)| block.uniform);
    // Only before an access, and at the end of a basic block, does it make a difference.
    let places = blocks.flat_map(|(at, block)| {
        let is_place = move |step: &usize| {
            block.steps.get(*step).is_none_or(|step| matches!(step, Step::Access(_) | Step::Atomic(_)))
        };
        (0..=block.steps.len()).filter(is_place).map(move |step| (at, step))
    });
    let parts_all = |place: StepPlace| {
        let parted = Parted::new(flow, &[place], level);
        pairs.iter().all(|&pair| parted.parts(pair))
    };
    pairs.len() <= MOST_PAIRS && places.take(MOST_CANDIDATES).any(parts_all)
}

/// Returns the lines before which a barrier may stand in all kernels, the best first.
fn candidates(
    all: &[Unordered<'_>],
    places: &[PlacesOfLines],
    kind: &impl Fn(u32) -> Option<Line>,
) -> Option<Vec<u32>> {
    let is_together = |(at, line): (usize, &u32)| {
        let own = places[at].get(line);
        own.is_some_and(|own| own.iter().all(|(block, _)| all[at].flow.blocks[*block].uniform))
    };
    let in_all = |line: &&u32| (0..all.len()).all(|at| is_together((at, line)));
    let is_own = |line: u32| {
        let steps = all.iter().flat_map(|kernel| &kernel.flow.blocks).flat_map(|block| &block.steps);
        steps.into_iter().any(|step| *step == Step::Line(line))
    };
    let lines = places.first()?.keys().filter(in_all);
    let mut lines: Vec<_> = lines
        .filter_map(|&line| {
            // Whoever reads the kernel sees what its own lines order. A barrier right before the later access is what a
            // programmer would write, so later lines come first. The end of a loop's body follows them: there the
            // optimiser may have left no statement's line.
            let is_end = kind(line)? == Line::LoopEnd;
            Some((!is_own(line), is_end, Reverse(line)))
        })
        .collect();
    lines.sort_unstable();
    (lines.len() <= MOST_CANDIDATES).then(|| lines.into_iter().map(|(.., Reverse(line))| line).collect())
}

impl Unordered<'_> {
    /// Returns the source line that begins at a step, if the fix may change it, and the call that it is of.
    fn line_of(&self, step: Step) -> Option<(u32, Option<u32>)> {
        match step {
            Step::Line(line) => self.in_kernel.then_some((line, None)),
            Step::Inlined { function, line, call } => {
                self.in_functions.get(&function)?.contains(&line).then_some((line, Some(call)))
            }
            _ => None,
        }
    }

    /// True if each of these races is gone with one of these barriers.
    fn runs_with(&self, new: &[NewBarrier], mut open: Vec<Pair>) -> bool {
        for barrier in new {
            let (own, others): (Vec<Pair>, _) = open.iter().partition(|pair| barrier.reaches(**pair));
            if !own.is_empty() && (self.runs_clean)(barrier, &own) {
                open = others;
            }
        }
        open.is_empty()
    }
}

impl NewBarrier {
    /// True if threads come to one of the accesses only through the barrier.
    fn reaches(&self, pair: Pair) -> bool {
        pair.iter().any(|site| self.precedes.contains(site))
    }
}

/// Returns lines before which barriers order all races, as few as a greedy search finds: the next one is the line, or
/// the two lines, that leave the fewest races. `left` says how many.
fn several(lines: &[u32], left: impl Fn(&[u32]) -> usize) -> Option<Vec<u32>> {
    let mut chosen = Vec::new();
    let mut open = left(&chosen);
    while open > 0 {
        let with = |more: &[u32]| -> Vec<u32> { chosen.iter().chain(more).copied().collect() };
        let one = lines.iter().map(|&line| with(&[line]));
        let two = lines
            .iter()
            .enumerate()
            .filter(|_| lines.len() <= MOST_FOR_TWO)
            .flat_map(|(at, &later)| lines[at + 1..].iter().map(move |&earlier| [later, earlier]));
        let fewest = |tried: Vec<Vec<u32>>| {
            let counted = tried.into_iter().map(|lines| (left(&lines), lines));
            counted.min_by_key(|(count, _)| *count).filter(|(count, _)| *count < open)
        };
        (open, chosen) = fewest(one.collect()).or_else(|| fewest(two.map(|two| with(&two)).collect()))?;
        if chosen.len() > MOST_NEW {
            return None;
        }
    }
    // A later barrier may do what an earlier one was chosen for.
    for line in chosen.clone() {
        let rest: Vec<u32> = chosen.iter().copied().filter(|&other| other != line).collect();
        if left(&rest) == 0 {
            chosen = rest;
        }
    }
    chosen.sort_unstable();
    Some(chosen)
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
    let loops: Vec<_> = loops(flow, &reversed).filter(|(_, blocks)| blocks.contains(&at)).collect();
    let innermost = loops.iter().min_by_key(|(_, blocks)| blocks.len());
    let accesses = |block: usize, skipped: usize| {
        flow.blocks[block].steps.iter().skip(skipped).filter_map(|step| match *step {
            Step::Access(site) | Step::Atomic(site) => Some(site),
            _ => None,
        })
    };
    let is_within = |block: &usize| innermost.is_none_or(|(_, blocks)| blocks.contains(block));
    let after = (0..flow.blocks.len()).filter(|&block| behind[block]).filter(is_within);
    let mut precedes: BTreeSet<u32> =
        after.flat_map(|block| accesses(block, if block == at { step } else { 0 })).collect();
    let ended = innermost.filter(|_| precedes.is_empty());
    if let Some((header, blocks)) = ended {
        // Each thread comes there before the next iteration, and does not leave the loop before.
        let goes_back = |block: &usize| flow.blocks[*block].next.contains(&(*header as u32));
        let leaves = |block: &usize| successors(flow, *block).any(|next| !blocks.contains(&next));
        let is_head_alone = *header == at || accesses(*header, 0).next().is_none();
        let passes = |block: &usize| behind[*block] || block == header && is_head_alone && !goes_back(block);
        if !blocks.iter().filter(|block| goes_back(block) || leaves(block)).all(passes) {
            return None;
        }
        precedes = blocks.iter().flat_map(|&block| accesses(block, 0)).collect();
    }
    Some(NewBarrier { level, precedes, loops: loops.len(), ends_iteration: ended.is_some() })
}

/// The places before lines: one in the kernel, or one in each call of a function.
type PlacesOfLines = HashMap<u32, Vec<StepPlace>>;

/// Returns the first step of each line, in the kernel and in each call.
fn first_of_lines(kernel: &Unordered<'_>) -> HashMap<(u32, Option<u32>), StepPlace> {
    let mut first = HashMap::new();
    for (block, body) in kernel.flow.blocks.iter().enumerate() {
        for (at, step) in body.steps.iter().enumerate() {
            if let Some(line) = kernel.line_of(*step) {
                first.entry(line).or_insert((block, at));
            }
        }
    }
    first
}

/// Returns the places before each line. Before the head of a loop is before the loop, and no place if the loop is not
/// the line's own.
fn places_of_lines(kernel: &Unordered<'_>, kind: &impl Fn(u32) -> Option<Line>) -> PlacesOfLines {
    let flow = kernel.flow;
    let reverse = reversed(flow);
    let before = |(line, call): (u32, Option<u32>), (block, at): StepPlace| {
        if kind(line) != Some(Line::LoopHead) {
            return Some((block, at));
        }
        let all: Vec<_> = loops(flow, &reverse).filter(|(_, blocks)| blocks.contains(&block)).collect();
        // An outer loop has earlier lines. So has one of whose head nothing is left but a step.
        let lines = |blocks: &BTreeSet<usize>| {
            let steps = blocks.iter().flat_map(|&block| &flow.blocks[block].steps);
            steps.filter_map(|step| line_in(*step, call)).min()
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
    let mut places: HashMap<u32, Option<Vec<StepPlace>>> = HashMap::new();
    for (at, first) in first_of_lines(kernel) {
        let place = before(at, first);
        let known = places.entry(at.0).or_insert_with(|| Some(Vec::new()));
        *known = known.take().and_then(|mut known| {
            known.push(place?);
            Some(known)
        });
    }
    let known = |(line, places): (u32, Option<Vec<StepPlace>>)| {
        let mut places = places?;
        places.sort_unstable();
        Some((line, places))
    };
    places.into_iter().filter_map(known).collect()
}

/// Returns the line of the kernel, or of this call, that begins at a step.
fn line_in(step: Step, of: Option<u32>) -> Option<u32> {
    match step {
        Step::Line(line) if of.is_none() => Some(line),
        Step::Inlined { line, call, .. } if of == Some(call) => Some(line),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::tests::flow;

    fn any(_: u32) -> Option<Line> {
        Some(Line::Statement)
    }

    /// No line is within braces.
    fn flat(_: u32) -> usize {
        0
    }

    fn unordered<'a>(
        flow: &'a Flow,
        pairs: &[Pair],
        runs_clean: &'a dyn Fn(&NewBarrier, &[Pair]) -> bool,
    ) -> Unordered<'a> {
        let in_functions = HashMap::new();
        Unordered { flow, in_kernel: true, in_functions, pairs: pairs.to_vec(), runs_clean }
    }

    fn fix(text: &str, pairs: &[Pair]) -> Option<Vec<u32>> {
        fix_with(text, pairs, None)
    }

    fn fix_with(text: &str, pairs: &[Pair], head: Option<u32>) -> Option<Vec<u32>> {
        let flow = flow(text);
        let all = [unordered(&flow, pairs, &|_, _| false)];
        missing(
            &all,
            Level::Block,
            |line| if Some(line) == head { Some(Line::LoopHead) } else { any(line) },
            flat,
        )
        .map(|found| found.lines)
    }

    #[test]
    fn the_barrier_stands_before_the_later_access() {
        assert_eq!(fix("u: L1 L17 a0 L18 a1 L19", &[[0, 1]]), Some(vec![18]));
        // The read comes before the write of the next iteration.
        let over_back_edge = "u 1: L1
             u 2,3: L2
             u 1: L17 a0 L18 B L19 a1
             u: L20";
        assert_eq!(fix(over_back_edge, &[[0, 1]]), Some(vec![17]));
        let branches = "u 1,2: L1
             3: L17 a0
             3: L18 a1
             u: L19";
        assert_eq!(fix(branches, &[[0, 1]]), None);
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
    fn the_end_of_a_loop_is_a_place_if_no_statement_is_one() {
        // The first statement of the body is a loop that some threads do not enter, and the last one left no code.
        let tiled = "u 1: L1\nu 2,3: L6\n 2,3: L7 a0\nu 1,4: B L9 a1 L20\nu:";
        let flow = flow(tiled);
        let found = |pairs: &[Pair], end: u32| {
            let kind = |line| match line {
                6 | 7 => Some(Line::LoopHead),
                _ if line == end => Some(Line::LoopEnd),
                _ => any(line),
            };
            let all = [unordered(&flow, pairs, &|_, _| false)];
            missing(&all, Level::Block, kind, flat).map(|found| found.lines)
        };
        assert_eq!(found(&[[1, 0]], 20), Some(vec![20]));
        assert_eq!(found(&[[0, 0]], 20), None);
        // Before a statement comes first.
        assert_eq!(found(&[[1, 0]], 21), Some(vec![20]));
        assert_eq!(fix("u 1: L1\nu 1,2: L5 a0 B L9 a1 L20\nu:", &[[1, 0]]), Some(vec![20]));
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
    fn all_races_must_be_ordered() {
        let text = "u: L1 a0 L2 a1 L3 a2";
        assert_eq!(fix(text, &[[0, 1], [0, 2]]), Some(vec![2]));
        assert_eq!(fix(text, &[[0, 1], [1, 2]]), Some(vec![2, 3]));
        assert_eq!(fix(text, &[[0, 1], [2, 2]]), None);
        assert_eq!(fix(text, &[[0, 7]]), None);
    }

    #[test]
    fn as_many_barriers_as_the_races_need() {
        let text = "u: L1 a0 L2 a1 L3 a2 L4 a3 L5 a4";
        let flow = flow(text);
        let of = |pairs: &[Pair]| {
            let all = [unordered(&flow, pairs, &|_, _| false)];
            missing(&all, Level::Block, any, flat).map(|found| (found.lines, found.parted))
        };
        let each = [[0, 1], [1, 2], [2, 3], [3, 4]];
        // Each barrier parts neighbours. Farther accesses need none of their own.
        let far = [each.as_slice(), &[[0, 4], [1, 3]]].concat();
        let parted = each.map(|pair| (0, pair)).to_vec();
        assert_eq!(of(&far), Some((vec![2, 3, 4, 5], parted)));
        assert_eq!(of(&[[0, 2], [1, 2], [4, 3]]), Some((vec![3, 5], vec![(0, [1, 2]), (0, [4, 3])])));
        // One barrier for all is the least, wherever it stands.
        assert_eq!(of(&[[0, 4], [1, 2], [0, 3]]), Some((vec![3], Vec::new())));
        assert_eq!(of(&[[0, 1], [1, 2], [2, 2]]), None);
    }

    #[test]
    fn a_line_must_be_one_place_in_all_kernels() {
        let (one, two) = (flow("u: L17 a0 L18 a1"), flow("u 1: L17 a0\n : L18 a1"));
        let of = |flow| unordered(flow, &[[0, 1]], &|_, _| false);
        let found = missing(&[of(&one)], Level::Block, any, flat);
        assert_eq!(found, Some(Missing { lines: vec![18], in_every_launch: true, parted: Vec::new() }));
        assert_eq!(missing(&[of(&one), of(&two)], Level::Block, any, flat), None);
        assert_eq!(missing(&[of(&one)], Level::Block, |line| any(line).filter(|_| line != 18), flat), None);
    }

    #[test]
    fn a_barrier_in_a_function_is_one_in_each_of_its_calls() {
        let fix = |texts: &[&str], pairs: &[Pair]| {
            let flows: Vec<Flow> = texts.iter().map(|text| flow(text)).collect();
            let all: Vec<_> = flows
                .iter()
                .map(|flow| {
                    let in_functions = HashMap::from([(0, BTreeSet::from([7, 8]))]);
                    Unordered { in_functions, ..unordered(flow, pairs, &|_, _| false) }
                })
                .collect();
            missing(&all, Level::Block, any, flat).map(|found| found.lines)
        };
        let once = "u: L20 I7.1 a0 I8.1 a1 L21";
        let twice = "u: L20 I7.1 a0 I8.1 a1 B L21 I7.2 a2 I8.2 a3 B";
        assert_eq!(fix(&[once], &[[0, 1]]), Some(vec![8]));
        assert_eq!(fix(&[twice], &[[0, 1], [2, 3]]), Some(vec![8]));
        // Several kernels have the lines of the function alone in common.
        assert_eq!(fix(&[once, &once.replace("L20", "L30")], &[[0, 1]]), Some(vec![8]));
        // Between two calls, the kernel's own line comes first.
        let used_again = twice.replacen(" B", "", 1);
        assert_eq!(fix(&[&used_again], &[[1, 2]]), Some(vec![21]));
        // Lines that threads may run alone, or that some threads run here, or that not all kernels have.
        assert_eq!(fix(&[&once.replace("I8", "I9")], &[[0, 1]]), None);
        assert_eq!(fix(&["u 1: L20 I7.1 a0\n : I8.1 a1"], &[[0, 1]]), None);
        assert_eq!(fix(&[once, "u: L30 I7.1 a0 a1"], &[[0, 1]]), None);
    }

    #[test]
    fn before_a_loop_of_a_function_is_before_it_in_each_call() {
        let looped = |call: u32, at: u32| {
            let (body, after, a) = (at + 1, at + 2, 2 * (call - 1));
            format!("u {body}: L20 I7.{call} a{a}\nu {body},{after}: I8.{call} a{}\n", a + 1)
        };
        let flow = flow(&(looped(1, 0) + &looped(2, 2) + "u: L21"));
        let in_functions = HashMap::from([(0, BTreeSet::from([7, 8]))]);
        let pairs = [[0, 1], [2, 3]];
        let all = [Unordered { in_functions, ..unordered(&flow, &pairs, &|_, _| false) }];
        let head = |line| if line == 8 { Some(Line::LoopHead) } else { any(line) };
        assert_eq!(missing(&all, Level::Block, head, flat).map(|found| found.lines), Some(vec![8]));
        assert_eq!(places_of_lines(&all[0], &head)[&8], [(0, 3), (2, 3)]);
    }

    #[test]
    fn each_call_is_tried_alone() {
        // Each call has a loop whose statement meets itself.
        let text = "u 1: L20\nu 1,2: I7.1 a0 a1\nu 3: L21\nu 3,4: I7.2 a2 a3\nu: L22";
        let flow = flow(text);
        let pairs = [[0, 1], [2, 3]];
        for clean in [vec![0, 2], vec![2]] {
            let runs_clean = |barrier: &NewBarrier, pairs: &[Pair]| {
                assert!(pairs.iter().flatten().all(|site| barrier.precedes.contains(site)));
                pairs.iter().all(|[first, _]| clean.contains(first))
            };
            let in_functions = HashMap::from([(0, BTreeSet::from([7]))]);
            let all = [Unordered { in_kernel: false, in_functions, ..unordered(&flow, &pairs, &runs_clean) }];
            let found =
                missing(&all, Level::Block, any, flat).map(|found| (found.lines, found.in_every_launch));
            assert_eq!(found, (clean.len() == 2).then_some((vec![7], false)));
        }
    }

    #[test]
    fn outside_of_a_loop_is_better() {
        // The first iteration reads what was stored before the loop; a barrier ends each iteration.
        let text = "u 1: L5 a0 L6\nu 2,3: L7\nu 1: L8 a1 L9 B\nu:";
        let fix = |depth: fn(u32) -> usize| {
            let flow = flow(text);
            let kind = |line| if line == 7 { Some(Line::LoopHead) } else { any(line) };
            missing(&[unordered(&flow, &[[0, 1]], &|_, _| false)], Level::Block, kind, depth)
        };
        let lines = |depth| fix(depth).map(|found| found.lines);
        assert_eq!(lines(|line| usize::from(line > 7)), Some(vec![7]));
        assert_eq!(lines(flat), Some(vec![8]));
    }

    #[test]
    fn the_rest_of_the_races_is_tried() {
        // A loop's statement meets itself, and all threads read behind the loop.
        let flow = flow("u 1: L1 B\nu 1,2: L3 a0 a1 L4\nu: L5 a2");
        let pairs = [[0, 1], [1, 2]];
        let runs_clean = |_: &NewBarrier, pairs: &[Pair]| {
            assert_eq!(pairs, [[0, 1]]);
            true
        };
        let found = missing(&[unordered(&flow, &pairs, &runs_clean)], Level::Block, any, flat);
        let wanted = Missing { lines: vec![4], in_every_launch: false, parted: Vec::new() };
        assert_eq!(found, Some(wanted));
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
            let all = [unordered(&flow, &[[0, 1]], &runs_clean)];
            let found = missing(&all, Level::Block, |line| any(line).filter(|_| line == 18), flat);
            let wanted = Missing { lines: vec![18], in_every_launch: false, parted: Vec::new() };
            assert_eq!(found, answer.then_some(wanted));
            let precedes = BTreeSet::from([0, 1]);
            let wanted = NewBarrier { level: Level::Block, precedes, loops: 1, ends_iteration: false };
            assert_eq!(asked.into_inner(), [wanted]);
        }
        let with_lanes = self::flow(&text.replace("a0 a1", "a0 a1 l"));
        assert_eq!(new_barrier(&with_lanes, (2, 0), Level::Block), None);
        let after = new_barrier(&flow, (3, 0), Level::Block).unwrap();
        assert_eq!((after.precedes, after.loops), (BTreeSet::from([2]), 0));
    }

    #[test]
    fn a_barrier_at_the_end_of_an_iteration_precedes_the_next_one() {
        let at_end = |text: &str, place| {
            let new = new_barrier(&flow(text), place, Level::Block)?;
            new.ends_iteration.then_some(new.precedes)
        };
        let rounds = "u 1: L1\nu 2,3: L2\nu 1: L3 a0 a1 L4\nu: L5 a2";
        assert_eq!(at_end(rounds, (2, 3)), Some(BTreeSet::from([0, 1])));
        assert_eq!(at_end("u 1: L1\nu 1,2: L3 a0 L4\nu: L5", (1, 2)), Some(BTreeSet::from([0])));
        // An access comes before the loop's condition; the iteration goes on, or some threads leave the loop before.
        assert_eq!(at_end(&rounds.replace("L2", "L2 a3"), (2, 3)), None);
        assert_eq!(at_end(rounds, (2, 1)), None);
        let left = "u 1: L1\nu 2,4: L2\nu 3,4: L3 a0\nu 1: L4\nu: L5";
        assert_eq!(at_end(left, (3, 0)), None);
        assert_eq!(at_end(&left.replace("3,4: L3", "3: L3"), (3, 0)), Some(BTreeSet::from([0])));
        // Some iterations do not come there.
        assert_eq!(at_end("u 1: L1\nu 2,5: L2\nu 3,4: L3 a0\nu 4: L4\nu 1: L6\nu: L7", (3, 0)), None);
    }
}
