//! The control flow of a function as a tree of regions: the function's body and each of its loops.
//! A region is a graph without cycles in which inner loops are single nodes.
//!
//! The protocol's loops and conditionals follow from it. A node is executed under a condition
//! relative to its immediate dominator, or always if every way from there passes it. Basic blocks
//! that end the launch (a trap, `unreachable`) do not count as ways: no barrier completes without
//! the threads that took them.

use std::collections::{HashMap, HashSet};

use gpurace_abi::entry::{Effect, Entry};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::control_flow::{ControlFlow, dominators, dying, postdominators};
use super::loops::{Loop, Loops};
use super::{locals, reloads};
use crate::ir;
use crate::ir::entry_calls::entry_of;

/// The target of an edge, seen from a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// To a node of the region.
    Node(usize),
    /// To the end of an iteration, back to the loop's header; in a function's region, to its
    /// return.
    Back,
    /// Out of the loop, to this block.
    Exit(usize),
    /// The thread ends.
    Leave,
}

/// An edge of a region.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Node that it leaves.
    pub from: usize,
    /// Block that it leaves.
    pub block: usize,
    /// Index among the successors of that block's terminator that are read.
    pub slot: usize,
    /// Its target.
    pub target: Target,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A block.
    Block(usize),
    /// An inner loop, by its index.
    Loop(usize),
    /// The end of an iteration; see [`Target::Back`].
    Back,
}

/// A node of a region.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its kind.
    pub kind: NodeKind,
    /// Edges to it, as indices into [`Region::edges`].
    pub ins: Vec<usize>,
    /// Edges from it.
    pub outs: Vec<usize>,
    /// Immediate dominator; the first node's is itself.
    pub idom: usize,
    /// Nodes that this one immediately dominates, in execution order.
    pub children: Vec<usize>,
    /// True if it is executed whenever its immediate dominator is.
    pub always: bool,
    /// True if every way from it ends the launch.
    pub dies: bool,
}

/// The body of a function or of a loop.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// Nodes in execution order: the entry first, [`NodeKind::Back`] last.
    pub nodes: Vec<Node>,
    /// Edges.
    pub edges: Vec<Edge>,
}

impl Region {
    /// The node for the end of an iteration.
    pub fn back(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The edges to a node.
    pub fn ins(&self, node: usize) -> impl Iterator<Item = &Edge> {
        self.nodes[node].ins.iter().map(|&e| &self.edges[e])
    }

    /// The edges from a node.
    pub fn outs(&self, node: usize) -> impl Iterator<Item = &Edge> {
        self.nodes[node].outs.iter().map(|&e| &self.edges[e])
    }

    /// The edges that leave the loop, except to basic blocks that end the launch.
    pub fn exits<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |e| match e.target {
            Target::Exit(block) => !graph.dies[block],
            Target::Leave => true,
            Target::Node(_) | Target::Back => false,
        })
    }

    /// The different targets of the edges from a node, except the end of the launch.
    pub fn targets_of(&self, node: usize, graph: &Graph) -> Vec<Target> {
        let mut targets: Vec<_> = self
            .outs(node)
            .map(|e| e.target)
            .filter(|t| match *t {
                Target::Node(n) => !self.nodes[n].dies,
                Target::Exit(block) => !graph.dies[block],
                Target::Back | Target::Leave => true,
            })
            .collect();
        targets.sort();
        targets.dedup();
        targets
    }
}

/// A loop that control enters by its header alone.
#[derive(Clone, Debug)]
pub struct NaturalLoop {
    /// The header, a block.
    pub header: usize,
    /// The loop around it.
    pub parent: Option<usize>,
}

/// The control flow of a function.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Reachable blocks in reverse post-order.
    pub blocks: Vec<LLVMBasicBlockRef>,
    /// Their indices.
    pub index: HashMap<LLVMBasicBlockRef, usize>,
    /// The instructions of each basic block, up to one that ends the thread.
    pub instructions: Vec<Vec<LLVMValueRef>>,
    /// The block of each instruction.
    pub block_of: HashMap<LLVMValueRef, usize>,
    /// Loops, outer ones before inner ones.
    pub loops: Vec<NaturalLoop>,
    /// The innermost loop around each block.
    pub loop_of: Vec<Option<usize>>,
    /// For each basic block, true if every way from it ends the launch.
    pub dies: Vec<bool>,
    /// The function's region, then one per loop.
    pub regions: Vec<Region>,
    /// For each basic block, its node in the innermost region around it.
    pub node_of: Vec<usize>,
    /// For each loop, its node in the region around it.
    pub node_of_loop: Vec<usize>,
    /// For each load from a local variable that is stored to in one place, the value stored and the block that stores
    /// it. For each load of what was loaded before, the earlier load and its block.
    pub forwarded: HashMap<LLVMValueRef, (LLVMValueRef, usize)>,
}

