//! Which loops of a kernel are cut at their end, so that all threads of the block run an iteration before any
//! thread runs the next one.
//!
//! A thread by itself would run through the whole loop. In an iteration that all threads run side by side,
//! neighbouring threads mostly use neighbouring memory: `i += gridDim.x * blockDim.x`, a column for each
//! thread. LLVM then vectorises over the threads, and the accesses of an instruction are a row
//! ([`super::rows`]). Where a thread walks along a row of its own, it is better off alone: its accesses are
//! gathered ([`super::gathered`]), and it keeps its values in registers.
//!
//! | accesses of the loop | without checks | with rows |
//! |---|---|---|
//! | each thread walks along elements of its own | alone | alone |
//! | in each iteration, neighbouring threads access neighbouring elements of global memory | side by side | side by side |
//! | any others, none of which writes to shared memory | alone | side by side |
//! | any others | alone | alone |
//!
//! Code with rows has loops without checks too, since all their accesses are proved. They are run as without checks.
//!
//! Without checks, a loop whose steps are the size of the block (`i += blockDim.x`) is run alone too: what one block
//! walks over mostly stays in the processor's cache, and a sum stays in a register.
//!
//! With rows, one more kind of loop is run alone: it writes to shared memory, and a thread may write there by another
//! instruction before the next barrier. If a thread writes a word several times between two barriers, the checker keeps
//! one of the writes. Where threads run one after the other, the reads of earlier threads meet each write before it is
//! dropped. Side by side, they would meet the first write alone.
//!
//! Threads that leave such a loop earlier than others wait for them at the next barrier, or have ended. The loop is
//! only cut if no value from the threads' memory says when they leave it: the threads then leave it at about the
//! same time, or one after the other. A loop that few threads reach (`if (threadIdx.x == 0)`) is not cut.

mod growth;

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use self::growth::{GrowsWith, Growth, is_computed};
use super::rows;
use super::segments::{ThreadParameter, is_barrier};
use crate::analysis::address;
use crate::analysis::control_flow::ControlFlow;
use crate::analysis::loops::{Loop, Loops};
use crate::analysis::uniform::BlockUniform;
use crate::ir;
use crate::ir::entry_calls::{EntryCall, checked_address};

/// Bytes within which memory counts as neighbouring: a line of the processor's cache.
const NEAR: i64 = 64;

/// Most loops of a kernel that are cut: each one adds two copies of the code around it.
const MOST_CUT: usize = 8;

/// The end of a loop that is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopEnd {
    /// The loop's header.
    pub header: LLVMBasicBlockRef,
    /// The basic block that goes back to it.
    pub latch: LLVMBasicBlockRef,
    /// All threads of the block come there together.
    pub together: bool,
    /// The loop's basic blocks.
    pub body: Rc<[LLVMBasicBlockRef]>,
}

/// What the choice rests on.
pub struct LoopSource<'a> {
    /// The module.
    pub module: LLVMModuleRef,
    /// The function that is cut.
    pub function: LLVMValueRef,
    /// Number of its parameters that are the kernel's.
    pub kernel_parameters: usize,
    /// Which values differ from thread to thread.
    pub uniform: &'a BlockUniform,
    /// The accesses become rows. Otherwise there are no checks.
    pub rows: bool,
    /// The parameters from which shared memory is addressed.
    pub shared: Vec<LLVMValueRef>,
    /// The parameters that hold the size of the block.
    pub block_size: Vec<LLVMValueRef>,
}

