//! Values loaded from memory that the kernel does not change. All threads that load from one
//! address see one value, in every iteration.
//!
//! If `i` is the same for all threads of a block, a loop from `row[i]` to `row[i + 1]` has the same
//! number of iterations for all of them, so it may contain a barrier. Memory stays unchanged if no
//! write of the kernel may touch it. If that requires disjoint arrays, every proof gets this
//! condition.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use gpurace_protocol::condition::Condition;
use gpurace_protocol::contents::may_touch_global;
use gpurace_protocol::expr::{Expr, ExprId, LoopId};
use gpurace_protocol::interval::uniformity;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::{ObjectId, ObjectKind, Protocol};
use gpurace_protocol::range::Loops;

use crate::alias::{Alias, alias};
use crate::counted::LastNumbers;
use crate::encode::{Setting, Wrap};

/// A protocol in which loaded values are as uniform as their addresses.
pub struct Steady {
    /// The protocol.
    pub protocol: Protocol,
    /// The conditions under which this protocol describes the kernel.
    pub conditions: BTreeSet<Condition>,
}

/// Returns the protocol with each value from unchanged memory as uniform as its address. It varies in no more loops.
pub fn steady(protocol: &Protocol, launch: Option<&Launch>) -> Steady {
    let mut found = Steady { protocol: protocol.clone(), conditions: BTreeSet::new() };
    let loads = loads(protocol, launch);
    // An address may depend on another loaded value, so this repeats until nothing changes.
    loop {
        let mut changed = false;
        for (opaque, load) in &loads {
            let group = uniformity(&found.protocol, &protocol.exprs, load.offset);
            let known = &mut found.protocol.opaques[*opaque];
            let in_fewer =
                load.conditions.is_empty() && known.loops.iter().any(|of| !load.loops.contains(of));
            if group > known.uniform || in_fewer {
                known.uniform = group.max(known.uniform);
                known.loops.retain(|of| load.loops.contains(of));
                found.conditions.extend(load.conditions.iter().cloned());
                changed = true;
            }
        }
        if !changed {
            return found;
        }
    }
}

/// A load from memory that does not change while the kernel runs.
struct Load {
    offset: ExprId,
    /// The loops whose iterations may change the address.
    loops: Vec<LoopId>,
    conditions: BTreeSet<Condition>,
}

/// Returns the opaque values that are loaded from unchanged memory, by number, with their loads.
fn loads(protocol: &Protocol, launch: Option<&Launch>) -> Vec<(usize, Load)> {
    if protocol.opaques.iter().all(|opaque| opaque.loaded_by.is_none()) {
        return Vec::new();
    }
    let next = HashMap::new();
    let handed = OnceCell::new();
    let exprs = &protocol.exprs;
    let last = LastNumbers::default();
    let setting =
        Setting { protocol, exprs, launch, wrap: Wrap::Exact, next: &next, handed: &handed, last: &last };
    let places = Place::all(protocol);
    let mut found = Vec::new();
    for (index, opaque) in protocol.opaques.iter().enumerate() {
        let Some(site) = opaque.loaded_by else { continue };
        let Some(place) = Place::only(&places, site) else { continue };
        let (object, offset) = (place.access.object, place.access.offset);
        let Some(conditions) = unchanged(setting, &places, object) else { continue };
        let loops = varies_in(protocol, offset);
        found.push((index, Load { offset, loops, conditions }));
    }
    found
}

/// Returns the conditions under which the kernel does not change an object; `None` if it may change
/// it in any launch.
fn unchanged(setting: Setting, places: &[Place], object: ObjectId) -> Option<BTreeSet<Condition>> {
    let kind = &setting.protocol.objects[object.0 as usize].kind;
    if !matches!(kind, ObjectKind::Param(_) | ObjectKind::Variable { .. }) {
        return None;
    }
    if may_touch_global(&setting.protocol.body) {
        return None;
    }
    let written: BTreeSet<_> =
        places.iter().filter(|place| place.access.op.writes()).map(|place| place.access.object).collect();
    let mut conditions = BTreeSet::new();
    for other in written {
        match alias(setting, object, other) {
            Alias::Never => {}
            Alias::Unless(condition) => {
                conditions.insert(condition);
            }
            Alias::Same(_) | Alias::OnePointer(_) | Alias::Within(_) | Alias::Unknown(_) => return None,
        }
    }
    Some(conditions)
}

/// Returns the loops whose iterations may change the value of an expression.
fn varies_in(protocol: &Protocol, id: ExprId) -> Vec<LoopId> {
    let loops = Loops::of(protocol);
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut pending = vec![id];
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = protocol.exprs.get(id);
        pending.extend(node.operands());
        match node {
            Expr::Iteration(of) => {
                found.insert(of);
            }
            Expr::Total { of, .. } => {
                found.insert(of);
                found.extend(loops.around.get(&of).into_iter().flatten());
            }
            Expr::Var { id, .. } => {
                if let Some(info) = loops.vars.get(&id) {
                    found.insert(info.of.id);
                    pending.push(info.var.from);
                    if let gpurace_protocol::protocol::Step::Add(step) = info.var.step {
                        pending.push(step);
                    }
                }
            }
            Expr::Opaque { id, .. } => found.extend(&protocol.opaques[id.0 as usize].loops),
            _ => {}
        }
    }
    found.into_iter().collect()
}
