//! Loops that wait for other threads through plain memory: `while (!*flag);`.
//!
//! Such a loop changes nothing, and its condition depends on nothing that the loop changes. Only
//! another thread can end it.

use std::collections::HashSet;

use gpurace_abi::entry::Entry;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::control_flow::ControlFlow;
use crate::analysis::loops::{BackEdge, Loops};
use crate::ir;
use crate::ir::entry_calls::CONTEXT_FUNCTION;

/// Returns the headers of a function's loops that only wait.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn headers(function: LLVMValueRef) -> HashSet<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let waits = turns(function).into_iter().filter(|turn| turn.only_waits());
        waits.map(|turn| turn.header).collect()
    }
}

/// Returns the blocks with the loads for which a loop waits or looks: the loop changes nothing, and what such a load
/// finds at the same place in each turn may end it. Something else, such as a counter, may end it too.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn polling(function: LLVMValueRef) -> HashSet<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let turns = turns(function).into_iter().filter(|turn| turn.changes_nothing());
        let loads = turns.flat_map(|turn| turn.exits().into_iter().flatten().flatten());
        loads.map(|load| LLVMGetInstructionParent(load)).collect()
    }
}

unsafe fn turns(function: LLVMValueRef) -> Vec<Turn> {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(function);
        let turn = |edge: BackEdge| {
            let body = edge.nodes.iter().map(|&node| flow.blocks[node]).collect();
            Turn { header: flow.blocks[edge.header], body }
        };
        Loops::of(&flow.successors).back_edges(&flow).into_iter().map(turn).collect()
    }
}

/// The ways through a loop that end with one edge back to its header.
struct Turn {
    header: LLVMBasicBlockRef,
    body: HashSet<LLVMBasicBlockRef>,
}

impl Turn {
    unsafe fn only_waits(&self) -> bool {
        // SAFETY: by contract.
        unsafe {
            let exits = if self.changes_nothing() { self.exits() } else { vec![None] };
            let reads = exits.iter().flatten().any(|loads| !loads.is_empty());
            exits.iter().all(Option::is_some) && (exits.is_empty() || reads)
        }
    }

    unsafe fn changes_nothing(&self) -> bool {
        // SAFETY: by contract.
        unsafe { self.body.iter().all(|&block| ir::block_instructions(block).all(|i| changes_nothing(i))) }
    }

    /// For each exit, the loads that its condition depends on. `None` if the condition may also change by itself.
    unsafe fn exits(&self) -> Vec<Option<Vec<LLVMValueRef>>> {
        // SAFETY: by contract.
        unsafe {
            let leaves = |block: &&LLVMBasicBlockRef| {
                !ir::successors(**block).iter().all(|next| self.body.contains(next))
            };
            let loads = |&block: &LLVMBasicBlockRef| {
                let mut loads = Vec::new();
                // The condition, of a branch as of a switch.
                let condition = LLVMGetOperand(LLVMGetBasicBlockTerminator(block), 0);
                self.is_steady(condition, &mut HashSet::new(), &mut loads).then_some(loads)
            };
            self.body.iter().filter(leaves).map(loads).collect()
        }
    }

    /// True if a value is the same in each turn unless memory changes.
    unsafe fn is_steady(
        &self,
        value: LLVMValueRef,
        seen: &mut HashSet<LLVMValueRef>,
        loads: &mut Vec<LLVMValueRef>,
    ) -> bool {
        // SAFETY: by contract.
        unsafe {
            if LLVMIsAInstruction(value).is_null()
                || !self.body.contains(&LLVMGetInstructionParent(value))
                || !seen.insert(value)
            {
                return true;
            }
            match ir::opcode(value) {
                LLVMOpcode::LLVMPHI if LLVMGetInstructionParent(value) == self.header => return false,
                LLVMOpcode::LLVMPHI => {
                    return (0..LLVMCountIncoming(value))
                        .all(|i| self.is_steady(LLVMGetIncomingValue(value, i), seen, loads));
                }
                LLVMOpcode::LLVMLoad => loads.push(value),
                LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => return false,
                _ => {}
            }
            ir::operands(value).into_iter().all(|operand| self.is_steady(operand, seen, loads))
        }
    }
}

/// True if an instruction neither writes memory nor lets another thread run.
unsafe fn changes_nothing(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        match ir::opcode(instruction) {
            LLVMOpcode::LLVMStore
            | LLVMOpcode::LLVMAtomicRMW
            | LLVMOpcode::LLVMAtomicCmpXchg
            | LLVMOpcode::LLVMInvoke
            | LLVMOpcode::LLVMVAArg => false,
            LLVMOpcode::LLVMCall => ir::callee(instruction).is_some_and(|callee| {
                let name = ir::name(callee);
                name == CONTEXT_FUNCTION
                    || matches!(
                        Entry::of_symbol(&name),
                        Some(Entry::Read | Entry::ReadRange | Entry::Batches | Entry::Fence)
                    )
                    || (name.starts_with("llvm.") && !name.starts_with("llvm.mem"))
            }),
            _ => true,
        }
    }
}
