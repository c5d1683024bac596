//! Builds the code of a block entry.

mod living;
mod warps;

use std::ffi::{CStr, c_uint};
use std::mem::offset_of;

use gpurace_abi::batch::{BLOCK_ENDED, FrameBatch, FrameCommon, SHARED_VALUES};
use gpurace_abi::context::{WARP_SIZE, offset};
use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMLinkage};

use self::warps::Warp;
use super::Checks;
use crate::blocks::affine_rows::AffineFunctions;
use crate::blocks::batch;
use crate::blocks::number::to_number;
use crate::blocks::segments::{self, Segments, in_common};
use crate::ir;
use crate::ir::entry_calls::EntryCalls;
use crate::ir::parameters::{copy_by_value, load_arguments};

unsafe extern "C" {
    fn gpurace_mark_parallel(body: LLVMValueRef, latches: *mut LLVMValueRef, count: c_uint);
}

/// Builds a block entry: `void entry(ptr context, ptr arguments, ptr frame)`.
pub(super) struct BlockEntryBuilder<'a> {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    segments: &'a Segments,
    /// The function to call after all threads have reached a barrier, if any.
    barrier: Option<LLVMValueRef>,
    /// The kernel's arguments, the context first.
    arguments: Vec<LLVMValueRef>,
    /// Threads of the block: x, y, z, and all as `i64`.
    dim: [LLVMValueRef; 3],
    threads: LLVMValueRef,
    fields: Vec<LLVMValueRef>,
    latches: Vec<LLVMValueRef>,
    /// Memory for a warp: what its lanes keep over a collective, and what they exchange.
    of_warp: [LLVMValueRef; 2],
    /// A variable, if each thread has a point of its own: 1 plus the least point of all threads, where the end counts
    /// as -1. All threads are at a point if this is 1 plus that point, and it is the greatest point too.
    least_point: LLVMValueRef,
}

