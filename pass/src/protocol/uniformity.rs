//! The groups of threads that compute the same value: a warp, a block, the whole grid.
//!
//! The data-flow analysis starts from "all threads of the grid". A value differs if an operand
//! differs, if threads reach a phi by different edges, or if they leave a loop in different
//! iterations. "The same value" means in the same iterations of the loops around the use.

use std::collections::HashMap;

use gpurace_abi::context::offset;
use gpurace_abi::entry::Entry;
use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::aggregates;
use super::graph::{Edge, Graph, NodeKind};
use super::roots::{self, Start};
use crate::ir;
use crate::ir::entry_calls::{CONTEXT_FUNCTION, EntryCall};

/// Facts about a call that the analysis needs.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The group that sees the same value of each parameter.
    pub arguments: Vec<Uniform>,
    /// For each parameter, true if it points to a copy that is only read.
    pub read_only_copies: Vec<bool>,
    /// The group that calls the function together.
    pub control: Uniform,
}

/// The groups for the values and the control flow of a function.
#[derive(Clone, Debug)]
pub struct Uniformity {
    values: HashMap<LLVMValueRef, Uniform>,
    arguments: Vec<Uniform>,
    /// For each region and node: the group that decides together whether the
    /// node is executed, once its immediate dominator is.
    guards: Vec<Vec<Uniform>>,
    /// For each loop: the group that leaves it together.
    exits: Vec<Uniform>,
}

impl Uniformity {
    /// Analyses a function.
    ///
    /// # Safety
    /// `module` is live, `graph` is that of a function of it.
    pub unsafe fn of(module: LLVMModuleRef, graph: &Graph, inputs: &Inputs) -> Self {
        let mut result = Self {
            values: HashMap::new(),
            arguments: inputs.arguments.clone(),
            guards: graph.regions.iter().map(|r| vec![Uniform::Grid; r.nodes.len()]).collect(),
            exits: vec![Uniform::Grid; graph.loops.len()],
        };
        // SAFETY: by contract.
        unsafe {
            loop {
                let mut changed = false;
                for block in 0..graph.blocks.len() {
                    for &instruction in &graph.instructions[block] {
                        let new = result.transfer(module, graph, inputs, block, instruction);
                        let old = result.values.entry(instruction).or_insert(Uniform::Grid);
                        changed |= new < *old;
                        *old = new.min(*old);
                    }
                }
                changed |= result.update_control(graph);
                if !changed {
                    return result;
                }
            }
        }
    }

    /// The group that sees the same value at its definition.
    ///
    /// # Safety
    /// `value` is live.
    pub unsafe fn of_value(&self, value: LLVMValueRef) -> Uniform {
        // SAFETY: by contract.
        unsafe {
            if LLVMIsConstant(value) != 0 {
                return Uniform::Grid;
            }
            if !LLVMIsAArgument(value).is_null() {
                let params = ir::params(LLVMGetParamParent(value));
                let index = params.iter().position(|&p| p == value);
                return index.and_then(|i| self.arguments.get(i).copied()).unwrap_or(Uniform::Thread);
            }
            // Not seen yet, since a loop carries it. The analysis starts from the best case.
            self.values.get(&value).copied().unwrap_or(Uniform::Grid)
        }
    }

    /// The group that sees the same value at a use directly in loop `place`.
    ///
    /// # Safety
    /// `value` is live.
    pub unsafe fn at(&self, graph: &Graph, value: LLVMValueRef, place: Option<usize>) -> Uniform {
        // SAFETY: by contract.
        let own = unsafe { self.of_value(value) };
        match graph.block_of.get(&value) {
            Some(&defined) => {
                let left = graph.left(graph.loop_of[defined], place);
                left.iter().map(|&l| self.exits[l]).fold(own, Uniform::min)
            }
            None => own,
        }
    }

    /// The group that leaves a loop together: by the same edge, in the same
    /// iteration.
    pub fn exit(&self, of: usize) -> Uniform {
        self.exits[of]
    }

