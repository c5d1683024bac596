//! Loops whose number of iterations is a constant.

use llvm_sys::LLVMIntPredicate;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::control_flow::ControlFlow;
use super::loops::Loop;
use crate::ir;

/// The number of a loop's iterations, if threads leave it by a count from a constant to a constant. With another way
/// out it is the most. `None` if it is not known, 0, or more than `most`.
///
/// # Safety
/// The function of `flow` is live.
pub unsafe fn iterations(flow: &ControlFlow, of: &Loop, most: usize) -> Option<usize> {
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
            let Some(first) = constant(first) else { continue };
            let counts =
                ir::value_opcode(next) == Some(LLVMOpcode::LLVMAdd) && LLVMGetOperand(next, 0) == phi;
            // LLVM knows the next value where there is only one iteration.
            let (step, most) = match (constant(next), counts) {
                (Some(next), _) => (next - first, most.min(1)),
                (None, true) if let Some(step) = constant(LLVMGetOperand(next, 1)) => (step, most),
                _ => continue,
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
                let left = (0..=most).find(|&n| goes_on(n) == Some(false))?;
                let times = left + usize::from(from == latch);
                return (1..=most).contains(&times).then_some(times);
            }
        }
        None
    }
}

/// The only node from which control goes back to the header.
pub fn latch(flow: &ControlFlow, of: &Loop) -> Option<usize> {
    let mut before =
        flow.predecessors[of.header()?].iter().filter(|node| of.nodes.binary_search(node).is_ok());
    let &latch = before.next()?;
    before.all(|&other| other == latch).then_some(latch)
}

/// The value of a constant that is not too large to count with.
unsafe fn constant(value: LLVMValueRef) -> Option<i64> {
    // SAFETY: by contract.
    unsafe { ir::signed_constant(value) }.filter(|value| value.unsigned_abs() < 1 << 30)
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
