//! Whole modules: reads bitcode and IR text, verifies.

use std::path::Path;

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::bit_writer::{LLVMWriteBitcodeToFile, LLVMWriteBitcodeToMemoryBuffer};
use llvm_sys::core::*;
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use llvm_sys::prelude::*;

use crate::ir;

/// Writes a module as bitcode and reads it again; the original is disposed of.
///
/// A copy shares its struct types with the original. LLVM's linker renames and merges the types of the module
/// that it links in, so values of one type could end up with two. A module that was read has its own types.
pub unsafe fn reread(module: LLVMModuleRef) -> Result<LLVMModuleRef, String> {
    // SAFETY: by `to_object`'s contract; buffer and module are freed once.
    unsafe {
        let context = ir::context(module);
        let buffer = LLVMWriteBitcodeToMemoryBuffer(module);
        LLVMDisposeModule(module);
        let mut read = std::ptr::null_mut();
        let failed = LLVMParseBitcodeInContext2(context, buffer, &mut read);
        LLVMDisposeMemoryBuffer(buffer);
        if failed == 0 { Ok(read) } else { Err("internal error: cannot read back the bare code".to_owned()) }
    }
}

/// Writes a module as bitcode to a file.
///
/// # Errors
/// Names the file that could not be written.
pub unsafe fn write_bitcode(module: LLVMModuleRef, path: &Path) -> Result<(), String> {
    // SAFETY: by contract; the path is a C string.
    match unsafe { LLVMWriteBitcodeToFile(module, ir::path(path).as_ptr()) } {
        0 => Ok(()),
        _ => Err(format!("cannot write `{}`", path.display())),
    }
}

/// Reads bitcode that came with the pass.
///
/// # Safety
/// `context` is live.
pub unsafe fn parse_bitcode(context: LLVMContextRef, bitcode: &[u8]) -> Option<LLVMModuleRef> {
    // SAFETY: by contract; the buffer is a copy, freed once.
    unsafe {
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode.as_ptr().cast(), bitcode.len(), c"".as_ptr());
        let mut read = std::ptr::null_mut();
        let failed = LLVMParseBitcodeInContext2(context, buffer, &mut read);
        LLVMDisposeMemoryBuffer(buffer);
        (failed == 0).then_some(read)
    }
}

/// Reads IR text or bitcode. The error is LLVM's message.
///
/// # Safety
/// `context` is live.
pub unsafe fn parse(context: LLVMContextRef, ir: &[u8]) -> Result<LLVMModuleRef, String> {
    // SAFETY: by contract; buffer and message are freed once.
    unsafe {
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(ir.as_ptr().cast(), ir.len(), c"gpurace".as_ptr());
        let (mut parsed, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        let failed = LLVMParseIRInContext2(context, buffer, &mut parsed, &mut message);
        LLVMDisposeMemoryBuffer(buffer);
        if failed == 0 {
            return Ok(parsed);
        }
        let error = ir::text(message);
        LLVMDisposeMessage(message);
        Err(error)
    }
}

/// Parses IR text that is to be linked into `module`, with its layout and target.
///
/// # Safety
/// `module` is live.
pub unsafe fn parse_text(module: LLVMModuleRef, text: &str) -> Result<LLVMModuleRef, String> {
    // SAFETY: by contract.
    unsafe {
        let parsed = parse(ir::context(module), text.as_bytes())?;
        LLVMSetDataLayout(parsed, LLVMGetDataLayoutStr(module));
        LLVMSetTarget(parsed, LLVMGetTarget(module));
        Ok(parsed)
    }
}

/// Checks that a lowered module is valid IR.
pub unsafe fn verify(module: LLVMModuleRef) -> Result<(), String> {
    let mut message = std::ptr::null_mut();
    // SAFETY: by contract; the message is freed once.
    unsafe {
        let broken =
            LLVMVerifyModule(module, LLVMVerifierFailureAction::LLVMReturnStatusAction, &mut message);
        let text = ir::text(message);
        LLVMDisposeMessage(message);
        if broken == 0 {
            Ok(())
        } else {
            Err(format!("internal error: the lowered module is not valid: {text}"))
        }
    }
}
