//! Ranges of tickets whose counter starts in the kernel: `if (threadIdx.x == 0) n = 0;`, a barrier,
//! `list[atomicAdd(&n, 1)] = i;`. And of what threads read from the counter: `if (threadIdx.x < n)`.
//!
//! # The rule
//! The block's first thread stores a constant to the counter in each iteration before the additions, as the rule of
//! [`crate::handed`] asks for. No other access writes to the counter, and barriers order the store with all
//! additions. Then a ticket is at least the constant. It is at most so much more as all additions of the block's
//! threads in this iteration together add, less its own.
//!
//! Barriers may order a read of the counter with the store and all additions, too. If the store comes before it in the
//! text as it does before the additions, the read yields a number of the range as well, or the number after it. If all
//! additions of the iteration come before it in the text, it yields the last number. So all such reads of one iteration
//! yield the same. This number is at least the ticket of each addition that is made, with what that one adds.
//!
//! That nothing else writes to the counter may itself rest on the ranges: threads store to places that they compute
//! from tickets. So the prover first supposes the ranges, and then shows the rest. Take the first ticket, or value
//! read, outside its range. All before it is as supposed, so the counter held a number of the range.

use std::collections::{BTreeSet, HashMap};

use gpurace_protocol::expr::{ExprId, LoopId, OpaqueId};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::place::{Place, Turn};
use gpurace_protocol::protocol::{ObjectId, Op, Protocol};
use gpurace_protocol::range::{Range, Ranges, View};

use crate::handed::{bytes, first_thread_stores, is_only_store};
use crate::tickets::{Addition, by_object, most_in_block};

/// The tickets of a counter that starts in the kernel.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The object that holds the counter.
    pub object: ObjectId,
    /// The loops around the store that starts it.
    pub loops: BTreeSet<LoopId>,
    /// The tickets and the values read, with their ranges.
    ranges: Vec<(OpaqueId, Range)>,
    /// The values read that are the last number of an iteration.
    last: Vec<OpaqueId>,
}

/// Returns the tickets that may have a range. It remains to show what may write to their counters, and when. `ordered`
/// has the values of loads that barriers order with all writes to their address, with the numbers of these accesses.
pub fn counted(protocol: &Protocol, launch: Option<&Launch>, ordered: &[(OpaqueId, usize)]) -> Vec<Counted> {
    if protocol.stored.is_empty() || protocol.opaques.iter().all(|opaque| opaque.ticket.is_none()) {
        return Vec::new();
    }
    let places = Place::all(protocol);
    let of = |(object, additions): (ObjectId, Vec<(OpaqueId, Addition)>)| {
        counted_in(protocol, launch, &places, (object, &additions), ordered)
    };
    by_object(protocol, &places).into_iter().filter_map(of).collect()
}

/// Returns the tickets of the counters in one object, if these start in the kernel.
fn counted_in(
    protocol: &Protocol,
    launch: Option<&Launch>,
    places: &[Place],
    (object, additions): (ObjectId, &[(OpaqueId, Addition)]),
    ordered: &[(OpaqueId, usize)],
) -> Option<Counted> {
    let width = protocol.exprs.width(additions.first()?.1.added);
    let made: Vec<&Place> = additions.iter().map(|(_, addition)| &places[addition.number]).collect();
    let mut starts = protocol.stored.iter().filter_map(|stored| {
        let start = protocol.exprs.as_const(stored.value)?;
        let store = Place::only(places, stored.site)?;
        let is_start = store.access.object == object
            && protocol.exprs.width(stored.value) == width
            && is_only_store(protocol, places, store, &made, width);
        is_start.then_some((i128::from(start), store))
    });
    let (Some((start, store)), None) = (starts.next(), starts.next()) else { return None };
    let loops = first_thread_stores(protocol, store, made[0])?;
    if made.iter().any(|place| first_thread_stores(protocol, store, place).as_ref() != Some(&loops)) {
        return None;
    }
    let mut ranges = Ranges::new(protocol, &protocol.exprs, launch);
    let mut by_place = HashMap::new();
    let mut least = Vec::new();
    for (ticket, addition) in additions {
        let added = ranges.computed(addition.added, View::Signed);
        if added.lo < 0 {
            return None;
        }
        let mut all = added.hi;
        for of in places[addition.number].loops().filter(|of| !loops.contains(&of.id)) {
            all = all.checked_mul(ranges.iterations(of.id).hi.checked_add(1)?.max(1))?;
        }
        by_place.insert(addition.number, all);
        least.push((*ticket, added.lo));
    }
    let by_thread = by_place.values().try_fold(0i128, |sum, all| sum.checked_add(*all))?;
    let end = start.checked_add(by_thread.checked_mul(most_in_block(protocol, launch)?)?)?;
    if end >= 1 << (width.bits() - 1) {
        return None;
    }
    let range = |(ticket, least): (OpaqueId, i128)| (ticket, Range::new(start, (end - least).max(start)));
    let mut ranges: Vec<_> = least.into_iter().map(range).collect();
    let mut last = Vec::new();
    for &(value, read) in ordered {
        let read = &places[read];
        if bytes(protocol, read) == bytes(protocol, store)
            && read.access.object == object
            && read.access.op == Op::Read
            && protocol.opaques[value.0 as usize].width == width
            && first_thread_stores(protocol, store, read).as_ref() == Some(&loops)
        {
            ranges.push((value, Range::new(start, end)));
            if made.iter().all(|addition| comes_first(addition, read, &loops)) {
                last.push(value);
            }
        }
    }
    Some(Counted { object, loops, ranges, last })
}

