//! Accesses in loops that are checked in the first iteration only.
//!
//! # The rule
//! The check of a plain access in the first iteration of a loop stands for those of the later
//! iterations, if
//!
//! * the address is computed from values that the loop does not change ([`Numbers`]);
//! * no iteration goes on to the next without the access;
//! * the loop has nothing that orders accesses or waits ([`super::orders`]).
//!
//! Then one thread accesses the same bytes again and again, and nothing between could order only
//! one of these accesses. All are one access of the source.
//!
//! # Values of writes
//! Reports say whether two writes stored equal values. Where the loop may change the value of a
//! write, the first value does not tell: the check says that it is not known.

use std::collections::HashSet;

use gpurace_abi::ablation::{self, Mechanism};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Covered, orders};
use crate::analysis::control_flow::ControlFlow;
use crate::analysis::loops::Loops;
use crate::analysis::numbers::Numbers;
use crate::analysis::spins;
use crate::checks::sites::{Access, AccessSite};
use crate::ir;

/// A loop in which some accesses are checked once.
#[derive(Clone, Debug)]
pub struct QuietLoop {
    /// Its header.
    pub header: LLVMBasicBlockRef,
    /// Its basic blocks.
    pub body: HashSet<LLVMBasicBlockRef>,
}

/// An access that is checked in the first iteration of a loop alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFirst {
    /// The loop's number.
    pub of: usize,
    /// It stores another value in each iteration, perhaps.
    pub value_varies: bool,
}

/// The accesses that are checked once.
#[derive(Clone, Debug, Default)]
pub struct Once {
    /// The loops.
    pub loops: Vec<QuietLoop>,
    /// How each access is checked. Those that are `None`, or beyond its end, are always checked.
    pub of: Vec<Option<InFirst>>,
}

/// Finds the accesses that are checked once.
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
        let is_plain = |i: usize| matches!(accesses[i].access, Access::Load | Access::Store);
        let asked: Vec<usize> = (first..at).filter(|&i| is_plain(i) && covered[i].is_none()).collect();
        if asked.is_empty() {
            continue;
        }
        // SAFETY: by contract.
        unsafe {
            let loops = quiet_loops(of_function[0].function);
            let mut numbers = Numbers::default();
            for i in asked {
                let AccessSite { instruction, pointer, .. } = accesses[i];
                let block = LLVMGetInstructionParent(instruction);
                let mut is_steady = |value, of: &QuietLoop| {
                    let number = numbers.of(value);
                    let mut from = numbers.depends_on(number).iter();
                    from.all(|&value| !of.body.contains(&LLVMGetInstructionParent(value)))
                };
                let stands = |of: &&QuietLoop| {
                    of.body.contains(&block) && is_steady(pointer, of) && is_always_made(block, of)
                };
                // The widest one.
                let Some(widest) = loops.iter().filter(stands).max_by_key(|of| of.body.len()) else {
                    continue;
                };
                let value_varies = ir::opcode(instruction) == LLVMOpcode::LLVMStore
                    && !is_steady(LLVMGetOperand(instruction, 0), widest);
                let known = found.loops.iter().position(|of| of.header == widest.header);
                let of = known.unwrap_or_else(|| {
                    found.loops.push(widest.clone());
                    found.loops.len() - 1
                });
                found.of[i] = Some(InFirst { of, value_varies });
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
