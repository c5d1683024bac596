//! Access protocols: the accesses of a kernel's threads, with their conditions and the barriers
//! between them. The pass writes a protocol for each kernel. The solver turns it into
//! [`verdict::Verdicts`]. The runtime tests the conditions of verdicts at each launch. This crate
//! contains no LLVM type and no solver.
//!
//! | module | what it defines |
//! |---|---|
//! | [`expr`] | expressions over machine integers: thread and block ids, parameters, loop variables, opaque values |
//! | [`protocol`] | the structured program: accesses, synchronisation, loops, conditionals; objects and parameters |
//! | [`launch`] | one concrete launch |
//! | [`arguments`] | what a launch's threads read of its arguments at computed places |
//! | [`lanes`] | the sets of lanes that wait for each other at a sync of some lanes |
//! | [`named`] | the sets of warps that wait for each other at a named barrier |
//! | [`group`] | groups of threads, and the barriers that order them |
//! | [`interval`] | barrier intervals: when two accesses have no barrier between them |
//! | [`early_exits`] | threads that end before a barrier of others |
//! | [`further_barrier`] | whether a further barrier would order accesses of a launch |
//! | [`common`] | what launches of a kernel have in common, and the kernel's protocol for all launches that have it |
//! | [`constants`] | protocols with constants in place of known values |
//! | [`last`] | values that loops leave |
//! | [`contents`] | what is known of values that a launch loads from memory that it does not change |
//! | [`loaded`] | words of memory that a launch does not change, as arguments of it |
//! | [`bounds`] | where accesses lie within the memory of their object |
//! | [`condition`] | conditions on a launch, which proofs need |
//! | [`uniform`] | values that all threads of a launch share |
//! | [`touched`] | the byte ranges that a launch may touch |
//! | [`repeat`] | the accesses of a launch, for protocols that leave nothing open |
//! | [`verdict`] | the solver's verdict for each site |
//!
//! Not in this crate: reading LLVM IR (`pass`), the solver (`gpurace-solve`), files.

pub mod arguments;
pub mod bounds;
#[cfg(feature = "client")]
pub mod client;
pub mod common;
pub mod condition;
pub mod constants;
pub mod contents;
pub mod early_exits;
pub mod expr;
pub mod fold;
pub mod further_barrier;
pub mod group;
pub mod in_flight;
pub mod interval;
pub mod lanes;
pub mod last;
pub mod launch;
pub mod loaded;
pub mod mbarrier;
pub mod named;
pub mod place;
pub mod protocol;
pub mod race;
pub mod range;
pub mod repeat;
pub mod run;
pub mod show;
pub mod touched;
pub mod uniform;
pub mod validate;
pub mod verdict;
pub mod wire;
