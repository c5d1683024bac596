//! What a module does to a variable that holds mbarriers, and whether these are initialised first.

use std::collections::HashSet;

use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::is_block_barrier;
use super::ways::{reached, reached_until};
use crate::ir;

/// The most barriers of a kernel that are looked at.
const MOST_BARRIERS: usize = 16;

/// The instructions that have an address in a variable as an operand, with the number of the operand, and their kernel.
/// `leads_on` says of which values that use such an address the uses count instead. `None` if there is no kernel,
/// several ones, or something that is no instruction.
///
/// # Safety
/// `variable` is live.
pub unsafe fn uses_in_one_kernel(
    variable: LLVMValueRef,
    leads_on: impl Fn(LLVMValueRef) -> bool,
) -> Option<(LLVMValueRef, Vec<(LLVMValueRef, u32)>)> {
    let mut pending = vec![variable];
    let mut seen = HashSet::new();
    let mut one = None;
    let mut all = Vec::new();
    // SAFETY: by contract.
    unsafe {
        while let Some(address) = pending.pop() {
            for (user, operand) in ir::uses(address) {
                if !seen.insert((user, operand)) {
                    continue;
                }
                if operand == 0 && leads_on(user) {
                    pending.push(user);
                    continue;
                }
                if LLVMIsAInstruction(user).is_null() {
                    return None;
                }
                let kernel = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
                if !ir::is_kernel(kernel) || *one.get_or_insert(kernel) != kernel {
                    return None;
                }
                all.push((user, operand));
            }
        }
    }
    Some((one?, all))
}

/// True if a barrier of the block lies between each initialisation of a kernel and all uses that follow.
///
/// # Safety
/// `kernel` is live.
pub unsafe fn start_comes_first(
    kernel: LLVMValueRef,
    is_start: impl Fn(LLVMValueRef) -> bool,
    is_use: impl Fn(LLVMValueRef) -> bool,
) -> bool {
    // SAFETY: by contract.
    unsafe {
        let entry = LLVMGetEntryBasicBlock(kernel);
        let barriers = ir::instructions(kernel).into_iter().filter(|&i| is_block_barrier(i));
        barriers.take(MOST_BARRIERS).any(|barrier| {
            let own = LLVMGetInstructionParent(barrier);
            let mut rest = ir::block_instructions(own).skip_while(|i| *i != barrier);
            let no_start_behind =
                !rest.any(&is_start) && reached(ir::successors(own), |_| true, |i| !is_start(i)).is_some();
            no_start_behind && reached_until(entry, barrier, |i| !is_use(i)).is_some()
        })
    }
}
