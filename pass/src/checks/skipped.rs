//! Barriers that threads skip by ending, where the source has the barrier under a condition: `if (i < n) { ...
//! __syncthreads(); ... }` at the end of a kernel. CUDA C++ wants all threads of a block at such a barrier
//! ("Synchronization Functions"); hardware lets the others pass. An early `return` before a barrier is another matter:
//! many correct programs have it.
//!
//! Compiled code of the two is alike. So this module reads the code as clang wrote it, with the scopes of its debug
//! information. A barrier counts if it stands in the statement of each branch by which threads may end before it.
//! Whether threads do skip it, a launch shows ([`UNDER_CONDITION`]). Barriers in other functions than kernels, and
//! those of separately compiled code, which has no scopes, do not count.
//!
//! [`UNDER_CONDITION`]: gpurace_abi::meta::UNDER_CONDITION

use std::collections::HashSet;

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

use crate::analysis::control_flow::ControlFlow;
use crate::ir;
use crate::ir::position;

/// The barriers of a module that threads may skip, by kernel, line and column.
pub type Skippable = HashSet<(String, u32, u32)>;

/// How the names of intrinsics begin that read a register, and those of the registers that all threads of a block read
/// alike.
const REGISTER: &str = "llvm.nvvm.read.ptx.sreg.";
const OF_BLOCK: [&str; 3] = ["ctaid.", "nctaid.", "ntid."];

/// Returns the barriers of the whole block that threads may skip by ending.
///
/// # Safety
/// `module` is live, and no pass has changed it.
pub unsafe fn barriers(module: LLVMModuleRef) -> Skippable {
    // SAFETY: by contract.
    unsafe { ir::kernels(module).into_iter().flat_map(|(kernel, _)| of_kernel(kernel)).collect() }
}

/// Returns the barriers of a kernel that threads may skip, by name of the kernel, line and column.
unsafe fn of_kernel(kernel: LLVMValueRef) -> Vec<(String, u32, u32)> {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(kernel);
        let first_barrier =
            |&block: &LLVMBasicBlockRef| ir::block_instructions(block).find(|&call| is_barrier(call));
        let barriers: Vec<Option<LLVMValueRef>> = flow.blocks.iter().map(first_barrier).collect();
        let ways = Ways { flow: &flow, meets: barriers.iter().map(Option::is_some).collect() };
        let branch = |block: usize| LLVMGetBasicBlockTerminator(flow.blocks[block]);
        let leaves: Vec<usize> = (0..flow.blocks.len())
            .filter(|&block| ways.may_end(block) && !is_shared(branch(block)))
            .collect();
        let is_skippable = |block: usize, barrier| {
            let is_under = |from: usize| {
                ir::opcode(branch(from)) == LLVMOpcode::LLVMBr
                    && position::is_in_statement(barrier, branch(from))
            };
            // Of several barriers under one condition, the first tells.
            leaves.iter().any(|&from| ways.leads(from, block, true))
                && leaves.iter().filter(|&&from| ways.leads(from, block, false)).all(|&from| is_under(from))
        };
        let barriers = (0..).zip(barriers).filter_map(|(block, barrier)| Some((block, barrier?)));
        let skippable = barriers.filter(|&(block, barrier)| is_skippable(block, barrier));
        skippable
            .map(|(_, barrier)| {
                let at = LLVMInstructionGetDebugLoc(barrier);
                (ir::name(kernel), LLVMDILocationGetLine(at), LLVMDILocationGetColumn(at))
            })
            .collect()
    }
}

/// True for a call of a barrier of the block, or of a function that does little else.
unsafe fn is_barrier(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        if ir::opcode(instruction) != LLVMOpcode::LLVMCall {
            return false;
        }
        let Some(callee) = ir::callee(instruction) else { return false };
        ir::name(callee).starts_with("llvm.nvvm.barrier.cta.")
            || one_block(callee)
                .is_some_and(|block| ir::block_instructions(block).any(|call| is_barrier(call)))
    }
}

/// The basic block of a function that has one.
unsafe fn one_block(function: LLVMValueRef) -> Option<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe { (LLVMCountBasicBlocks(function) == 1).then(|| LLVMGetFirstBasicBlock(function)) }
}

