//! A few records side by side: those of a word, or those of a region.
//!
//! Most words with several records are read by several instructions of one kernel (a stencil, an
//! array that neighbours share): one record for each instruction. A
//! [`Chain`](crate::shadow::chain::Chain) holds anything; a list holds records of 64 bits in one
//! cache line, and a further read meets them without being unpacked.

use crate::model::record::Record;

/// Records that a list holds at most.
pub(crate) const RECORDS: usize = 8;

/// A record that a list can hold.
pub(crate) trait ListRecord: Copy + Default {
    /// True for a place of a list that holds no record.
    fn is_none(&self) -> bool;
}

impl ListRecord for Record {
    #[inline(always)]
    fn is_none(&self) -> bool {
        *self == Record::EMPTY
    }
}

/// Up to [`RECORDS`] records, in the order of their first access. The places behind the last one
/// hold none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct RecordList<R>([R; RECORDS]);

impl<R: ListRecord> RecordList<R> {
    /// A list of one record.
    #[inline(always)]
    pub(crate) fn of(record: R) -> Self {
        let mut list = Self::default();
        list.0[0] = record;
        list
    }

    /// How many records it has.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.0.iter().take_while(|r| !r.is_none()).count()
    }

    /// The records.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[R] {
        &self.0[..self.len()]
    }

    /// The records.
    #[inline(always)]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [R] {
        let len = self.len();
        &mut self.0[..len]
    }

    /// Makes the records those of another list. Leaves the places alone that neither has filled.
    #[inline]
    pub(crate) fn replace(&mut self, other: &Self) {
        let len = self.len().max(other.len());
        self.0[..len].copy_from_slice(&other.0[..len]);
    }

    /// A copy, made without a look at the places that are not filled.
    #[inline]
    pub(crate) fn copied(&self) -> Self {
        let mut list = Self::default();
        list.replace(self);
        list
    }

    /// Adds a record; false if there is no room.
    #[inline(always)]
    #[must_use]
    pub(crate) fn push(&mut self, record: R) -> bool {
        let len = self.len();
        let has_room = len < RECORDS;
        if has_room {
            self.0[len] = record;
        }
        has_room
    }

    /// Keeps only the records for which `keep` is true. Also closes gaps at places that have lost
    /// their records.
    pub(crate) fn retain(&mut self, keep: impl Fn(&R) -> bool) {
        let mut kept = 0;
        for i in 0..RECORDS {
            if !self.0[i].is_none() && keep(&self.0[i]) {
                self.0[kept] = self.0[i];
                kept += 1;
            }
        }
        self.0[kept..].fill(R::default());
    }
}
