//! The structures that the library shares with C have the layout of the
//! toolkit's headers: a C++ program says what that is.

use std::fmt::Write;
use std::mem::offset_of;
use std::process::Command;

use gpurace_rt::host::device_properties::cudaDeviceProp13;
use gpurace_rt::host::driver_textures::*;
use gpurace_rt::host::driver_types::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUctxCreateParams, CUlaunchConfig,
};
use gpurace_rt::host::types::*;

mod support;

macro_rules! layouts {
    ($($rust:ty as $c:literal { $($field:ident $(as $c_field:literal)?),* $(,)? })*) => {
        /// A line for each structure and field: name, size or offset.
        fn ours() -> String {
            let mut out = String::new();
            $(
                writeln!(out, "{} {}", $c, size_of::<$rust>()).unwrap();
                $(writeln!(out, "{}.{} {}", $c, c_name!($field $(as $c_field)?), offset_of!($rust, $field)).unwrap();)*
            )*
            out
        }

        /// A program that prints the same lines from the headers.
        fn program() -> String {
            let mut out = "#include <cstddef>\n#include <cstdio>\n#include <cuda.h>\n#include <cuda_runtime_api.h>\nint main() {\n".to_owned();
            $(
                writeln!(out, r#"printf("{0} %zu\n", sizeof({0}));"#, $c).unwrap();
                $(writeln!(out, r#"printf("{0}.{1} %zu\n", offsetof({0}, {1}));"#, $c, c_name!($field $(as $c_field)?)).unwrap();)*
            )*
            out + "}\n"
        }
    };
}

macro_rules! c_name {
    ($field:ident as $c_field:literal) => {
        $c_field
    };
    ($field:ident) => {
        stringify!($field)
    };
}

layouts! {
    CUDA_MEMCPY2D as "CUDA_MEMCPY2D" {
        srcXInBytes, srcY, srcMemoryType, srcHost, srcDevice, srcArray, srcPitch, dstXInBytes, dstY,
        dstMemoryType, dstHost, dstDevice, dstArray, dstPitch, WidthInBytes, Height,
    }
    CUDA_MEMCPY3D as "CUDA_MEMCPY3D" {
        srcXInBytes, srcY, srcZ, srcLOD, srcMemoryType, srcHost, srcDevice, srcArray, srcPitch, srcHeight,
        dstXInBytes, dstY, dstZ, dstLOD, dstMemoryType, dstHost, dstDevice, dstArray, dstPitch, dstHeight,
        WidthInBytes, Height, Depth,
    }
    CUDA_ARRAY_DESCRIPTOR as "CUDA_ARRAY_DESCRIPTOR" { Width, Height, Format, NumChannels }
    CUDA_ARRAY3D_DESCRIPTOR as "CUDA_ARRAY3D_DESCRIPTOR" { Width, Height, Depth, Format, NumChannels, Flags }
    CUDA_RESOURCE_DESC as "CUDA_RESOURCE_DESC" { resType, res, flags }
    DriverLinearResource as "decltype(CUDA_RESOURCE_DESC::res.linear)" { devPtr, format, numChannels, sizeInBytes }
    DriverPitchedResource as "decltype(CUDA_RESOURCE_DESC::res.pitch2D)" {
        devPtr, format, numChannels, width, height, pitchInBytes,
    }
    CUDA_TEXTURE_DESC as "CUDA_TEXTURE_DESC" {
        addressMode, filterMode, flags, maxAnisotropy, mipmapFilterMode, mipmapLevelBias, minMipmapLevelClamp,
        maxMipmapLevelClamp, borderColor, reserved,
    }
    CUctxCreateParams as "CUctxCreateParams" { execAffinityParams, numExecAffinityParams, cigParams }
    CUlaunchConfig as "CUlaunchConfig" {
        gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, attrs, numAttrs,
    }
    CUDA_KERNEL_NODE_PARAMS as "CUDA_KERNEL_NODE_PARAMS" {
        func, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, kernelParams,
        extra, kern, ctx,
    }
    dim3 as "dim3" { x, y, z }
    cudaPitchedPtr as "cudaPitchedPtr" { ptr, pitch, xsize, ysize }
    cudaExtent as "cudaExtent" { width, height, depth }
    cudaPos as "cudaPos" { x, y, z }
    cudaMemcpy3DParms as "cudaMemcpy3DParms" { srcArray, srcPos, srcPtr, dstArray, dstPos, dstPtr, extent, kind }
    cudaMemcpy3DPeerParms as "cudaMemcpy3DPeerParms" { srcArray, srcPos, srcPtr, srcDevice, dstArray, dstPos, dstPtr, dstDevice, extent }
    cudaChannelFormatDesc as "cudaChannelFormatDesc" { x, y, z, w, f }
    cudaPointerAttributes as "cudaPointerAttributes" { kind as "type", device, devicePointer, hostPointer }
    cudaMemsetParams as "cudaMemsetParams" { dst, pitch, value, elementSize, width, height }
    cudaKernelNodeParams as "cudaKernelNodeParams" { func, gridDim, blockDim, sharedMemBytes, kernelParams, extra }
    cudaMemAllocNodeParams as "cudaMemAllocNodeParams" { poolProps, accessDescs, accessDescCount, bytesize, dptr }
    cudaGraphExecUpdateResultInfo as "cudaGraphExecUpdateResultInfo" { result, errorNode, errorFromNode }
    cudaResourceDesc as "cudaResourceDesc" { resType, res }
    LinearResource as "decltype(cudaResourceDesc::res.linear)" { devPtr, desc, sizeInBytes }
    PitchedResource as "decltype(cudaResourceDesc::res.pitch2D)" { devPtr, desc, width, height, pitchInBytes }
    cudaTextureDesc as "cudaTextureDesc" {
        addressMode, filterMode, readMode, sRGB, borderColor, normalizedCoords, maxAnisotropy,
        mipmapFilterMode, mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp,
        disableTrilinearOptimization, seamlessCubemap,
    }
    cudaFuncAttributes as "cudaFuncAttributes" {
        sharedSizeBytes, constSizeBytes, localSizeBytes, maxThreadsPerBlock, numRegs, ptxVersion,
        binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes, preferredShmemCarveout,
        clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth,
        clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved,
    }
    cudaLaunchAttribute as "cudaLaunchAttribute" { id, val }
    cudaLaunchConfig_t as "cudaLaunchConfig_t" { gridDim, blockDim, dynamicSmemBytes, stream, attrs, numAttrs }
    cudaMemLocation as "cudaMemLocation" { kind as "type", id }
    cudaMemPoolProps as "cudaMemPoolProps" { allocType, handleTypes, location, win32SecurityAttributes, maxSize, usage, reserved }
    cudaMemAccessDesc as "cudaMemAccessDesc" { location, flags }
    cudaDeviceProp13 as "cudaDeviceProp" {
        name, uuid, luid, luidDeviceNodeMask, totalGlobalMem, sharedMemPerBlock, regsPerBlock,
        warpSize, memPitch, maxThreadsPerBlock, maxThreadsDim, maxGridSize,
        totalConstMem, major, minor, textureAlignment, texturePitchAlignment,
        multiProcessorCount, integrated, canMapHostMemory,
        maxTexture1D, maxTexture1DMipmap, maxTexture2D, maxTexture2DMipmap,
        maxTexture2DLinear, maxTexture2DGather, maxTexture3D, maxTexture3DAlt, maxTextureCubemap,
        maxTexture1DLayered, maxTexture2DLayered, maxTextureCubemapLayered, maxSurface1D,
        maxSurface2D, maxSurface3D, maxSurface1DLayered, maxSurface2DLayered, maxSurfaceCubemap,
        maxSurfaceCubemapLayered, surfaceAlignment, concurrentKernels, ECCEnabled, pciBusID,
        pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing,
        memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor,
        streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported,
        sharedMemPerMultiprocessor, regsPerMultiprocessor, managedMemory, isMultiGpuBoard,
        multiGpuBoardGroupID, hostNativeAtomicSupported,
        pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
        canUseHostPointerForRegisteredMem, cooperativeLaunch,
        sharedMemPerBlockOptin, pageableMemoryAccessUsesHostPageTables,
        directManagedMemAccessFromHost, maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize,
        reservedSharedMemPerBlock, hostRegisterSupported, sparseCudaArraySupported,
        hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported, memoryPoolsSupported,
        gpuDirectRDMASupported, gpuDirectRDMAFlushWritesOptions, gpuDirectRDMAWritesOrdering,
        memoryPoolSupportedHandleTypes, deferredMappingCudaArraySupported, ipcEventSupported,
        clusterLaunch, unifiedFunctionPointers, deviceNumaConfig, deviceNumaId, mpsEnabled,
        hostNumaId, gpuPciDeviceID, gpuPciSubsystemID, hostNumaMultinodeIpcSupported, reserved,
    }
}

#[test]
fn structures_have_the_headers_layout() {
    let (Some(toolkit), Some(clang)) = (support::toolkit(), support::clang()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("layout.cpp");
    let binary = folder.path().join("layout");
    std::fs::write(&source, program()).unwrap();
    support::compile(
        Command::new(clang)
            .args(["-x", "c++", "-Wno-invalid-offsetof"])
            .arg(format!("-I{}", toolkit.join("include").display()))
            .arg(&source)
            .arg("-o")
            .arg(&binary),
    );
    let (status, theirs, _) = support::run(&mut Command::new(&binary));
    assert_eq!(status, Some(0));
    // CUDA 13 has reserved bytes at the ends of these.
    let longer = ["cudaPointerAttributes ", "cudaResourceDesc "];
    let known = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !longer.iter().any(|name| line.starts_with(name)));
        lines.map(Into::into).collect()
    };
    assert_eq!(known(&ours()), known(&theirs));
}
