//! Which accesses stay calls beside fences and atomics that order.
//!
//! The accesses of a batch are checked later than they are made. That changes nothing where their thread
//! synchronises by barriers of the block alone, from the last barrier before the access to the next one after it: it
//! neither learns nor tells anything meanwhile. So a check stays a call if, on some way without a barrier, a fence or
//! an atomic comes before or after it. A function that is called may have one.

use std::collections::HashSet;

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::rows;
use super::segments::is_barrier;
use crate::analysis::control_flow::ControlFlow;
use crate::ir;
use crate::ir::entry_calls::entry_of;

/// Metadata of a check that stays a call.
const STAYS: &str = "gpurace.call";

/// True if the check of an access stays a call.
///
/// # Safety
/// It is live.
pub unsafe fn stays_call(check: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { ir::metadata(check, STAYS).is_some() }
}

/// Makes the checks stay calls that no barrier parts from what may order.
///
/// # Safety
/// `function` is a live definition that is not cut yet.
pub unsafe fn keep_calls(function: LLVMValueRef) {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(function);
        let mut instructions: Vec<Vec<_>> =
            flow.blocks.iter().map(|&block| ir::block_instructions(block).collect()).collect();
        mark_behind(&instructions, &flow.successors);
        instructions.iter_mut().for_each(|all| all.reverse());
        mark_behind(&instructions, &flow.predecessors);
    }
}

/// Marks the checks that are reached, without a barrier between, from what may order. The instructions of a node are
/// in the order of the way, and `next` has the nodes that follow.
unsafe fn mark_behind(instructions: &[Vec<LLVMValueRef>], next: &[Vec<usize>]) {
    let mut pending: Vec<_> = (0..instructions.len()).map(|node| (node, false)).collect();
    let mut reached = HashSet::new();
    while let Some((node, mut near)) = pending.pop() {
        if !reached.insert((node, near)) {
            continue;
        }
        // SAFETY: by contract.
        unsafe {
            for &i in &instructions[node] {
                if is_barrier(i) {
                    near = false;
                } else if may_order(i) {
                    near = true;
                } else if near && rows::batched_access(i).is_some() {
                    let context = LLVMGetTypeContext(LLVMTypeOf(i));
                    let node = LLVMMDNodeInContext2(context, std::ptr::null_mut(), 0);
                    LLVMSetMetadata(i, ir::metadata_kind(i, STAYS), LLVMMetadataAsValue(context, node));
                }
            }
        }
        if near {
            pending.extend(next[node].iter().map(|&node| (node, true)));
        }
    }
}

/// True for a call that may order the accesses of a thread: of the check of a fence or an atomic, or of a function of
/// the program.
///
/// # Safety
/// It is live.
pub unsafe fn may_order(i: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::opcode(i) == LLVMOpcode::LLVMCall
            && match entry_of(i) {
                Some(entry) => rows::may_order(entry),
                None => ir::callee(i).is_none_or(|f| LLVMIsDeclaration(f) == 0),
            }
    }
}
