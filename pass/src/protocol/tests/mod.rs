//! Protocols against what the compiled kernel does.
//!
//! The oracle is the program itself: [`machine`] compiles a kernel, inserts
//! checks, runs each thread of a small launch on the host, and records every
//! access with the barriers passed before it. The protocol's own meaning,
//! [`gpurace_protocol::run`], must say the same.

mod aggregates;
mod calls;
mod contents;
mod control;
mod grid;
mod machine;
mod opaque;
mod pointers;
mod random;
mod repeat;
mod uniform;
mod values;
