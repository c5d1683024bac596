//! Threads that end before a barrier at which others wait: `if (i >= n) return;`.
//!
//! # Method
//! An [`EarlyExit`] is a branch of which one side has barriers, and after which no barrier comes. A thread that takes
//! the other side passes no barrier any more. Those that take the side with the barriers pass them together, if
//! they decide alike what stands in it. So these barriers order two accesses if both threads take that side. If one
//! does not, they count for nothing: no order follows from the end of a thread. The meetings of two accesses
//! are then those of the program without these barriers.

use std::ops::Range;

use crate::expr::ExprId;
use crate::group::Barriers;
use crate::interval::{Gap, Meeting, Side, holds_sync, meetings};
use crate::place::Place;
use crate::protocol::{Protocol, Stmt};
use crate::run::accesses_in;

/// A branch in which threads may go on to barriers, while the others end.
#[derive(Clone, Debug)]
pub struct EarlyExit<'a> {
    /// The statement.
    pub branch: &'a Stmt,
    /// Its condition.
    pub cond: ExprId,
    /// The value of the condition with which a thread goes on to the barriers.
    pub goes_on: bool,
    /// The numbers of the accesses on that side ([`Place::number`]).
    pub accesses: Range<usize>,
    /// The protocol without the barriers on that side.
    pub without: Protocol,
}

/// Returns the early exits of a protocol, outer ones first.
pub fn early_exits<'a>(protocol: &'a Protocol, barriers: Barriers<'_>) -> Vec<EarlyExit<'a>> {
    let mut found = Vec::new();
    find(protocol, &protocol.body, 0, &mut Vec::new(), barriers, &mut found);
    found
}

/// Finds the exits in a body after which no barrier comes. `access` is the number of its first access, `way` leads to
/// it: for each branch its index in the body around it, and the side.
fn find<'a>(
    protocol: &'a Protocol,
    body: &'a [Stmt],
    access: usize,
    way: &mut Vec<(usize, bool)>,
    barriers: Barriers<'_>,
    found: &mut Vec<EarlyExit<'a>>,
) {
    let Some(last) = body.iter().rposition(|stmt| holds_sync(std::slice::from_ref(stmt), barriers)) else {
        return;
    };
    let branch = &body[last];
    let Stmt::If { cond, then, otherwise } = branch else { return };
    let first = access + accesses_in(&body[..last]);
    let middle = first + accesses_in(then);
    let sides = [(true, then, first..middle), (false, otherwise, middle..middle + accesses_in(otherwise))];
    let is_exit = holds_sync(then, barriers) != holds_sync(otherwise, barriers);
    for (goes_on, side, accesses) in sides {
        if !holds_sync(side, barriers) {
            continue;
        }
        way.push((last, goes_on));
        if is_exit {
            let mut without = protocol.clone();
            remove_barriers(side_at(&mut without.body, way), barriers);
            found.push(EarlyExit { branch, cond: *cond, goes_on, accesses: accesses.clone(), without });
        }
        find(protocol, side, accesses.start, way, barriers, found);
        way.pop();
    }
}

/// The body that a way of branches leads to.
fn side_at<'p>(body: &'p mut Vec<Stmt>, way: &[(usize, bool)]) -> &'p mut Vec<Stmt> {
    way.iter().fold(body, |body, &(index, value)| match &mut body[index] {
        Stmt::If { then, .. } if value => then,
        Stmt::If { otherwise, .. } => otherwise,
        _ => unreachable!("the way leads through branches"),
    })
}

fn remove_barriers(body: &mut Vec<Stmt>, barriers: Barriers<'_>) {
    body.retain(|stmt| !matches!(stmt, Stmt::Sync(sync) if barriers.hold(*sync)));
    for stmt in body {
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                remove_barriers(then, barriers);
                remove_barriers(otherwise, barriers);
            }
            Stmt::Loop(of) => remove_barriers(&mut of.body, barriers),
            Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
        }
    }
}

/// Returns all ways in which two accesses can have none of the barriers between them, where threads may decide
/// `exits` differently.
pub fn meetings_beside_exits(
    a: &Place,
    b: &Place,
    barriers: Barriers<'_>,
    exits: &[EarlyExit<'_>],
) -> Vec<Meeting> {
    let mut all = meetings(a, b, barriers);
    for exit in exits {
        let ends = [(Side::A, a), (Side::B, b)].into_iter().filter_map(|(side, place)| {
            let (cond, value) = (exit.cond, !exit.goes_on);
            // No loop is around it. Not every execution with the access comes to it.
            let ends = Gap::Cond { side, cond, value, at: Vec::new(), certain: false };
            (!exit.accesses.contains(&place.number)).then_some(ends)
        });
        let ends = Gap::any(ends);
        let places = Place::all(&exit.without);
        for meeting in meetings(&places[a.number], &places[b.number], barriers) {
            let gap = Gap::all([ends.clone(), meeting.gap.clone()]);
            if gap != Gap::Never && !all.contains(&meeting) {
                all.push(Meeting { gap, ..meeting });
            }
        }
    }
    all
}
