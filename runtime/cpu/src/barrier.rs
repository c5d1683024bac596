//! The barriers of a block (`bar.sync`, `bar.red`, `bar.arrive`): which threads have arrived, and
//! when a barrier opens.

use gpurace_abi::meta::UNDER_CONDITION;

use crate::collective::lanes;

/// Barriers of a block (PTX ISA, `bar`: ids 0 to 15).
pub(crate) const BARRIERS: usize = 16;

/// One barrier of a block.
///
/// Without a thread count it opens when every live thread has arrived. With a count, it opens when
/// that many threads have arrived. PTX then counts whole warps: a warp counts as 32 threads once
/// all its live threads have arrived, even if the warp is not full or threads of it have exited.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// Lanes that have arrived, by warp.
    arrived: [u32; 32],
    /// The lanes of `arrived` that wait.
    waiting: [u32; 32],
    /// Threads in `arrived`.
    arrivals: u32,
    /// Further arrivals of threads in `arrived` (`bar.arrive` twice, or before `bar.sync`).
    repeated: u32,
    /// The thread count, or 0 for the whole block.
    expected: u32,
    /// Number of true predicates.
    trues: u32,
    /// Number of predicates.
    predicates: u32,
    /// The place in the source at which the first thread waits.
    place: Option<u32>,
    /// True if another thread waits at another place.
    scattered: bool,
}

/// The results of `bar.red` for its operators: population count, and, or.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    trues: u32,
    all: bool,
}

impl Reduction {
    /// The result of operator 0 count, 1 and, 2 or.
    pub(crate) fn by(self, op: u32) -> u32 {
        match op {
            0 => self.trues,
            1 => u32::from(self.all),
            _ => u32::from(self.trues != 0),
        }
    }
}

impl Barrier {
    /// True if a thread has arrived since it last opened.
    pub(crate) fn in_use(&self) -> bool {
        self.arrivals != 0
    }

    /// Notes the arrival of a thread. `waits`: the thread waits for the others.
    pub(crate) fn arrive(
        &mut self,
        warp: usize,
        lane: u32,
        expected: u32,
        waits: bool,
        predicate: Option<bool>,
    ) {
        let bit = 1 << lane;
        if self.arrived[warp] & bit != 0 {
            self.repeated += 1;
        } else {
            self.arrived[warp] |= bit;
            self.arrivals += 1;
        }
        if waits {
            self.waiting[warp] |= bit;
        }
        self.expected = expected;
        if let Some(p) = predicate {
            self.predicates += 1;
            self.trues += u32::from(p);
        }
    }

    /// Notes the place in the source at which a thread waits.
    pub(crate) fn note_place(&mut self, place: u32) {
        self.scattered |= *self.place.get_or_insert(place) != place;
    }

    /// True if a thread waits at a place that stands under a condition ([`UNDER_CONDITION`]).
    pub(crate) fn is_under_condition(&self) -> bool {
        self.place.is_some_and(|place| place & UNDER_CONDITION != 0)
    }

    /// True if its threads wait at several places in the source.
    pub(crate) fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// Forgets the arrival of a thread that did not wait and has now exited. A whole-block barrier
    /// counts neither the thread nor its arrival.
    pub(crate) fn exited(&mut self, warp: usize, lane: u32) {
        let bit = 1 << lane;
        if self.expected == 0 && self.arrived[warp] & bit != 0 {
            self.arrived[warp] &= !bit;
            self.arrivals -= 1;
        }
    }

    /// True if it opens now. `live`: the live lanes of each warp; `total`: their number.
    pub(crate) fn is_complete(&self, live: impl Iterator<Item = u32>, total: u32) -> bool {
        if self.expected == 0 {
            return self.arrivals >= total;
        }
        let counted: u32 = live
            .zip(&self.arrived)
            .map(|(live, &arrived)| match arrived {
                0 => 0,
                _ if arrived & live == live => 32,
                _ => arrived.count_ones(),
            })
            .sum();
        counted + self.repeated >= self.expected
    }

    /// True if it waits for a number of threads, not for the whole block.
    pub(crate) fn counts(&self) -> bool {
        self.expected != 0
    }

