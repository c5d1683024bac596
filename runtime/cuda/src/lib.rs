//! The NVIDIA backend: checked kernels on a GPU, through CUDA's driver API.
//!
//! | module | what it knows |
//! |---|---|
//! | [`driver`] | calls of the driver API and their errors; the only place that names `cudarc` |
//! | [`memory`] | allocations with shadow: a window of addresses, and its shadow at a constant relation |
//! | `ranges` | memory with shadow elsewhere, and the tables that kernels find it by |
//! | `cells` | what a launch's blocks are told, and what they leave |
//! | `slots` | shadow of shared memory, a slot per resident block |
//! | [`gpu`] | a context with its modules, launches, and what they found |
//! | `logs` | memory for the logs of launches |
//! | `ptx` | the version of PTX, and what drivers know of it |
//! | `uids` | which launch a number in a shadow word is of |
//! | `notes` | what the checker on the GPU counted, in words |
//!
//! Nothing here needs a driver to be loaded: `libcuda` is opened by
//! [`Gpu::open`], which says why there is no GPU where there is none.
//!
//! What does not live here: CUDA's runtime API, and what a report looks like.

mod cells;
pub mod driver;
pub mod gpu;
mod logs;
pub mod memory;
mod notes;
mod ptx;
mod ranges;
mod slots;
mod uids;

pub use driver::{Error, Unavailable};
pub use gpu::{Code, Gpu, Launch, Module, Touched, Transfer, Variant};
pub use logs::Log;
pub use notes::{LeftOut, notes};
