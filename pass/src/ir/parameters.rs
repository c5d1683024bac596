//! How a kernel takes its parameters: their layout in the argument buffer, and the code that loads
//! them from it.

use gpurace_abi::meta::Param;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// How a kernel takes a parameter.
#[derive(Clone, Debug)]
struct Parameter {
    place: Param,
    /// The type in the argument buffer: that of the value, or of the copy behind a `byval` pointer.
    ty: LLVMTypeRef,
    by_value_pointer: bool,
}

/// The parameters of a kernel, laid out one after the other by their alignments.
unsafe fn parameters(module: LLVMModuleRef, kernel: LLVMValueRef, skip: usize) -> Vec<Parameter> {
    // SAFETY: by contract.
    unsafe {
        let attribute = |index: u32, name: &str| {
            let found = LLVMGetEnumAttributeAtIndex(kernel, index, ir::attribute_kind(name));
            (!found.is_null()).then_some(found)
        };
        let mut offset = 0u64;
        let mut out = Vec::new();
        for (index, param) in ir::params(kernel).into_iter().enumerate().skip(skip) {
            let index = index as u32 + 1;
            let byval = attribute(index, "byval").map(|a| LLVMGetTypeAttributeValue(a));
            let ty = byval.unwrap_or_else(|| LLVMTypeOf(param));
            let mut alignment = u64::from(ir::abi_alignment(module, ty));
            if byval.is_some()
                && let Some(align) = attribute(index, "align")
            {
                alignment = alignment.max(LLVMGetEnumAttributeValue(align));
            }
            offset = offset.next_multiple_of(alignment.max(1));
            let size = ir::alloc_size(module, ty);
            let name = ir::name(param).trim_end_matches(".coerce").to_owned();
            let place = Param { name, offset: offset as u32, size: size as u32, ..Param::default() };
            out.push(Parameter { place, ty, by_value_pointer: byval.is_some() });
            offset += size;
        }
        out
    }
}

/// The places of a kernel's parameters in the argument buffer, and the size of the buffer.
///
/// # Safety
/// `kernel` is a live function of `module`, without the thread context.
pub unsafe fn argument_layout(module: LLVMModuleRef, kernel: LLVMValueRef) -> (Vec<Param>, u32) {
    // SAFETY: by contract.
    let params: Vec<_> = unsafe { parameters(module, kernel, 0) }.into_iter().map(|p| p.place).collect();
    let size = params.last().map_or(0, |p| p.offset + p.size);
    (params, size)
}

/// Loads the arguments of `kernel` in an entry whose first two parameters are the context and the
/// argument buffer. Returns them with the context first.
///
/// # Safety
/// The builder is positioned in `entry`; all are of `module`.
pub unsafe fn load_arguments(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    entry: LLVMValueRef,
    kernel: LLVMValueRef,
) -> Vec<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let mut arguments = vec![LLVMGetParam(entry, 0)];
        for parameter in &parameters(module, kernel, 1) {
            let address = ir::at_byte(builder, LLVMGetParam(entry, 1), parameter.place.offset.into());
            arguments.push(if parameter.by_value_pointer {
                address
            } else {
                LLVMBuildLoad2(builder, parameter.ty, address, c"".as_ptr())
            });
        }
        arguments
    }
}

/// Lets a call copy the arguments that `kernel` takes by value, so that each thread has its own.
///
/// # Safety
/// `call` passes the kernel's arguments first; both are live.
pub unsafe fn copy_by_value(kernel: LLVMValueRef, call: LLVMValueRef) {
    // SAFETY: by contract.
    unsafe {
        for name in ["byval", "align"] {
            for index in 1..=LLVMCountParams(kernel) {
                let attribute = LLVMGetEnumAttributeAtIndex(kernel, index, ir::attribute_kind(name));
                if !attribute.is_null() {
                    LLVMAddCallSiteAttribute(call, index, attribute);
                }
            }
        }
    }
}
