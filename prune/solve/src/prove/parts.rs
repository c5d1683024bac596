//! Parts of shared memory: a struct of tiles and mbarriers, or all arrays of the dynamic shared memory.
//!
//! # The rule
//! Ranges show which bytes each access may touch, and where each arrival and wait finds its mbarrier. They assume
//! nothing. What may have a byte in common, by way of others too, is one part. So accesses to different parts share no
//! byte.
//!
//! A part is an array of mbarriers if all its accesses belong to arrivals, waits and initialisations, and all
//! initialisations have the count that the arrivals and waits suppose. No access through a pointer that the protocol
//! does not describe may reach it.

use std::collections::{BTreeMap, HashMap};

use gpurace_protocol::bounds::offsets;
use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::{ObjectId, ObjectKind, Protocol, SiteId, Space};
use gpurace_protocol::range::{Range, Ranges, View};

use super::Prover;
use super::phases::Step;
use crate::encode::Setting;

/// The bytes of an mbarrier.
const MBARRIER: i128 = 8;

/// The parts of shared objects, each by its first and last byte, in order.
#[derive(Debug, Default)]
pub(super) struct Parts {
    of: BTreeMap<ObjectId, Vec<Range>>,
    /// For each access, by its number: the bytes that it may touch.
    touched: HashMap<usize, Range>,
}

impl Parts {
    /// Returns the parts that these accesses, arrivals and waits show.
    pub fn new(setting: Setting<'_>, places: &[Place<'_>], arrays: &[Vec<Step<'_>>]) -> Self {
        let ranges = Ranges::new(setting.protocol, setting.exprs, setting.launch);
        let mut touched = HashMap::new();
        let mut all: BTreeMap<ObjectId, Vec<Range>> = BTreeMap::new();
        for place in places.iter().filter(|place| is_shared(setting.protocol, place.access.object)) {
            let bytes = offsets(&ranges, place);
            touched.insert(place.number, bytes);
            all.entry(place.access.object).or_default().push(bytes);
        }
        for step in arrays.iter().flatten() {
            all.entry(step.0.of).or_default().push(mbarrier(&ranges, step));
        }
        Self { of: all.into_iter().map(|(object, bytes)| (object, joined(bytes))).collect(), touched }
    }

    /// True if two accesses to one object share no byte.
    pub fn are_apart(&self, a: &Place<'_>, b: &Place<'_>) -> bool {
        let part = |place: &Place<'_>| {
            let bytes = self.touched.get(&place.number)?;
            self.of.get(&place.access.object)?.iter().position(|part| bytes.within(*part))
        };
        a.access.object == b.access.object
            && part(a).is_some_and(|own| part(b).is_some_and(|other| own != other))
    }
}

impl<'a> Prover<'a> {
    /// The arrivals and waits at each array of mbarriers, where those at one object are given.
    pub(super) fn by_part(&self, objects: Vec<Vec<Step<'a>>>) -> Vec<Vec<Step<'a>>> {
        let protocol = self.setting.protocol;
        let uses: HashMap<SiteId, Option<u32>> =
            protocol.mbarrier_uses.iter().map(|of| (of.site, of.count)).collect();
        let ranges = Ranges::new(protocol, self.setting.exprs, self.setting.launch);
        let mut all = Vec::new();
        for steps in objects {
            let Some((first, _)) = steps.first() else { continue };
            let own: Vec<_> = self.places.iter().filter(|place| place.access.object == first.of).collect();
            if !own.iter().any(|place| uses.contains_key(&place.access.site)) {
                all.push(steps);
                continue;
            }
            let is_reached = |place: &Place<'_>| {
                let kind = &protocol.objects[place.access.object.0 as usize].kind;
                matches!(kind, ObjectKind::Opaque { .. }) && kind.may_lie_in(Space::Shared)
            };
            if self.places.iter().any(is_reached) || self.unknowns.iter().any(|of| of.touches.is_some()) {
                continue;
            }
            for part in self.parts.of.get(&first.of).into_iter().flatten() {
                let is_in = |bytes: Range| bytes.within(*part);
                let steps: Vec<_> =
                    steps.iter().filter(|step| is_in(mbarrier(&ranges, step))).cloned().collect();
                let counts: Vec<_> = steps.iter().map(|(phase, _)| self.constant(phase.count)).collect();
                let mut accesses = own.iter().filter(|place| is_in(self.parts.touched[&place.number]));
                let is_known = |place: &&Place<'_>| match uses.get(&place.access.site) {
                    None => false,
                    Some(None) => true,
                    Some(Some(count)) => counts.iter().all(|of| *of == Some(u64::from(*count))),
                };
                if !steps.is_empty() && accesses.all(is_known) {
                    all.push(steps);
                }
            }
        }
        all
    }
}

fn is_shared(protocol: &Protocol, object: ObjectId) -> bool {
    let kind = protocol.objects.get(object.0 as usize).map(|object| &object.kind);
    matches!(kind, Some(ObjectKind::Shared { .. } | ObjectKind::DynamicShared))
}

/// The bytes of the mbarriers at which a thread may arrive or wait.
fn mbarrier(ranges: &Ranges<'_>, (phase, way): &Step<'_>) -> Range {
    let first = ranges.guarded(&gpurace_protocol::place::guards(way)).computed(phase.at, View::Signed);
    Range::new(first.lo, first.hi + MBARRIER - 1)
}

/// Byte ranges without a common byte that hold all of these.
fn joined(mut bytes: Vec<Range>) -> Vec<Range> {
    bytes.sort_unstable_by_key(|of| (of.lo, of.hi));
    let mut all: Vec<Range> = Vec::new();
    for of in bytes {
        match all.last_mut() {
            Some(last) if of.lo <= last.hi => *last = last.hull(of),
            _ => all.push(of),
        }
    }
    all
}
