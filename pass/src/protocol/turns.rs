//! Variables of a loop that take turns: buffers that are swapped, three that rotate, a number that becomes `1 - x`.
//! For a stage that becomes `(x + 1) % 4` see [`super::stages`].
//!
//! # Variables that change places
//! If each way through an iteration gives the variables each other's values, each of them once, they always hold
//! their first values, in some order. To see this, [`orders_of_iteration`] follows all variables together, from the
//! end of an iteration back to its start. If all ways change the order alike, the number of iterations says which
//! order it is. Else a variable of the protocol's loop does, which may have any value from the second iteration on.

use std::collections::HashSet;
use std::rc::Rc;

use gpurace_protocol::expr::{BinOp, CmpOp, Expr, ExprId, Width};
use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::frame::{Extraction, Frame, Turns, Value};
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
                && let Some(counted) = self.eval_counted(f, l, phi, width, first)
            {
                return Some(Value::Int(counted));
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
