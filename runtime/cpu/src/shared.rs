//! Room for the shared memory of a block, between guards.
//!
//! Only the pages that the launch needs are open. Within them, shared memory touches the guard behind it in
//! blocks with even numbers, and the guard before it in the others. So the blocks of a launch end it
//! together if an access leaves shared memory, on either side.

use std::io;

use crate::stack::PAGE;

/// The least alignment of shared memory, in bytes. Hardware hands it out in units of as many (CUDA's
/// `cuda_occupancy.h`, `cudaOccSMemAllocationGranularity`).
const LEAST_ALIGNMENT: usize = 128;

/// Address space for the shared memory of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedRoom {
    /// The address behind it, where a guard begins.
    end: usize,
    bytes: usize,
    /// Bytes before `end` that are open. The others are guarded.
    open: usize,
}

impl SharedRoom {
    /// Room of so many bytes, all of them guarded. `start` and `bytes` are multiples of the page.
    pub(crate) fn new(start: usize, bytes: usize) -> Self {
        Self { end: start + bytes, bytes, open: 0 }
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Opens the pages that so many bytes of shared memory need, and guards all others.
    ///
    /// # Errors
    /// If the system has no mapping left.
    ///
    /// # Safety
    /// The room lies in a mapping of the caller's, and nobody uses it.
    pub(crate) unsafe fn open(&mut self, bytes: usize) -> io::Result<()> {
        let open = bytes.next_multiple_of(PAGE);
        debug_assert!(open <= self.bytes);
        let protect = |from_end: usize, bytes: usize, protection| {
            // SAFETY: the pages lie in the room.
            match unsafe { libc::mprotect((self.end - from_end) as *mut libc::c_void, bytes, protection) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        if open > self.open {
            protect(open, open - self.open, libc::PROT_READ | libc::PROT_WRITE)?;
        } else if open < self.open {
            protect(self.open, self.open - open, libc::PROT_NONE)?;
        }
        self.open = open;
        Ok(())
    }

    /// The address of `bytes` bytes of shared memory, in the block with this number. The room is open for as
    /// many.
    pub(crate) fn place(&self, bytes: usize, alignment: usize, block: u64) -> usize {
        debug_assert_eq!(bytes.next_multiple_of(PAGE), self.open);
        if block.is_multiple_of(2) {
            (self.end - bytes) & !(alignment.clamp(LEAST_ALIGNMENT, PAGE) - 1)
        } else {
            self.end - self.open
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::stack::Slab;

    #[test]
    fn memory_touches_the_guard_behind_or_before_it() {
        let mut slab = Slab::new(1, 16 << 10, 0).expect("mapping");
        for (bytes, alignment, slack) in [(1024, 16, 0), (1000, 16, 24), (5000, 1024, 120), (8192, 0, 0)] {
            // SAFETY: no block uses the slab.
            unsafe { slab.open_shared(bytes) }.expect("protection");
            let room = slab.shared();
            let (behind, before) = (room.place(bytes, alignment, 4), room.place(bytes, alignment, 7));
            assert_eq!(behind + bytes + slack, room.end);
            assert!(behind.is_multiple_of(alignment.max(LEAST_ALIGNMENT)));
            assert_eq!(before, room.end - bytes.next_multiple_of(PAGE));
            for start in [behind, before] {
                // SAFETY: the memory is open, and no block uses it.
                unsafe { ptr::write_bytes(start as *mut u8, 1, bytes) };
            }
        }
    }
}
