//! Reads in loops that are checked in the first iteration alone.
//!
//! # The rule
//! The check of a plain read in a loop's first iteration stands for those of the iterations
//! after it, since it is one thread's read of the same bytes with nothing in between that
//! could order one of them alone:
//!
//! * its address is computed from values that the loop does not change ([`super::Numbers`]);
//! * no iteration goes on to the next without it;
//! * the loop holds nothing that orders accesses or waits ([`super::orders`]).
//!
//! The report loses nothing: all are one access of the source. A write keeps its check in each
//! iteration, since it may store another value, and reports compare those.

use std::collections::HashSet;

use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Covered, Numbers, orders};
use crate::ir;
use crate::lower::spins;
use crate::sites::{Access, AccessSite};

/// A loop in which some reads are checked once.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Where it is entered.
    pub header: LLVMBasicBlockRef,
    /// Its blocks.
    pub body: HashSet<LLVMBasicBlockRef>,
}

/// The loops, and for each access the one in whose first iteration it is checked.
#[derive(Clone, Debug, Default)]
pub struct Once {
    /// The loops.
    pub loops: Vec<Loop>,
    /// By access; where it is shorter, each is checked whenever it is made.
    pub of: Vec<Option<usize>>,
}

/// Finds the reads that are checked once.
///
/// # Safety
/// As [`super::covered`]; `covered` is what that has found.
pub unsafe fn once(accesses: &[AccessSite], covered: &[Option<Covered>]) -> Once {
    let mut found = Once { loops: Vec::new(), of: vec![None; accesses.len()] };
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
                let steady = |of: &Loop| {
                    numbers
                        .rests_on(number)
                        .iter()
                        .all(|&value| !of.body.contains(&LLVMGetInstructionParent(value)))
                };
                let stands = |of: &&Loop| of.body.contains(&block) && steady(of) && is_always_made(block, of);
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

/// The loops of a function that hold nothing that orders accesses.
unsafe fn quiet_loops(function: LLVMValueRef) -> Vec<Loop> {
    // SAFETY: by contract.
    unsafe {
        let waits: HashSet<_> = spins::headers(function).into_iter().collect();
        let is_quiet = |block: &LLVMBasicBlockRef| {
            !waits.contains(block) && ir::block_instructions(*block).all(|instruction| !orders(instruction))
        };
        let loops = spins::loops(function).into_iter().map(|(header, body)| Loop { header, body });
        loops.filter(|of| of.body.iter().all(is_quiet)).collect()
    }
}

/// Whether every way through an iteration to the next one leads through a block.
unsafe fn is_always_made(block: LLVMBasicBlockRef, of: &Loop) -> bool {
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
