//! Variables of a loop that take turns: buffers that are swapped, three that rotate, a number that becomes `1 - x`, a
//! stage that becomes `(x + 1) % 4`.
//!
//! # Variables that change places
//! If each way through an iteration gives the variables each other's values, each of them once, they always hold
//! their first values, in some order. To see this, [`orders_of_iteration`] follows all variables together, from the
//! end of an iteration back to its start. If all ways change the order alike, the number of iterations says which
//! order it is. Else a variable of the protocol's loop does, which may have any value from the second iteration on.

use std::collections::HashSet;
use std::rc::Rc;

use gpurace_protocol::expr::{BinOp, Cast, CmpOp, Expr, ExprId, Width};
use gpurace_protocol::protocol::Uniform;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use super::frame::{Extraction, Frame, Turns, Value, int_width};
use super::phis::{Choices, MAX_CHOICES, MAX_WEB, incoming_from};
use crate::analysis::regions::Graph;
use crate::ir;

/// The largest number of orders: all of three variables, or four that rotate.
const MAX_ORDERS: usize = 6;

/// For each variable, the number of the variable whose value it gets.
type Order = Vec<usize>;

impl Extraction<'_> {
    /// The value of a header phi that takes turns with others, or has two values in turn.
    ///
    /// # Safety
    /// As [`Self::eval_phi`]; `phi` is in the header of loop `l`, and `first` is its value in the first iteration.
    pub unsafe fn eval_turns(
        &mut self,
        f: &mut Frame,
        block: usize,
        l: usize,
        phi: LLVMValueRef,
        width: Option<Width>,
        first: &Value,
    ) -> Option<Value> {
        let graph = Rc::clone(&f.graph);
        let parent = graph.loops[l].parent;
        // SAFETY: by contract.
        unsafe {
            if let Some(width) = width.filter(|width| *width != Width::W1)
                && let &Value::Int(first) = first
                && let Some(stage) = self.eval_stage(f, l, phi, width, first)
            {
                return Some(Value::Int(stage));
            }
            if let Some(width) = width.filter(|width| *width != Width::W1)
                && let &Value::Int(first) = first
                && let Some(parity) = self.eval_parity(f, l, phi, width, first)
            {
                return Some(Value::Int(parity));
            }
            let mut choices: Choices<Value> = Vec::new();
            if let Some(second) = next_of(&graph, l, phi).and_then(|next| self.turned(phi, next, first)) {
                let conditions = self.in_turn(f, l, 2);
                choices.extend(conditions.into_iter().map(Some).zip([first.clone(), second]));
            } else {
                let Turns { phis, orders, .. } = self.turns(f, l, phi)?;
                let own = phis.iter().position(|&other| other == phi)?;
                let (around, node) = (graph.region_of(parent), graph.node_of_loop[l]);
                for (order, condition) in orders {
                    let value = self.merge_phi(f, block, around, node, phis[order[own]], width)?;
                    choices.push((Some(condition), value));
                }
            }
            match width {
                Some(_) => self.merge_ints(&choices).map(Value::Int),
                None => {
                    let uniform = f.uniform.of_value(phi);
                    self.merge_pointers(&choices, uniform, f.inner(parent)).map(Value::from)
                }
            }
        }
    }

    /// The variables that take turns with a header phi.
    unsafe fn turns(&mut self, f: &mut Frame, l: usize, phi: LLVMValueRef) -> Option<Turns> {
        if let Some(known) = f.turns.iter().find(|turns| turns.of == l && turns.phis.contains(&phi)) {
            return Some(known.clone());
        }
        let graph = Rc::clone(&f.graph);
        // SAFETY: by contract.
        unsafe {
            let phis = partners(&graph, l, phi)?;
            let steps = orders_of_iteration(&graph, l, &phis)?;
            let orders = reached_orders(phis.len(), &steps)?;
            let (conditions, chosen) = if steps.len() == 1 {
                (self.in_turn(f, l, orders.len()), None)
            } else {
                let uniform =
                    phis.iter().map(|&phi| f.uniform.of_value(phi)).fold(Uniform::Grid, Uniform::min);
                let (id, which) = self.b.new_var(f.loop_ids[l], Width::W32, uniform);
                (self.each_of(which, orders.len()), Some((id, uniform)))
            };
            let orders = orders.into_iter().zip(conditions).collect();
            let turns = Turns { of: l, phis, orders, chosen };
            f.turns.push(turns.clone());
            Some(turns)
        }
    }

    /// The conditions that the number of iterations of a loop before this one is a multiple of `period`, one more,
    /// and so on.
    fn in_turn(&mut self, f: &Frame, l: usize, period: usize) -> Vec<ExprId> {
        let count = self.b.leaf(Expr::Iteration(f.loop_ids[l]));
        let by = self.b.constant(Width::W64, period as i64);
        let which = self.b.bin(BinOp::URem, count, by);
        self.each_of(which, period)
    }

    /// The conditions that a number is 0, 1, and so on. The last one of `count` holds for all other numbers.
    fn each_of(&mut self, which: ExprId, count: usize) -> Vec<ExprId> {
        let width = self.b.width(which);
        (0..count)
            .map(|n| {
                let number = self.b.constant(width, n as i64);
                if n == 0 && count == 1 {
                    self.b.truth(true)
                } else if n + 1 < count {
                    self.b.cmp(CmpOp::Eq, which, number)
                } else {
                    self.b.cmp(CmpOp::Ule, number, which)
                }
            })
            .collect()
    }

    /// The value of a header phi that goes round: from a constant, by a constant step, modulo a constant. Also of one
    /// that is always where such another one has been in the iteration before.
    unsafe fn eval_stage(
        &mut self,
        f: &Frame,
        l: usize,
        phi: LLVMValueRef,
        width: Width,
        first: ExprId,
    ) -> Option<ExprId> {
        let first = self.b.as_const(first)?;
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
                    let second = first_constant(&graph, l, next)?;
                    ((first + step) % of == second).then_some(found)?
                }
                None => return None,
            }
        };
        if first >= of {
            return None;
        }
        let iterations = self.b.leaf(Expr::Iteration(f.loop_ids[l]));
        let [first, step, of] = [first, step, of].map(|n| self.b.constant(Width::W64, n as i64));
        let moved = self.b.bin(BinOp::Mul, iterations, step);
        let moved = self.b.bin(BinOp::Add, moved, first);
        let stage = self.b.bin(BinOp::URem, moved, of);
        Some(if width == Width::W64 { stage } else { self.b.cast(Cast::Trunc, width, stage) })
    }

    /// The value of a header phi that changes between 0 and 1 whenever a stage goes round, by steps of one:
    /// `if (++stage == 4) { stage = 0; parity ^= 1; }`.
    unsafe fn eval_parity(
        &mut self,
        f: &Frame,
        l: usize,
        phi: LLVMValueRef,
        width: Width,
        first: ExprId,
    ) -> Option<ExprId> {
        let first = self.b.as_const(first).filter(|first| *first < 2)?;
        let graph = Rc::clone(&f.graph);
        // SAFETY: by the caller's contract.
        let (start, of) =
            unsafe { next_of(&graph, l, phi).and_then(|next| turned_with(&graph, l, phi, next))? };
        let iterations = self.b.leaf(Expr::Iteration(f.loop_ids[l]));
        let [start, of, two] = [start, of, 2].map(|n| self.b.constant(Width::W64, n as i64));
        let moved = self.b.bin(BinOp::Add, iterations, start);
        let rounds = self.b.bin(BinOp::UDiv, moved, of);
        let first = self.b.constant(Width::W64, first as i64);
        let rounds = self.b.bin(BinOp::Add, rounds, first);
        let parity = self.b.bin(BinOp::URem, rounds, two);
        Some(if width == Width::W64 { parity } else { self.b.cast(Cast::Trunc, width, parity) })
    }

    /// The result of `next` if its operand `phi` is `first`, for instructions that give `first` back if applied again:
    /// `c - phi`, `phi ^ c`.
    unsafe fn turned(&mut self, phi: LLVMValueRef, next: LLVMValueRef, first: &Value) -> Option<Value> {
        let &Value::Int(first) = first else { return None };
        // SAFETY: by the caller's contract.
        unsafe {
            let (op, constant) = match ir::value_opcode(next)? {
                LLVMOpcode::LLVMSub if LLVMGetOperand(next, 1) == phi => {
                    (BinOp::Sub, LLVMGetOperand(next, 0))
                }
                LLVMOpcode::LLVMXor if LLVMGetOperand(next, 0) == phi => {
                    (BinOp::Xor, LLVMGetOperand(next, 1))
                }
                _ => return None,
            };
            let width = self.b.width(first);
            if LLVMIsAConstantInt(constant).is_null() || width == Width::W1 {
                return None;
            }
            let constant = self.b.constant(width, LLVMConstIntGetSExtValue(constant));
            Some(Value::Int(self.b.bin(op, constant, first)))
        }
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

/// The first value and the modulus of the stage with which `phi` becomes `phi ^ 1`.
unsafe fn turned_with(graph: &Graph, l: usize, phi: LLVMValueRef, next: LLVMValueRef) -> Option<(u64, u64)> {
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
            let start = first_constant(graph, l, stage).filter(|start| *start < of)?;
            (is_sum || end == 0 && moved == next).then_some((start, of))
        })
    }
}

