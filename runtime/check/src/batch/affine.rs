//! Affine rows: rows whose addresses follow from the thread's index.
//!
//! The addresses of most instructions grow by a fixed step from thread to thread (`a[y * n + x]`).
//! Code then hands over the first thread's address, the steps, and which threads made an access:
//! nothing is stored, compared or searched thread by thread.

use gpurace_abi::batch::Lines;

use crate::batch::rows::RowRun;
use crate::model::access::GRANULE;
use crate::shadow::region::BYTE_STEPS;

/// Threads of a block, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads([u64; Self::WORDS]);

impl Threads {
    /// Threads that a block has at most.
    pub const MOST: usize = 1024;
    const WORDS: usize = Self::MOST / 64;

    /// The threads whose mark is not 0.
    ///
    /// # Panics
    /// There are more than [`Self::MOST`].
    pub fn marked(marks: &[u32]) -> Self {
        assert!(marks.len() <= Self::MOST, "{} threads", marks.len());
        let mut threads = Self::default();
        for (word, marks) in threads.0.iter_mut().zip(marks.chunks(64)) {
            // Mostly all are marked, or none is.
            let (any, all) = match marks.as_chunks::<16>() {
                (sixteens, []) => {
                    let (any, all) = sixteens.iter().fold(([0; 16], [1; 16]), |(any, all), marks| {
                        (
                            std::array::from_fn(|i| any[i] | marks[i]),
                            std::array::from_fn(|i| all[i] & marks[i]),
                        )
                    });
                    (any.iter().fold(0, |any, mark| any | mark), all.iter().fold(1, |all, mark| all & mark))
                }
                _ => marks.iter().fold((0, 1), |(any, all), mark| (any | mark, all & mark)),
            };
            *word = match (any, all) {
                (0, _) => 0,
                (_, 1) => u64::MAX >> (64 - marks.len()),
                _ => marks.iter().rev().fold(0, |bits, &mark| bits << 1 | u64::from(mark != 0)),
            };
        }
        threads
    }

    /// The first `count` threads of a block.
    pub(crate) fn first(count: usize) -> Self {
        let mut all = Self([u64::MAX; Self::WORDS]);
        all.truncate(count);
        all
    }

    /// True if it has all `count` threads of a block.
    pub(crate) fn is_all(&self, count: usize) -> bool {
        *self == Self::first(count)
    }

    /// True if it has this thread.
    pub fn contains(&self, thread: usize) -> bool {
        self.0[thread / 64] >> (thread % 64) & 1 != 0
    }

    /// How many threads it has.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Removes the threads from `end` on.
    pub fn truncate(&mut self, end: usize) {
        for (i, word) in self.0.iter_mut().enumerate() {
            let kept = end.saturating_sub(i * 64).min(64) as u32;
            *word &= u64::MAX.checked_shr(64 - kept).unwrap_or(0);
        }
    }

    /// True if all of its threads are among others.
    pub(crate) fn are_among(&self, others: &Self) -> bool {
        self.0.iter().zip(others.0).all(|(word, other)| word & !other == 0)
    }

    /// The threads of either set.
    pub(crate) fn union(&self, others: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | others.0[i]))
    }

    /// The bits of up to 32 threads from `first` on.
    pub(crate) fn part(&self, first: usize, count: usize) -> u32 {
        let (at, shift) = (first / 64, first % 64);
        let next = self.0.get(at + 1).copied().unwrap_or(0);
        let bits = u128::from(next) << 64 | u128::from(self.0[at]);
        (bits >> shift) as u32 & u32::MAX.checked_shr(32 - count as u32).unwrap_or(0)
    }

    /// The first and the last of its threads in a range, and how many there are; `None` if there
    /// is none.
    pub(super) fn within(&self, from: usize, to: usize) -> Option<(usize, usize, usize)> {
        let (mut first, mut last, mut count) = (None, 0, 0);
        for at in from / 64..to.div_ceil(64) {
            let low = u64::MAX << from.saturating_sub(at * 64).min(63);
            let high = u64::MAX >> (64 - (to - at * 64).min(64));
            let word = self.0[at] & low & high;
            if word != 0 {
                first.get_or_insert(at * 64 + word.trailing_zeros() as usize);
                last = at * 64 + 63 - word.leading_zeros() as usize;
                count += word.count_ones() as usize;
            }
        }
        Some((first?, last, count))
    }
}

/// Addresses that follow from the indices of a block's threads.
#[derive(Clone, Copy, Debug)]
pub struct AffineAddresses<'a> {
    /// The first thread's address, and the steps to the next thread in x, y and z.
    pub of: &'a Lines,
    /// Threads of the block in x, y and z.
    pub dim: &'a [u32; 3],
    /// The threads that made the access.
    pub active: &'a Threads,
}

