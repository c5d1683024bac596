//! Places in a block's frame: each thread's own, side by side for all threads, and those that all threads share.

use std::collections::HashSet;

use gpurace_abi::image::BLOCK_FRAME_COMMON;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Cutter, Own};
use crate::ir;
use crate::lower::blocks::Checks;

/// Offset in the frame's common part of the point that the block comes to next.
pub const NEXT: u64 = 0;

/// A place in the frame.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Offset in the common part; in each thread's, to be multiplied by the number of threads.
    pub offset: u64,
    /// What it holds.
    pub ty: LLVMTypeRef,
}

impl Cutter {
    /// Moves the thread's variables to the frame, where barriers stand between their
    /// uses. Whether threads share no place; `None` where one has no fixed size.
    pub(super) unsafe fn place_variables(&mut self, barriers: bool, checks: Checks) -> Option<bool> {
        // SAFETY: by contract.
        unsafe {
            let variables: Vec<_> = ir::instructions(self.function)
                .into_iter()
                .filter(|&i| ir::opcode(i) == LLVMOpcode::LLVMAlloca)
                .collect();
            let fixed = |&v: &LLVMValueRef| {
                LLVMIsAConstantInt(LLVMGetOperand(v, 0)) != std::ptr::null_mut()
                    && LLVMGetInstructionParent(v) == self.first
            };
            if !variables.iter().all(fixed) {
                return None;
            }
            if !barriers {
                return Some(variables.is_empty() && !self.has_by_value());
            }
            // To the checker the frame is not the threads' own memory.
            if checks != Checks::None && !variables.is_empty() {
                return None;
            }
            for variable in variables {
                for user in ir::users(variable) {
                    let lifetime = ir::opcode(user) == LLVMOpcode::LLVMCall
                        && ir::callee(user).is_some_and(|f| ir::name(f).starts_with("llvm.lifetime"));
                    if lifetime {
                        LLVMInstructionEraseFromParent(user);
                    }
                }
                let count = LLVMConstIntGetZExtValue(LLVMGetOperand(variable, 0));
                let size = count * ir::alloc_size(self.module, LLVMGetAllocatedType(variable));
                // Each thread's is as large as its alignment asks, so that the next one's is aligned, too.
                let alignment = u64::from(LLVMGetAlignment(variable)).max(1);
                if alignment > 16 || LLVMTypeOf(variable) != LLVMPointerTypeInContext(self.context, 0) {
                    return None;
                }
                let size = size.next_multiple_of(alignment);
                let place = self.thread_place(size, alignment);
                LLVMReplaceAllUsesWith(variable, place);
                LLVMInstructionEraseFromParent(variable);
            }
            Some(!self.has_by_value())
        }
    }

    /// The address of the thread's own place of these bytes, computed at the start.
    pub(super) unsafe fn thread_place(&mut self, size: u64, alignment: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let array = self.array(size, alignment);
            let (b, long) = (self.builder, LLVMInt64TypeInContext(self.context));
            let own = LLVMBuildMul(b, self.own(Own::Linear), LLVMConstInt(long, size, 0), c"".as_ptr());
            self.address(array, own)
        }
    }

    /// The address of the first thread's place of these bytes, which the others' follow.
    pub(super) unsafe fn array(&mut self, size: u64, alignment: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let at = self.thread_bytes.next_multiple_of(alignment);
            self.thread_bytes = at + size;
            self.at_start();
            let (b, long) = (self.builder, LLVMInt64TypeInContext(self.context));
            // The threads' part of the frame comes first in memory.
            let array = LLVMBuildMul(b, self.own(Own::Threads), LLVMConstInt(long, at, 0), c"".as_ptr());
            self.address(self.own(Own::Frame), array)
        }
    }

    /// The address of a place that all threads share: below the frame's start.
    pub(super) unsafe fn common_place(&mut self, offset: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let long = LLVMInt64TypeInContext(self.context);
            self.at_start();
            self.address(self.own(Own::Frame), LLVMConstInt(long, offset.wrapping_sub(BLOCK_FRAME_COMMON), 1))
        }
    }

    unsafe fn address(&self, base: LLVMValueRef, offset: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let byte = LLVMInt8TypeInContext(self.context);
            LLVMBuildInBoundsGEP2(self.builder, byte, base, [offset].as_mut_ptr(), 1, c"".as_ptr())
        }
    }

    pub(super) unsafe fn has_by_value(&self) -> bool {
        // SAFETY: by contract.
        unsafe { (0..self.own as u32).any(|i| self.is_by_value(i)) }
    }

    /// Whether a parameter is a struct that the caller copies.
    pub(super) unsafe fn is_by_value(&self, index: u32) -> bool {
        // SAFETY: by contract.
        unsafe { ir::byval_type(self.function, index as usize).is_some() }
    }

    pub(super) unsafe fn by_value_is_read_only(&self) -> bool {
        // SAFETY: by contract.
        unsafe {
            let mut pending: Vec<_> = (0..self.own as u32)
                .filter(|&i| self.is_by_value(i))
                .map(|i| LLVMGetParam(self.function, i))
                .collect();
            let mut seen = HashSet::new();
            while let Some(pointer) = pending.pop() {
                for user in ir::users(pointer) {
                    match ir::opcode(user) {
                        LLVMOpcode::LLVMLoad => {}
                        LLVMOpcode::LLVMGetElementPtr | LLVMOpcode::LLVMAddrSpaceCast => {
                            if seen.insert(user) {
                                pending.push(user);
                            }
                        }
                        _ => return false,
                    }
                }
            }
            true
        }
    }
}

/// Stores a value in the frame; single bits take a byte, as vectors of them would not.
pub(super) unsafe fn store(
    b: LLVMBuilderRef,
    context: LLVMContextRef,
    value: LLVMValueRef,
    place: LLVMValueRef,
) {
    // SAFETY: by contract.
    unsafe {
        let byte = LLVMInt8TypeInContext(context);
        let one_bit = LLVMTypeOf(value) == LLVMInt1TypeInContext(context);
        let value = if one_bit { LLVMBuildZExt(b, value, byte, c"".as_ptr()) } else { value };
        LLVMBuildStore(b, value, place);
    }
}

pub(super) unsafe fn load(
    b: LLVMBuilderRef,
    context: LLVMContextRef,
    ty: LLVMTypeRef,
    place: LLVMValueRef,
) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let one_bit = ty == LLVMInt1TypeInContext(context);
        let byte = LLVMInt8TypeInContext(context);
        let value = LLVMBuildLoad2(b, if one_bit { byte } else { ty }, place, c"".as_ptr());
        if one_bit { LLVMBuildTrunc(b, value, ty, c"".as_ptr()) } else { value }
    }
}
