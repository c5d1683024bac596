//! Lets threads that may be waiting for another thread give way.
//!
//! The executor runs a thread until it synchronises. A spin-wait (`while
//! (!flag);`, `while (atomicCAS(&lock, 0, 1));`) never does, so a call of
//! `__gpurace_yield` stands before each access that can end one: a volatile or
//! atomic access whose result is used, in a loop, and before its check: between the two no other
//! thread of the block runs. A loop that waits for a plain
//! access is a race, and endless where the compiler moves the access out; it
//! gives way at its header, so that it can be told from a long computation.

use std::collections::HashSet;

use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};

use crate::entry_calls::EntryCalls;
use crate::instrument;
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
                let waits = ir::block_instructions(block).filter(|&i| may_wait(i));
                // What a swap looks at first would be a wait of its own otherwise.
                let mut spins: Vec<_> = waits.map(|i| instrument::start_of(i)).collect();
                spins.dedup();
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
                give_way_before(
                    builder,
                    &calls,
                    first.unwrap_or_else(|| LLVMGetBasicBlockTerminator(header)),
                );
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
                    || !matches!(
                        LLVMGetOrdering(instruction),
                        LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
                    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_runs_between_a_check_and_its_access() {
        let text = "
            declare void @__gpurace_atomic(ptr, i32, i32, i32, i32, i32)
            define i32 @swaps(ptr %p) {
            entry:
                br label %again
            again:
                %seen = load atomic i32, ptr %p monotonic, align 4
                %swaps = icmp eq i32 %seen, 0
                %new = select i1 %swaps, i32 1, i32 %seen
                %kind = select i1 %swaps, i32 2, i32 0
                call void @__gpurace_atomic(ptr %p, i32 4, i32 0, i32 %kind, i32 2, i32 0)
                %pair = cmpxchg ptr %p, i32 %seen, i32 %new monotonic monotonic
                call void @__gpurace_atomic(ptr %p, i32 4, i32 1, i32 2, i32 2, i32 0)
                %old = atomicrmw add ptr %p, i32 1 monotonic
                %done = extractvalue { i32, i1 } %pair, 1
                br i1 %done, label %end, label %again
            end:
                ret i32 %old
            }";
        // SAFETY: the module is live.
        ir::testing::with_module(text, |module| unsafe {
            insert(module);
            let function = LLVMGetNamedFunction(module, c"swaps".as_ptr());
            let body = ir::instructions(function).into_iter().map(|i| match ir::opcode(i) {
                LLVMOpcode::LLVMCall => ir::callee(i).map_or_else(String::new, |callee| ir::name(callee)),
                opcode => format!("{opcode:?}"),
            });
            let told: Vec<_> = body
                .filter(|what| what.contains("gpurace") || what.contains("Atomic") || what == "LLVMLoad")
                .collect();
            let (give_way, check) = ("__gpurace_yield", "__gpurace_atomic");
            assert_eq!(
                told,
                [give_way, "LLVMLoad", check, "LLVMAtomicCmpXchg", give_way, check, "LLVMAtomicRMW"]
            );
        });
    }
}
