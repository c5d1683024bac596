//! What the CUDA Runtime API does, as CUDA documents it: arguments are checked, the order of
//! operations is kept, and the backend does the rest.
//!
//! | module | what it knows |
//! |---|---|
//! | [`streams`], [`events`] | the handles of streams and events |
//! | [`launches`] | launches: limits and arguments |
//! | [`functions`] | attributes of kernels, occupancy |
//! | [`transfers`] | copies and fills: which bytes, and whether the host waits |
//! | [`allocations`], [`pointers`] | allocating and freeing |
//! | [`pools`], [`stream_frees`] | stream-ordered allocation |
//! | [`arrays`], [`textures`] | CUDA arrays, texture and surface objects |
//! | [`devices`] | the one device and its limits |
//! | [`graph`] | graphs: their nodes, capture, launches |

pub mod allocations;
pub mod arrays;
pub mod devices;
pub mod events;
pub mod functions;
pub mod graph;
pub mod launches;
pub mod pointers;
pub mod pools;
pub mod stream_frees;
pub mod streams;
pub mod textures;
pub mod transfers;
