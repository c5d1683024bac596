//! Variables of a loop that the number of iterations determines: a stage that becomes `(x + 1) % 4`, a parity that
//! changes when the stage goes round, and counters that go on over the rounds of loops around their own.
//!
//! # Variables that are carried
//! A kernel that works on tiles has a loop over the tiles, and in it a loop over the parts of a tile. Stage and parity
//! often go on from tile to tile. Then the header of each loop around has a variable that hands the value on. Such a
//! variable is carried under three conditions:
//!
//! * The outermost loop begins with a constant.
//! * Each inner loop begins with the variable of the loop around it. At its end it hands its own one back.
//! * Only the headers of the inner loops leave them.
//!
//! So no iteration of the innermost loop lies between the end of a variable and the start of the next one. The value is
//! that of one loop that makes all iterations one after the other ([`Expr::Total`]).

use std::collections::HashSet;
use std::rc::Rc;

use gpurace_protocol::expr::{BinOp, Cast, Expr, ExprId, Width};
use gpurace_protocol::protocol::Uniform;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use super::frame::{Extraction, Frame, int_width};
use super::turns::next_of;
use crate::analysis::regions::Graph;
use crate::ir;

/// Where a variable of a loop begins, and what counts the iterations from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FirstValue {
    first: u64,
    /// The iterations of all rounds count.
    carried: bool,
}

impl Extraction<'_> {
    /// The value of a header phi of loop `l` that the number of iterations determines. `first` is its value in the
    /// first iteration.
    ///
    /// # Safety
    /// As [`Self::eval_phi`]; `phi` is in the header of loop `l`.
    pub unsafe fn eval_counted(
        &mut self,
        f: &Frame,
        l: usize,
        phi: LLVMValueRef,
        width: Width,
        first: ExprId,
    ) -> Option<ExprId> {
        let plain = self.b.as_const(first).map(|first| FirstValue { first, carried: false });
        // SAFETY: by contract.
        unsafe {
            let start = plain.or_else(|| carried_start(f, l, phi))?;
            let counted = match self.stage(f, l, phi, start) {
                Some(stage) => Some(stage),
                None => self.parity(f, l, phi, start),
            };
            let counted = match counted {
                None if start.carried => self.counter(f, l, phi, start),
                known => known,
            }?;
            Some(if width == Width::W64 { counted } else { self.b.cast(Cast::Trunc, width, counted) })
        }
    }

    /// The number of iterations of a loop before the current one, 64 bits.
    unsafe fn iterations(&mut self, f: &Frame, l: usize, carried: bool) -> ExprId {
        let of = f.loop_ids[l];
        if !carried {
            return self.b.leaf(Expr::Iteration(of));
        }
        let graph = Rc::clone(&f.graph);
        let mut uniform = Uniform::Grid;
        let mut inner = l;
        while let Some(outer) = graph.loops[inner].parent {
            let ends = graph.regions[inner + 1].exits(&graph);
            // SAFETY: by the caller's contract.
            uniform =
                ends.map(|edge| unsafe { f.uniform.left_by(inner + 1, edge) }).fold(uniform, Uniform::min);
            inner = outer;
        }
        self.b.leaf(Expr::Total { of, uniform })
    }

    /// The value of a header phi that goes round: from a constant, by a constant step, modulo a constant. Also of one
    /// that is always where such another one has been in the iteration before.
    unsafe fn stage(&mut self, f: &Frame, l: usize, phi: LLVMValueRef, start: FirstValue) -> Option<ExprId> {
        let graph = Rc::clone(&f.graph);
        // SAFETY: by the caller's contract.
        let (step, of) = unsafe {
            let next = next_of(&graph, l, phi)?;
            match round(phi, next) {
                Some(found) => found,
                None if !LLVMIsAPHINode(next).is_null()
                    && graph.block_of.get(&next) == Some(&graph.loops[l].header) =>
                {
                    let found @ (step, of) = round(next, next_of(&graph, l, next)?)?;
                    let second = start_of(f, l, next).filter(|second| second.carried == start.carried)?;
                    ((start.first + step) % of == second.first).then_some(found)?
                }
                None => return None,
            }
        };
        if start.first >= of {
            return None;
        }
        // SAFETY: by the caller's contract.
        let iterations = unsafe { self.iterations(f, l, start.carried) };
        let [first, step, of] = [start.first, step, of].map(|n| self.b.constant(Width::W64, n as i64));
        let moved = self.b.bin(BinOp::Mul, iterations, step);
        let moved = self.b.bin(BinOp::Add, moved, first);
        Some(self.b.bin(BinOp::URem, moved, of))
    }

    /// The value of a header phi that changes between 0 and 1 whenever a stage goes round, by steps of one:
    /// `if (++stage == 4) { stage = 0; parity ^= 1; }`.
    unsafe fn parity(&mut self, f: &Frame, l: usize, phi: LLVMValueRef, start: FirstValue) -> Option<ExprId> {
        if start.first > 1 {
            return None;
        }
        // SAFETY: by the caller's contract.
        let (stage, of, iterations) = unsafe {
            let (stage, of) = next_of(&f.graph, l, phi).and_then(|next| turned_with(f, l, phi, next))?;
            if stage.carried != start.carried {
                return None;
            }
            (stage.first, of, self.iterations(f, l, start.carried))
        };
        let [stage, of, two] = [stage, of, 2].map(|n| self.b.constant(Width::W64, n as i64));
        let moved = self.b.bin(BinOp::Add, iterations, stage);
        let rounds = self.b.bin(BinOp::UDiv, moved, of);
        let first = self.b.constant(Width::W64, start.first as i64);
        let rounds = self.b.bin(BinOp::Add, rounds, first);
        Some(self.b.bin(BinOp::URem, rounds, two))
    }

    /// The value of a header phi that grows by a constant in each iteration. One that the loop's condition uses stays a
    /// variable, whose bounds are known.
    unsafe fn counter(
        &mut self,
        f: &Frame,
        l: usize,
        phi: LLVMValueRef,
        start: FirstValue,
    ) -> Option<ExprId> {
        // SAFETY: by the caller's contract.
        let (step, iterations) = unsafe {
            let next = next_of(&f.graph, l, phi)?;
            let adds = ir::value_opcode(next) == Some(LLVMOpcode::LLVMAdd) && LLVMGetOperand(next, 0) == phi;
            let step = adds.then(|| small(LLVMGetOperand(next, 1)))??;
            let header = Some(&f.graph.loops[l].header);
            let in_header = |user| f.graph.block_of.get(&user) == header && LLVMIsAPHINode(user).is_null();
            if ir::users(phi).into_iter().any(in_header) {
                return None;
            }
            (step, self.iterations(f, l, start.carried))
        };
        let [first, step] = [start.first, step].map(|n| self.b.constant(Width::W64, n as i64));
        let moved = self.b.bin(BinOp::Mul, iterations, step);
        Some(self.b.bin(BinOp::Add, moved, first))
    }
}

