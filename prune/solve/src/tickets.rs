//! Tickets: the values that atomic additions return. Threads that take places in an array by
//! `i = atomicAdd(&n, 1)` get places of their own.
//!
//! # The rule
//! Atomic additions to one counter happen one after the other. If all of them add numbers of one sign, and
//! nothing else changes the counter, one that returns `a` and adds `k` takes the numbers from `a` to
//! `a + k - 1`, modulo `2^width`. No other one takes any of these, until the counter has gone once through
//! all its values. So for two threads' additions with `a <= b`, `a + k <= b` and `b + l <= a + 2^width`.
//!
//! A counter's tickets are distinct if all of this is shown:
//!
//! - All other accesses that may write to the counter are plain writes, and barriers order each of them
//!   with all additions. A write in a loop with the additions starts the count anew: then the rule holds for
//!   tickets of one iteration.
//! - The numbers that a launch takes do not exceed `2^width`. Each loop around an addition has a known
//!   number of iterations, or the ticket decides whether the innermost one goes on: `if (i >= n) break;`. Only tickets
//!   of some range go on, and each number is taken once. So all iterations but a thread's last one take few
//!   numbers more than this range has.
//! - The additions are atomic to all threads that make them.

use std::collections::{BTreeSet, HashMap};

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{Axis, BinOp, CmpOp, Expr, ExprId, Exprs, LoopId, OpaqueId, Width};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::{ObjectId, ObjectKind, Op, Protocol, Scope, Test};
use gpurace_protocol::range::{Range, Ranges, View, most_threads, special};

use crate::encode::{Encoder, FIRST_OF_BLOCK, Frame};
use crate::handed::Handed;
use crate::linear::{Encoded, Formula, Lin};
use crate::pair::Relation;

/// The most tickets of one thread in a query with facts about them.
const MOST: usize = 8;

/// A ticket that a query mentions.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The opaque value.
    pub ticket: OpaqueId,
    /// The thread: 0 or 1, or the first one of a block ([`FIRST_OF_BLOCK`]).
    pub side: usize,
    /// The iterations of the loops around the addition.
    pub at: Vec<(LoopId, Lin)>,
    /// The value, unsigned.
    pub value: Lin,
}

impl Drawn {
    /// The block: that of thread 0 or 1.
    fn block(&self) -> usize {
        self.side % FIRST_OF_BLOCK
    }

    /// The iteration of a loop around the addition.
    fn iteration(&self, of: LoopId) -> Option<&Lin> {
        self.at.iter().find(|(id, _)| *id == of).map(|(_, k)| k)
    }
}

/// An atomic addition whose result is used.
#[derive(Clone, Debug)]
pub struct Addition {
    /// The number of its access.
    pub number: usize,
    /// The counter's first byte, from the object's base.
    offset: ExprId,
    /// What it adds.
    pub added: ExprId,
}

/// The counters in one object.
#[derive(Clone, Debug)]
pub struct Counter {
    /// The object.
    pub object: ObjectId,
    /// The additions to them, with the opaque values that they return.
    pub additions: Vec<(OpaqueId, Addition)>,
    /// Each block has its own.
    of_block: bool,
    /// The additions add negative numbers.
    down: bool,
    /// The conditions under which tickets are distinct.
    pub conditions: BTreeSet<Condition>,
    /// Tickets are distinct in one iteration of these loops.
    pub starts_anew_in: BTreeSet<LoopId>,
    /// The handed values on which the number of tickets rests.
    pub rests_on: BTreeSet<OpaqueId>,
}

/// The counters of a kernel whose tickets are distinct.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// The counters.
    pub all: Vec<Counter>,
}

impl Counters {
    /// The counter of a ticket, and the addition that returns it.
    fn of(&self, ticket: OpaqueId) -> Option<(&Counter, &Addition)> {
        self.all.iter().find_map(|counter| {
            let found = counter.additions.iter().find(|(id, _)| *id == ticket);
            found.map(|(_, addition)| (counter, addition))
        })
    }
}

