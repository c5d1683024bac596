//! Barrier intervals of shared memory that repeat.
//!
//! No access from before a barrier of the block races in its shared memory with one after it: the
//! accesses between two barriers alone decide whether they race. Blocks of one launch mostly make
//! the same ones, at the same addresses. So the accesses of an interval without conflicts are kept.
//! Where all or some of them come again, they are only compared with the kept ones: no two of them
//! conflict.
//!
//! Accesses that are not among those of a kept interval are checked as ever; first those that were
//! only compared until then get records. Two intervals may differ only by which threads make an
//! access (`if (a[i] > a[i + 1])`). If all accesses of both have no conflict, they become one.
//!
//! A simulation, not the shadow, finds out if an interval has a conflict. Nothing is repeated over
//! the end of a launch, while a location has a history of releases, or in a block whose threads are
//! ordered by more than its barriers.

use std::borrow::Cow;
use std::ops::Range;

use gpurace_abi::image;

use crate::batch::affine::{Addresses, Threads};
use crate::batch::rows::Row;
use crate::model::access::GRANULE;

/// Addresses that are kept: as many as a core's own cache holds.
const MOST_ADDRESSES: usize = 1 << 17;
/// Intervals that are kept.
const MOST: usize = 128;

/// The intervals of a launch that a worker has met.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    now: IntervalState,
    /// Rows of the followed interval of which only some accesses were made, and those accesses.
    parts: Vec<(usize, PartOfRow)>,
    /// Of the rows that were last found known, those that make all the accesses.
    whole: RowMask,
    known: Vec<Interval>,
    /// The interval that ended last, where it is known.
    last: Option<usize>,
    /// Addresses in all of them.
    addresses: usize,
    /// How many rows were recorded, and how many compared.
    recorded: u64,
    followed: u64,
    /// Too few rows came again.
    useless: bool,
    /// By word of the shared memory, its accesses in the simulation with this number.
    uses: Vec<(u32, WordUse)>,
    simulation: u32,
}

/// The state of the shared memory since the last barrier.
#[derive(Debug, Default)]
enum IntervalState {
    /// No thread has accessed it.
    #[default]
    Start,
    /// All its accesses were among those of a known interval, up to these rows of the next step.
    /// They have no records.
    Following { interval: usize, steps: usize, rows: usize },
    /// Its accesses have records. These are the accesses that came in rows.
    Recording(Interval),
    /// Its accesses have records, and not all came in rows.
    Off,
}

/// The accesses of shared memory between two barriers, step by step. A step is the rows that are
/// handed over together.
#[derive(Clone, Debug, Default)]
struct Interval {
    rows: Vec<KeptRow>,
    /// The addresses of all its rows.
    addresses: Vec<u64>,
    /// By step, the end of its rows.
    steps: Vec<usize>,
    /// The interval that came after it the last time.
    next: Option<usize>,
    /// How many intervals that differ by the threads alone have a conflict with it.
    conflicts: u8,
}

/// A row of an interval.
#[derive(Clone, Debug)]
struct KeptRow {
    site: u32,
    size: u32,
    writes: bool,
    /// How many threads make an access.
    accesses: u64,
    /// The place of its addresses in [`Interval::addresses`]; empty where it is not of shared
    /// memory.
    addresses: Range<usize>,
    /// Its affine addresses and their threads, where it has such.
    affine: Option<(image::Lines, Threads)>,
}

/// Some accesses of a row.
#[derive(Clone, Debug)]
enum PartOfRow {
    /// Those at these addresses.
    Each(Vec<u64>),
    /// Those of these threads.
    By(Threads),
}

/// Some of the rows that are handed over together, by number.
pub type RowMask = u64;

/// The accesses to a word of shared memory, without conflict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WordUse {
    #[default]
    Not,
    Read(u32),
    ReadByAll,
    Written(u32),
}

impl WordUse {
    /// The same with one more access; `None` where it conflicts with one of them. Says of threads
    /// of one block in one interval what the transition function says, as a test shows.
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
    /// The number of rows of its first steps.
    fn rows_of(&self, steps: usize) -> usize {
        steps.checked_sub(1).map_or(0, |last| self.steps[last])
    }

    /// The rows of a step.
    fn step(&self, step: usize) -> &[KeptRow] {
        &self.rows[self.rows_of(step)..self.steps[step]]
    }

