//! The checks of single accesses.

use super::Block;
use crate::batch::sites::{SiteCache, SiteEntry};
use crate::batch::{Value, WholeAccess};
use crate::model::access::{Access, FULL, GRANULE, Op, Touch, word_mask};
use crate::model::record::{OpCode, Record};
use crate::run::block::record_reads;
use crate::shadow::map::WordPlace;
use crate::shadow::region;

impl Block {
    /// A plain read of `size` bytes by thread `thread` (linear).
    #[inline]
    pub fn read(&mut self, thread: u32, address: usize, size: u32, site: u32) {
        self.plain(thread, address, size, site, Op::Read, Value::Unknown);
    }

    /// A plain write of `size` bytes; `value` holds the bytes about to be written, zero-extended,
    /// if they are known and at most 8.
    #[inline]
    pub fn write(&mut self, thread: u32, address: usize, size: u32, site: u32, value: Option<u64>) {
        // What a location released is gone, whether the write is checked or not.
        self.inner.syncvars.overwrite(address, size as usize);
        self.plain(thread, address, size, site, Op::Write, value.map_or(Value::Unknown, Value::Bytes));
    }

    #[inline(always)]
    fn plain(&mut self, thread: u32, address: usize, size: u32, site: u32, op: Op, value: Value<'_>) {
        let entry = self.entry(site);
        if !entry.is_proved() {
            self.checks += 1;
            self.check_small(thread, address, size, site, entry, op, value);
        }
    }

    /// Checks an access of a few bytes.
    #[expect(clippy::too_many_arguments, reason = "as a struct they would not stay in registers")]
    #[inline(always)]
    pub(super) fn check_small(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        site: u32,
        entry: SiteEntry,
        op: Op,
        value: Value<'_>,
    ) {
        if size != 4 || !address.is_multiple_of(GRANULE) {
            return self.check_words(thread, address, size, site, entry, op, value);
        }
        let Some(code) = OpCode::of(Touch { op, mask: FULL }) else {
            let size = size.into();
            let access = WholeAccess { thread, address, size, site, entry, op, value, copy: None };
            return self.check_long(access);
        };
        let shared = self.begins_access_to(address);
        if let Some(w) = self.check_word(thread, address, entry, op, code, shared) {
            self.check_slowly(thread, address, address, size, site, entry, code, value, shared, w);
        }
    }

    /// True if an address that is about to be accessed is of the block's own memory.
    #[inline(always)]
    pub(super) fn begins_access_to(&mut self, address: usize) -> bool {
        let shared = self.memory.own.contains(&address);
        if shared && self.intervals.matters() {
            self.record_compared();
        }
        shared
    }

    /// Makes records of deferred reads before a word of global memory is written.
    #[inline(always)]
    pub(super) fn before_write(&mut self, address: usize) {
        if let Some(place) = self.inner.shadow.map.place(address)
            && !place.page.is_written(&self.launch.marks)
        {
            self.begin_write(address);
        }
    }

    /// Makes records of the deferred reads of a page that the launch is about to write for the
    /// first time.
    #[cold]
    #[inline(never)]
    fn begin_write(&mut self, address: usize) {
        let inner = &self.inner;
        let Some(place) = inner.shadow.map.place(address) else { return };
        let sites = &mut self.sites;
        place.begin_write(&self.launch.marks, address, |bytes| {
            let start = address & !(region::BYTES - 1);
            record_reads(inner, &bytes, inner.settled_for_all(), Some(start..start + region::BYTES));
            // Reads by some instructions are checked as they are made now.
            *sites = SiteCache::new();
        });
    }

    /// Checks an access of a few bytes that is not to one whole word.
    #[expect(clippy::too_many_arguments, reason = "as for one word")]
    fn check_words(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        site: u32,
        entry: SiteEntry,
        op: Op,
        value: Value<'_>,
    ) {
        let (word, end) = (address & !(GRANULE - 1), address.saturating_add(size as usize));
        let is_atomic = matches!(op, Op::Atomic { .. });
        if !is_atomic && size != 0 && end <= word + GRANULE {
            let code = OpCode::plain(op == Op::Write, word_mask(word, address, end));
            let shared = self.begins_access_to(address);
            if let Some(w) = self.check_word(thread, word, entry, op, code, shared) {
                self.sightings.next_access();
                self.check_slowly(thread, word, address, size, site, entry, code, value, shared, w);
            }
            return;
        }
        if is_atomic || !(address | size as usize).is_multiple_of(GRANULE) {
            let size = size.into();
            let access = WholeAccess { thread, address, size, site, entry, op, value, copy: None };
            return self.check_long(access);
        }
        // Its words count once.
        self.sightings.next_access();
        let code = OpCode::plain(op == Op::Write, FULL);
        let shared = self.begins_access_to(address);
        for word in (address..end).step_by(GRANULE) {
            if let Some(w) = self.check_word(thread, word, entry, op, code, shared) {
                self.check_slowly(thread, word, address, size, site, entry, code, value, shared, w);
            }
        }
    }

