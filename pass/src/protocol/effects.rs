//! Effects of calls: which functions the extraction can follow, and what the others may do.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use gpurace_abi::entry::{Effect as EntryEffect, Entry};
use gpurace_protocol::protocol::{Space, Sync, Unknown};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::mbarriers::Mbarriers;
use super::phases::Phases;
use crate::analysis::regions::Graph;
use crate::analysis::sync_features::is_of_cluster;
use crate::checks::grid_sync;
use crate::checks::sites::AccessSite;
use crate::ir;
use crate::ir::entry_calls::{CONTEXT_FUNCTION, EntryCall, entry_of_function};

/// The largest number of basic blocks of a function.
const MAX_BLOCKS: u32 = 2000;

/// The possible effects of a function and of the functions that it calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// It may access memory that threads share.
    pub touches: bool,
    /// It may wait at a barrier.
    pub syncs: bool,
    /// It may end the thread.
    pub leaves: bool,
    /// It may wait for other blocks of its cluster, or access their shared memory.
    pub clusters: bool,
}

impl Summary {
    const ANYTHING: Self = Self { touches: true, syncs: true, leaves: false, clusters: false };

    fn join(&mut self, other: Self) {
        self.touches |= other.touches;
        self.syncs |= other.syncs;
        self.leaves |= other.leaves;
        self.clusters |= other.clusters;
    }

    /// The statement for a function with these effects; `None` if it has none.
    pub fn unknown(self, why: String) -> Option<Unknown> {
        let touches = self.touches.then_some(Space::Generic);
        (self.touches || self.syncs).then_some(Unknown { why, touches, syncs: self.syncs })
    }
}

/// The effect of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No other thread can see one.
    Nothing,
    /// Synchronisation.
    Sync(Sync),
    /// A sync of the lanes that this mask names.
    Lanes(LLVMValueRef),
    /// An arrival at a named barrier: its number, the number of threads, and whether the thread waits.
    Named(LLVMValueRef, LLVMValueRef, bool),
    /// It runs a function of the module, which is evaluated at the call.
    Function(LLVMValueRef),
    /// It is unknown.
    Unknown(Unknown),
}

/// Facts about a module that the extraction uses.
pub struct Facts<'a> {
    /// The module.
    pub module: LLVMModuleRef,
    /// Its accesses; a site is an index into them.
    pub accesses: &'a [AccessSite],
    /// The mbarriers at which blocks meet.
    pub mbarriers: Mbarriers,
    /// The mbarriers whose phases threads know by their parity.
    pub phases: Phases,
    sites: HashMap<LLVMValueRef, Vec<u32>>,
    summaries: HashMap<LLVMValueRef, Summary>,
    graphs: RefCell<HashMap<LLVMValueRef, Result<Rc<Graph>, String>>>,
}

impl<'a> Facts<'a> {
    /// # Safety
    /// `module` is live as long as the result is used; the accesses are its.
    pub unsafe fn of(module: LLVMModuleRef, accesses: &'a [AccessSite]) -> Self {
        let mut sites: HashMap<_, Vec<u32>> = HashMap::new();
        for (index, access) in accesses.iter().enumerate() {
            sites.entry(access.instruction).or_default().push(index as u32);
        }
        // SAFETY: by contract.
        let (summaries, mbarriers) = unsafe { (summaries(module, &sites), Mbarriers::of(module, accesses)) };
        // SAFETY: by contract.
        let phases = unsafe { Phases::of(module) };
        Self { module, accesses, mbarriers, phases, sites, summaries, graphs: RefCell::default() }
    }

    /// The sites of an instruction.
    pub fn sites(&self, instruction: LLVMValueRef) -> &[u32] {
        self.sites.get(&instruction).map_or(&[], Vec::as_slice)
    }

    /// The possible effects of a function of the module.
    pub fn summary(&self, function: LLVMValueRef) -> Summary {
        self.summaries.get(&function).copied().unwrap_or(Summary::ANYTHING)
    }

    /// A function's control flow, or the reason why no protocol can describe it.
    ///
    /// # Safety
    /// `function` is live and has a body.
    pub unsafe fn graph(&self, function: LLVMValueRef) -> Result<Rc<Graph>, String> {
        let mut graphs = self.graphs.borrow_mut();
        // SAFETY: by contract.
        let graph = || unsafe {
            match LLVMCountBasicBlocks(function) {
                ..=MAX_BLOCKS => Graph::of(function).map(Rc::new),
                _ => Err(format!("more than {MAX_BLOCKS} basic blocks")),
            }
        };
        graphs.entry(function).or_insert_with(graph).clone()
    }

