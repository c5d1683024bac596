//! Cuts a kernel at its barriers into segments: a function that runs one thread from one barrier to
//! the next.
//!
//! The code between barriers can run as a loop over the threads (Stratton, Stone, Hwu, "MCUDA",
//! 2008; Jääskeläinen et al., "pocl", 2015): all threads up to the first barrier, then all up to
//! the second. That is right if the block's threads reach each barrier together, which [`BlockUniform`]
//! must show. Other kernels run on the executor's fibers: a barrier behind a branch on a thread's
//! index or on a value from memory is enough, or one behind an early `return` of some threads.
//!
//! The function takes the *point* at which its thread starts: 0, or the number of a barrier. The
//! caller passes a constant and inlines the call, so that each segment becomes code of its own. A
//! value that is needed after a barrier lies in the block's *frame* meanwhile. Values that differ
//! lie side by side for all threads, so that neighbouring threads use neighbouring memory; values
//! that all threads share lie there once. A value that depends only on the thread's index and the
//! arguments is computed again instead. LLVM then still sees how addresses depend on the index.
//!
//! | module | what it does |
//! |---|---|
//! | `context` | fields of the thread context become parameters |
//! | `frame` | places in the frame; local variables move there |
//! | `crossing` | values that are needed after a barrier are computed again or kept in the frame |
//! | `batches` | checks become batches in the frame |

mod batches;
mod context;
mod crossing;
mod frame;

use std::mem::offset_of;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::batch::{BLOCK_ENDED, FrameBatch, FrameCommon, SHARED_VALUES};
use gpurace_abi::entry::Entry;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::affine_rows::AffineFunctions;
use super::entries::Checks;
use crate::analysis::uniform::BlockUniform;
use crate::ir;
use crate::ir::entry_calls::entry_of;

use batches::AffineRows;
pub use context::FIELDS;
pub use frame::in_common;

unsafe extern "C" {
    fn gpurace_clone_function(function: LLVMValueRef) -> LLVMValueRef;
    fn gpurace_split_before(instruction: LLVMValueRef) -> LLVMBasicBlockRef;
}

/// Number of [`ThreadParameter`]s.
pub const THREAD_PARAMETERS: usize = 7;

/// The parameters that the segments' function has after the kernel's.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum ThreadParameter {
    /// Index of the thread in x.
    X = 0,
    /// In y.
    Y = 1,
    /// In z.
    Z = 2,
    /// Linear index of the thread, `i64`.
    Linear = 3,
    /// Number of threads of the block, `i64`.
    Threads = 4,
    /// The block's frame.
    Frame = 5,
    /// The point at which the thread starts.
    Point = 6,
}

/// A kernel that was cut.
#[derive(Debug)]
pub struct Segments {
    /// `void (context, kernel's parameters, x, y, z, linear, threads, frame, point,
    /// fields, shared values)`.
    pub function: LLVMValueRef,
    /// Points: 1, the number of barriers, and the number of loops that are cut.
    pub points: u32,
    /// How many points are barriers; these have the numbers from 1 on.
    pub barriers: u32,
    /// Fields of the thread context that are equal for all threads: offset, type.
    pub fields: Vec<(u64, LLVMTypeRef)>,
    /// Number of values that all threads share, in the frame's common part.
    pub shared: usize,
    /// Bytes of the frame for each thread.
    pub thread_bytes: u64,
    /// The function uses the thread context in other ways too, so the context must name the thread.
    pub needs_context: bool,
    /// No two threads use the same place for variables of their own.
    pub parallel: bool,
    /// For each point, the batches that its threads fill.
    pub batches: Vec<Vec<FrameBatch>>,
    /// For each point, the functions that compute its affine rows.
    pub affine: Vec<Option<AffineFunctions>>,
}

