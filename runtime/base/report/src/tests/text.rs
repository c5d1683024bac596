//! Compares the text of reports with reviewed snapshots.

use gpurace_abi::meta::Space;
use gpurace_abi::scope::Scope as AtomicScope;

use super::{OneFile, access, add, interface, race};
use crate::cause::Order;
use crate::collect::Collector;
use crate::hint::{SideFacts, hint};
use crate::schema::*;
use crate::sources::{DiskSources, NoSources, Sources};
use crate::text::TextRenderer;
use crate::words;

fn renderer() -> TextRenderer<'static> {
    TextRenderer { pid: Some(4242), color: false, sources: &OneFile }
}

/// Returns the text of a race, with its hint.
fn render(mut race: Race, facts: [SideFacts; 2]) -> String {
    race.hint = hint(&race, facts, Order::default());
    renderer().race(&race)
}

fn plain(race: Race) -> String {
    render(race, [SideFacts::default(); 2])
}

#[test]
fn the_example_of_the_interface() {
    insta::assert_snapshot!(renderer().report(&interface(), false));
}

#[test]
fn a_report_without_sources() {
    insta::assert_snapshot!(TextRenderer { sources: &NoSources, ..renderer() }.report(&interface(), false));
}

#[test]
fn colors() {
    let text = TextRenderer { color: true, ..renderer() }.report(&interface(), false);
    insta::assert_snapshot!(text.replace('\x1b', "ESC"));
    assert!(!renderer().report(&interface(), false).contains('\x1b'));
}

#[test]
fn an_update_by_several_blocks() {
    let mut race =
        race(RaceKind::WriteRead, Scope::Grid, access(Op::Read, 7, 11, 1, 0), access(Op::Write, 7, 11, 0, 0));
    race.count = 12;
    insta::assert_snapshot!(plain(race));
}

#[test]
fn equal_values_are_marked() {
    let mut race = race(
        RaceKind::WriteWrite,
        Scope::Block,
        access(Op::Write, 8, 8, 0, 32),
        access(Op::Write, 8, 8, 0, 0),
    );
    race.same_value = Some(true);
    race.object = Some(Object {
        kind: ObjectKind::Variable,
        name: Some("flag".to_owned()),
        size: Some(4),
        offset: Some(0),
        element: None,
        allocated_at: None,
        parameter: None,
    });
    insta::assert_snapshot!(plain(race.clone()));
    race.same_value = Some(false);
    assert!(!plain(race).contains("same value"));
}

#[test]
fn an_unknown_thread() {
    let mut race =
        race(RaceKind::ReadWrite, Scope::Grid, access(Op::Write, 8, 8, 3, 5), access(Op::Read, 7, 14, 0, 0));
    race.accesses[1].thread = None;
    let with_block = plain(race.clone());
    assert!(with_block.contains("Previous read of size 4 by an unknown thread of block (0,0,0):\n"));
    race.accesses[1].block = None;
    insta::assert_snapshot!(plain(race));
}

#[test]
fn atomics_of_too_narrow_a_scope() {
    let mut race = race(
        RaceKind::AtomicAtomic,
        Scope::Grid,
        access(Op::Atomic, 9, 3, 1, 0),
        access(Op::Atomic, 9, 3, 0, 0),
    );
    race.object = Some(Object {
        kind: ObjectKind::Variable,
        name: Some("counter".to_owned()),
        size: Some(4),
        offset: Some(0),
        element: None,
        allocated_at: None,
        parameter: None,
    });
    let block = SideFacts { atomic_scope: Some(AtomicScope::Block), ..SideFacts::default() };
    insta::assert_snapshot!(render(race, [block; 2]));
}

#[test]
fn a_plain_read_of_an_atomic() {
    let mut race = race(
        RaceKind::AtomicRead,
        Scope::Device,
        Access { launch: Some(2), stream: Some(7), ..access(Op::Read, 7, 14, 0, 0) },
        access(Op::Atomic, 9, 3, 2, 1),
    );
    race.launch = race.launch.map(|launch| Launch { index: 2, ..launch });
    insta::assert_snapshot!(plain(race));
}

