//! Which bytes an operation reads and writes.

use std::ffi::c_void;

use gpurace_abi::library::{LibraryRows, TellRows};

/// Takes the bytes that an operation touches.
pub struct Touches {
    tell: TellRows,
    to: *mut c_void,
}

impl Touches {
    /// Passes rows on to the runtime.
    pub(crate) fn new(tell: TellRows, to: *mut c_void) -> Self {
        Self { tell, to }
    }

    /// Rows of bytes. False if the device has no such memory.
    pub fn rows(&mut self, rows: LibraryRows) -> bool {
        // SAFETY: the runtime passed both together.
        unsafe { (self.tell)(self.to, &rows) }
    }

    /// Elements side by side. False if the device has no such memory.
    pub fn elements<T>(&mut self, start: *const T, count: usize, writes: bool) -> bool {
        self.rows(LibraryRows {
            start: start.addr(),
            width: count.saturating_mul(size_of::<T>()),
            rows: 1,
            pitch: 0,
            slices: 1,
            slice: 0,
            writes,
        })
    }

    /// The addresses in an array in the device's memory. None if the device has no such memory.
    #[expect(clippy::not_unsafe_ptr_arg_deref, reason = "it is read where the runtime has found the memory")]
    pub fn addresses<T>(&mut self, array: *const *mut T, count: usize) -> Vec<*mut T> {
        if !self.elements(array, count, false) {
            return Vec::new();
        }
        // SAFETY: the runtime has found the memory.
        (0..count).map(|i| unsafe { array.add(i).read_unaligned() }).collect()
    }
}
