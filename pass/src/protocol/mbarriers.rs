//! Mbarriers at which all threads of a block meet: `bar.arrive_and_wait()` of `cuda::barrier`.
//!
//! # The rule
//! A static shared mbarrier is a barrier of the block where its count is the number of the block's threads. Besides:
//!
//! * It is only initialised, arrived at one by one, tested and told of asynchronous copies, all in one kernel.
//! * A barrier of the block lies between its initialisation and all arrivals.
//! * A thread that arrives comes to no barrier, asynchronous copy, atomic, arrival at it or end before a test says that
//!   the phase of its arrival is over. Others may pass the end of the phase before its plain accesses in between.
//! * No thread tests an old token again.
//!
//! Then the phases are those that begin and end with all threads, each of which has arrived once. So a thread that has
//! waited comes after what the others did before they arrived. That the threads decide alike what leads to the mbarrier
//! is left to the prover, as for each barrier.
//!
//! The translation marks the instructions of mbarriers ([`MARK`]). An mbarrier that somebody initialises with another
//! count, or that is not of this form, orders nothing here.

pub(super) mod uses;
pub(super) mod ways;
pub(super) mod words;

use std::collections::{HashMap, HashSet};

use gpurace_abi::entry::{Effect as EntryEffect, Entry};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::checks::sites::{Access, AccessSite};
use crate::ir;
use crate::ir::address_space;
use crate::ir::entry_calls::EntryCall;
use crate::translate::nvvm::MBARRIER as MARK;
use uses::{start_comes_first, uses_in_one_kernel};
use ways::{condition, given, reached};
use words::{Change, PHASE, count_of_start, is_same_place};

/// The most casts from a variable to an address in it.
const MOST_CASTS: u32 = 16;

/// An mbarrier: a static shared variable, and a place in it in bytes.
pub type MbarrierPlace = (LLVMValueRef, i64);

/// The end of a phase that a thread has waited for.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    /// The mbarrier.
    pub at: MbarrierPlace,
    /// The count of its initialisation, 32 bits. It is a constant, or computed before.
    pub count: LLVMValueRef,
}

/// The mbarriers of a module at which blocks meet.
#[derive(Debug, Default)]
pub struct Mbarriers {
    meetings: HashMap<LLVMBasicBlockRef, Vec<Meeting>>,
    /// The arrivals behind which each access may come, before their phases are over.
    arrived: HashMap<LLVMValueRef, u32>,
}

/// The instructions that are sites. The value is true for a plain load or store.
type PlainSites = HashMap<LLVMValueRef, bool>;

/// Where a thread waits for the phase of an arrival.
struct Wait {
    /// The basic blocks at whose start the phase is over, one on each way.
    ends: Vec<LLVMBasicBlockRef>,
    /// Those between the arrival and these.
    between: HashSet<LLVMBasicBlockRef>,
}

impl Mbarriers {
    /// # Safety
    /// `module` is live, normalised and without checks; the accesses are its.
    pub unsafe fn of(module: LLVMModuleRef, accesses: &[AccessSite]) -> Self {
        let mut all = Self::default();
        // SAFETY: by contract.
        unsafe {
            let mut sites = PlainSites::new();
            for access in accesses {
                let is_plain = matches!(access.access, Access::Load | Access::Store);
                *sites.entry(access.instruction).or_insert(true) &= is_plain;
            }
            for variable in ir::globals(module) {
                if ir::space_of(variable) == Some(address_space::SHARED)
                    && LLVMIsDeclaration(variable) == 0
                    && let Some(uses) = Uses::of(variable)
                {
                    uses.meetings(&sites, &mut all);
                }
            }
        }
        all
    }

    /// The phases that end where a basic block starts.
    pub fn at(&self, block: LLVMBasicBlockRef) -> &[Meeting] {
        self.meetings.get(&block).map_or(&[], Vec::as_slice)
    }

    /// The most mbarriers at which a thread has arrived and not yet waited where it makes an access.
    pub fn arrived(&self, instruction: LLVMValueRef) -> u32 {
        self.arrived.get(&instruction).copied().unwrap_or(0)
    }

    /// The counts of all mbarriers at which blocks meet.
    pub fn counts(&self) -> impl Iterator<Item = LLVMValueRef> {
        self.meetings.values().flatten().map(|meeting| meeting.count)
    }
}

/// The mbarrier that a pointer or a shared address is to, if it is a place in a static variable.
///
/// # Safety
/// `address` is live.
pub unsafe fn mbarrier(address: LLVMValueRef) -> Option<MbarrierPlace> {
    let mut address = address;
    // SAFETY: by contract; operands of live values are live.
    unsafe {
        for _ in 0..MOST_CASTS {
            if !LLVMIsAGlobalVariable(address).is_null() {
                return Some((address, 0));
            }
            if !is_same_place(address) {
                return None;
            }
            address = LLVMGetOperand(address, 0);
        }
    }
    None
}

