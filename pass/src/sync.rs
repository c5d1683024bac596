//! Synchronisation: barriers, warp syncs, collectives and fences.
//!
//! After normalisation each is a call of an entry point whose last argument,
//! `sync`, says where in the source it stands; this module fills it in.

use std::collections::HashMap;

use gpurace_abi::entry;
use gpurace_abi::meta::{SyncFeatures, SyncSite};
use gpurace_abi::scope::{Order, Scope};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;

use crate::entry_calls::EntryCalls;
use crate::ir;
use crate::position::Positions;

/// What normalisation leaves in the `sync` argument of `__syncthreads` and its
/// reducing forms. CUDA C++ asks all threads of a block to take the same one
/// ("Synchronization Functions"); PTX's own barriers may meet from several places.
const ONE_PLACE: u64 = 0xffff_fffe;

/// Numbers the synchronisation calls of a module and describes them. Calls of one
/// place in the source have one number, however often the code was copied.
///
/// # Safety
/// `module` is live and normalised.
pub unsafe fn number(module: LLVMModuleRef, positions: &mut Positions) -> Vec<SyncSite> {
    let mut found = Numbered::default();
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let calls = EntryCalls::new(module);
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for function in ir::definitions(module) {
            for instruction in ir::instructions(function) {
                match ir::opcode(instruction) {
                    LLVMOpcode::LLVMFence => {
                        // `__atomic_thread_fence`; the instruction itself stays.
                        LLVMPositionBuilderBefore(builder, instruction);
                        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(instruction));
                        let scope = calls.i32(Scope::System as u64);
                        let order = calls.i32(Order::SeqCst as u64);
                        let sync = calls.i32(found.number(describe("fence", instruction, positions)));
                        calls.call(builder, "__gpurace_fence", &mut [scope, order, sync]);
                    }
                    LLVMOpcode::LLVMCall => {
                        let Some((name, sync)) = sync_argument(instruction) else { continue };
                        let mut site = describe(source_name(&name, instruction), instruction, positions);
                        site.one_place = !site.frames.is_empty()
                            && constant_argument(instruction, sync) == Some(ONE_PLACE);
                        LLVMSetOperand(instruction, sync, calls.i32(found.number(site)));
                    }
                    _ => {}
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
    found.sites
}

/// The synchronisations found so far.
#[derive(Default)]
struct Numbered {
    sites: Vec<SyncSite>,
    numbers: HashMap<SyncSite, usize>,
}

impl Numbered {
    fn number(&mut self, site: SyncSite) -> u64 {
        let next = self.sites.len();
        let number = match site.frames.is_empty() {
            // Without debug information no two places are known to be one.
            true => next,
            false => *self.numbers.entry(site.clone()).or_insert(next),
        };
        if number == next {
            self.sites.push(site);
        }
        number as u64
    }
}

unsafe fn describe(what: &str, instruction: LLVMValueRef, positions: &mut Positions) -> SyncSite {
    // SAFETY: by contract.
    let frames = unsafe { positions.of_instruction(instruction) };
    SyncSite { what: what.to_owned(), frames, one_place: false }
}

/// The entry point that a call calls, and the index of its `sync` argument if it has one.
unsafe fn sync_argument(call: LLVMValueRef) -> Option<(String, u32)> {
    // SAFETY: by contract.
    unsafe {
        let name = ir::name(ir::callee(call)?);
        let entry = entry::find(&name)?;
        let takes_sync = entry.convergent && !matches!(name.as_str(), "__gpurace_activemask")
            || matches!(name.as_str(), "__gpurace_fence" | "__gpurace_trap" | "__gpurace_unsupported");
        takes_sync.then(|| (name, entry.params.len() as u32 - 1))
    }
}

/// What the source calls a synchronisation.
unsafe fn source_name(name: &str, call: LLVMValueRef) -> &'static str {
    // SAFETY: by contract.
    let constant = |index| unsafe { constant_argument(call, index) };
    match name {
        "__gpurace_barrier" if constant(0) == Some(0) && constant(1) == Some(0) => "__syncthreads()",
        "__gpurace_barrier" => "bar.sync",
        "__gpurace_barrier_arrive" => "bar.arrive",
        "__gpurace_barrier_red" => match constant(2) {
            Some(0) => "__syncthreads_count()",
            Some(1) => "__syncthreads_and()",
            _ => "__syncthreads_or()",
        },
        "__gpurace_cluster_arrive" => "barrier.cluster.arrive",
        "__gpurace_cluster_wait" => "barrier.cluster.wait",
        "__gpurace_syncwarp" => "__syncwarp()",
        "__gpurace_shfl" => "__shfl_sync()",
        "__gpurace_vote" => match constant(0) {
            Some(0) => "__all_sync()",
            Some(1) => "__any_sync()",
            Some(2) => "__uni_sync()",
            _ => "__ballot_sync()",
        },
        "__gpurace_match" => "__match_sync()",
        "__gpurace_redux" => "__reduce_sync()",
        "__gpurace_matrix" => "wmma::mma_sync()",
        "__gpurace_fence" => "__threadfence()",
        "__gpurace_trap" => "__trap()",
        _ => "unsupported instruction",
    }
}

/// Whether an entry point makes threads wait for other blocks of their cluster, or
/// gives them addresses there.
pub fn is_of_cluster(name: &str) -> bool {
    ["__gpurace_cluster_arrive", "__gpurace_cluster_wait", "__gpurace_mapa"].contains(&name)
}

/// A call's argument as a constant.
unsafe fn constant_argument(call: LLVMValueRef, index: u32) -> Option<u64> {
    // SAFETY: by contract.
    unsafe {
        let value = LLVMGetOperand(call, index);
        (!LLVMIsAConstantInt(value).is_null()).then(|| LLVMConstIntGetZExtValue(value))
    }
}

/// What one call adds to the synchronisation that a kernel can reach.
///
/// # Safety
/// `call` is a live call.
pub unsafe fn add_features(call: LLVMValueRef, features: &mut SyncFeatures) {
    // SAFETY: by contract.
    unsafe {
        let Some(callee) = ir::callee(call) else { return };
        let name = ir::name(callee);
        add_of_gpu(&name, call, features);
        let Some(entry) = entry::find(&name) else { return };
        let whole_block = || constant_argument(call, 0) == Some(0) && constant_argument(call, 1) == Some(0);
        match name.as_str() {
            "__gpurace_barrier" | "__gpurace_barrier_red" => {
                features.barriers = true;
                features.named_barriers |= !whole_block();
            }
            "__gpurace_barrier_arrive" => features.named_barriers = true,
            "__gpurace_syncwarp" => {
                features.warp_syncs = true;
                features.partial_masks |= constant_argument(call, 0) != Some(0xffff_ffff);
            }
            "__gpurace_fence" | "__gpurace_happens" => features.fences = true,
            "__gpurace_ignore" | "__gpurace_benign" => features.annotated = true,
            name if is_of_cluster(name) => features.clusters = true,
            "__gpurace_async_read" | "__gpurace_async_write" => features.async_copies = true,
            "__gpurace_texture" | "__gpurace_surface" => features.fetches = true,
            "__gpurace_atomic" | "__gpurace_atomic_done" => {
                features.fences |= constant_argument(call, 5) != Some(Order::Relaxed as u64);
            }
            _ => {}
        }
        features.suspends |= entry.convergent
            || matches!(name.as_str(), "__gpurace_yield" | "__gpurace_nanosleep" | "__gpurace_exit");
    }
}

/// What a call that code for a GPU alone makes ([`crate::gpu`]) adds.
unsafe fn add_of_gpu(name: &str, call: LLVMValueRef, features: &mut SyncFeatures) {
    match name {
        "__gpurace_before_barrier" => features.barriers = true,
        "__gpurace_before_named" => (features.barriers, features.named_barriers) = (true, true),
        "__gpurace_before_syncwarp" => {
            features.warp_syncs = true;
            // SAFETY: by `add_features`' contract.
            features.partial_masks |= unsafe { constant_argument(call, 0) } != Some(0xffff_ffff);
        }
        "__gpurace_fetch" => features.fetches = true,
        // Something that may release and acquire, nobody knows how.
        "__gpurace_irregular" => features.fences = true,
        _ => {}
    }
}
