//! Source positions from debug info, with the inlining stack.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use gpurace_abi::meta::{Frame, SourceFile};
use gpurace_abi::symbol::demangle;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

use crate::ir;

/// Collects the source files that positions name.
#[derive(Debug, Default)]
pub struct Positions {
    files: Vec<SourceFile>,
    known: HashMap<(String, String), u32>,
    system_prefixes: Vec<PathBuf>,
}

impl Positions {
    /// `system_prefixes`: folders whose headers are not the user's code.
    pub fn new(system_prefixes: &[PathBuf]) -> Self {
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

    /// The number of a source file.
    ///
    /// # Safety
    /// `file` is null or a live `DIFile`.
    pub unsafe fn file(&mut self, file: LLVMMetadataRef) -> u32 {
        // SAFETY: by contract.
        let key = unsafe { name_and_directory(file) };
        if let Some(&at) = self.known.get(&key) {
            return at;
        }
        let at = self.files.len() as u32;
        let system = self.is_system(&key.0, &key.1);
        self.files.push(SourceFile { name: key.0.clone(), directory: key.1.clone(), system, text: None });
        self.known.insert(key, at);
        at
    }

    /// True for a file of the user's code.
    ///
    /// # Safety
    /// `file` is null or a live `DIFile`.
    pub unsafe fn is_of_user(&self, file: LLVMMetadataRef) -> bool {
        // SAFETY: by contract.
        let (name, directory) = unsafe { name_and_directory(file) };
        !file.is_null() && !self.is_system(&name, &directory)
    }

    fn is_system(&self, name: &str, directory: &str) -> bool {
        let path = std::path::Path::new(directory).join(name);
        self.system_prefixes.iter().any(|prefix| path.starts_with(prefix))
    }
}

unsafe fn name_and_directory(file: LLVMMetadataRef) -> (String, String) {
    if file.is_null() {
        return ("<unknown>".to_owned(), String::new());
    }
    let mut len = 0;
    // SAFETY: by contract; llvm-c gives pointers to `len` bytes.
    unsafe {
        let data = LLVMDIFileGetFilename(file, &mut len);
        let name = bytes(data, len as usize);
        let data = LLVMDIFileGetDirectory(file, &mut len);
        (name, bytes(data, len as usize))
    }
}

/// The position of an instruction in a function that was inlined.
#[derive(Clone, Copy, Debug)]
pub struct InlinedPosition {
    /// The innermost scope there.
    pub scope: LLVMMetadataRef,
    /// The line.
    pub line: u32,
    /// The call that was replaced: each copy of the function has another one.
    pub call: LLVMMetadataRef,
}

/// The positions of a location in functions that were inlined, the innermost first.
///
/// # Safety
/// `location` is null or a live `DILocation`.
pub unsafe fn inlined(location: LLVMMetadataRef) -> impl Iterator<Item = InlinedPosition> {
    // SAFETY: by contract; the call of an inlined location is a location.
    unsafe {
        let call = |at: LLVMMetadataRef| if at.is_null() { at } else { LLVMDILocationGetInlinedAt(at) };
        let next = move |&at: &LLVMMetadataRef| Some(call(at)).filter(|&at| !call(at).is_null());
        let first = Some(location).filter(|&at| !call(at).is_null());
        std::iter::successors(first, next).map(move |at| InlinedPosition {
            scope: LLVMDILocationGetScope(at),
            line: LLVMDILocationGetLine(at),
            call: call(at),
        })
    }
}

/// The function around a scope.
///
/// # Safety
/// `scope` is live and belongs to `context`.
pub unsafe fn subprogram(context: LLVMContextRef, scope: LLVMMetadataRef) -> Option<LLVMMetadataRef> {
    // SAFETY: by contract.
    unsafe {
        scopes(context, scope).find(|&scope| {
            matches!(LLVMGetMetadataKind(scope), LLVMMetadataKind::LLVMDISubprogramMetadataKind)
        })
    }
}

/// Where the statement of the loop that goes back from a block begins and ends: clang notes it (LLVM, `llvm.loop`).
///
/// # Safety
/// `block` is live.
pub unsafe fn loop_locations(block: LLVMBasicBlockRef) -> Option<[LLVMMetadataRef; 2]> {
    // SAFETY: by contract; the fields of the node are live.
    unsafe {
        let node = ir::metadata(LLVMGetBasicBlockTerminator(block), ir::LOOP)?;
        let fields = operands(node)
            .into_iter()
            .filter(|field| !field.is_null())
            .map(|field| LLVMValueAsMetadata(field));
        let mut locations = fields.filter(|field| {
            matches!(LLVMGetMetadataKind(*field), LLVMMetadataKind::LLVMDILocationMetadataKind)
        });
        Some([locations.next()?, locations.next()?])
    }
}

/// The lines of a kernel's own code.
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

    /// The line of an instruction that the function's own source has, and that was not inlined.
    ///
    /// # Safety
    /// `instruction` is a live one of the function.
    pub unsafe fn of_instruction(self, instruction: LLVMValueRef) -> Option<u32> {
        // SAFETY: metadata of a live instruction is live.
        unsafe { self.of_location(LLVMInstructionGetDebugLoc(instruction)) }
    }

    /// The line of an instruction, or of the call in the function's own source that it was inlined at.
    ///
    /// # Safety
    /// As [`of_instruction`](Self::of_instruction).
    pub unsafe fn of_statement(self, instruction: LLVMValueRef) -> Option<u32> {
        // SAFETY: metadata of a live instruction is live.
        unsafe { self.of_location(outermost_location(LLVMInstructionGetDebugLoc(instruction))?) }
    }

