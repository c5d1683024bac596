//! Runs the threads that are at a point, where others may have ended, or left a loop. Each thread has a point of its
//! own in the frame. The threads at the greatest point run first: the ends of loops that threads leave one by one come
//! behind the barriers, so a barrier's turn comes once all threads that have not ended wait there.

use std::mem::offset_of;

use gpurace_abi::batch::BLOCK_ENDED;
use gpurace_abi::context::WARP_SIZE;
use gpurace_abi::entry::Entry;
use gpurace_abi::meta::UNDER_CONDITION;
use gpurace_abi::warp::WarpLanes;
use llvm_sys::LLVMIntPredicate;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::BlockEntryBuilder;
use crate::blocks::segments::for_some_threads;
use crate::ir;
use crate::ir::entry_calls::EntryCalls;

impl BlockEntryBuilder<'_> {
    /// Runs the threads of the block that are at a point. If all threads are there, their loop does not read the point
    /// of each.
    pub(super) unsafe fn threads_at(&mut self, kernel: LLVMValueRef, point: usize, shared: &[LLVMValueRef]) {
        // SAFETY: by contract.
        unsafe {
            let (b, int) = (self.builder, LLVMInt32TypeInContext(self.context));
            let number = |p: usize| LLVMConstInt(int, p as u64, 0);
            let function = self.segments.function;
            if point == 0 || self.segments.own_points.is_none() {
                return self.threads(kernel, number(point), function, shared);
            }
            let least = LLVMBuildLoad2(b, int, self.least_point, c"".as_ptr());
            let some = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntNE, least, number(point + 1), c"".as_ptr());
            let blocks = [c"some", c"all", c""].map(|name| self.new_block(name));
            LLVMBuildCondBr(b, some, blocks[0], blocks[1]);
            let some_here = for_some_threads(point, self.segments.runs.len() - 1);
            for (block, point) in blocks.into_iter().zip([some_here, point]) {
                LLVMPositionBuilderAtEnd(b, block);
                self.threads(kernel, number(point), function, shared);
                LLVMBuildBr(b, blocks[2]);
            }
            LLVMPositionBuilderAtEnd(b, blocks[2]);
        }
    }

    /// Returns the greatest point of a thread that has not ended; the end if all have. `at` is the place of each
    /// thread's point. Also stores [`Self::least_point`].
    pub(super) unsafe fn next_of_living(&self, at: u32) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            let n = |n| LLVMConstInt(long, n, 0);
            let [zero, one] = [0, 1].map(|n| LLVMConstInt(int, n, 0));
            let row = self.own_points(at, n(0));
            let before = LLVMGetInsertBlock(b);
            let (body, done) = (self.new_block(c"points"), self.new_block(c""));
            LLVMBuildBr(b, body);
            LLVMPositionBuilderAtEnd(b, body);
            let thread = LLVMBuildPhi(b, long, none);
            let [least, greatest] = [(); 2].map(|()| LLVMBuildPhi(b, int, none));
            let place = ir::at_offset(b, row, LLVMBuildMul(b, thread, n(4), none));
            // The number of the point plus 1: the end, the greatest number, becomes 0.
            let own = LLVMBuildAdd(b, LLVMBuildLoad2(b, int, place, none), one, none);
            const { assert!(BLOCK_ENDED == u32::MAX, "the end plus 1 is 0") };
            let choose = |test, value| {
                let keeps = LLVMBuildICmp(b, test, value, own, none);
                LLVMBuildSelect(b, keeps, value, own, none)
            };
            let next_least = choose(LLVMIntPredicate::LLVMIntULT, least);
            let next_greatest = choose(LLVMIntPredicate::LLVMIntUGT, greatest);
            let next = LLVMBuildNUWAdd(b, thread, n(1), none);
            let more = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntULT, next, self.threads, none);
            LLVMBuildCondBr(b, more, body, done);
            for (phi, first, later) in
                [(thread, n(0), next), (least, self.ended(), next_least), (greatest, zero, next_greatest)]
            {
                LLVMAddIncoming(phi, [first, later].as_mut_ptr(), [before, body].as_mut_ptr(), 2);
            }
            LLVMPositionBuilderAtEnd(b, done);
            LLVMBuildStore(b, next_least, self.least_point);
            LLVMBuildSub(b, next_greatest, one, none)
        }
    }

    /// Tells the runtime of threads that have ended, if the others are at a barrier that stands under a condition. `at`
    /// is the place of each thread's point.
    pub(super) unsafe fn tell_skipped(&self, at: u32, point: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let int = LLVMInt32TypeInContext(self.context);
            let is = |value, number: u64| {
                LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntEQ, value, LLVMConstInt(int, number, 0), none)
            };
            let barriers = (0..).zip(&self.segments.syncs).take(1 + self.segments.barriers as usize);
            for (number, &sync) in barriers.filter(|(_, sync)| **sync & UNDER_CONDITION != 0) {
                let (told, on) = (self.new_block(c"skipped"), self.new_block(c""));
                let least = LLVMBuildLoad2(b, int, self.least_point, none);
                let some_ended = is(least, 0);
                LLVMBuildCondBr(b, LLVMBuildAnd(b, is(point, number), some_ended, none), told, on);
                LLVMPositionBuilderAtEnd(b, told);
                let function = EntryCalls::new(self.module).threaded(Entry::BlockSkips);
                let row = self.own_points(at, LLVMConstInt(LLVMInt64TypeInContext(self.context), 0, 0));
                let sync = LLVMConstInt(int, sync.into(), 0);
                ir::call(b, function, &[LLVMGetParam(self.function, 0), row, sync]);
                LLVMBuildBr(b, on);
                LLVMPositionBuilderAtEnd(b, on);
            }
        }
    }

    /// A point, or the end if lanes of a warp wait for others that do not come.
    pub(super) unsafe fn unless_stuck(&self, point: LLVMValueRef) -> LLVMValueRef {
        if !self.segments.parts {
            return point;
        }
        // SAFETY: by contract; the warps of a block share what lanes leave for each other.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let int = LLVMInt32TypeInContext(self.context);
            let stuck = ir::at_byte(b, self.of_warp[1], offset_of!(WarpLanes, stuck) as i64);
            let stuck = LLVMBuildLoad2(b, int, stuck, none);
            let stuck = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntNE, stuck, LLVMConstInt(int, 0, 0), none);
            LLVMBuildSelect(b, stuck, self.ended(), point, none)
        }
    }

    /// Where the points of the threads from `first` on lie. `at` is their place in the frame.
    pub(super) unsafe fn own_points(&self, at: u32, first: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let n = |n| LLVMConstInt(LLVMInt64TypeInContext(self.context), n, 0);
            let row = LLVMBuildMul(b, self.threads, n(at.into()), none);
            let before = LLVMBuildMul(b, first, n(4), none);
            ir::at_offset(b, LLVMGetParam(self.function, 2), LLVMBuildAdd(b, row, before, none))
        }
    }

    /// For each lane of a warp, a bit: it has not ended before the block came to a point.
    pub(super) unsafe fn living_lanes(&self, own_points: LLVMValueRef, point: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let int = LLVMInt32TypeInContext(self.context);
            let own = LLVMBuildLoad2(b, LLVMVectorType(int, WARP_SIZE), own_points, none);
            LLVMSetAlignment(own, 4);
            let lives =
                LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntNE, own, self.for_lanes(self.ended()), none);
            // At the start the points are those of an earlier block.
            let zero = LLVMConstInt(int, 0, 0);
            let starts = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntEQ, point, zero, none);
            LLVMBuildOr(b, lives, self.for_lanes(starts), none)
        }
    }

    /// The point of a thread that has ended.
    pub(super) unsafe fn ended(&self) -> LLVMValueRef {
        // SAFETY: the context is live.
        unsafe { LLVMConstInt(LLVMInt32TypeInContext(self.context), u64::from(BLOCK_ENDED), 0) }
    }
}
