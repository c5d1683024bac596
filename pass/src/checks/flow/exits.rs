//! Ways out of loops.

use gpurace_abi::flow::{FlowBlock, Step};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::regions::Graph;
use crate::ir;

/// True for the begin of a line.
pub(super) fn is_line(step: &Step) -> bool {
    matches!(step, Step::Line(_) | Step::Inlined { .. })
}

/// Lets ways out of a loop lead there directly. A `return` or a `break` behind which objects end leads to the loop's
/// last basic block, which chooses by a number of the way whether the thread leaves.
///
/// # Safety
/// The function of `graph` is live, and `blocks` are its basic blocks.
pub(super) unsafe fn leave_directly(blocks: &mut [FlowBlock], graph: &Graph) {
    let leaves = |from: usize, to: usize| !graph.within(graph.loop_of[to], graph.loop_of[from]);
    for at in (0..blocks.len()).filter(|&at| graph.loop_of[at].is_some()) {
        let is_own_loop = blocks[at].next.contains(&(at as u32));
        if is_own_loop || !blocks[at].steps.iter().all(is_line) {
            continue;
        }
        let from: Vec<usize> =
            (0..blocks.len()).filter(|&from| blocks[from].next.contains(&(at as u32))).collect();
        // SAFETY: by contract.
        let chosen = |&from: &usize| unsafe { chosen(graph.blocks[at], graph.blocks[from]) };
        let chosen = |from: &usize| graph.index.get(&chosen(from)?).copied();
        let Some(chosen) = from.iter().map(chosen).collect::<Option<Vec<usize>>>() else { continue };
        let (out, on): (Vec<_>, Vec<_>) = from.into_iter().zip(chosen).partition(|&(_, to)| leaves(at, to));
        if on.is_empty() {
            continue;
        }
        for (from, to) in out {
            let next = &mut blocks[from].next;
            next.iter_mut().filter(|next| **next == at as u32).for_each(|next| *next = to as u32);
        }
        blocks[at].next = on.into_iter().map(|(_, to)| to as u32).collect();
        blocks[at].next.sort_unstable();
        blocks[at].next.dedup();
    }
}

/// Returns where a basic block leads a thread that comes from another one, if a number of the way alone decides.
unsafe fn chosen(block: LLVMBasicBlockRef, from: LLVMBasicBlockRef) -> Option<LLVMBasicBlockRef> {
    // SAFETY: by contract; a switch has its default first, and then a number for each further successor.
    unsafe {
        let terminator = LLVMGetBasicBlockTerminator(block);
        let is_switch = ir::opcode(terminator) == LLVMOpcode::LLVMSwitch;
        if !is_switch && (ir::opcode(terminator) != LLVMOpcode::LLVMBr || LLVMIsConditional(terminator) == 0)
        {
            return None;
        }
        let way = if is_switch { LLVMGetOperand(terminator, 0) } else { LLVMGetCondition(terminator) };
        if ir::value_opcode(way) != Some(LLVMOpcode::LLVMPHI) || LLVMGetInstructionParent(way) != block {
            return None;
        }
        let mut ways = (0..LLVMCountIncoming(way)).filter(|&at| LLVMGetIncomingBlock(way, at) == from);
        let number = LLVMGetIncomingValue(way, ways.next()?);
        if LLVMIsAConstantInt(number).is_null() {
            return None;
        }
        let successors = LLVMGetNumSuccessors(terminator);
        let slot = match is_switch {
            true => {
                (1..successors).find(|&slot| LLVMGetSwitchCaseValue(terminator, slot) == number).unwrap_or(0)
            }
            false => u32::from(LLVMConstIntGetZExtValue(number) == 0),
        };
        Some(LLVMGetSuccessor(terminator, slot))
    }
}
