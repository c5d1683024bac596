//! Mistakes that a kernel's control flow shows: another order than the missing one, or another index, mends them.

use gpurace_abi::flow::{Flow, Step};

use crate::barriers::{Pair, Relation};
use crate::cause::{InKernel, Order};
use crate::flags;
use crate::hint;
use crate::paths::{Walk, innermost_loop, places, reaches, reaches_in_turn};
use crate::schema::{Effect, Race, Scope};
use crate::words;

/// What two plain accesses of one launch show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Both use one stage of a buffer in each iteration of a loop, whose barrier parts iterations alone.
    WrongStage,
    /// A release comes before the access that it should pass on: a write, or the last read of bytes that it frees.
    EarlyRelease {
        /// This access is the earlier side.
        is_earlier: bool,
    },
    /// Threads arrive and wait at a barrier object, but its phase does not order them: it counts too few arrivals, or
    /// they use another object or phase.
    WrongPhase,
    /// A loop reads bytes, and then looks by an atomic whether they have changed meanwhile.
    LookAfterwards,
}

impl Mistake {
    /// Returns the mistake that a race of two plain accesses shows.
    pub fn of(race: &Race, kernel: InKernel<'_>, relation: Option<Relation>) -> Option<Self> {
        if race.kind.has(Effect::Atomic) {
            return None;
        }
        let effects = [race.kind.earlier(), race.kind.later()];
        let (flow, [earlier, later]) = (kernel.flow, kernel.pair);
        if race.scope <= Scope::Block && relation.is_some_and(|relation| is_one_stage(kernel, relation)) {
            return Some(Self::WrongStage);
        }
        if let Some(freed) = Self::of_freed(race, kernel) {
            return Some(freed);
        }
        let given = match effects {
            [Effect::Read, _] => [later, earlier],
            _ => [earlier, later],
        };
        // What one iteration leaves to the next one, no release of the iteration tells of.
        let in_one_turn = relation.is_some_and(|relation| match race.scope {
            Scope::Warp | Scope::Block | Scope::Cluster => relation.over_back_edge.is_none(),
            Scope::Grid | Scope::Device | Scope::System => {
                !relation.is_sequence || comes_first(flow, [given[1], given[0]])
            }
        });
        let across_blocks = race.scope > Scope::Cluster;
        // A reader may also hand bytes over to a writer.
        let is_read_first = effects[0] == Effect::Read;
        let is_given_back = is_read_first && flags::is_handed_over(flow, kernel.pair, across_blocks);
        if in_one_turn && !is_given_back && flags::is_released_early(flow, given, across_blocks) {
            return Some(Self::EarlyRelease { is_earlier: effects[0] != Effect::Read });
        }
        let reads = effects.into_iter().zip(kernel.pair).filter(|(effect, _)| *effect == Effect::Read);
        reads
            .map(|(_, read)| read)
            .any(|read| flags::is_looked_after(flow, read))
            .then_some(Self::LookAfterwards)
    }

    /// Returns the early release of bytes that a thread still reads.
    pub fn of_freed(race: &Race, InKernel { flow, pair: [earlier, later] }: InKernel<'_>) -> Option<Self> {
        let (is_earlier, given) = match [race.kind.earlier(), race.kind.later()] {
            [Effect::Read, Effect::Write] => (true, [earlier, later]),
            [Effect::Write, Effect::Read] => (false, [later, earlier]),
            _ => return None,
        };
        flags::is_freed_early(flow, given, race.scope > Scope::Cluster)
            .then_some(Self::EarlyRelease { is_earlier })
    }

    /// Returns the mistake in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::WrongStage => "wrong stage",
            Self::EarlyRelease { .. } => "early release",
            Self::WrongPhase => "wrong phase",
            Self::LookAfterwards => words::MISSING_ATOMIC,
        }
    }

    /// Returns what is wrong, in a sentence without a full stop. `sides` are the accesses in the program's order.
    pub fn why(self, race: &Race, [first, second]: [&str; 2]) -> String {
        match self {
            Self::WrongStage => {
                format!("{first} and {second} use one stage of the buffer in each iteration")
            }
            Self::EarlyRelease { is_earlier } => {
                let [given, other] = [is_earlier, !is_earlier].map(|side| words::effect_at(race, side));
                format!("{given} comes after the release that should order it before {other}")
            }
            Self::WrongPhase => {
                format!("arrivals and waits at a barrier object do not order {first} before {second}")
            }
            Self::LookAfterwards => format!("{first} and {second} are not ordered, and not both atomic"),
        }
    }

    /// Returns advice.
    pub fn hint(self, race: &Race) -> String {
        match self {
            Self::WrongStage => of_stage(race),
            Self::EarlyRelease { is_earlier } => of_early_release(race, is_earlier),
            Self::WrongPhase => OF_PHASE.to_owned(),
            Self::LookAfterwards => of_look_afterwards(race),
        }
    }
}

/// Returns the hint if two accesses of one iteration use one stage of a buffer.
fn of_stage(race: &Race) -> String {
    let barrier = if race.scope == Scope::Warp { "__syncwarp()" } else { "__syncthreads()" };
    let places = hint::places(race);
    format!(
        "the accesses{places} use one stage of the buffer in each iteration, and the loop's barrier only parts \
         iterations: let one of them use another stage; if both are meant for this one, put a {barrier} between them"
    )
}

