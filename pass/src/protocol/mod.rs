//! Access protocols: turns the prepared IR of a kernel into the protocol that the prover reads,
//! [`gpurace_protocol::protocol::Protocol`].
//!
//! # Control flow
//! [`regions`](crate::analysis::regions) makes a tree of regions of each function: its body and its
//! loops, each without cycles. [`conditions`] gives the condition under which a node is executed, as an
//! expression. So any reducible control flow becomes nested conditionals without a copy of a basic
//! block: early returns, `break`, `continue`, short-circuit operators. [`emit`] writes the statements. If the
//! header of a loop only tests the loop's condition, the protocol's loop tests it before each
//! iteration. Any other loop tests after each iteration whether its back edge is taken. A function
//! with irreducible control flow, or one that is too large, is unknown as a whole.
//!
//! # Values
//! [`activation`] evaluates the values that addresses and conditions depend on, in one walk over the
//! basic blocks. [`values`] does integers, with [`arithmetic`] and [`fields`]; [`pointers`] does pointers; [`phis`]
//! joins the values of several ways; [`steps`] does loop variables, and [`turns`] those that change
//! places; [`decided`] does comparisons of loaded floating-point numbers; [`loads`] does memory with
//! known contents, which [`contents`] finds for local memory. A value that no expression describes is opaque;
//! [`uniform`](crate::analysis::uniform) finds the group of threads for which it is the same. A value of
//! a loop that is used after the loop is opaque, unless it does not vary in the loop, the loop counts by 1, or the
//! loop can be run ([`gpurace_protocol::last`]).
//!
//! # Mbarriers
//! [`mbarriers`] finds those at which all threads of a block meet, and [`copies`] the barriers over which asynchronous
//! copies are in flight.
//!
//! # Calls
//! A function that was not inlined is evaluated at each call, with its arguments. Recursive and
//! unseen functions, calls through pointers and inline assembly become unknown statements. These say
//! which memory the call may access, and whether it may wait ([`effects`]).
//!
//! # Where protocols are inexact
//! A protocol may have more accesses than the kernel, for two reasons. A way that ends the launch does
//! not count as a way around the code that follows. A condition that is too deep becomes opaque.
//! Synchronisation is exact or opaque. If the program leaves a value undefined on one way, the value
//! takes that of another way.

pub mod activation;
pub mod arithmetic;
pub mod builder;
pub mod compact;
pub mod conditions;
pub mod contents;
pub mod copies;
pub mod decided;
pub mod effects;
pub mod emit;
mod fields;
pub mod frame;
pub mod loads;
pub mod mbarriers;
pub mod phases;
mod phis;
pub mod pointers;
mod stages;
pub mod steps;
pub mod turns;
pub mod values;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gpurace_protocol::last;
use gpurace_protocol::protocol::{Protocol, Space, Stmt, Unknown};
use llvm_sys::prelude::*;

use crate::checks::sites::AccessSite;
use crate::ir;
use crate::ir::structs::Structs;
use builder::Builder;
use effects::Facts;
use frame::Extraction;

/// The largest number of instructions that are evaluated for one kernel. Those of a called function
/// count at each call.
const MAX_INSTRUCTIONS: usize = 100_000;

/// Returns the protocols of `kernels`, in their order. Sites are indices into `accesses`. `structs` give names to
/// fields of arguments and of variables in constant memory.
///
/// # Safety
/// `module` is live, normalised and without checks; the kernels and accesses
/// are its.
pub unsafe fn extract(
    module: LLVMModuleRef,
    kernels: &[LLVMValueRef],
    accesses: &[AccessSite],
    structs: &Structs,
) -> Vec<Protocol> {
    // SAFETY: by contract.
    unsafe {
        let facts = Facts::of(module, accesses);
        let bounds: HashMap<_, _> = ir::kernels(module).into_iter().collect();
        kernels
            .iter()
            .map(|&kernel| {
                let name = ir::name(kernel);
                let mut protocol = protocol(&facts, kernel, structs);
                protocol.kernel = name;
                // Symbols keep objects apart until here. Users know the names of the source.
                for object in &mut protocol.objects {
                    object.name = crate::ir::position::source_name(&object.name);
                }
                protocol.max_threads = bounds.get(&kernel).copied().unwrap_or(0);
                protocol
            })
            .collect()
    }
}

unsafe fn protocol(facts: &Facts<'_>, kernel: LLVMValueRef, structs: &Structs) -> Protocol {
    let extracted = catch_unwind(AssertUnwindSafe(|| {
        let mut x = Extraction {
            facts,
            structs,
            b: Builder::default(),
            budget: MAX_INSTRUCTIONS,
            constants: HashMap::new(),
            computed: HashMap::new(),
            locals: Vec::new(),
            active: Vec::new(),
            parameters: HashMap::new(),
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
    // A bug in the extraction costs proofs, not the compilation.
    let why = match extracted {
        // A protocol describes neither accesses of other blocks of the cluster to a block's shared
        // memory nor the order that the cluster's barrier makes.
        _ if summary.clusters => "blocks of a cluster that reach each other's shared memory".to_owned(),
        Ok(Ok(protocol)) => return protocol,
        Ok(Err(why)) => why,
        Err(_) => "an internal error".to_owned(),
    };
    let touches = summary.touches.then_some(Space::Generic);
    let body = vec![Stmt::Unknown(Unknown { why, touches, syncs: summary.syncs })];
    Protocol { body, ..Protocol::default() }
}
