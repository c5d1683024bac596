//! Access protocols: what each thread of a kernel touches, under which
//! conditions, between which barriers. The pass writes one per kernel, the
//! solver turns it into [`verdict::Verdicts`], the runtime tests their
//! conditions at each launch. No LLVM type and no solver in here.
//!
//! | module | what it defines |
//! |---|---|
//! | [`expr`] | expressions over machine integers: thread and block ids, parameters, loop variables, opaque values |
//! | [`protocol`] | the structured program: accesses, synchronisation, loops, conditionals; objects and parameters |
//! | [`launch`] | one concrete launch |
//! | [`last`] | what loops leave behind |
//! | [`condition`] | what a launch must fulfil for a proof to hold |
//! | [`touched`] | which memory a launch may touch |
//! | [`repeat`] | what a launch touched, where the protocol says exactly |
//! | [`verdict`] | what the solver says of each site
//!
//! What does *not* live here: reading LLVM IR (`pass`), the solver
//! (`gpurace-solve`), files.

#[cfg(feature = "client")]
pub mod client;
pub mod condition;
pub mod expr;
pub mod fold;
pub mod interval;
pub mod last;
pub mod launch;
pub mod place;
pub mod protocol;
pub mod race;
pub mod range;
pub mod repeat;
pub mod run;
pub mod show;
pub mod touched;
pub mod validate;
pub mod verdict;
pub mod wire;
