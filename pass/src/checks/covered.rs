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

use std::collections::{BTreeSet, HashMap};

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::meta::Covered;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};

use crate::analysis::control_flow::ControlFlow;
use crate::analysis::spins;
use crate::checks::sites::{Access, AccessSite, is_asynchronous};
use crate::ir::entry_calls::CONTEXT_FUNCTION;
use crate::ir::{self, debug_info};

pub mod once;
#[cfg(test)]
mod tests;

/// Most accesses of a function that are compared: the time grows with their square.
const MOST_ACCESSES: usize = 4096;
/// Most steps of an address computation that are followed.
const MOST_STEPS: usize = 64;

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

unsafe fn of_function(
    function: LLVMValueRef,
    accesses: &[AccessSite],
    sites: &[u32],
    by: &mut [Option<Covered>],
) {
    // SAFETY: by contract.
    unsafe {
        let mut numbers = Numbers::default();
        let mut groups: HashMap<(u32, u64, u64), Vec<u32>> = HashMap::new();
        for &site in sites {
            let access = &accesses[site as usize];
            groups.entry((numbers.of(access.pointer), access.offset, access.size)).or_default().push(site);
        }
        let mut groups: Vec<_> = groups.into_iter().filter(|(_, sites)| sites.len() > 1).collect();
        groups.sort_by(|(_, a), (_, b)| a.cmp(b));
        let all: Vec<u32> = groups.iter().flat_map(|(_, sites)| sites.iter().copied()).collect();
        if all.is_empty() || all.len() > MOST_ACCESSES {
            return;
        }
        let bit: HashMap<LLVMValueRef, usize> =
            all.iter().enumerate().map(|(bit, &site)| (accesses[site as usize].instruction, bit)).collect();
        let mut defines: HashMap<LLVMValueRef, Bits> = HashMap::new();
        let mut first = 0;
        for ((address, ..), members) in &groups {
            for &value in numbers.depends_on(*address) {
                let bits = defines.entry(value).or_insert_with(|| Bits::none(all.len()));
                (first..first + members.len()).for_each(|bit| bits.set(bit));
            }
            first += members.len();
        }
        let waits = spins::headers(function);
        let flow = ControlFlow::of(function);
        let blocks: Vec<_> =
            flow.blocks.iter().map(|block| events(*block, &bit, &defines, waits.contains(block))).collect();
        let flow = Neighbours::of(&flow, &blocks, all.len());
        let is_write = |bit: usize| matches!(accesses[all[bit] as usize].access, Access::Store);
        let mut first = 0;
        for (_, members) in &groups {
            let own = first..first + members.len();
            first = own.end;
            // In the order in which control reaches them.
            let mut order: Vec<usize> = own.clone().collect();
            order.sort_by_key(|bit| flow.position[*bit]);
            for &read in &order {
                if is_write(read) {
                    continue;
                }
                let write = own.clone().find(|&w| is_write(w) && (flow.both(w, read) || flow.both(read, w)));
                let kept = write.or_else(|| {
                    order.iter().copied().find(|&r| {
                        r != read
                            && !is_write(r)
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
            LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore => {
                LLVMGetVolatile(instruction) != 0
                    || !matches!(
                        LLVMGetOrdering(instruction),
                        LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
                    )
            }
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

/// Value numbers: values with equal numbers are computed in the same way from the same values.
#[derive(Default)]
pub(super) struct Numbers {
    known: HashMap<LLVMValueRef, u32>,
    by_form: HashMap<Form, u32>,
    /// For each number, the instructions whose values it is computed from.
    depends_on: Vec<BTreeSet<LLVMValueRef>>,
    depth: usize,
    loads_are_alike: bool,
}

/// How a value is computed.
#[derive(PartialEq, Eq, Hash)]
enum Form {
    /// In a way that is not followed: a parameter, a constant, a loaded value, a phi.
    Value(LLVMValueRef),
    /// It is the thread context.
    Context,
    /// By an operator without effects: opcode, type, type that it indexes, numbers of the operands.
    Computed(i32, LLVMTypeRef, LLVMTypeRef, Vec<u32>),
}

impl Numbers {
    /// Numbers by which plain loads from one address are equal, whatever was stored between. They prove nothing.
    pub(super) fn with_loads_alike() -> Self {
        Self { loads_are_alike: true, ..Self::default() }
    }

    /// # Safety
    /// `value` is live.
    pub(super) unsafe fn of(&mut self, value: LLVMValueRef) -> u32 {
        if let Some(&number) = self.known.get(&value) {
            return number;
        }
        self.depth += 1;
        // SAFETY: by contract.
        let form = unsafe { self.form(value) };
        self.depth -= 1;
        // SAFETY: by contract.
        let own = unsafe { !LLVMIsAInstruction(value).is_null() };
        let mut depends_on: BTreeSet<LLVMValueRef> = match &form {
            Form::Computed(_, _, _, operands) => {
                operands.iter().flat_map(|&number| self.depends_on[number as usize].iter().copied()).collect()
            }
            _ => BTreeSet::new(),
        };
        // SAFETY: by contract; a load has an operand.
        let is_load = self.loads_are_alike
            && own
            && unsafe { ir::opcode(value) == LLVMOpcode::LLVMLoad && !of_context(LLVMGetOperand(value, 0)) };
        if is_load || own && matches!(form, Form::Value(_)) {
            depends_on.insert(value);
        }
        let next = self.depends_on.len() as u32;
        let number = *self.by_form.entry(form).or_insert(next);
        if number == next {
            self.depends_on.push(depends_on);
        }
        self.known.insert(value, number);
        number
    }

    /// The instructions whose values a number is computed from.
    pub(super) fn depends_on(&self, number: u32) -> &BTreeSet<LLVMValueRef> {
        &self.depends_on[number as usize]
    }

    unsafe fn form(&mut self, value: LLVMValueRef) -> Form {
        // SAFETY: by contract.
        unsafe {
            if LLVMIsAInstruction(value).is_null() || self.depth > MOST_STEPS {
                return Form::Value(value);
            }
            let opcode = ir::opcode(value);
            let indexed = match opcode {
                LLVMOpcode::LLVMGetElementPtr => LLVMGetGEPSourceElementType(value),
                LLVMOpcode::LLVMCall => {
                    let context = ir::callee(value).is_some_and(|f| ir::name(f) == CONTEXT_FUNCTION);
                    return if context { Form::Context } else { Form::Value(value) };
                }
                // The thread context does not change while the thread runs.
                LLVMOpcode::LLVMLoad if of_context(LLVMGetOperand(value, 0)) => std::ptr::null_mut(),
                LLVMOpcode::LLVMLoad if self.loads_are_alike && !orders(value) => std::ptr::null_mut(),
                LLVMOpcode::LLVMFreeze if self.loads_are_alike => std::ptr::null_mut(),
                // Its predicate is not an operand.
                LLVMOpcode::LLVMICmp => return Form::Value(value),
                LLVMOpcode::LLVMUDiv | LLVMOpcode::LLVMSDiv | LLVMOpcode::LLVMURem | LLVMOpcode::LLVMSRem => {
                    std::ptr::null_mut()
                }
                _ if ir::is_speculatable(value) => std::ptr::null_mut(),
                _ => return Form::Value(value),
            };
            let operands = ir::operands(value).into_iter().map(|operand| self.of(operand)).collect();
            Form::Computed(opcode as i32, LLVMTypeOf(value), indexed, operands)
        }
    }
}

/// True if a pointer leads into the thread context.
unsafe fn of_context(mut pointer: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        while !LLVMIsAGetElementPtrInst(pointer).is_null() {
            pointer = LLVMGetOperand(pointer, 0);
        }
        !LLVMIsACallInst(pointer).is_null()
            && ir::callee(pointer).is_some_and(|f| ir::name(f) == CONTEXT_FUNCTION)
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
