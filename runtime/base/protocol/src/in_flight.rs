//! Asynchronous copies that are in flight over barriers: when such a copy may still take place at a later access.
//!
//! # Method
//! A copy is done once its thread has passed more block barriers than [`Op::passes`] says: then it has waited before
//! the last of them. So an access behind that many barriers comes after the copy. The structured program shows how many
//! barriers certainly lie in between. Of two branches the one with fewer counts, and a loop that may end at once has
//! none. Each iteration before the one of the later access counts as often as it runs. An access before the copy's
//! start is ordered with it like with a plain access. A copy without a wait is in flight at every later access.
//!
//! [`Op::passes`]: crate::protocol::Op::passes

use crate::expr::LoopId;
use crate::group::Barriers;
use crate::interval::{Gap, Side};
use crate::place::{Place, Turn};
use crate::protocol::{Loop, Op, Stmt, Test};

/// The condition that not too many barriers lie between the start of a copy and an access after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Few {
    /// A loop in whose earlier iteration the copy starts, and the barriers of each iteration in between.
    pub between: Option<(LoopId, u32)>,
    /// Loops around the access alone, and the barriers of each iteration before the access's own.
    pub before: Vec<(LoopId, u32)>,
    /// The side of the access.
    pub late: Side,
    /// The most barriers in these iterations with which the copy may be in flight.
    pub most: u32,
}

/// Returns the condition that a copy is in flight at an access in the same iteration of all loops with barriers that
/// both are in. The ways part before `depth`, and `between` lies in between.
pub(crate) fn same_iteration(
    copy: &Place,
    late: (Side, &Place),
    depth: usize,
    between: &[Stmt],
    barriers: Barriers<'_>,
) -> Gap {
    few(copy, late, depth, least(between, barriers), None, barriers)
}

/// Returns the condition that a copy is in flight at an access in a later iteration of a loop. The turns in the loop
/// start at `depth`.
pub(crate) fn later_iteration(
    copy: &Place,
    late: (Side, &Place),
    depth: usize,
    of: &Loop,
    barriers: Barriers<'_>,
) -> Gap {
    few(copy, late, depth, 0, Some((of.id, least(&of.body, barriers))), barriers)
}

fn few(
    copy: &Place,
    (side, late): (Side, &Place),
    depth: usize,
    certain: u32,
    between: Option<(LoopId, u32)>,
    barriers: Barriers<'_>,
) -> Gap {
    if copy.access.op.passes() == Op::NO_WAIT {
        return Gap::Always;
    }
    let mut certain = certain;
    for turn in copy.way.iter().skip(depth) {
        if let Turn::At { body, index } = turn {
            certain = certain.saturating_add(least(&body[index + 1..], barriers));
        }
    }
    let mut before = Vec::new();
    for turn in late.way.iter().skip(depth) {
        match turn {
            Turn::At { body, index } => certain = certain.saturating_add(least(&body[..*index], barriers)),
            Turn::Into(of) => before.push((of.id, least(&of.body, barriers))),
            Turn::Branch { .. } => {}
        }
    }
    before.retain(|(_, barriers)| *barriers > 0);
    let between = between.filter(|(_, barriers)| *barriers > 0);
    let Some(most) = copy.access.op.passes().checked_sub(certain) else { return Gap::Never };
    if between.is_none() && before.is_empty() {
        return Gap::Always;
    }
    Gap::Few(Few { between, before, late: side, most })
}

/// The number of barriers that each thread passes that runs these statements to their end.
fn least(body: &[Stmt], barriers: Barriers<'_>) -> u32 {
    let each = body.iter().map(|stmt| match stmt {
        Stmt::Access(_) | Stmt::Unknown(_) => 0,
        Stmt::Sync(sync) => u32::from(barriers.hold(*sync)),
        Stmt::If { then, otherwise, .. } => least(then, barriers).min(least(otherwise, barriers)),
        Stmt::Loop(of) => match of.test {
            Test::Before => 0,
            Test::After => least(&of.body, barriers),
        },
    });
    each.fold(0, u32::saturating_add)
}
