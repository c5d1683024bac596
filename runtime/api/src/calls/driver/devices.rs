//! The device.

use std::ffi::{c_char, c_int, c_void};

use crate::calls;
use crate::calls::driver::export::{driver_api, same};
use crate::host::edge::put;
use crate::host::errors::Error;
use crate::host::types::cudaMemPool_t;
use crate::work::devices::check;

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`.
const CAPABILITY_MAJOR: u32 = 75;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR`.
const CAPABILITY_MINOR: u32 = 76;

driver_api! { process;
    @free fn cuDeviceGet(to: *mut c_int, number: c_int) {
        check(number)?;
        put(to, number)
    }

    @free fn cuDeviceGetCount(to: *mut c_int) { put(to, 1) }

    @free fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) {
        check(device)?;
        let room = usize::try_from(len).ok().filter(|&room| room > 0 && !name.is_null()).ok_or(Error::INVALID_VALUE)?;
        let own = process.backend().properties().name;
        // The whole name, or as much as there is room for, and a nul.
        let length = own.iter().position(|&c| c == 0).unwrap_or(own.len()).min(room - 1);
        std::ptr::copy_nonoverlapping(own.as_ptr(), name, length);
        name.add(length).write(0);
        Ok(())
    }

    @free fn cuDeviceGetUuid(to: *mut [u8; 16], device: c_int) {
        check(device)?;
        put(to, process.backend().properties().uuid)
    }

    @free fn cuDeviceGetUuid_v2(to: *mut [u8; 16], device: c_int) {
        check(device)?;
        put(to, process.backend().properties().uuid)
    }

    @free fn cuDeviceTotalMem_v2(to: *mut usize, device: c_int) {
        check(device)?;
        put(to, process.backend().memory().1)
    }

    @free fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        check(device)?;
        put(major, process.backend().attribute(CAPABILITY_MAJOR)?)?;
        put(minor, process.backend().attribute(CAPABILITY_MINOR)?)
    }

    @free fn cuDeviceGetExecAffinitySupport(to: *mut c_int, _kind: u32, device: c_int) {
        check(device)?;
        put(to, 0)
    }
}

same! {
    @free fn cuDeviceGetAttribute(value: *mut c_int, attribute: u32, device: c_int) = calls::devices::cudaDeviceGetAttribute;
    @free fn cuDeviceGetPCIBusId(id: *mut c_char, len: c_int, device: c_int) = calls::devices::cudaDeviceGetPCIBusId;
    @free fn cuDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) = calls::devices::cudaDeviceGetByPCIBusId;
    @free fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) = calls::devices::cudaDeviceCanAccessPeer;
    @free fn cuDeviceGetP2PAttribute(value: *mut c_int, attribute: u32, from: c_int, to: c_int) = calls::devices::cudaDeviceGetP2PAttribute;
    @free fn cuDeviceGetDefaultMemPool(pool: *mut cudaMemPool_t, device: c_int) = calls::pools::cudaDeviceGetDefaultMemPool;
    @free fn cuDeviceGetMemPool(pool: *mut cudaMemPool_t, device: c_int) = calls::pools::cudaDeviceGetMemPool;
    @free fn cuDeviceSetMemPool(device: c_int, pool: cudaMemPool_t) = calls::pools::cudaDeviceSetMemPool;
    @free fn cuDeviceGetGraphMemAttribute(device: c_int, attribute: u32, value: *mut c_void) = calls::graphs::cudaDeviceGetGraphMemAttribute;
    @free fn cuDeviceSetGraphMemAttribute(device: c_int, attribute: u32, value: *mut c_void) = calls::graphs::cudaDeviceSetGraphMemAttribute;
    @free fn cuDeviceGraphMemTrim(device: c_int) = calls::graphs::cudaDeviceGraphMemTrim;
    fn cuFlushGPUDirectRDMAWrites(target: u32, scope: u32) = calls::devices::cudaDeviceFlushGPUDirectRDMAWrites;
}
