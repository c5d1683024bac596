//! Values that are computed before a barrier and needed after it. Values that depend only on parameters are
//! computed again. The others are kept in the frame.

use std::collections::{HashMap, HashSet};
use std::mem::offset_of;

use gpurace_abi::batch::FrameCommon;
use gpurace_protocol::protocol::Uniform;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use super::frame;
use super::loop_variables::NextSum;
use super::points::for_some_threads;
use super::read_once;
use super::{Cut, Cutter, Runs, ThreadParameter};
use crate::analysis::control_flow::ControlFlow;
use crate::analysis::uniform::BlockUniform;
use crate::blocks::number::{from_number, is_number, to_number};
use crate::ir;

unsafe extern "C" {
    fn gpurace_demote(instruction: LLVMValueRef) -> LLVMValueRef;
}

/// A value that is needed after a barrier.
pub(super) struct Crossing {
    pub(super) value: LLVMValueRef,
    /// The basic block that computes it.
    defined: LLVMBasicBlockRef,
    /// Its index among the values that all threads share, if it is one.
    pub(super) shared: Option<usize>,
    /// The cuts after which it is needed.
    pub(super) points: Vec<usize>,
    /// All these cuts are within a segment of the block.
    in_warp: bool,
}

/// A crossing value that is kept in the frame.
#[derive(Clone)]
struct Kept {
    /// The variable that has its value between two cuts.
    variable: LLVMValueRef,
    ty: LLVMTypeRef,
    /// The address of its place.
    place: LLVMValueRef,
    /// Its index among the values that all threads share, if it is one.
    shared: Option<usize>,
    /// The points from which it comes unchanged to the next ones: its place holds it already.
    there: Vec<usize>,
}

impl Cutter {
    /// Moves instructions to the start block if they depend only on parameters and are harmless where their
    /// result is not needed.
    pub(super) unsafe fn compute_at_start(&self) {
        // SAFETY: by contract; an instruction moves after its operands.
        unsafe {
            let mut moved = true;
            while moved {
                moved = false;
                for i in ir::instructions(self.function) {
                    if LLVMGetInstructionParent(i) == self.start || !ir::is_speculatable(i) {
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

    /// Finds the values that are used after a barrier and computed before it.
    pub(super) unsafe fn crossing(
        &self,
        cuts: &[Cut],
        after: &[LLVMBasicBlockRef],
        uniform: &BlockUniform,
    ) -> Vec<Crossing> {
        // SAFETY: by contract.
        unsafe {
            let points: HashMap<_, _> = after.iter().enumerate().map(|(p, &b)| (b, p)).collect();
            let mut before = Predecessors::new();
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
                let live = blocks_to_uses(value, &before);
                let mut points: Vec<_> = live.iter().filter_map(|b| points.get(b).copied()).collect();
                points.sort_unstable();
                if !points.is_empty() {
                    // Shared values are passed as 64-bit numbers.
                    let ty = LLVMTypeOf(value);
                    let in_warp = points.iter().all(|&p| cuts[p].runs != Runs::Block);
                    // Warps run one after another, and each loads what it has stored itself. Lanes that part
                    // may be in different iterations.
                    let group = if in_warp { Uniform::Warp } else { Uniform::Block };
                    let parts = self.parts && points.iter().any(|&p| cuts[p].runs != Runs::Block);
                    // The threads at the end of a loop are in the same iteration.
                    let of_point = |&p: &usize| match cuts[p].apart {
                        Some(latch) => uniform.group_at(value, latch),
                        None => uniform.group(value),
                    };
                    let may_be = !parts
                        && points.iter().map(of_point).all(|of| of >= group)
                        && ir::alloc_size(self.module, ty) <= 8
                        && is_number(ty)
                        && shared < read_once::other_values(self.read_once);
                    found.push(Crossing {
                        value,
                        defined,
                        shared: may_be.then_some(shared),
                        points,
                        in_warp,
                    });
                    shared += usize::from(may_be);
                }
            }
            found
        }
    }

    /// Keeps the crossing values in the frame, and cuts the function: each cut stores them and returns, and the basic
    /// block behind it loads them. Returns the number of values that all threads share. `None` if a value cannot be
    /// kept.
    pub(super) unsafe fn keep_over(
        &mut self,
        cuts: &[Cut],
        after: &[LLVMBasicBlockRef],
        crossing: Vec<Crossing>,
        sums: &[NextSum],
    ) -> Option<usize> {
        // SAFETY: by contract.
        unsafe {
            let shared = crossing.iter().filter(|c| c.shared.is_some()).count();
            let (reached, has_warps) = (reached(cuts, after), cuts.iter().any(|cut| cut.runs != Runs::Block));
            let mut kept = vec![Vec::new(); after.len()];
            for c in crossing {
                let is_next =
                    |sum: &&NextSum| c.shared.is_some() && sum.sum == c.value && c.points.contains(&sum.cut);
                let next = sums.iter().find(is_next);
                let mut own = self.in_frame(&c)?;
                let is_there = |&p: &usize| {
                    // Warps that have run since a barrier overwrite the places of shared values.
                    let overwritten = c.shared.is_some() && has_warps && cuts[p].runs == Runs::Block;
                    !reached[p].contains(&c.defined) && !overwritten
                };
                own.there.extend(c.points.iter().copied().filter(is_there));
                if let Some(&NextSum { cut, next, .. }) = next {
                    LLVMPositionBuilderBefore(self.builder, LLVMGetNextInstruction(next));
                    let number = to_number(self.builder, self.context, next);
                    LLVMBuildStore(self.builder, number, own.place);
                    own.there.push(cut);
                }
                for &p in &c.points {
                    kept[p].push(own.clone());
                }
            }
            let next = self.next_point();
            let int = LLVMInt32TypeInContext(self.context);
            for (p, (cut, &block)) in cuts.iter().zip(after).enumerate() {
                for value in &kept[p] {
                    self.carry(value, cut, block, after.len());
                }
                LLVMPositionBuilderBefore(self.builder, cut.at);
                LLVMBuildStore(self.builder, LLVMConstInt(int, p as u64 + 1, 0), next);
                let block = LLVMGetInstructionParent(cut.at);
                LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(block));
                LLVMInstructionEraseFromParent(cut.at);
                LLVMPositionBuilderAtEnd(self.builder, block);
                LLVMBuildRetVoid(self.builder);
            }
            Some(shared)
        }
    }

    /// Gives a crossing value a place in the frame, and a variable in the function. `None` if it cannot be kept.
    unsafe fn in_frame(&mut self, c: &Crossing) -> Option<Kept> {
        // SAFETY: by contract.
        unsafe {
            let ty = LLVMTypeOf(c.value);
            let variable = gpurace_demote(c.value);
            if variable.is_null() {
                return None;
            }
            let place = if let Some(number) = c.shared {
                self.common_place(offset_of!(FrameCommon, shared) + 8 * number)
            } else {
                let alignment = u64::from(ir::abi_alignment(self.module, ty)).clamp(1, 16);
                let size = ir::alloc_size(self.module, ty).next_multiple_of(alignment);
                if c.in_warp {
                    self.lane_place(size, alignment)
                } else {
                    self.thread_place(size, alignment).1
                }
            };
            Some(Kept { variable, ty, place, shared: c.shared, there: Vec::new() })
        }
    }

    /// Stores a kept value before a cut, and loads it in the basic block behind it. `cuts` is the number of all cuts.
    unsafe fn carry(&self, kept: &Kept, cut: &Cut, after: LLVMBasicBlockRef, cuts: usize) {
        // SAFETY: by contract.
        unsafe {
            let (b, context) = (self.builder, self.context);
            let &Kept { variable, ty, place, shared, ref there } = kept;
            let to = self.unless_begun_at(there, cuts, place, ty);
            LLVMPositionBuilderBefore(b, cut.at);
            let value = LLVMBuildLoad2(b, ty, variable, c"".as_ptr());
            if shared.is_some() {
                LLVMBuildStore(b, to_number(b, context, value), to);
            } else {
                frame::store(b, context, value, to);
            }
            LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(after));
            let value = match shared {
                Some(number) => from_number(b, context, self.shared_parameter(number), ty),
                None => frame::load(b, context, ty, place),
            };
            LLVMBuildStore(b, value, variable);
        }
    }

    /// Returns `place`, or memory that nobody reads if the thread began at one of these cuts. `cuts` is the number of
    /// all cuts.
    unsafe fn unless_begun_at(
        &self,
        these: &[usize],
        cuts: usize,
        place: LLVMValueRef,
        ty: LLVMTypeRef,
    ) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            if these.is_empty() {
                return place;
            }
            let int = LLVMInt32TypeInContext(self.context);
            self.at_start();
            let point = self.parameter(ThreadParameter::Point);
            let mut is_there = LLVMConstInt(LLVMInt1TypeInContext(self.context), 0, 0);
            for number in these.iter().flat_map(|p| [p + 1, for_some_threads(p + 1, cuts)]) {
                let is = LLVMBuildICmp(
                    b,
                    LLVMIntPredicate::LLVMIntEQ,
                    point,
                    LLVMConstInt(int, number as u64, 0),
                    none,
                );
                is_there = LLVMBuildOr(b, is_there, is, none);
            }
            let unread = LLVMBuildAlloca(b, ty, none);
            LLVMBuildSelect(b, is_there, unread, place, none)
        }
    }
}

