//! `libgpurace_rt.so`: the CUDA Runtime API on the CPU executor or on an NVIDIA GPU, and
//! what a checked program needs around it.
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
//! The exported symbols have the names of the CUDA Runtime API, hence the names in this crate.
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
