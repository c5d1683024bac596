//! Conditions under which a node of a region is executed, and under which a phi takes each value.

use gpurace_protocol::expr::{CmpOp, ExprId, Width};
use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::frame::{Aim, Extraction, Frame, Pointer, Value, Way};
use super::graph::{Edge, NodeKind, Target};
use crate::ir;

/// Most different values of a phi that becomes an expression.
const MAX_CHOICES: usize = 4;
/// Most targets of a pointer.
const MAX_AIMS: usize = 8;

/// The values that a phi takes over some of its edges.
pub struct Incoming {
    /// Each value with its condition, once the node's dominator is executed; `None` if the
    /// condition is not known.
    pub choices: Vec<(Option<ExprId>, Value)>,
}

impl Extraction<'_> {
    /// Replaces an expression that has grown too deep by an opaque value.
    pub fn tame(&mut self, id: ExprId) -> ExprId {
        if !self.b.is_unwieldy(id) {
            return id;
        }
        let (width, uniform, varies) = (self.b.width(id), self.b.uniform(id), self.b.varies(id));
        self.b.opaque("a long computation", width, uniform, varies)
    }

    /// The condition under which an edge is taken, once the node that it leaves is executed.
    ///
    /// # Safety
    /// The frame's function is live.
    pub unsafe fn edge_condition(&mut self, f: &mut Frame, region: usize, edge: &Edge) -> ExprId {
        let graph = std::rc::Rc::clone(&f.graph);
        match graph.regions[region].nodes[edge.from].kind {
            NodeKind::Back => self.b.truth(true),
            NodeKind::Loop(l) => self.way_out(f, region, edge, l),
            NodeKind::Block(block) => {
                let asks_first = region > 0 && f.test_before[region - 1] && edge.from == 0;
                if asks_first && !matches!(edge.target, Target::Exit(_)) {
                    // The loop's own condition was tested already.
                    return self.b.truth(true);
                }
                // SAFETY: by contract.
                unsafe { self.branch_condition(f, block, edge.slot) }
            }
        }
    }

    /// The condition under which a basic block's terminator goes to its successor number `slot`.
    ///
    /// # Safety
    /// The frame's function is live.
    pub unsafe fn branch_condition(&mut self, f: &mut Frame, block: usize, slot: usize) -> ExprId {
        // SAFETY: by contract; a switch has two operands per case, the first
        // two being its value and the default.
        unsafe {
            let terminator = LLVMGetBasicBlockTerminator(f.graph.blocks[block]);
            let place = f.graph.loop_of[block];
            match ir::opcode(terminator) {
                LLVMOpcode::LLVMBr if LLVMIsConditional(terminator) != 0 => {
                    let condition = self.int(f, LLVMGetCondition(terminator), place);
                    if slot == 0 { condition } else { self.b.not(condition) }
                }
                LLVMOpcode::LLVMSwitch => {
                    let Some(value) = self.wanted_int(f, LLVMGetOperand(terminator, 0), place) else {
                        let uniform = f.uniform.at(&f.graph, LLVMGetOperand(terminator, 0), place);
                        return self.choice(f, block, slot, uniform);
                    };
                    let cases = LLVMGetNumSuccessors(terminator);
                    let width = self.b.width(value);
                    let case = |this: &mut Self, i: u32, op| {
                        let constant = LLVMConstIntGetZExtValue(LLVMGetOperand(terminator, 2 * i));
                        let constant = this.b.constant(width, constant as i64);
                        this.b.cmp(op, value, constant)
                    };
                    if slot > 0 {
                        return case(self, slot as u32, CmpOp::Eq);
                    }
                    let mut none = self.b.truth(true);
                    for i in 1..cases {
                        let other = case(self, i, CmpOp::Ne);
                        none = self.b.and(none, other);
                    }
                    self.tame(none)
                }
                _ => self.b.truth(true),
            }
        }
    }

    /// An opaque condition for one successor of a block.
    fn choice(&mut self, f: &mut Frame, block: usize, slot: usize, uniform: Uniform) -> ExprId {
        let key = Way::Successor(block, slot);
        if let Some(&known) = f.ways.get(&key) {
            return known;
        }
        let inner = f.loop_at(block);
        let made = self.b.opaque("which way a switch goes", Width::W1, uniform, inner);
        f.ways.insert(key, made);
        made
    }

    /// The condition under which an inner loop is left by an edge.
    fn way_out(&mut self, f: &mut Frame, region: usize, edge: &Edge, l: usize) -> ExprId {
        let graph = std::rc::Rc::clone(&f.graph);
        let targets = graph.regions[region].targets_of(edge.from, &graph);
        let Some(index) = targets.iter().position(|&t| t == edge.target) else {
            // To the end of the launch.
            return self.way(f, l, edge.target);
        };
        let mut taken = self.b.truth(true);
        for (i, &target) in targets.iter().enumerate().take(index + 1) {
            // The last one is taken if no other is.
            if i + 1 == targets.len() {
                break;
            }
            let this = self.way(f, l, target);
            let this = if i == index { this } else { self.b.not(this) };
            taken = self.b.and(taken, this);
        }
        taken
    }

    fn way(&mut self, f: &mut Frame, l: usize, target: Target) -> ExprId {
        if let Some(&known) = f.ways.get(&Way::OutOf(l, target)) {
            return known;
        }
        let inner = f.inner(f.graph.loops[l].parent);
        let made = self.b.opaque("which way a loop is left", Width::W1, f.uniform.exit(l), inner);
        f.ways.insert(Way::OutOf(l, target), made);
        made
    }

    /// The condition under which a node is executed, once its immediate dominator is.
    ///
    /// # Safety
    /// The frame's function is live; what comes before the node has been evaluated.
    pub unsafe fn guard(&mut self, f: &mut Frame, region: usize, node: usize) -> ExprId {
        let graph = std::rc::Rc::clone(&f.graph);
        // From the front, so that each guard finds those before it.
        while f.guards[region].len() <= node {
            let next = f.guards[region].len();
            let of = &graph.regions[region].nodes[next];
            let guard = if next == 0 || of.always {
                self.b.truth(true)
            } else {
                let mut any = self.b.truth(false);
                for &edge in &of.ins {
                    let edge = graph.regions[region].edges[edge];
                    // SAFETY: by contract.
                    let taken = unsafe { self.reached_by(f, region, &edge, of.idom) };
                    any = self.b.or(any, taken);
                }
                self.tame(any)
            };
            f.guards[region].push(guard);
        }
        f.guards[region][node]
    }

    /// The condition under which an edge is taken, once the dominating node `top` is executed.
    ///
    /// # Safety
    /// As [`Self::guard`].
    pub unsafe fn reached_by(&mut self, f: &mut Frame, region: usize, edge: &Edge, top: usize) -> ExprId {
        // SAFETY: by contract.
        unsafe {
            let taken = self.edge_condition(f, region, edge);
            let reached = self.reached(f, region, edge.from, top);
            self.b.and(reached, taken)
        }
    }

    /// The condition under which a node is executed, once the dominating node `top` is.
    ///
    /// # Safety
    /// As [`Self::guard`].
    pub unsafe fn reached(&mut self, f: &mut Frame, region: usize, mut node: usize, top: usize) -> ExprId {
        let graph = std::rc::Rc::clone(&f.graph);
        let mut all = self.b.truth(true);
        while node > top {
            if !graph.regions[region].nodes[node].always {
                // SAFETY: by contract.
                let guard = unsafe { self.guard(f, region, node) };
                all = self.b.and(guard, all);
            }
            node = graph.regions[region].nodes[node].idom;
        }
        self.tame(all)
    }

    /// The values that reach `node` over its edges; `value_of` gives the value from a basic block.
    ///
    /// # Safety
    /// As [`Self::guard`]; `value_of` gives values that live where they are used.
    pub unsafe fn incoming(
        &mut self,
        f: &mut Frame,
        region: usize,
        node: usize,
        mut value_of: impl FnMut(&mut Self, &mut Frame, usize) -> Option<Value>,
    ) -> Incoming {
        let graph = std::rc::Rc::clone(&f.graph);
        let of = &graph.regions[region];
        let mut choices: Vec<(Option<ExprId>, Value)> = Vec::new();
        for edge in of.ins(node) {
            // `None` is poison: any value, and so another edge's.
            let Some(value) = value_of(self, f, edge.block) else { continue };
            // It is not known by which of several exits the loop was left.
            let ambiguous = matches!(of.nodes[edge.from].kind, NodeKind::Loop(_))
                && of.outs(edge.from).filter(|e| e.target == edge.target).count() > 1;
            // SAFETY: by contract.
            let taken =
                (!ambiguous).then(|| unsafe { self.reached_by(f, region, edge, of.nodes[node].idom) });
            match choices.iter_mut().find(|(_, v)| *v == value) {
                Some((known, _)) => {
                    *known = match (*known, taken) {
                        (Some(a), Some(b)) => Some(self.b.or(a, b)),
                        _ => None,
                    };
                }
                None => choices.push((taken, value)),
            }
        }
        Incoming { choices }
    }

    /// The incoming integer as an expression, or `None`.
    pub fn merge_ints(&mut self, incoming: &Incoming) -> Option<ExprId> {
        let ints: Option<Vec<_>> = incoming
            .choices
            .iter()
            .map(|(cond, value)| match value {
                Value::Int(e) => Some((*cond, *e)),
                _ => None,
            })
            .collect();
        self.merge(&ints?)
    }

    fn merge(&mut self, choices: &[(Option<ExprId>, ExprId)]) -> Option<ExprId> {
        let mut distinct: Vec<(Option<ExprId>, ExprId)> = Vec::new();
        for &(cond, value) in choices {
            match distinct.iter_mut().find(|(_, v)| *v == value) {
                Some((known, _)) => {
                    *known = match (*known, cond) {
                        (Some(a), Some(b)) => Some(self.b.or(a, b)),
                        _ => None,
                    };
                }
                None => distinct.push((cond, value)),
            }
        }
        if distinct.len() > MAX_CHOICES {
            return None;
        }
        // A value without a condition can only be the last choice.
        distinct.sort_by_key(|(cond, _)| cond.is_none());
        let (last, others) = distinct.split_last()?;
        let mut value = last.1;
        for &(cond, other) in others.iter().rev() {
            value = self.b.select(cond?, other, value);
        }
        Some(value)
    }

    /// The incoming pointer. If no expression describes its distance, that is `opaque`.
    pub fn merge_pointers(
        &mut self,
        incoming: &Incoming,
        opaque: impl FnOnce(&mut Self) -> ExprId,
    ) -> Option<Pointer> {
        let mut offsets = Vec::new();
        let mut aims: Vec<Aim> = Vec::new();
        let alone = incoming.choices.len() == 1;
        for (cond, value) in &incoming.choices {
            let Value::Pointer(pointer) = value else { return None };
            offsets.push((*cond, pointer.offset));
            for aim in &pointer.aims {
                let guard = match (*cond, aim.guard) {
                    _ if alone => aim.guard,
                    (Some(a), Some(b)) => Some(self.b.and(a, b)),
                    (Some(a), None) => Some(a),
                    (None, _) => None,
                };
                add_aim(self, &mut aims, Aim { root: aim.root, guard });
            }
        }
        if aims.is_empty() || aims.len() > MAX_AIMS {
            return None;
        }
        if let [one] = aims.as_mut_slice()
            && !alone
        {
            one.guard = None;
        }
        let offset = match self.merge(&offsets) {
            Some(offset) => offset,
            None => opaque(self),
        };
        Some(Pointer { offset, aims })
    }
}

/// Adds a possible target of a pointer, once.
pub fn add_aim(x: &mut Extraction<'_>, aims: &mut Vec<Aim>, aim: Aim) {
    match aims.iter_mut().find(|a| a.root == aim.root) {
        Some(known) => {
            known.guard = match (known.guard, aim.guard) {
                (Some(a), Some(b)) => Some(x.b.or(a, b)),
                _ => None,
            };
        }
        None => aims.push(aim),
    }
}

/// The value that a phi takes from a basic block; `None` for poison, and from blocks that are no
/// predecessors.
///
/// # Safety
/// `phi` is a live phi.
pub unsafe fn incoming_from(phi: LLVMValueRef, from: LLVMBasicBlockRef) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let index = (0..LLVMCountIncoming(phi)).find(|&i| LLVMGetIncomingBlock(phi, i) == from)?;
        let value = LLVMGetIncomingValue(phi, index);
        (LLVMIsUndef(value) == 0).then_some(value)
    }
}
