//! What a thread knows on its way through a function: numbers that move together, and conditions that it has decided.
//!
//! `pipeline.consumer_wait()` of `cuda::pipeline` counts groups in two numbers, and their difference chooses how many
//! groups stay in flight. In each iteration of a loop both may be new. So a number is known as another one plus a
//! constant: all variables of a loop's start are expressed by the first one. A condition that compares such numbers
//! keeps its value until a variable in it changes.
//!
//! Only what may decide about waits and groups is followed ([`Relevant`]).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use crate::analysis::control_flow::ControlFlow;
use crate::analysis::loops::Loops;
use crate::ir;
use crate::ir::entry_calls::EntryCall;

/// The most instructions between a value and the variables in it.
const MOST_STEPS: u32 = 16;
/// The largest difference that is followed. With larger ones a loop could go on for ever.
const MOST_APART: u64 = 32;
/// The largest difference by which a condition looks ahead of a loop's variable. What it said before is of no more use.
const MOST_AHEAD: u64 = 8;
/// The widest numbers that are followed, in bits.
const WIDEST: u32 = 64;

/// A number: a value, or 0 without one, plus a constant. It is taken modulo a power of two, by its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Relative {
    of: Option<LLVMValueRef>,
    plus: u64,
}

/// A comparison of two numbers of a width, by the number of its predicate.
type Condition = (u32, u32, Relative, Relative);

/// What a thread knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Knowledge {
    /// Variables with another name.
    terms: BTreeMap<LLVMValueRef, Relative>,
    conditions: BTreeMap<Condition, bool>,
}

/// The variables and conditions of a function that may decide about waits and groups of copies.
#[derive(Debug, Default)]
pub struct Relevant {
    phis: HashSet<LLVMValueRef>,
    /// The blocks at whose ends relevant ways part.
    parts: HashSet<LLVMBasicBlockRef>,
    /// The starts of loops.
    headers: HashSet<LLVMBasicBlockRef>,
    /// The blocks in loops. What they compute is new in each iteration.
    in_loops: HashSet<LLVMBasicBlockRef>,
}

impl Relevant {
    /// `None` if no condition stands before a wait or the end of a group.
    ///
    /// # Safety
    /// `function` is a live definition.
    pub unsafe fn of(function: LLVMValueRef) -> Option<Self> {
        // SAFETY: by contract.
        unsafe {
            let flow = ControlFlow::of(function);
            let counts = |block: &LLVMBasicBlockRef| {
                ir::block_instructions(*block).any(|i| {
                    EntryCall::of(i).is_some_and(|c| matches!(c.entry, Entry::AsyncWait | Entry::AsyncCommit))
                })
            };
            let mut found = Self::default();
            let mut pending = vec![];
            for &block in &flow.blocks {
                let next = ir::successors(block);
                if next.len() > 1 && next.iter().any(counts) && !next.iter().all(counts)
                    || next.len() > 2 && next.iter().any(counts)
                {
                    pending.extend(decides(block));
                }
            }
            if pending.is_empty() {
                return None;
            }
            let loops = Loops::of(&flow.successors).loops;
            found.in_loops = loops.iter().flat_map(|of| &of.nodes).map(|&node| flow.blocks[node]).collect();
            found.headers = loops.iter().flat_map(|of| &of.entries).map(|&node| flow.blocks[node]).collect();
            let mut seen = HashSet::new();
            while let Some(value) = pending.pop() {
                if LLVMIsAInstruction(value).is_null() || !seen.insert(value) {
                    continue;
                }
                match ir::opcode(value) {
                    LLVMOpcode::LLVMPHI => {
                        found.phis.insert(value);
                        // What leads to the ways that a variable joins may decide its value.
                        for i in 0..LLVMCountIncoming(value) {
                            let from = flow.index.get(&LLVMGetIncomingBlock(value, i));
                            pending.push(LLVMGetIncomingValue(value, i));
                            for node in from
                                .into_iter()
                                .flat_map(|&node| flow.predecessors[node].iter().copied().chain([node]))
                            {
                                pending.extend(decides(flow.blocks[node]));
                            }
                        }
                    }
                    LLVMOpcode::LLVMCall | LLVMOpcode::LLVMLoad => {}
                    _ => pending.extend(ir::operands(value)),
                }
            }
            for &block in &flow.blocks {
                if decides(block).is_some_and(|of| compares(of, &found.phis, MOST_STEPS)) {
                    found.parts.insert(block);
                }
            }
            Some(found)
        }
    }