    /// The group of threads that decides together which edge it takes.
    ///
    /// # Safety
    /// `graph` is the graph that was analysed.
    pub unsafe fn decider(&self, graph: &Graph, region: usize, edge: &Edge) -> Uniform {
        match graph.regions[region].nodes[edge.from].kind {
            NodeKind::Block(block) => {
                // SAFETY: the block is live.
                unsafe {
                    let terminator = LLVMGetBasicBlockTerminator(graph.blocks[block]);
                    match ir::opcode(terminator) {
                        LLVMOpcode::LLVMBr if LLVMIsConditional(terminator) != 0 => {
                            self.at(graph, LLVMGetCondition(terminator), graph.loop_of[block])
                        }
                        LLVMOpcode::LLVMSwitch => {
                            self.at(graph, LLVMGetOperand(terminator, 0), graph.loop_of[block])
                        }
                        _ => Uniform::Grid,
                    }
                }
            }
            NodeKind::Loop(l) => {
                let ways = graph.regions[region].targets_of(edge.from, graph).len();
                if ways > 1 { self.exits[l] } else { Uniform::Grid }
            }
            NodeKind::Back => Uniform::Grid,
        }
    }

    /// The group that decides together whether a node is executed, from the
    /// execution of the dominating node `top` on.
    pub fn chain(&self, graph: &Graph, region: usize, mut node: usize, top: usize) -> Uniform {
        let mut group = Uniform::Grid;
        while node > top {
            group = group.min(self.guards[region][node]);
            node = graph.regions[region].nodes[node].idom;
        }
        group
    }

    /// The group that executes a block together: each of its threads in the
    /// same iterations, or none.
    ///
    /// # Safety
    /// `graph` is the graph that was analysed.
    pub unsafe fn control(&self, graph: &Graph, block: usize) -> Uniform {
        let mut of = graph.loop_of[block];
        let mut group = self.chain(graph, graph.region_of(of), graph.node_of[block], 0);
        while let Some(l) = of {
            of = graph.loops[l].parent;
            group = group.min(self.exits[l]).min(self.chain(
                graph,
                graph.region_of(of),
                graph.node_of_loop[l],
                0,
            ));
        }
        group
    }

    /// The group that decides together by which edge a node is entered.
    ///
    /// # Safety
    /// `graph` is the graph that was analysed.
    unsafe fn entered_by(&self, graph: &Graph, region: usize, node: usize) -> Uniform {
        let of = &graph.regions[region];
        let top = of.nodes[node].idom;
        let mut group = Uniform::Grid;
        for edge in of.ins(node) {
            // SAFETY: by contract.
            let decider = unsafe { self.decider(graph, region, edge) };
            group = group.min(decider).min(self.chain(graph, region, edge.from, top));
            // Two exits of a loop to one place are two edges of a phi.
            if let NodeKind::Loop(l) = of.nodes[edge.from].kind
                && of.outs(edge.from).count() > 1
            {
                group = group.min(self.exits[l]);
            }
        }
        group
    }

    unsafe fn update_control(&mut self, graph: &Graph) -> bool {
        let mut changed = false;
        // SAFETY: by contract.
        unsafe {
            for region in (0..graph.regions.len()).rev() {
                let of = &graph.regions[region];
                for node in 1..of.nodes.len() {
                    let new = if of.nodes[node].always {
                        Uniform::Grid
                    } else {
                        self.entered_by(graph, region, node)
                    };
                    changed |= std::mem::replace(&mut self.guards[region][node], new) != new;
                }
                if region > 0 {
                    let new = of
                        .exits(graph)
                        .map(|e| self.left_by(graph, region, e))
                        .fold(Uniform::Grid, Uniform::min);
                    changed |= std::mem::replace(&mut self.exits[region - 1], new) != new;
                }
            }
        }
        changed
    }

    /// The group that leaves a loop together by an edge.
    ///
    /// # Safety
    /// `graph` is the graph that was analysed.
    pub unsafe fn left_by(&self, graph: &Graph, region: usize, edge: &Edge) -> Uniform {
        // SAFETY: by contract.
        let decider = unsafe { self.decider(graph, region, edge) };
        let decider = match graph.regions[region].nodes[edge.from].kind {
            NodeKind::Loop(l) => decider.min(self.exits[l]),
            _ => decider,
        };
        decider.min(self.chain(graph, region, edge.from, 0))
    }

