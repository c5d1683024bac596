//! What an access does, and to which bytes.

use std::ops::Range;

use gpurace_abi::scope::Scope;

/// Bytes of application memory per shadow word.
pub const GRANULE: usize = 4;
/// The mask of all bytes of a word.
pub const FULL: u8 = 0b1111;

/// True if two ranges of bytes, neither of them empty, have bytes in common.
#[inline]
pub(crate) fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The mask of the bytes of a word from `address` to `end`.
pub(crate) fn word_mask(word: usize, address: usize, end: usize) -> u8 {
    let from = address.max(word) - word;
    let to = end.min(word + GRANULE) - word;
    (FULL << from) & (FULL >> (GRANULE - to))
}

/// What an access does to the bytes it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic or volatile access.
    Atomic {
        /// It stores or reads and modifies; otherwise it loads.
        modifies: bool,
        /// It is volatile, and its scope is [`Scope::System`]. It races with other volatile accesses.
        volatile: bool,
        /// The threads to which it is atomic.
        scope: Scope,
        /// Its first byte, counted from the word's first byte: negative in the later words of a
        /// long access.
        start: i8,
        /// Its size, bytes.
        size: u8,
    },
}

impl Op {
    /// A plain access.
    pub const fn plain(writes: bool) -> Self {
        if writes { Self::Write } else { Self::Read }
    }

    /// The threads to which it is atomic; `None` for a plain access.
    pub const fn scope(self) -> Option<Scope> {
        match self {
            Self::Read | Self::Write => None,
            Self::Atomic { scope, .. } => Some(scope),
        }
    }
}

/// What an access does to one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Touch {
    /// What it does.
    pub op: Op,
    /// The bytes of the word: bit `i` is byte `i`.
    pub mask: u8,
}

impl Touch {
    /// The same, also to these bytes.
    #[inline(always)]
    pub(crate) const fn with_bytes(self, bytes: u8) -> Self {
        Self { mask: self.mask | bytes, ..self }
    }
}

/// One access to one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Linear index of the thread in its block.
    pub(crate) thread: u32,
    pub(crate) touch: Touch,
    /// The module's index of the instruction.
    pub(crate) site: u32,
    /// The number that records hold for the instruction; `None` if none is left for it.
    pub(crate) number: Option<u16>,
    /// Address of the word.
    pub(crate) word: usize,
    /// First byte of the whole access.
    pub(crate) address: usize,
    /// Size of the whole access, bytes.
    pub(crate) size: u64,
    /// The word lies in memory that only the thread's block reaches.
    pub(crate) shared: bool,
    /// Where an asynchronous copy of the thread makes the access: the epoch of its copies.
    pub(crate) copy: Option<u32>,
}
