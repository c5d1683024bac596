//! The instructions of a kernel, over all its launches: their dense numbers in records, and whose
//! reads are not deferred.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::model::record::SITE_VALUES;

/// The dense numbers of a kernel's sites, given as they are first accessed.
#[derive(Debug)]
pub(crate) struct KernelSites {
    /// By the module's index: 0 not numbered yet, [`NO_NUMBER`], or the number plus 1.
    numbers: Box<[OnceLock<Box<[AtomicU16; PART]>>]>,
    /// By number: the module's index.
    sites: Box<[AtomicU32]>,
    /// How many numbers were given.
    count: Mutex<u32>,
    /// Sites whose reads are checked as they are made: the memory that they read is written.
    at_once: RwLock<HashSet<u32>>,
    /// How often the deferred reads of a site got records because memory beside them was written.
    beside: Mutex<HashMap<u32, u32>>,
}

/// Sites in a part of the table of numbers. A part is allocated with its first number.
const PART: usize = 1024;
/// Parts of the table. Sites behind the last one get no numbers.
const PARTS: usize = 1024;
/// Of a site that was accessed after all numbers were given.
const NO_NUMBER: u16 = u16::MAX;

impl KernelSites {
    /// No site has a number.
    pub(crate) fn new() -> Self {
        Self {
            numbers: (0..PARTS).map(|_| OnceLock::new()).collect(),
            sites: (0..SITE_VALUES).map(|_| AtomicU32::new(0)).collect(),
            count: Mutex::new(0),
            at_once: RwLock::default(),
            beside: Mutex::default(),
        }
    }

    /// The number of a site (the module's index); `None` if none are left.
    #[inline]
    pub(crate) fn number(&self, site: u32) -> Option<u16> {
        let part = self.numbers.get(site as usize / PART)?;
        if let Some(part) = part.get() {
            match part[site as usize % PART].load(Ordering::Relaxed) {
                0 => {}
                NO_NUMBER => return None,
                n => return Some(n - 1),
            }
        }
        self.assign(site)
    }

    /// Gives a site the next number, if it has none yet and some are left. Returns its number.
    #[cold]
    fn assign(&self, site: u32) -> Option<u16> {
        let part =
            self.numbers[site as usize / PART].get_or_init(|| Box::new([const { AtomicU16::new(0) }; PART]));
        let cell = &part[site as usize % PART];
        let mut count = self.count.lock();
        match cell.load(Ordering::Relaxed) {
            0 if *count == SITE_VALUES => {
                cell.store(NO_NUMBER, Ordering::Relaxed);
                None
            }
            0 => {
                let n = *count;
                *count += 1;
                self.sites[n as usize].store(site, Ordering::Relaxed);
                cell.store(n as u16 + 1, Ordering::Release);
                Some(n as u16)
            }
            NO_NUMBER => None,
            n => Some(n - 1),
        }
    }

    /// True if an access by the site (the module's index) was checked.
    pub(crate) fn was_checked(&self, site: u32) -> bool {
        let part = self.numbers.get(site as usize / PART).and_then(OnceLock::get);
        part.is_some_and(|part| part[site as usize % PART].load(Ordering::Relaxed) != 0)
    }

    /// Has reads by a site (the module's index) checked as they are made.
    pub(crate) fn check_at_once(&self, site: u32) {
        self.at_once.write().insert(site);
    }

    /// Counts that deferred reads by a site got records because memory beside them was written.
    /// Returns how often that was so.
    pub(crate) fn recorded_beside(&self, site: u32) -> u32 {
        let mut beside = self.beside.lock();
        let times = beside.entry(site).or_default();
        *times += 1;
        *times
    }

    /// True if reads by a site are checked as they are made.
    pub(crate) fn is_checked_at_once(&self, site: u32) -> bool {
        self.at_once.read().contains(&site)
    }

    /// The site with this number.
    pub(crate) fn site(&self, number: u16) -> u32 {
        self.sites[usize::from(number)].load(Ordering::Relaxed)
    }
}
