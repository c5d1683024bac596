//! Annotations of `gpurace/gpurace.h` that the pass reads.
//!
//! gpurace does not check a marked function (`GPURACE_NO_SANITIZE`), nor the functions that it calls.
//! Inlining must not lose the mark. So before anything is inlined, metadata marks the function's own
//! accesses, which then are no sites, and the function gets calls of [`Entry::Ignore`] at its entry and
//! before each return. At run time these calls switch the checks off for the functions that it calls.

use std::collections::HashMap;

use gpurace_abi::entry::{Effect, Entry};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::entry_calls::{EntryCalls, entry_of_function};
use crate::translate::managed::{annotated, annotated_with};

/// The annotation that marks a function which is not to be checked.
const IGNORE: &str = "gpurace.ignore";

/// The annotation that gives a kernel the blocks of a cluster in each dimension (`__cluster_dims__`).
const CLUSTER: &str = "gpurace.cluster_dims";

/// The blocks of a cluster in each dimension, for the kernels that say it, by name.
///
/// # Safety
/// `module` is live.
pub unsafe fn cluster_dims(module: LLVMModuleRef) -> HashMap<String, [u32; 3]> {
    // SAFETY: by contract.
    unsafe {
        let dims = |arguments: Vec<LLVMValueRef>| {
            let mut dims = [1; 3];
            for (dim, argument) in dims.iter_mut().zip(arguments) {
                if let Some(blocks) = ir::constant(argument) {
                    *dim = u32::try_from(blocks).unwrap_or(u32::MAX);
                }
            }
            dims
        };
        let kernels = annotated_with(module, CLUSTER).into_iter();
        kernels.map(|(kernel, arguments)| (ir::name(kernel), dims(arguments))).collect()
    }
}

/// Marks the functions of `module` that are annotated, and their accesses.
///
/// # Safety
/// `module` is live and nothing was inlined yet.
pub unsafe fn mark(module: LLVMModuleRef) {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let calls = EntryCalls::new(module);
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for function in annotated(module, IGNORE) {
            if LLVMIsAFunction(function).is_null() || LLVMIsDeclaration(function) != 0 {
                continue;
            }
            mark_function(function, &calls, builder);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Ignores the accesses of a function: the runtime is told where it begins and ends, and its instructions are marked.
unsafe fn mark_function(function: LLVMValueRef, calls: &EntryCalls, builder: LLVMBuilderRef) {
    // SAFETY: by contract; a definition has an entry block with a terminator.
    unsafe {
        let kind = ir::metadata_kind(function, IGNORE);
        let node = LLVMMDNodeInContext2(ir::context(calls.module()), std::ptr::null_mut(), 0);
        let node = LLVMMetadataAsValue(ir::context(calls.module()), node);
        let instructions = ir::instructions(function);
        let entry = instructions
            .iter()
            .find(|&&i| !matches!(ir::opcode(i), LLVMOpcode::LLVMAlloca | LLVMOpcode::LLVMPHI));
        if let Some(&first) = entry {
            ignore(calls, builder, first, true);
        }
        for instruction in instructions {
            match ir::opcode(instruction) {
                LLVMOpcode::LLVMRet => ignore(calls, builder, instruction, false),
                LLVMOpcode::LLVMLoad
                | LLVMOpcode::LLVMStore
                | LLVMOpcode::LLVMAtomicRMW
                | LLVMOpcode::LLVMAtomicCmpXchg
                | LLVMOpcode::LLVMCall => LLVMSetMetadata(instruction, kind, node),
                _ => {}
            }
        }
    }
}

unsafe fn ignore(calls: &EntryCalls, builder: LLVMBuilderRef, before: LLVMValueRef, on: bool) {
    // SAFETY: by contract.
    unsafe {
        LLVMPositionBuilderBefore(builder, before);
        // A call in a function with debug info needs a position.
        let position = llvm_sys::debuginfo::LLVMInstructionGetDebugLoc(before);
        LLVMSetCurrentDebugLocation2(builder, position);
        calls.call(builder, Entry::Ignore, &[calls.i32(on.into())]);
    }
}

/// True for an instruction of a marked function.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn is_ignored(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { ir::metadata(instruction, IGNORE).is_some() }
}

/// True if the code calls annotations: functions that switch checks off for an object or for the running
/// thread, or that tell the checker of an order.
///
/// # Safety
/// `module` is live.
pub unsafe fn has_calls(module: LLVMModuleRef) -> bool {
    let is_annotation = |entry: Entry| entry.effect() == Effect::Annotation;
    // SAFETY: by contract.
    unsafe {
        ir::functions(module)
            .any(|f| entry_of_function(f).is_some_and(is_annotation) && !LLVMGetFirstUse(f).is_null())
    }
}
