//! Tests the hint for each race, word by word.

use gpurace_abi::scope::Scope as AtomicScope;

use super::{access, race};
use crate::cause::{Order, Ways};
use crate::hint::{SideFacts, hint, of_mask, of_plain_flag, of_plain_set, of_update};
use crate::schema::*;

const NONE: [SideFacts; 2] = [SideFacts {
    atomic_scope: None,
    volatile: false,
    asynchronous: false,
    ends_block: false,
    fences: false,
    strays_from: None,
}; 2];

fn op(effect: Effect) -> Op {
    match effect {
        Effect::Read => Op::Read,
        Effect::Write => Op::Write,
        Effect::Atomic => Op::Atomic,
    }
}

/// Returns a race with its earlier side at `from` and its later side at `to` (line, column).
fn at(kind: RaceKind, scope: Scope, from: (u32, u32), to: (u32, u32)) -> Race {
    race(
        kind,
        scope,
        access(op(kind.later()), to.0, to.1, 1, 0),
        access(op(kind.earlier()), from.0, from.1, 0, 0),
    )
}

fn said(race: &Race) -> String {
    hint(race, NONE, Order::default()).unwrap_or_else(|| panic!("no hint for {race:?}"))
}

fn scopes(later: AtomicScope, earlier: AtomicScope) -> [SideFacts; 2] {
    [later, earlier].map(|scope| SideFacts { atomic_scope: Some(scope), ..SideFacts::default() })
}

#[test]
fn two_lines_name_the_missing_order() {
    for (scope, words) in [
        (Scope::Warp, "no __syncthreads() or __syncwarp() orders line 17 before line 18"),
        (Scope::Block, "no __syncthreads() orders line 17 before line 18"),
        (Scope::Cluster, "no barrier of the cluster orders line 17 before line 18"),
        (
            Scope::Grid,
            "nothing orders line 17 before line 18 between blocks: use two launches, or a \
             grid-wide barrier of a cooperative launch",
        ),
    ] {
        assert_eq!(said(&at(RaceKind::WriteRead, scope, (17, 13), (18, 15))), words);
    }
}

#[test]
fn a_barrier_loses_one_of_two_values() {
    let loses = "; a barrier lets only one of the two values stay: if both are needed, give each thread bytes of its \
                 own (an index or the size of an array is wrong)";
    let words = "no __syncthreads() orders line 17 before line 18";
    let of = |kind| said(&at(kind, Scope::Block, (17, 13), (18, 15)));
    assert_eq!(of(RaceKind::WriteWrite), format!("{words}{loses}"));
    assert_eq!(of(RaceKind::ReadWrite), words);
}

#[test]
fn an_update_of_bytes_that_go_by_the_thread_may_have_a_wrong_index() {
    let update = at(RaceKind::WriteRead, Scope::Grid, (4, 10), (4, 10));
    let own = "; if blocks should update bytes of their own, the index or its stride is wrong";
    assert_eq!(of_update(&update, false), of_update(&update, true) + own);
}

#[test]
fn a_plain_write_that_a_loop_of_atomics_waits_for() {
    let wanted = "the write at line 9 is plain, and a loop looks for it by the atomic at line 3: write by \
                  atomicExch(&x, value); if it frees a lock or tells of other data, put a __threadfence() before the \
                  write and after the loop";
    assert_eq!(of_plain_set(&at(RaceKind::AtomicWrite, Scope::Grid, (3, 1), (9, 1))), wanted);
    assert_eq!(of_plain_set(&at(RaceKind::WriteAtomic, Scope::Grid, (9, 1), (3, 1))), wanted);
}

#[test]
fn the_hint_is_that_of_the_interface() {
    let report = super::interface();
    assert_eq!(hint(&report.races[0], NONE, Order::default()), report.races[0].hint);
}

#[test]
fn the_earlier_side_comes_first_also_around_a_loop() {
    assert_eq!(
        said(&at(RaceKind::ReadWrite, Scope::Block, (18, 15), (17, 13))),
        "no __syncthreads() orders line 18 before line 17"
    );
}

