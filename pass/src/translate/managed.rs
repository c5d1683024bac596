//! `__managed__` variables.
//!
//! clang 22 ignores the attribute, so gclang makes them device variables with the annotation
//! [`ANNOTATION`]. On the executor, a managed variable is the host program's own variable. Device code
//! loads its address from a cell. The runtime sets the cell when the program registers the variable.
//! Until then the cell holds the address of the device's copy, which has the initial value.

use std::collections::HashMap;
use std::ffi::CStr;

use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// The annotation that marks a managed variable.
pub const ANNOTATION: &str = "gpurace.managed";
/// clang's list of annotations.
const ANNOTATIONS: &CStr = c"llvm.global.annotations";
/// Prefix of a cell's name.
pub const CELL: &str = gpurace_abi::device::MANAGED_CELL;

/// Adds a cell for each managed variable of `module` in this address space. Returns the cell of each
/// variable.
///
/// # Safety
/// `module` is live.
pub unsafe fn add_cells(module: LLVMModuleRef, space: u32) -> HashMap<LLVMValueRef, LLVMValueRef> {
    let mut cells = HashMap::new();
    // SAFETY: by contract.
    unsafe {
        let ptr = LLVMPointerTypeInContext(ir::context(module), 0);
        for variable in annotated(module, ANNOTATION) {
            let name = format!("{CELL}{}", ir::name(variable));
            let cell = LLVMAddGlobalInAddressSpace(module, ptr, ir::c(&name).as_ptr(), space);
            LLVMSetLinkage(cell, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetInitializer(cell, LLVMConstPointerCast(variable, ptr));
            cells.insert(variable, cell);
        }
        let annotations = LLVMGetNamedGlobal(module, ANNOTATIONS.as_ptr());
        if !annotations.is_null() {
            LLVMDeleteGlobal(annotations);
        }
    }
    cells
}

/// The functions and variables with this annotation.
///
/// # Safety
/// `module` is live.
pub unsafe fn annotated(module: LLVMModuleRef, annotation: &str) -> Vec<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe { annotated_with(module, annotation) }.into_iter().map(|(value, _)| value).collect()
}

/// The functions and variables with this annotation, each with the annotation's arguments (constants).
///
/// # Safety
/// `module` is live.
pub unsafe fn annotated_with(
    module: LLVMModuleRef,
    annotation: &str,
) -> Vec<(LLVMValueRef, Vec<LLVMValueRef>)> {
    // SAFETY: by contract.
    unsafe {
        let annotations = LLVMGetNamedGlobal(module, ANNOTATIONS.as_ptr());
        if annotations.is_null() {
            return Vec::new();
        }
        let entries = ir::operands(LLVMGetInitializer(annotations)).into_iter();
        let of_entry = |entry| {
            let [annotated, text, ref rest @ ..] = ir::operands(entry)[..] else { return None };
            if ir::constant_text(text).as_deref() != Some(annotation) {
                return None;
            }
            let annotated = if LLVMIsAConstantExpr(annotated).is_null() {
                annotated
            } else {
                LLVMGetOperand(annotated, 0)
            };
            // The arguments come after file and line; the pointer is null if there are none.
            let arguments = rest.get(2).copied().filter(|&v| !LLVMIsAGlobalVariable(v).is_null());
            let arguments = arguments.map(|v| LLVMGetInitializer(v)).filter(|v| !v.is_null());
            Some((annotated, arguments.map(|v| constant_elements(v)).unwrap_or_default()))
        };
        entries.filter_map(of_entry).collect()
    }
}

/// The elements of a constant struct. A struct of zeros has no operands to read instead.
unsafe fn constant_elements(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let count = LLVMCountStructElementTypes(LLVMTypeOf(value));
        (0..count).filter_map(|i| Some(LLVMGetAggregateElement(value, i)).filter(|v| !v.is_null())).collect()
    }
}
