//! Attributes of kernels, and how many of their blocks fit on the device.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use crate::backend::module::{Kernel, max_threads};
use crate::host::errors::{Error, Result};
use crate::host::limits::{SHARED_PER_BLOCK_OPTIN, SHARED_PER_MULTIPROCESSOR, SHARED_RESERVED_PER_BLOCK};
use crate::host::types::{cudaFuncAttributes, cudaLaunchConfig_t};
use crate::work::Process;
use crate::work::launches::read_attributes;

/// `cudaFuncAttributeMaxDynamicSharedMemorySize`.
const MAX_DYNAMIC_SHARED: u32 = 8;
/// `cudaFuncAttributePreferredSharedMemoryCarveout`.
const CARVEOUT: u32 = 9;
/// `cudaFuncAttributeNonPortableClusterSizeAllowed`.
const NON_PORTABLE_CLUSTER: u32 = 14;
/// `cudaFuncAttributeClusterSchedulingPolicyPreference`. It only affects speed.
const CLUSTER_SCHEDULING: u32 = 15;
/// The other attributes of clusters. They would give launches clusters.
const REQUIRED_CLUSTER: std::ops::RangeInclusive<u32> = 10..=13;

/// The result of `cudaFuncGetAttributes`.
pub fn attributes(process: &Process, kernel: &Kernel) -> Result<cudaFuncAttributes> {
    let meta = kernel.meta();
    let [width, height, depth] = meta.cluster.unwrap_or_default().map(|dim| dim as c_int);
    Ok(cudaFuncAttributes {
        requiredClusterWidth: width,
        requiredClusterHeight: height,
        requiredClusterDepth: depth,
        nonPortableClusterSizeAllowed: kernel.non_portable_cluster.load(Ordering::Relaxed).into(),
        maxDynamicSharedSizeBytes: kernel.max_dynamic_shared.load(Ordering::Relaxed) as c_int,
        preferredShmemCarveout: kernel.carveout.load(Ordering::Relaxed),
        ..process.backend().function_attributes(kernel)?
    })
}

/// Sets an attribute of a kernel.
///
/// # Errors
/// `cudaErrorInvalidValue`, `cudaErrorNotSupported`, and the device's.
pub fn set_attribute(process: &Process, kernel: &Kernel, attribute: u32, value: c_int) -> Result {
    match attribute {
        MAX_DYNAMIC_SHARED => {
            let most = SHARED_PER_BLOCK_OPTIN.saturating_sub(kernel.meta().shared_static as usize);
            match usize::try_from(value) {
                Ok(value) if value <= most => {
                    process.backend().allow_dynamic_shared(kernel, value)?;
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

/// Number of blocks of this size that fit on a multiprocessor.
///
/// # Errors
/// `cudaErrorInvalidValue` if a block has no threads, and the device's.
pub fn occupancy(process: &Process, kernel: &Kernel, threads: c_int, dynamic_shared: usize) -> Result<c_int> {
    let threads = u32::try_from(threads).map_err(|_| Error::INVALID_VALUE)?;
    if threads == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let meta = kernel.meta();
    let shared = (meta.shared_static as usize).saturating_add(dynamic_shared);
    if threads > max_threads(meta) || shared > SHARED_PER_BLOCK_OPTIN {
        return Ok(0);
    }
    Ok(process.backend().resident_blocks(kernel, threads, dynamic_shared)? as c_int)
}

/// Number of blocks of a launch that fit on a multiprocessor, and number of blocks in a cluster.
///
/// # Errors
/// As for a launch.
pub fn clusters(process: &Process, kernel: &Kernel, config: &cudaLaunchConfig_t) -> Result<(c_int, c_int)> {
    let threads: u64 = config.blockDim.to_array().iter().map(|&n| u64::from(n)).product();
    let threads = c_int::try_from(threads).map_err(|_| Error::INVALID_VALUE)?;
    let fit = occupancy(process, kernel, threads, config.dynamicSmemBytes)?;
    // SAFETY: the caller keeps the contract of the C function.
    let asked = unsafe { read_attributes(process, config) }?.cluster;
    let dims = kernel.meta().cluster.or(asked).unwrap_or([1; 3]);
    match dims.iter().try_fold(1u32, |n, &dim| n.checked_mul(dim)) {
        Some(blocks) if (1..=kernel.max_cluster()).contains(&blocks) => Ok((fit, blocks as c_int)),
        _ => Err(Error::INVALID_CLUSTER_SIZE),
    }
}

/// Dynamic shared memory that each of `blocks` blocks can have on one multiprocessor, bytes.
///
/// # Errors
/// `cudaErrorInvalidValue` if that many blocks do not fit.
pub fn available_shared(process: &Process, kernel: &Kernel, blocks: c_int, threads: c_int) -> Result<usize> {
    if blocks < 1 || occupancy(process, kernel, threads, 0)? < blocks {
        return Err(Error::INVALID_VALUE);
    }
    let each = SHARED_PER_MULTIPROCESSOR / blocks as usize - SHARED_RESERVED_PER_BLOCK;
    let of_block = each.min(SHARED_PER_BLOCK_OPTIN) & !127;
    Ok(of_block.saturating_sub(kernel.meta().shared_static as usize))
}