/// Cuts `kernel`, which has the context as first parameter. `None` if its threads may not reach
/// each barrier together, or if something in it cannot be cut.
///
/// # Safety
/// `kernel` is a live definition of `module`.
pub unsafe fn cut(module: LLVMModuleRef, kernel: LLVMValueRef, checks: Checks) -> Option<Segments> {
    // SAFETY: by contract.
    unsafe {
        let with = |loops| {
            let copy = gpurace_clone_function(kernel);
            let mut cutter = Cutter::new(module, copy);
            let done = cutter.cut(checks, loops);
            LLVMDisposeBuilder(cutter.builder);
            if done.is_none() {
                let function = cutter.function;
                LLVMDeleteFunction(function);
            }
            done
        };
        // Loops are cut for rows alone. If that fails, a cut without loops is still useful.
        let cut_loops = checks == Checks::InRows && ablation::is_on(Mechanism::CutLoops);
        cut_loops.then(|| with(true)).flatten().or_else(|| with(false))
    }
}

struct Cutter {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    /// Number of the kernel's own parameters.
    kernel_parameters: usize,
    fields: Vec<(u64, LLVMTypeRef)>,
    /// The basic block that computes values which depend only on parameters.
    start: LLVMBasicBlockRef,
    first: LLVMBasicBlockRef,
    thread_bytes: u64,
}

impl Cutter {
    /// Moves the body of `copy` to a function with the further parameters.
    unsafe fn new(module: LLVMModuleRef, copy: LLVMValueRef) -> Self {
        // SAFETY: by contract; the copy is deleted once its body has moved.
        unsafe {
            let context = ir::context(module);
            let old = ir::params(copy);
            let own = old.len();
            let (int, long) = (LLVMInt32TypeInContext(context), LLVMInt64TypeInContext(context));
            let ptr = LLVMPointerTypeInContext(context, 0);
            let mut types: Vec<_> = old.iter().map(|&p| LLVMTypeOf(p)).collect();
            types.extend([int, int, int, long, long, ptr, int]);
            // Fields and shared values come as 64-bit numbers.
            types.extend([long; FIELDS + SHARED_VALUES]);
            let ty =
                LLVMFunctionType(LLVMVoidTypeInContext(context), types.as_mut_ptr(), types.len() as u32, 0);
            let function = LLVMAddFunction(module, c"".as_ptr(), ty);
            for index in 1..=own as u32 {
                let count = LLVMGetAttributeCountAtIndex(copy, index) as usize;
                let mut attributes = vec![std::ptr::null_mut(); count];
                if count > 0 {
                    LLVMGetAttributesAtIndex(copy, index, attributes.as_mut_ptr());
                }
                attributes.into_iter().for_each(|a| LLVMAddAttributeAtIndex(function, index, a));
            }
            let blocks: Vec<_> = ir::blocks(copy).collect();
            for &block in &blocks {
                LLVMRemoveBasicBlockFromParent(block);
                LLVMAppendExistingBasicBlock(function, block);
            }
            for (from, to) in old.into_iter().zip(ir::params(function)) {
                LLVMReplaceAllUsesWith(from, to);
            }
            LLVMDeleteFunction(copy);
            let first = LLVMGetEntryBasicBlock(function);
            let start = LLVMInsertBasicBlockInContext(context, first, c"start".as_ptr());
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderAtEnd(builder, start);
            LLVMBuildBr(builder, first);
            Self {
                module,
                context,
                builder,
                function,
                kernel_parameters: own,
                fields: Vec::new(),
                start,
                first,
                thread_bytes: 0,
            }
        }
    }

    unsafe fn parameter(&self, which: ThreadParameter) -> LLVMValueRef {
        // SAFETY: the function has these parameters.
        unsafe { LLVMGetParam(self.function, (self.kernel_parameters + which as usize) as u32) }
    }

    /// Positions the builder at the end of the start block.
    unsafe fn at_start(&self) {
        // SAFETY: the start ends with a branch.
        unsafe { LLVMPositionBuilderBefore(self.builder, LLVMGetBasicBlockTerminator(self.start)) }
    }

