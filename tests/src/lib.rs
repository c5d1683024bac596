//! The harness over `tests/programs`: annotated CUDA programs, each compiled
//! by `gclang`, run on the CPU executor and compared with what it says of itself.
//!
//! | module | what it knows |
//! |---|---|
//! | [`annotation`] | the comments of a program: how to build and run it, which races to expect |
//! | [`report`] | the JSON report as users are promised it, read by nothing of the product |
//! | [`compare`] | an expectation against a report: what is missing, what is too much |
//! | [`precompiled`] | precompiled CUDA headers, without which reading them would be most of the time |
//! | [`toolchain`] | where `gclang` is, how to compile and run with a time limit |
//! | [`case`] | one program at one revision and optimisation level, from source to verdict |
//!
//! The report's types are written down here once more, not taken from the
//! product, so that a change of the schema is seen by a test.

pub mod annotation;
pub mod case;
pub mod compare;
pub mod precompiled;
pub mod report;
pub mod toolchain;