    unsafe fn transfer(
        &self,
        module: LLVMModuleRef,
        graph: &Graph,
        inputs: &Inputs,
        block: usize,
        instruction: LLVMValueRef,
    ) -> Uniform {
        let place = graph.loop_of[block];
        // SAFETY: by contract.
        unsafe {
            let operands = || {
                ir::operands(instruction)
                    .into_iter()
                    .map(|v| self.at(graph, v, place))
                    .fold(Uniform::Grid, Uniform::min)
            };
            match ir::opcode(instruction) {
                LLVMOpcode::LLVMPHI => self.phi(graph, block, instruction),
                LLVMOpcode::LLVMLoad if graph.forwarded.contains_key(&instruction) => {
                    self.at(graph, graph.forwarded[&instruction].0, place)
                }
                LLVMOpcode::LLVMLoad => {
                    let pointer = LLVMGetOperand(instruction, 0);
                    let address = self.at(graph, pointer, place);
                    match roots::start_of(module, pointer) {
                        (Start::Context, _, at) => at.map_or(Uniform::Thread, register),
                        (Start::Constant, ..) => address,
                        (Start::Argument(i), ..) if inputs.read_only_copies.get(i) == Some(&true) => address,
                        _ => Uniform::Thread,
                    }
                }
                LLVMOpcode::LLVMExtractValue => match aggregates::part(instruction) {
                    Some(part) => self.at(graph, part, place),
                    None => operands(),
                },
                LLVMOpcode::LLVMCall => match ir::callee(instruction) {
                    Some(callee) => {
                        let control = || inputs.control.min(self.control(graph, block));
                        self.call(callee, instruction, control, operands)
                    }
                    None => Uniform::Thread,
                },
                LLVMOpcode::LLVMAlloca
                | LLVMOpcode::LLVMAtomicRMW
                | LLVMOpcode::LLVMAtomicCmpXchg
                | LLVMOpcode::LLVMVAArg
                | LLVMOpcode::LLVMInvoke
                | LLVMOpcode::LLVMCallBr
                | LLVMOpcode::LLVMLandingPad => Uniform::Thread,
                _ => operands(),
            }
        }
    }

    /// The group that sees the same result of a call.
    unsafe fn call(
        &self,
        callee: LLVMValueRef,
        call: LLVMValueRef,
        control: impl Fn() -> Uniform,
        operands: impl Fn() -> Uniform,
    ) -> Uniform {
        // SAFETY: by contract; the entry points have these operands.
        unsafe {
            if let Some(call) = EntryCall::of(call) {
                // One result for all that take part, where all do so in the same iteration.
                return match call.entry {
                    Entry::BarrierRed if call.is_of_whole_block() => control().min(Uniform::Block),
                    Entry::Vote | Entry::Redux if call.constant(1) == Some(u32::MAX.into()) => {
                        control().min(Uniform::Warp)
                    }
                    _ => Uniform::Thread,
                };
            }
            match ir::name(callee).as_str() {
                CONTEXT_FUNCTION => Uniform::Grid,
                name if ir::is_pure_intrinsic(name) => operands(),
                _ => Uniform::Thread,
            }
        }
    }

    unsafe fn phi(&self, graph: &Graph, block: usize, phi: LLVMValueRef) -> Uniform {
        let mut group = Uniform::Grid;
        let mut first = None;
        let mut differ = false;
        // SAFETY: by contract; a phi has as many incoming values as it says.
        unsafe {
            for i in 0..LLVMCountIncoming(phi) {
                if !graph.index.contains_key(&LLVMGetIncomingBlock(phi, i)) {
                    continue;
                }
                let value = LLVMGetIncomingValue(phi, i);
                group = group.min(self.at(graph, value, graph.loop_of[block]));
                differ |= *first.get_or_insert(value) != value;
            }
            if differ {
                let own = graph.region_of(graph.loop_of[block]);
                let node = graph.node_of[block];
                if node == 0 && own > 0 {
                    // A loop's header: entered from outside, and by its back edges.
                    let l = own - 1;
                    let around = graph.region_of(graph.loops[l].parent);
                    let back = graph.regions[own].back();
                    if graph.regions[around].nodes[graph.node_of_loop[l]].ins.len() > 1 {
                        group = group.min(self.entered_by(graph, around, graph.node_of_loop[l]));
                    }
                    if graph.regions[own].nodes[back].ins.len() > 1 {
                        group = group.min(self.entered_by(graph, own, back));
                    }
                } else {
                    group = group.min(self.entered_by(graph, own, node));
                }
            }
        }
        group
    }
}

/// The group that sees the same value of a field of the thread context.
pub fn register(at: i64) -> Uniform {
    let field = |start: usize, bytes: usize| (start as i64..(start + bytes) as i64).contains(&at);
    if field(offset::CTAID, 12) {
        Uniform::Block
    } else if field(offset::NTID, 12)
        || field(offset::NCTAID, 12)
        || field(offset::DYNAMIC_SHARED_BYTES, 4)
        || field(offset::LAUNCH_ID, 8)
        || field(offset::GRID_WORKSPACE, 8)
    {
        Uniform::Grid
    } else if field(offset::WARP, 4) {
        Uniform::Warp
    } else {
        Uniform::Thread
    }
}
