//! Generates the device's table of transitions from the checker's state machine, and compares it
//! with the committed one. `GPURACE_BLESS=1` writes it anew.
//!
//! A word on a GPU has room for one record. Where the state machine keeps two records, this file
//! chooses the one that stays. No choice adds a race.

use std::fmt::Write as _;

use gpurace_check::Scope;
use gpurace_check::access::{FULL, Op, Touch};
use gpurace_check::relation::Span;
use gpurace_check::relation::{Relation, Status};
use gpurace_check::step::{Next, covers, same_touch, step};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cpp/transitions.inc");
const HEADER: &str = "\
// Generated from the checker's state machine by tests/transitions.rs. Used by decide.h.
// A line is for one operation of the record and one of the access. Its columns: by relation
// (itself, warp, block, grid); within that by order (unsynced, synced, synced for the block, same
// epoch); within that another instruction, then the same.
// 0 keep, 1 replace, 2 join, 3 replace and drop, 4 keep and drop, 5 replace by reads after a write;
// plus 0x80 for a race.
";

/// All operations, in the order of their codes.
pub fn ops() -> Vec<Op> {
    let mut ops = vec![Op::Read, Op::Write];
    for modifies in [false, true] {
        // Volatile accesses have the row of cluster scope.
        for row in [Scope::Block, Scope::Cluster, Scope::Device, Scope::System] {
            let volatile = row == Scope::Cluster;
            let scope = if volatile { Scope::System } else { row };
            for (start, size) in [(0, 4), (0, 8), (-4, 8)] {
                ops.push(Op::Atomic { modifies, volatile, scope, start, size });
            }
        }
    }
    ops
}

/// How a record is ordered to an access on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// Not ordered before the access.
    Unsynced,
    /// Ordered before it, by the thread itself or the warp.
    Synced,
    /// Ordered before it by a barrier of the block.
    BlockSynced,
    /// Made by the same thread in the same epoch.
    SameEpoch,
}

const RACE: u8 = 0x80;

/// True for a plain or volatile write.
fn is_store(op: Op) -> bool {
    matches!(op, Op::Write | Op::Atomic { modifies: true, volatile: true, .. })
}

fn touch(op: Op) -> Touch {
    Touch { op, mask: FULL }
}

/// A cell of the table. `earlier`: the record's operation, or `None` for reads after a write of
/// their block.
fn cell(earlier: Option<Op>, later: Op, relation: Relation, ordered: Ordered, same_site: bool) -> u8 {
    let Some(earlier) = earlier else {
        return after_write(later, relation, ordered, same_site);
    };
    let status = match ordered {
        Ordered::Unsynced => Status::Unsynced,
        Ordered::Synced | Ordered::BlockSynced => Status::Synced,
        Ordered::SameEpoch => Status::SameEpoch,
    };
    let (e, l) = (touch(earlier), touch(later));
    let s = step(e, Span::Thread, l, relation, status, same_site);
    let race = if s.race { RACE } else { 0 };
    let same_block = relation != Relation::Grid;
    let next = match s.next {
        Next::Keep => 0,
        Next::Replace => 1,
        Next::Join(_) => 2,
        Next::Extend => unreachable!("both are of all bytes"),
        // A race keeps the later record.
        Next::Both if s.race => 1,
        Next::Both => match ordered {
            // One record stands for both; the other's site is lost.
            Ordered::Unsynced if same_touch(e, l) && relation != Relation::Itself => 2,
            Ordered::Unsynced if covers(e, l, same_block) => 4,
            Ordered::Unsynced => 3,
            // This block meets the read only, other blocks conflict with both.
            Ordered::BlockSynced if earlier == Op::Write && later == Op::Read => 5,
            Ordered::BlockSynced => 3,
            // A write conflicts with more than a read.
            Ordered::Synced | Ordered::SameEpoch if is_store(earlier) => 4,
            Ordered::Synced | Ordered::SameEpoch => 3,
        },
    };
    race | next
}

/// The cell of reads after a write. All accesses of the block are ordered after the write, and meet
/// the reads. Other blocks meet the write too.
fn after_write(later: Op, relation: Relation, ordered: Ordered, same_site: bool) -> u8 {
    let read = cell(Some(Op::Read), later, relation, ordered, same_site);
    if relation == Relation::Grid {
        return cell(Some(Op::Write), later, relation, ordered, same_site);
    }
    match (read & !RACE, later) {
        (1, Op::Read) => read & RACE | 5,
        // A record that replaces the reads covers the write, or drops it.
        (1, Op::Atomic { .. }) => read & RACE | 3,
        _ => read,
    }
}

#[test]
fn the_table_is_the_checkers() {
    let mut text = HEADER.to_owned();
    for earlier in ops().into_iter().map(Some).chain([None]) {
        for later in ops() {
            writeln!(text, "// {earlier:?} | {later:?}").unwrap();
            for relation in [Relation::Itself, Relation::Warp, Relation::Block, Relation::Grid] {
                for ordered in [Ordered::Unsynced, Ordered::Synced, Ordered::BlockSynced, Ordered::SameEpoch]
                {
                    for same_site in [false, true] {
                        write!(text, "{},", cell(earlier, later, relation, ordered, same_site)).unwrap();
                    }
                }
            }
            text.push('\n');
        }
    }
    if std::env::var_os("GPURACE_BLESS").is_some() {
        std::fs::write(TABLE, &text).unwrap();
    }
    let found = std::fs::read_to_string(TABLE).unwrap_or_default();
    assert!(found == text, "`{TABLE}` is not what the state machine says: GPURACE_BLESS=1 writes it anew");
}
