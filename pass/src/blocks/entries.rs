//! Block entries: functions that run all threads of a block. For each segment between two barriers
//! ([`segments`]) they have a loop over the threads, which LLVM can vectorise.
//!
//! Nothing orders the threads of a block between barriers. So in a race-free kernel no iteration of
//! such a loop depends on another one. The loop says so in its metadata, unless the threads share
//! places for their own variables. A racy kernel may therefore compute other values than on fibers.
//!
//! Where a kernel has collectives of warps, the loop is over the warps. For each warp there are loops over its
//! lanes, one for each segment between two collectives.
//!
//! Checked kernels have block entries as well. Each thread in turn runs to the next barrier or collective, as
//! threads with stacks of their own do. No thread waits at a barrier there, so the code tells the checker of
//! it between two segments. Warps that sync run by steps, and the runtime tells the checker which lanes have met.
//!
//! Two kinds of checked kernels have no block entry. The first kind has barriers, and variables in memory. These would
//! lie in the block frame, and the checker does not know there that each belongs to one thread. In the second kind,
//! single threads switch their checks off (annotations). The runtime knows only of the running thread whether its
//! checks are off.

mod builder;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::entry::Entry;
use gpurace_abi::meta::SyncFeatures;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use self::builder::BlockEntryBuilder;
use crate::analysis::reach::Reach;
use crate::analysis::sync_features;
use crate::blocks::{rows, segments};
use crate::ir;
use crate::ir::entry_calls::{EntryCall, entry_of, entry_of_function};

/// Prefix of the symbol of a kernel's entry for whole blocks, without checks.
pub const BLOCK_ENTRY: &str = "gpurace.block_entry.";
/// Prefix of the symbol of a kernel's entry for whole blocks, with checks.
pub const CHECKED_BLOCK_ENTRY: &str = "gpurace.checked_block_entry.";

/// How code calls the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Not at all.
    None,
    /// Before each access.
    Kept,
    /// For a batch of accesses where that is possible ([`rows`]), before each other access.
    InRows,
    /// The same, but before each access that no barrier parts from a fence or an atomic of its thread: these order.
    InRowsBetweenBarriers,
}

impl Checks {
    /// True if accesses become batches.
    pub fn are_in_rows(self) -> bool {
        matches!(self, Self::InRows | Self::InRowsBetweenBarriers)
    }
}

/// A kernel with a block entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockKernel {
    /// Its name.
    pub name: String,
    /// Bytes of the frame for each thread.
    pub thread_bytes: u64,
    /// The block entry keeps the index of the running thread in the context.
    pub sets_threads: bool,
    /// The block entry serves only launches whose warps are whole.
    pub needs_whole_warps: bool,
}

/// A kernel that may get a block entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockEntryCandidate {
    /// Its name.
    pub name: String,
    /// How its accesses are checked there.
    pub checks: Checks,
}

impl BlockEntryCandidate {
    /// Another form of the kernel, with this name.
    pub fn with_name(&self, name: String) -> Self {
        Self { name, ..*self }
    }
}

/// Returns the kernels whose threads wait for others only at barriers of the whole block and at collectives of
/// a warp. With checks, only the kernel itself may have these.
///
/// # Safety
/// `kernels` are live, not threaded yet, and `reach` is theirs.
pub unsafe fn candidates(
    kernels: &[(LLVMValueRef, u32)],
    reach: &[Reach],
    checks: Checks,
) -> Vec<BlockEntryCandidate> {
    // SAFETY: by contract.
    let of = |(&(kernel, _), reach)| unsafe { candidate(kernel, reach, checks) };
    kernels.iter().zip(reach).filter_map(of).collect()
}

/// The block entry that a kernel may have.
unsafe fn candidate(kernel: LLVMValueRef, reach: &Reach, checks: Checks) -> Option<BlockEntryCandidate> {
    // SAFETY: by contract.
    unsafe {
        // The runtime knows only of the running thread whether its accesses are checked, not of a thread that
        // waits at a barrier.
        let by_thread = |call| checks == Checks::Kept && entry_of(call) == Some(Entry::Ignore);
        let all = || reach.functions.iter().filter(|&&f| LLVMIsDeclaration(f) == 0);
        // Functions that are called by their names can become part of the kernel.
        let inlines = checks == Checks::None && !all().any(|&f| calls_by_pointer(f));
        let mut features = SyncFeatures::default();
        let mut in_rows = true;
        for &function in all() {
            for i in ir::instructions(function) {
                let is_collective = segments::is_collective(i);
                let is_cut = (function == kernel || inlines) && (is_block_barrier(i) || is_collective);
                in_rows &= !is_collective;
                if ir::opcode(i) == LLVMOpcode::LLVMCall && !is_cut {
                    sync_features::add_features(i, &mut features);
                    features.suspends |= by_thread(i);
                    in_rows &= ir::callee(i).is_some_and(stays_in_rows);
                }
            }
        }
        let in_rows = in_rows && ablation::is_on(Mechanism::Rows);
        // Atomic accesses stay calls. Those that order nothing may reach the checker before
        // accesses that precede them. Others, and fences, keep such accesses calls.
        let orders = reach.features.fences || reach.features.observes;
        let checks = match checks {
            Checks::Kept if in_rows && orders => Checks::InRowsBetweenBarriers,
            Checks::Kept if in_rows => Checks::InRows,
            _ => checks,
        };
        (!features.suspends).then(|| BlockEntryCandidate { name: ir::name(kernel), checks })
    }
}

/// True if code that calls this function may check its accesses in rows.
fn stays_in_rows(function: LLVMValueRef) -> bool {
    // SAFETY: callees of a live module are live.
    let entry = unsafe { entry_of_function(function) };
    entry.is_none_or(|entry| rows::allows(entry) || rows::may_order(entry))
}

/// True if a function calls others through pointers.
unsafe fn calls_by_pointer(function: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::instructions(function)
            .into_iter()
            .any(|i| ir::opcode(i) == LLVMOpcode::LLVMCall && ir::callee(i).is_none() && !ir::calls_asm(i))
    }
}

/// True for a call of the barrier of the whole block.
unsafe fn is_block_barrier(call: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        EntryCall::of(call).is_some_and(|call| call.entry == Entry::Barrier && call.is_of_whole_block())
    }
}

/// Adds a block entry for each kernel that can be cut.
///
/// # Safety
/// `module` is live and threaded; the kernels are its, from [`candidates`].
pub unsafe fn add_entries(module: LLVMModuleRef, kernels: &[BlockEntryCandidate]) -> Vec<BlockKernel> {
    let mut found = Vec::new();
    // SAFETY: by contract.
    unsafe {
        let meeting = segments::meeting_functions(module);
        for &BlockEntryCandidate { ref name, checks } in kernels {
            let prefix = match checks {
                Checks::None => BLOCK_ENTRY,
                _ => CHECKED_BLOCK_ENTRY,
            };
            let kernel = LLVMGetNamedFunction(module, ir::c(name).as_ptr());
            if let Some(segments) = segments::cut(module, kernel, checks, &meeting) {
                BlockEntryBuilder::build(module, kernel, &segments, checks, &format!("{prefix}{name}"));
                found.push(BlockKernel {
                    name: name.clone(),
                    thread_bytes: segments.thread_bytes,
                    sets_threads: segments.needs_context,
                    needs_whole_warps: segments.has_warps(),
                });
            }
        }
    }
    found
}
