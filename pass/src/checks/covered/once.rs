//! Reads in loops that are checked in the first iteration only.
//!
//! # The rule
//! The check of a plain read in the first iteration of a loop stands for those of the later
//! iterations, if
//!
//! * the address is computed from values that the loop does not change ([`super::Numbers`]);
//! * no iteration goes on to the next without the read;
//! * the loop has nothing that orders accesses or waits ([`super::orders`]).
//!
//! Then one thread reads the same bytes again and again, and nothing between could order only one
//! of these reads. The report loses nothing: all are one access of the source. A write keeps its
//! check in each iteration, since it may store another value, and reports compare values.

use std::collections::HashSet;

use gpurace_abi::ablation::{self, Mechanism};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Covered, Numbers, orders};
use crate::analysis::control_flow::ControlFlow;
use crate::analysis::loops::Loops;
use crate::analysis::spins;
use crate::checks::sites::{Access, AccessSite};
use crate::ir;

/// A loop in which some reads are checked once.
#[derive(Clone, Debug)]
pub struct QuietLoop {
    /// Its header.
    pub header: LLVMBasicBlockRef,
    /// Its basic blocks.
    pub body: HashSet<LLVMBasicBlockRef>,
}

/// The reads that are checked once.
#[derive(Clone, Debug, Default)]
pub struct Once {
    /// The loops.
    pub loops: Vec<QuietLoop>,
    /// For each access, the loop in whose first iteration alone it is checked. Accesses beyond its
    /// end are always checked.
    pub of: Vec<Option<usize>>,
}

/// Finds the reads that are checked once.
///
/// # Safety
/// As for [`super::covered`], which found `covered`.
pub unsafe fn once(accesses: &[AccessSite], covered: &[Option<Covered>]) -> Once {
    let mut found = Once { loops: Vec::new(), of: vec![None; accesses.len()] };
    if !ablation::is_on(Mechanism::CheckedOnce) {
        return found;
    }
    let mut at = 0;
    // Accesses stand in the order of their functions.
    for of_function in accesses.chunk_by(|a, b| a.function == b.function) {
        let first = at;
        at += of_function.len();
        let is_asked = |i: &usize| matches!(accesses[*i].access, Access::Load) && covered[*i].is_none();
        let reads: Vec<usize> = (first..at).filter(is_asked).collect();
        if reads.is_empty() {
            continue;
        }
        // SAFETY: by contract.
        unsafe {
            let loops = quiet_loops(of_function[0].function);
            let mut numbers = Numbers::default();
            for &read in &reads {
                let block = LLVMGetInstructionParent(accesses[read].instruction);
                let number = numbers.of(accesses[read].pointer);
                let steady = |of: &QuietLoop| {
                    numbers
                        .depends_on(number)
                        .iter()
                        .all(|&value| !of.body.contains(&LLVMGetInstructionParent(value)))
                };
                let stands =
                    |of: &&QuietLoop| of.body.contains(&block) && steady(of) && is_always_made(block, of);
                // The widest one.
                if let Some(widest) = loops.iter().filter(stands).max_by_key(|of| of.body.len()) {
                    let known = found.loops.iter().position(|of| of.header == widest.header);
                    found.of[read] = Some(known.unwrap_or_else(|| {
                        found.loops.push(widest.clone());
                        found.loops.len() - 1
                    }));
                }
            }
        }
    }
    found
}

/// The loops of a function that hold nothing that orders accesses, and that control enters by their
/// header alone.
unsafe fn quiet_loops(function: LLVMValueRef) -> Vec<QuietLoop> {
    // SAFETY: by contract.
    unsafe {
        let waits = spins::headers(function);
        let is_quiet = |block: &LLVMBasicBlockRef| {
            !waits.contains(block) && ir::block_instructions(*block).all(|instruction| !orders(instruction))
        };
        let flow = ControlFlow::of(function);
        let loops = Loops::of(&flow.successors).loops.into_iter().filter_map(|of| {
            let body = of.nodes.iter().map(|&node| flow.blocks[node]).collect();
            Some(QuietLoop { header: flow.blocks[of.header()?], body })
        });
        loops.filter(|of| of.body.iter().all(is_quiet)).collect()
    }
}

/// True if every way from one iteration to the next passes a basic block.
unsafe fn is_always_made(block: LLVMBasicBlockRef, of: &QuietLoop) -> bool {
    let mut seen = HashSet::from([of.header]);
    let mut pending = vec![of.header];
    while let Some(at) = pending.pop() {
        if at == block {
            continue;
        }
        // SAFETY: by contract.
        for next in unsafe { ir::successors(at) } {
            if next == of.header {
                return false;
            }
            if of.body.contains(&next) && seen.insert(next) {
                pending.push(next);
            }
        }
    }
    true
}
