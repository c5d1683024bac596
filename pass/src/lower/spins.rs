//! Loops that wait for other threads through plain memory: `while (!*flag);`.
//!
//! Such a loop changes nothing, and whether it goes on rests on nothing that it
//! changes itself: another thread ends it, or nobody does.

use std::collections::{HashMap, HashSet};

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::CONTEXT_FUNCTION;
use crate::ir;

/// The headers of a function's loops that only wait.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn headers(function: LLVMValueRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let flow = Flow::of(function);
        let mut found = Vec::new();
        for (tail, header) in flow.back_edges() {
            let Some(body) = flow.body(tail, header) else { continue };
            if !found.contains(&header) && (Loop { header, body }).only_waits(&flow) {
                found.push(header);
            }
        }
        found
    }
}

/// A function's natural loops: each one's header, and its blocks. Left out are those that control can
/// come into beside the header.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn loops(function: LLVMValueRef) -> Vec<(LLVMBasicBlockRef, HashSet<LLVMBasicBlockRef>)> {
    // SAFETY: by contract.
    let flow = unsafe { Flow::of(function) };
    let mut found: Vec<(LLVMBasicBlockRef, Option<HashSet<LLVMBasicBlockRef>>)> = Vec::new();
    for (tail, header) in flow.back_edges() {
        let body = flow.body(tail, header);
        match found.iter_mut().find(|(known, _)| *known == header) {
            Some((_, all)) => {
                *all = all.take().zip(body).map(|(mut all, body)| {
                    all.extend(body);
                    all
                });
            }
            None => found.push((header, body)),
        }
    }
    found.into_iter().filter_map(|(header, body)| Some((header, body?))).collect()
}

/// A function's control flow.
struct Flow {
    entry: LLVMBasicBlockRef,
    successors: HashMap<LLVMBasicBlockRef, Vec<LLVMBasicBlockRef>>,
    predecessors: HashMap<LLVMBasicBlockRef, Vec<LLVMBasicBlockRef>>,
}

impl Flow {
    unsafe fn of(function: LLVMValueRef) -> Self {
        // SAFETY: every block of a definition has a terminator.
        unsafe {
            let mut flow = Self {
                entry: LLVMGetEntryBasicBlock(function),
                successors: HashMap::new(),
                predecessors: HashMap::new(),
            };
            for block in ir::blocks(function) {
                let next = ir::successors(block);
                for &successor in &next {
                    flow.predecessors.entry(successor).or_default().push(block);
                }
                flow.successors.insert(block, next);
            }
            flow
        }
    }

    /// Edges to a block that is on the way to them, by depth-first search.
    fn back_edges(&self) -> Vec<(LLVMBasicBlockRef, LLVMBasicBlockRef)> {
        let mut found = Vec::new();
        let (mut seen, mut open) = (HashSet::from([self.entry]), HashSet::from([self.entry]));
        let mut path = vec![(self.entry, 0)];
        while let Some((block, next)) = path.last_mut() {
            let block = *block;
            let Some(&successor) = self.successors[&block].get(*next) else {
                open.remove(&block);
                path.pop();
                continue;
            };
            *next += 1;
            if open.contains(&successor) {
                found.push((block, successor));
            } else if seen.insert(successor) {
                open.insert(successor);
                path.push((successor, 0));
            }
        }
        found
    }

    /// What lies on the ways from `header` to `tail`; `None` where control can
    /// come in beside the header.
    fn body(&self, tail: LLVMBasicBlockRef, header: LLVMBasicBlockRef) -> Option<HashSet<LLVMBasicBlockRef>> {
        let mut body = HashSet::from([header, tail]);
        let mut pending = if tail == header { Vec::new() } else { vec![tail] };
        while let Some(block) = pending.pop() {
            if block == self.entry {
                return None;
            }
            let before = self.predecessors.get(&block).map_or(&[][..], Vec::as_slice);
            pending.extend(before.iter().copied().filter(|&b| body.insert(b)));
        }
        Some(body)
    }
}

struct Loop {
    header: LLVMBasicBlockRef,
    body: HashSet<LLVMBasicBlockRef>,
}

impl Loop {
    unsafe fn only_waits(&self, flow: &Flow) -> bool {
        // SAFETY: by contract.
        unsafe {
            if !self.body.iter().all(|&block| ir::block_instructions(block).all(|i| changes_nothing(i))) {
                return false;
            }
            let mut reads = false;
            let mut exits = 0;
            for block in &self.body {
                if flow.successors[block].iter().all(|next| self.body.contains(next)) {
                    continue;
                }
                exits += 1;
                // The condition, of a branch as of a switch.
                let condition = LLVMGetOperand(LLVMGetBasicBlockTerminator(*block), 0);
                if !self.is_steady(condition, &mut HashSet::new(), &mut reads) {
                    return false;
                }
            }
            exits == 0 || reads
        }
    }

    /// Whether a value is the same in each turn unless memory changes.
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

/// Whether an instruction leaves memory as it is and lets no other thread run.
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
                    || name.starts_with("__gpurace_read")
                    || (name.starts_with("llvm.") && !name.starts_with("llvm.mem"))
            }),
            _ => true,
        }
    }
}
