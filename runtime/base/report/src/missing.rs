//! Barriers that are missing: where new ones would order the races of a finding.

mod places;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use gpurace_abi::flow::{Flow, Step};

use self::places::{Places, places_of};
use crate::barriers::{Level, Pair, is_run_together};
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

/// Returns barriers that order all races. All threads that they are for reach each of the places together. `kind` says
/// what a statement would stand before; `None` if no statement can stand there. `depth` is the number of braces around
/// it.
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
    let insertions = candidates(all, &known, &kind, level)?;
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

/// True if one barrier would order all races of a kernel, at some place that all of its threads reach together,
/// whether or not a statement can stand there.
pub fn one_would_do(flow: &Flow, pairs: &[Pair], level: Level) -> bool {
    let blocks = flow.blocks.iter().enumerate().filter(|(_, block)| is_run_together(block, level));
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
    level: Level,
) -> Option<Vec<Insertion>> {
    let is_together = |(at, one): (usize, &Insertion)| {
        let own = places[at].get(one);
        own.is_some_and(|own| {
            own.iter().all(|(block, _)| is_run_together(&all[at].flow.blocks[*block], level))
        })
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

/// Returns a barrier at the end of each iteration of the innermost loop around two accesses, wherever threads leave it.
/// No source may have it: it tells whether threads of one iteration race. `None` if no loop has both.
pub fn end_of_iteration(flow: &Flow, pair: Pair, level: Level) -> Option<NewBarrier> {
    let (places, reversed) = (places(flow), reversed(flow));
    let blocks: Vec<usize> = pair.iter().filter_map(|site| places.get(site)).map(|at| at.0).collect();
    let around = loops(flow, &reversed).filter(|(_, of)| blocks.iter().all(|block| of.contains(block)));
    let around: Vec<_> = around.collect();
    let (_, innermost) = around.iter().min_by_key(|(_, blocks)| blocks.len())?;
    let steps = innermost.iter().flat_map(|&block| &flow.blocks[block].steps);
    let sites = steps.filter_map(|step| match *step {
        Step::Access(site) | Step::Atomic(site) => Some(site),
        _ => None,
    });
    Some(NewBarrier { level, precedes: sites.collect(), loops: around.len(), ends_iteration: true })
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
