//! Variables and functions of the module as a whole.

use super::harness::printed;
use crate::gpu::{keep_shared_apart, managed, refuse, stand_alone};
use crate::ir::testing::with_module;

#[test]
fn shared_variables_are_each_variants_own() {
    let text = with_module(
        "target triple = \"nvptx64-nvidia-cuda\"
         @kept = dso_local addrspace(3) global [64 x i32] undef
         @dynamic = external addrspace(3) global [0 x i32]
         @total = dso_local addrspace(1) global i32 0",
        |module| {
            // SAFETY: live.
            unsafe { keep_shared_apart(module) };
            printed(module)
        },
    );
    assert!(text.contains("@kept = internal addrspace(3)"), "{text}");
    assert!(
        text.contains("@dynamic = external addrspace(3)") && text.contains("@total = dso_local addrspace(1)"),
        "{text}"
    );
}

#[test]
fn constants_that_name_shared_memory_are_refused() {
    let refused = |globals: &str| {
        let text = format!(
            "@s = internal addrspace(3) global [4 x i32] undef\n@g = internal addrspace(1) global i32 0\n{globals}"
        );
        // SAFETY: live.
        with_module(&text, |module| unsafe { refuse(module) })
    };
    let generic = "ptr addrspacecast (ptr addrspace(3) @s to ptr)";
    let why = "constants that are addresses of shared memory are not known there";
    assert_eq!(
        refused(&format!("@t = internal constant {{ i32, [1 x ptr] }} {{ i32 0, [1 x ptr] [{generic}] }}")),
        Err(why.to_owned())
    );
    assert_eq!(refused("@t = internal constant ptr addrspacecast (ptr addrspace(1) @g to ptr)"), Ok(()));
    assert_eq!(
        refused(&format!("@llvm.used = appending global [1 x ptr] [{generic}], section \"llvm.metadata\"")),
        Ok(())
    );
}

#[test]
fn code_takes_the_addresses_of_managed_variables_from_their_cells() {
    let module = |globals: &str| {
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"
             @text = private constant [16 x i8] c\"gpurace.managed\\00\", section \"llvm.metadata\"
             @file = private constant [2 x i8] c\"f\\00\", section \"llvm.metadata\"
             @m = dso_local addrspace(1) externally_initialized global [4 x i32] zeroinitializer
             @llvm.global.annotations = appending global [1 x {{ ptr, ptr, ptr, i32, ptr }}] [{{ ptr, ptr, ptr, i32, ptr }}
                 {{ ptr addrspacecast (ptr addrspace(1) @m to ptr), ptr @text, ptr @file, i32 1, ptr null }}], section \"llvm.metadata\"
             {globals}
             define i32 @f(i1 %c) {{
               br i1 %c, label %a, label %b
             a:
               store i32 1, ptr addrspacecast (ptr addrspace(1) getelementptr ([4 x i32], ptr addrspace(1) @m, i64 0, i64 2) to ptr)
               br label %b
             b:
               %p = phi ptr [ addrspacecast (ptr addrspace(1) @m to ptr), %0 ], [ null, %a ]
               %v = load i32, ptr %p
               ret i32 %v
             }}"
        )
    };
    let text = with_module(&module(""), |module| {
        // SAFETY: live.
        unsafe {
            assert_eq!(refuse(module), Ok(()));
            let cells = crate::translate::managed::add_cells(module, 1);
            managed::replace(&cells);
            crate::ir::modules::verify(module).unwrap();
            printed(module)
        }
    });
    let cell =
        "@__gpurace_managed_m = internal addrspace(1) global ptr addrspacecast (ptr addrspace(1) @m to ptr)";
    assert!(text.contains(cell), "{text}");
    let (_, code) = text.split_once("define i32 @f").unwrap();
    assert!(code.contains("load ptr, ptr addrspace(1) @__gpurace_managed_m"), "{text}");
    assert!(!code.contains("@m"), "no use is left: {text}");
    // Nobody would write the variable's address there; addresses of the others are as they are.
    // SAFETY: the module is live.
    let refused = |globals: &str| with_module(&module(globals), |module| unsafe { refuse(module) });
    let why = "constants that are addresses of `__managed__` variables are not known there";
    let within = "ptr addrspacecast (ptr addrspace(1) getelementptr ([4 x i32], ptr addrspace(1) @m, i64 0, i64 2) to ptr)";
    assert_eq!(refused(&format!("@where = addrspace(1) global {within}")), Err(why.to_owned()));
    assert_eq!(
        refused(
            "@g = addrspace(1) global i32 0\n@where = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @g to ptr)"
        ),
        Ok(())
    );
}

#[test]
fn bare_code_is_in_no_group() {
    let text = with_module(
        "target triple = \"nvptx64-nvidia-cuda\"
         $kernel = comdat any
         $helper = comdat any
         define weak_odr ptx_kernel void @kernel() comdat { call void @helper() ret void }
         define linkonce_odr hidden void @helper() comdat { ret void }
         declare void @vprintf()",
        |module| {
            // SAFETY: live.
            unsafe { stand_alone(module) };
            printed(module)
        },
    );
    assert!(
        text.contains("define dso_local ptx_kernel void @kernel() {")
            && text.contains("define internal void @helper() {"),
        "{text}"
    );
}
