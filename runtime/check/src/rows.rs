//! The accesses of all threads of a block by one instruction, together.
//!
//! Code that runs whole blocks collects the addresses of an instruction's accesses,
//! thread by thread, and hands them over where the threads come to a barrier. Threads
//! are unordered until then, so the accesses may be looked at in any order in which each
//! thread's own come in the program's; and what a thread does to one word between two
//! barriers leaves the same record in any order.
//!
//! Neighbouring threads that access neighbouring words make a run, which
//! [`crate::region`] meets a region at a time. Everything else is looked at access by access.
//! What repeats in shared memory is not looked at again: see [`crate::interval`].

use std::ops::Range;
use std::sync::atomic::Ordering;

use gpurace_abi::image::MOST_ROWS;

use crate::block::{Block, Value};
use crate::common::Sites;
pub use crate::interval::Mask;
use crate::interval::{Compared, Outcome};
pub use crate::lines::{Items, Lines, Threads};
use crate::region::{self, ONE_THREAD};
use crate::word::{self, GRANULE, NO_KEY, Op, READ, Span, WRITE};

/// The plain accesses of an instruction between two barriers.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The module's index of the instruction.
    pub site: u32,
    /// Bytes of each access: 4, 8 or 16.
    pub size: u32,
    /// They write.
    pub writes: bool,
    /// Their addresses.
    pub items: Items<'a>,
    /// What was written, where known.
    pub values: Option<Values<'a>>,
}

/// What a row wrote, by thread, and what memory held before.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Of accesses of 4 bytes.
    Words {
        /// What the thread wrote.
        written: &'a [u32],
        /// What was there.
        before: &'a [u32],
    },
    /// Of accesses of 8 bytes.
    Pairs {
        /// What the thread wrote.
        written: &'a [u64],
        /// What was there.
        before: &'a [u64],
    },
}

impl Values<'_> {
    /// Of a thread, from a byte of its access on: what it wrote, and what was there.
    fn of(&self, thread: usize, byte: usize) -> (u32, u32) {
        match self {
            Self::Words { written, before } => (written[thread], before[thread]),
            Self::Pairs { written, before } => {
                ((written[thread] >> (8 * byte)) as u32, (before[thread] >> (8 * byte)) as u32)
            }
        }
    }
}

impl Row<'_> {
    fn op(&self) -> Op {
        if self.writes { Op::Write } else { Op::Read }
    }

    /// Words of an access, as a power of 2.
    fn shift(&self) -> u8 {
        (self.size / GRANULE as u32).trailing_zeros() as u8
    }

    /// What a thread has written into a word, and what was there before, where it has and that is known.
    fn written(&self, thread: usize, word: usize) -> Option<Option<(u32, u32)>> {
        let address = self.items.of(thread);
        let within = word.checked_sub(address).filter(|&w| address != 0 && w < self.size as usize)?;
        Some(self.values.map(|values| values.of(thread, within)))
    }
}

/// A write of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    /// All rows of the segment up to its own.
    rows: &'a [Row<'a>],
    thread: usize,
}

impl Item<'_> {
    /// Whether a word of it held already what it left there, as far as is known. Threads
    /// may have run side by side: what counts is the order in which they are looked at.
    pub(crate) fn left_equal(&self, word: usize) -> Option<bool> {
        let (own, before) = self.rows.split_last()?;
        let (value, there) = own.written(self.thread, word)??;
        let earlier = (0..self.thread).rev().find_map(|t| own.written(t, word));
        let all = |row: &Row<'_>| (0..row.items.len()).rev().find_map(|t| row.written(t, word));
        match earlier.or_else(|| before.iter().rev().filter(|row| row.writes).find_map(all)) {
            Some(earlier) => Some(earlier?.0 == value),
            None => Some(there == value),
        }
    }
}

/// Threads from `thread` on that access, where they do, memory at equal distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) thread: usize,
    /// Of the first of them.
    pub(crate) address: usize,
    /// From a thread to the next one, bytes: 0, or a power of 2 of at least an access's size,
    /// with no access over a multiple of it.
    pub(crate) step: usize,
    /// How many threads, the last of which accesses memory.
    pub(crate) count: usize,
    /// How many of them do.
    pub(crate) accesses: usize,
}

/// Threads without an access in a row that a run goes over.
const GAP: usize = 32;

