//! The two sides of a transfer: their bytes, and the checks that they may be copied or filled.

use std::ffi::c_void;

use crate::backend::memory::{CudaArray, MemoryKind, PitchedRows};
use crate::host::errors::{Error, Result};
use crate::host::types::{
    COPY_DEFAULT, COPY_DEVICE_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_HOST_TO_DEVICE, COPY_HOST_TO_HOST,
    cudaExtent, cudaPitchedPtr, cudaPos,
};
use crate::work::Process;

/// `cudaMemcpyKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// `cudaMemcpyHostToHost`.
    HostToHost,
    /// `cudaMemcpyHostToDevice`.
    HostToDevice,
    /// `cudaMemcpyDeviceToHost`.
    DeviceToHost,
    /// `cudaMemcpyDeviceToDevice`.
    DeviceToDevice,
    /// `cudaMemcpyDefault`: the direction follows from the pointers.
    Default,
}

impl CopyDirection {
    /// The direction with this number.
    ///
    /// # Errors
    /// `cudaErrorInvalidMemcpyDirection` if there is none.
    pub fn new(kind: u32) -> Result<Self> {
        Ok(match kind {
            COPY_HOST_TO_HOST => Self::HostToHost,
            COPY_HOST_TO_DEVICE => Self::HostToDevice,
            COPY_DEVICE_TO_HOST => Self::DeviceToHost,
            COPY_DEVICE_TO_DEVICE => Self::DeviceToDevice,
            COPY_DEFAULT => Self::Default,
            _ => return Err(Error::INVALID_MEMCPY_DIRECTION),
        })
    }

    /// Where the destination and the source must lie. As in the driver, the host's side may be memory of the device
    /// too: addresses are unique, and tell.
    pub fn sides(self) -> (RequiredMemory, RequiredMemory) {
        use RequiredMemory::{Any, Device, Host};
        match self {
            Self::HostToHost => (Host, Host),
            Self::HostToDevice => (Device, Any),
            Self::DeviceToHost => (Any, Device),
            Self::DeviceToDevice => (Device, Device),
            Self::Default => (Any, Any),
        }
    }
}

/// Where a side of a transfer must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredMemory {
    /// In memory of the host.
    Host,
    /// In memory of the device.
    Device,
    /// Anywhere.
    Any,
}

/// Checks that these rows of a transfer of `extent` (bytes, rows, slices) lie in one piece of
/// memory of the required kind.
///
/// # Errors
/// `cudaErrorInvalidValue` if they do not.
pub fn check_side(
    process: &Process,
    rows: PitchedRows,
    extent: cudaExtent,
    required: RequiredMemory,
) -> Result {
    let size = span(rows, extent).ok_or(Error::INVALID_VALUE)?;
    let address = rows.start as usize;
    if rows.start.is_null() || address.checked_add(size).is_none() {
        return Err(Error::INVALID_VALUE);
    }
    let fits = match (process.program().allocations.find(address), required) {
        (Some(found), RequiredMemory::Host)
            if matches!(found.kind, MemoryKind::Device | MemoryKind::Array) =>
        {
            false
        }
        (Some(found), _) => {
            // Behind registered memory, ordinary memory of the program may follow.
            found.contains(address, size)
                || (found.kind == MemoryKind::Registered && required != RequiredMemory::Device)
        }
        (None, RequiredMemory::Device) => process
            .program()
            .modules
            .variable_at(address)
            .is_some_and(|variable| size <= variable.address + variable.size - address),
        (None, RequiredMemory::Host | RequiredMemory::Any) => true,
    };
    if fits { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Bytes from the first to the last of `extent` in these rows. `None` if the number is too large.
fn span(rows: PitchedRows, extent: cudaExtent) -> Option<usize> {
    let in_rows = rows.pitch.checked_mul(extent.height - 1)?;
    let in_slices = rows.slice.checked_mul(extent.depth - 1)?;
    in_rows.checked_add(in_slices)?.checked_add(extent.width)
}

/// True if a transfer of this extent touches no byte.
pub fn is_empty(extent: cudaExtent) -> bool {
    extent.width == 0 || extent.height == 0 || extent.depth == 0
}

/// Rows of one slice.
pub fn flat(pointer: *mut c_void, pitch: usize) -> PitchedRows {
    PitchedRows { start: pointer.cast(), pitch, slice: 0 }
}

/// The rows of a pitched pointer.
///
/// # Errors
/// `cudaErrorInvalidValue` if its slices are too large.
pub fn pitched(pointer: &cudaPitchedPtr) -> Result<PitchedRows> {
    let slice = pointer.pitch.checked_mul(pointer.ysize).ok_or(Error::INVALID_VALUE)?;
    Ok(PitchedRows { start: pointer.ptr.cast(), pitch: pointer.pitch, slice })
}

/// The rows of an array from this byte, row and slice on.
///
/// # Errors
/// `cudaErrorInvalidValue` if the array ends before.
pub fn array_rows(array: &CudaArray, x: usize, y: usize, z: usize) -> Result<PitchedRows> {
    if x > array.row() || y > array.rows() || z > array.slices() {
        return Err(Error::INVALID_VALUE);
    }
    let slice = array.row() * array.rows();
    let start = (array.address + z * slice + y * array.row() + x) as *mut u8;
    Ok(PitchedRows { start, pitch: array.row(), slice })
}

/// One side of a 3D copy: an array or a pitched pointer, exactly one of both. Returns its rows from
/// `pos` on, and for an array the size of an element, by which `pos.x` counts.
///
/// # Errors
/// What CUDA returns for parameters that do not fit.
pub fn side_3d(
    process: &Process,
    handle: *mut c_void,
    pointer: &cudaPitchedPtr,
    pos: cudaPos,
) -> Result<(PitchedRows, Option<usize>)> {
    match (handle.is_null(), pointer.ptr.is_null()) {
        (false, true) => {
            let array = process.program().arrays.lookup(handle)?;
            let rows = array_rows(&array, pos.x * array.element, pos.y, pos.z)?;
            Ok((rows, Some(array.element)))
        }
        (true, false) => {
            let rows = pitched(pointer)?;
            let offset = pos
                .z
                .checked_mul(rows.slice)
                .and_then(|at| at.checked_add(pos.y.checked_mul(rows.pitch)?))
                .and_then(|at| at.checked_add(pos.x))
                .ok_or(Error::INVALID_VALUE)?;
            Ok((PitchedRows { start: rows.start.wrapping_add(offset), ..rows }, None))
        }
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Address of the `count` bytes of a device variable from `offset` on.
///
/// # Errors
/// `cudaErrorInvalidSymbol`, or `cudaErrorInvalidValue` if the variable ends before.
pub fn symbol_bytes(
    process: &Process,
    symbol: *const c_void,
    count: usize,
    offset: usize,
) -> Result<*mut c_void> {
    let variable = process.program().modules.variable_of_symbol(symbol)?;
    match offset.checked_add(count) {
        Some(end) if end <= variable.size => Ok((variable.address + offset) as *mut c_void),
        _ => Err(Error::INVALID_VALUE),
    }
}
