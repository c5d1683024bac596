//! `libgpurace_rand.so`: cuRAND's host API for programs that run on the host.
//!
//! A library of its own: only programs that link cuRAND load it, and on a GPU they link NVIDIA's.
//!
//! | module | what it knows |
//! |---|---|
//! | [`status`] | `curandStatus_t` |
//! | [`sobol`] | direction vectors of quasirandom sequences |
//! | [`sequence`] | the sequences of random bits, and the place in them |
//! | [`distribution`] | numbers of a distribution from random bits |
//! | [`generator`] | `curandGenerator_t`: its kind, settings and sequence |
//! | [`histogram`] | `curandDiscreteDistribution_t`, which kernels read |
//! | [`exports`] | the exported functions |
//!
//! The runtime orders, checks and runs what writes the device's memory (`gpurace_library`). The names are cuRAND's.
#![allow(non_snake_case)]

mod distribution;
mod exports;
mod generator;
mod histogram;
mod sequence;
mod sobol;
mod status;
