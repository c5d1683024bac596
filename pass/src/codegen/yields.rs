//! Yields: calls at which a thread that may wait for another one lets others run.
//!
//! The executor runs a thread until it synchronises. A thread that spins (`while (!flag);`,
//! `while (atomicCAS(&lock, 0, 1));`) never does. So a call of [`Entry::Yield`] stands before each access
//! that can end such a loop: a volatile or atomic access in a loop whose result is used. The call stands
//! before the access's check too, since no other thread of the block may run between check and access.
//!
//! A loop that waits by a plain access has a race, and never ends if the compiler moves the access out. Such a
//! loop yields at its header, so that the runtime can tell it from a long computation.

use std::collections::HashSet;

use gpurace_abi::entry::Entry;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;

use crate::analysis::control_flow::ControlFlow;
use crate::analysis::spins;
use crate::checks::instrument;
use crate::ir;
use crate::ir::entry_calls::EntryCalls;

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
            let flow = ControlFlow::of(function);
            for block in ir::blocks(function) {
                let waits = ir::block_instructions(block).filter(|&i| may_wait(i));
                // A wait begins where its check begins: else the load that the check
                // of a compare-and-swap makes would be another wait.
                let mut spins: Vec<_> = waits.map(|i| instrument::start_of(i)).collect();
                spins.dedup();
                // A function may be called in a loop.
                if spins.is_empty()
                    || (kernels.contains(&function)
                        && !flow.index.get(&block).is_some_and(|&node| flow.is_in_cycle(node)))
                {
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
        calls.call(builder, Entry::Yield, &[]);
    }
}

/// True if a thread may read here a value that it waits for another thread to write.
unsafe fn may_wait(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        let used = !LLVMGetFirstUse(instruction).is_null();
        match ir::opcode(instruction) {
            LLVMOpcode::LLVMLoad => used && !ir::is_plain(instruction),
            LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => used,
            _ => false,
        }
    }
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
