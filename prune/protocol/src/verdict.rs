//! What the solver says of each access site.

use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::expr::Exprs;
use crate::launch::Launch;
use crate::protocol::{Op, SiteId};

/// The solver's answer for one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// The protocol's expressions and those that conditions added behind them:
    /// ids of the protocol stay valid.
    pub exprs: Exprs,
    /// One entry per site of the protocol, ordered by site. A site that is not
    /// here is not proved.
    pub sites: Vec<SiteVerdict>,
}

/// The answer for one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteVerdict {
    /// Which.
    pub site: SiteId,
    /// What became of it.
    pub verdict: Verdict,
    /// One line on how it was proved, or why not.
    pub why: String,
    /// The other site that `why` is about, where there is one.
    pub with: Option<SiteId>,
}

/// What the solver says of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// Takes part in no race in any launch.
    Proved,
    /// Takes part in no race in a launch where all of these hold.
    ProvedIf(Vec<Condition>),
    /// Races even where every precondition that could be inferred holds.
    Racy(Box<Witness>),
    /// Nothing is known: it stays checked.
    Unknown(String),
}

/// A race, reached by two threads of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The launch; its pointers are addresses of objects that share no byte.
    pub launch: Launch,
    /// The two accesses, the verdict's own site first.
    pub accesses: [WitnessAccess; 2],
    /// Name of the object that both touch.
    pub object: String,
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessAccess {
    /// Which site.
    pub site: SiteId,
    /// What it does.
    pub op: Op,
    /// `blockIdx`.
    pub ctaid: [u32; 3],
    /// `threadIdx`.
    pub tid: [u32; 3],
    /// First byte, from the object's base.
    pub offset: i64,
    /// Number of bytes.
    pub size: u64,
}
