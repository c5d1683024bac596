//! Reads by one thread for all: what decides whether threads come to a barrier may be read from memory, such as the
//! number of a loop's iterations. Where all threads of the block read one address between two barriers, and nothing
//! but barriers orders them, they read one value unless the kernel has a race. So the first thread's value serves for
//! all of them. The threads then meet at each barrier, also where the value changes because of a race: each read keeps
//! its check, which finds that race. The first thread reads anew after each barrier.
//!
//! | a read | then |
//! |---|---|
//! | from an address that all threads share, at most once between two barriers | the first thread's value serves for all |
//! | from an address that may differ | each thread has its own value |
//! | in a loop without a barrier | the same: the threads would share the value of another iteration |
//! | atomic or volatile | the same: other threads may write meanwhile |

use std::collections::{HashMap, HashSet};
use std::mem::offset_of;

use gpurace_abi::batch::{FrameCommon, SHARED_VALUES};
use gpurace_protocol::protocol::Uniform;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMIntPredicate, LLVMOpcode};

use super::Cutter;
use crate::analysis::address::{self, Start};
use crate::analysis::uniform::BlockUniform;
use crate::blocks::apart;
use crate::blocks::entries::Checks;
use crate::blocks::number::{from_number, is_number, to_number};
use crate::ir;

/// Most such reads of a kernel.
const MOST_READS: usize = 6;

/// How many of the values that threads share are kept for one read: its value, and whether a thread has read it.
const PLACES: usize = 2;

/// Values that serve for all threads of a block, each with the address that it was read from.
pub type ReadOnce = HashMap<LLVMValueRef, LLVMValueRef>;

/// True if nothing but barriers orders the threads of a function.
///
/// # Safety
/// It is live.
pub(super) unsafe fn is_for(function: LLVMValueRef, checks: Checks) -> bool {
    // SAFETY: by contract.
    unsafe {
        let orders = |i: LLVMValueRef| match ir::opcode(i) {
            LLVMOpcode::LLVMFence | LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => true,
            LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore => {
                !matches!(LLVMGetOrdering(i), LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic)
            }
            _ => apart::may_order(i),
        };
        match checks {
            Checks::InRows => true,
            Checks::None => !ir::instructions(function).into_iter().any(orders),
            Checks::Kept | Checks::InRowsBetweenBarriers => false,
        }
    }
}

/// Finds the reads that decide which threads come where: those from which the conditions are computed by which threads
/// part. Each is at most once between two barriers.
///
/// # Safety
/// `module` is live, and the function, which is its, has not changed since the analysis.
pub(super) unsafe fn candidates(
    module: LLVMModuleRef,
    barriers: &HashSet<LLVMBasicBlockRef>,
    function: LLVMValueRef,
    uniform: &BlockUniform,
) -> ReadOnce {
    // SAFETY: by contract.
    unsafe {
        let mut pending: Vec<_> = ir::blocks(function)
            .filter(|&block| uniform.parts(block))
            .flat_map(|block| ir::operands(LLVMGetBasicBlockTerminator(block)))
            .collect();
        let (mut seen, mut found) = (HashSet::new(), ReadOnce::new());
        while let Some(value) = pending.pop() {
            if LLVMIsAInstruction(value).is_null() || !seen.insert(value) {
                continue;
            }
            if is_plain_read(module, value) && is_once(value, barriers) {
                found.insert(value, LLVMGetOperand(value, 0));
            }
            pending.extend(ir::operands(value));
        }
        found
    }
}

/// True for a read of the program's memory that is neither atomic nor volatile.
unsafe fn is_plain_read(module: LLVMModuleRef, value: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::opcode(value) == LLVMOpcode::LLVMLoad
            && ir::is_plain(value)
            && is_number(LLVMTypeOf(value))
            && !matches!(address::start_of(module, LLVMGetOperand(value, 0)).0, Start::Context)
    }
}

/// True if each way from an instruction back to itself passes a barrier.
unsafe fn is_once(value: LLVMValueRef, barriers: &HashSet<LLVMBasicBlockRef>) -> bool {
    // SAFETY: by contract.
    unsafe {
        let own = LLVMGetInstructionParent(value);
        let (mut seen, mut pending) = (HashSet::new(), vec![own]);
        while let Some(block) = pending.pop() {
            if barriers.contains(&block) {
                continue;
            }
            for next in ir::successors(block) {
                if next == own {
                    return false;
                }
                if seen.insert(next) {
                    pending.push(next);
                }
            }
        }
        true
    }
}

impl Cutter {
    /// Lets the first thread's value serve for all at the reads among these that `uniform` shows to be of one address
    /// and made by all threads. Returns the values. `None` if they are too many.
    pub(super) unsafe fn read_once(&mut self, among: &ReadOnce, uniform: &BlockUniform) -> Option<ReadOnce> {
        // SAFETY: by contract.
        unsafe {
            let reads: Vec<_> = ir::instructions(self.function)
                .into_iter()
                .filter(|read| among.contains_key(read) && uniform.group(*read) >= Uniform::Block)
                .collect();
            let module = self.module;
            if reads.len() > MOST_READS || reads.iter().any(|&i| ir::alloc_size(module, LLVMTypeOf(i)) > 8) {
                return None;
            }
            let (b, none) = (self.builder, c"".as_ptr());
            let long = LLVMInt64TypeInContext(self.context);
            let [zero, one] = [0, 1].map(|n| LLVMConstInt(long, n, 0));
            let mut values = ReadOnce::new();
            for read in reads {
                let first = SHARED_VALUES - PLACES * (self.read_once + 1);
                self.read_once += 1;
                let [is_read, value] =
                    [0, 1].map(|i| self.common_place(offset_of!(FrameCommon, shared) + 8 * (first + i)));
                let users = ir::users(read);
                LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(read));
                let own = to_number(b, self.context, read);
                let before = LLVMBuildLoad2(b, long, is_read, none);
                let is_first = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntEQ, before, zero, none);
                let of_all = LLVMBuildSelect(b, is_first, own, LLVMBuildLoad2(b, long, value, none), none);
                LLVMBuildStore(b, of_all, value);
                LLVMBuildStore(b, one, is_read);
                let of_all = from_number(b, self.context, of_all, LLVMTypeOf(read));
                for user in users {
                    for i in 0..LLVMGetNumOperands(user) as u32 {
                        if LLVMGetOperand(user, i) == read {
                            LLVMSetOperand(user, i, of_all);
                        }
                    }
                }
                values.insert(of_all, LLVMGetOperand(read, 0));
            }
            Some(values)
        }
    }
}

/// The places among the values that threads share which say whether one of so many reads was made since the last
/// barrier.
pub fn marks(reads: usize) -> impl Iterator<Item = usize> {
    (1..=reads).map(|n| SHARED_VALUES - PLACES * n)
}

/// How many values threads may share besides so many reads.
pub(super) fn other_values(reads: usize) -> usize {
    SHARED_VALUES - PLACES * reads
}
