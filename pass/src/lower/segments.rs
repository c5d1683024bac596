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

use std::collections::{HashMap, HashSet};

use gpurace_abi::context::offset;
use gpurace_abi::image::{BLOCK_ENDED, BLOCK_FRAME_COMMON, BLOCK_LINES, BLOCK_LINES_HOLD, MOST_ROWS, RowSite};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::blocks::Checks;
use super::lines::{self, Before, Segment, Source};
use super::rows::{self, Items, Kept, Leaves};
use super::streams::{self, Pool, Stream};
use super::uniform::Uniform;
use crate::ir;

unsafe extern "C" {
    fn gpurace_clone_function(function: LLVMValueRef) -> LLVMValueRef;
    fn gpurace_split_before(instruction: LLVMValueRef) -> LLVMBasicBlockRef;
    fn gpurace_demote(instruction: LLVMValueRef) -> LLVMValueRef;
}

/// Offset in the frame's common part of the point that the block comes to next.
pub const NEXT: u64 = 0;
/// Parameters after the kernel's: see [`Own`].
pub const OWN: usize = 7;
/// Fields of the thread context that differ from thread to thread.
const TID: [usize; 3] = [offset::TID, offset::TID + 4, offset::TID + 8];
const _: () = assert!(offset::LANE == offset::LINEAR_TID + 4 && offset::WARP == offset::LINEAR_TID + 8);

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

/// A place in the frame.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Offset in the common part; in each thread's, to be multiplied by the number of threads.
    pub offset: u64,
    /// What it holds.
    pub ty: LLVMTypeRef,
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

/// A value that is needed after a barrier.
struct Crossing {
    value: LLVMValueRef,
    /// Which of the values that all threads share it is, if it is one.
    shared: Option<usize>,
    /// After which barriers.
    points: Vec<usize>,
}

