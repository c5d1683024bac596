//! `libgpurace_rt.so`: the CUDA Runtime API on the CPU executor or on an NVIDIA GPU, and
//! what a checked program needs around it.
//!
//! | module | what it knows |
//! |---|---|
//! | [`edge`] | how an exported function is written: errors, panics |
//! | [`errors`] | `cudaError_t`: codes, names, texts, last and sticky error |
//! | [`types`] | the structures of `driver_types.h` |
//! | [`properties`], [`device`] | the one device and its limits |
//! | [`memory`] | allocations, copies, fills, pools, arrays |
//! | [`stream`], [`event`], [`order`] | streams and events; which work is ordered before which |
//! | [`registration`], [`modules`] | registered device code: kernels and variables |
//! | [`texture`] | texture and surface objects |
//! | [`function`] | attributes of kernels, occupancy |
//! | [`graph`] | graphs: their nodes, capture, launches |
//! | [`launch`] | launch configurations, limits, arguments |
//! | [`prove`] | what needs no check in a launch |
//! | [`beside`] | launches and copies that others may run beside, and which of them ran without checks |
//! | [`backend`] | where kernels run: on the executor, or on a GPU |
//! | [`session`] | options, findings and counts of this process |
//! | [`finish`] | the end of the process: report, exit status, signals |
//! | [`suppress`] | findings that the user wants left out |
//! | [`resolve`] | from addresses and site numbers to names and lines |
//! | [`transfer`] | copies and fills as sides of races |
//! | [`annotate`] | what host code says through `gpurace/gpurace.h` |
//! | [`watch`] | host accesses to managed memory that no wait orders |
//! | [`call_site`] | source lines of the host program |
//! | [`log`], [`message`] | where text goes |
//! | [`refused`] | what is not supported |
//!
//! The exported symbols have the names of the CUDA Runtime API, hence the
//! names in this crate.
#![allow(non_snake_case)]

pub mod annotate;
pub mod backend;
pub mod beside;
pub mod call_site;
pub mod device;
pub mod edge;
pub mod errors;
pub mod event;
pub mod finish;
pub mod function;
pub mod graph;
pub mod launch;
pub mod log;
pub mod memory;
pub mod message;
pub mod modules;
pub mod order;
pub mod properties;
pub mod prove;
pub mod refused;
pub mod registration;
pub mod resolve;
pub mod session;
pub mod stream;
pub mod suppress;
pub mod texture;
pub mod transfer;
pub mod types;
pub mod watch;
