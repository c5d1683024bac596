//! Functions that are built into `nvcc` and that clang calls by name: calls become instructions.

use llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use llvm_sys::prelude::*;

use gpurace_abi::scope::{Order, Scope};

use crate::ir;
use crate::translate::atomics;

/// Compare-and-swap of two bytes: `atomicCAS` of `unsigned short`.
const SWAP: &std::ffi::CStr = c"__usAtomicCAS";

/// Replaces the calls of a module by instructions.
///
/// # Safety
/// `module` is live.
pub unsafe fn define(module: LLVMModuleRef) {
    // SAFETY: by contract; a call is deleted once it is replaced.
    unsafe {
        let swap = LLVMGetNamedFunction(module, SWAP.as_ptr());
        if swap.is_null() || LLVMIsDeclaration(swap) == 0 {
            return;
        }
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for (call, _) in ir::uses(swap) {
            let is_call = !LLVMIsACallInst(call).is_null() && ir::callee(call) == Some(swap);
            if !is_call || LLVMGetNumArgOperands(call) != 3 {
                continue;
            }
            LLVMPositionBuilderBefore(builder, call);
            let [address, expected, new] = [0, 1, 2].map(|n| LLVMGetOperand(call, n));
            let order = LLVMAtomicOrderingMonotonic;
            let made = LLVMBuildAtomicCmpXchg(builder, address, expected, new, order, order, 0);
            atomics::set_semantics(made, Scope::Device, Order::Relaxed);
            let location = LLVMInstructionGetDebugLoc(call);
            LLVMInstructionSetDebugLoc(made, location);
            let old = LLVMBuildExtractValue(builder, made, 0, c"".as_ptr());
            LLVMReplaceAllUsesWith(call, old);
            LLVMInstructionEraseFromParent(call);
        }
        LLVMDisposeBuilder(builder);
    }
}
