//! Kernels that run a whole block at a time, which is faster than a stack for each thread.
//!
//! | module | what it does |
//! |---|---|
//! | [`entries`] | adds to each kernel a block entry, which runs all threads from one barrier to the next |
//! | [`segments`] | cuts a kernel at its barriers, collectives and some loops |
//! | [`unrolled`] | unrolls loops of few iterations |
//! | [`cut_loops`] | chooses the loops that are cut |
//! | [`rows`], [`affine_rows`], [`gathered`] | three kinds of batches, in which a block's checks are handed over |
//! | [`apart`] | the accesses that are in none of them, since fences or atomics order their thread |
//! | [`batch`], [`number`] | the constant table of batches; values as 64-bit numbers |

mod affine_rows;
mod apart;
mod batch;
mod cut_loops;
pub mod entries;
mod gathered;
mod number;
pub mod rows;
pub mod segments;
mod unrolled;
