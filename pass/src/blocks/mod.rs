//! Kernels that run a whole block at a time: a kernel is cut at its barriers and loops ([`segments`], [`cut_loops`]), a
//! block entry runs all threads from one barrier to the next ([`entries`]), and the checks of a
//! block's threads are handed over in batches ([`batch`], [`rows`], [`affine_rows`],
//! [`gathered`]).

mod affine_rows;
mod batch;
mod cut_loops;
pub mod entries;
mod gathered;
mod number;
pub mod rows;
pub mod segments;
