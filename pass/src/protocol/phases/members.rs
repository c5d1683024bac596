//! Arrays of mbarriers in memory that holds other data too: members of a struct, and dynamic shared memory.
//!
//! # The rule
//! An arrival, a wait or an initialisation belongs to the array that begins at the constant part of its address. Where
//! that is no array with initialisations, it belongs to the last one that begins before. Such arrays may overlap, or
//! other accesses may touch them. So all that is known of them is told to the prover, which looks for bytes that
//! nothing else touches ([`gpurace_protocol::protocol::MbarrierUse`]).

use std::collections::{BTreeMap, HashMap, HashSet};

use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Array, Phases};
use crate::analysis::address::gep_parts;
use crate::ir;
use crate::ir::entry_calls::EntryCall;
use crate::protocol::mbarriers::words::{count_of_start, is_same_place};
use crate::translate::nvvm::MBARRIER as MARK;

/// What a kernel does to mbarriers in a memory: instructions, and the operands that are addresses, by the constant
/// parts of these.
type MembersUsed = BTreeMap<i64, Vec<(LLVMValueRef, u32)>>;

impl Phases {
    /// Adds the arrays in one memory, in which all of these variables begin.
    pub(super) unsafe fn add_members(&mut self, module: LLVMModuleRef, variables: &[LLVMValueRef]) {
        let Some(&variable) = variables.first() else { return };
        // SAFETY: by the caller's contract.
        unsafe {
            for (kernel, uses) in uses_by_kernel(module, variables) {
                self.add_members_of(variable, kernel, &uses);
            }
        }
    }

    /// Adds the arrays that a kernel uses, of those that [`Self::add_members`] adds.
    unsafe fn add_members_of(&mut self, variable: LLVMValueRef, kernel: LLVMValueRef, uses: &MembersUsed) {
        // SAFETY: by the caller's contract.
        unsafe {
            let all: HashSet<_> = uses.values().flatten().map(|(user, _)| *user).collect();
            let (starts, used): (HashSet<_>, HashSet<_>) = all
                .into_iter()
                .filter(|user| EntryCall::of(*user).is_none())
                .partition(|user| is_start(*user));
            let found: Vec<_> = with_starts(uses)
                .into_iter()
                .filter_map(|uses| Array::with(variable, kernel, &uses))
                .filter(|array| array.start_comes_first(&starts, &used))
                .filter_map(|array| Some((array.steps()?, array.used)))
                .collect();
            for (steps, used) in found {
                self.add(steps);
                self.uses.extend(used.into_iter().map(|user| (user, None)));
            }
            for start in starts {
                let count = count_of_start(start).and_then(|count| ir::constant(count));
                if let Some(count) = count.and_then(|count| u32::try_from(count).ok()) {
                    self.uses.insert(start, Some(count));
                }
            }
        }
    }
}

/// The uses of each array that has initialisations.
unsafe fn with_starts(uses: &MembersUsed) -> Vec<Vec<(LLVMValueRef, u32)>> {
    let mut all: Vec<Vec<(LLVMValueRef, u32)>> = Vec::new();
    for of in uses.values() {
        // SAFETY: by the caller's contract.
        let starts = of.iter().any(|(user, _)| unsafe { is_start(*user) });
        match all.last_mut().filter(|_| !starts) {
            Some(last) => last.extend(of),
            None => all.push(of.clone()),
        }
    }
    all
}

/// True if an instruction initialises an mbarrier.
unsafe fn is_start(user: LLVMValueRef) -> bool {
    // SAFETY: by the caller's contract.
    unsafe { !LLVMIsAStoreInst(user).is_null() && ir::metadata(user, MARK).is_some() }
}

/// What each kernel does to mbarriers in a memory, by way of constant and computed places in it.
unsafe fn uses_by_kernel(
    module: LLVMModuleRef,
    variables: &[LLVMValueRef],
) -> HashMap<LLVMValueRef, MembersUsed> {
    let mut all: HashMap<LLVMValueRef, MembersUsed> = HashMap::new();
    let mut pending: Vec<_> = variables.iter().map(|variable| (*variable, 0)).collect();
    let mut seen = HashSet::new();
    // SAFETY: by the caller's contract.
    unsafe {
        while let Some((address, at)) = pending.pop() {
            for (user, operand) in ir::uses(address) {
                if !seen.insert((user, operand)) {
                    continue;
                }
                if operand == 0 && is_same_place(user) {
                    pending.push((user, at));
                } else if operand == 0
                    && ir::value_opcode(user) == Some(llvm_sys::LLVMOpcode::LLVMGetElementPtr)
                {
                    let more = gep_parts(module, user).map_or(0, |(more, _)| more);
                    pending.push((user, at + more));
                } else if !LLVMIsAInstruction(user).is_null()
                    && (ir::metadata(user, MARK).is_some()
                        || EntryCall::of(user).is_some_and(|call| is_told(&call)))
                {
                    let kernel = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
                    if ir::is_kernel(kernel) {
                        all.entry(kernel).or_default().entry(at).or_default().push((user, operand));
                    }
                }
            }
        }
    }
    all
}

/// True for a call that tells an mbarrier of a copy.
fn is_told(call: &EntryCall) -> bool {
    call.entry == gpurace_abi::entry::Entry::AsyncArrive
}
