//! `__managed__` variables in code for a GPU: the host program's variables there too, whose pages the runtime has the GPU reach. Where that
//! is, code finds in cells, as on the executor ([`crate::lower::managed`]).

use std::collections::HashMap;

use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

unsafe extern "C" {
    /// Makes instructions of the constant expressions over `constant` that instructions use.
    fn gpurace_expand_constants(constant: LLVMValueRef);
}

/// Whether a constant of the program holds the address of a variable, or one within it: nobody would know to write the cell's there.
///
/// # Safety
/// `constant` is a live constant.
pub unsafe fn is_in_constant(constant: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::users(constant).into_iter().any(|user| match LLVMIsAGlobalVariable(user).is_null() {
            // LLVM's own lists are none of the program's.
            false => !ir::name(user).starts_with("llvm."),
            true => LLVMIsConstant(user) != 0 && is_in_constant(user),
        })
    }
}

/// Has all code take the addresses of variables from their cells.
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
                // What is left are lists of LLVM's, and the cell.
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