/// True if one access stands before the other in the text, in one iteration of these loops.
fn comes_first(first: &Place, then: &Place, loops: &BTreeSet<LoopId>) -> bool {
    let common = first.turns_with(then);
    let around = first.way[..common].iter().filter_map(|turn| match turn {
        Turn::Into(of) => Some(of.id),
        Turn::At { .. } | Turn::Branch { .. } => None,
    });
    let (Some(Turn::At { index, .. }), Some(Turn::At { index: later, .. })) =
        (first.way.get(common), then.way.get(common))
    else {
        return false;
    };
    index < later && around.collect::<BTreeSet<_>>() == *loops
}

/// What is known of the last numbers of counters.
#[derive(Clone, Debug, Default)]
pub struct LastNumbers {
    /// The values read that are another value, with that one.
    pub same: HashMap<OpaqueId, OpaqueId>,
    /// The tickets that are less than a last number, if they are drawn.
    pub below: HashMap<OpaqueId, Below>,
}

/// A ticket's last number.
#[derive(Clone, Debug)]
pub struct Below {
    /// The last number.
    pub last: OpaqueId,
    /// What the addition adds. The ticket and this are at most the last number.
    pub added: ExprId,
    /// The conditions under which a thread draws the ticket, in each iteration.
    pub guards: Vec<(ExprId, bool)>,
}

/// Returns what is known of the last numbers of counters.
pub fn last_numbers(protocol: &Protocol, counted: &[Counted]) -> LastNumbers {
    let places = Place::all(protocol);
    let additions = by_object(protocol, &places);
    let mut found = LastNumbers::default();
    for of in counted {
        let is_of_these_loops = |value: &OpaqueId| {
            let loops = &protocol.opaques[value.0 as usize].loops;
            loops.len() == of.loops.len() && loops.iter().all(|id| of.loops.contains(id))
        };
        let Some(&last) = of.last.iter().find(|value| is_of_these_loops(value)) else { continue };
        found.same.extend(of.last.iter().filter(|&&value| value != last).map(|&value| (value, last)));
        let made = additions.iter().filter(|(object, _)| *object == of.object).flat_map(|(_, all)| all);
        for (ticket, addition) in made {
            let place = &places[addition.number];
            if place.loops().map(|of| of.id).collect::<BTreeSet<_>>() == of.loops {
                let (added, guards) = (addition.added, place.guards());
                found.below.insert(*ticket, Below { last, added, guards });
            }
        }
    }
    found
}

/// Returns the protocol in which tickets and values read have these ranges.
pub fn with_ranges(mut protocol: Protocol, counted: &[Counted]) -> Protocol {
    for (value, range) in counted.iter().flat_map(|of| &of.ranges) {
        protocol.opaques[value.0 as usize].range = Some((range.lo as u64, range.hi as u64));
    }
    protocol
}
