//! Limits of the device that the runtime library checks itself, on every backend. They come from the
//! CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".

use std::ffi::c_int;

/// Shared memory that a block may have by default, static and dynamic, bytes.
pub const SHARED_PER_BLOCK: usize = 48 << 10;
/// Most shared memory of a block whose kernel allows it, bytes. Compute capability 8.0 has 163 KiB,
/// but programs for 9.0 need its 227 KiB.
pub const SHARED_PER_BLOCK_OPTIN: usize = 227 << 10;
/// Shared memory of a multiprocessor, bytes.
pub const SHARED_PER_MULTIPROCESSOR: usize = 228 << 10;
/// Shared memory that the system adds to each block, bytes.
pub const SHARED_RESERVED_PER_BLOCK: usize = 1 << 10;
/// Most threads of one dimension of a block.
pub const MAX_BLOCK_DIM: [u32; 3] = [1024, 1024, 64];
/// Most blocks of one dimension of a grid.
pub const MAX_GRID_DIM: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Most threads resident on a multiprocessor.
pub const MAX_THREADS_PER_MULTIPROCESSOR: u32 = 2048;
/// Most blocks resident on a multiprocessor.
pub const MAX_BLOCKS_PER_MULTIPROCESSOR: u32 = 32;
/// 32-bit registers of a block and of a multiprocessor.
pub const REGISTERS: c_int = 65536;
/// Constant memory, bytes.
pub const CONSTANT_MEMORY: usize = 64 << 10;
/// The claimed version of the driver: CUDA 13.0.
pub const CUDA_VERSION: c_int = 13000;
/// Alignment of rows from `cudaMallocPitch`, bytes.
pub const PITCH_ALIGNMENT: usize = 512;
/// Largest pitch, bytes.
pub const MAX_PITCH: usize = i32::MAX as usize;
/// Bytes of a page of the host.
pub const PAGE: usize = 4096;
