//! Covered reads: reads without a check of their own, since the check of another access stands for
//! them, as in GMRace (Zheng et al., "GMRace: Detecting Data Races in GPU Programs via a
//! Low-Overhead Scheme", TPDS 2014), which instruments an address once between two barriers.
//!
//! # The rule
//! A plain read is covered if the same thread also accesses the same bytes, and nothing between the
//! two accesses could order only one of them. Then every access that races with the read races with
//! the other access as well. In detail:
//!
//! * *the same bytes*: both addresses are computed in the same way from the same values
//!   ([`Numbers`]), and the sizes are equal;
//! * *always both*: every way to the second access passes the first, and every way from the first
//!   reaches the second;
//! * *nothing between*: no way between them has a barrier, a fence, an atomic or volatile access, a
//!   call that may hold one, or a loop that waits for other threads ([`orders`]);
//! * *plain accesses only*: neither is part of an asynchronous copy, and a write is never covered:
//!   its check also compares values, and two writes may store different ones.
//!
//! A write covers reads before and after it, a read covers later reads.
//!
//! # What is reported
//! The report is the same as with every check. When a check finds a race, the checker also names the reads
//! that it covers (`runtime/check/src/run/covered.rs`). The module's description lists them.
//!
//! # Loops
//! A read that a loop repeats is checked in the first iteration only: [`once`].
//!
//! # Proofs
//! A launch may skip the check of a proved access that covers a read without a proof. No race is lost: an
//! access that races with the read would also race with the proved access.

use std::collections::HashMap;
use std::ops::Range;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::meta::Covered;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::control_flow::ControlFlow;
use crate::analysis::numbers::Numbers;
use crate::analysis::spins;
use crate::checks::sites::{Access, AccessSite, is_asynchronous};
use crate::ir::entry_calls::CONTEXT_FUNCTION;
use crate::ir::{self, debug_info};

pub mod once;
#[cfg(test)]
mod tests;

/// Most accesses of a function that are compared: the time grows with their square.
const MOST_ACCESSES: usize = 4096;

/// The checks that are left out.
#[derive(Clone, Debug, Default)]
pub struct Spared {
    /// For each access, the one that covers it; accesses beyond its end are not covered.
    pub covered: Vec<Option<Covered>>,
    /// Reads that are checked in the first iteration of a loop.
    pub once: once::Once,
}

/// Finds the checks that may be left out.
///
/// # Safety
/// `accesses` are those of a module that is live, normalised and without checks.
pub unsafe fn spared(accesses: &[AccessSite]) -> Spared {
    // SAFETY: by contract.
    unsafe {
        let covered = covered(accesses);
        let once = once::once(accesses, &covered);
        Spared { covered, once }
    }
}

/// Returns for each access the one that covers it.
///
/// # Safety
/// `accesses` are those of a module that is live, normalised and without checks.
unsafe fn covered(accesses: &[AccessSite]) -> Vec<Option<Covered>> {
    let mut by = vec![None; accesses.len()];
    if !ablation::is_on(Mechanism::CoveredReads) {
        return by;
    }
    let mut functions: HashMap<LLVMValueRef, Vec<u32>> = HashMap::new();
    for (site, access) in accesses.iter().enumerate() {
        if matches!(access.access, Access::Load | Access::Store) && access.size > 0 {
            functions.entry(access.function).or_default().push(site as u32);
        }
    }
    for (function, sites) in functions {
        // SAFETY: by contract.
        unsafe { of_function(function, accesses, &sites, &mut by) };
    }
    by
}

