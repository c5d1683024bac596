//! Separate compilation (`-fgpu-rdc`): the device code of one translation unit
//! is kept as it is, for `gclang` to link with that of others. Nothing is
//! prepared, proved or instrumented before: the pass runs over all of it at the
//! link, and sees what a function of another unit does.

use std::ffi::c_char;

use gpurace_abi::part::{Definition, Symbols};
use llvm_sys::LLVMLinkage;
use llvm_sys::bit_writer::LLVMWriteBitcodeToFile;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// Writes the module to `bitcode`, and gives its names.
///
/// # Safety
/// `module` is live and nobody else uses it meanwhile.
///
/// # Errors
/// Names the file that could not be written.
pub unsafe fn write(module: LLVMModuleRef, bitcode: &str) -> Result<Symbols, String> {
    let path = ir::c(bitcode);
    // SAFETY: by contract; the path is a C string.
    unsafe {
        if LLVMWriteBitcodeToFile(module, path.as_ptr().cast::<c_char>()) != 0 {
            return Err(format!("cannot write `{bitcode}`"));
        }
        Ok(symbols(module))
    }
}

/// The names by which this module and others find each other.
unsafe fn symbols(module: LLVMModuleRef) -> Symbols {
    let mut symbols = Symbols::default();
    // SAFETY: by contract.
    unsafe {
        for value in ir::functions(module).chain(ir::globals(module)) {
            let name = ir::name(value);
            // LLVM's own are no names of the program.
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
                // Inline functions: who uses one has it.
                _ => {}
            }
        }
    }
    symbols
}
