//! Tests which races are one entry, which entries are one finding, and what happens to too many.

use super::{access, add, race};
use crate::cause::{self, Cause};
use crate::collect::{Added, Collector};
use crate::hint::SideFacts;
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
    assert_eq!(add(&mut collector, read_then_write()), Added::First);
    assert_eq!(add(&mut collector, other_way), Added::Again);
    let report = report(&collector);
    assert_eq!(report.races.len(), 1);
    assert_eq!((report.races[0].kind, report.races[0].count), (RaceKind::ReadWrite, 6));
}

#[test]
fn threads_launches_and_objects_make_no_second_entry() {
    let mut collector = Collector::new(100, false);
    add(&mut collector, read_then_write());
    let mut again = read_then_write();
    again.accesses[0].thread = Some([9, 9, 9]);
    again.accesses[1].block = None;
    again.launch = None;
    again.object = None;
    assert_eq!(add(&mut collector, again), Added::Again);
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
    add(&mut collector, read_then_write());
    for (at, change) in changes.iter().enumerate() {
        let mut other = read_then_write();
        change(&mut other);
        assert_ne!(add(&mut collector, other), Added::Again, "change {at}");
    }
    assert_eq!(report(&collector).races.len(), 6);
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
        element: None,
        allocated_at: None,
        parameter: None,
    });
    assert_eq!(add(&mut collector, first.clone()), Added::First);
    assert_eq!(add(&mut collector, first), Added::Again);
    assert_ne!(add(&mut collector, bare(write_write(7, None))), Added::Again);
    assert_ne!(add(&mut collector, other_object), Added::Again);
}

/// A race that no other one shares its kernel with.
fn of_kernel(kernel: &str, line: u32) -> Race {
    Race { kernel: Some(format!("{kernel}(int*)")), ..write_write(line, None) }
}

#[test]
fn races_beyond_the_bound_on_causes_join_the_finding_of_their_object() {
    let mut collector = Collector::new(100, false);
    let add = |collector: &mut Collector, line, interval: &str, is_traced| {
        let cause = cause::of(&at_line(read_then_write(), line), [SideFacts::default(); 2], None);
        let fingerprint = format!("{}{interval}", cause.fingerprint);
        collector.add_race(at_line(read_then_write(), line), &Cause { fingerprint, is_traced, ..cause })
    };
    assert_eq!(add(&mut collector, 1, "interval 1", true), Added::First);
    assert_eq!(add(&mut collector, 2, "interval 2", true), Added::First);
    assert_eq!(add(&mut collector, 3, "", false), Added::Joined);
    // Another object has another mistake.
    let mut other = at_line(read_then_write(), 4);
    other.object = None;
    let cause = cause::of(&other, [SideFacts::default(); 2], None);
    assert_eq!(collector.add_race(other, &Cause { is_traced: false, ..cause }), Added::First);
    let pairs: Vec<_> = report(&collector).findings.iter().map(|finding| finding.pairs).collect();
    assert_eq!(pairs, [2, 1, 1]);
}

/// The same race within a block, and with its later access at another line.
fn at_line(mut race: Race, line: u32) -> Race {
    race.scope = Scope::Block;
    race.accesses[0].line = Some(line);
    race
}

#[test]
fn a_limit_bounds_what_is_printed_and_nothing_else() {
    let mut collector = Collector::new(2, false);
    let races = [of_kernel("a", 1), of_kernel("b", 1), of_kernel("b", 2), of_kernel("a", 1)];
    let added: Vec<_> = races.into_iter().map(|race| add(&mut collector, race)).collect();
    use Added::{Again, First, Joined, NotPrinted};
    assert_eq!(added, [First, First, Joined, Again]);
    // Another mistake in a kernel that has one printed.
    let mut other = of_kernel("a", 5);
    other.object.as_mut().unwrap().kind = ObjectKind::Heap;
    assert_eq!(add(&mut collector, other), NotPrinted);
    // The first one of its kernel.
    assert_eq!(add(&mut collector, of_kernel("c", 1)), First);
    let report = report(&collector);
    assert_eq!((report.races.len(), report.findings.len()), (5, 4));
    assert_eq!(report.findings[1].races, [1, 2]);
    assert_eq!((report.findings[0].pairs, report.findings[0].count), (1, 2));
    let ids: Vec<_> = report.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["F1", "F2", "F3", "F4"]);
}

#[test]
fn instances_of_a_template_make_one_finding() {
    let mut collector = Collector::new(100, false);
    let of = |name: &str| Race { kernel: Some(name.to_owned()), ..read_then_write() };
    assert_eq!(add(&mut collector, of("void scale<float>(float*)")), Added::First);
    assert_eq!(add(&mut collector, of("void scale<int>(int*)")), Added::Joined);
    assert_eq!(add(&mut collector, of("void scaled<int>(int*)")), Added::First);
    assert_eq!(report(&collector).findings[0].kernel.as_deref(), Some("scale"));
}

#[test]
fn a_stored_report_has_the_same_findings() {
    let mut collector = Collector::new(100, false);
    for race in [of_kernel("a", 1), of_kernel("b", 1), of_kernel("b", 2)] {
        add(&mut collector, race);
    }
    let mut report = report(&collector);
    report.findings[1].fix.advice = Some("wait".to_owned());
    assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
    // A report of an older version has races alone.
    let old = Report { findings: Vec::new(), ..report.clone() };
    let read = Report::from_json(&old.to_json()).unwrap();
    assert_eq!(read.findings.len(), 2);
    // An index that no race has is ignored.
    report.findings[0].races = vec![7];
    assert_eq!(Report::from_json(&report.to_json()).unwrap().findings[0].races, [0]);
}

#[test]
fn a_fault_is_a_finding() {
    let fault = Fault {
        kind: FaultKind::IllegalAddress,
        message: "illegal write of address 0x1000 in kernel `k()`".to_owned(),
        file: Some("k.cu".to_owned()),
        line: Some(3),
        column: None,
        kernel: "k()".to_owned(),
        launch: 1,
        block: Some([0; 3]),
        thread: None,
        object: None,
        distance: None,
        seed: None,
    };
    let mut collector = Collector::new(100, false);
    assert_eq!(collector.add_fault(fault.clone()), Added::First);
    assert_eq!(collector.add_fault(fault), Added::Again);
    let report = report(&collector);
    assert!(report.has_findings());
    assert_eq!(report.findings[0].cause, CauseKind::Fault);
    assert_eq!(report.findings[0].title, "k.cu:3: fault: illegal write of address 0x1000 in kernel `k()`");
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
            add(&mut collector, write_write(1, pair));
        }
        assert_eq!(report(&collector).races[0].same_value, same, "{pairs:?}");
    }
}

#[test]
fn equal_writes_are_left_out_on_request_only() {
    let mut collector = Collector::new(100, true);
    assert_eq!(add(&mut collector, write_write(1, Some(true))), Added::Ignored);
    assert!(!report(&collector).has_findings());
    assert_eq!(add(&mut collector, write_write(1, Some(false))), Added::First);
    assert_eq!(add(&mut collector, write_write(2, None)), Added::Joined);
    assert_eq!(add(&mut Collector::new(100, false), write_write(1, Some(true))), Added::First);
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
        kind: DivergenceKind::Barrier,
        seed: None,
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
