//! The checker on an NVIDIA GPU: the functions that checked kernels call.
//!
//! The code is C++ (`cpp/`): here nothing else makes LLVM 22 bitcode for NVPTX. Rust's own compiler
//! carries a newer LLVM, whose bitcode version 19 cannot read. The code also compiles for the host,
//! where tests compare its decisions with those of the checker.
//!
//! | file | what it knows |
//! |---|---|
//! | `layout.h` | the structures in memory that the host uses too |
//! | `target.h` | all that differs between a GPU and the host's simulation |
//! | `word.h` | the shadow word |
//! | `decide.h`, `transitions.inc` | the relation of a record to an access, and the step; the table, which a test generates from `gpurace-check` |
//! | `region.h` | records of regions |
//! | `quick.h` | the same decisions in registers, for most accesses |
//! | `check.h` | an access: its shadow, its words, its races |
//! | `slots.h` | the slots of blocks |
//! | `device.cpp` | the entry points |
//!
//! Only checked GPU modules use it: the executor runs `gpurace-check` itself.
//!
//! # How an access is checked
//! A shadow word has 8 bytes for 4 of the program's and holds one record, laid out as on the
//! executor. The step for each record and access comes from the table. If all lanes of a warp
//! access consecutive elements of 4, 8 or 16 bytes, the warp checks them together, region by
//! region. No check waits for lanes that are elsewhere: a kernel may never let them come.
//! The shadow of a block's shared memory lies behind it, in shared memory, or else in global memory.
//! Kernels have the quick path of an access inlined; `check` decides what that leaves.
//!
//! The clocks of a block and its warps show the order by block barriers and by `__syncwarp` of
//! whole warps. Where any other order is possible, conflicts count as undecided. Pairs of two
//! launches are not looked for.

/// The device runtime as LLVM 22 bitcode for `nvptx64-nvidia-cuda`.
pub const BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/device.bc"));