impl AffineAddresses<'_> {
    /// The address of a thread, also of one that made no access.
    pub(super) fn address(&self, thread: usize) -> usize {
        let [nx, ny, _] = self.dim.map(|n| n.max(1));
        let thread = thread as u32;
        let index =
            if thread < nx { [thread, 0, 0] } else { [thread % nx, thread / nx % ny, thread / nx / ny] };
        let offset = |axis: usize| self.of.steps[axis].wrapping_mul(index[axis] as u64);
        (0..3).fold(self.of.first, |at, axis| at.wrapping_add(offset(axis))) as usize
    }

    pub(super) fn threads(&self) -> usize {
        self.dim.iter().map(|&n| n as usize).product()
    }

    /// The addresses by thread, 0 if it made no access.
    pub(super) fn each(&self) -> Vec<u64> {
        let [nx, ny, nz] = self.dim.map(u64::from);
        let mut items = Vec::with_capacity(self.threads());
        for (z, y) in (0..nz).flat_map(|z| (0..ny).map(move |y| (z, y))) {
            let [by_x, by_y, by_z] = self.of.steps;
            let first = self.of.first.wrapping_add(by_z.wrapping_mul(z)).wrapping_add(by_y.wrapping_mul(y));
            items.extend((0..nx).map(|x| first.wrapping_add(by_x.wrapping_mul(x))));
        }
        items
            .iter_mut()
            .enumerate()
            .filter(|(t, _)| !self.active.contains(*t))
            .for_each(|(_, item)| *item = 0);
        items
    }

    /// Bytes that hold all its accesses of `size` bytes, and maybe more; `None` if they are too
    /// far apart.
    pub(crate) fn bounds(&self, size: usize) -> Option<std::ops::Range<usize>> {
        let (mut start, mut end) = (i64::try_from(self.of.first).ok()?, i64::try_from(self.of.first).ok()?);
        for (&step, &count) in self.of.steps.iter().zip(self.dim) {
            let far = (step as i64).checked_mul(i64::from(count.max(1) - 1))?;
            (start, end) = (start.checked_add(far.min(0))?, end.checked_add(far.max(0))?);
        }
        Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?.checked_add(size)?)
    }

    /// The most threads that follow each other with equal steps: how many, and the step. Then the
    /// same for the two outer dimensions that repeat them.
    fn parts(&self) -> (usize, u64, [(usize, u64); 2]) {
        let mut parts = [(1, 0); 3];
        let mut at = 0;
        for (count, step) in
            self.dim.iter().zip(self.of.steps).map(|(&n, step)| (n as usize, step)).filter(|part| part.0 > 1)
        {
            let (before, inner) = parts[at];
            if before == 1 {
                parts[at] = (count, step);
            } else if step == inner.wrapping_mul(before as u64) {
                parts[at].0 *= count;
            } else {
                at += 1;
                parts[at] = (count, step);
            }
        }
        (parts[0].0, parts[0].1, [parts[1], parts[2]])
    }

    /// Visits the runs of its accesses of `size` bytes, each with the address where the next one
    /// may begin. False if the accesses make no runs: then nothing was visited.
    #[inline]
    pub(crate) fn runs(&self, size: usize, mut visit: impl FnMut(&RowRun, usize)) -> bool {
        let (count, step, [(middle, by), (outer, far)]) = self.parts();
        let alone = size.next_power_of_two();
        let step = if count == 1 { alone } else { step as usize };
        let first = |i: usize, k: usize| {
            let offset = by.wrapping_mul(i as u64).wrapping_add(far.wrapping_mul(k as u64));
            self.of.first.wrapping_add(offset) as usize
        };
        // Where the outer steps are multiples of the first one, all parts begin alike.
        let alike = step.is_power_of_two() && (by | far) & (step as u64 - 1) == 0;
        let starts = || (0..outer).flat_map(|k| (0..middle).map(move |i| (i, k)));
        let may = RowRun::may_step(first(0, 0), step, size)
            && (alike || starts().all(|(i, k)| RowRun::may_step(first(i, k), step, size)));
        if !may {
            return false;
        }
        self.visit_parts(|run, next| {
            // A step of 0 is for at least two threads.
            let step = if run.accesses == 1 { alone } else { step };
            visit(&RowRun { step, ..*run }, next);
        });
        true
    }

    /// Visits the accesses of each part, each with the address where the next part may begin. The step may be any.
    #[inline]
    pub(super) fn visit_parts(&self, mut visit: impl FnMut(&RowRun, usize)) {
        let (count, step, [(middle, by), (outer, far)]) = self.parts();
        let step = step as usize;
        let mut start = 0;
        for k in 0..outer {
            for i in 0..middle {
                let first = |i: usize| {
                    let offset = by.wrapping_mul(i as u64).wrapping_add(far.wrapping_mul(k as u64));
                    self.of.first.wrapping_add(offset) as usize
                };
                if let Some((thread, last, accesses)) = self.active.within(start, start + count) {
                    let address = first(i).wrapping_add((thread - start).wrapping_mul(step));
                    visit(
                        &RowRun { thread, address, step, count: last + 1 - thread, accesses },
                        first(i + 1),
                    );
                }
                start += count;
            }
        }
    }

    /// The step of each part, if no part is among others. It and the distances of the parts are whole words; or it
    /// is one of [`BYTE_STEPS`].
    pub(super) fn element_step(&self) -> Option<isize> {
        let (count, step, [(middle, by), (_, far)]) = self.parts();
        let [by, far] = [by, far].map(|distance| (distance as i64).unsigned_abs());
        let is_apart = |(distance, bytes): (u64, u64)| distance == 0 || distance >= bytes;
        let part = (step as i64).unsigned_abs().saturating_mul(count as u64);
        let apart = is_apart((by, part)) && is_apart((far, by.max(part).saturating_mul(middle as u64)));
        let words = (step | by | far) % GRANULE as u64 == 0;
        let fits = words || BYTE_STEPS.contains(&(step as usize));
        (apart && count > 1 && fits).then_some(step as isize)
    }
}