#[test]
fn in_a_loop_both_ways_are_named() {
    let both = |race: &Race, order| hint(race, NONE, order).unwrap();
    let race = at(RaceKind::WriteRead, Scope::Block, (18, 15), (17, 13));
    assert_eq!(
        both(&race, Order { swaps: true, ways: Ways::Both }),
        "no __syncthreads() stands between line 17 and line 18, in one iteration and from one to the next"
    );
    let race = at(RaceKind::ReadWrite, Scope::Block, (7, 20), (7, 11));
    assert_eq!(
        both(&race, Order { swaps: true, ways: Ways::Statement }),
        "no __syncthreads() orders the write at line 7 before the read there by another thread in the next \
         iteration; if the line is an update, make it atomic (such as atomicAdd)"
    );
}

#[test]
fn two_files_are_named() {
    let mut race = at(RaceKind::WriteRead, Scope::Block, (17, 13), (17, 13));
    race.accesses[0].file = Some("tile.cuh".to_owned());
    assert_eq!(said(&race), "no __syncthreads() orders line 17 of reduce.cu before line 17 of tile.cuh");
}

#[test]
fn one_place_that_reads_and_writes_is_an_update() {
    for (kind, scope, who) in [
        (RaceKind::ReadWrite, Scope::Block, "threads"),
        (RaceKind::WriteRead, Scope::Warp, "threads"),
        (RaceKind::WriteRead, Scope::Grid, "blocks"),
    ] {
        assert_eq!(
            said(&at(kind, scope, (7, 11), (7, 11))),
            format!(
                "several {who} read and write the same bytes at line 7: make the update atomic \
                 (such as atomicAdd), or use a reduction"
            )
        );
    }
}

#[test]
fn one_line_with_two_places_may_be_an_update() {
    assert_eq!(
        said(&at(RaceKind::ReadWrite, Scope::Block, (7, 20), (7, 11))),
        "no __syncthreads() orders the read at line 7 before the write there by another thread; if \
         the line is an update, make it atomic (such as atomicAdd)"
    );
    assert_eq!(
        said(&at(RaceKind::WriteRead, Scope::Grid, (7, 11), (7, 20))),
        "nothing orders the write at line 7 before the read there by another block: use two launches, or a grid-wide \
         barrier of a cooperative launch; if the line is an update, make it atomic (such as atomicAdd)"
    );
}

#[test]
fn one_line_that_writes_needs_one_writer() {
    assert_eq!(
        said(&at(RaceKind::WriteWrite, Scope::Block, (8, 3), (8, 3))),
        "several threads write the same bytes at line 8: give each bytes of its own (then the index or its stride is wrong), \
         let one of them write, or use an atomic or a reduction"
    );
}

#[test]
fn unknown_lines_are_not_named() {
    let mut race = at(RaceKind::WriteRead, Scope::Block, (17, 13), (18, 15));
    race.accesses[1].line = None;
    assert_eq!(said(&race), "no __syncthreads() orders the two accesses");
    race.kind = RaceKind::AtomicRead;
    assert_eq!(
        said(&race),
        "the read is not atomic, but the other access is: make both atomic, or order them"
    );
}

#[test]
fn two_atomics_need_a_scope_that_holds_both() {
    use AtomicScope::{Block, Cluster, Device, System};
    let say = |scope, later, earlier| {
        hint(&at(RaceKind::AtomicAtomic, scope, (9, 3), (9, 3)), scopes(later, earlier), Order::default())
            .unwrap()
    };
    for (later, earlier) in [(Block, Block), (Block, Device), (System, Block)] {
        assert_eq!(
            say(Scope::Grid, later, earlier),
            "a block-scope atomic (such as atomicAdd_block) is not atomic across blocks: use a \
             device-scope one (such as atomicAdd)"
        );
    }
    assert!(say(Scope::Grid, Device, Cluster).starts_with("a cluster-scope atomic"));
    assert!(say(Scope::System, Device, System).starts_with("a device-scope atomic"));
    for (scope, both) in
        [(Scope::Block, Block), (Scope::Cluster, Cluster), (Scope::Grid, Device), (Scope::System, System)]
    {
        assert!(say(scope, both, both).contains("without covering the same bytes"), "{scope:?}");
    }
    assert_eq!(hint(&at(RaceKind::AtomicAtomic, Scope::Grid, (9, 3), (9, 3)), NONE, Order::default()), None);
}

