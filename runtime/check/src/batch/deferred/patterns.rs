//! Gathered accesses in few words: most loops read at equal distances, and neighbouring threads do the
//! same at equal distances from each other.

use std::ops::Range;

use gpurace_abi::batch::{GatheredItem, GatheredRun};
use smallvec::SmallVec;

use crate::model::access::overlap;

/// Reads of neighbouring threads: each reads as many pieces of as many bytes, at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadPattern {
    /// The first thread and the address of its first piece.
    first: GatheredItem,
    /// Bytes of a piece.
    bytes: u32,
    /// Pieces of a thread.
    pieces: u32,
    /// Bytes from a piece to the next one.
    step: isize,
    /// How many threads.
    threads: u32,
    /// Bytes from a thread's first piece to that of the next thread.
    by_thread: isize,
}

impl ReadPattern {
    /// One piece of one thread.
    fn of(first: GatheredItem, bytes: u32) -> Self {
        Self { first, bytes, pieces: 1, step: 0, threads: 1, by_thread: 0 }
    }

    /// The address of a piece.
    fn address(&self, thread: u32, piece: u32) -> usize {
        let offset = self.by_thread.wrapping_mul(thread as isize);
        let offset = offset.wrapping_add(self.step.wrapping_mul(piece as isize));
        self.first.address().wrapping_add_signed(offset)
    }

    /// Adds the piece at an address to those of its one thread. False if it is not at their distance.
    fn add_piece(&mut self, address: usize, bytes: u32) -> bool {
        let distance = address.wrapping_sub(self.address(0, self.pieces - 1)) as isize;
        if bytes != self.bytes || self.pieces > 1 && distance != self.step {
            return false;
        }
        self.step = distance;
        self.pieces += 1;
        true
    }

    /// Adds the next thread, which has these pieces. False if they differ.
    fn add_thread(&mut self, of: &Self) -> bool {
        let distance = of.first.address().wrapping_sub(self.address(self.threads - 1, 0)) as isize;
        if (of.bytes, of.pieces, of.step) != (self.bytes, self.pieces, self.step)
            || of.first.thread() != self.first.thread() + self.threads
            || self.threads > 1 && distance != self.by_thread
        {
            return false;
        }
        self.by_thread = distance;
        self.threads += 1;
        true
    }

    /// Each piece as a run, thread by thread.
    pub(crate) fn runs(&self) -> impl Iterator<Item = GatheredRun> {
        (0..self.threads).flat_map(move |thread| (0..self.pieces).map(move |piece| self.run(thread, piece)))
    }

    fn run(&self, thread: u32, piece: u32) -> GatheredRun {
        let address = self.address(thread, piece);
        let first = GatheredItem::new(self.first.thread() + thread, address);
        GatheredRun { first, end: (address + self.bytes as usize) as u64 }
    }

    /// True if some of its reads are of some of these bytes.
    pub(crate) fn may_meet(&self, bytes: &Range<usize>) -> bool {
        let last = |step: isize, count: u32| step.wrapping_mul(count as isize - 1);
        let far = [last(self.step, self.pieces), last(self.by_thread, self.threads)];
        let [least, most] = [isize::min, isize::max].map(|of: fn(isize, isize) -> isize| {
            let offset = far.iter().fold(0, |all: isize, &far| all.wrapping_add(of(far, 0)));
            self.first.address().wrapping_add_signed(offset)
        });
        overlap(&(least..most + self.bytes as usize), bytes)
            && self.runs().any(|run| overlap(&run.bytes(), bytes))
    }
}

/// How many of a thread's last patterns a further one is compared with.
const LOOK_BACK: usize = 4;

/// How many more patterns the first reads may take.
const MARGIN: usize = 8;

/// The patterns of gathered accesses, which are in the order of their threads. `None` if they take more
/// memory than the reads, of `size` bytes each. That mostly shows in the first reads.
pub(super) fn find(reads: impl Iterator<Item = GatheredRun>, size: usize) -> Option<Vec<ReadPattern>> {
    let mut found = Patterns::default();
    let mut met = 0;
    for read in reads {
        met += size;
        let bytes = read.bytes();
        if bytes.is_empty() {
            continue;
        }
        found.add(read.first, u32::try_from(bytes.len()).ok()?);
        if found.len() > MARGIN + met / size_of::<ReadPattern>() {
            return None;
        }
    }
    found.end_thread();
    (found.all.len() * size_of::<ReadPattern>() <= met).then_some(found.all)
}

#[derive(Default)]
struct Patterns {
    all: Vec<ReadPattern>,
    /// Those of the thread before, by index.
    before: SmallVec<[usize; 8]>,
    /// The patterns of the thread whose reads are added.
    now: SmallVec<[ReadPattern; 8]>,
}

