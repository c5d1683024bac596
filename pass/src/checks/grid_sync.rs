//! The barrier of the grid of `cooperative_groups`. It is a function of a header, not an instruction.
//! It counts the blocks in memory that the driver provides. The checker sees its atomics, and takes
//! the order of phases from them; protocols and the control flow for the report do not. So before anything is inlined,
//! this module puts a call behind the barrier that marks it. It removes the calls once both are made.
//!
//! A barrier in two parts (`barrier_arrive`, `barrier_wait`) gets no mark, since it does not order the
//! accesses that a thread makes between the two.

use gpurace_abi::meta::Site;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMOpcode};

use crate::ir;

/// The function whose calls mark barriers of the grid; it has no body.
pub const MARK: &str = "gpurace.grid_synced";

/// The functions that the header's function calls.
const PARTS: [&str; 2] = ["sync_grids_arrive", "sync_grids_wait"];

/// True for the name of `cooperative_groups::details::grid::sync(unsigned *)`. The linker may have
/// added a number, since each unit has its own.
fn is_grid_sync(name: &str) -> bool {
    let (name, number) = name.split_once('.').unwrap_or((name, "0"));
    let of_grid = name.strip_prefix("_ZN18cooperative_groups4__v17details4grid");
    matches!(of_grid, Some("4syncEPj" | "L4syncEPj")) && number.bytes().all(|digit| digit.is_ascii_digit())
}

/// True if the header's barrier makes this access. Debug information tells it.
pub fn is_part(site: &Site) -> bool {
    site.frames.first().is_some_and(|frame| PARTS.contains(&frame.function.as_str()))
}

/// Puts a mark before each return of the header's function.
///
/// # Safety
/// `module` is live and nothing was inlined yet.
pub unsafe fn mark(module: LLVMModuleRef) {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let found: Vec<_> = ir::definitions(module).filter(|&f| is_grid_sync(&ir::name(f))).collect();
        if found.is_empty() {
            return;
        }
        let context = ir::context(module);
        let ty = LLVMFunctionType(LLVMVoidTypeInContext(context), std::ptr::null_mut(), 0, 0);
        let mark = LLVMAddFunction(module, ir::c(MARK).as_ptr(), ty);
        for attribute in ["convergent", "nounwind"] {
            let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr().cast(), attribute.len());
            LLVMAddAttributeAtIndex(
                mark,
                LLVMAttributeFunctionIndex,
                LLVMCreateEnumAttribute(context, kind, 0),
            );
        }
        let builder = LLVMCreateBuilderInContext(context);
        for function in found {
            let instructions = ir::instructions(function);
            let called: Vec<_> = instructions
                .iter()
                .filter(|&&i| ir::opcode(i) == LLVMOpcode::LLVMCall)
                .filter_map(|&call| ir::callee(call).map(|callee| ir::name(callee)))
                .collect();
            // Another version of the header may have another implementation.
            if !PARTS.iter().all(|part| called.iter().any(|name| name.contains(part))) {
                continue;
            }
            for ret in instructions.into_iter().filter(|&i| ir::opcode(i) == LLVMOpcode::LLVMRet) {
                LLVMPositionBuilderBefore(builder, ret);
                LLVMSetCurrentDebugLocation2(builder, llvm_sys::debuginfo::LLVMInstructionGetDebugLoc(ret));
                LLVMBuildCall2(builder, ty, mark, std::ptr::null_mut(), 0, c"".as_ptr());
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Removes all marks.
///
/// # Safety
/// `module` is live.
pub unsafe fn unmark(module: LLVMModuleRef) {
    // SAFETY: by contract; all that uses the mark are the calls of it.
    unsafe {
        let mark = LLVMGetNamedFunction(module, ir::c(MARK).as_ptr());
        if mark.is_null() {
            return;
        }
        for (call, _) in ir::uses(mark) {
            LLVMInstructionEraseFromParent(call);
        }
        LLVMDeleteFunction(mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_barrier_of_the_grid_and_no_other() {
        assert!(is_grid_sync("_ZN18cooperative_groups4__v17details4gridL4syncEPj"));
        assert!(is_grid_sync("_ZN18cooperative_groups4__v17details4gridL4syncEPj.17"));
        for other in [
            "_ZN18cooperative_groups4__v17details4gridL12barrier_waitEjPj",
            "_ZN18cooperative_groups4__v17details4gridL14barrier_arriveEPj",
            "_ZN18cooperative_groups4__v17details3ctaL4syncEv",
            "_ZN18cooperative_groups4__v17details4gridL4syncEPj.part",
            "_ZN4mine7details4gridL4syncEPj",
        ] {
            assert!(!is_grid_sync(other), "{other}");
        }
    }
}