/// An arrival.
#[derive(Clone, Copy)]
struct Arrival {
    /// The word before it, which a test is given.
    token: LLVMValueRef,
    /// The basic block that makes it.
    at: LLVMBasicBlockRef,
    /// The basic block to which the thread goes on.
    after: LLVMBasicBlockRef,
}

/// A test of a phase.
#[derive(Clone, Copy)]
struct Test {
    token: LLVMValueRef,
    /// 1 bit: the phase is over.
    done: LLVMValueRef,
}

/// All that a module does to an mbarrier that is a variable of its own.
struct Uses {
    at: MbarrierPlace,
    kernel: LLVMValueRef,
    starts: Vec<LLVMValueRef>,
    arrivals: Vec<Arrival>,
    tests: Vec<Test>,
}

impl Uses {
    /// `None` if something else uses the variable too.
    unsafe fn of(variable: LLVMValueRef) -> Option<Self> {
        // SAFETY: by contract.
        unsafe {
            let (kernel, uses) = uses_in_one_kernel(variable, |user| is_same_place(user))?;
            let mut found =
                Self { at: (variable, 0), kernel, starts: vec![], arrivals: vec![], tests: vec![] };
            for (user, operand) in uses {
                found.add(user, operand)?;
            }
            (!found.starts.is_empty() && !found.arrivals.is_empty()).then_some(found)
        }
    }

    /// Adds an instruction that has the address as this operand.
    unsafe fn add(&mut self, user: LLVMValueRef, operand: u32) -> Option<()> {
        // SAFETY: by contract.
        unsafe {
            if let Some(call) = EntryCall::of(user) {
                let is_harmless = matches!(call.entry, Entry::AtomicDone | Entry::AsyncArrive);
                return is_harmless.then_some(());
            }
            let is_marked = ir::metadata(user, MARK).is_some();
            match ir::opcode(user) {
                LLVMOpcode::LLVMStore if operand == 1 && is_marked => self.starts.push(count_of_start(user)?),
                LLVMOpcode::LLVMAtomicCmpXchg if operand == 0 && is_marked => {
                    if let Some(arrival) = Arrival::of(user)? {
                        self.arrivals.push(arrival);
                    }
                }
                LLVMOpcode::LLVMLoad if is_marked => self.tests.extend(Test::of(user)),
                LLVMOpcode::LLVMICmp => {}
                _ => return None,
            }
        }
        Some(())
    }

    /// Adds the meetings at this mbarrier, if it is one of the block.
    unsafe fn meetings(&self, sites: &PlainSites, all: &mut Mbarriers) {
        // SAFETY: by contract.
        unsafe {
            let count = self.starts[0];
            let one_count = self.starts.iter().all(|other| *other == count);
            if !one_count || !self.start_comes_first() {
                return;
            }
            let each: Option<Vec<_>> = self.arrivals.iter().map(|&a| self.wait(a, sites)).collect();
            for wait in each.into_iter().flatten() {
                for end in wait.ends {
                    all.meetings.entry(end).or_default().push(Meeting { at: self.at, count });
                }
                let between = wait.between.into_iter().flat_map(|block| ir::block_instructions(block));
                for access in between.filter(|access| sites.get(access) == Some(&true)) {
                    *all.arrived.entry(access).or_default() += 1;
                }
            }
        }
    }

    /// True if a barrier of the block lies between each initialisation and each arrival.
    unsafe fn start_comes_first(&self) -> bool {
        // SAFETY: by contract.
        unsafe {
            let is_start = |i| ir::opcode(i) == LLVMOpcode::LLVMStore && self.is_at(i, 1);
            let is_arrival = |i| ir::opcode(i) == LLVMOpcode::LLVMAtomicCmpXchg && self.is_at(i, 0);
            start_comes_first(self.kernel, is_start, is_arrival)
        }
    }

    unsafe fn is_at(&self, instruction: LLVMValueRef, operand: u32) -> bool {
        // SAFETY: by contract.
        unsafe { mbarrier(LLVMGetOperand(instruction, operand)) == Some(self.at) }
    }

