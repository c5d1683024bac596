//! Updates: a thread reads bytes and then changes the same ones. If several threads do so at once, one update is lost,
//! and the report says that it must become atomic.
//!
//! Only the addresses are compared here, and loads from one address count as equal: nothing is proved by this. The
//! report looks at the kernel's control flow: whether the read comes first, and whether a barrier stands between.

use std::collections::{BTreeSet, HashMap, HashSet};

use gpurace_abi::scope::AtomicKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::control_flow::ControlFlow;
use crate::analysis::loops::Loops;
use crate::analysis::numbers::Numbers;
use crate::checks::one_thread::OneThread;
use crate::checks::sites::{Access, AccessSite};
use crate::ir;

/// Most accesses of the same bytes that are compared.
const MOST_ALIKE: usize = 64;

/// Most values that depend on a read and are followed.
const MOST_VALUES: usize = 1000;

/// A read and a change of the same bytes, if what was read decides what is stored or whether.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundUpdate {
    /// The read's index among the accesses.
    pub read: u32,
    /// The change's index.
    pub change: u32,
    /// The address of the change.
    pub address: LLVMValueRef,
    /// The address depends on a value that the thread has read from shared or global memory. Or what it has read decides
    /// that it leaves the loop around the read: it looks for a free entry of a table.
    pub depends_on_reads: bool,
    /// One thread of a block makes the change.
    pub by_one: bool,
}

/// Returns the reads and changes of the same bytes, by function. The order of the two is not looked at.
///
/// # Safety
/// `accesses` are those of a live module.
pub unsafe fn by_function(accesses: &[AccessSite]) -> HashMap<LLVMValueRef, Vec<FoundUpdate>> {
    let instructions: BTreeSet<LLVMValueRef> = accesses.iter().map(|access| access.instruction).collect();
    let mut numbers: HashMap<LLVMValueRef, Numbers> = HashMap::new();
    let mut alike: HashMap<(LLVMValueRef, u32, u64, u64), [Vec<u32>; 2]> = HashMap::new();
    for (access, site) in accesses.iter().zip(0..) {
        let changes = match access.access {
            Access::Load => false,
            Access::Store | Access::Atomic { kind: AtomicKind::Rmw | AtomicKind::Reduction, .. } => true,
            _ => continue,
        };
        // SAFETY: by contract.
        let number = unsafe {
            numbers.entry(access.function).or_insert_with(Numbers::with_loads_alike).of(access.pointer)
        };
        let bytes = alike.entry((access.function, number, access.offset, access.size)).or_default();
        bytes[usize::from(changes)].push(site);
    }
    let mut flows: HashMap<LLVMValueRef, (ControlFlow, Loops, OneThread)> = HashMap::new();
    let mut found: HashMap<LLVMValueRef, Vec<FoundUpdate>> = HashMap::new();
    for ((function, number, ..), [reads, changes]) in alike {
        if reads.len() + changes.len() > MOST_ALIKE {
            continue;
        }
        let depends_on_reads = !numbers[&function].depends_on(number).is_disjoint(&instructions);
        if changes.is_empty() {
            continue;
        }
        // SAFETY: by contract.
        let value = |&read: &u32| (read, unsafe { ReadValue::of(accesses[read as usize].instruction) });
        let values: Vec<(u32, ReadValue)> = reads.iter().map(value).collect();
        // SAFETY: by contract.
        let (flow, loops, one_thread) = flows.entry(function).or_insert_with(|| unsafe {
            let flow = ControlFlow::of(function);
            let one_thread = OneThread::of(LLVMGetGlobalParent(function), function, &flow);
            let loops = Loops::of(&flow.successors);
            (flow, loops, one_thread)
        });
        let of_function = found.entry(function).or_default();
        for &change in &changes {
            let address = accesses[change as usize].pointer;
            let instruction = accesses[change as usize].instruction;
            // SAFETY: by contract.
            let by = values.iter().filter(|(_, value)| unsafe { value.decides(instruction, flow) });
            // SAFETY: by contract.
            let by_one = unsafe { one_thread.runs(flow, LLVMGetInstructionParent(instruction)) };
            of_function.extend(by.map(|(read, value)| FoundUpdate {
                read: *read,
                change,
                address,
                // SAFETY: by contract.
                depends_on_reads: depends_on_reads
                    || unsafe { value.ends_loop(accesses[*read as usize].instruction, flow, loops) },
                by_one,
            }));
        }
    }
    for updates in found.values_mut() {
        updates.sort_by_key(|update| (update.change, update.read));
    }
    found
}

