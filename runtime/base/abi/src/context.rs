//! The per-thread record of lowered device code.
//!
//! The lowering gives every device function a hidden first parameter, a pointer to the
//! [`ThreadCtx`] of the thread that runs it, and turns reads of PTX special registers into loads
//! from it. The fields that lowered code reads come first; the others belong to the executor.

use core::ffi::c_void;

/// Number of threads in a warp.
pub const WARP_SIZE: u32 = 32;

/// The lanes that a warp has in a block of so many threads. The last warp of a block may have less than 32.
pub const fn lanes_of_warp(threads: u32, warp: u32) -> u32 {
    match threads - warp * WARP_SIZE {
        lanes if lanes < WARP_SIZE => (1 << lanes) - 1,
        _ => u32::MAX,
    }
}

/// The most threads of a block (CUDA C++ Programming Guide, "Technical Specifications").
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;

/// The most blocks of a cluster that every device with clusters runs (CUDA C++ Programming Guide,
/// "Thread Block Clusters").
pub const MAX_PORTABLE_CLUSTER: u32 = 8;
/// The most blocks of a cluster of a size that is not portable.
pub const MAX_CLUSTER: u32 = 16;

/// A special register of clusters (PTX ISA, "Special Registers"). A launch
/// without clusters has clusters of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ClusterRegister {
    /// `%clusterid.x`; `.y` and `.z` follow, as in the next three.
    Id = 0,
    /// `%nclusterid.x`.
    Count = 3,
    /// `%cluster_ctaid.x`.
    Block = 6,
    /// `%cluster_nctaid.x`.
    Blocks = 9,
    /// `%cluster_ctarank`.
    Rank = 12,
    /// `%cluster_nctarank`.
    Ranks = 13,
    /// `%is_explicit_cluster`.
    Explicit = 14,
}

/// The context of one device thread.
///
/// Lowered code reads the fields by the offsets in [`offset`]. The executor fills them before the
/// thread starts, and does not change them while it runs.
#[repr(C)]
#[derive(Debug)]
pub struct ThreadCtx {
    /// `threadIdx`.
    pub tid: [u32; 3],
    /// `blockIdx`.
    pub ctaid: [u32; 3],
    /// `blockDim`.
    pub ntid: [u32; 3],
    /// `gridDim`.
    pub nctaid: [u32; 3],
    /// Linear thread index in the block: `x + blockDim.x * (y + blockDim.y * z)`.
    pub linear_tid: u32,
    /// `linear_tid % 32`.
    pub lane: u32,
    /// `linear_tid / 32`.
    pub warp: u32,
    /// Bytes of dynamic shared memory of the launch.
    pub dynamic_shared_bytes: u32,
    /// Start of the block's shared memory. The lowering chose the offsets of static variables.
    pub shared_base: *mut u8,
    /// Start of dynamic shared memory (`extern __shared__`), 16-byte aligned,
    /// after the kernel's static variables.
    pub dynamic_shared: *mut u8,
    /// Id of the launch, unique in the process, from 1.
    pub launch_id: u64,
    /// `%envreg1:%envreg2` as one pointer: the workspace of a cooperative launch's grid barrier, or
    /// null.
    pub grid_workspace: *mut u8,
    /// The block this thread belongs to; opaque to lowered code.
    pub block: *mut c_void,
    /// Slots of the executor.
    pub executor: [*mut c_void; 4],
}

/// Byte offsets of the fields that lowered code reads.
pub mod offset {
    use super::ThreadCtx;
    use core::mem::offset_of;

    /// Offset of `threadIdx.x`; `.y` and `.z` follow at 4-byte steps, as in the next three.
    pub const TID: usize = offset_of!(ThreadCtx, tid);
    /// Offset of `blockIdx.x`.
    pub const CTAID: usize = offset_of!(ThreadCtx, ctaid);
    /// Offset of `blockDim.x`.
    pub const NTID: usize = offset_of!(ThreadCtx, ntid);
    /// Offset of `gridDim.x`.
    pub const NCTAID: usize = offset_of!(ThreadCtx, nctaid);
    /// Offset of the linear thread index.
    pub const LINEAR_TID: usize = offset_of!(ThreadCtx, linear_tid);
    /// Offset of `%laneid`.
    pub const LANE: usize = offset_of!(ThreadCtx, lane);
    /// Offset of `%warpid`.
    pub const WARP: usize = offset_of!(ThreadCtx, warp);
    /// Offset of `%dynamic_smem_size`.
    pub const DYNAMIC_SHARED_BYTES: usize = offset_of!(ThreadCtx, dynamic_shared_bytes);
    /// Offset of the pointer to static shared memory.
    pub const SHARED_BASE: usize = offset_of!(ThreadCtx, shared_base);
    /// Offset of the pointer to dynamic shared memory.
    pub const DYNAMIC_SHARED: usize = offset_of!(ThreadCtx, dynamic_shared);
    /// Offset of the launch id (`%gridid`).
    pub const LAUNCH_ID: usize = offset_of!(ThreadCtx, launch_id);
    /// Offset of the grid barrier's workspace.
    pub const GRID_WORKSPACE: usize = offset_of!(ThreadCtx, grid_workspace);
}
