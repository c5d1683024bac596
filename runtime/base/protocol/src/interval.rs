//! Barrier intervals: when no barrier lies between an access of one thread and an access of
//! another.
//!
//! # Method
//! Suppose that all barriers of a group of threads are under control that is uniform in the group.
//! Then the threads pass the same barriers in the same order. Two accesses are unordered if and
//! only if no barrier lies between them. The structured program shows this. A loop that contains
//! barriers and both accesses is "synchronised". The two ways diverge at some statement, either in
//! the same iterations of all synchronised loops, or in different iterations of one of them. A
//! [`Gap`] is the condition that the way between the accesses has no barrier: for example, that a
//! loop in between has no iteration, that one access is in the last iteration of its loop, or that
//! the other is in the first. Loops are neither unrolled nor aligned; loop variables stay symbols.
//! Of several iterations in between, a gap constrains only the first. So a gap may hold more often
//! than it should, never less.
//!
//! An asynchronous copy may take place behind some barriers after its start: see [`crate::in_flight`].
//!
//! If one barrier of a group is under control that is not uniform, no barrier of the group orders
//! anything: threads may count them differently. Threads may end before others do: see [`crate::early_exits`].

use crate::early_exits::EarlyExit;
use crate::expr::{Expr, ExprId, Exprs, LoopId};
use crate::group::{Barriers, Group};
use crate::in_flight::{self, Few};
use crate::place::{Place, Turn};
use crate::protocol::{Loop, Protocol, Step, Stmt, Sync, Test, Uniform};

/// One of the two accesses of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The first place.
    A,
    /// The second place.
    B,
}

/// An iteration of a loop, relative to the iteration of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum At {
    /// The first iteration.
    First,
    /// The one before the access's own.
    Previous,
    /// The one after the access's own.
    Next,
}

/// The condition that no barrier lies between two accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gap {
    /// No barrier can lie between them.
    Always,
    /// A barrier always lies between them.
    Never,
    /// All of these conditions hold.
    All(Vec<Gap>),
    /// One of these conditions holds.
    Any(Vec<Gap>),
    /// A 1-bit expression has this value.
    Cond {
        /// The thread that computes it.
        side: Side,
        /// The expression.
        cond: ExprId,
        /// Its value.
        value: bool,
        /// The iterations of loops, where they differ from the access's own.
        at: Vec<(LoopId, At)>,
        /// True if every execution with the two accesses computes it.
        certain: bool,
    },
    /// The access is in the loop's first iteration.
    First(Side, LoopId),
    /// The loop's condition ends the loop after the access's iteration.
    Last(Side, LoopId),
    /// The later access is in the next iteration of the loop after the earlier one.
    Adjacent(LoopId),
    /// The later access is at least two iterations of the loop after the earlier one.
    Apart(LoopId),
    /// An asynchronous copy may still be in flight at the later access.
    Few(Few),
    /// The iterations are close to each other.
    Near(Near),
}

/// The number of the iteration of [`Side::B`], over all rounds, less that of [`Side::A`] is within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// The loop of each side.
    pub of: [LoopId; 2],
    /// The least difference.
    pub least: Option<i64>,
    /// The greatest difference.
    pub most: Option<i64>,
}

impl Gap {
    /// Returns the condition that all of these hold.
    pub fn all(parts: impl IntoIterator<Item = Gap>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::Always => {}
                Self::Never => return Self::Never,
                Self::All(inner) => kept.extend(inner),
                part => kept.push(part),
            }
        }
        match kept.len() {
            0 => Self::Always,
            1 => kept.remove(0),
            _ => Self::All(kept),
        }
    }

    pub(crate) fn any(parts: impl IntoIterator<Item = Gap>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::Never => {}
                Self::Always => return Self::Always,
                Self::Any(inner) => kept.extend(inner),
                part => kept.push(part),
            }
        }
        match kept.len() {
            0 => Self::Never,
            1 => kept.remove(0),
            _ => Self::Any(kept),
        }
    }
}

/// One way in which two accesses can have no barrier between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// Enclosing loops whose iteration both accesses share.
    pub same: Vec<LoopId>,
    /// An enclosing loop in whose iterations they differ, and the side in the earlier iteration.
    pub later: Option<(LoopId, Side)>,
    /// The condition that no barrier lies between them.
    pub gap: Gap,
}

/// Returns the meeting of accesses that no barrier orders: in any iterations of both.
pub fn unordered() -> Vec<Meeting> {
    vec![Meeting { same: Vec::new(), later: None, gap: Gap::Always }]
}