    /// The effect of a call.
    ///
    /// # Safety
    /// `call` is a live call.
    pub unsafe fn effect(&self, call: LLVMValueRef) -> Effect {
        // SAFETY: by contract.
        unsafe {
            let Some(callee) = ir::callee(call) else {
                let what = if ir::calls_asm(call) { "inline assembly" } else { "a call through a pointer" };
                return unknown(Summary::ANYTHING, what.to_owned());
            };
            if LLVMIsDeclaration(callee) == 0 {
                return Effect::Function(callee);
            }
            let name = ir::name(callee);
            if let Some(call) = EntryCall::of(call) {
                return match call.entry {
                    _ if call.is_of_whole_block() => Effect::Sync(Sync::Block),
                    Entry::Barrier => Effect::Named(call.operand(0), call.operand(1), true),
                    Entry::BarrierArrive => Effect::Named(call.operand(0), call.operand(1), false),
                    Entry::BarrierRed => {
                        let why = "a reduction at a named barrier".to_owned();
                        unknown(Summary { syncs: true, ..Summary::default() }, why)
                    }
                    Entry::Syncwarp => Effect::Lanes(call.operand(0)),
                    _ => Effect::Nothing,
                };
            }
            match name.as_str() {
                grid_sync::MARK => Effect::Sync(Sync::Grid),
                _ if is_harmless(&name) => Effect::Nothing,
                _ => unknown(Summary::ANYTHING, format!("a call of `{name}`, which is not in this module")),
            }
        }
    }
}

/// The effect of a function that is not followed.
fn unknown(summary: Summary, why: String) -> Effect {
    summary.unknown(why).map_or(Effect::Nothing, Effect::Unknown)
}

/// True for a function without a body that accesses no memory of the program besides sites, and
/// waits at no barrier.
fn is_harmless(name: &str) -> bool {
    let of_llvm = name.starts_with("llvm.") && !name.starts_with("llvm.nvvm.");
    of_llvm || name == CONTEXT_FUNCTION
}

/// Returns what each function with a body may do, with all that it calls.
unsafe fn summaries(
    module: LLVMModuleRef,
    sites: &HashMap<LLVMValueRef, Vec<u32>>,
) -> HashMap<LLVMValueRef, Summary> {
    let mut callees: HashMap<LLVMValueRef, HashSet<LLVMValueRef>> = HashMap::new();
    let mut all: HashMap<LLVMValueRef, Summary> = HashMap::new();
    // SAFETY: by contract.
    unsafe {
        let mut indirect = Summary::ANYTHING;
        for entry in ir::functions(module).filter_map(|f| entry_of_function(f)) {
            indirect.leaves |= entry == Entry::Exit;
            indirect.clusters |= is_of_cluster(entry);
        }
        for function in ir::definitions(module) {
            let (mut own, mut called) = (Summary::default(), HashSet::new());
            for instruction in ir::instructions(function) {
                own.touches |= sites.contains_key(&instruction);
                if ir::opcode(instruction) != LLVMOpcode::LLVMCall {
                    continue;
                }
                match ir::callee(instruction) {
                    Some(callee) if LLVMIsDeclaration(callee) == 0 => {
                        called.insert(callee);
                    }
                    Some(callee) => own.join(without_body(callee)),
                    None => own.join(indirect),
                }
            }
            all.insert(function, own);
            callees.insert(function, called);
        }
    }
    loop {
        let mut changed = false;
        for (function, called) in &callees {
            let mut joined = all[function];
            for callee in called {
                joined.join(all.get(callee).copied().unwrap_or(Summary::ANYTHING));
            }
            changed |= all.insert(*function, joined) != Some(joined);
        }
        if !changed {
            return all;
        }
    }
}

/// Returns what a function without a body may do.
unsafe fn without_body(function: LLVMValueRef) -> Summary {
    // SAFETY: by contract.
    let (entry, name) = unsafe { (entry_of_function(function), ir::name(function)) };
    match entry {
        Some(entry) => Summary {
            touches: false,
            syncs: is_of_cluster(entry)
                || matches!(entry.effect(), EntryEffect::Barrier | EntryEffect::WarpSync),
            leaves: entry == Entry::Exit,
            clusters: is_of_cluster(entry),
        },
        None if name == grid_sync::MARK => Summary { syncs: true, ..Summary::default() },
        None if is_harmless(&name) => Summary::default(),
        None => Summary::ANYTHING,
    }
}
