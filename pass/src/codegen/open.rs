//! Open code: a kernel with the checks of its open sites alone.
//!
//! While compiling, the prover proves some sites of a kernel, perhaps under conditions. The others stay open. A launch
//! that meets the conditions runs the open code, which is the checked code without the checks of the proved sites. In
//! checked code, the checker would return from such a check at once. But even an empty call for each access of a loop
//! takes many times as long as the access.
//!
//! Checks in functions that are not part of the kernel stay, and so do checks of atomics: they order.

use std::collections::{BTreeMap, HashSet};

use gpurace_abi::entry::{CheckedAccess, Effect};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::entry_calls::EntryCall;

/// Prefix of the symbol of a kernel's open code.
const OPEN: &str = "gpurace.open.";

/// The sites that are proved while compiling, perhaps under conditions, by the kernel's name.
pub type ProvedSites = BTreeMap<String, HashSet<u32>>;

/// Adds open code for each kernel that has proved and open sites. Returns the names of these kernels.
///
/// # Safety
/// `module` is live; its kernels have their checks.
pub unsafe fn add_functions(module: LLVMModuleRef, kernels: &[&str], proved: &ProvedSites) -> Vec<String> {
    let mut found = Vec::new();
    for &kernel in kernels {
        let Some(proved) = proved.get(kernel).filter(|proved| !proved.is_empty()) else { continue };
        // SAFETY: by contract; each call is erased once, from the copy.
        unsafe {
            let original = LLVMGetNamedFunction(module, ir::c(kernel).as_ptr());
            let (removed, left) = checks(original, proved);
            if removed.is_empty() || left.is_empty() {
                continue;
            }
            let copy = gpurace_clone_function(original);
            let name = symbol(kernel);
            LLVMSetValueName2(copy, ir::c(&name).as_ptr(), name.len());
            checks(copy, proved).0.into_iter().for_each(|call| LLVMInstructionEraseFromParent(call));
        }
        found.push(kernel.to_owned());
    }
    found
}

/// The symbol of a kernel's open code.
pub fn symbol(kernel: &str) -> String {
    format!("{OPEN}{kernel}")
}

/// The checks of plain accesses in a function: those at these sites, and the others.
unsafe fn checks(function: LLVMValueRef, sites: &HashSet<u32>) -> (Vec<LLVMValueRef>, Vec<LLVMValueRef>) {
    // SAFETY: by contract.
    unsafe {
        let is_plain = |check: &EntryCall| {
            matches!(check.entry.effect(), Effect::Check(CheckedAccess::Read | CheckedAccess::Write))
        };
        let site = |&call: &LLVMValueRef| EntryCall::of(call).filter(is_plain).map(|check| check.site());
        ir::instructions(function)
            .into_iter()
            .filter(|call| site(call).is_some())
            .partition(|call| site(call).flatten().is_some_and(|site| sites.contains(&site)))
    }
}

unsafe extern "C" {
    fn gpurace_clone_function(function: LLVMValueRef) -> LLVMValueRef;
}
