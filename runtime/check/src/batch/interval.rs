//! Barrier intervals of shared memory that repeat.
//!
//! In a block's shared memory, accesses before and after a barrier of the block never race: whether
//! accesses race depends only on those between the same two barriers. Blocks of one launch mostly
//! make the same accesses, at the same addresses. So the accesses of an interval without conflicts
//! are kept. If all or some of them come again, they are only compared with the kept ones: no two of
//! them conflict.
//!
//! An access that is not among those of a kept interval is checked as usual. Before that, the
//! accesses that were only compared get records. Two intervals may differ only by which threads
//! make an access (`if (a[i] > a[i + 1])`). If the accesses of both together have no conflict, they
//! become one.
//!
//! A simulation, not the shadow, finds out if an interval has a conflict. Intervals are forgotten at
//! the end of a launch. None is repeated while a location has a history of releases, or in a block
//! whose threads are ordered by more than its barriers.

mod kept;
mod simulation;

use std::borrow::Cow;
use std::ops::Range;

use crate::batch::affine::Threads;
use crate::batch::rows::RowMask;
use crate::batch::{Addresses, Batch};
use kept::{Interval, KeptRow};
use simulation::Simulation;

pub(crate) use kept::ComparedRows;

/// Most addresses that are kept: as many as a core's own cache holds.
const MOST_ADDRESSES: usize = 1 << 17;
/// Most intervals that are kept.
const MOST: usize = 128;

/// The intervals of a launch that a worker has met.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    now: IntervalState,
    /// Rows of the followed interval of which only some accesses were made, and those accesses.
    parts: Vec<(usize, PartOfRow)>,
    /// The rows of the last known step that make all accesses of the kept rows.
    whole: RowMask,
    known: Vec<Interval>,
    /// The interval that ended last, if it is known.
    last: Option<usize>,
    /// Number of addresses in all known intervals.
    addresses: usize,
    /// Number of rows that were recorded.
    recorded: u64,
    /// Number of rows that were only compared.
    followed: u64,
    /// Too few rows came again.
    useless: bool,
    simulation: Simulation,
}

/// The state of the shared memory since the last barrier.
#[derive(Debug, Default)]
enum IntervalState {
    /// No thread has accessed it.
    #[default]
    Start,
    /// All its accesses were among those of the first `steps` of a known interval and the first
    /// `rows` of the next step. They have no records.
    Following { interval: usize, steps: usize, rows: usize },
    /// Its accesses have records. These are the accesses that came in rows.
    Recording(Interval),
    /// Its accesses have records, and not all came in rows.
    Off,
}

/// Some accesses of a row.
#[derive(Clone, Debug)]
enum PartOfRow {
    /// Those at these addresses.
    Each(Vec<u64>),
    /// Those of these threads.
    By(Threads),
}

/// How rows of shared memory are to be checked.
#[derive(Debug)]
pub(crate) enum IntervalCheck {
    /// Not at all: they have no conflict since the last barrier.
    Known,
    /// As usual.
    New,
    /// As usual, after the rows that were only compared.
    After(ComparedRows),
}

impl Intervals {
    /// Forgets all intervals: another launch begins.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Says how to check rows that are handed over together. Those in `shared` are of shared memory.
    #[inline]
    pub(crate) fn meet(&mut self, rows: &[Batch<'_>], shared: RowMask) -> IntervalCheck {
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
        let first = interval.rows_before(step);
        let absent = |(i, kept): &(usize, &KeptRow)| shared >> i & 1 == 0 && !kept.addresses.is_empty();
        let rows = interval.step(step).iter().enumerate().filter(absent);
        self.parts.extend(rows.map(|(i, _)| (first + i, PartOfRow::Each(Vec::new()))));
    }

    /// Passes over the next row that was found known. Returns the number of its accesses; `None` if
    /// shared memory was accessed other than by rows meanwhile.
    pub(crate) fn pass(&mut self, at: usize, row: &Batch<'_>) -> Option<u64> {
        let IntervalState::Following { interval, steps, rows } = &mut self.now else { return None };
        *rows = at + 1;
        let interval = &self.known[*interval];
        let index = interval.rows_before(*steps) + at;
        if self.whole >> at & 1 != 0 {
            return Some(interval.rows[index].accesses);
        }
        let made = match row.addresses {
            // The affine addresses are the same.
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
    fn find(&self, rows: &[Batch<'_>], shared: RowMask) -> Option<(usize, RowMask)> {
        let begins = |i: usize| Some((i, self.known[i].holds(0, rows, shared)?));
        let next = self.last.and_then(|last| self.known[last].next);
        next.and_then(begins).or_else(|| (0..self.known.len()).find_map(begins))
    }

    /// The accesses that were compared with the first steps of an interval, and with rows of the
    /// next step.
    fn compared(&self, interval: usize, steps: usize, rows: usize) -> Interval {
        let known = &self.known[interval];
        let all = known.rows_before(steps) + rows;
        let mut found = Interval::default();
        for (i, row) in known.rows[..all].iter().enumerate() {
            let parts = self.parts.iter().find(|(index, _)| *index == i);
            let addresses = Cow::Borrowed(known.addresses_of(row));
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
    pub(crate) fn done(&mut self, rows: &[Batch<'_>], shared: RowMask) {
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
        if self.simulation.has_conflict(&interval, shared) {
            return None;
        }
        for i in 0..self.known.len() {
            let known = &self.known[i];
            let all = if known.conflicts < MOST_CONFLICTS { known.with(&interval) } else { None };
            let Some(all) = all else { continue };
            if self.simulation.has_conflict(&all, shared) {
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
}
