//! What was submitted that something may overlap, for what races between two operations are to say.

use std::collections::BTreeMap;

use gpurace_check::{RaceRecord, RaceScope, Side, SideOp};

use crate::backend::Copied;
use crate::transfer;

/// Operations that are kept, each with its list of others: entries of all together.
const MOST_KEPT: usize = 1 << 18;

/// A launch or copy.
#[derive(Default)]
struct Operation {
    /// Earlier ones that nothing orders before it, ascending.
    unordered: Vec<u64>,
    /// Its threads may learn what others did.
    learns: bool,
    /// It is a copy.
    copied: Option<Copied>,
}

impl Operation {
    fn entries(&self) -> usize {
        1 + self.unordered.len()
    }
}

/// Operations by number.
#[derive(Default)]
pub struct Submitted {
    operations: BTreeMap<u64, Operation>,
    /// [`Operation::entries`] of all.
    entries: usize,
    /// Up to this number some are not kept any more.
    forgotten: u64,
}

/// What becomes of a race that the device has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is one.
    Race,
    /// The checker of this process finds it.
    FoundHere,
    /// What is known of the order does not say whether it is one.
    Undecided,
}

impl Submitted {
    /// A launch gets its place. `learns`: it has fences, or atomics that acquire.
    pub fn add_launch(&mut self, number: u64, unordered: &[u64], learns: bool) {
        if learns || !unordered.is_empty() {
            self.add(number, Operation { unordered: unordered.to_vec(), learns, copied: None });
        }
    }

