//! The frequent cases of one access, decided from the records' bits: what
//! [`BlockShadow::check`](crate::shadow::process::BlockShadow::check) does, without its table.
//!
//! Accesses to a word that is empty or holds one record:
//!
//! | the word | a plain read | a plain write | an atomic access |
//! |---|---|---|---|
//! | empty, or settled | becomes it | becomes it | becomes it |
//! | this thread's, in this epoch, a plain write | stays | stays | stays |
//! | this thread's, in this epoch, a plain read | stays | becomes it | – |
//! | this thread's, in this epoch, an atomic access of this kind, scope and extent | – | – | stays |
//! | the same by the same instruction, of this launch, unordered to this one | the thread joins | – | the thread joins, where the scope holds both |
//!
//! A dash leaves the access to the table. Tests compare each case with the table.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use gpurace_abi::ablation::{self, Mechanism};

use crate::model::record::{Key, OpCode, Record, SiteField};
use crate::model::relation::{Relation, Span, Status};
use crate::model::step::{self, Next};
use crate::order::view::BlockView;
use crate::shadow::map::WordPlace;
use crate::shadow::record_list::RecordList;
use crate::shadow::word::{load, put};

/// Words of global memory that further reads by one instruction leave as they are: blocks of the
/// launch have read them by it.
#[derive(Clone, Debug)]
pub(crate) struct ReadByGrid {
    record: Record,
    mine: Range<u64>,
    open: Range<u64>,
}

impl ReadByGrid {
    /// True if the word at a place is such a word.
    #[inline(always)]
    pub(crate) fn holds(&self, place: WordPlace<'_>) -> bool {
        let within = |range: &Range<u64>, n: u64| n.wrapping_sub(range.start) < range.end - range.start;
        let (region, word) = (load(place.region), load(place.word));
        word.is_like(self.record) && within(&self.mine, word.uid()) && within(&self.open, region.bits())
    }
}

impl BlockView {
    /// Checks an access to a whole word in which `w` was seen. False if the case is none of the
    /// above: then nothing was done.
    #[inline(always)]
    pub(crate) fn check_fast(
        &self,
        cell: &AtomicU64,
        mut w: Record,
        thread: u32,
        site: Option<SiteField>,
        op: OpCode,
        shared: bool,
    ) -> bool {
        if !ablation::is_on(Mechanism::WordFastPath) {
            return false;
        }
        let key = self.order.key(thread);
        let own = w.has_key(key);
        if own && (w.is_of_one(OpCode::WRITE) || w.is_of_one(op)) {
            return true;
        }
        // No word has the records of transfers that are concurrent.
        if key == Key::NONE || !shared && self.transfers {
            return false;
        }
        let Some(site) = site else { return false };
        let starts = w == Record::EMPTY
            || self.is_settled(w, shared)
            || own && op == OpCode::WRITE && w.is_of_one(OpCode::READ);
        let next = if starts {
            Record::new(op, Span::Thread, site, key)
        } else if !op.is_atomic_in_block() || !w.has_site(site) {
            return false;
        } else if w.span_of(op) == Some(Span::Block) && w.in_epoch_of(key) && !self.exact {
            return true;
        } else {
            match self.joined(w, key, op) {
                Some(span) => w.with(op, span),
                None => return false,
            }
        };
        next == w || put(cell, &mut w, next, shared)
    }

    /// The span of a record after this thread has joined it by an access of the same instruction.
    /// `None` if it does not join, or the record's bits do not tell.
    #[inline(always)]
    fn joined(&self, record: Record, key: Key, op: OpCode) -> Option<Span> {
        let span = record.span_of(op)?;
        match self.relation(record, span, key)? {
            // Atomic accesses of two blocks may race with each other.
            (Relation::Grid, Status::Unsynced) if !op.is_atomic_in_grid() => None,
            (relation, Status::Unsynced) => step::joined_span(span, relation),
            _ => None,
        }
    }

    /// The words that further reads by this instruction leave as they are.
    pub(crate) fn read_by_grid(&self, site: SiteField) -> ReadByGrid {
        let mine = if self.is_unordered_to_grid(Span::Grid) { self.mine().clone() } else { 0..0 };
        let record = Record::new(OpCode::READ, Span::Grid, site, Key::default());
        ReadByGrid { record, mine, open: self.open_regions() }
    }

    /// Checks a plain read of a word that has these records. Does what
    /// [`history::check`](crate::shadow::history::check) would do, in these cases:
    ///
    /// | the records | then |
    /// |---|---|
    /// | all settled | the read alone stays |
    /// | reads, one of them of the same instruction that the thread joins | it joins |
    /// | reads, one of them of the thread itself, in this epoch | nothing changes |
    /// | reads that are all unordered to this one, and room for it | it is added |
    ///
    /// In other cases returns false and changes nothing.
    pub(crate) fn read_among(
        &self,
        list: &mut RecordList<Record>,
        key: Key,
        site: SiteField,
        shared: bool,
    ) -> bool {
        if self.exact {
            return false;
        }
        let new = Record::new(OpCode::READ, Span::Thread, site, key);
        let records = list.as_mut_slice();
        if records.iter().all(|&r| self.is_settled(r, shared)) {
            *list = RecordList::of(new);
            return true;
        }
        // A write may race with it, whatever the reads say.
        if !records.iter().all(|r| r.span_of(OpCode::READ).is_some()) {
            return false;
        }
        for r in records.iter_mut().rev().filter(|r| r.has_site(site)) {
            match self.next_of_read(*r, key, true) {
                Some(Next::Keep) => return true,
                Some(Next::Join(span)) => {
                    let joined = r.with(OpCode::READ, span);
                    // Many threads join what has the span already. Without a store, the list stays in
                    // the caches of all cores.
                    if *r != joined {
                        *r = joined;
                    }
                    return true;
                }
                _ => {}
            }
        }
        let next = |r: &Record| self.next_of_read(*r, key, false);
        if records.iter().any(|r| next(r) == Some(Next::Keep)) {
            return true;
        }
        records.iter().all(|r| next(r) == Some(Next::Both)) && list.push(new)
    }

    /// What becomes of a read's record when this thread reads the word; `None` if the record's
    /// bits do not tell.
    #[inline(always)]
    fn next_of_read(&self, record: Record, key: Key, same_site: bool) -> Option<Next> {
        let span = record.span_of(OpCode::READ)?;
        let (relation, status) = self.relation(record, span, key)?;
        let read = OpCode::READ.touch();
        Some(step::step(read, span, read, relation, status, same_site).next)
    }
}

#[cfg(test)]
mod tests;
