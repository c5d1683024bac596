//! What the program has registered and allocated.
//!
//! | module | what it knows |
//! |---|---|
//! | [`modules`] | registered device code: kernels and variables |
//! | [`allocations`] | every live allocation, by address |
//! | [`arrays`] | the live CUDA arrays |
//! | [`managed`] | which of that is managed memory |
//! | [`host_lines`] | the source lines of the host program's calls |

pub mod allocations;
pub mod arrays;
pub mod host_lines;
pub mod managed;
pub mod modules;