/// How control leaves a block other than by a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Returns to the caller; of a kernel: the thread ends.
    Return,
    /// The thread ends.
    Leave,
    /// The launch ends.
    Die,
}

/// How an instruction that is no terminator ends the thread, if it does.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn ends_thread(instruction: LLVMValueRef) -> Option<End> {
    // SAFETY: by contract.
    unsafe {
        if ir::opcode(instruction) != LLVMOpcode::LLVMCall {
            return None;
        }
        match entry_of(instruction).map(Entry::effect) {
            Some(Effect::EndsThread) => Some(End::Leave),
            Some(Effect::EndsLaunch) => Some(End::Die),
            None if ir::name(ir::callee(instruction)?) == "llvm.trap" => Some(End::Die),
            _ => None,
        }
    }
}

/// A basic block as it is read.
struct FlowBlock {
    instructions: Vec<LLVMValueRef>,
    successors: Vec<LLVMBasicBlockRef>,
    end: Option<End>,
}

/// Reads a basic block up to the instruction that ends its thread or function, or to its branch.
unsafe fn read_block(block: LLVMBasicBlockRef) -> Result<FlowBlock, String> {
    let mut instructions = Vec::new();
    // SAFETY: by contract.
    unsafe {
        for instruction in ir::block_instructions(block) {
            instructions.push(instruction);
            if let Some(end) = ends_thread(instruction) {
                return Ok(FlowBlock { instructions, successors: Vec::new(), end: Some(end) });
            }
        }
        let terminator = LLVMGetBasicBlockTerminator(block);
        let end = match ir::opcode(terminator) {
            LLVMOpcode::LLVMBr | LLVMOpcode::LLVMSwitch => None,
            LLVMOpcode::LLVMRet => Some(End::Return),
            LLVMOpcode::LLVMUnreachable => Some(End::Die),
            _ => return Err("control flow that the analysis does not know".to_owned()),
        };
        let successors = match end {
            Some(_) => Vec::new(),
            None => (0..LLVMGetNumSuccessors(terminator)).map(|i| LLVMGetSuccessor(terminator, i)).collect(),
        };
        Ok(FlowBlock { instructions, successors, end })
    }
}

impl Graph {
    /// Reads the control flow of a function.
    ///
    /// # Safety
    /// `function` is live and has a body.
    ///
    /// # Errors
    /// The reason why it has no regions: irreducible control flow, or terminators that CUDA does not
    /// have.
    pub unsafe fn of(function: LLVMValueRef) -> Result<Self, String> {
        // SAFETY: by contract.
        unsafe { Self::without(function, &HashSet::new()) }
    }

