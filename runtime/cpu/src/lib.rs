//! The SIMT executor: runs device code that was lowered for the host.
//!
//! | module | what it knows |
//! |---|---|
//! | [`image`] | opening a host image, its kernels and variables |
//! | [`executor`] | the pool of workers, and how a launch is spread over it |
//! | [`launch`] | one launch: what it is asked, what its workers share |
//! | [`fault`] | what ends a launch, and divergence |
//! | `worker` | which blocks are resident on a worker, and when each has its turn |
//! | `schedule` | the turns of one block's threads |
//! | `block` | the state of a resident block and of its threads |
//! | `sync` | arrivals at barriers and collectives |
//! | `barrier`, `collective` | when barriers open, what collectives compute |
//! | `entry` | the entry points that lowered code calls |
//! | `printf` | device-side `printf` |
//! | `checks` | what a running block tells the checker |
//! | `frame` | what a thread's stack tells: whether it gets on, how it was called |
//! | `fiber`, `stack` | switching between threads, and their stacks |
//! | `signal` | faults of device code |
//!
//! # How a launch runs
//!
//! Blocks are shared out to workers, one OS thread each. Every thread of a
//! block is a coroutine with its own stack; it runs until it must wait, and
//! the last thread to come to a barrier or a collective makes the others
//! ready. Kernels that can never wait run as a loop over threads instead, and
//! where the image has code for whole blocks, that runs unless accesses are
//! checked or the schedule has a seed.
//!
//! # Memory model
//!
//! Threads of a block run on one OS thread, so each sees the others' accesses
//! in the order of the schedule. Entry points are opaque calls: lowered code
//! keeps no value of memory in a register over them. Between blocks on
//! different workers the host's own ordering applies, which is stronger than
//! PTX's; atomics are the host's.
//!
//! What does not live here: the CUDA API, device memory, what a race is.

#![allow(
    clippy::needless_borrow,
    reason = "rustc's dangerous_implicit_autorefs wants them where a raw pointer is dereferenced"
)]
#![allow(clippy::result_large_err, reason = "a fault ends a launch: it is made and moved once")]

mod barrier;
mod block;
mod checks;
mod cluster;
mod collective;
mod entry;
pub mod executor;
pub mod fault;
mod fiber;
mod frame;
pub mod image;
pub mod launch;
mod matrix;
mod printf;
mod rng;
mod schedule;
pub mod signal;
mod stack;
mod sync;
pub mod texture;
mod worker;

pub use checks::LaunchChecks;
pub use executor::{Config, Executor};
pub use fault::{Divergence, DivergenceReason, Fault, FaultKind, WaitKind, Waiting};
pub use image::{BlockEntry, Image, ImageError, Kernel};
pub use launch::{CheckedBlocks, Launch, LaunchReport, MAX_SHARED_BYTES, clusters};
