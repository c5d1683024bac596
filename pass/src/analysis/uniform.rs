//! Uniform values: the groups of threads that compute the same value, which are a warp, a block or
//! the whole grid.
//!
//! Two parts of the pass ask. The prover asks which threads see one value and take one way
//! ([`Uniformity`]). The loops over a block's threads ask which values and basic blocks all threads
//! of a block share ([`BlockUniform`]).
//!
//! The analysis starts from "all threads of the grid". A value differs if an operand differs, if
//! threads reach a phi by different edges, or if they leave a loop in different iterations. "The
//! same value" means in the same iterations of the loops around the use.

mod block;
mod whole_warps;

use std::collections::HashMap;
use std::rc::Rc;

use gpurace_abi::context::offset;
use gpurace_abi::entry::Entry;
use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::address::{self, Start};
use super::aggregates;
use super::regions::{Edge, Graph, NodeKind};
use crate::ir;
use crate::ir::entry_calls::{CONTEXT_FUNCTION, EntryCall};

pub use block::BlockUniform;
pub use whole_warps::WholeWarps;

/// What the analysis has to know of the callers of a function.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The group that sees the same value of each parameter.
    pub arguments: Vec<Uniform>,
    /// For each parameter, true if it points to a copy that is only read.
    pub read_only_copies: Vec<bool>,
    /// The group that calls the function together.
    pub control: Uniform,
    /// The group that sees the same result of a `freeze` of one value. Threads may choose
    /// different results for a value that the program leaves undefined.
    pub frozen: Uniform,
    /// Set in code that runs whole warps. See [`WholeWarps`].
    pub warps: Option<WholeWarps>,
    /// Values that are the same for all threads of a block that compute them together and whose address, given here,
    /// is the same.
    pub read_once: HashMap<LLVMValueRef, LLVMValueRef>,
}

impl Inputs {
    /// Of a function that each thread runs by itself. All threads see the same result of a `freeze`.
    pub fn of_threads(arguments: Vec<Uniform>, read_only_copies: Vec<bool>, control: Uniform) -> Self {
        Self {
            arguments,
            read_only_copies,
            control,
            frozen: Uniform::Grid,
            warps: None,
            read_once: HashMap::new(),
        }
    }
}

/// The groups for the values and the control flow of a function.
#[derive(Clone, Debug)]
pub struct Uniformity {
    module: LLVMModuleRef,
    graph: Rc<Graph>,
    inputs: Inputs,
    values: HashMap<LLVMValueRef, Uniform>,
    /// For each region and node: the group that decides together whether the node is executed, once
    /// its immediate dominator is.
    guards: Vec<Vec<Uniform>>,
    /// For each loop: the group that leaves it together.
    exits: Vec<Uniform>,
}

impl Uniformity {
    /// Analyses a function.
    ///
    /// # Safety
    /// `module` is live, `graph` is that of a function of it.
    pub unsafe fn of(module: LLVMModuleRef, graph: Rc<Graph>, inputs: Inputs) -> Self {
        let mut result = Self {
            module,
            values: HashMap::new(),
            guards: graph.regions.iter().map(|r| vec![Uniform::Grid; r.nodes.len()]).collect(),
            exits: vec![Uniform::Grid; graph.loops.len()],
            graph: Rc::clone(&graph),
            inputs,
        };
        // SAFETY: by contract.
        unsafe {
            loop {
                let mut changed = false;
                for (block, instructions) in graph.instructions.iter().enumerate() {
                    for &instruction in instructions {
                        let new = result.transfer(block, instruction);
                        let old = result.values.entry(instruction).or_insert(Uniform::Grid);
                        changed |= new < *old;
                        *old = new.min(*old);
                    }
                }
                changed |= result.update_control();
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
                return index.and_then(|i| self.inputs.arguments.get(i).copied()).unwrap_or(Uniform::Thread);
            }
            // Not seen yet, since a loop carries it. The analysis starts from the best case.
            self.values.get(&value).copied().unwrap_or(Uniform::Grid)
        }
    }

    /// The group that sees the same value at a use directly in loop `place`.
    ///
    /// # Safety
    /// `value` is live.
    pub unsafe fn at(&self, value: LLVMValueRef, place: Option<usize>) -> Uniform {
        // SAFETY: by contract.
        let own = unsafe { self.of_value(value) };
        match self.graph.block_of.get(&value) {
            Some(&defined) => {
                let left = self.graph.left(self.graph.loop_of[defined], place);
                left.iter().map(|&l| self.exits[l]).fold(own, Uniform::min)
            }
            None => own,
        }
    }

