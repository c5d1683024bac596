//! What a GPU found, and what the logs of its launches came to, in the terms of the checker of this process.

use std::ops::Range;

use gpurace_abi::device;
use gpurace_abi::scope::Scope;
use gpurace_check::{KernelKey, RaceRecord, RaceScope, Side, SideOp, Space};

use super::replays::Replayed;
use super::submitted::{Fate, Submitted};
use crate::transfer;

/// A site that nobody knows.
const UNKNOWN_SITE: u32 = transfer::SITE_BASE - 1;

/// What is told of launches that are over.
#[derive(Default)]
pub struct Told {
    /// Races, and for those in shared memory which byte of the block's.
    pub races: Vec<(RaceRecord, Option<u32>)>,
    /// Conflicts that something may have ordered.
    pub undecided: u64,
}

/// What the clocks of a GPU have `found` and what logs said, `replayed`. Memory on which the program says from now on that races are meant becomes `benign`.
pub fn join(
    found: &[device::Found],
    replayed: Vec<Replayed>,
    submitted: &Submitted,
    benign: &mut Vec<Range<usize>>,
) -> Told {
    let mut told = Told::default();
    for found in found {
        let Some(mut record) = record(found) else { continue };
        match submitted.complete(&mut record) {
            Fate::Race if !is_meant(benign, &record) => {
                told.races.push((record, found.shared.checked_sub(1)))
            }
            Fate::Race | Fate::FoundHere => {}
            Fate::Undecided => told.undecided += 1,
        }
    }
    for launch in replayed {
        let is_undecided = launch.is_undecided || submitted.may_have_been_told(launch.number);
        // What the launch itself has said the replay has heeded.
        let races = launch.races.into_iter().filter(|(record, _)| !is_meant(benign, record));
        match is_undecided {
            true => told.undecided += races.map(|(record, _)| record.count).sum::<u64>(),
            false => told.races.extend(races),
        }
        told.undecided += launch.undecided;
        benign.extend(launch.benign);
    }
    told
}

/// Whether the program says of the memory that a race is on that it is meant.
fn is_meant(benign: &[Range<usize>], record: &RaceRecord) -> bool {
    let bytes = record.address..record.address + record.later.size.unwrap_or(1) as usize;
    record.space == Space::Global
        && benign.iter().any(|range| range.start < bytes.end && bytes.start < range.end)
}

/// A race as the checker of the host has it, with sites of the kernel's module.
fn record(found: &device::Found) -> Option<RaceRecord> {
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
        // Whose it is follows from the launch.
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

/// What an operation's code stands for: gpurace-check's `word::op_code`, of which `scope` and whether
/// memory is changed are asked here.
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
        use gpurace_check::word::{Op, Touch, op_code};
        for scope in [Scope::Block, Scope::Cluster, Scope::Device, Scope::System] {
            for modifies in [false, true] {
                for (start, size) in [(0, 4), (0, 8), (-4, 8)] {
                    let op = Op::Atomic { modifies, scope, start, size };
                    let code = op_code(Touch { op, mask: 0xf }).unwrap();
                    let wanted = if modifies { SideOp::AtomicWrite } else { SideOp::AtomicLoad };
                    assert_eq!(operation(code as u32), Some((wanted, Some(scope))), "{code}");
                }
            }
        }
    }
}
