//! The prover: access protocols in, verdicts out, with Z3. No LLVM type and no
//! I/O in here but the dumps that are asked for.
//!
//! | module | what it knows |
//! |---|---|
//! | [`prove`] | which pairs of accesses there are, what becomes of each site |
//! | [`pair`] | the formula of one pair: two threads, no barrier in between, a common byte |
//! | [`encode`] | expressions as linear terms over the unknowns of two threads |
//! | `arith` | quotients, bits, shifts, products |
//! | `digits` | what an equation in several radices says of its digits |
//! | [`linear`] | linear terms and formulas |
//! | [`smt`] | queries as SMT-LIB text, limits, the solver |
//! | `alias` | which objects may share bytes |
//! | `steady` | values loaded from memory that the kernel does not change |
//! | `values` | the constants that halving and doubling loops run through |
//! | `digits` | what an equation in several radices says of its digits |
//! | [`candidates`] | preconditions to try |
//! | [`library`] | the shared library's three functions |
//! | [`witness`] | whether a solution is a race that threads run into |
//!
//! What does *not* live here: what a protocol means, conditions and their
//! evaluation (`gpurace-protocol`, which needs no solver).

mod alias;
mod arith;
pub mod candidates;
mod digits;
pub mod encode;
pub mod library;
pub mod linear;
pub mod pair;
pub mod prove;
pub mod smt;
mod steady;
mod values;
pub mod witness;

use std::path::PathBuf;

use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::Protocol;

pub use prove::Outcome;
pub use smt::Limits;

/// How to go about it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How long the solver may work.
    pub limits: Limits,
    /// Writes each query into this folder.
    pub dump: Option<PathBuf>,
}

/// What can be proved of a kernel for all launches, or for those that fulfil
/// conditions.
pub fn solve(protocol: &Protocol, options: &Options) -> Outcome {
    prove::prove(protocol, None, options)
}

/// What can be proved of one launch.
pub fn solve_with(protocol: &Protocol, launch: &Launch, options: &Options) -> Outcome {
    prove::prove(protocol, Some(launch), options)
}
