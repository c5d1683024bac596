//! Copies: `cudaMemcpy` and its variants.

use std::ffi::c_void;

use crate::backend::memory::{PitchedRows, TransferRequest};
use crate::host::errors::{Error, Result};
use crate::host::stack;
use crate::host::types::{COPY_DEFAULT, cudaExtent, cudaMemcpy3DParms, cudaMemcpy3DPeerParms, cudaStream_t};
use crate::order::StreamId;
use crate::work::graph::capture;
use crate::work::graph::work::Work;
use crate::work::transfers::sides::{
    CopyDirection, RequiredMemory, array_rows, check_side, flat, is_empty, side_3d,
};
use crate::work::transfers::{self, Waits};
use crate::work::{Process, devices, streams};

/// A copy of `extent` (bytes, rows, slices) whose sides were checked.
#[derive(Clone, Copy, Debug)]
pub struct PlannedCopy {
    to: PitchedRows,
    from: PitchedRows,
    extent: cudaExtent,
}

impl PlannedCopy {
    /// This copy, if it can be made.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` or `cudaErrorInvalidPitchValue` if the sides cannot be copied.
    fn checked(self, process: &Process, direction: CopyDirection) -> Result<Self> {
        let Self { to, from, extent } = self;
        if !is_empty(extent) {
            if extent.height > 1 && (to.pitch < extent.width || from.pitch < extent.width) {
                return Err(Error::INVALID_PITCH_VALUE);
            }
            let (to_side, from_side) = direction.sides();
            check_side(process, to, extent, to_side)?;
            check_side(process, from, extent, from_side)?;
        }
        Ok(self)
    }

    /// The copy of `count` bytes.
    ///
    /// # Errors
    /// What CUDA returns for parameters that do not fit.
    pub fn of_bytes(
        process: &Process,
        to: *mut c_void,
        from: *const c_void,
        count: usize,
        kind: u32,
    ) -> Result<Self> {
        let extent = cudaExtent { width: count, height: 1, depth: 1 };
        let (to, from) = (flat(to, count), flat(from.cast_mut(), count));
        Self { to, from, extent }.checked(process, CopyDirection::new(kind)?)
    }

    /// The copy that `cudaMemcpy3DParms` describe.
    ///
    /// # Errors
    /// What CUDA returns for parameters that do not fit.
    pub fn of_3d(process: &Process, p: &cudaMemcpy3DParms) -> Result<Self> {
        let direction = CopyDirection::new(p.kind)?;
        let (to, to_element) = side_3d(process, p.dstArray, &p.dstPtr, p.dstPos)?;
        let (from, from_element) = side_3d(process, p.srcArray, &p.srcPtr, p.srcPos)?;
        if let (Some(a), Some(b)) = (to_element, from_element)
            && a != b
        {
            return Err(Error::INVALID_VALUE);
        }
        // If an array takes part, the width counts its elements, otherwise bytes.
        let element = to_element.or(from_element).unwrap_or(1);
        let width = p.extent.width.checked_mul(element).ok_or(Error::INVALID_VALUE)?;
        Self { to, from, extent: cudaExtent { width, ..p.extent } }.checked(process, direction)
    }

    /// Runs it on `stream` as part of a graph. The host does not wait for it.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if device memory was freed since.
    pub fn run(&self, process: &Process, stream: StreamId) -> Result {
        if !is_empty(self.extent) {
            check_side(process, self.to, self.extent, RequiredMemory::Any)?;
            check_side(process, self.from, self.extent, RequiredMemory::Any)?;
        }
        // SAFETY: the program keeps the contract for its node.
        unsafe { self.act(process, stream, Waits::InGraph) }
    }

    /// Runs it on `stream`, or adds it to the graph that the stream captures.
    ///
    /// # Safety
    /// Host memory on both sides is valid. Device memory was checked.
    unsafe fn submit(self, process: &Process, stream: StreamId, sync: bool) -> Result {
        if !capture::add(process, stream, || Work::Copy(self, stack::callers()))? {
            // SAFETY: the caller keeps the contract above.
            unsafe { self.act(process, stream, Waits::of_call(sync)) }?;
        }
        Ok(())
    }