    /// True for a value that has one name until [`Knowledge::enter`] says otherwise.
    unsafe fn keeps(&self, value: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            !LLVMIsAArgument(value).is_null()
                || self.phis.contains(&value)
                || !LLVMIsAInstruction(value).is_null()
                    && !self.in_loops.contains(&LLVMGetInstructionParent(value))
        }
    }
}

/// The value that decides which way control takes at the end of a block.
unsafe fn decides(block: LLVMBasicBlockRef) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(block);
        match ir::opcode(end) {
            LLVMOpcode::LLVMBr if LLVMIsConditional(end) != 0 => Some(LLVMGetCondition(end)),
            LLVMOpcode::LLVMSwitch => Some(LLVMGetOperand(end, 0)),
            _ => None,
        }
    }
}

/// True if a value is computed from one of these.
unsafe fn compares(value: LLVMValueRef, of: &HashSet<LLVMValueRef>, steps: u32) -> bool {
    // SAFETY: by contract.
    unsafe {
        if of.contains(&value) {
            return true;
        }
        let goes_on = steps > 0
            && !LLVMIsAInstruction(value).is_null()
            && !matches!(
                ir::opcode(value),
                LLVMOpcode::LLVMCall | LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMPHI
            );
        goes_on && ir::operands(value).into_iter().any(|operand| compares(operand, of, steps - 1))
    }
}

impl Knowledge {
    /// What a thread knows that goes on from one block to another. `None` if it cannot.
    ///
    /// # Safety
    /// The blocks are live.
    pub unsafe fn step(
        &self,
        relevant: &Relevant,
        from: LLVMBasicBlockRef,
        to: LLVMBasicBlockRef,
    ) -> Option<Self> {
        // SAFETY: by contract.
        unsafe {
            let mut next = self.clone();
            if relevant.parts.contains(&from) && !next.decide(relevant, from, to) {
                return None;
            }
            next.enter(relevant, from, to);
            Some(next)
        }
    }

