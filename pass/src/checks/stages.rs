//! Stages of buffers: a part of an index changes in each iteration of a loop and comes back, such as `k % 2` in
//! `buffer[k % 2][t]`. The report can then tell a wrong stage from a missing barrier. Only a buffer that is filled
//! before the loop needs stages: an iteration then uses one, and fills another one for the next iteration.
//!
//! Equal numbers mean the same computation from the same values. Nothing is proved by this.

use std::collections::{HashMap, HashSet};

use gpurace_abi::flow::Staged;
use gpurace_abi::meta::{PointerPlace, Site};
use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::numbers::Numbers;
use crate::analysis::regions::Graph;
use crate::analysis::uniform::Uniformity;
use crate::checks::sites::{Access, AccessSite};
use crate::ir;

/// Most values of one address that are looked at.
const MOST_VALUES: usize = 64;

/// A plain access of a kernel.
pub struct Plain<'a> {
    /// Its number.
    pub number: u32,
    /// Where it is.
    pub access: &'a AccessSite,
    /// Its description.
    pub site: &'a Site,
}

/// Returns the stages of a kernel's plain accesses, of those that have one.
///
/// # Safety
/// The accesses are live.
pub unsafe fn staged(graph: &Graph, uniformity: &Uniformity, plain: &[Plain<'_>]) -> Vec<Staged> {
    let block = |access: &Plain<'_>| graph.block_of.get(&access.access.instruction).copied();
    let mut filled: HashMap<_, usize> = HashMap::new();
    for access in plain.iter().filter(|access| access.writes()) {
        if let Some(block) = block(access) {
            filled.entry(access.object()).and_modify(|first| *first = block.min(*first)).or_insert(block);
        }
    }
    let is_filled_before = |access: &&Plain<'_>| {
        let around = block(access).and_then(|block| graph.loop_of[block]);
        let first = filled.get(&access.object()).filter(|_| access.object() != (None, None));
        around.zip(first).is_some_and(|(around, &first)| first < graph.loops[around].header)
    };
    let mut stages = Stages { graph, uniformity, numbers: Numbers::default(), known: HashMap::new() };
    // SAFETY: by contract.
    let staged = |access| unsafe { stages.staged(access) };
    plain.iter().filter(is_filled_before).filter_map(staged).collect()
}

impl<'a> Plain<'a> {
    /// The parameter or variable of the object.
    fn object(&self) -> (Option<PointerPlace>, Option<&'a str>) {
        (self.site.parameter, self.site.variable.as_deref())
    }

    fn writes(&self) -> bool {
        matches!(self.access.access, Access::Store | Access::WriteRange { .. } | Access::AsyncWrite { .. })
    }
}

struct Stages<'a> {
    graph: &'a Graph,
    uniformity: &'a Uniformity,
    numbers: Numbers,
    known: HashMap<Vec<u32>, u32>,
}

