//! Places in the block frame: one for each thread, side by side, or one that all threads share.

use std::collections::HashSet;

use gpurace_abi::batch::FrameCommon;
use gpurace_abi::context::WARP_SIZE;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Cutter, ThreadParameter};
use crate::blocks::entries::Checks;
use crate::ir;

impl Cutter {
    /// Moves local variables to the frame if the function is cut. Returns whether no two threads use
    /// the same place; `None` if a variable cannot move.
    pub(super) unsafe fn place_variables(&mut self, is_cut: bool, checks: Checks) -> Option<bool> {
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
            if !is_cut {
                return Some(variables.is_empty() && !self.has_by_value());
            }
            // The checker does not know that the frame is memory of single threads. No check is of an address
            // that clearly starts at a variable.
            if checks != Checks::None && !variables.iter().all(|&v| is_used_directly(v)) {
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
                let (_, place) = self.thread_place(size, alignment);
                LLVMReplaceAllUsesWith(variable, place);
                LLVMInstructionEraseFromParent(variable);
            }
            Some(!self.has_by_value())
        }
    }

    /// Adds bytes for each thread, and returns their place.
    pub(super) fn thread_bytes_at(&mut self, size: u64, alignment: u64) -> u32 {
        let at = self.thread_bytes.next_multiple_of(alignment);
        self.thread_bytes = at + size;
        at as u32
    }

    /// Adds a place of these bytes for each thread. Returns it, and the address of the running
    /// thread's, which the start block computes.
    pub(super) unsafe fn thread_place(&mut self, size: u64, alignment: u64) -> (u32, LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let (at, array) = self.array(size, alignment);
            (at, self.behind(array, ThreadParameter::Linear, size))
        }
    }

    /// Adds a place of these bytes for each lane of a warp, and returns the address of the running
    /// lane's.
    pub(super) unsafe fn lane_place(&mut self, size: u64, alignment: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let at = self.lane_bytes.next_multiple_of(alignment);
            self.lane_bytes = at + size;
            self.at_start();
            let warp = self.parameter(ThreadParameter::Warp);
            let array = ir::at_byte(self.builder, warp, (at * u64::from(WARP_SIZE)) as i64);
            self.behind(array, ThreadParameter::Lane, size)
        }
    }

    /// Adds a place of these bytes for each thread. Returns it, and the address of the first thread's.
    pub(super) unsafe fn array(&mut self, size: u64, alignment: u64) -> (u32, LLVMValueRef) {
        let at = self.thread_bytes_at(size, alignment);
        // SAFETY: by contract.
        unsafe {
            // The threads' part of the frame begins at the frame's address.
            let frame = self.parameter(ThreadParameter::Frame);
            (at, self.behind(frame, ThreadParameter::Threads, at.into()))
        }
    }

    /// The address that lies a parameter times `bytes` behind another one.
    unsafe fn behind(&self, base: LLVMValueRef, times: ThreadParameter, bytes: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            self.at_start();
            let bytes = LLVMConstInt(LLVMInt64TypeInContext(self.context), bytes, 0);
            let offset = LLVMBuildMul(self.builder, self.parameter(times), bytes, c"".as_ptr());
            ir::at_offset(self.builder, base, offset)
        }
    }

    /// The address of a place that all threads share, which lies below the frame's address.
    pub(super) unsafe fn common_place(&self, offset: usize) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            self.at_start();
            in_common(self.builder, self.parameter(ThreadParameter::Frame), offset)
        }
    }

    /// True if the kernel gets a struct by value.
    pub(super) unsafe fn has_by_value(&self) -> bool {
        // SAFETY: by contract.
        unsafe { (0..self.kernel_parameters as u32).any(|i| self.is_by_value(i)) }
    }

    /// True for a parameter that is a struct which the caller copies.
    pub(super) unsafe fn is_by_value(&self, index: u32) -> bool {
        // SAFETY: by contract.
        unsafe { ir::byval_type(self.function, index as usize).is_some() }
    }

    /// Lets the threads share the structs that the kernel gets by value, if no thread writes to them.
    /// Returns for each parameter whether it is one that is shared.
    pub(super) unsafe fn share_by_value(&self) -> Vec<bool> {
        // SAFETY: by contract.
        unsafe {
            if !self.by_value_is_read_only() {
                return Vec::new();
            }
            let shared: Vec<_> = (0..self.kernel_parameters as u32).map(|i| self.is_by_value(i)).collect();
            for (index, _) in (1..).zip(&shared).filter(|(_, shared)| **shared) {
                LLVMRemoveEnumAttributeAtIndex(self.function, index, ir::attribute_kind("byval"));
            }
            shared
        }
    }

    /// True if no thread writes to a struct that the kernel gets by value.
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

/// The address of a field of the [`FrameCommon`] of a frame.
///
/// # Safety
/// The builder and the frame are live.
pub unsafe fn in_common(b: LLVMBuilderRef, frame: LLVMValueRef, offset: usize) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe { ir::at_byte(b, frame, offset as i64 - size_of::<FrameCommon>() as i64) }
}

/// True if the address of a variable goes into loads, stores and the addresses of its parts alone.
unsafe fn is_used_directly(address: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::users(address).into_iter().all(|user| match ir::opcode(user) {
            LLVMOpcode::LLVMLoad => true,
            LLVMOpcode::LLVMStore => LLVMGetOperand(user, 0) != address,
            LLVMOpcode::LLVMGetElementPtr => is_used_directly(user),
            LLVMOpcode::LLVMCall => {
                let fills =
                    |name: &str| name.starts_with("llvm.memset") && LLVMGetOperand(user, 0) == address;
                ir::callee(user)
                    .map(|f| ir::name(f))
                    .is_some_and(|name| name.starts_with("llvm.lifetime") || fills(&name))
            }
            _ => false,
        })
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

/// Loads a value that [`store`] has stored.
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
