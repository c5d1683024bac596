//! The CUDA driver API (`cu*`): one file for each of its parts. A function does what the function of the
//! runtime API does, on the same streams, events, memory and kernels. Handles of streams, events, arrays,
//! graphs and kernels are those of the runtime API, as in CUDA.
//!
//! | module | what it exports |
//! |---|---|
//! | `export` | nothing: how an exported function is written |
//! | [`contexts`] | `cuInit`, contexts |
//! | [`devices`] | the device |
//! | [`memory`], [`pointers`], [`pools`] | allocating, and asking about pointers |
//! | [`transfers`] | copies and fills |
//! | [`arrays`] | arrays, textures and surfaces |
//! | [`streams`] | streams, events, captures |
//! | [`graphs`] | graphs |
//! | [`modules`] | modules and libraries from files and memory |
//! | [`functions`] | attributes of kernels, occupancy |
//! | [`launches`] | launches |
//! | [`old_launches`] | launches as they were before `cuLaunchKernel` |
//! | [`tensor_maps`] | maps for copies of tensors |
//! | [`entry_points`] | functions by name, names of errors |
//! | [`refused`] | functions that are not supported |

pub mod arrays;
pub mod contexts;
pub mod devices;
pub mod entry_points;
pub(crate) mod export;
pub mod functions;
pub mod graphs;
pub mod launches;
pub mod memory;
pub mod modules;
pub mod old_launches;
pub mod pointers;
pub mod pools;
pub mod refused;
pub mod streams;
pub mod tensor_maps;
pub mod transfers;
