//! Comparisons of floating-point numbers that one loaded number decides: `error[0] < tolerance`. No expression
//! describes them. But threads that load the same number decide alike, and a loop with barriers may rest on that.

use gpurace_protocol::expr::{CmpOp, Expr, ExprId, Width};
use gpurace_protocol::protocol::{SiteId, Uniform};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::frame::{Extraction, Frame};
use super::phis::incoming_from;
use super::turns::next_of;
use super::values::is_plain_load;
use crate::ir;

/// The largest number of instructions from a load to the comparison.
const MOST_STEPS: u32 = 16;

/// When a variable of a loop is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// In the first iteration.
    First,
    /// In a later one.
    Later,
}

/// What a number is made of, beside what all threads have for the whole launch.
#[derive(Default)]
struct Parts {
    loads: Vec<LLVMValueRef>,
    steps: u32,
}

impl Extraction<'_> {
    /// The truth of a comparison of floating-point numbers, if one loaded number decides it.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_float_compare(
        &mut self,
        f: &mut Frame,
        block: usize,
        compare: LLVMValueRef,
    ) -> Option<ExprId> {
        let place = f.graph.loop_of[block];
        // SAFETY: by contract.
        unsafe {
            let uniform = f.uniform.of_value(compare);
            if let Some((load, around)) = self.sole_load(f, compare, None) {
                return f.graph.within(place, around).then(|| self.decided_by(f, load, uniform, place));
            }
            // A variable of the loop has been loaded before the loop, and then in the iteration before.
            let l = place?;
            let parent = f.graph.loops[l].parent;
            let (first, around) = self.sole_load(f, compare, Some((l, Moment::First)))?;
            let (later, within) = self.sole_load(f, compare, Some((l, Moment::Later)))?;
            if within != Some(l) || !f.graph.within(parent, around) {
                return None;
            }
            let first = self.decided_by(f, first, uniform, parent);
            let later = self.decided_by(f, later, uniform, place);
            let count = self.b.leaf(Expr::Iteration(f.loop_ids[l]));
            let zero = self.b.constant(Width::W64, 0);
            let is_first = self.b.cmp(CmpOp::Eq, count, zero);
            Some(self.b.select(is_first, first, later))
        }
    }

    fn decided_by(&mut self, f: &Frame, load: SiteId, uniform: Uniform, place: Option<usize>) -> ExprId {
        let what = "a comparison of a loaded number";
        let made = self.b.opaque(what, Width::W1, uniform, f.inner(place));
        self.b.loaded_by(made, load);
        made
    }

    /// The only load that a value rests on, beside what all threads have for the whole launch, and the loop around it.
    unsafe fn sole_load(
        &self,
        f: &Frame,
        value: LLVMValueRef,
        at: Option<(usize, Moment)>,
    ) -> Option<(SiteId, Option<usize>)> {
        let mut parts = Parts::default();
        // SAFETY: by contract.
        unsafe { self.parts(f, value, at, &mut parts)? };
        let [load] = parts.loads[..] else { return None };
        let [site] = self.facts.sites(load) else { return None };
        Some((SiteId(*site), f.graph.loop_of[*f.graph.block_of.get(&load)?]))
    }

    /// Collects the loads that a value rests on; `None` if it rests on something else.
    unsafe fn parts(
        &self,
        f: &Frame,
        value: LLVMValueRef,
        at: Option<(usize, Moment)>,
        parts: &mut Parts,
    ) -> Option<()> {
        parts.steps += 1;
        if parts.steps > MOST_STEPS || parts.loads.len() > 1 {
            return None;
        }
        // SAFETY: by contract.
        unsafe {
            if LLVMIsConstant(value) != 0 {
                // Threads may have different values for an undefined one.
                return (LLVMIsUndef(value) == 0).then_some(());
            }
            let Some(&block) = f.graph.block_of.get(&value) else {
                // An argument of a called function may differ.
                return (f.depth == 0 && !LLVMIsAArgument(value).is_null()).then_some(());
            };
            match ir::opcode(value) {
                LLVMOpcode::LLVMLoad if is_plain_load(value) && self.facts.sites(value).len() == 1 => {
                    if !parts.loads.contains(&value) {
                        parts.loads.push(value);
                    }
                    Some(())
                }
                LLVMOpcode::LLVMPHI => {
                    let (l, moment) = at?;
                    if block != f.graph.loops[l].header {
                        return None;
                    }
                    let from = match moment {
                        Moment::First => {
                            let around = &f.graph.regions[f.graph.region_of(f.graph.loops[l].parent)];
                            let mut entries = around.ins(f.graph.node_of_loop[l]);
                            let entry = entries.next().filter(|_| entries.next().is_none())?;
                            incoming_from(value, f.graph.blocks[entry.block])?
                        }
                        Moment::Later => next_of(&f.graph, l, value)?,
                    };
                    self.parts(f, from, None, parts)
                }
                LLVMOpcode::LLVMCall => {
                    let name = ir::callee(value).map(|callee| ir::name(callee))?;
                    let operands = (0..LLVMGetNumArgOperands(value)).map(|i| LLVMGetOperand(value, i));
                    if !ir::is_pure_intrinsic(&name) {
                        return None;
                    }
                    operands.into_iter().try_for_each(|operand| self.parts(f, operand, at, parts))
                }
                LLVMOpcode::LLVMFAdd
                | LLVMOpcode::LLVMFSub
                | LLVMOpcode::LLVMFMul
                | LLVMOpcode::LLVMFDiv
                | LLVMOpcode::LLVMFNeg
                | LLVMOpcode::LLVMFPExt
                | LLVMOpcode::LLVMFPTrunc
                | LLVMOpcode::LLVMSIToFP
                | LLVMOpcode::LLVMUIToFP
                | LLVMOpcode::LLVMFCmp => {
                    let mut operands = ir::operands(value).into_iter();
                    operands.try_for_each(|operand| self.parts(f, operand, at, parts))
                }
                _ => None,
            }
        }
    }
}
