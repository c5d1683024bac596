//! The checks: which accesses get one, which of them stand for others, and their insertion.

pub mod annotations;
pub mod covered;
pub mod flow;
pub mod grid_sync;
pub mod instrument;
pub mod kept;
pub mod one_thread;
pub mod sites;
pub mod skipped;
pub mod stages;
pub mod sync;
pub mod updates;
