//! Structures of `cuda.h`, laid out as C has them, and what the runtime API has in their place.
//! `tests/layout.rs` compares them with the header.
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ffi::{c_int, c_void};

use crate::host::errors::{Error, Result};
use crate::host::types::{
    COPY_DEFAULT, COPY_DEVICE_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_HOST_TO_DEVICE, COPY_HOST_TO_HOST,
    cudaExtent, cudaKernelNodeParams, cudaLaunchAttribute, cudaLaunchConfig_t, cudaMemcpy3DParms,
    cudaPitchedPtr, cudaPos, cudaStream_t, dim3,
};

/// Opaque handle of a context.
pub type CUcontext = *mut c_void;
/// Opaque handle of a module or a library.
pub type CUmodule = *mut c_void;
/// Opaque handle of a kernel.
pub type CUfunction = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: u32,
    pub srcHost: *const c_void,
    pub srcDevice: usize,
    pub srcArray: *mut c_void,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: u32,
    pub dstHost: *mut c_void,
    pub dstDevice: usize,
    pub dstArray: *mut c_void,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_MEMCPY3D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcZ: usize,
    pub srcLOD: usize,
    pub srcMemoryType: u32,
    pub srcHost: *const c_void,
    pub srcDevice: usize,
    pub srcArray: *mut c_void,
    pub reserved0: *mut c_void,
    pub srcPitch: usize,
    pub srcHeight: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstZ: usize,
    pub dstLOD: usize,
    pub dstMemoryType: u32,
    pub dstHost: *mut c_void,
    pub dstDevice: usize,
    pub dstArray: *mut c_void,
    pub reserved1: *mut c_void,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchConfig {
    pub gridDimX: u32,
    pub gridDimY: u32,
    pub gridDimZ: u32,
    pub blockDimX: u32,
    pub blockDimY: u32,
    pub blockDimZ: u32,
    pub sharedMemBytes: u32,
    pub hStream: cudaStream_t,
    pub attrs: *mut cudaLaunchAttribute,
    pub numAttrs: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_KERNEL_NODE_PARAMS {
    pub func: *mut c_void,
    pub gridDimX: u32,
    pub gridDimY: u32,
    pub gridDimZ: u32,
    pub blockDimX: u32,
    pub blockDimY: u32,
    pub blockDimZ: u32,
    pub sharedMemBytes: u32,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
    pub kern: *mut c_void,
    pub ctx: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUctxCreateParams {
    pub execAffinityParams: *const c_void,
    pub numExecAffinityParams: c_int,
    pub cigParams: *const c_void,
}

/// `CUmemorytype` by number.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

/// The memory that a side of a copy names: null for an array.
fn side(kind: u32, host: *const c_void, device: usize) -> Result<*mut c_void> {
    match kind {
        HOST => Ok(host.cast_mut()),
        DEVICE | UNIFIED => Ok(device as *mut c_void),
        ARRAY => Ok(std::ptr::null_mut()),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// The `cudaMemcpyKind` of a copy from one type of memory to another.
fn direction(from: u32, to: u32) -> u32 {
    match (from, to) {
        (HOST, HOST) => COPY_HOST_TO_HOST,
        (HOST, DEVICE | ARRAY) => COPY_HOST_TO_DEVICE,
        (DEVICE | ARRAY, HOST) => COPY_DEVICE_TO_HOST,
        (DEVICE | ARRAY, DEVICE | ARRAY) => COPY_DEVICE_TO_DEVICE,
        _ => COPY_DEFAULT,
    }
}

impl CUDA_MEMCPY3D {
    /// The same copy for the runtime API, which counts in elements where an array takes part. `element`
    /// gives the bytes of one.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue`, and those of `element`.
    pub fn parameters(&self, element: impl Fn(*mut c_void) -> Result<usize>) -> Result<cudaMemcpy3DParms> {
        if self.srcLOD != 0 || self.dstLOD != 0 {
            return Err(Error::INVALID_VALUE);
        }
        // Of one slice the height may be left out, and of one row the pitch.
        let rows = |ptr: *mut c_void, pitch: usize, height: usize, x: usize, y: usize| cudaPitchedPtr {
            ptr,
            pitch: if pitch == 0 && self.Height <= 1 && y == 0 { x + self.WidthInBytes } else { pitch },
            xsize: self.WidthInBytes,
            ysize: if height == 0 { y + self.Height } else { height },
        };
        let array = |kind, array| if kind == ARRAY { array } else { std::ptr::null_mut() };
        let (from_array, to_array) =
            (array(self.srcMemoryType, self.srcArray), array(self.dstMemoryType, self.dstArray));
        // Bytes as elements of this many bytes.
        let elements = |bytes: usize, size: usize| match bytes.is_multiple_of(size) {
            true => Ok(bytes / size),
            false => Err(Error::INVALID_VALUE),
        };
        let size = |array: *mut c_void| if array.is_null() { Ok(1) } else { element(array) };
        let (from_size, to_size) = (size(from_array)?, size(to_array)?);
        let from = side(self.srcMemoryType, self.srcHost, self.srcDevice)?;
        let to = side(self.dstMemoryType, self.dstHost, self.dstDevice)?;
        Ok(cudaMemcpy3DParms {
            srcArray: from_array,
            srcPos: cudaPos { x: elements(self.srcXInBytes, from_size)?, y: self.srcY, z: self.srcZ },
            srcPtr: rows(from, self.srcPitch, self.srcHeight, self.srcXInBytes, self.srcY),
            dstArray: to_array,
            dstPos: cudaPos { x: elements(self.dstXInBytes, to_size)?, y: self.dstY, z: self.dstZ },
            dstPtr: rows(to, self.dstPitch, self.dstHeight, self.dstXInBytes, self.dstY),
            extent: cudaExtent {
                width: elements(self.WidthInBytes, from_size.max(to_size))?,
                height: self.Height,
                depth: self.Depth,
            },
            kind: direction(self.srcMemoryType, self.dstMemoryType),
        })
    }
}

impl CUDA_MEMCPY2D {
    /// The same copy for the runtime API.
    ///
    /// # Errors
    /// As [`CUDA_MEMCPY3D::parameters`].
    pub fn parameters(&self, element: impl Fn(*mut c_void) -> Result<usize>) -> Result<cudaMemcpy3DParms> {
        // SAFETY: zero is a value of each field: a number, or a pointer that is null.
        let nothing: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
        CUDA_MEMCPY3D {
            srcXInBytes: self.srcXInBytes,
            srcY: self.srcY,
            srcMemoryType: self.srcMemoryType,
            srcHost: self.srcHost,
            srcDevice: self.srcDevice,
            srcArray: self.srcArray,
            srcPitch: self.srcPitch,
            dstXInBytes: self.dstXInBytes,
            dstY: self.dstY,
            dstMemoryType: self.dstMemoryType,
            dstHost: self.dstHost,
            dstDevice: self.dstDevice,
            dstArray: self.dstArray,
            dstPitch: self.dstPitch,
            WidthInBytes: self.WidthInBytes,
            Height: self.Height,
            Depth: 1,
            ..nothing
        }
        .parameters(element)
    }
}

impl CUlaunchConfig {
    /// The same configuration for the runtime API.
    pub fn parameters(&self) -> cudaLaunchConfig_t {
        cudaLaunchConfig_t {
            gridDim: dim3 { x: self.gridDimX, y: self.gridDimY, z: self.gridDimZ },
            blockDim: dim3 { x: self.blockDimX, y: self.blockDimY, z: self.blockDimZ },
            dynamicSmemBytes: self.sharedMemBytes as usize,
            stream: self.hStream,
            attrs: self.attrs,
            numAttrs: self.numAttrs,
        }
    }
}

impl CUDA_KERNEL_NODE_PARAMS {
    /// The same node for the runtime API, with these arguments.
    pub fn parameters(&self, arguments: *mut *mut c_void) -> cudaKernelNodeParams {
        cudaKernelNodeParams {
            func: self.kernel(),
            gridDim: dim3 { x: self.gridDimX, y: self.gridDimY, z: self.gridDimZ },
            blockDim: dim3 { x: self.blockDimX, y: self.blockDimY, z: self.blockDimZ },
            sharedMemBytes: self.sharedMemBytes,
            kernelParams: arguments,
            extra: std::ptr::null_mut(),
        }
    }

    /// The kernel, which has two fields.
    pub fn kernel(&self) -> *mut c_void {
        if self.func.is_null() { self.kern } else { self.func }
    }
}
