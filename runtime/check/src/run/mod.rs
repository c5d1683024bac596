//! What runs: the checker of the process, launches, blocks, the host's accesses, transfers.

pub(crate) mod benign;
pub mod block;
pub mod checker;
pub(crate) mod covered;
pub mod host;
pub mod launch;
pub(crate) mod races;
pub(crate) mod sighting;
pub mod transfer;
