//! Affine rows: rows whose addresses follow from the thread's index.
//!
//! Most addresses of a kernel are `first + x * step_x + y * step_y + z * step_z`, in which only
//! `x`, `y` and `z` differ from thread to thread. The threads of a segment need not store them
//! ([`super::rows`]): a function that runs before them computes the four numbers ([`Lines`]), and
//! each thread only stores that it makes the access, once for all such accesses of a basic block.
//!
//! Index arithmetic mostly has 32 bits, and may wrap around. Where the kernel extends a number to
//! more bits, the function computes with 64 bits and compares with the range of the fewer bits. If
//! some thread of the block leaves that range, a second function stores the addresses that the
//! kernel's own arithmetic gives, thread by thread.
//!
//! Addresses that depend on values from memory, or on values that each thread keeps for itself over
//! a barrier, are not affine. Their rows hold one address per thread.

mod sums;

use std::collections::{HashMap, HashSet};
use std::mem::offset_of;

use gpurace_abi::batch::{FrameCommon, Lines};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMOpcode};

use self::sums::Affine;
use super::number::from_number;
use super::segments::{FIELDS, THREAD_PARAMETERS, ThreadParameter, in_common};
use crate::analysis::uniform::BlockUniform;
use crate::ir;
use crate::ir::entry_calls::checked_address;

/// The functions that run before the threads of a segment. Both have the parameters of the
/// segments' function.
#[derive(Clone, Copy, Debug)]
pub struct AffineFunctions {
    /// Stores the [`Lines`], and whether the rows are affine in this block. The parameters for the
    /// thread's index hold the block's dimensions.
    pub find: LLVMValueRef,
    /// Stores the addresses of one thread.
    pub fill: LLVMValueRef,
}

/// A segment: the basic blocks from a point to the next points.
pub struct Segment<'a> {
    /// Its number; 0 is the kernel's start.
    pub point: usize,
    /// Where it starts.
    pub start: LLVMBasicBlockRef,
    /// For each basic block of the function, its successors without those behind a point.
    pub next: &'a HashMap<LLVMBasicBlockRef, Vec<LLVMBasicBlockRef>>,
}

impl Segment<'_> {
    /// The basic blocks that control reaches after `from`.
    pub fn after(&self, from: LLVMBasicBlockRef) -> HashSet<LLVMBasicBlockRef> {
        let mut found = HashSet::new();
        let mut pending = vec![from];
        while let Some(block) = pending.pop() {
            pending.extend(self.next.get(&block).into_iter().flatten().filter(|&&b| found.insert(b)));
        }
        found
    }

    /// Its basic blocks.
    pub fn blocks(&self) -> HashSet<LLVMBasicBlockRef> {
        let mut found = self.after(self.start);
        found.insert(self.start);
        found
    }
}

/// The segments' function, and facts about it.
pub struct SegmentSource<'a> {
    /// The module.
    pub module: LLVMModuleRef,
    /// The segments' function.
    pub function: LLVMValueRef,
    /// Number of its parameters that are the kernel's.
    pub kernel_parameters: usize,
    /// The basic block that computes values which depend only on parameters.
    pub computed: LLVMBasicBlockRef,
    /// Which values differ from thread to thread.
    pub uniform: &'a BlockUniform,
    /// Values that are kept over points: the numbers of the points, and the index among the values
    /// that all threads share, if it is one.
    pub kept: &'a HashMap<LLVMValueRef, (Vec<usize>, Option<usize>)>,
    /// Parameters that point to a copy for each thread.
    pub by_value: Vec<LLVMValueRef>,
}

/// Builds the functions for a segment, if it has an affine row. `calls` are the checks of accesses that a thread makes
/// at most once there, each with the number of its [`Lines`]. `found` gets each check, and whether it is an affine row.
/// It returns the place in the frame where threads store their addresses in blocks in which the row is not affine.
///
/// # Safety
/// The function is live, and no value was moved to the frame yet. Numbers are below
/// [`gpurace_abi::batch::MOST_ROWS`].
pub unsafe fn functions(
    source: &SegmentSource<'_>,
    segment: &Segment<'_>,
    calls: &[(u32, LLVMValueRef)],
    mut found: impl FnMut(LLVMValueRef, bool) -> u32,
) -> Option<AffineFunctions> {
    // SAFETY: by contract; what is deleted nothing refers to.
    unsafe {
        let [mut find, mut fill] = [false, true].map(|each| AffineBuilder::new(source, segment, each));
        let mut any = false;
        for &(number, call) in calls {
            let (address, block) = (checked_address(call), LLVMGetInstructionParent(call));
            (find.budget, fill.budget) = (AffineBuilder::MOST, AffineBuilder::MOST);
            let conditions = find.holds.len();
            let both =
                find.affine(address, block).and_then(|lines| Some((lines, fill.exact(address, block)?)));
            let at = found(call, both.is_some());
            match both {
                Some((lines, address)) => {
                    find.store_lines(number, lines);
                    fill.store_item(at, address);
                    any = true;
                }
                None => find.holds.truncate(conditions),
            }
        }
        let [find, fill] = [find, fill].map(|copy| copy.end());
        if any {
            return Some(AffineFunctions { find, fill });
        }
        [find, fill].into_iter().for_each(|f| LLVMDeleteFunction(f));
        None
    }
}

