//! Debug-info calls, which no analysis should take for program code.

use llvm_sys::prelude::*;

use crate::ir;

/// Whether a call is one of debug info's or of lifetime markers.
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