impl Run {
    /// Where the last of its accesses of `size` bytes ends.
    #[inline]
    pub(crate) fn end(&self, size: usize) -> usize {
        self.address.wrapping_add((self.count - 1).wrapping_mul(self.step)).saturating_add(size)
    }

    /// Whether there are runs of such accesses, of which one is at `first`.
    #[inline]
    pub(crate) fn may_step(first: usize, step: usize, size: usize) -> bool {
        let fits = || {
            step.is_power_of_two()
                && size <= step
                && step <= region::BYTES
                && (first & (step - 1)) + size <= step
        };
        step == 0 || fits()
    }

    /// The run from a thread that accesses memory.
    fn next(items: &[u64], thread: usize, size: usize) -> Self {
        let address = |t: usize| items[t] as usize;
        let first = address(thread);
        let alone = Self { thread, address: first, step: size, count: 1, accesses: 1 };
        let Some(second) = (thread + 1..items.len().min(thread + GAP)).find(|&t| items[t] != 0) else {
            return alone;
        };
        let (distance, threads) = (address(second).wrapping_sub(first), second - thread);
        // Mostly it is the next one: a division would cost more than the rest.
        let (step, exact) =
            if threads == 1 { (distance, true) } else { (distance / threads, distance % threads == 0) };
        if !exact || !Self::may_step(first, step, size) {
            return alone;
        }
        let mut end = thread + 1;
        // Eight at once, as long as none is missing.
        while let Some(eight) = items[end..].first_chunk::<8>() {
            let expected = first.wrapping_add((end - thread) * step);
            let differ =
                (0..8).fold(0, |differ, i| differ | eight[i] ^ expected.wrapping_add(i * step) as u64);
            if differ != 0 {
                break;
            }
            end += 8;
        }
        let (mut last, mut accesses) = (end - 1, end - thread);
        while end < items.len() && end - last <= GAP {
            if items[end] != 0 {
                if address(end) != first.wrapping_add((end - thread) * step) {
                    break;
                }
                last = end;
                accesses += 1;
            }
            end += 1;
        }
        Self { thread, address: first, step, count: last + 1 - thread, accesses }
    }
}

/// The first thread from `thread` on that makes an access.
pub(crate) fn next_access(items: &[u64], mut thread: usize) -> Option<usize> {
    if *items.get(thread)? != 0 {
        return Some(thread);
    }
    while let Some(eight) = items[thread..].first_chunk::<8>() {
        if eight.iter().fold(0, |any, item| any | item) != 0 {
            break;
        }
        thread += 8;
    }
    items[thread..].iter().position(|&item| item != 0).map(|i| thread + i)
}

/// The row that is looked at.
struct Found<'a> {
    /// All rows up to it, and it.
    rows: &'a [Row<'a>],
    row: &'a Row<'a>,
    /// What is known of its instruction.
    entry: u64,
    /// Its record, where one can be made of many accesses.
    record: Option<u64>,
    /// The threads' own memory.
    local: &'a Range<usize>,
}

/// What rows that are handed over at once are, by their numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Kinds {
    /// No access is made.
    empty: Mask,
    /// The launch's accesses by the instruction are proved.
    proved: Mask,
    /// The first access is to the block's shared memory.
    shared: Mask,
}

