//! NVVM intrinsics and device-only functions, as IR that runs on the host.
//!
//! One table lists them: [`table::INTRINSICS`] and [`table::FUNCTIONS`] map names to bodies in LLVM's
//! textual IR, which call the building blocks of [`floats`] and [`blocks`], and the PTX instructions of
//! [`values`](super::values). [`lower_nvvm`] writes one
//! function for each intrinsic that a module uses ([`template`]), links the functions into the module,
//! replaces the intrinsics by them and inlines the calls. The functions have no debug info, so LLVM gives
//! their instructions the position of the call, and accesses keep their source lines.
//!
//! A name that the table refuses or does not know becomes a call of
//! [`Entry::Unsupported`] with that name. A launch that reaches the call ends; the compilation does
//! not, and no value is wrong.
//!
//! For some operands, integer division, shifts and float-to-integer conversion are undefined in LLVM or trap on the
//! host. [`totality`] gives them the results that PTX defines.

mod blocks;
mod floats;
pub(crate) mod matrix;
mod table;
pub(in crate::translate) mod template;
mod totality;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ptr;

use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMTypeKind};

use crate::ir;
use crate::ir::entry_calls::EntryCalls;
use crate::ir::modules::parse_text;
use crate::ir::passes::{run_passes, run_passes_on};
use template::{Lowering, Signature};
pub use totality::{make_division_total, make_shifts_total};

/// The metadata of the instructions that initialise, change and test the word of an mbarrier.
pub const MBARRIER: &str = "gpurace.mbarrier";

/// Gives each way out of a wait for an mbarrier a basic block of its own, where protocols say that a phase is over.
///
/// # Safety
/// `module` is live and used by this thread alone.
pub unsafe fn part_ways_at_mbarriers(module: LLVMModuleRef) {
    // SAFETY: by contract.
    unsafe {
        for function in ir::definitions(module).collect::<Vec<_>>() {
            if ir::instructions(function).into_iter().any(|i| ir::metadata(i, MBARRIER).is_some()) {
                // The pass's only failure is an unknown name, and this one is known.
                let _ = run_passes_on(function, "break-crit-edges");
            }
        }
    }
}

/// A function that the program uses and the executor cannot run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unsupported {
    /// Its name, for instance `llvm.nvvm.tex.1d.v4f32.f32`.
    pub what: String,
}

/// A declaration of the module and the text of the function that replaces it.
struct Replacement {
    declaration: LLVMValueRef,
    what: String,
    signature: Signature,
    functions: template::Functions,
}

/// Replaces every call of an NVVM intrinsic, and of other functions that exist on devices only. Returns the
/// functions that became a call of [`Entry::Unsupported`], each name once, in order.
///
/// Loads from the thread context carry `!nosanitize`, which says that they are no accesses of the program.
///
/// # Safety
/// `module` is live and used by this thread alone.
pub unsafe fn lower_nvvm(module: LLVMModuleRef) -> Vec<Unsupported> {
    let mut refused = BTreeSet::new();
    // SAFETY: by contract; the declarations stay live until `replace` removes them.
    unsafe {
        let folded = fold_reflect(module, &mut refused);
        let mut replacements = Vec::new();
        for function in ir::functions(module) {
            if LLVMIsDeclaration(function) == 0 {
                continue;
            }
            let Some(found) = template::find(&base_name(function)) else {
                continue;
            };
            if LLVMGetFirstUse(function).is_null() {
                LLVMDeleteFunction(function);
                continue;
            }
            let what = base_name(function);
            let signature = signature(function);
            if takes_metadata(function) {
                refuse_calls(module, function, &what);
                refused.insert(what);
                continue;
            }
            let expanded = match found {
                Lowering::Body(rule) => template::expand(&rule, &ir::name(function), &signature),
                Lowering::Refused => None,
            };
            let expanded = expanded.filter(|f| parses(module, f));
            let functions = expanded.unwrap_or_else(|| {
                refused.insert(what.clone());
                template::refusal(&what, &ir::name(function), &signature)
            });
            replacements.push(Replacement { declaration: function, what, signature, functions });
        }
        replace(module, replacements, &mut refused);
        // The passes' only failure is an unknown name, and these are known.
        let passes =
            if folded { "always-inline,function(instsimplify,simplifycfg)" } else { "always-inline" };
        let _ = run_passes(module, passes, ptr::null_mut());
        super::remove_unused(module);
    }
    refused.into_iter().map(|what| Unsupported { what }).collect()
}

