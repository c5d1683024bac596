//! Launches and copies that others may run beside: what each may touch, and which ran
//! without checks.
//!
//! A launch without checks leaves no records for a later one to meet. What it may touch is kept
//! here until everything to come is ordered after it. Where a later operation that may run at the same
//! time conflicts with that, the launch's accesses are made known to the checker first, from its
//! protocol ([`gpurace_protocol::repeat`]), and the later one is checked: what is found is what
//! would have been found if both had been checked.
//!
//! Records of one place must come in the order of the launches. So what leaves records waits for
//! the launches before it that touched the same places ([`Beside::before`]).

use std::ops::Range;

use gpurace_check::{Block, Checker, LaunchInfo, LaunchStats};
use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::protocol::Op;
use gpurace_protocol::repeat::{Event, Inexact};
use gpurace_protocol::run::Touch;

use crate::modules::Kernel;
use crate::order::Order;
use crate::prove::reach::{Footprint, Repeatable, Span};

/// Operations that are kept; what comes while there are so many is checked.
const MOST_KEPT: usize = 256;
/// Accesses of launches that are kept to be made known later, at most: about a minute, and no more
/// than once for a kernel.
const MOST_REPEATED: u64 = 1 << 27;
/// Spans of an operation that are kept apart.
const MOST_SPANS: usize = 32;

/// A launch that ran without checks.
pub struct Bare {
    /// What it ran.
    pub kernel: &'static Kernel,
    /// What the checker is to know of it.
    pub info: LaunchInfo,
    /// Launches before it that nothing orders before it.
    pub unordered: Vec<u64>,
    /// Its accesses.
    pub what: Repeatable,
    /// Memory that was freed since, or is new.
    pub forgotten: Vec<Range<usize>>,
}

/// An operation that something to come may run beside.
struct Kept {
    operation: u64,
    footprint: Footprint,
    bare: Option<Bare>,
}

/// Those that there are, in the order of their submission.
#[derive(Default)]
pub struct Beside {
    kept: Vec<Kept>,
    /// The last operation that was not kept.
    lost: u64,
}

impl Beside {
    /// Nothing is kept.
    pub const fn new() -> Self {
        Self { kept: Vec::new(), lost: 0 }
    }

    /// Forgets what everything to come is ordered after.
    pub fn settle(&mut self, order: &Order) {
        if self.kept.is_empty() && self.lost == 0 {
            return;
        }
        let unsettled: Vec<u64> = order.unsettled().collect();
        self.kept.retain(|kept| unsettled.binary_search(&kept.operation).is_ok());
        if unsettled.first().is_none_or(|&first| first > self.lost) {
            self.lost = 0;
        }
    }

    /// Whether a launch that touches this, by about so many accesses, may run without checks, beside
    /// the operations before it that it is not ordered after.
    pub fn allows(&self, footprint: &Footprint, accesses: u64, unordered: &[u64]) -> bool {
        let concurrent = |kept: &&Kept| unordered.contains(&kept.operation);
        let bare = self.kept.iter().filter_map(|kept| kept.bare.as_ref());
        let all = bare.map(|bare| bare.what.cost).fold(accesses, u64::saturating_add);
        self.lost == 0
            && self.kept.len() < MOST_KEPT
            && all <= MOST_REPEATED
            && !self.kept.iter().filter(concurrent).any(|kept| kept.footprint.conflicts(footprint))
    }

    /// The launches without checks that must be made known before an operation that is
    /// checked, in their order. `records` says that it leaves records, a copy leaves none.
    pub fn before(&mut self, footprint: &Footprint, unordered: &[u64], records: bool) -> Vec<Bare> {
        let mut needed: Vec<usize> = Vec::new();
        for (at, kept) in self.kept.iter().enumerate().rev() {
            if kept.bare.is_none() {
                continue;
            }
            let conflicts = unordered.contains(&kept.operation) && kept.footprint.conflicts(footprint);
            let meets = records && kept.footprint.meets(footprint);
            // And those that they follow in one place.
            let precedes = needed.iter().any(|&later| kept.footprint.meets(&self.kept[later].footprint));
            if conflicts || meets || precedes {
                needed.push(at);
            }
        }
        needed.into_iter().rev().filter_map(|at| self.kept[at].bare.take()).collect()
    }