    /// Opens it. Returns the lanes to wake, by warp, and the reduction of the predicates.
    pub(crate) fn open(&mut self) -> ([u32; 32], Reduction) {
        let reduction = Reduction { trues: self.trues, all: self.trues == self.predicates };
        let waiting = self.waiting;
        *self = Self::default();
        (waiting, reduction)
    }

    /// True if this thread waits here.
    #[cfg(test)]
    fn waits(&self, warp: usize, lane: u32) -> bool {
        self.waiting[warp] >> lane & 1 != 0
    }
}

/// The barriers of one block.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    all: [Barrier; BARRIERS],
    /// Mask of the barriers that the block has used.
    used: u32,
}

impl Barriers {
    /// Forgets all arrivals.
    pub(crate) fn reset(&mut self) {
        for id in lanes(std::mem::take(&mut self.used)) {
            self.all[id] = Barrier::default();
        }
    }

    /// The barrier of this id, which counts as used from now on.
    #[inline]
    pub(crate) fn used(&mut self, id: u32) -> &mut Barrier {
        self.used |= 1 << id;
        &mut self.all[id as usize]
    }

    /// The ids of the barriers that the block has used.
    pub(crate) fn ids_used(&self) -> impl Iterator<Item = usize> + use<> {
        lanes(self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u32 = u32::MAX;

    fn arrive_warp(b: &mut Barrier, warp: usize, mask: u32, expected: u32, waits: bool) {
        for lane in lanes(mask) {
            b.arrive(warp, lane as u32, expected, waits, None);
        }
    }

    #[test]
    fn the_whole_block_counts_live_threads_only() {
        let mut b = Barrier::default();
        arrive_warp(&mut b, 0, FULL, 0, true);
        assert!(!b.is_complete([FULL, 0xffff].into_iter(), 48));
        assert!(b.is_complete([FULL, 0].into_iter(), 32));
        arrive_warp(&mut b, 1, 0xffff, 0, true);
        assert!(b.is_complete([FULL, 0xffff].into_iter(), 48));
        assert!(b.waits(1, 15));
        let (wake, _) = b.open();
        assert_eq!(wake[..2], [FULL, 0xffff]);
        assert!(!b.in_use());
    }

    #[test]
    fn a_count_is_reached_by_whole_warps() {
        let mut b = Barrier::default();
        // A last warp of 16 threads counts as 32.
        arrive_warp(&mut b, 1, 0xffff, 64, true);
        assert!(!b.is_complete([FULL, 0xffff].into_iter(), 48));
        arrive_warp(&mut b, 0, 0x7fff_ffff, 64, false);
        assert!(!b.is_complete([FULL, 0xffff].into_iter(), 48));
        // The missing lane exits.
        assert!(b.is_complete([0x7fff_ffff, 0xffff].into_iter(), 47));
        assert_eq!(b.open().0[..2], [0, 0xffff]);
    }

    #[test]
    fn a_thread_that_arrived_and_exited_is_not_counted_twice() {
        let mut b = Barrier::default();
        b.arrive(0, 0, 0, false, None);
        b.exited(0, 0);
        b.arrive(0, 1, 0, true, None);
        assert!(!b.is_complete([0b110].into_iter(), 2));
        b.arrive(0, 2, 0, true, None);
        assert!(b.is_complete([0b110].into_iter(), 2));
    }

    #[test]
    fn places_are_those_of_threads_that_wait() {
        let mut b = Barrier::default();
        b.arrive(0, 0, 0, false, None);
        for (lane, place) in [(1, 7), (2, 7)] {
            b.arrive(0, lane, 0, true, None);
            b.note_place(place);
        }
        assert!(!b.is_scattered());
        b.note_place(8);
        assert!(b.is_scattered());
        b.open();
        b.note_place(8);
        assert!(!b.is_scattered(), "each time anew");
    }

    #[test]
    fn reductions_of_predicates() {
        let reduce = |predicates: &[bool]| {
            let mut b = Barrier::default();
            for (lane, &p) in predicates.iter().enumerate() {
                b.arrive(0, lane as u32, 0, true, Some(p));
            }
            let (_, r) = b.open();
            [0, 1, 2].map(|op| r.by(op))
        };
        assert_eq!(reduce(&[true, false, true]), [2, 0, 1]);
        assert_eq!(reduce(&[true, true]), [2, 1, 1]);
        assert_eq!(reduce(&[false, false]), [0, 0, 0]);
    }
}
