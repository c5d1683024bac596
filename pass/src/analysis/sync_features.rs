//! The kinds of synchronisation that a call adds to its kernel.

use gpurace_abi::entry::{CheckedAccess, Effect, Entry};
use gpurace_abi::meta::SyncFeatures;
use gpurace_abi::scope::{Order, Scope};
use llvm_sys::prelude::*;

use crate::ir::entry_calls::EntryCall;

/// True for an entry point at which threads wait for other blocks of their cluster, or get addresses
/// of their shared memory.
pub fn is_of_cluster(entry: Entry) -> bool {
    matches!(entry.effect(), Effect::ClusterSync | Effect::ClusterAddress)
}

/// True if this is a scope that holds all threads of the device.
fn reaches_the_device(scope: Option<u64>) -> bool {
    [Scope::Device, Scope::System].iter().any(|&wide| scope == Some(wide as u64))
}

/// Adds the synchronisation of a call.
///
/// # Safety
/// `call` is a live call.
pub unsafe fn add_features(call: LLVMValueRef, features: &mut SyncFeatures) {
    // SAFETY: by contract; the entry points have these operands.
    unsafe {
        let Some(call) = EntryCall::of(call) else { return };
        let entry = call.entry;
        match entry {
            Entry::Barrier | Entry::BarrierRed => {
                features.barriers = true;
                features.named_barriers |= !call.is_of_whole_block();
            }
            Entry::BarrierArrive => features.named_barriers = true,
            Entry::BeforeBarrier => features.barriers = true,
            Entry::Syncwarp | Entry::BeforeSyncwarp => {
                features.warp_syncs = true;
                features.partial_masks |= call.constant(0) != Some(0xffff_ffff);
            }
            Entry::Fence => {
                features.fences = true;
                features.narrow_order |= !reaches_the_device(call.constant(0));
            }
            Entry::Happens => features.fences = true,
            // An irregular instruction may release and acquire.
            // So does what tells an mbarrier of copies.
            Entry::Irregular | Entry::AsyncArrive => (features.fences, features.narrow_order) = (true, true),
            Entry::Ignore | Entry::Benign => features.annotated = true,
            Entry::Atomic | Entry::AtomicDone => {
                let orders = call.constant(5) != Some(Order::Relaxed as u64);
                features.fences |= orders;
                features.narrow_order |= orders && !reaches_the_device(call.constant(4));
            }
            _ => {}
        }
        features.clusters |= is_of_cluster(entry);
        features.async_copies |= matches!(
            entry.effect(),
            Effect::Check(CheckedAccess::AsyncRead) | Effect::Check(CheckedAccess::AsyncWrite)
        );
        features.suspends |= entry.suspends();
    }
}
