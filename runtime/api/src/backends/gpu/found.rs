//! The races that the GPU's own checker has found, in the terms of the checker of this process.

use gpurace_abi::device;
use gpurace_abi::scope::Scope;
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
    };
    Some(FoundRace { record, shared_offset })
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
