//! Updates: a thread reads bytes and then changes the same ones. If several threads do so at once, one update is lost,
//! and the report says that it must become atomic.
//!
//! Only the addresses are compared here, and loads from one address count as equal: nothing is proved by this. The report looks at the kernel's control flow: whether the read comes first,
//! and whether a barrier stands between.

use std::collections::{BTreeSet, HashMap};

use gpurace_abi::scope::AtomicKind;
use llvm_sys::prelude::*;

use crate::checks::covered::Numbers;
use crate::checks::sites::{Access, AccessSite};

/// Most accesses of the same bytes that are compared.
const MOST_ALIKE: usize = 64;

/// A read and a change of the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundUpdate {
    /// The read's index among the accesses.
    pub read: u32,
    /// The change's index.
    pub change: u32,
    /// The address of the change.
    pub address: LLVMValueRef,
    /// The address depends on a value that the thread has read from shared or global memory.
    pub depends_on_reads: bool,
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
    let mut found: HashMap<LLVMValueRef, Vec<FoundUpdate>> = HashMap::new();
    for ((function, number, ..), [reads, changes]) in alike {
        if reads.len() + changes.len() > MOST_ALIKE {
            continue;
        }
        let depends_on_reads = !numbers[&function].depends_on(number).is_disjoint(&instructions);
        let of_function = found.entry(function).or_default();
        for &change in &changes {
            let address = accesses[change as usize].pointer;
            of_function.extend(reads.iter().map(|&read| FoundUpdate {
                read,
                change,
                address,
                depends_on_reads,
            }));
        }
    }
    for updates in found.values_mut() {
        updates.sort_by_key(|update| (update.change, update.read));
    }
    found
}
