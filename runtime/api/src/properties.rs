//! What the executor claims to be: one device of compute capability 8.0. The
//! limits are those of the CUDA C++ Programming Guide, "Technical
//! Specifications per Compute Capability"; what depends on the machine
//! (memory, cores) is asked for once.

use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

use gpurace_abi::context::{MAX_THREADS_PER_BLOCK, WARP_SIZE};

use crate::errors::{Error, Result};
use crate::executor;
use crate::types::cudaDeviceProp;

/// Name of the device.
pub const NAME: &str = "gpurace CPU executor";
/// Compute capability, major and minor.
pub const COMPUTE_CAPABILITY: (c_int, c_int) = (8, 0);
/// Shared memory that a block has without asking, static and dynamic, bytes.
pub const SHARED_PER_BLOCK: usize = 48 << 10;
/// Most shared memory of a block whose kernel asked for it, bytes. Compute
/// capability 8.0 has 163 KiB; programs written for 9.0 get its 227 KiB too.
pub const SHARED_PER_BLOCK_OPTIN: usize = 227 << 10;
/// Shared memory of a multiprocessor, bytes.
pub const SHARED_PER_MULTIPROCESSOR: usize = 228 << 10;
/// Shared memory that each block costs beside its own, bytes.
pub const SHARED_RESERVED_PER_BLOCK: usize = 1 << 10;
/// Most threads of one dimension of a block.
pub const MAX_BLOCK_DIM: [u32; 3] = [1024, 1024, 64];
/// Most blocks of one dimension of a grid.
pub const MAX_GRID_DIM: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Most threads resident on a multiprocessor.
pub const MAX_THREADS_PER_MULTIPROCESSOR: u32 = 2048;
/// Most blocks resident on a multiprocessor.
pub const MAX_BLOCKS_PER_MULTIPROCESSOR: u32 = 32;
/// 32-bit registers of a block and of a multiprocessor.
pub const REGISTERS: c_int = 65536;
/// Constant memory, bytes.
pub const CONSTANT_MEMORY: usize = 64 << 10;
/// Version of the runtime and of the driver that it claims, CUDA 12.5.
pub const CUDA_VERSION: c_int = 12050;
/// Clock of the device, kHz.
const CLOCK_KHZ: c_int = 1_000_000;
/// Alignment of rows from `cudaMallocPitch`, bytes.
pub const PITCH_ALIGNMENT: usize = 512;
/// Largest pitch, bytes.
pub const MAX_PITCH: usize = i32::MAX as usize;

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

/// Size of the device's memory, bytes.
pub fn total_memory() -> usize {
    static TOTAL: OnceLock<usize> = OnceLock::new();
    *TOTAL.get_or_init(|| memory_info().1)
}

/// How many multiprocessors the device claims: one per core, so that grids
/// that are sized to fill the device stay small.
pub fn multiprocessors() -> c_int {
    static COUNT: OnceLock<c_int> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        // A grid that fills the device must be able to wait for itself.
        let resident = executor::max_cooperative_blocks(MAX_THREADS_PER_MULTIPROCESSOR, 0) as usize;
        cores.clamp(2, 128).min(resident.max(1)) as c_int
    })
}

/// Everything that `cudaGetDeviceProperties` says.
pub fn properties() -> cudaDeviceProp {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut p: cudaDeviceProp = unsafe { std::mem::zeroed() };
    for (to, from) in p.name.iter_mut().zip(NAME.bytes()) {
        *to = from as c_char;
    }
    p.uuid = *b"gpurace-executor";
    p.totalGlobalMem = total_memory();
    p.sharedMemPerBlock = SHARED_PER_BLOCK;
    p.regsPerBlock = REGISTERS;
    p.warpSize = WARP_SIZE as c_int;
    p.memPitch = MAX_PITCH;
    p.maxThreadsPerBlock = MAX_THREADS_PER_BLOCK as c_int;
    p.maxThreadsDim = MAX_BLOCK_DIM.map(|n| n as c_int);
    p.maxGridSize = MAX_GRID_DIM.map(|n| n as c_int);
    p.clockRate = CLOCK_KHZ;
    p.totalConstMem = CONSTANT_MEMORY;
    (p.major, p.minor) = COMPUTE_CAPABILITY;
    p.textureAlignment = 512;
    p.texturePitchAlignment = 32;
    p.deviceOverlap = 1;
    p.multiProcessorCount = multiprocessors();
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
    p.sharedMemPerMultiprocessor = SHARED_PER_MULTIPROCESSOR;
    p.regsPerMultiprocessor = REGISTERS;
    p.managedMemory = 1;
    p.singleToDoublePrecisionPerfRatio = 2;
    p.concurrentManagedAccess = 1;
    p.canUseHostPointerForRegisteredMem = 1;
    p.cooperativeLaunch = 1;
    p.clusterLaunch = 1;
    p.sharedMemPerBlockOptin = SHARED_PER_BLOCK_OPTIN;
    p.maxBlocksPerMultiProcessor = MAX_BLOCKS_PER_MULTIPROCESSOR as c_int;
    p.reservedSharedMemPerBlock = SHARED_RESERVED_PER_BLOCK;
    p.hostRegisterSupported = 1;
    // The executor could read pageable memory, yet most GPUs cannot: a program
    // that is told so takes the path that it takes there.
    p.hostRegisterReadOnlySupported = 1;
    p.memoryPoolsSupported = 1;
    p.unifiedFunctionPointers = 0;
    p
}