/// The step and the modulus of a number that goes round from `phi` to `next`, while it is below the modulus:
/// `(x + 1) % 4`, `(x + 1) & 3`, `x + 1 == 4 ? 0 : x + 1`.
unsafe fn round(phi: LLVMValueRef, next: LLVMValueRef) -> Option<(u64, u64)> {
    // SAFETY: by the caller's contract.
    unsafe {
        let opcode = ir::value_opcode(next)?;
        if LLVMGetNumOperands(next) < 2 {
            return None;
        }
        let [a, b] = [0, 1].map(|at| LLVMGetOperand(next, at));
        let step_of = |sum| {
            let adds = ir::value_opcode(sum) == Some(LLVMOpcode::LLVMAdd) && LLVMGetOperand(sum, 0) == phi;
            adds.then(|| small(LLVMGetOperand(sum, 1)))?
        };
        let found @ (step, of) = match opcode {
            LLVMOpcode::LLVMURem | LLVMOpcode::LLVMSRem => (step_of(a)?, small(b)?),
            LLVMOpcode::LLVMAnd => {
                (step_of(a)?, small(b).map(|mask| mask + 1).filter(|of| of.is_power_of_two())?)
            }
            LLVMOpcode::LLVMSelect => {
                let [if_true, if_false] = [1, 2].map(|at| LLVMGetOperand(next, at));
                let is_compare = ir::value_opcode(a) == Some(LLVMOpcode::LLVMICmp);
                let sum = LLVMGetOperand(a, 0);
                let (back, on) = match is_compare.then(|| LLVMGetICmpPredicate(a))? {
                    LLVMIntPredicate::LLVMIntEQ => (if_true, if_false),
                    LLVMIntPredicate::LLVMIntNE => (if_false, if_true),
                    _ => return None,
                };
                // With a longer step it could miss the end.
                let is_round = on == sum && small(back) == Some(0) && step_of(sum) == Some(1);
                (1, is_round.then(|| small(LLVMGetOperand(a, 1)))??)
            }
            _ => return None,
        };
        // The sum fits the number, with its sign.
        let most = 1 << (LLVMGetIntTypeWidth(LLVMTypeOf(phi)).min(16) - 2);
        (0 < step && step < of && of <= most).then_some(found)
    }
}

