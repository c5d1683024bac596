//! Points: where a thread notes the one that it has reached, and where it goes on from there.

use std::ffi::CStr;
use std::mem::offset_of;

use gpurace_abi::batch::{BLOCK_ENDED, FrameCommon};
use gpurace_abi::warp::WarpLanes;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use super::{Cutter, ThreadParameter};
use crate::ir;

/// Returns the number by which the threads that are at a point go on if others are elsewhere: they have ended, or have
/// left a loop. By the point's own number all threads go on. `cuts` is the number of points without the start.
pub fn for_some_threads(point: usize, cuts: usize) -> usize {
    point + cuts
}

impl Cutter {
    /// Where a thread stores the point that it has reached.
    pub(super) unsafe fn next_point(&self) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            if self.parts {
                self.at_start();
                self.of_lane(offset_of!(WarpLanes, points))
            } else if let Some((_, place)) = self.own_point {
                place
            } else {
                self.common_place(offset_of!(FrameCommon, next))
            }
        }
    }

    /// Lets a thread that returns store that the block has ended.
    pub(super) unsafe fn end(&mut self) {
        // SAFETY: by contract.
        unsafe {
            let next = self.next_point();
            let int = LLVMInt32TypeInContext(self.context);
            for block in ir::blocks(self.function) {
                let last = LLVMGetBasicBlockTerminator(block);
                if ir::opcode(last) == LLVMOpcode::LLVMRet {
                    LLVMPositionBuilderBefore(self.builder, last);
                    LLVMBuildStore(self.builder, LLVMConstInt(int, u64::from(BLOCK_ENDED), 0), next);
                }
            }
        }
    }

    /// Lets the start block go on at the point that the function gets as a parameter: `after` has the basic block
    /// behind each cut.
    pub(super) unsafe fn dispatch(&self, after: &[LLVMBasicBlockRef]) {
        // SAFETY: by contract.
        unsafe {
            let int = LLVMInt32TypeInContext(self.context);
            LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(self.start));
            LLVMPositionBuilderAtEnd(self.builder, self.start);
            let point = self.parameter(ThreadParameter::Point);
            let switch = LLVMBuildSwitch(self.builder, point, self.first, 2 * after.len() as u32);
            let number = |p: usize| LLVMConstInt(int, p as u64, 0);
            for (p, &block) in (1..).zip(after) {
                LLVMAddCase(switch, number(p), block);
            }
            let Some((_, place)) = self.own_point.filter(|_| !self.parts) else { return };
            // Where not all threads are at the point, each thread tests its own point.
            let add = |name: &CStr| LLVMAppendBasicBlockInContext(self.context, self.function, name.as_ptr());
            let elsewhere = add(c"elsewhere");
            LLVMPositionBuilderAtEnd(self.builder, elsewhere);
            LLVMBuildRetVoid(self.builder);
            for (p, &block) in (1..).zip(after) {
                let some = add(c"some");
                LLVMAddCase(switch, number(for_some_threads(p, after.len())), some);
                LLVMPositionBuilderAtEnd(self.builder, some);
                let own = LLVMBuildLoad2(self.builder, int, place, c"".as_ptr());
                let is_here =
                    LLVMBuildICmp(self.builder, LLVMIntPredicate::LLVMIntEQ, own, number(p), c"".as_ptr());
                LLVMBuildCondBr(self.builder, is_here, block, elsewhere);
            }
        }
    }
}
