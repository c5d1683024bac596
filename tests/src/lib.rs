//! The harness of the test suites. It compiles the annotated CUDA programs in `tests/programs` with
//! `gclang`, runs them on the CPU executor and compares the reports with the annotations.
//! `tests/README.md` lists the suites and their claims.
//!
//! | module | what it knows |
//! |---|---|
//! | [`annotation`] | the comments of a program: how it is built and run, and which races are expected |
//! | [`report`] | the JSON report as the documentation promises it |
//! | [`compare`] | the differences between the expected races and a report |
//! | [`precompiled`] | precompiled CUDA headers, which save most of the compile time |
//! | [`toolchain`] | where `gclang` is, and how to compile and run with a time limit |
//! | [`diff`] | what an offered fix does to the source and to the places of races |
//! | [`case`] | one program at one revision and optimisation level, from source to verdict |
//!
//! The types of the report are defined here a second time. The tests do not use the product's own types,
//! because a change of the schema must fail a test.

pub mod annotation;
pub mod case;
pub mod compare;
pub mod diff;
pub mod precompiled;
pub mod report;
pub mod toolchain;
