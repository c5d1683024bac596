//! Barrier intervals of shared memory that repeat.
//!
//! Nothing from before a barrier of the block can race in its shared memory with what comes
//! after: whether there is a race between two barriers follows from the accesses made there alone.
//! Blocks of one launch mostly make the same ones, at the same addresses. An interval without
//! conflicts is kept. Where its accesses come again, or some of them, they are compared, and
//! that is all: no two of them conflict.
//!
//! What is not among the accesses of an interval that is kept is looked at as ever; records of what was only
//! compared until then are made first. Where two intervals differ by which threads make an access
//! (`if (a[i] > a[i + 1])`), and all accesses of both have no conflict, they become one.

use std::borrow::Cow;
use std::ops::Range;

use gpurace_abi::image::Lines;

use crate::lines::{Items, Threads};
use crate::rows::Row;
use crate::word::GRANULE;

/// Addresses that are kept: what a core's own cache holds.
const MOST_ITEMS: usize = 1 << 17;
/// Intervals that are kept.
const MOST: usize = 128;

/// The intervals of a launch that a worker has met.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    at: At,
    /// Rows of the interval that is followed of which only some accesses were made, and those.
    partly: Vec<(usize, Partly)>,
    /// Of the rows that were found to be known last, those that make all the accesses.
    whole: Mask,
    known: Vec<Interval>,
    /// The last one that ended, where it is known.
    last: Option<usize>,
    /// Addresses in all of them.
    items: usize,
    /// How many rows were looked at, and how many compared.
    recorded: u64,
    followed: u64,
    /// Too few were met again.
    useless: bool,
    /// Who accessed each word of the shared memory, in the simulation with this number.
    touched: Vec<(u32, Touched)>,
    simulation: u32,
}

/// What is known of the shared memory since the last barrier.
#[derive(Debug, Default)]
enum At {
    /// Nobody has accessed it.
    #[default]
    Start,
    /// Its accesses were among those of a known interval so far, of the next step these rows: it has
    /// no records of them.
    Following { interval: usize, steps: usize, rows: usize },
    /// It has records; these are the accesses that came in rows.
    Recording(Interval),
    /// It has records.
    Off,
}

/// The accesses of shared memory between two barriers, step by step: what is handed over at once.
#[derive(Clone, Debug, Default)]
struct Interval {
    rows: Vec<Kept>,
    /// The addresses of all its rows.
    items: Vec<u64>,
    /// Of each step, the end of its rows.
    steps: Vec<usize>,
    /// The interval that came after it the last time.
    next: Option<usize>,
    /// Others that differ by the threads alone, with which it has a conflict.
    conflicts: u8,
}

#[derive(Clone, Debug)]
struct Kept {
    site: u32,
    size: u32,
    writes: bool,
    /// How many threads make an access.
    accesses: u64,
    /// Its addresses, in the interval's; none where it is not of shared memory.
    items: Range<usize>,
    /// The same, where they follow from the threads' indices.
    lines: Option<(Lines, Threads)>,
}

/// The accesses that were made of a row.
#[derive(Clone, Debug)]
enum Partly {
    /// These.
    Each(Vec<u64>),
    /// All by these threads.
    By(Threads),
}

/// Rows, by their number among those that are handed over at once.
pub type Mask = u64;

/// Who accessed a word of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Touched {
    #[default]
    Not,
    Read(u32),
    ReadByAll,
    Written(u32),
}

impl Touched {
    /// With one more access; `None` where the two conflict.
    fn and(self, thread: u32, writes: bool) -> Option<Self> {
        match (self, writes) {
            (Self::Not, false) => Some(Self::Read(thread)),
            (Self::Read(other), false) => Some(if other == thread { self } else { Self::ReadByAll }),
            (Self::ReadByAll, false) => Some(self),
            (Self::Not, true) => Some(Self::Written(thread)),
            (Self::Read(other), true) if other == thread => Some(Self::Written(thread)),
            (Self::Written(other), _) if other == thread => Some(self),
            _ => None,
        }
    }
}

impl Interval {
    /// How many rows its first steps have.
    fn rows_of(&self, steps: usize) -> usize {
        steps.checked_sub(1).map_or(0, |last| self.steps[last])
    }

    /// The rows of a step.
    fn step(&self, step: usize) -> &[Kept] {
        &self.rows[self.rows_of(step)..self.steps[step]]
    }

