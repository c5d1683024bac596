//! The races of the process: one for each kernel and unordered pair of sites.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use parking_lot::Mutex;

use crate::model::race::{KernelKey, RaceRecord, RaceScope};

/// The identity of a race: its kernel, the smaller and the larger site.
pub(crate) type PairKey = (KernelKey, u32, u32);

/// The races of the process.
#[derive(Default)]
pub(crate) struct Races {
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    by_pair: HashMap<PairKey, usize>,
    records: Vec<RaceRecord>,
    /// Number of records that [`Races::take_new`] has returned.
    taken: usize,
}

/// What two sightings of one race say together about equal values: false if one says false, true if
/// both say true.
pub(crate) fn both_same(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (None, _) | (_, None) => None,
        (Some(true), Some(true)) => Some(true),
    }
}

impl Races {
    /// True if some are in launches of this kernel.
    pub(crate) fn are_in(&self, kernel: KernelKey) -> bool {
        self.list.lock().records.iter().any(|record| record.kernel == kernel)
    }

    /// Adds a sighting. Returns the race's index, for [`Races::add`], and whether it is new.
    pub(crate) fn see(&self, key: PairKey, record: RaceRecord) -> (usize, bool) {
        let list = &mut *self.list.lock();
        match list.by_pair.get(&key) {
            Some(&i) => {
                let r = &mut list.records[i];
                r.count += record.count;
                r.same_value = both_same(r.same_value, record.same_value);
                r.widest = r.widest.max(record.widest);
                (i, false)
            }
            None => {
                list.by_pair.insert(key, list.records.len());
                list.records.push(record);
                (list.records.len() - 1, true)
            }
        }
    }

    /// Adds a race that another run of a launch found. A known race keeps its count, and may get a wider group of
    /// threads. Returns false if nothing changes.
    pub(crate) fn add_new(&self, record: RaceRecord) -> bool {
        let list = &mut *self.list.lock();
        match list.by_pair.entry(record.key()) {
            Entry::Vacant(place) => {
                place.insert(list.records.len());
                list.records.push(record);
                true
            }
            Entry::Occupied(place) => {
                let known = &mut list.records[*place.get()];
                let is_wider = record.widest > known.widest;
                known.widest = known.widest.max(record.widest);
                is_wider
            }
        }
    }

    /// Adds further sightings of a race.
    pub(crate) fn add(&self, index: usize, count: u64, same_value: Option<bool>, widest: RaceScope) {
        let list = &mut *self.list.lock();
        let Some(r) = list.records.get_mut(index) else { return };
        r.count += count;
        r.same_value = both_same(r.same_value, same_value);
        r.widest = r.widest.max(widest);
    }

    pub(crate) fn count(&self) -> usize {
        self.list.lock().records.len()
    }

    pub(crate) fn all(&self) -> Vec<RaceRecord> {
        self.list.lock().records.clone()
    }

    /// Forgets all races. No block may be running.
    pub(crate) fn forget(&self) {
        *self.list.lock() = List::default();
    }

    /// Forgets sightings: keeps the first races, as many as there are counts, with these counts. No block may be
    /// running.
    pub(crate) fn restore(&self, counts: &[u64]) {
        let list = &mut *self.list.lock();
        list.records.truncate(counts.len());
        for (record, count) in list.records.iter_mut().zip(counts) {
            record.count = *count;
        }
        let kept = list.records.len();
        list.by_pair.retain(|_, index| *index < kept);
        list.taken = list.taken.min(kept);
    }

    pub(crate) fn take_new(&self) -> Vec<RaceRecord> {
        let list = &mut *self.list.lock();
        let new = list.records[list.taken..].to_vec();
        list.taken = list.records.len();
        new
    }
}
