//! Unrolls loops of few iterations before a kernel is cut, so that each access of an iteration is a row.
//!
//! LLVM's own limit counts instructions, and a check is several. So a loop is also unrolled if its number of iterations
//! is constant and the function has at most [`MOST_CHECKS`] checks afterwards. Such are the loops over elements that a
//! thread keeps in registers. Inner loops come first.

use llvm_sys::prelude::*;

use super::rows;
use crate::analysis::control_flow::ControlFlow;
use crate::analysis::counted;
use crate::analysis::loops::Loops;
use crate::ir;
use crate::ir::passes::run_passes_on;
use crate::ir::unroll;

/// The most checks of a function for which a loop is unrolled.
const MOST_CHECKS: usize = 64;

/// The passes, in `opt -passes=` form. The elements of local arrays become values, too. A part of a loop is not
/// unrolled: its accesses would be rows beside those that stay calls.
const PASSES: &str = "loop-simplify,lcssa,loop(loop-rotate),\
    loop-unroll<O2;no-partial;no-peeling;no-profile-peeling;no-runtime;no-upperbound>,sroa";

/// Unrolls the loops of a function.
///
/// # Safety
/// It is a live definition.
pub unsafe fn unroll_loops(function: LLVMValueRef) {
    // SAFETY: by contract.
    unsafe {
        if mark(function) {
            unroll::unroll_marked(function, PASSES);
        } else {
            // A failure costs only speed.
            let _ = run_passes_on(function, PASSES);
        }
    }
}

/// Marks the loops that LLVM shall unroll whatever it costs. True if there is one.
unsafe fn mark(function: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(function);
        let loops = Loops::of(&flow.successors);
        let mut checks: Vec<usize> = flow.blocks.iter().map(|&block| checks_in(block)).collect();
        let mut any = false;
        // `loops` has each loop before those in it.
        for of in loops.loops.iter().rev() {
            let inside: usize = of.nodes.iter().map(|&node| checks[node]).sum();
            let all: usize = checks.iter().sum();
            let Some(times) = counted::iterations(&flow, of, MOST_CHECKS).filter(|_| inside > 0) else {
                continue;
            };
            if all + (times - 1) * inside > MOST_CHECKS {
                continue;
            }
            of.nodes.iter().for_each(|&node| checks[node] *= times);
            if let Some(latch) = counted::latch(&flow, of) {
                unroll::mark(flow.blocks[latch]);
                any = true;
            }
        }
        any
    }
}

/// How many checks of a basic block may be in rows.
unsafe fn checks_in(block: LLVMBasicBlockRef) -> usize {
    // SAFETY: by contract.
    unsafe { ir::block_instructions(block).filter(|&i| rows::batched_access(i).is_some()).count() }
}