    /// Those of these rows, among the ones in `shared`, that make all accesses of the step. `None`
    /// where one of `shared` makes an access that the step does not make.
    fn holds(&self, step: usize, rows: &[Row<'_>], shared: RowMask) -> Option<RowMask> {
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
            let (all, among) = match (row.addresses, &kept.affine) {
                (Addresses::Affine(affine), Some((of, active))) => {
                    let same = affine.of == of;
                    (same && affine.active == active, same && affine.active.are_among(active))
                }
                (addresses, _) => {
                    let (addresses, kept) = (addresses.each(), &self.addresses[kept.addresses.clone()]);
                    let all = *addresses == *kept;
                    (all, all || are_among(&addresses, kept))
                }
            };
            if !among {
                return None;
            }
            whole |= RowMask::from(all) << i;
        }
        Some(whole)
    }

    fn push(&mut self, rows: &[Row<'_>], shared: RowMask) {
        for (i, row) in rows.iter().enumerate() {
            let (addresses, affine) = match row.addresses {
                _ if shared >> i & 1 == 0 => (Cow::Borrowed(&[][..]), None),
                Addresses::Each(addresses) => (Cow::Borrowed(addresses), None),
                Addresses::Affine(affine) => {
                    (row.addresses.each(), Some((*affine.of, affine.active.clone())))
                }
            };
            self.push_row(row.site, row.size, row.writes, &addresses, affine);
        }
        self.steps.push(self.rows.len());
    }

    fn push_row(
        &mut self,
        site: u32,
        size: u32,
        writes: bool,
        addresses: &[u64],
        affine: Option<(image::Lines, Threads)>,
    ) {
        let from = self.addresses.len();
        self.addresses.extend(addresses);
        let accesses = Addresses::Each(addresses).accesses();
        self.rows.push(KeptRow {
            site,
            size,
            writes,
            accesses,
            addresses: from..self.addresses.len(),
            affine,
        });
    }

    /// The accesses of two intervals together; `None` where they differ by more than which threads
    /// make an access.
    fn with(&self, other: &Self) -> Option<Self> {
        let (shorter, longer) =
            if self.steps.len() < other.steps.len() { (self, other) } else { (other, self) };
        let differ = |(&a, &b): (&u64, &u64)| a != b && a != 0 && b != 0;
        let alike = |(l, s): (&KeptRow, &KeptRow)| {
            let (l_addresses, s_addresses) =
                (&longer.addresses[l.addresses.clone()], &shorter.addresses[s.addresses.clone()]);
            (l.site, l.size, l.writes) == (s.site, s.size, s.writes)
                && !l_addresses.iter().zip(s_addresses).any(differ)
        };
        if !longer.steps.starts_with(&shorter.steps) || !longer.rows.iter().zip(&shorter.rows).all(alike) {
            return None;
        }
        let mut all = Self::default();
        for (i, row) in longer.rows.iter().enumerate() {
            let mut addresses = longer.addresses[row.addresses.clone()].to_vec();
            let other = shorter.rows.get(i);
            let others = other.map_or(&[][..], |row| &shorter.addresses[row.addresses.clone()]);
            if addresses.is_empty() {
                addresses.extend(others);
            }
            addresses.iter_mut().zip(others).for_each(|(address, &other)| *address |= other);
            let affine = match (&row.affine, other.map(|row| &row.affine)) {
                (affine, None) => affine.clone(),
                // The other row makes no access.
                (affine, Some(_)) if others.is_empty() => affine.clone(),
                (_, Some(affine)) if row.addresses.is_empty() => affine.clone(),
                (Some((of, active)), Some(Some((other, others)))) if of == other => {
                    Some((*of, active.and(others)))
                }
                _ => None,
            };
            all.push_row(row.site, row.size, row.writes, &addresses, affine);
        }
        all.steps.clone_from(&longer.steps);
        Some(all)
    }
}

/// True if each of these accesses is also among the others, by the same thread.
fn are_among(addresses: &[u64], others: &[u64]) -> bool {
    if addresses.len() != others.len() {
        return false;
    }
    let differ = |(&address, &other): (&u64, &u64)| if address == 0 { 0 } else { address ^ other };
    // No branch for each: the compiler takes several together.
    let among = |(addresses, others): (&[u64], &[u64])| {
        addresses.iter().zip(others).fold(0, |any, both| any | differ(both)) == 0
    };
    addresses.chunks(16).zip(others.chunks(16)).all(among)
}

/// Accesses that were only compared since the last barrier, and that need records now.
#[derive(Debug)]
pub(crate) struct ComparedRows(Interval);

impl ComparedRows {
    /// The rows of shared memory, step by step.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Vec<Row<'_>>> {
        let Self(interval) = self;
        (0..interval.steps.len()).map(|step| {
            let row = |kept: &KeptRow| Row {
                site: kept.site,
                size: kept.size,
                writes: kept.writes,
                addresses: Addresses::Each(&interval.addresses[kept.addresses.clone()]),
                values: None,
            };
            interval.step(step).iter().filter(|kept| !kept.addresses.is_empty()).map(row).collect()
        })
    }
}

