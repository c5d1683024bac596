//! Block entries: functions that run all threads of a block. For each segment between two barriers
//! ([`segments`]) they have a loop over the threads, which LLVM can vectorise.
//!
//! Nothing orders the threads of a block between barriers. So in a race-free kernel no iteration of
//! such a loop depends on another one. The loop says so in its metadata, unless the threads share
//! places for their own variables.
//! A racy kernel may for this reason compute other values than it does on fibers.
//!
//! Checked kernels have block entries as well. Each thread in turn runs to the next barrier, as
//! threads with stacks of their own do, so that the checker sees the same accesses in the same
//! order. No thread waits at a barrier there, so the code tells the checker of it between two
//! segments.
//!
//! Two kinds of checked kernels have none. If a kernel with barriers has variables in memory, they
//! would lie in the block frame, where the checker does not know that each belongs to one thread.
//! If single threads switch their checks off (annotations), the runtime knows that only of the
//! thread that runs.

use std::ffi::c_uint;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::context::offset;
use gpurace_abi::entry::Entry;
use gpurace_abi::image::{BLOCK_ENDED, BLOCK_FRAME_COMMON, BLOCK_LINES_HOLD, BLOCK_ROWS};
use gpurace_abi::meta::SyncFeatures;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMIntPredicate, LLVMLinkage, LLVMOpcode};

use crate::analysis::reach::Reach;
use crate::analysis::sync_features;
use crate::blocks::affine_rows::AffineFunctions;
use crate::blocks::batch::Batch;
use crate::blocks::number::to_number;
use crate::blocks::rows;
use crate::blocks::segments::{self, NEXT, Segments};
use crate::ir;
use crate::ir::entry_calls::{EntryCalls, entry_of, entry_of_function};
use crate::ir::parameters::{copy_by_value, load_arguments};

/// Prefix of the symbol of a kernel's entry for whole blocks, without checks.
pub const BLOCK_ENTRY: &str = "gpurace.block_entry.";
/// Prefix of the symbol of a kernel's entry for whole blocks, with checks.
pub const CHECKED_BLOCK_ENTRY: &str = "gpurace.checked_block_entry.";

unsafe extern "C" {
    fn gpurace_mark_parallel(body: LLVMValueRef, latches: *mut LLVMValueRef, count: c_uint);
}

/// How code calls the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Not at all.
    None,
    /// Before each access.
    Kept,
    /// For a batch of accesses where that is possible ([`rows`]), before each other access.
    InRows,
}

/// A kernel with a block entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockKernel {
    /// Its name.
    pub name: String,
    /// Bytes of the frame for each thread.
    pub thread_bytes: u64,
    /// The block entry keeps the index of the running thread in the context.
    pub sets_threads: bool,
}

/// A kernel that may get a block entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockEntryCandidate {
    /// Its name.
    pub name: String,
    /// How its accesses are checked there.
    pub checks: Checks,
}

