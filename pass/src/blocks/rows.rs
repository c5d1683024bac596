//! Rows: batches in which each thread of a segment makes at most one access.
//!
//! In code that runs a block's threads in loops ([`super::entries`]) a call for each access would
//! keep LLVM from vectorising over threads, and would cost more than the access. Instead, a thread
//! stores the address of its access in the block's frame, beside those of the other threads. One
//! call hands all rows to the checker once the threads have reached the next barrier
//! (`gpurace_check::batch`).
//!
//! | access | its check |
//! |---|---|
//! | of a size for batches ([`may_be_batched`]), at most once for each thread and segment | in a row |
//! | one in a loop that threads run one by one | gathered: see [`super::gathered`] |
//! | another one in a loop, of another size, or after the first [`MOST_ROWS`] | a call before the access |
//!
//! Loops of few iterations are unrolled before. A loop whose iterations the threads run side by side is cut at its end,
//! as at a barrier ([`super::cut_loops`]): each iteration has rows of its own.
//!
//! A write also stores its value and the previous content of memory. All threads store these at the
//! end of the segment: LLVM masks a store that only some threads execute, which is many times
//! slower on some processors.
//!
//! Kernels in which the place of a check among other operations matters have no rows: see
//! [`allows`]. Beside fences and atomics that order, some accesses have none: see [`super::apart`].

use std::collections::HashMap;

use gpurace_abi::batch::{BatchAccess, FrameAddresses, FrameBatch, MOST_ROWS};
use gpurace_abi::device::REGION_WORDS;
use gpurace_abi::entry::{CheckedAccess, Effect, Entry};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::apart;
use crate::analysis::control_flow::ControlFlow;
use crate::ir;
use crate::ir::entry_calls::{EntryCall, checked_address, entry_of};

unsafe extern "C" {
    fn gpurace_address_number(builder: LLVMBuilderRef, address: LLVMValueRef) -> LLVMValueRef;
}

/// True if a kernel that calls this entry point may have rows: no order depends on the time of a
/// check, no memory is freed, and the block goes on to the end of the segment.
pub fn allows(entry: Entry) -> bool {
    matches!(entry.effect(), Effect::Check(CheckedAccess::Read | CheckedAccess::Write) | Effect::Service)
        || entry == Entry::Barrier
}

/// True for fences and the checks of atomic accesses. Where they order something, only accesses that a barrier parts
/// from them are in rows ([`super::apart`]).
pub fn may_order(entry: Entry) -> bool {
    matches!(entry.effect(), Effect::Check(CheckedAccess::Atomic) | Effect::AtomicDone)
        || entry == Entry::Fence
}

/// An access that can be part of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchedAccess {
    /// The call that checks it.
    pub call: LLVMValueRef,
    /// The basic block that it is in.
    pub block: LLVMBasicBlockRef,
    /// The module's index of the instruction.
    pub site: u32,
    /// Its bytes.
    pub size: u32,
    writes: bool,
    /// The value that it writes, if the check has one that memory of the same size can hold.
    pub value: Option<LLVMValueRef>,
}

impl BatchedAccess {
    /// Returns the batch of its accesses. `addresses` and `values` are the places in the block frame; those of
    /// `values` are for what a write stores and for what was there before.
    pub fn batch(&self, addresses: FrameAddresses, values: Option<[u32; 2]>) -> FrameBatch {
        let does = match values {
            Some([written, before]) => BatchAccess::WriteValues { written, before },
            None if self.writes => BatchAccess::Write,
            None => BatchAccess::Read,
        };
        FrameBatch { site: self.site, size: self.size, does, addresses }
    }

    /// Builds the value that a write stores and a load of what is there before it, both as integers of the access's
    /// size. The builder stands before the access. `None` if the check has no value.
    ///
    /// # Safety
    /// The check is live, and the builder is of its function.
    pub unsafe fn written_and_before(&self, builder: LLVMBuilderRef) -> Option<[LLVMValueRef; 2]> {
        let value = self.value?;
        // SAFETY: by contract.
        unsafe {
            let none = c"".as_ptr();
            let ty = LLVMIntTypeInContext(LLVMGetTypeContext(LLVMTypeOf(value)), 8 * self.size);
            let written = if self.size == 8 { value } else { LLVMBuildTrunc(builder, value, ty, none) };
            let before = LLVMBuildLoad2(builder, ty, checked_address(self.call), none);
            LLVMSetAlignment(before, 1);
            Some([written, before])
        }
    }
}

/// True if accesses of so many bytes can be part of a batch: 1, 2, 3, or whole words up to the bytes of a region.
/// Copies of structs are long.
pub fn may_be_batched(size: u32) -> bool {
    matches!(size, 1..=3) || size.is_multiple_of(4) && (1..=4 * REGION_WORDS as u32).contains(&size)
}

/// Finds the accesses of a cut function that can be in rows.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn find(function: LLVMValueRef) -> Vec<BatchedAccess> {
    // SAFETY: by contract.
    unsafe {
        let mut found = Vec::new();
        let flow = ControlFlow::of(function);
        let mut cyclic = HashMap::new();
        let is_in_cycle =
            |block: &LLVMBasicBlockRef| flow.index.get(block).is_some_and(|&node| flow.is_in_cycle(node));
        for call in ir::instructions(function) {
            if found.len() < MOST_ROWS
                && let Some(access) = batched_access(call)
                && !*cyclic.entry(access.block).or_insert_with_key(is_in_cycle)
            {
                found.push(access);
            }
        }
        found
    }
}