/// Returns the counters whose additions alone give distinct tickets. Other writes are left to look at.
/// Adds the expressions of conditions to the arena.
pub fn counters(
    protocol: &Protocol,
    exprs: &mut Exprs,
    launch: Option<&Launch>,
    handed: &[Handed],
) -> Vec<Counter> {
    if protocol.opaques.iter().all(|opaque| opaque.ticket.is_none()) {
        return Vec::new();
    }
    let places = Place::all(protocol);
    let found = by_object(protocol, &places).into_iter().map(|(object, additions)| {
        let taken = taken(protocol, &places, launch, handed, object, &additions)?;
        let limit = ((1i128 << taken.width.bits()) - taken.by_all) / taken.by_thread;
        let conditions = at_most(protocol, exprs, launch, taken.of_block, limit)?;
        let Taken { of_block, down, rests_on, .. } = taken;
        let starts_anew_in = BTreeSet::new();
        Some(Counter { object, additions, of_block, down, conditions, starts_anew_in, rests_on })
    });
    found.flatten().collect()
}

/// Returns the additions whose results are used, by the objects that hold their counters.
pub fn by_object(protocol: &Protocol, places: &[Place]) -> Vec<(ObjectId, Vec<(OpaqueId, Addition)>)> {
    let mut objects: Vec<(ObjectId, Vec<(OpaqueId, Addition)>)> = Vec::new();
    for (index, opaque) in protocol.opaques.iter().enumerate() {
        let Some(ticket) = opaque.ticket else { continue };
        let Some(place) = Place::only(places, ticket.site) else { continue };
        let (object, offset) = (place.access.object, place.access.offset);
        let addition = Addition { number: place.number, offset, added: ticket.added };
        let addition = (OpaqueId(index as u32), addition);
        match objects.iter_mut().find(|(of, _)| *of == object) {
            Some((_, all)) => all.push(addition),
            None => objects.push((object, vec![addition])),
        }
    }
    objects
}

/// The numbers that the additions of one object take.
struct Taken {
    width: Width,
    /// At most so many by each thread, at least 1.
    by_thread: i128,
    /// And so many by all threads together.
    by_all: i128,
    of_block: bool,
    down: bool,
    /// The handed values on which this rests.
    rests_on: BTreeSet<OpaqueId>,
}

/// Returns the numbers that the additions of one object take. `None` if they alone may give one number to two threads.
fn taken(
    protocol: &Protocol,
    places: &[Place],
    launch: Option<&Launch>,
    handed: &[Handed],
    object: ObjectId,
    additions: &[(OpaqueId, Addition)],
) -> Option<Taken> {
    let of_block = match protocol.objects.get(object.0 as usize)?.kind {
        ObjectKind::Shared { .. } | ObjectKind::DynamicShared => true,
        ObjectKind::Param(_) | ObjectKind::Variable { .. } => false,
        ObjectKind::Slot { .. }
        | ObjectKind::Image(_)
        | ObjectKind::GridBarrier
        | ObjectKind::Unshared
        | ObjectKind::Opaque { .. } => return None,
    };
    let width = protocol.exprs.width(additions.first()?.1.added);
    let mut ranges = Ranges::new(protocol, &protocol.exprs, launch);
    let (mut by_place, mut signs) = (HashMap::new(), Range::one(0));
    let (mut by_all, mut rests_on) = (0i128, BTreeSet::new());
    for (ticket, addition) in additions {
        let place = &places[addition.number];
        let Op::Atomic { scope, writes: true } = place.access.op else { return None };
        if !of_block && scope < Scope::Device {
            return None;
        }
        let bytes = protocol.exprs.as_const(place.access.size)?;
        if protocol.exprs.width(addition.added) != width || bytes * 8 != u64::from(width.bits()) {
            return None;
        }
        // A query may mention the ticket of an addition that the thread does not make. So the range rests on no
        // guard.
        let added = ranges.computed(addition.added, View::Signed);
        signs = Range::new(signs.lo.min(added.lo), signs.hi.max(added.hi));
        let mut taken = added.hi.max(-added.lo);
        // Room for the tickets of additions that no thread makes.
        if taken.checked_mul(4 * MOST as i128)? > 1 << width.bits() {
            return None;
        }
        let mut loops: Vec<_> = place.loops().map(|of| of.id).collect();
        if let Some((going_on, by)) = going_on(protocol, places, &ranges, handed, *ticket, place)
            && loops.last().is_some_and(|of| going_on < ranges.iterations(*of).hi)
        {
            by_all = by_all.checked_add(going_on.checked_add(taken)? - 1)?;
            rests_on.extend(by);
            loops.pop();
        }
        for of in loops {
            let iterations = ranges.iterations(of).hi.checked_add(1)?;
            taken = taken.checked_mul(iterations.max(1))?;
        }
        by_place.insert(addition.number, taken);
    }
    let by_thread = by_place.values().try_fold(0i128, |sum, taken| sum.checked_add(*taken))?;
    let one_sign = signs.lo >= 0 || signs.hi <= 0;
    let (by_thread, down) = (by_thread.max(1), signs.lo < 0);
    one_sign.then_some(Taken { width, by_thread, by_all, of_block, down, rests_on })
}

