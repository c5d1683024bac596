//! Runs LLVM's own passes.

use std::ffi::c_char;

use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::prelude::*;
use llvm_sys::target_machine::LLVMTargetMachineRef;
use llvm_sys::transforms::pass_builder::*;

use crate::ir;

/// Runs passes, given as in `opt -passes=`, over the module.
///
/// # Safety
/// `module` is live and used by this thread alone; `machine` is null or live.
///
/// # Errors
/// LLVM's message.
pub unsafe fn run_passes(
    module: LLVMModuleRef,
    passes: &str,
    machine: LLVMTargetMachineRef,
) -> Result<(), String> {
    // SAFETY: by contract.
    unsafe { with_options(passes, |passes, options| LLVMRunPasses(module, passes, machine, options)) }
}

/// Runs passes over one function.
///
/// # Safety
/// `function` is live, and its module is used by this thread alone.
///
/// # Errors
/// LLVM's message.
pub unsafe fn run_passes_on(function: LLVMValueRef, passes: &str) -> Result<(), String> {
    let run = |passes, options| {
        // SAFETY: by contract.
        unsafe { LLVMRunPassesOnFunction(function, passes, std::ptr::null_mut(), options) }
    };
    with_options(passes, run)
}

fn with_options(
    passes: &str,
    run: impl FnOnce(*const c_char, LLVMPassBuilderOptionsRef) -> LLVMErrorRef,
) -> Result<(), String> {
    // SAFETY: the options and the message are freed once.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
        LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
        let error = run(ir::c(passes).as_ptr(), options);
        LLVMDisposePassBuilderOptions(options);
        if error.is_null() {
            return Ok(());
        }
        let message = LLVMGetErrorMessage(error);
        let text = ir::text(message);
        LLVMDisposeErrorMessage(message);
        Err(format!("cannot run passes `{passes}`: {text}"))
    }
}
