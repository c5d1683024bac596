//! The fixed preparation: what every module goes through before anything looks
//! at its accesses, whatever the `-O` level, so that verdicts do not depend on
//! the level.
//!
//! It inlines and promotes locals to registers, and nothing that merges,
//! removes or moves accesses to memory that threads share. Functions get
//! `sanitize_thread` first, which keeps LLVM from speculating loads that the
//! program may not execute.

use std::ptr;

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::prelude::*;
use llvm_sys::target_machine::LLVMTargetMachineRef;
use llvm_sys::transforms::pass_builder::*;

use crate::ir;

/// The preparation's passes, in `opt -passes=` form.
const PASSES: &str =
    "always-inline,function(sroa,simplifycfg),cgscc(inline),function(sroa,simplifycfg),globaldce";

/// Prepares `module`.
///
/// # Safety
/// `module` is live and used by this thread alone.
///
/// # Errors
/// LLVM's message where a pass cannot be run.
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
