//! Runs the lanes of warps: all of a warp from one point to the next or, where the warp parts, those that the
//! runtime chooses.

use std::mem::offset_of;

use gpurace_abi::context::WARP_SIZE;
use gpurace_abi::entry::Entry;
use gpurace_abi::warp::{WarpLanes, WarpPoint};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMLinkage};

use super::BlockEntryBuilder;
use crate::blocks::segments::Runs;
use crate::ir;
use crate::ir::entry_calls::EntryCalls;
use crate::ir::parameters::copy_by_value;

/// A warp whose lanes run.
#[derive(Clone, Copy)]
pub(super) struct Warp<'v> {
    /// The kernel, which says what its caller copies.
    pub(super) kernel: LLVMValueRef,
    /// The indices of the first lane.
    pub(super) first: [LLVMValueRef; 3],
    /// The linear index of the first lane.
    pub(super) linear: LLVMValueRef,
    /// The values that threads share at the point.
    pub(super) shared: &'v [LLVMValueRef],
}

impl BlockEntryBuilder<'_> {
    /// Clears what lanes leave for each other: nobody is stuck yet, and what a lane reads beside its group must
    /// not be left to chance.
    pub(super) unsafe fn begin_parting(&self) {
        // SAFETY: by contract.
        unsafe {
            let [byte, long] = [LLVMInt8TypeInContext(self.context), LLVMInt64TypeInContext(self.context)];
            let bytes = LLVMConstInt(long, self.segments.warp_bytes[1], 0);
            LLVMBuildMemSet(self.builder, self.of_warp[1], LLVMConstInt(byte, 0, 0), bytes, 64);
        }
    }

    /// Runs the lanes of a warp from a point of the block to the next one.
    pub(super) unsafe fn warp(&mut self, at: LLVMValueRef, warp: Warp<'_>) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let int = LLVMInt32TypeInContext(self.context);
            let (choose, done) = (self.new_block(c"choose_in_warp"), self.new_block(c""));
            let before = LLVMGetInsertBlock(b);
            LLVMBuildBr(b, choose);
            LLVMPositionBuilderAtEnd(b, choose);
            let point = LLVMBuildPhi(b, int, none);
            LLVMAddIncoming(point, [at].as_mut_ptr(), [before].as_mut_ptr(), 1);
            let switch = LLVMBuildSwitch(b, point, done, self.segments.runs.len() as u32);
            for (p, &runs) in self.segments.runs.iter().enumerate() {
                let number = self.case(switch, p);
                let of_warp = (runs != Runs::Block).then(|| self.shared());
                let shared = of_warp.as_deref().unwrap_or(warp.shared);
                self.lanes(number, runs, Warp { shared, ..warp });
                let next = self.next();
                let from = LLVMGetInsertBlock(b);
                // The warp goes on unless it has reached a barrier or its end.
                let go = LLVMBuildSwitch(b, next, done, 4);
                for (q, _) in self.segments.runs.iter().enumerate().filter(|(_, to)| **to != Runs::Block) {
                    LLVMAddCase(go, LLVMConstInt(int, q as u64, 0), choose);
                    LLVMAddIncoming(point, [next].as_mut_ptr(), [from].as_mut_ptr(), 1);
                }
            }
            LLVMPositionBuilderAtEnd(b, done);
        }
    }

    /// Runs the lanes of a warp that may part, from a point of the block until all wait for the block or
    /// have ended.
    pub(super) unsafe fn parting_warp(&mut self, at: LLVMValueRef, warp: Warp<'_>) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            let [_, lanes] = self.of_warp;
            let points_at = ir::at_byte(b, lanes, offset_of!(WarpLanes, points) as i64);
            let own_points = self.segments.own_points.map(|place| self.own_points(place, warp.linear));
            self.begin_lanes(at, points_at, own_points);
            let points = self.warp_points();
            let (choose, done) = (self.new_block(c"step"), self.new_block(c""));
            let step = EntryCalls::new(self.module).threaded(Entry::WarpStep);
            LLVMBuildBr(b, choose);
            LLVMPositionBuilderAtEnd(b, choose);
            let (context, frame) = (LLVMGetParam(self.function, 0), LLVMGetParam(self.function, 2));
            let first_lane = LLVMBuildTrunc(b, warp.linear, int, none);
            let step = ir::call(b, step, &[context, lanes, frame, points, first_lane]);
            let running = LLVMBuildTrunc(b, step, int, none);
            let point = LLVMBuildTrunc(b, LLVMBuildLShr(b, step, LLVMConstInt(long, 32, 0), none), int, none);
            let run = self.new_block(c"run");
            let any = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntNE, running, LLVMConstInt(int, 0, 0), none);
            LLVMBuildCondBr(b, any, run, done);
            LLVMPositionBuilderAtEnd(b, run);
            let all = LLVMConstAllOnes(int);
            let all = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntEQ, running, all, none);
            let unknown = self.new_block(c"");
            let switch = LLVMBuildSwitch(b, point, unknown, self.segments.runs.len() as u32);
            for p in 0..self.segments.runs.len() {
                let number = self.case(switch, p);
                if !self.segments.needs_context {
                    let (together, some) = (self.new_block(c"all"), self.new_block(c"some"));
                    LLVMBuildCondBr(b, all, together, some);
                    LLVMPositionBuilderAtEnd(b, together);
                    self.lanes(number, Runs::Warp, warp);
                    LLVMBuildBr(b, choose);
                    LLVMPositionBuilderAtEnd(b, some);
                }
                // Calls of the checker keep LLVM from vectorising a loop over all lanes.
                self.some_lanes(number, running, warp);
                LLVMBuildBr(b, choose);
            }
            LLVMPositionBuilderAtEnd(b, unknown);
            LLVMBuildUnreachable(b);
            LLVMPositionBuilderAtEnd(b, done);
            if let Some(own_points) = own_points {
                let reached = LLVMBuildLoad2(b, LLVMVectorType(int, WARP_SIZE), points_at, none);
                LLVMSetAlignment(LLVMBuildStore(b, reached, own_points), 4);
            }
        }
    }

    /// Stores where the lanes begin: those that live have met at the point, which a barrier may be.
    unsafe fn begin_lanes(
        &self,
        at: LLVMValueRef,
        points_at: LLVMValueRef,
        own_points: Option<LLVMValueRef>,
    ) {
        // SAFETY: by contract.
        unsafe {
            let (b, none, int) = (self.builder, c"".as_ptr(), LLVMInt32TypeInContext(self.context));
            let (mut begun, mut met) = (self.for_lanes(at), LLVMConstAllOnes(int));
            if let Some(own_points) = own_points {
                let living = self.living_lanes(own_points, at);
                begun = LLVMBuildSelect(b, living, begun, self.for_lanes(self.ended()), none);
                met = LLVMBuildBitCast(b, living, int, none);
            }
            LLVMBuildStore(b, begun, points_at);
            LLVMBuildStore(b, met, ir::at_byte(b, self.of_warp[1], offset_of!(WarpLanes, met) as i64));
        }
    }

    /// A vector of a number for each lane.
    pub(super) unsafe fn for_lanes(&self, number: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let ty = LLVMVectorType(LLVMTypeOf(number), WARP_SIZE);
            let int = LLVMInt32TypeInContext(self.context);
            let zeros = LLVMConstNull(LLVMVectorType(int, WARP_SIZE));
            let first = LLVMBuildInsertElement(b, LLVMGetPoison(ty), number, LLVMConstInt(int, 0, 0), none);
            LLVMBuildShuffleVector(b, first, LLVMGetPoison(ty), zeros, none)
        }
    }

    /// The table of the points of a warp that parts.
    unsafe fn warp_points(&self) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let int = LLVMInt32TypeInContext(self.context);
            let words = self.segments.warp_points().flat_map(|at| [at.waits as u32, at.sync]);
            let mut words: Vec<_> = words.map(|word| LLVMConstInt(int, word.into(), 0)).collect();
            const { assert!(size_of::<WarpPoint>() == 8, "two words") };
            let table = LLVMConstArray2(int, words.as_mut_ptr(), words.len() as u64);
            let global = LLVMAddGlobal(self.module, LLVMTypeOf(table), c"gpurace.warp_points".as_ptr());
            LLVMSetInitializer(global, table);
            LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
            LLVMSetGlobalConstant(global, 1);
            global
        }
    }

    /// Builds the loop over the lanes of a mask, which is not 0, at a point.
    unsafe fn some_lanes(&mut self, point: LLVMValueRef, mask: LLVMValueRef, warp: Warp<'_>) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            let before = LLVMGetInsertBlock(b);
            let (body, done) = (self.new_block(c"lanes"), self.new_block(c""));
            LLVMBuildBr(b, body);
            LLVMPositionBuilderAtEnd(b, body);
            let left = LLVMBuildPhi(b, int, none);
            LLVMAddIncoming(left, [mask].as_mut_ptr(), [before].as_mut_ptr(), 1);
            let not_zero = LLVMConstAllOnes(LLVMInt1TypeInContext(self.context));
            let lane = ir::call_intrinsic(b, "llvm.cttz", Some(int), &[left, not_zero]);
            let lane = LLVMBuildZExt(b, lane, long, none);
            self.lane(point, lane, warp);
            let others = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, LLVMConstInt(int, 1, 0), none), none);
            let more = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntNE, others, LLVMConstInt(int, 0, 0), none);
            LLVMBuildCondBr(b, more, body, done);
            LLVMAddIncoming(left, [others].as_mut_ptr(), [LLVMGetInsertBlock(b)].as_mut_ptr(), 1);
            LLVMPositionBuilderAtEnd(b, done);
        }
    }

    /// Builds the loop over a warp's lanes at a point.
    unsafe fn lanes(&mut self, point: LLVMValueRef, runs: Runs, warp: Warp<'_>) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let long = LLVMInt64TypeInContext(self.context);
            let count = if runs == Runs::FirstLane { 1 } else { WARP_SIZE };
            let before = LLVMGetInsertBlock(b);
            let (body, done) = (self.new_block(c"lanes"), self.new_block(c""));
            LLVMBuildBr(b, body);
            LLVMPositionBuilderAtEnd(b, body);
            let lane = LLVMBuildPhi(b, long, none);
            LLVMAddIncoming(lane, [LLVMConstInt(long, 0, 0)].as_mut_ptr(), [before].as_mut_ptr(), 1);
            self.lane(point, lane, warp);
            let next = LLVMBuildNUWAdd(b, lane, LLVMConstInt(long, 1, 0), none);
            let more = LLVMConstInt(long, count.into(), 0);
            let more = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntULT, next, more, none);
            self.latches.push(LLVMBuildCondBr(b, more, body, done));
            LLVMAddIncoming(lane, [next].as_mut_ptr(), [LLVMGetInsertBlock(b)].as_mut_ptr(), 1);
            LLVMPositionBuilderAtEnd(b, done);
        }
    }

    /// Calls the segments' function for a lane.
    unsafe fn lane(&self, point: LLVMValueRef, lane: LLVMValueRef, warp: Warp<'_>) {
        // SAFETY: by contract.
        unsafe {
            let (b, none, int) = (self.builder, c"".as_ptr(), LLVMInt32TypeInContext(self.context));
            let [x, y, z] = warp.first;
            let x = LLVMBuildNUWAdd(b, x, LLVMBuildTrunc(b, lane, int, none), none);
            let linear = LLVMBuildNUWAdd(b, warp.linear, lane, none);
            if self.segments.needs_context {
                self.set_context([x, y, z], linear);
            }
            let [kept, exchanged] = self.of_warp;
            let own = [lane, kept, exchanged];
            let call = self.call(self.segments.function, [x, y, z], linear, point, own, warp.shared);
            if self.segments.copies {
                copy_by_value(warp.kernel, call);
            }
        }
    }
}
