//! The device that the executor claims to be. Its compute capability is 8.0, or that of the
//! program's newest device code. Memory and cores are the machine's.

use std::ffi::{c_char, c_int};

use gpurace_abi::context::{MAX_THREADS_PER_BLOCK, WARP_SIZE};
use gpurace_cpu::{Executor, cores};

use crate::host::device_properties::cudaDeviceProp;
use crate::host::errors::{Error, Result};
use crate::host::limits::{
    CONSTANT_MEMORY, MAX_BLOCK_DIM, MAX_BLOCKS_PER_MULTIPROCESSOR, MAX_GRID_DIM, MAX_PITCH,
    MAX_THREADS_PER_MULTIPROCESSOR, REGISTERS, SHARED_PER_BLOCK, SHARED_PER_MULTIPROCESSOR,
    SHARED_RESERVED_PER_BLOCK,
};
use crate::program::modules::Modules;

/// Name of the device.
pub const NAME: &str = "gpurace CPU executor";
/// Ten times the least compute capability that the executor claims.
const LEAST_CAPABILITY: u32 = 80;
/// Clock of the device, kHz.
const CLOCK_KHZ: c_int = 1_000_000;

/// Size of the machine's memory and how much of it is free, bytes.
pub fn memory_info() -> (usize, usize) {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        let kib: usize = line.split_whitespace().nth(1)?.parse().ok()?;
        kib.checked_mul(1024)
    };
    let total = field("MemTotal:").unwrap_or(1 << 32);
    (field("MemAvailable:").unwrap_or(total), total)
}

/// The most bytes of addresses that this process may have (`ulimit -v`); `None` if any number.
pub fn address_space() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is a place for the answer. If the call fails, it stays without a limit.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// The number of multiprocessors that the device claims: one for each core. So a grid that is sized
/// to fill the device stays small.
pub fn multiprocessors(executor: &Executor) -> c_int {
    // The blocks of a grid that fills the device must be able to wait for each other.
    let resident = executor.max_cooperative_blocks(MAX_THREADS_PER_MULTIPROCESSOR, 0) as usize;
    cores().clamp(2, 128).min(resident.max(1)) as c_int
}

/// The claims that depend on the machine and on the program.
#[derive(Clone, Copy)]
pub struct Claims {
    /// Size of the device's memory, bytes.
    pub memory: usize,
    /// Number of multiprocessors.
    pub multiprocessors: c_int,
    /// Ten times the compute capability.
    pub capability: c_int,
}

/// The result of `cudaGetDeviceProperties`.
pub fn properties(claims: Claims) -> cudaDeviceProp {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut p: cudaDeviceProp = unsafe { std::mem::zeroed() };
    for (to, from) in p.name.iter_mut().zip(NAME.bytes()) {
        *to = from as c_char;
    }
    p.uuid = *b"gpurace-executor";
    p.totalGlobalMem = claims.memory;
    p.sharedMemPerBlock = SHARED_PER_BLOCK;
    p.regsPerBlock = REGISTERS;
    p.warpSize = WARP_SIZE as c_int;
    p.memPitch = MAX_PITCH;
    p.maxThreadsPerBlock = MAX_THREADS_PER_BLOCK as c_int;
    p.maxThreadsDim = MAX_BLOCK_DIM.map(|n| n as c_int);
    p.maxGridSize = MAX_GRID_DIM.map(|n| n as c_int);
    p.clockRate = CLOCK_KHZ;
    p.totalConstMem = CONSTANT_MEMORY;
    (p.major, p.minor) = (claims.capability / 10, claims.capability % 10);
    p.textureAlignment = 512;
    p.texturePitchAlignment = 32;
    p.deviceOverlap = 1;
    p.multiProcessorCount = claims.multiprocessors;
    p.canMapHostMemory = 1;
    p.maxTexture1D = 131_072;
    p.maxTexture1DMipmap = 32_768;
    p.maxTexture1DLinear = 1 << 28;
    p.maxTexture2D = [131_072, 65_536];
    p.maxTexture2DMipmap = [32_768, 32_768];
    p.maxTexture2DLinear = [131_072, 65_000, 2_097_120];
    p.maxTexture2DGather = [32_768, 32_768];
    p.maxTexture3D = [16_384; 3];
    p.maxTexture3DAlt = [8_192, 8_192, 32_768];
    p.maxTextureCubemap = 32_768;
    p.maxTexture1DLayered = [32_768, 2_048];
    p.maxTexture2DLayered = [32_768, 32_768, 2_048];
    p.maxTextureCubemapLayered = [32_768, 2_046];
    p.maxSurface1D = 32_768;
    p.maxSurface2D = [131_072, 65_536];
    p.maxSurface3D = [16_384; 3];
    p.maxSurface1DLayered = [32_768, 2_048];
    p.maxSurface2DLayered = [32_768, 32_768, 2_048];
    p.maxSurfaceCubemap = 32_768;
    p.maxSurfaceCubemapLayered = [32_768, 2_046];
    p.surfaceAlignment = 512;
    p.concurrentKernels = 1;
    p.pciBusID = 1;
    p.asyncEngineCount = 1;
    p.unifiedAddressing = 1;
    p.memoryClockRate = CLOCK_KHZ;
    p.memoryBusWidth = 64;
    p.l2CacheSize = 4 << 20;
    p.maxThreadsPerMultiProcessor = MAX_THREADS_PER_MULTIPROCESSOR as c_int;
    p.streamPrioritiesSupported = 1;
    p.globalL1CacheSupported = 1;
    p.localL1CacheSupported = 1;
    p.sharedMemPerMultiprocessor = shared_per_multiprocessor(claims.capability);
    p.regsPerMultiprocessor = REGISTERS;
    p.managedMemory = 1;
    p.singleToDoublePrecisionPerfRatio = 2;
    p.concurrentManagedAccess = 1;
    p.canUseHostPointerForRegisteredMem = 1;
    p.cooperativeLaunch = 1;
    p.clusterLaunch = 1;
    p.sharedMemPerBlockOptin = p.sharedMemPerMultiprocessor - SHARED_RESERVED_PER_BLOCK;
    p.maxBlocksPerMultiProcessor = MAX_BLOCKS_PER_MULTIPROCESSOR as c_int;
    p.reservedSharedMemPerBlock = SHARED_RESERVED_PER_BLOCK;
    p.hostRegisterSupported = 1;
    // The executor could read pageable memory, but most GPUs cannot: here a program takes the same
    // path as there.
    p.hostRegisterReadOnlySupported = 1;
    p.memoryPoolsSupported = 1;
    p.unifiedFunctionPointers = 0;
    p
}

