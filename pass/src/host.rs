//! The pass over the host side of a CUDA source: it gives `__managed__` variables pages of their own,
//! keeps device variables that a header defines apart in each file, and registers device code before
//! static objects are constructed.
//!
//! A managed variable is the host program's variable ([`crate::translate::managed`]). For a GPU its
//! pages are page-locked; on the executor they are protected while a launch may use it. Both work on
//! whole pages and would affect the variable's neighbours: a driver refuses to lock a page twice, and
//! to copy memory that is locked in part.
//!
//! Each file has a device variable of its own for an inline variable or a static member of a
//! template, unless the link joins the device code. clang 22 gives the host's stand-in internal
//! linkage, but leaves it in a group (`comdat`) with the variable's name. A linker then keeps the
//! group of one file only, and misses the variables of the others.

//!
//! clang registers the device code of a file after the file's static objects were constructed, and
//! takes it back before they are destroyed. Their launches would fail.

use llvm_sys::LLVMLinkage;
use llvm_sys::comdat::LLVMSetComdat;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::translate::managed::{ANNOTATION, annotated};

/// Bytes of a page on x86-64, the only host.
pub const PAGE: u64 = 4096;

/// clang's function that registers a file's device code.
const REGISTRATION: &str = "__cuda_module_ctor";
/// Priority of a constructor that runs before those of programs, which begin at 101.
const FIRST: u64 = 100;

unsafe extern "C" {
    /// Replaces a variable by one that begins at a page and fills its last page.
    fn gpurace_own_pages(variable: LLVMValueRef, page: u64);
    /// True if an internal variable is in a group of its name.
    fn gpurace_is_in_own_group(variable: LLVMValueRef) -> bool;
}

/// Prepares a host module.
///
/// # Safety
/// `module` is live and nobody else uses it meanwhile.
pub unsafe fn prepare(module: LLVMModuleRef) {
    // SAFETY: by contract.
    unsafe {
        keep_groups_apart(module);
        keep_managed_apart(module);
        register_first(module);
    }
}

/// Lets the registration of device code run before all constructors of the program's own. What it
/// leaves for the end then runs after their destructors.
unsafe fn register_first(module: LLVMModuleRef) {
    // SAFETY: by contract of the caller: live. The list has the type of its elements.
    unsafe {
        let list = LLVMGetNamedGlobal(module, c"llvm.global_ctors".as_ptr());
        if list.is_null() {
            return;
        }
        let entries = ir::operands(LLVMGetInitializer(list)).into_iter().map(|entry| {
            let mut parts = ir::operands(entry);
            if parts.len() < 2 || ir::name(parts[1]) != REGISTRATION {
                return entry;
            }
            parts[0] = LLVMConstInt(LLVMTypeOf(parts[0]), FIRST, 0);
            let count = parts.len() as u32;
            LLVMConstStructInContext(ir::context(module), parts.as_mut_ptr(), count, 0)
        });
        let mut entries: Vec<_> = entries.collect();
        if let Some(&first) = entries.first() {
            let count = entries.len() as u64;
            LLVMSetInitializer(list, LLVMConstArray2(LLVMTypeOf(first), entries.as_mut_ptr(), count));
        }
    }
}

/// Takes internal variables out of the groups of their names.
unsafe fn keep_groups_apart(module: LLVMModuleRef) {
    // SAFETY: by contract of the caller: live.
    unsafe {
        for variable in ir::globals(module) {
            if gpurace_is_in_own_group(variable) {
                LLVMSetComdat(variable, std::ptr::null_mut());
            }
        }
    }
}

/// Gives each managed variable that a host module defines pages of its own.
unsafe fn keep_managed_apart(module: LLVMModuleRef) {
    // SAFETY: by contract; each variable is taken once, before another one takes its place.
    unsafe {
        let mut variables = annotated(module, ANNOTATION);
        variables.sort_unstable();
        variables.dedup();
        for variable in variables {
            if is_defined_here(variable) {
                gpurace_own_pages(variable, PAGE);
            }
        }
    }
}