    /// The same without some basic blocks, from which no way leads to others: as the threads see it that do not
    /// go there. A block whose ways all lead there returns.
    ///
    /// # Safety
    /// As [`Self::of`].
    ///
    /// # Errors
    /// As [`Self::of`].
    pub unsafe fn without(
        function: LLVMValueRef,
        left_out: &HashSet<LLVMBasicBlockRef>,
    ) -> Result<Self, String> {
        // SAFETY: by contract.
        unsafe {
            let mut raw: HashMap<LLVMBasicBlockRef, FlowBlock> = HashMap::new();
            for block in ir::blocks(function) {
                let mut read = read_block(block)?;
                let ended_before = read.successors.is_empty();
                read.successors.retain(|to| !left_out.contains(to));
                if read.successors.is_empty() && !ended_before {
                    read.end = Some(End::Return);
                }
                raw.insert(block, read);
            }
            let ControlFlow { blocks, index, successors, predecessors } =
                ControlFlow::with(&[LLVMGetEntryBasicBlock(function)], |block| {
                    raw[&block].successors.clone()
                });
            let ends: Vec<_> = blocks.iter().map(|b| raw[b].end).collect();
            let instructions: Vec<_> = blocks
                .iter()
                .map(|b| std::mem::take(&mut raw.get_mut(b).unwrap_or_else(|| unreachable!()).instructions))
                .collect();
            let block_of = instructions
                .iter()
                .enumerate()
                .flat_map(|(b, all)| all.iter().map(move |&i| (i, b)))
                .collect();
            let found = Loops::of(&successors);
            if found.are_irreducible() {
                return Err("irreducible control flow".to_owned());
            }
            let shape = |of: &Loop| NaturalLoop { header: of.entries[0], parent: of.parent };
            let (loops, loop_of): (Vec<_>, _) = (found.loops.iter().map(shape).collect(), found.innermost);
            let mut graph = Self {
                dies: dying(&predecessors, |b| matches!(ends[b], Some(End::Return | End::Leave))),
                blocks,
                index,
                instructions,
                block_of,
                node_of: vec![0; loop_of.len()],
                node_of_loop: vec![0; loops.len()],
                loops,
                loop_of,
                regions: Vec::new(),
                forwarded: HashMap::new(),
            };
            graph.build_regions(&successors, &ends);
            graph.forwarded = reloads::find(function, &graph);
            graph.forwarded.extend(locals::forward_stores(&graph, &dominators(&predecessors)));
            Ok(graph)
        }
    }

    /// The region of a loop, or of the whole function.
    pub fn region_of(&self, of: Option<usize>) -> usize {
        of.map_or(0, |l| l + 1)
    }

    /// The block that enters a region.
    pub fn entry_of(&self, region: usize) -> usize {
        if region == 0 { 0 } else { self.loops[region - 1].header }
    }

    /// True if a loop is `outer` or lies in it; `None` is the function.
    pub fn within(&self, mut inner: Option<usize>, outer: Option<usize>) -> bool {
        loop {
            if inner == outer {
                return true;
            }
            match inner {
                Some(l) => inner = self.loops[l].parent,
                None => return false,
            }
        }
    }

    /// The loops around a place that are left on the way to another place,
    /// innermost first.
    pub fn left(&self, mut from: Option<usize>, to: Option<usize>) -> Vec<usize> {
        let mut left = Vec::new();
        while let Some(l) = from {
            if self.within(to, from) {
                break;
            }
            left.push(l);
            from = self.loops[l].parent;
        }
        left
    }

    /// All blocks in reverse post-order, but no block from outside of a loop stands between the loop's blocks.
    pub fn loops_as_wholes(&self) -> Vec<usize> {
        let mut order = Vec::new();
        self.add_blocks(0, &mut order);
        order
    }

    fn add_blocks(&self, region: usize, order: &mut Vec<usize>) {
        for node in &self.regions[region].nodes {
            match node.kind {
                NodeKind::Block(block) => order.push(block),
                NodeKind::Loop(l) => self.add_blocks(l + 1, order),
                NodeKind::Back => {}
            }
        }
    }

    /// The node of a region for a basic block, or for a loop around it.
    fn node_in(&self, block: usize, region: usize) -> NodeKind {
        let mut of = self.loop_of[block];
        let mut kind = NodeKind::Block(block);
        while self.region_of(of) != region {
            let Some(l) = of else { break };
            kind = NodeKind::Loop(l);
            of = self.loops[l].parent;
        }
        kind
    }

    /// Makes the regions: that of the function, and one for each loop.
    fn build_regions(&mut self, successors: &[Vec<usize>], ends: &[Option<End>]) {
        let count = self.loops.len() + 1;
        let mut regions = vec![Region::default(); count];
        // Nodes, in reverse post-order of the blocks that enter them.
        for block in 0..self.blocks.len() {
            if let Some(l) = self.loop_of[block].filter(|&l| self.loops[l].header == block) {
                let around = self.region_of(self.loops[l].parent);
                self.node_of_loop[l] = regions[around].nodes.len();
                regions[around].nodes.push(node(NodeKind::Loop(l)));
            }
            let own = self.region_of(self.loop_of[block]);
            self.node_of[block] = regions[own].nodes.len();
            regions[own].nodes.push(node(NodeKind::Block(block)));
        }
        for region in &mut regions {
            region.nodes.push(node(NodeKind::Back));
        }
        for block in 0..self.blocks.len() {
            for (slot, &to) in successors[block].iter().enumerate() {
                self.add_edge(&mut regions, block, slot, Some(to), Target::Back);
            }
            match ends[block] {
                Some(End::Return) => self.add_edge(&mut regions, block, 0, None, Target::Back),
                Some(End::Leave) => self.add_edge(&mut regions, block, 0, None, Target::Leave),
                Some(End::Die) | None => {}
            }
        }
        for region in &mut regions {
            region.finish(&self.dies);
        }
        self.regions = regions;
    }

