//! The history of a word that its shadow word cannot hold: a list of records
//! at full width. An expanded shadow word points to it; whoever has set the
//! shadow word to busy owns it.

use crate::vector::COPIES;
use crate::word::{Span, Touch};

/// Threads that made an access, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Launch-unique id of the block of [`Member::thread`]; with [`COPIES`] set,
    /// its first one, and the access was an asynchronous copy's.
    pub uid: u64,
    /// Epoch of [`Member::thread`], or of each of the lanes.
    pub clock: u32,
    /// Where not 0, exactly these lanes of the thread's warp. Where 0, the
    /// threads are those that [`Member::span`] says.
    pub lanes: u32,
    /// One of the threads: linear index in its block.
    pub thread: u16,
    /// How many threads, where they are not known one by one.
    pub span: Span,
}

impl Member {
    /// A single thread.
    pub const fn thread(uid: u64, thread: u32, clock: u32) -> Self {
        Self { uid, clock, lanes: 1 << (thread & 31), thread: thread as u16, span: Span::Thread }
    }

    /// The block's uid.
    pub const fn block(&self) -> u64 {
        self.uid & !COPIES
    }

    /// Whether asynchronous copies made the access.
    pub const fn is_copy(&self) -> bool {
        self.uid & COPIES != 0
    }

    /// Linear index of the warp, in its block, of the known thread.
    pub const fn warp(&self) -> u32 {
        self.thread as u32 >> 5
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was done to which bytes.
    pub touch: Touch,
    /// The instruction: its number in the process.
    pub site: u32,
    /// Who did it, and when.
    pub member: Member,
}

/// The records of one word.
#[derive(Debug, Default)]
pub struct Chain {
    /// In the order of their first access.
    pub entries: Vec<Entry>,
    /// Whether every entry is a plain read: then a further read races with none of them.
    pub reads_only: bool,
}
