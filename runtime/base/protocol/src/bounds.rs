//! Where accesses lie within the memory of their object.

use crate::expr::Exprs;
use crate::launch::{Extent, Launch};
use crate::place::Place;
use crate::protocol::{ObjectId, ObjectKind, Protocol};
use crate::range::{Range, Ranges, View};

/// The memory that an object has for itself, in bytes from the object's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// Its first and last byte, and the first and last byte that an access may name: those beyond
    /// the memory end the launch.
    Known {
        /// The memory.
        memory: Range,
        /// The memory and its guards.
        named: Range,
    },
    /// The hardware or the runtime keeps every access to it within this memory.
    Kept(Range),
    /// Nothing says where its memory ends. Other objects are told apart by addresses alone.
    Addresses,
}

impl Bounds {
    /// The bounds of an object in a launch, or in any. `None` if they are not known.
    pub fn of(protocol: &Protocol, launch: Option<&Launch>, object: ObjectId) -> Option<Self> {
        let own = |size: u64| {
            let memory = Range::new(0, (i128::from(size) - 1).max(0));
            Some(Self::Known { memory, named: memory })
        };
        let kind = &protocol.objects.get(object.0 as usize)?.kind;
        match (kind, launch) {
            (ObjectKind::Shared { size, .. }, _) | (ObjectKind::Variable { size, .. }, None) => own(*size),
            (ObjectKind::DynamicShared, Some(launch)) => own(launch.shape.dynamic_shared.into()),
            (ObjectKind::DynamicShared, None) => own(protocol.shape.dynamic_shared?.into()),
            (ObjectKind::Param(_) | ObjectKind::Image(_) | ObjectKind::Variable { .. }, Some(launch)) => {
                let extent = (*launch.objects.get(object.0 as usize)?)?;
                Some(match (kind, Self::behind(extent)) {
                    (ObjectKind::Image(_), Self::Known { memory, .. }) => Self::Kept(memory),
                    (_, bounds) => bounds,
                })
            }
            (
                ObjectKind::Param(_)
                | ObjectKind::Image(_)
                | ObjectKind::Unshared
                | ObjectKind::GridBarrier
                | ObjectKind::Slot { .. }
                | ObjectKind::Opaque { .. },
                _,
            ) => None,
        }
    }

    /// The bounds of the memory behind a pointer.
    pub fn behind(extent: Extent) -> Self {
        let Some((start, end)) = extent.allocation else { return Self::Addresses };
        let from = |address: u64| i128::from(address) - i128::from(extent.base);
        let memory = Range::new(from(start), from(end.max(start + 1)) - 1);
        let guard = i128::from(extent.guard);
        Self::Known { memory, named: Range::new(memory.lo - guard, memory.hi + guard) }
    }

    /// The bytes that accesses touch if they name these. `None` if they may leave the memory without
    /// ending the launch.
    pub fn clip(self, bytes: Range) -> Option<Range> {
        match self {
            Self::Known { memory, named } => bytes.within(named).then(|| bytes.meet(memory)),
            Self::Kept(memory) => Some(bytes.meet(memory)),
            Self::Addresses => Some(bytes),
        }
    }
}

/// The bytes that an access names, from its object's base.
pub fn offsets(ranges: &Ranges, place: &Place) -> Range {
    let mut here = ranges.guarded(&place.guards());
    let offset = here.computed(place.access.offset, View::Signed);
    let size = here.computed(place.access.size, View::Unsigned);
    Range::new(offset.lo, offset.hi + size.hi.max(1) - 1)
}

/// True if no access leaves the object's memory, in any launch.
pub fn keeps_within(protocol: &Protocol, exprs: &Exprs, object: ObjectId) -> bool {
    let Some(bounds) = Bounds::of(protocol, None, object) else { return false };
    let ranges = Ranges::new(protocol, exprs, None);
    let places = Place::all(protocol);
    let mut of_object = places.iter().filter(|place| place.access.object == object);
    of_object.all(|place| bounds.clip(offsets(&ranges, place)).is_some())
}
