//! Conditions on a launch, which proofs need, and their evaluation.

use serde::{Deserialize, Serialize};

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
/// An address of unknown range lies in the allocation that contains the object's base: no access
/// leaves the allocation of its pointer.
fn disjoint(protocol: &Protocol, exprs: &Exprs, launch: &Launch, a: ObjectId, b: ObjectId) -> bool {
    let places = Place::all(protocol);
    let ranges = Ranges::new(protocol, exprs, Some(launch));
    let bytes = |object: ObjectId| {
        places
            .iter()
            .filter(|place| place.access.object == object)
            .map(|place| {
                let range = bytes_of(&ranges, launch, place)?;
                Some((place.access.op.writes(), range))
            })
            .collect::<Option<Vec<_>>>()
    };
    let (Some(of_a), Some(of_b)) = (bytes(a), bytes(b)) else { return false };
    of_a.iter().all(|(writes_a, x)| {
        of_b.iter().all(|(writes_b, y)| (!writes_a && !writes_b) || x.hi < y.lo || y.hi < x.lo)
    })
}

/// Returns the first and last address that an access may touch, or `None` if they are unknown.
fn bytes_of(unguarded: &Ranges, launch: &Launch, place: &Place) -> Option<Range> {
    let extent = (*launch.objects.get(place.access.object.0 as usize)?)?;
    let mut ranges = unguarded.guarded(&place.guards());
    let offset = ranges.computed(place.access.offset, View::Signed);
    let size = ranges.computed(place.access.size, View::Unsigned);
    let base = i128::from(extent.base);
    let range = Range::new(base + offset.lo, base + offset.hi + size.hi - 1);
    let allocation = extent
        .allocation
        .map(|(start, end)| Range::new(i128::from(start), (i128::from(end) - 1).max(i128::from(start))));
    match allocation {
        Some(allocation) => Some(range.meet(allocation)),
        None => (range.lo >= 0 && range.hi <= i128::from(u64::MAX)).then_some(range),
    }
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
