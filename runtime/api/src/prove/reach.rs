//! Which memory a launch may touch, for operations that may overlap it, and whether its accesses
//! can be repeated for the checker after it has run without checks.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::protocol::Protocol;
use gpurace_protocol::repeat::Repeat;
use gpurace_protocol::touched::{self, Manner, Part};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{configuration, work};
use crate::backend::module::Kernel;
use crate::prove::known::MOST_REMEMBERED;

/// Bytes of a region: accesses to one region must reach the checker in their order.
const REGION: usize = 128;

/// Bytes that an operation may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The bytes.
    pub bytes: Range<usize>,
    /// How it touches them.
    pub manner: Manner,
}

/// All memory that an operation may touch and other operations can reach. `None`: any memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint(pub Option<Vec<Span>>);

impl Footprint {
    /// Any memory.
    pub const ANYTHING: Self = Self(None);

    /// True if an access of one may conflict with an access of the other.
    pub fn conflicts(&self, other: &Self) -> bool {
        self.any(other, |a, b| {
            a.manner.conflicts(b.manner) && a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end
        })
    }

    /// True if both may leave records in one region.
    pub fn meets(&self, other: &Self) -> bool {
        let region = |at: usize| at / REGION;
        self.any(other, |a, b| {
            region(a.bytes.start) <= region(b.bytes.end) && region(b.bytes.start) <= region(a.bytes.end)
        })
    }

    /// True if it may touch any of these bytes.
    pub fn touches(&self, bytes: &Range<usize>) -> bool {
        let those = Self(Some(vec![Span { bytes: bytes.clone(), manner: Manner::Writes }]));
        self.conflicts(&those)
    }

    /// Forgets what lies in these bytes alone.
    pub fn forget(&mut self, bytes: &Range<usize>) {
        if let Some(spans) = &mut self.0 {
            spans.retain(|span| span.bytes.start < bytes.start || bytes.end < span.bytes.end);
        }
    }

    /// True if it touches nothing.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }

    fn any(&self, other: &Self, found: impl Fn(&Span, &Span) -> bool) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(others)) => own.iter().any(|a| others.iter().any(|b| found(a, b))),
            (Some(one), None) | (None, Some(one)) => !one.is_empty(),
            (None, None) => true,
        }
    }
}

/// What a launch does to memory that other operations can reach.
#[derive(Debug)]
pub struct Reach {
    /// The memory that it may touch.
    pub footprint: Footprint,
    /// Its accesses, if they can be repeated for the checker.
    pub repeat: Option<Repeatable>,
    /// Estimated number of its accesses.
    pub accesses: u64,
}

/// A launch whose accesses can be repeated for the checker.
#[derive(Clone, Debug)]
pub struct Repeatable {
    /// The kernel's accesses.
    pub repeat: Arc<Repeat>,
    /// The launch, with its addresses.
    pub launch: Arc<ProverLaunch>,
    /// Estimated number of its accesses.
    pub cost: u64,
}

/// What launches of a kernel do to memory that other operations can reach, by one protocol.
#[derive(Default)]
pub struct Reaches {
    /// Lists the accesses of its launches, if they follow from its protocol alone.
    repeat: OnceLock<Option<Arc<Repeat>>>,
    values: Mutex<FxHashMap<ProverLaunch, Arc<FootprintValues>>>,
}

impl Reaches {
    /// The reach of a launch with its addresses.
    pub fn of(&self, kernel: &Kernel, protocol: &Protocol, in_place: ProverLaunch) -> Reach {
        let sync = &kernel.meta().sync;
        // A repetition tells the checker only of barriers of the block and of whole warps.
        let more = sync.partial_masks || sync.named_barriers || sync.fences || sync.observes;
        let more = more || sync.async_copies || sync.clusters || sync.annotated;
        let repeat = self.repeat.get_or_init(|| {
            let repeat = (!more).then(|| Repeat::of(protocol)).flatten();
            repeat.map(Arc::new)
        });
        let configuration = configuration::moved(in_place.clone(), protocol);
        let mut values = self.values.lock();
        if values.len() == MOST_REMEMBERED {
            values.clear();
        }
        let values = values
            .entry(configuration.launch)
            .or_insert_with_key(|launch| Arc::new(FootprintValues::of(launch, protocol, repeat.as_deref())));
        values.reach(&Arc::new(in_place), repeat.as_ref())
    }

    /// The launches that are known.
    pub fn launches(&self) -> Vec<ProverLaunch> {
        self.values.lock().keys().cloned().collect()
    }
}

/// The part of a launch's footprint that does not depend on where its memory lies.
#[derive(Debug)]
pub struct FootprintValues {
    parts: Option<Vec<Part>>,
    /// The estimated number of accesses, if they can be repeated.
    cost: Option<u64>,
    /// The estimated number of accesses.
    accesses: u64,
}

impl FootprintValues {
    /// Computes it for a launch.
    pub fn of(launch: &ProverLaunch, protocol: &Protocol, repeat: Option<&Repeat>) -> Self {
        let cost = repeat.and_then(|repeat| repeat.cost(launch));
        let threads = launch.shape.blocks().saturating_mul(launch.shape.threads().into());
        // Loaded values may lead past the most of the work, or into it.
        let statements = || [0, 1].map(|open| work(protocol, launch, open).statements).into_iter().max();
        let accesses = cost.unwrap_or_else(|| threads.saturating_mul(statements().unwrap_or_default()));
        Self { parts: touched::parts(protocol, launch), cost, accesses }
    }

    /// The footprint of a launch, and its accesses.
    pub fn reach(&self, launch: &Arc<ProverLaunch>, repeat: Option<&Arc<Repeat>>) -> Reach {
        let spans =
            self.parts.as_ref().and_then(|parts| parts.iter().map(|part| span(part, launch)).collect());
        let repeat = repeat.zip(self.cost).map(|(repeat, cost)| Repeatable {
            repeat: repeat.clone(),
            launch: launch.clone(),
            cost,
        });
        Reach { footprint: Footprint(spans), repeat, accesses: self.accesses }
    }
}

/// The bytes of a part. `None` if they are unknown.
fn span(part: &Part, launch: &ProverLaunch) -> Option<Span> {
    let extent = launch.objects.get(part.object.0 as usize).copied().flatten()?;
    let at = |offset: i64| i128::from(extent.base) + i128::from(offset);
    let bytes = part.bytes.map(|(first, end)| (at(first), at(end)));
    let (start, end) = match (bytes, extent.allocation) {
        // An access that leaves the allocation and its guards may touch any memory.
        (Some((first, end)), Some((start, limit))) => {
            let (start, limit, guard) = (i128::from(start), i128::from(limit), i128::from(extent.guard));
            if first < start - guard || end > limit + guard {
                return None;
            }
            (first.max(start), end.min(limit).max(start))
        }
        (Some(bytes), None) => bytes,
        (None, Some((start, limit))) => (start.into(), limit.into()),
        (None, None) => return None,
    };
    let bytes = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    Some(Span { bytes, manner: part.manner })
}
