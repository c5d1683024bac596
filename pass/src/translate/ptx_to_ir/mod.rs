//! Inline PTX as IR that runs on the host.
//!
//! For each distinct asm of a module, [`lower_ptx`] writes one function in LLVM's textual IR
//! ([`function`]). It uses the same building blocks as the NVVM intrinsics ([`super::nvvm`]). Then
//! [`lower_ptx`] links the functions into the module, replaces each asm by a call and inlines the calls. The
//! functions have no debug info, so LLVM gives their instructions the position of the call, and accesses
//! keep their source lines.
//!
//! An instruction that cannot be translated becomes a call of
//! [`gpurace_abi::entry::Entry::Unsupported`] with its name. A launch that reaches the call ends; the
//! compilation does not, and no value is wrong.
//!
//! The carry flag of `add.cc` and its like lasts from one asm to the next: numbers of many words are added by an asm
//! for each word. So each function of the program has one flag.
//!
//! Approximate instructions (`ex2.approx`, `rcp.approx`, ...) return the host's results, which are more
//! exact than a GPU's. Asynchronous copies happen at once, so a group is done when it is committed.

mod address;
mod body;
mod control;
mod copies;
mod function;
mod matrix;
mod memory;
mod special;
mod texture;
mod values;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr;

use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMTypeKind};

use crate::ir;
use crate::ir::modules::parse_text;
use crate::ir::passes::run_passes;
use crate::translate::ptx;

use super::nvvm::template;
use function::Types;

/// An asm: template, constraints, types of the call.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    template: String,
    constraints: String,
    types: Types,
}

/// Replaces every inline asm of `module`: see the module's comment. Returns the names of untranslated
/// instructions, each once, in order.
///
/// An asm without text and operands stays, since it keeps the compiler from moving accesses across it.
///
/// # Safety
/// `module` is live and used by this thread alone.
pub unsafe fn lower_ptx(module: LLVMModuleRef) -> Vec<String> {
    let mut refused = BTreeSet::new();
    // SAFETY: by contract; calls stay live until they are replaced.
    unsafe {
        let mut calls: HashMap<Key, Vec<LLVMValueRef>> = HashMap::new();
        let mut order = Vec::new();
        for function in ir::definitions(module) {
            for instruction in ir::instructions(function) {
                if LLVMIsACallInst(instruction).is_null() || !ir::calls_asm(instruction) {
                    continue;
                }
                let asm = LLVMGetCalledValue(instruction);
                let unused = LLVMGetFirstUse(instruction).is_null();
                let key = key(instruction);
                // libcu++ omits `volatile` for an asm with a memory clobber.
                let silent =
                    LLVMGetInlineAsmHasSideEffects(asm) == 0 && !key.constraints.contains("~{memory}");
                if unused && silent {
                    LLVMInstructionEraseFromParent(instruction);
                    continue;
                }
                if key.template.trim().is_empty() && unused && key.types.arguments.is_empty() {
                    continue;
                }
                let list = calls.entry(key.clone()).or_default();
                if list.is_empty() {
                    order.push(key);
                }
                list.push(instruction);
            }
        }
        if order.is_empty() {
            return Vec::new();
        }
        let Written { text, use_carry } = write_all(module, &order, &mut refused);
        link(module, &text);
        let mut carries = HashMap::new();
        for (n, key) in order.iter().enumerate() {
            let function = LLVMGetNamedFunction(module, ir::c(&name(n)).as_ptr());
            // The linker leaves out internal functions that nothing calls yet.
            LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
            for &call in &calls[key] {
                let carry = use_carry.contains(&n).then(|| carry_of(&mut carries, call));
                replace(call, function, carry);
            }
        }
        let passes = if carries.is_empty() { "always-inline" } else { "always-inline,function(mem2reg)" };
        // The passes' only failure is an unknown name, and these are known.
        let _ = run_passes(module, passes, ptr::null_mut());
        super::remove_unused(module);
    }
    refused.into_iter().collect()
}

/// The function for the `n`-th distinct asm.
fn name(n: usize) -> String {
    format!("{}ptx.{n}", template::PREFIX)
}

unsafe fn key(call: LLVMValueRef) -> Key {
    // SAFETY: by `lower_ptx`'s contract.
    unsafe {
        let (template, constraints) = ir::asm_text(call);
        let result = LLVMTypeOf(call);
        let results = match LLVMGetTypeKind(result) {
            LLVMTypeKind::LLVMVoidTypeKind => Vec::new(),
            LLVMTypeKind::LLVMStructTypeKind => (0..LLVMCountStructElementTypes(result))
                .map(|i| ir::type_text(LLVMStructGetTypeAtIndex(result, i)))
                .collect(),
            _ => vec![ir::type_text(result)],
        };
        let arguments = (0..LLVMGetNumArgOperands(call))
            .map(|i| ir::type_text(LLVMTypeOf(LLVMGetOperand(call, i))))
            .collect();
        Key { template, constraints, types: Types { results, arguments } }
    }
}