    /// Keeps a launch or copy that is checked, or is no launch that checks are asked for.
    pub fn add_checked(&mut self, operation: u64, footprint: Footprint, unordered: &[u64]) {
        // One that touches the same and comes after another stands for it, too.
        self.kept.retain(|kept| {
            let alike = kept.bare.is_none() && kept.footprint == footprint;
            !alike || unordered.contains(&kept.operation)
        });
        self.add(Kept { operation, footprint, bare: None });
    }

    /// Keeps a launch that runs without checks.
    pub fn add_bare(&mut self, footprint: Footprint, bare: Bare) {
        let same = |old: &Bare, launch: &ProverLaunch| {
            std::ptr::eq(old.kernel, bare.kernel) && *old.what.launch == *launch
        };
        // Whatever meets an earlier one like it, and is not ordered after it, meets this one.
        self.kept.retain(|kept| {
            let alike = kept.bare.as_ref().is_some_and(|old| same(old, &bare.what.launch));
            !alike || bare.unordered.contains(&kept.operation)
        });
        self.add(Kept { operation: bare.info.id, footprint, bare: Some(bare) });
    }

    fn add(&mut self, kept: Kept) {
        if self.kept.len() < MOST_KEPT {
            self.kept.push(kept);
        } else {
            self.lost = kept.operation;
        }
    }

    /// This memory was freed, or is new: what was done there before is no more.
    pub fn forget(&mut self, bytes: &Range<usize>) {
        for kept in &mut self.kept {
            if let Some(bare) = kept.bare.as_mut().filter(|_| kept.footprint.touches(bytes)) {
                bare.forgotten.push(bytes.clone());
            }
        }
    }
}

impl Bare {
    /// Makes the launch's accesses known to the checker.
    ///
    /// # Errors
    /// Where they are not all known after all: then some are missing.
    pub fn repeat(&self, checker: &Checker) -> Result<LaunchStats, Inexact> {
        let Repeatable { repeat, launch, .. } = &self.what;
        self.kernel.module.tell_covered(checker);
        let mut covered: Vec<u32> =
            self.kernel.module.meta.covered.iter().map(|covered| covered.site).collect();
        covered.sort_unstable();
        let told = checker.begin_launch(self.info, &self.unordered);
        let [nx, ny, nz] = launch.grid;
        let blocks = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])));
        let mut result = Ok(());
        for (index, ctaid) in (0..).zip(blocks) {
            let mut block = Block::begin(&told, index, 0..0);
            result = repeat.block(launch, ctaid, |event| match event {
                Event::Touch(thread, touch) => {
                    // Another access's check stands for it.
                    if covered.binary_search(&touch.site.0).is_err() {
                        self.touch(&mut block, thread, &touch);
                    }
                }
                Event::Warp(warp) => block.syncwarp(warp, u32::MAX),
                Event::Block => block.barrier(),
            });
            block.end();
            if result.is_err() {
                break;
            }
        }
        let stats = checker.end_launch(&told);
        result.map(|()| stats)
    }

    fn touch(&self, block: &mut Block, thread: u32, touch: &Touch) {
        let extent = self.what.launch.objects.get(touch.object as usize).copied().flatten();
        let Some(base) = extent.map(|extent| extent.base) else { return };
        let address = base.wrapping_add_signed(touch.offset) as usize;
        let bytes = address..address.saturating_add(touch.size as usize);
        if self.forgotten.iter().any(|gone| gone.start < bytes.end && bytes.start < gone.end) {
            return;
        }
        let site = touch.site.0;
        match (touch.op, u32::try_from(touch.size)) {
            (Op::Read, Ok(size @ 1..=16)) => block.read(thread, address, size, site),
            (Op::Write, Ok(size @ 1..=16)) => block.write(thread, address, size, site, None),
            (Op::Read, _) => block.read_range(thread, address, touch.size, site),
            (Op::Write, _) => block.write_range(thread, address, touch.size, site),
            // There are none in a protocol that can be repeated.
            (Op::Atomic { .. }, _) => {}
        }
    }
}