/// Returns the number of tickets after which the innermost loop around an addition goes on, and the handed value
/// that this rests on, if any.
fn going_on(
    protocol: &Protocol,
    places: &[Place],
    ranges: &Ranges,
    handed: &[Handed],
    ticket: OpaqueId,
    place: &Place,
) -> Option<(i128, Option<OpaqueId>)> {
    let of = place.loops().last()?;
    let conds = (of.test == Test::After).then_some(of.cond).into_iter();
    let conds: Vec<_> = conds.chain(of.breaks.map(|breaks| breaks.unless)).map(|cond| (cond, true)).collect();
    if conds.is_empty() {
        return None;
    }
    let guarded = ranges.guarded(&conds);
    let exprs = &protocol.exprs;
    let width = protocol.opaques[ticket.0 as usize].width;
    let own = exprs.find(Expr::Opaque { id: ticket, width })?;
    // The first thread alone takes tickets, and all decide by what it has taken.
    let told = handed.iter().filter(|told| {
        is_moved(exprs, told.stored, own)
            && places[told.store].guards() == place.guards()
            && told.loops.contains(&of.id)
    });
    let told = told.map(|told| (told.value, Some(told.value)));
    let sizes = [(ticket, None)].into_iter().chain(told).filter_map(|(id, by)| {
        let value = exprs.find(Expr::Opaque { id, width })?;
        let size = |view| {
            let range = guarded.guarded(&[]).computed(value, view);
            (range.hi - range.lo + 1).max(0)
        };
        Some((size(View::Unsigned).min(size(View::Signed)), by))
    });
    sizes.min()
}

/// True if a value is another one at a constant distance, so that each has as many values.
fn is_moved(exprs: &Exprs, id: ExprId, of: ExprId) -> bool {
    let constant = |id| exprs.as_const(id).is_some();
    match exprs.get(id) {
        _ if id == of => true,
        Expr::Bin(BinOp::Add, a, b) => a == of && constant(b) || b == of && constant(a),
        Expr::Bin(BinOp::Sub, a, b) => a == of && constant(b),
        _ => false,
    }
}

/// Returns the most threads of a block; `None` if that is too big a number.
pub fn most_in_block(protocol: &Protocol, launch: Option<&Launch>) -> Option<i128> {
    Some(most_of(Expr::Ntid, protocol, launch)?.min(most_threads(protocol)))
}

/// Returns the largest product of these sizes in all dimensions.
fn most_of(size: fn(Axis) -> Expr, protocol: &Protocol, launch: Option<&Launch>) -> Option<i128> {
    let dims = Axis::ALL.map(|axis| special(size(axis), protocol, launch).hi);
    dims.into_iter().try_fold(1i128, i128::checked_mul)
}

/// Returns the conditions under which at most `limit` threads share a counter. `None` if more may.
fn at_most(
    protocol: &Protocol,
    exprs: &mut Exprs,
    launch: Option<&Launch>,
    of_block: bool,
    limit: i128,
) -> Option<BTreeSet<Condition>> {
    let in_block = most_in_block(protocol, launch)?;
    let in_all = match of_block {
        true => Some(in_block),
        false => most_of(Expr::Nctaid, protocol, launch)?.checked_mul(in_block),
    };
    if in_all.is_some_and(|most| most <= limit) {
        return Some(BTreeSet::new());
    }
    if of_block || launch.is_some() || limit < 1 {
        return None;
    }
    // Without wrapping: CUDA's limits keep both products below 2^63.
    let mut all = |node: fn(Axis) -> Expr| {
        let dims = Axis::ALL.map(|axis| {
            let dim = exprs.add(node(axis));
            exprs.zext(Width::W64, dim)
        });
        let layer = exprs.product(dims[0], dims[1]);
        exprs.product(layer, dims[2])
    };
    let (blocks, threads) = (all(Expr::Nctaid), all(Expr::Ntid));
    let limit = exprs.constant(Width::W64, u64::try_from(limit).unwrap_or(u64::MAX) as i64);
    let limit = exprs.bin(BinOp::UDiv, limit, threads);
    Some(BTreeSet::from([Condition::Holds(exprs.cmp(CmpOp::Ule, blocks, limit))]))
}

