//! Conditions on a launch, which proofs need, and their evaluation.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use crate::arguments;
use crate::bounds::{self, Bounds};
use crate::expr::{ExprId, Exprs, Width};
use crate::launch::Launch;
use crate::place::Place;
use crate::protocol::{ObjectId, ObjectKind, Protocol, Space};
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
        ConditionTest::new(protocol, exprs, launch, None).holds(self)
    }
}

/// The bytes that accesses name in any launch, by object: from its base, and whether some access writes.
/// `None` for an object at a computed place of the arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnyLaunch(Vec<Option<Vec<(Range, bool)>>>);

impl AnyLaunch {
    /// What the accesses of a protocol name.
    pub fn of(protocol: &Protocol) -> Self {
        let is_computed = |id| is_computed(protocol, ObjectId(id));
        let none = |id| (!is_computed(id)).then(Vec::new);
        let mut all: Vec<Option<Vec<(Range, bool)>>> = (0..protocol.objects.len() as u32).map(none).collect();
        let ranges = Ranges::new(protocol, &protocol.exprs, None);
        for place in Place::all(protocol) {
            let Some(Some(named)) = all.get_mut(place.access.object.0 as usize) else { continue };
            let (bytes, writes) = (bounds::offsets(&ranges, &place), place.access.op.writes());
            match named.iter_mut().find(|(_, alike)| *alike == writes) {
                Some((all, _)) => *all = all.hull(bytes),
                None => named.push((bytes, writes)),
            }
        }
        Self(all)
    }

    /// The bytes that accesses to an object may touch in a launch. `None` if they are not known.
    fn reached(&self, protocol: &Protocol, launch: &Launch, object: ObjectId) -> Option<Vec<Reached>> {
        let named = self.0.get(object.0 as usize)?.as_ref()?;
        let bounds = Bounds::of(protocol, Some(launch), object)?;
        let base = base_of(launch, object);
        let reached = |(bytes, writes): &(Range, bool)| {
            Some(Reached { slot: None, writes: *writes, bytes: addresses(base, bounds, *bytes)? })
        };
        named.iter().map(reached).collect()
    }
}

/// Tests conditions on one launch.
pub struct ConditionTest<'a> {
    protocol: &'a Protocol,
    exprs: &'a Exprs,
    launch: &'a Launch,
    /// Tells most objects apart without a look at the launch's values.
    any: Option<&'a AnyLaunch>,
    ranges: OnceCell<Ranges<'a>>,
    /// The accesses, and the bytes that they name.
    places: OnceCell<Vec<(Place<'a>, OnceCell<Range>)>>,
}

impl<'a> ConditionTest<'a> {
    /// Tests of a launch. `exprs` are the expressions of the conditions.
    pub fn new(
        protocol: &'a Protocol,
        exprs: &'a Exprs,
        launch: &'a Launch,
        any: Option<&'a AnyLaunch>,
    ) -> Self {
        Self { protocol, exprs, launch, any, ranges: OnceCell::new(), places: OnceCell::new() }
    }