    /// Runs the copy on a stream.
    ///
    /// # Safety
    /// As [`PlannedCopy::submit`].
    unsafe fn act(&self, process: &Process, stream: StreamId, waits: Waits) -> Result {
        let Self { to, from, extent } = *self;
        if is_empty(extent) {
            return transfers::begin_empty(process, stream, waits);
        }
        let wait =
            transfers::begin(process, stream, to.of_extent(extent), Some(from.of_extent(extent)), waits);
        // SAFETY: the caller keeps the contract above.
        unsafe { process.backend().copy(to, from, TransferRequest { extent, stream, wait }) }
    }
}

/// Copies `count` bytes on `stream`. The host waits if `sync`.
///
/// # Safety
/// Host memory on both sides is valid.
///
/// # Errors
/// What CUDA returns for arguments that do not fit, and the device's.
pub unsafe fn copy_bytes(
    process: &Process,
    to: *mut c_void,
    from: *const c_void,
    count: usize,
    kind: u32,
    stream: cudaStream_t,
    sync: bool,
) -> Result {
    // SAFETY: the caller keeps the contract above.
    unsafe { copy_2d(process, (to, count), (from, count), (count, 1), kind, stream, sync) }
}

/// Copies `(width, height)` bytes between pointers with pitches.
///
/// # Safety
/// As [`copy_bytes`].
///
/// # Errors
/// As [`copy_bytes`].
pub unsafe fn copy_2d(
    process: &Process,
    (to, to_pitch): (*mut c_void, usize),
    (from, from_pitch): (*const c_void, usize),
    (width, height): (usize, usize),
    kind: u32,
    stream: cudaStream_t,
    sync: bool,
) -> Result {
    let direction = CopyDirection::new(kind)?;
    let stream = streams::resolve(process, stream)?;
    let extent = cudaExtent { width, height, depth: 1 };
    let (to, from) = (flat(to, to_pitch), flat(from.cast_mut(), from_pitch));
    // SAFETY: the caller keeps the contract above.
    unsafe { PlannedCopy { to, from, extent }.checked(process, direction)?.submit(process, stream, sync) }
}

/// Makes the copy that `cudaMemcpy3DParms` describe.
///
/// # Safety
/// As [`copy_bytes`].
///
/// # Errors
/// As [`copy_bytes`].
pub unsafe fn copy_3d(process: &Process, p: &cudaMemcpy3DParms, stream: cudaStream_t, sync: bool) -> Result {
    let stream = streams::resolve(process, stream)?;
    // SAFETY: the caller keeps the contract above.
    unsafe { PlannedCopy::of_3d(process, p)?.submit(process, stream, sync) }
}

/// The same parameters without the devices: there is only one.
///
/// # Errors
/// `cudaErrorInvalidDevice` if they name another device.
pub fn without_devices(p: &cudaMemcpy3DPeerParms) -> Result<cudaMemcpy3DParms> {
    devices::check(p.srcDevice)?;
    devices::check(p.dstDevice)?;
    Ok(cudaMemcpy3DParms {
        srcArray: p.srcArray,
        srcPos: p.srcPos,
        srcPtr: p.srcPtr,
        dstArray: p.dstArray,
        dstPos: p.dstPos,
        dstPtr: p.dstPtr,
        extent: p.extent,
        kind: COPY_DEFAULT,
    })
}

/// Address and pitch of a rectangle of `(width, height)` bytes of an array from `(x, y)` on.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle`, or `cudaErrorInvalidValue` if the array ends before.
pub fn rectangle(
    process: &Process,
    (array, x, y): (*mut c_void, usize, usize),
    (width, height): (usize, usize),
) -> Result<(*mut c_void, usize)> {
    let array = process.program().arrays.lookup(array)?;
    array.check_rectangle(x, y, width, height)?;
    let rows = array_rows(&array, x, y, 0)?;
    Ok((rows.start.cast(), rows.pitch))
}
