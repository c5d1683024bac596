//! `libgpurace_blas.so`: cuBLAS for programs that run on the host.
//!
//! A library of its own: only programs that link cuBLAS load it, and on a GPU they link NVIDIA's.
//!
//! | module | what it knows |
//! |---|---|
//! | [`scalar`] | the arithmetic of real and complex numbers |
//! | [`status`] | `cublasStatus_t`, and cuBLAS's enumerations |
//! | [`stored`] | how matrices lie in memory: whole, banded, packed, one triangle |
//! | [`touched`] | which bytes a call reads and writes |
//! | [`handle`] | `cublasHandle_t` and its settings |
//! | [`call`] | a call as an operation on a stream |
//! | [`numeric`] | the algorithms |
//! | [`exports`] | the exported functions |
//!
//! The runtime orders, checks and runs the operations (`gpurace_abi::library`). The names are cuBLAS's.
#![allow(non_snake_case)]

mod call;
mod exports;
mod handle;
mod numeric;
mod scalar;
mod status;
mod stored;
mod touched;