    /// A copy gets its place.
    pub fn add_copy(&mut self, copied: Copied) {
        let unordered = copied.unordered.clone();
        self.add(copied.number, Operation { unordered, learns: false, copied: Some(copied) });
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

    /// Adds to a race that the device found what it does not know of copies.
    pub fn complete(&self, record: &mut RaceRecord) -> Fate {
        if record.scope != RaceScope::Device {
            return Fate::Race;
        }
        let numbers = [record.earlier.launch, record.later.launch];
        let [earlier, later] =
            numbers.map(|number| self.operations.get(&number).and_then(|of| of.copied.as_ref()));
        if earlier.is_some() && later.is_some() {
            return Fate::FoundHere;
        }
        if numbers.iter().any(|&number| number <= self.forgotten)
            || self.may_have_told(numbers[0], numbers[1])
        {
            return Fate::Undecided;
        }
        if let Some(copied) = earlier {
            complete_side(&mut record.earlier, copied, record.address);
        }
        if let Some(copied) = later {
            complete_side(&mut record.later, copied, record.address);
        }
        Fate::Race
    }

    /// Whether threads of a launch may have learnt of each other by another one that ran beside it.
    pub fn may_have_been_told(&self, number: u64) -> bool {
        let beside = self.operations.get(&number).map_or(&[][..], |of| &of.unordered);
        // Of what is forgotten it is not known whether it could learn.
        beside.iter().any(|&by| by <= self.forgotten || self.operations.get(&by).is_some_and(|of| of.learns))
            || number <= self.forgotten
            || self
                .operations
                .range(number + 1..)
                .any(|(_, of)| of.learns && of.unordered.binary_search(&number).is_ok())
    }

    /// Whether something that is before `later` may have learnt of `earlier`, which nothing else orders before it: a launch that ran beside the one and
    /// is before the other.
    fn may_have_told(&self, earlier: u64, later: u64) -> bool {
        let is_unordered = |a: u64, b: u64| {
            let (first, second) = (a.min(b), a.max(b));
            self.operations.get(&second).is_some_and(|of| of.unordered.binary_search(&first).is_ok())
        };
        // Of what is forgotten it is not known whether it could learn.
        let beside_earlier = self.operations.get(&earlier).map_or(&[][..], |of| &of.unordered);
        let mut forgotten = beside_earlier.iter().take_while(|&&by| by <= self.forgotten);
        forgotten.any(|&by| !is_unordered(by, later))
            || self.operations.range(..later).any(|(&by, of)| {
                of.learns && !is_unordered(by, later) && by != earlier && is_unordered(by, earlier)
            })
    }
}

/// A side of a race that is this copy, which touched the word at `address`.
fn complete_side(side: &mut Side, copied: &Copied, address: usize) {
    let writes = side.op == SideOp::Write;
    let Some(part) = copied.parts.iter().find(|part| part.writes == writes) else { return };
    side.site = transfer::SITE_BASE + part.site;
    side.stream = copied.stream.0;
    (side.block, side.thread) = (None, None);
    // Of the side that comes later a report says where it begins, and how long it is: a row.
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
    use crate::order::StreamId;
    use crate::transfer::{Part, Rows};

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

    fn fate(submitted: &Submitted, earlier: u64, later: u64) -> Fate {
        submitted.complete(&mut record((earlier, SideOp::Write), (later, SideOp::Read), 0))
    }

    #[test]
    fn what_a_launch_between_has_learnt_is_not_decided() {
        use Fate::{Race, Undecided};
        // 1 writes. 2 may run beside it; 3 is behind 2 and beside 1.
        for (learns, beside_one, behind, wanted) in [
            (true, true, true, Undecided),
            (false, true, true, Race),
            // 2 comes after 1, so that it has nothing to learn: then 3 is not beside 1 through it.
            (true, false, true, Race),
            // 3 may run beside 2, too.
            (true, true, false, Race),
        ] {
            let mut submitted = Submitted::default();
            submitted.add_launch(1, &[], false);
            submitted.add_launch(2, if beside_one { &[1] } else { &[] }, learns);
            submitted.add_launch(3, if behind { &[1] } else { &[1, 2] }, false);
            assert_eq!(
                fate(&submitted, 1, 3),
                wanted,
                "learns {learns}, beside {beside_one}, behind {behind}"
            );
        }
        // What was submitted later and ran before: 1 learns of 3, and 2 is behind 1.
        let mut submitted = Submitted::default();
        submitted.add_launch(1, &[], true);
        submitted.add_launch(3, &[1, 2], false);
        assert_eq!(fate(&submitted, 3, 2), Undecided);
        assert_eq!(fate(&submitted, 3, 1), Race, "what itself has acquired the device knows");
    }

    #[test]
    fn a_launch_beside_may_have_told_threads_of_each_other() {
        for (learns, beside, wanted) in [(true, true, true), (false, true, false), (true, false, false)] {
            let mut submitted = Submitted::default();
            submitted.add_launch(1, &[], learns);
            submitted.add_launch(2, if beside { &[1] } else { &[] }, true);
            submitted.add_launch(3, &[], true);
            assert_eq!(submitted.may_have_been_told(2), wanted, "learns {learns}, beside {beside}");
            // The other way round: it began earlier.
            let mut submitted = Submitted::default();
            submitted.add_launch(1, &[], true);
            submitted.add_launch(2, if beside { &[1] } else { &[] }, learns);
            assert_eq!(submitted.may_have_been_told(1), wanted, "learns {learns}, beside {beside}");
        }
        let mut submitted = Submitted { forgotten: 5, ..Submitted::default() };
        submitted.add_launch(6, &[5], true);
        submitted.add_launch(7, &[6], false);
        assert!(
            submitted.may_have_been_told(6)
                && submitted.may_have_been_told(7)
                && submitted.may_have_been_told(4)
        );
        assert!(!submitted.may_have_been_told(8));
    }

    #[test]
    fn sides_that_are_copies_are_told_as_such() {
        let rows = |start| Rows { start, width: 10, rows: (3, 16), slices: (1, 0) };
        let parts = vec![
            Part { rows: rows(1000), writes: false, site: 4 },
            Part { rows: rows(2000), writes: true, site: 5 },
        ];
        let mut submitted = Submitted::default();
        submitted.add_copy(Copied {
            number: 8,
            stream: StreamId(2),
            unordered: vec![7],
            parts: parts.clone(),
        });
        submitted.add_copy(Copied { number: 9, stream: StreamId(3), unordered: vec![8], parts });

        // It comes later: what is shown is its row.
        let mut race = record((7, SideOp::Read), (8, SideOp::Write), 2020);
        assert_eq!(submitted.complete(&mut race), Fate::Race);
        assert!(transfer::is_one(&race.later) && !transfer::is_one(&race.earlier));
        assert_eq!((race.later.site, race.later.stream), (transfer::SITE_BASE + 5, 2));
        assert_eq!((race.later.address, race.later.size), (Some(2016), Some(10)));
        assert_eq!((race.later.block, race.later.thread), (None, None));
        assert_eq!((race.earlier.block, race.earlier.thread), (Some(3), Some(4)));

        let mut race = record((8, SideOp::Read), (10, SideOp::Write), 1004);
        assert_eq!(submitted.complete(&mut race), Fate::Race);
        assert_eq!((race.earlier.site, race.earlier.address), (transfer::SITE_BASE + 4, None));
        assert_eq!(race.later.site, 1);

        assert_eq!(fate(&submitted, 8, 9), Fate::FoundHere);
        let of_a_block =
            RaceRecord { scope: RaceScope::Grid, ..record((8, SideOp::Read), (8, SideOp::Write), 0) };
        assert_eq!(submitted.complete(&mut of_a_block.clone()), Fate::Race);
    }

    #[test]
    fn what_is_forgotten_is_not_decided() {
        let mut submitted = Submitted::default();
        for number in 1..=MOST_KEPT as u64 + 2 {
            submitted.add_launch(number, &[], true);
        }
        assert_eq!(fate(&submitted, 2, MOST_KEPT as u64), Fate::Undecided);
        submitted.add_launch(1 << 20, &[1 << 19], false);
        assert_eq!(fate(&submitted, 1 << 19, (1 << 20) + 1), Fate::Race);
        // 1 is forgotten: it may have learnt of what ran beside it.
        submitted.add_launch((1 << 20) + 2, &[1], false);
        assert_eq!(fate(&submitted, (1 << 20) + 2, (1 << 20) + 3), Fate::Undecided);
        submitted.add_launch((1 << 20) + 4, &[1, (1 << 20) + 2], false);
        assert_eq!(fate(&submitted, (1 << 20) + 2, (1 << 20) + 4), Fate::Race, "both ran beside it");
    }

    #[test]
    fn long_lists_are_not_kept_for_ever() {
        let mut submitted = Submitted::default();
        let list: Vec<u64> = (0..1 << 12).collect();
        for number in 0..1 << 10 {
            submitted.add_launch((1 << 12) + number, &list, false);
        }
        assert!(submitted.entries <= MOST_KEPT && submitted.operations.len() > 50);
        assert_eq!(submitted.entries, submitted.operations.values().map(Operation::entries).sum::<usize>());
    }
}
