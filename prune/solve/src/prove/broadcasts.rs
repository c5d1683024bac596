//! Values that threads hand to each other through memory, between barriers: one thread writes whether a loop
//! goes on, or which thread is to write, a barrier follows, and all threads read it.
//!
//! # The rule
//! Barriers order a read with each write to its address. Then all threads that make this read in one
//! iteration of the loops around it read one value, if they read from one address.
//!
//! Whether barriers do so may itself depend on the value: it decides whether threads reach them. So the prover
//! first supposes that the value is uniform, and then shows the order. If threads did read different values
//! in some execution, take the first read that differs from an earlier one. All before it is as supposed. A
//! write came between the two reads, so no barrier orders it with both, in contradiction to what was shown.
//!
//! The prover supposes this only of values that decide about barriers, or about writes, or how much an atomic adds, and
//! only if they are not uniform in another way.

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{Expr, ExprId, OpaqueId};
use gpurace_protocol::group::{Barriers, Group};
use gpurace_protocol::interval::{controls, uniformity};
use gpurace_protocol::lanes::KnownMasks;
use gpurace_protocol::named::KnownNamed;
use gpurace_protocol::place::{Place, Turn};
use gpurace_protocol::protocol::{ObjectKind, Protocol, Uniform};

use super::Prover;
use crate::alias::{Alias, alias};

/// A value of which the prover supposes that threads read it alike.
#[derive(Clone, Debug)]
pub(super) struct Supposed {
    /// The value.
    pub(super) value: OpaqueId,
    /// The number of the access that reads it.
    pub(super) read: usize,
    /// The group that reads it alike.
    uniform: Uniform,
}

/// Returns the values that decide about barriers or writes and may be read alike.
pub(super) fn supposed(protocol: &Protocol) -> Vec<Supposed> {
    if protocol.opaques.iter().all(|opaque| opaque.loaded_by.is_none()) {
        return Vec::new();
    }
    let (masks, named) = (KnownMasks::default(), KnownNamed::default());
    let decide = [Group::Block, Group::Grid].map(|group| {
        let all =
            controls(protocol, Barriers { group, masks: &masks, named: &named }, &[]).unwrap_or_default();
        (group, all)
    });
    let places = Place::all(protocol);
    let amounts = protocol.opaques.iter().filter_map(|opaque| Some(opaque.ticket?.added));
    let of_writes = places.iter().filter(|place| place.access.op.writes()).flat_map(deciders);
    let of_writes: BTreeSet<_> = of_writes.chain(amounts).collect();
    let mut found = Vec::new();
    for (index, opaque) in protocol.opaques.iter().enumerate() {
        let value = OpaqueId(index as u32);
        let Some(site) = opaque.loaded_by else { continue };
        let is = |node| matches!(node, Expr::Opaque { id, .. } if id == value);
        let mentions = |id| protocol.exprs.mentions(id, is);
        let wanted = of_writes.iter().any(|&id| mentions(id))
            || decide.iter().any(|(group, all)| {
                opaque.uniform < group.uniform() && all.iter().any(|control| mentions(control.cond))
            });
        let Some(place) = Place::only(&places, site).filter(|_| wanted) else { continue };
        let most = match protocol.objects[place.access.object.0 as usize].kind {
            ObjectKind::Shared { .. } | ObjectKind::DynamicShared => Uniform::Block,
            ObjectKind::Param(_) | ObjectKind::Variable { .. } => Uniform::Grid,
            _ => continue,
        };
        let uniform = uniformity(protocol, &protocol.exprs, place.access.offset).min(most);
        if uniform > opaque.uniform {
            found.push(Supposed { value, read: place.number, uniform });
        }
    }
    found
}

/// Returns the expressions that decide whether a thread makes an access, and where.
fn deciders<'a>(place: &'a Place<'_>) -> impl Iterator<Item = ExprId> + 'a {
    let conditions = place.way.iter().filter_map(|turn| match turn {
        Turn::Branch { cond, .. } => Some(*cond),
        Turn::Into(of) => Some(of.cond),
        Turn::At { .. } => None,
    });
    conditions.chain([place.access.offset])
}

/// Returns the protocol in which these values are as uniform as supposed.
pub(super) fn supposing(protocol: &Protocol, supposed: &[Supposed]) -> Protocol {
    let mut with = protocol.clone();
    for Supposed { value, uniform, .. } in supposed {
        with.opaques[value.0 as usize].uniform = *uniform;
    }
    with
}

impl Prover<'_> {
    /// Shows that the values are as supposed. The conditions for that become conditions of all proofs. Else
    /// returns those of which it could be shown.
    pub(super) fn show(&mut self, supposed: &[Supposed]) -> Result<(), Vec<Supposed>> {
        let mut conditions = BTreeSet::new();
        let mut shown = Vec::new();
        for of in supposed {
            if let Some(more) = self.ordered_with_writes(of.read) {
                conditions.extend(more);
                shown.push(of.clone());
            }
        }
        if shown.len() < supposed.len() {
            return Err(shown);
        }
        self.steady.extend(conditions);
        Ok(())
    }

    /// Returns the conditions under which barriers order a read with each write to its address.
    pub(super) fn ordered_with_writes(&mut self, read: usize) -> Option<BTreeSet<Condition>> {
        let object = self.places[read].access.object;
        if self.unseen_touching(object).is_some() {
            return None;
        }
        let mut conditions = BTreeSet::new();
        for write in 0..self.places.len() {
            let access = self.places[write].access;
            if !access.op.writes() {
                continue;
            }
            match alias(self.setting, object, access.object) {
                Alias::Never => {}
                Alias::Unless(condition) => {
                    conditions.insert(condition);
                }
                Alias::Same(apart) => conditions.extend(self.same_object(read, write, apart).ok()?),
                Alias::OnePointer(_) | Alias::Within(_) | Alias::Unknown(_) => return None,
            }
        }
        Some(conditions)
    }
}
