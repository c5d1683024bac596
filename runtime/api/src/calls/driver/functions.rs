//! Attributes of kernels, and occupancy. The handle of a kernel is the address that names it for the
//! runtime API.

use std::ffi::{c_char, c_int, c_void};

use crate::backend::module::Kernel;
use crate::calls;
use crate::calls::driver::export::done;
use crate::calls::driver::export::{driver_api, same};
use crate::host::driver_types::{CUfunction, CUlaunchConfig};
use crate::host::edge::{get, put};
use crate::host::errors::{Error, Result};
use crate::host::types::ATTRIBUTE_MULTIPROCESSORS;
use crate::work::functions::{attributes, occupancy, set_attribute};
use crate::work::{Process, devices};

/// Dynamic shared memory for a number of threads.
type CUoccupancyB2DSize = Option<unsafe extern "C" fn(c_int) -> usize>;

/// An attribute of a kernel, by the number of `CUfunction_attribute`.
fn attribute_of(process: &Process, kernel: &Kernel, attribute: u32) -> Result<c_int> {
    let all = attributes(process, kernel)?;
    Ok(match attribute {
        0 => all.maxThreadsPerBlock,
        1 => all.sharedSizeBytes as c_int,
        2 => all.constSizeBytes as c_int,
        3 => all.localSizeBytes as c_int,
        4 => all.numRegs,
        5 => all.ptxVersion,
        6 => all.binaryVersion,
        7 => all.cacheModeCA,
        8 => all.maxDynamicSharedSizeBytes,
        9 => all.preferredShmemCarveout,
        10 => all.clusterDimMustBeSet,
        11 => all.requiredClusterWidth,
        12 => all.requiredClusterHeight,
        13 => all.requiredClusterDepth,
        14 => all.nonPortableClusterSizeAllowed,
        15 => all.clusterSchedulingPolicyPreference,
        _ => return Err(Error::INVALID_VALUE),
    })
}

/// The number of threads of a block with which most threads are resident, and the number of blocks that
/// then fill the device.
///
/// # Safety
/// `shared_of` is the program's function.
unsafe fn best_block(
    process: &Process,
    kernel: &Kernel,
    shared_of: CUoccupancyB2DSize,
    shared: usize,
    limit: c_int,
) -> Result<(c_int, c_int)> {
    const WARP: c_int = 32;
    let most = attribute_of(process, kernel, 0)?;
    let most = if limit > 0 { most.min(limit) } else { most };
    let mut best = (0, 0, 0);
    // As CUDA's own, it tries whole warps, from the largest block on.
    let mut threads = (most + WARP - 1) / WARP * WARP;
    while threads > 0 {
        let asked = threads.min(most);
        // SAFETY: the caller keeps the contract above.
        let shared = shared_of.map_or(shared, |shared_of| unsafe { shared_of(asked) });
        let blocks = occupancy(process, kernel, asked, shared)?;
        if blocks * asked > best.0 {
            best = (blocks * asked, blocks, asked);
        }
        threads -= WARP;
    }
    let multiprocessors = process.backend().attribute(ATTRIBUTE_MULTIPROCESSORS)?;
    Ok((best.1 * multiprocessors, best.2))
}

