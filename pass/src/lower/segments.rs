//! Cuts a kernel at its barriers, into a function that runs one thread from one
//! barrier to the next.
//!
//! Thread-parallel code between barriers can be run as a loop over the threads
//! (Stratton, Stone, Hwu, "MCUDA", 2008; Jääskeläinen et al., "pocl", 2015): all
//! threads up to the first barrier, then all up to the second. This holds where the
//! block's threads come to each barrier together, which [`Uniform`] must show;
//! anything else is left to the executor's coroutines.
//!
//! The function takes the *point* that its thread starts from: 0, or a barrier's
//! number. The caller passes it as a constant and inlines, so that each segment is
//! code of its own. What is still needed after a barrier lies meanwhile in the
//! block's *frame*: values of which each thread has its own side by side for all
//! threads, so that neighbouring threads use neighbouring memory; values that all
//! threads share once. What only depends on the thread's index and the arguments is
//! computed again instead.
//!
//! | module | what it does |
//! |---|---|
//! | `context` | what is read of the thread's context becomes parameters |
//! | `frame` | places in the frame; the thread's variables move there |
//! | `crossing` | what is needed after a barrier is computed again, or kept in the frame |
//! | `rows` | checks become addresses left in the frame |

mod context;
mod crossing;
mod frame;
mod rows;

use gpurace_abi::image::{BLOCK_ENDED, BLOCK_LINES_HOLD, RowSite};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::blocks::Checks;
use super::lines::Before;
use super::uniform::Uniform;
use crate::ir;

pub use context::FIELDS;
pub use crossing::SHARED;
pub use frame::{NEXT, Slot};

unsafe extern "C" {
    fn gpurace_clone_function(function: LLVMValueRef) -> LLVMValueRef;
    fn gpurace_split_before(instruction: LLVMValueRef) -> LLVMBasicBlockRef;
}

/// Parameters after the kernel's: see [`Own`].
pub const OWN: usize = 7;

/// What the function's own parameters say, after the kernel's.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Own {
    /// Index of the thread.
    X = 0,
    /// The same.
    Y = 1,
    /// The same.
    Z = 2,
    /// Linear index of the thread, `i64`.
    Linear = 3,
    /// Threads of the block, `i64`.
    Threads = 4,
    /// The block's frame.
    Frame = 5,
    /// The point.
    Point = 6,
}

/// A kernel, cut.
#[derive(Debug)]
pub struct Segments {
    /// `void (context, kernel's parameters, x, y, z, linear, threads, frame, point,
    /// fields, shared values)`.
    pub function: LLVMValueRef,
    /// Points: 1, the number of barriers, and the number of loops that are cut.
    pub points: u32,
    /// How many of them are barriers: those from 1 on.
    pub barriers: u32,
    /// Fields of the context that are equal for all threads: offset, type.
    pub fields: Vec<(u64, LLVMTypeRef)>,
    /// Values that all threads share: in the frame's common part.
    pub shared: Vec<Slot>,
    /// Bytes of the frame for each thread.
    pub thread_bytes: u64,
    /// The context is used otherwise than to read those fields: it must be the thread's.
    pub needs_context: bool,
    /// No thread has variables of its own that the threads would share a place for.
    pub parallel: bool,
    /// By point, the accesses whose threads leave their addresses in the frame.
    pub rows: Vec<Vec<RowSite>>,
    /// By point, what comes before its threads.
    pub before: Vec<Option<Before>>,
}

/// Cuts `kernel`, which has the context as first parameter. `None` where its threads
/// may come to a barrier apart, or it has what cannot be cut.
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
        // Loops are cut for the sake of rows alone: without is better than not at all.
        (checks == Checks::InRows).then(|| with(true)).flatten().or_else(|| with(false))
    }
}

struct Cutter {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    /// Index of the first parameter that is not the kernel's.
    own: usize,
    fields: Vec<(u64, LLVMTypeRef)>,
    /// Stands where what is computed from parameters alone ends.
    start: LLVMBasicBlockRef,
    first: LLVMBasicBlockRef,
    common_bytes: u64,
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
            types.extend([long; FIELDS + SHARED]);
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
                own,
                fields: Vec::new(),
                start,
                first,
                common_bytes: BLOCK_LINES_HOLD + 8,
                thread_bytes: 0,
            }
        }
    }

    unsafe fn own(&self, which: Own) -> LLVMValueRef {
        // SAFETY: the function has these parameters.
        unsafe { LLVMGetParam(self.function, (self.own + which as usize) as u32) }
    }

    /// Positions the builder at the end of what is computed at the start.
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
            let varying = [Own::X, Own::Y, Own::Z, Own::Linear].map(|p| self.own(p));
            let uniform = Uniform::of(self.function, &varying);
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
            let known = if checks == Checks::InRows {
                self.lines(&barriers, &after, &uniform, &crossing)
            } else {
                rows::Known::default()
            };
            let shared = self.keep_over(&barriers, &after, crossing)?;
            let rows = if checks == Checks::InRows {
                self.keep_rows(&after, &known.lines)
            } else {
                vec![Vec::new(); after.len() + 1]
            };
            let before = if checks == Checks::InRows { known.before } else { vec![None; after.len() + 1] };
            let needs_context = needs_context && self.uses_context();
            // What one thread leaves in a pool the next one's stands behind.
            let parallel = parallel && !rows.iter().flatten().any(RowSite::is_pool);
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
                rows,
                before,
            })
        }
    }

    /// Stands for a barrier at the end of a block.
    unsafe fn mark(&self, block: LLVMBasicBlockRef) -> LLVMValueRef {
        // SAFETY: by contract; `keep_over` erases it.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, LLVMGetBasicBlockTerminator(block));
            let place = LLVMGetParam(self.function, (self.own + Own::Frame as usize) as u32);
            LLVMBuildStore(self.builder, LLVMConstInt(LLVMInt32TypeInContext(self.context), 0, 0), place)
        }
    }

    /// A thread that returns has come to the block's end.
    unsafe fn end(&mut self) {
        // SAFETY: by contract.
        unsafe {
            let next = self.common_place(NEXT);
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

    /// The start goes on at the point that the function was given.
    unsafe fn dispatch(&self, after: &[LLVMBasicBlockRef]) {
        // SAFETY: by contract.
        unsafe {
            let int = LLVMInt32TypeInContext(self.context);
            LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(self.start));
            LLVMPositionBuilderAtEnd(self.builder, self.start);
            let switch = LLVMBuildSwitch(self.builder, self.own(Own::Point), self.first, after.len() as u32);
            for (p, &block) in after.iter().enumerate() {
                LLVMAddCase(switch, LLVMConstInt(int, p as u64 + 1, 0), block);
            }
        }
    }
}

/// Whether an instruction is a barrier of the whole block.
///
/// # Safety
/// The instruction is live.
pub unsafe fn is_barrier(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::opcode(instruction) == LLVMOpcode::LLVMCall
            && ir::callee(instruction).is_some_and(|f| ir::name(f) == "__gpurace_barrier")
    }
}

#[cfg(test)]
mod tests;
