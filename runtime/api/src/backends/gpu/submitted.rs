//! The submitted operations that others may overlap. The GPU finds conflicts between two
//! operations. This module knows which of them are transfers, and whether a third operation may
//! have ordered them.

use std::collections::BTreeMap;

use gpurace_check::{RaceRecord, RaceScope, Side, SideOp};

use crate::backend::memory::SubmittedTransfer;
use crate::session::transfer_sites;

/// Most entries that are kept: operations, and elements of their lists.
const MOST_KEPT: usize = 1 << 18;

/// A launch or a transfer.
#[derive(Default)]
struct Operation {
    /// Earlier operations that are not ordered before it, ascending.
    unordered: Vec<u64>,
    /// Its threads may acquire the order of other operations.
    learns: bool,
    /// The transfer, if it is one.
    transfer: Option<SubmittedTransfer>,
}

impl Operation {
    fn entries(&self) -> usize {
        1 + self.unordered.len()
    }
}

/// The operations by number.
#[derive(Default)]
pub struct SubmittedOperations {
    operations: BTreeMap<u64, Operation>,
    /// Sum of [`Operation::entries`].
    entries: usize,
    /// The last operation that is not kept any more.
    forgotten: u64,
}

/// The fate of a conflict that the device has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictFate {
    /// It is a race.
    Race,
    /// The checker of this process finds it too.
    FoundHere,
    /// Its order is not known well enough.
    Undecided,
}

impl SubmittedOperations {
    /// Adds a launch. `learns`: it has fences, or atomics that acquire.
    pub fn add_launch(&mut self, number: u64, unordered: &[u64], learns: bool) {
        if learns || !unordered.is_empty() {
            self.add(number, Operation { unordered: unordered.to_vec(), learns, transfer: None });
        }
    }

    /// Adds a transfer.
    pub fn add_transfer(&mut self, transfer: SubmittedTransfer) {
        let unordered = transfer.unordered.clone();
        self.add(transfer.number, Operation { unordered, learns: false, transfer: Some(transfer) });
    }

    fn add(&mut self, number: u64, operation: Operation) {
        self.entries += operation.entries();
        self.operations.insert(number, operation);
        while self.entries > MOST_KEPT
            && let Some((oldest, gone)) = self.operations.pop_first()
        {
            self.entries -= gone.entries();
            self.forgotten = oldest;
        }
    }

    /// Completes a conflict that the device has found: fills in the sides that are transfers.
    pub fn complete(&self, record: &mut RaceRecord) -> ConflictFate {
        if record.scope != RaceScope::Device {
            return ConflictFate::Race;
        }
        let numbers = [record.earlier.launch, record.later.launch];
        let [earlier, later] =
            numbers.map(|number| self.operations.get(&number).and_then(|of| of.transfer.as_ref()));
        if earlier.is_some() && later.is_some() {
            return ConflictFate::FoundHere;
        }
        if numbers.iter().any(|&number| number <= self.forgotten)
            || self.may_have_ordered(numbers[0], numbers[1])
        {
            return ConflictFate::Undecided;
        }
        if let Some(transfer) = earlier {
            complete_side(&mut record.earlier, transfer, record.address);
        }
        if let Some(transfer) = later {
            complete_side(&mut record.later, transfer, record.address);
        }
        ConflictFate::Race
    }

    /// True if threads of a launch may be ordered through another operation that overlapped it.
    pub fn may_be_ordered(&self, number: u64) -> bool {
        let beside = self.operations.get(&number).map_or(&[][..], |of| &of.unordered);
        // A forgotten operation may have acquired order.
        beside.iter().any(|&by| by <= self.forgotten || self.operations.get(&by).is_some_and(|of| of.learns))
            || number <= self.forgotten
            || self
                .operations
                .range(number + 1..)
                .any(|(_, of)| of.learns && of.unordered.binary_search(&number).is_ok())
    }

