//! Small concurrent programs (*litmus programs*), and which of them have a race by the axioms of the PTX
//! memory model (PTX ISA 9.1, chapter "Memory Consistency Model"). This crate uses no code of the
//! checker and of the executor, so that it can judge them.
//!
//! | module | what it has |
//! |---|---|
//! | [`program`] | programs |
//! | [`shorthand`] | short ways to write them |
//! | [`walk`] | what a thread does, step by step |
//! | [`execution`] | one execution, the orders of the model in it, and its races |
//! | [`axioms`] | whether the model allows an execution |
//! | [`candidates`] | all executions that the model allows |
//! | [`interleavings`] | the executions in which one thread acts at a time |
//! | [`judge`] | the verdicts on a program |
//! | [`generate`] | random programs: correct idioms with something weakened |
//! | [`shrink`] | a smaller program that still shows something |
//! | [`cuda`] | a program as a CUDA kernel |
//!
//! All accesses are to aligned words of four bytes, and programs have no loops. So programs with accesses
//! of several sizes, spinning, asynchronous copies, clusters and named barriers are not covered here.

pub mod axioms;
pub mod candidates;
pub mod cuda;
pub mod execution;
pub mod generate;
pub mod interleavings;
pub mod judge;
pub mod program;
pub mod shorthand;
pub mod shrink;
pub mod walk;
mod weaken;