/// Finds the ends of the loops that are cut: first those that all threads reach together, then the others. Among the
/// others, an inner loop comes after the loop around it, and an earlier loop of the program comes after a later one.
/// The threads at the last end run first. So all threads in a loop are in the same iteration of it, and of the loops
/// around it.
///
/// # Safety
/// The function is live and has not changed since the analysis.
pub unsafe fn find(source: &LoopSource<'_>) -> Vec<LoopEnd> {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(source.function);
        let loops = Loops::of(&flow.successors);
        let mut chosen: Vec<bool> = loops.loops.iter().map(|of| source.are_side_by_side(&flow, of)).collect();
        // A loop around one that is cut is cut too: a segment that is a loop is not vectorised over the threads.
        for (at, of) in loops.loops.iter().enumerate().rev() {
            if let Some(parent) = of.parent.filter(|_| chosen[at]) {
                chosen[parent] = true;
            }
        }
        for (chosen, of) in chosen.iter_mut().zip(&loops.loops) {
            *chosen &= !(source.rows && source.writes_shared_by_several(&flow, of));
        }
        let ends = Ends { source, flow: &flow };
        let (mut found, mut apart) = (Vec::new(), vec![None::<LoopEnd>; loops.loops.len()]);
        let mut is_cut = vec![false; loops.loops.len()];
        // `loops` has each loop before those in it.
        for (at, of) in loops.loops.iter().enumerate().filter(|(at, _)| chosen[*at]) {
            let Some(header) = of.header().map(|node| flow.blocks[node]) else { continue };
            if is_cut.iter().filter(|&&is_cut| is_cut).count() == MOST_CUT {
                break;
            }
            let latches = ends.latches(of);
            let body: Rc<[_]> = of.nodes.iter().map(|&node| flow.blocks[node]).collect();
            let end = |latch, together| LoopEnd { header, latch, together, body: body.clone() };
            if latches.iter().all(|&latch| !source.uniform.is_divergent(latch)) {
                found.extend(latches.into_iter().map(|latch| end(latch, true)));
                is_cut[at] = true;
            } else if let [latch] = latches[..]
                && of.parent.is_none_or(|parent| is_cut[parent])
                && ends.may_part(of)
            {
                apart[at] = Some(end(latch, false));
                is_cut[at] = true;
            }
        }
        let mut order = Vec::new();
        inner_first(&loops, None, &mut order);
        found.extend(order.into_iter().rev().filter_map(|at| apart[at].take()));
        found
    }
}

/// Adds the loops directly in `parent`, each after those in it, in the order in which threads come to them.
fn inner_first(loops: &Loops, parent: Option<usize>, order: &mut Vec<usize>) {
    for (at, _) in loops.loops.iter().enumerate().filter(|(_, of)| of.parent == parent) {
        inner_first(loops, Some(at), order);
        order.push(at);
    }
}

