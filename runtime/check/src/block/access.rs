//! Plain accesses, word by word.

use super::Block;
use crate::common::Sites;
use crate::rows::Item;
use crate::word::{self, FULL, GRANULE, Op, Touch};

/// What is known of the bytes that an access writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    /// Nothing, or it writes none.
    Unknown,
    /// They are these, and memory still holds what was there before.
    Bytes(u64),
    /// They are there already, as a row says.
    Item(Item<'a>),
}

/// One access to one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access<'a> {
    pub(crate) thread: u32,
    pub(crate) touch: Touch,
    /// The module's index of the instruction.
    pub(crate) site: u32,
    /// Address of the word.
    pub(crate) word: usize,
    /// The whole access.
    pub(crate) address: usize,
    pub(crate) size: u64,
    /// What a write is about to leave.
    pub(crate) value: Value<'a>,
    /// Where an asynchronous copy of the thread makes the access: the epoch of its copies.
    pub(crate) copy: Option<u32>,
}

impl Block {
    /// A plain read of `size` bytes by thread `thread` (linear).
    #[inline]
    pub fn read(&mut self, thread: u32, address: usize, size: u32, site: u32) {
        self.plain(thread, address, size, site, Op::Read, Value::Unknown);
    }

    /// A plain write of `size` bytes; `value` holds the bytes about to be
    /// written, zero-extended, where they are known and at most 8.
    #[inline]
    pub fn write(&mut self, thread: u32, address: usize, size: u32, site: u32, value: Option<u64>) {
        // What a location released is gone, whether the write is checked or not.
        self.inner.syncvars.overwrite(address, size as usize);
        self.plain(thread, address, size, site, Op::Write, value.map_or(Value::Unknown, Value::Bytes));
    }

    /// A plain access of a few bytes.
    #[inline(always)]
    fn plain(&mut self, thread: u32, address: usize, size: u32, site: u32, op: Op, value: Value<'_>) {
        let s = &mut self.state;
        let entry = s.sites.get(site, &s.launch.proved, &s.launch.data.sites);
        if Sites::is_proved(entry) {
            return;
        }
        s.checks += 1;
        self.of_a_few_bytes(thread, address, size, site, entry, op, value);
    }

    /// A plain access of a few bytes by an instruction that is checked.
    #[expect(clippy::too_many_arguments, reason = "what an access is")]
    #[inline(always)]
    pub(crate) fn of_a_few_bytes(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        site: u32,
        entry: u64,
        op: Op,
        value: Value<'_>,
    ) {
        if size == 4 && address % GRANULE == 0 {
            return self.one_word(thread, address, site, entry, op, value);
        }
        self.whole_words(thread, address, size, site, entry, op, value);
    }

    /// Whether memory is shared memory of the block alone. It is about to be accessed.
    #[inline(always)]
    pub(crate) fn is_shared(&mut self, address: usize) -> bool {
        let shared = self.state.shared.contains(&address);
        if shared && self.state.intervals.matters() {
            self.otherwise();
        }
        shared
    }

    /// An access to a whole word alone.
    #[inline(always)]
    pub(super) fn one_word(
        &mut self,
        thread: u32,
        address: usize,
        site: u32,
        entry: u64,
        op: Op,
        value: Value<'_>,
    ) {
        let Some(code) = word::op_code(Touch { op, mask: FULL }) else {
            return self.words(thread, address, 4, site, op, value, None);
        };
        let shared = self.is_shared(address);
        let Some(place) = self.inner.shadow.place(address) else { return };
        if op != Op::Read && !shared {
            self.state.before_write(&self.inner, place, address);
        }
        let w = self.state.opened_word(&self.inner, place, shared);
        if !self.state.common(place.word, w, thread, entry, code, shared) {
            self.whole_word(thread, address, address, 4, site, op, value, w);
        }
    }

    /// A plain access of a few bytes, where it is not to one word.
    #[expect(clippy::too_many_arguments, reason = "what an access is")]
    fn whole_words(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        site: u32,
        entry: u64,
        op: Op,
        value: Value<'_>,
    ) {
        if (address | size as usize) % GRANULE != 0 {
            return self.words(thread, address, size.into(), site, op, value, None);
        }
        // Its words count once.
        self.state.sightings.next_access();
        let code = if op == Op::Write { word::WRITE } else { word::READ };
        let shared = self.is_shared(address);
        for word in (address..address.saturating_add(size as usize)).step_by(GRANULE) {
            let Some(place) = self.inner.shadow.place(word) else { continue };
            if op != Op::Read && !shared {
                self.state.before_write(&self.inner, place, word);
            }
            let w = self.state.opened_word(&self.inner, place, shared);
            if !self.state.common(place.word, w, thread, entry, code, shared) {
                self.whole_word(thread, word, address, size, site, op, value, w);
            }
        }
    }

    /// A whole word of an access, in which `w` was seen.
    #[expect(clippy::too_many_arguments, reason = "what an access is")]
    #[inline(never)]
    fn whole_word(
        &mut self,
        thread: u32,
        word: usize,
        address: usize,
        size: u32,
        site: u32,
        op: Op,
        value: Value<'_>,
        w: u64,
    ) {
        let Some(place) = self.inner.shadow.place(word) else { return };
        let touch = Touch { op, mask: FULL };
        let access = Access { thread, touch, site, word, address, size: size.into(), value, copy: None };
        self.state.word(&self.inner, place.word, w, &access);
    }

    /// A plain read of any length.
    pub fn read_range(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        if self.state.launch.proved.contains(site) {
            return;
        }
        self.state.checks += 1;
        self.words(thread, address, size, site, Op::Read, Value::Unknown, None);
    }

    /// A plain write of any length.
    pub fn write_range(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.inner.syncvars.overwrite(address, size as usize);
        if self.state.launch.proved.contains(site) {
            return;
        }
        self.state.checks += 1;
        self.words(thread, address, size, site, Op::Write, Value::Unknown, None);
    }

    /// Checks each word that an access covers.
    #[expect(clippy::too_many_arguments, reason = "what an access is")]
    pub(crate) fn words(
        &mut self,
        thread: u32,
        address: usize,
        size: u64,
        site: u32,
        op: Op,
        value: Value<'_>,
        copy: Option<u32>,
    ) {
        let end = address.saturating_add(size as usize);
        let mut at = address & !(GRANULE - 1);
        self.state.sightings.next_access();
        while at < end {
            let from = address.max(at) - at;
            let to = end.min(at + GRANULE) - at;
            let mask = (FULL << from) & (FULL >> (GRANULE - to));
            let op = match op {
                Op::Atomic { modifies, scope, size, .. } => {
                    let start = address.wrapping_sub(at) as i8;
                    Op::Atomic { modifies, scope, start, size }
                }
                Op::Read | Op::Write => op,
            };
            let touch = Touch { op, mask };
            let shared = self.is_shared(at);
            if let Some(place) = self.inner.shadow.place(at) {
                if op != Op::Read && !shared {
                    self.state.before_write(&self.inner, place, at);
                }
                let w = self.state.opened_word(&self.inner, place, shared);
                let access = Access { thread, touch, site, word: at, address, size, value, copy };
                self.state.word(&self.inner, place.word, w, &access);
            }
            at += GRANULE;
        }
    }
}