/// Where a value that a segment uses is computed.
enum When {
    /// In the segment, before the use.
    There,
    /// Before the segment; the threads share it.
    Before(usize),
}

/// Builds one of the functions.
struct AffineBuilder<'a> {
    source: &'a SegmentSource<'a>,
    segment: &'a Segment<'a>,
    blocks: HashSet<LLVMBasicBlockRef>,
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    /// True for the function that stores the addresses of a thread.
    each: bool,
    /// Conditions for the rows to be affine, single bits.
    holds: Vec<LLVMValueRef>,
    /// Values that are being followed.
    open: Vec<LLVMValueRef>,
    budget: u32,
}

impl<'a> AffineBuilder<'a> {
    /// Most values that are followed for one address.
    const MOST: u32 = 256;

    unsafe fn new(source: &'a SegmentSource<'a>, segment: &'a Segment<'a>, each: bool) -> Self {
        // SAFETY: by contract.
        unsafe {
            let context = ir::context(source.module);
            let function =
                LLVMAddFunction(source.module, c"".as_ptr(), LLVMGlobalGetValueType(source.function));
            LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
            // Few blocks need their addresses stored.
            ir::mark_function(function, "nounwind");
            ir::mark_function(function, if each { "noinline" } else { "alwaysinline" });
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, c"".as_ptr()));
            let (blocks, holds, open) = (segment.blocks(), Vec::new(), Vec::new());
            Self { source, segment, blocks, context, builder, function, each, holds, open, budget: 0 }
        }
    }

    /// Ends the function. It notes in the frame whether all rows are affine.
    unsafe fn end(self) -> LLVMValueRef {
        // SAFETY: by contract; the builder is disposed of once.
        unsafe {
            if !self.each {
                let mut all = LLVMConstInt(LLVMInt1TypeInContext(self.context), 1, 0);
                for &holds in &self.holds {
                    all = LLVMBuildAnd(self.builder, all, holds, c"".as_ptr());
                }
                // A value that no thread computes may be poison.
                let all = LLVMBuildFreeze(self.builder, all, c"".as_ptr());
                let all = LLVMBuildZExt(self.builder, all, self.long(), c"".as_ptr());
                LLVMBuildStore(self.builder, all, self.common(offset_of!(FrameCommon, lines_hold)));
            }
            LLVMBuildRetVoid(self.builder);
            LLVMDisposeBuilder(self.builder);
            self.function
        }
    }

    unsafe fn store_lines(&self, number: u32, Affine { rest, by }: Affine) {
        // SAFETY: by contract.
        unsafe {
            const { assert!(size_of::<Lines>() == 32 && offset_of!(Lines, steps) == 8) };
            let at = offset_of!(FrameCommon, lines) + number as usize * size_of::<Lines>();
            let zero = LLVMConstInt(self.long(), 0, 0);
            for (i, value) in (0..).zip([Some(rest)].into_iter().chain(by)) {
                LLVMBuildStore(self.builder, value.unwrap_or(zero), self.common(at + 8 * i));
            }
        }
    }

    /// Stores the address of a thread.
    unsafe fn store_item(&self, at: u32, address: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let number = LLVMBuildPtrToInt(b, address, self.long(), none);
            let n = |n| LLVMConstInt(self.long(), n, 0);
            let row = LLVMBuildMul(b, self.own(ThreadParameter::Threads), n(at.into()), none);
            let at =
                LLVMBuildAdd(b, row, LLVMBuildMul(b, self.own(ThreadParameter::Linear), n(8), none), none);
            LLVMBuildStore(b, number, self.in_frame(at));
        }
    }

    fn long(&self) -> LLVMTypeRef {
        // SAFETY: the context is live.
        unsafe { LLVMInt64TypeInContext(self.context) }
    }

    /// The parameter of a function that follows this number of others after the kernel's parameters.
    unsafe fn after_kernel(&self, function: LLVMValueRef, number: usize) -> LLVMValueRef {
        // SAFETY: the function has these parameters.
        unsafe { LLVMGetParam(function, (self.source.kernel_parameters + number) as u32) }
    }

    unsafe fn own(&self, which: ThreadParameter) -> LLVMValueRef {
        // SAFETY: the function has these parameters.
        unsafe { self.after_kernel(self.function, which as usize) }
    }

    unsafe fn in_frame(&self, offset: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { ir::at_offset(self.builder, self.own(ThreadParameter::Frame), offset) }
    }

    /// A field of the part of the frame that all threads share.
    unsafe fn common(&self, offset: usize) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { in_common(self.builder, self.own(ThreadParameter::Frame), offset) }
    }

    /// When a value that a basic block of the segment uses was computed. `None` if that depends on the path
    /// to the use, or if each thread keeps a value of its own.
    unsafe fn when(&self, value: LLVMValueRef, used: LLVMBasicBlockRef) -> Option<When> {
        // SAFETY: by contract.
        let computed = unsafe { LLVMGetInstructionParent(value) };
        if computed == self.source.computed || computed == used {
            return Some(When::There);
        }
        let kept = self
            .segment
            .point
            .checked_sub(1)
            .and_then(|after| self.source.kept.get(&value).filter(|(points, _)| points.contains(&after)));
        let there = self.blocks.contains(&computed) && self.segment.after(computed).contains(&used);
        match (kept, there) {
            (None, true) => Some(When::There),
            (Some((_, shared)), false) => shared.map(When::Before),
            // Before the segment on one path, and in it on another.
            (Some(_), true) => None,
            (None, false) => None,
        }
    }

    /// The value that a phi takes in the segment, and the basic block that uses it.
    unsafe fn chosen(&self, phi: LLVMValueRef) -> Option<(LLVMValueRef, LLVMBasicBlockRef)> {
        // SAFETY: by contract.
        unsafe {
            let block = LLVMGetInstructionParent(phi);
            let leads = |from: &LLVMBasicBlockRef| {
                self.blocks.contains(from) && self.segment.next[from].contains(&block)
            };
            let mut ways = (0..LLVMCountIncoming(phi))
                .map(|i| (LLVMGetIncomingValue(phi, i), LLVMGetIncomingBlock(phi, i)));
            let way = ways.find(|(_, from)| leads(from))?;
            // A basic block may have several edges to the phi's block, all with one value.
            ways.all(|(value, from)| !leads(&from) || value == way.0 && from == way.1).then_some(way)
        }
    }

    /// The parameter of this function for one of the segments' function.
    unsafe fn parameter(&self, value: LLVMValueRef) -> Option<LLVMValueRef> {
        // SAFETY: by contract.
        unsafe {
            let at = ir::params(self.source.function).iter().position(|&p| p == value)?;
            (!self.source.by_value.contains(&value)).then(|| LLVMGetParam(self.function, at as u32))
        }
    }

    /// The axis whose thread index a value is, if it is one.
    unsafe fn axis(&self, value: LLVMValueRef) -> Option<usize> {
        // SAFETY: by contract.
        let own = |which| unsafe { self.after_kernel(self.source.function, which as usize) };
        [ThreadParameter::X, ThreadParameter::Y, ThreadParameter::Z]
            .into_iter()
            .position(|which| own(which) == value)
    }

    /// Follows a value, unless it is being followed already or the budget is spent.
    unsafe fn following<T>(
        &mut self,
        value: LLVMValueRef,
        look: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if self.open.contains(&value) {
            return None;
        }
        self.budget = self.budget.checked_sub(1)?;
        self.open.push(value);
        let found = look(self);
        self.open.pop();
        found
    }

    /// Builds a value itself, not as a sum: one that all threads share or, in the function that stores addresses, the
    /// value of the thread.
    unsafe fn exact(&mut self, value: LLVMValueRef, used: LLVMBasicBlockRef) -> Option<LLVMValueRef> {
        // SAFETY: by contract.
        unsafe {
            if !LLVMIsAConstant(value).is_null() {
                return Some(value);
            }
            if !self.each && self.source.uniform.varies(value) {
                return None;
            }
            if LLVMIsAInstruction(value).is_null() {
                return self.parameter(value);
            }
            match self.when(value, used)? {
                When::Before(shared) => {
                    let number = self.after_kernel(self.function, THREAD_PARAMETERS + FIELDS + shared);
                    Some(from_number(self.builder, self.context, number, LLVMTypeOf(value)))
                }
                When::There if ir::opcode(value) == LLVMOpcode::LLVMPHI => {
                    let (chosen, from) = self.chosen(value)?;
                    self.following(value, |copy| copy.exact(chosen, from))
                }
                When::There if ir::is_speculatable(value) => self.following(value, |copy| {
                    let block = LLVMGetInstructionParent(value);
                    let operands: Option<Vec<_>> =
                        ir::operands(value).into_iter().map(|o| copy.exact(o, block)).collect();
                    let (operands, cloned) = (operands?, LLVMInstructionClone(value));
                    for (i, operand) in (0..).zip(operands) {
                        LLVMSetOperand(cloned, i, operand);
                    }
                    LLVMInsertIntoBuilder(copy.builder, cloned);
                    Some(cloned)
                }),
                When::There => None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