impl LoopSource<'_> {
    /// True if the threads had better run the iterations of a loop side by side.
    unsafe fn are_side_by_side(&self, flow: &ControlFlow, of: &Loop) -> bool {
        // SAFETY: by contract.
        unsafe {
            let Some(header) = of.header() else { return false };
            let inside: HashSet<_> = of.nodes.iter().map(|&node| flow.blocks[node]).collect();
            let header = flow.blocks[header];
            let [x, linear] = [ThreadParameter::X, ThreadParameter::Linear]
                .map(|p| LLVMGetParam(self.function, (self.kernel_parameters + p as usize) as u32));
            let mut by_thread = Growth::new(self.module, GrowsWith::Thread([x, linear]));
            let mut by_iteration = Growth::new(self.module, GrowsWith::Loop { header, inside: &inside });
            let all: Vec<_> = inside.iter().flat_map(|&block| ir::block_instructions(block)).collect();
            let has_rows = self.rows && all.iter().any(|&i| checked(i).is_some());
            let accesses = all.iter().filter_map(|&i| if has_rows { checked(i) } else { accessed(i) });
            let (mut walks, mut crosses) = (false, false);
            for pointer in accesses {
                let distance = |growth: Option<i64>| growth.map_or(i64::MAX, |step| step.saturating_abs());
                let (thread, iteration) =
                    (distance(by_thread.of(pointer)), distance(by_iteration.of(pointer)));
                walks |= iteration != 0 && iteration <= NEAR && iteration < thread;
                // Shared memory is near for all threads.
                crosses |= thread != 0 && thread <= NEAR && thread < iteration && !self.is_shared(pointer);
            }
            if has_rows {
                crosses || !walks && !all.iter().any(|&i| self.writes_shared(i))
            } else {
                crosses && !self.steps_by_block(header)
            }
        }
    }

    /// True if a variable of a loop grows by the size of the block.
    unsafe fn steps_by_block(&self, header: LLVMBasicBlockRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            let mut phis =
                ir::block_instructions(header).take_while(|&i| ir::opcode(i) == LLVMOpcode::LLVMPHI);
            phis.any(|phi| {
                ir::operands(phi).into_iter().any(|next| {
                    let is_sum = ir::value_opcode(next) == Some(LLVMOpcode::LLVMAdd);
                    let added = || ir::operands(next).into_iter().map(|value| without_extension(value));
                    is_sum && added().any(|value| self.block_size.contains(&value))
                })
            })
        }
    }

    /// True if a loop has a check of a write to shared memory, and a thread may make another one, by another
    /// instruction, without a barrier between.
    unsafe fn writes_shared_by_several(&self, flow: &ControlFlow, of: &Loop) -> bool {
        // SAFETY: by contract.
        unsafe {
            let site = |i| if self.writes_shared(i) { EntryCall::of(i)?.site() } else { None };
            let instructions = |node: usize| ir::block_instructions(flow.blocks[node]);
            let mut found: HashSet<_> =
                of.nodes.iter().flat_map(|&node| instructions(node)).filter_map(site).collect();
            if found.is_empty() {
                return false;
            }
            for (next, backwards) in [(&flow.successors, false), (&flow.predecessors, true)] {
                let mut seen: HashSet<_> = of.nodes.iter().copied().collect();
                let mut pending = of.nodes.clone();
                while let Some(node) = pending.pop() {
                    let mut on_the_way: Vec<_> = instructions(node).collect();
                    if backwards {
                        on_the_way.reverse();
                    }
                    let barrier = on_the_way.iter().position(|&i| is_barrier(i));
                    on_the_way.truncate(barrier.unwrap_or(on_the_way.len()));
                    found.extend(on_the_way.into_iter().filter_map(site));
                    if barrier.is_none() || of.nodes.binary_search(&node).is_ok() {
                        pending.extend(next[node].iter().copied().filter(|&node| seen.insert(node)));
                    }
                }
            }
            found.len() > 1
        }
    }

    /// True for a check of a write to shared memory.
    unsafe fn writes_shared(&self, i: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe { rows::is_write(i) && self.is_shared(checked_address(i)) }
    }

    /// True for an address in shared memory.
    unsafe fn is_shared(&self, address: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            let (_, start, _) = address::start_of(self.module, address);
            let number = match ir::value_opcode(start) {
                Some(LLVMOpcode::LLVMIntToPtr) => LLVMGetOperand(start, 0),
                _ => start,
            };
            self.shared.contains(&number)
        }
    }
}

/// The address of a check that may be in a row.
unsafe fn checked(i: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe { rows::batched_access(i).map(|access| checked_address(access.call)) }
}

/// The address of a load or store.
unsafe fn accessed(i: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        match ir::opcode(i) {
            LLVMOpcode::LLVMLoad => Some(LLVMGetOperand(i, 0)),
            LLVMOpcode::LLVMStore => Some(LLVMGetOperand(i, 1)),
            _ => None,
        }
    }
}

/// A number before it was extended to more bits.
unsafe fn without_extension(value: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        match ir::value_opcode(value) {
            Some(LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt | LLVMOpcode::LLVMTrunc) => {
                without_extension(LLVMGetOperand(value, 0))
            }
            _ => value,
        }
    }
}

