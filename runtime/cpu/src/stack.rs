//! The memory of a resident block: one stack for each of its threads, and its shared memory, in one
//! mapping.
//!
//! ```text
//! | guard | shared memory | guard | guard | stack 0 | guard | stack 1 | ...
//! ```
//!
//! The guards around shared memory are as wide as the largest shared memory: a wrong index of some rows too many leads
//! into them, and not into a stack.
//!
//! The hot ends of page-aligned stacks of one size map to the same few cache sets. Therefore each
//! stack starts [`COLOUR_STEP`] bytes lower in its page than the one before.
//!
//! A thread gets its stack when it starts, and gives it back when it ends. A stack is made accessible when it is first
//! used. If no thread waits for another, all threads use the first stack one after the other.

use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};

use crate::shared::SharedRoom;

/// Unmapped bytes below each stack, and around the shared memory of a block in a cluster.
pub(crate) const GUARD: usize = 32 << 10;
/// Unmapped bytes on each side of shared memory.
const SHARED_GUARD: usize = 256 << 10;
/// Bytes below the stack pointer that code may use: the red zone of the ABI.
const RED_ZONE: usize = 128;
/// Bytes by which the start of each stack is lower in its page than that of the one before.
const COLOUR_STEP: usize = 128;
/// The least room for shared memory of a slab, in bytes.
const LEAST_SHARED: usize = 64 << 10;
/// Size of a page.
pub(crate) const PAGE: usize = 4096;

/// The stacks and the shared memory of one block.
#[derive(Debug)]
pub(crate) struct Slab {
    base: NonNull<u8>,
    len: usize,
    shared: SharedRoom,
    stacks: usize,
    stack_bytes: usize,
    /// Number of stacks that are accessible: the first ones.
    open: usize,
    /// Number of stacks that the block has used: the first ones.
    used: usize,
    /// Those of them that nobody uses now.
    free: Vec<SlabStack>,
}

// SAFETY: the mapping belongs to the `Slab` alone and is not tied to a thread.
unsafe impl Send for Slab {}

/// One stack of a [`Slab`], which must outlive it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlabStack {
    /// The address behind its highest byte, 16-aligned.
    top: usize,
    /// The lowest address of the guard below it.
    guard: usize,
}

impl SlabStack {
    /// True if `address` lies in the guard pages below the stack.
    fn guards(&self, address: usize) -> bool {
        (self.guard..self.guard + GUARD).contains(&address)
    }

    /// True if an access to `address` shows that the stack has grown into its guard pages. A wrong index may lead there
    /// too, far below the stack pointer.
    pub(crate) fn overflows(&self, address: usize, stack_pointer: usize) -> bool {
        self.guards(address) && address + RED_ZONE >= stack_pointer
    }

    /// True if a stack pointer lies in this stack or its guard pages.
    pub(crate) fn holds(&self, pointer: usize) -> bool {
        (self.guard..=self.top).contains(&pointer)
    }

    /// The address behind the stack's highest byte, 16-aligned.
    pub(crate) fn top(&self) -> usize {
        self.top
    }
}

