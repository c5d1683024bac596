//! Protocols compared with compiled kernels.
//!
//! The oracle is the program itself: [`machine`] compiles a kernel, inserts checks, runs each thread of a
//! small launch on the host, and records every access with the barriers passed before it. A run of the
//! protocol ([`gpurace_protocol::run`]) must give the same accesses.

mod aggregates;
mod calls;
mod contents;
mod control;
mod copies;
mod grid;
mod kept;
mod lanes;
mod machine;
mod opaque;
mod pointers;
mod random;
mod repeat;
mod tracked;
mod uniform;
mod values;

use machine::Argument;

const ONE: [u32; 3] = [1, 1, 1];

/// A pointer to this many words.
fn words(count: usize) -> Argument {
    Argument::Words((0..count as i32).collect())
}