/// A constant that is small and not below zero.
unsafe fn small(value: LLVMValueRef) -> Option<u64> {
    // SAFETY: by the caller's contract.
    unsafe {
        let is_number = !LLVMIsAConstantInt(value).is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64;
        let number = is_number.then(|| LLVMConstIntGetSExtValue(value))?;
        u64::try_from(number).ok().filter(|number| *number < 1 << 15)
    }
}

/// The constant that a header phi is in the first iteration.
unsafe fn first_constant(graph: &Graph, l: usize, phi: LLVMValueRef) -> Option<u64> {
    // SAFETY: by the caller's contract.
    unsafe {
        let back: HashSet<_> = graph.regions[l + 1]
            .ins(graph.regions[l + 1].back())
            .map(|edge| graph.blocks[edge.block])
            .collect();
        let ways = (0..LLVMCountIncoming(phi)).filter(|&i| !back.contains(&LLVMGetIncomingBlock(phi, i)));
        let mut values = ways.map(|i| small(LLVMGetIncomingValue(phi, i)));
        let first = values.next()??;
        values.all(|value| value == Some(first)).then_some(first)
    }
}

/// The header phis of a loop whose values a header phi may get, itself first.
unsafe fn partners(graph: &Graph, l: usize, phi: LLVMValueRef) -> Option<Vec<LLVMValueRef>> {
    let header = graph.loops[l].header;
    let mut found = vec![phi];
    let mut seen = HashSet::new();
    // SAFETY: by the caller's contract.
    unsafe {
        let mut pending = next_values(graph, l, phi)?;
        while let Some(value) = pending.pop() {
            if !seen.insert(value) {
                continue;
            }
            let block = *graph.block_of.get(&value)?;
            if seen.len() > MAX_WEB || !graph.within(graph.loop_of[block], Some(l)) {
                return None;
            }
            match ir::opcode(value) {
                LLVMOpcode::LLVMPHI if block == header => {
                    if !found.contains(&value) {
                        found.push(value);
                        pending.extend(next_values(graph, l, value)?);
                    }
                }
                LLVMOpcode::LLVMPHI => {
                    pending.extend((0..LLVMCountIncoming(value)).map(|i| LLVMGetIncomingValue(value, i)));
                }
                LLVMOpcode::LLVMSelect => pending.extend([1, 2].map(|i| LLVMGetOperand(value, i))),
                _ => return None,
            }
        }
    }
    (found.len() <= MAX_CHOICES).then_some(found)
}

