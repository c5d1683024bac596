//! What the libraries beside the runtime share (`libgpurace_blas.so` and its kin).
//!
//! | module | what it knows |
//! |---|---|
//! | [`operation`] | a call as an operation on a stream |
//! | [`touched`] | which bytes an operation reads and writes |
//! | [`registry`] | which handles exist |
//! | [`export`] | how an exported function is written |
//! | [`matrix`] | how libraries of matrices read their parameters |
//!
//! The runtime orders, checks and runs the operations (`gpurace_abi::library`).

pub mod export;
pub mod matrix;
pub mod operation;
pub mod registry;
pub mod touched;