    /// Takes note of the way that a branch takes. False if the thread knows that it does not take it.
    unsafe fn decide(&mut self, relevant: &Relevant, from: LLVMBasicBlockRef, to: LLVMBasicBlockRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(from);
            let Some(of) = decides(from) else { return true };
            let next = ir::successors(from);
            match ir::opcode(end) {
                LLVMOpcode::LLVMBr if next[0] != next[1] => {
                    let value = to == next[0];
                    match self.truth(relevant, of, MOST_STEPS) {
                        Some(known) => known == value,
                        None => {
                            if let Some(condition) = self.condition(relevant, of) {
                                self.conditions.insert(condition, value);
                            }
                            true
                        }
                    }
                }
                LLVMOpcode::LLVMSwitch => {
                    let Some(width) = width(of) else { return true };
                    let Some(Relative { of: None, plus }) = self.term(relevant, of, width, MOST_STEPS) else {
                        return true;
                    };
                    // The operands are the value and the default, then each case with its block.
                    let cases = LLVMGetNumSuccessors(end);
                    let case = (1..cases)
                        .find(|&case| ir::constant(LLVMGetSwitchCaseValue(end, case)) == Some(plus));
                    LLVMGetSuccessor(end, case.unwrap_or(0)) == to
                }
                _ => true,
            }
        }
    }

    /// Gives the variables at the start of a block their values.
    unsafe fn enter(&mut self, relevant: &Relevant, from: LLVMBasicBlockRef, to: LLVMBasicBlockRef) {
        // SAFETY: by contract.
        unsafe {
            let mut new: Vec<(LLVMValueRef, u32, Option<Relative>)> = vec![];
            for phi in ir::block_instructions(to).take_while(|&i| ir::opcode(i) == LLVMOpcode::LLVMPHI) {
                let Some(width) = width(phi) else { continue };
                if !relevant.phis.contains(&phi) {
                    continue;
                }
                let incoming = (0..LLVMCountIncoming(phi)).find(|&i| LLVMGetIncomingBlock(phi, i) == from);
                let value = incoming.map(|i| LLVMGetIncomingValue(phi, i));
                new.push((phi, width, value.and_then(|value| self.term(relevant, value, width, MOST_STEPS))));
            }
            if new.is_empty() {
                return;
            }
            let is_header = relevant.headers.contains(&to);
            let changed: BTreeSet<_> = new.iter().map(|(phi, ..)| *phi).collect();
            // The first variable of each width names those that move with it.
            let mut terms = BTreeMap::new();
            let mut renamed: BTreeMap<LLVMValueRef, (LLVMValueRef, u32, u64)> = BTreeMap::new();
            for (at, &(phi, bits, term)) in new.iter().enumerate() {
                let Some(term) = term else { continue };
                let first = new[..at].iter().find(|(_, width, other)| {
                    *width == bits && other.is_some_and(|other| other.of == term.of)
                });
                match first {
                    Some(&(first, _, Some(other))) if is_header => {
                        let plus = term.plus.wrapping_sub(other.plus) & mask(bits);
                        if near(plus, bits) {
                            terms.insert(phi, Relative { of: Some(first), plus });
                        }
                    }
                    // Each iteration has another value: the variable is a name of its own.
                    None if is_header => {
                        if let Some(old) = term.of {
                            renamed.insert(old, (phi, bits, term.plus));
                        }
                    }
                    _ if term.of.is_some_and(|of| changed.contains(&of)) => {}
                    _ => {
                        terms.insert(phi, term);
                    }
                }
            }
            let mentions = |term: &Relative| term.of.is_some_and(|of| changed.contains(&of));
            self.terms.retain(|phi, term| !changed.contains(phi) && !mentions(term));
            self.terms.extend(terms);
            // A condition on an old value is one on the new value, as far as the difference says.
            let rename = |term: Relative, bits: u32| match term.of {
                Some(of) if let Some(&(phi, width, plus)) = renamed.get(&of) => {
                    let plus = term.plus.wrapping_sub(plus) & mask(bits);
                    (width == bits && plus <= MOST_AHEAD).then_some(Relative { of: Some(phi), plus })
                }
                Some(of) if changed.contains(&of) => None,
                _ => Some(term),
            };
            let conditions = std::mem::take(&mut self.conditions);
            self.conditions = conditions
                .into_iter()
                .filter_map(|((predicate, bits, a, b), value)| {
                    Some(((predicate, bits, rename(a, bits)?, rename(b, bits)?), value))
                })
                .collect();
        }
    }

    /// A bit, if the thread knows it.
    unsafe fn truth(&self, relevant: &Relevant, value: LLVMValueRef, steps: u32) -> Option<bool> {
        // SAFETY: by contract.
        unsafe {
            if let Some(Relative { of: None, plus }) = self.term(relevant, value, 1, steps) {
                return Some(plus == 1);
            }
            let steps = steps.checked_sub(1)?;
            match ir::value_opcode(value)? {
                LLVMOpcode::LLVMXor if ir::constant(LLVMGetOperand(value, 1)) == Some(1) => {
                    self.truth(relevant, LLVMGetOperand(value, 0), steps).map(|value| !value)
                }
                LLVMOpcode::LLVMICmp => {
                    let condition @ (predicate, bits, a, b) = self.condition(relevant, value)?;
                    let equal = LLVMIntPredicate::LLVMIntEQ as u32 == predicate;
                    let unequal = LLVMIntPredicate::LLVMIntNE as u32 == predicate;
                    if a.of == b.of && (equal || unequal) {
                        return Some((a.plus == b.plus) == equal);
                    }
                    if a.of.is_none() && b.of.is_none() {
                        return compare(LLVMGetICmpPredicate(value), bits, a.plus, b.plus);
                    }
                    self.conditions.get(&condition).copied()
                }
                _ => None,
            }
        }
    }

    /// A comparison of numbers.
    unsafe fn condition(&self, relevant: &Relevant, value: LLVMValueRef) -> Option<Condition> {
        // SAFETY: by contract.
        unsafe {
            if ir::value_opcode(value) != Some(LLVMOpcode::LLVMICmp) {
                return None;
            }
            let [mut a, mut b] = [0, 1].map(|at| LLVMGetOperand(value, at));
            let predicate = LLVMGetICmpPredicate(value);
            // Two numbers that are widened alike are equal as they were.
            let is_equality = matches!(predicate, LLVMIntPredicate::LLVMIntEQ | LLVMIntPredicate::LLVMIntNE);
            let is_wide =
                |value| matches!(ir::value_opcode(value), Some(LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt));
            if is_equality
                && is_wide(a)
                && ir::value_opcode(a) == ir::value_opcode(b)
                && LLVMTypeOf(LLVMGetOperand(a, 0)) == LLVMTypeOf(LLVMGetOperand(b, 0))
            {
                (a, b) = (LLVMGetOperand(a, 0), LLVMGetOperand(b, 0));
            }
            let bits = width(a)?;
            Some((
                predicate as u32,
                bits,
                self.term(relevant, a, bits, MOST_STEPS)?,
                self.term(relevant, b, bits, MOST_STEPS)?,
            ))
        }
    }

    /// The lowest bits of a value.
    unsafe fn term(
        &self,
        relevant: &Relevant,
        value: LLVMValueRef,
        bits: u32,
        steps: u32,
    ) -> Option<Relative> {
        // SAFETY: by contract.
        unsafe {
            if let Some(constant) = ir::constant(value) {
                return Some(Relative { of: None, plus: constant & mask(bits) });
            }
            let own = width(value)?;
            if let Some(term) = self.terms.get(&value) {
                let fits = own == bits || own > bits && term.of.is_none();
                return fits.then_some(Relative { of: term.of, plus: term.plus & mask(bits) });
            }
            let names = own == bits && relevant.keeps(value);
            let itself = names.then_some(Relative { of: Some(value), plus: 0 });
            let Some(steps) = steps.checked_sub(1) else { return itself };
            let operand = |at| self.term(relevant, LLVMGetOperand(value, at), bits, steps);
            let computed = || match ir::value_opcode(value)? {
                LLVMOpcode::LLVMTrunc => operand(0),
                LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt
                    if width(LLVMGetOperand(value, 0)).is_some_and(|inner| inner >= bits) =>
                {
                    operand(0)
                }
                LLVMOpcode::LLVMZExt => {
                    let inner = width(LLVMGetOperand(value, 0))?;
                    self.term(relevant, LLVMGetOperand(value, 0), inner, steps)
                        .filter(|term| term.of.is_none())
                }
                LLVMOpcode::LLVMAdd => {
                    let (a, b) = (operand(0)?, operand(1)?);
                    let plus = a.plus.wrapping_add(b.plus) & mask(bits);
                    (a.of.is_none() || b.of.is_none()).then_some(Relative { of: a.of.or(b.of), plus })
                }
                LLVMOpcode::LLVMSub => {
                    let (a, b) = (operand(0)?, operand(1)?);
                    let plus = a.plus.wrapping_sub(b.plus) & mask(bits);
                    let of = if a.of == b.of { None } else { a.of };
                    (a.of == b.of || b.of.is_none()).then_some(Relative { of, plus })
                }
                LLVMOpcode::LLVMSelect => match self.truth(relevant, LLVMGetOperand(value, 0), steps)? {
                    true => operand(1),
                    false => operand(2),
                },
                _ => None,
            };
            computed().or(itself)
        }
    }
}