/// Finds the covered reads of a function, in which these are all plain accesses.
unsafe fn of_function(
    function: LLVMValueRef,
    accesses: &[AccessSite],
    sites: &[u32],
    by: &mut [Option<Covered>],
) {
    // SAFETY: by contract.
    unsafe {
        let mut numbers = Numbers::default();
        let groups = by_bytes(&mut numbers, accesses, sites);
        let all: Vec<u32> = groups.iter().flat_map(|(_, sites)| sites.iter().copied()).collect();
        if all.is_empty() || all.len() > MOST_ACCESSES {
            return;
        }
        let bit: HashMap<LLVMValueRef, usize> =
            all.iter().enumerate().map(|(bit, &site)| (accesses[site as usize].instruction, bit)).collect();
        let mut defines: HashMap<LLVMValueRef, Bits> = HashMap::new();
        let mut of_groups: Vec<Range<usize>> = Vec::new();
        for (address, sites) in &groups {
            let first = of_groups.last().map_or(0, |before| before.end);
            let own = first..first + sites.len();
            for &value in numbers.depends_on(*address) {
                let bits = defines.entry(value).or_insert_with(|| Bits::none(all.len()));
                own.clone().for_each(|bit| bits.set(bit));
            }
            of_groups.push(own);
        }
        let waits = spins::headers(function);
        let flow = ControlFlow::of(function);
        let blocks: Vec<_> =
            flow.blocks.iter().map(|block| events(*block, &bit, &defines, waits.contains(block))).collect();
        let flow = Neighbours::of(&flow, &blocks, all.len());
        let is_write = |bit: usize| matches!(accesses[all[bit] as usize].access, Access::Store);
        for own in of_groups {
            // In the order in which control reaches them.
            let mut order: Vec<usize> = own.clone().collect();
            order.sort_by_key(|bit| flow.position[*bit]);
            let reads: Vec<usize> = order.into_iter().filter(|bit| !is_write(*bit)).collect();
            for &read in &reads {
                let write = own.clone().find(|&w| is_write(w) && (flow.both(w, read) || flow.both(read, w)));
                let kept = write.or_else(|| {
                    reads.iter().copied().find(|&r| {
                        r != read
                            && by[all[r] as usize].is_none()
                            && flow.position[r] < flow.position[read]
                            && flow.both(r, read)
                    })
                });
                by[all[read] as usize] = kept.map(|kept| Covered {
                    site: all[read],
                    by: all[kept],
                    before: flow.both(read, kept),
                });
            }
        }
    }
}

/// The accesses to the same bytes, where there are several, each with the number of its address.
unsafe fn by_bytes(numbers: &mut Numbers, accesses: &[AccessSite], sites: &[u32]) -> Vec<(u32, Vec<u32>)> {
    let mut groups: HashMap<(u32, u64, u64), Vec<u32>> = HashMap::new();
    for &site in sites {
        let access = &accesses[site as usize];
        // SAFETY: by contract.
        let address = unsafe { numbers.of(access.pointer) };
        groups.entry((address, access.offset, access.size)).or_default().push(site);
    }
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, sites)| sites.len() > 1).collect();
    groups.sort_by(|(_, a), (_, b)| a.cmp(b));
    groups.into_iter().map(|((address, ..), sites)| (address, sites)).collect()
}

/// A step of a basic block that changes which accesses are known.
enum BlockEvent {
    /// This access is made.
    Access(usize),
    /// A value is computed that the addresses of these accesses depend on.
    Defines(Bits),
    /// Accesses may be ordered, or the thread may end.
    Orders,
}

/// The events of a basic block in order. `waits`: it is the header of a loop that only waits.
unsafe fn events(
    block: LLVMBasicBlockRef,
    bit: &HashMap<LLVMValueRef, usize>,
    defines: &HashMap<LLVMValueRef, Bits>,
    waits: bool,
) -> Vec<BlockEvent> {
    let mut events = Vec::new();
    if waits {
        events.push(BlockEvent::Orders);
    }
    // SAFETY: by contract.
    unsafe {
        for instruction in ir::block_instructions(block) {
            if let Some(&bit) = bit.get(&instruction) {
                events.push(BlockEvent::Access(bit));
            } else if orders(instruction) {
                events.push(BlockEvent::Orders);
            }
            if let Some(bits) = defines.get(&instruction) {
                events.push(BlockEvent::Defines(bits.clone()));
            }
        }
    }
    events
}

/// Turns the accesses known on one side of a basic block into those known on its other side. `at`
/// gets each access with those known at its place.
fn pass(events: &[BlockEvent], known: &mut Bits, forward: bool, mut at: impl FnMut(usize, &Bits)) {
    let mut event = |event: &BlockEvent| match event {
        BlockEvent::Access(bit) => {
            at(*bit, known);
            known.set(*bit);
        }
        BlockEvent::Defines(bits) => known.remove(bits),
        BlockEvent::Orders => known.clear(),
    };
    if forward {
        events.iter().for_each(&mut event);
    } else {
        events.iter().rev().for_each(&mut event);
    }
}

