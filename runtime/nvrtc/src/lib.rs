//! `libgpurace_nvrtc.so`: NVRTC, the compiler of CUDA programs at run time, for programs that run on the host.
//!
//! | module | what it knows |
//! |---|---|
//! | [`status`] | `nvrtcResult` |
//! | [`options`] | which of NVRTC's options gclang gets, and in which words |
//! | [`names`] | the mangled names of name expressions |
//! | [`compile`] | how gclang is run, and what it makes |
//! | [`program`] | a program: its source, and what became of it |
//! | [`exports`] | the exported functions |
//!
//! The compiler is gclang, which lies beside this library. What stands for PTX and for a cubin is a container
//! (`gpurace_abi::image`), which the driver API loads. It carries the source, so that reports show it. The library
//! needs nothing of the runtime: a program may open it first. The names are NVRTC's.
#![allow(non_snake_case)]

mod compile;
mod exports;
mod names;
mod options;
mod program;
mod status;
