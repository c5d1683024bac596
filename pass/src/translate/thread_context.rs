//! Gives every device function the thread context as a hidden first parameter.
//!
//! All device functions get it, so that calls through pointers (virtual calls, function tables) can
//! pass it too. Calls of entry points pass it. Calls of the C library's mathematics do not.

use std::collections::HashMap;
use std::ffi::c_uint;

use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMGetSubprogram, LLVMInstructionGetDebugLoc, LLVMSetSubprogram};
use llvm_sys::prelude::*;
use llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMAttributeIndex, LLVMAttributeReturnIndex, LLVMCallConv, LLVMLinkage,
    LLVMOpcode, LLVMVisibility,
};

use crate::ir;
use crate::ir::entry_calls::CONTEXT_FUNCTION;

/// The attributes that stay true on the host. The others go: once code calls the executor, what clang
/// or the device library said about memory, synchronisation and progress does not hold.
const KEPT_ATTRIBUTES: &str = "align alwaysinline byref byval cold convergent dereferenceable
    dereferenceable_or_null inlinehint noalias noinline nonnull noreturn noundef nounwind range returned
    signext sret zeroext";

/// Threads the context through `module`.
///
/// # Safety
/// `module` is live; function references taken before the call are dead after it.
pub unsafe fn thread(module: LLVMModuleRef) {
    // SAFETY: by contract; old functions are deleted once nothing refers to them.
    unsafe {
        let keeper = Attributes::new();
        let old: Vec<_> = ir::definitions(module).collect();
        let mut renewed = HashMap::new();
        for &function in &old {
            renewed.insert(function, with_context(module, function, &keeper));
        }
        for &function in renewed.values() {
            rewrite_calls(module, function, &renewed, &keeper);
        }
        for &function in &old {
            let new = renewed[&function];
            let name = ir::name(function);
            LLVMReplaceAllUsesWith(function, new);
            LLVMDeleteFunction(function);
            LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
        }
        let placeholder = LLVMGetNamedFunction(module, ir::c(CONTEXT_FUNCTION).as_ptr());
        if !placeholder.is_null() {
            LLVMDeleteFunction(placeholder);
        }
        // Entry points that were declared without the context are replaced by now.
        let stale: Vec<_> = ir::functions(module)
            .filter(|&f| ir::name(f).ends_with(STALE) && LLVMGetFirstUse(f).is_null())
            .collect();
        stale.into_iter().for_each(|f| LLVMDeleteFunction(f));
    }
}

/// Suffix of the context-free declarations of entry points while they are replaced.
const STALE: &str = ".without_context";

/// The type of a function with the context as first parameter.
unsafe fn type_with_context(ty: LLVMTypeRef) -> LLVMTypeRef {
    // SAFETY: by contract a live function type.
    unsafe {
        let count = LLVMCountParamTypes(ty) as usize;
        let mut params: Vec<LLVMTypeRef> = vec![std::ptr::null_mut(); count + 1];
        LLVMGetParamTypes(ty, params.as_mut_ptr().add(1));
        params[0] = LLVMPointerTypeInContext(LLVMGetTypeContext(ty), 0);
        let (result, count) = (LLVMGetReturnType(ty), params.len() as c_uint);
        LLVMFunctionType(result, params.as_mut_ptr(), count, LLVMIsFunctionVarArg(ty))
    }
}

/// A function with the same body and the context as first parameter.
unsafe fn with_context(module: LLVMModuleRef, function: LLVMValueRef, keeper: &Attributes) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let ty = type_with_context(LLVMGlobalGetValueType(function));
        let new = LLVMAddFunction(module, c"".as_ptr(), ty);
        LLVMSetLinkage(new, LLVMLinkage::LLVMInternalLinkage);
        LLVMSetVisibility(new, LLVMVisibility::LLVMDefaultVisibility);
        LLVMSetFunctionCallConv(new, LLVMCallConv::LLVMCCallConv as c_uint);
        let count = LLVMCountParams(function);
        keeper.copy(
            count,
            |i| LLVMGetAttributeCountAtIndex(function, i),
            |i, out| LLVMGetAttributesAtIndex(function, i, out),
            |i, attribute| LLVMAddAttributeAtIndex(new, i, attribute),
        );
        let blocks: Vec<_> = ir::blocks(function).collect();
        for block in blocks {
            LLVMRemoveBasicBlockFromParent(block);
            LLVMAppendExistingBasicBlock(new, block);
        }
        for (old, new) in ir::params(function).into_iter().zip(ir::params(new).into_iter().skip(1)) {
            LLVMReplaceAllUsesWith(old, new);
        }
        let subprogram = LLVMGetSubprogram(function);
        if !subprogram.is_null() {
            LLVMSetSubprogram(new, subprogram);
            LLVMSetSubprogram(function, std::ptr::null_mut());
        }
        new
    }
}