/// The start and the modulus of the stage with which `phi` becomes `phi ^ 1`.
unsafe fn turned_with(
    f: &Frame,
    l: usize,
    phi: LLVMValueRef,
    next: LLVMValueRef,
) -> Option<(FirstValue, u64)> {
    let graph = &f.graph;
    // SAFETY: by the caller's contract.
    unsafe {
        if ir::value_opcode(next)? != LLVMOpcode::LLVMSelect {
            return None;
        }
        let [condition, if_true, if_false] = [0, 1, 2].map(|at| LLVMGetOperand(next, at));
        let is_turned = |value| {
            ir::value_opcode(value) == Some(LLVMOpcode::LLVMXor)
                && LLVMGetOperand(value, 0) == phi
                && small(LLVMGetOperand(value, 1)) == Some(1)
        };
        if ir::value_opcode(condition)? != LLVMOpcode::LLVMICmp {
            return None;
        }
        let at_end = match LLVMGetICmpPredicate(condition) {
            LLVMIntPredicate::LLVMIntEQ => is_turned(if_true) && if_false == phi,
            LLVMIntPredicate::LLVMIntNE => is_turned(if_false) && if_true == phi,
            _ => false,
        };
        let [moved, end] = [0, 1].map(|at| LLVMGetOperand(condition, at));
        let end = small(end).filter(|_| at_end)?;
        // The stage is compared after its step, or when it has gone round.
        let header = graph.blocks[graph.loops[l].header];
        let stages = ir::block_instructions(header).take_while(|phi| !LLVMIsAPHINode(*phi).is_null());
        stages.filter(|stage| int_width(LLVMTypeOf(*stage)).is_some()).find_map(|stage| {
            let next = next_of(graph, l, stage)?;
            let (1, of) = round(stage, next)? else { return None };
            let is_sum = end == of
                && ir::value_opcode(moved) == Some(LLVMOpcode::LLVMAdd)
                && LLVMGetOperand(moved, 0) == stage
                && small(LLVMGetOperand(moved, 1)) == Some(1);
            let start = start_of(f, l, stage).filter(|start| start.first < of)?;
            (is_sum || end == 0 && moved == next).then_some((start, of))
        })
    }
}

/// A constant that is small and not below zero.
unsafe fn small(value: LLVMValueRef) -> Option<u64> {
    // SAFETY: by the caller's contract.
    let number = unsafe { ir::signed_constant(value)? };
    u64::try_from(number).ok().filter(|number| *number < 1 << 15)
}

/// The value that a header phi has in the first iteration.
unsafe fn first_value(graph: &Graph, l: usize, phi: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: by the caller's contract.
    unsafe {
        let back: HashSet<_> = graph.regions[l + 1]
            .ins(graph.regions[l + 1].back())
            .map(|edge| graph.blocks[edge.block])
            .collect();
        let ways = (0..LLVMCountIncoming(phi)).filter(|&i| !back.contains(&LLVMGetIncomingBlock(phi, i)));
        let mut values = ways.map(|i| LLVMGetIncomingValue(phi, i));
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    }
}

/// The constant that a header phi is in the first iteration.
unsafe fn first_constant(graph: &Graph, l: usize, phi: LLVMValueRef) -> Option<u64> {
    // SAFETY: by the caller's contract.
    unsafe { first_value(graph, l, phi).and_then(|first| small(first)) }
}

/// Where a header phi of a loop begins.
unsafe fn start_of(f: &Frame, l: usize, phi: LLVMValueRef) -> Option<FirstValue> {
    // SAFETY: by the caller's contract.
    unsafe {
        let plain = first_constant(&f.graph, l, phi).map(|first| FirstValue { first, carried: false });
        plain.or_else(|| carried_start(f, l, phi))
    }
}

/// The constant with which the outermost loop begins, if a header phi of an inner one is carried.
unsafe fn carried_start(f: &Frame, mut l: usize, mut phi: LLVMValueRef) -> Option<FirstValue> {
    let graph = &*f.graph;
    // The rounds of loops around the call would count too.
    if f.inner(None).is_some() {
        return None;
    }
    // SAFETY: by the caller's contract.
    unsafe {
        while let Some(outer) = graph.loops[l].parent {
            let is_left_by_header = graph.regions[l + 1].exits(graph).all(|edge| edge.from == 0);
            let around = first_value(graph, l, phi)?;
            let is_header = graph.block_of.get(&around) == Some(&graph.loops[outer].header);
            if !f.test_before[l] || !is_left_by_header || !is_header || LLVMIsAPHINode(around).is_null() {
                return None;
            }
            if handed_on(next_of(graph, outer, around)?) != phi {
                return None;
            }
            (l, phi) = (outer, around);
        }
        let first = first_constant(graph, l, phi)?;
        Some(FirstValue { first, carried: true })
    }
}

/// The value that phis with one value take.
unsafe fn handed_on(mut value: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by the caller's contract.
    unsafe {
        while !LLVMIsAPHINode(value).is_null() && LLVMCountIncoming(value) == 1 {
            value = LLVMGetIncomingValue(value, 0);
        }
    }
    value
}