/// Returns all ways in which two accesses can have none of the barriers between them. Every barrier
/// must be under control that is uniform in the group ([`controls`]).
pub fn meetings(a: &Place, b: &Place, barriers: Barriers<'_>) -> Vec<Meeting> {
    let common = a.way.iter().zip(&b.way).take_while(|(x, y)| same_turn(x, y)).count();
    let mut all = Vec::new();
    let mut push = |meeting: Meeting| {
        if meeting.gap != Gap::Never {
            all.push(meeting);
        }
    };
    let synced: Vec<(usize, &Loop)> = a.way[..common]
        .iter()
        .enumerate()
        .filter_map(|(depth, turn)| match turn {
            Turn::Into(of) if holds_sync(&of.body, barriers) => Some((depth, *of)),
            _ => None,
        })
        .collect();
    let ids = |n: usize| synced[..n].iter().map(|(_, of)| of.id).collect::<Vec<_>>();

    // Both are in the same iteration of every synchronised loop.
    let same = match (a.way.get(common), b.way.get(common)) {
        (Some(Turn::At { body, index: i }), Some(Turn::At { index: j, .. })) => {
            let (first, last, side) = if i < j { (i, j, Side::A) } else { (j, i, Side::B) };
            let (early, late) = sides(a, b, side);
            let between = &body[first + 1..*last];
            if early.1.access.op.passes() > 0 {
                in_flight::same_iteration(early.1, late, common + 1, between, barriers)
            } else {
                Gap::all([
                    to_end(early, common + 1, barriers),
                    free(between, barriers, &mut Passing::of(side)),
                    from_start(late, common + 1, barriers),
                ])
            }
        }
        _ => Gap::Always,
    };
    push(Meeting { same: ids(synced.len()), later: None, gap: same });

    // They are in different iterations of one synchronised loop.
    for (n, (depth, of)) in synced.iter().enumerate() {
        for side in [Side::A, Side::B] {
            let (early, late) = sides(a, b, side);
            let mut between = Passing::of(side);
            between.at.push((of.id, At::Next));
            between.certain = false;
            let gap = if early.1.access.op.passes() > 0 {
                in_flight::later_iteration(early.1, late, depth + 1, of, barriers)
            } else {
                Gap::all([
                    to_end(early, depth + 1, barriers),
                    Gap::any([
                        Gap::Adjacent(of.id),
                        Gap::all([Gap::Apart(of.id), free(&of.body, barriers, &mut between)]),
                    ]),
                    from_start(late, depth + 1, barriers),
                ])
            };
            push(Meeting { same: ids(n), later: Some((of.id, side)), gap });
        }
    }
    all
}

/// Returns the two places with their sides, `first` first.
fn sides<'p, 'a>(
    a: &'p Place<'a>,
    b: &'p Place<'a>,
    first: Side,
) -> ((Side, &'p Place<'a>), (Side, &'p Place<'a>)) {
    match first {
        Side::A => ((Side::A, a), (Side::B, b)),
        Side::B => ((Side::B, b), (Side::A, a)),
    }
}

fn same_turn(x: &Turn, y: &Turn) -> bool {
    match (x, y) {
        (Turn::At { body: p, index: i }, Turn::At { body: q, index: j }) => {
            std::ptr::eq(p.as_ptr(), q.as_ptr()) && i == j
        }
        (Turn::Branch { cond: c, value: v }, Turn::Branch { cond: d, value: w }) => c == d && v == w,
        (Turn::Into(l), Turn::Into(m)) => l.id == m.id,
        _ => false,
    }
}

/// True if a body contains one of the barriers.
pub fn holds_sync(body: &[Stmt], barriers: Barriers<'_>) -> bool {
    any_sync(body, &|sync| barriers.hold(sync))
}

/// True if a body contains a barrier for which `is` is true.
pub fn any_sync(body: &[Stmt], is: &dyn Fn(Sync) -> bool) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Sync(sync) => is(*sync),
        Stmt::Loop(of) => any_sync(&of.body, is),
        Stmt::If { then, otherwise, .. } => any_sync(then, is) || any_sync(otherwise, is),
        Stmt::Access(_) | Stmt::Unknown(_) => false,
    })
}

/// The thread and moment in which statements on the way run.
struct Passing {
    side: Side,
    at: Vec<(LoopId, At)>,
    certain: bool,
}

impl Passing {
    fn of(side: Side) -> Self {
        Self { side, at: Vec::new(), certain: true }
    }

    fn cond(&self, cond: ExprId, value: bool) -> Gap {
        Gap::Cond { side: self.side, cond, value, at: self.at.clone(), certain: self.certain }
    }
}

