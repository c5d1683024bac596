//! Bank conflicts in shared memory and sectors of global memory, for the first warp of a launch. The remarks
//! are exact for that warp. There are none if its accesses depend on values that the protocol does not know.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::{ObjectKind, Protocol};
use gpurace_protocol::run::{Thread, Touch, trace};

/// Threads of a warp, and banks of shared memory.
const WARP: u64 = 32;
/// Bytes of a bank's word.
const WORD: u64 = 4;
/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;
/// The most statements that a thread may run.
const FUEL: u64 = 100_000;

/// Returns remarks on the accesses of warp 0 of block 0, by number of the site.
pub fn of_first_warp(protocol: &Protocol, launch: &Launch) -> HashMap<u32, Vec<String>> {
    let mut remarks: HashMap<u32, Vec<String>> = HashMap::new();
    let Some(lanes) = lanes(protocol, launch) else { return remarks };
    // For each access statement and each lane, what the lane touches with it, in order.
    let mut accesses: BTreeMap<usize, Vec<Vec<(u64, Touch)>>> = BTreeMap::new();
    for (lane, touches) in (0..).zip(lanes) {
        let mut made: BTreeMap<usize, Vec<(u64, Touch)>> = BTreeMap::new();
        for touch in touches {
            made.entry(touch.access).or_default().push((lane, touch));
        }
        for (access, touches) in made {
            accesses.entry(access).or_default().push(touches);
        }
    }
    for by_lane in accesses.values() {
        let times = by_lane[0].len();
        // Lanes that make an access equally often make it together. Otherwise it is unknown which of their
        // accesses are made together.
        if by_lane.iter().any(|touches| touches.len() != times) {
            continue;
        }
        let together = (0..times).map(|k| by_lane.iter().map(|touches| touches[k]).collect::<Vec<_>>());
        let first = by_lane[0][0].1;
        let remark = match &protocol.objects[first.object as usize].kind {
            ObjectKind::Shared { .. } | ObjectKind::DynamicShared => {
                let degree = together.map(|touches| conflict(&touches)).max().unwrap_or(1);
                (degree > 1).then(|| format!("{degree}-way bank conflict"))
            }
            ObjectKind::Param(_) | ObjectKind::Variable { constant: false, .. } => {
                let base = launch.objects[first.object as usize].map_or(0, |extent| extent.base);
                let sectors = together.map(|touches| sectors(base, &touches));
                sectors.max_by_key(|(used, needed)| used - needed).filter(|(used, needed)| used > needed).map(
                    |(used, needed)| {
                        format!("uncoalesced: {used} sectors of {SECTOR} bytes where {needed} are enough")
                    },
                )
            }
            // Only the hardware knows the order of texels. Constant memory has a cache of its own.
            ObjectKind::Unshared
            | ObjectKind::Variable { constant: true, .. }
            | ObjectKind::Opaque { .. }
            | ObjectKind::Slot { .. }
            | ObjectKind::Image(_)
            | ObjectKind::GridBarrier => None,
        };
        let of_site = remarks.entry(first.site.0).or_default();
        if let Some(remark) = remark.filter(|remark| !of_site.contains(remark)) {
            of_site.push(remark);
        }
    }
    remarks
}

/// Returns what each lane touches, in order. `None` if that is unknown.
fn lanes(protocol: &Protocol, launch: &Launch) -> Option<Vec<Vec<Touch>>> {
    let [nx, ny, nz] = launch.shape.block.map(u64::from);
    let count = (nx * ny * nz).min(WARP);
    (0..count)
        .map(|linear| {
            let tid = [linear % nx, linear / nx % ny, linear / (nx * ny)].map(|id| id as u32);
            let thread = Thread { ctaid: [0; 3], tid };
            let trace = trace(protocol, launch, thread, &mut |_| 0, FUEL).ok()?;
            (!trace.asked).then_some(trace.touches)
        })
        .collect()
}

/// Returns the number of passes that the banks need: the most words of one bank that lanes of one transaction
/// touch. A transaction serves all lanes of 4-byte accesses, half the lanes of 8-byte accesses and a quarter
/// of the lanes of 16-byte accesses.
fn conflict(touches: &[(u64, Touch)]) -> usize {
    let widest = touches.iter().map(|(_, touch)| touch.size).max().unwrap_or(WORD).clamp(WORD, 16);
    let lanes = WARP * WORD / widest;
    let mut banks: HashMap<(u64, u64), BTreeSet<u64>> = HashMap::new();
    for (lane, touch) in touches {
        let first = touch.offset as u64;
        for word in first / WORD..=(first + touch.size.max(1) - 1) / WORD {
            banks.entry((lane / lanes, word % WARP)).or_default().insert(word);
        }
    }
    banks.values().map(BTreeSet::len).max().unwrap_or(1)
}

/// Returns the number of sectors that a warp touches, and the number that its bytes would fill.
fn sectors(base: u64, touches: &[(u64, Touch)]) -> (u64, u64) {
    let (mut used, mut bytes) = (BTreeSet::new(), BTreeSet::new());
    for (_, touch) in touches {
        let first = base.wrapping_add(touch.offset as u64);
        for byte in (0..touch.size).map(|i| first.wrapping_add(i)) {
            bytes.insert(byte);
            used.insert(byte / SECTOR);
        }
    }
    (used.len() as u64, (bytes.len() as u64).div_ceil(SECTOR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpurace_protocol::protocol::{Op, SiteId};

    fn warp(size: u64, offset: impl Fn(u64) -> u64) -> Vec<(u64, Touch)> {
        let touch = |lane| Touch {
            access: 0,
            site: SiteId(0),
            op: Op::Read,
            object: 0,
            slot: 0,
            offset: offset(lane) as i64,
            size,
            passed: [0; 3],
            lane_syncs: 0,
        };
        (0..WARP).map(|lane| (lane, touch(lane))).collect()
    }

    #[test]
    fn banks_conflict_by_their_words() {
        for (stride, degree) in [(1, 1), (2, 2), (3, 1), (4, 4), (32, 32), (33, 1), (0, 1)] {
            assert_eq!(conflict(&warp(4, |lane| 4 * stride * lane)), degree, "stride {stride}");
        }
        // Neighbouring bytes of one word, and wide accesses side by side.
        assert_eq!(conflict(&warp(1, |lane| lane)), 1);
        assert_eq!(conflict(&warp(8, |lane| 8 * lane)), 1);
        assert_eq!(conflict(&warp(16, |lane| 16 * lane)), 1);
        assert_eq!(conflict(&warp(8, |lane| 16 * lane)), 2);
    }

    #[test]
    fn sectors_are_counted() {
        assert_eq!(sectors(0, &warp(4, |lane| 4 * lane)), (4, 4));
        assert_eq!(sectors(4, &warp(4, |lane| 4 * lane)), (5, 4));
        assert_eq!(sectors(0, &warp(4, |lane| 4096 * lane)), (32, 4));
        assert_eq!(sectors(0, &warp(4, |_| 64)), (1, 1));
    }
}