/// Returns the kernels whose threads wait for others only at barriers of the whole block, and only
/// in the kernel itself.
///
/// # Safety
/// `kernels` are live, not threaded yet, and `reach` is theirs.
pub unsafe fn candidates(
    kernels: &[(LLVMValueRef, u32)],
    reach: &[Reach],
    checks: Checks,
) -> Vec<BlockEntryCandidate> {
    let mut found = Vec::new();
    // The runtime knows for the running thread alone whether its accesses are checked, not for one
    // that waits at a barrier.
    let by_thread = |call| {
        // SAFETY: by contract.
        checks == Checks::Kept && unsafe { entry_of(call) } == Some(Entry::Ignore)
    };
    // SAFETY: by contract.
    unsafe {
        for (&(kernel, _), reach) in kernels.iter().zip(reach) {
            let mut features = SyncFeatures::default();
            // Atomic accesses stay calls. Those that order nothing may reach the checker before
            // accesses that precede them.
            let orders = reach.features.fences || reach.features.observes;
            let mut in_rows = true;
            for &function in reach.functions.iter().filter(|&&f| LLVMIsDeclaration(f) == 0) {
                for i in ir::instructions(function) {
                    let is_call = ir::opcode(i) == LLVMOpcode::LLVMCall;
                    if is_call && !(function == kernel && is_block_barrier(i)) {
                        sync_features::add_features(i, &mut features);
                        features.suspends |= by_thread(i);
                        in_rows &= ir::callee(i).is_some_and(|f| {
                            entry_of_function(f)
                                .is_none_or(|entry| rows::allows(entry) || !orders && rows::is_atomic(entry))
                        });
                    }
                }
            }
            if !features.suspends {
                let in_rows = in_rows && ablation::is_on(Mechanism::Rows);
                let checks = if checks == Checks::Kept && in_rows { Checks::InRows } else { checks };
                found.push(BlockEntryCandidate { name: ir::name(kernel), checks });
            }
        }
    }
    found
}

unsafe fn is_block_barrier(call: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        segments::is_barrier(call)
            && (0..2).all(|i| {
                let operand = LLVMGetOperand(call, i);
                !LLVMIsAConstantInt(operand).is_null() && LLVMConstIntGetZExtValue(operand) == 0
            })
    }
}

/// Adds a block entry for each kernel that can be cut.
///
/// # Safety
/// `module` is live and threaded; the kernels are its, from [`candidates`].
pub unsafe fn add_entries(module: LLVMModuleRef, kernels: &[BlockEntryCandidate]) -> Vec<BlockKernel> {
    let mut found = Vec::new();
    // SAFETY: by contract.
    unsafe {
        for &BlockEntryCandidate { ref name, checks } in kernels {
            let prefix = match checks {
                Checks::None => BLOCK_ENTRY,
                Checks::Kept | Checks::InRows => CHECKED_BLOCK_ENTRY,
            };
            let kernel = LLVMGetNamedFunction(module, ir::c(name).as_ptr());
            if let Some(segments) = segments::cut(module, kernel, checks) {
                BlockEntryBuilder::build(module, kernel, &segments, checks, &format!("{prefix}{name}"));
                found.push(BlockKernel {
                    name: name.clone(),
                    thread_bytes: segments.thread_bytes,
                    sets_threads: segments.needs_context,
                });
            }
        }
    }
    found
}

/// Builds a block entry: `void entry(ptr context, ptr arguments, ptr frame)`.
struct BlockEntryBuilder<'a> {
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
}

