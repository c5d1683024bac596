//! Which memory a launch may touch, for those that may run beside it, and whether its
//! accesses can be made known after it has run without checks.

use std::ops::Range;
use std::sync::Arc;

use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::protocol::Protocol;
use gpurace_protocol::repeat::Repeat;
use gpurace_protocol::touched::{self, Part};

use super::configuration;
use crate::launch::Launch;

/// Bytes that the checker may keep one record of: whose order in it counts.
const TOGETHER: usize = 128;
/// Bytes that an operation may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which.
    pub bytes: Range<usize>,
    /// It may write them.
    pub writes: bool,
}

/// All that an operation may touch of memory that others see; `None` for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint(pub Option<Vec<Span>>);

impl Footprint {
    /// Anything may be touched.
    pub const ANYTHING: Self = Self(None);

    /// Whether an access of one may conflict with one of the other.
    pub fn conflicts(&self, other: &Self) -> bool {
        self.any(other, |a, b| {
            (a.writes || b.writes) && a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end
        })
    }

    /// Whether both may leave records in one place.
    pub fn meets(&self, other: &Self) -> bool {
        let place = |at: usize| at / TOGETHER;
        self.any(other, |a, b| {
            place(a.bytes.start) <= place(b.bytes.end) && place(b.bytes.start) <= place(a.bytes.end)
        })
    }

    /// Whether it may touch any of these bytes.
    pub fn touches(&self, bytes: &Range<usize>) -> bool {
        let those = Self(Some(vec![Span { bytes: bytes.clone(), writes: true }]));
        self.conflicts(&those)
    }

    fn any(&self, other: &Self, found: impl Fn(&Span, &Span) -> bool) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(others)) => own.iter().any(|a| others.iter().any(|b| found(a, b))),
            (Some(one), None) | (None, Some(one)) => !one.is_empty(),
            (None, None) => true,
        }
    }
}

/// What a launch does that others may meet.
#[derive(Debug)]
pub struct Reach {
    /// All that it may touch.
    pub footprint: Footprint,
    /// How its accesses can be made known later, where they can.
    pub repeat: Option<Repeatable>,
}

/// A launch that can be repeated.
#[derive(Clone, Debug)]
pub struct Repeatable {
    /// The kernel's accesses.
    pub repeat: Arc<Repeat>,
    /// The launch, with its addresses.
    pub launch: Arc<ProverLaunch>,
    /// About how many accesses that is.
    pub cost: u64,
}

/// What is known of all launches with the same values, wherever their memory lies.
#[derive(Debug)]
pub struct Values {
    parts: Option<Vec<Part>>,
    cost: Option<u64>,
}

impl Values {
    /// Of this launch.
    pub fn of(launch: &ProverLaunch, protocol: &Protocol, repeat: Option<&Repeat>) -> Self {
        Self { parts: touched::parts(protocol, launch), cost: repeat.and_then(|repeat| repeat.cost(launch)) }
    }

    /// The same in the memory of a launch.
    pub fn reach(&self, launch: &Arc<ProverLaunch>, repeat: Option<&Arc<Repeat>>) -> Reach {
        let spans =
            self.parts.as_ref().and_then(|parts| parts.iter().map(|part| span(part, launch)).collect());
        let repeat = repeat.zip(self.cost).map(|(repeat, cost)| Repeatable {
            repeat: repeat.clone(),
            launch: launch.clone(),
            cost,
        });
        Reach { footprint: Footprint(spans), repeat }
    }
}

/// Where a part lies; `None` where nobody knows.
fn span(part: &Part, launch: &ProverLaunch) -> Option<Span> {
    let extent = launch.objects.get(part.object.0 as usize).copied().flatten()?;
    let at = |offset: i64| i128::from(extent.base) + i128::from(offset);
    let bytes = part.bytes.map(|(first, end)| (at(first), at(end)));
    let (start, end) = match (bytes, extent.allocation) {
        // An access stays in the allocation that its pointer points into.
        (Some((first, end)), Some((start, limit))) => (first.max(start.into()), end.min(limit.into())),
        (Some(bytes), None) => bytes,
        (None, Some((start, limit))) => (start.into(), limit.into()),
        (None, None) => return None,
    };
    let bytes = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    Some(Span { bytes, writes: part.writes })
}

/// The launch as it is, and as its decisions are remembered by.
pub fn places(launch: &Launch<'_>, protocol: &Protocol) -> (Arc<ProverLaunch>, configuration::Configuration) {
    let in_place = configuration::in_place(launch, protocol);
    let moved = configuration::moved(in_place.clone(), protocol);
    (Arc::new(in_place), moved)
}
