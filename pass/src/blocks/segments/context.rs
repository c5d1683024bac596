//! Fields of the thread context become parameters: the index of the thread, and fields that are
//! equal for all threads.

use gpurace_abi::context::offset;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Cutter, ThreadParameter, is_barrier};
use crate::blocks::gathered;
use crate::blocks::number::{from_number, is_number};
use crate::ir;

/// Fields of the thread context that differ from thread to thread.
const TID: [usize; 3] = [offset::TID, offset::TID + 4, offset::TID + 8];
const _: () = assert!(offset::LANE == offset::LINEAR_TID + 4 && offset::WARP == offset::LINEAR_TID + 8);

/// Most fields of the thread context that a cut kernel reads. Parameters for them are made before
/// they are known.
pub const FIELDS: usize = 16;

impl Cutter {
    /// Replaces loads of fields by parameters. Returns whether the context has other uses; `None`
    /// if there are too many fields.
    pub(super) unsafe fn read_fields(&mut self) -> Option<bool> {
        // SAFETY: by contract; each load is erased once.
        unsafe {
            let context = LLVMGetParam(self.function, 0);
            let mut otherwise = false;
            for user in ir::users(context) {
                if is_barrier(user) {
                    continue;
                }
                let (pointers, at) = match ir::opcode(user) {
                    LLVMOpcode::LLVMLoad => (vec![user], Some(0)),
                    LLVMOpcode::LLVMGetElementPtr => (ir::users(user), self.constant_offset(user)),
                    _ => (Vec::new(), None),
                };
                let Some(at) = at else {
                    otherwise = true;
                    continue;
                };
                for load in pointers {
                    match (ir::opcode(load) == LLVMOpcode::LLVMLoad).then(|| self.field(load, at)).flatten() {
                        Some(value) => {
                            LLVMReplaceAllUsesWith(load, value);
                            LLVMInstructionEraseFromParent(load);
                        }
                        None => otherwise = true,
                    }
                }
            }
            (self.fields.len() <= FIELDS).then_some(otherwise)
        }
    }

    /// The parameters that hold the fields at these offsets.
    pub(super) unsafe fn fields_at(&self, offsets: &[usize]) -> Vec<LLVMValueRef> {
        let fields = self.fields.iter().enumerate().filter(|(_, (at, _))| offsets.contains(&(*at as usize)));
        // SAFETY: the function has these parameters.
        fields.map(|(index, _)| unsafe { self.field_parameter(index) }).collect()
    }

    /// The constant offset of an address in the context.
    unsafe fn constant_offset(&self, address: LLVMValueRef) -> Option<u64> {
        // SAFETY: by contract.
        unsafe {
            let operands = ir::operands(address);
            let byte = LLVMGetGEPSourceElementType(address) == LLVMInt8TypeInContext(self.context);
            let [_, index] = operands[..] else { return None };
            ir::constant(index).filter(|_| byte)
        }
    }

    /// The parameter for a load of a field.
    unsafe fn field(&mut self, load: LLVMValueRef, at: u64) -> Option<LLVMValueRef> {
        // SAFETY: by contract.
        unsafe {
            let ty = LLVMTypeOf(load);
            let int = LLVMInt32TypeInContext(self.context);
            self.at_start();
            let linear =
                || LLVMBuildTrunc(self.builder, self.parameter(ThreadParameter::Linear), int, c"".as_ptr());
            let at = at as usize;
            if let Some(axis) = TID.iter().position(|&t| t == at) {
                let own = [ThreadParameter::X, ThreadParameter::Y, ThreadParameter::Z][axis];
                return (ty == int).then(|| self.parameter(own));
            }
            if [offset::LINEAR_TID, offset::LANE, offset::WARP].contains(&at) {
                if ty != int {
                    return None;
                }
                let linear = linear();
                return Some(match at {
                    offset::LANE => {
                        LLVMBuildAnd(self.builder, linear, LLVMConstInt(int, 31, 0), c"".as_ptr())
                    }
                    offset::WARP => {
                        LLVMBuildLShr(self.builder, linear, LLVMConstInt(int, 5, 0), c"".as_ptr())
                    }
                    _ => linear,
                });
            }
            let size = ir::alloc_size(self.module, ty) as usize;
            let meets = |from: usize| at < from + 12 && from < at + size;
            if size > 8 || !is_number(ty) || meets(offset::TID) || meets(offset::LINEAR_TID) {
                return None;
            }
            let known = self.fields.iter().position(|&f| f == (at as u64, ty));
            let index = known.unwrap_or_else(|| {
                self.fields.push((at as u64, ty));
                self.fields.len() - 1
            });
            if index >= FIELDS {
                return None;
            }
            Some(from_number(self.builder, self.context, self.field_parameter(index), ty))
        }
    }

    /// True if something uses the context.
    pub(super) unsafe fn uses_context(&self) -> bool {
        // SAFETY: by contract.
        unsafe {
            ir::users(LLVMGetParam(self.function, 0)).into_iter().any(|user| {
                !gathered::hands_over(user)
                    && (ir::opcode(user) != LLVMOpcode::LLVMGetElementPtr || !ir::users(user).is_empty())
            })
        }
    }
}
