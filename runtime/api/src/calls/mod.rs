//! The functions that the library exports: one file for each part of the CUDA Runtime API, and a folder
//! for the driver API.
//!
//! | module | what it exports |
//! |---|---|
//! | `export` | nothing: how an exported function is written |
//! | [`start`] | the start of the library |
//! | [`registration`] | what clang's constructors call before `main` |
//! | [`ends`] | functions of the C library that end the program |
//! | [`annotate`] | the host's half of `gpurace/gpurace.h` |
//! | [`findings`] | `gpurace/findings.h`: what was found so far |
//! | [`changed`] | functions whose parameters CUDA 13 changed |
//! | [`libraries`] | what libraries beside the runtime call |
//! | [`nvml`] | NVML: what programs ask about the device |
//! | [`nvtx`] | NVTX: its pushed ranges are named regions |
//! | [`refused`] | functions that are not supported |
//! | [`driver`] | the CUDA driver API |
//! | the others | the part of the CUDA Runtime API that they are named after |

pub mod annotate;
pub mod arrays;
pub mod capture;
pub mod changed;
pub mod devices;
pub mod driver;
pub mod ends;
pub mod events;
pub(crate) mod export;
pub mod findings;
pub mod functions;
pub mod graph_execs;
pub mod graphs;
pub mod launches;
pub mod libraries;
pub mod memory;
pub mod nvml;
pub mod nvtx;
pub mod pools;
pub mod refused;
pub mod registration;
pub mod start;
pub mod streams;
pub mod textures;
pub mod transfers;