impl Slab {
    /// Maps `stacks` stacks of at least `stack_bytes` usable bytes and
    /// `shared_bytes` of shared memory.
    ///
    /// # Errors
    /// Where the system has no such mapping left.
    pub(crate) fn new(stacks: usize, stack_bytes: usize, shared_bytes: usize) -> io::Result<Self> {
        // A stack may start up to one page lower.
        let stack_bytes = stack_bytes.max(4 * PAGE).next_multiple_of(PAGE) + PAGE;
        // Mapped memory that is never touched costs nothing: the slab is large enough to serve
        // later launches too.
        let shared_bytes = shared_bytes.max(LEAST_SHARED).next_multiple_of(PAGE);
        let stacks = Self::stacks_for(stacks);
        let len = 2 * SHARED_GUARD + shared_bytes + stacks * (GUARD + stack_bytes);
        // SAFETY: a fresh anonymous mapping; nothing is overlaid.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let Some(base) = NonNull::new(base.cast::<u8>()) else {
            return Err(io::Error::other("mapping at address 0"));
        };
        let shared = SharedRoom::new(base.as_ptr() as usize + SHARED_GUARD, shared_bytes);
        Ok(Self { base, len, shared, stacks, stack_bytes, open: 0, used: 0, free: Vec::new() })
    }

    /// Number of stacks of a slab for a block that needs `stacks`.
    pub(crate) fn stacks_for(stacks: usize) -> usize {
        stacks.next_power_of_two()
    }

    /// Takes back all stacks.
    ///
    /// # Safety
    /// Nobody uses one.
    pub(crate) unsafe fn take_back_all(&mut self) {
        self.used = 0;
        self.free.clear();
    }

    /// Takes back a stack.
    ///
    /// # Safety
    /// Nobody uses it any more.
    pub(crate) unsafe fn take_back(&mut self, stack: SlabStack) {
        self.free.push(stack);
    }

    /// A stack that nobody uses. The one that came back last comes first: it is in the caches.
    ///
    /// # Errors
    /// If the system has no memory or no mapping left.
    pub(crate) fn hand_out(&mut self) -> io::Result<SlabStack> {
        if let Some(stack) = self.free.pop() {
            return Ok(stack);
        }
        if self.used == self.open {
            self.open_next()?;
        }
        self.used += 1;
        Ok(self.stack(self.used - 1))
    }

    /// Makes one more stack accessible.
    #[cold]
    fn open_next(&mut self) -> io::Result<()> {
        debug_assert!(self.open < self.stacks);
        // SAFETY: the stack lies in the mapping, and nobody uses it yet.
        let result = unsafe {
            let lowest = self.base.as_ptr().add(self.stack_offset(self.open));
            libc::mprotect(lowest.cast(), self.stack_bytes, libc::PROT_READ | libc::PROT_WRITE)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        self.open += 1;
        Ok(())
    }

    /// Offset of the lowest usable byte of stack `i`.
    fn stack_offset(&self, i: usize) -> usize {
        2 * SHARED_GUARD + self.shared.bytes() + i * (GUARD + self.stack_bytes) + GUARD
    }

    /// True if the slab is large enough for such a block.
    pub(crate) fn serves(&self, stacks: usize, stack_bytes: usize, shared_bytes: usize) -> bool {
        self.stacks >= stacks && self.stack_bytes >= stack_bytes + PAGE && self.shared.bytes() >= shared_bytes
    }

    /// Number of stacks.
    pub(crate) fn stacks(&self) -> usize {
        self.stacks
    }

    /// Stack `i`.
    fn stack(&self, i: usize) -> SlabStack {
        debug_assert!(i < self.stacks);
        let lowest = self.base.as_ptr() as usize + self.stack_offset(i);
        let colour = i * COLOUR_STEP % PAGE;
        SlabStack { top: lowest + self.stack_bytes - colour, guard: lowest - GUARD }
    }

    /// The room for shared memory.
    pub(crate) fn shared(&self) -> &SharedRoom {
        &self.shared
    }

    /// Opens room for so many bytes of shared memory, of those that the slab was made for.
    ///
    /// # Errors
    /// If the system has no mapping left.
    ///
    /// # Safety
    /// No block uses the slab.
    pub(crate) unsafe fn open_shared(&mut self, bytes: usize) -> io::Result<()> {
        // SAFETY: the room lies in the slab's mapping.
        unsafe { self.shared.open(bytes) }
    }

    /// The addresses of the room for shared memory, of the guards around it and of that below the first stack.
    pub(crate) fn shared_and_guards(&self) -> Range<usize> {
        let base = self.base.as_ptr() as usize;
        base..base + self.stack_offset(0)
    }

    /// Start and size of the memory of all stacks, guards included.
    pub(crate) fn local_range(&self) -> (usize, usize) {
        let start = 2 * SHARED_GUARD + self.shared.bytes();
        (self.base.as_ptr() as usize + start, self.len - start)
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: the mapping is the slab's own, and not used past its life.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// The most stacks that all slabs of a process have together. Their mappings stay well below the
/// system's limit.
pub(crate) fn most_stacks() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count")
        .ok()
        .and_then(|s| s.trim().parse::<usize>().ok())
        .unwrap_or(65_530);
    // A stack and its guard are two mappings; half of the limit is for the program.
    (limit / 4).clamp(2048, 1 << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_apart_and_writable_to_their_ends() {
        let mut slab = Slab::new(40, 64 << 10, 1000).expect("mapping");
        // SAFETY: nobody uses the slab.
        unsafe { slab.open_shared(1000) }.expect("protection");
        let shared = slab.shared().place(1000, 16, 0);
        let mut last: Option<SlabStack> = None;
        for _ in 0..40 {
            let s = slab.hand_out().expect("protection");
            assert_eq!(s.top() % 16, 0);
            let lowest = s.guard + GUARD;
            assert!(s.top() - lowest >= 64 << 10);
            assert!(s.guards(lowest - 1) && !s.guards(lowest));
            // The stack grows below the stack pointer; what lies far below it is no part of the stack.
            assert!(s.overflows(lowest - 8, lowest) && s.overflows(lowest - 4, lowest - 4096));
            assert!(!s.overflows(lowest - 4, lowest + 4096) && !s.overflows(lowest, lowest));
            // SAFETY: both bytes belong to the stack.
            unsafe {
                (lowest as *mut u8).write(1);
                ((s.top() - 1) as *mut u8).write(1);
            }
            if let Some(last) = last {
                assert!(last.top() <= s.guard);
                assert_ne!(last.top() % PAGE, s.top() % PAGE);
            }
            last = Some(s);
        }
        // SAFETY: 1000 bytes of shared memory were asked for.
        unsafe { ((shared + 999) as *mut u8).write(1) };
        let around = slab.shared_and_guards();
        assert!(
            around.contains(&(shared + 1000 + SHARED_GUARD))
                && !around.contains(&(slab.stack(0).guard + GUARD))
        );
        let (start, len) = slab.local_range();
        assert!((start..start + len).contains(&(slab.stack(39).top() - 1)));
        assert!(!(start..start + len).contains(&(shared + 999)));
    }

    #[test]
    fn the_stack_that_came_back_last_comes_first() {
        let mut slab = Slab::new(4, 64 << 10, 0).expect("mapping");
        let tops = |slab: &mut Slab| [(); 2].map(|()| slab.hand_out().expect("protection"));
        let [first, second] = tops(&mut slab);
        // SAFETY: nobody uses the stacks.
        unsafe {
            slab.take_back(second);
            slab.take_back(first);
        }
        assert_eq!(tops(&mut slab).map(|s| s.top()), [first.top(), second.top()]);
        assert_eq!(slab.open, 2);
        // SAFETY: as above.
        unsafe { slab.take_back_all() };
        assert_eq!(tops(&mut slab).map(|s| s.top()), [first.top(), second.top()]);
        let third = slab.hand_out().expect("protection");
        assert!(third.top() != first.top() && third.top() != second.top());
        assert_eq!(slab.open, 3);
    }

    #[test]
    fn a_slab_serves_what_it_was_made_for() {
        let slab = Slab::new(8, 64 << 10, 70 << 10).expect("mapping");
        assert!(slab.serves(8, 64 << 10, 70 << 10));
        assert!(!slab.serves(9, 64 << 10, 70 << 10));
        assert!(!slab.serves(8, 80 << 10, 70 << 10));
        assert!(!slab.serves(8, 64 << 10, 80 << 10));
    }
}