driver_api! { process;
    fn cuFuncGetAttribute(to: *mut c_int, attribute: u32, function: CUfunction) {
        put(to, attribute_of(process, process.kernel(function)?, attribute)?)
    }

    fn cuFuncSetAttribute(function: CUfunction, attribute: u32, value: c_int) {
        set_attribute(process, process.kernel(function)?, attribute, value)
    }

    fn cuFuncGetModule(to: *mut *mut c_void, function: CUfunction) {
        let module = process.program().modules.module_of_stub(function).ok_or(Error::INVALID_RESOURCE_HANDLE)?;
        put(to, std::ptr::from_ref(module).cast_mut().cast())
    }

    fn cuFuncIsLoaded(to: *mut u32, function: CUfunction) {
        process.kernel(function)?;
        /// `CU_FUNCTION_LOADING_STATE_LOADED`
        const LOADED: u32 = 1;
        put(to, LOADED)
    }

    fn cuFuncLoad(function: CUfunction) { process.kernel(function).map(|_| ()) }

    fn cuKernelGetFunction(to: *mut CUfunction, kernel: CUfunction) {
        process.kernel(kernel)?;
        put(to, kernel)
    }

    fn cuKernelGetLibrary(to: *mut *mut c_void, kernel: CUfunction) {
        let module = process.program().modules.module_of_stub(kernel).ok_or(Error::INVALID_RESOURCE_HANDLE)?;
        put(to, std::ptr::from_ref(module).cast_mut().cast())
    }

    fn cuKernelGetAttribute(to: *mut c_int, attribute: u32, kernel: CUfunction, device: c_int) {
        devices::check(device)?;
        put(to, attribute_of(process, process.kernel(kernel)?, attribute)?)
    }

    fn cuKernelSetAttribute(attribute: u32, value: c_int, kernel: CUfunction, device: c_int) {
        devices::check(device)?;
        set_attribute(process, process.kernel(kernel)?, attribute, value)
    }

    fn cuKernelSetCacheConfig(kernel: CUfunction, config: u32, device: c_int) {
        devices::check(device)?;
        done(calls::functions::cudaFuncSetCacheConfig(kernel, config))
    }

    fn cuOccupancyMaxPotentialBlockSize(blocks: *mut c_int, threads: *mut c_int, function: CUfunction, shared_of: CUoccupancyB2DSize, shared: usize, limit: c_int) {
        let (fill, best) = best_block(process, process.kernel(function)?, shared_of, shared, limit)?;
        put(blocks, fill)?;
        put(threads, best)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(blocks: *mut c_int, threads: *mut c_int, function: CUfunction, shared_of: CUoccupancyB2DSize, shared: usize, limit: c_int, flags: u32) {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        let (fill, best) = best_block(process, process.kernel(function)?, shared_of, shared, limit)?;
        put(blocks, fill)?;
        put(threads, best)
    }

    fn cuOccupancyMaxPotentialClusterSize(to: *mut c_int, function: CUfunction, config: *const CUlaunchConfig) {
        done(calls::functions::cudaOccupancyMaxPotentialClusterSize(to, function, &get(config)?.parameters()))
    }

    fn cuOccupancyMaxActiveClusters(to: *mut c_int, function: CUfunction, config: *const CUlaunchConfig) {
        done(calls::functions::cudaOccupancyMaxActiveClusters(to, function, &get(config)?.parameters()))
    }
}

same! {
    fn cuFuncSetCacheConfig(function: CUfunction, config: u32) = calls::functions::cudaFuncSetCacheConfig;
    fn cuFuncSetSharedMemConfig(function: CUfunction, config: u32) = calls::functions::cudaFuncSetSharedMemConfig;
    fn cuFuncGetName(to: *mut *const c_char, function: CUfunction) = calls::functions::cudaFuncGetName;
    fn cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize) = calls::functions::cudaFuncGetParamInfo;
    fn cuKernelGetName(to: *mut *const c_char, kernel: CUfunction) = calls::functions::cudaFuncGetName;
    fn cuKernelGetParamInfo(kernel: CUfunction, index: usize, offset: *mut usize, size: *mut usize) = calls::functions::cudaFuncGetParamInfo;
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(to: *mut c_int, function: CUfunction, threads: c_int, shared: usize) = calls::functions::cudaOccupancyMaxActiveBlocksPerMultiprocessor;
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to: *mut c_int, function: CUfunction, threads: c_int, shared: usize, flags: u32) = calls::functions::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
    fn cuOccupancyAvailableDynamicSMemPerBlock(to: *mut usize, function: CUfunction, blocks: c_int, threads: c_int) = calls::functions::cudaOccupancyAvailableDynamicSMemPerBlock;
}
