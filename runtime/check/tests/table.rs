//! The transition table as text, so that a review shows each changed cell.
//! `GPURACE_BLESS=1` writes it anew.

use std::fmt::Write as _;

use gpurace_abi::scope::Scope;
use gpurace_check::access::{FULL, Op, Touch};
use gpurace_check::relation::Span;
use gpurace_check::relation::{Relation, Status};
use gpurace_check::step::{Next, step};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/transitions.txt");

const HEADER: &str = "\
# The state machine of a shadow word, generated from src/model/step.rs by tests/table.rs.
#
# state | access | order | relation | instruction -> race?, next state
#
# state: span (Thread, Warp, Block, Grid) and operation of the record. System scope acts as device
#   scope, so its atomics have no rows.
# order: unsynced (some accesses of the record do not happen before), synced, same epoch (of the one
#   thread), settled (before all that is to come).
# relation: the narrowest group that holds the record's threads and the new one.
# instruction: same (one instruction of one launch made both), other, or any (it does not matter).
# next: keep (the record stays), become (the access's record replaces it), join (the thread joins it,
#   and the span may widen), expand (both are kept).
";

const OPS: [(&str, Op); 9] = [
    ("Read", Op::Read),
    ("Write", Op::Write),
    ("BlockLoad", atomic(false, Scope::Block)),
    ("DeviceLoad", atomic(false, Scope::Device)),
    ("BlockAtomic", atomic(true, Scope::Block)),
    ("ClusterAtomic", atomic(true, Scope::Cluster)),
    ("DeviceAtomic", atomic(true, Scope::Device)),
    ("VolatileLoad", volatile(false)),
    ("VolatileStore", volatile(true)),
];

const fn atomic(modifies: bool, scope: Scope) -> Op {
    Op::Atomic { modifies, volatile: false, scope, start: 0, size: 4 }
}

const fn volatile(modifies: bool) -> Op {
    Op::Atomic { modifies, volatile: true, scope: Scope::System, start: 0, size: 4 }
}

/// The orders and relations that a record of a span can have to an access.
fn cases(span: Span) -> Vec<(Status, Relation)> {
    use Relation::{Block, Cluster, Grid, Itself, Launch, Warp};
    use Status::{SameEpoch, Settled, Synced, Unsynced};
    let mut cases = Vec::new();
    if span == Span::Thread {
        cases.extend([(SameEpoch, Itself), (Synced, Itself)]);
    }
    if span <= Span::Warp {
        cases.extend([(Unsynced, Warp), (Synced, Warp)]);
    }
    if span <= Span::Block {
        cases.extend([(Unsynced, Block), (Synced, Block), (Settled, Block)]);
    }
    if span == Span::Thread {
        // An acquire orders single threads; wider spans occur only without any.
        cases.extend([(Synced, Cluster), (Synced, Grid)]);
        // Launches with clusters keep threads one by one.
        cases.push((Unsynced, Cluster));
    }
    cases.extend([(Unsynced, Grid), (Unsynced, Launch), (Synced, Launch), (Settled, Launch)]);
    cases
}

fn table() -> String {
    let mut text = HEADER.to_owned();
    for span in [Span::Thread, Span::Warp, Span::Block, Span::Grid] {
        for (record, earlier) in OPS {
            for (access, later) in OPS {
                text.push('\n');
                for (status, relation) in cases(span) {
                    let touch = |op| Touch { op, mask: FULL };
                    let of = |same| step(touch(earlier), span, touch(later), relation, status, same);
                    let mut line = |instruction: &str, s: gpurace_check::step::Step| {
                        let order = match status {
                            Status::Unsynced => "unsynced",
                            Status::Synced => "synced",
                            Status::SameEpoch => "same epoch",
                            Status::Settled => "settled",
                        };
                        let relation = match relation {
                            Relation::Itself => "same thread",
                            Relation::Warp => "same warp",
                            Relation::Block => "same block",
                            Relation::Cluster => "same cluster",
                            Relation::Grid => "same launch",
                            Relation::Launch => "other launch",
                        };
                        let next = match s.next {
                            Next::Keep => "keep".to_owned(),
                            Next::Replace => format!("become Thread{access}"),
                            Next::Join(span) => format!("join {span:?}{record}"),
                            Next::Extend => unreachable!("both are of all bytes"),
                            Next::Both => "expand".to_owned(),
                        };
                        let race = if s.race { "RACE, " } else { "" };
                        writeln!(
                            text,
                            "{span:?}{record} | {access} | {order} | {relation} | {instruction} -> {race}{next}"
                        )
                        .unwrap();
                    };
                    if of(true) == of(false) {
                        line("any", of(true));
                    } else {
                        line("same", of(true));
                        line("other", of(false));
                    }
                }
            }
        }
    }
    text
}