/// True if this module defines the variable's storage.
unsafe fn is_defined_here(variable: LLVMValueRef) -> bool {
    // SAFETY: by contract of the caller: live.
    unsafe {
        !LLVMIsAGlobalVariable(variable).is_null()
            && LLVMIsDeclaration(variable) == 0
            && LLVMGetLinkage(variable) != LLVMLinkage::LLVMAvailableExternallyLinkage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::testing::with_module;

    /// The host's module with these variables, of which those in `managed` are annotated.
    fn after(globals: &str, managed: &[&str]) -> String {
        let entries: Vec<String> = managed
            .iter()
            .map(|name| {
                format!(
                    "{{ ptr, ptr, ptr, i32, ptr }} {{ ptr @{name}, ptr @text, ptr @file, i32 1, ptr null }}"
                )
            })
            .collect();
        let text = format!(
            "target datalayout = \"e-m:e-i64:64-n8:16:32:64-S128\"
             target triple = \"x86_64-pc-linux-gnu\"
             @text = private constant [16 x i8] c\"gpurace.managed\\00\", section \"llvm.metadata\"
             @file = private constant [2 x i8] c\"f\\00\", section \"llvm.metadata\"
             {globals}
             @llvm.global.annotations = appending global [{} x {{ ptr, ptr, ptr, i32, ptr }}] [{}], section \"llvm.metadata\"
             define ptr @f() {{
               store i32 1, ptr getelementptr (i32, ptr @m, i64 1)
               ret ptr @m
             }}",
            managed.len(),
            entries.join(", ")
        );
        with_module(&text, |module| {
            // SAFETY: live; the text is copied before it is given back.
            unsafe {
                prepare(module);
                let text = LLVMPrintModuleToString(module);
                let printed = ir::text(text);
                LLVMDisposeMessage(text);
                printed
            }
        })
    }

    fn line<'a>(text: &'a str, of: &str) -> &'a str {
        text.lines().find(|line| line.starts_with(of)).unwrap_or_else(|| panic!("no `{of}` in\n{text}"))
    }

    #[test]
    fn managed_variables_begin_a_page_and_fill_their_last() {
        let text = after(
            "@m = internal global [5 x i32] undef, align 16
             @long = dso_local global [1025 x i32] undef, align 4
             @page = internal global [1024 x i32] undef, align 4
             @wide = hidden global i8 7, align 8192",
            &["m", "long", "page", "wide"],
        );
        assert_eq!(
            line(&text, "@m ="),
            "@m = internal global { [5 x i32], [4076 x i8] } undef, align 4096",
            "{text}"
        );
        assert_eq!(
            line(&text, "@long ="),
            "@long = dso_local global { [1025 x i32], [4092 x i8] } undef, align 4096",
            "{text}"
        );
        assert_eq!(
            line(&text, "@page ="),
            "@page = internal global { [1024 x i32], [0 x i8] } undef, align 4096",
            "{text}"
        );
        assert_eq!(
            line(&text, "@wide ="),
            "@wide = hidden global { i8, [4095 x i8] } { i8 7, [4095 x i8] zeroinitializer }, align 8192",
            "{text}"
        );
        // Whoever names one finds it where it is.
        assert!(
            text.contains("ret ptr @m\n")
                && text.contains("store i32 1, ptr getelementptr (i32, ptr @m, i64 1)"),
            "{text}"
        );
        assert!(text.contains("{ ptr @m, ptr @text,"), "{text}");
    }

    #[test]
    fn what_is_shared_between_files_stays_so() {
        let text = after(
            "$m = comdat any
             @m = linkonce_odr dso_local global i32 undef, comdat, align 4, !dbg !0
             !0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
             !1 = distinct !DIGlobalVariable(name: \"m\", scope: !2, file: !3, line: 1, type: !4, isLocal: false, isDefinition: true)
             !2 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !3, emissionKind: FullDebug)
             !3 = !DIFile(filename: \"f\", directory: \"\")
             !4 = !DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)
             !5 = !{i32 2, !\"Debug Info Version\", i32 3}
             !llvm.module.flags = !{!5}",
            &["m"],
        );
        assert_eq!(
            line(&text, "@m ="),
            "@m = linkonce_odr dso_local global { i32, [4092 x i8] } undef, comdat, align 4096, !dbg !0",
            "{text}"
        );
    }

    #[test]
    fn variables_of_one_file_are_in_no_group_of_their_names() {
        let text = after(
            "$m = comdat any
             $device = comdat any
             $shared = comdat any
             $kept = comdat any
             @m = internal global i32 undef, comdat, align 4
             @device = internal global i32 undef, comdat, align 4
             @shared = linkonce_odr global i32 undef, comdat, align 4
             @kept = linkonce_odr global i32 undef, comdat, align 4
             @guard = internal global i32 undef, comdat($kept), align 4",
            &["m"],
        );
        assert_eq!(
            line(&text, "@m ="),
            "@m = internal global { i32, [4092 x i8] } undef, align 4096",
            "{text}"
        );
        assert_eq!(line(&text, "@device ="), "@device = internal global i32 undef, align 4", "{text}");
        // What files share, and what goes with it.
        assert_eq!(
            line(&text, "@shared ="),
            "@shared = linkonce_odr global i32 undef, comdat, align 4",
            "{text}"
        );
        assert_eq!(
            line(&text, "@guard ="),
            "@guard = internal global i32 undef, comdat($kept), align 4",
            "{text}"
        );
    }

    #[test]
    fn other_variables_stay_as_they_are() {
        let text = after(
            "@m = dso_local global i32 undef, align 4
             @plain = internal global i32 undef, align 4
             @elsewhere = external global i32, align 4",
            &["elsewhere"],
        );
        for of in [
            "@m = dso_local global i32 undef, align 4",
            "@plain = internal global i32 undef, align 4",
            "@elsewhere = external global i32, align 4",
        ] {
            line(&text, of);
        }
    }

    #[test]
    fn device_code_is_registered_before_static_objects() {
        let text = after(
            "@m = dso_local global i32 undef, align 4
             @llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @_GLOBAL__sub_I_a.cu, ptr null }, { i32, ptr, ptr } { i32 65535, ptr @__cuda_module_ctor, ptr null }]
             declare void @_GLOBAL__sub_I_a.cu()
             declare void @__cuda_module_ctor()",
            &["m"],
        );
        assert_eq!(
            line(&text, "@llvm.global_ctors ="),
            "@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @_GLOBAL__sub_I_a.cu, ptr null }, { i32, ptr, ptr } { i32 100, ptr @__cuda_module_ctor, ptr null }]",
            "{text}"
        );
    }

    #[test]
    fn what_is_marked_twice_is_kept_apart_once() {
        let text = after("@m = dso_local global i32 undef, align 4", &["m", "m"]);
        assert_eq!(
            line(&text, "@m ="),
            "@m = dso_local global { i32, [4092 x i8] } undef, align 4096",
            "{text}"
        );
    }
}