#[test]
fn the_plain_side_of_an_atomic_is_named() {
    for (kind, plain) in [
        (RaceKind::AtomicRead, "read at line 8 is not atomic, but the access at line 9"),
        (RaceKind::AtomicWrite, "write at line 8 is not atomic, but the access at line 9"),
        (RaceKind::ReadAtomic, "read at line 9 is not atomic, but the access at line 8"),
        (RaceKind::WriteAtomic, "write at line 9 is not atomic, but the access at line 8"),
    ] {
        assert_eq!(
            said(&at(kind, Scope::Grid, (9, 3), (8, 3))),
            format!("the {plain} is: make both atomic, or order them")
        );
    }
}

#[test]
fn launches_are_ordered_by_streams_and_events() {
    let mut race = at(RaceKind::WriteRead, Scope::Device, (7, 11), (8, 3));
    race.accesses[1].stream = Some(1);
    assert!(said(&race).starts_with("nothing orders the two launches: put them in one stream"));
    // Two launches in one stream: the missing order is unknown.
    race.accesses[1].stream = Some(0);
    assert_eq!(hint(&race, NONE, Order::default()), None);
    race.accesses[1].stream = None;
    assert!(hint(&race, NONE, Order::default()).is_some());
}

#[test]
fn copies_and_the_host_are_ordered_by_streams_and_waiting() {
    let mut race = at(RaceKind::WriteRead, Scope::Device, (7, 11), (8, 3));
    race.accesses[1] = Access::new(Op::Copy);
    assert!(said(&race).starts_with("nothing orders the copy and the launch: put them in one stream"));
    race.accesses[0] = Access::new(Op::Copy);
    assert!(said(&race).starts_with("nothing orders the two copies"));
    race.accesses[0] = Access::new(Op::Host);
    assert!(said(&race).starts_with("nothing makes the host wait for the copy"));
    race.accesses[1] = access(Op::Write, 7, 11, 0, 0);
    assert!(said(&race).starts_with("nothing makes the host wait for the launch: call cudaDevice"));
}

#[test]
fn what_to_add_to_a_fence_and_what_to_write_instead_of_volatile() {
    let race = at(RaceKind::WriteRead, Scope::Block, (17, 13), (18, 15));
    let mut facts = NONE;
    facts[1].fences = true;
    assert_eq!(
        hint(&race, facts, Order::default()).unwrap(),
        "no __syncthreads() orders line 17 before line 18; if a flag or a lock should order them, put a \
         __threadfence() before the atomic that sets or releases it and after the atomic that waits for it"
    );
    facts[0].volatile = true;
    assert_eq!(
        hint(&race, facts, Order::default()).unwrap(),
        "no __syncthreads() orders line 17 before line 18; `volatile` does not order threads"
    );
    let race = at(RaceKind::WriteRead, Scope::Grid, (17, 13), (18, 15));
    assert!(hint(&race, facts, Order::default()).unwrap().ends_with(
        "; `volatile` is not atomic: read by atomicAdd(&x, 0) and write by atomicExch(&x, value), or use a relaxed \
         cuda::atomic_ref for both"
    ));
}

#[test]
fn two_writes_of_a_flag_are_not_told_to_read_it() {
    let mut facts = NONE;
    facts.iter_mut().for_each(|side| side.volatile = true);
    let said = |kind, to| of_plain_flag(&at(kind, Scope::Grid, (17, 13), to), facts);
    let relaxed = "; volatile=relaxed lets two `volatile` accesses pass, as PTX does";
    let writes = |at| {
        format!(
            "`volatile` is not atomic: write the value at {at} by atomicExch(&x, value), or use a \
             cuda::atomic_ref{relaxed}"
        )
    };
    assert_eq!(said(RaceKind::WriteWrite, (18, 15)), writes("line 17 and at line 18"));
    assert_eq!(said(RaceKind::WriteWrite, (17, 13)), writes("line 17"));
    assert!(said(RaceKind::WriteRead, (18, 15)).contains("read the value at line 18 by atomicAdd"));
}

#[test]
fn a_volatile_access_and_an_atomic_race_as_two_atomics_do() {
    let race = at(RaceKind::AtomicRead, Scope::Grid, (17, 13), (18, 15));
    let mut facts = scopes(AtomicScope::System, AtomicScope::Device);
    facts[0].volatile = true;
    assert!(hint(&race, facts, Order::default()).unwrap().starts_with("two atomics that overlap"));
    facts[1].atomic_scope = Some(AtomicScope::Block);
    assert!(hint(&race, facts, Order::default()).unwrap().starts_with("a block-scope atomic"));
}

