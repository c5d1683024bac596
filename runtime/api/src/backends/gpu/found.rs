//! The races that the GPU's own checker and the replay of logs have found, in the terms of the
//! checker of this process.

use std::ops::Range;

use gpurace_abi::device;
use gpurace_abi::scope::Scope;
use gpurace_check::{KernelKey, RaceRecord, RaceScope, Side, SideOp, Space};

use super::replays::ReplayedLaunch;
use super::submitted::{ConflictFate, SubmittedOperations};
use crate::session::transfer_sites;

/// The number of an unknown site.
const UNKNOWN_SITE: u32 = transfer_sites::FIRST - 1;

/// The findings of launches that are over.
#[derive(Default)]
pub struct JoinedFindings {
    /// The races. In shared memory: with the offset in the block's shared memory.
    pub races: Vec<(RaceRecord, Option<u32>)>,
    /// Number of conflicts that an unknown order may separate.
    pub undecided: u64,
}

/// Joins the races that the GPU's clocks have `found` with those of `replayed` logs. Memory on
/// which a kernel intends races is added to `benign`.
pub fn join(
    found: &[device::FoundRace],
    replayed: Vec<ReplayedLaunch>,
    submitted: &SubmittedOperations,
    benign: &mut Vec<Range<usize>>,
) -> JoinedFindings {
    let mut joined = JoinedFindings::default();
    for found in found {
        let Some(mut record) = record(found) else { continue };
        match submitted.complete(&mut record) {
            ConflictFate::Race if !is_benign(benign, &record) => {
                joined.races.push((record, found.shared.checked_sub(1)))
            }
            ConflictFate::Race | ConflictFate::FoundHere => {}
            ConflictFate::Undecided => joined.undecided += 1,
        }
    }
    for launch in replayed {
        let is_undecided = launch.is_undecided || submitted.may_be_ordered(launch.number);
        // The replay itself has left out the races that the launch intends.
        let races = launch.races.into_iter().filter(|(record, _)| !is_benign(benign, record));
        match is_undecided {
            true => joined.undecided += races.map(|(record, _)| record.count).sum::<u64>(),
            false => joined.races.extend(races),
        }
        joined.undecided += launch.undecided;
        benign.extend(launch.benign);
    }
    joined
}

/// True if the program intends races on this memory.
fn is_benign(benign: &[Range<usize>], record: &RaceRecord) -> bool {
    let bytes = record.address..record.address + record.later.size.unwrap_or(1) as usize;
    record.space == Space::Global
        && benign.iter().any(|range| range.start < bytes.end && bytes.start < range.end)
}

/// A race in the terms of the host's checker, with sites of the kernel's module.
fn record(found: &device::FoundRace) -> Option<RaceRecord> {
    let (op, scope) = operation(found.op)?;
    let (earlier_op, earlier_scope) = operation(found.earlier_op)?;
    let shared = found.shared != 0;
    let known = |n: u32| (n != device::UNKNOWN).then_some(n);
    let address = found.address as usize;
    let side = Side {
        op,
        site: found.site.min(UNKNOWN_SITE),
        size: Some(found.size),
        address: Some(address),
        launch: found.launch,
        stream: 0,
        block: Some(found.block),
        thread: Some(found.thread),
        scope,
    };
    let earlier = Side {
        op: earlier_op,
        site: found.earlier_site.min(UNKNOWN_SITE),
        size: None,
        address: None,
        launch: found.earlier_launch,
        block: (found.earlier_block != u64::MAX).then_some(found.earlier_block),
        thread: known(found.earlier_thread),
        scope: earlier_scope,
        ..side
    };
    Some(RaceRecord {
        // The session fills in the kernel of the launch.
        kernel: KernelKey(u32::MAX),
        launch: found.launch,
        earlier,
        later: side,
        address,
        space: if shared { Space::Shared } else { Space::Global },
        shared_base: 0,
        scope: match found.relation {
            0 => RaceScope::Warp,
            1 => RaceScope::Block,
            2 => RaceScope::Grid,
            _ => RaceScope::Device,
        },
        same_value: None,
        count: 1,
    })
}

/// The kind and scope of an access with this code: the inverse of gpurace-check's `OpCode`.
fn operation(code: u32) -> Option<(SideOp, Option<Scope>)> {
    match code {
        device::OP_READ => Some((SideOp::Read, None)),
        device::OP_WRITE => Some((SideOp::Write, None)),
        atomic => {
            let of_modifies = (atomic - 2) / 3;
            let scope = Scope::from_u32(of_modifies % 4);
            match of_modifies / 4 {
                0 => Some((SideOp::AtomicLoad, scope)),
                1 => Some((SideOp::AtomicWrite, scope)),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_as_shadow_words_number_them() {
        use gpurace_check::access::{Op, Touch};
        use gpurace_check::record::OpCode;
        for scope in [Scope::Block, Scope::Cluster, Scope::Device, Scope::System] {
            for modifies in [false, true] {
                for (start, size) in [(0, 4), (0, 8), (-4, 8)] {
                    let op = Op::Atomic { modifies, scope, start, size };
                    let code = OpCode::of(Touch { op, mask: 0xf }).unwrap().0;
                    let wanted = if modifies { SideOp::AtomicWrite } else { SideOp::AtomicLoad };
                    assert_eq!(operation(code as u32), Some((wanted, Some(scope))), "{code}");
                }
            }
        }
    }
}
