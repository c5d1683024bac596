//! Memory: what is allocated and where, copies, fills, pools, arrays.
//!
//! | module | what it knows |
//! |---|---|
//! | [`map`] | every live allocation, by address |
//! | [`arena`] | where allocations come from |
//! | [`alloc`] | the functions that allocate and free |
//! | [`copy`] | the functions that copy and fill |
//! | [`array`] | CUDA arrays: opaque, row by row |
//! | [`pool`] | stream-ordered allocation and its pools |
//! | [`later`] | frees in a stream's order |
//!
//! Addresses are numbers here: what they mean is the backend's. On the executor a device
//! pointer is a host pointer, and all of the machine's memory is the device's.

pub mod alloc;
pub mod arena;
pub mod array;
pub mod copy;
pub mod later;
pub mod map;
pub mod pool;

pub use map::{Allocation, Kind, find};

/// Frees what `cudaDeviceReset` frees: all that CUDA allocated.
pub fn release_device_memory() {
    array::forget_all();
    map::release_all();
}
