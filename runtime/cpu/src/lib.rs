//! The executor: runs device code that was lowered for the host.
//!
//! A module uses only modules above it in this list:
//!
//! | module | what it knows |
//! |---|---|
//! | [`fault`] | faults, which end a launch, and divergence |
//! | `rng` | the random numbers of a seeded schedule |
//! | [`image`] | opening a host image, its kernels and variables |
//! | `stack`, [`stack_frame`] | stacks of device threads, and digests of their contents |
//! | `fiber` | switching between the scheduler and device threads |
//! | [`signal`] | signals that device code raises |
//! | `barrier`, `collective`, `matrix` | when a barrier opens; what collectives and matrix products compute |
//! | [`printf`], [`texture`], `tensor` | device-side `printf`, texture fetches, copies of tensors |
//! | [`launch`] | one launch: its parameters, the state that its workers share, its result |
//! | `slot`, `block` | a resident block: threads, warps, memory, barriers |
//! | `idle` | the blocks that no launch uses |
//! | [`debugger`] | what a debugger reads of the resident blocks |
//! | `thread` | the device thread that runs |
//! | `checks` | what device threads and their block report to the checker |
//! | `cluster` | clusters of blocks, and their barrier |
//! | `sync` | a thread's arrivals at barriers and collectives, and its exit |
//! | `stack_entry`, `entry` | the entry points that lowered code calls |
//! | `schedule` | the turns of one block's threads |
//! | `share`, `waiting` | the blocks of each worker; waits that count as endless |
//! | `worker` | the blocks that are resident on a worker, and their turns |
//! | [`executor`] | the pool of workers |
//!
//! # How a launch runs
//!
//! Each worker, an OS thread, runs a share of the blocks. One of three engines runs the threads of
//! a block. The choice is made before the launch:
//!
//! - A *block entry*, code of the image, runs all threads, in one loop over the threads for each
//!   segment. A kernel that has one uses it, unless the schedule has a seed or the launch has
//!   clusters.
//! - A *loop over threads* calls the kernel's entry once for each thread, on one stack. It runs the
//!   other kernels that never wait.
//! - *Fibers* run everything else. Each thread has a stack of its own and runs until it must wait;
//!   the last thread to arrive at a barrier or a collective makes the others ready.
//!
//! Fibers run any control flow and any seeded schedule, so they are the reference. Block entries
//! exist for speed alone: they need no switch between threads, and LLVM vectorises bare ones.
//! Race-free code computes the same bits with every engine. In a racy program the engines may
//! differ in the order of a race's two accesses.
//!
//! Bare block entries take chunks of consecutive blocks from a counter that all workers share. With
//! the other engines, and with checks, a worker's blocks do not depend on time.
//!
//! # Memory model
//!
//! The threads of a block run on one OS thread: each sees the accesses of the others in the order
//! of the schedule. Entry points are opaque calls: lowered code keeps no value of memory in a
//! register over them. Between blocks on different workers the host's own order applies, which is
//! stronger than PTX's; atomics are the host's.
//!
//! Not here: the CUDA API, device memory, what a race is.

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
pub mod debugger;
mod entry;
pub mod executor;
pub mod fault;
mod fiber;
mod idle;
pub mod image;
pub mod launch;
mod matrix;
pub mod printf;
mod rng;
mod schedule;
mod share;
mod shared;
pub mod signal;
mod slot;
mod stack;
mod stack_entry;
pub mod stack_frame;
mod sync;
mod tensor;
pub mod texture;
mod thread;
mod waiting;
mod worker;

pub use executor::{Config, Executor, cores};
pub use fault::{Divergence, DivergenceReason, Fault, FaultKind, WaitKind, Waiting};
pub use image::{BlockEntry, Image, ImageError, Kernel};
pub use launch::{CheckedBlocks, KernelLaunch, LaunchChecks, LaunchReport, MAX_SHARED_BYTES};