    /// Adds an edge to every region in which it can be seen. `to` is `None` for the end of a thread
    /// or function, which is `end` then.
    fn add_edge(&self, regions: &mut [Region], block: usize, slot: usize, to: Option<usize>, end: Target) {
        let mut of = self.loop_of[block];
        loop {
            let at = self.region_of(of);
            let from = match self.node_in(block, at) {
                NodeKind::Loop(l) => self.node_of_loop[l],
                _ => self.node_of[block],
            };
            let inside = to.is_none_or(|t| self.within(self.loop_of[t], of));
            let target = match to {
                None if at == 0 => end,
                // Only `Leave` stands in a loop: a return is never part of one.
                None => Target::Leave,
                Some(t) if !inside => Target::Exit(t),
                Some(t) if at > 0 && t == self.entry_of(at) => Target::Back,
                Some(t) => Target::Node(match self.node_in(t, at) {
                    NodeKind::Loop(l) => self.node_of_loop[l],
                    _ => self.node_of[t],
                }),
            };
            let edge = regions[at].edges.len();
            regions[at].edges.push(Edge { from, block, slot, target });
            regions[at].nodes[from].outs.push(edge);
            match target {
                Target::Node(n) => regions[at].nodes[n].ins.push(edge),
                Target::Back => {
                    let back = regions[at].back();
                    regions[at].nodes[back].ins.push(edge);
                }
                Target::Exit(_) | Target::Leave => {}
            }
            match of {
                Some(l) if !matches!(target, Target::Node(_) | Target::Back) => of = self.loops[l].parent,
                _ => break,
            }
        }
    }
}

fn node(kind: NodeKind) -> Node {
    Node {
        kind,
        ins: Vec::new(),
        outs: Vec::new(),
        idom: 0,
        children: Vec::new(),
        always: false,
        dies: false,
    }
}

impl Region {
    /// Fills in dominators and the fields that follow from them; nodes are in topological order.
    fn finish(&mut self, dies: &[bool]) {
        let count = self.nodes.len();
        let predecessors: Vec<Vec<usize>> =
            (0..count).map(|n| self.ins(n).map(|edge| edge.from).collect()).collect();
        for (node, idom) in self.nodes.iter_mut().zip(dominators(&predecessors)) {
            // Only `Back` may have no edge to it, and is never reached then.
            node.idom = if idom == usize::MAX { 0 } else { idom };
        }
        // Ways that end the launch do not count.
        let leaves = |edge: &Edge| match edge.target {
            Target::Exit(block) => !dies[block],
            Target::Leave => true,
            Target::Node(_) | Target::Back => false,
        };
        let inside = |edge: &Edge| match edge.target {
            Target::Node(n) => Some(n),
            Target::Back => Some(self.back()),
            Target::Exit(_) | Target::Leave => None,
        };
        let successors: Vec<Vec<usize>> =
            (0..count).map(|n| self.outs(n).filter_map(inside).collect()).collect();
        let ipdom = postdominators(&successors, |n| n == self.back() || self.outs(n).any(leaves));
        for (node, ipdom) in self.nodes.iter_mut().zip(&ipdom) {
            node.dies = ipdom.is_none();
        }
        for n in 1..count {
            let idom = self.nodes[n].idom;
            self.nodes[idom].children.push(n);
            let mut at = ipdom[idom];
            while let Some(before) = at.filter(|&at| at < n) {
                at = ipdom[before];
            }
            self.nodes[n].always = at == Some(n) && !self.nodes[n].ins.is_empty();
        }
    }
}