impl Stages<'_> {
    /// Returns the stage of an access. `None` if its index has no part that comes back.
    unsafe fn staged(&mut self, access: &Plain<'_>) -> Option<Staged> {
        let (mut seen, mut pending, mut found) = (HashSet::new(), vec![access.access.pointer], Vec::new());
        while let Some(value) = pending.pop() {
            if seen.len() > MOST_VALUES {
                return None;
            }
            // SAFETY: operands of live values are live.
            unsafe {
                if !seen.insert(value) || LLVMIsAInstruction(value).is_null() {
                    continue;
                }
                if self.comes_back(value) && self.uniformity.of_value(value) >= Uniform::Block {
                    found.push(self.numbers.of(value));
                } else if ir::is_speculatable(value) {
                    pending.extend(ir::operands(value));
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        found.sort_unstable();
        found.dedup();
        let next = self.known.len() as u32;
        Some(Staged { site: access.number, stage: *self.known.entry(found).or_insert(next) })
    }

    /// True if a value is computed from a loop's iteration, and takes few values in turn.
    unsafe fn comes_back(&self, value: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            let operand = |at| LLVMGetOperand(value, at);
            let is_constant = |at| !LLVMIsAConstantInt(operand(at)).is_null();
            match ir::opcode(value) {
                LLVMOpcode::LLVMPHI => self.turns(value),
                // `k & 1` and `k % 3`. A mask that drops the last bits rounds.
                LLVMOpcode::LLVMAnd => {
                    ir::constant(operand(1)).is_some_and(|mask| mask & 1 == 1) && self.is_of_loop(value)
                }
                LLVMOpcode::LLVMURem | LLVMOpcode::LLVMSRem => self.is_of_loop(operand(0)),
                // The other stage.
                LLVMOpcode::LLVMXor => is_constant(1) && self.comes_back(operand(0)),
                LLVMOpcode::LLVMSub => is_constant(0) && self.comes_back(operand(1)),
                LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt | LLVMOpcode::LLVMTrunc => {
                    self.comes_back(operand(0))
                }
                LLVMOpcode::LLVMSelect => {
                    let condition = operand(0);
                    ir::value_opcode(condition) == Some(LLVMOpcode::LLVMICmp)
                        && self.comes_back_or_is_constant(LLVMGetOperand(condition, 0))
                        && self.comes_back_or_is_constant(LLVMGetOperand(condition, 1))
                }
                _ => false,
            }
        }
    }

    unsafe fn comes_back_or_is_constant(&self, value: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            LLVMIsConstant(value) != 0 || !LLVMIsAInstruction(value).is_null() && self.comes_back(value)
        }
    }

    /// True for a phi of a loop that does not count: `stage ^= 1`, `stage = (stage + 1) % 3`, or two that swap.
    unsafe fn turns(&self, phi: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            let mut carried = self.carried(phi);
            carried.next().is_some_and(|first| {
                std::iter::once(first).chain(carried).all(|value| {
                    let operand = |at| LLVMGetOperand(value, at);
                    match ir::value_opcode(value) {
                        Some(LLVMOpcode::LLVMXor) => operand(0) == phi,
                        Some(LLVMOpcode::LLVMSub) => operand(1) == phi,
                        Some(LLVMOpcode::LLVMAnd | LLVMOpcode::LLVMURem | LLVMOpcode::LLVMSRem) => true,
                        // The next stage, or the first one again.
                        Some(LLVMOpcode::LLVMSelect) => (1..3).any(|at| LLVMIsConstant(operand(at)) != 0),
                        Some(LLVMOpcode::LLVMPHI) => self.carried(value).any(|other| other == phi),
                        _ => false,
                    }
                })
            })
        }
    }

    /// The values that a loop hands to a phi of its header.
    unsafe fn carried(&self, phi: LLVMValueRef) -> impl Iterator<Item = LLVMValueRef> {
        // SAFETY: by contract; a phi has as many values as blocks.
        unsafe {
            let at = |block| self.graph.index.get(&block).copied();
            let own = at(LLVMGetInstructionParent(phi));
            (0..LLVMCountIncoming(phi))
                .filter(move |&i| at(LLVMGetIncomingBlock(phi, i)) >= own)
                .map(move |i| LLVMGetIncomingValue(phi, i))
        }
    }

    /// True if a value is computed from a phi of a loop's header.
    unsafe fn is_of_loop(&self, value: LLVMValueRef) -> bool {
        let (mut seen, mut pending) = (HashSet::new(), vec![value]);
        while let Some(value) = pending.pop() {
            // SAFETY: as in `staged`.
            unsafe {
                if seen.len() > MOST_VALUES || !seen.insert(value) || LLVMIsAInstruction(value).is_null() {
                    continue;
                }
                if ir::opcode(value) == LLVMOpcode::LLVMPHI {
                    if self.carried(value).next().is_some() {
                        return true;
                    }
                } else if ir::is_speculatable(value) {
                    pending.extend(ir::operands(value));
                }
            }
        }
        false
    }
}
