//! Streams and events, and the copies and fills that they order.

use std::ffi::c_void;
use std::ptr;
use std::thread::{self, ThreadId};

use cudarc::driver::sys;

use super::array::Array;
use super::{Address, Result, call};

/// `CU_STREAM_NON_BLOCKING`.
pub const NON_BLOCKING: u32 = 1;

/// A stream.
#[derive(Clone, Copy, Debug)]
pub struct Stream(sys::CUstream);

/// A stream's identity. The handle [`Stream::PER_THREAD`] means another stream in each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Queue(usize, Option<ThreadId>);

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct Event(sys::CUevent);

// SAFETY: handles of the driver, which any thread may use.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}
// SAFETY: as above.
unsafe impl Send for Event {}

impl Stream {
    /// The default stream.
    pub const DEFAULT: Self = Self(ptr::null_mut());
    /// The calling thread's own default stream: `CU_STREAM_PER_THREAD`.
    pub const PER_THREAD: Self = Self(ptr::without_provenance_mut(2));

    pub(crate) fn raw(self) -> sys::CUstream {
        self.0
    }

    /// The stream that the handle means in this thread.
    pub fn queue(self) -> Queue {
        let is_own = self.0 == Self::PER_THREAD.0;
        Queue(self.0.addr(), is_own.then(|| thread::current().id()))
    }

    /// Makes a stream. `flags`: [`NON_BLOCKING`] or 0.
    pub fn create(flags: u32, priority: i32) -> Result<Self> {
        let mut stream = ptr::null_mut();
        call!(cuStreamCreateWithPriority(&mut stream, flags, priority))?;
        Ok(Self(stream))
    }

    /// Makes a stream of the greatest priority, which waits for no other.
    pub fn urgent() -> Result<Self> {
        let (mut least, mut greatest) = (0, 0);
        call!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest))?;
        Self::create(NON_BLOCKING, greatest)
    }

    /// Destroys it. Its work goes on.
    pub fn destroy(self) -> Result {
        call!(cuStreamDestroy_v2(self.0))
    }

    /// Waits for its work.
    ///
    /// # Errors
    /// The driver's, and the fault of a kernel.
    pub fn wait(self) -> Result {
        call!(cuStreamSynchronize(self.0))
    }

    /// True if its work is over.
    ///
    /// # Errors
    /// As [`Stream::wait`].
    pub fn is_over(self) -> Result<bool> {
        over(call!(cuStreamQuery(self.0)))
    }

    /// Lets its later work wait for an event.
    pub fn wait_for(self, event: Event) -> Result {
        call!(cuStreamWaitEvent(self.0, event.0, 0))
    }

    /// Calls a function of the host in the stream's order.
    ///
    /// # Safety
    /// The function may be called with `data` by another thread.
    pub unsafe fn call_host(self, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void) -> Result {
        call!(cuLaunchHostFunc(self.0, Some(function), data))
    }

    /// Copies bytes. Each side is memory of the device or of the host.
    ///
    /// # Safety
    /// Host memory is valid until the copy is over. Memory that is not page-locked need only be
    /// valid until this returns.
    pub unsafe fn copy(self, to: Address, from: Address, size: usize) -> Result {
        call!(cuMemcpyAsync(to, from, size, self.0))
    }

    /// Copies rows: `[width in bytes, rows, slices]`.
    ///
    /// # Safety
    /// As [`Stream::copy`].
    pub unsafe fn copy_rows(self, to: CopySide, from: CopySide, [width, rows, slices]: [usize; 3]) -> Result {
        let (to, from) = (to.raw(), from.raw());
        let copy = sys::CUDA_MEMCPY3D {
            srcXInBytes: from.at[0],
            srcY: from.at[1],
            srcZ: from.at[2],
            srcLOD: 0,
            srcMemoryType: from.kind,
            srcHost: from.host(),
            srcDevice: from.memory.address,
            srcArray: from.array,
            reserved0: ptr::null_mut(),
            srcPitch: from.memory.pitch,
            srcHeight: from.memory.rows,
            dstXInBytes: to.at[0],
            dstY: to.at[1],
            dstZ: to.at[2],
            dstLOD: 0,
            dstMemoryType: to.kind,
            dstHost: to.host(),
            dstDevice: to.memory.address,
            dstArray: to.array,
            reserved1: ptr::null_mut(),
            dstPitch: to.memory.pitch,
            dstHeight: to.memory.rows,
            WidthInBytes: width,
            Height: rows,
            Depth: slices,
        };
        call!(cuMemcpy3DAsync_v2(&copy, self.0))
    }

    /// Fills rows with elements of 1, 2 or 4 bytes: `width` elements each.
    pub fn fill(
        self,
        to: Address,
        pitch: usize,
        (value, element): (u32, usize),
        width: usize,
        rows: usize,
    ) -> Result {
        match element {
            1 if rows == 1 => call!(cuMemsetD8Async(to, value as u8, width, self.0)),
            2 if rows == 1 => call!(cuMemsetD16Async(to, value as u16, width, self.0)),
            4 if rows == 1 => call!(cuMemsetD32Async(to, value, width, self.0)),
            1 => call!(cuMemsetD2D8Async(to, pitch, value as u8, width, rows, self.0)),
            2 => call!(cuMemsetD2D16Async(to, pitch, value as u16, width, rows, self.0)),
            _ => call!(cuMemsetD2D32Async(to, pitch, value, width, rows, self.0)),
        }
    }
}