/// What a copy touches: of many rows, all from the first to the last.
pub fn of_copy(spans: Vec<Span>) -> Footprint {
    if spans.len() <= MOST_SPANS {
        return Footprint(Some(spans));
    }
    let hull = |writes| {
        let alike = || spans.iter().filter(move |span| span.writes == writes);
        let start = alike().map(|span| span.bytes.start).min()?;
        let end = alike().map(|span| span.bytes.end).max()?;
        Some(Span { bytes: start..end, writes })
    };
    Footprint(Some([false, true].into_iter().filter_map(hull).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::DEFAULT;

    fn spans(of: &[(usize, usize, bool)]) -> Footprint {
        Footprint(Some(of.iter().map(|&(start, end, writes)| Span { bytes: start..end, writes }).collect()))
    }

    #[test]
    fn footprints_conflict_where_one_writes_what_the_other_touches() {
        let read = spans(&[(0, 100, false), (200, 300, false)]);
        for (other, wanted) in [
            (spans(&[(50, 60, false)]), false),
            (spans(&[(50, 60, true)]), true),
            (spans(&[(100, 200, true)]), false),
            (spans(&[(100, 201, true)]), true),
            (spans(&[]), false),
            (Footprint::ANYTHING, true),
        ] {
            assert_eq!(read.conflicts(&other), wanted, "{other:?}");
            assert_eq!(other.conflicts(&read), wanted, "{other:?}");
        }
        assert!(Footprint::ANYTHING.conflicts(&Footprint::ANYTHING));
        assert!(!Footprint::ANYTHING.conflicts(&spans(&[])));
        // Neighbours may share a record, readers too.
        assert!(read.meets(&spans(&[(110, 120, false)])));
        assert!(!read.meets(&spans(&[(1024, 1028, true)])));
    }

    #[test]
    fn of_many_rows_all_between_is_taken() {
        let rows = |n: usize| (0..n).flat_map(|i| [(i * 10, i * 10 + 5, true), (1000 + i, 1001 + i, false)]);
        let footprint =
            |n| of_copy(rows(n).map(|(start, end, writes)| Span { bytes: start..end, writes }).collect());
        assert!(!footprint(3).conflicts(&spans(&[(6, 9, false)])));
        assert_eq!(footprint(60), spans(&[(1000, 1060, false), (0, 595, true)]));
    }

    #[test]
    fn a_launch_may_run_bare_until_something_that_it_meets_was_checked_beside_it() {
        let mut beside = Beside::new();
        beside.add_checked(1, spans(&[(0, 64, true)]), &[]);
        let (meets, apart) = (spans(&[(32, 36, false)]), spans(&[(64, 128, true)]));
        assert!(!beside.allows(&meets, 1, &[1]));
        assert!(beside.allows(&meets, 1, &[]), "it is ordered after it");
        assert!(beside.allows(&apart, 1, &[1]));
        assert!(!beside.allows(&apart, MOST_REPEATED + 1, &[1]), "it would take too long to repeat");
        // One like it that comes after it stands for it; one beside it does not.
        beside.add_checked(2, spans(&[(0, 64, true)]), &[1]);
        assert_eq!(beside.kept.len(), 2);
        beside.add_checked(3, spans(&[(0, 64, true)]), &[]);
        assert_eq!(beside.kept.len(), 1);
        assert!(!beside.allows(&meets, 1, &[3]));
    }

    #[test]
    fn what_is_not_kept_any_more_leaves_nothing_bare_until_it_is_over() {
        let mut beside = Beside::new();
        let mut order = Order::new();
        let (a, b) = (order.create(false), order.create(false));
        for launch in 1..=MOST_KEPT as u64 + 1 {
            let ordered = order.launch(a, launch);
            beside.settle(&order);
            beside.add_checked(
                launch,
                spans(&[(launch as usize * 8, launch as usize * 8 + 4, true)]),
                &ordered.unordered,
            );
        }
        let nothing = spans(&[]);
        assert!(!beside.allows(&nothing, 1, &[]));
        // A launch on another stream settles nothing, waiting does.
        order.launch(b, 300);
        beside.settle(&order);
        assert!(!beside.allows(&nothing, 1, &[]));
        order.host_waits_for_all();
        order.launch(DEFAULT, 301);
        beside.settle(&order);
        assert!(beside.allows(&nothing, 1, &[]) && beside.kept.is_empty());
    }
}