/// The orders into which one iteration may bring the values of header phis; `None` if it may do something else with
/// them.
///
/// A list of values stands for a point of the iteration. The walk replaces those that are defined last by what they
/// are made of, until only header phis are left. All that is left of the list is as old as that definition: what
/// dominates it was not computed again since. A loop within is walked until no new list comes.
unsafe fn orders_of_iteration(graph: &Graph, l: usize, phis: &[LLVMValueRef]) -> Option<Vec<Order>> {
    let region = &graph.regions[l + 1];
    // SAFETY: only values of the loop's function are asked about.
    let is_select = |v| unsafe { ir::value_opcode(v) } == Some(LLVMOpcode::LLVMSelect);
    let mut orders: Vec<Order> = Vec::new();
    let mut seen: HashSet<Vec<LLVMValueRef>> = HashSet::new();
    let mut pending: Vec<Vec<LLVMValueRef>> = Vec::new();
    // SAFETY: by the caller's contract.
    unsafe {
        for edge in region.ins(region.back()) {
            let from = graph.blocks[edge.block];
            pending.push(phis.iter().map(|&phi| incoming_from(phi, from)).collect::<Option<_>>()?);
        }
        while let Some(values) = pending.pop() {
            let places: Vec<_> = values.iter().map(|v| phis.iter().position(|phi| phi == v)).collect();
            if let Some(order) = places.iter().copied().collect::<Option<Order>>() {
                if order.iter().collect::<HashSet<_>>().len() < order.len() {
                    return None;
                }
                if !orders.contains(&order) {
                    orders.push(order);
                }
                continue;
            }
            if seen.len() > MAX_WEB {
                return None;
            }
            if !seen.insert(values.clone()) {
                continue;
            }
            let inner = || values.iter().zip(&places).filter(|(_, place)| place.is_none()).map(|(v, _)| *v);
            if let Some(select) = inner().find(|&v| is_select(v)) {
                let condition = LLVMGetOperand(select, 0);
                for chosen in [1, 2] {
                    pending.push(replaced(&values, |v| {
                        let same = is_select(v) && LLVMGetOperand(v, 0) == condition;
                        Some(if same { LLVMGetOperand(v, chosen) } else { v })
                    })?);
                }
                continue;
            }
            let last = inner().filter_map(|v| graph.block_of.get(&v).copied()).max()?;
            if last == graph.loops[l].header || !graph.within(graph.loop_of[last], Some(l)) {
                return None;
            }
            let here = |v| graph.block_of.get(&v) == Some(&last) && !LLVMIsAPHINode(v).is_null();
            let one = inner().find(|&v| here(v))?;
            for i in 0..LLVMCountIncoming(one) {
                let from = LLVMGetIncomingBlock(one, i);
                if graph.index.contains_key(&from) {
                    pending
                        .push(replaced(&values, |v| if here(v) { incoming_from(v, from) } else { Some(v) })?);
                }
            }
        }
    }
    Some(orders)
}

