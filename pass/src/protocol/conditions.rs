//! Conditions under which a node of a region is executed.

use std::rc::Rc;

use gpurace_protocol::expr::{CmpOp, ExprId, Width};
use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;

use super::frame::{Extraction, Frame, Way};
use crate::analysis::regions::{Edge, NodeKind, Target};
use crate::ir;

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
        let graph = Rc::clone(&f.graph);
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
        // SAFETY: by contract; case 0 of a switch is the default.
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
                        let uniform = f.uniform.at(LLVMGetOperand(terminator, 0), place);
                        return self.choice(f, block, slot, uniform);
                    };
                    let cases = LLVMGetNumSuccessors(terminator);
                    let width = self.b.width(value);
                    let case = |this: &mut Self, i: u32, op| {
                        let constant = LLVMConstIntGetZExtValue(LLVMGetSwitchCaseValue(terminator, i));
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
        let graph = Rc::clone(&f.graph);
        let targets = graph.regions[region].targets_of(edge.from, &graph);
        let Some(index) = targets.iter().position(|&t| t == edge.target) else {
            // The edge leads to the end of the launch.
            return self.way(f, l, edge.target);
        };
        let mut taken = self.b.truth(true);
        for (i, &target) in targets.iter().enumerate().take(index + 1) {
            // The last target is taken if no other is.
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
        let graph = Rc::clone(&f.graph);
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
        let graph = Rc::clone(&f.graph);
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
}
