//! The NVIDIA backend: checked kernels on a GPU, through CUDA's driver API.
//!
//! | module | what it knows |
//! |---|---|
//! | [`driver`] | the functions of the driver API and their errors. No other module names `cudarc` |
//! | [`memory`] | allocations with shadow |
//! | `cells` | launch cells |
//! | `ranges` | memory outside the window of allocations, with shadow of its own |
//! | `slots` | slots: shadow of shared memory for each resident block |
//! | `event_logs` | memory for the event logs of launches |
//! | `ptx` | the version of PTX, and the newest one that a driver knows |
//! | `uids` | the launch and the block of each uid in a shadow word |
//! | `notes` | the checker's counters, in words |
//! | [`gpu`] | a context with its modules and launches, and the races that they found |
//!
//! The library links without a driver: [`Gpu::open`] opens `libcuda`, or returns the reason why
//! there is no GPU.
//!
//! Each launch gets uids for its blocks, and the uids of earlier launches and copies that nothing
//! orders before it. Blocks with other, lower uids are settled. A block with a higher uid has run
//! beside the launch. A copy or fill that something may overlap is a launch of one block: on its
//! stream, a kernel of the device runtime makes the records of its bytes first.
//!
//! The races that were found lie in memory of the host, so they outlive a fault of the kernel.
//!
//! Not here: CUDA's runtime API, and the form of a report.

mod cells;
pub mod driver;
mod event_logs;
pub mod gpu;
pub mod memory;
mod notes;
mod ptx;
mod ranges;
mod slots;
mod uids;

pub use driver::{Error, Unavailable};
pub use event_logs::EventLog;
pub use gpu::{Code, Gpu, KernelLaunch, Module, Touched, Transfer, Variant};
pub use notes::{LeftOut, notes};
