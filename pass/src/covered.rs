//! Checks that another check stands for, as in GMRace (Zheng et al., "GMRace: Detecting Data
//! Races in GPU Programs via a Low-Overhead Scheme", TPDS 2014), which instruments an
//! address once between two barriers.
//!
//! # The rule
//! A plain read has no check of its own where the same thread writes, or has
//! read, the same bytes, and nothing stands between the two that could order one
//! of them and not the other. Whatever races with the read then races with the other, too:
//!
//! * *the same bytes*: addresses computed alike from the same values
//!   ([`Numbers`]), and the same size;
//! * *always both*: every way to the second access leads through the first, and every
//!   way from the first to the second;
//! * *nothing between*: no barrier, fence, atomic or volatile access, no call of what may
//!   hold one, and no loop that waits for other threads ([`orders`]), on any way;
//! * *plain accesses only*: never one of an asynchronous copy, never a write. A
//!   write's check also compares values, and no two writes need store equal ones.
//!
//! A write stands for reads before and after it, a read for later reads.
//!
//! # What is reported
//! The same as with every check. Where a check finds a race, the checker also
//! names the reads that it stands for (`runtime/check/src/covered.rs`), as it would have on
//! their way; they are listed in the module's description.
//!
//! # Loops
//! What is read in each iteration of a loop is checked in the first one alone: [`once`].
//!
//! # Proofs
//! A launch may skip the check of a proved access that stands for one that is not
//! proved. Nothing is lost: what could race with the latter could race with the former.

use std::collections::{BTreeSet, HashMap, HashSet};

use gpurace_abi::meta::Covered;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};

use crate::lower::{CONTEXT_FUNCTION, spins};
use crate::sites::{Access, AccessSite, is_asynchronous};
use crate::{debug_info, ir};

pub mod once;
#[cfg(test)]
mod tests;

/// Most accesses of a function that are compared: the work grows with their square.
const MOST_ACCESSES: usize = 4096;
/// Most steps through which an address is followed.
const MOST_STEPS: usize = 64;

/// Which checks are left out.
#[derive(Clone, Debug, Default)]
pub struct Spared {
    /// For each access, the one whose check stands for its own; where it is shorter, none does.
    pub covered: Vec<Option<Covered>>,
    /// Reads that are checked in a loop's first iteration.
    pub once: once::Once,
}

/// The checks that may be left out.
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