/// True if all threads of a block take one way at a branch.
unsafe fn is_shared(branch: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::opcode(branch) == LLVMOpcode::LLVMBr
            && LLVMIsConditional(branch) != 0
            && is_alike(LLVMGetCondition(branch))
    }
}

/// True if all threads of a block compute the same value: of arguments, of the block's place and size, and of variables
/// that are set once.
unsafe fn is_alike(value: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        if LLVMIsAInstruction(value).is_null() {
            return LLVMIsConstant(value) != 0 || !LLVMIsAArgument(value).is_null();
        }
        match ir::opcode(value) {
            LLVMOpcode::LLVMLoad => {
                let variable = LLVMGetOperand(value, 0);
                let is_store = |user: &LLVMValueRef| ir::opcode(*user) != LLVMOpcode::LLVMLoad;
                let is_variable = ir::value_opcode(variable) == Some(LLVMOpcode::LLVMAlloca);
                let is_lifetime = |user: &LLVMValueRef| {
                    ir::callee(*user).is_some_and(|callee| ir::name(callee).starts_with("llvm.lifetime."))
                };
                let stores =
                    ir::users(variable).into_iter().filter(|user| is_store(user) && !is_lifetime(user));
                let mut stores = stores.take(2);
                let once = stores.next().filter(|_| is_variable && stores.next().is_none());
                // Its address may go elsewhere.
                let once = once.filter(|&store| {
                    ir::opcode(store) == LLVMOpcode::LLVMStore && LLVMGetOperand(store, 1) == variable
                });
                once.is_some_and(|store| is_alike(LLVMGetOperand(store, 0)))
            }
            LLVMOpcode::LLVMCall => {
                let Some(callee) = ir::callee(value) else { return false };
                let name = ir::name(callee);
                let register = name.strip_prefix(REGISTER);
                register
                    .is_some_and(|register| OF_BLOCK.iter().any(|of_block| register.starts_with(of_block)))
                    || one_block(callee).is_some_and(|block| {
                        let end = LLVMGetBasicBlockTerminator(block);
                        ir::params(callee).is_empty()
                            && ir::opcode(end) == LLVMOpcode::LLVMRet
                            && ir::operands(end).into_iter().all(|result| is_alike(result))
                    })
            }
            LLVMOpcode::LLVMPHI
            | LLVMOpcode::LLVMAlloca
            | LLVMOpcode::LLVMAtomicRMW
            | LLVMOpcode::LLVMAtomicCmpXchg => false,
            _ => ir::operands(value).into_iter().all(|operand| is_alike(operand)),
        }
    }
}

/// Ways through a kernel.
struct Ways<'a> {
    flow: &'a ControlFlow,
    /// Whether each basic block has a barrier.
    meets: Vec<bool>,
}

impl Ways<'_> {
    /// True if one way from a basic block leads to a barrier, and another one to the kernel's end without any.
    unsafe fn may_end(&self, block: usize) -> bool {
        let next = self.flow.successors[block].iter();
        let reached: Vec<_> = next.map(|&next| self.reached(next, false)).collect();
        let meets = |ways: &HashSet<usize>| ways.iter().any(|&at| self.meets[at]);
        // SAFETY: the flow's function is live.
        let returns = |&at: &usize| unsafe {
            ir::opcode(LLVMGetBasicBlockTerminator(self.flow.blocks[at])) == LLVMOpcode::LLVMRet
        };
        reached.iter().any(meets) && reached.iter().any(|ways| !meets(ways) && ways.iter().any(returns))
    }

    /// True if a way leads from the end of a basic block to the start of another one. With `directly`, no barrier is on
    /// it.
    fn leads(&self, from: usize, to: usize, directly: bool) -> bool {
        self.flow.successors[from].iter().any(|&next| self.reached(next, directly).contains(&to))
    }

    /// Returns a basic block and those that it reaches. With `directly`, a basic block with a barrier leads nowhere.
    fn reached(&self, from: usize, directly: bool) -> HashSet<usize> {
        let mut reached = HashSet::from([from]);
        let mut pending = vec![from];
        while let Some(block) = pending.pop() {
            if !(directly && self.meets[block]) {
                let next = self.flow.successors[block].iter().copied();
                pending.extend(next.filter(|&next| reached.insert(next)));
            }
        }
        reached
    }
}
