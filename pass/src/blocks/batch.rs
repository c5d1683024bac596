//! Batches: accesses of a block's threads through one site that are checked together.

use gpurace_abi::image::RowSite;

/// A batch in the frame. An offset counts bytes for each thread: the batch begins at the offset times the
/// number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// Each thread makes at most one access.
    Row {
        /// The module's index of the instruction.
        site: u32,
        /// Bytes of an access: 4, 8 or 16.
        size: u32,
        /// It writes.
        writes: bool,
        /// How the checker finds the addresses.
        addresses: RowAddresses,
        /// Where the values lie that the threads write, if the checker needs them.
        values: Option<ValueOffsets>,
    },
    /// Reads of a loop that threads leave one by one.
    GatheredReads {
        /// The module's index of the instruction.
        site: u32,
        /// Bytes of a read: 4, 8 or 16.
        size: u32,
        /// Where the buffer of all threads' reads lies.
        buffer: u64,
        /// Each read is an item of its own, since its address follows no other read.
        scattered: bool,
    },
}

/// How the addresses of a row are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowAddresses {
    /// Each thread stores its own at this offset.
    Each(u64),
    /// They are affine: a function of the block computes them from the thread's index.
    Affine {
        /// Number of the affine row in the frame.
        number: u64,
        /// Where each thread's address is stored in a block in which the row is not affine.
        items: u64,
        /// Where each thread stores whether it makes the access.
        active: u64,
    },
}

/// Offsets of the values of a row of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueOffsets {
    /// What each thread writes.
    pub written: u64,
    /// What was there before.
    pub before: u64,
}

impl Batch {
    /// True for gathered reads.
    pub fn is_gathered(&self) -> bool {
        matches!(self, Self::GatheredReads { .. })
    }

    /// The entry that describes the batch in the table of its point.
    pub fn table_entry(&self) -> RowSite {
        let none = RowSite {
            items: 0,
            values: RowSite::NO_VALUES,
            before: RowSite::NO_VALUES,
            active: RowSite::NO_LINES,
            lines: RowSite::NO_LINES,
            site: 0,
            kind: 0,
        };
        match *self {
            Self::Row { site, size, writes, addresses, values } => {
                let (items, active, lines) = match addresses {
                    RowAddresses::Each(items) => (items, none.active, none.lines),
                    RowAddresses::Affine { number, items, active } => (items, active, number),
                };
                let (values, before) = values.map_or((none.values, none.before), |v| (v.written, v.before));
                let kind = size | if writes { RowSite::WRITES } else { 0 };
                RowSite { items, values, before, active, lines, site, kind }
            }
            Self::GatheredReads { site, size, buffer, scattered } => {
                let kind = size | if scattered { RowSite::SCATTERED } else { RowSite::STREAMS };
                RowSite { items: buffer, site, kind, ..none }
            }
        }
    }
}