fn replaced(
    values: &[LLVMValueRef],
    by: impl FnMut(LLVMValueRef) -> Option<LLVMValueRef>,
) -> Option<Vec<LLVMValueRef>> {
    values.iter().copied().map(by).collect()
}

/// All orders of `count` variables that iterations can bring about, the first one first. If there is one step, they
/// are in the order of the iterations.
fn reached_orders(count: usize, steps: &[Order]) -> Option<Vec<Order>> {
    let mut all: Vec<Order> = vec![(0..count).collect()];
    let mut at = 0;
    while at < all.len() {
        for step in steps {
            let next: Order = step.iter().map(|&from| all[at][from]).collect();
            if !all.contains(&next) {
                all.push(next);
            }
        }
        if all.len() > MAX_ORDERS {
            return None;
        }
        at += 1;
    }
    Some(all)
}

/// The values that a header phi takes over the back edges of its loop.
unsafe fn next_values(graph: &Graph, l: usize, phi: LLVMValueRef) -> Option<Vec<LLVMValueRef>> {
    let region = &graph.regions[l + 1];
    // SAFETY: the phi is live.
    region.ins(region.back()).map(|edge| unsafe { incoming_from(phi, graph.blocks[edge.block]) }).collect()
}

/// The one value that a header phi takes over all back edges of its loop.
///
/// # Safety
/// `phi` is a live phi in the header of loop `l`.
pub unsafe fn next_of(graph: &Graph, l: usize, phi: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: the phi is live.
    let values = unsafe { next_values(graph, l, phi) }?;
    let next = *values.first()?;
    values.iter().all(|&value| value == next).then_some(next)
}
