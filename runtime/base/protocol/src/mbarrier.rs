//! Mbarriers whose phases threads know by their parity, and the asynchronous copies that they count.

use serde::{Deserialize, Serialize};

use crate::expr::ExprId;
use crate::protocol::{ObjectId, SiteId};

/// An arrival at an mbarrier in shared memory, or a wait for a phase of it. A phase ends when so many threads have
/// arrived, and its copies are done. Nothing else accesses the array of mbarriers, each is initialised once, and a
/// barrier of the block lies between that and all arrivals and waits.
///
/// In memory that holds other data too, as a struct of tiles and mbarriers, this is so only for bytes that nothing
/// accesses but what [`Protocol::mbarrier_uses`](crate::protocol::Protocol::mbarrier_uses) lists, with initialisations
/// that all have this count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Phase {
    /// The array of mbarriers, or the memory that holds it.
    pub of: ObjectId,
    /// The mbarrier: its first byte in the array, 64 bits.
    pub at: ExprId,
    /// The arrivals that end a phase, 32 bits.
    pub count: ExprId,
    /// For a wait, the parity of the phase whose end it waits for, 1 bit: it goes on when the mbarrier is in a phase of
    /// the other parity. The first phase has the number 0. `None` for an arrival of one thread, which does not wait.
    pub parity: Option<ExprId>,
}

/// An asynchronous copy that is told to an mbarrier of [`Sync::Phase`](crate::protocol::Sync::Phase). In the same
/// iterations of the loops around the arrival, its thread arrives there once, and the phase to which this arrival
/// belongs ends only when the copy is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The copy.
    pub site: SiteId,
    /// The array of mbarriers.
    pub of: ObjectId,
    /// The mbarrier in it, as [`Phase::at`].
    pub at: ExprId,
}

/// An access that is part of an arrival, of a wait or of an initialisation of an mbarrier. The memory of the mbarrier
/// holds other data too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MbarrierUse {
    /// The access.
    pub site: SiteId,
    /// For an initialisation, the arrivals that end a phase.
    pub count: Option<u32>,
}
