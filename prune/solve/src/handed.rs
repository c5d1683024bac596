//! Values that one thread hands to its block through shared memory:
//! `if (threadIdx.x == 0) item = atomicAdd(&next, 1);`, a barrier, `i = item`.
//!
//! # The rule
//! One store and one load are of the same bytes, and no other access writes to these. All threads of a block decide
//! alike about what leads to both. Beyond that, the store's guards let the first thread through, and depend on the
//! thread alone. The store comes first in the text, in some of the loops around the load. No two threads
//! store without order, and barriers order the load with each store. Then the load yields what the first
//! thread has stored in the same iteration:
//!
//! - The first thread stores in each iteration, and no other thread does, since they would do so without order.
//! - Its store of this iteration comes before the load in the text. Both are in order, so it comes first.
//! - Its store of another iteration lies before that one, or behind the load: the threads of a block pass the
//!   same barriers in the same order.

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{BinOp, Expr, ExprId, Exprs, LoopId, OpaqueId, Width};
use gpurace_protocol::fold;
use gpurace_protocol::interval::uniformity;
use gpurace_protocol::place::{Place, Turn, parts_before};
use gpurace_protocol::protocol::{ObjectKind, Op, Protocol, Uniform};

/// A value that threads of a block load after the first one has stored it.
#[derive(Clone, Debug)]
pub struct Handed {
    /// The opaque value that is loaded.
    pub value: OpaqueId,
    /// What is stored.
    pub stored: ExprId,
    /// The loops around the store.
    pub loops: BTreeSet<LoopId>,
    /// The number of the access that stores.
    pub store: usize,
    /// The number of the access that loads.
    pub load: usize,
    /// The conditions under which the load yields what is stored.
    pub conditions: BTreeSet<Condition>,
}

/// Returns the values that threads may hand to their blocks. It remains to show that barriers order the accesses.
pub fn handed(protocol: &Protocol) -> Vec<Handed> {
    let places = Place::all(protocol);
    let mut found = Vec::new();
    for stored in &protocol.stored {
        let Some(store) = Place::only(&places, stored.site) else { continue };
        if protocol.exprs.as_const(stored.value).is_some() {
            continue;
        }
        for (index, opaque) in protocol.opaques.iter().enumerate() {
            let Some(site) = opaque.loaded_by else { continue };
            let Some(load) = Place::only(&places, site) else { continue };
            if opaque.width == protocol.exprs.width(stored.value)
                && opaque.argument.is_none()
                && load.access.op == Op::Read
                && is_only_store(protocol, &places, store, &[load], opaque.width)
                && let Some(loops) = first_thread_stores(protocol, store, load)
                && loops.iter().all(|of| opaque.loops.contains(of))
            {
                found.push(Handed {
                    value: OpaqueId(index as u32),
                    stored: stored.value,
                    loops,
                    store: store.number,
                    load: load.number,
                    conditions: BTreeSet::new(),
                });
            }
        }
    }
    found
}

/// Returns the first byte of an access and how many there are, if both are constants.
pub fn bytes(protocol: &Protocol, place: &Place) -> Option<(i64, u64)> {
    let exprs = &protocol.exprs;
    Some((exprs.as_const(place.access.offset)? as i64, exprs.as_const(place.access.size)?))
}

/// True if a store and the other accesses are of the same bytes of shared memory, and hold a whole value of this
/// width, and no further access of their object writes to these bytes.
pub fn is_only_store(
    protocol: &Protocol,
    places: &[Place],
    store: &Place,
    others: &[&Place],
    width: Width,
) -> bool {
    let bytes = |place: &Place| bytes(protocol, place);
    let object = store.access.object;
    let kind = &protocol.objects[object.0 as usize].kind;
    let Some(own) = bytes(store) else { return false };
    let elsewhere = |place: &Place| match bytes(place) {
        Some((at, size)) => {
            i128::from(at) + i128::from(size) <= own.0.into()
                || i128::from(own.0) + i128::from(own.1) <= at.into()
        }
        None => false,
    };
    let is_known = |place: &Place| {
        place.number == store.number || others.iter().any(|other| other.number == place.number)
    };
    let mut writes = places.iter().filter(|place| place.access.object == object && place.access.op.writes());
    matches!(kind, ObjectKind::Shared { .. } | ObjectKind::DynamicShared)
        && store.access.op == Op::Write
        && own.1.checked_mul(8) == Some(width.bits().into())
        && others.iter().all(|other| other.access.object == object && bytes(other) == Some(own))
        && writes.all(|place| is_known(place) || elsewhere(place))
}

/// Returns the loops around a store if the first thread of each block makes it in each iteration before another
/// access.
pub fn first_thread_stores(protocol: &Protocol, store: &Place, then: &Place) -> Option<BTreeSet<LoopId>> {
    let alike = |cond| uniformity(protocol, &protocol.exprs, cond) >= Uniform::Block;
    let common = parts_before(&store.way, &then.way)?;
    for turn in &store.way[..common] {
        match turn {
            Turn::At { .. } => {}
            Turn::Branch { cond, .. } if alike(*cond) => {}
            Turn::Into(of) if alike(of.cond) && of.breaks.is_none_or(|breaks| alike(breaks.unless)) => {}
            Turn::Branch { .. } | Turn::Into(_) => return None,
        }
    }
    for turn in &store.way[common..] {
        match turn {
            Turn::At { .. } => {}
            Turn::Branch { cond, value }
                if of_first_thread(&protocol.exprs, *cond) == Some(u64::from(*value)) => {}
            Turn::Branch { .. } | Turn::Into(_) => return None,
        }
    }
    Some(store.loops().map(|of| of.id).collect())
}

/// The value of an expression in a block's first thread, if it depends on the thread's index alone.
fn of_first_thread(exprs: &Exprs, id: ExprId) -> Option<u64> {
    let value = |id| of_first_thread(exprs, id);
    Some(match exprs.get(id) {
        Expr::Const { bits, .. } => bits,
        Expr::Tid(_) | Expr::Lane => 0,
        // `threadIdx.y * blockDim.x`
        Expr::Bin(BinOp::Mul, a, b) if value(a) == Some(0) || value(b) == Some(0) => 0,
        Expr::Bin(op, a, b) => fold::apply(op, exprs.width(a), value(a)?, value(b)?)?,
        Expr::Cmp(op, a, b) => u64::from(fold::compare(op, exprs.width(a), value(a)?, value(b)?)),
        Expr::Select(c, a, b) => {
            let chosen = if value(c)? == 1 { a } else { b };
            value(chosen)?
        }
        Expr::Cast(cast, width, a) => fold::convert(cast, exprs.width(a), width, value(a)?),
        Expr::Ntid(_)
        | Expr::Nctaid(_)
        | Expr::DynamicShared
        | Expr::Ctaid(_)
        | Expr::Param { .. }
        | Expr::Var { .. }
        | Expr::Iteration(_)
        | Expr::Total { .. }
        | Expr::Opaque { .. } => return None,
    })
}
