//! Gives every device function the thread context as a hidden first parameter.
//!
//! All device functions get it, so that calls through pointers (virtual calls,
//! function tables) pass it too; calls of entry points pass it; calls of the C
//! library's mathematics do not.

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

/// Enum attributes that stay true on the host. Others are dropped: code that calls the executor
/// does not keep what clang or the device library say about memory, synchronisation and progress.
const KEPT_ATTRIBUTES: &[&str] = &[
    "align",
    "alwaysinline",
    "byref",
    "byval",
    "cold",
    "convergent",
    "dereferenceable",
    "dereferenceable_or_null",
    "inlinehint",
    "noalias",
    "noinline",
    "nonnull",
    "noreturn",
    "noundef",
    "nounwind",
    "range",
    "returned",
    "signext",
    "sret",
    "zeroext",
];

/// Threads the context through `module`.
///
/// # Safety
/// `module` is live; function references taken before the call are dead after it.
pub unsafe fn thread(module: LLVMModuleRef) {
    // SAFETY: by contract; old functions are deleted once nothing refers to them.
    unsafe {
        let keeper = Attributes::new(ir::context(module));
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
        LLVMFunctionType(
            LLVMGetReturnType(ty),
            params.as_mut_ptr(),
            params.len() as c_uint,
            LLVMIsFunctionVarArg(ty),
        )
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
        let get = |index| {
            attributes_at(
                index,
                |i| LLVMGetAttributeCountAtIndex(function, i),
                |i, out| LLVMGetAttributesAtIndex(function, i, out),
            )
        };
        for (from, to) in index_pairs(count) {
            for attribute in get(from).into_iter().filter(|&a| keeper.keeps(a)) {
                LLVMAddAttributeAtIndex(new, to, attribute);
            }
        }
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

/// The old and the new index of attributes when a parameter is put before `count` others: of the
/// function, the return value and each parameter.
fn index_pairs(count: c_uint) -> impl Iterator<Item = (LLVMAttributeIndex, LLVMAttributeIndex)> {
    [
        (LLVMAttributeFunctionIndex, LLVMAttributeFunctionIndex),
        (LLVMAttributeReturnIndex, LLVMAttributeReturnIndex),
    ]
    .into_iter()
    .chain((1..=count).map(|i| (i, i + 1)))
}

unsafe fn attributes_at(
    index: LLVMAttributeIndex,
    count: impl Fn(LLVMAttributeIndex) -> c_uint,
    get: impl Fn(LLVMAttributeIndex, *mut LLVMAttributeRef),
) -> Vec<LLVMAttributeRef> {
    let mut found = vec![std::ptr::null_mut(); count(index) as usize];
    if !found.is_empty() {
        get(index, found.as_mut_ptr());
    }
    found
}

/// The attributes to keep.
struct Attributes {
    kept: Vec<c_uint>,
}

impl Attributes {
    unsafe fn new(_context: LLVMContextRef) -> Self {
        // SAFETY: the names are readable for their lengths.
        let kind = |name: &&str| unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) };
        Self { kept: KEPT_ATTRIBUTES.iter().map(kind).filter(|&k| k != 0).collect() }
    }

    unsafe fn keeps(&self, attribute: LLVMAttributeRef) -> bool {
        // SAFETY: by contract a live attribute.
        unsafe {
            LLVMIsStringAttribute(attribute) == 0 && self.kept.contains(&LLVMGetEnumAttributeKind(attribute))
        }
    }
}

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
            let new = LLVMBuildCall2(
                builder,
                ty,
                target,
                arguments.as_mut_ptr(),
                arguments.len() as c_uint,
                c"".as_ptr(),
            );
            let get = |index| {
                attributes_at(
                    index,
                    |i| LLVMGetCallSiteAttributeCount(call, i),
                    |i, out| LLVMGetCallSiteAttributes(call, i, out),
                )
            };
            for (from, to) in index_pairs(count) {
                for attribute in get(from).into_iter().filter(|&a| keeper.keeps(a)) {
                    LLVMAddCallSiteAttribute(new, to, attribute);
                }
            }
            LLVMReplaceAllUsesWith(call, new);
            LLVMInstructionEraseFromParent(call);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// The declaration of an entry point with the context as first parameter, in
/// place of the one without.
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
        let kind = LLVMGetEnumAttributeKindForName(c"convergent".as_ptr(), 10);
        let convergent = LLVMGetEnumAttributeAtIndex(plain, LLVMAttributeFunctionIndex, kind);
        if !convergent.is_null() {
            LLVMAddAttributeAtIndex(new, LLVMAttributeFunctionIndex, convergent);
        }
        let kind = LLVMGetEnumAttributeKindForName(c"nounwind".as_ptr(), 8);
        let nounwind = LLVMCreateEnumAttribute(ir::context(module), kind, 0);
        LLVMAddAttributeAtIndex(new, LLVMAttributeFunctionIndex, nounwind);
        new
    }
}