    /// True if a third operation may order `earlier` before `later`: a launch that overlapped the
    /// first, may have acquired its order, and is ordered before the second.
    fn may_have_ordered(&self, earlier: u64, later: u64) -> bool {
        let is_unordered = |a: u64, b: u64| {
            let (first, second) = (a.min(b), a.max(b));
            self.operations.get(&second).is_some_and(|of| of.unordered.binary_search(&first).is_ok())
        };
        // A forgotten operation may have acquired order.
        let beside_earlier = self.operations.get(&earlier).map_or(&[][..], |of| &of.unordered);
        let mut forgotten = beside_earlier.iter().take_while(|&&by| by <= self.forgotten);
        forgotten.any(|&by| !is_unordered(by, later))
            || self.operations.range(..later).any(|(&by, of)| {
                of.learns && !is_unordered(by, later) && by != earlier && is_unordered(by, earlier)
            })
    }
}

/// Fills in a side of a race that is this transfer, which touched the word at `address`.
fn complete_side(side: &mut Side, transfer: &SubmittedTransfer, address: usize) {
    let writes = side.op == SideOp::Write;
    let Some(part) = transfer.sides.iter().find(|part| part.writes == writes) else { return };
    side.site = transfer_sites::FIRST + part.site;
    side.stream = transfer.stream.0;
    (side.block, side.thread) = (None, None);
    // The report shows address and size of the later side: its row.
    if side.address.is_some() {
        let word = address & !3..(address & !3) + 4;
        let row = part.touched().find(|row| row.bytes.start < word.end && word.start < row.bytes.end);
        side.address = row.as_ref().map(|row| row.bytes.start);
        side.size = row.and_then(|row| row.bytes.len().try_into().ok());
    }
}

#[cfg(test)]
mod tests {
    use gpurace_check::{KernelKey, Space};

    use super::*;
    use crate::backend::memory::{TransferRows, TransferSide};
    use crate::order::StreamId;

    fn record(earlier: (u64, SideOp), later: (u64, SideOp), address: usize) -> RaceRecord {
        let side = |(launch, op)| Side {
            op,
            site: 1,
            size: Some(4),
            address: Some(address),
            launch,
            stream: 0,
            block: Some(3),
            thread: Some(4),
            scope: None,
        };
        RaceRecord {
            kernel: KernelKey::NONE,
            launch: later.0,
            earlier: Side { address: None, size: None, ..side(earlier) },
            later: side(later),
            address,
            space: Space::Global,
            shared_base: 0,
            scope: RaceScope::Device,
            same_value: None,
            count: 1,
        }
    }

    fn fate(submitted: &SubmittedOperations, earlier: u64, later: u64) -> ConflictFate {
        submitted.complete(&mut record((earlier, SideOp::Write), (later, SideOp::Read), 0))
    }

    #[test]
    fn what_a_launch_between_has_learnt_is_not_decided() {
        use ConflictFate::{Race, Undecided};
        // 1 writes. 2 may overlap 1. 3 is ordered after 2 and may overlap 1.
        for (learns, beside_one, behind, wanted) in [
            (true, true, true, Undecided),
            (false, true, true, Race),
            // 2 is ordered after 1 and acquires nothing from it.
            (true, false, true, Race),
            // 3 may overlap 2, too.
            (true, true, false, Race),
        ] {
            let mut submitted = SubmittedOperations::default();
            submitted.add_launch(1, &[], false);
            submitted.add_launch(2, if beside_one { &[1] } else { &[] }, learns);
            submitted.add_launch(3, if behind { &[1] } else { &[1, 2] }, false);
            assert_eq!(
                fate(&submitted, 1, 3),
                wanted,
                "learns {learns}, beside {beside_one}, behind {behind}"
            );
        }
        // 3 was submitted later and ran earlier. 1 acquires its order, and 2 is ordered after 1.
        let mut submitted = SubmittedOperations::default();
        submitted.add_launch(1, &[], true);
        submitted.add_launch(3, &[1, 2], false);
        assert_eq!(fate(&submitted, 3, 2), Undecided);
        assert_eq!(fate(&submitted, 3, 1), Race, "what itself has acquired the device knows");
    }

