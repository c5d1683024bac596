//! Runs LLVM's own passes.

use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
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
    // SAFETY: by contract; the options and the message are freed once.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
        LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
        let error = LLVMRunPasses(module, ir::c(passes).as_ptr(), machine, options);
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
