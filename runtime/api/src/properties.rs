//! What the executor claims to be: one device of compute capability 8.0, or of that which the
//! program is built for, where that is higher. The
//! limits are those of the CUDA C++ Programming Guide, "Technical
//! Specifications per Compute Capability"; what depends on the machine
//! (memory, cores) is asked for once.

use std::ffi::{c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use gpurace_abi::context::{MAX_THREADS_PER_BLOCK, WARP_SIZE};

use crate::backend::executor;
use crate::errors::{Error, Result};
use crate::types::cudaDeviceProp;

/// Name of the device.
pub const NAME: &str = "gpurace CPU executor";
/// Ten times the compute capability: that of the newest processor that device code was built for.
static CAPABILITY: AtomicU32 = AtomicU32::new(80);
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
    (p.major, p.minor) = (capability() / 10, capability() % 10);
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

/// Device code of the program is built for this processor: 90 for `sm_90`.
pub fn built_for(arch: u32) {
    CAPABILITY.fetch_max(arch, Ordering::Relaxed);
}

/// Ten times the compute capability.
pub fn capability() -> c_int {
    CAPABILITY.load(Ordering::Relaxed) as c_int
}

/// Which field has the value of which `cudaDeviceAttr`.
macro_rules! attributes {
    ($($number:literal => $field:ident $([$index:literal])?;)*) => {
        /// The value of an attribute that a field has.
        fn field(p: &cudaDeviceProp, attribute: u32) -> Option<c_int> {
            match attribute {
                $($number => Some(p.$field $([$index])? as c_int),)*
                _ => None,
            }
        }

        /// Properties of attributes; what is no attribute is 0.
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
    1 => maxThreadsPerBlock;
    2 => maxThreadsDim[0];
    3 => maxThreadsDim[1];
    4 => maxThreadsDim[2];
    5 => maxGridSize[0];
    6 => maxGridSize[1];
    7 => maxGridSize[2];
    8 => sharedMemPerBlock;
    9 => totalConstMem;
    10 => warpSize;
    11 => memPitch;
    12 => regsPerBlock;
    13 => clockRate;
    14 => textureAlignment;
    15 => deviceOverlap;
    16 => multiProcessorCount;
    17 => kernelExecTimeoutEnabled;
    18 => integrated;
    19 => canMapHostMemory;
    20 => computeMode;
    21 => maxTexture1D;
    22 => maxTexture2D[0];
    23 => maxTexture2D[1];
    24 => maxTexture3D[0];
    25 => maxTexture3D[1];
    26 => maxTexture3D[2];
    27 => maxTexture2DLayered[0];
    28 => maxTexture2DLayered[1];
    29 => maxTexture2DLayered[2];
    30 => surfaceAlignment;
    31 => concurrentKernels;
    32 => ECCEnabled;
    33 => pciBusID;
    34 => pciDeviceID;
    35 => tccDriver;
    36 => memoryClockRate;
    37 => memoryBusWidth;
    38 => l2CacheSize;
    39 => maxThreadsPerMultiProcessor;
    40 => asyncEngineCount;
    41 => unifiedAddressing;
    42 => maxTexture1DLayered[0];
    43 => maxTexture1DLayered[1];
    45 => maxTexture2DGather[0];
    46 => maxTexture2DGather[1];
    47 => maxTexture3DAlt[0];
    48 => maxTexture3DAlt[1];
    49 => maxTexture3DAlt[2];
    50 => pciDomainID;
    51 => texturePitchAlignment;
    52 => maxTextureCubemap;
    53 => maxTextureCubemapLayered[0];
    54 => maxTextureCubemapLayered[1];
    55 => maxSurface1D;
    56 => maxSurface2D[0];
    57 => maxSurface2D[1];
    58 => maxSurface3D[0];
    59 => maxSurface3D[1];
    60 => maxSurface3D[2];
    61 => maxSurface1DLayered[0];
    62 => maxSurface1DLayered[1];
    63 => maxSurface2DLayered[0];
    64 => maxSurface2DLayered[1];
    65 => maxSurface2DLayered[2];
    66 => maxSurfaceCubemap;
    67 => maxSurfaceCubemapLayered[0];
    68 => maxSurfaceCubemapLayered[1];
    69 => maxTexture1DLinear;
    70 => maxTexture2DLinear[0];
    71 => maxTexture2DLinear[1];
    72 => maxTexture2DLinear[2];
    73 => maxTexture2DMipmap[0];
    74 => maxTexture2DMipmap[1];
    75 => major;
    76 => minor;
    77 => maxTexture1DMipmap;
    78 => streamPrioritiesSupported;
    79 => globalL1CacheSupported;
    80 => localL1CacheSupported;
    81 => sharedMemPerMultiprocessor;
    82 => regsPerMultiprocessor;
    83 => managedMemory;
    84 => isMultiGpuBoard;
    85 => multiGpuBoardGroupID;
    86 => hostNativeAtomicSupported;
    87 => singleToDoublePrecisionPerfRatio;
    88 => pageableMemoryAccess;
    89 => concurrentManagedAccess;
    90 => computePreemptionSupported;
    91 => canUseHostPointerForRegisteredMem;
    95 => cooperativeLaunch;
    96 => cooperativeMultiDeviceLaunch;
    97 => sharedMemPerBlockOptin;
    99 => hostRegisterSupported;
    100 => pageableMemoryAccessUsesHostPageTables;
    101 => directManagedMemAccessFromHost;
    106 => maxBlocksPerMultiProcessor;
    108 => persistingL2CacheMaxSize;
    109 => accessPolicyMaxWindowSize;
    111 => reservedSharedMemPerBlock;
    112 => sparseCudaArraySupported;
    113 => hostRegisterReadOnlySupported;
    114 => timelineSemaphoreInteropSupported;
    115 => memoryPoolsSupported;
    116 => gpuDirectRDMASupported;
    117 => gpuDirectRDMAFlushWritesOptions;
    118 => gpuDirectRDMAWritesOrdering;
    119 => memoryPoolSupportedHandleTypes;
    120 => clusterLaunch;
    121 => deferredMappingCudaArraySupported;
    125 => ipcEventSupported;
}

/// The value of a `cudaDeviceAttr`: what [`properties`] has, or a constant.
///
/// # Errors
/// `cudaErrorInvalidValue` for a number that is no attribute.
pub fn attribute(attribute: u32) -> Result<c_int> {
    match attribute {
        126 => Ok(1),
        131 | 134 => Ok(-1),
        92..=94 | 98 | 122..=124 | 127..=130 | 132 | 133 | 135 => Ok(0),
        _ => field(&properties(), attribute).ok_or(Error::INVALID_VALUE),
    }
}