/// Returns the condition that a thread passes statements without a barrier.
fn free(body: &[Stmt], barriers: Barriers<'_>, how: &mut Passing) -> Gap {
    let mut parts = Vec::new();
    for stmt in body {
        let part = match stmt {
            Stmt::Access(_) | Stmt::Unknown(_) => Gap::Always,
            Stmt::Sync(sync) if barriers.hold(*sync) => Gap::Never,
            Stmt::Sync(_) => Gap::Always,
            Stmt::If { cond, then, otherwise } => {
                if !holds_sync(then, barriers) && !holds_sync(otherwise, barriers) {
                    continue;
                }
                let (if_true, if_false) = (how.cond(*cond, true), how.cond(*cond, false));
                let was = std::mem::replace(&mut how.certain, false);
                let then = free(then, barriers, how);
                let otherwise = free(otherwise, barriers, how);
                how.certain = was;
                Gap::any([Gap::all([if_true, then]), Gap::all([if_false, otherwise])])
            }
            Stmt::Loop(of) => {
                if !holds_sync(&of.body, barriers) {
                    continue;
                }
                how.at.push((of.id, At::First));
                let none = match of.test {
                    Test::Before => how.cond(of.cond, false),
                    Test::After => Gap::Never,
                };
                let was = std::mem::replace(&mut how.certain, false);
                let one = free(&of.body, barriers, how);
                how.certain = was;
                how.at.pop();
                Gap::any([none, one])
            }
        };
        if part == Gap::Never {
            return Gap::Never;
        }
        parts.push(part);
    }
    Gap::all(parts)
}

/// Returns the condition that no barrier lies between an access and the end of the statement that
/// contains its turns from `depth` on.
fn to_end(place: (Side, &Place), depth: usize, barriers: Barriers<'_>) -> Gap {
    let (side, place) = place;
    let parts = place.way.iter().skip(depth).map(|turn| match turn {
        Turn::At { body, index } => free(&body[index + 1..], barriers, &mut Passing::of(side)),
        Turn::Branch { .. } => Gap::Always,
        Turn::Into(of) if holds_sync(&of.body, barriers) => {
            let mut next = Passing::of(side);
            next.at.push((of.id, At::Next));
            next.certain = false;
            let own = Passing { certain: false, ..Passing::of(side) };
            let broke = of.breaks.map_or(Gap::Never, |breaks| own.cond(breaks.unless, false));
            Gap::any([broke, Gap::Last(side, of.id), free(&of.body, barriers, &mut next)])
        }
        Turn::Into(_) => Gap::Always,
    });
    Gap::all(parts.collect::<Vec<_>>())
}

/// Returns the condition that no barrier lies between an access and the start of the statement that
/// contains its turns from `depth` on.
fn from_start(place: (Side, &Place), depth: usize, barriers: Barriers<'_>) -> Gap {
    let (side, place) = place;
    let parts = place.way.iter().skip(depth).map(|turn| match turn {
        Turn::At { body, index } => free(&body[..*index], barriers, &mut Passing::of(side)),
        Turn::Branch { .. } => Gap::Always,
        Turn::Into(of) if holds_sync(&of.body, barriers) => {
            let mut previous = Passing::of(side);
            previous.at.push((of.id, At::Previous));
            previous.certain = false;
            Gap::any([Gap::First(side, of.id), free(&of.body, barriers, &mut previous)])
        }
        Turn::Into(_) => Gap::Always,
    });
    Gap::all(parts.collect::<Vec<_>>())
}

/// A condition that the threads of a group must decide alike to pass its barriers together.
#[derive(Clone, Debug)]
pub struct Control {
    /// The condition.
    pub cond: ExprId,
    /// The loop that it is the condition of, if any.
    pub of: Option<LoopId>,
    /// Enclosing conditions, outermost first.
    pub guards: Vec<(ExprId, bool)>,
    /// Enclosing loops, outermost first.
    pub loops: Vec<LoopId>,
}

/// Returns the conditions around the barriers, or the reason why threads of the group may not pass
/// them together. Threads may decide `exits` differently.
pub fn controls(
    protocol: &Protocol,
    barriers: Barriers<'_>,
    exits: &[EarlyExit<'_>],
) -> Result<Vec<Control>, String> {
    let mut found = Vec::new();
    let mut walk = Walk { barriers, exits, guards: Vec::new(), loops: Vec::new(), found: &mut found };
    walk.body(&protocol.body)?;
    Ok(found)
}

struct Walk<'f> {
    barriers: Barriers<'f>,
    exits: &'f [EarlyExit<'f>],
    guards: Vec<(ExprId, bool)>,
    loops: Vec<LoopId>,
    found: &'f mut Vec<Control>,
}

