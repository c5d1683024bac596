//! The checker on an NVIDIA GPU: the functions that checked kernels call.
//!
//! The code is C++ (`cpp/`), since nothing else of LLVM 19 makes bitcode for
//! NVPTX here: Rust's own compiler carries a newer LLVM, whose bitcode version 19
//! cannot read. Its state machine is the table `cpp/transitions.inc`, which a test
//! generates from `gpurace-check`'s; and it also compiles for the host, where tests
//! compare what it decides with the checker.
//!
//! Only for checked GPU modules: the executor runs `gpurace-check` itself.

/// The device runtime as LLVM 19 bitcode for `nvptx64-nvidia-cuda`.
pub const BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/device.bc"));

/// The same for architectures with clusters of blocks, `sm_90` and later.
pub const BITCODE_OF_CLUSTERS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/device_of_clusters.bc"));
