//! `libgpurace_rt.so`: CUDA's runtime and driver APIs on the CPU executor or on an NVIDIA GPU, and
//! what a checked program needs around them.
//!
//! The crate is built in layers. A file uses its own layer and those above it in this table, so
//! that there is no circle between layers:
//!
//! | layer | what it knows |
//! |---|---|
//! | [`host`] | the edge to C, CUDA's types and errors, messages, the call stack |
//! | [`order`] | streams, and which operation is ordered before which |
//! | [`backend`] | the seam: what a backend does, and the terms in which it is asked |
//! | [`program`] | what the program has registered and allocated |
//! | [`prove`] | which accesses of a launch need no check |
//! | [`session`] | what one run asks for, finds, counts and reports |
//! | [`backends`] | the two backends, and the choice between them |
//! | [`work`] | streams, events, launches, transfers, memory and graphs, as CUDA documents them |
//! | [`calls`] | the exported functions |
//!
//! All state is in one struct, [`work::Process`]. [`calls::start`] makes it once. The exported
//! functions pass it, or parts of it, down. Other state that lives as long as the process is here:
//!
//! | where | why it cannot be passed |
//! |---|---|
//! | [`calls::start`] | C passes nothing to the exported functions: a static holds the struct for them |
//! | [`session::finish`], [`session::watch`] | nothing can be passed to signal handlers |
//! | [`host::allocator`] | nothing can be passed to an allocator |
//! | thread-locals in [`host`], [`work::streams`], [`work::contexts`], [`calls`] | CUDA keeps these values for each thread |
//!
//! A thread that holds several locks has taken them in this order: the session's overlapped
//! operations, the order, the session's findings, the locks of [`program`] and of a backend. In
//! [`work`], captures come before graphs. Other locks are held alone.
//!
//! The exported symbols have the names of CUDA's APIs, hence the names in this crate.
#![allow(non_snake_case)]

pub mod backend;
pub mod backends;
pub mod calls;
pub mod host;
pub mod order;
pub mod program;
pub mod prove;
pub mod session;
pub mod work;
