//! Addresses: their starts, and their distances from there, as far as the instructions alone show them.
//!
//! Each `unsafe fn` of this module asks for live references in one thread.
#![allow(clippy::missing_safety_doc)]

use std::collections::HashSet;

use gpurace_abi::context::offset;
use gpurace_abi::meta::PointerPlace;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMGetModuleDataLayout, LLVMOffsetOfElement};
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use crate::ir::entry_calls::CONTEXT_FUNCTION;
use crate::ir::position::source_name;
use crate::ir::{self, address_space};

/// Returns the values that a pointer may start from, before casts, offsets, phis and selects. The
/// walk stops at a value for which `ends` holds. `None` if it meets more than `most` values: large
/// webs of phis are not worth the time.
pub unsafe fn starts(
    pointer: LLVMValueRef,
    most: usize,
    ends: impl Fn(LLVMValueRef) -> bool,
) -> Option<Vec<LLVMValueRef>> {
    let (mut seen, mut pending, mut found) = (HashSet::new(), vec![pointer], Vec::new());
    // SAFETY: operands of live values are live.
    unsafe {
        while let Some(value) = pending.pop() {
            if !seen.insert(value) {
                continue;
            }
            if seen.len() > most {
                return None;
            }
            match ir::value_opcode(value) {
                _ if ends(value) => found.push(value),
                Some(
                    LLVMOpcode::LLVMGetElementPtr
                    | LLVMOpcode::LLVMBitCast
                    | LLVMOpcode::LLVMAddrSpaceCast
                    | LLVMOpcode::LLVMFreeze,
                ) => pending.push(LLVMGetOperand(value, 0)),
                Some(LLVMOpcode::LLVMPHI) => {
                    pending.extend((0..LLVMCountIncoming(value)).map(|i| LLVMGetIncomingValue(value, i)));
                }
                Some(LLVMOpcode::LLVMSelect) => {
                    pending.extend([LLVMGetOperand(value, 1), LLVMGetOperand(value, 2)])
                }
                _ => found.push(value),
            }
        }
    }
    Some(found)
}

/// The start of a chain of offsets and casts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The thread context.
    Context,
    /// Memory that kernels only read: constant memory and LLVM constants.
    Constant,
    /// A parameter of the function, by index.
    Argument(usize),
    /// A device or shared variable.
    Variable,
    /// Memory of the thread alone.
    Private,
    /// Something else: a phi, a loaded pointer, ...
    Other,
}

/// A variable part of an address: an index and its scale.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// A signed integer.
    pub index: LLVMValueRef,
    /// Bytes.
    pub scale: u64,
}

/// The constant and the variable parts that a `getelementptr` adds; `None` if it makes a vector of
/// pointers.
pub unsafe fn gep_parts(module: LLVMModuleRef, gep: LLVMValueRef) -> Option<(i64, Vec<Term>)> {
    let mut constant = 0i64;
    let mut terms = Vec::new();
    // SAFETY: by contract; indices into structs are constants.
    unsafe {
        let layout = LLVMGetModuleDataLayout(module);
        let mut ty = LLVMGetGEPSourceElementType(gep);
        let operands = ir::operands(gep);
        for (i, &index) in operands.iter().skip(1).enumerate() {
            if !matches!(LLVMGetTypeKind(LLVMTypeOf(index)), LLVMTypeKind::LLVMIntegerTypeKind) {
                return None;
            }
            let scale = if i == 0 {
                ir::alloc_size(module, ty)
            } else {
                match LLVMGetTypeKind(ty) {
                    LLVMTypeKind::LLVMStructTypeKind => {
                        let field = LLVMConstIntGetZExtValue(index) as u32;
                        constant = constant.wrapping_add(LLVMOffsetOfElement(layout, ty, field) as i64);
                        ty = LLVMStructGetTypeAtIndex(ty, field);
                        continue;
                    }
                    LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMVectorTypeKind => {
                        ty = LLVMGetElementType(ty);
                        ir::alloc_size(module, ty)
                    }
                    _ => return None,
                }
            };
            if LLVMIsAConstantInt(index).is_null() {
                terms.push(Term { index, scale });
            } else {
                let value = LLVMConstIntGetSExtValue(index);
                constant = constant.wrapping_add(value.wrapping_mul(scale as i64));
            }
        }
        // A vector base makes a vector of pointers.
        ir::space_of(gep)?;
    }
    Some((constant, terms))
}