/// Shared memory of a multiprocessor by ten times the compute capability, bytes (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability"). `cuda_occupancy.h` refuses a device that claims another number. Blocks may
/// have more ([`SHARED_PER_BLOCK_OPTIN`](crate::host::limits::SHARED_PER_BLOCK_OPTIN)).
const fn shared_per_multiprocessor(capability: c_int) -> usize {
    match capability {
        80 | 87 => 164 << 10,
        86 | 89 | 120 | 121 => 100 << 10,
        _ => SHARED_PER_MULTIPROCESSOR,
    }
}

/// Ten times the compute capability: that of the newest processor that device code of the program
/// was built for, but not less than 8.0.
pub fn capability(modules: &Modules) -> c_int {
    modules.newest_arch().max(LEAST_CAPABILITY) as c_int
}

/// Number of blocks that fit on a multiprocessor. Each has `threads` threads and `shared` bytes of
/// shared memory, static and dynamic.
pub fn blocks_per_multiprocessor(threads: u32, shared: usize) -> u32 {
    let threads = threads.max(1).next_multiple_of(WARP_SIZE);
    let by_threads = MAX_THREADS_PER_MULTIPROCESSOR / threads;
    let by_shared = SHARED_PER_MULTIPROCESSOR / (shared + SHARED_RESERVED_PER_BLOCK);
    by_threads.min(MAX_BLOCKS_PER_MULTIPROCESSOR).min(by_shared as u32)
}

/// Lists the field that has the value of each `cudaDeviceAttr`.
macro_rules! attributes {
    ($($number:literal => $field:ident $([$index:literal])?;)*) => {
        /// The value of an attribute that is a field.
        fn field(p: &cudaDeviceProp, attribute: u32) -> Option<c_int> {
            match attribute {
                $($number => Some(p.$field $([$index])? as c_int),)*
                _ => None,
            }
        }

        /// Properties from the values of attributes. A field that is no attribute is 0.
        pub fn of_attributes(ask: impl Fn(u32) -> Option<c_int>) -> cudaDeviceProp {
            // SAFETY: all fields are integers, for which zero is a value.
            let mut p: cudaDeviceProp = unsafe { std::mem::zeroed() };
            $(if let Some(value) = ask($number) {
                p.$field $([$index])? = value as _;
            })*
            p
        }
    };
}

