//! The cause of a race: the order that the program lacks. Races with one cause on one object are one finding.

use gpurace_abi::flow::Flow;

use crate::barriers::{Pair, Relation};
use crate::diagnosis::Evidence;
use crate::hint::SideFacts;
use crate::schema::{CauseKind, Effect, Race};

/// What is known of the kernel of a race in which both sides belong to one launch.
#[derive(Clone, Copy, Debug)]
pub struct InKernel<'a> {
    /// The kernel's control flow.
    pub flow: &'a Flow,
    /// The sites of the race.
    pub pair: Pair,
}

/// The cause of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What is wrong.
    pub kind: CauseKind,
    /// The same in words.
    pub words: String,
    /// Advice on the race.
    pub hint: Option<String>,
    /// What is missing, in a sentence without a full stop.
    pub why: String,
    /// Equal for races of one finding.
    pub fingerprint: String,
    /// False if the kernel's control flow was not looked at, because the run has too many races.
    pub is_traced: bool,
}

/// Returns the cause of a race. `facts` are in the order of [`Race::accesses`].
pub fn of(race: &Race, facts: [SideFacts; 2], kernel: Option<InKernel<'_>>) -> Cause {
    let evidence = Evidence::of(race, facts, kernel);
    let diagnosis = evidence.diagnosis();
    Cause {
        kind: diagnosis.kind(),
        words: evidence.words(diagnosis),
        hint: evidence.hint(diagnosis),
        why: evidence.why(diagnosis),
        fingerprint: evidence.fingerprint(diagnosis),
        is_traced: true,
    }
}

/// In which order the sides of a race come in the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The later one comes first.
    pub swaps: bool,
    /// How one side follows the other.
    pub ways: Ways,
}

/// How one side of a race follows the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ways {
    /// Nothing is known of it, or it does not.
    #[default]
    Unknown,
    /// In one way.
    One,
    /// They are one statement, and in different iterations a barrier parts them.
    Within,
    /// In an iteration of a loop; the first follows in the next iteration.
    Both,
    /// They are one statement of a loop.
    Statement,
}

impl Order {
    pub(crate) fn of(race: &Race, relation: Option<Relation>) -> Self {
        match relation {
            // What one iteration writes, the next one reads.
            Some(Relation { is_statement: true, over_back_edge: Some(_), .. }) => {
                Self { swaps: race.kind.earlier() == Effect::Read, ways: Ways::Statement }
            }
            Some(Relation { is_both_ways: true, is_reversed: swaps, .. }) => Self { swaps, ways: Ways::Both },
            Some(relation) => {
                let swaps = relation.is_reversed || relation.over_back_edge == Some(true);
                let ways = match relation {
                    Relation { is_statement: true, .. } => Ways::Within,
                    Relation { is_sequence: true, .. } => Ways::One,
                    _ => Ways::Unknown,
                };
                Self { swaps, ways }
            }
            None => Self::default(),
        }
    }
}
