//! The races that the GPU's own checker has found, in the terms of the checker of this process.

use gpurace_abi::device;
use gpurace_abi::scope::Scope;
use gpurace_check::record::OpCode;
use gpurace_check::{KernelKey, RaceRecord, RaceScope, Side, SideOp, Space};

use crate::backend::FoundRace;

/// A race in the terms of the host's checker, with sites of the kernel's module.
pub fn race(found: &device::FoundRace) -> Option<FoundRace> {
    let (op, scope) = operation(found.op)?;
    let (earlier_op, earlier_scope) = operation(found.earlier_op)?;
    let shared_offset = found.shared.checked_sub(1);
    let known = |n: u32| (n != device::UNKNOWN).then_some(n);
    let address = found.address as usize;
    let side = Side {
        op,
        site: found.site,
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
        site: found.earlier_site,
        size: None,
        address: None,
        block: (found.earlier_block != u64::MAX).then_some(found.earlier_block),
        thread: known(found.earlier_thread),
        scope: earlier_scope,
        ..side
    };
    let scope = match found.relation {
        0 => RaceScope::Warp,
        1 => RaceScope::Block,
        _ => RaceScope::Grid,
    };
    let record = RaceRecord {
        // The session fills in the kernel of the launch.
        kernel: KernelKey(u32::MAX),
        launch: found.launch,
        earlier,
        later: side,
        address,
        space: if shared_offset.is_some() { Space::Shared } else { Space::Global },
        shared_base: 0,
        scope,
        widest: scope,
        same_value: None,
        count: 1,
        seed: None,
    };
    Some(FoundRace { record, shared_offset })
}

/// The kind and scope of an access with this code of a shadow word.
fn operation(code: u32) -> Option<(SideOp, Option<Scope>)> {
    let op = OpCode::numbered(code)?.touch().op;
    Some((SideOp::of(op), op.scope()))
}