/// No combination panics, and no hint ends with a full stop.
#[test]
fn every_combination_is_answered() {
    let all_scopes = [Scope::Warp, Scope::Block, Scope::Cluster, Scope::Grid, Scope::Device, Scope::System];
    for kind in RaceKind::ALL {
        for scope in all_scopes {
            for to in [(7, 11), (7, 12), (8, 3)] {
                for facts in [NONE, scopes(AtomicScope::Block, AtomicScope::System)] {
                    if let Some(hint) = hint(&at(kind, scope, (7, 11), to), facts, Order::default()) {
                        assert!(!hint.is_empty() && !hint.ends_with('.'), "{hint}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_asynchronous_copy_has_to_be_waited_for() {
    let race = at(RaceKind::WriteRead, Scope::Warp, (17, 13), (18, 15));
    let mut facts = NONE;
    facts[1].asynchronous = true;
    let earlier = hint(&race, facts, Order::default()).unwrap();
    assert!(earlier.starts_with("the asynchronous copy at line 17 is under way until"), "{earlier}");
    facts[0].asynchronous = true;
    assert_eq!(hint(&race, facts, Order::default()).unwrap(), earlier);
    facts[1].asynchronous = false;
    let later = hint(&race, facts, Order::default()).unwrap();
    assert!(later.starts_with("the asynchronous copy at line 18 is"), "{later}");
}

#[test]
fn the_order_of_the_program_is_said_and_not_that_of_the_run() {
    let race = at(RaceKind::ReadWrite, Scope::Block, (18, 3), (17, 3));
    assert_eq!(
        hint(&race, NONE, Order::default()).unwrap(),
        "no __syncthreads() orders line 18 before line 17"
    );
    assert_eq!(
        hint(&race, NONE, Order { swaps: true, ..Order::default() }).unwrap(),
        "no __syncthreads() orders line 17 before line 18"
    );
}

#[test]
fn the_order_in_the_program_decides_the_remedy() {
    let order = |ways| Order { swaps: false, ways };
    let hint =
        |kind, scope, to: (u32, u32), ways| hint(&at(kind, scope, (17, 13), to), NONE, order(ways)).unwrap();
    // What is read is the old value: another buffer helps. It does not help who waits for the new one.
    let buffer = "write to another buffer than the one that is read";
    assert!(hint(RaceKind::ReadWrite, Scope::Grid, (18, 5), Ways::One).contains(buffer));
    assert!(hint(RaceKind::ReadWrite, Scope::Grid, (17, 5), Ways::Within).contains(buffer));
    assert!(!hint(RaceKind::WriteRead, Scope::Grid, (18, 5), Ways::One).contains(buffer));
    assert!(!hint(RaceKind::ReadWrite, Scope::Grid, (18, 5), Ways::Unknown).contains(buffer));
    let own = "let each block write bytes of its own";
    assert!(hint(RaceKind::WriteWrite, Scope::Grid, (18, 5), Ways::One).contains(own));
    let split = "read into a variable, and let a barrier stand before the write";
    assert!(hint(RaceKind::ReadWrite, Scope::Block, (17, 5), Ways::Within).contains(split));
    assert!(!hint(RaceKind::ReadWrite, Scope::Block, (18, 5), Ways::One).contains(split));
}

#[test]
fn the_hint_on_a_mask_names_the_lanes() {
    let mut race = at(RaceKind::WriteRead, Scope::Warp, (5, 3), (7, 3));
    race.accesses[0].thread = Some([7, 2, 0]);
    race.launch = race.launch.map(|launch| Launch { block: [8, 4, 1], ..launch });
    let wanted =
        "let both threads reach one __syncwarp() between line 5 and line 7 whose mask names their lanes";
    assert!(of_mask(&race, Order::default()).starts_with(wanted));
    assert!(of_mask(&race, Order::default()).ends_with(": 0 and 23"));
}

#[test]
fn parameters_of_two_launches_are_no_alias() {
    let mut race = at(RaceKind::WriteRead, Scope::Grid, (7, 11), (8, 3));
    for (side, name) in [(0, "in"), (1, "out")] {
        race.accesses[side].parameter = Some(Parameter { name: name.to_owned(), number: side as u32 + 1 });
    }
    assert!(said(&race).starts_with("pass different buffers"));
    race.scope = Scope::Device;
    race.accesses[1].stream = Some(7);
    assert!(said(&race).starts_with("nothing orders the two launches"));
}
