//! The memory of a resident block: its stacks, its shared memory, its block frame.

use std::{io, ptr};

use gpurace_abi::batch::FrameCommon;

use crate::stack::{GUARD, Slab};

/// The stacks of a block's threads, and its shared memory.
pub(crate) struct BlockMemory {
    slab: Slab,
    /// Start and size of the shared memory.
    shared: (usize, usize),
}

impl BlockMemory {
    pub(super) fn new(slab: Slab) -> Self {
        Self { shared: (0, 0), slab }
    }

    /// Opens room in the slab for so many bytes of shared memory.
    ///
    /// # Errors
    /// As [`Slab::open_shared`].
    ///
    /// # Safety
    /// The block is idle.
    pub(crate) unsafe fn open_shared(&mut self, bytes: usize) -> io::Result<()> {
        // SAFETY: the caller's.
        unsafe { self.slab.open_shared(bytes) }
    }

    /// Says where shared memory is.
    pub(super) fn set_shared(&mut self, start: usize, bytes: usize) {
        self.shared = (start, bytes);
    }

    /// Fills shared memory with zeros.
    ///
    /// # Safety
    /// No thread of the block runs.
    pub(super) unsafe fn clear_shared(&self) {
        if self.shared.1 > 0 {
            // SAFETY: shared memory is the block's, and idle.
            unsafe { ptr::write_bytes(self.shared.0 as *mut u8, 0, self.shared.1) };
        }
    }

    /// The slab of the stacks.
    pub(crate) fn slab(&self) -> &Slab {
        &self.slab
    }

    /// The slab of the stacks.
    pub(super) fn slab_mut(&mut self) -> &mut Slab {
        &mut self.slab
    }

    /// Start and size of the stacks of all threads: their local memory.
    #[inline]
    pub(crate) fn local(&self) -> (usize, usize) {
        self.slab.local_range()
    }

    /// The bytes from the start of shared memory to an address in the guards beside it. A block without shared memory
    /// has guards where it would be.
    pub(crate) fn guarded_offset(&self, address: usize) -> Option<i64> {
        let (start, bytes) = self.shared;
        let own = self.slab.shared_and_guards();
        // That of a block in a cluster lies elsewhere.
        let around = if own.contains(&start) { own } else { start - GUARD..start + bytes + GUARD };
        let is_guarded = around.contains(&address) && !(start..start + bytes).contains(&address);
        is_guarded.then(|| address as i64 - start as i64)
    }

    /// Start and size of shared memory.
    #[inline]
    pub(crate) fn shared(&self) -> (usize, usize) {
        self.shared
    }
}

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// The block frame: memory in which a block entry keeps its threads' values over barriers, and the
/// accesses that it hands to the checker.
#[derive(Default)]
pub(crate) struct BlockFrame {
    lines: Vec<CacheLine>,
}

impl BlockFrame {
    /// Makes room for a frame with so many bytes for each thread. `clear`: no thread has left an
    /// access in it yet.
    pub(super) fn resize(&mut self, bytes_per_thread: u64, threads: u32, clear: bool) {
        let bytes = size_of::<FrameCommon>() as u64 + bytes_per_thread * u64::from(threads);
        let lines = bytes.div_ceil(size_of::<CacheLine>() as u64) as usize;
        if self.lines.len() < lines {
            self.lines.resize(lines, CacheLine([0; 64]));
        }
        if clear {
            self.lines[..lines].fill(CacheLine([0; 64]));
        }
    }

    /// The address that the block entry is given, behind the common part.
    ///
    /// # Safety
    /// [`BlockFrame::resize`] came before.
    pub(crate) unsafe fn address(&mut self) -> *mut u8 {
        // SAFETY: `resize` made it larger than the common part.
        unsafe { self.lines.as_mut_ptr().cast::<u8>().add(size_of::<FrameCommon>()) }
    }
}
