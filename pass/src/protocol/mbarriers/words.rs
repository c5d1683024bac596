//! What instructions do to the word of an mbarrier, as the translation writes them.

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// Where the phase begins in an mbarrier's word.
pub const PHASE: u64 = 61;

/// True for a value that is the same address as its first operand.
pub unsafe fn is_same_place(value: LLVMValueRef) -> bool {
    use LLVMOpcode::{LLVMAddrSpaceCast, LLVMBitCast, LLVMIntToPtr, LLVMPtrToInt, LLVMTrunc, LLVMZExt};
    // SAFETY: by contract.
    match unsafe { ir::value_opcode(value) } {
        Some(LLVMAddrSpaceCast | LLVMBitCast | LLVMIntToPtr | LLVMPtrToInt | LLVMTrunc | LLVMZExt) => true,
        Some(LLVMOpcode::LLVMGetElementPtr) => {
            // SAFETY: by contract.
            let indices = unsafe { ir::operands(value) };
            // SAFETY: as above.
            indices[1..].iter().all(|index| unsafe { ir::constant(*index) == Some(0) })
        }
        _ => false,
    }
}

/// What an exchange of an mbarrier's word changes. It drops no arrival.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// One thread arrives.
    pub arrives: bool,
    /// The bytes of copies that are expected; those that are complete count as negative.
    pub bytes: i64,
    /// The basic block to which the thread goes on.
    pub after: LLVMBasicBlockRef,
}

impl Change {
    /// `None` if it is something else.
    pub unsafe fn of(exchange: LLVMValueRef) -> Option<Self> {
        // SAFETY: by contract.
        unsafe {
            let of = |value, code| (ir::value_opcode(value) == Some(code)).then_some(value);
            let operand = |value, index| LLVMGetOperand(value, index);
            let new = of(operand(exchange, 2), LLVMOpcode::LLVMOr)?;
            let pending = of(operand(new, 1), LLVMOpcode::LLVMSelect)?;
            let rest = of(operand(new, 0), LLVMOpcode::LLVMOr)?;
            let expected = operand(of(operand(rest, 1), LLVMOpcode::LLVMShl)?, 0);
            let upper = of(operand(rest, 0), LLVMOpcode::LLVMOr)?;
            let bytes = operand(of(operand(upper, 1), LLVMOpcode::LLVMShl)?, 0);
            // No arrival is dropped.
            of(expected, LLVMOpcode::LLVMAnd)?;
            let bytes = operand(of(bytes, LLVMOpcode::LLVMAnd)?, 0);
            let bytes = match of(bytes, LLVMOpcode::LLVMAdd) {
                Some(sum) => ir::constant(operand(sum, 1))?.cast_signed(),
                None => of(bytes, LLVMOpcode::LLVMLShr).map(|_| 0)?,
            };
            let left = operand(pending, 2);
            let arrives = match of(left, LLVMOpcode::LLVMSub) {
                Some(less) => ir::constant(operand(less, 1)).filter(|by| *by == 1).map(|_| true)?,
                None => of(left, LLVMOpcode::LLVMAnd).map(|_| false)?,
            };
            let own = LLVMGetInstructionParent(exchange);
            let [after, again] = ir::successors(own)[..] else { return None };
            let retries = again == own || ir::successors(again) == [own];
            (retries && after != own).then_some(Self { arrives, bytes, after })
        }
    }
}

/// What tells that a phase is over for which a load reads an mbarrier's word, and the parity of the phase.
pub unsafe fn tested_parity(load: LLVMValueRef) -> Option<(LLVMValueRef, LLVMValueRef)> {
    // SAFETY: by contract.
    unsafe {
        let of = |value, code| ir::value_opcode(value) == Some(code);
        let [phase] = ir::users(load)[..] else { return None };
        if !of(phase, LLVMOpcode::LLVMLShr) || ir::constant(LLVMGetOperand(phase, 1)) != Some(PHASE) {
            return None;
        }
        let [now] = ir::users(phase)[..] else { return None };
        if !of(now, LLVMOpcode::LLVMTrunc) || LLVMGetIntTypeWidth(LLVMTypeOf(now)) != 1 {
            return None;
        }
        let is_compared = |done: LLVMValueRef| {
            of(done, LLVMOpcode::LLVMICmp)
                && LLVMGetICmpPredicate(done) == llvm_sys::LLVMIntPredicate::LLVMIntNE
                && LLVMGetOperand(done, 0) == now
        };
        let is_negated = |done: LLVMValueRef| {
            of(done, LLVMOpcode::LLVMXor) && ir::constant(LLVMGetOperand(done, 1)) == Some(1)
        };
        let parity = |odd| LLVMConstInt(LLVMTypeOf(now), odd, 0);
        // Of a constant parity, LLVM leaves only the bit.
        match ir::users(now)[..] {
            [done] if is_compared(done) => Some((done, LLVMGetOperand(done, 1))),
            [done] if is_negated(done) => Some((done, parity(1))),
            ref users => (!users.iter().any(|user| is_compared(*user))).then(|| (now, parity(0))),
        }
    }
}

/// The count that a store initialises an mbarrier with, if it is a constant or a value of 32 bits.
pub unsafe fn count_of_start(store: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let word = LLVMGetOperand(store, 0);
        if let Some(word) = ir::constant(word) {
            let count = word & 0xf_ffff;
            let short = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(store)));
            return (word >> 20 == count).then(|| LLVMConstInt(short, count, 0));
        }
        if ir::value_opcode(word) != Some(LLVMOpcode::LLVMOr) {
            return None;
        }
        let long = LLVMGetOperand(word, 1);
        (ir::value_opcode(long) == Some(LLVMOpcode::LLVMZExt)).then(|| LLVMGetOperand(long, 0))
    }
}
