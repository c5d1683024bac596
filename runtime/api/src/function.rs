//! What a kernel needs and how many of its blocks fit: attributes, occupancy.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::Ordering;

use gpurace_abi::context::{MAX_THREADS_PER_BLOCK, WARP_SIZE};
use gpurace_abi::meta::KernelMeta;

use crate::backend;
use crate::edge::{api, get, put};
use crate::errors::{Error, Result};
use crate::launch::read_attributes;
use crate::modules::{Kernel, kernel_of_stub};
use crate::properties::{
    MAX_BLOCKS_PER_MULTIPROCESSOR, MAX_THREADS_PER_MULTIPROCESSOR, SHARED_PER_BLOCK, SHARED_PER_BLOCK_OPTIN,
    SHARED_PER_MULTIPROCESSOR, SHARED_RESERVED_PER_BLOCK, multiprocessors,
};
use crate::types::{cudaFuncAttributes, cudaLaunchConfig_t};

/// `cudaFuncAttributeMaxDynamicSharedMemorySize`.
const MAX_DYNAMIC_SHARED: u32 = 8;
/// `cudaFuncAttributePreferredSharedMemoryCarveout`.
const CARVEOUT: u32 = 9;
/// `cudaFuncAttributeNonPortableClusterSizeAllowed`.
const NON_PORTABLE_CLUSTER: u32 = 14;
/// `cudaFuncAttributeClusterSchedulingPolicyPreference`: about speed alone.
const CLUSTER_SCHEDULING: u32 = 15;
/// The other attributes of clusters, which make launches have them.
const REQUIRED_CLUSTER: std::ops::RangeInclusive<u32> = 10..=13;

/// Dynamic shared memory that a kernel may have without asking, bytes.
pub fn default_dynamic_shared(kernel: &KernelMeta) -> usize {
    SHARED_PER_BLOCK.saturating_sub(kernel.shared_static as usize)
}

/// Most threads of a block of this kernel.
pub fn max_threads(kernel: &KernelMeta) -> u32 {
    match kernel.max_threads {
        0 => MAX_THREADS_PER_BLOCK,
        bound => bound.min(MAX_THREADS_PER_BLOCK),
    }
}

/// Blocks of `threads` threads and `shared` bytes of shared memory, static and
/// dynamic, that fit on a multiprocessor.
pub fn blocks_per_multiprocessor(threads: u32, shared: usize) -> u32 {
    let threads = threads.max(1).next_multiple_of(WARP_SIZE);
    let by_threads = MAX_THREADS_PER_MULTIPROCESSOR / threads;
    let by_shared = SHARED_PER_MULTIPROCESSOR / (shared + SHARED_RESERVED_PER_BLOCK);
    by_threads.min(MAX_BLOCKS_PER_MULTIPROCESSOR).min(by_shared as u32)
}

fn attributes(kernel: &Kernel) -> Result<cudaFuncAttributes> {
    let meta = kernel.meta();
    let [width, height, depth] = meta.cluster.unwrap_or_default().map(|dim| dim as c_int);
    Ok(cudaFuncAttributes {
        requiredClusterWidth: width,
        requiredClusterHeight: height,
        requiredClusterDepth: depth,
        nonPortableClusterSizeAllowed: kernel.non_portable_cluster.load(Ordering::Relaxed).into(),
        maxDynamicSharedSizeBytes: kernel.max_dynamic_shared.load(Ordering::Relaxed) as c_int,
        preferredShmemCarveout: kernel.carveout.load(Ordering::Relaxed),
        ..backend::get().function_attributes(kernel)?
    })
}

fn set_attribute(kernel: &Kernel, attribute: u32, value: c_int) -> Result {
    match attribute {
        MAX_DYNAMIC_SHARED => {
            let most = SHARED_PER_BLOCK_OPTIN.saturating_sub(kernel.meta().shared_static as usize);
            match usize::try_from(value) {
                Ok(value) if value <= most => {
                    backend::get().allow_dynamic_shared(kernel, value)?;
                    kernel.max_dynamic_shared.store(value, Ordering::Relaxed);
                    Ok(())
                }
                _ => Err(Error::INVALID_VALUE),
            }
        }
        CARVEOUT if (-1..=100).contains(&value) => {
            kernel.carveout.store(value, Ordering::Relaxed);
            Ok(())
        }
        NON_PORTABLE_CLUSTER if (0..=1).contains(&value) => {
            kernel.non_portable_cluster.store(value != 0, Ordering::Relaxed);
            Ok(())
        }
        CLUSTER_SCHEDULING if (0..=2).contains(&value) => Ok(()),
        attribute if REQUIRED_CLUSTER.contains(&attribute) => Err(Error::NOT_SUPPORTED),
        _ => Err(Error::INVALID_VALUE),
    }
}

fn occupancy(kernel: &Kernel, threads: c_int, dynamic_shared: usize) -> Result<c_int> {
    let threads = u32::try_from(threads).map_err(|_| Error::INVALID_VALUE)?;
    if threads == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let meta = kernel.meta();
    let shared = (meta.shared_static as usize).saturating_add(dynamic_shared);
    if threads > max_threads(meta) || shared > SHARED_PER_BLOCK_OPTIN {
        return Ok(0);
    }
    Ok(backend::get().resident_blocks(kernel, threads, dynamic_shared)? as c_int)
}

