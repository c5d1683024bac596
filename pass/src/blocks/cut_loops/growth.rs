//! How much addresses grow from a thread to the next, or from an iteration of a loop to the next. The answers may be
//! wrong: they only help to choose the faster code, and never prove anything.

use std::collections::{HashMap, HashSet};

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::address;
use crate::ir;

/// What a value grows with.
#[derive(Clone, Copy)]
pub(super) enum GrowsWith<'a> {
    /// The index of the thread in x.
    Thread([LLVMValueRef; 2]),
    /// The iterations of a loop.
    Loop { header: LLVMBasicBlockRef, inside: &'a HashSet<LLVMBasicBlockRef> },
}

/// How much values grow from a thread to the next, or from an iteration to the next.
pub(super) struct Growth<'a> {
    module: LLVMModuleRef,
    of: GrowsWith<'a>,
    /// `None` for what is not constant, or not known.
    known: HashMap<LLVMValueRef, Option<i64>>,
}

impl<'a> Growth<'a> {
    pub(super) fn new(module: LLVMModuleRef, of: GrowsWith<'a>) -> Self {
        Self { module, of, known: HashMap::new() }
    }

    /// Returns the constant by which a value grows. `None` if it is not constant, or not known.
    pub(super) unsafe fn of(&mut self, value: LLVMValueRef) -> Option<i64> {
        // SAFETY: by contract.
        unsafe {
            if let GrowsWith::Thread(indices) = self.of
                && indices.contains(&value)
            {
                return Some(1);
            }
            if LLVMIsAInstruction(value).is_null() {
                return Some(0);
            }
            if let GrowsWith::Loop { inside, .. } = self.of
                && !inside.contains(&LLVMGetInstructionParent(value))
            {
                return Some(0);
            }
            if let Some(&known) = self.known.get(&value) {
                return known;
            }
            // So a value that depends on itself does not lead to an endless search.
            self.known.insert(value, None);
            let growth = self.instruction(value);
            self.known.insert(value, growth);
            growth
        }
    }

    /// How much the result of an instruction grows in an iteration; `None` if that is not known.
    unsafe fn instruction(&mut self, i: LLVMValueRef) -> Option<i64> {
        // SAFETY: by contract.
        unsafe {
            let operands = ir::operands(i);
            match ir::opcode(i) {
                LLVMOpcode::LLVMAdd => self.of(operands[0])?.checked_add(self.of(operands[1])?),
                LLVMOpcode::LLVMOr if LLVMGetIsDisjoint(i) != 0 => {
                    self.of(operands[0])?.checked_add(self.of(operands[1])?)
                }
                LLVMOpcode::LLVMSub => self.of(operands[0])?.checked_sub(self.of(operands[1])?),
                LLVMOpcode::LLVMMul => match [0, 1].map(|at| ir::signed_constant(operands[at])) {
                    [Some(by), _] => self.of(operands[1])?.checked_mul(by),
                    [_, Some(by)] => self.of(operands[0])?.checked_mul(by),
                    _ => self.same(&operands),
                },
                LLVMOpcode::LLVMShl => match ir::signed_constant(operands[1]) {
                    Some(by @ 0..48) => self.of(operands[0])?.checked_mul(1 << by),
                    _ => self.same(&operands),
                },
                LLVMOpcode::LLVMSExt
                | LLVMOpcode::LLVMZExt
                | LLVMOpcode::LLVMTrunc
                | LLVMOpcode::LLVMFreeze
                | LLVMOpcode::LLVMPtrToInt
                | LLVMOpcode::LLVMIntToPtr
                | LLVMOpcode::LLVMAddrSpaceCast => self.of(operands[0]),
                LLVMOpcode::LLVMGetElementPtr => {
                    let (_, terms) = address::gep_parts(self.module, i)?;
                    let mut sum = self.of(operands[0])?;
                    for term in terms {
                        sum = sum.checked_add(self.of(term.index)?.checked_mul(term.scale as i64)?)?;
                    }
                    Some(sum)
                }
                LLVMOpcode::LLVMPHI => self.phi(i),
                // Mostly a pointer or a length, from a struct among the arguments.
                LLVMOpcode::LLVMLoad => self.same(&operands),
                _ if is_computed(i) => self.same(&operands),
                _ => None,
            }
        }
    }

    /// Returns 0 if no operand grows: then the result is the same too.
    unsafe fn same(&mut self, operands: &[LLVMValueRef]) -> Option<i64> {
        // SAFETY: by contract.
        operands.iter().all(|&operand| unsafe { self.of(operand) } == Some(0)).then_some(0)
    }

    /// Returns the growth of a phi. From thread to thread, a loop's variable grows as the value that it starts from.
    /// From iteration to iteration, it grows by what each iteration adds.
    unsafe fn phi(&mut self, phi: LLVMValueRef) -> Option<i64> {
        // SAFETY: by contract.
        unsafe {
            let block = LLVMGetInstructionParent(phi);
            let incoming = (0..LLVMCountIncoming(phi))
                .map(|at| (LLVMGetIncomingValue(phi, at), LLVMGetIncomingBlock(phi, at)));
            if let GrowsWith::Loop { header, inside } = self.of
                && header == block
            {
                let mut added = incoming
                    .filter(|(_, from)| inside.contains(from))
                    .map(|(value, _)| self.added_to(phi, value));
                let first = added.next()??;
                return added.all(|other| other == Some(first)).then_some(first);
            }
            let mut grows = None;
            for (value, _) in incoming {
                // In most loops, all threads add the same in an iteration.
                if self.adds_to(phi, value) {
                    continue;
                }
                let growth = self.of(value)?;
                if grows.replace(growth).is_some_and(|before| before != growth) {
                    return None;
                }
            }
            grows
        }
    }

    /// True if a value is a phi, or the sum of it and of something else.
    unsafe fn adds_to(&self, phi: LLVMValueRef, value: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            match ir::value_opcode(value) {
                _ if value == phi => true,
                Some(LLVMOpcode::LLVMAdd) => ir::operands(value).contains(&phi),
                Some(LLVMOpcode::LLVMGetElementPtr) => LLVMGetOperand(value, 0) == phi,
                _ => false,
            }
        }
    }

    /// The constant that a value adds to a phi.
    unsafe fn added_to(&self, phi: LLVMValueRef, value: LLVMValueRef) -> Option<i64> {
        // SAFETY: by contract.
        unsafe {
            match ir::value_opcode(value) {
                _ if !self.adds_to(phi, value) => None,
                _ if value == phi => Some(0),
                Some(LLVMOpcode::LLVMGetElementPtr) => match address::gep_parts(self.module, value)? {
                    (added, terms) if terms.is_empty() => Some(added),
                    _ => None,
                },
                _ => ir::operands(value).into_iter().find_map(|operand| ir::signed_constant(operand)),
            }
        }
    }
}

/// True for a value that follows from its operands alone.
pub(super) unsafe fn is_computed(i: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        match ir::opcode(i) {
            LLVMOpcode::LLVMCall => ir::callee(i).is_some_and(|f| ir::is_pure_intrinsic(&ir::name(f))),
            LLVMOpcode::LLVMLoad
            | LLVMOpcode::LLVMAlloca
            | LLVMOpcode::LLVMAtomicRMW
            | LLVMOpcode::LLVMAtomicCmpXchg
            | LLVMOpcode::LLVMVAArg
            | LLVMOpcode::LLVMInvoke
            | LLVMOpcode::LLVMCallBr
            | LLVMOpcode::LLVMLandingPad => false,
            _ => true,
        }
    }
}