/// The attributes to keep.
struct Attributes {
    kept: Vec<c_uint>,
}

impl Attributes {
    fn new() -> Self {
        let kinds = KEPT_ATTRIBUTES.split_whitespace().map(ir::attribute_kind);
        Self { kept: kinds.filter(|&kind| kind != 0).collect() }
    }

    /// Copies the attributes to keep of a function, or of a call, to one that has the context in front
    /// of its `parameters`.
    unsafe fn copy(
        &self,
        parameters: c_uint,
        count: impl Fn(LLVMAttributeIndex) -> c_uint,
        get: impl Fn(LLVMAttributeIndex, *mut LLVMAttributeRef),
        add: impl Fn(LLVMAttributeIndex, LLVMAttributeRef),
    ) {
        let unmoved = [LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex].map(|i| (i, i));
        for (from, to) in unmoved.into_iter().chain((1..=parameters).map(|i| (i, i + 1))) {
            let mut found = vec![std::ptr::null_mut(); count(from) as usize];
            if !found.is_empty() {
                get(from, found.as_mut_ptr());
            }
            // SAFETY: the attributes are live with the context.
            found.into_iter().filter(|&a| unsafe { self.keeps(a) }).for_each(|a| add(to, a));
        }
    }

    unsafe fn keeps(&self, attribute: LLVMAttributeRef) -> bool {
        // SAFETY: by contract a live attribute.
        unsafe {
            LLVMIsStringAttribute(attribute) == 0 && self.kept.contains(&LLVMGetEnumAttributeKind(attribute))
        }
    }
}

/// Passes the context on in all calls of a function.
unsafe fn rewrite_calls(
    module: LLVMModuleRef,
    function: LLVMValueRef,
    renewed: &HashMap<LLVMValueRef, LLVMValueRef>,
    keeper: &Attributes,
) {
    // SAFETY: by contract; each rewritten call is erased once.
    unsafe {
        let context = LLVMGetParam(function, 0);
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for call in ir::instructions(function) {
            if !matches!(ir::opcode(call), LLVMOpcode::LLVMCall) || ir::calls_asm(call) {
                continue;
            }
            let target = match ir::callee(call) {
                None => LLVMGetCalledValue(call),
                Some(callee) => match renewed.get(&callee) {
                    Some(&new) => new,
                    None => {
                        let name = ir::name(callee);
                        let name = name.strip_suffix(STALE).unwrap_or(&name);
                        if name == CONTEXT_FUNCTION {
                            LLVMReplaceAllUsesWith(call, context);
                            LLVMInstructionEraseFromParent(call);
                            continue;
                        }
                        if Entry::of_symbol(name).is_none() {
                            continue;
                        }
                        entry_with_context(module, callee, name)
                    }
                },
            };
            let ty = type_with_context(LLVMGetCalledFunctionType(call));
            let count = LLVMGetNumArgOperands(call);
            let mut arguments = vec![context];
            arguments.extend((0..count).map(|i| LLVMGetOperand(call, i)));
            LLVMPositionBuilderBefore(builder, call);
            LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(call));
            let new = ir::call_as(builder, ty, target, &arguments);
            keeper.copy(
                count,
                |i| LLVMGetCallSiteAttributeCount(call, i),
                |i, out| LLVMGetCallSiteAttributes(call, i, out),
                |i, attribute| LLVMAddCallSiteAttribute(new, i, attribute),
            );
            LLVMReplaceAllUsesWith(call, new);
            LLVMInstructionEraseFromParent(call);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// The declaration of an entry point with the context as first parameter, in place of the one without.
unsafe fn entry_with_context(module: LLVMModuleRef, plain: LLVMValueRef, name: &str) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        if !ir::name(plain).ends_with(STALE) {
            let stale = format!("{name}{STALE}");
            LLVMSetValueName2(plain, stale.as_ptr().cast(), stale.len());
        }
        let symbol = ir::c(name);
        let known = LLVMGetNamedFunction(module, symbol.as_ptr());
        if !known.is_null() {
            return known;
        }
        let ty = type_with_context(LLVMGlobalGetValueType(plain));
        let new = LLVMAddFunction(module, symbol.as_ptr(), ty);
        let convergent = ir::attribute_kind("convergent");
        if !LLVMGetEnumAttributeAtIndex(plain, LLVMAttributeFunctionIndex, convergent).is_null() {
            ir::mark_function(new, "convergent");
        }
        ir::mark_function(new, "nounwind");
        new
    }
}