/// For each access, the accesses that are always made before and after it.
struct Neighbours {
    /// For each access, those that a thread has always made before it, without another event since.
    before: Vec<Bits>,
    /// For each access, those that a thread always makes after it, without another event before.
    after: Vec<Bits>,
    /// Place of each access: if one comes before another, its number is smaller.
    position: Vec<usize>,
}

impl Neighbours {
    fn of(flow: &ControlFlow, blocks: &[Vec<BlockEvent>], accesses: usize) -> Self {
        let nothing = vec![Bits::none(accesses); accesses];
        let mut found =
            Self { before: nothing.clone(), after: nothing, position: vec![usize::MAX; accesses] };
        let order: Vec<_> = (0..blocks.len()).collect();
        let known = settle(blocks, &order, &flow.predecessors, Some(0), accesses, true);
        let mut count = 0;
        for (events, mut known) in blocks.iter().zip(known) {
            pass(events, &mut known, true, |bit, known| {
                found.before[bit] = known.clone();
                found.position[bit] = count;
                count += 1;
            });
        }
        let backwards: Vec<_> = order.into_iter().rev().collect();
        let known = settle(blocks, &backwards, &flow.successors, None, accesses, false);
        for (events, mut known) in blocks.iter().zip(known) {
            pass(events, &mut known, false, |bit, known| found.after[bit] = known.clone());
        }
        found
    }

    /// True if a thread that makes one of the two accesses always makes both: first `a`, then `b`, with no event
    /// between.
    fn both(&self, a: usize, b: usize) -> bool {
        self.before[b].has(a) && self.after[a].has(b)
    }
}

/// Returns the accesses known where each basic block is entered: those that all blocks in `from`
/// agree on.
fn settle(
    blocks: &[Vec<BlockEvent>],
    order: &[usize],
    from: &[Vec<usize>],
    entry: Option<usize>,
    accesses: usize,
    forward: bool,
) -> Vec<Bits> {
    let mut entered = vec![Bits::all(accesses); blocks.len()];
    let mut left = vec![Bits::all(accesses); blocks.len()];
    loop {
        let mut changed = false;
        for &i in order {
            let mut known = if Some(i) == entry || from[i].is_empty() {
                Bits::none(accesses)
            } else {
                Bits::all(accesses)
            };
            for &j in &from[i] {
                known.keep(&left[j]);
            }
            entered[i] = known.clone();
            pass(&blocks[i], &mut known, forward, |_, _| {});
            changed |= known != left[i];
            left[i] = known;
        }
        if !changed {
            return entered;
        }
    }
}

/// True if an instruction may order only one of two accesses around it, may let other threads run between the two, or
/// may end the thread.
unsafe fn orders(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        match ir::opcode(instruction) {
            LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore => !ir::is_plain(instruction),
            LLVMOpcode::LLVMFence | LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => true,
            LLVMOpcode::LLVMCall if debug_info::is_debug_call(instruction) => false,
            LLVMOpcode::LLVMCall => match ir::callee(instruction) {
                Some(callee) if LLVMIsDeclaration(callee) != 0 => {
                    let name = ir::name(callee);
                    let ends = ["llvm.trap", "llvm.debugtrap", "llvm.ubsantrap", "llvm.nvvm."];
                    let plain = name.starts_with("llvm.") && !ends.iter().any(|end| name.starts_with(end));
                    !(name == CONTEXT_FUNCTION || plain) || is_asynchronous(instruction)
                }
                _ => true,
            },
            LLVMOpcode::LLVMInvoke | LLVMOpcode::LLVMCallBr => true,
            _ => false,
        }
    }
}

/// A set of a function's accesses.
#[derive(Clone, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn none(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn all(count: usize) -> Self {
        Self(vec![!0; count.div_ceil(64)])
    }

    fn has(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    fn set(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }

    fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }
}
