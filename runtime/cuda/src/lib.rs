//! The NVIDIA backend: checked kernels on a GPU, through CUDA's driver API.
//!
//! | module | what it knows |
//! |---|---|
//! | [`driver`] | the functions of the driver API and their errors. No other module names `cudarc` |
//! | [`memory`] | allocations with shadow |
//! | `cells` | launch cells |
//! | `ranges` | memory outside the window of allocations, with shadow of its own |
//! | `slots` | slots: shadow of shared memory for each resident block |
//! | `ptx` | the version of PTX, and the newest one that a driver knows |
//! | `notes` | the checker's counters, in words |
//! | [`gpu`] | a context with its modules and launches, and the races that they found |
//!
//! The library links without a driver: [`Gpu::open`] opens `libcuda`, or returns the reason why
//! there is no GPU.
//!
//! Each launch gets uids for its blocks. A shadow word names the uid of the block that made its
//! record. Records of blocks of other launches are settled: pairs of two launches, or of a launch
//! and a copy, are not looked for.
//!
//! The races that were found lie in memory of the host, so they outlive a fault of the kernel.
//!
//! Not here: CUDA's runtime API, and the form of a report.

mod cells;
pub mod driver;
pub mod gpu;
pub mod memory;
mod notes;
mod ptx;
mod ranges;
mod slots;

pub use driver::{Error, Unavailable};
pub use gpu::{Code, Gpu, KernelLaunch, Module, Variant};
pub use notes::notes;
