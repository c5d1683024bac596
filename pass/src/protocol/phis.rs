//! Phis: the values that reach a basic block over several edges, and the variables of loops.

use std::rc::Rc;

use gpurace_protocol::expr::{ExprId, LoopId, Width};
use gpurace_protocol::protocol::Uniform;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::frame::{Aim, Extraction, Frame, HeaderVar, Pointer, Value};
use crate::analysis::address;
use crate::analysis::regions::NodeKind;

/// The largest number of different values of a phi that becomes an expression.
pub const MAX_CHOICES: usize = 4;
/// The largest number of targets of a pointer.
const MAX_AIMS: usize = 8;
/// The largest number of instructions that are followed to find the targets of a pointer.
pub const MAX_WEB: usize = 64;

/// The values that a phi takes over some of its edges. Each has its condition, once the node's
/// dominator is executed; `None` if the condition is not known.
pub type Choices<T> = Vec<(Option<ExprId>, T)>;

impl Extraction<'_> {
    /// Evaluates a phi; `width` is `None` for a pointer.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_phi(
        &mut self,
        f: &mut Frame,
        block: usize,
        phi: LLVMValueRef,
        width: Option<Width>,
    ) -> Value {
        let graph = Rc::clone(&f.graph);
        let (of, node) = (graph.region_of(graph.loop_of[block]), graph.node_of[block]);
        // SAFETY: by contract.
        unsafe {
            let value = if node == 0 && of > 0 {
                self.eval_header_phi(f, block, of - 1, phi, width)
            } else {
                self.merge_phi(f, block, of, node, phi, width)
            };
            match (value, width) {
                (Some(value), _) => value,
                (None, Some(width)) => {
                    let uniform = f.uniform.of_value(phi);
                    let inner = f.loop_at(block);
                    Value::Int(self.b.opaque("a value of several origins", width, uniform, inner))
                }
                (None, None) => Value::Pointer(self.opaque_pointer(f, phi)),
            }
        }
    }

    /// The value that a phi takes over the edges to a node.
    ///
    /// # Safety
    /// As [`Self::eval_int`]; the values that come over the edges have been evaluated.
    pub unsafe fn merge_phi(
        &mut self,
        f: &mut Frame,
        block: usize,
        region: usize,
        node: usize,
        phi: LLVMValueRef,
        width: Option<Width>,
    ) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let graph = Rc::clone(&f.graph);
            // The end of an iteration lies in the loop. A value from before the loop is used outside.
            let place = match graph.regions[region].nodes[node].kind {
                NodeKind::Loop(l) => graph.loops[l].parent,
                _ => graph.loop_of[block],
            };
            let incoming = self.incoming(f, region, node, |x, f, from| {
                let value = incoming_from(phi, f.graph.blocks[from])?;
                Some(match width {
                    Some(_) => match x.value(f, value, place) {
                        Value::Other => x.wanted_int(f, value, place).map_or(Value::Other, Value::Int),
                        known => known,
                    },
                    None => Value::Pointer(x.pointer(f, value, place)),
                })
            });
            if let [(_, only)] = incoming.as_slice() {
                return Some(only.clone());
            }
            match width {
                Some(_) => {
                    let merged = self.merge_ints(&incoming)?;
                    Some(Value::Int(self.tame(merged)))
                }
                None => {
                    let uniform = f.uniform.of_value(phi);
                    let pointer = self.merge_pointers(&incoming, uniform, f.inner(place))?;
                    let offset = self.tame(pointer.offset);
                    Some(Value::from(Pointer { offset, aims: pointer.aims }))
                }
            }
        }
    }

    /// The value of a phi in the header of loop `l`: the one before the loop if that stays, or a variable of the loop.
    unsafe fn eval_header_phi(
        &mut self,
        f: &mut Frame,
        block: usize,
        l: usize,
        phi: LLVMValueRef,
        width: Option<Width>,
    ) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let graph = Rc::clone(&f.graph);
            let around = graph.region_of(graph.loops[l].parent);
            let first = self.merge_phi(f, block, around, graph.node_of_loop[l], phi, width);
            // A value that the loop does not change.
            let unchanged = graph.regions[l + 1]
                .ins(graph.regions[l + 1].back())
                .all(|edge| incoming_from(phi, graph.blocks[edge.block]).is_none_or(|v| v == phi));
            if unchanged && let Some(first) = first {
                return Some(first);
            }
            if let Some(first) = &first
                && let Some(value) = self.eval_turns(f, block, l, phi, width, first)
            {
                return Some(value);
            }
            let aims = match width {
                Some(_) => None,
                None => Some(self.aims_of(f, phi, f.inner(graph.loops[l].parent))?),
            };
            let uniform = f.uniform.of_value(phi);
            let var_width = width.unwrap_or(Width::W64);
            let from = match first {
                Some(Value::Int(e)) => e,
                Some(Value::Pointer(p)) if aims.is_some() => p.offset,
                _ => {
                    let inner = f.inner(graph.loops[l].parent);
                    self.b.opaque("a loop's first value", var_width, uniform, inner)
                }
            };
            let (id, expr) = self.b.new_var(f.loop_ids[l], var_width, uniform);
            f.vars.push(HeaderVar { phi, of: l, id, expr, width: var_width, from, aims: aims.clone() });
            Some(match aims {
                Some(aims) => Value::from(Pointer { offset: expr, aims }),
                None => Value::Int(expr),
            })
        }
    }

    /// The possible targets of a pointer that a loop changes: those of all values that it is
    /// computed from. `around` is the loop around that loop.
    unsafe fn aims_of(
        &mut self,
        f: &mut Frame,
        phi: LLVMValueRef,
        around: Option<LoopId>,
    ) -> Option<Vec<Aim>> {
        let mut aims = Vec::new();
        // SAFETY: by contract.
        unsafe {
            for value in address::starts(phi, MAX_WEB, |_| false)? {
                if LLVMIsUndef(value) != 0 {
                    continue;
                }
                let defined = f.graph.block_of.get(&value).copied();
                let pointer = if defined.is_some() && !f.values.contains_key(&value) {
                    // Not evaluated yet, since it comes later in the loop.
                    self.opaque_pointer(f, value)
                } else {
                    let place = defined.and_then(|block| f.graph.loop_of[block]);
                    self.pointer(f, value, place)
                };
                for aim in &pointer.aims {
                    let root = self.root_fixed_in(aim.root, around);
                    self.add_aim(&mut aims, Aim { root, guard: None });
                }
            }
        }
        (aims.len() <= MAX_AIMS && !aims.is_empty()).then_some(aims)
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
    ) -> Choices<Value> {
        let graph = Rc::clone(&f.graph);
        let of = &graph.regions[region];
        let mut choices = Vec::new();
        for edge in of.ins(node) {
            // `None` is poison, which may have any value, so also that of another edge.
            let Some(value) = value_of(self, f, edge.block) else { continue };
            // If several exits of a loop lead here, it is not known which one was taken.
            let ambiguous = matches!(of.nodes[edge.from].kind, NodeKind::Loop(_))
                && of.outs(edge.from).filter(|e| e.target == edge.target).count() > 1;
            // SAFETY: by contract.
            let taken =
                (!ambiguous).then(|| unsafe { self.reached_by(f, region, edge, of.nodes[node].idom) });
            self.add_choice(&mut choices, taken, value);
        }
        choices
    }

    /// Adds a choice. The conditions of equal choices become one; `None` if one of them is not known.
    fn add_choice<T: PartialEq>(&mut self, choices: &mut Choices<T>, condition: Option<ExprId>, choice: T) {
        match choices.iter_mut().find(|(_, known)| *known == choice) {
            Some((known, _)) => *known = known.zip(condition).map(|(a, b)| self.b.or(a, b)),
            None => choices.push((condition, choice)),
        }
    }

    /// Adds a possible target of a pointer, once.
    pub fn add_aim(&mut self, aims: &mut Vec<Aim>, Aim { root, guard }: Aim) {
        match aims.iter_mut().find(|known| known.root == root) {
            Some(known) => known.guard = known.guard.zip(guard).map(|(a, b)| self.b.or(a, b)),
            None => aims.push(Aim { root, guard }),
        }
    }

    /// The chosen integer as an expression; `None` if there are too many choices, or if one of them
    /// is no integer.
    pub fn merge_ints(&mut self, choices: &[(Option<ExprId>, Value)]) -> Option<ExprId> {
        let int = |(condition, value): &(Option<ExprId>, Value)| match value {
            Value::Int(e) => Some((*condition, *e)),
            _ => None,
        };
        let ints: Option<Choices<ExprId>> = choices.iter().map(int).collect();
        self.merge(ints?)
    }

    /// The chosen number; `None` if there are too many choices, or two without a condition.
    fn merge(&mut self, choices: Choices<ExprId>) -> Option<ExprId> {
        let mut distinct = Vec::new();
        for (condition, value) in choices {
            self.add_choice(&mut distinct, condition, value);
        }
        if distinct.len() > MAX_CHOICES {
            return None;
        }
        // A value without a condition can only be the last choice.
        distinct.sort_by_key(|(condition, _)| condition.is_none());
        let (_, mut value) = distinct.pop()?;
        for (condition, other) in distinct.into_iter().rev() {
            value = self.b.select(condition?, other, value);
        }
        Some(value)
    }

    /// The chosen pointer; `None` if it has too many targets, or if one of the choices is no
    /// pointer. If no expression describes its distance, that is opaque.
    pub fn merge_pointers(
        &mut self,
        choices: &[(Option<ExprId>, Value)],
        uniform: Uniform,
        inner: Option<LoopId>,
    ) -> Option<Pointer> {
        let pointer = |(condition, value): &(Option<ExprId>, Value)| match value {
            Value::Pointer(p) => Some((*condition, Rc::clone(p))),
            _ => None,
        };
        let pointers: Option<Choices<Rc<Pointer>>> = choices.iter().map(pointer).collect();
        let pointers = pointers?;
        let aims = self.merge_aims(&pointers);
        if aims.is_empty() || aims.len() > MAX_AIMS {
            return None;
        }
        let offset = match self.merge(pointers.iter().map(|(condition, p)| (*condition, p.offset)).collect())
        {
            Some(offset) => offset,
            None => self.b.opaque("a distance of several origins", Width::W64, uniform, inner),
        };
        Some(Pointer { offset, aims })
    }

    /// The possible targets of the pointer that is chosen of several.
    pub fn merge_aims(&mut self, choices: &[(Option<ExprId>, Rc<Pointer>)]) -> Vec<Aim> {
        let mut aims = Vec::new();
        for (condition, pointer) in choices {
            for aim in &pointer.aims {
                let guard = condition.map(|c| aim.guard.map_or(c, |g| self.b.and(c, g)));
                self.add_aim(&mut aims, Aim { root: aim.root, guard });
            }
        }
        if let [only] = aims.as_mut_slice() {
            only.guard = None;
        }
        aims
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
