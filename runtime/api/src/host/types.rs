//! Structures of `driver_types.h` (CUDA 12 and 13), laid out as C has them.
//! `tests/layout.rs` compares them with the header.
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ffi::{c_int, c_void};

/// `dim3` and `uint3`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl dim3 {
    /// As an array, `x` first.
    pub fn to_array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// Opaque handle of a stream: null, 1 and 2 are the default streams.
pub type cudaStream_t = *mut c_void;
/// Opaque handle of an event.
pub type cudaEvent_t = *mut c_void;
/// Opaque handle of an array.
pub type cudaArray_t = *mut c_void;
/// Opaque handle of a memory pool.
pub type cudaMemPool_t = *mut c_void;
/// Host function on a stream.
pub type cudaHostFn_t = Option<unsafe extern "C" fn(*mut c_void)>;
/// Callback on a stream.
pub type cudaStreamCallback_t =
    Option<unsafe extern "C" fn(cudaStream_t, crate::host::errors::Error, *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaPitchedPtr {
    pub ptr: *mut c_void,
    pub pitch: usize,
    pub xsize: usize,
    pub ysize: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cudaExtent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cudaPos {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaMemcpy3DParms {
    pub srcArray: cudaArray_t,
    pub srcPos: cudaPos,
    pub srcPtr: cudaPitchedPtr,
    pub dstArray: cudaArray_t,
    pub dstPos: cudaPos,
    pub dstPtr: cudaPitchedPtr,
    pub extent: cudaExtent,
    pub kind: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaMemcpy3DPeerParms {
    pub srcArray: cudaArray_t,
    pub srcPos: cudaPos,
    pub srcPtr: cudaPitchedPtr,
    pub srcDevice: c_int,
    pub dstArray: cudaArray_t,
    pub dstPos: cudaPos,
    pub dstPtr: cudaPitchedPtr,
    pub dstDevice: c_int,
    pub extent: cudaExtent,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cudaChannelFormatDesc {
    pub x: c_int,
    pub y: c_int,
    pub z: c_int,
    pub w: c_int,
    pub f: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaMemsetParams {
    pub dst: *mut c_void,
    pub pitch: usize,
    pub value: u32,
    pub elementSize: u32,
    pub width: usize,
    pub height: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaKernelNodeParams {
    pub func: *mut c_void,
    pub gridDim: dim3,
    pub blockDim: dim3,
    pub sharedMemBytes: u32,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaHostNodeParams {
    pub r#fn: cudaHostFn_t,
    pub userData: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaMemAllocNodeParams {
    pub poolProps: cudaMemPoolProps,
    pub accessDescs: *const cudaMemAccessDesc,
    pub accessDescCount: usize,
    pub bytesize: usize,
    pub dptr: *mut c_void,
}

/// `cudaGraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaGraphExecUpdateResultInfo {
    pub result: u32,
    pub errorNode: *mut c_void,
    pub errorFromNode: *mut c_void,
}

/// `cudaResourceDesc`. The union is kept as words.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaResourceDesc {
    pub resType: u32,
    pub res: [u64; 7],
}

/// `cudaResourceDesc::res.linear`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LinearResource {
    pub devPtr: *mut c_void,
    pub desc: cudaChannelFormatDesc,
    pub sizeInBytes: usize,
}

/// `cudaResourceDesc::res.pitch2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PitchedResource {
    pub devPtr: *mut c_void,
    pub desc: cudaChannelFormatDesc,
    pub width: usize,
    pub height: usize,
    pub pitchInBytes: usize,
}

impl cudaResourceDesc {
    /// The union as `res.linear`.
    pub fn linear(&self) -> LinearResource {
        // SAFETY: it fits into the union, and any words are a value of it.
        unsafe { self.res.as_ptr().cast::<LinearResource>().read() }
    }

    /// The union as `res.pitch2D`.
    pub fn pitched(&self) -> PitchedResource {
        // SAFETY: it fits into the union, and any words are a value of it.
        unsafe { self.res.as_ptr().cast::<PitchedResource>().read() }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaTextureDesc {
    pub addressMode: [u32; 3],
    pub filterMode: u32,
    pub readMode: u32,
    pub sRGB: c_int,
    pub borderColor: [f32; 4],
    pub normalizedCoords: c_int,
    pub maxAnisotropy: u32,
    pub mipmapFilterMode: u32,
    pub mipmapLevelBias: f32,
    pub minMipmapLevelClamp: f32,
    pub maxMipmapLevelClamp: f32,
    pub disableTrilinearOptimization: c_int,
    pub seamlessCubemap: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaPointerAttributes {
    pub kind: u32,
    pub device: c_int,
    pub devicePointer: *mut c_void,
    pub hostPointer: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct cudaFuncAttributes {
    pub sharedSizeBytes: usize,
    pub constSizeBytes: usize,
    pub localSizeBytes: usize,
    pub maxThreadsPerBlock: c_int,
    pub numRegs: c_int,
    pub ptxVersion: c_int,
    pub binaryVersion: c_int,
    pub cacheModeCA: c_int,
    pub maxDynamicSharedSizeBytes: c_int,
    pub preferredShmemCarveout: c_int,
    pub clusterDimMustBeSet: c_int,
    pub requiredClusterWidth: c_int,
    pub requiredClusterHeight: c_int,
    pub requiredClusterDepth: c_int,
    pub clusterSchedulingPolicyPreference: c_int,
    pub nonPortableClusterSizeAllowed: c_int,
    pub reserved: [c_int; 16],
}

/// `cudaLaunchAttribute`. The union is kept as words. Most of its members are one word.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaLaunchAttribute {
    pub id: u32,
    pub pad: [u8; 4],
    pub val: [u64; 8],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaLaunchConfig_t {
    pub gridDim: dim3,
    pub blockDim: dim3,
    pub dynamicSmemBytes: usize,
    pub stream: cudaStream_t,
    pub attrs: *mut cudaLaunchAttribute,
    pub numAttrs: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaMemLocation {
    pub kind: u32,
    pub id: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaMemPoolProps {
    pub allocType: u32,
    pub handleTypes: u32,
    pub location: cudaMemLocation,
    pub win32SecurityAttributes: *mut c_void,
    pub maxSize: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaMemAccessDesc {
    pub location: cudaMemLocation,
    pub flags: u32,
}

/// `__fatBinC_Wrapper_t`, what `__cudaRegisterFatBinary` is given.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FatbinWrapper {
    pub magic: u32,
    pub version: u32,
    pub data: *const u8,
    pub filename_or_fatbins: *const c_void,
}

/// The data of an edge of a graph: ports and type. All zero: the edge orders the whole nodes.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct cudaGraphEdgeData(pub [u8; 8]);

const _: () = {
    // In CUDA 13 these two are longer, so the test does not compare them.
    assert!(size_of::<cudaPointerAttributes>() == 24);
    assert!(size_of::<cudaResourceDesc>() == 64);
    assert!(size_of::<PitchedResource>() <= size_of::<[u64; 7]>());
};

/// The default stream of functions without a stream argument.
pub const DEFAULT_STREAM: cudaStream_t = std::ptr::null_mut();
/// `cudaMemcpyHostToHost`.
pub const COPY_HOST_TO_HOST: u32 = 0;
/// `cudaMemcpyHostToDevice`.
pub const COPY_HOST_TO_DEVICE: u32 = 1;
/// `cudaMemcpyDeviceToHost`.
pub const COPY_DEVICE_TO_HOST: u32 = 2;
/// `cudaMemcpyDeviceToDevice`.
pub const COPY_DEVICE_TO_DEVICE: u32 = 3;
/// `cudaMemcpyDefault`: the addresses say where the memory is.
pub const COPY_DEFAULT: u32 = 4;
/// `cudaResourceTypeArray`.
pub const RESOURCE_ARRAY: u32 = 0;
/// `cudaResourceTypeMipmappedArray`.
pub const RESOURCE_MIPMAPPED_ARRAY: u32 = 1;
/// `cudaResourceTypeLinear`.
pub const RESOURCE_LINEAR: u32 = 2;
/// `cudaResourceTypePitch2D`.
pub const RESOURCE_PITCH_2D: u32 = 3;
/// `cudaStreamNonBlocking`.
pub const STREAM_NON_BLOCKING: u32 = 1;
/// `cudaEventDisableTiming`.
pub const EVENT_DISABLE_TIMING: u32 = 2;
/// `cudaDevAttrMultiProcessorCount`.
pub const ATTRIBUTE_MULTIPROCESSORS: u32 = 16;
