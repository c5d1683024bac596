//! Lets threads that may be waiting for another thread give way.
//!
//! The executor runs a thread until it synchronises. A spin-wait (`while
//! (!flag);`, `while (atomicCAS(&lock, 0, 1));`) never does, so a call of
//! `__gpurace_yield` stands before each access that can end one: a volatile or
//! atomic access whose result is used, in a loop. A loop that waits for a plain
//! access is a race, and endless where the compiler moves the access out; it
//! gives way at its header, so that it can be told from a long computation.

use std::collections::HashSet;

use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};

use crate::entry_calls::EntryCalls;
use crate::ir;
use crate::lower::spins;

/// Inserts the yields.
///
/// # Safety
/// `module` is live.
pub unsafe fn insert(module: LLVMModuleRef) {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let calls = EntryCalls::new(module);
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        let kernels: HashSet<_> = ir::kernels(module).into_iter().map(|(f, _)| f).collect();
        for function in ir::definitions(module) {
            for block in ir::blocks(function) {
                let spins: Vec<_> = ir::block_instructions(block).filter(|&i| may_wait(i)).collect();
                // A function that is called may be called in a loop.
                if spins.is_empty() || (kernels.contains(&function) && !is_in_cycle(block)) {
                    continue;
                }
                for instruction in spins {
                    give_way_before(builder, &calls, instruction);
                }
            }
            for header in spins::headers(function) {
                let first = ir::block_instructions(header).find(|&i| ir::opcode(i) != LLVMOpcode::LLVMPHI);
                give_way_before(builder, &calls, first.unwrap_or_else(|| LLVMGetBasicBlockTerminator(header)));
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

unsafe fn give_way_before(builder: LLVMBuilderRef, calls: &EntryCalls, instruction: LLVMValueRef) {
    // SAFETY: by contract.
    unsafe {
        LLVMPositionBuilderBefore(builder, instruction);
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(instruction));
        calls.call(builder, "__gpurace_yield", &mut []);
    }
}

/// Whether a thread could be reading here what another one is to write.
unsafe fn may_wait(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        let used = !LLVMGetFirstUse(instruction).is_null();
        match ir::opcode(instruction) {
            LLVMOpcode::LLVMLoad => {
                used && (LLVMGetVolatile(instruction) != 0
                    || !matches!(LLVMGetOrdering(instruction), LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic))
            }
            LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => used,
            _ => false,
        }
    }
}

/// Whether control can come back to a block.
unsafe fn is_in_cycle(block: LLVMBasicBlockRef) -> bool {
    let mut seen = HashSet::new();
    // SAFETY: by contract; every block of a definition has a terminator.
    unsafe {
        let successors = |b: LLVMBasicBlockRef| {
            let terminator = LLVMGetBasicBlockTerminator(b);
            (0..LLVMGetNumSuccessors(terminator)).map(move |i| LLVMGetSuccessor(terminator, i))
        };
        let mut pending: Vec<_> = successors(block).collect();
        while let Some(next) = pending.pop() {
            if next == block {
                return true;
            }
            if seen.insert(next) {
                pending.extend(successors(next));
            }
        }
    }
    false
}
