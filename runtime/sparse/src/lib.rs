//! `libgpurace_sparse.so`: cuSPARSE for programs that run on the host.
//!
//! A library of its own: only programs that link cuSPARSE load it, and on a GPU they link NVIDIA's.
//!
//! | module | what it knows |
//! |---|---|
//! | [`status`] | `cusparseStatus_t` |
//! | [`registry`] | handles and descriptors, and which of them exist |
//! | [`types`] | the types of values and indices, and how they lie in memory |
//! | [`dense`], [`sparse`] | dense and sparse vectors and matrices, and which bytes they are |
//! | [`call`] | a call as an operation on a stream |
//! | [`numeric`] | the algorithms |
//! | [`exports`] | the exported functions |
//!
//! The runtime orders, checks and runs the operations (`gpurace_library`). The names are cuSPARSE's.
#![allow(non_snake_case)]

mod call;
mod dense;
mod exports;
mod numeric;
mod registry;
mod sparse;
mod status;
#[cfg(test)]
mod tests;
mod types;
