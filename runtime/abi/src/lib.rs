//! What every other part of gpurace agrees on, each thing defined once:
//!
//! | module | what it defines |
//! |---|---|
//! | [`context`] | [`context::ThreadCtx`], the per-thread record that lowered device code reads its special registers from |
//! | `diagnostic` | warnings and remarks on their way from the pass to the driver |
//! | [`device`] | what the host and the checker on a GPU have in common |
//! | [`entry`] | the entry points that instrumented and lowered code calls: names, parameters, results |
//! | [`event`] | the log of what the threads of a launch on a GPU did |
//! | [`image`] | the container in the fat-binary slot of an object, and the table that a lowered device image exports |
//! | [`matrix`] | products of matrices that a warp holds together: types, layouts, the word that says which |
//! | [`meta`] | the serialised description of a device module: access sites, kernels, variables |
//! | `part` | the names of separately compiled device code |
//! | `symbol` | names as people write them |
//! | [`scope`] | CUDA's scopes and memory orders, as numbers that travel through entry points |
//!
//! What does *not* live here: anything that allocates shadow memory, runs
//! threads or formats a report.
#![cfg_attr(not(feature = "meta"), no_std)]

pub mod context;
pub mod device;
#[cfg(feature = "meta")]
pub mod diagnostic;
pub mod entry;
pub mod event;
#[cfg(feature = "meta")]
pub mod gpu_code;
pub mod image;
pub mod matrix;
#[cfg(feature = "meta")]
pub mod meta;
#[cfg(feature = "meta")]
pub mod part;
pub mod scope;
#[cfg(feature = "meta")]
pub mod symbol;
