//! Accesses that the threads of a block hand over together: rows, affine rows and gathered reads;
//! barrier intervals that repeat; reads that are deferred. A batch knows the block whose accesses
//! it holds as [`BatchChecks`] alone.

pub mod affine;
pub(crate) mod deferred;
pub mod gathered;
pub(crate) mod interval;
pub mod rows;
pub(crate) mod sites;

use std::ops::Range;

use crate::model::access::Op;
use crate::order::view::BlockView;
use crate::shadow::process::Shadow;
use crate::shadow::region::RegionRecord;
use rows::RowWrite;
use sites::SiteEntry;

/// A running block, as the accesses of a batch are checked by it.
pub(crate) trait BatchChecks {
    /// How records stand to the block's accesses.
    fn view(&self) -> &BlockView;

    /// The shadow of the process.
    fn shadow(&self) -> &Shadow;

    /// Shared memory that only the block reaches.
    fn own_memory(&self) -> &Range<usize>;

    /// The entry of an instruction.
    fn entry(&mut self, site: u32) -> SiteEntry;

    /// True if all threads of the block know the same of each other and of others.
    fn is_plain(&self) -> bool;

    /// True if no write can end what an atomic location carries: there is none.
    fn has_no_sync(&self) -> bool;

    /// Counts checks.
    fn count(&mut self, accesses: u64);

    /// True if an address, which is about to be accessed, is of the block's own memory.
    fn begins_access(&mut self, address: usize) -> bool;

    /// Checks an access to some words of the region of an address. False if each word must be
    /// checked by itself: then nothing was done.
    fn check_region(&mut self, record: &RegionRecord, address: usize, shared: bool) -> bool;

    /// Records accesses to different words of the region at an address, if its records are all
    /// settled. False if they are not: then nothing was done.
    fn begin_region(&mut self, records: &[RegionRecord], address: usize, shared: bool) -> bool;

    /// Checks one access of a few bytes.
    fn check_one(&mut self, access: &WholeAccess<'_>);
}

/// One access of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeAccess<'a> {
    pub(crate) thread: u32,
    pub(crate) address: usize,
    /// Bytes.
    pub(crate) size: u64,
    /// The module's index of the instruction.
    pub(crate) site: u32,
    pub(crate) entry: SiteEntry,
    pub(crate) op: Op,
    pub(crate) value: Value<'a>,
    /// Where an asynchronous copy of the thread makes the access: the epoch of its copies.
    pub(crate) copy: Option<u32>,
}

/// What is known of the bytes that an access writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    /// Nothing, or it writes none.
    Unknown,
    /// They are these, and memory still holds what was there before.
    Bytes(u64),
    /// A row wrote them already.
    Row(RowWrite<'a>),
}