impl BlockEntryBuilder<'_> {
    /// Builds the block entry `name` of a kernel that was cut.
    pub(super) unsafe fn build(
        module: LLVMModuleRef,
        kernel: LLVMValueRef,
        segments: &Segments,
        checks: Checks,
        name: &str,
    ) {
        // SAFETY: by contract; the builder is disposed of once.
        unsafe {
            let context = ir::context(module);
            let ptr = LLVMPointerTypeInContext(context, 0);
            let ty = LLVMFunctionType(LLVMVoidTypeInContext(context), [ptr, ptr, ptr].as_mut_ptr(), 3, 0);
            let function = LLVMAddFunction(module, ir::c(name).as_ptr(), ty);
            ir::mark_function(function, "nounwind");
            // No other pointer leads to the frame.
            ir::add_attribute(function, 3, "noalias");
            ir::mark_function(segments.function, "nounwind");
            ir::mark_function(segments.function, "alwaysinline");
            LLVMSetLinkage(segments.function, LLVMLinkage::LLVMInternalLinkage);
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, c"".as_ptr()));
            let arguments = load_arguments(module, builder, function, kernel);
            let of_warp = segments.warp_bytes.map(|bytes| {
                let memory = LLVMArrayType2(LLVMInt8TypeInContext(context), bytes);
                let memory = LLVMBuildAlloca(builder, memory, c"".as_ptr());
                LLVMSetAlignment(memory, 64);
                memory
            });
            let null = std::ptr::null_mut();
            let barrier = (checks != Checks::None && segments.barriers > 0)
                .then(|| EntryCalls::new(module).threaded(Entry::BlockBarrier));
            let mut entry = BlockEntryBuilder {
                module,
                context,
                builder,
                function,
                segments,
                barrier,
                arguments,
                dim: [null; 3],
                threads: null,
                fields: Vec::new(),
                latches: Vec::new(),
                of_warp,
                least_point: null,
            };
            if segments.own_points.is_some() {
                entry.least_point = LLVMBuildAlloca(builder, LLVMInt32TypeInContext(context), c"".as_ptr());
            }
            if segments.parts {
                entry.begin_parting();
            }
            entry.load_context();
            entry.points(kernel);
            if segments.parallel && !segments.needs_context {
                let (latches, count) = (entry.latches.as_mut_ptr(), entry.latches.len() as c_uint);
                gpurace_mark_parallel(segments.function, latches, count);
            }
            LLVMDisposeBuilder(builder);
        }
    }

    /// The address of a field of the thread context.
    unsafe fn in_context(&self, offset: usize) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { ir::at_byte(self.builder, LLVMGetParam(self.function, 0), offset as i64) }
    }

    /// The address of a field that the block frame has for all threads.
    unsafe fn in_frame(&self, offset: usize) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { in_common(self.builder, LLVMGetParam(self.function, 2), offset) }
    }

    /// Adds a basic block.
    pub(super) unsafe fn new_block(&self, name: &CStr) -> LLVMBasicBlockRef {
        // SAFETY: by contract.
        unsafe { LLVMAppendBasicBlockInContext(self.context, self.function, name.as_ptr()) }
    }

    /// Loads the size of the block, and the fields that are equal for all threads.
    unsafe fn load_context(&mut self) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            for axis in 0..3 {
                self.dim[axis] = LLVMBuildLoad2(b, int, self.in_context(offset::NTID + 4 * axis), none);
            }
            let [x, y, z] = self.dim.map(|d| LLVMBuildZExt(b, d, long, none));
            self.threads = LLVMBuildMul(b, LLVMBuildMul(b, x, y, none), z, none);
            for &(offset, ty) in &self.segments.fields {
                let value = LLVMBuildLoad2(b, ty, self.in_context(offset as usize), none);
                self.fields.push(to_number(b, self.context, value));
            }
        }
    }

    /// Builds the loops of all points, and the switch that leads from one to the next.
    unsafe fn points(&mut self, kernel: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let int = LLVMInt32TypeInContext(self.context);
            let (choose, end) = (self.new_block(c"choose"), self.new_block(c"end"));
            self.begin_interval();
            let entry = LLVMGetInsertBlock(b);
            LLVMBuildBr(b, choose);
            LLVMPositionBuilderAtEnd(b, choose);
            let point = LLVMBuildPhi(b, int, none);
            LLVMAddIncoming(point, [LLVMConstInt(int, 0, 0)].as_mut_ptr(), [entry].as_mut_ptr(), 1);
            if self.segments.has_warps() {
                let start = self.new_block(c"warps");
                let ended = LLVMConstInt(int, u64::from(BLOCK_ENDED), 0);
                let ended = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntEQ, point, ended, none);
                LLVMBuildCondBr(b, ended, end, start);
                LLVMPositionBuilderAtEnd(b, start);
                let shared = self.shared();
                self.indices(WARP_SIZE, |entry, first, linear| {
                    let warp = Warp { kernel, first, linear, shared: &shared };
                    if entry.segments.parts {
                        entry.parting_warp(point, warp);
                    } else {
                        entry.warp(point, warp);
                    }
                });
                self.go_on(point, choose);
            } else {
                let switch = LLVMBuildSwitch(b, point, end, self.segments.runs.len() as u32);
                for p in 0..self.segments.runs.len() {
                    let number = self.case(switch, p);
                    let batches = &self.segments.batches[p];
                    let table = (!batches.is_empty()).then(|| self.table(batches));
                    let shared = self.shared();
                    if let Some(functions) = self.segments.affine[p] {
                        self.compute_affine_rows(kernel, number, &functions, &shared);
                    }
                    self.threads_at(kernel, p, &shared);
                    if let Some(table) = table {
                        self.hand_over(table, batches.len());
                    }
                    self.go_on(point, choose);
                }
            }
            LLVMPositionBuilderAtEnd(b, end);
            LLVMBuildRetVoid(b);
            const { assert!(BLOCK_ENDED == u32::MAX, "no point") };
        }
    }

    /// Positions the builder in a new basic block for a point. Returns its number.
    pub(super) unsafe fn case(&self, switch: LLVMValueRef, point: usize) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let start = self.new_block(c"point");
            let number = LLVMConstInt(LLVMInt32TypeInContext(self.context), point as u64, 0);
            LLVMAddCase(switch, number, start);
            LLVMPositionBuilderAtEnd(self.builder, start);
            number
        }
    }

    /// Loads the point that threads have reached.
    pub(super) unsafe fn next(&self) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let int = LLVMInt32TypeInContext(self.context);
            LLVMBuildLoad2(self.builder, int, self.in_frame(offset_of!(FrameCommon, next)), c"".as_ptr())
        }
    }

    /// Goes on where all threads of the block are.
    unsafe fn go_on(&self, point: LLVMValueRef, choose: LLVMBasicBlockRef) {
        // SAFETY: by contract.
        unsafe {
            let next = match self.segments.own_points {
                Some(at) => {
                    let next = self.unless_stuck(self.next_of_living(at));
                    self.tell_skipped(at, next);
                    next
                }
                None => self.next(),
            };
            match self.barrier {
                Some(barrier) => self.at_barrier(barrier, next),
                None => self.begin_interval(),
            }
            let from = LLVMGetInsertBlock(self.builder);
            LLVMAddIncoming(point, [next].as_mut_ptr(), [from].as_mut_ptr(), 1);
            LLVMBuildBr(self.builder, choose);
        }
    }

    /// The table of a point's batches. The frame points to it too, in case a thread does not reach the end
    /// of the segment.
    unsafe fn table(&self, batches: &[FrameBatch]) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let table = batch::table(self.module, batches);
            let count = LLVMConstInt(LLVMInt64TypeInContext(self.context), batches.len() as u64, 0);
            LLVMBuildStore(self.builder, table, self.in_frame(offset_of!(FrameCommon, batches)));
            LLVMBuildStore(self.builder, count, self.in_frame(offset_of!(FrameCommon, batch_count)));
            table
        }
    }

    /// Hands the batches of a table to the checker.
    unsafe fn hand_over(&self, table: LLVMValueRef, count: usize) {
        // SAFETY: by contract.
        unsafe {
            let count = LLVMConstInt(LLVMInt32TypeInContext(self.context), count as u64, 0);
            let function = EntryCalls::new(self.module).threaded(Entry::Batches);
            let (context, frame) = (LLVMGetParam(self.function, 0), LLVMGetParam(self.function, 2));
            ir::call(self.builder, function, &[context, frame, table, count]);
        }
    }

    /// Notes that no thread has made the reads of one thread for all.
    unsafe fn begin_interval(&self) {
        // SAFETY: by contract.
        unsafe {
            let zero = LLVMConstInt(LLVMInt64TypeInContext(self.context), 0, 0);
            for place in segments::marks(self.segments.read_once) {
                LLVMBuildStore(
                    self.builder,
                    zero,
                    self.in_frame(offset_of!(FrameCommon, shared) + 8 * place),
                );
            }
        }
    }

    /// Calls the runtime for a barrier that the threads have reached, unless the block has ended.
    unsafe fn at_barrier(&self, barrier: LLVMValueRef, next: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let (open, on) = (self.new_block(c"barrier"), self.new_block(c""));
            // True at a barrier, false at the end of the block or of a loop.
            let int = LLVMInt32TypeInContext(self.context);
            let barriers = LLVMConstInt(int, self.segments.barriers.into(), 0);
            let number = LLVMBuildSub(b, next, LLVMConstInt(int, 1, 0), none);
            let waits = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntULT, number, barriers, none);
            LLVMBuildCondBr(b, waits, open, on);
            const { assert!(BLOCK_ENDED == u32::MAX, "no barrier's number and 1") };
            LLVMPositionBuilderAtEnd(b, open);
            ir::call(b, barrier, &[LLVMGetParam(self.function, 0)]);
            self.begin_interval();
            LLVMBuildBr(b, on);
            LLVMPositionBuilderAtEnd(b, on);
        }
    }

    /// Loads the values that the threads share at a point, before a thread stores new ones.
    pub(super) unsafe fn shared(&self) -> Vec<LLVMValueRef> {
        // SAFETY: by contract.
        unsafe {
            let long = LLVMInt64TypeInContext(self.context);
            let place = |i| self.in_frame(offset_of!(FrameCommon, shared) + 8 * i);
            let load = |i| LLVMBuildLoad2(self.builder, long, place(i), c"".as_ptr());
            (0..self.segments.shared).map(load).collect()
        }
    }

    /// Calls a function that has the parameters of the segments' function.
    pub(super) unsafe fn call(
        &self,
        function: LLVMValueRef,
        index: [LLVMValueRef; 3],
        linear: LLVMValueRef,
        point: LLVMValueRef,
        of_warp: [LLVMValueRef; 3],
        shared: &[LLVMValueRef],
    ) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let mut arguments = self.arguments.clone();
            arguments.extend(index);
            arguments.extend([linear, self.threads, LLVMGetParam(self.function, 2), point]);
            arguments.extend(of_warp);
            let poison = LLVMGetPoison(LLVMInt64TypeInContext(self.context));
            let or_none = |values: &[LLVMValueRef], i: usize| values.get(i).copied().unwrap_or(poison);
            arguments.extend((0..segments::FIELDS).map(|i| or_none(&self.fields, i)));
            arguments.extend((0..SHARED_VALUES).map(|i| or_none(shared, i)));
            ir::call(self.builder, function, &arguments)
        }
    }

    /// Computes the affine rows of a point.
    unsafe fn compute_affine_rows(
        &mut self,
        kernel: LLVMValueRef,
        point: LLVMValueRef,
        functions: &AffineFunctions,
        shared: &[LLVMValueRef],
    ) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let long = LLVMInt64TypeInContext(self.context);
            let zero = LLVMConstInt(long, 0, 0);
            let poison = LLVMGetPoison(LLVMTypeOf(self.arguments[0]));
            self.call(functions.find, self.dim, zero, point, [zero, poison, poison], shared);
            let hold = LLVMBuildLoad2(b, long, self.in_frame(offset_of!(FrameCommon, lines_hold)), none);
            let hold = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntNE, hold, zero, none);
            let (fill, on) = (self.new_block(c"fill"), self.new_block(c""));
            LLVMBuildCondBr(b, hold, on, fill);
            LLVMPositionBuilderAtEnd(b, fill);
            self.threads(kernel, point, functions.fill, shared);
            LLVMBuildBr(b, on);
            LLVMPositionBuilderAtEnd(b, on);
        }
    }

    /// Builds the loops over the block's threads at a point, at the builder's position. They call a
    /// function that has the parameters of the segments' function.
    unsafe fn threads(
        &mut self,
        kernel: LLVMValueRef,
        point: LLVMValueRef,
        function: LLVMValueRef,
        shared: &[LLVMValueRef],
    ) {
        // SAFETY: by contract.
        unsafe {
            let runs = function == self.segments.function;
            let latches = self.indices(1, |entry, index, linear| {
                if runs && entry.segments.needs_context {
                    entry.set_context(index, linear);
                }
                let poison = [LLVMTypeOf(linear), LLVMTypeOf(entry.arguments[0])].map(|ty| LLVMGetPoison(ty));
                let of_warp = [poison[0], poison[1], poison[1]];
                let call = entry.call(function, index, linear, point, of_warp, shared);
                if runs && entry.segments.copies {
                    copy_by_value(kernel, call);
                }
            });
            if runs {
                self.latches.extend(latches);
            }
        }
    }

    /// Builds loops over the indices of the block's threads. The innermost one goes along x, by steps of so many.
    /// `body` builds its content from an index and the linear index. Returns the loops' last branches.
    unsafe fn indices(
        &mut self,
        step: u32,
        body: impl FnOnce(&mut Self, [LLVMValueRef; 3], LLVMValueRef),
    ) -> [LLVMValueRef; 3] {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            let before = LLVMGetInsertBlock(b);
            let blocks = [(); 3].map(|()| self.new_block(c"threads"));
            let done = [(); 3].map(|()| self.new_block(c""));
            let mut index = [std::ptr::null_mut(); 3];
            let mut outer = before;
            for axis in [2, 1, 0] {
                LLVMBuildBr(b, blocks[axis]);
                LLVMPositionBuilderAtEnd(b, blocks[axis]);
                index[axis] = LLVMBuildPhi(b, int, none);
                LLVMAddIncoming(index[axis], [LLVMConstInt(int, 0, 0)].as_mut_ptr(), [outer].as_mut_ptr(), 1);
                outer = blocks[axis];
            }
            let [x, y, z] = index;
            // LLVM moves computations that are equal for all threads out of the inner loop.
            let wide = |v| LLVMBuildZExt(b, v, long, none);
            let row = LLVMBuildAdd(b, LLVMBuildMul(b, wide(z), wide(self.dim[1]), none), wide(y), none);
            let linear = LLVMBuildAdd(b, LLVMBuildMul(b, row, wide(self.dim[0]), none), wide(x), none);
            body(self, index, linear);
            [0, 1, 2].map(|axis| {
                let step = LLVMConstInt(int, if axis == 0 { step.into() } else { 1 }, 0);
                let next = LLVMBuildNUWAdd(b, index[axis], step, none);
                let more = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntULT, next, self.dim[axis], none);
                let latch = LLVMBuildCondBr(b, more, blocks[axis], done[axis]);
                LLVMAddIncoming(index[axis], [next].as_mut_ptr(), [LLVMGetInsertBlock(b)].as_mut_ptr(), 1);
                LLVMPositionBuilderAtEnd(b, done[axis]);
                latch
            })
        }
    }

    /// Stores the index of a thread in the context.
    pub(super) unsafe fn set_context(&self, index: [LLVMValueRef; 3], linear: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let int = LLVMInt32TypeInContext(self.context);
            let linear = LLVMBuildTrunc(b, linear, int, none);
            let lane = LLVMBuildAnd(b, linear, LLVMConstInt(int, 31, 0), none);
            let warp = LLVMBuildLShr(b, linear, LLVMConstInt(int, 5, 0), none);
            let fields = [
                (offset::TID, index[0]),
                (offset::TID + 4, index[1]),
                (offset::TID + 8, index[2]),
                (offset::LINEAR_TID, linear),
                (offset::LANE, lane),
                (offset::WARP, warp),
            ];
            for (at, value) in fields {
                LLVMBuildStore(b, value, self.in_context(at));
            }
        }
    }
}