#[test]
fn generic_memory_of_no_known_object() {
    let mut race = race(
        RaceKind::WriteWrite,
        Scope::Warp,
        access(Op::Write, 7, 11, 0, 1),
        access(Op::Write, 8, 8, 0, 0),
    );
    race.space = Space::Generic;
    race.object = None;
    race.launch = None;
    insta::assert_snapshot!(plain(race));
}

#[test]
fn a_copy() {
    let copy = Access { size: Some(4096), stream: Some(2), ..Access::new(Op::Copy) };
    insta::assert_snapshot!(plain(race(
        RaceKind::WriteRead,
        Scope::Device,
        access(Op::Read, 7, 14, 0, 0),
        copy
    )));
}

#[test]
fn calls_that_led_to_the_launch() {
    let mut race = race(
        RaceKind::WriteWrite,
        Scope::Block,
        access(Op::Write, 17, 5, 0, 1),
        access(Op::Write, 17, 5, 0, 0),
    );
    let call = |function: &str, line| Call {
        function: Some(function.to_owned()),
        file: "main.cu".to_owned(),
        line,
        column: None,
    };
    race.launch.as_mut().unwrap().stack = vec![call("step(int)", 31), call("main", 60)];
    let text = plain(race);
    let end = "at reduce.cu:31\n    #0 step(int) main.cu:31\n    #1 main main.cu:60\n";
    assert!(text.contains(end), "{text}");
}

#[test]
fn the_host() {
    let host = Access {
        op: Op::Host,
        line: Some(24),
        column: None,
        function: Some("main".to_owned()),
        launch: None,
        stream: None,
        block: None,
        thread: None,
        ..access(Op::Host, 24, 1, 0, 0)
    };
    insta::assert_snapshot!(plain(race(
        RaceKind::WriteRead,
        Scope::System,
        host,
        access(Op::Write, 8, 8, 0, 0),
    )));
}

#[test]
fn no_debug_info() {
    let mut race = race(
        RaceKind::WriteRead,
        Scope::Block,
        access(Op::Read, 18, 17, 0, 31),
        access(Op::Write, 17, 10, 0, 63),
    );
    for access in &mut race.accesses {
        (access.file, access.line, access.column) = (None, None, None);
    }
    race.accesses[1].function = None;
    race.launch = race.launch.map(|launch| Launch { file: None, line: None, ..launch });
    insta::assert_snapshot!(plain(race));
}

#[test]
fn a_tab_before_the_column_keeps_the_caret_in_place() {
    insta::assert_snapshot!(plain(race(
        RaceKind::WriteWrite,
        Scope::Block,
        access(Op::Write, 19, 10, 0, 31),
        access(Op::Write, 17, 2, 0, 63),
    )));
}

#[test]
fn two_files() {
    let mut race = race(
        RaceKind::WriteRead,
        Scope::Block,
        access(Op::Read, 18, 17, 0, 31),
        access(Op::Write, 17, 2, 0, 63),
    );
    race.accesses[1].file = Some("tile.cuh".to_owned());
    insta::assert_snapshot!(plain(race.clone()));
    race.accesses[1].column = None;
    let unknown_column = plain(race);
    assert!(unknown_column.contains("--> tile.cuh:17\n"), "{unknown_column}");
    assert!(unknown_column.contains("--> reduce.cu:18:17\n"), "{unknown_column}");
}

#[test]
fn many_races() {
    let mut collector = Collector::new(100, false);
    for line in [7, 8, 9, 10, 11] {
        add(
            &mut collector,
            race(
                RaceKind::WriteWrite,
                Scope::Block,
                access(Op::Write, line, 3, 0, 1),
                access(Op::Write, line, 3, 0, 0),
            ),
        );
    }
    let report = collector.report(Device::Cpu, Stats::default());
    insta::assert_snapshot!(TextRenderer { sources: &NoSources, ..renderer() }.report(&report, false));
}