/// Adds the facts that tickets are distinct, and the conditions for them.
pub fn add_facts(encoder: &mut Encoder, counters: &Counters, relation: Relation) -> Encoded<()> {
    if relation == Relation::OwnThread {
        // Both sides may have the same ticket.
        return Ok(());
    }
    let mut drawn = std::mem::take(&mut encoder.seen.drawn);
    drawn.truncate(2 * MOST);
    for (n, x) in drawn.iter().enumerate() {
        for y in &drawn[..n] {
            let (Some((of, x_addition)), Some((other, y_addition))) =
                (counters.of(x.ticket), counters.of(y.ticket))
            else {
                continue;
            };
            let other_block = relation == Relation::OtherBlock && x.block() != y.block();
            if of.object != other.object || of.of_block && other_block {
                continue;
            }
            let mut meet = Vec::new();
            for of in &of.starts_anew_in {
                let (Some(k), Some(l)) = (x.iteration(*of), y.iteration(*of)) else { break };
                meet.push(Formula::eq(k, l)?);
            }
            if meet.len() < of.starts_anew_in.len() {
                continue;
            }
            if x_addition.number == y_addition.number && !other_block {
                meet.push(are_two(encoder, x, y)?);
            }
            let (x_at, x_from, x_to) = numbers(encoder, of, x, x_addition)?;
            let (y_at, y_from, y_to) = numbers(encoder, of, y, y_addition)?;
            meet.push(Formula::eq(&x_at, &y_at)?);
            // The numbers form a circle.
            let all = 1i128 << encoder.setting.exprs.width(x_addition.added).bits();
            let apart = Formula::any([
                Formula::all([Formula::le(&x_to, &y_from)?, Formula::le(&y_to, &x_from.shifted(all)?)?]),
                Formula::all([Formula::le(&y_to, &x_from)?, Formula::le(&x_to, &y_from.shifted(all)?)?]),
            ]);
            encoder.facts.push(Formula::all(meet).implies(apart));
            encoder.needs.extend(of.conditions.iter().cloned());
        }
    }
    Ok(())
}

/// Returns the formula that two tickets of one addition, in one block, are not the same one: the threads or
/// the iterations differ.
fn are_two(encoder: &mut Encoder, x: &Drawn, y: &Drawn) -> Encoded<Formula> {
    let mut differ = Vec::new();
    if x.side != y.side {
        for axis in Axis::ALL {
            let (own, other) = (encoder.tid(x.side, axis)?, encoder.tid(y.side, axis)?);
            differ.push(Formula::eq(&own, &other)?.negated());
        }
    }
    for (of, k) in &x.at {
        // In a loop that one of them does not name, the iteration may be the same.
        if let Some(l) = y.iteration(*of) {
            differ.push(Formula::eq(k, l)?.negated());
        }
    }
    Ok(Formula::any(differ))
}

/// Returns the place of a counter, and the numbers that an addition takes: the first one, and the one behind
/// the last.
fn numbers(
    encoder: &mut Encoder,
    of: &Counter,
    drawn: &Drawn,
    addition: &Addition,
) -> Encoded<(Lin, Lin, Lin)> {
    let mut frame = Frame::uncertain(encoder.setting, drawn.side, drawn.at.iter().cloned().collect());
    let at = encoder.computed(&mut frame, addition.offset, View::Signed)?;
    let added = encoder.computed(&mut frame, addition.added, View::Signed)?;
    let after = drawn.value.plus(1, &added)?;
    Ok(if of.down { (at, after, drawn.value.clone()) } else { (at, drawn.value.clone(), after) })
}
