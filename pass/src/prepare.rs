//! The fixed preparation of a module before its accesses are collected. It is the same at every `-O`
//! level, so verdicts do not depend on the level.
//!
//! It inlines functions and promotes locals to registers. It merges, removes or moves no access to
//! memory that threads share. Functions get `sanitize_thread` first, which keeps LLVM from
//! speculating loads that the program may not execute.

use std::ptr;

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::passes::run_passes;

/// The preparation's passes, in `opt -passes=` form.
const PASSES: &str =
    "always-inline,function(sroa,simplifycfg),cgscc(inline),function(sroa,simplifycfg),globaldce";

/// Prepares `module`.
///
/// # Safety
/// `module` is live and used by this thread alone.
///
/// # Errors
/// LLVM's message if a pass cannot run.
pub unsafe fn prepare(module: LLVMModuleRef) -> Result<(), String> {
    // SAFETY: by contract.
    unsafe {
        for function in ir::definitions(module) {
            add_attribute(module, function, "sanitize_thread");
        }
        run_passes(module, PASSES, ptr::null_mut())
    }
}

/// Adds an enum attribute to a function.
unsafe fn add_attribute(module: LLVMModuleRef, function: LLVMValueRef, name: &str) {
    // SAFETY: by contract.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
        let attribute = LLVMCreateEnumAttribute(ir::context(module), kind, 0);
        LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
    }
}
