//! Places in the block frame: one for each thread, side by side, or one that all threads share.

use std::collections::HashSet;

use gpurace_abi::image::BLOCK_FRAME_COMMON;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Cutter, ThreadParameter};
use crate::blocks::entries::Checks;
use crate::ir;

/// Offset, in the frame's common part, of the next point of the block.
pub const NEXT: u64 = 0;

/// A place in the frame.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Offset in the frame's common part.
    pub offset: u64,
    /// The type of its value.
    pub ty: LLVMTypeRef,
}

impl Cutter {
    /// Moves local variables to the frame if there are barriers. Returns whether no two threads use
    /// the same place; `None` if a variable cannot move.
    pub(super) unsafe fn place_variables(&mut self, barriers: bool, checks: Checks) -> Option<bool> {
        // SAFETY: by contract.
        unsafe {
            let variables: Vec<_> = ir::instructions(self.function)
                .into_iter()
                .filter(|&i| ir::opcode(i) == LLVMOpcode::LLVMAlloca)
                .collect();
            let fixed = |&v: &LLVMValueRef| {
                !LLVMIsAConstantInt(LLVMGetOperand(v, 0)).is_null()
                    && LLVMGetInstructionParent(v) == self.first
            };
            if !variables.iter().all(fixed) {
                return None;
            }
            if !barriers {
                return Some(variables.is_empty() && !self.has_by_value());
            }
            // The checker does not know that the frame is memory of single threads.
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
                // A multiple of the alignment, so that the next thread's variable is aligned as
                // well.
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

    /// Adds a place of these bytes for each thread. Returns the address of the running thread's,
    /// which the start block computes.
    pub(super) unsafe fn thread_place(&mut self, size: u64, alignment: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let array = self.array(size, alignment);
            let (b, long) = (self.builder, LLVMInt64TypeInContext(self.context));
            let own = LLVMBuildMul(
                b,
                self.parameter(ThreadParameter::Linear),
                LLVMConstInt(long, size, 0),
                c"".as_ptr(),
            );
            self.address(array, own)
        }
    }

    /// Adds a place of these bytes for each thread. Returns the address of the first thread's.
    pub(super) unsafe fn array(&mut self, size: u64, alignment: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let at = self.thread_bytes.next_multiple_of(alignment);
            self.thread_bytes = at + size;
            self.at_start();
            let (b, long) = (self.builder, LLVMInt64TypeInContext(self.context));
            // The threads' part of the frame begins at the frame's address.
            let array = LLVMBuildMul(
                b,
                self.parameter(ThreadParameter::Threads),
                LLVMConstInt(long, at, 0),
                c"".as_ptr(),
            );
            self.address(self.parameter(ThreadParameter::Frame), array)
        }
    }

    /// The address of a place that all threads share, which lies below the frame's address.
    pub(super) unsafe fn common_place(&mut self, offset: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let long = LLVMInt64TypeInContext(self.context);
            self.at_start();
            self.address(
                self.parameter(ThreadParameter::Frame),
                LLVMConstInt(long, offset.wrapping_sub(BLOCK_FRAME_COMMON), 1),
            )
        }
    }

    unsafe fn address(&self, base: LLVMValueRef, offset: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { ir::at_offset(self.builder, base, offset) }
    }

    pub(super) unsafe fn has_by_value(&self) -> bool {
        // SAFETY: by contract.
        unsafe { (0..self.kernel_parameters as u32).any(|i| self.is_by_value(i)) }
    }

    /// True for a parameter that is a struct which the caller copies.
    pub(super) unsafe fn is_by_value(&self, index: u32) -> bool {
        // SAFETY: by contract.
        unsafe { ir::byval_type(self.function, index as usize).is_some() }
    }

    pub(super) unsafe fn by_value_is_read_only(&self) -> bool {
        // SAFETY: by contract.
        unsafe {
            let mut pending: Vec<_> = (0..self.kernel_parameters as u32)
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

/// Stores a value in the frame. A single bit takes a byte, so that LLVM can vectorise the store.
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
