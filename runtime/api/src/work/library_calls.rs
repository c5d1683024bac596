//! Calls of libraries beside the runtime, such as cuBLAS: operations that touch known bytes and run on the host.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use gpurace_abi::library::{LibraryOperation, LibraryRows};
use gpurace_report::schema::Device;

use crate::backend::memory::{TransferRows, TransferSide};
use crate::host::errors::{Error, Result};
use crate::host::message;
use crate::host::stack;
use crate::host::types::cudaStream_t;
use crate::order::StreamId;
use crate::work::graph::capture;
use crate::work::graph::work::Work;
use crate::work::transfers::TransferMemory;
use crate::work::{Process, streams};

/// The bytes that a call touches, as the library names them.
struct TouchedByCall<'a> {
    process: &'a Process,
    rows: Vec<LibraryRows>,
    /// The first that the device does not have.
    missing: Option<LibraryRows>,
}

/// An operation of a library. Its data is freed with it.
pub struct LibraryCall(LibraryOperation);

// SAFETY: a library's operation may run on any thread, and changes nothing of its own data.
unsafe impl Send for LibraryCall {}
// SAFETY: as above.
unsafe impl Sync for LibraryCall {}

impl Drop for LibraryCall {
    fn drop(&mut self) {
        // SAFETY: nobody uses the data any more.
        unsafe { (self.0.free)(self.0.data) }
    }
}

impl LibraryCall {
    /// Takes over a library's operation.
    ///
    /// # Safety
    /// It is as its type says.
    pub unsafe fn new(operation: LibraryOperation) -> Self {
        Self(operation)
    }

    fn name(&self) -> &'static str {
        // SAFETY: by the contract of `LibraryOperation`.
        unsafe { CStr::from_ptr(self.0.name) }.to_str().unwrap_or("a library")
    }

    /// The bytes that it touches. They end with the first that the device does not have.
    fn touched<'a>(&self, process: &'a Process) -> TouchedByCall<'a> {
        extern "C" fn take(to: *mut c_void, rows: *const LibraryRows) -> bool {
            // SAFETY: `touched` passes a pointer to its own value, and the library one to rows.
            let (to, rows) = unsafe { (&mut *to.cast::<TouchedByCall<'_>>(), *rows) };
            if to.missing.is_none() && rows.width != 0 && rows.rows != 0 && rows.slices != 0 {
                to.missing = (!is_in_memory(to.process, &rows)).then_some(rows);
                to.rows.push(rows);
            }
            to.missing.is_none()
        }
        let mut touched = TouchedByCall { process, rows: Vec::new(), missing: None };
        // SAFETY: the operation's own data.
        unsafe { (self.0.touched)(self.0.data, take, (&raw mut touched).cast()) };
        touched
    }

    /// Runs it on `stream`, or adds it to the graph that the stream captures.
    ///
    /// # Errors
    /// `cudaErrorInvalidResourceHandle` if the handle is no stream, `cudaErrorIllegalAddress` if the device has no
    /// such memory, and those of captures.
    pub fn submit(self, process: &Process, stream: cudaStream_t) -> Result {
        let stream = streams::resolve(process, stream)?;
        if process.backend().device() != Device::Cpu {
            let name = self.name();
            message::error(&format!(
                "`{name}`: gpurace's own library runs on the host only; link NVIDIA's for a GPU"
            ));
            return Err(Error::NOT_SUPPORTED);
        }
        if self.0.waits {
            capture::refuse_wait(process, stream)?;
        }
        let call = Arc::new(self);
        if capture::add(process, stream, || Work::Library(call.clone(), stack::callers()))? {
            return Ok(());
        }
        call.act(process, stream, call.0.waits)
    }

    /// Runs it on `stream` as part of a graph.
    ///
    /// # Errors
    /// `cudaErrorIllegalAddress` if memory was freed since.
    pub fn run(&self, process: &Process, stream: StreamId) -> Result {
        self.act(process, stream, false)
    }

    /// Runs the call on a stream. The host waits for it if `waits`.
    fn act(&self, process: &Process, stream: StreamId, waits: bool) -> Result {
        let TouchedByCall { rows: touched, missing, .. } = self.touched(process);
        if let Some(rows) = missing {
            return Err(self.end_device(process, &rows));
        }
        process.session.transfer(stream, waits, || {
            let callers = stack::callers();
            let site = process.session.transfer_calls.lock().site_of(callers, Some(self.name()));
            let in_device =
                |rows: &&LibraryRows| TransferMemory::of(process, rows.start) != TransferMemory::Pageable;
            touched.iter().filter(in_device).map(|rows| side(rows, site)).collect()
        });
        // SAFETY: its memory was checked.
        unsafe { (self.0.run)(self.0.data) };
        Ok(())
    }

    /// Ends the device's work, as a GPU does: the operation touches memory that the device does not have.
    fn end_device(&self, process: &Process, rows: &LibraryRows) -> Error {
        let (name, does) = (self.name(), if rows.writes { "writes" } else { "reads" });
        message::error(&format!(
            "illegal address: `{name}` {does} {} bytes at {:#x}, which are in no memory of the device",
            size_of_rows(rows).unwrap_or(rows.width),
            rows.start
        ));
        process.session.sticky.set(Error::ILLEGAL_ADDRESS);
        Error::ILLEGAL_ADDRESS
    }
}

/// Bytes from the first to the last.
fn size_of_rows(rows: &LibraryRows) -> Option<usize> {
    let in_rows = rows.pitch.checked_mul(rows.rows - 1)?;
    let in_slices = rows.slice.checked_mul(rows.slices - 1)?;
    in_rows.checked_add(in_slices)?.checked_add(rows.width)
}

/// True if one allocation or variable of the device holds all of these rows.
fn is_in_memory(process: &Process, rows: &LibraryRows) -> bool {
    let Some(size) = size_of_rows(rows) else { return false };
    match process.program().allocations.find(rows.start) {
        Some(found) => found.contains(rows.start, size),
        None => process
            .program()
            .modules
            .variable_at(rows.start)
            .is_some_and(|variable| size <= variable.address + variable.size - rows.start),
    }
}

/// These rows as a side of a transfer.
fn side(rows: &LibraryRows, site: u32) -> TransferSide {
    TransferSide {
        rows: TransferRows {
            start: rows.start,
            width: rows.width,
            rows: (rows.rows, rows.pitch),
            slices: (rows.slices, rows.slice),
        },
        writes: rows.writes,
        site: site + u32::from(rows.writes),
    }
}