/// The value of a `cudaDeviceAttr`: what [`properties`] has, or a constant.
///
/// # Errors
/// `cudaErrorInvalidValue` for a number that is no attribute.
pub fn attribute(attribute: u32) -> Result<c_int> {
    let p = properties();
    Ok(match attribute {
        1 => p.maxThreadsPerBlock,
        2..=4 => p.maxThreadsDim[attribute as usize - 2],
        5..=7 => p.maxGridSize[attribute as usize - 5],
        8 => p.sharedMemPerBlock as c_int,
        9 => p.totalConstMem as c_int,
        10 => p.warpSize,
        11 => p.memPitch as c_int,
        12 => p.regsPerBlock,
        13 => p.clockRate,
        14 => p.textureAlignment as c_int,
        15 => p.deviceOverlap,
        16 => p.multiProcessorCount,
        17 => p.kernelExecTimeoutEnabled,
        18 => p.integrated,
        19 => p.canMapHostMemory,
        20 => p.computeMode,
        21 => p.maxTexture1D,
        22 | 23 => p.maxTexture2D[attribute as usize - 22],
        24..=26 => p.maxTexture3D[attribute as usize - 24],
        27..=29 => p.maxTexture2DLayered[attribute as usize - 27],
        30 => p.surfaceAlignment as c_int,
        31 => p.concurrentKernels,
        32 => p.ECCEnabled,
        33 => p.pciBusID,
        34 => p.pciDeviceID,
        35 => p.tccDriver,
        36 => p.memoryClockRate,
        37 => p.memoryBusWidth,
        38 => p.l2CacheSize,
        39 => p.maxThreadsPerMultiProcessor,
        40 => p.asyncEngineCount,
        41 => p.unifiedAddressing,
        42 | 43 => p.maxTexture1DLayered[attribute as usize - 42],
        45 | 46 => p.maxTexture2DGather[attribute as usize - 45],
        47..=49 => p.maxTexture3DAlt[attribute as usize - 47],
        50 => p.pciDomainID,
        51 => p.texturePitchAlignment as c_int,
        52 => p.maxTextureCubemap,
        53 | 54 => p.maxTextureCubemapLayered[attribute as usize - 53],
        55 => p.maxSurface1D,
        56 | 57 => p.maxSurface2D[attribute as usize - 56],
        58..=60 => p.maxSurface3D[attribute as usize - 58],
        61 | 62 => p.maxSurface1DLayered[attribute as usize - 61],
        63..=65 => p.maxSurface2DLayered[attribute as usize - 63],
        66 => p.maxSurfaceCubemap,
        67 | 68 => p.maxSurfaceCubemapLayered[attribute as usize - 67],
        69 => p.maxTexture1DLinear,
        70..=72 => p.maxTexture2DLinear[attribute as usize - 70],
        73 | 74 => p.maxTexture2DMipmap[attribute as usize - 73],
        75 => p.major,
        76 => p.minor,
        77 => p.maxTexture1DMipmap,
        78 => p.streamPrioritiesSupported,
        79 => p.globalL1CacheSupported,
        80 => p.localL1CacheSupported,
        81 => p.sharedMemPerMultiprocessor as c_int,
        82 => p.regsPerMultiprocessor,
        83 => p.managedMemory,
        84 => p.isMultiGpuBoard,
        85 => p.multiGpuBoardGroupID,
        86 => p.hostNativeAtomicSupported,
        87 => p.singleToDoublePrecisionPerfRatio,
        88 => p.pageableMemoryAccess,
        89 => p.concurrentManagedAccess,
        90 => p.computePreemptionSupported,
        91 => p.canUseHostPointerForRegisteredMem,
        95 => p.cooperativeLaunch,
        96 => p.cooperativeMultiDeviceLaunch,
        97 => p.sharedMemPerBlockOptin as c_int,
        99 => p.hostRegisterSupported,
        100 => p.pageableMemoryAccessUsesHostPageTables,
        101 => p.directManagedMemAccessFromHost,
        106 => p.maxBlocksPerMultiProcessor,
        108 => p.persistingL2CacheMaxSize,
        109 => p.accessPolicyMaxWindowSize,
        111 => p.reservedSharedMemPerBlock as c_int,
        112 => p.sparseCudaArraySupported,
        113 => p.hostRegisterReadOnlySupported,
        114 => p.timelineSemaphoreInteropSupported,
        115 => p.memoryPoolsSupported,
        116 => p.gpuDirectRDMASupported,
        117 => p.gpuDirectRDMAFlushWritesOptions as c_int,
        118 => p.gpuDirectRDMAWritesOrdering,
        119 => p.memoryPoolSupportedHandleTypes as c_int,
        120 => p.clusterLaunch,
        121 => p.deferredMappingCudaArraySupported,
        125 => p.ipcEventSupported,
        126 => 1,
        131 | 134 => -1,
        92..=94 | 98 | 122..=124 | 127..=130 | 132 | 133 | 135 => 0,
        _ => return Err(Error::INVALID_VALUE),
    })
}