impl BlockEntryBuilder<'_> {
    unsafe fn build(
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
            let attribute = |function, index, name: &str| {
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                LLVMAddAttributeAtIndex(function, index, LLVMCreateEnumAttribute(context, kind, 0));
            };
            attribute(function, LLVMAttributeFunctionIndex, "nounwind");
            // No other pointer leads to the frame.
            attribute(function, 3, "noalias");
            attribute(segments.function, LLVMAttributeFunctionIndex, "nounwind");
            attribute(segments.function, LLVMAttributeFunctionIndex, "alwaysinline");
            LLVMSetLinkage(segments.function, LLVMLinkage::LLVMInternalLinkage);
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, c"".as_ptr()));
            let arguments = load_arguments(module, builder, function, kernel);
            let null = std::ptr::null_mut();
            let barrier = (checks != Checks::None && segments.barriers > 0)
                .then(|| entry_point(module, Entry::BlockBarrier));
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
            };
            entry.load_context();
            entry.points(kernel);
            if segments.parallel && !segments.needs_context {
                gpurace_mark_parallel(
                    segments.function,
                    entry.latches.as_mut_ptr(),
                    entry.latches.len() as c_uint,
                );
            }
            LLVMDisposeBuilder(builder);
        }
    }

    unsafe fn at(&self, base: LLVMValueRef, offset: i64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let byte = LLVMInt8TypeInContext(self.context);
            let offset = LLVMConstInt(LLVMInt64TypeInContext(self.context), offset as u64, 1);
            LLVMBuildInBoundsGEP2(self.builder, byte, base, [offset].as_mut_ptr(), 1, c"".as_ptr())
        }
    }

    unsafe fn load_context(&mut self) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let thread = LLVMGetParam(self.function, 0);
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            for axis in 0..3 {
                self.dim[axis] =
                    LLVMBuildLoad2(b, int, self.at(thread, (offset::NTID + 4 * axis) as i64), none);
            }
            let [x, y, z] = self.dim.map(|d| LLVMBuildZExt(b, d, long, none));
            self.threads = LLVMBuildMul(b, LLVMBuildMul(b, x, y, none), z, none);
            for &(offset, ty) in &self.segments.fields {
                let value = LLVMBuildLoad2(b, ty, self.at(thread, offset as i64), none);
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
            let block = |name: &std::ffi::CStr| {
                LLVMAppendBasicBlockInContext(self.context, self.function, name.as_ptr())
            };
            let (choose, end) = (block(c"choose"), block(c"end"));
            let entry = LLVMGetInsertBlock(b);
            LLVMBuildBr(b, choose);
            LLVMPositionBuilderAtEnd(b, choose);
            let point = LLVMBuildPhi(b, int, none);
            let mut from = vec![(LLVMConstInt(int, 0, 0), entry)];
            let switch = LLVMBuildSwitch(b, point, end, self.segments.points);
            for p in 0..self.segments.points {
                let start = LLVMAppendBasicBlockInContext(self.context, self.function, c"point".as_ptr());
                let number = LLVMConstInt(int, u64::from(p), 0);
                LLVMAddCase(switch, number, start);
                LLVMPositionBuilderAtEnd(b, start);
                let batches = &self.segments.batches[p as usize];
                let table = (!batches.is_empty()).then(|| self.table(batches));
                let shared = self.shared();
                if let Some(functions) = self.segments.affine[p as usize] {
                    self.compute_affine_rows(kernel, number, &functions, &shared);
                }
                self.threads(kernel, number, self.segments.function, &shared);
                if let Some(table) = table {
                    self.hand_over(table, batches.len());
                }
                let next = LLVMBuildLoad2(
                    b,
                    int,
                    self.at(LLVMGetParam(self.function, 2), NEXT as i64 - BLOCK_FRAME_COMMON as i64),
                    none,
                );
                if let Some(barrier) = self.barrier {
                    self.at_barrier(barrier, next);
                }
                from.push((next, LLVMGetInsertBlock(b)));
                LLVMBuildBr(b, choose);
            }
            for (value, block) in from {
                LLVMAddIncoming(point, [value].as_mut_ptr(), [block].as_mut_ptr(), 1);
            }
            LLVMPositionBuilderAtEnd(b, end);
            LLVMBuildRetVoid(b);
            const { assert!(BLOCK_ENDED == u32::MAX, "no point") };
        }
    }

    /// The table of a point's batches. The frame names it, too, for a segment that a thread does
    /// not run to its end.
    unsafe fn table(&self, batches: &[Batch]) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            let n = |ty, n| LLVMConstInt(ty, n, 0);
            let items: Vec<_> = batches
                .iter()
                .map(|batch| {
                    let s = batch.table_entry();
                    let mut fields = [
                        n(long, s.items),
                        n(long, s.values),
                        n(long, s.before),
                        n(long, s.active),
                        n(long, s.lines),
                        n(int, s.site.into()),
                        n(int, s.kind.into()),
                    ];
                    LLVMConstStructInContext(self.context, fields.as_mut_ptr(), fields.len() as c_uint, 0)
                })
                .collect();
            let ty = LLVMTypeOf(items[0]);
            let table = LLVMConstArray2(ty, items.as_ptr().cast_mut(), items.len() as u64);
            let global = LLVMAddGlobal(self.module, LLVMTypeOf(table), c"".as_ptr());
            LLVMSetInitializer(global, table);
            LLVMSetGlobalConstant(global, 1);
            LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
            let place =
                |at: u64| self.at(LLVMGetParam(self.function, 2), at as i64 - BLOCK_FRAME_COMMON as i64);
            LLVMBuildStore(self.builder, global, place(BLOCK_ROWS));
            LLVMBuildStore(self.builder, n(long, batches.len() as u64), place(BLOCK_ROWS + 8));
            global
        }
    }

    /// Hands the batches of a table to the checker.
    unsafe fn hand_over(&self, table: LLVMValueRef, count: usize) {
        // SAFETY: by contract.
        unsafe {
            let count = LLVMConstInt(LLVMInt32TypeInContext(self.context), count as u64, 0);
            let function = entry_point(self.module, Entry::Rows);
            let mut arguments =
                [LLVMGetParam(self.function, 0), LLVMGetParam(self.function, 2), table, count];
            LLVMBuildCall2(
                self.builder,
                LLVMGlobalGetValueType(function),
                function,
                arguments.as_mut_ptr(),
                4,
                c"".as_ptr(),
            );
        }
    }

    /// Calls the runtime for a barrier that the threads have reached, unless the block has ended.
    unsafe fn at_barrier(&self, barrier: LLVMValueRef, next: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let [open, on] = [c"barrier", c""]
                .map(|name| LLVMAppendBasicBlockInContext(self.context, self.function, name.as_ptr()));
            // Neither the end of the block nor the end of a loop.
            let int = LLVMInt32TypeInContext(self.context);
            let barriers = LLVMConstInt(int, self.segments.barriers.into(), 0);
            let number = LLVMBuildSub(b, next, LLVMConstInt(int, 1, 0), none);
            let waits = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntULT, number, barriers, none);
            LLVMBuildCondBr(b, waits, open, on);
            const { assert!(BLOCK_ENDED == u32::MAX, "no barrier's number and 1") };
            LLVMPositionBuilderAtEnd(b, open);
            LLVMBuildCall2(
                b,
                LLVMGlobalGetValueType(barrier),
                barrier,
                [LLVMGetParam(self.function, 0)].as_mut_ptr(),
                1,
                none,
            );
            LLVMBuildBr(b, on);
            LLVMPositionBuilderAtEnd(b, on);
        }
    }

    /// Loads the values that the threads share at a point, before a thread stores new ones.
    unsafe fn shared(&self) -> Vec<LLVMValueRef> {
        // SAFETY: by contract.
        unsafe {
            let (long, frame) = (LLVMInt64TypeInContext(self.context), LLVMGetParam(self.function, 2));
            let place = |offset| self.at(frame, offset as i64 - BLOCK_FRAME_COMMON as i64);
            self.segments
                .shared
                .iter()
                .map(|slot| LLVMBuildLoad2(self.builder, long, place(slot.offset), c"".as_ptr()))
                .collect()
        }
    }

    /// Calls a function that has the parameters of the segments' function.
    unsafe fn call(
        &self,
        function: LLVMValueRef,
        index: [LLVMValueRef; 3],
        linear: LLVMValueRef,
        point: LLVMValueRef,
        shared: &[LLVMValueRef],
    ) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let mut arguments = self.arguments.clone();
            arguments.extend(index);
            arguments.extend([linear, self.threads, LLVMGetParam(self.function, 2), point]);
            let poison = LLVMGetPoison(LLVMInt64TypeInContext(self.context));
            let or_none = |values: &[LLVMValueRef], i: usize| values.get(i).copied().unwrap_or(poison);
            arguments.extend((0..segments::FIELDS).map(|i| or_none(&self.fields, i)));
            arguments.extend((0..segments::SHARED).map(|i| or_none(shared, i)));
            LLVMBuildCall2(
                self.builder,
                LLVMGlobalGetValueType(function),
                function,
                arguments.as_mut_ptr(),
                arguments.len() as c_uint,
                c"".as_ptr(),
            )
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
            let (b, long) = (self.builder, LLVMInt64TypeInContext(self.context));
            self.call(functions.find, self.dim, LLVMConstInt(long, 0, 0), point, shared);
            let place =
                self.at(LLVMGetParam(self.function, 2), BLOCK_LINES_HOLD as i64 - BLOCK_FRAME_COMMON as i64);
            let hold = LLVMBuildLoad2(b, long, place, c"".as_ptr());
            let hold =
                LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntNE, hold, LLVMConstInt(long, 0, 0), c"".as_ptr());
            let [fill, on] = [c"fill", c""]
                .map(|name| LLVMAppendBasicBlockInContext(self.context, self.function, name.as_ptr()));
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
            let (b, none) = (self.builder, c"".as_ptr());
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            let runs = function == self.segments.function;
            let before = LLVMGetInsertBlock(b);
            let body: Vec<_> = (0..3)
                .map(|_| LLVMAppendBasicBlockInContext(self.context, self.function, c"threads".as_ptr()))
                .collect();
            let done: Vec<_> = (0..3)
                .map(|_| LLVMAppendBasicBlockInContext(self.context, self.function, c"".as_ptr()))
                .collect();
            let mut index = [std::ptr::null_mut(); 3];
            let mut outer = before;
            for axis in [2, 1, 0] {
                LLVMBuildBr(b, body[axis]);
                LLVMPositionBuilderAtEnd(b, body[axis]);
                index[axis] = LLVMBuildPhi(b, int, none);
                LLVMAddIncoming(index[axis], [LLVMConstInt(int, 0, 0)].as_mut_ptr(), [outer].as_mut_ptr(), 1);
                outer = body[axis];
            }
            let [x, y, z] = index;
            // LLVM moves out of the inner loop what is equal for all of its threads.
            let wide = |v| LLVMBuildZExt(b, v, long, none);
            let row = LLVMBuildAdd(b, LLVMBuildMul(b, wide(z), wide(self.dim[1]), none), wide(y), none);
            let linear = LLVMBuildAdd(b, LLVMBuildMul(b, row, wide(self.dim[0]), none), wide(x), none);
            if runs && self.segments.needs_context {
                self.set_context([x, y, z], linear);
            }
            let call = self.call(function, [x, y, z], linear, point, shared);
            if runs {
                copy_by_value(kernel, call);
            }
            for axis in 0..3 {
                let next = LLVMBuildNUWAdd(b, index[axis], LLVMConstInt(int, 1, 0), none);
                let more = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntULT, next, self.dim[axis], none);
                let latch = LLVMBuildCondBr(b, more, body[axis], done[axis]);
                LLVMAddIncoming(index[axis], [next].as_mut_ptr(), [LLVMGetInsertBlock(b)].as_mut_ptr(), 1);
                if runs {
                    self.latches.push(latch);
                }
                LLVMPositionBuilderAtEnd(b, done[axis]);
            }
        }
    }

    /// Stores the index of a thread in the context.
    unsafe fn set_context(&self, index: [LLVMValueRef; 3], linear: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let int = LLVMInt32TypeInContext(self.context);
            let thread = LLVMGetParam(self.function, 0);
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
                LLVMBuildStore(b, value, self.at(thread, at as i64));
            }
        }
    }
}

/// Declares an entry point with the context as first parameter.
unsafe fn entry_point(module: LLVMModuleRef, entry: Entry) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let symbol = ir::c(entry.symbol());
        let known = LLVMGetNamedFunction(module, symbol.as_ptr());
        if !known.is_null() {
            return known;
        }
        let ty = EntryCalls::new(module).function_type(entry, true);
        LLVMAddFunction(module, symbol.as_ptr(), ty)
    }
}
