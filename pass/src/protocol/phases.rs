//! Arrays of mbarriers whose phases threads know by their parity: the `full` and `empty` barriers of a ring of tiles.
//!
//! # The rule
//! A static shared variable is such an array if nothing else accesses it, all in one kernel. In memory that holds other
//! data too, arrays are told apart by the constants of their addresses ([`members`]). The prover shows that nothing
//! else accesses these. In both cases:
//!
//! * Each initialisation has the same constant count, and a barrier of the block lies between it and all that follows.
//! * Arrivals are by one, and stay expected.
//! * Waits are for a parity. A thread goes on where the mbarrier is in a phase of the other one.
//! * An arrival may wait for copies of elements that its thread has started before ([`tracked`]).
//! * Bytes of bulk copies are expected and complete in one piece of code without branches. It has one arrival, behind
//!   all that it expects, and completes as many bytes as it expects. So a phase with this arrival ends when its copies
//!   are done.
//!
//! The prover looks at who arrives and waits, and in which order.

mod members;
pub mod tracked;

use std::collections::{HashMap, HashSet};

use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use super::mbarriers::uses::{start_comes_first, uses_in_one_kernel};
use super::mbarriers::ways::{condition, given};
use super::mbarriers::words::{Change, count_of_start, is_same_place, tested_parity};
use crate::checks::sites::ASYNC_METADATA;
use crate::ir;
use crate::ir::address_space;
use crate::ir::entry_calls::EntryCall;
use crate::translate::nvvm::MBARRIER as MARK;

/// The most blocks between two changes of one mbarrier by a thread.
const MOST_BLOCKS: usize = 32;
/// The most steps from a branch's condition to the test of a phase.
const MOST_STEPS: u32 = 16;

/// What a thread has done where a basic block starts.
#[derive(Clone, Debug)]
pub struct PhaseStep {
    /// The variable.
    pub array: LLVMValueRef,
    /// The mbarrier's address.
    pub address: LLVMValueRef,
    /// The arrivals that end a phase.
    pub count: u32,
    /// For a wait, the parity of the phase, 1 bit.
    pub parity: Option<LLVMValueRef>,
    /// For an arrival, other addresses that must be the same.
    pub same: Vec<LLVMValueRef>,
    /// For an arrival, the bulk copies that its phase counts.
    pub copies: Vec<LLVMValueRef>,
    /// For an arrival that waits for copies of elements, the call that says so ([`tracked`]).
    pub tracks: Option<LLVMValueRef>,
}

/// The arrivals and waits of a module at such mbarriers.
#[derive(Debug, Default)]
pub struct Phases {
    steps: HashMap<LLVMBasicBlockRef, Vec<PhaseStep>>,
    /// What arrives, waits or initialises in memory that holds other data too, with the count of an initialisation.
    uses: HashMap<LLVMValueRef, Option<u32>>,
}

impl Phases {
    /// # Safety
    /// `module` is live, normalised and without checks.
    pub unsafe fn of(module: LLVMModuleRef) -> Self {
        let mut all = Self::default();
        // SAFETY: by contract.
        unsafe {
            let shared = ir::globals(module).filter(|of| ir::space_of(*of) == Some(address_space::SHARED));
            // All `extern __shared__` arrays are one memory.
            let (dynamic, fixed): (Vec<_>, Vec<_>) =
                shared.partition(|variable| LLVMIsDeclaration(*variable) != 0);
            for variable in fixed {
                match Array::of(variable).and_then(|array| array.steps()) {
                    Some(found) => all.add(found),
                    None => all.add_members(module, &[variable]),
                }
            }
            all.add_members(module, &dynamic);
        }
        all
    }

    fn add(&mut self, found: Vec<(LLVMBasicBlockRef, PhaseStep)>) {
        for (block, step) in found {
            self.steps.entry(block).or_default().push(step);
        }
    }

    /// If an instruction arrives, waits or initialises in memory that holds other data too: the count of an
    /// initialisation.
    pub fn use_of(&self, instruction: LLVMValueRef) -> Option<Option<u32>> {
        self.uses.get(&instruction).copied()
    }

    /// What a thread has done where this block starts.
    pub fn at(&self, block: LLVMBasicBlockRef) -> &[PhaseStep] {
        self.steps.get(&block).map_or(&[], Vec::as_slice)
    }

    /// True if a thread has arrived where this block starts.
    pub fn arrives(&self, block: LLVMBasicBlockRef) -> bool {
        self.at(block).iter().any(|step| step.parity.is_none())
    }

    /// All values that are looked at.
    pub fn values(&self) -> impl Iterator<Item = LLVMValueRef> {
        let all = self.steps.values().flatten();
        all.flat_map(|step| step.parity.into_iter().chain([step.address]).chain(step.same.iter().copied()))
    }
}

