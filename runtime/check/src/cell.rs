//! One access to one shadow word: the compact case decided and swapped in
//! place, everything else handed to [`crate::history`] while the word is busy.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::{Access, State};
use crate::chain::{Chain, Entry, Member};
use crate::checker::Inner;
use crate::history;
use crate::launch::LaunchData;
use crate::line::{Line, RECORDS};
use crate::race::Space;
use crate::standing::Standing;
use crate::state::{self, Next};
use crate::vector::COPIES;
use crate::word::{self, Compact, FULL, NO_KEY, Op, Span, Touch, Word};

/// Chains that a block keeps for its next words.
const POOL: usize = 256;
/// Chains and lines that a block makes before it tells the process's count of them.
const LOT: u64 = 1024;

impl State {
    /// Which memory an address is in.
    pub(crate) fn space(&self, address: usize) -> Space {
        match self.shared_of(address) {
            Some(_) => Space::Shared,
            None => Space::Global,
        }
    }

    /// The shared memory of the block, or of another one of its cluster, that
    /// holds an address.
    pub(crate) fn shared_of(&self, address: usize) -> Option<&Range<usize>> {
        let mut all = std::iter::once(&self.shared).chain(&self.peers);
        all.find(|shared| shared.contains(&address))
    }

    /// Checks one word, in which `w` was seen.
    pub(crate) fn word(&mut self, inner: &Inner, cell: &AtomicU64, mut w: u64, a: &Access<'_>) {
        if a.size == 4 && a.touch.mask == FULL {
            self.sightings.next_access();
        }
        let shared = self.shared.contains(&a.word);
        if !self.launch.copies.is_empty() && !shared {
            self.meet_copies(a);
        }
        loop {
            // What becomes of the word, unless it must be expanded; and the race.
            let (next, race) = if self.is_stale(w, shared) {
                (self.pack(a), None)
            } else {
                match Word::unpack(w) {
                    Word::Empty => (self.pack(a), None),
                    Word::Busy => {
                        std::thread::yield_now();
                        w = cell.load(Ordering::Acquire);
                        continue;
                    }
                    Word::Expanded(_) | Word::Line(_) => (None, None),
                    Word::Compact(c) => self.transition(w, &c, a, shared),
                }
            };
            let done = match next {
                Some(next) if next == w => true,
                Some(next) => put(cell, &mut w, next, shared),
                None => {
                    let seen = w;
                    if put(cell, &mut w, word::BUSY_WORD, shared) {
                        // The chain meets the record again, and says what races.
                        let next = self.expanded(inner, seen, a, shared);
                        cell.store(next, Ordering::Release);
                        return;
                    }
                    false
                }
            };
            if done {
                if let Some((entry, standing)) = race {
                    self.race(&entry, &standing, a);
                }
                return;
            }
        }
    }

    /// Whether a word holds one record, and that of accesses that happen
    /// before everything still to come: the common case of a launch's, or of a
    /// barrier interval's, first access to a word.
    #[inline]
    pub(crate) fn is_stale(&self, w: u64, shared: bool) -> bool {
        if !word::is_compact(w) {
            return false;
        }
        let uid = word::uid_field(w);
        if shared {
            uid != self.order.word_uid() || word::clock_field(w) < self.order.floor()
        } else {
            uid < self.settled
        }
    }

    /// What becomes of a word with one record: the new word, or `None` where
    /// it must be expanded; and the race with the record, if there is one.
    fn transition(
        &self,
        w: u64,
        c: &Compact,
        a: &Access<'_>,
        shared: bool,
    ) -> (Option<u64>, Option<(Entry, Standing)>) {
        if a.copy.is_some() {
            return (None, None);
        }
        let m = member(c, self.launch.base);
        let s = self.standing(a.thread, &m, shared);
        let same_site = s.mine && self.launch.data.sites.number(a.site) == Some(c.site);
        let step = state::step(c.touch, c.span, a.touch, s.relation, s.status, same_site);
        let next = match step.next {
            Next::Keep => Some(w),
            Next::Replace => self.pack(a),
            // Sets of threads are kept lane by lane there.
            Next::Join(_) if self.exact => None,
            Next::Join(span) => Compact { span, ..*c }.pack(),
            Next::Both => None,
        };
        let race = (step.race && next.is_some()).then(|| (self.entry(c, m), s));
        (next, race)
    }

