//! The structs of kernels' parameters and of variables in constant memory, from the debug info of types.
//!
//! The driver asks clang for that debug info. Only reports and what is shown of proofs need it, so it is read and taken
//! away before anything else: what is left is what clang gives optimised device code, lines.

use std::collections::HashMap;

use gpurace_abi::meta::{Field, Pointee, StructType};
use llvm_sys::core::LLVMDisposeMessage;
use llvm_sys::prelude::*;

use crate::ir::{self, address_space};

unsafe extern "C" {
    fn gpurace_struct(function: LLVMValueRef, index: u32, behind_pointer: bool) -> *mut std::ffi::c_char;
    fn gpurace_struct_of_variable(variable: LLVMValueRef) -> *mut std::ffi::c_char;
    fn gpurace_keep_lines(module: LLVMModuleRef);
}

/// Fields of larger structs are left out.
const MOST_FIELDS: usize = 64;

/// The structs of a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterStructs {
    /// The struct that the parameter is.
    pub own: Option<StructType>,
    /// The struct that the parameter points to.
    pub pointee: Option<StructType>,
}

/// The structs of a module.
#[derive(Debug, Default)]
pub struct Structs {
    /// Those of each parameter of each kernel, by the kernel's name. Kernels without any have no entry.
    pub of_kernels: HashMap<String, Vec<ParameterStructs>>,
    /// Those that variables in constant memory are, by their symbols.
    pub of_constants: HashMap<String, StructType>,
}

/// Returns the structs of a module. With `strip`, nothing of the types stays in it.
///
/// # Safety
/// `module` is live.
pub unsafe fn take(module: LLVMModuleRef, strip: bool) -> Structs {
    // SAFETY: by contract.
    unsafe {
        let of_kernel = |kernel| {
            let count = ir::params(kernel).len() as u32;
            let structs: Vec<_> = (0..count).map(|index| structs(kernel, index)).collect();
            let is_some = structs.iter().any(|structs| *structs != ParameterStructs::default());
            is_some.then(|| (ir::name(kernel), structs))
        };
        let of_kernels =
            ir::kernels(module).into_iter().filter_map(|(kernel, _)| of_kernel(kernel)).collect();
        let constants =
            ir::globals(module).filter(|&variable| ir::space_of(variable) == Some(address_space::CONSTANT));
        let of_constants = constants
            .filter_map(|variable| Some((ir::name(variable), parse(gpurace_struct_of_variable(variable))?)))
            .collect();
        if strip {
            gpurace_keep_lines(module);
        }
        Structs { of_kernels, of_constants }
    }
}

unsafe fn structs(kernel: LLVMValueRef, index: u32) -> ParameterStructs {
    // SAFETY: by contract.
    let struct_type = |behind_pointer| unsafe { parse(gpurace_struct(kernel, index, behind_pointer)) };
    ParameterStructs { own: struct_type(false), pointee: struct_type(true) }
}

/// Reads the description of a struct, and disposes of it.
unsafe fn parse(message: *mut std::ffi::c_char) -> Option<StructType> {
    // SAFETY: the message is a C string, and is disposed of once.
    let text = unsafe {
        let text = ir::text(message);
        LLVMDisposeMessage(message);
        text
    };
    let mut lines = text.lines();
    let (name, size) = lines.next()?.rsplit_once('\t')?;
    let mut fields: Vec<Field> = lines.filter_map(parse_field).collect();
    if fields.len() > MOST_FIELDS {
        fields.clear();
    }
    Some(StructType { name: name.to_owned(), size: size.parse().ok()?, fields })
}

fn parse_field(line: &str) -> Option<Field> {
    let parts: Vec<_> = line.split('\t').collect();
    let (&[name, offset, size, element], pointee) = parts.split_first_chunk()?;
    let pointee = match pointee {
        &[name, size] if !name.is_empty() => {
            Some(Pointee { name: name.to_owned(), size: size.parse().ok()? })
        }
        _ => None,
    };
    Some(Field {
        name: name.to_owned(),
        offset: offset.parse().ok()?,
        size: size.parse().ok()?,
        element: element.parse().ok()?,
        pointee: pointee.filter(|pointee| pointee.size != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pointer to a struct of a struct of two floats and of an array of shorts; a pointer to floats; a struct of a
    /// number and a pointer. A variable in constant memory that is such a struct.
    const MODULE: &str = r#"
        @row = addrspace(4) externally_initialized global [16 x i8] zeroinitializer, !dbg !27
        define ptx_kernel void @k(ptr %p, ptr %q, ptr %r) !dbg !4 { ret void, !dbg !20 }
        !llvm.dbg.cu = !{!0}
        !llvm.module.flags = !{!2}
        !0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
        !1 = !DIFile(filename: "a.cu", directory: "/")
        !2 = !{i32 2, !"Debug Info Version", i32 3}
        !4 = distinct !DISubprogram(name: "k", linkageName: "_Z1k", scope: !1, file: !1, line: 1, type: !5, spFlags: DISPFlagDefinition, unit: !0)
        !5 = !DISubroutineType(types: !6)
        !6 = !{null, !7, !17, !23}
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
        !23 = !DICompositeType(tag: DW_TAG_structure_type, name: "Row", file: !1, size: 128, elements: !24)
        !24 = !{!25, !26}
        !25 = !DIDerivedType(tag: DW_TAG_member, name: "n", scope: !23, file: !1, baseType: !22, size: 16)
        !26 = !DIDerivedType(tag: DW_TAG_member, name: "at", scope: !23, file: !1, baseType: !17, size: 64, offset: 64)
        !27 = !DIGlobalVariableExpression(var: !28, expr: !DIExpression())
        !28 = distinct !DIGlobalVariable(name: "row", scope: !0, file: !1, line: 2, type: !23, isLocal: false, isDefinition: true)
    "#;

    #[test]
    fn a_parameter_is_a_struct_or_points_to_one() {
        ir::testing::with_module(MODULE, |module| {
            // SAFETY: the module is live.
            unsafe {
                let (kernel, _) = ir::kernels(module)[0];
                let particle = structs(kernel, 0).pointee.unwrap();
                assert_eq!((particle.name.as_str(), particle.size), ("Particle", 12));
                let names = [0, 3, 4, 8, 11].map(|byte| particle.field_at(byte).unwrap_or_default());
                assert_eq!(names, ["vel.x", "vel.x", "vel.y", "ids[0]", "ids[1]"]);
                assert_eq!(structs(kernel, 1), ParameterStructs::default());
                assert_eq!(structs(kernel, 3), ParameterStructs::default());
                let ParameterStructs { own: Some(row), pointee: None } = structs(kernel, 2) else { panic!() };
                let pointed = row.field(8).and_then(|field| field.pointee.as_ref());
                assert_eq!(
                    (row.field_at(8).as_deref(), pointed.unwrap().name.as_str()),
                    (Some("at"), "float")
                );
                assert_eq!((row.field_at(2), &row.field(0).unwrap().pointee), (None, &None));
                let taken = take(module, true);
                assert_eq!((taken.of_kernels.len(), taken.of_constants["row"].name.as_str()), (1, "Row"));
                // The lines and the function's name stay, the types do not.
                assert_eq!(structs(kernel, 0), ParameterStructs::default());
                let text = ir::text(llvm_sys::core::LLVMPrintModuleToString(module));
                assert!(text.contains("!DILocation(line: 1") && text.contains("name: \"k\""), "{text}");
                assert!(!text.contains("Particle") && text.contains("DebugDirectivesOnly"), "{text}");
            }
        });
    }
}
