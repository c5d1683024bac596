//! The records of a region that no block accesses now: looked up, prefetched, removed and freed.

use std::sync::atomic::{AtomicU64, Ordering};

use gpurace_abi::device::REGION_WORDS;

use super::records::{RegionContent, RegionList};
use crate::model::access::GRANULE;
use crate::model::record::Record;
use crate::shadow::map;
use crate::shadow::process::Shadow;
use crate::shadow::word::{load, put};

/// True if a region has records of its words together.
pub(crate) fn is_closed(region: Record) -> bool {
    !matches!(RegionContent::of(region), RegionContent::Empty | RegionContent::Open)
}

/// True if no record of a closed region fails a test.
pub(crate) fn all_records(region: &AtomicU64, test: impl Fn(Record) -> bool) -> bool {
    loop {
        let mut w = load(region);
        let content = RegionContent::of(w);
        match content {
            RegionContent::Empty | RegionContent::Open => return true,
            RegionContent::Busy => std::thread::yield_now(),
            RegionContent::Alone(r) => return test(r.record),
            RegionContent::List(_) => {
                if put(region, &mut w, Record::BUSY, false) {
                    let all = content.records().as_slice().iter().all(|r| test(r.record));
                    region.store(w.bits(), Ordering::Release);
                    return all;
                }
            }
        }
    }
}

/// The list that the word of a region points to.
pub(crate) fn list_of(region: Record) -> Option<*mut RegionList> {
    match RegionContent::of(region) {
        RegionContent::List(at) => Some(at),
        _ => None,
    }
}

/// Prefetches what a region's word points to.
#[inline]
pub(crate) fn prefetch(region: Record) {
    if let RegionContent::List(at) = RegionContent::of(region) {
        map::prefetch(at.cast());
        map::prefetch(at.cast::<u8>().wrapping_add(64));
    }
}

/// The records that a region has of the word at an address: none where the word has its own. No
/// block may run.
pub(crate) fn records_of(region: Record, address: usize) -> impl Iterator<Item = Record> {
    let i = (address / GRANULE % REGION_WORDS) as u32;
    let records = RegionContent::of(region).records();
    (0..records.len())
        .map(move |at| records.as_slice()[at])
        .filter(move |r| r.mask >> i & 1 != 0)
        .flat_map(move |r| r.of_word(i))
}

/// Removes some words from a region's records: their history is over.
pub(crate) fn forget(shadow: &Shadow, region: &AtomicU64, words: u32) {
    loop {
        let w = load(region);
        let content = RegionContent::of(w);
        match content {
            RegionContent::Empty | RegionContent::Open => return,
            RegionContent::Busy => std::thread::yield_now(),
            RegionContent::Alone(_) | RegionContent::List(_) => {
                let busy = Record::BUSY.bits();
                if region.compare_exchange(w.bits(), busy, Ordering::AcqRel, Ordering::Acquire).is_err() {
                    continue;
                }
                let mut list = content.records();
                list.as_mut_slice().iter_mut().for_each(|r| *r = r.part(!words));
                list.retain(|r| r.mask != 0);
                let next = if list.as_slice().is_empty() {
                    shadow.drop_region(w);
                    Record::EMPTY
                } else {
                    let at = list_of(w).unwrap_or_else(|| shadow.take_region_list());
                    // SAFETY: the region's own list, and the region is busy; or a new one.
                    unsafe { at.write(list) };
                    Record::list(at as u64)
                };
                return region.store(next.bits(), Ordering::Release);
            }
        }
    }
}
