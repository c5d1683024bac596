//! How the first warp of a launch uses memory: bank conflicts in shared memory,
//! sectors of global memory. Exact for that warp, and silent where what it
//! touches depends on values that the protocol leaves open.

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
/// Most statements that a thread may run.
const FUEL: u64 = 100_000;

/// Remarks on the accesses of warp 0 of block 0, by number of the site.
pub fn of_first_warp(protocol: &Protocol, launch: &Launch) -> HashMap<u32, Vec<String>> {
    let mut remarks: HashMap<u32, Vec<String>> = HashMap::new();
    let Some(lanes) = lanes(protocol, launch) else { return remarks };
    // By access statement and how often a lane has made it before.
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
        // Lanes that make it as often make it together; else who meets whom is not known.
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
            ObjectKind::Param(_) | ObjectKind::Variable { .. } => {
                let base = launch.objects[first.object as usize].map_or(0, |extent| extent.base);
                let sectors = together.map(|touches| sectors(base, &touches));
                sectors.max_by_key(|(used, needed)| used - needed).filter(|(used, needed)| used > needed).map(
                    |(used, needed)| {
                        format!("uncoalesced: {used} sectors of {SECTOR} bytes, {needed} would do")
                    },
                )
            }
            // Texels lie in an order of the hardware's own.
            ObjectKind::Unshared
            | ObjectKind::Opaque { .. }
            | ObjectKind::Image(_)
            | ObjectKind::GridBarrier => None,
        };
        let of = remarks.entry(first.site.0).or_default();
        of.extend(remark.filter(|remark| !of.contains(remark)).into_iter().collect::<Vec<_>>());
    }
    remarks
}

/// What each lane touches, in order; `None` where that is not known.
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

/// How many passes the banks need: most words of one bank that lanes of one
/// transaction touch. Wider accesses take several transactions, of half the
/// lanes for 8 bytes, of a quarter for 16.
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

/// Sectors that a warp touches, and how few its bytes would fit in.
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
            offset: offset(lane) as i64,
            size,
            passed: [0; 3],
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
