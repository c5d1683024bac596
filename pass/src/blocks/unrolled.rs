//! Unrolls loops of few iterations before a kernel is cut, so that each access of an iteration is a row.
//!
//! LLVM's own limit counts instructions, and a check is several. So a loop is also unrolled if its number of iterations
//! is constant and the function has at most [`MOST_ROWS`] checks afterwards. Such are the loops over elements that a
//! thread keeps in registers. Inner loops come first.

use gpurace_abi::batch::MOST_ROWS;
use llvm_sys::LLVMIntPredicate;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::prelude::*;

use super::rows;
use crate::analysis::control_flow::ControlFlow;
use crate::analysis::loops::{Loop, Loops};
use crate::ir;
use crate::ir::passes::run_passes_on;

/// The passes, in `opt -passes=` form. The elements of local arrays become values, too. A part of a loop is not
/// unrolled: its accesses would be rows beside those that stay calls.
const PASSES: &str = "loop-simplify,lcssa,loop(loop-rotate),\
    loop-unroll<O2;no-partial;no-peeling;no-profile-peeling;no-runtime;no-upperbound>,sroa";

/// The kind of metadata that names the properties of a loop.
const LOOP: &str = "llvm.loop";

/// Unrolls the loops of a function.
///
/// # Safety
/// It is a live definition.
pub unsafe fn unroll(function: LLVMValueRef) {
    // SAFETY: by contract.
    unsafe {
        let marked = mark(function);
        // A failure costs only speed.
        let _ = run_passes_on(function, PASSES);
        // LLVM would warn of what is still marked.
        if marked {
            for block in ir::blocks(function) {
                let end = LLVMGetBasicBlockTerminator(block);
                if ir::metadata(end, LOOP).is_some() {
                    LLVMSetMetadata(end, ir::metadata_kind(end, LOOP), std::ptr::null_mut());
                }
            }
        }
    }
}

/// Marks the loops that LLVM shall unroll whatever it costs. True if there is one.
unsafe fn mark(function: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(function);
        let loops = Loops::of(&flow.successors);
        let mut checks: Vec<usize> = flow.blocks.iter().map(|&block| checks_in(block)).collect();
        let mut any = false;
        // `loops` has each loop before those in it.
        for of in loops.loops.iter().rev() {
            let inside: usize = of.nodes.iter().map(|&node| checks[node]).sum();
            let all: usize = checks.iter().sum();
            let Some(times) = iterations(&flow, of).filter(|_| inside > 0) else { continue };
            if all + (times - 1) * inside > MOST_ROWS {
                continue;
            }
            of.nodes.iter().for_each(|&node| checks[node] *= times);
            mark_loop(&flow, of);
            any = true;
        }
        any
    }
}

/// How many checks of a basic block may be in rows.
unsafe fn checks_in(block: LLVMBasicBlockRef) -> usize {
    // SAFETY: by contract.
    unsafe { ir::block_instructions(block).filter(|&i| rows::batched_access(i).is_some()).count() }
}