    /// True if a condition provably holds.
    pub fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Holds(cond) => uniform_value(self.exprs, self.launch, *cond) == Some(1),
            Condition::Fits { value, signed, guards } => {
                let view = if *signed { View::Signed } else { View::Unsigned };
                self.ranges().guarded(guards).fits(*value, view)
            }
            Condition::Disjoint(a, b) => self.apart_in_any(*a, *b) || self.apart(*a, *b),
        }
    }

    /// True if no access of the launch changes these bytes of global memory, counted from an address.
    pub fn is_unchanged(&self, base: u64, bytes: Range) -> bool {
        let bytes = Range::new(i128::from(base) + bytes.lo, i128::from(base) + bytes.hi);
        let lies_apart = |reached: &Reached| reached.bytes.hi < bytes.lo || bytes.hi < reached.bytes.lo;
        let mut writes = self.places().iter().filter(|(place, _)| place.access.op.writes());
        writes.all(|access| {
            let object = self.protocol.objects.get(access.0.access.object.0 as usize);
            object.is_some_and(|object| !object.kind.may_lie_in(Space::Global))
                || [false, true].into_iter().any(|each_pointer| {
                    self.reached(access, each_pointer).is_some_and(|all| all.iter().all(lies_apart))
                })
        })
    }

    fn places(&self) -> &[(Place<'a>, OnceCell<Range>)] {
        self.places.get_or_init(|| {
            Place::all(self.protocol).into_iter().map(|place| (place, OnceCell::new())).collect()
        })
    }

    fn ranges(&self) -> &Ranges<'a> {
        self.ranges.get_or_init(|| Ranges::new(self.protocol, self.exprs, Some(self.launch)))
    }

    /// The bytes that an access names in the launch, from its object's base.
    fn offsets(&self, (place, known): &(Place<'a>, OnceCell<Range>)) -> Range {
        *known.get_or_init(|| bounds::offsets(self.ranges(), place))
    }

    /// True if what accesses name in any launch shows that these objects are apart in this one.
    fn apart_in_any(&self, a: ObjectId, b: ObjectId) -> bool {
        let reached = |object| self.any?.reached(self.protocol, self.launch, object);
        let Some((of_a, of_b)) = reached(a).zip(reached(b)) else { return false };
        are_apart(&of_a, &of_b, false) || !self.have_addresses(a, b)
    }

    /// True if the accesses to two objects touch disjoint addresses, except where both are reads, and
    /// except through one pointer.
    ///
    /// If an object has memory of its own, its accesses must be shown to stay there: beyond it lies an
    /// object that may be the other one.
    fn apart(&self, a: ObjectId, b: ObjectId) -> bool {
        let places = self.places();
        let computed = [a, b].iter().any(|object| is_computed(self.protocol, *object));
        // What an access may touch depends on its pointer: `if (i < m.view[k].n) m.view[k].data[i]`.
        [false, true].into_iter().any(|each_pointer| {
            let reached = |object: ObjectId| {
                let of_object = places.iter().filter(|(place, _)| place.access.object == object);
                let all = of_object.map(|place| self.reached(place, each_pointer));
                Some(all.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect::<Vec<_>>())
            };
            let (Some(of_a), Some(of_b)) = (reached(a), reached(b)) else { return false };
            !self.have_addresses(a, b) || are_apart(&of_a, &of_b, computed)
        })
    }

    /// Shared arrays have no addresses. Two of them lie apart.
    fn have_addresses(&self, a: ObjectId, b: ObjectId) -> bool {
        let known =
            |object: ObjectId| self.launch.objects.get(object.0 as usize).copied().flatten().is_some();
        [a, b].into_iter().all(|object| is_computed(self.protocol, object) || known(object))
    }

    /// The bytes that an access may touch in the launch. `None` if they are not known.
    fn reached(&self, access: &(Place<'a>, OnceCell<Range>), each_pointer: bool) -> Option<Vec<Reached>> {
        let (place, _) = access;
        let object = place.access.object;
        let writes = place.access.op.writes();
        let kind = &self.protocol.objects.get(object.0 as usize)?.kind;
        if let ObjectKind::Slot { at: pointer } = kind {
            let ranges = self.ranges();
            let slots = arguments::reached(ranges, place, *pointer)?;
            let all = (!each_pointer).then(|| self.offsets(access));
            return slots
                .into_iter()
                .map(|slot| {
                    let extent = self.launch.computed.pointer(slot)?;
                    let offsets =
                        all.unwrap_or_else(|| bounds::offsets(&ranges.given(*pointer, slot), place));
                    let bytes = addresses(extent.base, Bounds::behind(extent), offsets)?;
                    Some(Reached { slot: Some(slot), writes, bytes })
                })
                .collect();
        }
        let slot = match kind {
            ObjectKind::Param(id) => Some(i128::from(self.protocol.params.get(id.0 as usize)?.offset)),
            _ => None,
        };
        let bounds = Bounds::of(self.protocol, Some(self.launch), object)?;
        let bytes = addresses(base_of(self.launch, object), bounds, self.offsets(access))?;
        Some(vec![Reached { slot, writes, bytes }])
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

/// True if no byte that one access writes is touched by one of the others. Accesses through one pointer count as
/// apart where some pointer is `computed`.
fn are_apart(of_a: &[Reached], of_b: &[Reached], computed: bool) -> bool {
    of_a.iter().all(|x| {
        of_b.iter().all(|y| {
            let one_pointer = computed && x.slot.is_some() && x.slot == y.slot;
            one_pointer || (!x.writes && !y.writes) || x.bytes.hi < y.bytes.lo || y.bytes.hi < x.bytes.lo
        })
    })
}

/// True if the object's pointer lies at a computed place of the arguments.
fn is_computed(protocol: &Protocol, object: ObjectId) -> bool {
    protocol.objects.get(object.0 as usize).is_some_and(|o| matches!(o.kind, ObjectKind::Slot { .. }))
}

/// The address of an object. 0 for shared arrays.
fn base_of(launch: &Launch, object: ObjectId) -> u64 {
    launch.objects.get(object.0 as usize).copied().flatten().map_or(0, |extent| extent.base)
}

/// The addresses that accesses touch if they name these bytes, counted from `base`.
fn addresses(base: u64, bounds: Bounds, offsets: Range) -> Option<Range> {
    let bytes = bounds.clip(offsets)?;
    let bytes = Range::new(i128::from(base) + bytes.lo, i128::from(base) + bytes.hi);
    bytes.within(Range::new(0, u64::MAX.into())).then_some(bytes)
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
