//! The two backends.
//!
//! | module | what it knows |
//! |---|---|
//! | [`executor`] | the CPU executor: work is over when the call that submits it returns |
//! | `divergences` | divergences, as the report shows them |
//! | `trials` | runs of a launch under further schedules, in forked children |
//! | [`claims`] | the device that the executor claims to be |
//! | [`arena`] | the executor's memory |
//! | [`gpu`] | an NVIDIA GPU, by way of gpurace-cuda |
//! | [`choice`] | which of the two a program gets |

pub mod arena;
pub mod choice;
pub mod claims;
mod divergences;
pub mod executor;
pub mod gpu;
mod trials;
