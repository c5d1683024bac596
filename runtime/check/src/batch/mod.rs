//! Batches: accesses that the threads of a block hand over together. They are rows, affine ones or
//! not, and gathered accesses. Also barrier intervals that repeat, and reads that are deferred. A batch
//! knows the block whose accesses it holds as [`BatchChecks`] alone.

pub mod affine;
pub(crate) mod deferred;
pub(crate) mod elements;
mod gathered;
pub(crate) mod interval;
pub(crate) mod rows;
pub(crate) mod sites;

use std::borrow::Cow;
use std::ops::Range;

use gpurace_abi::batch::{GatheredItem, GatheredRun};

use crate::model::access::{Op, overlap};
use crate::order::view::BlockView;
use crate::shadow::fast::WordChecks;
use crate::shadow::process::Shadow;
use crate::shadow::region::RegionRecord;
use affine::AffineAddresses;
use gathered::CheckedItems;
use rows::RowWrite;
use sites::SiteEntry;

/// How many accesses ahead the shadow is prefetched.
const AHEAD: usize = 12;

/// Plain accesses of a block's threads by one instruction between two barriers.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The module's index of the instruction.
    pub site: u32,
    /// Bytes of each access: 1, 2, 3, or whole words, at most 128 bytes.
    pub size: u32,
    /// They write.
    pub writes: bool,
    /// What the accesses of a row wrote, where known.
    pub values: Option<Values<'a>>,
    /// Their addresses.
    pub addresses: Addresses<'a>,
}

/// The addresses of a batch. In a row each thread makes at most one access.
#[derive(Clone, Copy, Debug)]
pub enum Addresses<'a> {
    /// Those of a row by thread, 0 if the thread made no access.
    Each(&'a [u64]),
    /// Those of a row, following from the threads' indices.
    Affine(AffineAddresses<'a>),
    /// Gathered accesses, one by one.
    Items(&'a [GatheredItem]),
    /// Gathered accesses as runs.
    Runs(&'a [GatheredRun]),
}

/// The values that a row wrote and those that memory held before: thread after thread, as many bytes
/// as an access has.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    /// What the threads wrote.
    pub written: &'a [u8],
    /// What was there.
    pub before: &'a [u8],
}

impl<'a> Batch<'a> {
    /// Reads.
    pub fn reads(site: u32, size: u32, addresses: Addresses<'a>) -> Self {
        Self { site, size, writes: false, values: None, addresses }
    }

    /// True for gathered accesses, false for a row.
    pub(crate) fn is_gathered(&self) -> bool {
        matches!(self.addresses, Addresses::Items(_) | Addresses::Runs(_))
    }

    /// True if some of its accesses may be of some of these bytes.
    pub(crate) fn may_meet(&self, bytes: &Range<usize>) -> bool {
        match self.addresses {
            Addresses::Each(all) => {
                let size = self.size as usize;
                all.iter().any(|&at| at != 0 && overlap(&(at as usize..at as usize + size), bytes))
            }
            Addresses::Affine(affine) => {
                let (size, mut met) = (self.size as usize, false);
                !affine.runs(size, |run, _| met |= overlap(&(run.address..run.end(size)), bytes)) || met
            }
            Addresses::Items(reads) => reads.iter().any(|read| overlap(&read.bytes(self.size), bytes)),
            Addresses::Runs(runs) => runs.iter().any(|run| overlap(&run.bytes(), bytes)),
        }
    }
}

impl<'a> Addresses<'a> {
    /// The address of a thread's access in a row, 0 if it made none.
    #[inline]
    pub(crate) fn of(&self, thread: usize) -> usize {
        match self {
            Self::Each(items) => items[thread] as usize,
            Self::Affine(affine) if affine.active.contains(thread) => affine.address(thread),
            Self::Affine(_) | Self::Items(_) | Self::Runs(_) => 0,
        }
    }

    /// How many threads there are in a row.
    fn threads(&self) -> usize {
        match self {
            Self::Each(items) => items.len(),
            Self::Affine(affine) => affine.threads(),
            Self::Items(_) | Self::Runs(_) => 0,
        }
    }

    /// How many threads of a row make an access.
    fn accesses(&self) -> u64 {
        match self {
            Self::Each(items) => items.iter().map(|&item| u64::from(item != 0)).sum(),
            Self::Affine(affine) => affine.active.count(),
            Self::Items(_) | Self::Runs(_) => 0,
        }
    }

    /// The address of the first access of a row.
    pub(crate) fn first(&self) -> Option<usize> {
        match self {
            Self::Each(items) => rows::next_access(items, 0).map(|first| items[first] as usize),
            Self::Affine(affine) => {
                affine.active.within(0, affine.threads()).map(|(first, ..)| affine.address(first))
            }
            Self::Items(_) | Self::Runs(_) => None,
        }
    }

    /// The addresses of a row by thread, 0 if the thread made no access.
    pub fn each(&self) -> Cow<'a, [u64]> {
        match self {
            Self::Each(items) => Cow::Borrowed(items),
            Self::Affine(affine) => Cow::Owned(affine.each()),
            Self::Items(_) | Self::Runs(_) => Cow::Borrowed(&[]),
        }
    }
}

/// Checks the last of these batches, without accesses to `local` memory. The others are those of
/// its segment up to it.
pub(crate) fn check(block: &mut impl BatchChecks, batches: &[Batch<'_>], local: &Range<usize>) {
    let Some(batch) = batches.last() else { return };
    let entry = block.entry(batch.site);
    if entry.is_proved() {
        return;
    }
    let &Batch { site, size, writes, .. } = batch;
    match batch.addresses {
        Addresses::Each(_) | Addresses::Affine(_) => rows::check(block, batches, batch, entry, local),
        Addresses::Items(items) => CheckedItems { site, size, writes, entry, local }.items(block, items),
        Addresses::Runs(runs) => CheckedItems { site, size, writes, entry, local }.runs(block, runs),
    }
}

/// A running block, as the accesses of a batch are checked by it.
pub(crate) trait BatchChecks {
    /// How records stand to the block's accesses.
    fn view(&self) -> &BlockView;

    /// The shadow of the process.
    fn shadow(&self) -> &Shadow;

    /// The entry of an instruction.
    fn entry(&mut self, site: u32) -> SiteEntry;

    /// True if all threads of the block know the same of each other and of others.
    fn is_plain(&self) -> bool;

    /// True if a write of some of these bytes may end what an atomic location carries.
    fn may_end_sync(&self, bytes: &Range<usize>) -> bool;

    /// Counts checks.
    fn count(&mut self, accesses: u64);

    /// True if an address, which is about to be accessed, is of the block's own memory.
    fn begins_access(&mut self, address: usize) -> bool;

    /// Checks an access to some words of the region of an address. False if each word must be
    /// checked by itself: then nothing was done.
    fn check_region(&mut self, record: &RegionRecord, address: usize, shared: bool) -> bool;

    /// Checks accesses of one interval to the region at an address, if its records are all settled, or of the same
    /// threads in this interval. False if they are not: then nothing was done.
    fn check_together(&mut self, records: &[RegionRecord], address: usize, shared: bool) -> bool;

    /// Checks a plain access to the word at an address. False if that takes more than `checks` knows: then
    /// nothing was done.
    fn check_word(&mut self, checks: &WordChecks, thread: u32, address: usize, shared: bool) -> bool;

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
    /// A gathered access wrote them already. True if memory held the same bytes before, where that is known.
    Gathered(Option<bool>),
}