/// The basic blocks that lead to each basic block.
type Predecessors = HashMap<LLVMBasicBlockRef, Vec<LLVMBasicBlockRef>>;

/// Returns the basic blocks that need a value from another one: those that use it, and those on the way from its
/// computation to a use.
unsafe fn blocks_to_uses(value: LLVMValueRef, before: &Predecessors) -> HashSet<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let defined = LLVMGetInstructionParent(value);
        let mut pending: Vec<_> = Vec::new();
        for user in ir::users(value) {
            if ir::opcode(user) == LLVMOpcode::LLVMPHI {
                // A phi uses the value at the end of the block that it comes from.
                let incoming =
                    (0..LLVMCountIncoming(user)).filter(|&i| LLVMGetIncomingValue(user, i) == value);
                pending.extend(incoming.map(|i| LLVMGetIncomingBlock(user, i)));
            } else {
                pending.push(LLVMGetInstructionParent(user));
            }
        }
        let mut found = HashSet::new();
        while let Some(block) = pending.pop() {
            if block != defined && found.insert(block) {
                pending.extend(before.get(&block).into_iter().flatten());
            }
        }
        found
    }
}

/// For each point, the basic blocks that are reached from it before another point.
unsafe fn reached(cuts: &[Cut], after: &[LLVMBasicBlockRef]) -> Vec<HashSet<LLVMBasicBlockRef>> {
    // SAFETY: by contract.
    unsafe {
        let ends: HashSet<_> = cuts.iter().map(|cut| LLVMGetInstructionParent(cut.at)).collect();
        let next = |block| if ends.contains(&block) { Vec::new() } else { ir::successors(block) };
        after.iter().map(|&start| ControlFlow::with(&[start], next).blocks.into_iter().collect()).collect()
    }
}
