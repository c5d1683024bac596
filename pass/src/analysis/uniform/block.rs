//! What all threads of a block share, for code that runs them in loops.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use gpurace_protocol::protocol::Uniform;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Inputs, Uniformity, WholeWarps};
use crate::analysis::regions::Graph;
use crate::ir;

/// The values and basic blocks of a lowered kernel that all threads of a block share. The kernel's
/// fields of the thread context are parameters.
#[derive(Debug)]
pub struct BlockUniform {
    /// The parameters that differ from thread to thread.
    varying: Vec<LLVMValueRef>,
    /// Values that were added since the analysis.
    added: HashMap<LLVMValueRef, Uniform>,
    /// `None` if the control flow has no regions. Only parameters and constants are uniform then.
    known: Option<Uniformity>,
    /// Basic blocks in which single threads end.
    ending: HashSet<LLVMBasicBlockRef>,
}

impl BlockUniform {
    /// Analyses a kernel; `varying` are the parameters that differ from thread to thread, `read_only`
    /// says of parameters that they point to what no thread writes to. With `warps`, a warp shares the
    /// varying parameters that are not among its lanes. The answers are for the threads that do not come to a
    /// basic block of `ending`, from which no way leads to others. `read_once`: see [`Inputs`].
    ///
    /// # Safety
    /// `function` is a live definition.
    pub unsafe fn of(
        function: LLVMValueRef,
        varying: &[LLVMValueRef],
        read_only: &[bool],
        warps: Option<WholeWarps>,
        ending: HashSet<LLVMBasicBlockRef>,
        read_once: HashMap<LLVMValueRef, LLVMValueRef>,
    ) -> Self {
        // SAFETY: by contract.
        unsafe {
            let group = |p| match &warps {
                _ if !varying.contains(p) => Uniform::Block,
                Some(warps) if !warps.lanes.contains(p) => Uniform::Warp,
                _ => Uniform::Thread,
            };
            let arguments: Vec<_> = ir::params(function).iter().map(group).collect();
            let inputs = Inputs {
                read_only_copies: read_only.to_vec(),
                arguments,
                control: Uniform::Block,
                frozen: Uniform::Thread,
                warps,
                read_once,
            };
            let graph = Graph::without(function, &ending).ok().map(Rc::new);
            let known = graph.map(|graph| Uniformity::of(LLVMGetGlobalParent(function), graph, inputs));
            Self { varying: varying.to_vec(), added: HashMap::new(), known, ending }
        }
    }

    /// True if threads of the block may see different values, in any iterations.
    ///
    /// # Safety
    /// `value` is live.
    pub unsafe fn varies(&self, value: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe { self.group(value) < Uniform::Block }
    }

    /// The group that sees the same value, in any iterations.
    ///
    /// # Safety
    /// `value` is live.
    pub unsafe fn group(&self, value: LLVMValueRef) -> Uniform {
        // SAFETY: by contract.
        unsafe {
            let is_instruction = !LLVMIsAInstruction(value).is_null();
            match &self.known {
                _ if self.added.contains_key(&value) => self.added[&value],
                Some(known) if !is_instruction || known.values.contains_key(&value) => known.at(value, None),
                None if !is_instruction && !self.varying.contains(&value) => Uniform::Block,
                _ => Uniform::Thread,
            }
        }
    }

    /// The group that sees the same value at a basic block, if it comes there in the same iterations of the loops
    /// around it.
    ///
    /// # Safety
    /// `value` is live.
    pub unsafe fn group_at(&self, value: LLVMValueRef, block: LLVMBasicBlockRef) -> Uniform {
        // SAFETY: by contract.
        unsafe {
            match &self.known {
                Some(known)
                    if known.values.contains_key(&value) && known.graph.index.contains_key(&block) =>
                {
                    known.at(value, known.graph.loop_of[known.graph.index[&block]])
                }
                _ => self.group(value),
            }
        }
    }

    /// Says which group sees the same value of an instruction that was added since the analysis.
    pub fn add(&mut self, value: LLVMValueRef, group: Uniform) {
        self.added.insert(value, group);
    }

    /// True if only some threads of the block may run a basic block of the analysed function.
    pub fn is_divergent(&self, block: LLVMBasicBlockRef) -> bool {
        self.control(block) < Uniform::Block
    }

    /// True if threads that run a basic block together may leave it by different edges.
    ///
    /// # Safety
    /// The analysed function is live.
    pub unsafe fn parts(&self, block: LLVMBasicBlockRef) -> bool {
        let Some(known) = &self.known else { return true };
        // SAFETY: by contract.
        known.graph.index.get(&block).is_none_or(|&block| unsafe { known.branch(block) } < Uniform::Block)
    }

    /// The group that runs a basic block together.
    pub fn control(&self, block: LLVMBasicBlockRef) -> Uniform {
        let Some(known) = self.known.as_ref().filter(|_| !self.ending.contains(&block)) else {
            return Uniform::Thread;
        };
        known.graph.index.get(&block).map_or(Uniform::Grid, |&block| known.control(block))
    }
}
