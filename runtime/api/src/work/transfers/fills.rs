//! Fills: `cudaMemset` and its variants.

use std::ffi::{c_int, c_void};

use crate::backend::memory::{PitchedRows, TransferRequest};
use crate::host::errors::{Error, Result};
use crate::host::stack;
use crate::host::types::{cudaExtent, cudaMemsetParams, cudaStream_t};
use crate::order::StreamId;
use crate::work::graph::capture;
use crate::work::graph::work::Work;
use crate::work::transfers::sides::{RequiredMemory, check_side, flat, is_empty};
use crate::work::transfers::{self, Waits};
use crate::work::{Process, streams};

/// A fill of `extent` (bytes, rows, slices) whose memory was checked.
#[derive(Clone, Copy, Debug)]
pub struct PlannedFill {
    rows: PitchedRows,
    /// The first `element` bytes of the value are repeated.
    value: u32,
    element: usize,
    extent: cudaExtent,
}

impl PlannedFill {
    /// This fill, if it can be made.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` or `cudaErrorInvalidPitchValue` if the memory cannot be filled.
    fn checked(self, process: &Process) -> Result<Self> {
        if !matches!(self.element, 1 | 2 | 4) {
            return Err(Error::INVALID_VALUE);
        }
        self.check(process).map(|()| self)
    }

    /// The fill that `cudaMemsetParams` describe.
    ///
    /// # Errors
    /// What CUDA returns for parameters that do not fit.
    pub fn of_node(process: &Process, p: &cudaMemsetParams) -> Result<Self> {
        let element = p.elementSize as usize;
        let width = p.width.checked_mul(element).ok_or(Error::INVALID_VALUE)?;
        let pitch = if p.height > 1 { p.pitch } else { width };
        let (rows, extent) = (flat(p.dst, pitch), cudaExtent { width, height: p.height, depth: 1 });
        Self { rows, value: p.value, element, extent }.checked(process)
    }

    /// Refuses a fill that the memory has no room for.
    fn check(&self, process: &Process) -> Result {
        let (rows, extent) = (self.rows, self.extent);
        if is_empty(extent) {
            return Ok(());
        }
        if extent.height > 1 && rows.pitch < extent.width {
            return Err(Error::INVALID_PITCH_VALUE);
        }
        check_side(process, rows, extent, RequiredMemory::Device)
    }

    /// Runs it on `stream` as part of a graph. The host does not wait for it.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if the memory was freed since.
    pub fn run(&self, process: &Process, stream: StreamId) -> Result {
        self.check(process)?;
        self.act(process, stream, Waits::InGraph)
    }

    /// Runs it on `stream`, or adds it to the graph that the stream captures.
    fn submit(self, process: &Process, stream: StreamId, sync: bool) -> Result {
        if !capture::add(process, stream, || Work::Fill(self, stack::callers()))? {
            self.act(process, stream, Waits::of_call(sync))?;
        }
        Ok(())
    }

    /// Runs the fill on a stream.
    fn act(&self, process: &Process, stream: StreamId, waits: Waits) -> Result {
        let (rows, extent) = (self.rows, self.extent);
        if is_empty(extent) {
            return transfers::begin_empty(process, stream, waits);
        }
        let wait = transfers::begin(process, stream, rows.of_extent(extent), None, waits);
        let request = TransferRequest { extent, stream, wait };
        // SAFETY: the memory was checked when the fill was made, or by `run`.
        unsafe { process.backend().fill(rows, (self.value, self.element), request) }
    }
}

/// Sets `extent` (bytes, rows, slices) to the low byte of `value`.
///
/// # Errors
/// What CUDA returns for arguments that do not fit, and the device's.
pub fn fill(
    process: &Process,
    rows: PitchedRows,
    value: c_int,
    extent: cudaExtent,
    stream: cudaStream_t,
    sync: bool,
) -> Result {
    let stream = streams::resolve(process, stream)?;
    let fill = PlannedFill { rows, value: value as u32, element: 1, extent }.checked(process)?;
    fill.submit(process, stream, sync)
}

/// Sets `(width, height)` elements of `element` bytes to `value`. Rows are `pitch` bytes apart.
///
/// # Errors
/// As [`fill`], and `cudaErrorInvalidValue` if the memory is not aligned to its elements.
pub fn fill_elements(
    process: &Process,
    to: *mut c_void,
    pitch: usize,
    (width, height): (usize, usize),
    (value, element): (u32, usize),
    stream: cudaStream_t,
    sync: bool,
) -> Result {
    let stream = streams::resolve(process, stream)?;
    let width = width.checked_mul(element).ok_or(Error::INVALID_VALUE)?;
    if !to.addr().is_multiple_of(element) || (height > 1 && !pitch.is_multiple_of(element)) {
        return Err(Error::INVALID_VALUE);
    }
    let pitch = if height > 1 { pitch } else { width };
    let extent = cudaExtent { width, height, depth: 1 };
    PlannedFill { rows: flat(to, pitch), value, element, extent }
        .checked(process)?
        .submit(process, stream, sync)
}