/// True for the check of a write.
///
/// # Safety
/// It is live.
pub unsafe fn is_write(i: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { entry_of(i) }.is_some_and(|entry| entry.effect() == Effect::Check(CheckedAccess::Write))
}

/// The access that a call checks, if it can be part of a batch.
///
/// # Safety
/// The instruction is live.
pub unsafe fn batched_access(call: LLVMValueRef) -> Option<BatchedAccess> {
    // SAFETY: by contract.
    unsafe {
        let check = EntryCall::of(call)?;
        let writes = match check.entry.effect() {
            Effect::Check(CheckedAccess::Read) => false,
            Effect::Check(CheckedAccess::Write) => true,
            _ => return None,
        };
        let size = u32::try_from(check.size()?).ok().filter(|&size| may_be_batched(size))?;
        if apart::stays_call(call) {
            return None;
        }
        let value = (check.entry == Entry::Write && matches!(size, 1 | 2 | 4 | 8)).then(|| check.operand(3));
        Some(BatchedAccess {
            call,
            block: LLVMGetInstructionParent(call),
            site: check.site()?,
            size,
            writes,
            value,
        })
    }
}

/// The basic blocks that are reached from `block` and return.
///
/// # Safety
/// It is live.
pub unsafe fn ends(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let mut found = ControlFlow::from(block).blocks;
        found.retain(|&b| ir::opcode(LLVMGetBasicBlockTerminator(b)) == LLVMOpcode::LLVMRet);
        found
    }
}

/// Returns which of the places a thread may reach from `start`, by index. A place is a list of basic blocks. The order
/// is one in which every thread comes to the places that it reaches.
///
/// # Safety
/// `start` is a block of the function of the places.
pub unsafe fn of_segment(start: LLVMBasicBlockRef, places: &[&[LLVMBasicBlockRef]]) -> Vec<usize> {
    // SAFETY: by contract.
    let position = unsafe { ControlFlow::from(start) }.index;
    let first =
        |blocks: &[LLVMBasicBlockRef]| blocks.iter().filter_map(|block| position.get(block)).min().copied();
    let mut found: Vec<_> = (0..).zip(places).filter_map(|(i, blocks)| Some((first(blocks)?, i))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, i)| i).collect()
}

/// Stores the address of an access at a place.
///
/// # Safety
/// The access was found in a live function, and its check is still there. The place is computed at the
/// function's start.
pub unsafe fn store_address(builder: LLVMBuilderRef, access: &BatchedAccess, place: LLVMValueRef) {
    // SAFETY: by contract.
    unsafe {
        LLVMPositionBuilderBefore(builder, access.call);
        LLVMBuildStore(builder, gpurace_address_number(builder, checked_address(access.call)), place);
    }
}

/// Stores at a place that a thread makes the accesses of a basic block. `first` is the first of these accesses.
///
/// # Safety
/// As [`store_address`].
pub unsafe fn store_active(
    builder: LLVMBuilderRef,
    context: LLVMContextRef,
    first: &BatchedAccess,
    place: LLVMValueRef,
) {
    // SAFETY: by contract.
    unsafe {
        LLVMPositionBuilderBefore(builder, first.call);
        LLVMBuildStore(builder, reaches(builder, context, first.block), place);
    }
}

/// Stores the value that an access writes, and the content of memory before it. Does nothing if the check has no value.
///
/// # Safety
/// As [`store_address`]; the places are variables of the access's size.
pub unsafe fn store_values(builder: LLVMBuilderRef, access: &BatchedAccess, places: [LLVMValueRef; 2]) {
    // SAFETY: by contract.
    unsafe {
        LLVMPositionBuilderBefore(builder, access.call);
        for (value, place) in access.written_and_before(builder).into_iter().flatten().zip(places) {
            LLVMBuildStore(builder, value, place);
        }
    }
}

/// Returns whether a thread reaches a basic block, as a 32-bit number. If a conditional branch of one block alone leads
/// there, the number is built before that branch, and the builder stays there. So threads that do not reach the basic
/// block store the number too. LLVM then needs no masked store, which takes many times as long.
unsafe fn reaches(
    builder: LLVMBuilderRef,
    context: LLVMContextRef,
    block: LLVMBasicBlockRef,
) -> LLVMValueRef {
    // SAFETY: by contract; the builder is in the block.
    unsafe {
        let int = LLVMInt32TypeInContext(context);
        let mut before = ir::predecessors(block);
        if let (Some(one), None) = (before.next(), before.next()) {
            let last = LLVMGetBasicBlockTerminator(one);
            if let [yes, no] = ir::successors(one)[..]
                && ir::opcode(last) == LLVMOpcode::LLVMBr
                && yes != no
            {
                LLVMPositionBuilderBefore(builder, last);
                let (condition, none) = (LLVMGetCondition(last), c"".as_ptr());
                let comes = if yes == block { condition } else { LLVMBuildNot(builder, condition, none) };
                return LLVMBuildZExt(builder, comes, int, none);
            }
        }
        LLVMConstInt(int, 1, 0)
    }
}

#[cfg(test)]
mod tests;
