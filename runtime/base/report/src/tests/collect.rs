//! Tests which findings are one entry, and what happens to too many.

use super::{access, race};
use crate::collect::{Added, Collector};
use crate::schema::*;

fn read_then_write() -> Race {
    race(RaceKind::ReadWrite, Scope::Grid, access(Op::Write, 7, 11, 1, 0), access(Op::Read, 8, 3, 0, 0))
}

fn write_write(line: u32, same_value: Option<bool>) -> Race {
    Race {
        same_value,
        ..race(
            RaceKind::WriteWrite,
            Scope::Grid,
            access(Op::Write, line, 3, 1, 0),
            access(Op::Write, line, 3, 0, 0),
        )
    }
}

fn report(collector: &Collector) -> Report {
    collector.report(Device::Cpu, Stats::default())
}

#[test]
fn the_order_of_the_sides_makes_no_second_entry() {
    let mut collector = Collector::new(100, false);
    let mut other_way = read_then_write();
    other_way.accesses.swap(0, 1);
    other_way.kind = RaceKind::WriteRead;
    other_way.count = 5;
    assert_eq!(collector.add_race(read_then_write()), Added::First);
    assert_eq!(collector.add_race(other_way), Added::Again);
    let report = report(&collector);
    assert_eq!(report.races.len(), 1);
    assert_eq!((report.races[0].kind, report.races[0].count), (RaceKind::ReadWrite, 6));
}

#[test]
fn threads_launches_and_objects_make_no_second_entry() {
    let mut collector = Collector::new(100, false);
    collector.add_race(read_then_write());
    let mut again = read_then_write();
    again.accesses[0].thread = Some([9, 9, 9]);
    again.accesses[1].block = None;
    again.launch = None;
    again.object = None;
    assert_eq!(collector.add_race(again), Added::Again);
}

#[test]
fn kernel_and_each_position_make_their_own_entry() {
    let changes: [fn(&mut Race); 5] = [
        |race| race.kernel = Some("other()".to_owned()),
        |race| race.accesses[0].line = Some(70),
        |race| race.accesses[1].line = Some(70),
        |race| race.accesses[1].column = Some(70),
        |race| race.accesses[1].file = Some("other.cu".to_owned()),
    ];
    let mut collector = Collector::new(100, false);
    collector.add_race(read_then_write());
    for (at, change) in changes.iter().enumerate() {
        let mut other = read_then_write();
        change(&mut other);
        assert_eq!(collector.add_race(other), Added::First, "change {at}");
    }
    assert_eq!(collector.findings(), 6);
}

#[test]
fn without_positions_what_else_is_known_tells_entries_apart() {
    fn bare(mut race: Race) -> Race {
        for access in &mut race.accesses {
            (access.file, access.line, access.column) = (None, None, None);
        }
        race
    }
    let mut collector = Collector::new(100, false);
    let first = bare(read_then_write());
    let mut other_object = first.clone();
    other_object.object = Some(Object {
        kind: ObjectKind::Variable,
        name: Some("flag".to_owned()),
        size: Some(4),
        offset: Some(0),
        allocated: None,
    });
    assert_eq!(collector.add_race(first.clone()), Added::First);
    assert_eq!(collector.add_race(first), Added::Again);
    assert_eq!(collector.add_race(bare(write_write(7, None))), Added::First);
    assert_eq!(collector.add_race(other_object), Added::First);
}

#[test]
fn races_over_the_limit_are_counted_once_each() {
    let mut collector = Collector::new(2, false);
    let added: Vec<_> = [1, 2, 3, 3, 4, 1].map(|line| collector.add_race(write_write(line, None))).into();
    use Added::{Again, First, OverLimit};
    assert_eq!(added, [First, First, OverLimit, Again, OverLimit, Again]);
    let report = report(&collector);
    assert_eq!((report.races.len(), report.races_not_shown), (2, 2));
    assert_eq!(report.notes, ["2 distinct races not shown"]);
    assert_eq!(report.races[0].count, 2);
    assert_eq!(collector.findings(), 4);
}

#[test]
fn a_limit_of_zero_still_finds() {
    let mut collector = Collector::new(0, false);
    assert_eq!(collector.add_race(write_write(1, None)), Added::OverLimit);
    let report = report(&collector);
    assert!(report.has_findings());
    assert_eq!(report.notes, ["1 distinct race not shown"]);
}

#[test]
fn an_entry_stored_the_same_value_only_if_every_pair_did() {
    const T: Option<bool> = Some(true);
    const F: Option<bool> = Some(false);
    for (pairs, same) in [
        (vec![T, T], T),
        (vec![T, F, T], F),
        (vec![T, None], None),
        (vec![None, T], None),
        (vec![None, F], F),
        (vec![F, None], F),
    ] {
        let mut collector = Collector::new(100, false);
        for &pair in &pairs {
            collector.add_race(write_write(1, pair));
        }
        assert_eq!(report(&collector).races[0].same_value, same, "{pairs:?}");
    }
}

#[test]
fn equal_writes_are_left_out_on_request_only() {
    let mut collector = Collector::new(100, true);
    assert_eq!(collector.add_race(write_write(1, Some(true))), Added::Ignored);
    assert!(!report(&collector).has_findings());
    assert_eq!(collector.add_race(write_write(1, Some(false))), Added::First);
    assert_eq!(collector.add_race(write_write(2, None)), Added::First);
    assert_eq!(Collector::new(100, false).add_race(write_write(1, Some(true))), Added::First);
}

#[test]
fn one_divergence_stands_for_all_blocks() {
    let waits = |block: u32, line: u32, threads: u32| Divergence {
        kernel: "k()".to_owned(),
        launch: 1,
        block: [block, 0, 0],
        waiting: vec![
            Waiting::at(Some("k.cu".to_owned()), Some(line), threads, [0; 3]),
            Waiting::exited(64 - threads, [1, 0, 0]),
        ],
    };
    let mut collector = Collector::new(100, false);
    assert_eq!(collector.add_divergence(waits(0, 9, 32)), Added::First);
    assert_eq!(collector.add_divergence(waits(1, 9, 16)), Added::Again);
    assert_eq!(collector.add_divergence(waits(0, 12, 32)), Added::First);
    let report = report(&collector);
    assert_eq!(report.divergence.len(), 2);
    assert!(report.has_findings());
    assert_eq!(
        report.notes,
        ["the barrier divergence of `k()` in block (0,0,0) was seen once more in other blocks or launches"]
    );
}

#[test]
fn a_note_is_kept_once() {
    let mut collector = Collector::new(100, false);
    collector.note("inline PTX `foo.bar` is not checked");
    collector.note("inline PTX `foo.bar` is not checked".to_owned());
    collector.note("another");
    assert_eq!(report(&collector).notes.len(), 2);
    assert!(!report(&collector).has_findings());
}
