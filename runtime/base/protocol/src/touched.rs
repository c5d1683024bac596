//! The byte ranges of global memory that a launch may touch. They may be too large, never too
//! small. And the accesses that it certainly does not make.

use std::collections::BTreeSet;

use crate::bounds;
use crate::launch::Launch;
use crate::place::Place;
use crate::protocol::{Access, ObjectId, ObjectKind, Op, Protocol, SiteId, Space, Stmt};
use crate::range::Ranges;
use gpurace_abi::scope::Scope;

/// Byte ranges of this length or more count as unknown.
const TOO_WIDE: i128 = 1 << 46;

/// How an operation touches bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It reads them.
    Reads,
    /// It may write them.
    Writes,
    /// It accesses them by atomics of this many bytes alone, whose scope has other launches.
    Atomics(u64),
}

impl Manner {
    /// How a transfer or the host touches bytes.
    pub fn of(writes: bool) -> Self {
        if writes { Self::Writes } else { Self::Reads }
    }

    fn of_access(protocol: &Protocol, access: &Access) -> Self {
        match (access.op, protocol.exprs.as_const(access.size)) {
            (Op::Atomic { scope, .. }, Some(size)) if scope >= Scope::Device => Self::Atomics(size),
            _ => Self::of(access.op.writes()),
        }
    }

    /// True if accesses to the same bytes may race.
    pub fn conflicts(self, other: Self) -> bool {
        match (self, other) {
            (Self::Reads, Self::Reads) => false,
            // Atomics of one size are aligned, and so access all bytes of each other, or none.
            (Self::Atomics(size), Self::Atomics(same)) => size != same,
            _ => true,
        }
    }
}

/// A byte range of an object that a launch may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The object: a pointer's target, a device variable, an image.
    pub object: ObjectId,
    /// First byte and end, from the object's base; `None` for the object's whole allocation.
    pub bytes: Option<(i64, i64)>,
    /// How the launch touches it.
    pub manner: Manner,
}

/// Returns the byte ranges of global memory that a launch may touch; `None` if they are unknown.
pub fn parts(protocol: &Protocol, launch: &Launch) -> Option<Vec<Part>> {
    if reaches_unknown(&protocol.body) {
        return None;
    }
    let ranges = Ranges::new(protocol, &protocol.exprs, Some(launch));
    let mut parts: Vec<Part> = Vec::new();
    for place in Place::all(protocol) {
        let access = place.access;
        // No access leaves an image. An address that leaves a variable in constant memory reaches no other memory.
        let (stays, is_whole) =
            match protocol.objects.get(access.object.0 as usize).map(|object| &object.kind) {
                Some(ObjectKind::Param(_)) => (false, false),
                Some(ObjectKind::Variable { constant, .. }) => (*constant, false),
                Some(ObjectKind::Image(_)) => (true, true),
                Some(kind) if !kind.may_lie_in(Space::Global) => continue,
                _ => return None,
            };
        let bytes = bounds::offsets(&ranges, &place);
        let bytes = match bytes.hi - bytes.lo >= TOO_WIDE {
            _ if is_whole => None,
            true if stays => None,
            true => return None,
            false => Some((i64::try_from(bytes.lo).ok()?, i64::try_from(bytes.hi + 1).ok()?)),
        };
        add(&mut parts, Part { object: access.object, bytes, manner: Manner::of_access(protocol, access) });
    }
    Some(parts)
}

/// Returns sites at which no thread of the launch accesses memory: a condition on each way to them is false for
/// all threads. There may be more of them.
pub fn unreached(protocol: &Protocol, launch: &Launch) -> BTreeSet<SiteId> {
    let mut ranges = Ranges::new(protocol, &protocol.exprs, Some(launch));
    let (mut unreached, mut reached) = (BTreeSet::new(), BTreeSet::new());
    for place in Place::all(protocol) {
        let excluded = place
            .guards()
            .into_iter()
            .any(|(cond, value)| ranges.known_truth(cond).is_some_and(|is| is != value));
        let sites = if excluded { &mut unreached } else { &mut reached };
        sites.insert(place.access.site);
    }
    &unreached - &reached
}

/// Adds a part. Overlapping and adjacent parts of one object that are touched alike are merged.
fn add(parts: &mut Vec<Part>, mut new: Part) {
    loop {
        let near = |old: &Part| {
            let alike = (old.object, old.manner) == (new.object, new.manner);
            alike
                && match (old.bytes, new.bytes) {
                    (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
                    _ => true,
                }
        };
        let Some(at) = parts.iter().position(near) else { break };
        let old = parts.swap_remove(at);
        new.bytes = old.bytes.zip(new.bytes).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
    }
    parts.push(new);
}

/// True if a statement may touch unknown global memory.
fn reaches_unknown(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Unknown(unknown) => unknown.touches.is_some_and(|space| space != Space::Shared),
        Stmt::Loop(of) => reaches_unknown(&of.body),
        Stmt::If { then, otherwise, .. } => reaches_unknown(then) || reaches_unknown(otherwise),
        Stmt::Access(_) | Stmt::Sync(_) => false,
    })
}
