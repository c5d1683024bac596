//! The fixed preparation of a module before its accesses are collected. It is the same at every `-O`
//! level, so verdicts do not depend on the level.
//!
//! It inlines functions, promotes locals to registers and drops code that no execution reaches. It merges,
//! removes or moves no other access to memory that threads share. Functions get `sanitize_thread` first,
//! which keeps LLVM from speculating loads that the program may not execute.

mod spaces;

use std::ptr;
use std::sync::OnceLock;

use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetTriple};
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::address_space;
use crate::ir::passes::run_passes;

/// The preparation's passes before it inlines what is worth it, in `opt -passes=` form.
const BEFORE_INLINING: &str = "always-inline,function(sroa,simplifycfg)";
/// The passes after that.
const AFTER_INLINING: &str = "function(sroa,sccp,simplifycfg),globaldce";
/// The passes that drop what the answers about state spaces leave no way to.
const AFTER_ANSWERS: &str = "function(sccp,simplifycfg),globaldce";

/// Inlines what is worth it on a GPU, where LLVM inlines eleven times as much as on a host. What a lambda
/// captures by reference has no known address before the lambda is inlined.
///
/// # Safety
/// `module` is live and used by this thread alone.
///
/// # Errors
/// LLVM's message.
unsafe fn inline(module: LLVMModuleRef) -> Result<(), String> {
    Target::initialize_nvptx(&InitializationConfig::default());
    let triple = TargetTriple::create("nvptx64-nvidia-cuda");
    let target = Target::from_triple(&triple).map_err(|error| error.to_string())?;
    let (level, reloc, model) = (OptimizationLevel::Default, RelocMode::Default, CodeModel::Default);
    let machine = target.create_target_machine(&triple, "sm_80", "", level, reloc, model);
    let machine = machine.ok_or("LLVM has no target machine for `nvptx64-nvidia-cuda`")?;
    // SAFETY: by contract; the machine lives meanwhile.
    unsafe { run_passes(module, "cgscc(inline)", machine.as_mut_ptr()) }
}

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

/// How the mangled names of static variables begin.
const STATIC: &str = "_ZL";

/// Lets a host program that is not known find and change static variables. clang knows that programs change those that
/// the source's own host code names.
///
/// # Safety
/// `module` is live and used by this thread alone.
pub unsafe fn open_static_variables(module: LLVMModuleRef) {
    // SAFETY: by contract.
    unsafe {
        for variable in ir::globals(module) {
            let space = LLVMGetPointerAddressSpace(LLVMTypeOf(variable));
            let is_of_device = [address_space::GLOBAL, address_space::CONSTANT].contains(&space);
            let is_static = LLVMGetLinkage(variable) == LLVMLinkage::LLVMInternalLinkage;
            if is_of_device && is_static && ir::name(variable).starts_with(STATIC) {
                LLVMSetLinkage(variable, LLVMLinkage::LLVMExternalLinkage);
                LLVMSetExternallyInitialized(variable, 1);
            }
        }
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
        run_passes(module, BEFORE_INLINING, ptr::null_mut())?;
        inline(module)?;
        run_passes(module, AFTER_INLINING, ptr::null_mut())?;
        match spaces::answer_tests(module) {
            true => run_passes(module, AFTER_ANSWERS, ptr::null_mut()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

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
    fn unknown_hosts_change_static_variables() {
        let text = "@_ZL3one = internal addrspace(4) constant i32 0\n\
            @_ZZ1fvE3two = internal addrspace(1) global i32 0\n\
            @_ZL4tile = internal addrspace(3) global i32 undef\n\
            define i32 @f() {\n\
            %one = load i32, ptr addrspace(4) @_ZL3one\n\
            %two = load i32, ptr addrspace(1) @_ZZ1fvE3two\n\
            store i32 %two, ptr addrspace(1) @_ZZ1fvE3two\n\
            store i32 %two, ptr addrspace(3) @_ZL4tile\n\
            ret i32 %one\n}\n";
        let opened = with_module(text, |module| {
            // SAFETY: the module lives and is this thread's.
            unsafe {
                open_static_variables(module);
                prepare(module).unwrap();
                ir::text(llvm_sys::core::LLVMPrintModuleToString(module))
            }
        });
        assert!(opened.contains("addrspace(4) externally_initialized global i32 0"), "{opened}");
        assert!(opened.contains("load i32, ptr addrspace(4) @_ZL3one"), "{opened}");
        // A variable of a function has no name for the host, and shared memory is nobody's but its block's.
        assert!(
            opened.contains("@_ZZ1fvE3two = internal") && opened.contains("@_ZL4tile = internal"),
            "{opened}"
        );
        // In a known program nothing changes the value.
        assert!(!prepared(text).contains("@_ZL3one"), "{}", prepared(text));
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

    /// A function of some length, which adds to what its argument points at, and a caller that calls it twice.
    fn long_function(attributes: &str) -> String {
        let mut text =
            format!("define internal void @long(ptr %p) {attributes} {{\n%v0 = load i32, ptr %p\n");
        for i in 0..100 {
            let _ = writeln!(text, "%w{i} = mul i32 %v{i}, %v{i}\n%v{} = xor i32 %w{i}, {i}", i + 1);
        }
        text + "store i32 %v100, ptr %p\nret void\n}\n\
            define i32 @caller(i32 %x) {\n%p = alloca i32\nstore i32 %x, ptr %p\n\
            call void @long(ptr %p)\ncall void @long(ptr %p)\n%r = load i32, ptr %p\nret i32 %r\n}\n"
    }

    #[test]
    fn functions_are_inlined_as_for_a_gpu() {
        let text = prepared(&long_function(""));
        assert!(!text.contains("call void @long") && !text.contains("alloca"), "{text}");
        assert!(prepared(&long_function("noinline")).contains("call void @long"));
    }

    #[test]
    fn code_behind_constants_that_inlining_shows_is_gone() {
        let text = prepared(
            "define internal i32 @pick(i32 %order, i32 %other) {\n%c = icmp eq i32 %order, 5\n\
             br i1 %c, label %yes, label %no\nyes:\nfence seq_cst\nbr label %no\n\
             no:\n%r = phi i32 [ %other, %yes ], [ %order, %0 ]\nret i32 %r\n}\n\
             define void @f(ptr %p) {\n%order = call i32 @pick(i32 0, i32 2)\n%c = icmp eq i32 %order, 0\n\
             br i1 %c, label %a, label %b\na:\nstore i32 1, ptr %p\nret void\n\
             b:\nstore i32 2, ptr %p\nret void\n}\n",
        );
        assert!(text.contains("store i32 1") && !text.contains("store i32 2"), "{text}");
    }
}
