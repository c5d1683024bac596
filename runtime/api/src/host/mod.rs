//! What all layers need of the host program and of CUDA.
//!
//! | module | what it knows |
//! |---|---|
//! | [`edge`] | the edge to C: panics, pointers |
//! | [`errors`] | `cudaError_t`: codes, names, texts, last and sticky error |
//! | [`results`] | `CUresult`: the codes of the driver API, and which one an error has there
//! | [`types`], [`device_properties`] | the structures of `driver_types.h` |
//! | [`driver_types`], [`driver_textures`] | the structures of `cuda.h` |
//! | [`limits`] | the device's limits that are the same on every backend |
//! | [`stack`] | which calls of the host program led here |
//! | [`python`] | which Python frames led here |
//! | [`allocator`] | this library's memory, also when `malloc` was interrupted |
//! | [`child`] | a forked child that computes something |
//! | [`signals`] | which signals end the program, and their actions |
//! | [`status_line`] | a line on the terminal that changes in place |
//! | [`message`], [`log`], [`notes`] | where text goes |

pub mod allocator;
pub mod child;
pub mod device_properties;
pub mod driver_textures;
pub mod driver_types;
pub mod edge;
pub mod errors;
pub mod limits;
pub mod log;
pub mod message;
pub mod notes;
pub mod python;
pub mod results;
pub mod signals;
pub mod stack;
pub mod status_line;
pub mod types;
