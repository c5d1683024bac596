//! Debug-info calls, which are no code of the program.

use llvm_sys::prelude::*;

use crate::ir;

/// True for a call that carries debug info or marks a lifetime.
///
/// # Safety
/// `call` is a live call.
pub unsafe fn is_debug_call(call: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::callee(call).is_some_and(|f| {
            let name = ir::name(f);
            name.starts_with("llvm.dbg.") || name.starts_with("llvm.lifetime.")
        })
    }
}