/// Looks at the ends of loops.
struct Ends<'a> {
    source: &'a LoopSource<'a>,
    flow: &'a ControlFlow,
}

impl Ends<'_> {
    /// The basic blocks from which a loop goes back to its header.
    fn latches(&self, of: &Loop) -> Vec<LLVMBasicBlockRef> {
        let before = of.header().map_or(&[][..], |header| &self.flow.predecessors[header]);
        let inside = before.iter().filter(|node| of.nodes.binary_search(node).is_ok());
        let found: BTreeSet<usize> = inside.copied().collect();
        found.into_iter().map(|node| self.flow.blocks[node]).collect()
    }

    /// True if a loop may be cut although threads come to it, or leave it, one by one.
    unsafe fn may_part(&self, of: &Loop) -> bool {
        // SAFETY: by contract.
        unsafe { self.is_counted(of) && of.header().is_some_and(|header| !self.is_for_few(header)) }
    }

    /// True if all conditions by which threads leave a loop follow from their indices and from numbers that they share.
    unsafe fn is_counted(&self, of: &Loop) -> bool {
        // SAFETY: by contract.
        unsafe {
            let mut seen = HashSet::new();
            let mut pending = Vec::new();
            for &node in &of.nodes {
                let leaves = self.flow.successors[node].iter().any(|to| of.nodes.binary_search(to).is_err());
                let end = LLVMGetBasicBlockTerminator(self.flow.blocks[node]);
                match ir::opcode(end) {
                    _ if !leaves => {}
                    LLVMOpcode::LLVMBr if LLVMIsConditional(end) != 0 => pending.push(LLVMGetCondition(end)),
                    _ => return false,
                }
            }
            while let Some(value) = pending.pop() {
                if LLVMIsAInstruction(value).is_null()
                    || !self.source.uniform.varies(value)
                    || !seen.insert(value)
                {
                    continue;
                }
                match ir::opcode(value) {
                    // Threads that load from one address get one value.
                    LLVMOpcode::LLVMLoad if !self.source.uniform.varies(LLVMGetOperand(value, 0)) => {}
                    _ if is_computed(value) => pending.extend(ir::operands(value)),
                    _ => return false,
                }
            }
            true
        }
    }

    /// True if threads reach a node only if a number of theirs, which differs from thread to thread, has a certain
    /// value: `if (threadIdx.x == 0)`.
    unsafe fn is_for_few(&self, node: usize) -> bool {
        // SAFETY: by contract.
        unsafe {
            self.flow.blocks.iter().enumerate().any(|(from, &block)| {
                let end = LLVMGetBasicBlockTerminator(block);
                if ir::opcode(end) != LLVMOpcode::LLVMBr || LLVMIsConditional(end) == 0 || from == node {
                    return false;
                }
                let condition = LLVMGetCondition(end);
                if ir::value_opcode(condition) != Some(LLVMOpcode::LLVMICmp)
                    || !self.source.uniform.varies(condition)
                {
                    return false;
                }
                let way = match LLVMGetICmpPredicate(condition) {
                    LLVMIntPredicate::LLVMIntEQ => 0,
                    LLVMIntPredicate::LLVMIntNE => 1,
                    _ => return false,
                };
                let to = &self.flow.successors[from];
                // Nothing but this way of the branch leads there.
                to.len() == 2 && to[0] != to[1] && !self.is_reached(node, (from, to[way]))
            })
        }
    }

    /// True if control can come from the function's start to a node without this edge.
    fn is_reached(&self, node: usize, without: (usize, usize)) -> bool {
        let mut seen = HashSet::from([0]);
        let mut pending = vec![0];
        while let Some(at) = pending.pop() {
            if at == node {
                return true;
            }
            let next = self.flow.successors[at].iter().copied().filter(|&to| (at, to) != without);
            pending.extend(next.filter(|&to| seen.insert(to)));
        }
        false
    }
}

#[cfg(test)]
mod tests;
