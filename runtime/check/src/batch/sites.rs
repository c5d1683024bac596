//! What is known of a launch's instructions where their accesses are checked.

use crate::model::record::SiteField;
use crate::order::kernel_sites::KernelSites;

/// The module's sites whose accesses need no check in a launch: no access of theirs can race in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProvedSites(Vec<u64>);

impl ProvedSites {
    /// Adds a site.
    pub fn insert(&mut self, site: u32) {
        let at = site as usize / 64;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (site % 64);
    }

    /// True if the site is one of them.
    #[inline]
    pub fn contains(&self, site: u32) -> bool {
        self.0.get(site as usize / 64).is_some_and(|word| word >> (site % 64) & 1 == 1)
    }
}

/// What is known of an instruction in a launch: its number, if it is proved, and if its reads may be
/// deferred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteEntry(u64);

impl SiteEntry {
    const PROVED: u64 = 1;
    const NUMBERED: u64 = 2;
    const MET: u64 = 4;
    const AT_ONCE: u64 = 8;
    const SHIFT: u32 = 32;

    /// True if the launch proved that the site needs no check.
    #[inline(always)]
    pub(crate) const fn is_proved(self) -> bool {
        self.0 & Self::PROVED != 0
    }

    /// True if its reads may be deferred, see [`crate::batch::deferred`].
    #[inline(always)]
    pub(crate) const fn may_defer(self) -> bool {
        self.0 & (Self::NUMBERED | Self::AT_ONCE) == Self::NUMBERED
    }

    /// Its number; `None` if none is left for it.
    #[inline(always)]
    pub(crate) const fn number(self) -> Option<u16> {
        if self.0 & Self::NUMBERED == 0 { None } else { Some((self.0 >> 8) as u16) }
    }

    /// Its number as records hold it.
    #[inline(always)]
    pub(crate) const fn field(self) -> Option<SiteField> {
        match self.number() {
            Some(number) => Some(SiteField::new(number)),
            None => None,
        }
    }
}

/// The entries of the instructions that a block met last.
#[derive(Debug)]
pub(crate) struct SiteCache([u64; Self::ENTRIES]);

impl SiteCache {
    const ENTRIES: usize = 64;

    /// An empty cache.
    pub(crate) const fn new() -> Self {
        Self([0; Self::ENTRIES])
    }

    /// The entry of a site.
    #[inline(always)]
    pub(crate) fn get(&mut self, site: u32, proved: &ProvedSites, numbers: &KernelSites) -> SiteEntry {
        let entry = self.0[site as usize % Self::ENTRIES];
        // 0 is no entry: that of site 0 has a flag.
        if entry >> SiteEntry::SHIFT == u64::from(site) && entry as u32 != 0 {
            return SiteEntry(entry);
        }
        self.learn(site, proved, numbers)
    }

    /// The entry of a site that the cache did not have. It has it now.
    #[cold]
    fn learn(&mut self, site: u32, proved: &ProvedSites, numbers: &KernelSites) -> SiteEntry {
        let flags = if proved.contains(site) {
            SiteEntry::PROVED
        } else {
            let at_once = if numbers.is_checked_at_once(site) { SiteEntry::AT_ONCE } else { 0 };
            numbers.number(site).map_or(0, |n| SiteEntry::NUMBERED | u64::from(n) << 8) | at_once
        };
        let entry = u64::from(site) << SiteEntry::SHIFT | SiteEntry::MET | flags;
        self.0[site as usize % Self::ENTRIES] = entry;
        SiteEntry(entry)
    }
}