    /// Checks a word whose history is, or becomes, a chain. Returns the new word.
    fn expanded(&mut self, inner: &Inner, w: u64, a: &Access<'_>, shared: bool) -> u64 {
        if let Some(next) = self.read_in_line(inner, w, a, shared) {
            return next;
        }
        let mut chain = match Word::unpack(w) {
            Word::Expanded(at) => {
                // SAFETY: the word owned the chain; making it busy took it over.
                unsafe { Box::from_raw(at as *mut Chain) }
            }
            Word::Line(at) => {
                let mut chain = self.fresh_chain(inner);
                // SAFETY: as a chain.
                let line = unsafe { &*(at as *const Line) };
                let base = self.launch.base;
                chain.entries.extend(line.compact().map(|c| self.entry(&c, member(&c, base))));
                chain.reads_only = chain.entries.iter().all(|e| e.touch.op == Op::Read);
                self.give_back(inner, at as *mut Line);
                chain
            }
            Word::Empty | Word::Busy => self.fresh_chain(inner),
            Word::Compact(c) => {
                let mut chain = self.fresh_chain(inner);
                let m = member(&c, self.launch.base);
                chain.entries.push(self.entry(&c, m));
                chain.reads_only = c.touch.op == Op::Read;
                chain
            }
        };
        history::visit(self, inner, &mut chain, a, shared);
        let alone = match chain.entries.as_slice() {
            [] => Some(0),
            [e] => self.pack_entry(e),
            _ => None,
        };
        if let Some(word) = alone {
            self.recycle(inner, chain);
            return word;
        }
        if let Some(records) = self.pack_line(&chain) {
            self.recycle(inner, chain);
            return self.line_word(inner, records);
        }
        if inner.chains.load(Ordering::Relaxed) as i64 > inner.limits.chains as i64 {
            // The newest record, if it fits, is worth more than the oldest.
            inner.lost_words.fetch_add(1, Ordering::Relaxed);
            let kept = chain.entries.iter().rev().find_map(|e| self.pack_entry(e)).unwrap_or(0);
            self.recycle(inner, chain);
            return kept;
        }
        word::expanded(Box::into_raw(chain) as u64)
    }

    /// A plain read of a word with a line, or with one read that is to be kept beside
    /// it, in the common cases. Returns the new word.
    fn read_in_line(&mut self, inner: &Inner, w: u64, a: &Access<'_>, shared: bool) -> Option<u64> {
        if a.touch != (Touch { op: Op::Read, mask: FULL }) || a.copy.is_some() {
            return None;
        }
        let s = &mut *self;
        let entry = s.sites.get(a.site, &s.launch.proved, &s.launch.data.sites);
        let read = s.read_of(a.thread, entry)?;
        match Word::unpack(w) {
            Word::Compact(_) => {
                let mut records = [0; RECORDS];
                records[0] = w;
                match self.read_among(&mut records, 1, &read, shared)? {
                    1 => Some(records[0]),
                    _ => Some(self.line_word(inner, records)),
                }
            }
            Word::Line(at) => {
                // SAFETY: the word owned the line; making it busy took it over.
                let line = unsafe { &mut *(at as *mut Line) };
                let count = line.count();
                match self.read_among(&mut line.0, count, &read, shared)? {
                    1 => {
                        let alone = line.0[0];
                        self.give_back(inner, line);
                        Some(alone)
                    }
                    _ => Some(w),
                }
            }
            Word::Empty | Word::Busy | Word::Expanded(_) => None,
        }
    }

    /// The records of a chain as those of a line, where they fit.
    fn pack_line(&self, chain: &Chain) -> Option<[u64; RECORDS]> {
        if chain.entries.len() > RECORDS {
            return None;
        }
        let mut records = [0; RECORDS];
        for (record, entry) in records.iter_mut().zip(&chain.entries) {
            *record = self.pack_entry(entry)?;
        }
        Some(records)
    }

    /// The word of several records that fit a line.
    pub(crate) fn line_word(&mut self, inner: &Inner, records: [u64; RECORDS]) -> u64 {
        if inner.chains.load(Ordering::Relaxed) as i64 > inner.limits.chains as i64 {
            // The newest record is worth more than the oldest.
            inner.lost_words.fetch_add(1, Ordering::Relaxed);
            return records.into_iter().rfind(|&r| r != 0).unwrap_or(0);
        }
        self.count_chains(inner, 1);
        let line = self.lines.take();
        // SAFETY: the line is nobody else's.
        unsafe { line.write(Line(records)) };
        word::line(line as u64)
    }

    fn give_back(&mut self, inner: &Inner, line: *mut Line) {
        self.count_chains(inner, -1);
        self.lines.give_back(line);
    }

