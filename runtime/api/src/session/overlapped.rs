//! Operations that others may overlap: which memory each may touch, and which ran without checks.
//!
//! A launch without checks leaves no records. Its footprint is kept here until all operations to
//! come are ordered after it. If a later operation may overlap the launch and conflicts with its
//! footprint, the launch's accesses are repeated for the checker first, from its protocol
//! ([`gpurace_protocol::repeat`]), and the later operation is checked. So the checker finds what it
//! would have found if both had been checked.
//!
//! A launch that may overlap others runs without checks only if its protocol says exactly what it
//! does to global memory, its threads synchronise by barriers of the block and of whole warps
//! alone, no thread uses what an atomic has read, and nothing before it conflicts with its footprint.
//! Only the places of reads of constant memory may be open: a repetition leaves these out, and a note
//! says so. Once a kernel's launch had to be repeated, the kernel's later launches that others may
//! overlap are checked.
//!
//! Until the host waits for a launch, it may access managed memory beside it. Such a launch is kept until then, and
//! repeated if the host has accessed its footprint ([`crate::session::watch`]).
//!
//! The records of a region must be made in the order of the launches. So before an operation leaves
//! records, the earlier launches that touched the same regions are repeated
//! ([`OverlappedOperations::take_needed_before`]).

use std::ops::Range;

use gpurace_abi::scope::{AtomicKind, Order as MemoryOrder};
use gpurace_check::{Block, Checker, LaunchInfo, LaunchStats};
use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::protocol::Op;
use gpurace_protocol::repeat::{Event, Inexact};
use gpurace_protocol::run::Touch;
use gpurace_protocol::touched::Manner;

use crate::backend::module::Kernel;
use crate::order::Order;
use crate::prove::reach::{Footprint, Repeatable, Span};

/// Most operations that are kept. Launches beyond that are checked.
const MOST_KEPT: usize = 256;
/// Most accesses of all bare launches that are kept. To repeat them takes about a minute, and
/// happens at most once for a kernel.
const MOST_REPEATED: u64 = 1 << 27;
/// Most spans of a footprint. A transfer with more gets their hull.
const MOST_SPANS: usize = 32;

/// A launch that ran without checks.
pub struct BareLaunch {
    /// Its kernel.
    pub kernel: &'static Kernel,
    /// Its description for the checker.
    pub info: LaunchInfo,
    /// Earlier operations that are not ordered before it.
    pub unordered: Vec<u64>,
    /// Its accesses.
    pub what: Repeatable,
    /// The host may access the same memory until it waits for the launch.
    pub met_by_host: bool,
    /// Memory that was freed or allocated since.
    pub forgotten: Vec<Range<usize>>,
}

/// An operation that a later one may overlap.
struct OverlappedOperation {
    operation: u64,
    footprint: Footprint,
    bare: Option<BareLaunch>,
}

impl OverlappedOperation {
    /// True if it is one of these, which are in the order of their submission.
    fn is_in(&self, operations: &[u64]) -> bool {
        operations.binary_search(&self.operation).is_ok()
    }
}

/// The operations that later ones may overlap, in the order of their submission.
#[derive(Default)]
pub struct OverlappedOperations {
    kept: Vec<OverlappedOperation>,
    /// The last operation that was not kept because there were too many. 0 for none.
    lost: u64,
}

impl OverlappedOperations {
    /// True if a bare launch is kept that was not repeated.
    pub fn holds_bare(&self) -> bool {
        self.kept.iter().any(|kept| kept.bare.is_some())
    }

    /// Removes the operations that all operations to come are ordered after. Bare launches that the host may meet stay
    /// until it has waited for them.
    pub fn settle(&mut self, order: &mut Order) {
        if self.kept.is_empty() && self.lost == 0 {
            return;
        }
        let met_by_host =
            |kept: &OverlappedOperation| kept.bare.as_ref().is_some_and(|bare| bare.met_by_host);
        let unwaited = if self.kept.iter().any(met_by_host) { order.unwaited() } else { Vec::new() };
        let unsettled: Vec<u64> = order.unsettled().collect();
        self.kept.retain(|kept| kept.is_in(&unsettled) || met_by_host(kept) && kept.is_in(&unwaited));
        if unsettled.first().is_none_or(|&first| first > self.lost) {
            self.lost = 0;
        }
    }

    /// True if a launch with this footprint and about this many accesses may run without checks: none of the
    /// operations in `unordered` conflicts with it, and with it not too much is kept. `equals` is true for a kept
    /// launch that it equals.
    pub fn allows(
        &self,
        footprint: &Footprint,
        accesses: u64,
        unordered: &[u64],
        equals: impl Fn(&BareLaunch) -> bool,
    ) -> bool {
        // It replaces an equal launch that is ordered before it ([`Self::add_bare`]).
        let costs = self.kept.iter().filter_map(|kept| {
            let bare = kept.bare.as_ref()?;
            (kept.is_in(unordered) || !equals(bare)).then_some(bare.what.cost)
        });
        self.lost == 0
            && self.kept.len() < MOST_KEPT
            && costs.fold(accesses, u64::saturating_add) <= MOST_REPEATED
            && !self.conflicts_with_one_of(unordered, footprint)
    }