    /// Checks one word of an access. If the record's bits do not tell, does nothing and returns
    /// what was seen in the word.
    #[inline(always)]
    fn check_word(
        &mut self,
        thread: u32,
        word: usize,
        entry: SiteEntry,
        op: Op,
        code: OpCode,
        shared: bool,
    ) -> Option<Record> {
        let mut place = self.inner.shadow.map.place(word)?;
        if op != Op::Read && !shared && !place.page.is_written(&self.launch.marks) {
            self.begin_write(word);
            place = self.inner.shadow.map.place(word)?;
        }
        let shadow = &self.inner.shadow;
        let w = self.shadow.opened_word(shadow, &self.view, place, shared);
        // No word has the records of transfers that are concurrent.
        if self.view.transfers && !shared && self.launch.meets_transfers(&(word..word + GRANULE)) {
            return Some(w);
        }
        let done = self.view.check_fast(place.word, w, thread, entry.field(), code, shared);
        (!done).then_some(w)
    }

    /// Checks one word of an access, in which `w` was seen and whose bits do not tell.
    #[expect(clippy::too_many_arguments, reason = "as for one word")]
    #[inline(never)]
    fn check_slowly(
        &mut self,
        thread: u32,
        word: usize,
        address: usize,
        size: u32,
        site: u32,
        entry: SiteEntry,
        code: OpCode,
        value: Value<'_>,
        shared: bool,
        w: Record,
    ) {
        let (touch, number, size) = (code.touch(), entry.number(), size.into());
        let access = Access { thread, touch, site, number, word, address, size, shared, copy: None };
        self.check_access(&access, w, value);
    }

    /// Checks an access to one word, in which `w` was seen. The word's region is open.
    pub(super) fn check_access(&mut self, a: &Access, w: Record, value: Value<'_>) {
        if a.size == 4 && a.touch.mask == FULL {
            self.sightings.next_access();
        }
        let (mut races, block_shadow, inner) = self.reporter(value);
        let Some(place) = inner.shadow.map.place(a.word) else { return };
        if !a.shared {
            races.meet_transfers(a);
        }
        let view = races.view;
        block_shadow.check(&inner.shadow, view, place.word, w, a, &mut races);
    }

    /// A plain read of any length.
    pub fn read_range(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.plain_range(thread, address, size, site, Op::Read);
    }

    /// A plain write of any length.
    pub fn write_range(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.inner.syncvars.overwrite(address, size as usize);
        self.plain_range(thread, address, size, site, Op::Write);
    }

    fn plain_range(&mut self, thread: u32, address: usize, size: u64, site: u32, op: Op) {
        let (entry, value) = (self.entry(site), Value::Unknown);
        if !entry.is_proved() {
            self.checks += 1;
            self.check_long(WholeAccess { thread, address, size, site, entry, op, value, copy: None });
        }
    }

    /// Checks each word that an access covers.
    pub(super) fn check_long(&mut self, a: WholeAccess<'_>) {
        let WholeAccess { thread, address, size, site, entry, op, value, copy } = a;
        let end = address.saturating_add(size as usize);
        let number = entry.number();
        self.sightings.next_access();
        for word in (address & !(GRANULE - 1)..end).step_by(GRANULE) {
            let op = match op {
                Op::Atomic { modifies, volatile, scope, size, .. } => {
                    let start = address.wrapping_sub(word) as i8;
                    Op::Atomic { modifies, volatile, scope, start, size }
                }
                Op::Read | Op::Write => op,
            };
            let touch = Touch { op, mask: word_mask(word, address, end) };
            let shared = self.begins_access_to(word);
            if op != Op::Read && !shared {
                self.before_write(word);
            }
            if let Some(w) = self.open(word, shared) {
                let access = Access { thread, touch, site, number, word, address, size, shared, copy };
                self.check_access(&access, w, value);
            }
        }
    }

    /// Opens the region of an address, and returns the content of the word there.
    pub(super) fn open(&mut self, word: usize, shared: bool) -> Option<Record> {
        let shadow = &self.inner.shadow;
        let place: WordPlace<'_> = shadow.map.place(word)?;
        Some(self.shadow.opened_word(shadow, &self.view, place, shared))
    }
}
