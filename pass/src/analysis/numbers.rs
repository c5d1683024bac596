//! Value numbers: values with equal numbers are computed in the same way from the same values.

use std::collections::{BTreeSet, HashMap};

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::entry_calls::CONTEXT_FUNCTION;

/// Most steps of a computation that are followed.
const MOST_STEPS: usize = 64;

/// The numbers of values.
#[derive(Default)]
pub struct Numbers {
    known: HashMap<LLVMValueRef, u32>,
    by_form: HashMap<Form, u32>,
    /// For each number, the instructions whose values it is computed from.
    depends_on: Vec<BTreeSet<LLVMValueRef>>,
    depth: usize,
    loads_are_alike: bool,
}

/// How a value is computed.
#[derive(PartialEq, Eq, Hash)]
enum Form {
    /// In a way that is not followed: a parameter, a constant, a loaded value, a phi.
    Value(LLVMValueRef),
    /// It is the thread context.
    Context,
    /// By an operator without effects: opcode, type, type that it indexes, numbers of the operands.
    Computed(i32, LLVMTypeRef, LLVMTypeRef, Vec<u32>),
}

impl Numbers {
    /// Numbers by which plain loads from one address are equal, whatever was stored between. They prove nothing.
    pub fn with_loads_alike() -> Self {
        Self { loads_are_alike: true, ..Self::default() }
    }

    /// The number of a value.
    ///
    /// # Safety
    /// `value` is live.
    pub unsafe fn of(&mut self, value: LLVMValueRef) -> u32 {
        if let Some(&number) = self.known.get(&value) {
            return number;
        }
        self.depth += 1;
        // SAFETY: by contract.
        let form = unsafe { self.form(value) };
        self.depth -= 1;
        // SAFETY: by contract.
        let own = unsafe { !LLVMIsAInstruction(value).is_null() };
        let mut depends_on: BTreeSet<LLVMValueRef> = match &form {
            Form::Computed(_, _, _, operands) => {
                operands.iter().flat_map(|&number| self.depends_on[number as usize].iter().copied()).collect()
            }
            _ => BTreeSet::new(),
        };
        // SAFETY: by contract; a load has an operand.
        let is_load = self.loads_are_alike
            && own
            && unsafe { ir::opcode(value) == LLVMOpcode::LLVMLoad && !of_context(LLVMGetOperand(value, 0)) };
        if is_load || own && matches!(form, Form::Value(_)) {
            depends_on.insert(value);
        }
        let next = self.depends_on.len() as u32;
        let number = *self.by_form.entry(form).or_insert(next);
        if number == next {
            self.depends_on.push(depends_on);
        }
        self.known.insert(value, number);
        number
    }

    /// The instructions whose values a number is computed from.
    pub fn depends_on(&self, number: u32) -> &BTreeSet<LLVMValueRef> {
        &self.depends_on[number as usize]
    }

    /// How a value is computed.
    unsafe fn form(&mut self, value: LLVMValueRef) -> Form {
        // SAFETY: by contract.
        unsafe {
            if LLVMIsAInstruction(value).is_null() || self.depth > MOST_STEPS {
                return Form::Value(value);
            }
            let opcode = ir::opcode(value);
            let indexed = match opcode {
                LLVMOpcode::LLVMGetElementPtr => LLVMGetGEPSourceElementType(value),
                LLVMOpcode::LLVMCall => {
                    let context = ir::callee(value).is_some_and(|f| ir::name(f) == CONTEXT_FUNCTION);
                    return if context { Form::Context } else { Form::Value(value) };
                }
                // The thread context does not change while the thread runs.
                LLVMOpcode::LLVMLoad if of_context(LLVMGetOperand(value, 0)) => std::ptr::null_mut(),
                LLVMOpcode::LLVMLoad if self.loads_are_alike && ir::is_plain(value) => std::ptr::null_mut(),
                LLVMOpcode::LLVMFreeze if self.loads_are_alike => std::ptr::null_mut(),
                // Its predicate is not an operand.
                LLVMOpcode::LLVMICmp => return Form::Value(value),
                LLVMOpcode::LLVMUDiv | LLVMOpcode::LLVMSDiv | LLVMOpcode::LLVMURem | LLVMOpcode::LLVMSRem => {
                    std::ptr::null_mut()
                }
                _ if ir::is_speculatable(value) => std::ptr::null_mut(),
                _ => return Form::Value(value),
            };
            let operands = ir::operands(value).into_iter().map(|operand| self.of(operand)).collect();
            Form::Computed(opcode as i32, LLVMTypeOf(value), indexed, operands)
        }
    }
}

/// True if a pointer leads into the thread context.
unsafe fn of_context(mut pointer: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        while !LLVMIsAGetElementPtrInst(pointer).is_null() {
            pointer = LLVMGetOperand(pointer, 0);
        }
        !LLVMIsACallInst(pointer).is_null()
            && ir::callee(pointer).is_some_and(|f| ir::name(f) == CONTEXT_FUNCTION)
    }
}
