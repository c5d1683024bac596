//! `__managed__` variables.
//!
//! clang 19 ignores the attribute, so gclang makes them device variables with
//! the annotation [`ANNOTATION`]. On the host executor a managed variable is
//! the host program's variable itself: device code finds its address in a cell
//! that the runtime sets when the program registers the variable. Until then the
//! cell holds the address of the device's copy, which has the initial value.

use std::collections::HashMap;

use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// The annotation that marks a managed variable.
pub const ANNOTATION: &str = "gpurace.managed";
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
        let annotations = LLVMGetNamedGlobal(module, c"llvm.global.annotations".as_ptr());
        if annotations.is_null() {
            return cells;
        }
        let ptr = LLVMPointerTypeInContext(ir::context(module), 0);
        for entry in ir::operands(LLVMGetInitializer(annotations)) {
            let [annotated, text, ..] = ir::operands(entry)[..] else { continue };
            if constant_text(text).as_deref() != Some(ANNOTATION) {
                continue;
            }
            let variable = if LLVMIsAConstantExpr(annotated).is_null() {
                annotated
            } else {
                LLVMGetOperand(annotated, 0)
            };
            let name = format!("{CELL}{}", ir::name(variable));
            let cell = LLVMAddGlobalInAddressSpace(module, ptr, ir::c(&name).as_ptr(), space);
            LLVMSetLinkage(cell, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetInitializer(cell, annotated);
            cells.insert(variable, cell);
        }
        LLVMDeleteGlobal(annotations);
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

/// The functions and variables with this annotation, and its further arguments, which are constants.
///
/// # Safety
/// `module` is live.
pub unsafe fn annotated_with(
    module: LLVMModuleRef,
    annotation: &str,
) -> Vec<(LLVMValueRef, Vec<LLVMValueRef>)> {
    // SAFETY: by contract.
    unsafe {
        let annotations = LLVMGetNamedGlobal(module, c"llvm.global.annotations".as_ptr());
        if annotations.is_null() {
            return Vec::new();
        }
        let entries = ir::operands(LLVMGetInitializer(annotations)).into_iter();
        let of_entry = |entry| {
            let [annotated, text, ref rest @ ..] = ir::operands(entry)[..] else { return None };
            if constant_text(text).as_deref() != Some(annotation) {
                return None;
            }
            let annotated = if LLVMIsAConstantExpr(annotated).is_null() {
                annotated
            } else {
                LLVMGetOperand(annotated, 0)
            };
            // The arguments follow file and line; null if there are none.
            let arguments = rest.get(2).copied().filter(|&v| !LLVMIsAGlobalVariable(v).is_null());
            let arguments = arguments.map(|v| LLVMGetInitializer(v)).filter(|v| !v.is_null());
            Some((annotated, arguments.map(|v| constant_elements(v)).unwrap_or_default()))
        };
        entries.filter_map(of_entry).collect()
    }
}

/// The elements of a constant struct; zeros have no operands.
unsafe fn constant_elements(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let count = LLVMCountStructElementTypes(LLVMTypeOf(value));
        (0..count).filter_map(|i| Some(LLVMGetAggregateElement(value, i)).filter(|v| !v.is_null())).collect()
    }
}

/// The text of a constant C string that a global holds.
unsafe fn constant_text(global: LLVMValueRef) -> Option<String> {
    // SAFETY: by contract.
    unsafe {
        let global = if LLVMIsAConstantExpr(global).is_null() { global } else { LLVMGetOperand(global, 0) };
        if LLVMIsAGlobalVariable(global).is_null() {
            return None;
        }
        let value = LLVMGetInitializer(global);
        if value.is_null() || LLVMIsConstantString(value) == 0 {
            return None;
        }
        let mut len = 0;
        let data = LLVMGetAsString(value, &mut len);
        let bytes = std::slice::from_raw_parts(data.cast::<u8>(), len);
        Some(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
    }
}
