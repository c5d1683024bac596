//! The control flow of a function as a tree of regions: the function's body and
//! each of its loops, every one an acyclic graph in which inner loops are single
//! nodes.
//!
//! The protocol's loops and conditionals follow from it: a node is executed
//! under a condition relative to its immediate dominator, and under none where
//! every way from there leads through it. Blocks that end the launch (a trap,
//! `unreachable`) do not count as ways: no barrier completes without the
//! threads that took them.

use std::collections::HashMap;

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::locals;
use super::natural_loops::{LoopShape, NaturalLoops, dying};
use crate::ir;

/// Most blocks of a function.
const MAX_BLOCKS: usize = 2000;

/// Where an edge leads, seen from a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// To a node of the region.
    Node(usize),
    /// To the end of an iteration: back to the loop's header; of a function's
    /// region: its return.
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
    /// Index among the successors of that block's terminator.
    pub slot: usize,
    /// Where it leads.
    pub target: Target,
}

/// What a node stands for.
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
    /// What it stands for.
    pub kind: NodeKind,
    /// Edges to it, as indices into [`Region::edges`].
    pub ins: Vec<usize>,
    /// Edges from it.
    pub outs: Vec<usize>,
    /// Immediate dominator; the first node's is itself.
    pub idom: usize,
    /// Nodes that this one immediately dominates, in execution order.
    pub children: Vec<usize>,
    /// Whether it is executed whenever its immediate dominator is.
    pub always: bool,
    /// Whether every way from it ends the launch.
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
    /// The node that stands for the end of an iteration.
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

    /// Edges that leave the loop, other than to blocks that end the launch.
    pub fn exits<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |e| match e.target {
            Target::Exit(block) => !graph.dies[block],
            Target::Leave => true,
            Target::Node(_) | Target::Back => false,
        })
    }

    /// Whether an inner loop can be left to more than one place, the end of
    /// the launch apart.
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

/// The control flow of a function.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Reachable blocks in reverse post-order.
    pub blocks: Vec<LLVMBasicBlockRef>,
    /// Their indices.
    pub index: HashMap<LLVMBasicBlockRef, usize>,
    /// Instructions of each block that can be executed: those after one that
    /// ends the thread are left out.
    pub instructions: Vec<Vec<LLVMValueRef>>,
    /// The block of each instruction.
    pub block_of: HashMap<LLVMValueRef, usize>,
    /// Loops, outer ones before inner ones.
    pub loops: Vec<LoopShape>,
    /// The innermost loop around each block.
    pub loop_of: Vec<Option<usize>>,
    /// Whether every way from a block ends the launch.
    pub dies: Vec<bool>,
    /// The function's region, then one per loop.
    pub regions: Vec<Region>,
    /// For each block, its node in the region that it directly belongs to.
    pub node_of: Vec<usize>,
    /// For each loop, its node in the region around it.
    pub node_of_loop: Vec<usize>,
    /// For each load from a local variable that is stored to in one place, the
    /// value stored and the block that stores it.
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

/// Whether an instruction, other than a terminator, ends the thread.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn ends_thread(instruction: LLVMValueRef) -> Option<End> {
    // SAFETY: by contract.
    unsafe {
        if ir::opcode(instruction) != LLVMOpcode::LLVMCall {
            return None;
        }
        match ir::name(ir::callee(instruction)?).as_str() {
            "__gpurace_exit" => Some(End::Leave),
            "__gpurace_trap" | "__gpurace_assertfail" | "__gpurace_unsupported" | "llvm.trap" => {
                Some(End::Die)
            }
            _ => None,
        }
    }
}

/// A block before the graph is built.
struct Raw {
    instructions: Vec<LLVMValueRef>,
    successors: Vec<LLVMBasicBlockRef>,
    end: Option<End>,
}