    /// The first and the last line of the loop that goes back from a block, if it has several.
    ///
    /// # Safety
    /// `block` is a live one of the function.
    pub unsafe fn of_loop(self, block: LLVMBasicBlockRef) -> Option<RangeInclusive<u32>> {
        // SAFETY: by contract.
        unsafe {
            let [first, last] = loop_locations(block)?.map(|location| self.of_location(location));
            let (first, last) = (first?, last?);
            (first < last).then_some(first..=last)
        }
    }

    unsafe fn of_location(self, location: LLVMMetadataRef) -> Option<u32> {
        // SAFETY: by contract.
        unsafe {
            if location.is_null() || !LLVMDILocationGetInlinedAt(location).is_null() {
                return None;
            }
            let line = LLVMDILocationGetLine(location);
            let is_own = LLVMDIScopeGetFile(LLVMDILocationGetScope(location)) == self.file;
            (is_own && line != 0).then_some(line)
        }
    }
}

/// The place of an instruction in the code of its function itself: line and column. `None` without debug info.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn outermost(instruction: LLVMValueRef) -> Option<(u32, u32)> {
    // SAFETY: metadata of a live instruction is live.
    unsafe {
        let last = outermost_location(LLVMInstructionGetDebugLoc(instruction))?;
        Some((LLVMDILocationGetLine(last), LLVMDILocationGetColumn(last)))
    }
}

/// The place in the function itself of what was inlined at a location, through any number of calls.
unsafe fn outermost_location(location: LLVMMetadataRef) -> Option<LLVMMetadataRef> {
    let at = |location: LLVMMetadataRef| (!location.is_null()).then_some(location);
    // SAFETY: by contract.
    let inlined_at = |&location: &LLVMMetadataRef| at(unsafe { LLVMDILocationGetInlinedAt(location) });
    std::iter::successors(at(location), inlined_at).last()
}

/// True if an instruction stands in the statement of a branch in the source, such as the body of an `if`. Only
/// statements with a scope of their own are known. Both are of one function's own code.
///
/// # Safety
/// Both are live.
pub unsafe fn is_in_statement(instruction: LLVMValueRef, branch: LLVMValueRef) -> bool {
    // SAFETY: metadata of a live instruction is live.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let scope = |instruction| {
            let at = LLVMInstructionGetDebugLoc(instruction);
            (!at.is_null()).then(|| LLVMDILocationGetScope(at))
        };
        let (Some(within), Some(statement)) = (scope(instruction), scope(branch)) else { return false };
        matches!(LLVMGetMetadataKind(statement), LLVMMetadataKind::LLVMDILexicalBlockMetadataKind)
            && scopes(context, within).any(|scope| scope == statement)
    }
}

/// The scopes from one to the function around it. llvm-c has no accessor for the scope around a scope, so this reads
/// operand 1 of the metadata node (LLVM, `DebugInfoMetadata.h`). Lexical blocks nest; a bound keeps a malformed cycle
/// from hanging.
unsafe fn scopes(context: LLVMContextRef, scope: LLVMMetadataRef) -> impl Iterator<Item = LLVMMetadataRef> {
    let around = move |&scope: &LLVMMetadataRef| {
        // SAFETY: by contract.
        unsafe {
            if matches!(LLVMGetMetadataKind(scope), LLVMMetadataKind::LLVMDISubprogramMetadataKind) {
                return None;
            }
            let around = operands(LLVMMetadataAsValue(context, scope)).get(1).copied()?;
            (!around.is_null()).then(|| LLVMValueAsMetadata(around))
        }
    };
    std::iter::successors(Some(scope), around).take(10_000)
}

/// The operands of a metadata node.
unsafe fn operands(node: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: by contract; the vector is as long as llvm-c says.
    unsafe {
        let mut operands = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
        LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
        operands
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

/// The source name of the function around a scope (`reduce<float>`): operand 2 of the subprogram's node.
///
/// # Safety
/// As [`subprogram`].
pub unsafe fn function_name(context: LLVMContextRef, scope: LLVMMetadataRef) -> String {
    // SAFETY: by contract.
    unsafe {
        let Some(function) = subprogram(context, scope) else { return String::new() };
        let name = operands(LLVMMetadataAsValue(context, function)).get(2).copied();
        let Some(name) = name.filter(|name| !name.is_null()) else { return String::new() };
        let mut len = 0;
        let data = LLVMGetMDString(name, &mut len);
        bytes(data, len as usize)
    }
}

/// The source name of a variable, without the function that it is local to.
pub fn source_name(symbol: &str) -> String {
    // What clang copies into a local array at its start.
    if let Some((_, name)) = symbol.strip_prefix("__const.").and_then(|local| local.rsplit_once('.')) {
        return name.to_owned();
    }
    let full = demangle(symbol);
    full.rsplit("::").next().unwrap_or(&full).to_owned()
}

#[cfg(test)]
mod tests {
    use super::source_name;

    #[test]
    fn local_variables_lose_their_function() {
        assert_eq!(source_name("_ZZ6reducePKfPfE4tile"), "tile");
        assert_eq!(source_name("__const._Z6streamPKfPf.dx"), "dx");
        assert_eq!(source_name("scratch"), "scratch");
        assert_eq!(source_name("x"), "x");
    }
}
