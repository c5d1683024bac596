//! `libgpurace_fft.so`: cuFFT's host API for programs that run on the host.
//!
//! A library of its own: only programs that link cuFFT load it, and on a GPU they link NVIDIA's.
//!
//! | module | what it knows |
//! |---|---|
//! | [`status`] | `cufftResult` |
//! | [`layout`] | where the elements of a batch of arrays are |
//! | [`touched`] | which bytes they are, as rows that do not overlap |
//! | [`shape`] | `cufftType`, the sizes of a transform and the layouts of both its sides |
//! | [`transform`] | the transforms themselves |
//! | [`plan`] | `cufftHandle`: its settings, its transform and its work area |
//! | [`exports`] | the exported functions |
//!
//! The runtime orders, checks and runs the transforms (`gpurace_library`). The names are cuFFT's.
#![allow(non_snake_case)]

mod exports;
mod layout;
mod plan;
mod shape;
mod status;
mod touched;
mod transform;
