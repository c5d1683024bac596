//! The fixed preparation of a module before its accesses are collected. It is the same at every `-O`
//! level, so verdicts do not depend on the level.
//!
//! It inlines functions and promotes locals to registers. It merges, removes or moves no access to
//! memory that threads share. Functions get `sanitize_thread` first, which keeps LLVM from
//! speculating loads that the program may not execute.

use std::ptr;

use llvm_sys::core::{LLVMIsExternallyInitialized, LLVMSetGlobalConstant};
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
            ir::mark_function(function, "sanitize_thread");
        }
        for variable in ir::globals(module) {
            // clang calls `__constant__` variables constants, but the host writes them between launches.
            if LLVMIsExternallyInitialized(variable) != 0 {
                LLVMSetGlobalConstant(variable, 0);
            }
        }
        run_passes(module, PASSES, ptr::null_mut())
    }
}
