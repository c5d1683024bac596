//! What the lowering makes is valid IR for every intrinsic that LLVM knows, and
//! computes what the processor's own rounding modes, exact integers and the
//! host's libm say.

mod arithmetic;
mod conversions;
mod forms;
mod harness;
mod integers;
mod libdevice;
mod processor;
mod small_floats;
