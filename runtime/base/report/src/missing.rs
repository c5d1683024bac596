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

/// Where a new statement may stand in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Insertion {
    /// Before a line.
    Before(u32),
    /// At the end of the body of the loop that begins with this line. Nothing but the statement, and braces, is new.
    BodyEnd(u32),
}

/// What a line of the source, before which a statement of its own can stand, begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A statement that is no loop.
    Statement,
    /// The head of a loop.
    LoopHead,
    /// The brace that ends the body of a loop, or its last statement. The body has no `continue`.
    LoopEnd,
}

/// Barriers that order all races.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Where they stand, in the order of the lines.
    pub insertions: Vec<Insertion>,
    /// They do so in every launch of the kernels. Otherwise in the launches of this run.
    pub in_every_launch: bool,
    /// Of several barriers, what each one alone parts: the closest accesses, and the index of their kernel.
    pub parted: Vec<(usize, Pair)>,
}

/// Returns barriers that order all races. All threads of a block reach each of the places together. `kind` says what a
/// statement would stand before; `None` if no statement can stand there. `depth` is the number of braces around it.
pub fn missing(
    all: &[Unordered<'_>],
    level: Level,
    kind: impl Fn(Insertion) -> Option<Line>,
    depth: impl Fn(Insertion) -> usize,
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
    let known: Vec<Places> = all.iter().map(|kernel| places_of(kernel, &kind)).collect();
    let insertions = candidates(all, &known, &kind)?;
    // The races that new barriers leave.
    let left = |new: &[Insertion]| -> Vec<(usize, Pair)> {
        let of_kernel = |(at, kernel): (usize, &Unordered<'_>)| {
            let added = new.iter().filter_map(|one| known[at].get(one)).flatten();
            let parted = Parted::new(kernel.flow, &added.copied().collect::<Vec<_>>(), level);
            let left = kernel.pairs.iter().filter(|pair| !parted.parts(**pair));
            left.map(|&pair| (at, pair)).collect::<Vec<_>>()
        };
        all.iter().enumerate().flat_map(of_kernel).collect()
    };
    // Outside of loops and conditions a barrier is cheaper, and easier to understand.
    let mut by_depth = insertions.clone();
    by_depth.sort_by_key(|one| depth(*one));
    if let Some(&one) = by_depth.iter().find(|&&one| left(&[one]).is_empty()) {
        return Some(Missing { insertions: vec![one], in_every_launch: true, parted: Vec::new() });
    }
    let barriers = |one: Insertion| {
        let left = left(&[one]);
        let barriers = |(at, kernel): (usize, &Unordered<'_>)| {
            let of_place = |&place: &StepPlace| new_barrier(kernel.flow, place, level);
            let places = known[at].get(&one)?;
            let barriers: Vec<NewBarrier> = places.iter().map(of_place).collect::<Option<_>>()?;
            let pairs = left.iter().filter(|(of, _)| *of == at).map(|(_, pair)| *pair);
            let pairs: Vec<Pair> = pairs.collect();
            let reaches = |pair: &Pair| barriers.iter().any(|barrier| barrier.reaches(*pair));
            pairs.iter().all(reaches).then_some((barriers, pairs))
        };
        Some((one, all.iter().enumerate().map(barriers).collect::<Option<Vec<_>>>()?))
    };
    let mut tried = insertions.iter().filter_map(|&one| barriers(one)).take(MOST_RUNS);
    let runs_clean = |new: Vec<(Vec<NewBarrier>, Vec<Pair>)>| {
        all.iter().zip(new).all(|(kernel, (barriers, pairs))| kernel.runs_with(&barriers, pairs))
    };
    if let Some(one) = tried.find_map(|(one, new)| runs_clean(new).then_some(one)) {
        return Some(Missing { insertions: vec![one], in_every_launch: false, parted: Vec::new() });
    }
    let insertions = several(&by_depth, |new| left(new).len())?;
    let parted = insertions.iter().filter_map(|one| {
        let others: Vec<Insertion> = insertions.iter().copied().filter(|other| other != one).collect();
        let distance = |&(at, pair): &(usize, Pair)| {
            let places = places(all[at].flow);
            let place = |site| places.get(&site).copied().unwrap_or_default();
            let [(a, first), (b, second)] = pair.map(place);
            (a.abs_diff(b), first.abs_diff(second))
        };
        left(&others).into_iter().min_by_key(distance)
    });
    let parted = parted.collect();
    Some(Missing { insertions, in_every_launch: true, parted })
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

/// Returns where a barrier may stand in all kernels, the best first.
fn candidates(
    all: &[Unordered<'_>],
    places: &[Places],
    kind: &impl Fn(Insertion) -> Option<Line>,
) -> Option<Vec<Insertion>> {
    let is_together = |(at, one): (usize, &Insertion)| {
        let own = places[at].get(one);
        own.is_some_and(|own| own.iter().all(|(block, _)| all[at].flow.blocks[*block].uniform))
    };
    let in_all = |one: &&Insertion| (0..all.len()).all(|at| is_together((at, one)));
    let is_own = |line: u32| {
        let steps = all.iter().flat_map(|kernel| &kernel.flow.blocks).flat_map(|block| &block.steps);
        steps.into_iter().any(|step| *step == Step::Line(line))
    };
    let mut found: Vec<_> = places
        .first()?
        .keys()
        .filter(in_all)
        .filter_map(|&one| {
            // Whoever reads the kernel sees what its own lines order. A barrier right before the later access is what a
            // programmer would write, so later lines come first. The end of a loop's body follows them: there the
            // optimiser may have left no statement's line. Where braces would be new, too, it is the last choice, and
            // the outer one of two loops comes first.
            let is_end = kind(one)? == Line::LoopEnd;
            let order = match one {
                Insertion::Before(line) => (false, Reverse(line), 0),
                Insertion::BodyEnd(line) => (true, Reverse(0), line),
            };
            Some((!is_own(one.line()), is_end, order, one))
        })
        .collect();
    found.sort_unstable();
    (found.len() <= MOST_CANDIDATES).then(|| found.into_iter().map(|(.., one)| one).collect())
}

impl Insertion {
    /// The line that it names.
    pub fn line(self) -> u32 {
        match self {
            Self::Before(line) | Self::BodyEnd(line) => line,
        }
    }
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

/// Returns where barriers order all races, as few as a greedy search finds: the next one is the barrier, or the two
/// barriers, that leave the fewest races. `left` says how many.
fn several(all: &[Insertion], left: impl Fn(&[Insertion]) -> usize) -> Option<Vec<Insertion>> {
    let mut chosen = Vec::new();
    let mut open = left(&chosen);
    while open > 0 {
        let with = |more: &[Insertion]| -> Vec<Insertion> { chosen.iter().chain(more).copied().collect() };
        let one = all.iter().map(|&one| with(&[one]));
        let two = all
            .iter()
            .enumerate()
            .filter(|_| all.len() <= MOST_FOR_TWO)
            .flat_map(|(at, &later)| all[at + 1..].iter().map(move |&earlier| [later, earlier]));
        let fewest = |tried: Vec<Vec<Insertion>>| {
            let counted = tried.into_iter().map(|new| (left(&new), new));
            counted.min_by_key(|(count, _)| *count).filter(|(count, _)| *count < open)
        };
        (open, chosen) = fewest(one.collect()).or_else(|| fewest(two.map(|two| with(&two)).collect()))?;
        if chosen.len() > MOST_NEW {
            return None;
        }
    }
    // A later barrier may do what an earlier one was chosen for.
    for one in chosen.clone() {
        let rest: Vec<Insertion> = chosen.iter().copied().filter(|&other| other != one).collect();
        if left(&rest) == 0 {
            chosen = rest;
        }
    }
    chosen.sort_unstable_by_key(|one| (one.line(), *one));
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

/// The places of new statements: one in the kernel, or one in each call of a function.
type Places = HashMap<Insertion, Vec<StepPlace>>;

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

/// Returns the places of all new statements that the source has room for.
fn places_of(kernel: &Unordered<'_>, kind: &impl Fn(Insertion) -> Option<Line>) -> Places {
    let reverse = reversed(kernel.flow);
    let loops: Vec<_> = loops(kernel.flow, &reverse).collect();
    let mut places: HashMap<Insertion, Option<Vec<StepPlace>>> = HashMap::new();
    for ((line, call), first) in first_of_lines(kernel) {
        let is_head = kind(Insertion::Before(line)) == Some(Line::LoopHead);
        let before = if is_head {
            before_loop(kernel.flow, &loops, &reverse, (line, call), first)
        } else {
            Some(first)
        };
        let end = kind(Insertion::BodyEnd(line)).map(|_| end_of_body(kernel.flow, &loops, (line, call)));
        for (one, place) in [(Insertion::Before(line), Some(before)), (Insertion::BodyEnd(line), end)] {
            let Some(place) = place else { continue };
            let known = places.entry(one).or_insert_with(|| Some(Vec::new()));
            *known = known.take().and_then(|mut known| {
                known.push(place?);
                Some(known)
            });
        }
    }
    let known = |(one, places): (Insertion, Option<Vec<StepPlace>>)| {
        let mut places = places?;
        places.sort_unstable();
        Some((one, places))
    };
    places.into_iter().filter_map(known).collect()
}

/// The header and the blocks of a loop.
type Loop = (usize, BTreeSet<usize>);

/// Returns the first line of the kernel, or of this call, that a loop has.
fn first_line(flow: &Flow, blocks: &BTreeSet<usize>, call: Option<u32>) -> Option<u32> {
    let steps = blocks.iter().flat_map(|&block| &flow.blocks[block].steps);
    steps.filter_map(|step| line_in(*step, call)).min()
}

/// Returns the place before a loop, given the line of its head and that line's first step. If the loop is not the
/// line's own, this is no place. If the line has no loop any more, it is before the line.
fn before_loop(
    flow: &Flow,
    loops: &[Loop],
    reverse: &[Vec<usize>],
    (line, call): (u32, Option<u32>),
    first: StepPlace,
) -> Option<StepPlace> {
    let mut around = loops.iter().filter(|(_, blocks)| blocks.contains(&first.0));
    // An outer loop has earlier lines. So has one of whose head nothing is left but a step.
    let Some((header, _)) = around.find(|(_, blocks)| first_line(flow, blocks, call) >= Some(line)) else {
        return Some(first);
    };
    let outer = &mut reverse[*header].iter().copied().filter(|from| from < header);
    let from = outer.next().filter(|_| outer.next().is_none())?;
    let is_only_way = flow.blocks[from].next.len() == 1;
    is_only_way.then(|| (from, flow.blocks[from].steps.len()))
}

/// Returns the place behind the body of a loop, before what its head does for the next iteration, given the head's
/// line. `None` if the line has no loop any more, or several ways lead back to its start.
fn end_of_body(flow: &Flow, loops: &[Loop], (line, call): (u32, Option<u32>)) -> Option<StepPlace> {
    let own = loops.iter().filter(|(_, blocks)| first_line(flow, blocks, call) == Some(line));
    let (header, blocks) = own.min_by_key(|(_, blocks)| blocks.len())?;
    let back =
        &mut blocks.iter().copied().filter(|&block| flow.blocks[block].next.contains(&(*header as u32)));
    let latch = back.next().filter(|_| back.next().is_none())?;
    let steps = &flow.blocks[latch].steps;
    let body = steps.iter().rposition(|step| line_in(*step, call).is_some_and(|own| own != line));
    // A head with a line of its own begins there. One that shares the body's line has no place of its own: its
    // accesses in this block count as the body's.
    let head = body.and_then(|body| steps[body..].iter().position(|step| line_in(*step, call) == Some(line)));
    Some((latch, body.zip(head).map_or(steps.len(), |(body, head)| body + head)))
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

    use Insertion::{Before, BodyEnd};

    fn any(one: Insertion) -> Option<Line> {
        matches!(one, Before(_)).then_some(Line::Statement)
    }

    /// No line is within braces.
    fn flat(_: Insertion) -> usize {
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
            |one| if head.map(Before) == Some(one) { Some(Line::LoopHead) } else { any(one) },
            flat,
        )
        .map(lines)
    }

    /// The lines of barriers, all of which stand before lines.
    fn lines(found: Missing) -> Vec<u32> {
        found
            .insertions
            .iter()
            .map(|one| if let Before(line) = one { *line } else { unreachable!() })
            .collect()
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
            let kind = |one| match one {
                Before(6 | 7) => Some(Line::LoopHead),
                _ if one == Before(end) => Some(Line::LoopEnd),
                _ => any(one),
            };
            let all = [unordered(&flow, pairs, &|_, _| false)];
            missing(&all, Level::Block, kind, flat).map(lines)
        };
        assert_eq!(found(&[[1, 0]], 20), Some(vec![20]));
        assert_eq!(found(&[[0, 0]], 20), None);
        // Before a statement comes first.
        assert_eq!(found(&[[1, 0]], 21), Some(vec![20]));
        assert_eq!(fix("u 1: L1\nu 1,2: L5 a0 B L9 a1 L20\nu:", &[[1, 0]]), Some(vec![20]));
    }

    #[test]
    fn the_end_of_a_body_without_braces_is_a_place_if_there_is_no_other() {
        let fix = |text: &str, pairs: &[Pair]| {
            let flow = flow(text);
            let kind = |one| match one {
                BodyEnd(2) => Some(Line::LoopEnd),
                Before(2) => Some(Line::LoopHead),
                Before(3 | 7) | BodyEnd(_) => None,
                _ => any(one),
            };
            let all = [unordered(&flow, pairs, &|_, _| false)];
            missing(&all, Level::Block, kind, flat).map(|found| found.insertions)
        };
        // A barrier begins each iteration, in the loop's head or in a function; the body is line 3, or in line 2.
        let end = Some(vec![BodyEnd(2)]);
        assert_eq!(fix("u 1: L1\nu 1,2: L2 B L3 a0 L2\nu: L7 a1", &[[0, 1]]), end);
        assert_eq!(fix("u 1: L1\nu 1,2: L2 B a0\nu: L7 a1", &[[0, 1]]), end);
        assert_eq!(fix("u 1: L1\nu 2,3: L2\nu 1: L2 B a0\nu: L7 a1", &[[0, 1]]), end);
        // Before what the head does for the next iteration.
        let head = "u 1: L1\nu 1,2: L2 B L3 a0 L2 a1\nu: L7";
        assert_eq!(fix(head, &[[0, 1]]), end);
        assert_eq!(fix(head, &[[1, 1]]), None);
        // Before a statement comes first.
        assert_eq!(fix("u 1: L1\nu 1,2: L2 B L3 a0 L2\nu: L4 a1", &[[0, 1]]), Some(vec![Before(4)]));
        // Some threads leave the loop alone; the line has no loop; two ways lead back.
        assert_eq!(fix("u 1: L1\n 1,2: L2 B L3 a0 L2\nu: L7 a1", &[[0, 1]]), None);
        assert_eq!(fix("u 1: L1\nu 1,2: L1 L2 B L3 a0 L2\nu: L7 a1", &[[0, 1]]), None);
        assert_eq!(fix("u 1: L1\nu 1,2: L2 B L3 a0\nu 1,3: L3\nu: L7 a1", &[[0, 1]]), None);
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
            missing(&all, Level::Block, any, flat).map(|found| (found.parted.clone(), lines(found)))
        };
        let each = [[0, 1], [1, 2], [2, 3], [3, 4]];
        // Each barrier parts neighbours. Farther accesses need none of their own.
        let far = [each.as_slice(), &[[0, 4], [1, 3]]].concat();
        let parted = each.map(|pair| (0, pair)).to_vec();
        assert_eq!(of(&far), Some((parted, vec![2, 3, 4, 5])));
        assert_eq!(of(&[[0, 2], [1, 2], [4, 3]]), Some((vec![(0, [1, 2]), (0, [4, 3])], vec![3, 5])));
        // One barrier for all is the least, wherever it stands.
        assert_eq!(of(&[[0, 4], [1, 2], [0, 3]]), Some((Vec::new(), vec![3])));
        assert_eq!(of(&[[0, 1], [1, 2], [2, 2]]), None);
    }

    #[test]
    fn a_line_must_be_one_place_in_all_kernels() {
        let (one, two) = (flow("u: L17 a0 L18 a1"), flow("u 1: L17 a0\n : L18 a1"));
        let of = |flow| unordered(flow, &[[0, 1]], &|_, _| false);
        let found = missing(&[of(&one)], Level::Block, any, flat);
        assert_eq!(
            found,
            Some(Missing { insertions: vec![Before(18)], in_every_launch: true, parted: Vec::new() })
        );
        assert_eq!(missing(&[of(&one), of(&two)], Level::Block, any, flat), None);
        assert_eq!(
            missing(&[of(&one)], Level::Block, |one| any(one).filter(|_| one != Before(18)), flat),
            None
        );
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
            missing(&all, Level::Block, any, flat).map(lines)
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
        let head = |one| if one == Before(8) { Some(Line::LoopHead) } else { any(one) };
        assert_eq!(missing(&all, Level::Block, head, flat).map(lines), Some(vec![8]));
        assert_eq!(places_of(&all[0], &head)[&Before(8)], [(0, 3), (2, 3)]);
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
                missing(&all, Level::Block, any, flat).map(|found| (found.in_every_launch, lines(found)));
            assert_eq!(found, (clean.len() == 2).then_some((false, vec![7])));
        }
    }

    #[test]
    fn outside_of_a_loop_is_better() {
        // The first iteration reads what was stored before the loop; a barrier ends each iteration.
        let text = "u 1: L5 a0 L6\nu 2,3: L7\nu 1: L8 a1 L9 B\nu:";
        let fix = |depth: fn(Insertion) -> usize| {
            let flow = flow(text);
            let kind = |one| if one == Before(7) { Some(Line::LoopHead) } else { any(one) };
            missing(&[unordered(&flow, &[[0, 1]], &|_, _| false)], Level::Block, kind, depth)
        };
        let fix = |depth| fix(depth).map(lines);
        assert_eq!(fix(|one| usize::from(one.line() > 7)), Some(vec![7]));
        assert_eq!(fix(flat), Some(vec![8]));
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
        let wanted = Missing { insertions: vec![Before(4)], in_every_launch: false, parted: Vec::new() };
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
            let found = missing(&all, Level::Block, |one| any(one).filter(|_| one == Before(18)), flat);
            let wanted = Missing { insertions: vec![Before(18)], in_every_launch: false, parted: Vec::new() };
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
