//! Access to LLVM IR through llvm-c: iterators, names, types; [`entry_calls`] builds calls of entry
//! points, [`modules`] and [`passes`] handle whole modules, [`parameters`] those of kernels,
//! [`position`] reads debug info.
//!
//! inkwell cannot work on a module that somebody else owns, and the pass works on clang's. So it
//! uses llvm-c with these few wrappers. Each `unsafe fn` of this module asks for live references in
//! one thread.
#![allow(clippy::missing_safety_doc)]

mod attributes;
pub mod debug_info;
pub mod entry_calls;
#[cfg(test)]
pub mod jit;
pub mod modules;
pub mod parameters;
pub mod passes;
pub mod position;
pub mod structs;
pub mod unroll;

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::path::Path;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMLinkage, LLVMOpcode};

pub use attributes::{
    add_attribute, attribute_kind, byval_type, mark_function, set_string_attribute, string_attribute,
};

/// Address spaces of NVPTX (LLVM, "User Guide for NVPTX Back-end").
pub mod address_space {
    /// Generic addresses.
    pub const GENERIC: u32 = 0;
    /// Global memory.
    pub const GLOBAL: u32 = 1;
    /// Shared memory.
    pub const SHARED: u32 = 3;
    /// Constant memory.
    pub const CONSTANT: u32 = 4;
    /// Local memory.
    pub const LOCAL: u32 = 5;
    /// Kernel parameters.
    pub const PARAM: u32 = 101;
}

/// An iterator over an intrusive list of llvm-c. It reads the next element before it returns the current
/// one, so that the caller may remove the current one.
struct List<T> {
    next: *mut T,
    step: unsafe extern "C" fn(*mut T) -> *mut T,
}

impl<T> Iterator for List<T> {
    type Item = *mut T;
    fn next(&mut self) -> Option<*mut T> {
        let current = self.next;
        if current.is_null() {
            return None;
        }
        // SAFETY: `current` is a live element of the list.
        self.next = unsafe { (self.step)(current) };
        Some(current)
    }
}

/// The functions of a module, declarations included.
pub unsafe fn functions(module: LLVMModuleRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: by contract.
    List { next: unsafe { LLVMGetFirstFunction(module) }, step: LLVMGetNextFunction }
}

/// The functions of a module that have a body.
pub unsafe fn definitions(module: LLVMModuleRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: by contract.
    unsafe { functions(module).filter(|&f| LLVMIsDeclaration(f) == 0) }
}

/// The global variables of a module.
pub unsafe fn globals(module: LLVMModuleRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: by contract.
    List { next: unsafe { LLVMGetFirstGlobal(module) }, step: LLVMGetNextGlobal }
}

/// The basic blocks of a function.
pub unsafe fn blocks(function: LLVMValueRef) -> impl Iterator<Item = LLVMBasicBlockRef> {
    // SAFETY: by contract.
    List { next: unsafe { LLVMGetFirstBasicBlock(function) }, step: LLVMGetNextBasicBlock }
}

/// The successors of a basic block, one for each way of its terminator.
pub unsafe fn successors(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: by contract; every block of a definition has a terminator.
    unsafe {
        let terminator = LLVMGetBasicBlockTerminator(block);
        (0..LLVMGetNumSuccessors(terminator)).map(|i| LLVMGetSuccessor(terminator, i)).collect()
    }
}

/// The basic blocks from which control may come to a basic block, each once.
pub unsafe fn predecessors(block: LLVMBasicBlockRef) -> impl Iterator<Item = LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe { blocks(LLVMGetBasicBlockParent(block)).filter(move |&from| successors(from).contains(&block)) }
}

/// The instructions of a basic block.
pub unsafe fn block_instructions(block: LLVMBasicBlockRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: by contract.
    List { next: unsafe { LLVMGetFirstInstruction(block) }, step: LLVMGetNextInstruction }
}

/// All instructions of a function, collected so that the function may change meanwhile.
pub unsafe fn instructions(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe { blocks(function).flat_map(|b| block_instructions(b)).collect() }
}

/// The operands of an instruction or constant.
pub unsafe fn operands(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe { (0..LLVMGetNumOperands(value).max(0) as u32).map(|i| LLVMGetOperand(value, i)).collect() }
}

/// The uses of a value: who uses it, as which operand.
pub unsafe fn uses(value: LLVMValueRef) -> Vec<(LLVMValueRef, u32)> {
    let mut uses = Vec::new();
    // SAFETY: by contract; the list is walked to its end.
    unsafe {
        let mut used = LLVMGetFirstUse(value);
        while !used.is_null() {
            let user = LLVMGetUser(used);
            let operands = (0u32..).zip(operands(user));
            uses.extend(operands.filter(|o| o.1 == value).map(|o| (user, o.0)));
            used = LLVMGetNextUse(used);
        }
    }
    uses
}