    fn fresh_chain(&mut self, inner: &Inner) -> Box<Chain> {
        self.count_chains(inner, 1);
        let mut chain = self.pool.pop().unwrap_or_default();
        chain.entries.clear();
        chain.reads_only = true;
        chain
    }

    fn recycle(&mut self, inner: &Inner, chain: Box<Chain>) {
        self.count_chains(inner, -1);
        if self.pool.len() < POOL && chain.entries.capacity() <= 64 {
            self.pool.push(chain);
        }
    }

    /// Counts chains that this block has made, less those it has let go. The
    /// process's count gets to know of them in lots: other workers use it, too.
    fn count_chains(&mut self, inner: &Inner, more: i64) {
        self.more_chains += more;
        if self.more_chains.unsigned_abs() > LOT.min(inner.limits.chains / 256) {
            self.tell_chains(inner);
        }
    }

    /// Tells the process's count of chains.
    pub(crate) fn tell_chains(&mut self, inner: &Inner) {
        let more = std::mem::take(&mut self.more_chains);
        // Wraps where it is negative.
        inner.chains.fetch_add(more as u64, Ordering::Relaxed);
    }

    /// The word of a new access alone; `None` where it does not fit.
    fn pack(&self, a: &Access<'_>) -> Option<u64> {
        if a.copy.is_some() {
            return None;
        }
        let op = word::op_code(a.touch)?;
        let key = self.order.key(a.thread);
        if key == NO_KEY {
            return None;
        }
        let site = self.launch.data.sites.number(a.site)?;
        Some(word::state_bits(op, Span::Thread) | word::site_bits(site) | key)
    }

    /// The word of a record alone; `None` where it does not fit.
    fn pack_entry(&self, e: &Entry) -> Option<u64> {
        let m = &e.member;
        if m.is_copy() {
            return None;
        }
        let span = if m.lanes == 0 {
            m.span
        } else if m.lanes.is_power_of_two() {
            Span::Thread
        } else {
            return None;
        };
        let number = |data: &LaunchData| data.sites.number(e.site.checked_sub(data.site_base)?);
        let site = match self.launch.owns(m.uid) {
            true => number(&self.launch.data)?,
            false => number(&self.launch.owner(m.uid)?.0)?,
        };
        Compact {
            touch: e.touch,
            span,
            site,
            thread: (m.thread & !31)
                | if m.lanes == 0 { m.thread & 31 } else { m.lanes.trailing_zeros() as u16 },
            uid: u32::try_from(m.uid - self.launch.base).ok()?,
            clock: u16::try_from(m.clock).ok()?,
        }
        .pack()
    }

    /// The record of a word, at full width.
    pub(crate) fn entry(&self, c: &Compact, member: Member) -> Entry {
        // A launch that is not known any more is settled: its site names no race.
        let site = |data: &LaunchData| data.site_base + data.sites.site(c.site);
        let site = match self.launch.owns(member.uid) {
            true => site(&self.launch.data),
            false => self.launch.owner(member.uid).map_or(0, |(data, _)| site(&data)),
        };
        Entry { touch: c.touch, site, member }
    }

    /// The record of a new access, at full width.
    pub(crate) fn new_entry(&self, a: &Access<'_>) -> Entry {
        let (uid, clock) = self.when(a);
        Entry {
            touch: a.touch,
            site: self.launch.data.site_base + a.site,
            member: Member::thread(uid, a.thread, clock),
        }
    }

    /// Whose epoch, by uid, and which one a new access is made in.
    pub(crate) fn when(&self, a: &Access<'_>) -> (u64, u32) {
        match a.copy {
            Some(epoch) => (self.order.home() | COPIES, epoch),
            None => (self.order.uid(), self.order.clock(a.thread)),
        }
    }
}

/// The threads of a word's record.
pub(crate) fn member(c: &Compact, base: u64) -> Member {
    Member {
        uid: base + u64::from(c.uid),
        clock: c.clock.into(),
        lanes: if c.span == Span::Thread { 1 << (c.thread % 32) } else { 0 },
        thread: c.thread,
        span: c.span,
    }
}

/// Puts `next` where `w` was seen; where another value is there by now, `w`
/// becomes it. Nobody else changes the words of a block's `shared` memory.
#[inline]
pub(crate) fn put(cell: &AtomicU64, w: &mut u64, next: u64, shared: bool) -> bool {
    if shared {
        cell.store(next, Ordering::Release);
        return true;
    }
    match cell.compare_exchange(*w, next, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => true,
        Err(now) => {
            *w = now;
            false
        }
    }
}
