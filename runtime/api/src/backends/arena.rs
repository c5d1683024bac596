//! The executor's memory: ranges of addresses for device memory alone. Device code that leaves its
//! arrays accesses other device memory, as on a GPU, or faults, but never memory of the checker or
//! of the program.
//!
//! The ranges are reserved once and take no memory. As long as there are *guarded ranges*, an allocation lies
//! in one of its own, far from all others: an index of 32 bits never leads from one to another. So
//! an access that leaves its array ends the launch, and proofs need not look at such an index.
//!
//! Without guards, small allocations share slabs. Large ones and managed memory have pages of their
//! own. Between slabs and large allocations lies a gap without access.
//!
//! Freed addresses are used again, first for allocations of the same size.

use std::collections::HashMap;
use std::ffi::c_void;

use gpurace_protocol::launch::GUARD;
use parking_lot::Mutex;

use crate::backend::memory::MemoryRequest;
use crate::host::limits::PAGE;

/// Most bytes of an allocation in a guarded range, and bytes before and behind its pages in which nothing
/// lies. The allocation may leave a part of a page at either end.
const HALF: usize = GUARD as usize + PAGE;
/// Bytes from one guarded range to the next. A guarded range begins with its allocation.
const GUARDED_SPAN: usize = 2 * HALF;
/// Numbers of guarded ranges. The first that the system grants is used.
const GUARDED: [usize; 3] = [480, 120, 0];
/// Sizes of the range without guards. The first that the system grants is used.
const RESERVE: [usize; 3] = [1 << 42, 1 << 38, 1 << 34];
/// Bytes of a slab, from which small allocations are cut.
const SLAB: usize = 4 << 20;
/// From this size on, an allocation has pages of its own. They take no memory until they are used.
const OWN_PAGES_FROM: usize = 128 << 10;
/// Bytes of the gap after each slab and large allocation.
const GAP: usize = 1 << 20;

/// True if an allocation keeps its memory when it is freed, and may share pages with others.
fn is_small(request: MemoryRequest) -> bool {
    !request.own_pages && request.size < OWN_PAGES_FROM
}

/// Number of addresses that an allocation with pages of its own takes, without the gap.
fn span(request: MemoryRequest) -> usize {
    request.size.next_multiple_of(PAGE)
}

/// The executor's memory.
#[derive(Default)]
pub struct Arena(Mutex<ArenaState>);

#[derive(Default)]
struct ArenaState {
    /// The guarded ranges. `None` before they are reserved.
    guarded: Option<GuardedRanges>,
    /// Start and size of the unused rest of the range. `None` before it is reserved.
    rest: Option<(usize, usize)>,
    /// Start and size of the unused rest of the newest slab.
    slab: (usize, usize),
    /// Freed small allocations, by size.
    small: HashMap<usize, Vec<usize>>,
    /// Freed large allocations without guards, by span. Their pages cannot be accessed.
    large: HashMap<usize, Vec<usize>>,
}

/// The guarded ranges.
struct GuardedRanges {
    /// Address of the first.
    first: usize,
    /// Their number.
    count: usize,
    /// Number of those that were ever used.
    used: usize,
    /// Addresses of guarded ranges that are free again. Their pages cannot be accessed.
    free: Vec<usize>,
}

impl Arena {
    /// Takes memory that is filled with zeros. `None` if there is no more.
    pub fn take(&self, request: MemoryRequest) -> Option<usize> {
        let mut arena = self.0.lock();
        if is_small(request)
            && let Some(address) = arena.small.get_mut(&request.size).and_then(Vec::pop)
        {
            // SAFETY: the memory was given back, so it has this size and nobody uses it.
            unsafe { std::ptr::write_bytes(address as *mut u8, 0, request.size) };
            return Some(address);
        }
        let span = span(request);
        if let Some(range) = arena.guarded().take(span) {
            // What lies behind the last page that it needs is guarded.
            return Some(if request.own_pages { range } else { range + span - request.size });
        }
        if is_small(request) {
            return arena.take_from_slab(request.size);
        }
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
        let (span, range) = (span(request), arena.guarded().of(address));
        // SAFETY: the pages belong to the allocation alone, and nobody uses them.
        if unsafe { close(range.unwrap_or(address), span) } {
            match range {
                Some(range) => arena.guarded().free.push(range),
                None => arena.large.entry(span).or_default().push(address),
            }
        }
    }

