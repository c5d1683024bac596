//! Accesses to whole words: the cases that most of them are, decided from the
//! shadow word alone. Each does what [`State::word`] would, which does the rest.
//!
//! | the word | a plain read | a plain write | an atomic access |
//! |---|---|---|---|
//! | empty, or settled | becomes it | becomes it | becomes it |
//! | this thread's, in this epoch, a plain write | stays | stays | stays |
//! | this thread's, in this epoch, a plain read | stays | becomes it | – |
//! | this thread's, in this epoch, an atomic access of this kind, scope and extent | – | – | stays |
//! | the same by the same instruction, of this launch, unordered to this one | the thread joins | – | the thread joins, where the scope holds both |

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::State;
use crate::cell::put;
use crate::kernel_sites::KernelSites;
use crate::launch::ProvedSites;
use crate::shadow::Place;
use crate::word::{self, KEY_MASK, NO_KEY, READ, SITE_MASK, STATE_MASK, Span, THREAD_READ, THREAD_WRITE};

/// What differs between threads of a block in one epoch.
const OF_ONE_BLOCK: u64 = KEY_MASK & !word::THREAD_MASK;

/// A plain read of a whole word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// Who and when, as a word has it.
    pub(crate) key: u64,
    /// The instruction, as a word has it.
    pub(crate) site: u64,
}

/// What a launch's instructions are to the checker, of those that a block met last.
#[derive(Debug)]
pub(crate) struct Sites([u64; Self::ENTRIES]);

impl Sites {
    const ENTRIES: usize = 64;
    const PROVED: u64 = 1;
    const NUMBERED: u64 = 2;
    const AT_ONCE: u64 = 8;
    const SHIFT: u32 = 32;

    /// None are known.
    pub(crate) const fn new() -> Self {
        Self([0; Self::ENTRIES])
    }

    /// What is known of a site: its entry.
    #[inline]
    pub(crate) fn get(&mut self, site: u32, proved: &ProvedSites, numbers: &KernelSites) -> u64 {
        let entry = self.0[site as usize % Self::ENTRIES];
        // 0 is no entry, as site 0 has one of its own.
        if entry >> Self::SHIFT == u64::from(site) && entry as u32 != 0 {
            return entry;
        }
        self.learn(site, proved, numbers)
    }

    #[cold]
    fn learn(&mut self, site: u32, proved: &ProvedSites, numbers: &KernelSites) -> u64 {
        const MET: u64 = 4;
        let what = if proved.contains(site) {
            Self::PROVED
        } else {
            let at_once = if numbers.is_looked_at_once(site) { Self::AT_ONCE } else { 0 };
            numbers.number(site).map_or(0, |n| Self::NUMBERED | u64::from(n) << 8) | at_once
        };
        let entry = u64::from(site) << Self::SHIFT | MET | what;
        self.0[site as usize % Self::ENTRIES] = entry;
        entry
    }

    /// Whether the launch proved that the site needs no check.
    #[inline]
    pub(crate) const fn is_proved(entry: u64) -> bool {
        entry & Self::PROVED != 0
    }

    /// Whether its reads may be looked at later, see [`crate::deferred`].
    #[inline]
    pub(crate) const fn may_wait(entry: u64) -> bool {
        entry & (Self::NUMBERED | Self::AT_ONCE) == Self::NUMBERED
    }

    /// The site as a word has it; `None` where no number is left for it.
    #[inline]
    pub(crate) const fn bits(entry: u64) -> Option<u64> {
        match entry & Self::NUMBERED {
            0 => None,
            _ => Some(word::site_bits((entry >> 8) as u16)),
        }
    }
}

/// What a word of global memory is that blocks of a launch have read by one instruction, as one of them sees it:
/// its reads by the same one leave it as it is.
#[derive(Clone, Debug)]
pub(crate) struct SeenByGrid {
    record: u64,
    mine: Range<u64>,
    open: Range<u64>,
}

