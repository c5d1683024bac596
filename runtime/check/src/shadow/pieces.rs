//! Memory for the record lists that shadow words point to: pieces of one size, which blocks that
//! run at once take and give back.

use std::sync::Arc;

use parking_lot::Mutex;

/// Pieces that are allocated together.
const SLAB: usize = 1024;
/// Pieces that a block takes from the store, or gives back to it, together.
const LOT: usize = 256;

/// All pieces of a checker. They live as long as the checker.
#[derive(Debug)]
pub(crate) struct PieceStore<T> {
    shared: Mutex<FreePieces<T>>,
}

#[derive(Debug)]
struct FreePieces<T> {
    /// From `Box::into_raw`.
    slabs: Vec<*mut [T]>,
    /// Pieces that no word owns.
    free: Vec<*mut T>,
}

// SAFETY: only the block that has taken a piece uses it.
unsafe impl<T: Send> Send for FreePieces<T> {}

impl<T> Default for PieceStore<T> {
    fn default() -> Self {
        Self { shared: Mutex::new(FreePieces { slabs: Vec::new(), free: Vec::new() }) }
    }
}

impl<T> Drop for FreePieces<T> {
    fn drop(&mut self) {
        for &slab in &self.slabs {
            // SAFETY: it came from a box, and no word owns a piece any more.
            drop(unsafe { Box::from_raw(slab) });
        }
    }
}

impl<T> PieceStore<T> {
    /// Takes back a piece that no word owns any more.
    pub(crate) fn give_back(&self, piece: *mut T) {
        self.shared.lock().free.push(piece);
    }
}

/// Pieces that a block keeps for its next words.
#[derive(Debug)]
pub(crate) struct Pieces<T> {
    store: Arc<PieceStore<T>>,
    free: Vec<*mut T>,
}

// SAFETY: nobody else uses the pieces.
unsafe impl<T: Send> Send for Pieces<T> {}

impl<T: Copy + Default> Pieces<T> {
    pub(crate) fn new(store: Arc<PieceStore<T>>) -> Self {
        Self { store, free: Vec::new() }
    }

    /// A piece with any content.
    pub(crate) fn take(&mut self) -> *mut T {
        match self.free.pop() {
            Some(piece) => {
                if let Some(&next) = self.free.last() {
                    prefetch(next);
                }
                piece
            }
            None => self.refill(),
        }
    }

    /// Takes back a piece that no word owns any more.
    pub(crate) fn give_back(&mut self, piece: *mut T) {
        self.free.push(piece);
        if self.free.len() >= 4 * LOT {
            let kept = self.free.len() - LOT;
            self.store.shared.lock().free.extend(self.free.drain(kept..));
        }
    }

    /// Takes pieces from the store, and gives one of them out.
    #[cold]
    fn refill(&mut self) -> *mut T {
        let mut shared = self.store.shared.lock();
        if shared.free.is_empty() {
            let slab = Box::into_raw(vec![T::default(); SLAB].into_boxed_slice());
            // In descending order: neighbouring words then get neighbouring pieces.
            // SAFETY: within the slab.
            shared.free.extend((0..SLAB).rev().map(|i| unsafe { slab.cast::<T>().add(i) }));
            shared.slabs.push(slab);
        }
        let kept = shared.free.len().saturating_sub(LOT);
        self.free.extend(shared.free.drain(kept..));
        self.free.pop().expect("a slab has pieces")
    }
}

/// Prefetches a piece that is about to be written: the atomic instruction that follows would
/// otherwise wait for memory.
fn prefetch<T>(piece: *mut T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, of an address that is mapped.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(piece.cast());
    }
}

impl<T> Drop for Pieces<T> {
    fn drop(&mut self) {
        self.store.shared.lock().free.append(&mut self.free);
    }
}