    /// True if a memory access of one of the operations in `unordered` may conflict with this footprint.
    pub fn meets_one_of(&self, footprint: &Footprint, unordered: &[u64]) -> bool {
        self.conflicts_with_one_of(unordered, footprint) || self.lost > 0 && !unordered.is_empty()
    }

    /// True if one of these operations is kept and conflicts with this footprint.
    fn conflicts_with_one_of(&self, operations: &[u64], footprint: &Footprint) -> bool {
        self.kept.iter().any(|kept| kept.is_in(operations) && kept.footprint.conflicts(footprint))
    }

    /// Takes out the bare launches that must be repeated before an operation is checked, and returns them in their
    /// order. `records` is true for a launch, which leaves records. A transfer leaves none.
    pub fn take_needed_before(
        &mut self,
        footprint: &Footprint,
        unordered: &[u64],
        records: bool,
    ) -> Vec<BareLaunch> {
        let mut needed: Vec<usize> = Vec::new();
        for (at, kept) in self.kept.iter().enumerate().rev() {
            if kept.bare.is_none() {
                continue;
            }
            let conflicts = kept.is_in(unordered) && kept.footprint.conflicts(footprint);
            let meets = records && kept.footprint.meets(footprint);
            // Launches that touched the same regions as a needed one must come before it.
            let precedes = needed.iter().any(|&later| kept.footprint.meets(&self.kept[later].footprint));
            if conflicts || meets || precedes {
                needed.push(at);
            }
        }
        needed.into_iter().rev().filter_map(|at| self.kept[at].bare.take()).collect()
    }

    /// Adds an operation that is checked.
    pub fn add_checked(&mut self, operation: u64, footprint: Footprint, unordered: &[u64]) {
        // An operation replaces an earlier one with the same footprint that is ordered before it.
        self.kept.retain(|kept| {
            let alike = kept.bare.is_none() && kept.footprint == footprint;
            !alike || kept.is_in(unordered)
        });
        self.add(OverlappedOperation { operation, footprint, bare: None });
    }

    /// Adds a launch that runs without checks.
    pub fn add_bare(&mut self, footprint: Footprint, bare: BareLaunch) {
        // A launch replaces an earlier equal one that is ordered before it: an operation that races
        // with the earlier launch races with this one too.
        self.kept.retain(|kept| {
            let alike = kept.bare.as_ref().is_some_and(|old| old.equals(bare.kernel, &bare.what.launch));
            !alike || kept.is_in(&bare.unordered)
        });
        self.add(OverlappedOperation { operation: bare.info.id, footprint, bare: Some(bare) });
    }

    fn add(&mut self, kept: OverlappedOperation) {
        if self.kept.len() < MOST_KEPT {
            self.kept.push(kept);
        } else {
            self.lost = kept.operation;
        }
    }

    /// Forgets earlier accesses to memory that was freed or allocated.
    pub fn forget(&mut self, bytes: &Range<usize>) {
        for kept in &mut self.kept {
            if let Some(bare) = kept.bare.as_mut().filter(|_| kept.footprint.touches(bytes)) {
                bare.forgotten.push(bytes.clone());
            }
            kept.footprint.forget(bytes);
        }
        self.kept.retain(|kept| !kept.footprint.is_empty());
    }
}

impl BareLaunch {
    /// True if it is a launch of this kernel with this shape and these arguments.
    pub fn equals(&self, kernel: &Kernel, launch: &ProverLaunch) -> bool {
        std::ptr::eq(self.kernel, kernel) && *self.what.launch == *launch
    }