/// All that a module does to a variable that holds mbarriers.
struct Array {
    variable: LLVMValueRef,
    kernel: LLVMValueRef,
    starts: HashSet<LLVMValueRef>,
    count: Option<u32>,
    /// Exchanges and tests.
    used: HashSet<LLVMValueRef>,
    changes: Vec<(LLVMValueRef, Change)>,
    /// The loads of tests, what tells that the phase is over, and the parity.
    tests: Vec<(LLVMValueRef, LLVMValueRef, LLVMValueRef)>,
    /// Where the mbarriers are told of copies.
    told: HashSet<LLVMValueRef>,
}

impl Array {
    /// `None` if something else uses the variable too.
    unsafe fn of(variable: LLVMValueRef) -> Option<Self> {
        // SAFETY: by the caller's contract.
        unsafe {
            let leads_on =
                |user| ir::value_opcode(user) == Some(LLVMOpcode::LLVMGetElementPtr) || is_same_place(user);
            let (kernel, uses) = uses_in_one_kernel(variable, leads_on)?;
            Self::with(variable, kernel, &uses).filter(|found| {
                !found.starts.is_empty()
                    && !found.changes.is_empty()
                    && found.start_comes_first(&found.starts, &found.used)
            })
        }
    }

    /// The array at which a kernel does this. `None` if something of it is not known.
    unsafe fn with(
        variable: LLVMValueRef,
        kernel: LLVMValueRef,
        uses: &[(LLVMValueRef, u32)],
    ) -> Option<Self> {
        let mut found = Self {
            variable,
            kernel,
            starts: HashSet::new(),
            count: None,
            used: HashSet::new(),
            changes: Vec::new(),
            tests: Vec::new(),
            told: HashSet::new(),
        };
        for &(user, operand) in uses {
            // SAFETY: by the caller's contract.
            unsafe { found.add(user, operand)? };
        }
        Some(found)
    }

    /// True if a barrier of the block lies between these initialisations and uses.
    unsafe fn start_comes_first(&self, starts: &HashSet<LLVMValueRef>, used: &HashSet<LLVMValueRef>) -> bool {
        // SAFETY: by the caller's contract.
        unsafe { start_comes_first(self.kernel, |i| starts.contains(&i), |i| used.contains(&i)) }
    }