#[test]
fn divergence_alone() {
    let mut collector = Collector::new(100, false);
    collector.add_divergence(Divergence {
        kernel: "reduce(float const*, float*)".to_owned(),
        launch: 2,
        block: [1, 0, 0],
        waiting: vec![
            Waiting::at(Some("reduce.cu".to_owned()), Some(17), 1, [0, 0, 0]),
            Waiting::at(Some("reduce.cu".to_owned()), Some(19), 30, [1, 0, 0]),
            Waiting::at(None, None, 2, [31, 0, 0]),
            Waiting::exited(1, [33, 0, 0]),
        ],
        kind: DivergenceKind::Barrier,
        seed: None,
    });
    let report = collector.report(Device::Cpu, Stats::default());
    insta::assert_snapshot!(renderer().report(&report, false));
}

#[test]
fn a_skipped_barrier_is_a_kind_of_its_own() {
    let mut collector = Collector::new(100, false);
    let at = |line| Waiting::at(Some("tail.cu".to_owned()), Some(line), 40, [0, 0, 0]);
    let divergence = |kind| Divergence {
        kernel: "tail(int*, int)".to_owned(),
        launch: 1,
        block: [0, 0, 0],
        waiting: vec![at(9), Waiting::exited(24, [40, 0, 0])],
        kind,
        seed: None,
    };
    collector.add_divergence(divergence(DivergenceKind::SkippedBarrier));
    let text = renderer().report(&collector.report(Device::Cpu, Stats::default()), false);
    assert!(text.contains("WARNING: gpurace: skipped barrier (pid="), "{text}");
    assert!(text.contains("move the barrier out of the condition"), "{text}");
    assert!(
        text.contains("F1: tail.cu:9: skipped barrier, in `tail(int*, int)`, 24 threads have left"),
        "{text}"
    );
    assert!(
        words::divergence_line(&divergence(DivergenceKind::Barrier))
            .starts_with("tail.cu:9: barrier divergence")
    );
}

#[test]
fn a_wrong_mask_is_no_barrier() {
    let text = |kind| {
        let mut collector = Collector::new(100, false);
        collector.add_divergence(Divergence {
            kernel: "sum(int*)".to_owned(),
            launch: 1,
            block: [0, 0, 0],
            waiting: vec![Waiting::at(Some("sum.cu".to_owned()), Some(9), 1, [16, 0, 0])],
            kind,
            seed: None,
        });
        renderer().report(&collector.report(Device::Cpu, Stats::default()), false)
    };
    let left_out = text(DivergenceKind::CallerNotInMask);
    assert!(left_out.contains("WARNING: gpurace: mask without its caller (pid="), "{left_out}");
    assert!(
        left_out.contains("    1 thread is not in its own mask at sum.cu:9: thread (16,0,0)"),
        "{left_out}"
    );
    assert!(left_out.contains("put the calling lane's own bit into the mask"), "{left_out}");
    let absent = text(DivergenceKind::AbsentLanes);
    assert!(absent.contains("F1: sum.cu:9: absent lanes, in `sum(int*)`"), "{absent}");
    assert!(absent.contains("name exactly the lanes that reach the call"), "{absent}");
    assert!(!absent.contains("put the barrier"), "{absent}");
}

#[test]
fn a_clean_run_says_nothing_but_its_notes() {
    let mut report = Report::new(Device::Cpu);
    assert_eq!(renderer().report(&report, false), "");
    report.notes.push("1 launch not checked: option `every=2`".to_owned());
    assert_eq!(renderer().report(&report, false), "note: 1 launch not checked: option `every=2`\n");
}

#[test]
fn the_summary_counts() {
    let one = interface().races[0].clone();
    for (lines, summary) in [
        (vec![18], "SUMMARY: gpurace: 1 data race\n"),
        (vec![18, 19], "SUMMARY: gpurace: 2 data races (1 finding)\n"),
        (vec![], ""),
    ] {
        let mut collector = Collector::new(100, false);
        for line in lines {
            let mut race = one.clone();
            race.accesses[0].line = Some(line);
            add(&mut collector, race);
        }
        let report = collector.report(Device::Cpu, Stats::default());
        assert_eq!(renderer().summary(&report), summary);
        assert!(renderer().report(&report, false).ends_with(summary));
    }
}