attributes! {
    1 => maxThreadsPerBlock; 2 => maxThreadsDim[0]; 3 => maxThreadsDim[1]; 4 => maxThreadsDim[2];
    5 => maxGridSize[0]; 6 => maxGridSize[1]; 7 => maxGridSize[2]; 8 => sharedMemPerBlock;
    9 => totalConstMem; 10 => warpSize; 11 => memPitch; 12 => regsPerBlock; 13 => clockRate;
    14 => textureAlignment; 15 => deviceOverlap; 16 => multiProcessorCount; 17 => kernelExecTimeoutEnabled;
    18 => integrated; 19 => canMapHostMemory; 20 => computeMode; 21 => maxTexture1D; 22 => maxTexture2D[0];
    23 => maxTexture2D[1]; 24 => maxTexture3D[0]; 25 => maxTexture3D[1]; 26 => maxTexture3D[2];
    27 => maxTexture2DLayered[0]; 28 => maxTexture2DLayered[1]; 29 => maxTexture2DLayered[2];
    30 => surfaceAlignment; 31 => concurrentKernels; 32 => ECCEnabled; 33 => pciBusID; 34 => pciDeviceID;
    35 => tccDriver; 36 => memoryClockRate; 37 => memoryBusWidth; 38 => l2CacheSize;
    39 => maxThreadsPerMultiProcessor; 40 => asyncEngineCount; 41 => unifiedAddressing;
    42 => maxTexture1DLayered[0]; 43 => maxTexture1DLayered[1]; 45 => maxTexture2DGather[0];
    46 => maxTexture2DGather[1]; 47 => maxTexture3DAlt[0]; 48 => maxTexture3DAlt[1];
    49 => maxTexture3DAlt[2]; 50 => pciDomainID; 51 => texturePitchAlignment; 52 => maxTextureCubemap;
    53 => maxTextureCubemapLayered[0]; 54 => maxTextureCubemapLayered[1]; 55 => maxSurface1D;
    56 => maxSurface2D[0]; 57 => maxSurface2D[1]; 58 => maxSurface3D[0]; 59 => maxSurface3D[1];
    60 => maxSurface3D[2]; 61 => maxSurface1DLayered[0]; 62 => maxSurface1DLayered[1];
    63 => maxSurface2DLayered[0]; 64 => maxSurface2DLayered[1]; 65 => maxSurface2DLayered[2];
    66 => maxSurfaceCubemap; 67 => maxSurfaceCubemapLayered[0]; 68 => maxSurfaceCubemapLayered[1];
    69 => maxTexture1DLinear; 70 => maxTexture2DLinear[0]; 71 => maxTexture2DLinear[1];
    72 => maxTexture2DLinear[2]; 73 => maxTexture2DMipmap[0]; 74 => maxTexture2DMipmap[1]; 75 => major;
    76 => minor; 77 => maxTexture1DMipmap; 78 => streamPrioritiesSupported; 79 => globalL1CacheSupported;
    80 => localL1CacheSupported; 81 => sharedMemPerMultiprocessor; 82 => regsPerMultiprocessor;
    83 => managedMemory; 84 => isMultiGpuBoard; 85 => multiGpuBoardGroupID; 86 => hostNativeAtomicSupported;
    87 => singleToDoublePrecisionPerfRatio; 88 => pageableMemoryAccess; 89 => concurrentManagedAccess;
    90 => computePreemptionSupported; 91 => canUseHostPointerForRegisteredMem; 95 => cooperativeLaunch;
    96 => cooperativeMultiDeviceLaunch; 97 => sharedMemPerBlockOptin; 99 => hostRegisterSupported;
    100 => pageableMemoryAccessUsesHostPageTables; 101 => directManagedMemAccessFromHost;
    106 => maxBlocksPerMultiProcessor; 108 => persistingL2CacheMaxSize; 109 => accessPolicyMaxWindowSize;
    111 => reservedSharedMemPerBlock; 112 => sparseCudaArraySupported; 113 => hostRegisterReadOnlySupported;
    114 => timelineSemaphoreInteropSupported; 115 => memoryPoolsSupported; 116 => gpuDirectRDMASupported;
    117 => gpuDirectRDMAFlushWritesOptions; 118 => gpuDirectRDMAWritesOrdering;
    119 => memoryPoolSupportedHandleTypes; 120 => clusterLaunch; 121 => deferredMappingCudaArraySupported;
    125 => ipcEventSupported;
}

/// The value of a `cudaDeviceAttr` or of a `CUdevice_attribute`, which has the same number: a field of
/// [`properties`], or a constant. What gpurace refuses, such as virtual memory (102), is not supported.
///
/// # Errors
/// `cudaErrorInvalidValue` for a number that is no attribute.
pub fn attribute(claims: Claims, attribute: u32) -> Result<c_int> {
    match attribute {
        126 => Ok(1),
        // Devices with clusters have tensor maps.
        127 => Ok(properties(claims).clusterLaunch),
        131 | 134 => Ok(-1),
        92..=94 | 98 | 102..=105 | 107 | 110 | 122..=124 | 128..=130 | 132 | 133 | 135..=147 => Ok(0),
        _ => field(&properties(claims), attribute).ok_or(Error::INVALID_VALUE),
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

    #[test]
    fn shared_memory_is_that_of_the_capability() {
        let shared = |capability| {
            let p = properties(Claims { memory: 1 << 30, multiprocessors: 2, capability });
            [p.sharedMemPerMultiprocessor, p.sharedMemPerBlockOptin].map(|bytes| bytes >> 10)
        };
        for (capability, of) in
            [(80, [164, 163]), (86, [100, 99]), (90, [228, 227]), (100, [228, 227]), (120, [100, 99])]
        {
            assert_eq!(shared(capability), of, "{capability}");
        }
    }
}
