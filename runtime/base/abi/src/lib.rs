//! The definitions that all parts of gpurace share:
//!
//! | module | what it defines |
//! |---|---|
//! | [`ablation`] | the mechanisms that only buy speed, and which are on |
//! | [`batch`] | accesses that are checked together, and the block frame that holds them |
//! | [`context`] | [`context::ThreadCtx`], the per-thread record that lowered device code reads its special registers from |
//! | `diagnostic` | warnings and remarks on their way from the pass to the driver |
//! | `deciding` | the memory whose contents decide which accesses a launch makes |
//! | [`device`] | the memory that the host and the checker on a GPU share |
//! | [`entry`] | the entry points that instrumented and lowered code calls: names, parameters, results |
//! | `flow` | the control flow of a kernel, as far as the order of its accesses depends on it |
//! | [`image`] | the container in the fat-binary slot of an object, and the table that a lowered device image exports |
//! | [`launch_shape`] | how many blocks and threads a launch has, and how they are grouped |
//! | [`library`] | operations of libraries beside the runtime |
//! | [`matrix`] | matrix products of a warp: element types, layouts, and their encoding as one word |
//! | [`meta`] | the serialised description of a device module: access sites, kernels, variables |
//! | `part` | the external names of separately compiled device code |
//! | `plugin` | the configuration of the compiler plugin, which the driver writes |
//! | [`scope`] | CUDA's scopes and memory orders, as numbers that are passed to entry points |
//! | `symbol` | demangling |
//! | `tensor_map` | tensor maps, and which memory a copy through one accesses |
//! | `texture` | textures and surfaces, and which memory a fetch accesses |
//! | [`warp`] | warps whose lanes may part, in code that runs whole blocks |
//!
//! Not here: anything that allocates shadow memory, runs
//! threads or formats a report.
#![cfg_attr(not(feature = "meta"), no_std)]

pub mod ablation;
pub mod batch;
pub mod context;
#[cfg(feature = "meta")]
pub mod deciding;
pub mod device;
#[cfg(feature = "meta")]
pub mod diagnostic;
pub mod entry;
#[cfg(feature = "meta")]
pub mod flow;
#[cfg(feature = "meta")]
pub mod gpu_code;
pub mod image;
pub mod launch_shape;
pub mod library;
pub mod matrix;
#[cfg(feature = "meta")]
pub mod meta;
#[cfg(feature = "meta")]
pub mod part;
#[cfg(feature = "meta")]
pub mod plugin;
pub mod scope;
#[cfg(feature = "meta")]
pub mod symbol;
#[cfg(feature = "meta")]
pub mod tensor_map;
#[cfg(feature = "meta")]
pub mod texture;
pub mod warp;

pub use launch_shape::LaunchShape;
