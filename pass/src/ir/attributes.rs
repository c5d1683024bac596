//! Attributes of functions and of their parameters.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeIndex};

use super::context;

/// The type of the copy behind a parameter that is passed by value through a pointer.
pub unsafe fn byval_type(function: LLVMValueRef, index: usize) -> Option<LLVMTypeRef> {
    // SAFETY: by contract.
    unsafe {
        let attribute = LLVMGetEnumAttributeAtIndex(function, index as u32 + 1, attribute_kind("byval"));
        (!attribute.is_null()).then(|| LLVMGetTypeAttributeValue(attribute))
    }
}

/// LLVM's number of an attribute; 0 if it has no such attribute.
pub fn attribute_kind(name: &str) -> u32 {
    // SAFETY: the name is readable for its length.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

/// Gives a function an attribute without a value; `index` says whether the function itself, its
/// result or a parameter.
pub unsafe fn add_attribute(function: LLVMValueRef, index: LLVMAttributeIndex, name: &str) {
    // SAFETY: by contract.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(function));
        let attribute = LLVMCreateEnumAttribute(context, attribute_kind(name), 0);
        LLVMAddAttributeAtIndex(function, index, attribute);
    }
}

/// Gives a function itself an attribute without a value.
pub unsafe fn mark_function(function: LLVMValueRef, name: &str) {
    // SAFETY: by contract.
    unsafe { add_attribute(function, LLVMAttributeFunctionIndex, name) }
}

/// The value of a function's string attribute.
pub unsafe fn string_attribute(function: LLVMValueRef, name: &str) -> Option<String> {
    // SAFETY: by contract; the value is as long as llvm-c says.
    unsafe {
        let attribute = LLVMGetStringAttributeAtIndex(
            function,
            LLVMAttributeFunctionIndex,
            name.as_ptr().cast(),
            name.len() as u32,
        );
        if attribute.is_null() {
            return None;
        }
        let mut length = 0;
        let value = LLVMGetStringAttributeValue(attribute, &mut length);
        Some(String::from_utf8_lossy(std::slice::from_raw_parts(value.cast(), length as usize)).into_owned())
    }
}

/// Gives a function a string attribute, in place of an older one of this name.
pub unsafe fn set_string_attribute(function: LLVMValueRef, name: &str, value: &str) {
    // SAFETY: by contract; lengths are the strings'.
    unsafe {
        let attribute = LLVMCreateStringAttribute(
            context(LLVMGetGlobalParent(function)),
            name.as_ptr().cast(),
            name.len() as u32,
            value.as_ptr().cast(),
            value.len() as u32,
        );
        LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
    }
}
