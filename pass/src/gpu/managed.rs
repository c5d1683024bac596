//! `__managed__` variables in code for a GPU. Here too they are the host program's own variables, and the
//! runtime maps their pages for the GPU. Code loads their addresses from cells, as on the executor
//! ([`crate::translate::managed`]).

use std::collections::HashMap;

use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

unsafe extern "C" {
    /// Replaces constant expressions over `constant` by instructions where instructions use them.
    fn gpurace_expand_constants(constant: LLVMValueRef);
}

/// True if a constant of the program holds an address in a variable. Nothing could replace it by the
/// address in the cell.
///
/// # Safety
/// `constant` is a live constant.
pub unsafe fn is_in_constant(constant: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::users(constant).into_iter().any(|user| match LLVMIsAGlobalVariable(user).is_null() {
            // The lists of LLVM do not belong to the program.
            false => !ir::name(user).starts_with("llvm."),
            true => LLVMIsConstant(user) != 0 && is_in_constant(user),
        })
    }
}

/// Makes all code load the addresses of variables from their cells.
///
/// # Safety
/// Variables and cells are live, of one module.
pub unsafe fn replace(cells: &HashMap<LLVMValueRef, LLVMValueRef>) {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        for (&variable, &cell) in cells {
            gpurace_expand_constants(variable);
            let context = LLVMGetTypeContext(LLVMTypeOf(variable));
            let builder = LLVMCreateBuilderInContext(context);
            let mut loaded: HashMap<LLVMValueRef, LLVMValueRef> = HashMap::new();
            for (user, operand) in ir::uses(variable) {
                // Only LLVM's lists and the cell still use it.
                if LLVMIsAInstruction(user).is_null() {
                    continue;
                }
                let function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
                let address = *loaded.entry(function).or_insert_with(|| {
                    LLVMPositionBuilderBefore(
                        builder,
                        LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)),
                    );
                    let generic =
                        LLVMBuildLoad2(builder, LLVMPointerTypeInContext(context, 0), cell, c"".as_ptr());
                    LLVMBuildAddrSpaceCast(builder, generic, LLVMTypeOf(variable), c"".as_ptr())
                });
                LLVMSetOperand(user, operand, address);
            }
            LLVMDisposeBuilder(builder);
        }
    }
}
