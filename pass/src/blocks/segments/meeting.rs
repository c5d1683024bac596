//! The functions in which threads meet. They become part of the kernels that call them.

use std::collections::HashSet;

use llvm_sys::LLVMOpcode;
use llvm_sys::prelude::*;

use super::{is_barrier, is_collective};
use crate::ir;

unsafe extern "C" {
    fn gpurace_inline(call: LLVMValueRef) -> bool;
}

/// Most calls of functions with cuts that become part of a kernel.
const MOST_INLINED: usize = 256;

/// The functions in which threads meet, or which call such ones.
///
/// # Safety
/// `module` is live.
pub unsafe fn meeting_functions(module: LLVMModuleRef) -> HashSet<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let calls = |f| ir::instructions(f).into_iter().filter(|&i| ir::opcode(i) == LLVMOpcode::LLVMCall);
        let mut found = HashSet::new();
        loop {
            let meets = |&i: &LLVMValueRef| {
                is_barrier(i) || is_collective(i) || ir::callee(i).is_some_and(|f| found.contains(&f))
            };
            let new = ir::definitions(module).filter(|f| !found.contains(f) && calls(*f).any(|i| meets(&i)));
            let new: Vec<_> = new.collect();
            if new.is_empty() {
                return found;
            }
            found.extend(new);
        }
    }
}

/// Makes the functions in which threads meet part of a kernel. False if that does not end.
pub(super) unsafe fn inline(kernel: LLVMValueRef, meeting: &HashSet<LLVMValueRef>) -> bool {
    // SAFETY: by contract.
    unsafe {
        let calls = |&i: &LLVMValueRef| {
            ir::opcode(i) == LLVMOpcode::LLVMCall && ir::callee(i).is_some_and(|f| meeting.contains(&f))
        };
        for _ in 0..MOST_INLINED {
            match ir::instructions(kernel).iter().find(|i| calls(i)) {
                Some(&call) if gpurace_inline(call) => {}
                Some(_) => return false,
                None => return true,
            }
        }
        false
    }
}
