//! Numbers synchronisation calls: barriers, warp syncs, collectives and fences.
//!
//! After normalisation each is a call of an entry point. This module sets its last argument,
//! `sync`, to a number, and describes the source position behind each number. The number of a barrier that threads may
//! skip is marked ([`UNDER_CONDITION`]).

use std::collections::HashMap;

use gpurace_abi::entry::Entry;
use gpurace_abi::meta::{SyncSite, UNDER_CONDITION};
use gpurace_abi::scope::{Order, Scope};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;

use crate::checks::skipped::Skippable;
use crate::ir;
use crate::ir::entry_calls::{EntryCall, EntryCalls};
use crate::ir::position::{self, Positions};

/// The `sync` argument of `__syncthreads` and its reducing forms after normalisation. CUDA C++ asks
/// all threads of a block to reach the same call ("Synchronization Functions"). Threads may meet at
/// PTX's own barriers from several places.
const ONE_PLACE: u64 = 0xffff_fffe;

/// Numbers the synchronisation calls of a module and describes them. All copies of one call of the
/// source have the same number.
///
/// # Safety
/// `module` is live and normalised.
pub unsafe fn number(
    module: LLVMModuleRef,
    positions: &mut Positions,
    skippable: &Skippable,
) -> Vec<SyncSite> {
    let mut found = Numbered::default();
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let calls = EntryCalls::new(module);
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for function in ir::definitions(module) {
            let name = ir::name(function);
            for instruction in ir::instructions(function) {
                match ir::opcode(instruction) {
                    LLVMOpcode::LLVMFence => {
                        // `__atomic_thread_fence`; the instruction itself stays.
                        LLVMPositionBuilderBefore(builder, instruction);
                        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(instruction));
                        let scope = calls.i32(Scope::System as u64);
                        let order = calls.i32(Order::SeqCst as u64);
                        let sync = calls.i32(found.number(describe("fence", instruction, positions)));
                        calls.call(builder, Entry::Fence, &[scope, order, sync]);
                    }
                    LLVMOpcode::LLVMCall => {
                        let Some(call) = EntryCall::of(instruction) else { continue };
                        let Some(sync) = call.entry.sync_operand() else { continue };
                        let mut site = describe(source_name(call), instruction, positions);
                        site.one_place = !site.frames.is_empty()
                            && call.constant(sync) == Some(ONE_PLACE)
                            && call.is_of_whole_block();
                        let at = position::outermost(instruction).filter(|_| site.one_place);
                        let is_skippable = at
                            .is_some_and(|(line, column)| skippable.contains(&(name.clone(), line, column)));
                        let mark = if is_skippable { UNDER_CONDITION.into() } else { 0 };
                        call.set_operand(sync, calls.i32(found.number(site) | mark));
                    }
                    _ => {}
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
    found.sites
}

/// The synchronisation calls found so far.
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

/// The name of a synchronisation in the source.
unsafe fn source_name(call: EntryCall) -> &'static str {
    // SAFETY: by contract; the entry points have these operands.
    let constant = |index| unsafe { call.constant(index) };
    match call.entry {
        // SAFETY: by contract.
        Entry::Barrier if unsafe { call.is_of_whole_block() } => "__syncthreads()",
        Entry::Barrier => "bar.sync",
        Entry::BarrierArrive => "bar.arrive",
        Entry::BarrierRed => match constant(2) {
            Some(0) => "__syncthreads_count()",
            Some(1) => "__syncthreads_and()",
            _ => "__syncthreads_or()",
        },
        Entry::ClusterArrive => "barrier.cluster.arrive",
        Entry::ClusterWait => "barrier.cluster.wait",
        Entry::Syncwarp => "__syncwarp()",
        Entry::Shfl => "__shfl_sync()",
        Entry::Vote => match constant(0) {
            Some(0) => "__all_sync()",
            Some(1) => "__any_sync()",
            Some(2) => "__uni_sync()",
            _ => "__ballot_sync()",
        },
        Entry::Match => "__match_sync()",
        Entry::Redux => "__reduce_sync()",
        Entry::Matrix => "wmma::mma_sync()",
        Entry::Fence => "__threadfence()",
        Entry::Trap => "__trap()",
        Entry::LeavesArray => "an access to a shared array",
        _ => "unsupported instruction",
    }
}