/// Blocks of a launch that fit on a multiprocessor, and blocks of a cluster of it.
fn clusters(kernel: &Kernel, config: &cudaLaunchConfig_t) -> Result<(c_int, c_int)> {
    let threads: u64 = config.blockDim.to_array().iter().map(|&n| u64::from(n)).product();
    let threads = c_int::try_from(threads).map_err(|_| Error::INVALID_VALUE)?;
    let fit = occupancy(kernel, threads, config.dynamicSmemBytes)?;
    // SAFETY: the caller keeps the contract of the C function.
    let asked = unsafe { read_attributes(config) }?.cluster;
    let dims = kernel.meta().cluster.or(asked).unwrap_or([1; 3]);
    match dims.iter().try_fold(1u32, |n, &dim| n.checked_mul(dim)) {
        Some(blocks) if (1..=kernel.max_cluster()).contains(&blocks) => Ok((fit, blocks as c_int)),
        _ => Err(Error::INVALID_CLUSTER_SIZE),
    }
}

/// Dynamic shared memory that each of `blocks` blocks can have on one
/// multiprocessor, bytes.
fn available_shared(kernel: &Kernel, blocks: c_int, threads: c_int) -> Result<usize> {
    if blocks < 1 || occupancy(kernel, threads, 0)? < blocks {
        return Err(Error::INVALID_VALUE);
    }
    let each = SHARED_PER_MULTIPROCESSOR / blocks as usize - SHARED_RESERVED_PER_BLOCK;
    let of_block = each.min(SHARED_PER_BLOCK_OPTIN) & !127;
    Ok(of_block.saturating_sub(kernel.meta().shared_static as usize))
}

api! {
    fn cudaFuncGetAttributes(to: *mut cudaFuncAttributes, stub: *const c_void) {
        put(to, attributes(kernel_of_stub(stub)?)?)
    }

    fn cudaFuncSetAttribute(stub: *const c_void, attribute: u32, value: c_int) {
        set_attribute(kernel_of_stub(stub)?, attribute, value)
    }

    fn cudaFuncSetCacheConfig(stub: *const c_void, config: u32) {
        kernel_of_stub(stub)?;
        if config > 3 { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    fn cudaFuncSetSharedMemConfig(stub: *const c_void, config: u32) {
        kernel_of_stub(stub)?;
        if config > 2 { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    fn cudaFuncGetName(to: *mut *const c_char, stub: *const c_void) {
        let kernel = kernel_of_stub(stub)?;
        put(to, kernel.name.as_ptr())
    }

    fn cudaFuncGetParamInfo(stub: *const c_void, index: usize, offset: *mut usize, size: *mut usize) {
        let kernel = kernel_of_stub(stub)?;
        let param = kernel.meta().params.get(index).ok_or(Error::INVALID_VALUE)?;
        put(offset, param.offset as usize)?;
        // The size may be left out.
        if size.is_null() { Ok(()) } else { put(size, param.size as usize) }
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(to: *mut c_int, stub: *const c_void, threads: c_int, dynamic_shared: usize) {
        put(to, occupancy(kernel_of_stub(stub)?, threads, dynamic_shared)?)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to: *mut c_int, stub: *const c_void, threads: c_int, dynamic_shared: usize, flags: u32) {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        put(to, occupancy(kernel_of_stub(stub)?, threads, dynamic_shared)?)
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(to: *mut usize, stub: *const c_void, blocks: c_int, threads: c_int) {
        put(to, available_shared(kernel_of_stub(stub)?, blocks, threads)?)
    }

    fn cudaOccupancyMaxPotentialClusterSize(to: *mut c_int, stub: *const c_void, config: *const cudaLaunchConfig_t) {
        let kernel = kernel_of_stub(stub)?;
        let (fit, _) = clusters(kernel, get(config)?)?;
        let declared = kernel.meta().cluster.map(|dims| dims.iter().product::<u32>());
        let most = declared.unwrap_or_else(|| kernel.max_cluster());
        put(to, if fit == 0 { 0 } else { most as c_int })
    }

    fn cudaOccupancyMaxActiveClusters(to: *mut c_int, stub: *const c_void, config: *const cudaLaunchConfig_t) {
        let (fit, blocks) = clusters(kernel_of_stub(stub)?, get(config)?)?;
        // One can always be resident.
        put(to, if fit == 0 { 0 } else { (fit * multiprocessors() / blocks).max(1) })
    }

    fn cudaGetKernel(to: *mut *mut c_void, stub: *const c_void) {
        // The handle of a kernel is its stub.
        kernel_of_stub(stub)?;
        put(to, stub.cast_mut())
    }

    fn cudaGetFuncBySymbol(to: *mut *mut c_void, stub: *const c_void) {
        kernel_of_stub(stub)?;
        put(to, stub.cast_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupancy_is_bounded_by_threads_blocks_and_shared_memory() {
        assert_eq!(blocks_per_multiprocessor(1024, 0), 2);
        assert_eq!(blocks_per_multiprocessor(1000, 0), 2);
        assert_eq!(blocks_per_multiprocessor(32, 0), 32);
        assert_eq!(blocks_per_multiprocessor(128, 48 << 10), 4);
        assert_eq!(blocks_per_multiprocessor(128, 227 << 10), 1);
    }
}