    /// Where a thread waits for the phase of an arrival. `None` if it may do something before that is not known to be
    /// harmless.
    unsafe fn wait(&self, arrival: Arrival, sites: &PlainSites) -> Option<Wait> {
        // SAFETY: by contract.
        unsafe {
            let mut tests = self.tests.iter().filter(|test| test.token == arrival.token);
            let (done, None) = (tests.next()?.done, tests.next()) else { return None };
            let own = LLVMGetInstructionParent(done);
            let branch = LLVMGetBasicBlockTerminator(own);
            if condition(own) != Some(done) || LLVMGetSuccessor(branch, 0) == LLVMGetSuccessor(branch, 1) {
                return None;
            }
            // The ways that control takes only if the phase is over.
            let only_done = |from: LLVMBasicBlockRef| {
                let other = given(condition(from)?, done, 0, MOST_CASTS)?;
                let [if_true, if_false] = ir::successors(from)[..] else { return None };
                (if_true != if_false).then_some(if other == 0 { if_true } else { if_false })
            };
            let (mut ends, mut seen) = (Vec::new(), HashSet::new());
            let mut pending = vec![(arrival.after, false)];
            while let Some((block, is_done)) = pending.pop() {
                if !seen.insert((block, is_done)) {
                    continue;
                }
                if !ir::block_instructions(block).all(|i| self.only_waits(i, sites)) {
                    return None;
                }
                if block == own {
                    // It tests again what it knows.
                    if is_done {
                        return None;
                    }
                    pending
                        .extend([(LLVMGetSuccessor(branch, 0), true), (LLVMGetSuccessor(branch, 1), false)]);
                    continue;
                }
                let leaves = only_done(block);
                let taken = condition(block).and_then(|of| given(of, done, is_done.into(), MOST_CASTS));
                for (at, next) in ir::successors(block).into_iter().enumerate() {
                    if taken.is_some_and(|taken| (taken == 0) != (at == 1)) {
                        continue;
                    }
                    match leaves == Some(next) {
                        true => ends.push(next),
                        false => pending.push((next, is_done)),
                    }
                }
            }
            ends.sort_unstable();
            ends.dedup();
            let comes_only_so = |&end: &LLVMBasicBlockRef| {
                !seen.contains(&(end, false))
                    && !seen.contains(&(end, true))
                    && ir::predecessors(end).all(|from| from != own && only_done(from) == Some(end))
            };
            if ends.is_empty() || !ends.iter().all(comes_only_so) {
                return None;
            }
            // A thread that waited again with its old token would go on without the others.
            let later = reached(ends.clone(), |block| block != arrival.at, |_| true)?;
            let between = seen.into_iter().map(|(block, _)| block).collect();
            (!later.contains(&own)).then_some(Wait { ends, between })
        }
    }

    /// True for an instruction that a thread may execute between an arrival and the end of its phase.
    unsafe fn only_waits(&self, instruction: LLVMValueRef, sites: &PlainSites) -> bool {
        // SAFETY: by contract.
        unsafe {
            match ir::opcode(instruction) {
                LLVMOpcode::LLVMAtomicCmpXchg if self.is_any(instruction) => false,
                // No mbarrier is initialised there.
                LLVMOpcode::LLVMStore if ir::metadata(instruction, MARK).is_some() => false,
                LLVMOpcode::LLVMRet | LLVMOpcode::LLVMUnreachable => false,
                LLVMOpcode::LLVMCall => match EntryCall::of(instruction) {
                    Some(call) => matches!(
                        call.entry.effect(),
                        EntryEffect::AtomicDone
                            | EntryEffect::Fence
                            | EntryEffect::Pause
                            | EntryEffect::Service
                            | EntryEffect::EndsLaunch
                    ),
                    None => ir::callee(instruction).is_some_and(|callee| {
                        let name = ir::name(callee);
                        name == ir::entry_calls::CONTEXT_FUNCTION
                            || name.starts_with("llvm.") && !sites.contains_key(&instruction)
                    }),
                },
                _ => *sites.get(&instruction).unwrap_or(&true) || ir::metadata(instruction, MARK).is_some(),
            }
        }
    }

    /// True for an instruction that has this mbarrier's address.
    unsafe fn is_any(&self, instruction: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe { ir::operands(instruction).into_iter().any(|of| mbarrier(of) == Some(self.at)) }
    }
}

impl Arrival {
    /// The arrival that an exchange of an mbarrier's word makes: of one thread, which stays expected. `Some(None)` for
    /// an exchange that changes nothing, `None` for any other.
    unsafe fn of(exchange: LLVMValueRef) -> Option<Option<Self>> {
        // SAFETY: by contract.
        unsafe {
            let change = Change::of(exchange).filter(|change| change.bytes == 0)?;
            let token = LLVMGetOperand(exchange, 1);
            let at = LLVMGetInstructionParent(exchange);
            Some(change.arrives.then_some(Self { token, at, after: change.after }))
        }
    }
}

impl Test {
    /// The test for which this load reads an mbarrier's word. `None` for a test of a parity.
    unsafe fn of(load: LLVMValueRef) -> Option<Self> {
        // SAFETY: by contract.
        unsafe {
            let phase = |value| {
                (ir::value_opcode(value) == Some(LLVMOpcode::LLVMLShr)
                    && ir::constant(LLVMGetOperand(value, 1)) == Some(PHASE))
                .then(|| LLVMGetOperand(value, 0))
            };
            let now = ir::users(load).into_iter().find(|user| phase(*user) == Some(load))?;
            ir::users(now).into_iter().find_map(|done| {
                let is_compare = ir::opcode(done) == LLVMOpcode::LLVMICmp
                    && LLVMGetICmpPredicate(done) == llvm_sys::LLVMIntPredicate::LLVMIntNE
                    && LLVMGetOperand(done, 0) == now;
                let token = is_compare.then(|| phase(LLVMGetOperand(done, 1)))??;
                Some(Self { token, done })
            })
        }
    }
}

pub(super) unsafe fn is_block_barrier(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { EntryCall::of(instruction).is_some_and(|call| call.is_of_whole_block()) }
}