impl Patterns {
    fn len(&self) -> usize {
        self.all.len() + self.now.len()
    }

    /// Adds a read: the next one of its thread, or the first one of the next thread.
    fn add(&mut self, first: GatheredItem, bytes: u32) {
        if self.now.first().is_some_and(|now| now.first.thread() != first.thread()) {
            self.end_thread();
        }
        let address = first.address();
        if self.now.last_mut().is_some_and(|last| last.add_piece(address, bytes)) {
            return;
        }
        self.drop_repeated();
        self.now.push(ReadPattern::of(first, bytes));
    }

    /// Drops the thread's last pattern if it has read the same before: a loop that starts again.
    fn drop_repeated(&mut self) {
        if let Some((last, others)) = self.now.split_last()
            && others.iter().rev().take(LOOK_BACK).any(|other| other == last)
        {
            self.now.pop();
        }
    }

    /// Adds the patterns of a thread to those of the thread before where they are alike.
    fn end_thread(&mut self) {
        self.drop_repeated();
        let mut before = SmallVec::new();
        for (i, now) in self.now.drain(..).enumerate() {
            let at = match self.before.get(i) {
                Some(&at) if self.all[at].add_thread(&now) => at,
                _ => {
                    self.all.push(now);
                    self.all.len() - 1
                }
            };
            before.push(at);
        }
        self.before = before;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn read(thread: u32, address: usize, bytes: usize) -> GatheredRun {
        GatheredRun { first: GatheredItem::new(thread, address), end: (address + bytes) as u64 }
    }

    /// The patterns of reads, which must read the same bytes by the same threads.
    fn patterns(reads: &[GatheredRun]) -> usize {
        let found = find(reads.iter().copied(), 1 << 10).expect("they are few");
        let bytes = |runs: &mut dyn Iterator<Item = GatheredRun>| {
            runs.flat_map(|run| run.bytes().map(move |byte| (run.first.thread(), byte)))
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(bytes(&mut found.iter().flat_map(ReadPattern::runs)), bytes(&mut reads.iter().copied()));
        for byte in 0x0ff0..0x1400 {
            let range = byte..byte + 1;
            let is_read = reads.iter().any(|run| overlap(&run.bytes(), &range));
            assert_eq!(found.iter().any(|pattern| pattern.may_meet(&range)), is_read, "{byte:#x}");
        }
        found.len()
    }

    #[test]
    fn threads_that_do_the_same_are_one_pattern() {
        let stencil: Vec<_> =
            (0..8).flat_map(|t| [0, 64, 128].map(|row| read(t, 0x1000 + row + t as usize, 3))).collect();
        assert_eq!(patterns(&stencil), 1);
        let column = |t: u32| (0..8).map(move |k| read(t, 0x1000 + 64 * k + 4 * t as usize, 4));
        assert_eq!(patterns(&(0..16).flat_map(column).collect::<Vec<_>>()), 1);
        // Downwards.
        let back = |t: u32| (0..8).map(move |k| read(t, 0x1300 - 64 * k - 4 * t as usize, 4));
        assert_eq!(patterns(&(0..16).flat_map(back).collect::<Vec<_>>()), 1);
    }

    #[test]
    fn a_loop_that_starts_again_adds_nothing() {
        let twice = |t: u32| (0..24).map(move |k| read(t, 0x1000 + 64 * (k % 8) + 4 * t as usize, 4));
        // The third round is the last one, and its last pattern may go on.
        assert_eq!(patterns(&(0..16).flat_map(twice).collect::<Vec<_>>()), 1);
    }

    #[test]
    fn what_differs_has_patterns_of_its_own() {
        // Another length, another distance, a thread without a read, and one that reads twice.
        assert_eq!(patterns(&[read(0, 0x1000, 4), read(1, 0x1004, 8)]), 2);
        assert_eq!(patterns(&[read(0, 0x1000, 4), read(1, 0x1004, 4), read(2, 0x1010, 4)]), 2);
        assert_eq!(patterns(&[read(0, 0x1000, 4), read(2, 0x1008, 4)]), 2);
        assert_eq!(patterns(&[read(0, 0x1000, 4), read(0, 0x1010, 4), read(0, 0x1014, 4)]), 2);
        assert_eq!(patterns(&[read(0, 0, 0), read(1, 0x1000, 4)]), 1);
        // Patterns that take more memory than the reads.
        assert_eq!(find([read(0, 0x1000, 4), read(2, 0x1008, 4)].into_iter(), 16), None);
        let scattered = (0..100).map(|t| read(t, 0x1000 + (t as usize * t as usize * 7 % 101) * 4, 4));
        assert_eq!(find(scattered, 16), None);
    }
}
