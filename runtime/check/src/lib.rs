//! The checker: is an access ordered after every earlier one that it
//! conflicts with?
//!
//! | module | what it knows |
//! |---|---|
//! | [`word`] | the 8-byte shadow word of a 4-byte application word: its fields, what an access does to one word |
//! | [`state`] | which pairs of accesses conflict, which record may stand for another, the transition function |
//! | [`shadow`] | where the shadow word of an address lies |
//! | [`chain`] | the history of a word whose shadow word is too small for it |
//! | [`order`] | the clocks of one block's threads: what happens before what |
//! | [`vector`] | sparse vector clocks over blocks and threads |
//! | [`syncvar`] | releases and acquires through atomics and fences |
//! | `copies` | asynchronous copies: what they touch, when they are done |
//! | [`observed`] | what was observed, and so happened before what its observer does next |
//! | [`checker`] | the process's checker: what all launches share, the ids of their blocks |
//! | [`launch`] | a launch, and where others stand to it |
//! | [`block`] | the checks that a running block makes |
//! | [`host`] | accesses by the host |
//! | [`transfer`] | copies and fills, as launches of one thread |
//! | [`cluster`] | clusters of blocks, and their barrier |
//! | [`replay`] | logs of launches on a GPU, replayed |
//! | `benign` | bytes on which races are meant |
//! | `covered` | reads that another access's check stands for |
//! | `common` | accesses that the shadow word alone decides |
//! | `line` | a few records of a word, in a cache line |
//! | `region` | records of many words at once |
//! | [`rows`], `lines` | accesses of a block's threads that come together, each at its address or at regular ones |
//! | [`stream`] | reads that threads make one by one |
//! | `interval` | shared memory whose accesses repeat |
//! | `deferred`, `page` | reads that leave no record until something writes there |
//! | `cell` | one access to one shadow word |
//! | `history` | a new access against a chain |
//! | `standing` | how a record's threads are ordered to the one that makes an access |
//! | [`race`] | what was found |
//! | `sighting` | from a record and an access that race to what is reported |
//!
//! [`word`] and [`state`] decide and touch no memory: they use only `core`.
//!
//! # What the shadow of a word represents
//!
//! The history of a word is a list of records. A record says: these bytes were
//! read, written or accessed atomically, by this instruction, by these threads
//! at these times. A new access `a` meets each record `r`:
//!
//! - `r` and `a` conflict and not every thread of `r` happens before `a`: a race.
//! - `r` happens before `a`, and whatever would race with `r` also races with
//!   `a` ([`state::covers`]): `r` is dropped.
//! - `r` is of the same thread in the same epoch, and whatever would race with
//!   `a` also races with `r`: `a` is dropped.
//! - `r` is of the same instruction on the same bytes, concurrent: `a`'s thread joins `r`'s.
//! - `r` happens before everything still to come: `r` is dropped.
//!
//! One record that fits lies in the shadow word itself, a few such in a cache line that
//! the word points to, anything else in a side chain. Nothing that could still take part in a
//! race is ever dropped, except where a bound on memory is reached; that is
//! counted and said in [`Checker::notes`](checker::Checker::notes).

mod benign;
pub mod block;
mod cell;
pub mod chain;
pub mod checker;
pub mod cluster;
mod common;
mod copies;
mod covered;
mod deferred;
mod history;
pub mod host;
mod interval;
mod kernel_sites;
pub mod launch;
mod line;
mod lines;
pub mod observed;
pub mod order;
mod page;
mod pool;
pub mod race;
mod region;
pub mod replay;
pub mod rows;
pub mod shadow;
mod sighting;
mod standing;
pub mod state;
pub mod stream;
pub mod syncvar;
pub mod transfer;
pub mod vector;
pub mod word;

pub use block::Block;
pub use checker::{Checker, Limits};
pub use cluster::{ClusterBarrier, Clusters};
pub use covered::CoveredRead;
pub use gpurace_abi::meta::SyncFeatures;
pub use gpurace_abi::scope::{AtomicKind, Order, Scope};
pub use host::HostAccess;
pub use launch::{KernelKey, Launch, LaunchInfo, LaunchStats, ProvedSites};
pub use race::{RaceRecord, RaceScope, Side, SideOp, Space};
pub use replay::{Logged, Replay, Replayed};
pub use transfer::{Touched, Transfer};
