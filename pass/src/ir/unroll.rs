//! Tells LLVM which loops to unroll.

use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::prelude::*;

use super::passes::run_passes_on;
use crate::ir::{self, LOOP};

/// Marks a loop that LLVM shall unroll whatever it costs, given by the block from which control goes back: its metadata
/// is a node that names itself and the property.
///
/// # Safety
/// It is a block of a live function.
pub unsafe fn mark(latch: LLVMBasicBlockRef) {
    // SAFETY: by contract.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(latch);
        let context = LLVMGetTypeContext(LLVMTypeOf(LLVMGetBasicBlockParent(latch)));
        let name = "llvm.loop.unroll.full";
        let mut name = [LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len())];
        let property = LLVMMDNodeInContext2(context, name.as_mut_ptr(), name.len());
        let itself = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
        let mut fields = [itself, property];
        let node = LLVMMDNodeInContext2(context, fields.as_mut_ptr(), fields.len());
        LLVMMetadataReplaceAllUsesWith(itself, node);
        LLVMSetMetadata(end, ir::metadata_kind(end, LOOP), LLVMMetadataAsValue(context, node));
    }
}

/// Runs passes that unroll marked loops ([`mark`]), and drops the marks that are left: LLVM would warn of them.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn unroll_marked(function: LLVMValueRef, passes: &str) {
    // SAFETY: by contract.
    unsafe {
        // A failure costs only speed or proofs.
        let _ = run_passes_on(function, passes);
        for block in ir::blocks(function) {
            let end = LLVMGetBasicBlockTerminator(block);
            if ir::metadata(end, LOOP).is_some() {
                LLVMSetMetadata(end, ir::metadata_kind(end, LOOP), std::ptr::null_mut());
            }
        }
    }
}