    /// If those of these rows that are in `shared` make only accesses that the step makes: which of them
    /// make all.
    fn holds(&self, step: usize, rows: &[Row<'_>], shared: Mask) -> Option<Mask> {
        if step >= self.steps.len() {
            return None;
        }
        let kept = self.step(step);
        if kept.len() != rows.len() {
            return None;
        }
        let mut whole = 0;
        for (i, (kept, row)) in kept.iter().zip(rows).enumerate().filter(|(i, _)| shared >> i & 1 != 0) {
            if (kept.site, kept.size, kept.writes) != (row.site, row.size, row.writes) {
                return None;
            }
            let (all, among) = match (row.items, &kept.lines) {
                (Items::Lines(lines), Some((of, active))) => {
                    let same = lines.of == of;
                    (same && lines.active == active, same && lines.active.are_among(active))
                }
                (items, _) => {
                    let (items, kept) = (items.each(), &self.items[kept.items.clone()]);
                    let all = *items == *kept;
                    (all, all || are_among(&items, kept))
                }
            };
            if !among {
                return None;
            }
            whole |= Mask::from(all) << i;
        }
        Some(whole)
    }

    fn push(&mut self, rows: &[Row<'_>], shared: Mask) {
        for (i, row) in rows.iter().enumerate() {
            let (items, lines) = match row.items {
                _ if shared >> i & 1 == 0 => (Cow::Borrowed(&[][..]), None),
                Items::Each(items) => (Cow::Borrowed(items), None),
                Items::Lines(lines) => (row.items.each(), Some((*lines.of, lines.active.clone()))),
            };
            self.push_row(row.site, row.size, row.writes, &items, lines);
        }
        self.steps.push(self.rows.len());
    }

    fn push_row(
        &mut self,
        site: u32,
        size: u32,
        writes: bool,
        items: &[u64],
        lines: Option<(Lines, Threads)>,
    ) {
        let from = self.items.len();
        self.items.extend(items);
        let accesses = Items::Each(items).accesses();
        self.rows.push(Kept { site, size, writes, accesses, items: from..self.items.len(), lines });
    }

    /// All accesses of two intervals that differ by which threads make an access, and by
    /// nothing else.
    fn with(&self, other: &Self) -> Option<Self> {
        let (shorter, longer) =
            if self.steps.len() < other.steps.len() { (self, other) } else { (other, self) };
        let differ = |(&a, &b): (&u64, &u64)| a != b && a != 0 && b != 0;
        let alike = |(l, s): (&Kept, &Kept)| {
            let (l_items, s_items) = (&longer.items[l.items.clone()], &shorter.items[s.items.clone()]);
            (l.site, l.size, l.writes) == (s.site, s.size, s.writes)
                && !l_items.iter().zip(s_items).any(differ)
        };
        if !longer.steps.starts_with(&shorter.steps) || !longer.rows.iter().zip(&shorter.rows).all(alike) {
            return None;
        }
        let mut all = Self::default();
        for (i, row) in longer.rows.iter().enumerate() {
            let mut items = longer.items[row.items.clone()].to_vec();
            let other = shorter.rows.get(i);
            let others = other.map_or(&[][..], |row| &shorter.items[row.items.clone()]);
            if items.is_empty() {
                items.extend(others);
            }
            items.iter_mut().zip(others).for_each(|(item, &other)| *item |= other);
            let lines = match (&row.lines, other.map(|row| &row.lines)) {
                (lines, None) => lines.clone(),
                // One that makes no access.
                (lines, Some(_)) if others.is_empty() => lines.clone(),
                (_, Some(lines)) if row.items.is_empty() => lines.clone(),
                (Some((of, active)), Some(Some((other, others)))) if of == other => {
                    Some((*of, active.and(others)))
                }
                _ => None,
            };
            all.push_row(row.site, row.size, row.writes, &items, lines);
        }
        all.steps.clone_from(&longer.steps);
        Some(all)
    }
}

/// Whether each access of these is one of the others, by the same thread.
fn are_among(items: &[u64], others: &[u64]) -> bool {
    if items.len() != others.len() {
        return false;
    }
    let differ = |(&item, &other): (&u64, &u64)| if item == 0 { 0 } else { item ^ other };
    // Without a branch for each, so that it is done for several at once.
    let among = |(items, others): (&[u64], &[u64])| {
        items.iter().zip(others).fold(0, |any, both| any | differ(both)) == 0
    };
    items.chunks(16).zip(others.chunks(16)).all(among)
}

/// What was only compared since the last barrier, and is to have records.
#[derive(Debug)]
pub(crate) struct Compared(Interval);

impl Compared {
    /// The rows of shared memory that came at once, one after the other.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Vec<Row<'_>>> {
        let Self(interval) = self;
        (0..interval.steps.len()).map(|step| {
            let row = |kept: &Kept| Row {
                site: kept.site,
                size: kept.size,
                writes: kept.writes,
                items: Items::Each(&interval.items[kept.items.clone()]),
                values: None,
            };
            interval.step(step).iter().filter(|kept| !kept.items.is_empty()).map(row).collect()
        })
    }
}

/// What becomes of rows of shared memory.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// They have no conflict with anything since the last barrier.
    Known,
    /// They are to be looked at.
    New,
    /// The same, once there are records of what was compared before.
    After(Compared),
}

