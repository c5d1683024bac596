//! What the parameters of kernels point to, from the debug info of types.
//!
//! The driver asks clang for that debug info. Only the reports need it, so it is read and taken away before anything
//! else: what is left is what clang gives optimised device code, lines.

use std::collections::HashMap;

use gpurace_abi::meta::{Field, Pointee};
use llvm_sys::core::LLVMDisposeMessage;
use llvm_sys::prelude::*;

use crate::ir;

unsafe extern "C" {
    fn gpurace_pointee(function: LLVMValueRef, index: u32) -> *mut std::ffi::c_char;
    fn gpurace_keep_lines(module: LLVMModuleRef);
}

/// Fields of larger structs are left out.
const MOST_FIELDS: usize = 64;

/// Returns what each parameter of each kernel points to, by the kernel's name. With `strip`, nothing of the types
/// stays in the module.
///
/// # Safety
/// `module` is live.
pub unsafe fn take(module: LLVMModuleRef, strip: bool) -> HashMap<String, Vec<Option<Pointee>>> {
    // SAFETY: by contract.
    unsafe {
        let of_kernel = |kernel| {
            let count = ir::params(kernel).len() as u32;
            let pointees: Vec<_> = (0..count).map(|index| pointee(kernel, index)).collect();
            pointees.iter().any(Option::is_some).then(|| (ir::name(kernel), pointees))
        };
        let found = ir::kernels(module).into_iter().filter_map(|(kernel, _)| of_kernel(kernel)).collect();
        if strip {
            gpurace_keep_lines(module);
        }
        found
    }
}

unsafe fn pointee(kernel: LLVMValueRef, index: u32) -> Option<Pointee> {
    // SAFETY: by contract; the message is a C string.
    let text = unsafe {
        let message = gpurace_pointee(kernel, index);
        let text = ir::text(message);
        LLVMDisposeMessage(message);
        text
    };
    parse(&text)
}

fn parse(text: &str) -> Option<Pointee> {
    let mut lines = text.lines();
    let (name, size) = lines.next()?.rsplit_once('\t')?;
    let field = |line: &str| {
        let [name, offset, size, element] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        Some(Field {
            name: name.to_owned(),
            offset: offset.parse().ok()?,
            size: size.parse().ok()?,
            element: element.parse().ok()?,
        })
    };
    let mut fields: Vec<Field> = lines.filter_map(field).collect();
    if fields.len() > MOST_FIELDS {
        fields.clear();
    }
    Some(Pointee { name: name.to_owned(), size: size.parse().ok()?, fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A struct of a struct of two floats and of an array of shorts; a pointer to ints.
    const MODULE: &str = r#"
        define ptx_kernel void @k(ptr %p, ptr %q) !dbg !4 { ret void, !dbg !20 }
        !llvm.dbg.cu = !{!0}
        !llvm.module.flags = !{!2}
        !0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
        !1 = !DIFile(filename: "a.cu", directory: "/")
        !2 = !{i32 2, !"Debug Info Version", i32 3}
        !4 = distinct !DISubprogram(name: "k", linkageName: "_Z1k", scope: !1, file: !1, line: 1, type: !5, spFlags: DISPFlagDefinition, unit: !0)
        !5 = !DISubroutineType(types: !6)
        !6 = !{null, !7, !17}
        !7 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !8, size: 64)
        !8 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !9)
        !9 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Particle", file: !1, size: 96, elements: !10)
        !10 = !{!11, !12}
        !11 = !DIDerivedType(tag: DW_TAG_member, name: "vel", scope: !9, file: !1, baseType: !13, size: 64)
        !12 = !DIDerivedType(tag: DW_TAG_member, name: "ids", scope: !9, file: !1, baseType: !18, size: 32, offset: 64)
        !13 = !DICompositeType(tag: DW_TAG_structure_type, name: "V", file: !1, size: 64, elements: !14)
        !14 = !{!15, !16}
        !15 = !DIDerivedType(tag: DW_TAG_member, name: "x", scope: !13, file: !1, baseType: !21, size: 32)
        !16 = !DIDerivedType(tag: DW_TAG_member, name: "y", scope: !13, file: !1, baseType: !21, size: 32, offset: 32)
        !17 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !21, size: 64)
        !18 = !DICompositeType(tag: DW_TAG_array_type, baseType: !22, size: 32, elements: !19)
        !19 = !{!DISubrange(count: 2)}
        !20 = !DILocation(line: 1, scope: !4)
        !21 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
        !22 = !DIBasicType(name: "short", size: 16, encoding: DW_ATE_signed)
    "#;

    #[test]
    fn a_parameter_points_to_a_struct() {
        ir::testing::with_module(MODULE, |module| {
            // SAFETY: the module is live.
            unsafe {
                let (kernel, _) = ir::kernels(module)[0];
                let particle = pointee(kernel, 0).unwrap();
                assert_eq!((particle.name.as_str(), particle.size), ("Particle", 12));
                let names = [0, 3, 4, 8, 11].map(|byte| particle.field_at(byte).unwrap_or_default());
                assert_eq!(names, ["vel.x", "vel.x", "vel.y", "ids[0]", "ids[1]"]);
                assert_eq!(pointee(kernel, 1), None);
                assert_eq!(pointee(kernel, 2), None);
                assert_eq!(take(module, true).len(), 1);
                // The lines and the function's name stay, the types do not.
                assert_eq!(pointee(kernel, 0), None);
                let text = ir::text(llvm_sys::core::LLVMPrintModuleToString(module));
                assert!(text.contains("!DILocation(line: 1") && text.contains("name: \"k\""), "{text}");
                assert!(!text.contains("Particle") && text.contains("DebugDirectivesOnly"), "{text}");
            }
        });
    }
}
