//! Where allocations come from: a range of addresses of their own, so that
//! device code that leaves its arrays meets other device memory, as on a GPU,
//! or nothing, but never what the checker and the program keep.
//!
//! The range is reserved once and takes no memory. Small allocations share
//! slabs, large ones and those of managed memory have pages of their own; between
//! slabs and large allocations there is a gap that nobody may touch. Freed places
//! are used again for allocations of the same size.

use std::collections::HashMap;
use std::ffi::c_void;

use parking_lot::Mutex;

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Addresses to reserve: the first that the system grants.
const RESERVE: [usize; 3] = [1 << 42, 1 << 38, 1 << 34];
/// Small allocations are cut from pieces of this size.
const SLAB: usize = 4 << 20;
/// From this size on an allocation has pages of its own, which stay untouched
/// until they are used.
const OWN_PAGES_FROM: usize = 128 << 10;
/// Addresses that stay free after each slab and large allocation.
const GAP: usize = 1 << 20;

/// How a piece is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Bytes, a multiple of [`super::map::ALIGNMENT`].
    pub size: usize,
    /// Shares its pages with nothing.
    pub own_pages: bool,
}

impl Request {
    fn is_small(self) -> bool {
        !self.own_pages && self.size < OWN_PAGES_FROM
    }

    /// Addresses that a large one takes, the gap left out.
    fn span(self) -> usize {
        self.size.next_multiple_of(PAGE)
    }
}

#[derive(Default)]
struct Arena {
    /// What is left of the reserved range; `None` before it is reserved.
    rest: Option<(usize, usize)>,
    /// What is left of the newest slab.
    slab: (usize, usize),
    /// Freed small pieces by size.
    small: HashMap<usize, Vec<usize>>,
    /// Freed large ones by span; nobody may touch them.
    large: HashMap<usize, Vec<usize>>,
}

static ARENA: Mutex<Option<Arena>> = Mutex::new(None);

/// Takes memory, filled with zeros, or `None` where there is no more.
pub fn take(request: Request) -> Option<usize> {
    let mut arena = ARENA.lock();
    let arena = arena.get_or_insert_with(Arena::default);
    if request.is_small() {
        return arena.take_small(request.size);
    }
    let span = request.span();
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
/// `address` came from [`take`] with this request, and nobody uses it.
pub unsafe fn give(address: usize, request: Request) {
    let mut arena = ARENA.lock();
    let Some(arena) = arena.as_mut() else { return };
    if request.is_small() {
        arena.small.entry(request.size).or_default().push(address);
        return;
    }
    let span = request.span();
    // SAFETY: the pages are the allocation's alone, and nobody uses them.
    if unsafe { close(address, span) } {
        arena.large.entry(span).or_default().push(address);
    }
}

impl Arena {
    fn take_small(&mut self, size: usize) -> Option<usize> {
        if let Some(address) = self.small.get_mut(&size).and_then(Vec::pop) {
            // SAFETY: the piece was given back, so it is this size and unused.
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

    /// A new piece of the reserved range.
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

/// Addresses that nobody else gets, and their number.
fn reserve() -> Option<(usize, usize)> {
    RESERVE.into_iter().find_map(|size| {
        // SAFETY: a fresh mapping touches no other memory.
        let address = unsafe { map(0, size, libc::PROT_NONE, 0) }?;
        Some((address, size))
    })
}

/// Lets reserved pages be read and written; they hold zeros.
fn open(address: usize, span: usize) -> bool {
    // SAFETY: the pages are of the reserved range, and nobody's.
    unsafe { libc::mprotect(address as *mut c_void, span, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Gives the pages' memory back to the system and keeps their addresses.
///
/// # Safety
/// The pages are of the reserved range, and nobody uses them.
unsafe fn close(address: usize, span: usize) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { map(address, span, libc::PROT_NONE, libc::MAP_FIXED) }.is_some()
}

/// # Safety
/// With `MAP_FIXED`, nobody uses what is mapped there.
unsafe fn map(address: usize, size: usize, protection: i32, flags: i32) -> Option<usize> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: without `MAP_FIXED` a fresh mapping; else as the caller vouches.
    let got = unsafe { libc::mmap(address as *mut c_void, size, protection, flags, -1, 0) };
    (got != libc::MAP_FAILED).then_some(got as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(size: usize) -> Request {
        Request { size, own_pages: false }
    }

    fn zeros(address: usize, size: usize) -> bool {
        // SAFETY: the test has taken so many bytes there.
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, size) };
        bytes.iter().all(|byte| *byte == 0)
    }

    #[test]
    fn pieces_lie_apart_and_are_used_again() {
        for size in [256, 512, 64 << 10, 128 << 10, 5 << 20] {
            let (a, b) = (take(small(size)).unwrap(), take(small(size)).unwrap());
            assert!(a.abs_diff(b) >= size, "{size}");
            assert!(zeros(a, size) && zeros(b, size), "{size}");
            assert_eq!((a % 256, b % 256), (0, 0));
            // SAFETY: `a` holds so many bytes, and is given back once.
            unsafe {
                std::ptr::write_bytes(a as *mut u8, 7, size);
                give(a, small(size));
            }
            let again = take(small(size)).unwrap();
            assert!(zeros(again, size), "{size}");
            // SAFETY: as above.
            unsafe {
                give(again, small(size));
                give(b, small(size));
            }
        }
    }

    #[test]
    fn managed_memory_has_pages_of_its_own() {
        let request = Request { size: 256, own_pages: true };
        let (a, b) = (take(request).unwrap(), take(request).unwrap());
        assert_eq!((a % PAGE, b % PAGE), (0, 0));
        assert!(a.abs_diff(b) >= PAGE);
        // SAFETY: both came from `take`.
        unsafe {
            give(a, request);
            give(b, request);
        }
    }
}
