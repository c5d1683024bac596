//! The checked variant of a kernel: a kernel of another name with one more parameter, which calls
//! the kernel's code.

use gpurace_abi::device;
use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeIndex};

use crate::ir;
use crate::ir::address_space;
use crate::ir::entry_calls::EntryCalls;

/// The most threads of a block on any GPU.
const MAX_THREADS: u64 = 1024;

/// The attributes of a kernel that say how it is launched.
const BOUNDS: [&str; 6] = [
    ir::MAX_THREADS,
    "nvvm.minctasm",
    "nvvm.maxnreg",
    "nvvm.reqntid",
    "nvvm.cluster_dim",
    "nvvm.maxclusterrank",
];

/// Replaces `kernel` by its checked variant, which enters the block, calls the kernel and leaves.
/// `is_bounded`: the program bounds the threads of a block. `shared`: the variables of the table
/// [`device::SHARED_SUFFIX`].
///
/// # Safety
/// `kernel` is a live kernel of `module`.
pub unsafe fn wrap(module: LLVMModuleRef, kernel: LLVMValueRef, is_bounded: bool, shared: &[LLVMValueRef]) {
    // SAFETY: by contract; the vectors are as long as llvm-c says.
    unsafe {
        let context = ir::context(module);
        let ty = LLVMGlobalGetValueType(kernel);
        let count = LLVMCountParamTypes(ty);
        let mut types = vec![std::ptr::null_mut(); count as usize];
        LLVMGetParamTypes(ty, types.as_mut_ptr());
        types.push(LLVMInt64TypeInContext(context));
        let void = LLVMVoidTypeInContext(context);
        let outer_type = LLVMFunctionType(void, types.as_mut_ptr(), count + 1, 0);
        let name = format!("{}{}", ir::name(kernel), device::CHECKED_SUFFIX);
        let outer = LLVMAddFunction(module, ir::c(&name).as_ptr(), outer_type);
        LLVMSetFunctionCallConv(outer, LLVMGetFunctionCallConv(kernel));
        // Annotations, and the kernel's bounds, move to the variant.
        LLVMReplaceAllUsesWith(kernel, outer);
        for bound in BOUNDS {
            if let Some(value) = ir::string_attribute(kernel, bound) {
                ir::set_string_attribute(outer, bound, &value);
            }
        }
        if !is_bounded {
            // Checks need registers. Without a bound, `ptxas` would use more than the largest blocks
            // have, and their launches would run unchecked.
            ir::set_string_attribute(outer, ir::MAX_THREADS, &MAX_THREADS.to_string());
        }
        super::make_internal(kernel);
        LLVMSetFunctionCallConv(kernel, llvm_sys::LLVMCallConv::LLVMCCallConv as u32);
        for unwanted in ["noinline", "optnone"] {
            let kind = ir::attribute_kind(unwanted);
            LLVMRemoveEnumAttributeAtIndex(kernel, LLVMAttributeFunctionIndex, kind);
        }
        ir::mark_function(kernel, "alwaysinline");

        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, outer, c"".as_ptr()));
        let mut arguments = ir::params(outer);
        let cell = arguments.pop().unwrap_or(std::ptr::null_mut());
        let calls = EntryCalls::new(module);
        calls.call_convergent(builder, Entry::Enter, &[cell]);
        if !shared.is_empty() {
            tell_places(module, &calls, builder, &ir::name(kernel), shared);
        }
        let call = ir::call(builder, kernel, &arguments);
        for index in 1..=count as LLVMAttributeIndex {
            let mut found = vec![std::ptr::null_mut(); LLVMGetAttributeCountAtIndex(kernel, index) as usize];
            LLVMGetAttributesAtIndex(kernel, index, found.as_mut_ptr());
            for attribute in found {
                LLVMAddAttributeAtIndex(outer, index, attribute);
                LLVMAddCallSiteAttribute(call, index, attribute);
            }
        }
        calls.call_convergent(builder, Entry::Leave, &[]);
        LLVMBuildRetVoid(builder);
        LLVMDisposeBuilder(builder);
    }
}

/// Makes the kernel store the offsets of these variables in a table of its own. `ptxas` chooses them
/// for each kernel.
unsafe fn tell_places(
    module: LLVMModuleRef,
    calls: &EntryCalls,
    builder: LLVMBuilderRef,
    kernel: &str,
    shared: &[LLVMValueRef],
) {
    // SAFETY: by `wrap`'s contract.
    unsafe {
        let context = ir::context(module);
        let word = LLVMInt32TypeInContext(context);
        let ty = LLVMArrayType2(word, shared.len() as u64);
        let name = format!("{kernel}{}", device::SHARED_SUFFIX);
        let table = LLVMAddGlobalInAddressSpace(module, ty, ir::c(&name).as_ptr(), address_space::GLOBAL);
        LLVMSetInitializer(table, LLVMConstNull(ty));
        LLVMSetAlignment(table, 4);
        let generic = LLVMPointerTypeInContext(context, address_space::GENERIC);
        for (index, &variable) in shared.iter().enumerate() {
            let mut at = [LLVMConstInt(word, index as u64, 0)];
            let slot = LLVMBuildInBoundsGEP2(builder, word, table, at.as_mut_ptr(), 1, c"".as_ptr());
            let slot = LLVMBuildAddrSpaceCast(builder, slot, generic, c"".as_ptr());
            let offset = LLVMBuildPtrToInt(builder, variable, word, c"".as_ptr());
            calls.call_convergent(builder, Entry::SharedAt, &[slot, offset]);
        }
    }
}