/// Links the replacements in, and replaces the declarations by them.
unsafe fn replace(module: LLVMModuleRef, replacements: Vec<Replacement>, refused: &mut BTreeSet<String>) {
    if replacements.is_empty() {
        return;
    }
    // SAFETY: by `lower_nvvm`'s contract; linking consumes the parsed module.
    unsafe {
        let all = template::Functions::merge(replacements.iter().map(|r| &r.functions));
        let linked =
            parse_text(module, &all.text()).is_ok_and(|source| LLVMLinkModules2(module, source) == 0);
        for replacement in replacements {
            let name = ir::c(&replacement.functions.entry);
            let function = LLVMGetNamedFunction(module, name.as_ptr());
            if !linked || function.is_null() {
                refuse_calls(module, replacement.declaration, &replacement.what);
                refused.insert(replacement.what);
                continue;
            }
            LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
            LLVMReplaceAllUsesWith(replacement.declaration, function);
            LLVMDeleteFunction(replacement.declaration);
            debug_assert_eq!(signature(function), replacement.signature);
        }
    }
}

/// The name of an overloaded intrinsic without the types at its end.
unsafe fn base_name(function: LLVMValueRef) -> String {
    // SAFETY: by `lower_nvvm`'s contract; LLVM's names of intrinsics live forever.
    unsafe {
        let id = LLVMGetIntrinsicID(function);
        if id == 0 {
            return ir::name(function);
        }
        let mut len = 0;
        let data = LLVMIntrinsicGetName(id, &mut len);
        String::from_utf8_lossy(std::slice::from_raw_parts(data.cast(), len)).into_owned()
    }
}

unsafe fn parameter_types(function: LLVMValueRef) -> Vec<LLVMTypeRef> {
    // SAFETY: by `lower_nvvm`'s contract; the vector is as long as llvm-c says.
    unsafe {
        let ty = LLVMGlobalGetValueType(function);
        let mut types = vec![ptr::null_mut(); LLVMCountParamTypes(ty) as usize];
        LLVMGetParamTypes(ty, types.as_mut_ptr());
        types
    }
}

unsafe fn signature(function: LLVMValueRef) -> Signature {
    // SAFETY: by `lower_nvvm`'s contract.
    unsafe {
        Signature {
            result: ir::type_text(LLVMGetReturnType(LLVMGlobalGetValueType(function))),
            params: parameter_types(function).into_iter().map(|t| ir::type_text(t)).collect(),
        }
    }
}

unsafe fn takes_metadata(function: LLVMValueRef) -> bool {
    // SAFETY: by `lower_nvvm`'s contract.
    unsafe {
        parameter_types(function)
            .into_iter()
            .any(|t| LLVMGetTypeKind(t) == LLVMTypeKind::LLVMMetadataTypeKind)
    }
}

/// True if the functions are valid IR. They are not if a declaration has other types than the table
/// expects, for instance a program's own declaration of `malloc`.
unsafe fn parses(module: LLVMModuleRef, functions: &template::Functions) -> bool {
    // SAFETY: by `lower_nvvm`'s contract; nobody else uses what was parsed.
    unsafe {
        match parse_text(module, &functions.text()) {
            Ok(parsed) => LLVMDisposeModule(parsed),
            Err(error) => {
                if cfg!(test) {
                    eprintln!("{error}\n{}", functions.text());
                }
                return false;
            }
        }
        true
    }
}

/// The calls of a function.
unsafe fn calls(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: by `lower_nvvm`'s contract.
    unsafe {
        let mut users = ir::users(function);
        users.retain(|&user| !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == function);
        users
    }
}

