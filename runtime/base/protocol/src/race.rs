//! The races of a concrete launch: runs all threads and compares all pairs of accesses.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::lanes::{self, MadeSyncs};
use crate::launch::Launch;
use crate::protocol::{ObjectKind, Op, Protocol, SiteId, Space};
use crate::run::{Open, Stopped, Thread, Touch, trace};

/// Two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Race {
    /// Both accesses with their threads, in the order of their sites.
    pub sides: [(Thread, Touch); 2],
}

/// True if two accesses conflict. Two reads do not, and neither do two that are atomic to each other
/// and cover exactly the same bytes.
pub fn conflict(a: Op, b: Op, same_bytes: bool, same_block: bool) -> bool {
    (a.writes() || b.writes()) && !(same_bytes && a.is_atomic_with(b, same_block))
}

/// True if the barriers that two threads passed do not order their accesses. `syncs` has all
/// syncs of lanes of each thread.
pub fn unordered(
    launch: &Launch,
    threads: [Thread; 2],
    touches: [&Touch; 2],
    syncs: [&MadeSyncs; 2],
) -> bool {
    let same_block = threads[0].ctaid == threads[1].ctaid;
    let same_warp = same_block && threads[0].warp(launch) == threads[1].warp(launch);
    let [_, ab, ag] = touches[0].passed;
    let [_, bb, bg] = touches[1].passed;
    if touches.iter().any(|touch| touch.op.passes() > 0) {
        let [a, b] = touches;
        let from_start = |copy: &Touch, other: &Touch| {
            copy.op.passes() == Op::NO_WAIT
                && copy.passed[2] <= other.passed[2]
                && (!same_block || copy.passed[1] <= other.passed[1])
        };
        return from_start(a, b)
            || from_start(b, a)
            || ag == bg && (!same_block || is_before_wait(a, b) || is_before_wait(b, a));
    }
    let parted = || {
        let lanes = threads.map(|thread| thread.lane(launch));
        lanes::parted(lanes, syncs, touches.map(|touch| touch.lane_syncs))
    };
    ag == bg && (!same_block || ab == bb) && (!same_warp || !parted())
}

/// True if an access takes place at its start or over so many block barriers that another one may meet it, which starts
/// not before it. What syncs of lanes order is left out.
fn is_before_wait(access: &Touch, later: &Touch) -> bool {
    let [from, to] = [access, later].map(|touch| touch.passed[1]);
    to.checked_sub(from).is_some_and(|passed| passed <= access.op.passes())
}

/// True if an access of a thread is one of an asynchronous copy that a later access of the thread may meet.
fn is_in_flight(access: &Touch, later: &Touch) -> bool {
    if !access.op.is_copy() {
        return false;
    }
    if access.op.passes() > 0 {
        let same_grid_interval = access.passed[2] == later.passed[2] || access.op.passes() == Op::NO_WAIT;
        return same_grid_interval && is_before_wait(access, later);
    }
    access.passed == later.passed && access.lane_syncs == later.lane_syncs
}

/// Returns all threads of a launch.
pub fn threads(launch: &Launch) -> impl Iterator<Item = Thread> + '_ {
    let cells = |dims: [u32; 3]| {
        (0..dims[2]).flat_map(move |z| (0..dims[1]).flat_map(move |y| (0..dims[0]).map(move |x| [x, y, z])))
    };
    cells(launch.shape.grid)
        .flat_map(move |ctaid| cells(launch.shape.block).map(move |tid| Thread { ctaid, tid }))
}

/// Returns one race for each pair of sites that race in the launch.
///
/// `choose` returns the values that the protocol leaves open. `fuel` limits the statements of each
/// thread. `opaque_base` returns the addresses of opaque objects, which may overlap other objects.
pub fn races(
    protocol: &Protocol,
    launch: &Launch,
    choose: &mut dyn FnMut(&Open) -> u64,
    opaque_base: &dyn Fn(u32, Thread) -> (bool, u64),
    fuel: u64,
) -> Result<BTreeMap<(SiteId, SiteId), Race>, Stopped> {
    // Identifies a memory: global memory, one block's static or dynamic shared memory, or the
    // grid's barrier.
    type Memory = (u8, u32, [u32; 3]);
    type Touches = Vec<(Thread, Touch, u64)>;
    let mut cells: HashMap<(Memory, u64), Touches> = HashMap::new();
    let mut syncs: HashMap<Thread, MadeSyncs> = HashMap::new();
    for thread in threads(launch) {
        let trace = trace(protocol, launch, thread, choose, fuel)?;
        syncs.insert(thread, trace.syncs);
        for touch in trace.touches {
            let (memory, base): (Memory, u64) = match &protocol.objects[touch.object as usize].kind {
                ObjectKind::Param(_) | ObjectKind::Image(_) | ObjectKind::Variable { .. } => {
                    let base = launch.objects[touch.object as usize].map_or(0, |e| e.base);
                    ((0, 0, [0; 3]), base)
                }
                ObjectKind::Slot { .. } => {
                    let extent = launch.computed.pointer(i128::from(touch.slot as i64));
                    ((0, 0, [0; 3]), extent.map_or(0, |e| e.base))
                }
                ObjectKind::GridBarrier => ((2, 0, [0; 3]), 0),
                ObjectKind::Shared { .. } | ObjectKind::DynamicShared => ((1, touch.object, thread.ctaid), 0),
                ObjectKind::Unshared => continue,
                ObjectKind::Opaque { space, .. } => {
                    let (global, base) = opaque_base(touch.object, thread);
                    match (space, global) {
                        (Space::Global, _) | (Space::Generic, true) => ((0, 0, [0; 3]), base),
                        _ => ((1, base as u32, thread.ctaid), 0),
                    }
                }
            };
            let start = base.wrapping_add(touch.offset as u64);
            for byte in 0..touch.size {
                let cell = cells.entry((memory, start.wrapping_add(byte))).or_default();
                cell.push((thread, touch, start));
            }
        }
    }
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for cell in cells.values() {
        for (i, a) in cell.iter().enumerate() {
            for b in &cell[..i] {
                // The trace of a thread has `b` first.
                if a.0 == b.0 && !is_in_flight(&b.1, &a.1) {
                    continue;
                }
                let (a, b) = if a.1.site <= b.1.site { (a, b) } else { (b, a) };
                let key = (a.1.site, b.1.site);
                if seen.contains(&key) {
                    continue;
                }
                let same_bytes = a.2 == b.2 && a.1.size == b.1.size;
                if conflict(a.1.op, b.1.op, same_bytes, a.0.ctaid == b.0.ctaid)
                    && unordered(launch, [a.0, b.0], [&a.1, &b.1], [&syncs[&a.0], &syncs[&b.0]])
                {
                    seen.insert(key);
                    found.insert(key, Race { sides: [(a.0, a.1), (b.0, b.1)] });
                }
            }
        }
    }
    Ok(found)
}
