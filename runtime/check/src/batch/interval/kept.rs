//! The accesses of one barrier interval, as they are kept and compared.

use std::borrow::Cow;
use std::ops::Range;

use gpurace_abi::batch::Lines;

use crate::batch::affine::Threads;
use crate::batch::rows::RowMask;
use crate::batch::{Addresses, Batch};

/// The accesses of shared memory between two barriers, step by step. A step is the rows that are
/// handed over together.
#[derive(Clone, Debug, Default)]
pub(super) struct Interval {
    pub(super) rows: Vec<KeptRow>,
    /// The addresses of all its rows.
    pub(super) addresses: Vec<u64>,
    /// For each step, the end of its rows.
    pub(super) steps: Vec<usize>,
    /// The interval that came after it the last time.
    pub(super) next: Option<usize>,
    /// How many intervals that differ only by the threads have had a conflict with it.
    pub(super) conflicts: u8,
}

/// A row of an interval.
#[derive(Clone, Debug)]
pub(super) struct KeptRow {
    pub(super) site: u32,
    /// Bytes of an access.
    pub(super) size: u32,
    pub(super) writes: bool,
    /// Number of threads that make an access.
    pub(super) accesses: u64,
    /// The place of its addresses in [`Interval::addresses`]; empty if it is not of shared memory.
    pub(super) addresses: Range<usize>,
    /// Its affine addresses and their threads, if they are affine.
    pub(super) affine: Option<AffineRow>,
}

/// Affine addresses, and the threads that make an access.
pub(super) type AffineRow = (Lines, Threads);

impl Interval {
    /// The addresses of a row by thread, 0 if the thread makes no access.
    #[inline]
    pub(super) fn addresses_of(&self, row: &KeptRow) -> &[u64] {
        &self.addresses[row.addresses.clone()]
    }

    /// Number of rows before a step: those of all steps before it.
    #[inline]
    pub(super) fn rows_before(&self, step: usize) -> usize {
        step.checked_sub(1).map_or(0, |last| self.steps[last])
    }

    /// The rows of a step.
    #[inline]
    pub(super) fn step(&self, step: usize) -> &[KeptRow] {
        &self.rows[self.rows_before(step)..self.steps[step]]
    }

    /// The rows among `shared` that make all accesses of the step's row. `None` if one of them makes
    /// an access that the step does not have.
    pub(super) fn holds(&self, step: usize, rows: &[Batch<'_>], shared: RowMask) -> Option<RowMask> {
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
                    let (addresses, kept) = (addresses.each(), self.addresses_of(kept));
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

    /// Appends a step. Rows that are not in `shared` are kept without their accesses.
    pub(super) fn push(&mut self, rows: &[Batch<'_>], shared: RowMask) {
        for (i, row) in rows.iter().enumerate() {
            let addresses = if shared >> i & 1 == 0 { Cow::Borrowed(&[][..]) } else { row.addresses.each() };
            let affine = match row.addresses {
                Addresses::Affine(affine) if !addresses.is_empty() => {
                    Some((*affine.of, affine.active.clone()))
                }
                _ => None,
            };
            self.push_row(row.site, row.size, row.writes, &addresses, affine);
        }
        self.steps.push(self.rows.len());
    }

    /// Appends a row to the last step.
    pub(super) fn push_row(
        &mut self,
        site: u32,
        size: u32,
        writes: bool,
        addresses: &[u64],
        affine: Option<AffineRow>,
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

    /// The accesses of two intervals together; `None` if they differ by more than which threads make
    /// an access.
    pub(super) fn with(&self, other: &Self) -> Option<Self> {
        let (shorter, longer) =
            if self.steps.len() < other.steps.len() { (self, other) } else { (other, self) };
        let differ = |(&a, &b): (&u64, &u64)| a != b && a != 0 && b != 0;
        let alike = |(l, s): (&KeptRow, &KeptRow)| {
            (l.site, l.size, l.writes) == (s.site, s.size, s.writes)
                && !longer.addresses_of(l).iter().zip(shorter.addresses_of(s)).any(differ)
        };
        if !longer.steps.starts_with(&shorter.steps) || !longer.rows.iter().zip(&shorter.rows).all(alike) {
            return None;
        }
        let mut all = Self::default();
        for (i, row) in longer.rows.iter().enumerate() {
            let mut addresses = longer.addresses_of(row).to_vec();
            let other = shorter.rows.get(i);
            let others = other.map_or(&[][..], |row| shorter.addresses_of(row));
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
                    Some((*of, active.union(others)))
                }
                _ => None,
            };
            all.push_row(row.site, row.size, row.writes, &addresses, affine);
        }
        all.steps.clone_from(&longer.steps);
        Some(all)
    }
}

/// True if each of these accesses is among the others, by the same thread.
fn are_among(addresses: &[u64], others: &[u64]) -> bool {
    if addresses.len() != others.len() {
        return false;
    }
    let differ = |(&address, &other): (&u64, &u64)| if address == 0 { 0 } else { address ^ other };
    // Without a branch for each address the compiler compares several at once.
    let among = |(addresses, others): (&[u64], &[u64])| {
        addresses.iter().zip(others).fold(0, |any, both| any | differ(both)) == 0
    };
    addresses.chunks(16).zip(others.chunks(16)).all(among)
}

/// Accesses that were only compared since the last barrier, and that need records now.
#[derive(Debug)]
pub(crate) struct ComparedRows(pub(super) Interval);

impl ComparedRows {
    /// The rows of shared memory, step by step.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Vec<Batch<'_>>> {
        let Self(interval) = self;
        (0..interval.steps.len()).map(|step| {
            let row = |kept: &KeptRow| {
                let addresses = Addresses::Each(interval.addresses_of(kept));
                Batch { writes: kept.writes, ..Batch::reads(kept.site, kept.size, addresses) }
            };
            interval.step(step).iter().filter(|kept| !kept.addresses.is_empty()).map(row).collect()
        })
    }
}