impl Walk<'_> {
    fn push(&mut self, cond: ExprId, of: Option<LoopId>) {
        let (guards, loops) = (self.guards.clone(), self.loops.clone());
        self.found.push(Control { cond, of, guards, loops });
    }

    fn counts(&self, body: &[Stmt]) -> bool {
        any_sync(body, &|sync| self.barriers.count(sync))
    }

    fn may_be_any_sync(&self, mask: &ExprId) -> bool {
        matches!(self.barriers.group, Group::Lanes(_)) && !self.barriers.masks.contains_key(mask)
    }

    fn body(&mut self, body: &[Stmt]) -> Result<(), String> {
        for stmt in body {
            match stmt {
                Stmt::Unknown(unknown) if unknown.syncs => {
                    return Err(format!("{} may wait at a barrier", unknown.why));
                }
                Stmt::Sync(Sync::Named(sync)) if !self.barriers.named.is_apart(*sync) => {
                    return Err("a named barrier that may be another one".into());
                }
                Stmt::Sync(Sync::Lanes(mask)) if self.may_be_any_sync(mask) => {
                    return Err("a sync of lanes that are not known".into());
                }
                Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
                Stmt::If { cond, then, otherwise } => {
                    let syncs = self.counts(then) || self.counts(otherwise);
                    if syncs && !self.exits.iter().any(|exit| std::ptr::eq(exit.branch, stmt)) {
                        self.push(*cond, None);
                    }
                    for (value, branch) in [(true, then), (false, otherwise)] {
                        self.guards.push((*cond, value));
                        self.body(branch)?;
                        self.guards.pop();
                    }
                }
                Stmt::Loop(of) => {
                    let syncs = self.counts(&of.body);
                    self.loops.push(of.id);
                    if syncs {
                        self.push(of.cond, Some(of.id));
                    }
                    if of.test == Test::Before {
                        self.guards.push((of.cond, true));
                    }
                    if let Some(breaks) = of.breaks
                        && syncs
                        && breaks.uniform < self.barriers.group.uniform()
                    {
                        self.push(breaks.unless, Some(of.id));
                    }
                    self.body(&of.body)?;
                    if of.test == Test::Before {
                        self.guards.pop();
                    }
                    self.loops.pop();
                }
            }
        }
        Ok(())
    }
}

/// Returns the widest group whose threads all compute the same value in the same iterations of all
/// loops. It considers only operators, so the true group may be wider.
pub fn uniformity(protocol: &Protocol, exprs: &Exprs, id: ExprId) -> Uniform {
    let loops = crate::range::Loops::of(protocol);
    let (mut known, mut open) = (std::collections::HashMap::new(), Vec::new());
    uniformity_in(protocol, exprs, &loops, &mut known, &mut open, id)
}

fn uniformity_in(
    protocol: &Protocol,
    exprs: &Exprs,
    loops: &crate::range::Loops,
    known: &mut std::collections::HashMap<ExprId, Uniform>,
    open: &mut Vec<crate::expr::VarId>,
    id: ExprId,
) -> Uniform {
    if let Some(known) = known.get(&id) {
        return *known;
    }
    let found = match exprs.get(id) {
        Expr::Const { .. } | Expr::Param { .. } | Expr::Ntid(_) | Expr::Nctaid(_) => Uniform::Grid,
        Expr::DynamicShared | Expr::Iteration(_) => Uniform::Grid,
        Expr::Total { uniform, .. } => uniform,
        Expr::Ctaid(_) => Uniform::Block,
        Expr::Tid(_) | Expr::Lane => Uniform::Thread,
        Expr::Opaque { id, .. } => protocol.opaques.get(id.0 as usize).map_or(Uniform::Thread, |o| o.uniform),
        Expr::Var { id: var, .. } => match loops.vars.get(&var) {
            Some(info) if !open.contains(&var) => {
                open.push(var);
                let from = uniformity_in(protocol, exprs, loops, known, open, info.var.from);
                let step = match info.var.step {
                    Step::Add(step) => uniformity_in(protocol, exprs, loops, known, open, step),
                    Step::Any(uniform) => uniform,
                    Step::Mul(_) | Step::UDiv(_) | Step::SDiv(_) | Step::AShr(_) => Uniform::Grid,
                };
                open.pop();
                from.min(step)
            }
            _ => Uniform::Thread,
        },
        node => {
            let mut all = Uniform::Grid;
            for operand in node.operands() {
                all = all.min(uniformity_in(protocol, exprs, loops, known, open, operand));
            }
            all
        }
    };
    known.insert(id, found);
    found
}
