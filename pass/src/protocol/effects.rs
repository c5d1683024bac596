//! What calls do, as far as protocols tell: which functions can be followed,
//! and what those that cannot may do.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use gpurace_abi::entry;
use gpurace_protocol::protocol::{Space, Sync, Unknown};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::graph::Graph;
use crate::grid_sync;
use crate::ir;
use crate::lower::CONTEXT_FUNCTION;
use crate::sites::AccessSite;
use crate::sync::is_of_cluster;

/// What a function may do, with all that it calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// It touches memory that threads share.
    pub touches: bool,
    /// It may wait at a barrier.
    pub syncs: bool,
    /// It may end the thread.
    pub leaves: bool,
    /// It may wait for other blocks of its cluster, or have addresses there.
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

    /// As a statement, or `None` where there is nothing to say.
    pub fn unknown(self, why: String) -> Option<Unknown> {
        let touches = self.touches.then_some(Space::Generic);
        (self.touches || self.syncs).then_some(Unknown { why, touches, syncs: self.syncs })
    }
}

/// What a call means to a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that other threads see.
    Nothing,
    /// Synchronisation.
    Sync(Sync),
    /// A function of the module whose own protocol takes the call's place.
    Function(LLVMValueRef),
    /// Something that the protocol cannot say.
    Unknown(Unknown),
}

/// What the extraction knows of a module.
pub struct Facts<'a> {
    /// The module.
    pub module: LLVMModuleRef,
    /// Its accesses; a site is an index into them.
    pub accesses: &'a [AccessSite],
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
        let summaries = unsafe { summaries(module, &sites) };
        Self { module, accesses, sites, summaries, graphs: RefCell::default() }
    }

    /// The sites of an instruction.
    pub fn sites(&self, instruction: LLVMValueRef) -> &[u32] {
        self.sites.get(&instruction).map_or(&[], Vec::as_slice)
    }

    /// What a function of the module may do.
    pub fn summary(&self, function: LLVMValueRef) -> Summary {
        self.summaries.get(&function).copied().unwrap_or(Summary::ANYTHING)
    }

    /// A function's control flow, or why it has no form that protocols can say.
    ///
    /// # Safety
    /// `function` is live and has a body.
    pub unsafe fn graph(&self, function: LLVMValueRef) -> Result<Rc<Graph>, String> {
        let mut graphs = self.graphs.borrow_mut();
        // SAFETY: by contract.
        graphs.entry(function).or_insert_with(|| unsafe { Graph::of(function) }.map(Rc::new)).clone()
    }

    /// What a call does.
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
            let constant = |index: u32| {
                let value = LLVMGetOperand(call, index);
                (!LLVMIsAConstantInt(value).is_null()).then(|| LLVMConstIntGetZExtValue(value) as u32)
            };
            let barrier = || {
                if constant(0) == Some(0) && constant(1) == Some(0) {
                    return Effect::Sync(Sync::Block);
                }
                unknown(Summary { syncs: true, ..Summary::default() }, "a named barrier".to_owned())
            };
            match name.as_str() {
                "__gpurace_barrier" | "__gpurace_barrier_red" => barrier(),
                "__gpurace_barrier_arrive" => {
                    unknown(Summary { syncs: true, ..Summary::default() }, "a named barrier".to_owned())
                }
                "__gpurace_syncwarp" if constant(0) == Some(u32::MAX) => Effect::Sync(Sync::Warp),
                grid_sync::MARK => Effect::Sync(Sync::Grid),
                _ if is_harmless(&name) => Effect::Nothing,
                _ => unknown(Summary::ANYTHING, format!("a call of `{name}`, which is not in this module")),
            }
        }
    }
}

fn unknown(summary: Summary, why: String) -> Effect {
    summary.unknown(why).map_or(Effect::Nothing, Effect::Unknown)
}

/// Whether a function without a body touches no memory of the program that is
/// not a site, and waits at no barrier.
fn is_harmless(name: &str) -> bool {
    let of_llvm = name.starts_with("llvm.") && !name.starts_with("llvm.nvvm.");
    of_llvm || name == CONTEXT_FUNCTION || entry::find(name).is_some()
}

unsafe fn summaries(
    module: LLVMModuleRef,
    sites: &HashMap<LLVMValueRef, Vec<u32>>,
) -> HashMap<LLVMValueRef, Summary> {
    let mut callees: HashMap<LLVMValueRef, HashSet<LLVMValueRef>> = HashMap::new();
    let mut all: HashMap<LLVMValueRef, Summary> = HashMap::new();
    // SAFETY: by contract.
    unsafe {
        let leaves_anywhere = ir::functions(module).any(|f| ir::name(f) == "__gpurace_exit");
        let clusters_anywhere = ir::functions(module).any(|f| is_of_cluster(&ir::name(f)));
        for function in ir::definitions(module) {
            let mut own = Summary::default();
            let mut called = HashSet::new();
            for instruction in ir::instructions(function) {
                own.touches |= sites.contains_key(&instruction);
                if ir::opcode(instruction) != LLVMOpcode::LLVMCall {
                    continue;
                }
                match ir::callee(instruction) {
                    Some(callee) if LLVMIsDeclaration(callee) == 0 => {
                        called.insert(callee);
                    }
                    Some(callee) => match ir::name(callee).as_str() {
                        "__gpurace_exit" => own.leaves = true,
                        name if name.starts_with("__gpurace_barrier") => own.syncs = true,
                        "__gpurace_syncwarp" | grid_sync::MARK => own.syncs = true,
                        name if is_of_cluster(name) => (own.clusters, own.syncs) = (true, true),
                        name if is_harmless(name) => {}
                        _ => own.join(Summary::ANYTHING),
                    },
                    None => {
                        own.join(Summary::ANYTHING);
                        own.leaves |= leaves_anywhere;
                        own.clusters |= clusters_anywhere;
                    }
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