/// The users of a value, each once, in the order of the use list.
pub unsafe fn users(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    // SAFETY: by contract; the list is walked to its end.
    unsafe {
        let mut used = LLVMGetFirstUse(value);
        while !used.is_null() {
            let user = LLVMGetUser(used);
            if seen.insert(user) {
                found.push(user);
            }
            used = LLVMGetNextUse(used);
        }
    }
    found
}

/// True if an instruction computes its value from its operands alone and never traps. So it may also run
/// where its result is not needed. A division may trap.
pub unsafe fn is_speculatable(instruction: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    // SAFETY: by contract.
    let opcode = unsafe { opcode(instruction) };
    let is_cast = matches!(
        opcode,
        LLVMTrunc | LLVMZExt | LLVMSExt | LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast | LLVMAddrSpaceCast
    );
    let is_arithmetic = matches!(
        opcode,
        LLVMAdd | LLVMSub | LLVMMul | LLVMShl | LLVMLShr | LLVMAShr | LLVMAnd | LLVMOr | LLVMXor
    );
    is_cast || is_arithmetic || matches!(opcode, LLVMGetElementPtr | LLVMICmp | LLVMSelect)
}

/// True for an LLVM intrinsic that computes its result from its operands alone.
pub fn is_pure_intrinsic(name: &str) -> bool {
    const PURE: &str = "abs bitreverse bswap canonicalize ceil convert copysign cos ctlz ctpop cttz exp exp2
        expect fabs floor fma fmuladd fptosi fptoui frexp fshl fshr is ldexp log log10 log2 maximum maxnum
        minimum minnum nearbyint pow powi rint round roundeven sadd sin smax smin smul sqrt sshl ssub trunc
        uadd umax umin umul ushl usub vector";
    let first = |rest: &str| PURE.split_whitespace().any(|pure| Some(pure) == rest.split('.').next());
    name.strip_prefix("llvm.").is_some_and(first)
}

/// Address space of a pointer, `None` for other types.
pub unsafe fn space_of(value: LLVMValueRef) -> Option<u32> {
    // SAFETY: by contract.
    unsafe {
        let ty = LLVMTypeOf(value);
        matches!(LLVMGetTypeKind(ty), llvm_sys::LLVMTypeKind::LLVMPointerTypeKind)
            .then(|| LLVMGetPointerAddressSpace(ty))
    }
}

/// True for a variable in constant memory that the host can name.
pub unsafe fn is_constant_of_host(value: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        !LLVMIsAGlobalVariable(value).is_null()
            && space_of(value) == Some(address_space::CONSTANT)
            && LLVMGetLinkage(value) == LLVMLinkage::LLVMExternalLinkage
    }
}

/// Calls a function at the builder's position.
pub unsafe fn call(b: LLVMBuilderRef, function: LLVMValueRef, arguments: &[LLVMValueRef]) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe { call_as(b, LLVMGlobalGetValueType(function), function, arguments) }
}

/// Calls a value as a function of a type, at the builder's position.
pub unsafe fn call_as(
    builder: LLVMBuilderRef,
    ty: LLVMTypeRef,
    called: LLVMValueRef,
    arguments: &[LLVMValueRef],
) -> LLVMValueRef {
    // SAFETY: by contract; LLVM only reads the arguments.
    unsafe {
        let count = arguments.len() as u32;
        LLVMBuildCall2(builder, ty, called, arguments.as_ptr().cast_mut(), count, c"".as_ptr())
    }
}

/// Calls an LLVM intrinsic at the builder's position. `overloaded` is the type that its full name ends with, if it has
/// several forms.
pub unsafe fn call_intrinsic(
    b: LLVMBuilderRef,
    name: &str,
    overloaded: Option<LLVMTypeRef>,
    arguments: &[LLVMValueRef],
) -> LLVMValueRef {
    let mut types: Vec<_> = overloaded.into_iter().collect();
    // SAFETY: by contract; the name is an intrinsic's.
    unsafe {
        let module = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b)));
        let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
        call(b, LLVMGetIntrinsicDeclaration(module, id, types.as_mut_ptr(), types.len()), arguments)
    }
}

/// The address `offset` bytes behind `base`, in the same object.
pub unsafe fn at_offset(b: LLVMBuilderRef, base: LLVMValueRef, offset: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let byte = LLVMInt8TypeInContext(LLVMGetTypeContext(LLVMTypeOf(base)));
        LLVMBuildInBoundsGEP2(b, byte, base, [offset].as_mut_ptr(), 1, c"".as_ptr())
    }
}