#[test]
fn statistics() {
    let with = renderer().report(&interface(), true);
    let without = renderer().report(&interface(), false);
    let stats = renderer().stats(&interface());
    assert_eq!(with.replace(&stats, ""), without);
    assert!(with.lines().last().unwrap().starts_with("SUMMARY: "));
    insta::assert_snapshot!(stats);
}

/// Positions beyond the source, as after an edit, only remove the snippet.
#[test]
fn stale_positions_do_no_harm() {
    for (line, column) in
        [(0, 0), (1, 0), (0, 1), (5, 1), (5, 80), (17, 1000), (9999, 1), (u32::MAX, u32::MAX)]
    {
        let text = plain(race(
            RaceKind::WriteWrite,
            Scope::Block,
            access(Op::Write, line, column, 0, 1),
            access(Op::Write, 17, 2, 0, 0),
        ));
        assert!(text.contains(&format!("reduce.cu:{line}:{column}\n")), "{text}");
        assert!(text.contains("tile[t] = v;"), "{text}");
    }
}

#[test]
fn files_are_found_in_the_directories_of_the_compiler() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = DiskSources::new([here.join("nowhere"), here.join("src")]);
    assert_eq!(sources.text("lib.rs").as_deref(), Some(include_str!("../lib.rs")));
    let absolute = here.join("src/lib.rs");
    assert!(sources.text(absolute.to_str().unwrap()).is_some());
    assert!(sources.text("missing.cu").is_none() && sources.text("missing.cu").is_none());
    // Directories and devices are not read.
    assert!(sources.text("tests").is_none() && sources.text("/dev/zero").is_none());
}

#[test]
fn what_orders_one_thread_is_not_what_orders_two() {
    let two = race(
        RaceKind::WriteRead,
        Scope::Warp,
        access(Op::Read, 18, 15, 0, 1),
        access(Op::Write, 17, 13, 0, 0),
    );
    assert!(words::missing_order(&two).contains("__syncwarp()"));
    // Program order does not cover asynchronous copies.
    let mut one = two.clone();
    one.accesses[1].thread = one.accesses[0].thread;
    assert!(words::missing_order(&one).contains("asynchronous copy"));
    // Two threads of different blocks, or two unknown threads, do not count as one.
    let mut other_block = one.clone();
    other_block.accesses[1].block = Some([1, 0, 0]);
    other_block.scope = Scope::Grid;
    assert!(words::missing_order(&other_block).contains("different blocks"));
    let mut unknown = one;
    for access in &mut unknown.accesses {
        access.thread = None;
    }
    assert!(words::missing_order(&unknown).contains("__syncwarp()"));
}

#[test]
fn inlined_calls_and_allocations_are_said_where_they_are_known() {
    let mut found = race(
        RaceKind::WriteRead,
        Scope::Grid,
        access(Op::Read, 18, 15, 0, 1),
        access(Op::Write, 17, 13, 1, 0),
    );
    let before = plain(found.clone());
    let call = |function: Option<&str>, line, column| Call {
        function: function.map(str::to_owned),
        file: "main.cu".to_owned(),
        line,
        column,
    };
    found.accesses[0].frames =
        vec![call(Some("scan"), 18, Some(15)), call(Some("outer"), 40, Some(7)), call(None, 50, None)];
    found.object.as_mut().unwrap().allocated_at = Some(Position { file: "main.cu".to_owned(), line: 60 });
    let after = plain(found);
    let new: Vec<&str> = after.lines().filter(|line| !before.lines().any(|old| old == *line)).collect();
    assert_eq!(
        new,
        [
            "    #1 outer main.cu:40:7",
            "    #2 <unknown> main.cu:50",
            "  Location is an allocation of size 4096, byte 0, allocated at main.cu:60",
        ]
    );
    assert_eq!(after.lines().count(), before.lines().count() + 2);
}
