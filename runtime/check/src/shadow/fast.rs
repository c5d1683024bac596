//! The frequent cases of one access, decided from the records' bits: what
//! [`BlockShadow::check`](crate::shadow::process::BlockShadow::check) does, without its table.
//!
//! Accesses to a word that is empty or holds one record:
//!
//! | the word | a plain read | a plain write | an atomic access |
//! |---|---|---|---|
//! | empty, or settled | becomes it | becomes it | becomes it |
//! | of a launch before, and conflicts with nothing more | becomes it | becomes it | becomes it |
//! | this thread's, in this epoch, a plain write | stays | stays | stays |
//! | this thread's, in this epoch, a plain read | stays | becomes it | – |
//! | the same of other bytes, by the same instruction | gets these bytes too | gets these bytes too | – |
//! | this thread's, in this epoch, an atomic access of this kind, scope and extent | – | – | stays |
//! | the same by the same instruction, of this launch, unordered to this one | the thread joins | – | the thread joins, where the scope holds both |
//!
//! A read of a word of shared memory that has a list of reads, among them one of the same instruction and epoch whose
//! threads hold the reading one, stays too.
//!
//! A dash leaves the access to the table. Tests compare each case with the table.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use gpurace_abi::ablation::{self, Mechanism};
use smallvec::SmallVec;

use crate::model::access::Op;
use crate::model::record::{Key, LIST, OpCode, Record, SiteField};
use crate::model::relation::{Relation, Span, Standing, Status};
use crate::model::step::{self, Next, Step};
use crate::order::view::{BlockView, member};
use crate::shadow::map::WordPlace;
use crate::shadow::record_list::{RECORDS, RecordList};
use crate::shadow::word::{load, put};

/// Checks plain accesses of whole words by one instruction, in one barrier interval of a block whose
/// threads all know the same. It has at hand what the most frequent cases need.
#[derive(Clone, Debug)]
pub(crate) struct WordChecks {
    /// The record of an access by thread 0.
    record: Record,
    /// The bits of the words of open regions: of global, and of shared memory.
    open: [Range<u64>; 2],
    /// Uids of records by other blocks that nothing orders before these accesses.
    unordered: Range<u64>,
}

impl WordChecks {
    /// True for writes.
    pub(crate) fn writes(&self) -> bool {
        self.record.op().writes()
    }

    /// Checks the access of a thread to a word, in the first three cases of [`BlockView::check_fast`] and for
    /// reads of words that others have read by the same instruction. False in other cases: then nothing
    /// was done.
    #[inline(always)]
    pub(crate) fn check(&self, view: &BlockView, place: WordPlace<'_>, thread: u32, shared: bool) -> bool {
        let within = |range: &Range<u64>, n: u64| n.wrapping_sub(range.start) < range.end - range.start;
        let open = &self.open[usize::from(shared)];
        if !within(open, load(place.region).bits()) {
            return false;
        }
        let (mut w, new, op) = (load(place.word), self.record.with_thread(thread), self.record.op());
        let own = w.has_key(new.key());
        if own && (w.is_of_one(OpCode::WRITE) || w.is_of_one(op)) {
            return true;
        }
        if op == OpCode::READ {
            let by_grid = self.record.with(op, Span::Grid);
            if new.is_among(w) || !shared && w.is_like(by_grid) && within(&self.unordered, w.uid()) {
                return true;
            }
            if shared && w.state() == LIST {
                return was_only_read(w, |record| new.is_among(record));
            }
        }
        let starts = w == Record::EMPTY
            || view.is_replaced(w, op, shared)
            || own && op == OpCode::WRITE && w.is_of_one(OpCode::READ);
        starts && put(place.word, &mut w, new, shared)
    }
}

/// True if a word of the block's own memory, which has a list, was only read, and one of its records is as wanted.
#[inline(always)]
fn was_only_read(w: Record, is_wanted: impl Fn(Record) -> bool) -> bool {
    // SAFETY: the word owns the list. Nobody else changes the words of a block's own memory.
    let list = unsafe { &*(w.address() as *const RecordList<Record>) };
    let (mut only_read, mut found) = (true, false);
    for &record in list.as_slice() {
        only_read &= matches!(record.op().touch().op, Op::Read);
        found |= is_wanted(record);
    }
    only_read && found
}

/// Records of a list with which an access races, and how they stand to it.
pub(crate) type ListRaces = SmallVec<[(Record, Standing); RECORDS]>;

impl BlockView {
    /// Checks an access to a word in which `w` was seen. False if the case is none of the above: then
    /// nothing was done.
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
        if key == Key::NONE {
            return false;
        }
        let Some(site) = site else { return false };
        if shared && w.state() == LIST && op == OpCode::READ && !self.names_each_thread {
            let by_block = Record::new(op, Span::Block, site, key);
            return was_only_read(w, |record| record == by_block.with_thread(record.thread()));
        }
        let starts = w == Record::EMPTY
            || self.is_replaced(w, op, shared)
            || own && op == OpCode::WRITE && w.is_of_one(OpCode::READ);
        let next = if starts {
            Record::new(op, Span::Thread, site, key)
        } else if own && w.has_site(site) && w.may_extend(op) {
            w.with_bytes_of(Record::new(op, Span::Thread, site, key))
        } else if !op.is_atomic_in_block() || !w.has_site(site) {
            return false;
        } else if w.span_of(op) == Some(Span::Block) && w.in_epoch_of(key) && !self.names_each_thread {
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
        if self.names_each_thread {
            return None;
        }
        let span = record.span_of(op)?;
        match self.relation(record, span, key)? {
            (relation, _) if !self.may_join(relation, record.clock()) => None,
            // Atomic accesses of two blocks may race with each other.
            (Relation::Grid, Status::Unsynced) if !op.is_atomic_in_grid() => None,
            (relation, Status::Unsynced) => step::joined_span(span, relation),
            _ => None,
        }
    }