    /// Adds an instruction that has an address in the variable as this operand.
    unsafe fn add(&mut self, user: LLVMValueRef, operand: u32) -> Option<()> {
        // SAFETY: by the caller's contract.
        unsafe {
            if let Some(call) = EntryCall::of(user) {
                match call.entry {
                    Entry::AtomicDone => {}
                    Entry::AsyncArrive => {
                        self.told.insert(user);
                    }
                    _ => return None,
                }
                return Some(());
            }
            ir::metadata(user, MARK)?;
            match ir::opcode(user) {
                LLVMOpcode::LLVMStore if operand == 1 => {
                    let count = u32::try_from(ir::constant(count_of_start(user)?)?).ok()?;
                    if *self.count.get_or_insert(count) != count {
                        return None;
                    }
                    self.starts.insert(user);
                }
                LLVMOpcode::LLVMAtomicCmpXchg if operand == 0 => {
                    self.used.insert(user);
                    self.changes.push((user, Change::of(user)?));
                }
                LLVMOpcode::LLVMLoad => {
                    self.used.insert(user);
                    let (done, parity) = tested_parity(user)?;
                    self.tests.push((user, done, parity));
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// The arrivals and waits, each with the block at whose start it has been made.
    unsafe fn steps(&self) -> Option<Vec<(LLVMBasicBlockRef, PhaseStep)>> {
        let count = self.count?;
        let array = self.variable;
        let step = |address, parity| PhaseStep {
            array,
            address,
            count,
            parity,
            same: vec![],
            copies: vec![],
            tracks: None,
        };
        let mut all = Vec::new();
        // SAFETY: by the caller's contract.
        unsafe {
            let arrivals: Vec<_> = self.changes.iter().filter(|(_, change)| change.arrives).collect();
            let counts_bytes = self.changes.iter().any(|(_, change)| change.bytes != 0);
            for (exchange, change) in &arrivals {
                if !ir::predecessors(change.after).eq([LLVMGetInstructionParent(*exchange)]) {
                    return None;
                }
                let mut arrival = step(LLVMGetOperand(*exchange, 0), None);
                if let Some(told) = self.told_before(*exchange).filter(|_| !counts_bytes) {
                    arrival.same.push(EntryCall::of(told)?.operand(0));
                    arrival.tracks = Some(told);
                }
                all.push((change.after, arrival));
            }
            if counts_bytes {
                let [(_, arrival)] = all.as_mut_slice() else { return None };
                (arrival.same, arrival.copies) = self.counted()?;
            }
            for &(load, done, parity) in &self.tests {
                for end in self.ends(LLVMGetInstructionParent(load), done)? {
                    all.push((end, step(LLVMGetOperand(load, 0), Some(parity))));
                }
            }
        }
        Some(all)
    }

    /// The call right before an exchange by which it waits for copies.
    unsafe fn told_before(&self, exchange: LLVMValueRef) -> Option<LLVMValueRef> {
        // SAFETY: by the caller's contract.
        unsafe {
            let [from] = entries(LLVMGetInstructionParent(exchange))[..] else { return None };
            let mut told = ir::block_instructions(from).filter(|i| self.told.contains(i));
            told.next().filter(|_| told.next().is_none() && ir::successors(from).len() == 1)
        }
    }

    /// The blocks at whose start a thread knows by this test that the phase is over.
    unsafe fn ends(&self, own: LLVMBasicBlockRef, done: LLVMValueRef) -> Option<Vec<LLVMBasicBlockRef>> {
        // SAFETY: by the caller's contract.
        unsafe {
            let only_done = |from: LLVMBasicBlockRef| {
                let [if_true, if_false] = ir::successors(from)[..] else { return None };
                let condition = condition(from).filter(|_| if_true != if_false)?;
                let ways = |other| if other == 0 { (if_true, if_false) } else { (if_false, if_true) };
                if let Some(other) = given(condition, done, 0, MOST_STEPS) {
                    return Some(ways(other).0);
                }
                // What is known of the turn before, where each turn makes the test.
                let (end, again) = ways(before_turn(from, own, condition, done)?);
                leads_to(again, own).then_some(end)
            };
            let kernel = self.kernel;
            let all: Vec<_> = ir::blocks(kernel).filter_map(|from| Some((from, only_done(from)?))).collect();
            let is_end =
                |&end: &LLVMBasicBlockRef| ir::predecessors(end).all(|from| all.contains(&(from, end)));
            // The test itself may branch, and come together again. Then what follows counts.
            let behind = |from: LLVMBasicBlockRef| from != own;
            let pick = |of: &dyn Fn(LLVMBasicBlockRef) -> bool| {
                let mut ends: Vec<_> =
                    all.iter().filter(|(from, _)| of(*from)).map(|(_, end)| *end).collect();
                ends.sort_unstable();
                ends.dedup();
                ends.retain(is_end);
                ends
            };
            let later = pick(&behind);
            let ends = if later.is_empty() { pick(&|from| from == own) } else { later };
            (!ends.is_empty()).then_some(ends)
        }
    }

    /// The addresses of all changes, and the copies that are done when the phase of the arrival is over.
    unsafe fn counted(&self) -> Option<(Vec<LLVMValueRef>, Vec<LLVMValueRef>)> {
        // SAFETY: by the caller's contract.
        unsafe {
            let chain = self.in_order()?;
            let (mut expected, mut has_arrived) = (0, false);
            let mut copies = Vec::new();
            for &(exchange, change) in &chain {
                expected += change.bytes;
                has_arrived |= change.arrives;
                if change.bytes > 0 && has_arrived && !change.arrives {
                    return None;
                }
                if change.bytes < 0 {
                    copies.push(self.completed(exchange, -change.bytes)?);
                }
            }
            let each: HashSet<_> = copies.iter().collect();
            let all = each.len() == copies.len() && copies.len() == self.told.len();
            let same = chain.iter().map(|(exchange, _)| LLVMGetOperand(*exchange, 0)).collect();
            (expected == 0 && has_arrived && all).then_some((same, copies))
        }
    }

    /// All changes, in the order in which a thread makes them, if it makes all of them whenever it makes the first.
    unsafe fn in_order(&self) -> Option<Vec<(LLVMValueRef, Change)>> {
        // SAFETY: by the caller's contract.
        unsafe {
            let of_block: HashMap<_, _> =
                self.changes.iter().map(|of| (LLVMGetInstructionParent(of.0), *of)).collect();
            if of_block.len() != self.changes.len() {
                return None;
            }
            // From a change to the next one, without branches.
            let next = |&(exchange, change): &(LLVMValueRef, Change)| {
                let (mut from, mut at) = (LLVMGetInstructionParent(exchange), change.after);
                for _ in 0..MOST_BLOCKS {
                    if entries(at) != [from] {
                        return None;
                    }
                    if let Some(found) = of_block.get(&at) {
                        return Some(*found);
                    }
                    let to = match ir::successors(at)[..] {
                        [to] => to,
                        // An exchange of another array.
                        _ => exchange_in(at)?.after,
                    };
                    (from, at) = (at, to);
                }
                None
            };
            let chains = self.changes.iter().map(|first| {
                let mut chain = vec![*first];
                while let Some(found) = next(&chain[chain.len() - 1])
                    && chain.iter().all(|known| known.0 != found.0)
                {
                    chain.push(found);
                }
                chain
            });
            chains.into_iter().find(|chain| chain.len() == self.changes.len())
        }
    }

    /// The copy of so many bytes that an exchange completes.
    unsafe fn completed(&self, exchange: LLVMValueRef, bytes: i64) -> Option<LLVMValueRef> {
        // SAFETY: by the caller's contract.
        unsafe {
            let [from] = entries(LLVMGetInstructionParent(exchange))[..] else { return None };
            if ir::successors(from).len() != 1 {
                return None;
            }
            let mut found = None;
            for instruction in ir::block_instructions(from) {
                if ir::metadata(instruction, ASYNC_METADATA).is_some() {
                    found = Some((instruction, false));
                } else if self.told.contains(&instruction) {
                    found = found.map(|(copy, _)| (copy, true));
                }
            }
            let (copy, true) = found? else { return None };
            let is_copy = ir::callee(copy).is_some_and(|callee| ir::name(callee).starts_with("llvm.memcpy."));
            let size = ir::constant(LLVMGetOperand(copy, 2)).and_then(|size| i64::try_from(size).ok());
            (is_copy && size == Some(bytes)).then_some(copy)
        }
    }
}

/// The value of a loop's condition where the turn before it, if there is one, has not found that the phase is over.
/// `None` if that is not known.
unsafe fn before_turn(
    header: LLVMBasicBlockRef,
    own: LLVMBasicBlockRef,
    condition: LLVMValueRef,
    done: LLVMValueRef,
) -> Option<u64> {
    // SAFETY: by the caller's contract.
    unsafe {
        let phis = ir::block_instructions(header).take_while(|i| !LLVMIsAPHINode(*i).is_null());
        let is_number =
            |phi: &LLVMValueRef| LLVMGetTypeKind(LLVMTypeOf(*phi)) == LLVMTypeKind::LLVMIntegerTypeKind;
        phis.filter(is_number).find_map(|phi| {
            let way = |i| {
                let value = LLVMGetIncomingValue(phi, i);
                ir::constant(value).or_else(|| {
                    let of_turn = comes_from(LLVMGetIncomingBlock(phi, i), own, header);
                    of_turn.then(|| given(value, done, 0, MOST_STEPS)).flatten()
                })
            };
            let values: Vec<_> = (0..LLVMCountIncoming(phi)).map(way).collect::<Option<_>>()?;
            let first = *values.first()?;
            let all = values.iter().all(|value| *value == first);
            all.then(|| given(condition, phi, first, MOST_STEPS)).flatten()
        })
    }
}

/// True if control comes to a block only from another one, not by way of a third one.
unsafe fn comes_from(block: LLVMBasicBlockRef, own: LLVMBasicBlockRef, other: LLVMBasicBlockRef) -> bool {
    let mut pending = vec![block];
    let mut seen = HashSet::new();
    // SAFETY: by the caller's contract.
    unsafe {
        while let Some(at) = pending.pop() {
            if at == own || !seen.insert(at) {
                continue;
            }
            let before: Vec<_> = ir::predecessors(at).collect();
            if at == other || before.is_empty() {
                return false;
            }
            pending.extend(before);
        }
    }
    true
}

/// True if control goes from one block to another without branches.
unsafe fn leads_to(from: LLVMBasicBlockRef, to: LLVMBasicBlockRef) -> bool {
    let mut at = from;
    for _ in 0..MOST_BLOCKS {
        if at == to {
            return true;
        }
        // SAFETY: by the caller's contract.
        let [next] = unsafe { ir::successors(at) }[..] else { return false };
        at = next;
    }
    false
}

/// The exchange of an mbarrier's word that a block repeats.
unsafe fn exchange_in(block: LLVMBasicBlockRef) -> Option<Change> {
    // SAFETY: by the caller's contract.
    unsafe {
        let is_exchange = |&i: &LLVMValueRef| {
            ir::opcode(i) == LLVMOpcode::LLVMAtomicCmpXchg && ir::metadata(i, MARK).is_some()
        };
        Change::of(ir::block_instructions(block).find(is_exchange)?)
    }
}

/// The blocks from which control comes to a block, but for the block itself and one that only leads back to it.
unsafe fn entries(at: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: by the caller's contract.
    unsafe {
        let leads_back = |from| from == at || ir::successors(from) == [at] && ir::predecessors(from).eq([at]);
        ir::predecessors(at).filter(|&from| !leads_back(from)).collect()
    }
}
