//! The allocator of this library: the C library's, until a signal or `_exit` ends the program. The
//! interrupted code may be inside `malloc`, which cannot be entered again. From then on memory comes
//! from pages of its own and is never freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Address space for the end, bytes: the first size that the system grants. Pages are taken when
/// they are used.
const SIZES: [usize; 3] = [8 << 30, 1 << 30, 64 << 20];

/// See the module.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

static IS_AT_END: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Leaves the C library's allocator for good: the program ends. A signal handler may call this.
pub fn leave_malloc() {
    if IS_AT_END.load(Ordering::Acquire) {
        return;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    for size in SIZES {
        // SAFETY: a fresh mapping.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
        if pages != libc::MAP_FAILED {
            NEXT.store(pages.addr(), Ordering::Relaxed);
            LIMIT.store(pages.addr() + size, Ordering::Relaxed);
            IS_AT_END.store(true, Ordering::Release);
            return;
        }
    }
}

/// Takes zeroed memory from the pages for the end.
fn take(layout: Layout) -> *mut u8 {
    let room = layout.size() + layout.align();
    let at = NEXT.fetch_add(room, Ordering::Relaxed).next_multiple_of(layout.align());
    match at + layout.size() <= LIMIT.load(Ordering::Relaxed) {
        true => at as *mut u8,
        false => std::ptr::null_mut(),
    }
}

// SAFETY: memory is the C library's, or taken once from pages that stay. At the end nothing is given
// back, so neither allocator sees the other's memory.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match IS_AT_END.load(Ordering::Acquire) {
            true => take(layout),
            // SAFETY: by contract.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match IS_AT_END.load(Ordering::Acquire) {
            true => take(layout),
            // SAFETY: by contract.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !IS_AT_END.load(Ordering::Acquire) {
            // SAFETY: by contract.
            unsafe { System.dealloc(memory, layout) };
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !IS_AT_END.load(Ordering::Acquire) {
            // SAFETY: by contract.
            return unsafe { System.realloc(memory, layout, size) };
        }
        // SAFETY: by contract: the size is valid for this alignment.
        let new = take(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        if !new.is_null() {
            // SAFETY: both are valid for so many bytes, and the new memory is nobody else's.
            unsafe { std::ptr::copy_nonoverlapping(memory, new, layout.size().min(size)) };
        }
        new
    }
}