impl SeenByGrid {
    #[inline(always)]
    pub(crate) fn holds(&self, place: Place<'_>) -> bool {
        let within = |range: &Range<u64>, n: u64| n.wrapping_sub(range.start) < range.end - range.start;
        let (region, word) = (place.region.load(Ordering::Acquire), place.word.load(Ordering::Acquire));
        (word ^ self.record) & (STATE_MASK | SITE_MASK) == 0
            && within(&self.mine, word::uid_field(word))
            && within(&self.open, region)
    }
}

impl State {
    /// Checks an access to a whole word in which `w` was seen, with this
    /// [`word::op_code`], by the instruction with this entry in [`Sites`]. False where the
    /// case is none of the above: then nothing was done.
    #[inline(always)]
    pub(crate) fn common(
        &self,
        cell: &AtomicU64,
        mut w: u64,
        thread: u32,
        entry: u64,
        op: u64,
        shared: bool,
    ) -> bool {
        let key = self.order.key(thread);
        let state = w & STATE_MASK;
        let alone = word::state_bits(op, Span::Thread);
        let own = (w ^ key) & KEY_MASK == 0;
        if own && (state == THREAD_WRITE || state == alone) {
            return true;
        }
        // A copy that is under way is met by what lies in no word.
        if key == NO_KEY || !(shared || self.no_copies) {
            return false;
        }
        let Some(site) = Sites::bits(entry) else { return false };
        let next =
            if w == 0 || self.is_stale(w, shared) || (own && alone == THREAD_WRITE && state == THREAD_READ) {
                alone | site | key
            } else if alone == THREAD_WRITE || self.exact || (w ^ site) & SITE_MASK != 0 {
                return false;
            } else if state == word::state_bits(op, Span::Block) && (w ^ key) & OF_ONE_BLOCK == 0 {
                return true;
            } else {
                match self.joined(w, key, op) {
                    // Two blocks' atomic accesses may race with each other.
                    Some(Span::Grid) if !word::is_atomic_in_grid(op) => return false,
                    Some(span) => w & !STATE_MASK | word::state_bits(op, span),
                    None => return false,
                }
            };
        next == w || put(cell, &mut w, next, shared)
    }

    /// What [`State::common`] leaves as it is, of reads through the instruction with these bits, where that can be told
    /// from a word alone.
    pub(crate) fn seen_by_grid(&self, site: u64) -> SeenByGrid {
        let knows = self.order.knows_others();
        let mine = if knows { 0..0 } else { self.mine.clone() };
        SeenByGrid { record: word::state_bits(READ, Span::Grid) | site, mine, open: self.open_words() }
    }

    /// The span of the word's threads with this one, where the word is an access with
    /// this [`word::op_code`] by threads of this launch that are unordered to it, as two with one key's
    /// clock are, or two of different blocks that acquired nothing.
    #[inline]
    pub(crate) fn joined(&self, w: u64, key: u64, op: u64) -> Option<Span> {
        let span = word::span_of(w, op)?;
        if span != Span::Grid && (w ^ key) & OF_ONE_BLOCK == 0 {
            let same_warp = (w ^ key) & word::WARP_MASK == 0;
            return Some(if same_warp && span != Span::Block { Span::Warp } else { Span::Block });
        }
        let uid = word::uid_field(w);
        let other = span == Span::Grid || (uid != self.order.word_uid() && !self.order.has_past());
        (other && self.mine.contains(&uid) && !self.order.knows_others()).then_some(Span::Grid)
    }

    /// The read of a word by a thread through the instruction with this entry in
    /// [`Sites`], where a record can hold it.
    pub(crate) fn read_of(&self, thread: u32, entry: u64) -> Option<Read> {
        let key = self.order.key(thread);
        let site = Sites::bits(entry)?;
        (key != NO_KEY).then_some(Read { key, site })
    }
}