    #[test]
    fn a_launch_beside_may_have_ordered_threads() {
        for (learns, beside, wanted) in [(true, true, true), (false, true, false), (true, false, false)] {
            let mut submitted = SubmittedOperations::default();
            submitted.add_launch(1, &[], learns);
            submitted.add_launch(2, if beside { &[1] } else { &[] }, true);
            submitted.add_launch(3, &[], true);
            assert_eq!(submitted.may_be_ordered(2), wanted, "learns {learns}, beside {beside}");
            // The other way round: the launch began earlier.
            let mut submitted = SubmittedOperations::default();
            submitted.add_launch(1, &[], true);
            submitted.add_launch(2, if beside { &[1] } else { &[] }, learns);
            assert_eq!(submitted.may_be_ordered(1), wanted, "learns {learns}, beside {beside}");
        }
        let mut submitted = SubmittedOperations { forgotten: 5, ..SubmittedOperations::default() };
        submitted.add_launch(6, &[5], true);
        submitted.add_launch(7, &[6], false);
        assert!(submitted.may_be_ordered(6) && submitted.may_be_ordered(7) && submitted.may_be_ordered(4));
        assert!(!submitted.may_be_ordered(8));
    }

    #[test]
    fn sides_that_are_copies_are_filled_in() {
        let rows = |start| TransferRows { start, width: 10, rows: (3, 16), slices: (1, 0) };
        let sides = vec![
            TransferSide { rows: rows(1000), writes: false, site: 4 },
            TransferSide { rows: rows(2000), writes: true, site: 5 },
        ];
        let mut submitted = SubmittedOperations::default();
        submitted.add_transfer(SubmittedTransfer {
            number: 8,
            stream: StreamId(2),
            unordered: vec![7],
            sides: sides.clone(),
        });
        submitted.add_transfer(SubmittedTransfer {
            number: 9,
            stream: StreamId(3),
            unordered: vec![8],
            sides,
        });

        // The transfer is the later side: the report shows its row.
        let mut race = record((7, SideOp::Read), (8, SideOp::Write), 2020);
        assert_eq!(submitted.complete(&mut race), ConflictFate::Race);
        assert!(transfer_sites::is_one(&race.later) && !transfer_sites::is_one(&race.earlier));
        assert_eq!((race.later.site, race.later.stream), (transfer_sites::FIRST + 5, 2));
        assert_eq!((race.later.address, race.later.size), (Some(2016), Some(10)));
        assert_eq!((race.later.block, race.later.thread), (None, None));
        assert_eq!((race.earlier.block, race.earlier.thread), (Some(3), Some(4)));

        let mut race = record((8, SideOp::Read), (10, SideOp::Write), 1004);
        assert_eq!(submitted.complete(&mut race), ConflictFate::Race);
        assert_eq!((race.earlier.site, race.earlier.address), (transfer_sites::FIRST + 4, None));
        assert_eq!(race.later.site, 1);

        assert_eq!(fate(&submitted, 8, 9), ConflictFate::FoundHere);
        let of_a_block =
            RaceRecord { scope: RaceScope::Grid, ..record((8, SideOp::Read), (8, SideOp::Write), 0) };
        assert_eq!(submitted.complete(&mut of_a_block.clone()), ConflictFate::Race);
    }

    #[test]
    fn what_is_forgotten_is_not_decided() {
        let mut submitted = SubmittedOperations::default();
        for number in 1..=MOST_KEPT as u64 + 2 {
            submitted.add_launch(number, &[], true);
        }
        assert_eq!(fate(&submitted, 2, MOST_KEPT as u64), ConflictFate::Undecided);
        submitted.add_launch(1 << 20, &[1 << 19], false);
        assert_eq!(fate(&submitted, 1 << 19, (1 << 20) + 1), ConflictFate::Race);
        // 1 is forgotten: it may have acquired the order of an operation that it overlapped.
        submitted.add_launch((1 << 20) + 2, &[1], false);
        assert_eq!(fate(&submitted, (1 << 20) + 2, (1 << 20) + 3), ConflictFate::Undecided);
        submitted.add_launch((1 << 20) + 4, &[1, (1 << 20) + 2], false);
        assert_eq!(fate(&submitted, (1 << 20) + 2, (1 << 20) + 4), ConflictFate::Race, "both ran beside it");
    }

    #[test]
    fn long_lists_are_not_kept_for_ever() {
        let mut submitted = SubmittedOperations::default();
        let list: Vec<u64> = (0..1 << 12).collect();
        for number in 0..1 << 10 {
            submitted.add_launch((1 << 12) + number, &list, false);
        }
        assert!(submitted.entries <= MOST_KEPT && submitted.operations.len() > 50);
        assert_eq!(submitted.entries, submitted.operations.values().map(Operation::entries).sum::<usize>());
    }
}
