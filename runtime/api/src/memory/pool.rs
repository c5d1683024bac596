//! Stream-ordered allocation. An allocation is usable at once; what is freed is given back once the work
//! before it is over, without a wait; pools only keep attributes.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};

use parking_lot::Mutex;

use crate::device;
use crate::edge::{api, get, put};
use crate::errors::{Error, Result};
use crate::graph::capture;
use crate::graph::work::{self, Work};
use crate::memory::alloc::allocate_to;
use crate::memory::later;
use crate::memory::map::{self, Kind};
use crate::order::StreamId;
use crate::stream;
use crate::types::{cudaMemAccessDesc, cudaMemLocation, cudaMemPool_t, cudaMemPoolProps, cudaStream_t};

/// The handle of the device's own pool.
const DEFAULT_POOL: usize = 1;
/// `cudaMemPoolAttrReleaseThreshold`.
const RELEASE_THRESHOLD: u32 = 4;
/// `cudaMemAccessFlagsProtReadWrite`.
const READ_WRITE: u32 = 3;

/// A pool's attributes 1 to 4; the rest are computed.
#[derive(Clone, Copy)]
struct Pool {
    reuse: [c_int; 3],
    release_threshold: u64,
}

impl Pool {
    const NEW: Self = Self { reuse: [1; 3], release_threshold: 0 };
}

struct Pools {
    made: HashMap<usize, Pool>,
    next: usize,
    current: usize,
}

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// Runs `f` on the pools and this one's attributes.
fn with_pool<T>(pool: cudaMemPool_t, f: impl FnOnce(&mut Pool) -> Result<T>) -> Result<T> {
    with_pools(|pools| f(pools.made.get_mut(&(pool as usize)).ok_or(Error::INVALID_VALUE)?))
}

fn with_pools<T>(f: impl FnOnce(&mut Pools) -> Result<T>) -> Result<T> {
    let mut pools = POOLS.lock();
    f(pools.get_or_insert_with(|| Pools {
        made: HashMap::from([(DEFAULT_POOL, Pool::NEW)]),
        next: DEFAULT_POOL + 1,
        current: DEFAULT_POOL,
    }))
}

/// Allocates memory on a stream; in a capture, by a node.
///
/// # Safety
/// As [`allocate_to`].
unsafe fn allocate_on(to: *mut *mut c_void, size: usize, stream: StreamId) -> Result {
    // SAFETY: as the caller vouches.
    unsafe {
        later::give_back();
        allocate_to(to, size, Kind::Device, 0)?;
        let address = *get(to)? as usize;
        if capture::add(stream, || Work::Allocate(address, size))? {
            work::own(address);
        }
        Ok(())
    }
}

api! {
    @ptsz fn cudaMallocAsync(to: *mut *mut c_void, size: usize, stream: cudaStream_t) {
        allocate_on(to, size, stream::resolve(stream)?)
    }

    @ptsz fn cudaMallocFromPoolAsync(to: *mut *mut c_void, size: usize, pool: cudaMemPool_t, stream: cudaStream_t) {
        let stream = stream::resolve(stream)?;
        with_pool(pool, |_| Ok(()))?;
        allocate_on(to, size, stream)
    }

    @ptsz fn cudaFreeAsync(pointer: *mut c_void, stream: cudaStream_t) {
        let stream = stream::resolve(stream)?;
        if pointer.is_null() || capture::add(stream, || Work::Free(pointer as usize))? {
            return Ok(());
        }
        if work::is_owned(pointer as usize) {
            return Ok(());
        }
        match map::find(pointer as usize) {
            // Its pages are the host's, too.
            Some(found) if found.kind == Kind::Managed => map::free(pointer as usize, &[Kind::Managed]).map(|_| ()),
            _ => later::free(pointer as usize, stream),
        }
    }

    fn cudaDeviceGetDefaultMemPool(pool: *mut cudaMemPool_t, device: c_int) {
        device::check(device)?;
        put(pool, DEFAULT_POOL as cudaMemPool_t)
    }

    fn cudaDeviceGetMemPool(pool: *mut cudaMemPool_t, device: c_int) {
        device::check(device)?;
        let current = with_pools(|pools| Ok(pools.current))?;
        put(pool, current as cudaMemPool_t)
    }

    fn cudaDeviceSetMemPool(device: c_int, pool: cudaMemPool_t) {
        device::check(device)?;
        with_pool(pool, |_| Ok(()))?;
        with_pools(|pools| {
            pools.current = pool as usize;
            Ok(())
        })
    }

    fn cudaMemPoolCreate(pool: *mut cudaMemPool_t, properties: *const cudaMemPoolProps) {
        get(properties)?;
        let made = with_pools(|pools| {
            let handle = pools.next;
            pools.next += 1;
            pools.made.insert(handle, Pool::NEW);
            Ok(handle)
        })?;
        put(pool, made as cudaMemPool_t)
    }

    fn cudaMemPoolDestroy(pool: cudaMemPool_t) {
        let pool = pool as usize;
        with_pools(|pools| {
            if pool == DEFAULT_POOL || pools.made.remove(&pool).is_none() {
                return Err(Error::INVALID_VALUE);
            }
            if pools.current == pool {
                pools.current = DEFAULT_POOL;
            }
            Ok(())
        })
    }

    fn cudaMemPoolTrimTo(pool: cudaMemPool_t, _keep: usize) {
        later::give_back();
        with_pool(pool, |_| Ok(()))
    }

    fn cudaMemPoolSetAttribute(pool: cudaMemPool_t, attribute: u32, value: *mut c_void) {
        with_pool(pool, |pool| match attribute {
            1..=3 => {
                pool.reuse[attribute as usize - 1] = *get(value.cast::<c_int>())?;
                Ok(())
            }
            RELEASE_THRESHOLD => {
                pool.release_threshold = *get(value.cast::<u64>())?;
                Ok(())
            }
            // The high-water marks (6, 8) may be set back; they follow what is in use.
            6 | 8 => Ok(()),
            _ => Err(Error::INVALID_VALUE),
        })
    }

    fn cudaMemPoolGetAttribute(pool: cudaMemPool_t, attribute: u32, value: *mut c_void) {
        with_pool(pool, |pool| match attribute {
            1..=3 => put(value.cast(), pool.reuse[attribute as usize - 1]),
            RELEASE_THRESHOLD => put(value.cast(), pool.release_threshold),
            5..=8 => put(value.cast(), map::bytes_in_use() as u64),
            _ => Err(Error::INVALID_VALUE),
        })
    }

    fn cudaMemPoolSetAccess(pool: cudaMemPool_t, _list: *const cudaMemAccessDesc, _count: usize) {
        with_pool(pool, |_| Ok(()))
    }

    fn cudaMemPoolGetAccess(flags: *mut u32, pool: cudaMemPool_t, location: *mut cudaMemLocation) {
        get(location)?;
        with_pool(pool, |_| Ok(()))?;
        put(flags, READ_WRITE)
    }
}
