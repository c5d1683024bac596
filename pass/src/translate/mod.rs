//! From clang's device IR to plain IR. Inline PTX ([`ptx`], [`ptx_to_ir`]) and NVVM intrinsics
//! ([`nvvm`]) become plain IR and calls of gpurace's entry points. So accesses and synchronisation have
//! one form each.
//!
//! * Atomics carry their scope and order as metadata ([`atomics`]).
//! * Calls of entry points lack the thread context at first. Code that needs the context calls
//!   [`crate::ir::entry_calls::CONTEXT_FUNCTION`]. Then [`thread_context`] gives every function the
//!   context as its first parameter.
//! * The `sync` argument of entry points is -1 or -2 until [`crate::checks::sync`] fills it in.
//! * Loops that start copies ahead are unrolled ([`prologues`]).
//! * A product and a sum that may be joined become one instruction ([`contraction`]).
//! * Shared variables become offsets from the block's base ([`shared`]). Code finds managed variables
//!   through a cell ([`managed`]).

pub mod atomics;
pub mod contraction;
pub mod managed;
pub mod nvvm;
pub mod prologues;
pub mod ptx;
pub mod ptx_to_ir;
pub mod shared;
pub mod thread_context;
pub mod values;

use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// Turns inline PTX and NVVM intrinsics into plain IR and calls of entry points. Returns the names of the
/// instructions and functions that it cannot translate. A launch that reaches one ends with an error that
/// names it.
///
/// # Safety
/// `module` is live and prepared.
pub unsafe fn normalize(module: LLVMModuleRef) -> Vec<String> {
    // SAFETY: by contract.
    unsafe {
        let mut unsupported = ptx_to_ir::lower_ptx(module);
        unsupported.extend(nvvm::lower_nvvm(module).into_iter().map(|u| u.what));
        nvvm::make_division_total(module);
        contraction::settle(module);
        prologues::unroll_prologues(module);
        nvvm::part_ways_at_mbarriers(module);
        unsupported.sort();
        unsupported.dedup();
        unsupported
    }
}

/// Deletes the functions that a translation wrote and that nothing calls any more.
///
/// # Safety
/// `module` is live.
unsafe fn remove_unused(module: LLVMModuleRef) {
    // SAFETY: by contract; a function without uses may go.
    unsafe {
        loop {
            let unused: Vec<_> = ir::functions(module)
                .filter(|&f| ir::name(f).starts_with(nvvm::template::PREFIX) && LLVMGetFirstUse(f).is_null())
                .collect();
            if unused.is_empty() {
                return;
            }
            unused.into_iter().for_each(|f| LLVMDeleteFunction(f));
        }
    }
}
