//! Access protocols: from the prepared IR of a kernel to what the prover reads,
//! [`gpurace_protocol::protocol::Protocol`].
//!
//! # Control flow
//! [`graph`] makes a tree of regions of each function: its body and its loops,
//! every one acyclic. [`conditions`] says when a node is executed, as an
//! expression, so that any reducible control flow becomes nested conditionals
//! without a copy of any block: early returns, `break`, `continue`,
//! short-circuit operators. [`emit`] writes the statements. A loop whose header
//! only asks for a further iteration is asked before each one; any other is
//! asked after each one whether its back edge is taken. Irreducible control
//! flow, and what is too large, is unknown as a whole.
//!
//! # Values
//! [`activation`] evaluates what addresses and conditions are made of, in one
//! walk over the blocks: integers in [`values`], pointers in [`pointers`], loop
//! variables in [`steps`], parts of structs in [`aggregates`], what local memory holds in [`contents`]. What expressions
//! cannot say is an opaque value, whose group comes from [`uniformity`]. A value of a loop that is used after it is
//! opaque, unless it does not vary in the loop, or the loop can be run ([`gpurace_protocol::last`]).
//!
//! # Calls
//! A function that was not inlined is evaluated at each call with its arguments;
//! recursive and unseen functions, calls through pointers and inline assembly are
//! unknown statements, by what they may touch and whether they may wait
//! ([`effects`]).
//!
//! # What errs on which side
//! Accesses may become more: the ways that end the launch do not count as ways
//! around what follows, and a condition that has grown too deep is opaque.
//! Synchronisation stays exact or opaque. A value that the program leaves
//! undefined on one way to a place is taken to be that of another way.

pub mod activation;
pub mod aggregates;
pub mod builder;
pub mod compact;
pub mod conditions;
pub mod contents;
pub mod effects;
pub mod emit;
pub mod frame;
pub mod graph;
pub mod locals;
pub mod natural_loops;
pub mod pointers;
pub mod roots;
pub mod steps;
pub mod uniformity;
pub mod values;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gpurace_protocol::last;
use gpurace_protocol::protocol::{Protocol, Space, Stmt, Unknown};
use llvm_sys::prelude::*;

use crate::ir;
use crate::sites::AccessSite;
use builder::Builder;
use effects::Facts;
use frame::Extraction;

/// Most instructions that are looked at for one kernel, those of called
/// functions counted at each call.
const MAX_INSTRUCTIONS: usize = 100_000;

/// The protocols of `kernels`, in their order. Sites are indices into `accesses`.
///
/// # Safety
/// `module` is live, normalised and without checks; the kernels and accesses
/// are its.
pub unsafe fn extract(
    module: LLVMModuleRef,
    kernels: &[LLVMValueRef],
    accesses: &[AccessSite],
) -> Vec<Protocol> {
    // SAFETY: by contract.
    unsafe {
        let facts = Facts::of(module, accesses);
        let bounds: HashMap<_, _> = ir::kernels(module).into_iter().collect();
        kernels
            .iter()
            .map(|&kernel| {
                let mut protocol = protocol(&facts, kernel);
                protocol.kernel = ir::name(kernel);
                // Symbols told the objects apart until here; people know their names.
                for object in &mut protocol.objects {
                    object.name = crate::describe::source_name(&object.name);
                }
                protocol.max_threads = bounds.get(&kernel).copied().unwrap_or(0);
                protocol
            })
            .collect()
    }
}

unsafe fn protocol(facts: &Facts<'_>, kernel: LLVMValueRef) -> Protocol {
    let extracted = catch_unwind(AssertUnwindSafe(|| {
        let mut x = Extraction {
            facts,
            b: Builder::default(),
            budget: MAX_INSTRUCTIONS,
            constants: HashMap::new(),
            locals: Vec::new(),
            active: Vec::new(),
            argument_names: HashMap::new(),
        };
        // SAFETY: by the caller's contract.
        unsafe {
            let mut frame = x.kernel(kernel)?;
            x.b.protocol.body = x.statements(&mut frame)?;
        }
        let mut protocol = last::settle(&x.b.protocol, None).unwrap_or(x.b.protocol);
        compact::compact(&mut protocol);
        Ok(protocol)
    }));
    let summary = facts.summary(kernel);
    // A mistake in here costs proofs, not the compilation.
    let why = match extracted {
        // No protocol says what other blocks of the cluster do to a block's shared
        // memory, nor what their common barrier orders.
        _ if summary.clusters => "blocks of a cluster that reach each other's shared memory".to_owned(),
        Ok(Ok(protocol)) => return protocol,
        Ok(Err(why)) => why,
        Err(_) => "an internal error".to_owned(),
    };
    let touches = summary.touches.then_some(Space::Generic);
    let body = vec![Stmt::Unknown(Unknown { why, touches, syncs: summary.syncs })];
    Protocol { body, ..Protocol::default() }
}
