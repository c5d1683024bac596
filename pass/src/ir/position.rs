//! Source positions from debug info, with the inlining stack.

use std::collections::HashMap;

use gpurace_abi::meta::{Frame, SourceFile};
use gpurace_abi::symbol::demangle;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

/// Collects the source files that positions name.
#[derive(Debug, Default)]
pub struct Positions {
    files: Vec<SourceFile>,
    known: HashMap<(String, String), u32>,
    system_prefixes: Vec<String>,
}

impl Positions {
    /// `system_prefixes`: folders whose headers are not the user's code.
    pub fn new(system_prefixes: &[String]) -> Self {
        Self { system_prefixes: system_prefixes.to_vec(), ..Self::default() }
    }

    /// The files seen.
    pub fn into_files(self) -> Vec<SourceFile> {
        self.files
    }

    /// The source position of an instruction, innermost inlined frame first; empty without debug
    /// info.
    ///
    /// # Safety
    /// `instruction` is live.
    pub unsafe fn of_instruction(&mut self, instruction: LLVMValueRef) -> Vec<Frame> {
        let mut frames = Vec::new();
        // SAFETY: metadata of a live instruction is live.
        unsafe {
            let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
            let mut location = LLVMInstructionGetDebugLoc(instruction);
            while !location.is_null() {
                let scope = LLVMDILocationGetScope(location);
                frames.push(Frame {
                    file: self.file(LLVMDIScopeGetFile(scope)),
                    line: LLVMDILocationGetLine(location),
                    column: LLVMDILocationGetColumn(location),
                    function: function_name(context, scope),
                });
                location = LLVMDILocationGetInlinedAt(location);
            }
        }
        frames
    }

    /// The source position of a function, if it has debug info.
    ///
    /// # Safety
    /// `function` is live.
    pub unsafe fn of_function(&mut self, function: LLVMValueRef) -> Option<Frame> {
        // SAFETY: metadata of a live function is live.
        unsafe {
            let subprogram = LLVMGetSubprogram(function);
            if subprogram.is_null() {
                return None;
            }
            let context = LLVMGetTypeContext(LLVMTypeOf(function));
            Some(Frame {
                file: self.file(LLVMDIScopeGetFile(subprogram)),
                line: LLVMDISubprogramGetLine(subprogram),
                column: 0,
                function: function_name(context, subprogram),
            })
        }
    }

    unsafe fn file(&mut self, file: LLVMMetadataRef) -> u32 {
        let (name, directory) = if file.is_null() {
            ("<unknown>".to_owned(), String::new())
        } else {
            let mut len = 0;
            // SAFETY: by contract; llvm-c gives pointers to `len` bytes.
            unsafe {
                let data = LLVMDIFileGetFilename(file, &mut len);
                let name = bytes(data, len as usize);
                let data = LLVMDIFileGetDirectory(file, &mut len);
                (name, bytes(data, len as usize))
            }
        };
        let key = (name, directory);
        if let Some(&at) = self.known.get(&key) {
            return at;
        }
        let at = self.files.len() as u32;
        let system = self.is_system(&key.0, &key.1);
        self.files.push(SourceFile { name: key.0.clone(), directory: key.1.clone(), system, text: None });
        self.known.insert(key, at);
        at
    }

    fn is_system(&self, name: &str, directory: &str) -> bool {
        let path = std::path::Path::new(directory).join(name);
        self.system_prefixes.iter().any(|prefix| path.starts_with(prefix))
    }
}

/// The lines of a kernel's own code, without what was inlined from other functions.
#[derive(Clone, Copy, Debug)]
pub struct OwnLines {
    file: LLVMMetadataRef,
}

impl OwnLines {
    /// `None` if the function has no debug info.
    ///
    /// # Safety
    /// `function` is live.
    pub unsafe fn of(function: LLVMValueRef) -> Option<Self> {
        // SAFETY: metadata of a live function is live.
        unsafe {
            let subprogram = LLVMGetSubprogram(function);
            (!subprogram.is_null()).then(|| Self { file: LLVMDIScopeGetFile(subprogram) })
        }
    }

    /// The line of an instruction that the function's own source has.
    ///
    /// # Safety
    /// `instruction` is a live one of the function.
    pub unsafe fn of_instruction(self, instruction: LLVMValueRef) -> Option<u32> {
        // SAFETY: metadata of a live instruction is live.
        unsafe {
            let location = LLVMInstructionGetDebugLoc(instruction);
            if location.is_null() || !LLVMDILocationGetInlinedAt(location).is_null() {
                return None;
            }
            let line = LLVMDILocationGetLine(location);
            let is_own = LLVMDIScopeGetFile(LLVMDILocationGetScope(location)) == self.file;
            (is_own && line != 0).then_some(line)
        }
    }
}

unsafe fn bytes(data: *const std::ffi::c_char, len: usize) -> String {
    if data.is_null() || len == 0 {
        return String::new();
    }
    // SAFETY: by contract `len` readable bytes.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// The source name of the function around a scope (`reduce<float>`). llvm-c has no accessor for it,
/// so this reads the operands of metadata nodes: operand 0 of every scope is its file, operand 1
/// the scope around it, and operand 2 of a subprogram its name (LLVM, `DebugInfoMetadata.h`).
unsafe fn function_name(context: LLVMContextRef, scope: LLVMMetadataRef) -> String {
    // SAFETY: by contract; the operand vector is as long as llvm-c says.
    unsafe {
        let mut node = LLVMMetadataAsValue(context, scope);
        // Lexical blocks nest; a bound keeps a malformed cycle from hanging.
        for _ in 0..10_000 {
            let count = LLVMGetMDNodeNumOperands(node) as usize;
            let mut operands = vec![std::ptr::null_mut(); count];
            LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
            let kind = LLVMGetMetadataKind(LLVMValueAsMetadata(node));
            if matches!(kind, LLVMMetadataKind::LLVMDISubprogramMetadataKind) {
                let Some(&name) = operands.get(2) else { break };
                if name.is_null() {
                    break;
                }
                let mut len = 0;
                let data = LLVMGetMDString(name, &mut len);
                return bytes(data, len as usize);
            }
            match operands.get(1) {
                Some(&parent) if !parent.is_null() => node = parent,
                _ => break,
            }
        }
    }
    String::new()
}

/// The source name of a variable, without the function that it is local to.
pub fn source_name(symbol: &str) -> String {
    let full = demangle(symbol);
    full.rsplit("::").next().unwrap_or(&full).to_owned()
}

#[cfg(test)]
mod tests {
    use super::source_name;

    #[test]
    fn local_variables_lose_their_function() {
        assert_eq!(source_name("_ZZ6reducePKfPfE4tile"), "tile");
        assert_eq!(source_name("scratch"), "scratch");
        assert_eq!(source_name("x"), "x");
    }
}
