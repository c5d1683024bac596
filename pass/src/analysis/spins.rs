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
use crate::analysis::loops::Loops;
use crate::ir;
use crate::ir::entry_calls::CONTEXT_FUNCTION;

/// Returns the headers of a function's loops that only wait.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn headers(function: LLVMValueRef) -> HashSet<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(function);
        let edges = Loops::of(&flow.successors).back_edges(&flow);
        let waits = edges.into_iter().filter_map(|edge| {
            let body = edge.nodes.iter().map(|&node| flow.blocks[node]).collect();
            let turn = Turn { header: flow.blocks[edge.header], body };
            turn.only_waits().then_some(turn.header)
        });
        waits.collect()
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
            if !self.body.iter().all(|&block| ir::block_instructions(block).all(|i| changes_nothing(i))) {
                return false;
            }
            let mut reads = false;
            let mut exits = 0;
            for &block in &self.body {
                if ir::successors(block).iter().all(|next| self.body.contains(next)) {
                    continue;
                }
                exits += 1;
                // The condition, of a branch as of a switch.
                let condition = LLVMGetOperand(LLVMGetBasicBlockTerminator(block), 0);
                if !self.is_steady(condition, &mut HashSet::new(), &mut reads) {
                    return false;
                }
            }
            exits == 0 || reads
        }
    }

    /// True if a value is the same in each turn unless memory changes.
    unsafe fn is_steady(
        &self,
        value: LLVMValueRef,
        seen: &mut HashSet<LLVMValueRef>,
        reads: &mut bool,
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
                        .all(|i| self.is_steady(LLVMGetIncomingValue(value, i), seen, reads));
                }
                LLVMOpcode::LLVMLoad => *reads = true,
                LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => return false,
                _ => {}
            }
            ir::operands(value).into_iter().all(|operand| self.is_steady(operand, seen, reads))
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
                        Some(Entry::Read | Entry::ReadRange | Entry::Batches)
                    )
                    || (name.starts_with("llvm.") && !name.starts_with("llvm.mem"))
            }),
            _ => true,
        }
    }
}