/// For each access, the one whose check stands for its own.
///
/// # Safety
/// `accesses` are those of a module that is live, normalised and without checks.
unsafe fn covered(accesses: &[AccessSite]) -> Vec<Option<Covered>> {
    let mut by = vec![None; accesses.len()];
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
        let mut groups: HashMap<(u32, u64), Vec<u32>> = HashMap::new();
        for &site in sites {
            let access = &accesses[site as usize];
            groups.entry((numbers.of(access.pointer), access.size)).or_default().push(site);
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
        for ((address, _), members) in &groups {
            for &value in numbers.rests_on(*address) {
                let bits = defines.entry(value).or_insert_with(|| Bits::none(all.len()));
                (first..first + members.len()).for_each(|bit| bits.set(bit));
            }
            first += members.len();
        }
        let waits: HashSet<_> = spins::headers(function).into_iter().collect();
        let blocks: Vec<_> = ir::blocks(function)
            .map(|block| Block::of(block, &bit, &defines, waits.contains(&block)))
            .collect();
        let flow = Flow::of(function, &blocks, all.len());
        let is_write = |bit: usize| matches!(accesses[all[bit] as usize].access, Access::Store);
        let mut first = 0;
        for (_, members) in &groups {
            let own = first..first + members.len();
            first = own.end;
            // In the order in which control comes to them.
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

/// What a block does to what is known of accesses.
enum Event {
    /// An access is made.
    Access(usize),
    /// A value changes that these accesses' addresses rest on.
    Defines(Bits),
    /// Something that may order accesses, or end the thread.
    Orders,
}

struct Block {
    block: LLVMBasicBlockRef,
    events: Vec<Event>,
}

impl Block {
    unsafe fn of(
        block: LLVMBasicBlockRef,
        bit: &HashMap<LLVMValueRef, usize>,
        defines: &HashMap<LLVMValueRef, Bits>,
        waits: bool,
    ) -> Self {
        let mut events = Vec::new();
        if waits {
            events.push(Event::Orders);
        }
        // SAFETY: by contract.
        unsafe {
            for instruction in ir::block_instructions(block) {
                if let Some(&bit) = bit.get(&instruction) {
                    events.push(Event::Access(bit));
                } else if orders(instruction) {
                    events.push(Event::Orders);
                }
                if let Some(bits) = defines.get(&instruction) {
                    events.push(Event::Defines(bits.clone()));
                }
            }
        }
        Self { block, events }
    }

    /// What is known on the other side of the block; `at` is told what is known where each access stands.
    fn pass(&self, known: &mut Bits, forward: bool, mut at: impl FnMut(usize, &Bits)) {
        let mut event = |event: &Event| match event {
            Event::Access(bit) => {
                at(*bit, known);
                known.set(*bit);
            }
            Event::Defines(bits) => known.remove(bits),
            Event::Orders => known.clear(),
        };
        if forward {
            self.events.iter().for_each(&mut event);
        } else {
            self.events.iter().rev().for_each(&mut event);
        }
    }
}

/// Which accesses come before and after which.
struct Flow {
    /// For each access, those that every way to it has led through, and none of what is in [`Event`] since.
    before: Vec<Bits>,
    /// For each access, those that every way from it leads through before any of that.
    after: Vec<Bits>,
    /// A number for each access: of two of which one is before the other, it has the smaller one.
    position: Vec<usize>,
}

impl Flow {
    unsafe fn of(function: LLVMValueRef, blocks: &[Block], accesses: usize) -> Self {
        let index: HashMap<_, _> = blocks.iter().enumerate().map(|(i, b)| (b.block, i)).collect();
        let mut successors = vec![Vec::new(); blocks.len()];
        let mut predecessors = vec![Vec::new(); blocks.len()];
        // SAFETY: by contract.
        let entry = unsafe {
            for (i, block) in blocks.iter().enumerate() {
                for next in ir::successors(block.block) {
                    let next = index[&next];
                    successors[i].push(next);
                    predecessors[next].push(i);
                }
            }
            index[&LLVMGetEntryBasicBlock(function)]
        };
        let order = reverse_postorder(entry, &successors);
        let backwards: Vec<_> = order.iter().rev().copied().collect();
        let nothing = vec![Bits::none(accesses); accesses];
        let mut flow = Self { before: nothing.clone(), after: nothing, position: vec![usize::MAX; accesses] };
        let known = settle(blocks, &order, &predecessors, Some(entry), accesses, true);
        let mut count = 0;
        for &i in &order {
            let mut known = known[i].clone();
            blocks[i].pass(&mut known, true, |bit, known| {
                flow.before[bit] = known.clone();
                flow.position[bit] = count;
                count += 1;
            });
        }
        let known = settle(blocks, &backwards, &successors, None, accesses, false);
        for &i in &backwards {
            let mut known = known[i].clone();
            blocks[i].pass(&mut known, false, |bit, known| flow.after[bit] = known.clone());
        }
        flow
    }

    /// Whether each time that one of them is made the other is too, first `a` and then `b`, with nothing between.
    fn both(&self, a: usize, b: usize) -> bool {
        self.before[b].has(a) && self.after[a].has(b)
    }
}

/// What is known where each block is entered, from the side that `from` lies on:
/// what all of `from` agree on.
fn settle(
    blocks: &[Block],
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
            blocks[i].pass(&mut known, forward, |_, _| {});
            changed |= known != left[i];
            left[i] = known;
        }
        if !changed {
            return entered;
        }
    }
}

fn reverse_postorder(entry: usize, successors: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = HashSet::from([entry]);
    let mut path = vec![(entry, 0)];
    let mut order = Vec::new();
    while let Some((block, next)) = path.last_mut() {
        match successors[*block].get(*next) {
            Some(&successor) => {
                *next += 1;
                if seen.insert(successor) {
                    path.push((successor, 0));
                }
            }
            None => {
                order.push(*block);
                path.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Whether an instruction may order the accesses around it differently, let other threads run
/// between them, or end the thread.
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

/// Numbers for values: equal numbers mean that both are computed alike, from the same values.
#[derive(Default)]
struct Numbers {
    known: HashMap<LLVMValueRef, u32>,
    by_form: HashMap<Form, u32>,
    /// By number: the instructions whose values it is computed from.
    rests_on: Vec<BTreeSet<LLVMValueRef>>,
    depth: usize,
}

/// How a value is computed.
#[derive(PartialEq, Eq, Hash)]
enum Form {
    /// Not looked into: a parameter, a constant, a loaded value, a phi.
    Value(LLVMValueRef),
    /// The thread context.
    Context,
    /// An operator without effects, its type, the type that it indexes, and its operands' numbers.
    Computed(i32, LLVMTypeRef, LLVMTypeRef, Vec<u32>),
}

impl Numbers {
    /// # Safety
    /// `value` is live.
    unsafe fn of(&mut self, value: LLVMValueRef) -> u32 {
        if let Some(&number) = self.known.get(&value) {
            return number;
        }
        self.depth += 1;
        // SAFETY: by contract.
        let form = unsafe { self.form(value) };
        self.depth -= 1;
        // SAFETY: by contract.
        let own = matches!(form, Form::Value(_)) && unsafe { !LLVMIsAInstruction(value).is_null() };
        let rests_on = match &form {
            Form::Computed(_, _, _, operands) => {
                operands.iter().flat_map(|&number| self.rests_on[number as usize].iter().copied()).collect()
            }
            _ => own.then_some(value).into_iter().collect(),
        };
        let next = self.rests_on.len() as u32;
        let number = *self.by_form.entry(form).or_insert(next);
        if number == next {
            self.rests_on.push(rests_on);
        }
        self.known.insert(value, number);
        number
    }

    fn rests_on(&self, number: u32) -> &BTreeSet<LLVMValueRef> {
        &self.rests_on[number as usize]
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
                // What a thread knows of itself does not change while it runs.
                LLVMOpcode::LLVMLoad if of_context(LLVMGetOperand(value, 0)) => std::ptr::null_mut(),
                // Its predicate is none of its operands.
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

/// Whether a pointer leads into the thread context.
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

/// Some of a function's accesses.
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
