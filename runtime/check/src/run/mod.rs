//! What runs: the checker of the process, launches, blocks, the host's accesses, transfers, and the
//! replay of event logs from a GPU.

pub(crate) mod benign;
pub mod block;
pub mod checker;
pub(crate) mod covered;
pub mod host;
pub mod launch;
pub(crate) mod races;
pub mod replay;
pub(crate) mod sighting;
pub mod transfer;