    /// Repeats the launch's accesses for the checker.
    ///
    /// # Errors
    /// If the protocol leaves some of them open: then some are missing.
    pub fn repeat(&self, checker: &Checker) -> Result<LaunchStats, Inexact> {
        let Repeatable { repeat, launch, .. } = &self.what;
        self.kernel.module.tell_covered(checker);
        let mut covered: Vec<u32> =
            self.kernel.module.meta.covered.iter().map(|covered| covered.site).collect();
        covered.sort_unstable();
        let told = checker.begin_launch(self.info, &self.unordered);
        let [nx, ny, nz] = launch.shape.grid;
        let blocks = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])));
        let mut result = Ok(());
        for (index, ctaid) in (0..).zip(blocks) {
            let mut block = Block::begin(&told, index, 0..0);
            result = repeat.block(launch, ctaid, |event| match event {
                Event::Touch(thread, touch) => {
                    // The check of another access covers it.
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

    /// Makes one access of a repeated launch, unless its memory was freed or allocated since.
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
            (Op::Atomic { scope, writes }, Ok(size)) => {
                let kind = if writes { AtomicKind::Rmw } else { AtomicKind::Load };
                block.atomic(thread, address, size, site, kind, scope, MemoryOrder::Relaxed);
                block.atomic_done(thread, address, size, site, kind, scope, MemoryOrder::Relaxed);
            }
            // A protocol with such accesses cannot be repeated.
            (Op::Atomic { .. } | Op::Volatile { .. } | Op::Copy { .. } | Op::Between { .. }, _) => {}
        }
    }
}

/// The footprint of a transfer. Many rows become one span from the first to the last.
pub fn of_transfer(spans: Vec<Span>) -> Footprint {
    if spans.len() <= MOST_SPANS {
        return Footprint(Some(spans));
    }
    let hull = |manner| {
        let alike = || spans.iter().filter(move |span| span.manner == manner);
        let start = alike().map(|span| span.bytes.start).min()?;
        let end = alike().map(|span| span.bytes.end).max()?;
        Some(Span { bytes: start..end, manner })
    };
    Footprint(Some([Manner::Reads, Manner::Writes].into_iter().filter_map(hull).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::DEFAULT;

    fn spans(of: &[(usize, usize, bool)]) -> Footprint {
        Footprint(Some(
            of.iter()
                .map(|&(start, end, writes)| Span { bytes: start..end, manner: Manner::of(writes) })
                .collect(),
        ))
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
        // Neighbours may share a record. So may readers.
        assert!(read.meets(&spans(&[(110, 120, false)])));
        assert!(!read.meets(&spans(&[(1024, 1028, true)])));
    }

    #[test]
    fn many_rows_become_one_span() {
        let rows = |n: usize| (0..n).flat_map(|i| [(i * 10, i * 10 + 5, true), (1000 + i, 1001 + i, false)]);
        let footprint = |n| {
            of_transfer(
                rows(n)
                    .map(|(start, end, writes)| Span { bytes: start..end, manner: Manner::of(writes) })
                    .collect(),
            )
        };
        assert!(!footprint(3).conflicts(&spans(&[(6, 9, false)])));
        assert_eq!(footprint(60), spans(&[(1000, 1060, false), (0, 595, true)]));
    }

    #[test]
    fn a_launch_may_run_bare_until_something_that_it_meets_was_checked_beside_it() {
        let mut beside = OverlappedOperations::default();
        beside.add_checked(1, spans(&[(0, 64, true)]), &[]);
        let (meets, apart) = (spans(&[(32, 36, false)]), spans(&[(64, 128, true)]));
        assert!(!beside.allows(&meets, 1, &[1], |_| false));
        assert!(beside.allows(&meets, 1, &[], |_| false), "the launch is ordered after it");
        assert!(beside.allows(&apart, 1, &[1], |_| false));
        assert!(
            !beside.allows(&apart, MOST_REPEATED + 1, &[1], |_| false),
            "a repetition would take too long"
        );
        // An equal launch replaces one that is ordered before it, but not one that it may overlap.
        beside.add_checked(2, spans(&[(0, 64, true)]), &[1]);
        assert_eq!(beside.kept.len(), 2);
        beside.add_checked(3, spans(&[(0, 64, true)]), &[]);
        assert_eq!(beside.kept.len(), 1);
        assert!(!beside.allows(&meets, 1, &[3], |_| false));
    }

    #[test]
    fn what_was_done_to_freed_memory_is_met_no_more() {
        let mut beside = OverlappedOperations::default();
        beside.add_checked(1, spans(&[(0, 64, true)]), &[]);
        beside.add_checked(2, spans(&[(0, 64, true), (128, 192, false)]), &[1]);
        beside.add_checked(3, Footprint::ANYTHING, &[1, 2]);
        beside.forget(&(0..64));
        assert_eq!(beside.kept.len(), 2);
        let (freed, other) = (spans(&[(0, 64, true)]), spans(&[(130, 131, true)]));
        assert!(beside.allows(&freed, 1, &[1, 2], |_| false) && !beside.meets_one_of(&freed, &[1, 2]));
        assert!(!beside.allows(&other, 1, &[1, 2], |_| false) && beside.meets_one_of(&other, &[1, 2]));
        // Freed in part.
        beside.forget(&(128..160));
        assert!(beside.meets_one_of(&spans(&[(180, 181, true)]), &[2]));
        assert!(beside.meets_one_of(&freed, &[3]) && !beside.meets_one_of(&freed, &[]));
    }

    #[test]
    fn no_launch_is_bare_while_an_operation_was_not_kept() {
        let mut beside = OverlappedOperations::default();
        let mut order = Order::default();
        let (a, b) = (order.create(false), order.create(false));
        for launch in 1..=MOST_KEPT as u64 + 1 {
            let ordered = order.launch(a, launch);
            beside.settle(&mut order);
            beside.add_checked(
                launch,
                spans(&[(launch as usize * 8, launch as usize * 8 + 4, true)]),
                &ordered.unordered,
            );
        }
        let nothing = spans(&[]);
        assert!(!beside.allows(&nothing, 1, &[], |_| false));
        // A launch on another stream settles nothing. Waiting does.
        order.launch(b, 300);
        beside.settle(&mut order);
        assert!(!beside.allows(&nothing, 1, &[], |_| false));
        order.host_waits_for_all();
        order.launch(DEFAULT, 301);
        beside.settle(&mut order);
        assert!(beside.allows(&nothing, 1, &[], |_| false) && beside.kept.is_empty());
    }
}
