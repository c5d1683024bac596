//! The solver's verdict for each access site.

use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::expr::Exprs;
use crate::launch::Launch;
use crate::protocol::{Op, SiteId};

/// The solver's answer for one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// The protocol's expressions, followed by the expressions of conditions. The protocol's ids
    /// stay valid.
    pub exprs: Exprs,
    /// One entry per site of the protocol, ordered by site. A site without an entry is not proved.
    pub sites: Vec<SiteVerdict>,
}

/// The answer for one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteVerdict {
    /// The site.
    pub site: SiteId,
    /// The verdict.
    pub verdict: Verdict,
    /// One line that explains the verdict.
    pub why: String,
    /// The other site of the explanation, if any.
    pub with: Option<SiteId>,
}

/// The verdict for a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// The site takes part in no race in any launch.
    Proved,
    /// The site takes part in no race in a launch for which all of these conditions hold.
    ProvedIf(Vec<Condition>),
    /// The site races even if all inferred preconditions hold.
    Racy(Box<Witness>),
    /// There is no proof and no race, for this reason. The site stays checked.
    Unknown(String),
}

/// A race of two threads of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The launch. Its pointers point to objects that share no byte.
    pub launch: Launch,
    /// The two accesses, the verdict's own site first.
    pub accesses: [WitnessAccess; 2],
    /// The name of the object that both accesses touch.
    pub object: String,
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessAccess {
    /// The site.
    pub site: SiteId,
    /// The operation.
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