    /// Checks accesses whose record, by thread 0, is this one. `None` if another path checks them.
    pub(crate) fn word_checks(&self, record: Record) -> Option<WordChecks> {
        let unordered = if self.is_unordered_to_grid(Span::Grid) { self.mine().clone() } else { 0..0 };
        let open = [false, true].map(|shared| self.open_regions(shared));
        ablation::is_on(Mechanism::WordFastPath).then_some(WordChecks { record, open, unordered })
    }

    /// Checks a plain access, whose record would be `new`, to a word that has these records. Does what
    /// [`history::check`](crate::shadow::history::check) would do, in these cases:
    ///
    /// | the records | then |
    /// |---|---|
    /// | all settled | the access alone stays |
    /// | reads, one of them of the same instruction that a reading thread joins | it joins |
    /// | reads, one of them of the reading thread itself, in this epoch | nothing changes |
    /// | reads that are all unordered to this read, and room for it | it is added |
    /// | others, and room for it | each meets it; `races` gets those that it races with |
    ///
    /// In other cases returns false and changes nothing but `races`.
    pub(crate) fn meet_among(
        &self,
        list: &mut RecordList<Record>,
        new: Record,
        shared: bool,
        races: &mut ListRaces,
    ) -> bool {
        if list.as_slice().iter().all(|&r| self.is_settled(r, shared)) {
            *list = RecordList::of(new);
            return true;
        }
        let reads = |r: Record| matches!(r.op().touch().op, Op::Read);
        if reads(new) && list.as_slice().iter().all(|&r| reads(r)) {
            self.read_among_reads(list, new)
        } else {
            self.meet_each(list, new, shared, races)
        }
    }

    /// Checks a read of a word that was only read.
    fn read_among_reads(&self, list: &mut RecordList<Record>, new: Record) -> bool {
        let alike = |r: &&mut Record| r.has_site(new.site()) && r.op() == new.op();
        for r in list.as_mut_slice().iter_mut().rev().filter(alike) {
            match self.next_of(*r, new, true) {
                Some(Next::Keep) => return true,
                Some(Next::Join(span)) => {
                    let joined = r.with(r.op(), span);
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
        let next = |r: &Record| self.next_of(*r, new, r.has_site(new.site()));
        if list.as_slice().iter().any(|r| next(r) == Some(Next::Keep)) {
            return true;
        }
        let mut extended = None;
        for (i, r) in list.as_slice().iter().enumerate() {
            match next(r) {
                Some(Next::Both) => {}
                Some(Next::Extend) if extended.is_none() => extended = Some(i),
                _ => return false,
            }
        }
        match extended {
            Some(i) => {
                let r = &mut list.as_mut_slice()[i];
                *r = r.with_bytes_of(new);
                true
            }
            None => list.push(new),
        }
    }

    /// Lets an access meet each record. False if the bits of one do not tell, or there is no room for it.
    fn meet_each(
        &self,
        list: &mut RecordList<Record>,
        new: Record,
        shared: bool,
        races: &mut ListRaces,
    ) -> bool {
        let (mut left, mut represented) = (RecordList::default(), false);
        for &r in list.as_slice() {
            if self.is_settled(r, shared) {
                continue;
            }
            let Some((relation, step)) = self.step_of(r, new, r.has_site(new.site())) else { return false };
            if step.race {
                let Some(standing) = self.standing_of_race(r, new, relation, shared) else { return false };
                races.push((r, standing));
            }
            let kept = match step.next {
                Next::Replace => continue,
                Next::Join(span) if !represented => {
                    represented = true;
                    r.with(r.op(), span)
                }
                Next::Extend if !represented => {
                    represented = true;
                    r.with_bytes_of(new)
                }
                next => {
                    represented |= next == Next::Keep;
                    r
                }
            };
            if !left.push(kept) {
                return false;
            }
        }
        let done = represented || left.push(new);
        if done {
            *list = left;
        }
        done
    }

    /// What becomes of a record, not settled, when an access with the record `new` meets it; `None` if
    /// they race or the record's bits do not tell.
    #[inline(always)]
    fn next_of(&self, record: Record, new: Record, same_site: bool) -> Option<Next> {
        let (_, step) = self.step_of(record, new, same_site)?;
        (!step.race).then_some(step.next)
    }

    /// The transition of a record, not settled, when an access with the record `new` meets it, and how it stands to
    /// it; `None` if the record's bits do not tell.
    #[inline(always)]
    fn step_of(&self, record: Record, new: Record, same_site: bool) -> Option<(Relation, Step)> {
        let span = record.span();
        let (relation, status) = self.relation(record, span, new.key())?;
        let same_site = same_site && self.may_join(relation, record.clock());
        let step = step::step(record.op().touch(), span, new.op().touch(), relation, status, same_site);
        // Where records name each thread, chains hold the sets of threads, lane by lane.
        let joins = self.names_each_thread && matches!(step.next, Next::Join(_));
        (!joins).then_some((relation, step))
    }

    /// How a record stands to an access that seems to race with it. `None` if its bits have told too little, or in an
    /// exact launch.
    #[cold]
    fn standing_of_race(
        &self,
        record: Record,
        new: Record,
        relation: Relation,
        shared: bool,
    ) -> Option<Standing> {
        let fields = record.fields().filter(|_| !self.names_each_thread)?;
        let standing = self.standing(new.thread(), &member(&fields, self.launch.base), shared);
        ((standing.relation, standing.status) == (relation, Status::Unsynced)).then_some(standing)
    }
}

#[cfg(test)]
mod tests;
