//! What happens before what: clocks of threads and blocks, what atomics and fences carry from
//! thread to thread, observed writes, asynchronous copies, clusters, launches. It knows nothing of
//! shadow memory.

pub mod block_order;
pub mod carried;
pub mod cluster;
pub(crate) mod copies;
pub(crate) mod kernel_sites;
pub(crate) mod launches;
pub mod observed;
mod released;
pub mod syncvar;
pub mod vector;
pub(crate) mod view;
