//! Stream-ordered allocation and memory pools.

use std::ffi::{c_int, c_void};

use crate::calls::export::api;
use crate::host::edge::{get, put};
use crate::host::errors::Error;
use crate::host::types::{cudaMemAccessDesc, cudaMemLocation, cudaMemPool_t, cudaMemPoolProps, cudaStream_t};
use crate::work::pools::{
    DEFAULT_POOL, Pool, READ_WRITE, RELEASE_THRESHOLD, allocate_on, free_on, with_pool, with_pools,
};
use crate::work::{devices, stream_frees, streams};

api! { process;
    @ptsz fn cudaMallocAsync(to: *mut *mut c_void, size: usize, stream: cudaStream_t) {
        allocate_on(process, to, size, streams::resolve(process, stream)?)
    }

    @ptsz fn cudaMallocFromPoolAsync(to: *mut *mut c_void, size: usize, pool: cudaMemPool_t, stream: cudaStream_t) {
        let stream = streams::resolve(process, stream)?;
        with_pool(process, pool, |_| Ok(()))?;
        allocate_on(process, to, size, stream)
    }

    @ptsz fn cudaFreeAsync(pointer: *mut c_void, stream: cudaStream_t) {
        free_on(process, pointer, streams::resolve(process, stream)?)
    }

    fn cudaDeviceGetDefaultMemPool(pool: *mut cudaMemPool_t, device: c_int) {
        devices::check(device)?;
        put(pool, DEFAULT_POOL as cudaMemPool_t)
    }

    fn cudaDeviceGetMemPool(pool: *mut cudaMemPool_t, device: c_int) {
        devices::check(device)?;
        let current = with_pools(process, |pools| Ok(pools.current))?;
        put(pool, current as cudaMemPool_t)
    }

    fn cudaDeviceSetMemPool(device: c_int, pool: cudaMemPool_t) {
        devices::check(device)?;
        with_pool(process, pool, |_| Ok(()))?;
        with_pools(process, |pools| {
            pools.current = pool as usize;
            Ok(())
        })
    }

    fn cudaMemPoolCreate(pool: *mut cudaMemPool_t, properties: *const cudaMemPoolProps) {
        get(properties)?;
        let made = with_pools(process, |pools| {
            let handle = pools.next;
            pools.next += 1;
            pools.made.insert(handle, Pool::NEW);
            Ok(handle)
        })?;
        put(pool, made as cudaMemPool_t)
    }

    fn cudaMemPoolDestroy(pool: cudaMemPool_t) {
        let pool = pool as usize;
        with_pools(process, |pools| {
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
        stream_frees::give_back(process);
        with_pool(process, pool, |_| Ok(()))
    }

    fn cudaMemPoolSetAttribute(pool: cudaMemPool_t, attribute: u32, value: *mut c_void) {
        with_pool(process, pool, |pool| match attribute {
            1..=3 => {
                pool.reuse[attribute as usize - 1] = *get(value.cast::<c_int>())?;
                Ok(())
            }
            RELEASE_THRESHOLD => {
                pool.release_threshold = *get(value.cast::<u64>())?;
                Ok(())
            }
            // The high-water marks (6, 8) may be reset. They equal the memory in use.
            6 | 8 => Ok(()),
            _ => Err(Error::INVALID_VALUE),
        })
    }

    fn cudaMemPoolGetAttribute(pool: cudaMemPool_t, attribute: u32, value: *mut c_void) {
        with_pool(process, pool, |pool| match attribute {
            1..=3 => put(value.cast(), pool.reuse[attribute as usize - 1]),
            RELEASE_THRESHOLD => put(value.cast(), pool.release_threshold),
            5..=8 => put(value.cast(), process.program().allocations.bytes_in_use() as u64),
            _ => Err(Error::INVALID_VALUE),
        })
    }

    fn cudaMemPoolSetAccess(pool: cudaMemPool_t, _list: *const cudaMemAccessDesc, _count: usize) {
        with_pool(process, pool, |_| Ok(()))
    }

    fn cudaMemPoolGetAccess(flags: *mut u32, pool: cudaMemPool_t, location: *mut cudaMemLocation) {
        get(location)?;
        with_pool(process, pool, |_| Ok(()))?;
        put(flags, READ_WRITE)
    }
}