    /// The group that leaves a loop together: by the same edge, in the same iteration.
    pub fn exit(&self, of: usize) -> Uniform {
        self.exits[of]
    }

    /// The group that leaves a basic block together by the same edge.
    unsafe fn branch(&self, block: usize) -> Uniform {
        let graph = &*self.graph;
        // SAFETY: the block is live.
        unsafe {
            let terminator = LLVMGetBasicBlockTerminator(graph.blocks[block]);
            match ir::opcode(terminator) {
                LLVMOpcode::LLVMBr if LLVMIsConditional(terminator) != 0 => {
                    self.at(LLVMGetCondition(terminator), graph.loop_of[block])
                }
                LLVMOpcode::LLVMSwitch => self.at(LLVMGetOperand(terminator, 0), graph.loop_of[block]),
                _ => Uniform::Grid,
            }
        }
    }

    /// The group that decides together which edge it takes.
    unsafe fn decider(&self, region: usize, edge: &Edge) -> Uniform {
        let graph = &*self.graph;
        match graph.regions[region].nodes[edge.from].kind {
            // No thread takes another edge, or those that do end.
            NodeKind::Block(_) if graph.regions[region].outs(edge.from).count() == 1 => Uniform::Grid,
            // SAFETY: by contract.
            NodeKind::Block(block) => unsafe { self.branch(block) },
            NodeKind::Loop(l) => {
                let ways = graph.regions[region].targets_of(edge.from, graph).len();
                if ways > 1 { self.exits[l] } else { Uniform::Grid }
            }
            NodeKind::Back => Uniform::Grid,
        }
    }

    /// The group that decides together whether a node is executed, once the dominating node `top`
    /// is.
    fn chain(&self, region: usize, mut node: usize, top: usize) -> Uniform {
        let mut group = Uniform::Grid;
        while node > top {
            group = group.min(self.guards[region][node]);
            node = self.graph.regions[region].nodes[node].idom;
        }
        group
    }

    /// The group that executes a block together: each of its threads in the same iterations, or
    /// none.
    pub fn control(&self, block: usize) -> Uniform {
        let graph = &*self.graph;
        let mut of = graph.loop_of[block];
        let mut group = self.chain(graph.region_of(of), graph.node_of[block], 0);
        while let Some(l) = of {
            of = graph.loops[l].parent;
            let entered = self.chain(graph.region_of(of), graph.node_of_loop[l], 0);
            group = group.min(self.exits[l]).min(entered);
        }
        group
    }

    /// The group that decides together by which edge a node is entered.
    unsafe fn entered_by(&self, region: usize, node: usize) -> Uniform {
        let of = &self.graph.regions[region];
        let top = of.nodes[node].idom;
        let mut group = Uniform::Grid;
        for edge in of.ins(node) {
            // SAFETY: by contract.
            let decider = unsafe { self.decider(region, edge) };
            group = group.min(decider).min(self.chain(region, edge.from, top));
            // Two exits of a loop to one place are two edges of a phi.
            if let NodeKind::Loop(l) = of.nodes[edge.from].kind
                && of.outs(edge.from).count() > 1
            {
                group = group.min(self.exits[l]);
            }
        }
        group
    }

    /// Finds the groups that come to each node, and leave each loop, together. True if one has changed.
    unsafe fn update_control(&mut self) -> bool {
        let graph = Rc::clone(&self.graph);
        let mut changed = false;
        // SAFETY: by contract.
        unsafe {
            for region in (0..graph.regions.len()).rev() {
                let of = &graph.regions[region];
                for node in 1..of.nodes.len() {
                    let new =
                        if of.nodes[node].always { Uniform::Grid } else { self.entered_by(region, node) };
                    changed |= std::mem::replace(&mut self.guards[region][node], new) != new;
                }
                if region > 0 {
                    let left = of.exits(&graph).map(|e| self.left_by(region, e));
                    let new = left.fold(Uniform::Grid, Uniform::min);
                    changed |= std::mem::replace(&mut self.exits[region - 1], new) != new;
                }
            }
        }
        changed
    }

