//! Separate compilation (`-fgpu-rdc`): keeps the device code of one translation unit as it is, for
//! `gclang` to link with that of others. The pass runs over all of it at the link, and so sees the
//! functions of other units.

use std::collections::HashMap;
use std::path::Path;

use gpurace_abi::part::{Definition, Symbols};
use gpurace_abi::symbol::without_unit;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir::{self, modules};

/// Writes the module to `bitcode`, and returns its names.
///
/// # Safety
/// `module` is live and nobody else uses it meanwhile.
///
/// # Errors
/// Names the file that could not be written.
pub unsafe fn write(module: LLVMModuleRef, bitcode: &Path) -> Result<Symbols, String> {
    // SAFETY: by contract.
    unsafe {
        join_static_names(module);
        modules::write_bitcode(module, bitcode)?;
        Ok(symbols(module))
    }
}

/// Gives uses of static variables and kernels the name of their definitions. clang 22 adds the
/// unit's id to that name once it has seen a use by host code, and earlier uses keep the plain
/// name.
unsafe fn join_static_names(module: LLVMModuleRef) {
    // SAFETY: by contract; a declaration is deleted when nothing uses it.
    unsafe {
        let all = || ir::functions(module).chain(ir::globals(module));
        let definitions: HashMap<String, LLVMValueRef> = all()
            .filter(|&value| LLVMIsDeclaration(value) == 0)
            .filter_map(|value| {
                let name = ir::name(value);
                let plain = without_unit(&name);
                (plain != name).then(|| (plain.to_owned(), value))
            })
            .collect();
        let declarations: Vec<_> = all().filter(|&value| LLVMIsDeclaration(value) != 0).collect();
        for declaration in declarations {
            let Some(&definition) = definitions.get(&ir::name(declaration)) else { continue };
            if LLVMTypeOf(declaration) != LLVMTypeOf(definition) {
                continue;
            }
            LLVMReplaceAllUsesWith(declaration, definition);
            if LLVMIsAFunction(declaration).is_null() {
                LLVMDeleteGlobal(declaration);
            } else {
                LLVMDeleteFunction(declaration);
            }
        }
    }
}

/// The names by which this module and others find each other.
unsafe fn symbols(module: LLVMModuleRef) -> Symbols {
    let mut symbols = Symbols::default();
    // SAFETY: by contract.
    unsafe {
        for value in ir::functions(module).chain(ir::globals(module)) {
            let name = ir::name(value);
            // Names that LLVM uses itself.
            if name.starts_with("llvm.") {
                continue;
            }
            match (LLVMIsDeclaration(value) != 0, LLVMGetLinkage(value)) {
                (true, LLVMLinkage::LLVMExternalLinkage) if !LLVMGetFirstUse(value).is_null() => {
                    symbols.needed.push(name);
                }
                (false, LLVMLinkage::LLVMExternalLinkage) => {
                    symbols.defined.push(Definition { name, weak: false });
                }
                (false, LLVMLinkage::LLVMWeakAnyLinkage | LLVMLinkage::LLVMWeakODRLinkage) => {
                    symbols.defined.push(Definition { name, weak: true });
                }
                // An inline function is in each unit that uses it.
                _ => {}
            }
        }
    }
    symbols
}