/// How rows of shared memory are to be checked.
#[derive(Debug)]
pub(crate) enum IntervalCheck {
    /// Not at all: they have no conflict since the last barrier.
    Known,
    /// As ever.
    New,
    /// As ever, after the rows that were compared before.
    After(ComparedRows),
}

impl Intervals {
    /// Forgets all intervals: another launch begins.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Says how rows are to be checked that are handed over together. Those in `shared` are of
    /// shared memory.
    #[inline]
    pub(crate) fn meet(&mut self, rows: &[Row<'_>], shared: RowMask) -> IntervalCheck {
        match self.now {
            IntervalState::Start if self.useless => self.now = IntervalState::Off,
            IntervalState::Start => match self.find(rows, shared) {
                Some((interval, whole)) => {
                    self.now = IntervalState::Following { interval, steps: 0, rows: 0 };
                    self.parts.clear();
                    self.follow(interval, 0, shared, whole);
                    return IntervalCheck::Known;
                }
                None => self.now = IntervalState::Recording(Interval::default()),
            },
            IntervalState::Following { interval, steps, .. } => {
                if let Some(whole) = self.known[interval].holds(steps, rows, shared) {
                    self.follow(interval, steps, shared, whole);
                    return IntervalCheck::Known;
                }
                let compared = self.compared(interval, steps, 0);
                self.now = IntervalState::Recording(compared.clone());
                return IntervalCheck::After(ComparedRows(compared));
            }
            IntervalState::Recording(_) | IntervalState::Off => {}
        }
        IntervalCheck::New
    }

    /// Follows a step. The rows in `shared` make accesses of it, and those in `whole` all of them.
    fn follow(&mut self, interval: usize, step: usize, shared: RowMask, whole: RowMask) {
        self.whole = whole;
        let interval = &self.known[interval];
        let first = interval.rows_of(step);
        let absent = |(i, kept): &(usize, &KeptRow)| shared >> i & 1 == 0 && !kept.addresses.is_empty();
        let rows = interval.step(step).iter().enumerate().filter(absent);
        self.parts.extend(rows.map(|(i, _)| (first + i, PartOfRow::Each(Vec::new()))));
    }

    /// Passes over the next row that was found known. Returns the number of its accesses; `None`
    /// where shared memory was accessed other than by rows meanwhile.
    pub(crate) fn pass(&mut self, at: usize, row: &Row<'_>) -> Option<u64> {
        let IntervalState::Following { interval, steps, rows } = &mut self.now else { return None };
        *rows = at + 1;
        let interval = &self.known[*interval];
        let index = interval.rows_of(*steps) + at;
        if self.whole >> at & 1 != 0 {
            return Some(interval.rows[index].accesses);
        }
        // Their affine addresses are the same.
        let made = match row.addresses {
            Addresses::Affine(affine) if interval.rows[index].affine.is_some() => {
                PartOfRow::By(affine.active.clone())
            }
            addresses => PartOfRow::Each(addresses.each().into_owned()),
        };
        self.parts.push((index, made));
        Some(row.addresses.accesses())
    }

    /// A known interval that begins with these rows, and the rows that make all accesses of its
    /// first step.
    fn find(&self, rows: &[Row<'_>], shared: RowMask) -> Option<(usize, RowMask)> {
        let begins = |i: usize| Some((i, self.known[i].holds(0, rows, shared)?));
        let next = self.last.and_then(|last| self.known[last].next);
        next.and_then(begins).or_else(|| (0..self.known.len()).find_map(begins))
    }

    /// The accesses that were compared with an interval: those of its first steps and of rows of
    /// the next one.
    fn compared(&self, interval: usize, steps: usize, rows: usize) -> Interval {
        let known = &self.known[interval];
        let all = known.rows_of(steps) + rows;
        let mut found = Interval::default();
        for (i, row) in known.rows[..all].iter().enumerate() {
            let parts = self.parts.iter().find(|(index, _)| *index == i);
            let addresses = Cow::Borrowed(&known.addresses[row.addresses.clone()]);
            let (addresses, affine) = match parts {
                None => (addresses, row.affine.clone()),
                Some((_, PartOfRow::Each(addresses))) => (Cow::Borrowed(&addresses[..]), None),
                Some((_, PartOfRow::By(active))) => {
                    let addresses: Vec<_> = (0..)
                        .zip(&*addresses)
                        .map(|(t, &address)| if active.contains(t) { address } else { 0 })
                        .collect();
                    (Cow::Owned(addresses), row.affine.as_ref().map(|(of, _)| (*of, active.clone())))
                }
            };
            found.push_row(row.site, row.size, row.writes, &addresses, affine);
        }
        found.steps = known.steps[..steps].iter().copied().chain((rows > 0).then_some(all)).collect();
        found
    }

    /// Ends a step: each of its rows was checked or passed.
    pub(crate) fn done(&mut self, rows: &[Row<'_>], shared: RowMask) {
        match &mut self.now {
            IntervalState::Following { steps, rows: passed, .. } => {
                *steps += 1;
                *passed = 0;
                self.followed += rows.len() as u64;
            }
            IntervalState::Recording(interval) if interval.addresses.len() <= MOST_ADDRESSES => {
                interval.push(rows, shared);
                self.recorded += rows.len() as u64;
            }
            IntervalState::Recording(_) => self.now = IntervalState::Off,
            IntervalState::Start | IntervalState::Off => {}
        }
    }

    /// Notes that shared memory is about to be accessed other than by rows. Returns the rows that
    /// were compared, if any were.
    #[cold]
    pub(crate) fn end_following(&mut self) -> Option<ComparedRows> {
        match self.now {
            IntervalState::Start => {
                self.now = IntervalState::Off;
                None
            }
            IntervalState::Following { interval, steps, rows } => {
                self.now = IntervalState::Off;
                Some(ComparedRows(self.compared(interval, steps, rows)))
            }
            IntervalState::Recording(_) | IntervalState::Off => None,
        }
    }

    /// True if an access of shared memory other than by rows must be noted.
    #[inline]
    pub(crate) fn matters(&self) -> bool {
        matches!(self.now, IntervalState::Start | IntervalState::Following { .. })
    }

    /// Ends an interval: the block has come to a barrier, or to its end.
    pub(crate) fn end(&mut self, shared: &Range<usize>) {
        let ended = match std::mem::replace(&mut self.now, IntervalState::Start) {
            IntervalState::Start => return,
            IntervalState::Following { interval, .. } => Some(interval),
            IntervalState::Recording(interval) => self.keep(interval, shared),
            IntervalState::Off => None,
        };
        if let Some(last) = self.last {
            self.known[last].next = ended;
        }
        self.last = ended;
    }

    /// Keeps an interval without conflict, by itself or together with a similar one.
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
            self.addresses = self.addresses - known.addresses.len() + all.addresses.len();
            *known = Interval { next: known.next, ..all };
            return Some(i);
        }
        if self.addresses + interval.addresses.len() > MOST_ADDRESSES || self.known.len() == MOST {
            self.useless = self.followed < self.recorded;
            self.known.clear();
            (self.addresses, self.followed, self.recorded, self.last) = (0, 0, 0, None);
        }
        self.addresses += interval.addresses.len();
        self.known.push(interval);
        Some(self.known.len() - 1)
    }

    /// True if two of an interval's accesses conflict, or might: not all are of the shared memory.
    fn has_conflict(&mut self, interval: &Interval, shared: &Range<usize>) -> bool {
        self.simulation += 1;
        let now = self.simulation;
        self.uses.resize(shared.len().div_ceil(GRANULE), (0, WordUse::Not));
        interval.rows.iter().any(|row| {
            (0..).zip(&interval.addresses[row.addresses.clone()]).filter(|&(_, &address)| address != 0).any(
                |(thread, &address)| {
                    let at = (address as usize).wrapping_sub(shared.start);
                    let words = at / GRANULE..(at.wrapping_add(row.size as usize)).div_ceil(GRANULE);
                    self.uses.get_mut(words).is_none_or(|words| {
                        words.iter_mut().any(|(when, word)| {
                            let before = if *when == now { *word } else { WordUse::Not };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::access::{FULL, Op, Touch};
    use crate::model::relation::Relation;
    use crate::model::step::conflict;

    /// [`WordUse::and`] finds a conflict exactly where the transition function finds one between
    /// two of the accesses, for all histories of up to four accesses by three threads.
    #[test]
    fn uses_of_a_word_conflict_as_the_transition_function_says() {
        let touch = |writes| Touch { op: if writes { Op::Write } else { Op::Read }, mask: FULL };
        let races =
            |a: (u32, bool), b: (u32, bool)| a.0 != b.0 && conflict(touch(a.1), touch(b.1), Relation::Block);
        let accesses = || (0..6).map(|n| (n / 2, n % 2 == 1));
        let mut histories = vec![(Vec::new(), WordUse::Not)];
        for _ in 0..4 {
            let mut longer = Vec::new();
            for (history, state) in &histories {
                for access in accesses() {
                    let next = state.and(access.0, access.1);
                    assert_eq!(next.is_none(), history.iter().any(|&earlier| races(earlier, access)));
                    longer.extend(next.map(|next| ([&history[..], &[access]].concat(), next)));
                }
            }
            histories = longer;
        }
    }
}
