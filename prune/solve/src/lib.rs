//! The prover: reads access protocols, gives verdicts, with Z3. It knows no LLVM type, and its only
//! output beside verdicts are dumps of queries, which a caller can ask for.
//!
//! | module | what it knows |
//! |---|---|
//! | `prove` | the pairs of accesses of a kernel, and the verdict of each site |
//! | `pair` | questions about one thread or two, such as whether they race in a pair of accesses |
//! | `encode` | expressions as linear terms over the unknowns of two threads |
//! | `operators`, `division`, `bits`, `products` | integer operators as linear terms |
//! | `powers` | loop variables whose values are powers of two |
//! | `masks` | `&`, `\|` and `^` of wide numbers of which neither is known |
//! | `parities` | values whose bits are exclusive ors of other bits |
//! | `digits` | facts about the digits of a sum that mixes several radices |
//! | `linear` | linear terms and formulas |
//! | `smt` | queries as SMT-LIB text, limits, the solver |
//! | `alias` | which objects may share bytes |
//! | `steady` | values loaded from memory that the kernel does not change |
//! | `contents` | values loaded from memory that the runtime has looked at |
//! | `tickets` | values that atomic additions return, which are distinct |
//! | `counted` | ranges of tickets whose counter starts in the kernel |
//! | `handed` | values that one thread hands to its block through shared memory |
//! | `tiles` | the sets of lanes of two threads, as formulas |
//! | `values` | the constants that a halving or doubling loop variable takes |
//! | `candidates` | preconditions to try |
//! | `expected` | what a kernel seems to expect of launches, for warnings |
//! | `accepted` | launches that CUDA accepts and in which no access leaves its object |
//! | `library` | the three functions of the shared library |
//! | `meant` | which races rest on an argument that another value would avoid |
//! | `witness` | runs the two threads of a solution to confirm that they race |
//!
//! # Adding a proof rule
//! 1. Find the module whose subject the rule belongs to. A rule about an operator goes into
//!    `operators` or the module for that operator; a rule about barriers goes into `pair`; a new
//!    precondition goes into `candidates`. A rule adds facts that hold in every execution.
//! 2. In `tests/kernels/`, add a small kernel that needs the rule, and assert with `proved` that
//!    its sites are proved.
//! 3. Beside it, add a neighbour: the same kernel with one small change that makes it race. Assert
//!    with `not_proved` that it is not proved. This test guards the rule's soundness.
//!
//! The meaning of a protocol, and conditions with their evaluation, live in `gpurace-protocol`,
//! which needs no solver.

mod accepted;
mod alias;
mod bits;
mod candidates;
mod contents;
mod counted;
mod digits;
mod division;
mod encode;
mod expected;
mod handed;
mod library;
mod linear;
mod masks;
mod meant;
mod operators;
mod pair;
mod parities;
mod powers;
mod products;
mod prove;
mod smt;
mod steady;
mod tickets;
mod tiles;
mod values;
mod witness;

use std::path::PathBuf;

use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::Protocol;

pub use prove::Outcome;
pub use smt::{Limits, QueryStats};

/// Limits and dumps of a proof.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Limits on the solver's work.
    pub limits: Limits,
    /// The folder that queries are written to, if any.
    pub dump: Option<PathBuf>,
}

/// Returns verdicts for all launches of a kernel. Some hold only for launches that fulfil
/// conditions.
pub fn solve(protocol: &Protocol, options: &Options) -> Outcome {
    let mut outcome = prove::prove(protocol, None, options);
    meant::keep_meant(protocol, &mut outcome.verdicts);
    outcome
}

/// Returns verdicts that hold for one launch.
pub fn solve_with(protocol: &Protocol, launch: &Launch, options: &Options) -> Outcome {
    prove::prove(protocol, Some(launch), options)
}