/// The address a constant number of bytes behind `base`, in the same object.
pub unsafe fn at_byte(b: LLVMBuilderRef, base: LLVMValueRef, offset: i64) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let long = LLVMInt64TypeInContext(LLVMGetTypeContext(LLVMTypeOf(base)));
        at_offset(b, base, LLVMConstInt(long, offset as u64, 1))
    }
}

/// The kind of metadata that names the properties of a loop, at the end of the block from which control goes back.
pub const LOOP: &str = "llvm.loop";

/// The number of a kind of metadata in the context of a value.
pub unsafe fn metadata_kind(value: LLVMValueRef, name: &str) -> u32 {
    // SAFETY: by contract; the name is readable for its length.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(value));
        LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32)
    }
}

/// The metadata of a kind that an instruction has.
pub unsafe fn metadata(instruction: LLVMValueRef, name: &str) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    let found = unsafe { LLVMGetMetadata(instruction, metadata_kind(instruction, name)) };
    (!found.is_null()).then_some(found)
}

/// A type as IR text.
pub unsafe fn type_text(ty: LLVMTypeRef) -> String {
    // SAFETY: by contract; the message is freed once.
    unsafe {
        let message = LLVMPrintTypeToString(ty);
        let text = text(message);
        LLVMDisposeMessage(message);
        text
    }
}

/// The characters of the constant C string that a value, with or without casts, points to.
pub unsafe fn constant_text(mut value: LLVMValueRef) -> Option<String> {
    // SAFETY: by contract; the string's length is llvm-c's.
    unsafe {
        while LLVMIsAGlobalVariable(value).is_null() {
            let is_cast = !LLVMIsAConstantExpr(value).is_null()
                || !LLVMIsAAddrSpaceCastInst(value).is_null()
                || !LLVMIsACallInst(value).is_null();
            if !is_cast {
                return None;
            }
            value = LLVMGetOperand(value, 0);
        }
        let data = LLVMGetInitializer(value);
        if data.is_null() || LLVMIsConstantString(data) == 0 {
            return None;
        }
        let mut len = 0;
        let bytes: &[u8] = std::slice::from_raw_parts(LLVMGetAsString(data, &mut len).cast(), len);
        let bytes = bytes.split(|&b| b == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// The parameters of a function.
pub unsafe fn params(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe { (0..LLVMCountParams(function)).map(|i| LLVMGetParam(function, i)).collect() }
}

/// A value's name.
pub unsafe fn name(value: LLVMValueRef) -> String {
    let mut len = 0;
    // SAFETY: by contract; llvm-c gives a pointer to `len` bytes.
    unsafe {
        let data = LLVMGetValueName2(value, &mut len);
        String::from_utf8_lossy(std::slice::from_raw_parts(data.cast(), len)).into_owned()
    }
}

/// A C string. A nul byte, which no symbol has, ends it.
pub fn c(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

/// A path as a C string.
pub fn path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_encoded_bytes()).unwrap_or_default()
}

/// The text of a C string owned by LLVM, or nothing.
pub unsafe fn text(data: *const std::ffi::c_char) -> String {
    if data.is_null() {
        return String::new();
    }
    // SAFETY: by contract a C string.
    unsafe { CStr::from_ptr(data) }.to_string_lossy().into_owned()
}

/// An instruction's opcode.
pub unsafe fn opcode(instruction: LLVMValueRef) -> LLVMOpcode {
    // SAFETY: by contract.
    unsafe { LLVMGetInstructionOpcode(instruction) }
}

/// True for a load or store that is neither atomic nor volatile.
pub unsafe fn is_plain(access: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        LLVMGetVolatile(access) == 0
            && LLVMGetOrdering(access) == LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
    }
}

/// The opcode of an instruction or of a constant expression; `None` of any other value.
pub unsafe fn value_opcode(value: LLVMValueRef) -> Option<LLVMOpcode> {
    // SAFETY: by contract.
    unsafe {
        if !LLVMIsAInstruction(value).is_null() {
            Some(opcode(value))
        } else if !LLVMIsAConstantExpr(value).is_null() {
            Some(LLVMGetConstOpcode(value))
        } else {
            None
        }
    }
}

/// The function that a call calls; `None` if that is known at run time only.
pub unsafe fn callee(call: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let callee = LLVMGetCalledValue(call);
        (!LLVMIsAFunction(callee).is_null()).then_some(callee)
    }
}

/// True for a call of inline assembly.
pub unsafe fn calls_asm(call: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { !LLVMIsAInlineAsm(LLVMGetCalledValue(call)).is_null() }
}

