//! The executor's memory: a range of addresses for device memory alone. Device code that leaves its
//! arrays accesses other device memory, as on a GPU, or faults, but never memory of the checker or
//! of the program.
//!
//! The range is reserved once and takes no memory. Small allocations share slabs. Large ones and
//! managed memory have pages of their own. Between slabs and large allocations lies a gap without
//! access. Freed addresses are used again for allocations of the same size.

use std::collections::HashMap;
use std::ffi::c_void;

use parking_lot::Mutex;

use crate::backend::memory::MemoryRequest;
use crate::host::limits::PAGE;

/// Sizes of the range. The first that the system grants is used.
const RESERVE: [usize; 3] = [1 << 42, 1 << 38, 1 << 34];
/// Bytes of a slab, from which small allocations are cut.
const SLAB: usize = 4 << 20;
/// From this size on, an allocation has pages of its own. They take no memory until they are used.
const OWN_PAGES_FROM: usize = 128 << 10;
/// Bytes of the gap after each slab and large allocation.
const GAP: usize = 1 << 20;

/// True if the allocation shares pages with others.
fn is_small(request: MemoryRequest) -> bool {
    !request.own_pages && request.size < OWN_PAGES_FROM
}

/// Number of addresses that a large allocation takes, without the gap.
fn span(request: MemoryRequest) -> usize {
    request.size.next_multiple_of(PAGE)
}

/// The executor's memory.
#[derive(Default)]
pub struct Arena(Mutex<ArenaState>);

#[derive(Default)]
struct ArenaState {
    /// Start and size of the unused rest of the range. `None` before it is reserved.
    rest: Option<(usize, usize)>,
    /// Start and size of the unused rest of the newest slab.
    slab: (usize, usize),
    /// Freed small allocations, by size.
    small: HashMap<usize, Vec<usize>>,
    /// Freed large allocations, by span. Their pages cannot be accessed.
    large: HashMap<usize, Vec<usize>>,
}

impl Arena {
    /// Takes memory that is filled with zeros. `None` if there is no more.
    pub fn take(&self, request: MemoryRequest) -> Option<usize> {
        let mut arena = self.0.lock();
        if is_small(request) {
            return arena.take_small(request.size);
        }
        let span = span(request);
        match arena.large.get_mut(&span).and_then(Vec::pop) {
            Some(address) => {
                let opened = open(address, span);
                if !opened {
                    arena.large.entry(span).or_default().push(address);
                }
                opened.then_some(address)
            }
            None => arena.take_new(span),
        }
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// `address` came from [`Self::take`] with this request, and nobody uses it.
    pub unsafe fn give(&self, address: usize, request: MemoryRequest) {
        let mut arena = self.0.lock();
        if is_small(request) {
            arena.small.entry(request.size).or_default().push(address);
            return;
        }
        let span = span(request);
        // SAFETY: the pages belong to the allocation alone, and nobody uses them.
        if unsafe { close(address, span) } {
            arena.large.entry(span).or_default().push(address);
        }
    }
}

impl ArenaState {
    fn take_small(&mut self, size: usize) -> Option<usize> {
        if let Some(address) = self.small.get_mut(&size).and_then(Vec::pop) {
            // SAFETY: the memory was given back, so it has this size and nobody uses it.
            unsafe { std::ptr::write_bytes(address as *mut u8, 0, size) };
            return Some(address);
        }
        if self.slab.1 < size {
            self.slab = (self.take_new(SLAB)?, SLAB);
        }
        let (address, left) = self.slab;
        self.slab = (address + size, left - size);
        Some(address)
    }

    /// Takes a new part of the range.
    fn take_new(&mut self, span: usize) -> Option<usize> {
        let (address, left) = match self.rest {
            Some(rest) => rest,
            None => *self.rest.insert(reserve()?),
        };
        let whole = span.checked_add(GAP)?;
        if left < whole || !open(address, span) {
            return None;
        }
        self.rest = Some((address + whole, left - whole));
        Some(address)
    }
}

/// Reserves the range. Returns its start and size.
fn reserve() -> Option<(usize, usize)> {
    RESERVE.into_iter().find_map(|size| {
        // SAFETY: a fresh mapping touches no other memory.
        let address = unsafe { map(0, size, libc::PROT_NONE, 0) }?;
        Some((address, size))
    })
}

/// Makes reserved pages accessible. They hold zeros.
fn open(address: usize, span: usize) -> bool {
    // SAFETY: the pages are of the reserved range, and nobody uses them.
    unsafe { libc::mprotect(address as *mut c_void, span, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Gives the memory of pages back to the system and keeps their addresses.
///
/// # Safety
/// The pages are of the reserved range, and nobody uses them.
unsafe fn close(address: usize, span: usize) -> bool {
    // SAFETY: the caller keeps the contract above.
    unsafe { map(address, span, libc::PROT_NONE, libc::MAP_FIXED) }.is_some()
}

/// Maps addresses, anywhere if `address` is 0. `None` if the system refuses.
///
/// # Safety
/// With `MAP_FIXED`, nobody uses the memory there.
pub unsafe fn map(address: usize, size: usize, protection: i32, flags: i32) -> Option<usize> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: without `MAP_FIXED` the mapping is new. With it, the caller keeps the contract above.
    let got = unsafe { libc::mmap(address as *mut c_void, size, protection, flags, -1, 0) };
    (got != libc::MAP_FAILED).then(|| got.expose_provenance())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(size: usize) -> MemoryRequest {
        MemoryRequest { size, own_pages: false }
    }

    fn zeros(address: usize, size: usize) -> bool {
        // SAFETY: the test has taken so many bytes there.
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, size) };
        bytes.iter().all(|byte| *byte == 0)
    }

    #[test]
    fn pieces_lie_apart_and_are_used_again() {
        let arena = Arena::default();
        for size in [256, 512, 64 << 10, 128 << 10, 5 << 20] {
            let (a, b) = (arena.take(small(size)).unwrap(), arena.take(small(size)).unwrap());
            assert!(a.abs_diff(b) >= size, "{size}");
            assert!(zeros(a, size) && zeros(b, size), "{size}");
            assert_eq!((a % 256, b % 256), (0, 0));
            // SAFETY: `a` holds so many bytes, and is given back once.
            unsafe {
                std::ptr::write_bytes(a as *mut u8, 7, size);
                arena.give(a, small(size));
            }
            let again = arena.take(small(size)).unwrap();
            assert!(zeros(again, size), "{size}");
            // SAFETY: as above.
            unsafe {
                arena.give(again, small(size));
                arena.give(b, small(size));
            }
        }
    }

    #[test]
    fn managed_memory_has_pages_of_its_own() {
        let request = MemoryRequest { size: 256, own_pages: true };
        let arena = Arena::default();
        let (a, b) = (arena.take(request).unwrap(), arena.take(request).unwrap());
        assert_eq!((a % PAGE, b % PAGE), (0, 0));
        assert!(a.abs_diff(b) >= PAGE);
        // SAFETY: both came from `take`.
        unsafe {
            arena.give(a, request);
            arena.give(b, request);
        }
    }
}