/// Replaces a call's result by `value` and removes the call.
unsafe fn replace_call(call: LLVMValueRef, value: Option<LLVMValueRef>) {
    // SAFETY: by `lower_nvvm`'s contract.
    unsafe {
        if let Some(value) = value {
            LLVMReplaceAllUsesWith(call, value);
        }
        LLVMInstructionEraseFromParent(call);
    }
}

/// Replaces each call of a function by a call of [`Entry::Unsupported`].
unsafe fn refuse_calls(module: LLVMModuleRef, function: LLVMValueRef, what: &str) {
    // SAFETY: by `lower_nvvm`'s contract; the builder is freed once.
    unsafe {
        let context = ir::context(module);
        let entries = EntryCalls::new(module);
        let builder = LLVMCreateBuilderInContext(context);
        for call in calls(function) {
            LLVMPositionBuilderBefore(builder, call);
            LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(call));
            let what = LLVMBuildGlobalString(builder, ir::c(what).as_ptr(), c"".as_ptr());
            entries.call(builder, Entry::Unsupported, &[what, entries.i32(u64::MAX)]);
            let result = LLVMTypeOf(call);
            let void = LLVMGetTypeKind(result) == LLVMTypeKind::LLVMVoidTypeKind;
            replace_call(call, (!void).then(|| LLVMConstNull(result)));
        }
        LLVMDisposeBuilder(builder);
        if LLVMGetFirstUse(function).is_null() {
            LLVMDeleteFunction(function);
        }
    }
}

/// Replaces calls of `__nvvm_reflect` by constants, and returns true if there were any. The constants ask
/// for IEEE results, unless the module's flag `nvvm-reflect-ftz` says to flush subnormals.
unsafe fn fold_reflect(module: LLVMModuleRef, refused: &mut BTreeSet<String>) -> bool {
    let mut folded = false;
    // SAFETY: by `lower_nvvm`'s contract.
    unsafe {
        for function in ir::functions(module) {
            let name = base_name(function);
            if !matches!(name.as_str(), "__nvvm_reflect" | "llvm.nvvm.reflect") {
                continue;
            }
            for call in calls(function) {
                let value = match ir::constant_text(LLVMGetOperand(call, 0)).as_deref() {
                    Some("__CUDA_FTZ") => module_flag(module, "nvvm-reflect-ftz"),
                    Some("__CUDA_ARCH") => architecture(module),
                    Some("__CUDA_PREC_SQRT" | "__CUDA_PREC_DIV") => 1,
                    // LLVM's own pass gives 0 to what it does not know.
                    Some(_) => 0,
                    None => {
                        refused.insert(format!("{name} of a string that is not constant"));
                        0
                    }
                };
                let constant = LLVMConstInt(LLVMTypeOf(call), value, 0);
                replace_call(call, Some(constant));
                folded = true;
            }
            if LLVMGetFirstUse(function).is_null() {
                LLVMDeleteFunction(function);
            }
        }
    }
    folded
}

/// An integer flag of the module, or 0.
unsafe fn module_flag(module: LLVMModuleRef, key: &str) -> u64 {
    // SAFETY: by `lower_nvvm`'s contract.
    unsafe {
        let flag = LLVMGetModuleFlag(module, key.as_ptr().cast(), key.len());
        if flag.is_null() {
            return 0;
        }
        let value = LLVMMetadataAsValue(ir::context(module), flag);
        let constant = LLVMGetOperand(value, 0);
        if constant.is_null() { 0 } else { ir::constant(constant).unwrap_or(0) }
    }
}

/// `__CUDA_ARCH__` of the module, for instance 800 for `sm_80`. 800 is also the default.
///
/// # Safety
/// `module` is live.
pub unsafe fn architecture(module: LLVMModuleRef) -> u64 {
    let number = |cpu: String| -> Option<u64> {
        cpu.strip_prefix("sm_")?.trim_end_matches(char::is_alphabetic).parse().ok()
    };
    // SAFETY: by `lower_nvvm`'s contract.
    let found = unsafe {
        ir::definitions(module).find_map(|f| ir::string_attribute(f, "target-cpu").and_then(number))
    };
    found.map_or(800, |number| number * 10)
}