/// Rows of memory.
#[derive(Clone, Copy, Debug)]
pub struct Pitched {
    /// Address of the first byte.
    pub address: Address,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Rows from one slice to the next.
    pub rows: usize,
}

/// The source or the destination of a copy of rows.
#[derive(Clone, Copy, Debug)]
pub enum CopySide {
    /// Memory.
    Memory(Pitched),
    /// An array, from `[byte of a row, row, slice]` on.
    Array(Array, [usize; 3]),
}

/// The fields of the driver's description of a copy, for one side.
struct RawCopySide {
    kind: sys::CUmemorytype,
    at: [usize; 3],
    memory: Pitched,
    array: sys::CUarray,
}

/// True if the driver knows the memory at an address.
fn is_known(address: Address) -> bool {
    let mut kind = 0u32;
    let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    call!(cuPointerGetAttribute((&raw mut kind).cast(), attribute, address)).is_ok()
}

impl RawCopySide {
    /// The address of host memory, or null.
    fn host(&self) -> *mut c_void {
        match self.kind {
            sys::CUmemorytype::CU_MEMORYTYPE_HOST => {
                ptr::with_exposed_provenance_mut(self.memory.address as usize)
            }
            _ => ptr::null_mut(),
        }
    }
}

impl CopySide {
    fn raw(self) -> RawCopySide {
        let nowhere = Pitched { address: 0, pitch: 0, rows: 0 };
        match self {
            Self::Memory(memory) => {
                // The driver knows what its addresses refer to. Others are memory of the program
                // that is not page-locked.
                let kind = match is_known(memory.address) {
                    true => sys::CUmemorytype::CU_MEMORYTYPE_UNIFIED,
                    false => sys::CUmemorytype::CU_MEMORYTYPE_HOST,
                };
                RawCopySide { kind, at: [0; 3], memory, array: ptr::null_mut() }
            }
            Self::Array(array, at) => RawCopySide {
                kind: sys::CUmemorytype::CU_MEMORYTYPE_ARRAY,
                at,
                memory: nowhere,
                array: array.raw(),
            },
        }
    }
}

impl Event {
    /// Makes an event. `flags`: those of `cudaEventCreateWithFlags`, which are the driver's.
    pub fn create(flags: u32) -> Result<Self> {
        let mut event = ptr::null_mut();
        call!(cuEventCreate(&mut event, flags))?;
        Ok(Self(event))
    }

    /// Destroys it.
    pub fn destroy(self) -> Result {
        call!(cuEventDestroy_v2(self.0))
    }

    /// Records it on a stream.
    pub fn record(self, stream: Stream) -> Result {
        call!(cuEventRecord(self.0, stream.0))
    }

    /// Waits for its last record.
    ///
    /// # Errors
    /// The driver's, and the fault of a kernel.
    pub fn wait(self) -> Result {
        call!(cuEventSynchronize(self.0))
    }

    /// True if its last record was reached.
    ///
    /// # Errors
    /// As [`Event::wait`].
    pub fn is_over(self) -> Result<bool> {
        over(call!(cuEventQuery(self.0)))
    }

    /// Milliseconds from this event's record to another's.
    ///
    /// # Errors
    /// The driver's: one was not recorded or not reached, or keeps no time.
    pub fn until(self, end: Self) -> Result<f32> {
        let mut time = 0.0;
        call!(cuEventElapsedTime(&mut time, self.0, end.0))?;
        Ok(time)
    }
}

/// The answer to a query: false for "not ready".
fn over(asked: Result) -> Result<bool> {
    match asked {
        Ok(()) => Ok(true),
        Err(error) if error.code == sys::CUresult::CUDA_ERROR_NOT_READY as u32 => Ok(false),
        Err(error) => Err(error),
    }
}
