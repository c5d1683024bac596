//! A record at full width, for what does not fit the 64 bits of a [`record`](crate::model::record).

use crate::model::access::Touch;
use crate::model::relation::Span;

/// Bit of a uid that names the asynchronous copies of a block's threads instead of the threads.
/// The copies of each thread have epochs of their own.
pub const COPIES: u64 = 1 << 56;

/// Threads that made an access, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Unique id of the block of [`Member::thread`]. Where an asynchronous copy made the access:
    /// the block's first uid, with [`COPIES`] set.
    pub uid: u64,
    /// Epoch of [`Member::thread`], or of each of the lanes.
    pub clock: u32,
    /// Where not 0, exactly these lanes of the thread's warp. Where 0, [`Member::span`] says which
    /// threads.
    pub lanes: u32,
    /// One of the threads: linear index in its block.
    pub thread: u16,
    /// How many threads there are, if they are not known one by one.
    pub span: Span,
}

impl Member {
    /// A single thread.
    pub const fn thread(uid: u64, thread: u32, clock: u32) -> Self {
        Self { uid, clock, lanes: 1 << (thread & 31), thread: thread as u16, span: Span::Thread }
    }

    /// The block's uid, without [`COPIES`].
    pub const fn block(&self) -> u64 {
        self.uid & !COPIES
    }

    /// True if asynchronous copies made the access.
    pub const fn is_copy(&self) -> bool {
        self.uid & COPIES != 0
    }

    /// Linear index, in its block, of the warp of the known thread.
    pub const fn warp(&self) -> u32 {
        self.thread as u32 >> 5
    }
}

/// A record at full width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was done to which bytes.
    pub touch: Touch,
    /// The instruction: its number in the process.
    pub site: u32,
    /// The threads that did it, and when.
    pub member: Member,
}
