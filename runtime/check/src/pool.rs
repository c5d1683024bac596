//! Memory for what a shadow word can point to: pieces of one size, taken and given
//! back by blocks that run at once.

use std::sync::Arc;

use parking_lot::Mutex;

/// Pieces that are allocated at once.
const PAGE: usize = 1024;
/// Pieces that a block takes from the others, or gives them, at once.
const LOT: usize = 256;

/// All pieces of a checker. They live as long as it does.
#[derive(Debug)]
pub(crate) struct Store<T> {
    shared: Mutex<Shared<T>>,
}

#[derive(Debug)]
struct Shared<T> {
    /// From `Box::into_raw`.
    pages: Vec<*mut [T]>,
    /// Pieces that no word owns.
    free: Vec<*mut T>,
}

// SAFETY: a piece is used by who has taken it alone.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { shared: Mutex::new(Shared { pages: Vec::new(), free: Vec::new() }) }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        for &page in &self.pages {
            // SAFETY: it came from a box, and no word is left that owns a piece.
            drop(unsafe { Box::from_raw(page) });
        }
    }
}

impl<T> Store<T> {
    /// A piece that no word owns any more.
    pub(crate) fn give_back(&self, piece: *mut T) {
        self.shared.lock().free.push(piece);
    }
}

/// Pieces that a block keeps for its next words.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    store: Arc<Store<T>>,
    free: Vec<*mut T>,
}

// SAFETY: the pool's pieces are nobody else's.
unsafe impl<T: Send> Send for Pool<T> {}

impl<T: Copy + Default> Pool<T> {
    pub(crate) fn new(store: Arc<Store<T>>) -> Self {
        Self { store, free: Vec::new() }
    }

    /// A piece, whatever it holds.
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

    /// A piece that no word owns any more.
    pub(crate) fn give_back(&mut self, piece: *mut T) {
        self.free.push(piece);
        if self.free.len() >= 4 * LOT {
            let kept = self.free.len() - LOT;
            self.store.shared.lock().free.extend(self.free.drain(kept..));
        }
    }

    #[cold]
    fn refill(&mut self) -> *mut T {
        let mut shared = self.store.shared.lock();
        if shared.free.is_empty() {
            let page = Box::into_raw(vec![T::default(); PAGE].into_boxed_slice());
            // The first one comes last, so that words in a row get pieces in a row.
            // SAFETY: within the page.
            shared.free.extend((0..PAGE).rev().map(|i| unsafe { page.cast::<T>().add(i) }));
            shared.pages.push(page);
        }
        let kept = shared.free.len().saturating_sub(LOT);
        self.free.extend(shared.free.drain(kept..));
        self.free.pop().expect("a page has pieces")
    }
}

/// Has a piece ready that is about to be written: the atomic instruction that follows
/// would otherwise wait for memory.
fn prefetch<T>(piece: *mut T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, of an address that is mapped.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(piece.cast());
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        self.store.shared.lock().free.append(&mut self.free);
    }
}