/// The number of a loop's iterations, if threads leave it by a count from a constant to a constant. With another way
/// out it is the most. `None` if it is not known, 0, or more than [`MOST_ROWS`].
unsafe fn iterations(flow: &ControlFlow, of: &Loop) -> Option<usize> {
    // SAFETY: by contract.
    unsafe {
        let header = of.header()?;
        let latch = latch(flow, of)?;
        let is_inside = |node: &usize| of.nodes.binary_search(node).is_ok();
        for phi in ir::block_instructions(flow.blocks[header])
            .take_while(|&i| ir::opcode(i) == LLVMOpcode::LLVMPHI && LLVMCountIncoming(i) == 2)
        {
            let [mut first, mut next] = [0, 1].map(|n| LLVMGetIncomingValue(phi, n));
            if LLVMGetIncomingBlock(phi, 0) == flow.blocks[latch] {
                std::mem::swap(&mut first, &mut next);
            }
            if ir::value_opcode(next) != Some(LLVMOpcode::LLVMAdd) || LLVMGetOperand(next, 0) != phi {
                continue;
            }
            let (Some(first), Some(step)) = (constant(first), constant(LLVMGetOperand(next, 1))) else {
                continue;
            };
            for from in [header, latch] {
                let end = LLVMGetBasicBlockTerminator(flow.blocks[from]);
                let to = &flow.successors[from];
                let is_branch = ir::opcode(end) == LLVMOpcode::LLVMBr && LLVMIsConditional(end) != 0;
                if !is_branch || is_inside(&to[0]) == is_inside(&to[1]) {
                    continue;
                }
                let condition = LLVMGetCondition(end);
                if ir::value_opcode(condition) != Some(LLVMOpcode::LLVMICmp) {
                    continue;
                }
                let counter = LLVMGetOperand(condition, 0);
                let Some(limit) =
                    constant(LLVMGetOperand(condition, 1)).filter(|_| counter == phi || counter == next)
                else {
                    continue;
                };
                let stays_if = is_inside(&to[0]);
                let start = if counter == phi { first } else { first + step };
                let goes_on = |n: usize| {
                    holds(condition, start + n as i64 * step, limit).map(|holds| holds == stays_if)
                };
                // Threads that leave at the latch have made the iteration.
                let left = (0..=MOST_ROWS).find(|&n| goes_on(n) == Some(false))?;
                let times = left + usize::from(from == latch);
                return (1..=MOST_ROWS).contains(&times).then_some(times);
            }
        }
        None
    }
}

/// The only node from which control goes back to the header.
fn latch(flow: &ControlFlow, of: &Loop) -> Option<usize> {
    let mut before =
        flow.predecessors[of.header()?].iter().filter(|node| of.nodes.binary_search(node).is_ok());
    let &latch = before.next()?;
    before.all(|&other| other == latch).then_some(latch)
}

/// The value of a constant that is not too large to count with.
unsafe fn constant(value: LLVMValueRef) -> Option<i64> {
    // SAFETY: by contract.
    unsafe {
        let is_number = !LLVMIsAConstantInt(value).is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64;
        is_number.then(|| LLVMConstIntGetSExtValue(value)).filter(|value| value.abs() < 1 << 30)
    }
}

/// Whether a comparison holds for these numbers. `None` if it is not signed and one of them is below zero.
unsafe fn holds(comparison: LLVMValueRef, left: i64, right: i64) -> Option<bool> {
    use LLVMIntPredicate::*;
    // SAFETY: by contract.
    let predicate = unsafe { LLVMGetICmpPredicate(comparison) };
    let is_unsigned = matches!(predicate, LLVMIntULT | LLVMIntULE | LLVMIntUGT | LLVMIntUGE);
    if is_unsigned && left.min(right) < 0 {
        return None;
    }
    Some(match predicate {
        LLVMIntEQ => left == right,
        LLVMIntNE => left != right,
        LLVMIntSLT | LLVMIntULT => left < right,
        LLVMIntSLE | LLVMIntULE => left <= right,
        LLVMIntSGT | LLVMIntUGT => left > right,
        LLVMIntSGE | LLVMIntUGE => left >= right,
    })
}

/// Marks a loop: its metadata is a node that names itself and the property.
unsafe fn mark_loop(flow: &ControlFlow, of: &Loop) {
    // SAFETY: by contract.
    unsafe {
        let Some(latch) = latch(flow, of) else { return };
        let end = LLVMGetBasicBlockTerminator(flow.blocks[latch]);
        let context = LLVMGetTypeContext(LLVMTypeOf(LLVMGetBasicBlockParent(flow.blocks[latch])));
        let name = "llvm.loop.unroll.full";
        let mut name = [LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len())];
        let property = LLVMMDNodeInContext2(context, name.as_mut_ptr(), name.len());
        let itself = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
        let mut fields = [itself, property];
        let node = LLVMMDNodeInContext2(context, fields.as_mut_ptr(), fields.len());
        LLVMMetadataReplaceAllUsesWith(itself, node);
        LLVMSetMetadata(end, ir::metadata_kind(end, LOOP), LLVMMetadataAsValue(context, node));
    }
}
