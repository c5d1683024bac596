//! Which values of a kernel are one and the same for all threads of a block, and
//! whether all of them come to its barriers together: what the executor's loops over
//! threads need to know of a function that was lowered already.
//!
//! Forwards from "the same": a value differs where an operand does, where it comes
//! from memory or from a call, and where threads that took different branches meet.
//! A branch on a value that differs makes all blocks up to its immediate
//! postdominator, and the values that are chosen in them and there, different.
//! The prover's own analysis ([`crate::protocol`]) knows more, of the IR before.

use std::collections::{HashMap, HashSet};

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// The result for one function.
#[derive(Debug, Default)]
pub struct Uniform {
    varying: HashSet<LLVMValueRef>,
    /// Blocks that only some of the threads may execute.
    divergent: HashSet<LLVMBasicBlockRef>,
}

impl Uniform {
    /// Analyses a function; `varying` are parameters that differ.
    ///
    /// # Safety
    /// `function` is a live definition.
    pub unsafe fn of(function: LLVMValueRef, varying: &[LLVMValueRef]) -> Self {
        let mut result = Self { varying: varying.iter().copied().collect(), ..Self::default() };
        // SAFETY: by contract.
        unsafe {
            let flow = Flow::of(function);
            let instructions = ir::instructions(function);
            loop {
                let before = (result.varying.len(), result.divergent.len());
                for &i in &instructions {
                    if !result.varying.contains(&i) && result.differs(i) {
                        result.varying.insert(i);
                    }
                }
                for (at, &block) in flow.blocks.iter().enumerate() {
                    if flow.next[at].len() > 1
                        && result.varies(LLVMGetOperand(LLVMGetBasicBlockTerminator(block), 0))
                    {
                        result.diverge(&flow, at);
                    }
                }
                if before == (result.varying.len(), result.divergent.len()) {
                    return result;
                }
            }
        }
    }

    /// Whether threads may see different values.
    pub fn varies(&self, value: LLVMValueRef) -> bool {
        self.varying.contains(&value)
    }

    /// Whether only some threads may execute the block.
    pub fn is_divergent(&self, block: LLVMBasicBlockRef) -> bool {
        self.divergent.contains(&block)
    }

    unsafe fn differs(&self, i: LLVMValueRef) -> bool {
        // SAFETY: by contract.
        unsafe {
            let pure = match ir::opcode(i) {
                LLVMOpcode::LLVMCall => ir::callee(i).is_some_and(|f| {
                    let name = ir::name(f);
                    name.starts_with("llvm.") && ir::operands(i).len() > 1 && is_arithmetic(&name)
                }),
                LLVMOpcode::LLVMLoad
                | LLVMOpcode::LLVMAlloca
                | LLVMOpcode::LLVMAtomicRMW
                | LLVMOpcode::LLVMAtomicCmpXchg
                | LLVMOpcode::LLVMInvoke
                | LLVMOpcode::LLVMFreeze
                | LLVMOpcode::LLVMVAArg => false,
                _ => true,
            };
            !pure || ir::operands(i).into_iter().any(|o| self.varies(o))
        }
    }

    /// Threads part at the end of block `at`.
    fn diverge(&mut self, flow: &Flow, at: usize) {
        let meet = flow.meeting[at];
        let mut seen = HashSet::new();
        let mut pending = flow.next[at].clone();
        while let Some(b) = pending.pop() {
            if Some(b) == meet || !seen.insert(b) {
                continue;
            }
            pending.extend(&flow.next[b]);
        }
        for b in seen.iter().copied().chain(meet) {
            // SAFETY: the blocks are the live function's.
            let first = unsafe { ir::block_instructions(flow.blocks[b]) };
            // SAFETY: as above.
            self.varying.extend(first.take_while(|&i| unsafe { ir::opcode(i) } == LLVMOpcode::LLVMPHI));
        }
        self.divergent.extend(seen.into_iter().map(|b| flow.blocks[b]));
    }
}

fn is_arithmetic(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "min",
        "max",
        "abs",
        "fsh",
        "bswap",
        "ctpop",
        "ctlz",
        "cttz",
        "bitreverse",
        "sadd",
        "uadd",
        "ssub",
        "usub",
        "smul",
        "umul",
        "fma",
        "sqrt",
        "floor",
        "ceil",
    ];
    let plain = name["llvm.".len()..].trim_start_matches(['s', 'u']);
    NAMES.iter().any(|n| plain.starts_with(n) || name["llvm.".len()..].starts_with(n))
}

/// A function's control flow, and where its branches meet again.
struct Flow {
    blocks: Vec<LLVMBasicBlockRef>,
    next: Vec<Vec<usize>>,
    /// The immediate postdominator; `None` where that is the function's end.
    meeting: Vec<Option<usize>>,
}

impl Flow {
    unsafe fn of(function: LLVMValueRef) -> Self {
        // SAFETY: every block of a definition has a terminator.
        unsafe {
            let blocks: Vec<_> = ir::blocks(function).collect();
            let number: HashMap<_, _> = blocks.iter().enumerate().map(|(n, &b)| (b, n)).collect();
            let next: Vec<Vec<usize>> = blocks
                .iter()
                .map(|&b| {
                    let end = LLVMGetBasicBlockTerminator(b);
                    (0..LLVMGetNumSuccessors(end)).map(|i| number[&LLVMGetSuccessor(end, i)]).collect()
                })
                .collect();
            // Blocks that end the launch lead nowhere: nobody comes back from them.
            let lost: Vec<bool> = blocks
                .iter()
                .map(|&b| ir::opcode(LLVMGetBasicBlockTerminator(b)) == LLVMOpcode::LLVMUnreachable)
                .collect();
            Self { meeting: meetings(&next, &lost), blocks, next }
        }
    }
}

/// Immediate postdominators, from sets of postdominators: kernels are small.
fn meetings(next: &[Vec<usize>], lost: &[bool]) -> Vec<Option<usize>> {
    let n = next.len();
    let all: HashSet<usize> = (0..n).collect();
    let mut post: Vec<HashSet<usize>> = vec![all; n];
    let mut changed = true;
    while changed {
        changed = false;
        for b in (0..n).rev() {
            let mut of_next = next[b].iter().filter(|&&s| !lost[s]).map(|&s| &post[s]);
            let mut new = match of_next.next() {
                Some(first) => of_next.fold(first.clone(), |a, s| a.intersection(s).copied().collect()),
                None => HashSet::new(),
            };
            new.insert(b);
            changed |= new != post[b];
            post[b] = new;
        }
    }
    // The nearest one has all the others behind it. Blocks that never end have all.
    (0..n)
        .map(|b| {
            let behind = post[b].iter().copied().filter(|&p| p != b);
            let never_ends = n > 1 && post[b].len() == n && !next[b].is_empty() && b != 0;
            behind.max_by_key(|&p| post[p].len()).filter(|_| !never_ends)
        })
        .collect()
}
