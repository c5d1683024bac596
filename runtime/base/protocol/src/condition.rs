//! Conditions on a launch, which proofs need, and their evaluation.

use serde::{Deserialize, Serialize};

use crate::bounds::{self, Bounds};
use crate::expr::{ExprId, Exprs, Width};
use crate::launch::Launch;
use crate::place::Place;
use crate::protocol::{ObjectId, Protocol};
use crate::range::{Range, Ranges, View};
use crate::run::uniform_value;
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
    /// Accesses to one object and accesses to the other share no byte, except where both are reads.
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

/// True if the accesses to two objects touch disjoint addresses, except where both are reads.
///
/// If an object has memory of its own, its accesses must be shown to stay there: beyond it lies an
/// object that may be the other one.
fn disjoint(protocol: &Protocol, exprs: &Exprs, launch: &Launch, a: ObjectId, b: ObjectId) -> bool {
    let places = Place::all(protocol);
    let ranges = Ranges::new(protocol, exprs, Some(launch));
    let base = |object: ObjectId| {
        let extent = launch.objects.get(object.0 as usize).copied().flatten();
        extent.map(|extent| i128::from(extent.base))
    };
    let addresses = |object: ObjectId| {
        let bounds = Bounds::of(protocol, Some(launch), object)?;
        let base = base(object).unwrap_or_default();
        let of_object = places.iter().filter(|place| place.access.object == object);
        of_object
            .map(|place| {
                let bytes = bounds.clip(bounds::offsets(&ranges, place))?;
                let range = Range::new(base + bytes.lo, base + bytes.hi);
                range.within(Range::new(0, u64::MAX.into())).then_some((place.access.op.writes(), range))
            })
            .collect::<Option<Vec<_>>>()
    };
    let (Some(of_a), Some(of_b)) = (addresses(a), addresses(b)) else { return false };
    // Shared arrays have no addresses. Two of them lie apart.
    let have_addresses = base(a).is_some() && base(b).is_some();
    !have_addresses
        || of_a.iter().all(|(writes_a, x)| {
            of_b.iter().all(|(writes_b, y)| (!writes_a && !writes_b) || x.hi < y.lo || y.hi < x.lo)
        })
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