unsafe fn read_block(block: LLVMBasicBlockRef) -> Result<Raw, String> {
    let mut instructions = Vec::new();
    // SAFETY: by contract.
    unsafe {
        for instruction in ir::block_instructions(block) {
            instructions.push(instruction);
            if let Some(end) = ends_thread(instruction) {
                return Ok(Raw { instructions, successors: Vec::new(), end: Some(end) });
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
        Ok(Raw { instructions, successors, end })
    }
}

impl Graph {
    /// Reads a function.
    ///
    /// # Safety
    /// `function` is live and has a body.
    ///
    /// # Errors
    /// Why it has no such form: irreducible control flow, too many blocks,
    /// terminators that CUDA does not have.
    pub unsafe fn of(function: LLVMValueRef) -> Result<Self, String> {
        // SAFETY: by contract.
        unsafe {
            if LLVMCountBasicBlocks(function) as usize > MAX_BLOCKS {
                return Err(format!("more than {MAX_BLOCKS} basic blocks"));
            }
            let mut raw: HashMap<LLVMBasicBlockRef, Raw> = HashMap::new();
            for block in ir::blocks(function) {
                raw.insert(block, read_block(block)?);
            }
            let blocks = reverse_post_order(LLVMGetEntryBasicBlock(function), &raw);
            let index: HashMap<_, _> = blocks.iter().enumerate().map(|(i, &b)| (b, i)).collect();
            let successors: Vec<Vec<usize>> =
                blocks.iter().map(|b| raw[b].successors.iter().map(|s| index[s]).collect()).collect();
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
            let NaturalLoops { loops, loop_of, idom } = NaturalLoops::of(&successors)?;
            let mut graph = Self {
                dies: dying(&successors, |b| matches!(ends[b], Some(End::Return | End::Leave))),
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
            graph.forwarded = locals::forward_stores(&graph, &idom);
            Ok(graph)
        }
    }

    /// The region that a loop, or the whole function, is.
    pub fn region_of(&self, of: Option<usize>) -> usize {
        of.map_or(0, |l| l + 1)
    }

    /// The block that enters a region.
    pub fn entry_of(&self, region: usize) -> usize {
        if region == 0 { 0 } else { self.loops[region - 1].header }
    }

    /// Whether a loop is `outer` or lies in it; `None` stands for the function.
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

    /// The node of a region that a block, or a loop around it, is.
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

    /// Adds an edge to every region that it is seen from. `to` is `None` for
    /// the end of a thread or function, which `end` then names.
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
    /// Dominators and what follows from them; nodes are in topological order.
    fn finish(&mut self, dies: &[bool]) {
        let count = self.nodes.len();
        let end = count;
        for n in 1..count {
            let mut idom: Option<usize> = None;
            for edge in self.nodes[n].ins.clone() {
                let from = self.edges[edge].from;
                idom = Some(match idom {
                    None => from,
                    Some(known) => self.common_dominator(known, from),
                });
            }
            // Only `Back` may have no edge to it: it is then never reached.
            self.nodes[n].idom = idom.unwrap_or(0);
        }
        // Post-dominators, over ways that do not end the launch.
        let mut ipdom = vec![usize::MAX; count + 1];
        ipdom[end] = end;
        for n in (0..count).rev() {
            let mut found: Option<usize> = (self.nodes[n].kind == NodeKind::Back).then_some(end);
            for edge in self.nodes[n].outs.iter().map(|&e| self.edges[e]) {
                let to = match edge.target {
                    Target::Node(t) => t,
                    Target::Back => self.back(),
                    Target::Exit(block) if dies[block] => continue,
                    Target::Exit(_) | Target::Leave => end,
                };
                if ipdom[to] == usize::MAX {
                    continue;
                }
                found = Some(match found {
                    None => to,
                    Some(mut known) => {
                        let mut other = to;
                        while known != other {
                            if known < other {
                                known = ipdom[known];
                            } else {
                                other = ipdom[other];
                            }
                        }
                        known
                    }
                });
            }
            ipdom[n] = found.unwrap_or(usize::MAX);
            self.nodes[n].dies = found.is_none();
        }
        for n in 1..count {
            let idom = self.nodes[n].idom;
            self.nodes[idom].children.push(n);
            let mut at = ipdom[idom];
            while at < n {
                at = ipdom[at];
            }
            self.nodes[n].always = at == n && !self.nodes[n].ins.is_empty();
        }
    }

    fn common_dominator(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if a > b {
                a = self.nodes[a].idom;
            } else {
                b = self.nodes[b].idom;
            }
        }
        a
    }
}

fn reverse_post_order(
    entry: LLVMBasicBlockRef,
    raw: &HashMap<LLVMBasicBlockRef, Raw>,
) -> Vec<LLVMBasicBlockRef> {
    let mut order = Vec::new();
    let mut seen = std::collections::HashSet::from([entry]);
    let mut stack = vec![(entry, 0)];
    while let Some((block, next)) = stack.pop() {
        match raw[&block].successors.get(next) {
            Some(&to) => {
                stack.push((block, next + 1));
                if seen.insert(to) {
                    stack.push((to, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    order
}
