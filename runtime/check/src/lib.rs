//! The checker. It answers one question: is an access ordered after every earlier one that it
//! conflicts with? If not, the two race.
//!
//! The code lies in five layers. Each uses only itself and the layers above it in this table:
//!
//! | layer | what it knows |
//! |---|---|
//! | [`model`] | accesses, records of them, how their threads stand to each other, and the transition function |
//! | [`order`] | what happens before what: clocks, synchronisation variables, observed atomics, asynchronous copies, clusters |
//! | [`shadow`] | where records lie: the map of shadow words, record lists, chains, regions, pages |
//! | [`batch`] | accesses that a block's threads hand over together, repeated intervals, deferred reads |
//! | [`run`] | the checker of the process, launches, blocks, the host, transfers |
//!
//! # What the shadow of a word represents
//!
//! The history of a word is a list of records. A record says that these threads, at these times,
//! have read, written or atomically accessed these bytes by this instruction. A new access `a` meets
//! each record `r`:
//!
//! | if | then |
//! |---|---|
//! | `r` and `a` conflict, and not all accesses of `r` happen before `a` | they race |
//! | `r` happens before `a`, and whatever would race with `r` also races with `a` ([`model::step::covers`]) | `r` is dropped |
//! | `r` is of the same thread in the same epoch, and whatever would race with `a` also races with `r` | `a` is dropped |
//! | `r` is a plain access of the same thread in the same epoch, by the same instruction, of other bytes | `r` gets the bytes of `a` |
//! | `r` is of the same instruction on the same bytes, and concurrent | the thread of `a` joins those of `r` |
//! | `r` happens before everything still to come | `r` is dropped |
//!
//! One record that fits 64 bits lies in the shadow word itself. A few of them lie in a record list,
//! anything else in a chain. Nothing that could still take part in a race is ever dropped, unless a
//! bound on memory is reached. [`Checker::notes`](run::checker::Checker::notes) says so then.

pub mod batch;
pub mod model;
pub mod order;
pub mod run;
pub mod shadow;

pub use gpurace_abi::meta::SyncFeatures;
pub use gpurace_abi::scope::{AtomicKind, Order, Scope};
pub use model::race::{KernelKey, RaceRecord, RaceScope, Side, SideOp, Space};
pub use model::{access, record, relation, step};
pub use order::cluster::{ClusterBarrier, Clusters};
pub use run::block::Block;
pub use run::checker::{Checker, Limits};
pub use run::covered::CoveredRead;
pub use run::host::HostAccess;
pub use run::launch::{Launch, LaunchInfo, LaunchStats, ProvedSites};
pub use run::transfer::{Touched, Transfer};