impl Block {
    /// The plain accesses of the block's threads between two barriers, in an order that keeps
    /// each thread's own. They have happened already. Those to `local` memory are not looked at.
    ///
    /// The threads must have synchronised by barriers of the block alone. Gives the rows without an
    /// access, by their numbers.
    ///
    /// # Panics
    /// There are more than [`MOST_ROWS`].
    pub fn rows(&mut self, rows: &[Row<'_>], local: &Range<usize>) -> Mask {
        const { assert!(MOST_ROWS <= Mask::BITS as usize) };
        assert!(rows.len() <= MOST_ROWS, "{} rows", rows.len());
        let kinds = self.kinds(rows);
        self.of_kinds(rows, local, kinds);
        kinds.empty
    }

    fn of_kinds(&mut self, rows: &[Row<'_>], local: &Range<usize>, kinds: Kinds) {
        let (none, shared) = (kinds.empty | kinds.proved, kinds.shared);
        if shared == 0 {
            return self.each_row(rows, local, none, 0, 0);
        }
        let mut known = 0;
        if self.may_repeat() {
            match self.state.intervals.meet(rows, shared) {
                Outcome::Known => known = shared,
                Outcome::After(compared) => self.record(&compared),
                Outcome::New => {}
            }
        } else {
            self.otherwise();
        }
        self.each_row(rows, local, none, shared, known);
        self.state.intervals.done(rows, shared);
    }

    /// Looks at rows, but for those of which there is nothing to be looked at, and those that are known. Of those that
    /// are not of shared memory some may wait.
    fn each_row(&mut self, rows: &[Row<'_>], local: &Range<usize>, none: Mask, shared: Mask, known: Mask) {
        let mut none = none;
        let mut reads = 0;
        for at in 0..rows.len() {
            if at == reads {
                // What is read before the next write, which is to meet it.
                let to = (at..rows.len()).find(|&i| rows[i].writes).unwrap_or(rows.len());
                let some = (at..to).fold(0, |some, i| some | 1 << i);
                none |= self.defer_rows(rows, local, some & !(none | shared));
                reads = to + 1;
            }
            if none >> at & 1 != 0 {
                continue;
            }
            let is_known = known >> at & 1 != 0;
            match is_known.then(|| self.state.intervals.pass(at, &rows[at])).flatten() {
                Some(accesses) => self.state.checks += accesses,
                None => self.row(&rows[..=at], local),
            }
        }
    }

    /// By the first access of each: mostly all are of one memory.
    fn kinds(&mut self, rows: &[Row<'_>]) -> Kinds {
        let s = &mut self.state;
        let mut kinds = Kinds::default();
        for (i, row) in rows.iter().enumerate() {
            let proved = Sites::is_proved(s.sites.get(row.site, &s.launch.proved, &s.launch.data.sites));
            let of = match row.items.first() {
                _ if proved => &mut kinds.proved,
                None => &mut kinds.empty,
                Some(first) if s.shared.contains(&first) => &mut kinds.shared,
                Some(_) => continue,
            };
            *of |= 1 << i;
        }
        kinds
    }

    /// Whether what happens between barriers depends on the accesses alone.
    fn may_repeat(&self) -> bool {
        self.is_plain() && self.inner.syncvars.is_empty() && self.state.benign.is_empty()
    }

    /// Whether all that the block's threads know of each other and of others they know alike.
    pub(crate) fn is_plain(&self) -> bool {
        let s = &self.state;
        !s.exact && s.no_copies && s.order.max_clock() == s.order.floor() && s.order.key(0) != NO_KEY
    }

    /// Makes the records of what was only compared since the last barrier.
    #[cold]
    fn record(&mut self, compared: &Compared) {
        // They are counted.
        let checks = self.state.checks;
        for rows in compared.steps() {
            self.each_row(&rows, &(0..0), 0, !0, 0);
        }
        self.state.checks = checks;
    }

    /// Shared memory is about to be accessed other than by a row of its own.
    #[cold]
    pub(crate) fn otherwise(&mut self) {
        if let Some(compared) = self.state.intervals.otherwise() {
            self.record(&compared);
        }
    }

    /// The last of these rows.
    pub(crate) fn row(&mut self, rows: &[Row<'_>], local: &Range<usize>) {
        let Some(row) = rows.last() else { return };
        let s = &mut self.state;
        let entry = s.sites.get(row.site, &s.launch.proved, &s.launch.data.sites);
        if Sites::is_proved(entry) {
            return;
        }
        let plain = self.is_plain() && (!row.writes || self.inner.syncvars.is_empty());
        let s = &mut self.state;
        let record = Sites::bits(entry).filter(|_| plain).map(|site| {
            let op = if row.writes { WRITE } else { READ };
            word::state_bits(op, Span::Thread) | site | s.order.key(0)
        });
        let found = Found { rows, row, entry, record, local };
        // A few accesses among others that are few are seldom part of a pattern.
        let mut scattered = false;
        if let Items::Lines(lines) = row.items {
            let told = lines.runs(row.size as usize, |run, next| {
                self.inner.shadow.prefetch_region(next);
                self.found(&found, run, &mut scattered);
            });
            if told {
                return;
            }
        }
        let (items, mut thread) = (row.items.each(), 0);
        while let Some(first) = next_access(&items, thread) {
            let run = Run::next(&items, first, row.size as usize);
            thread = run.thread + run.count;
            self.found(&found, &run, &mut scattered);
        }
    }

    /// A run of the last of these rows. `scattered` says that the one before was of a few accesses.
    #[inline]
    fn found(
        &mut self,
        &Found { rows, row, entry, record, local }: &Found<'_>,
        run: &Run,
        scattered: &mut bool,
    ) {
        if local.contains(&run.address) {
            return;
        }
        self.state.checks += run.accesses as u64;
        let few = run.accesses < 3;
        match record {
            Some(record) if !(few && *scattered) && run.address & (row.size as usize - 1) == 0 => {
                self.run(rows, row, entry, record, run);
            }
            _ => self.each(rows, row, entry, run.thread..run.thread + run.count),
        }
        *scattered = few;
    }

    /// Access by access.
    fn each(&mut self, rows: &[Row<'_>], row: &Row<'_>, entry: u64, threads: Range<usize>) {
        for thread in threads {
            let address = row.items.of(thread);
            if address == 0 {
                continue;
            }
            let value = if row.writes {
                self.inner.syncvars.overwrite(address, row.size as usize);
                Value::Item(Item { rows, thread })
            } else {
                Value::Unknown
            };
            self.of_a_few_bytes(thread as u32, address, row.size, row.site, entry, row.op(), value);
        }
    }

    fn run(&mut self, rows: &[Row<'_>], row: &Row<'_>, entry: u64, record: u64, run: &Run) {
        let shared = self.is_shared(run.address);
        if run.step == 0 {
            self.one_place(rows, row, entry, record, run, shared);
        } else {
            self.neighbours(rows, row, entry, record, run, shared);
        }
    }

    /// Threads that access neighbouring words.
    fn neighbours(
        &mut self,
        rows: &[Row<'_>],
        row: &Row<'_>,
        entry: u64,
        record: u64,
        run: &Run,
        shared: bool,
    ) {
        let (words, step) = (row.size as usize / GRANULE, run.step / GRANULE);
        let shift = step.trailing_zeros() as u8;
        let dense = words == step && run.accesses == run.count;
        let mut done = 0;
        while done < run.count {
            let address = run.address.wrapping_add(done * run.step);
            let from = address / GRANULE % region::WORDS;
            let count = ((region::WORDS - (from & !(step - 1))) >> shift).min(run.count - done);
            let threads = run.thread + done..run.thread + done + count;
            let mask = if dense {
                (u32::MAX >> (region::WORDS - count * words)) << from
            } else {
                match row.items {
                    Items::Lines(lines) if step == 1 => lines.active.part(threads.start, count) << from,
                    items => {
                        let one = (1 << words) - 1;
                        let accessed = |i: &usize| items.of(threads.start + i) != 0;
                        (0..count).filter(accessed).fold(0, |mask, i| mask | one << (from + i * step))
                    }
                }
            };
            let base = threads.start as i16 - (from >> shift) as i16;
            let range = region::Range { record, mask, base, shift };
            if mask != 0 && !self.words_of(&range, address, shared) {
                self.each(rows, row, entry, threads);
            }
            done += count;
        }
    }

    /// Threads that access one place.
    fn one_place(
        &mut self,
        rows: &[Row<'_>],
        row: &Row<'_>,
        entry: u64,
        record: u64,
        run: &Run,
        shared: bool,
    ) {
        let words = 1 << row.shift();
        let mask = (u32::MAX >> (region::WORDS - words)) << (run.address / GRANULE % region::WORDS);
        // Reads of one instruction are one record; writes race.
        let one_warp = run.thread / 32 == (run.thread + run.count - 1) / 32;
        let span = if one_warp { Span::Warp } else { Span::Block };
        let record = record & !word::STATE_MASK | word::state_bits(READ, span);
        let range = region::Range { record, mask, base: run.thread as i16, shift: ONE_THREAD };
        if row.writes || !self.words_of(&range, run.address, shared) {
            self.each(rows, row, entry, run.thread..run.thread + run.count);
        }
    }

    /// Looks at words of one region, that of an address, where they can be looked at together.
    #[inline(always)]
    pub(crate) fn words_of(&mut self, range: &region::Range, address: usize, shared: bool) -> bool {
        let Some(place) = self.inner.shadow.place(address) else { return true };
        if !shared && range.writes() {
            self.state.before_write(&self.inner, place, address);
        }
        !self.state.is_open(place.region.load(Ordering::Acquire), shared)
            && self.state.range(place.region, range, shared)
    }
}
