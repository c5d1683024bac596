//! The slots of [`ThreadCtx::executor`](gpurace_abi::context::ThreadCtx::executor).

/// Calls of `__gpurace_yield` left until the next switch.
pub(crate) const COUNTDOWN: usize = 0;
/// The block's checks, or null in a launch that is not checked.
pub(crate) const CHECKS: usize = 1;
/// First address of the stacks of the block's threads: their local memory.
pub(crate) const LOCAL_START: usize = 2;
/// Size of this memory in bytes.
pub(crate) const LOCAL_BYTES: usize = 3;