    unsafe fn cut(&mut self, checks: Checks, loops: bool) -> Option<Segments> {
        // SAFETY: by contract.
        unsafe {
            let mut barriers: Vec<_> =
                ir::instructions(self.function).into_iter().filter(|&i| is_barrier(i)).collect();
            let real = barriers.len();
            let needs_context = self.read_fields()?;
            let parallel = self.place_variables(!barriers.is_empty(), checks)?;
            self.compute_at_start();
            let varying =
                [ThreadParameter::X, ThreadParameter::Y, ThreadParameter::Z, ThreadParameter::Linear]
                    .map(|p| self.parameter(p));
            let uniform = BlockUniform::of(self.module, self.function, &varying);
            if barriers.iter().any(|&b| uniform.is_divergent(LLVMGetInstructionParent(b))) {
                return None;
            }
            if loops && parallel {
                let ends = super::rows::loop_ends(self.function).into_iter();
                barriers.extend(ends.filter(|&end| !uniform.is_divergent(end)).map(|end| self.mark(end)));
            }
            let after: Vec<_> =
                barriers.iter().map(|&b| gpurace_split_before(LLVMGetNextInstruction(b))).collect();
            if self.has_by_value() && !barriers.is_empty() && !self.by_value_is_read_only() {
                return None;
            }
            self.end();
            let crossing = self.crossing(&after, &uniform);
            let affine = if checks == Checks::InRows {
                self.affine_rows(&barriers, &after, &uniform, &crossing)
            } else {
                let functions = vec![None; after.len() + 1];
                AffineRows { functions, ..AffineRows::default() }
            };
            let shared = self.keep_over(&barriers, &after, crossing)?;
            let batches = if checks == Checks::InRows {
                self.batch_checks(&after, &affine.rows)
            } else {
                vec![Vec::new(); after.len() + 1]
            };
            let needs_context = needs_context && self.uses_context();
            // The items of one thread in a buffer come before those of the next.
            let parallel = parallel && !batches.iter().flatten().any(FrameBatch::is_gathered);
            self.dispatch(&after);
            Some(Segments {
                function: self.function,
                points: after.len() as u32 + 1,
                barriers: real as u32,
                fields: std::mem::take(&mut self.fields),
                shared,
                thread_bytes: self.thread_bytes.next_multiple_of(16),
                needs_context,
                parallel,
                batches,
                affine: affine.functions,
            })
        }
    }

    /// Puts a store at the end of a basic block, in the place of a barrier.
    unsafe fn mark(&self, block: LLVMBasicBlockRef) -> LLVMValueRef {
        // SAFETY: by contract; `keep_over` erases it.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, LLVMGetBasicBlockTerminator(block));
            let zero = LLVMConstInt(LLVMInt32TypeInContext(self.context), 0, 0);
            LLVMBuildStore(self.builder, zero, self.parameter(ThreadParameter::Frame))
        }
    }

    /// Lets a thread that returns store that the block has ended.
    unsafe fn end(&mut self) {
        // SAFETY: by contract.
        unsafe {
            let next = self.common_place(offset_of!(FrameCommon, next));
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

    /// Lets the start block go on at the point that the function was given.
    unsafe fn dispatch(&self, after: &[LLVMBasicBlockRef]) {
        // SAFETY: by contract.
        unsafe {
            let int = LLVMInt32TypeInContext(self.context);
            LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(self.start));
            LLVMPositionBuilderAtEnd(self.builder, self.start);
            let switch = LLVMBuildSwitch(
                self.builder,
                self.parameter(ThreadParameter::Point),
                self.first,
                after.len() as u32,
            );
            for (p, &block) in after.iter().enumerate() {
                LLVMAddCase(switch, LLVMConstInt(int, p as u64 + 1, 0), block);
            }
        }
    }
}

/// True for a barrier of the whole block.
///
/// # Safety
/// The instruction is live.
pub unsafe fn is_barrier(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { entry_of(instruction) == Some(Entry::Barrier) }
}

#[cfg(test)]
mod tests;