impl Intervals {
    /// Another launch begins.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Rows are handed over, those in `shared` of shared memory.
    #[inline]
    pub(crate) fn meet(&mut self, rows: &[Row<'_>], shared: Mask) -> Outcome {
        match self.at {
            At::Start if self.useless => self.at = At::Off,
            At::Start => match self.find(rows, shared) {
                Some((interval, whole)) => {
                    self.at = At::Following { interval, steps: 0, rows: 0 };
                    self.partly.clear();
                    self.follow(interval, 0, shared, whole);
                    return Outcome::Known;
                }
                None => self.at = At::Recording(Interval::default()),
            },
            At::Following { interval, steps, .. } => {
                if let Some(whole) = self.known[interval].holds(steps, rows, shared) {
                    self.follow(interval, steps, shared, whole);
                    return Outcome::Known;
                }
                let compared = self.compared(interval, steps, 0);
                self.at = At::Recording(compared.clone());
                return Outcome::After(Compared(compared));
            }
            At::Recording(_) | At::Off => {}
        }
        Outcome::New
    }

    /// The next step is followed; of its rows those in `shared` make accesses, and those in `whole` all that are known.
    fn follow(&mut self, interval: usize, step: usize, shared: Mask, whole: Mask) {
        self.whole = whole;
        let interval = &self.known[interval];
        let first = interval.rows_of(step);
        let absent = |(i, kept): &(usize, &Kept)| shared >> i & 1 == 0 && !kept.items.is_empty();
        let rows = interval.step(step).iter().enumerate().filter(absent);
        self.partly.extend(rows.map(|(i, _)| (first + i, Partly::Each(Vec::new()))));
    }

    /// The next row of those that were found to be known: how many accesses it is. `None` where
    /// shared memory has been accessed otherwise meanwhile.
    pub(crate) fn pass(&mut self, at: usize, row: &Row<'_>) -> Option<u64> {
        let At::Following { interval, steps, rows } = &mut self.at else { return None };
        *rows = at + 1;
        let interval = &self.known[*interval];
        let index = interval.rows_of(*steps) + at;
        if self.whole >> at & 1 != 0 {
            return Some(interval.rows[index].accesses);
        }
        // As they lie on the same lines.
        let made = match row.items {
            Items::Lines(lines) if interval.rows[index].lines.is_some() => Partly::By(lines.active.clone()),
            items => Partly::Each(items.each().into_owned()),
        };
        self.partly.push((index, made));
        Some(row.items.accesses())
    }

    /// A known interval that begins with these rows, and which of them make all accesses of its first step.
    fn find(&self, rows: &[Row<'_>], shared: Mask) -> Option<(usize, Mask)> {
        let begins = |i: usize| Some((i, self.known[i].holds(0, rows, shared)?));
        let next = self.last.and_then(|last| self.known[last].next);
        next.and_then(begins).or_else(|| (0..self.known.len()).find_map(begins))
    }

    /// What was compared of an interval: its first steps, and rows of the next one.
    fn compared(&self, interval: usize, steps: usize, rows: usize) -> Interval {
        let known = &self.known[interval];
        let all = known.rows_of(steps) + rows;
        let mut found = Interval::default();
        for (i, row) in known.rows[..all].iter().enumerate() {
            let partly = self.partly.iter().find(|(index, _)| *index == i);
            let items = Cow::Borrowed(&known.items[row.items.clone()]);
            let (items, lines) = match partly {
                None => (items, row.lines.clone()),
                Some((_, Partly::Each(items))) => (Cow::Borrowed(&items[..]), None),
                Some((_, Partly::By(active))) => {
                    let items: Vec<_> = (0..)
                        .zip(&*items)
                        .map(|(t, &item)| if active.contains(t) { item } else { 0 })
                        .collect();
                    (Cow::Owned(items), row.lines.as_ref().map(|(of, _)| (*of, active.clone())))
                }
            };
            found.push_row(row.site, row.size, row.writes, &items, lines);
        }
        found.steps = known.steps[..steps].iter().copied().chain((rows > 0).then_some(all)).collect();
        found
    }

    /// What was handed over at once has been gone through.
    pub(crate) fn done(&mut self, rows: &[Row<'_>], shared: Mask) {
        match &mut self.at {
            At::Following { steps, rows: passed, .. } => {
                *steps += 1;
                *passed = 0;
                self.followed += rows.len() as u64;
            }
            At::Recording(interval) if interval.items.len() <= MOST_ITEMS => {
                interval.push(rows, shared);
                self.recorded += rows.len() as u64;
            }
            At::Recording(_) => self.at = At::Off,
            At::Start | At::Off => {}
        }
    }

    /// Shared memory is about to be accessed otherwise: what was compared, if anything was.
    #[cold]
    pub(crate) fn otherwise(&mut self) -> Option<Compared> {
        match self.at {
            At::Start => {
                self.at = At::Off;
                None
            }
            At::Following { interval, steps, rows } => {
                self.at = At::Off;
                Some(Compared(self.compared(interval, steps, rows)))
            }
            At::Recording(_) | At::Off => None,
        }
    }

    /// Whether an access of shared memory that does not come in rows must be told.
    #[inline]
    pub(crate) fn matters(&self) -> bool {
        matches!(self.at, At::Start | At::Following { .. })
    }

    /// The block has come to a barrier, or to its end.
    pub(crate) fn end(&mut self, shared: &Range<usize>) {
        let ended = match std::mem::replace(&mut self.at, At::Start) {
            At::Start => return,
            At::Following { interval, .. } => Some(interval),
            At::Recording(interval) => self.keep(interval, shared),
            At::Off => None,
        };
        if let Some(last) = self.last {
            self.known[last].next = ended;
        }
        self.last = ended;
    }

    /// Keeps an interval without a race, by itself or with one that is like it.
    fn keep(&mut self, interval: Interval, shared: &Range<usize>) -> Option<usize> {
        const MOST_CONFLICTS: u8 = 8;
        if self.has_conflict(&interval, shared) {
            return None;
        }
        for i in 0..self.known.len() {
            let known = &self.known[i];
            let all = if known.conflicts < MOST_CONFLICTS { known.with(&interval) } else { None };
            let Some(all) = all else { continue };
            if self.has_conflict(&all, shared) {
                self.known[i].conflicts += 1;
                continue;
            }
            let known = &mut self.known[i];
            self.items = self.items - known.items.len() + all.items.len();
            *known = Interval { next: known.next, ..all };
            return Some(i);
        }
        if self.items + interval.items.len() > MOST_ITEMS || self.known.len() == MOST {
            self.useless = self.followed < self.recorded;
            self.known.clear();
            (self.items, self.followed, self.recorded, self.last) = (0, 0, 0, None);
        }
        self.items += interval.items.len();
        self.known.push(interval);
        Some(self.known.len() - 1)
    }

    /// Whether two of an interval's accesses conflict, or might: not all are of the shared memory.
    fn has_conflict(&mut self, interval: &Interval, shared: &Range<usize>) -> bool {
        self.simulation += 1;
        let now = self.simulation;
        self.touched.resize(shared.len().div_ceil(GRANULE), (0, Touched::Not));
        interval.rows.iter().any(|row| {
            (0..).zip(&interval.items[row.items.clone()]).filter(|&(_, &item)| item != 0).any(
                |(thread, &item)| {
                    let at = (item as usize).wrapping_sub(shared.start);
                    let words = at / GRANULE..(at.wrapping_add(row.size as usize)).div_ceil(GRANULE);
                    self.touched.get_mut(words).is_none_or(|words| {
                        words.iter_mut().any(|(when, word)| {
                            let before = if *when == now { *word } else { Touched::Not };
                            let next = before.and(thread, row.writes);
                            (*when, *word) = (now, next.unwrap_or_default());
                            next.is_none()
                        })
                    })
                },
            )
        })
    }
}