/// The affine form of addresses, and the dimensions of a block that it needs. `None` if the
/// addresses are not affine or a thread makes no access.
pub(crate) fn affine_addresses_of(items: &[u64]) -> Option<(Lines, [u32; 3])> {
    let &[first, second, ..] = items else { return None };
    let step = second.wrapping_sub(first);
    let are = |items: &[u64], first: u64| {
        // No branch for each: the compiler takes several together.
        let differ = |(i, &item): (u64, &u64)| item ^ first.wrapping_add(i.wrapping_mul(step));
        first != 0 && (0..).zip(items).fold(0, |all, item| all | differ(item)) == 0
    };
    let width =
        (2..items.len()).find(|&t| items[t].wrapping_sub(items[t - 1]) != step).unwrap_or(items.len());
    if !items.len().is_multiple_of(width) {
        return None;
    }
    let far = items.get(width).map_or(0, |next| next.wrapping_sub(first));
    let all =
        (0..).zip(items.chunks(width)).all(|(y, row)| are(row, first.wrapping_add(far.wrapping_mul(y))));
    let of = Lines { first, steps: [step, far, 0] };
    all.then_some((of, [width as u32, (items.len() / width) as u32, 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The marks of threads, by the first and the end of each range of marked threads.
    fn marks(count: usize, ranges: &[(usize, usize)]) -> Vec<u32> {
        (0..count).map(|t| ranges.iter().any(|&(start, end)| (start..end).contains(&t)).into()).collect()
    }

    #[test]
    fn threads_are_those_that_are_marked() {
        for count in [1, 16, 31, 64, 65, 100, 1024] {
            for ranges in [&[(0, count)][..], &[], &[(3, 40)], &[(0, 1), (63, 66)], &[(count - 1, count)]] {
                let marks = marks(count, ranges);
                let threads = Threads::marked(&marks);
                let found: Vec<_> = (0..count).map(|t| threads.contains(t).into()).collect::<Vec<u32>>();
                assert_eq!(found, marks);
                assert_eq!(threads.count(), marks.iter().map(|&m| u64::from(m)).sum());
            }
        }
    }

    #[test]
    fn parts_of_the_threads() {
        let threads = Threads::marked(&marks(256, &[(5, 7), (60, 70), (200, 256)]));
        assert_eq!(threads.within(0, 256), Some((5, 255, 68)));
        assert_eq!(threads.within(6, 65), Some((6, 64, 6)));
        assert_eq!(threads.within(64, 64), None);
        assert_eq!(threads.within(70, 200), None);
        assert_eq!(threads.part(56, 32), 0b11_1111_1111 << 4);
        assert_eq!(threads.part(60, 3), 0b111);
        assert_eq!(threads.part(224, 32), u32::MAX);
        let mut first = threads.clone();
        first.truncate(64);
        assert_eq!(first.within(0, 256), Some((5, 63, 6)));
        assert!(first.are_among(&threads) && !threads.are_among(&first));
        assert_eq!(first.union(&threads), threads);
        first.truncate(0);
        assert_eq!(first.count(), 0);
    }

    /// First thread, address, step, count, accesses.
    type RunParts = (usize, usize, usize, usize, usize);

    /// The runs of accesses of 4 bytes.
    fn runs(steps: [u64; 3], dim: [u32; 3], active: &Threads) -> Option<Vec<RunParts>> {
        let of = Lines { first: 0x1000, steps };
        let affine = AffineAddresses { of: &of, dim: &dim, active };
        let mut found = Vec::new();
        let are_runs = affine.runs(4, |r, _| found.push((r.thread, r.address, r.step, r.count, r.accesses)));
        are_runs.then_some(found)
    }

    #[test]
    fn affine_addresses_are_recognised() {
        let of = |width: u64, rows: u64, by_x: u64, by_y: u64| -> Vec<u64> {
            (0..rows)
                .flat_map(|y| {
                    (0..width).map(move |x| {
                        0x1000u64.wrapping_add(x.wrapping_mul(by_x)).wrapping_add(y.wrapping_mul(by_y))
                    })
                })
                .collect()
        };
        for (width, rows, by_x, by_y) in
            [(16, 16, 4, 0x100), (32, 1, 4, 0), (8, 4, 0, 4), (4, 4, 4u64.wrapping_neg(), 64), (32, 2, 12, 8)]
        {
            let items = of(width, rows, by_x, by_y);
            let (affine, dim) = affine_addresses_of(&items).expect("affine");
            let active = Threads::first(items.len());
            assert_eq!(AffineAddresses { of: &affine, dim: &dim, active: &active }.each(), items);
            // One that is elsewhere, and one that is not made.
            for other in [items[items.len() - 1] + 4, 0] {
                let mut items = items.clone();
                *items.last_mut().expect("some") = other;
                assert_eq!(affine_addresses_of(&items), None, "{items:x?}");
            }
        }
        assert_eq!(affine_addresses_of(&[0; 32]), None);
        assert_eq!(affine_addresses_of(&[0x1000]), None);
        assert_eq!(affine_addresses_of(&[0x1000, 0x1004, 0x1010, 0x1014, 0x1020]), None);
    }

    #[test]
    fn bounds_hold_all_accesses() {
        let all = Threads::first(24);
        let bounds = |first: u64, steps: [u64; 3]| {
            let of = Lines { first, steps };
            let affine = AffineAddresses { of: &of, dim: &[4, 3, 2], active: &all };
            let bounds = affine.bounds(8);
            if let Some(bounds) = &bounds {
                assert!(
                    affine
                        .each()
                        .iter()
                        .all(|&at| bounds.start <= at as usize && at as usize + 8 <= bounds.end)
                );
            }
            bounds
        };
        assert_eq!(bounds(0x1000, [8, 64, 256]), Some(0x1000..0x1000 + 3 * 8 + 2 * 64 + 256 + 8));
        assert_eq!(bounds(0x1000, [8u64.wrapping_neg(), 64, 0]), Some(0x1000 - 3 * 8..0x1000 + 2 * 64 + 8));
        assert_eq!(bounds(0x10, [8u64.wrapping_neg(), 0, 0]), None);
        assert_eq!(bounds(0x1000, [1 << 62, 0, 0]), None);
    }

    #[test]
    fn runs_go_on_as_long_as_the_step_does() {
        let all = Threads::marked(&marks(24, &[(0, 24)]));
        // Rows that follow each other are one run.
        assert_eq!(runs([4, 32, 0], [8, 3, 1], &all), Some(vec![(0, 0x1000, 4, 24, 24)]));
        assert_eq!(
            runs([4, 64, 0], [8, 3, 1], &all),
            Some(vec![(0, 0x1000, 4, 8, 8), (8, 0x1040, 4, 8, 8), (16, 0x1080, 4, 8, 8)])
        );
        assert_eq!(runs([4, 0x100, 16], [4, 2, 3], &all).map(|r| r.len()), Some(6));
        assert_eq!(runs([0, 0, 0], [8, 3, 1], &all), Some(vec![(0, 0x1000, 0, 24, 24)]));
        assert_eq!(runs([12, 96, 0], [8, 3, 1], &all), Some(vec![(0, 0x1000, 12, 24, 24)]));
        assert_eq!(runs([12, 24, 0], [8, 3, 1], &all).map(|r| r.len()), Some(3));
        // Steps that regions do not know.
        assert_eq!(runs([14, 112, 0], [8, 3, 1], &all), None);
        assert_eq!(runs([12, 94, 0], [8, 3, 1], &all), None);
        assert_eq!(runs([132, 1056, 0], [8, 3, 1], &all), None);
        assert_eq!(runs([4u64.wrapping_neg(), 32, 0], [8, 3, 1], &all), None);
        let some = Threads::marked(&marks(24, &[(1, 2), (10, 13)]));
        assert_eq!(
            runs([4, 64, 0], [8, 3, 1], &some),
            Some(vec![(1, 0x1004, 4, 1, 1), (10, 0x1048, 4, 3, 3)])
        );
    }
}