/// The value of a comparison of two constants.
fn compare(predicate: LLVMIntPredicate, bits: u32, a: u64, b: u64) -> Option<bool> {
    use LLVMIntPredicate::*;
    let signed = |value: u64| (value << (64 - bits)).cast_signed() >> (64 - bits);
    let (x, y) = (signed(a), signed(b));
    Some(match predicate {
        LLVMIntEQ => a == b,
        LLVMIntNE => a != b,
        LLVMIntULT => a < b,
        LLVMIntULE => a <= b,
        LLVMIntUGT => a > b,
        LLVMIntUGE => a >= b,
        LLVMIntSLT => x < y,
        LLVMIntSLE => x <= y,
        LLVMIntSGT => x > y,
        LLVMIntSGE => x >= y,
    })
}

/// True if a difference is so small that it is followed.
fn near(plus: u64, bits: u32) -> bool {
    plus <= MOST_APART || plus.wrapping_neg() & mask(bits) <= MOST_APART
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

unsafe fn width(value: LLVMValueRef) -> Option<u32> {
    // SAFETY: by contract.
    unsafe {
        let ty = LLVMTypeOf(value);
        let is_integer = LLVMGetTypeKind(ty) == llvm_sys::LLVMTypeKind::LLVMIntegerTypeKind;
        is_integer.then(|| LLVMGetIntTypeWidth(ty)).filter(|width| *width <= WIDEST)
    }
}