#[test]
fn the_committed_table_is_what_the_code_does() {
    let table = table();
    if std::env::var_os("GPURACE_BLESS").is_some() {
        std::fs::write(TABLE, &table).unwrap();
    }
    let committed = std::fs::read_to_string(TABLE).unwrap_or_default();
    for (i, (is, was)) in table.lines().zip(committed.lines()).enumerate() {
        assert_eq!(is, was, "line {} of `transitions.txt`: run with `GPURACE_BLESS=1`", i + 1);
    }
    assert_eq!(table.lines().count(), committed.lines().count(), "run with `GPURACE_BLESS=1`");
}

#[test]
fn order_never_adds_a_race() {
    for span in [Span::Thread, Span::Warp, Span::Block, Span::Grid] {
        for (_, a) in OPS {
            for (_, b) in OPS {
                for (status, relation) in cases(span) {
                    let touch = |op| Touch { op, mask: FULL };
                    let s = step(touch(a), span, touch(b), relation, status, false);
                    assert!(!s.race || status == Status::Unsynced);
                    // A race drops neither side.
                    assert!(!s.race || matches!(s.next, Next::Both | Next::Join(_)));
                }
            }
        }
    }
}

#[test]
fn conflict_does_not_ask_who_was_first() {
    use gpurace_check::step::conflict;
    for (_, a) in OPS {
        for (_, b) in OPS {
            for relation in
                [Relation::Warp, Relation::Block, Relation::Cluster, Relation::Grid, Relation::Launch]
            {
                for (x, y) in [(FULL, FULL), (0b0011, 0b0110), (0b0011, 0b1100)] {
                    let (a, b) = (Touch { op: a, mask: x }, Touch { op: b, mask: y });
                    assert_eq!(conflict(a, b, relation), conflict(b, a, relation));
                }
            }
        }
    }
}

#[test]
fn what_covers_conflicts_with_all_that_the_other_does() {
    use gpurace_check::step::{conflict, covers};
    // A third access, by a thread of the same block or of another one.
    let masks = [FULL, 0b0011, 0b1100, 0b0001];
    let touches: Vec<Touch> = OPS.iter().flat_map(|&(_, op)| masks.map(|mask| Touch { op, mask })).collect();
    for &strong in &touches {
        for &weak in &touches {
            for same_block in [true, false] {
                if !covers(strong, weak, same_block) {
                    continue;
                }
                for &third in &touches {
                    let relations: &[(Relation, Relation)] = if same_block {
                        &[
                            (Relation::Block, Relation::Block),
                            (Relation::Cluster, Relation::Cluster),
                            (Relation::Grid, Relation::Grid),
                        ]
                    } else {
                        &[
                            (Relation::Block, Relation::Cluster),
                            (Relation::Cluster, Relation::Block),
                            (Relation::Cluster, Relation::Cluster),
                            (Relation::Cluster, Relation::Grid),
                            (Relation::Grid, Relation::Cluster),
                            (Relation::Block, Relation::Grid),
                            (Relation::Grid, Relation::Block),
                            (Relation::Grid, Relation::Grid),
                        ]
                    };
                    for &(to_strong, to_weak) in relations {
                        assert!(
                            !conflict(weak, third, to_weak) || conflict(strong, third, to_strong),
                            "{strong:?} covers {weak:?} but not for {third:?}"
                        );
                    }
                }
            }
        }
    }
}