    /// Bytes on each side of the allocation at an address in which nothing lies.
    pub fn guard(&self, address: usize) -> u64 {
        let range = self.0.lock().guarded().of(address);
        if range.is_some() { GUARD } else { 0 }
    }
}

impl ArenaState {
    fn guarded(&mut self) -> &mut GuardedRanges {
        self.guarded.get_or_insert_with(GuardedRanges::reserve)
    }

    fn take_from_slab(&mut self, size: usize) -> Option<usize> {
        if self.slab.1 < size {
            self.slab = (self.take_new(SLAB)?, SLAB);
        }
        let (address, left) = self.slab;
        self.slab = (address + size, left - size);
        Some(address)
    }

    /// Takes a new part of the range without guards.
    fn take_new(&mut self, span: usize) -> Option<usize> {
        let (address, left) = match self.rest {
            Some(rest) => rest,
            None => *self.rest.insert(RESERVE.into_iter().find_map(|size| Some((reserve(size)?, size)))?),
        };
        let whole = span.checked_add(GAP)?;
        if left < whole || !open(address, span) {
            return None;
        }
        self.rest = Some((address + whole, left - whole));
        Some(address)
    }
}

impl GuardedRanges {
    fn reserve() -> Self {
        let granted =
            GUARDED.into_iter().find_map(|count| Some((reserve(HALF + count * GUARDED_SPAN)?, count)));
        let (start, count) = granted.unwrap_or_default();
        Self { first: start + HALF, count, used: 0, free: Vec::new() }
    }

    /// Opens a guarded range for so many bytes. `None` if none is left for them.
    fn take(&mut self, span: usize) -> Option<usize> {
        if span > HALF {
            return None;
        }
        let (range, is_new) = match self.free.pop() {
            Some(range) => (range, false),
            None if self.used < self.count => (self.first + self.used * GUARDED_SPAN, true),
            None => return None,
        };
        let opened = open(range, span);
        match (opened, is_new) {
            (true, true) => self.used += 1,
            (false, false) => self.free.push(range),
            (true, false) | (false, true) => {}
        }
        opened.then_some(range)
    }

    /// The guarded range that an address lies in.
    fn of(&self, address: usize) -> Option<usize> {
        let offset = address.checked_sub(self.first)?;
        (offset < self.count * GUARDED_SPAN).then(|| self.first + offset / GUARDED_SPAN * GUARDED_SPAN)
    }
}

/// Reserves a range of addresses. Returns its start.
fn reserve(size: usize) -> Option<usize> {
    // SAFETY: a fresh mapping touches no other memory.
    unsafe { map(0, size, libc::PROT_NONE, 0) }
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
    fn slots_lie_far_apart_and_serve_any_size_again() {
        let arena = Arena::default();
        let large = small(1 << 20);
        let taken: Vec<usize> = (0..3).map(|_| arena.take(large).unwrap()).collect();
        for (i, address) in taken.iter().enumerate() {
            assert!(taken[..i].iter().all(|other| address.abs_diff(*other) >= HALF + large.size));
            assert!(arena.guard(*address) > 0 && arena.guard(*address + large.size - 1) > 0);
        }
        // SAFETY: it came from `take`.
        unsafe { arena.give(taken[1], large) };
        let other = arena.take(small(3 << 20)).unwrap();
        assert!(zeros(other, 3 << 20));
        assert!(other.abs_diff(taken[1]) < HALF, "the range is used again");
        // An array ends where its last page does.
        assert_eq!((arena.take(small(256)).unwrap() + 256) % PAGE, 0);
    }

    #[test]
    fn without_slots_nothing_is_guarded() {
        let arena = Arena::default();
        let addresses: Vec<usize> = (0..GUARDED[0] + 2).map(|_| arena.take(small(512)).unwrap()).collect();
        let [a, b] = addresses[GUARDED[0]..] else { panic!() };
        assert_eq!((arena.guard(a), arena.guard(b)), (0, 0));
        assert_eq!(b - a, 512);
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