/// Most fields of the context that a kernel reads, and most values that all
/// threads share: places for them are made before they are known.
pub const FIELDS: usize = 16;
/// Places at which pools are handed over before writes, at most.
const MOST_HANDED_OVER: usize = 512;
/// See [`FIELDS`].
pub const SHARED: usize = 24;

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
            let ty = LLVMFunctionType(LLVMVoidTypeInContext(context), types.as_mut_ptr(), types.len() as u32, 0);
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
            Self { module, context, builder, function, own, fields: Vec::new(), start, first, common_bytes: BLOCK_LINES_HOLD + 8, thread_bytes: 0 }
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
            let mut barriers: Vec<_> = ir::instructions(self.function).into_iter().filter(|&i| is_barrier(i)).collect();
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
                let ends = rows::loop_ends(self.function).into_iter();
                barriers.extend(ends.filter(|&end| !uniform.is_divergent(end)).map(|end| self.mark(end)));
            }
            let after: Vec<_> = barriers.iter().map(|&b| gpurace_split_before(LLVMGetNextInstruction(b))).collect();
            if self.has_by_value() && !barriers.is_empty() && !self.by_value_is_read_only() {
                return None;
            }
            self.end();
            let crossing = self.crossing(&after, &uniform);
            let known = if checks == Checks::InRows { self.lines(&barriers, &after, &uniform, &crossing) } else { Known::default() };
            let shared = self.keep_over(&barriers, &after, crossing)?;
            let rows = if checks == Checks::InRows { self.keep_rows(&after, &known.lines) } else { vec![Vec::new(); after.len() + 1] };
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

    /// Puts parameters in the place of what is read of the context. Whether it is
    /// used otherwise; `None` where there are too many fields.
    unsafe fn read_fields(&mut self) -> Option<bool> {
        // SAFETY: by contract; each load is erased once.
        unsafe {
            let context = LLVMGetParam(self.function, 0);
            let mut otherwise = false;
            for user in users(context) {
                if is_barrier(user) {
                    continue;
                }
                let (pointers, at) = match ir::opcode(user) {
                    LLVMOpcode::LLVMLoad => (vec![user], Some(0)),
                    LLVMOpcode::LLVMGetElementPtr => (users(user), self.constant_offset(user)),
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

    /// The byte that an address of the context's addresses.
    unsafe fn constant_offset(&self, address: LLVMValueRef) -> Option<u64> {
        // SAFETY: by contract.
        unsafe {
            let operands = ir::operands(address);
            let byte = LLVMGetGEPSourceElementType(address) == LLVMInt8TypeInContext(self.context);
            let [_, index] = operands[..] else { return None };
            (byte && !LLVMIsAConstantInt(index).is_null()).then(|| LLVMConstIntGetZExtValue(index))
        }
    }

    /// The value of a field of the context.
    unsafe fn field(&mut self, load: LLVMValueRef, at: u64) -> Option<LLVMValueRef> {
        // SAFETY: by contract.
        unsafe {
            let ty = LLVMTypeOf(load);
            let int = LLVMInt32TypeInContext(self.context);
            self.at_start();
            let linear = || LLVMBuildTrunc(self.builder, self.own(Own::Linear), int, c"".as_ptr());
            let at = at as usize;
            if let Some(axis) = TID.iter().position(|&t| t == at) {
                let own = [Own::X, Own::Y, Own::Z][axis];
                return (ty == int).then(|| self.own(own));
            }
            if [offset::LINEAR_TID, offset::LANE, offset::WARP].contains(&at) {
                if ty != int {
                    return None;
                }
                let linear = linear();
                return Some(match at {
                    offset::LANE => LLVMBuildAnd(self.builder, linear, LLVMConstInt(int, 31, 0), c"".as_ptr()),
                    offset::WARP => LLVMBuildLShr(self.builder, linear, LLVMConstInt(int, 5, 0), c"".as_ptr()),
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
            let number = LLVMGetParam(self.function, (self.own + OWN + index) as u32);
            Some(from_number(self.builder, self.context, number, ty))
        }
    }

    /// Moves the thread's variables to the frame, where barriers stand between their
    /// uses. Whether threads share no place; `None` where one has no fixed size.
    unsafe fn place_variables(&mut self, barriers: bool, checks: Checks) -> Option<bool> {
        // SAFETY: by contract.
        unsafe {
            let variables: Vec<_> =
                ir::instructions(self.function).into_iter().filter(|&i| ir::opcode(i) == LLVMOpcode::LLVMAlloca).collect();
            let fixed = |&v: &LLVMValueRef| {
                LLVMIsAConstantInt(LLVMGetOperand(v, 0)) != std::ptr::null_mut()
                    && LLVMGetInstructionParent(v) == self.first
            };
            if !variables.iter().all(fixed) {
                return None;
            }
            if !barriers {
                return Some(variables.is_empty() && !self.has_by_value());
            }
            // To the checker the frame is not the threads' own memory.
            if checks != Checks::None && !variables.is_empty() {
                return None;
            }
            for variable in variables {
                for user in users(variable) {
                    let lifetime = ir::opcode(user) == LLVMOpcode::LLVMCall
                        && ir::callee(user).is_some_and(|f| ir::name(f).starts_with("llvm.lifetime"));
                    if lifetime {
                        LLVMInstructionEraseFromParent(user);
                    }
                }
                let count = LLVMConstIntGetZExtValue(LLVMGetOperand(variable, 0));
                let size = count * ir::alloc_size(self.module, LLVMGetAllocatedType(variable));
                // Each thread's is as large as its alignment asks, so that the next one's is aligned, too.
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

    /// The address of the thread's own place of these bytes, computed at the start.
    unsafe fn thread_place(&mut self, size: u64, alignment: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let array = self.array(size, alignment);
            let (b, long) = (self.builder, LLVMInt64TypeInContext(self.context));
            let own = LLVMBuildMul(b, self.own(Own::Linear), LLVMConstInt(long, size, 0), c"".as_ptr());
            self.address(array, own)
        }
    }

    /// The address of the first thread's place of these bytes, which the others' follow.
    unsafe fn array(&mut self, size: u64, alignment: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let at = self.thread_bytes.next_multiple_of(alignment);
            self.thread_bytes = at + size;
            self.at_start();
            let (b, long) = (self.builder, LLVMInt64TypeInContext(self.context));
            // The threads' part of the frame comes first in memory.
            let array = LLVMBuildMul(b, self.own(Own::Threads), LLVMConstInt(long, at, 0), c"".as_ptr());
            self.address(self.own(Own::Frame), array)
        }
    }

    /// The address of a place that all threads share: below the frame's start.
    unsafe fn common_place(&mut self, offset: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let long = LLVMInt64TypeInContext(self.context);
            self.at_start();
            self.address(self.own(Own::Frame), LLVMConstInt(long, offset.wrapping_sub(BLOCK_FRAME_COMMON), 1))
        }
    }

    unsafe fn address(&self, base: LLVMValueRef, offset: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let byte = LLVMInt8TypeInContext(self.context);
            LLVMBuildInBoundsGEP2(self.builder, byte, base, [offset].as_mut_ptr(), 1, c"".as_ptr())
        }
    }

    unsafe fn has_by_value(&self) -> bool {
        // SAFETY: by contract.
        unsafe { (0..self.own as u32).any(|i| self.is_by_value(i)) }
    }

    /// Whether a parameter is a struct that the caller copies.
    unsafe fn is_by_value(&self, index: u32) -> bool {
        // SAFETY: by contract.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(c"byval".as_ptr(), 5);
            !LLVMGetEnumAttributeAtIndex(self.function, index + 1, kind).is_null()
        }
    }

    unsafe fn by_value_is_read_only(&self) -> bool {
        // SAFETY: by contract.
        unsafe {
            let mut pending: Vec<_> = (0..self.own as u32)
                .filter(|&i| self.is_by_value(i))
                .map(|i| LLVMGetParam(self.function, i))
                .collect();
            let mut seen = HashSet::new();
            while let Some(pointer) = pending.pop() {
                for user in users(pointer) {
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

    /// Moves to the start what is computed from parameters alone and harms nobody
    /// where it is computed in vain.
    unsafe fn compute_at_start(&self) {
        // SAFETY: by contract; an instruction moves after its operands.
        unsafe {
            let mut moved = true;
            while moved {
                moved = false;
                for i in ir::instructions(self.function) {
                    if LLVMGetInstructionParent(i) == self.start || !is_harmless(i) {
                        continue;
                    }
                    let ready = ir::operands(i).into_iter().all(|o| {
                        LLVMIsAInstruction(o).is_null() || LLVMGetInstructionParent(o) == self.start
                    });
                    if ready {
                        LLVMInstructionRemoveFromParent(i);
                        self.at_start();
                        LLVMInsertIntoBuilder(self.builder, i);
                        moved = true;
                    }
                }
            }
        }
    }

    /// Puts what is needed after a barrier into the frame, and cuts there. The
    /// places of values that all threads share; `None` where there are too many.
    unsafe fn keep_over(
        &mut self,
        barriers: &[LLVMValueRef],
        after: &[LLVMBasicBlockRef],
        crossing: Vec<Crossing>,
    ) -> Option<Vec<Slot>> {
        // SAFETY: by contract.
        unsafe {
            let mut shared = Vec::new();
            let mut kept = vec![Vec::new(); after.len()];
            for c in crossing {
                let ty = LLVMTypeOf(c.value);
                let variable = gpurace_demote(c.value);
                if variable.is_null() {
                    return None;
                }
                let place = if let Some(number) = c.shared {
                    let offset = self.common_bytes;
                    self.common_bytes += 8;
                    if self.common_bytes > BLOCK_LINES {
                        return None;
                    }
                    shared.push(Slot { offset, ty });
                    (self.common_place(offset), Some(number))
                } else {
                    let size = ir::alloc_size(self.module, ty);
                    let alignment = u64::from(ir::abi_alignment(self.module, ty)).clamp(1, 16);
                    (self.thread_place(size.next_multiple_of(alignment), alignment), None)
                };
                for &p in &c.points {
                    kept[p].push((variable, ty, place));
                }
            }
            let next = self.common_place(NEXT);
            let int = LLVMInt32TypeInContext(self.context);
            for (p, (&barrier, &block)) in barriers.iter().zip(after).enumerate() {
                for &(variable, ty, (place, parameter)) in &kept[p] {
                    LLVMPositionBuilderBefore(self.builder, barrier);
                    let value = LLVMBuildLoad2(self.builder, ty, variable, c"".as_ptr());
                    match parameter {
                        Some(_) => {
                            let number = to_number(self.builder, self.context, value);
                            LLVMBuildStore(self.builder, number, place);
                        }
                        None => store(self.builder, self.context, value, place),
                    }
                    LLVMPositionBuilderBefore(self.builder, LLVMGetFirstInstruction(block));
                    let value = match parameter {
                        Some(i) => {
                            let number = LLVMGetParam(self.function, (self.own + OWN + FIELDS + i) as u32);
                            from_number(self.builder, self.context, number, ty)
                        }
                        None => load(self.builder, self.context, ty, place),
                    };
                    LLVMBuildStore(self.builder, value, variable);
                }
                LLVMPositionBuilderBefore(self.builder, barrier);
                LLVMBuildStore(self.builder, LLVMConstInt(int, p as u64 + 1, 0), next);
                let block = LLVMGetInstructionParent(barrier);
                LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(block));
                LLVMInstructionEraseFromParent(barrier);
                LLVMPositionBuilderAtEnd(self.builder, block);
                LLVMBuildRetVoid(self.builder);
            }
            Some(shared)
        }
    }

    /// Finds which accesses' addresses follow from the thread's index in all segments that they are made in.
    unsafe fn lines(&mut self, barriers: &[LLVMValueRef], after: &[LLVMBasicBlockRef], uniform: &Uniform, crossing: &[Crossing]) -> Known {
        // SAFETY: by contract.
        unsafe {
            let ends: HashSet<_> = barriers.iter().map(|&b| LLVMGetInstructionParent(b)).collect();
            let next: HashMap<_, _> = ir::blocks(self.function).map(|block| {
                (block, if ends.contains(&block) { Vec::new() } else { ir::successors(block) })
            }).collect();
            let kept = crossing.iter().map(|c| (c.value, (c.points.clone(), c.shared))).collect();
            let by_value = (0..self.own as u32).filter(|&i| self.is_by_value(i)).map(|i| LLVMGetParam(self.function, i)).collect();
            let source = Source { module: self.module, function: self.function, own: self.own, computed: self.start, uniform, kept: &kept, by_value };
            let starts = std::iter::once(self.first).chain(after.iter().copied());
            let segments: Vec<_> = starts.enumerate().map(|(point, start)| Segment { point, start, next: &next }).collect();
            let once = |&call: &LLVMValueRef| {
                let block = LLVMGetInstructionParent(call);
                !segments[0].after(block).contains(&block)
            };
            let checks = ir::instructions(self.function).into_iter().filter(|&i| rows::kept(i).is_some()).filter(once);
            let calls: Vec<_> = (0..).zip(checks.take(MOST_ROWS)).collect();
            let mut known = Known::default();
            let mut none = HashSet::new();
            for segment in &segments {
                let blocks = segment.blocks();
                let calls: Vec<_> = calls.iter().copied().filter(|(_, call)| blocks.contains(&LLVMGetInstructionParent(*call))).collect();
                let number = |call| calls.iter().find(|c| c.1 == call).map_or(0, |c| c.0);
                known.before.push(lines::before(&source, segment, &calls, |call, does| {
                    if !does {
                        none.insert(call);
                        return 0;
                    }
                    known.lines.entry(call).or_insert_with(|| {
                        let at = self.thread_bytes.next_multiple_of(8);
                        self.thread_bytes = at + 8;
                        (number(call), at)
                    }).1
                }));
            }
            known.lines.retain(|call, _| !none.contains(call));
            known
        }
    }

    /// Has accesses leave their addresses in the frame instead of being checked each
    /// for itself. By point, those that are reached from it.
    unsafe fn keep_rows(&mut self, after: &[LLVMBasicBlockRef], lines: &HashMap<LLVMValueRef, (u64, u64)>) -> Vec<Vec<RowSite>> {
        // SAFETY: by contract.
        unsafe {
            let accesses = rows::find(self.function);
            let is_row = |i: &LLVMValueRef| accesses.iter().any(|access| access.call() == *i);
            let writes: Vec<_> = ir::instructions(self.function).into_iter().filter(|&i| rows::is_write(i) && !is_row(&i)).collect();
            let mut streams = streams::find(self.function);
            // Each pool is looked at before each of the writes.
            streams.truncate(MOST_HANDED_OVER / writes.len().max(1));
            let (mut places, mut sites) = (Vec::new(), Vec::new());
            let mut marks = HashMap::new();
            for access in &accesses {
                let (items, place) = match lines.get(&access.call()) {
                    Some(&(number, items)) => {
                        let mark = *marks.entry(access.block()).or_insert_with(|| {
                            let at = self.thread_bytes.next_multiple_of(4);
                            (at, self.thread_place(4, 4))
                        });
                        (Items::Lines { number, items, active: mark.0 }, mark.1)
                    }
                    None => (Items::Each(self.thread_bytes.next_multiple_of(8)), self.thread_place(8, 8)),
                };
                let values = access.value_bytes().map(|n| {
                    [(); 2].map(|()| {
                        let at = self.thread_bytes.next_multiple_of(n);
                        let place = self.thread_place(n, n);
                        (at, self.stored_at_end(access.block(), LLVMIntTypeInContext(self.context, 8 * n as u32), place))
                    })
                });
                sites.push(access.row_site(&items, values.map(|v| v.map(|(at, _)| at))));
                places.push((place, values.map(|v| v.map(|(_, place)| place))));
            }
            let mut pools = Vec::new();
            for stream in &streams {
                let pool = self.thread_bytes.next_multiple_of(8);
                pools.push(self.array(streams::POOL_BYTES, 8));
                sites.push(stream.row_site(pool));
            }
            let blocks: Vec<_> = accesses.iter().map(Kept::block).collect();
            let at: Vec<_> = blocks.iter().map(std::slice::from_ref).chain(streams.iter().map(Stream::blocks)).collect();
            let starts = std::iter::once(self.first).chain(after.iter().copied());
            let of_points = starts.map(|start| {
                let all = rows::of_segment(start, &at).into_iter().map(|i| sites[i]);
                let (pools, rows): (Vec<_>, Vec<_>) = all.partition(RowSite::is_pool);
                [pools, rows].concat()
            }).collect();
            for (access, &(place, values)) in accesses.iter().zip(&places) {
                // The first of a block says of all of them that they are made.
                let leaves = match lines.contains_key(&access.call()) {
                    true => Leaves::Mark(marks.remove(&access.block()).map(|_| place)),
                    false => Leaves::Address(place),
                };
                rows::keep(self.builder, self.context, access, leaves, values);
            }
            for (stream, place) in streams.iter().zip(pools) {
                let [linear, threads] = [Own::Linear, Own::Threads].map(|p| self.own(p));
                let pool = Pool { start: self.start, place, linear, threads, thread_context: LLVMGetParam(self.function, 0) };
                streams::keep(self.module, self.builder, stream, pool, &writes);
            }
            of_points
        }
    }

    /// A variable of which a thread that may have come to `block` stores what it holds at the segment's end: there all threads
    /// store, so that LLVM needs no store under a mask.
    unsafe fn stored_at_end(&self, block: LLVMBasicBlockRef, ty: LLVMTypeRef, place: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract; each end is a block of the function.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            self.at_start();
            let variable = LLVMBuildAlloca(b, ty, none);
            for end in rows::ends(block) {
                LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(end));
                LLVMBuildStore(b, LLVMBuildLoad2(b, ty, variable, none), place);
            }
            variable
        }
    }

    /// Whether anything uses the context.
    unsafe fn uses_context(&self) -> bool {
        // SAFETY: by contract.
        unsafe {
            users(LLVMGetParam(self.function, 0)).into_iter().any(|user| {
                !streams::hands_over(user) && (ir::opcode(user) != LLVMOpcode::LLVMGetElementPtr || !users(user).is_empty())
            })
        }
    }

    /// The values that are used after a barrier, and computed before it.
    unsafe fn crossing(&self, after: &[LLVMBasicBlockRef], uniform: &Uniform) -> Vec<Crossing> {
        // SAFETY: by contract.
        unsafe {
            let points: HashMap<_, _> = after.iter().enumerate().map(|(p, &b)| (b, p)).collect();
            let mut before: HashMap<LLVMBasicBlockRef, Vec<LLVMBasicBlockRef>> = HashMap::new();
            for block in ir::blocks(self.function) {
                let end = LLVMGetBasicBlockTerminator(block);
                for i in 0..LLVMGetNumSuccessors(end) {
                    before.entry(LLVMGetSuccessor(end, i)).or_default().push(block);
                }
            }
            let (mut found, mut shared) = (Vec::new(), 0);
            for value in ir::instructions(self.function) {
                let defined = LLVMGetInstructionParent(value);
                if defined == self.start {
                    continue;
                }
                // Backwards from its uses to where it is computed.
                let mut live = HashSet::new();
                let mut pending: Vec<_> = Vec::new();
                for user in users(value) {
                    if ir::opcode(user) == LLVMOpcode::LLVMPHI {
                        for i in 0..LLVMCountIncoming(user) {
                            if LLVMGetIncomingValue(user, i) == value {
                                let from = LLVMGetIncomingBlock(user, i);
                                if from != defined && live.insert(from) {
                                    pending.push(from);
                                }
                            }
                        }
                    } else {
                        let block = LLVMGetInstructionParent(user);
                        if block != defined && live.insert(block) {
                            pending.push(block);
                        }
                    }
                }
                while let Some(block) = pending.pop() {
                    for &b in before.get(&block).into_iter().flatten() {
                        if b != defined && live.insert(b) {
                            pending.push(b);
                        }
                    }
                }
                let mut points: Vec<_> = live.iter().filter_map(|b| points.get(b).copied()).collect();
                points.sort_unstable();
                if !points.is_empty() {
                    // Shared values come as 64-bit numbers.
                    let ty = LLVMTypeOf(value);
                    let may_be = !uniform.varies(value) && ir::alloc_size(self.module, ty) <= 8 && is_number(ty) && shared < SHARED;
                    found.push(Crossing { value, shared: may_be.then_some(shared), points });
                    shared += usize::from(may_be);
                }
            }
            found
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

/// Which accesses' addresses follow from the index.
#[derive(Default)]
struct Known {
    /// By the call that checks it: the number of its lines, and where its addresses lie where they do not hold.
    lines: HashMap<LLVMValueRef, (u64, u64)>,
    /// By point.
    before: Vec<Option<Before>>,
}

/// The users of a value, each once.
unsafe fn users(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut found = Vec::new();
    // SAFETY: by contract; the use list is walked to its end.
    unsafe {
        let mut used = LLVMGetFirstUse(value);
        while !used.is_null() {
            let user = LLVMGetUser(used);
            if !found.contains(&user) {
                found.push(user);
            }
            used = LLVMGetNextUse(used);
        }
    }
    found
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

/// Whether an instruction computes from its operands alone, for all of them.
///
/// # Safety
/// The instruction is live.
pub unsafe fn is_harmless(i: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        matches!(
            ir::opcode(i),
            LLVMOpcode::LLVMAdd
                | LLVMOpcode::LLVMSub
                | LLVMOpcode::LLVMMul
                | LLVMOpcode::LLVMShl
                | LLVMOpcode::LLVMLShr
                | LLVMOpcode::LLVMAShr
                | LLVMOpcode::LLVMAnd
                | LLVMOpcode::LLVMOr
                | LLVMOpcode::LLVMXor
                | LLVMOpcode::LLVMTrunc
                | LLVMOpcode::LLVMZExt
                | LLVMOpcode::LLVMSExt
                | LLVMOpcode::LLVMPtrToInt
                | LLVMOpcode::LLVMIntToPtr
                | LLVMOpcode::LLVMBitCast
                | LLVMOpcode::LLVMAddrSpaceCast
                | LLVMOpcode::LLVMGetElementPtr
                | LLVMOpcode::LLVMICmp
                | LLVMOpcode::LLVMSelect
        )
    }
}

/// Whether a value of the type can be passed as a 64-bit number.
unsafe fn is_number(ty: LLVMTypeRef) -> bool {
    use llvm_sys::LLVMTypeKind::*;
    // SAFETY: by contract.
    matches!(
        unsafe { LLVMGetTypeKind(ty) },
        LLVMIntegerTypeKind | LLVMPointerTypeKind | LLVMFloatTypeKind | LLVMDoubleTypeKind
    )
}

/// A value as a 64-bit number.
///
/// # Safety
/// [`is_number`] holds for its type.
pub unsafe fn to_number(b: LLVMBuilderRef, context: LLVMContextRef, value: LLVMValueRef) -> LLVMValueRef {
    use llvm_sys::LLVMTypeKind::*;
    // SAFETY: by contract.
    unsafe {
        let long = LLVMInt64TypeInContext(context);
        let none = c"".as_ptr();
        match LLVMGetTypeKind(LLVMTypeOf(value)) {
            LLVMPointerTypeKind => LLVMBuildPtrToInt(b, value, long, none),
            LLVMFloatTypeKind => {
                let bits = LLVMBuildBitCast(b, value, LLVMInt32TypeInContext(context), none);
                LLVMBuildZExt(b, bits, long, none)
            }
            LLVMDoubleTypeKind => LLVMBuildBitCast(b, value, long, none),
            _ if LLVMTypeOf(value) == long => value,
            _ => LLVMBuildZExt(b, value, long, none),
        }
    }
}

/// The value of a type that a 64-bit number stands for.
///
/// # Safety
/// [`is_number`] holds for the type.
pub unsafe fn from_number(b: LLVMBuilderRef, context: LLVMContextRef, number: LLVMValueRef, ty: LLVMTypeRef) -> LLVMValueRef {
    use llvm_sys::LLVMTypeKind::*;
    // SAFETY: by contract.
    unsafe {
        let none = c"".as_ptr();
        match LLVMGetTypeKind(ty) {
            LLVMPointerTypeKind => LLVMBuildIntToPtr(b, number, ty, none),
            LLVMFloatTypeKind => {
                let bits = LLVMBuildTrunc(b, number, LLVMInt32TypeInContext(context), none);
                LLVMBuildBitCast(b, bits, ty, none)
            }
            LLVMDoubleTypeKind => LLVMBuildBitCast(b, number, ty, none),
            _ if ty == LLVMInt64TypeInContext(context) => number,
            _ => LLVMBuildTrunc(b, number, ty, none),
        }
    }
}

/// Stores a value in the frame; single bits take a byte, as vectors of them would not.
unsafe fn store(b: LLVMBuilderRef, context: LLVMContextRef, value: LLVMValueRef, place: LLVMValueRef) {
    // SAFETY: by contract.
    unsafe {
        let byte = LLVMInt8TypeInContext(context);
        let one_bit = LLVMTypeOf(value) == LLVMInt1TypeInContext(context);
        let value = if one_bit { LLVMBuildZExt(b, value, byte, c"".as_ptr()) } else { value };
        LLVMBuildStore(b, value, place);
    }
}

unsafe fn load(b: LLVMBuilderRef, context: LLVMContextRef, ty: LLVMTypeRef, place: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let one_bit = ty == LLVMInt1TypeInContext(context);
        let byte = LLVMInt8TypeInContext(context);
        let value = LLVMBuildLoad2(b, if one_bit { byte } else { ty }, place, c"".as_ptr());
        if one_bit { LLVMBuildTrunc(b, value, ty, c"".as_ptr()) } else { value }
    }
}

#[cfg(test)]
mod tests;
