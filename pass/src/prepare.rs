//! The fixed preparation of a module before its accesses are collected. It is the same at every `-O`
//! level, so verdicts do not depend on the level.
//!
//! It inlines functions and promotes locals to registers. It merges, removes or moves no access to
//! memory that threads share. Functions get `sanitize_thread` first, which keeps LLVM from
//! speculating loads that the program may not execute.

use std::ptr;
use std::sync::OnceLock;

use llvm_sys::core::{LLVMIsExternallyInitialized, LLVMSetGlobalConstant};
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::passes::run_passes;

/// The preparation's passes, in `opt -passes=` form.
const PASSES: &str =
    "always-inline,function(sroa,simplifycfg),cgscc(inline),function(sroa,sccp,simplifycfg),globaldce";

unsafe extern "C" {
    fn gpurace_keep_stores() -> bool;
}

/// Keeps `simplifycfg` from merging the stores of two branches, and from moving one out of its branch. It
/// stays so: passes that come later would gain little.
fn keep_stores() -> Result<(), String> {
    static KEPT: OnceLock<bool> = OnceLock::new();
    // SAFETY: it changes options of LLVM, once and before the passes of any module run.
    match KEPT.get_or_init(|| unsafe { gpurace_keep_stores() }) {
        true => Ok(()),
        false => Err("LLVM has no options that keep stores in their branches".into()),
    }
}

/// Prepares `module`.
///
/// # Safety
/// `module` is live and used by this thread alone.
///
/// # Errors
/// LLVM's message if a pass cannot run.
pub unsafe fn prepare(module: LLVMModuleRef) -> Result<(), String> {
    keep_stores()?;
    // SAFETY: by contract.
    unsafe {
        for function in ir::definitions(module) {
            ir::mark_function(function, "sanitize_thread");
        }
        for variable in ir::globals(module) {
            // clang calls `__constant__` variables constants, but the host writes them between launches.
            if LLVMIsExternallyInitialized(variable) != 0 {
                LLVMSetGlobalConstant(variable, 0);
            }
        }
        run_passes(module, PASSES, ptr::null_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::testing::with_module;

    /// The text of a prepared module.
    fn prepared(text: &str) -> String {
        with_module(text, |module| {
            // SAFETY: the module lives and is this thread's.
            unsafe {
                prepare(module).unwrap();
                ir::text(llvm_sys::core::LLVMPrintModuleToString(module))
            }
        })
    }

    #[test]
    fn stores_stay_in_their_branches() {
        let two_branches = "define void @f(ptr %p, i1 %a, i1 %b) {\n\
            br i1 %a, label %first, label %then\n\
            first:\nstore i32 1, ptr %p\nbr label %then\n\
            then:\nbr i1 %b, label %second, label %end\n\
            second:\nstore i32 2, ptr %p\nbr label %end\n\
            end:\nret void\n}\n";
        assert_eq!(prepared(two_branches).matches("store i32").count(), 2);
        let behind_another = "define void @f(ptr %p, i1 %a) {\n\
            store i32 1, ptr %p\nbr i1 %a, label %then, label %end\n\
            then:\nstore i32 2, ptr %p\nbr label %end\n\
            end:\nret void\n}\n";
        let text = prepared(behind_another);
        assert!(text.contains("br i1 %a") && text.contains("store i32 2"), "{text}");
        // Branches without stores are still folded.
        let empty = "define i32 @f(i1 %a) {\n\
            br i1 %a, label %then, label %end\nthen:\nbr label %end\n\
            end:\n%r = phi i32 [ 1, %0 ], [ 2, %then ]\nret i32 %r\n}\n";
        assert!(!prepared(empty).contains("br i1"));
    }
}
