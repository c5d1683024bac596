//! `cudaDeviceProp` as CUDA 12 and as CUDA 13 lay it out. `tests/layout.rs` compares them with the header.
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ffi::{c_char, c_int};

/// Declares `cudaDeviceProp` as CUDA 12 and as CUDA 13 have it: fields of both, those of the older form alone, those of
/// the newer form alone, which are zero, and at last older ones that the newer form has at its end.
macro_rules! device_properties {
    ($(both { $($kept:ident: $kept_type:ty),* $(,)? } old { $($gone:ident: $gone_type:ty),* })*
     new { $($new:ident: $new_type:ty,)* } at_the_end { $($moved:ident: $moved_type:ty,)* }) => {
        /// `cudaDeviceProp` as `cudaGetDeviceProperties_v2` fills it.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct cudaDeviceProp {
            $($(pub $kept: $kept_type,)* $(pub $gone: $gone_type,)*)*
        }

        /// `cudaDeviceProp` as `cudaGetDeviceProperties` of CUDA 13 fills it.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct cudaDeviceProp13 {
            $($(pub $kept: $kept_type,)*)*
            $(pub $new: $new_type,)*
            $(pub $moved: $moved_type,)*
        }

        impl From<cudaDeviceProp> for cudaDeviceProp13 {
            fn from(old: cudaDeviceProp) -> Self {
                Self {
                    $($($kept: old.$kept,)*)*
                    // SAFETY: all fields are integers, for which zero is a value.
                    $($new: unsafe { std::mem::zeroed() },)*
                    $($moved: old.$moved,)*
                }
            }
        }
    };
}

device_properties! {
    both {
        name: [c_char; 256],
        uuid: [u8; 16],
        luid: [c_char; 8],
        luidDeviceNodeMask: u32,
        totalGlobalMem: usize,
        sharedMemPerBlock: usize,
        regsPerBlock: c_int,
        warpSize: c_int,
        memPitch: usize,
        maxThreadsPerBlock: c_int,
        maxThreadsDim: [c_int; 3],
        maxGridSize: [c_int; 3],
    }
    old { clockRate: c_int }
    both {
        totalConstMem: usize,
        major: c_int,
        minor: c_int,
        textureAlignment: usize,
        texturePitchAlignment: usize,
    }
    old { deviceOverlap: c_int }
    both {
        multiProcessorCount: c_int,
    }
    old { kernelExecTimeoutEnabled: c_int }
    both {
        integrated: c_int,
        canMapHostMemory: c_int,
    }
    old { computeMode: c_int }
    both {
        maxTexture1D: c_int,
        maxTexture1DMipmap: c_int,
    }
    old { maxTexture1DLinear: c_int }
    both {
        maxTexture2D: [c_int; 2],
        maxTexture2DMipmap: [c_int; 2],
        maxTexture2DLinear: [c_int; 3],
        maxTexture2DGather: [c_int; 2],
        maxTexture3D: [c_int; 3],
        maxTexture3DAlt: [c_int; 3],
        maxTextureCubemap: c_int,
        maxTexture1DLayered: [c_int; 2],
        maxTexture2DLayered: [c_int; 3],
        maxTextureCubemapLayered: [c_int; 2],
        maxSurface1D: c_int,
        maxSurface2D: [c_int; 2],
        maxSurface3D: [c_int; 3],
        maxSurface1DLayered: [c_int; 2],
        maxSurface2DLayered: [c_int; 3],
        maxSurfaceCubemap: c_int,
        maxSurfaceCubemapLayered: [c_int; 2],
        surfaceAlignment: usize,
        concurrentKernels: c_int,
        ECCEnabled: c_int,
        pciBusID: c_int,
        pciDeviceID: c_int,
        pciDomainID: c_int,
        tccDriver: c_int,
        asyncEngineCount: c_int,
        unifiedAddressing: c_int,
    }
    old { memoryClockRate: c_int }
    both {
        memoryBusWidth: c_int,
        l2CacheSize: c_int,
        persistingL2CacheMaxSize: c_int,
        maxThreadsPerMultiProcessor: c_int,
        streamPrioritiesSupported: c_int,
        globalL1CacheSupported: c_int,
        localL1CacheSupported: c_int,
        sharedMemPerMultiprocessor: usize,
        regsPerMultiprocessor: c_int,
        managedMemory: c_int,
        isMultiGpuBoard: c_int,
        multiGpuBoardGroupID: c_int,
        hostNativeAtomicSupported: c_int,
    }
    old { singleToDoublePrecisionPerfRatio: c_int }
    both {
        pageableMemoryAccess: c_int,
        concurrentManagedAccess: c_int,
        computePreemptionSupported: c_int,
        canUseHostPointerForRegisteredMem: c_int,
        cooperativeLaunch: c_int,
    }
    old { cooperativeMultiDeviceLaunch: c_int }
    both {
        sharedMemPerBlockOptin: usize,
        pageableMemoryAccessUsesHostPageTables: c_int,
        directManagedMemAccessFromHost: c_int,
        maxBlocksPerMultiProcessor: c_int,
        accessPolicyMaxWindowSize: c_int,
        reservedSharedMemPerBlock: usize,
        hostRegisterSupported: c_int,
        sparseCudaArraySupported: c_int,
        hostRegisterReadOnlySupported: c_int,
        timelineSemaphoreInteropSupported: c_int,
        memoryPoolsSupported: c_int,
        gpuDirectRDMASupported: c_int,
        gpuDirectRDMAFlushWritesOptions: u32,
        gpuDirectRDMAWritesOrdering: c_int,
        memoryPoolSupportedHandleTypes: u32,
        deferredMappingCudaArraySupported: c_int,
        ipcEventSupported: c_int,
        clusterLaunch: c_int,
        unifiedFunctionPointers: c_int,
    }
    old { reserved2: [c_int; 2], reserved1: [c_int; 1], reserved: [c_int; 60] }
    new {
        deviceNumaConfig: c_int,
        deviceNumaId: c_int,
        mpsEnabled: c_int,
        hostNumaId: c_int,
        gpuPciDeviceID: u32,
        gpuPciSubsystemID: u32,
        hostNumaMultinodeIpcSupported: c_int,
        reserved: [c_int; 48],
    }
    // gclang's copy of the header names these (`MEMBERS` in driver/src/cuda13.rs). To CUDA 13 they are reserved.
    at_the_end {
        clockRate: c_int,
        deviceOverlap: c_int,
        kernelExecTimeoutEnabled: c_int,
        computeMode: c_int,
        maxTexture1DLinear: c_int,
        memoryClockRate: c_int,
        singleToDoublePrecisionPerfRatio: c_int,
        cooperativeMultiDeviceLaunch: c_int,
    }
}

const _: () = assert!(size_of::<cudaDeviceProp>() == 1032);
