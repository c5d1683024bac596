//! Attributes of kernels and occupancy.

use std::ffi::{c_char, c_int, c_void};

use crate::calls::export::api;
use crate::host::edge::{get, put, put_if_asked};
use crate::host::errors::Error;
use crate::host::types::{ATTRIBUTE_MULTIPROCESSORS, cudaFuncAttributes, cudaLaunchConfig_t};
use crate::work::functions::{attributes, available_shared, clusters, occupancy, set_attribute};

api! { process;
    fn cudaFuncGetAttributes(to: *mut cudaFuncAttributes, stub: *const c_void) {
        put(to, attributes(process, process.kernel(stub)?)?)
    }

    fn cudaFuncSetAttribute(stub: *const c_void, attribute: u32, value: c_int) {
        set_attribute(process, process.kernel(stub)?, attribute, value)
    }

    fn cudaFuncSetCacheConfig(stub: *const c_void, config: u32) {
        process.kernel(stub)?;
        if config > 3 { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    fn cudaFuncSetSharedMemConfig(stub: *const c_void, config: u32) {
        process.kernel(stub)?;
        if config > 2 { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    fn cudaFuncGetName(to: *mut *const c_char, stub: *const c_void) {
        let kernel = process.kernel(stub)?;
        put(to, kernel.name.as_ptr())
    }

    fn cudaFuncGetParamInfo(stub: *const c_void, index: usize, offset: *mut usize, size: *mut usize) {
        let kernel = process.kernel(stub)?;
        let param = kernel.meta().params.get(index).ok_or(Error::INVALID_VALUE)?;
        put(offset, param.offset as usize)?;
        put_if_asked(size, param.size as usize);
        Ok(())
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(to: *mut c_int, stub: *const c_void, threads: c_int, dynamic_shared: usize) {
        put(to, occupancy(process, process.kernel(stub)?, threads, dynamic_shared)?)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to: *mut c_int, stub: *const c_void, threads: c_int, dynamic_shared: usize, flags: u32) {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        put(to, occupancy(process, process.kernel(stub)?, threads, dynamic_shared)?)
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(to: *mut usize, stub: *const c_void, blocks: c_int, threads: c_int) {
        put(to, available_shared(process, process.kernel(stub)?, blocks, threads)?)
    }

    fn cudaOccupancyMaxPotentialClusterSize(to: *mut c_int, stub: *const c_void, config: *const cudaLaunchConfig_t) {
        let kernel = process.kernel(stub)?;
        let (fit, _) = clusters(process, kernel, get(config)?)?;
        let declared = kernel.meta().cluster.map(|dims| dims.iter().product::<u32>());
        let most = declared.unwrap_or_else(|| kernel.max_cluster());
        put(to, if fit == 0 { 0 } else { most as c_int })
    }

    fn cudaOccupancyMaxActiveClusters(to: *mut c_int, stub: *const c_void, config: *const cudaLaunchConfig_t) {
        let (fit, blocks) = clusters(process, process.kernel(stub)?, get(config)?)?;
        // One can always be resident.
        put(to, if fit == 0 { 0 } else { (fit * process.backend().attribute(ATTRIBUTE_MULTIPROCESSORS)? / blocks).max(1) })
    }

    fn cudaGetKernel(to: *mut *mut c_void, stub: *const c_void) {
        // The handle of a kernel is its stub.
        process.kernel(stub)?;
        put(to, stub.cast_mut())
    }

    fn cudaGetFuncBySymbol(to: *mut *mut c_void, stub: *const c_void) {
        process.kernel(stub)?;
        put(to, stub.cast_mut())
    }
}