    /// The group that leaves a loop together by an edge.
    ///
    /// # Safety
    /// The analysed function is live and has not changed.
    pub unsafe fn left_by(&self, region: usize, edge: &Edge) -> Uniform {
        // SAFETY: by contract.
        let decider = unsafe { self.decider(region, edge) };
        let decider = match self.graph.regions[region].nodes[edge.from].kind {
            NodeKind::Loop(l) => decider.min(self.exits[l]),
            _ => decider,
        };
        decider.min(self.chain(region, edge.from, 0))
    }

    /// The group that sees the same result of an instruction, as far as its operands are known.
    unsafe fn transfer(&self, block: usize, instruction: LLVMValueRef) -> Uniform {
        let graph = &*self.graph;
        let place = graph.loop_of[block];
        // SAFETY: by contract.
        unsafe {
            let operands = || {
                ir::operands(instruction)
                    .into_iter()
                    .map(|v| self.at(v, place))
                    .fold(Uniform::Grid, Uniform::min)
            };
            if let Some(&pointer) = self.inputs.read_once.get(&instruction) {
                return self.at(pointer, place).min(self.inputs.control).min(self.control(block));
            }
            match ir::opcode(instruction) {
                LLVMOpcode::LLVMPHI => self.phi(block, instruction),
                LLVMOpcode::LLVMLoad if graph.forwarded.contains_key(&instruction) => {
                    self.at(graph.forwarded[&instruction].0, place)
                }
                LLVMOpcode::LLVMLoad => {
                    let pointer = LLVMGetOperand(instruction, 0);
                    let of_address = self.at(pointer, place);
                    match address::start_of(self.module, pointer) {
                        (Start::Context, _, at) => at.map_or(Uniform::Thread, register),
                        (Start::Constant, ..) => of_address,
                        (Start::Argument(i), ..) if self.inputs.read_only_copies.get(i) == Some(&true) => {
                            of_address
                        }
                        _ => Uniform::Thread,
                    }
                }
                LLVMOpcode::LLVMExtractValue => match aggregates::part(instruction) {
                    Some(part) => self.at(part, place),
                    None => operands(),
                },
                LLVMOpcode::LLVMCall => match ir::callee(instruction) {
                    Some(callee) => {
                        let control = || self.inputs.control.min(self.control(block));
                        self.call(callee, instruction, control, operands, |v| self.at(v, place))
                    }
                    None => Uniform::Thread,
                },
                LLVMOpcode::LLVMFreeze => operands().min(self.inputs.frozen),
                LLVMOpcode::LLVMAlloca
                | LLVMOpcode::LLVMAtomicRMW
                | LLVMOpcode::LLVMAtomicCmpXchg
                | LLVMOpcode::LLVMVAArg
                | LLVMOpcode::LLVMInvoke
                | LLVMOpcode::LLVMCallBr
                | LLVMOpcode::LLVMLandingPad => Uniform::Thread,
                LLVMOpcode::LLVMLShr
                | LLVMOpcode::LLVMAShr
                | LLVMOpcode::LLVMAnd
                | LLVMOpcode::LLVMUDiv
                | LLVMOpcode::LLVMSDiv
                    if self.drops_lane(instruction, place) =>
                {
                    operands().max(Uniform::Warp)
                }
                LLVMOpcode::LLVMICmp if self.compares_alike(instruction, place) => {
                    operands().max(Uniform::Warp)
                }
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
        source: impl Fn(LLVMValueRef) -> Uniform,
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
                    // All lanes read one lane.
                    Entry::Shfl
                        if self.inputs.warps.is_some()
                            && [call.constant(0), call.constant(1), call.constant(4)]
                                == [Some(0), Some(u32::MAX.into()), Some(31)] =>
                    {
                        control().min(source(call.operand(3))).min(Uniform::Warp)
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

    /// The group that sees the same value of a phi.
    unsafe fn phi(&self, block: usize, phi: LLVMValueRef) -> Uniform {
        let graph = &*self.graph;
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
                group = group.min(self.at(value, graph.loop_of[block]));
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
                        group = group.min(self.entered_by(around, graph.node_of_loop[l]));
                    }
                    if graph.regions[own].nodes[back].ins.len() > 1 {
                        group = group.min(self.entered_by(own, back));
                    }
                } else {
                    group = group.min(self.entered_by(own, node));
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