/// The text of the asm that a call calls, and its constraints.
pub unsafe fn asm_text(call: LLVMValueRef) -> (String, String) {
    // SAFETY: by contract a call of inline asm; lengths are llvm-c's.
    unsafe {
        let asm = LLVMGetCalledValue(call);
        let text = |read: unsafe extern "C" fn(LLVMValueRef, *mut usize) -> *const std::ffi::c_char| {
            let mut len = 0;
            let data = read(asm, &mut len);
            String::from_utf8_lossy(std::slice::from_raw_parts(data.cast(), len)).into_owned()
        };
        (text(LLVMGetInlineAsmAsmString), text(LLVMGetInlineAsmConstraintString))
    }
}

/// The context of a module.
pub unsafe fn context(module: LLVMModuleRef) -> LLVMContextRef {
    // SAFETY: by contract.
    unsafe { LLVMGetModuleContext(module) }
}

/// Size of a type in memory without tail padding, bytes.
pub unsafe fn store_size(module: LLVMModuleRef, ty: LLVMTypeRef) -> u64 {
    // SAFETY: by contract; the layout lives as long as the module.
    unsafe { LLVMStoreSizeOfType(LLVMGetModuleDataLayout(module), ty) }
}

/// Size of a type in memory with tail padding, bytes.
pub unsafe fn alloc_size(module: LLVMModuleRef, ty: LLVMTypeRef) -> u64 {
    // SAFETY: by contract; the layout lives as long as the module.
    unsafe { LLVMABISizeOfType(LLVMGetModuleDataLayout(module), ty) }
}

/// Alignment of a type by the module's layout, bytes.
pub unsafe fn abi_alignment(module: LLVMModuleRef, ty: LLVMTypeRef) -> u32 {
    // SAFETY: by contract; the layout lives as long as the module.
    unsafe { LLVMABIAlignmentOfType(LLVMGetModuleDataLayout(module), ty) }
}

/// The attribute with the most threads of a kernel's blocks in each dimension: `128` or `16,16,1`.
pub const MAX_THREADS: &str = "nvvm.maxntid";

/// True if a function is a kernel.
pub unsafe fn is_kernel(function: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { LLVMGetFunctionCallConv(function) == llvm_sys::LLVMCallConv::LLVMPTXKernelCallConv as u32 }
}

/// The kernels that a module defines, each with the product of its `maxntid`; 0 if the program gives
/// no bound.
pub unsafe fn kernels(module: LLVMModuleRef) -> Vec<(LLVMValueRef, u32)> {
    // SAFETY: by contract.
    unsafe {
        let bound = |f| {
            let dims = string_attribute(f, MAX_THREADS)?;
            dims.split(',')
                .map(|dim| dim.trim().parse().ok())
                .try_fold(1u32, |all, dim: Option<u32>| all.checked_mul(dim?))
        };
        definitions(module).filter(|f| is_kernel(*f)).map(|f| (f, bound(f).unwrap_or(0))).collect()
    }
}

/// The value of a constant of at most 64 bits, unsigned. `None` for any other value.
pub unsafe fn constant(value: LLVMValueRef) -> Option<u64> {
    // SAFETY: by contract.
    unsafe { is_small_constant(value).then(|| LLVMConstIntGetZExtValue(value)) }
}

/// The value of a constant of at most 64 bits, signed. `None` for any other value.
pub unsafe fn signed_constant(value: LLVMValueRef) -> Option<i64> {
    // SAFETY: by contract.
    unsafe { is_small_constant(value).then(|| LLVMConstIntGetSExtValue(value)) }
}

/// True for a constant of at most 64 bits.
unsafe fn is_small_constant(value: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { !LLVMIsAConstantInt(value).is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64 }
}

/// A call's argument, if it is a constant.
pub unsafe fn constant_argument(call: LLVMValueRef, index: u32) -> Option<u64> {
    // SAFETY: by contract.
    unsafe { constant(LLVMGetOperand(call, index)) }
}

/// Modules from text, for tests.
#[cfg(test)]
pub mod testing {
    use super::*;

    /// Shows a module, written as text, that lives as long as `see` looks at it.
    #[track_caller]
    pub fn with_module<T>(text: &str, see: impl FnOnce(LLVMModuleRef) -> T) -> T {
        // SAFETY: the module is parsed, shown and disposed of here.
        unsafe {
            let context = LLVMContextCreate();
            let module = modules::parse(context, text.as_bytes()).expect("the text is valid IR");
            let seen = see(module);
            LLVMDisposeModule(module);
            LLVMContextDispose(context);
            seen
        }
    }
}
