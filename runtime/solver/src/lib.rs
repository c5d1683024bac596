//! `libgpurace_solver.so`: cuSOLVER's dense part for programs that run on the host.
//!
//! A library of its own: only programs that link cuSOLVER load it, and on a GPU they link NVIDIA's.
//!
//! | module | what it knows |
//! |---|---|
//! | [`status`] | `cusolverStatus_t`, and what parameters mean |
//! | [`registry`] | handles, and which of them exist |
//! | [`types`] | the types of numbers, and the arithmetic |
//! | [`place`] | matrices in the device's memory, and which bytes they are |
//! | [`call`] | a call as an operation on a stream |
//! | [`numeric`] | the algorithms |
//! | [`exports`] | the exported functions |
//!
//! The runtime orders, checks and runs the operations (`gpurace_library`). The names are cuSOLVER's.
#![allow(non_snake_case)]

mod call;
mod exports;
mod numeric;
mod place;
mod registry;
mod status;
#[cfg(test)]
mod tests;
mod types;
