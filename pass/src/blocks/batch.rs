//! Batches: accesses of a block's threads by one instruction that are checked together.

use gpurace_abi::batch::FrameBatch;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// A constant array of batches, for the entry point that hands them over.
///
/// # Safety
/// The module is live.
pub unsafe fn table(module: LLVMModuleRef, batches: &[FrameBatch]) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let int = LLVMInt32TypeInContext(ir::context(module));
        let words: Vec<_> =
            batches.iter().flat_map(FrameBatch::words).map(|n| LLVMConstInt(int, n.into(), 0)).collect();
        let table = LLVMConstArray2(int, words.as_ptr().cast_mut(), words.len() as u64);
        let global = LLVMAddGlobal(module, LLVMTypeOf(table), c"".as_ptr());
        LLVMSetInitializer(global, table);
        LLVMSetGlobalConstant(global, 1);
        LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
        global
    }
}