/// The start of a pointer, and its distance from there in bytes if that is constant.
pub unsafe fn start_of(module: LLVMModuleRef, pointer: LLVMValueRef) -> (Start, LLVMValueRef, Option<i64>) {
    let mut at = pointer;
    let mut offset = Some(0i64);
    // SAFETY: by contract.
    unsafe {
        // Each step goes to an operand that dominates it: the chain ends.
        loop {
            match ir::value_opcode(at) {
                Some(LLVMOpcode::LLVMGetElementPtr) => {
                    offset = match (offset, gep_parts(module, at)) {
                        (Some(sum), Some((constant, terms))) if terms.is_empty() => {
                            Some(sum.wrapping_add(constant))
                        }
                        _ => None,
                    };
                    at = LLVMGetOperand(at, 0);
                }
                Some(LLVMOpcode::LLVMBitCast | LLVMOpcode::LLVMAddrSpaceCast | LLVMOpcode::LLVMFreeze) => {
                    at = LLVMGetOperand(at, 0);
                }
                _ => return (start(at), at, offset),
            }
        }
    }
}

/// What an address that is no computed one is.
unsafe fn start(value: LLVMValueRef) -> Start {
    // SAFETY: by contract.
    unsafe {
        if !LLVMIsAGlobalVariable(value).is_null() {
            let space = ir::space_of(value);
            return if LLVMIsGlobalConstant(value) != 0 || space == Some(address_space::CONSTANT) {
                Start::Constant
            } else {
                Start::Variable
            };
        }
        if !LLVMIsAArgument(value).is_null() {
            let function = LLVMGetParamParent(value);
            let index = ir::params(function).iter().position(|&p| p == value);
            return index.map_or(Start::Other, Start::Argument);
        }
        match ir::value_opcode(value) {
            Some(LLVMOpcode::LLVMAlloca) => Start::Private,
            Some(LLVMOpcode::LLVMCall)
                if ir::callee(value).is_some_and(|f| ir::name(f) == CONTEXT_FUNCTION) =>
            {
                Start::Context
            }
            _ => Start::Other,
        }
    }
}

/// The place in a kernel's arguments of a loaded pointer, if it is a field of a struct that is passed by value.
pub unsafe fn field_of_argument(
    module: LLVMModuleRef,
    kernel: LLVMValueRef,
    pointer: LLVMValueRef,
) -> Option<PointerPlace> {
    // SAFETY: by contract.
    unsafe {
        if ir::value_opcode(pointer) != Some(LLVMOpcode::LLVMLoad) {
            return None;
        }
        match start_of(module, LLVMGetOperand(pointer, 0)) {
            // A kernel may also write to its own copy of the struct.
            (Start::Argument(index), copy, Some(offset))
                if ir::byval_type(kernel, index).is_some() && only_loaded(copy) =>
            {
                Some(PointerPlace { index: u32::try_from(index).ok()?, offset: u32::try_from(offset).ok()? })
            }
            _ => None,
        }
    }
}

/// True if an integer is the address of the memory that the driver provides for the grid's
/// barriers, as `cooperative_groups` computes it from two registers: `high << 32 | low`.
pub unsafe fn is_grid_workspace(module: LLVMModuleRef, value: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        let register = |value: LLVMValueRef, at: usize| {
            ir::value_opcode(value) == Some(LLVMOpcode::LLVMZExt)
                && {
                    let load = LLVMGetOperand(value, 0);
                    ir::value_opcode(load) == Some(LLVMOpcode::LLVMLoad)
                        && matches!(start_of(module, LLVMGetOperand(load, 0)), (Start::Context, _, Some(o)) if o == at as i64)
                }
        };
        let high = |value: LLVMValueRef| {
            let by = match ir::value_opcode(value) {
                Some(LLVMOpcode::LLVMShl) => LLVMGetOperand(value, 1),
                _ => return false,
            };
            ir::constant(by) == Some(32) && register(LLVMGetOperand(value, 0), offset::GRID_WORKSPACE + 4)
        };
        let of = |i| LLVMGetOperand(value, i);
        ir::value_opcode(value) == Some(LLVMOpcode::LLVMOr)
            && (high(of(0)) && register(of(1), offset::GRID_WORKSPACE)
                || high(of(1)) && register(of(0), offset::GRID_WORKSPACE))
    }
}

/// Describes a loaded value for explanations: the object that it comes from, if its name is known.
pub unsafe fn describe_load(load: LLVMValueRef) -> String {
    let mut at = load;
    // SAFETY: by contract; each step goes to an operand that dominates it.
    let name = unsafe {
        loop {
            at = match ir::value_opcode(at) {
                Some(
                    LLVMOpcode::LLVMLoad
                    | LLVMOpcode::LLVMGetElementPtr
                    | LLVMOpcode::LLVMBitCast
                    | LLVMOpcode::LLVMAddrSpaceCast
                    | LLVMOpcode::LLVMFreeze,
                ) => LLVMGetOperand(at, 0),
                _ => break,
            };
        }
        if LLVMIsAArgument(at).is_null() && LLVMIsAGlobalVariable(at).is_null() {
            String::new()
        } else {
            source_name(&ir::name(at))
        }
    };
    match name.as_str() {
        "" => "a value loaded from memory".to_owned(),
        name => format!("a value loaded from `{name}`"),
    }
}

