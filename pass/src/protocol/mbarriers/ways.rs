//! The ways that a thread may take through a function: those without a barrier, and those that a known bit leaves.

use std::collections::HashSet;

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// The basic blocks that control reaches from the starts of some, if it goes on from those for which `goes_on` holds.
/// `None` if one of their instructions is not allowed.
pub unsafe fn reached(
    starts: Vec<LLVMBasicBlockRef>,
    goes_on: impl Fn(LLVMBasicBlockRef) -> bool,
    allows: impl Fn(LLVMValueRef) -> bool,
) -> Option<HashSet<LLVMBasicBlockRef>> {
    let mut pending = starts;
    let mut seen = HashSet::new();
    // SAFETY: by contract.
    unsafe {
        while let Some(block) = pending.pop() {
            if !seen.insert(block) {
                continue;
            }
            if !ir::block_instructions(block).all(&allows) {
                return None;
            }
            if goes_on(block) {
                pending.extend(ir::successors(block));
            }
        }
    }
    Some(seen)
}

/// As [`reached`] from one block, but no way goes on behind `last`.
pub unsafe fn reached_until(
    start: LLVMBasicBlockRef,
    last: LLVMValueRef,
    allows: impl Fn(LLVMValueRef) -> bool,
) -> Option<()> {
    // SAFETY: by contract.
    unsafe {
        let own = LLVMGetInstructionParent(last);
        let before_last = ir::block_instructions(own).take_while(|i| *i != last).all(&allows);
        let allows = |i| LLVMGetInstructionParent(i) == own || allows(i);
        let rest = reached(vec![start], |from| from != own, allows)?;
        (before_last || !rest.contains(&own)).then_some(())
    }
}

/// The condition of the branch at the end of a basic block.
pub unsafe fn condition(block: LLVMBasicBlockRef) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let branch = LLVMGetBasicBlockTerminator(block);
        let is_branch = ir::opcode(branch) == LLVMOpcode::LLVMBr && LLVMIsConditional(branch) != 0;
        is_branch.then(|| LLVMGetCondition(branch))
    }
}

/// The value that a value has where `bit` is `known`, if that is a constant.
pub unsafe fn given(value: LLVMValueRef, bit: LLVMValueRef, known: u64, steps: u32) -> Option<u64> {
    // SAFETY: by contract.
    unsafe {
        if value == bit {
            return Some(known);
        }
        if let Some(constant) = ir::constant(value) {
            return Some(constant);
        }
        let steps = steps.checked_sub(1)?;
        let of = |index| given(LLVMGetOperand(value, index), bit, known, steps);
        match ir::value_opcode(value)? {
            LLVMOpcode::LLVMZExt => of(0),
            LLVMOpcode::LLVMTrunc => {
                let width = LLVMGetIntTypeWidth(LLVMTypeOf(value));
                of(0).filter(|_| width < 64).map(|all| all & ((1 << width) - 1))
            }
            LLVMOpcode::LLVMSelect => of(if of(0)? == 0 { 2 } else { 1 }),
            LLVMOpcode::LLVMXor => Some(of(0)? ^ of(1)?),
            LLVMOpcode::LLVMAnd => match (of(0), of(1)) {
                (Some(0), _) | (_, Some(0)) => Some(0),
                (a, b) => Some(a? & b?),
            },
            LLVMOpcode::LLVMICmp => match LLVMGetICmpPredicate(value) {
                llvm_sys::LLVMIntPredicate::LLVMIntEQ => Some((of(0)? == of(1)?).into()),
                llvm_sys::LLVMIntPredicate::LLVMIntNE => Some((of(0)? != of(1)?).into()),
                _ => None,
            },
            _ => None,
        }
    }
}
