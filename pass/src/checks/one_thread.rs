//! Code that one thread of a block runs: `if (threadIdx.x == 0) ...`.

use std::collections::HashSet;

use gpurace_abi::context::offset;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use crate::analysis::address::{self, Start};
use crate::analysis::control_flow::{ControlFlow, dominators};
use crate::ir;

/// Most values of one condition that are looked at.
const MOST_VALUES: usize = 64;

/// The axes along which an index of a thread goes.
type Axes = HashSet<usize>;

/// Finds code of one thread in a function.
pub struct OneThread {
    module: LLVMModuleRef,
    /// The immediate dominator of each basic block.
    dominators: Vec<usize>,
    /// The axes of which the function reads a thread's index.
    axes: Axes,
}

impl OneThread {
    /// # Safety
    /// `function` is a live and normalised definition of `module`, `flow` is its control flow.
    pub unsafe fn of(module: LLVMModuleRef, function: LLVMValueRef, flow: &ControlFlow) -> Self {
        // SAFETY: by contract.
        let axes = unsafe {
            let loads = ir::instructions(function).into_iter();
            loads.filter_map(|load| axis(module, load)).collect()
        };
        Self { module, dominators: dominators(&flow.predecessors), axes }
    }

    /// True if one thread of a block at most comes to a basic block, as far as comparisons of its index show.
    ///
    /// # Safety
    /// The function is live, and `flow` is its control flow.
    pub unsafe fn runs(&self, flow: &ControlFlow, block: LLVMBasicBlockRef) -> bool {
        let Some(&block) = flow.index.get(&block) else { return false };
        let mut known = Axes::new();
        let mut at = block;
        // SAFETY: by contract.
        unsafe {
            while at != 0 && at != usize::MAX {
                let from = self.dominators[at];
                if let [only] = flow.predecessors[at][..]
                    && only == from
                {
                    let branch = LLVMGetBasicBlockTerminator(flow.blocks[from]);
                    if ir::opcode(branch) == LLVMOpcode::LLVMBr && LLVMIsConditional(branch) != 0 {
                        let holds = flow.successors[from][0] == at;
                        self.add_fixed(LLVMGetCondition(branch), holds, &mut known);
                    }
                }
                at = from;
            }
        }
        !self.axes.is_empty() && self.axes.is_subset(&known)
    }

    /// Adds the axes of which a condition gives the index.
    unsafe fn add_fixed(&self, condition: LLVMValueRef, holds: bool, known: &mut Axes) {
        let mut pending = vec![condition];
        // SAFETY: operands of live values are live.
        unsafe {
            while let Some(condition) = pending.pop() {
                match ir::value_opcode(condition) {
                    Some(LLVMOpcode::LLVMAnd) if holds => pending.extend(ir::operands(condition)),
                    Some(LLVMOpcode::LLVMOr) if !holds => pending.extend(ir::operands(condition)),
                    // `a ? b : false` is a conjunction, `a ? true : b` is not known to be one.
                    Some(LLVMOpcode::LLVMSelect) if holds && is_zero(LLVMGetOperand(condition, 2)) => {
                        pending.extend([LLVMGetOperand(condition, 0), LLVMGetOperand(condition, 1)]);
                    }
                    Some(LLVMOpcode::LLVMICmp) => {
                        let is_equal = match LLVMGetICmpPredicate(condition) {
                            LLVMIntPredicate::LLVMIntEQ => holds,
                            LLVMIntPredicate::LLVMIntNE => !holds,
                            _ => false,
                        };
                        let [index, number] = [0, 1].map(|at| LLVMGetOperand(condition, at));
                        if is_equal && LLVMIsConstant(number) != 0 {
                            let axes = self.axes_of(index).unwrap_or_default();
                            if axes.len() == 1 || is_zero(number) {
                                known.extend(axes);
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// The axes of a sum of a thread's indices. It is 0 for the first thread alone.
    unsafe fn axes_of(&self, index: LLVMValueRef) -> Option<Axes> {
        let (mut axes, mut pending, mut seen) = (Axes::new(), vec![index], 0);
        // SAFETY: operands of live values are live.
        unsafe {
            while let Some(value) = pending.pop() {
                seen += 1;
                match ir::value_opcode(value) {
                    _ if seen > MOST_VALUES => return None,
                    Some(
                        LLVMOpcode::LLVMAdd
                        | LLVMOpcode::LLVMOr
                        | LLVMOpcode::LLVMZExt
                        | LLVMOpcode::LLVMSExt
                        | LLVMOpcode::LLVMTrunc,
                    ) => pending.extend(ir::operands(value)),
                    // The size of the block is a factor.
                    Some(LLVMOpcode::LLVMMul) => {
                        let of_thread = |value: &LLVMValueRef| !is_size(self.module, *value);
                        pending.extend(ir::operands(value).into_iter().filter(of_thread));
                    }
                    Some(LLVMOpcode::LLVMLoad) => {
                        axes.insert(axis(self.module, value)?);
                    }
                    _ => return None,
                }
            }
        }
        Some(axes)
    }
}

unsafe fn is_zero(value: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { LLVMIsConstant(value) != 0 && LLVMIsNull(value) != 0 }
}

/// The field of the thread context that a load reads.
unsafe fn field(module: LLVMModuleRef, load: LLVMValueRef) -> Option<usize> {
    // SAFETY: by contract.
    unsafe {
        if ir::value_opcode(load) != Some(LLVMOpcode::LLVMLoad) {
            return None;
        }
        match address::start_of(module, LLVMGetOperand(load, 0)) {
            (Start::Context, _, at) => usize::try_from(at?).ok(),
            _ => None,
        }
    }
}

/// The axis along which a load gives the thread's index.
unsafe fn axis(module: LLVMModuleRef, load: LLVMValueRef) -> Option<usize> {
    // SAFETY: by contract.
    let at = unsafe { field(module, load) }?.checked_sub(offset::TID)?;
    (at < 12).then_some(at / 4)
}

/// True for the number of threads of a block along x.
///
/// # Safety
/// Both are live.
pub unsafe fn is_width(module: LLVMModuleRef, value: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { field(module, value) == Some(offset::NTID) }
}

unsafe fn is_size(module: LLVMModuleRef, load: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    let at = unsafe { field(module, load) };
    at.and_then(|at| at.checked_sub(offset::NTID)).is_some_and(|at| at < 12)
}