/// The functions for all asms.
struct Written {
    /// Their definitions, with those of the building blocks that they call.
    text: String,
    /// The numbers of those that take the place of a carry flag.
    use_carry: BTreeSet<usize>,
}

/// The carry flag of the function that makes a call: clear when the function begins.
unsafe fn carry_of(carries: &mut HashMap<LLVMValueRef, LLVMValueRef>, call: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by `lower_ptx`'s contract.
    unsafe {
        let function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
        *carries.entry(function).or_insert_with(|| {
            let flag = LLVMInt1TypeInContext(LLVMGetTypeContext(LLVMTypeOf(call)));
            let builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(flag));
            LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
            let carry = LLVMBuildAlloca(builder, flag, c"".as_ptr());
            LLVMBuildStore(builder, LLVMConstNull(flag), carry);
            LLVMDisposeBuilder(builder);
            carry
        })
    }
}

/// Writes the functions for all asms, with the building blocks that they call.
unsafe fn write_all(module: LLVMModuleRef, keys: &[Key], refused: &mut BTreeSet<String>) -> Written {
    let mut definitions = BTreeMap::new();
    let mut symbols: BTreeMap<String, u32> = BTreeMap::new();
    let mut reserved_shared = false;
    let mut use_carry = BTreeSet::new();
    let find_symbol = |name: &str| {
        let name = ir::c(name);
        // SAFETY: by `lower_ptx`'s contract.
        unsafe {
            let mut symbol = LLVMGetNamedGlobal(module, name.as_ptr());
            if symbol.is_null() {
                symbol = LLVMGetNamedFunction(module, name.as_ptr());
            }
            (!symbol.is_null()).then(|| LLVMGetPointerAddressSpace(LLVMTypeOf(symbol)))
        }
    };
    for (n, key) in keys.iter().enumerate() {
        let name = name(n);
        let parsed = ptx::parse(&key.template, &key.constraints);
        let written = match &parsed {
            Ok(asm) => function::write(asm, &name, &key.types, &find_symbol)
                .ok_or_else(|| "operands of another type than their constraints".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let text = match written {
            Ok(written) => {
                refused.extend(written.refused);
                symbols.extend(written.symbols);
                reserved_shared |= written.reserved_shared;
                use_carry.extend(written.uses_carry.then_some(n));
                written.text
            }
            Err(why) => {
                let what = format!("inline PTX: {why}");
                let text = function::write_refusal(&name, &key.types, &what);
                refused.insert(what);
                text
            }
        };
        definitions.insert(name, text);
    }
    let mut text = template::complete(definitions);
    for (name, space) in symbols {
        text += &format!("@\"{name}\" = external addrspace({space}) global i8\n");
    }
    if reserved_shared {
        text += &special::reserved_shared();
    }
    Written { text, use_carry }
}

/// Parses the functions, promotes their registers and links them in.
unsafe fn link(module: LLVMModuleRef, text: &str) {
    // SAFETY: by `lower_ptx`'s contract; the linker takes the parsed module.
    unsafe {
        // Caught at the plugin's edge and reported as an internal error.
        let parsed = parse_text(module, text)
            .unwrap_or_else(|error| panic!("the translation of inline PTX is not valid IR: {error}"));
        let _ = run_passes(parsed, "function(mem2reg,instsimplify)", ptr::null_mut());
        assert_eq!(LLVMLinkModules2(module, parsed), 0, "the translation of inline PTX cannot be linked");
    }
}

/// Calls `function` in place of an asm call, with the place of a carry flag if it takes one.
unsafe fn replace(call: LLVMValueRef, function: LLVMValueRef, carry: Option<LLVMValueRef>) {
    // SAFETY: by `lower_ptx`'s contract; the types are those that the function was written for.
    unsafe {
        let builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(call)));
        LLVMPositionBuilderBefore(builder, call);
        let arguments = (0..LLVMGetNumArgOperands(call)).map(|i| LLVMGetOperand(call, i));
        let arguments: Vec<_> = arguments.chain(carry).collect();
        let new = ir::call(builder, function, &arguments);
        LLVMInstructionSetDebugLoc(new, LLVMInstructionGetDebugLoc(call));
        LLVMReplaceAllUsesWith(call, new);
        LLVMInstructionEraseFromParent(call);
        LLVMDisposeBuilder(builder);
    }
}
