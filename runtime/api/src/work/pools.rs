//! Stream-ordered allocation. An allocation is usable at once. Freed memory is given back once the
//! work before the free is over, without a wait. Pools only keep their attributes.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};

use crate::backend::memory::MemoryKind;
use crate::host::edge::get;
use crate::host::errors::{Error, Result};
use crate::host::types::cudaMemPool_t;
use crate::order::StreamId;
use crate::work::graph::capture;
use crate::work::graph::work::{self, Work};
use crate::work::pointers::allocate_to;
use crate::work::{Process, allocations, stream_frees};

/// The handle of the device's own pool.
pub const DEFAULT_POOL: usize = 1;
/// `cudaMemPoolAttrReleaseThreshold`.
pub const RELEASE_THRESHOLD: u32 = 4;
/// `cudaMemAccessFlagsProtReadWrite`.
pub const READ_WRITE: u32 = 3;

/// The attributes 1 to 4 of a pool. The others are computed.
#[derive(Clone, Copy)]
pub struct Pool {
    /// Attributes 1 to 3.
    pub reuse: [c_int; 3],
    /// Attribute 4.
    pub release_threshold: u64,
}

impl Pool {
    /// A new pool.
    pub const NEW: Self = Self { reuse: [1; 3], release_threshold: 0 };
}

/// All pools.
pub struct Pools {
    /// The pools by handle.
    pub made: HashMap<usize, Pool>,
    /// The handle of the next pool.
    pub next: usize,
    /// The handle of the device's current pool.
    pub current: usize,
}

impl Default for Pools {
    fn default() -> Self {
        let made = HashMap::from([(DEFAULT_POOL, Pool::NEW)]);
        Self { made, next: DEFAULT_POOL + 1, current: DEFAULT_POOL }
    }
}

/// Runs `f` on the attributes of a pool.
///
/// # Errors
/// `cudaErrorInvalidValue` if the handle is no pool, and those of `f`.
pub fn with_pool<T>(
    process: &Process,
    pool: cudaMemPool_t,
    f: impl FnOnce(&mut Pool) -> Result<T>,
) -> Result<T> {
    with_pools(process, |pools| f(pools.made.get_mut(&(pool as usize)).ok_or(Error::INVALID_VALUE)?))
}

/// Runs `f` on all pools.
///
/// # Errors
/// Those of `f`.
pub fn with_pools<T>(process: &Process, f: impl FnOnce(&mut Pools) -> Result<T>) -> Result<T> {
    f(&mut process.pools.lock())
}

/// Allocates memory in the order of a stream. If the stream captures, a node does so.
///
/// # Safety
/// As [`allocate_to`].
///
/// # Errors
/// As [`allocate_to`].
pub unsafe fn allocate_on(process: &Process, to: *mut *mut c_void, size: usize, stream: StreamId) -> Result {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        stream_frees::give_back(process);
        allocate_to(process, to, size, MemoryKind::Device, 0)?;
        let address = *get(to)? as usize;
        if capture::add(process, stream, || Work::Allocate(address, size))? {
            work::own(process, address);
        }
        Ok(())
    }
}

/// Frees memory in the order of a stream. If the stream captures, a node does so.
///
/// # Errors
/// `cudaErrorInvalidValue` if the pointer is no allocation, and the device's.
pub fn free_on(process: &Process, pointer: *mut c_void, stream: StreamId) -> Result {
    let address = pointer as usize;
    if pointer.is_null()
        || capture::add(process, stream, || Work::Free(address))?
        || work::is_owned(process, address)
    {
        return Ok(());
    }
    match process.program().allocations.find(address) {
        // The host may access managed memory: it is freed after all work, like by `cudaFree`.
        Some(found) if found.kind == MemoryKind::Managed => {
            allocations::free(process, address, &[MemoryKind::Managed]).map(|_| ())
        }
        _ => stream_frees::free(process, address, stream),
    }
}
