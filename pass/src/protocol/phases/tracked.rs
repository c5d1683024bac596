//! Copies of elements (`cp.async`) for which an arrival waits: `cp.async.mbarrier.arrive.noinc`. It arrives when all
//! such copies are done that its thread has started before.
//!
//! Only those count that always come before it in the same iteration of its loop. Bulk copies do not: it does not know
//! of them.

use std::collections::HashSet;

use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::regions::Graph;
use crate::checks::sites::ASYNC_METADATA;
use crate::ir;
use crate::ir::address_space;
use crate::ir::entry_calls::EntryCall;

/// The copies that are done when the thread arrives behind this call of [`Entry::AsyncArrive`].
///
/// # Safety
/// `told` is a live instruction of the function of the graph.
pub unsafe fn copies_before(graph: &Graph, told: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let all = graph.blocks.iter().flat_map(|block| ir::block_instructions(*block));
        all.filter(|copy| is_of_elements(*copy, told) && always_leads_to(graph, *copy, told)).collect()
    }
}

/// True for an asynchronous copy into shared memory that tells no other mbarrier that it is done, as bulk copies do.
unsafe fn is_of_elements(copy: LLVMValueRef, told: LLVMValueRef) -> bool {
    // SAFETY: by the caller's contract.
    unsafe {
        let is_copy = ir::metadata(copy, ASYNC_METADATA).is_some()
            && ir::callee(copy).is_some_and(|callee| ir::name(callee).starts_with("llvm.memcpy."));
        if !is_copy || ir::space_of(LLVMGetOperand(copy, 0)) != Some(address_space::SHARED) {
            return false;
        }
        let mut rest = ir::block_instructions(LLVMGetInstructionParent(copy)).skip_while(|i| *i != copy);
        let next = rest.find(|i| EntryCall::of(*i).is_some_and(|call| call.entry == Entry::AsyncArrive));
        next.is_none_or(|next| next == told)
    }
}

/// True if each thread that starts a copy comes to the call in the same iteration of the innermost loop around the
/// call, if there is one.
unsafe fn always_leads_to(graph: &Graph, copy: LLVMValueRef, told: LLVMValueRef) -> bool {
    // SAFETY: by the caller's contract.
    unsafe {
        let block_of = |i| graph.index.get(&LLVMGetInstructionParent(i)).copied();
        let (Some(start), Some(end)) = (block_of(copy), block_of(told)) else { return false };
        let around = graph.loop_of[end];
        let header = around.map(|of| graph.loops[of].header);
        if !graph.within(graph.loop_of[start], around) {
            return false;
        }
        if start == end
            && ir::block_instructions(graph.blocks[start]).skip_while(|i| *i != copy).any(|i| i == told)
        {
            return true;
        }
        let mut pending = vec![start];
        let mut seen = HashSet::new();
        while let Some(from) = pending.pop() {
            let next = ir::successors(graph.blocks[from]);
            if next.is_empty() {
                return false;
            }
            for to in next {
                let Some(&to) = graph.index.get(&to) else { return false };
                if Some(to) == header || !graph.within(graph.loop_of[to], around) {
                    return false;
                }
                if to != end && seen.insert(to) {
                    pending.push(to);
                }
            }
        }
        true
    }
}
