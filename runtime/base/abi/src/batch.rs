//! Batches: accesses of a block's threads by one instruction that are handed to the checker
//! together.
//!
//! Code that runs whole blocks leaves its accesses in the block frame. The pass writes one
//! [`FrameBatch`] for each instruction, and `__gpurace_batches` takes the accesses from where it
//! says.

use core::ops::Range;

/// The most rows of a kernel.
pub const MOST_ROWS: usize = 256;
/// The most values of the program that the threads of a block frame share.
pub const SHARED_VALUES: usize = 28;
/// The next segment that a block frame names once the block has ended.
pub const BLOCK_ENDED: u32 = u32::MAX;

/// The part of a block frame that its threads share. It lies before the frame's address.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct FrameCommon {
    /// The next segment of the block.
    pub next: u32,
    /// The batches of the segment that runs.
    pub batches: *const FrameBatch,
    /// How many they are.
    pub batch_count: u64,
    /// 1 if [`Self::lines`] hold the addresses of the segment that runs, 0 if its threads store
    /// them.
    pub lines_hold: u64,
    /// Values of the program.
    pub shared: [u64; SHARED_VALUES],
    /// The addresses of affine rows.
    pub lines: [Lines; MOST_ROWS],
}

/// Affine addresses: they grow by a step from thread to thread, in each direction of the block.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The address of the block's first thread.
    pub first: u64,
    /// Bytes from a thread to the next one in x, y and z, modulo 2^64.
    pub steps: [u64; 3],
}

/// A batch in a block frame. Each place is an offset in the frame, divided by the number of the
/// block's threads.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameBatch {
    /// The module's index of the instruction.
    pub site: u32,
    /// Bytes of an access: 1, 2, 3, or whole words, at most 128 bytes.
    pub size: u32,
    /// What the accesses do.
    pub does: BatchAccess,
    /// Where their addresses lie.
    pub addresses: FrameAddresses,
}

/// What the accesses of a batch do.
#[repr(C, u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchAccess {
    /// They read.
    Read = 0,
    /// They write what is not known.
    Write = 1,
    /// They write.
    WriteValues {
        /// The place of what each thread writes, of an access's size.
        written: u32,
        /// The place of what was there before.
        before: u32,
    } = 2,
}

/// Where the addresses of a batch lie.
#[repr(C, u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameAddresses {
    /// A row. Each thread stores its address, 8 bytes; 0 if it makes no access.
    Each {
        /// The place of the addresses.
        at: u32,
    } = 0,
    /// A row whose addresses follow from [`FrameCommon::lines`] if [`FrameCommon::lines_hold`] is
    /// 1. Otherwise each thread stores its address too, also without an access.
    Affine {
        /// The place of the stored addresses.
        at: u32,
        /// Index of the lines.
        lines: u32,
        /// The place of 4 bytes for each thread that are not 0 if it makes the access.
        active: u32,
    } = 1,
    /// A buffer of [`GatheredItem`]s.
    Items {
        /// The place of the buffer: the number of its items, 8 bytes, and the items.
        at: u32,
    } = 2,
    /// A buffer of [`GatheredRun`]s.
    Runs {
        /// The same.
        at: u32,
    } = 3,
}

impl FrameBatch {
    /// Its memory, as the pass writes it into an image.
    pub fn words(&self) -> [u32; size_of::<Self>() / 4] {
        let [does, written, before] = match self.does {
            BatchAccess::Read => [0; 3],
            BatchAccess::Write => [1, 0, 0],
            BatchAccess::WriteValues { written, before } => [2, written, before],
        };
        let [kind, at, lines, active] = match self.addresses {
            FrameAddresses::Each { at } => [0, at, 0, 0],
            FrameAddresses::Affine { at, lines, active } => [1, at, lines, active],
            FrameAddresses::Items { at } => [2, at, 0, 0],
            FrameAddresses::Runs { at } => [3, at, 0, 0],
        };
        [self.site, self.size, does, written, before, kind, at, lines, active]
    }

    /// True for accesses of a loop that threads run one by one; false for a row.
    pub fn is_gathered(&self) -> bool {
        matches!(self.addresses, FrameAddresses::Items { .. } | FrameAddresses::Runs { .. })
    }
}

/// A thread, and an address that it accessed: 0 if it made no access. A write may say whether memory held the value
/// already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct GatheredItem(pub u64);

impl GatheredItem {
    /// First bit of the thread; the address has the bits before it.
    pub const THREAD_SHIFT: u32 = 48;

    /// Bits of the thread.
    const THREAD_BITS: u64 = (1 << 14) - 1;
    /// Set in a write of the value that memory held.
    pub const EQUAL: u64 = 1 << 63;
    /// Set in a write of another value.
    pub const DIFFERENT: u64 = 1 << 62;

    /// An access by the thread of this index at `address`, which has 47 bits.
    pub const fn new(thread: u32, address: usize) -> Self {
        Self((thread as u64) << Self::THREAD_SHIFT | address as u64)
    }

    /// The address.
    pub const fn address(self) -> usize {
        (self.0 & ((1 << Self::THREAD_SHIFT) - 1)) as usize
    }

    /// Linear index of the thread.
    pub const fn thread(self) -> u32 {
        (self.0 >> Self::THREAD_SHIFT & Self::THREAD_BITS) as u32
    }

    /// The item, which says whether memory held already what was written.
    pub const fn with(self, left_equal: Option<bool>) -> Self {
        let bit = match left_equal {
            Some(true) => Self::EQUAL,
            Some(false) => Self::DIFFERENT,
            None => 0,
        };
        Self(self.0 & !(Self::EQUAL | Self::DIFFERENT) | bit)
    }

    /// True if memory held already what was written, where that is known.
    pub const fn left_equal(self) -> Option<bool> {
        match self.0 & (Self::EQUAL | Self::DIFFERENT) {
            Self::EQUAL => Some(true),
            Self::DIFFERENT => Some(false),
            _ => None,
        }
    }

    /// The bytes that it accessed, `size` of them.
    #[inline]
    pub fn bytes(self, size: u32) -> Range<usize> {
        if self.address() == 0 { 0..0 } else { self.address()..self.address() + size as usize }
    }
}

/// Accesses of one thread at consecutive addresses. Writes say the same of the values in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct GatheredRun {
    /// The first access.
    pub first: GatheredItem,
    /// The end of the last access, with the bits of the first one that say something of values. It is not behind the
    /// first address where the thread made no access.
    pub end: u64,
}

impl GatheredRun {
    /// The bytes that it accessed.
    #[inline]
    pub fn bytes(&self) -> Range<usize> {
        let end = GatheredItem(self.end).address();
        if self.first.address() == 0 { 0..0 } else { self.first.address()..end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_batch_are_its_memory() {
        let all = [
            (BatchAccess::Read, FrameAddresses::Each { at: 3 }),
            (BatchAccess::Write, FrameAddresses::Affine { at: 3, lines: 4, active: 5 }),
            (BatchAccess::WriteValues { written: 6, before: 7 }, FrameAddresses::Items { at: 3 }),
            (BatchAccess::Read, FrameAddresses::Runs { at: 9 }),
        ];
        for (does, addresses) in all {
            let batch = FrameBatch { site: 1, size: 2, does, addresses };
            let words = batch.words();
            // SAFETY: the words have the size and alignment of a batch, and the numbers of variants.
            assert_eq!(unsafe { *words.as_ptr().cast::<FrameBatch>() }, batch);
        }
    }
}