/// Returns the hint if a release comes before the access that it should pass on. `is_earlier` tells which side this is.
fn of_early_release(race: &Race, is_earlier: bool) -> String {
    let given = if is_earlier { race.earlier() } else { race.later() };
    let effect = if is_earlier { race.kind.earlier() } else { race.kind.later() }.as_str();
    let at = hint::position(given).map_or_else(String::new, |at| format!(" at {at}"));
    let fence = if race.scope > Scope::Cluster { ", with a __threadfence() between the two" } else { "" };
    format!(
        "an atomic, or an arrival at a barrier, passes on what comes before it: put the {effect}{at} before the \
         release{fence}"
    )
}

/// Returns the hint if threads arrive at a barrier object between the accesses.
pub(crate) fn of_arrival(race: &Race, order: Order) -> String {
    let second = if order.swaps { race.earlier() } else { race.later() };
    let second = hint::position(second).unwrap_or_else(|| "the second access".to_owned());
    format!(
        "an arrival at a barrier object orders nothing for a thread that does not wait for its phase: before {second}, \
         let each thread wait by the token of this arrival, or by the parity of this phase"
    )
}

/// The hint if the phase of a barrier object does not order threads.
const OF_PHASE: &str = "a phase ends once as many threads have arrived as init() counts: let it count each arrival, and let \
                                   those who arrive and those who wait use the same barrier object, stage and parity";

/// Returns the hint if a loop reads bytes and then looks whether they have changed meanwhile.
fn of_look_afterwards(race: &Race) -> String {
    let read = if race.kind.later() == Effect::Read { race.later() } else { race.earlier() };
    let read = hint::position(read).map_or_else(String::new, |at| format!(" at {at}"));
    format!(
        "the read{read} may meet a write, and the loop looks only afterwards whether it did: make both accesses \
         atomic (atomicExch(&x, value) and atomicAdd(&x, 0), or a relaxed cuda::atomic_ref)"
    )
}

/// True if a thread that makes both accesses makes the first one earlier in an iteration.
fn comes_first(flow: &Flow, pair: Pair) -> bool {
    let places = places(flow);
    let [first, second] = pair.map(|site| places.get(&site).copied());
    first.zip(second).is_some_and(|(first, second)| reaches_in_turn(flow, first, second))
}

/// True if both accesses use one stage of a buffer in an iteration of a loop, and the loop has one barrier, in each
/// iteration. Stages let one barrier be enough, so one of the two accesses was meant for another stage, or a stage is
/// too much.
fn is_one_stage(InKernel { flow, pair }: InKernel<'_>, relation: Relation) -> bool {
    let stage = |site: u32| flow.staged.iter().find(|staged| staged.site == site).map(|staged| staged.stage);
    let stages = pair.map(stage);
    let places = places(flow);
    let blocks: Vec<usize> = pair.iter().filter_map(|site| places.get(site)).map(|at| at.0).collect();
    let around = Walk { back: true, stops: |step| step == Step::Barrier };
    let skips = |site: &u32| places.get(site).is_some_and(|&at| reaches(flow, at, at, around));
    stages[0].is_some()
        && stages[0] == stages[1]
        && relation.is_sequence
        && !relation.is_statement
        && relation.over_back_edge.is_none()
        && innermost_loop(flow, &blocks).is_some_and(|(_, blocks)| barriers(flow, blocks) == 1)
        && !pair.iter().any(skips)
}

fn barriers(flow: &Flow, blocks: impl IntoIterator<Item = usize>) -> usize {
    let steps = blocks.into_iter().flat_map(|block| &flow.blocks[block].steps);
    steps.filter(|step| matches!(step, Step::Barrier)).count()
}

#[cfg(test)]
mod tests {
    use gpurace_abi::flow::Staged;

    use super::*;
    use crate::barriers::tests::flow;
    use crate::barriers::{Level, relation};

    #[test]
    fn two_accesses_of_one_stage_and_one_barrier() {
        let is_wrong = |text: &str, stages: [u32; 2]| {
            let staged = [(0, stages[0]), (1, stages[1])].map(|(site, stage)| Staged { site, stage });
            let flow = Flow { staged: staged.to_vec(), ..flow(text) };
            let kernel = InKernel { flow: &flow, pair: [0, 1] };
            relation(&flow, kernel.pair, Level::Block).is_some_and(|relation| is_one_stage(kernel, relation))
        };
        let rounds = "u 1: L1\nu 2,3: L2\nu 1: L3 a0 L4 a1 B\nu: L5";
        assert!(is_wrong(rounds, [7, 7]));
        assert!(!is_wrong(rounds, [7, 8]), "two stages");
        // No barrier in the loop, two of them, or one between the accesses.
        assert!(!is_wrong(&rounds.replace(" B", ""), [7, 7]));
        assert!(!is_wrong(&rounds.replace(" B", " B L6 B"), [7, 7]));
        assert!(!is_wrong(&rounds.replace("L4", "B L4"), [7, 7]));
        // Some iterations have no barrier.
        let every_other = "u 1: L1\nu 2,5: L2\nu 3,4: L3 a0\nu 4: B\nu 1: L4 a1\nu: L5";
        assert!(!is_wrong(every_other, [7, 7]));
        // In the next iteration only, in one statement, or not in a loop.
        assert!(!is_wrong(&rounds.replace("L3 a0 L4 a1 B", "L3 a1 B L4 a0"), [7, 7]));
        assert!(!is_wrong(&rounds.replace("L4", ""), [7, 7]));
        assert!(!is_wrong("u: L3 a0 L4 a1 B", [7, 7]));
    }
}