/// What depends on a value that was read.
struct ReadValue {
    values: HashSet<LLVMValueRef>,
    /// Basic blocks after which the way depends on it.
    deciding: HashSet<LLVMBasicBlockRef>,
}

impl ReadValue {
    /// Finds what depends on a read.
    unsafe fn of(read: LLVMValueRef) -> Self {
        let mut of = Self { values: HashSet::from([read]), deciding: HashSet::new() };
        let mut pending = vec![read];
        // SAFETY: users of live values are live.
        unsafe {
            while let Some(value) = pending.pop() {
                for user in ir::users(value) {
                    if LLVMIsAInstruction(user).is_null() || of.values.len() > MOST_VALUES {
                        continue;
                    }
                    if !LLVMIsATerminatorInst(user).is_null() {
                        of.deciding.insert(LLVMGetInstructionParent(user));
                    } else if of.values.insert(user) {
                        pending.push(user);
                    }
                }
            }
        }
        of
    }

    /// True if the value decides whether a thread leaves the innermost loop around its read.
    unsafe fn ends_loop(&self, read: LLVMValueRef, flow: &ControlFlow, loops: &Loops) -> bool {
        // SAFETY: by contract.
        let index = |instruction| flow.index.get(&unsafe { LLVMGetInstructionParent(instruction) }).copied();
        let Some(around) = index(read).and_then(|at| loops.innermost[at]) else { return false };
        let nodes = &loops.loops[around].nodes;
        let is_in = |node: &usize| nodes.binary_search(node).is_ok();
        let deciding = self.deciding.iter().filter_map(|block| flow.index.get(block).copied()).filter(is_in);
        let deciding: Vec<usize> = deciding.collect();
        let leaves = |at: &usize| flow.successors[*at].iter().any(|next| !is_in(next));
        // The optimiser may let the ways meet, each with its constant, before one branch that leaves.
        // SAFETY: the terminators of live blocks are live.
        let is_chosen = |at: usize| unsafe {
            let branch = LLVMGetBasicBlockTerminator(flow.blocks[at]);
            let mut operands = ir::operands(branch).into_iter();
            let phi = operands.find(|&value| !LLVMIsAPHINode(value).is_null());
            phi.and_then(index).is_some_and(|phi| is_in(&phi) && deciding.iter().any(|&at| at < phi))
        };
        deciding.iter().any(leaves) || nodes.iter().any(|&at| leaves(&at) && is_chosen(at))
    }

    /// True if the value decides what an instruction stores, or whether a thread comes to it.
    unsafe fn decides(&self, change: LLVMValueRef, flow: &ControlFlow) -> bool {
        // SAFETY: by contract.
        let block = unsafe { LLVMGetInstructionParent(change) };
        let Some(&to) = flow.index.get(&block) else { return false };
        // Only loops lead back, so it is known of all blocks after one whether they lead to the change.
        let mut reaches = vec![false; flow.blocks.len()];
        for at in (0..flow.blocks.len()).rev() {
            let mut forward = flow.successors[at].iter().filter(|&&next| next > at);
            reaches[at] = at == to || forward.any(|&next| reaches[next]);
        }
        let parts = |at: usize| {
            let leads: Vec<bool> =
                flow.successors[at].iter().map(|&next| next > at && reaches[next]).collect();
            leads.contains(&true) && leads.contains(&false)
        };
        self.values.contains(&change)
            || self.deciding.iter().any(|at| flow.index.get(at).is_some_and(|&at| parts(at)))
    }
}
