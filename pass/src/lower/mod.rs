//! From device IR to code for the host.
//!
//! Two steps stand on either side of the instrumentation:
//!
//! * [`normalize`], before it: inline PTX ([`ptx`]) and NVVM intrinsics ([`nvvm`])
//!   become plain IR and calls of gpurace's entry points, so that accesses and
//!   synchronisation have one form each. Atomics built here carry their scope
//!   and order as metadata: see [`crate::atomics::set_semantics`]. Calls of
//!   entry points are built without the thread context, their `sync` argument
//!   as the constant -1 ([`crate::sync`] fills it in), and code that needs the
//!   thread context calls [`CONTEXT_FUNCTION`].
//! * [`to_object`], after it: every function gets the thread context as a hidden
//!   first parameter ([`thread_context`]), shared variables become offsets from
//!   the block's base ([`shared`]), kernels get entries and a table ([`image`]),
//!   and LLVM makes a host object of it ([`codegen`]).

pub mod codegen;
pub mod image;
pub mod nvvm;
pub mod ptx;
pub mod shared;
pub mod thread_context;

/// A function without parameters that stands for the thread context, `ptr`,
/// until [`thread_context`] replaces its calls.
pub const CONTEXT_FUNCTION: &str = "__gpurace_ctx";
