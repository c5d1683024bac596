//! Conditions on a launch, which proofs need, and their evaluation.

use serde::{Deserialize, Serialize};

use crate::arguments;
use crate::bounds::{self, Bounds};
use crate::expr::{ExprId, Exprs, Width};
use crate::launch::Launch;
use crate::place::Place;
use crate::protocol::{ObjectId, ObjectKind, Protocol};
use crate::range::{Range, Ranges, View};
use crate::uniform::uniform_value;
use crate::validate::Malformed;

/// A condition on one launch. Ids are those of
/// [`Verdicts::exprs`](crate::verdict::Verdicts::exprs) and of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Condition {
    /// A 1-bit expression over parameters, `blockDim` and `gridDim` is 1:
    /// `blockDim.y == 1`, `blockDim.x <= 256`, `n % blockDim.x == 0`.
    Holds(ExprId),
    /// The expression, computed without wrapping, fits its width in each thread and iteration that
    /// computes it.
    Fits {
        /// The expression.
        value: ExprId,
        /// True if it fits as a signed number, false if as an unsigned one.
        signed: bool,
        /// The condition is only about threads and iterations in which each of these 1-bit
        /// expressions has this value.
        guards: Vec<(ExprId, bool)>,
    },
    /// Accesses to one object and accesses to the other share no byte, except where both are reads, or
    /// where both are through the pointer at one place of the arguments ([`ObjectKind::Slot`]).
    /// No access leaves the memory of its object, unless that ends the launch.
    Disjoint(ObjectId, ObjectId),
}

impl Condition {
    /// True if the condition provably holds for a launch.
    pub fn holds(&self, protocol: &Protocol, exprs: &Exprs, launch: &Launch) -> bool {
        match self {
            Self::Holds(cond) => uniform_value(exprs, launch, *cond) == Some(1),
            Self::Fits { value, signed, guards } => {
                let view = if *signed { View::Signed } else { View::Unsigned };
                Ranges::new(protocol, exprs, Some(launch)).guarded(guards).fits(*value, view)
            }
            Self::Disjoint(a, b) => disjoint(protocol, exprs, launch, *a, *b),
        }
    }
}

/// Bytes that an access touches.
struct Reached {
    /// The place of its pointer in the argument buffer, if it lies there.
    slot: Option<i128>,
    writes: bool,
    /// Addresses; for shared arrays, offsets.
    bytes: Range,
}

/// True if the accesses to two objects touch disjoint addresses, except where both are reads, and
/// except through one pointer.
///
/// If an object has memory of its own, its accesses must be shown to stay there: beyond it lies an
/// object that may be the other one.
fn disjoint(protocol: &Protocol, exprs: &Exprs, launch: &Launch, a: ObjectId, b: ObjectId) -> bool {
    let places = Place::all(protocol);
    let ranges = Ranges::new(protocol, exprs, Some(launch));
    let computed = [a, b].iter().any(|object| is_computed(protocol, *object));
    // What an access may touch depends on its pointer: `if (i < m.view[k].n) m.view[k].data[i]`.
    [false, true].into_iter().any(|each_pointer| {
        let reached = |object: ObjectId| {
            let of_object = places.iter().filter(|place| place.access.object == object);
            let all = of_object.map(|place| reached(protocol, &ranges, launch, place, each_pointer));
            Some(all.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect::<Vec<_>>())
        };
        let (Some(of_a), Some(of_b)) = (reached(a), reached(b)) else { return false };
        // Shared arrays have no addresses. Two of them lie apart.
        let have_addresses = [a, b].iter().all(|object| has_address(protocol, launch, *object));
        !have_addresses
            || of_a.iter().all(|x| {
                of_b.iter().all(|y| {
                    let one_pointer = computed && x.slot.is_some() && x.slot == y.slot;
                    one_pointer
                        || (!x.writes && !y.writes)
                        || x.bytes.hi < y.bytes.lo
                        || y.bytes.hi < x.bytes.lo
                })
            })
    })
}

/// True if the object's pointer lies at a computed place of the arguments.
fn is_computed(protocol: &Protocol, object: ObjectId) -> bool {
    protocol.objects.get(object.0 as usize).is_some_and(|o| matches!(o.kind, ObjectKind::Slot { .. }))
}

fn has_address(protocol: &Protocol, launch: &Launch, object: ObjectId) -> bool {
    is_computed(protocol, object) || launch.objects.get(object.0 as usize).copied().flatten().is_some()
}

/// The bytes that an access may touch in a launch. `None` if they are not known.
fn reached(
    protocol: &Protocol,
    ranges: &Ranges<'_>,
    launch: &Launch,
    place: &Place<'_>,
    each_pointer: bool,
) -> Option<Vec<Reached>> {
    let object = place.access.object;
    let writes = place.access.op.writes();
    let at = |base: u64, bounds: Bounds, offsets: Range| {
        let bytes = bounds.clip(offsets)?;
        let bytes = Range::new(i128::from(base) + bytes.lo, i128::from(base) + bytes.hi);
        bytes.within(Range::new(0, u64::MAX.into())).then_some(bytes)
    };
    let kind = &protocol.objects.get(object.0 as usize)?.kind;
    if let ObjectKind::Slot { at: pointer } = kind {
        let slots = arguments::reached(ranges, place, *pointer)?;
        let all = (!each_pointer).then(|| bounds::offsets(ranges, place));
        return slots
            .into_iter()
            .map(|slot| {
                let extent = launch.computed.pointer(slot)?;
                let offsets = all.unwrap_or_else(|| bounds::offsets(&ranges.given(*pointer, slot), place));
                let bytes = at(extent.base, Bounds::behind(extent), offsets)?;
                Some(Reached { slot: Some(slot), writes, bytes })
            })
            .collect();
    }
    let slot = match kind {
        ObjectKind::Param(id) => Some(i128::from(protocol.params.get(id.0 as usize)?.offset)),
        _ => None,
    };
    let base = launch.objects.get(object.0 as usize).copied().flatten().map_or(0, |extent| extent.base);
    let bytes = at(base, Bounds::of(protocol, Some(launch), object)?, bounds::offsets(ranges, place))?;
    Some(vec![Reached { slot, writes, bytes }])
}

impl Condition {
    /// Checks that the condition's ids exist in the protocol. The protocol must have the
    /// expressions of the verdicts.
    pub fn check_ids(&self, protocol: &Protocol) -> Result<(), Malformed> {
        let expr = |id: ExprId, width: Option<Width>| {
            if id.0 as usize >= protocol.exprs.len() {
                return Err(Malformed::Missing { what: "expression", id: id.0 });
            }
            if width.is_some_and(|width| protocol.exprs.width(id) != width) {
                return Err(Malformed::Width(id.0));
            }
            Ok(())
        };
        match self {
            Self::Holds(cond) => expr(*cond, Some(Width::W1)),
            Self::Fits { value, guards, .. } => {
                expr(*value, None)?;
                guards.iter().try_for_each(|(cond, _)| expr(*cond, Some(Width::W1)))
            }
            Self::Disjoint(a, b) => [a, b].into_iter().try_for_each(|id| {
                if (id.0 as usize) < protocol.objects.len() {
                    Ok(())
                } else {
                    Err(Malformed::Missing { what: "object", id: id.0 })
                }
            }),
        }
    }
}