/// True if this pointer, and pointers computed from it, are only used to load.
pub unsafe fn only_loaded(pointer: LLVMValueRef) -> bool {
    let mut pending = vec![pointer];
    let mut seen = HashSet::new();
    // SAFETY: by contract; use lists are walked to their ends.
    unsafe {
        while let Some(value) = pending.pop() {
            if !seen.insert(value) {
                continue;
            }
            let mut used = LLVMGetFirstUse(value);
            while !used.is_null() {
                let user = LLVMGetUser(used);
                match ir::value_opcode(user) {
                    Some(LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMICmp) => {}
                    Some(
                        LLVMOpcode::LLVMGetElementPtr
                        | LLVMOpcode::LLVMBitCast
                        | LLVMOpcode::LLVMAddrSpaceCast
                        | LLVMOpcode::LLVMFreeze
                        | LLVMOpcode::LLVMPHI
                        | LLVMOpcode::LLVMSelect,
                    ) => pending.push(user),
                    Some(LLVMOpcode::LLVMCall) => {
                        let harmless = ir::callee(user).is_some_and(|f| {
                            let name = ir::name(f);
                            let copies =
                                name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.");
                            // Only as the source of a copy.
                            copies && LLVMGetOperand(user, 0) != value
                                || name.starts_with("llvm.lifetime.")
                                || name.starts_with("llvm.dbg.")
                                || call_only_loads(user, f, value)
                        });
                        if !harmless {
                            return false;
                        }
                    }
                    _ => return false,
                }
                used = LLVMGetNextUse(used);
            }
        }
    }
    true
}

/// True if a call of a function of the module only loads from an address argument: it takes a copy.
pub unsafe fn call_only_loads(call: LLVMValueRef, callee: LLVMValueRef, address: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        let arguments = LLVMGetNumArgOperands(call);
        LLVMIsDeclaration(callee) == 0
            && arguments as usize == ir::params(callee).len()
            && (0..arguments)
                .filter(|&i| LLVMGetOperand(call, i) == address)
                .all(|i| ir::byval_type(callee, i as usize).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "@v = addrspace(3) global [8 x i32] undef
        define void @k(ptr %p, ptr %q, i1 %c, i64 %i) {
        start:
          %moved = getelementptr i32, ptr %p, i64 %i
          %cast = addrspacecast ptr addrspace(3) @v to ptr
          %one = select i1 %c, ptr %moved, ptr %cast
          br label %loop
        loop:
          %at = phi ptr [ %one, %start ], [ %next, %loop ]
          %next = getelementptr i8, ptr %at, i64 4
          %loaded = load ptr, ptr %next
          br i1 %c, label %loop, label %end
        end:
          store i32 0, ptr %next
          store i32 1, ptr %loaded
          store i32 2, ptr %q
          ret void
        }";

    /// For each store, the names of the values that its address starts from.
    fn of_stores(most: usize, end: &str) -> Vec<Option<Vec<String>>> {
        // SAFETY: the module is live.
        ir::testing::with_module(TEXT, |module| unsafe {
            let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
            let stores =
                ir::instructions(kernel).into_iter().filter(|&i| ir::opcode(i) == LLVMOpcode::LLVMStore);
            let of = |store| {
                let starts = starts(LLVMGetOperand(store, 1), most, |value| ir::name(value) == end)?;
                let mut names: Vec<_> = starts.into_iter().map(|value| ir::name(value)).collect();
                names.sort();
                Some(names)
            };
            stores.map(of).collect()
        })
    }

    #[test]
    fn all_starts_are_found_and_what_is_loaded_is_one() {
        let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(of_stores(64, ""), [names(&["p", "v"]), names(&["loaded"]), names(&["q"])]);
        assert_eq!(of_stores(64, "cast"), [names(&["cast", "p"]), names(&["loaded"]), names(&["q"])]);
    }

    #[test]
    fn a_web_that_is_too_large_is_given_up() {
        // next, at, one, moved, p, cast, v.
        assert!(of_stores(7, "")[0].is_some());
        assert!(of_stores(6, "")[0].is_none());
        assert!(of_stores(6, "")[1].is_some());
    }
}
