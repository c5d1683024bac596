//! Records of a word side by side in one cache line: a side chain for words that
//! have several records, each of which would fit a shadow word.
//!
//! Most words with a chain are read by several instructions of one kernel (a
//! stencil, an array that neighbours share): a few records, one for each
//! instruction. A [`Chain`](crate::chain::Chain) holds anything; a line holds these in 64 bytes, and a
//! further read meets them without being unpacked.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::block::State;
use crate::plain::Read;
use crate::word::{self, Compact, Span, Word};

/// Records of a line.
pub(crate) const RECORDS: usize = 8;
/// Lines that are allocated at once.
const PAGE: usize = 1024;
/// Lines that a block takes from the others, or gives them, at once.
const LOT: usize = 256;

/// Shadow words with one record each, in the order of their first access: those
/// that are not 0.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u64; RECORDS]);

impl Line {
    /// How many records it has.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().take_while(|&&r| r != 0).count()
    }

    /// The records.
    pub(crate) fn compact(&self) -> impl Iterator<Item = Compact> {
        self.0.into_iter().map_while(|r| match Word::unpack(r) {
            Word::Compact(c) => Some(c),
            Word::Empty | Word::Busy | Word::Expanded(_) | Word::Line(_) => None,
        })
    }
}

/// All lines of a checker. They live as long as it does.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// From `Box::into_raw`.
    pages: Vec<*mut [Line]>,
    /// Lines that no word owns.
    free: Vec<*mut Line>,
}

// SAFETY: a line is used by who has taken it alone.
unsafe impl Send for Shared {}

impl Drop for Shared {
    fn drop(&mut self) {
        for &page in &self.pages {
            // SAFETY: it came from a box, and no word is left that owns a line.
            drop(unsafe { Box::from_raw(page) });
        }
    }
}

impl Lines {
    /// A line that no word owns any more.
    pub(crate) fn give_back(&self, line: *mut Line) {
        self.shared.lock().free.push(line);
    }
}

/// Lines that a block keeps for its next words.
#[derive(Debug)]
pub(crate) struct Pool {
    lines: Arc<Lines>,
    free: Vec<*mut Line>,
}

// SAFETY: the pool's lines are nobody else's.
unsafe impl Send for Pool {}

impl Pool {
    pub(crate) fn new(lines: Arc<Lines>) -> Self {
        Self { lines, free: Vec::new() }
    }

    /// A line, whatever it holds.
    pub(crate) fn take(&mut self) -> *mut Line {
        match self.free.pop() {
            Some(line) => line,
            None => self.refill(),
        }
    }

    /// A line that no word owns any more.
    pub(crate) fn give_back(&mut self, line: *mut Line) {
        self.free.push(line);
        if self.free.len() >= 4 * LOT {
            let kept = self.free.len() - LOT;
            self.lines.shared.lock().free.extend(self.free.drain(kept..));
        }
    }

    #[cold]
    fn refill(&mut self) -> *mut Line {
        let mut shared = self.lines.shared.lock();
        if shared.free.is_empty() {
            let page = Box::into_raw(vec![Line::default(); PAGE].into_boxed_slice());
            // The first one comes last, so that words in a row get lines in a row.
            // SAFETY: within the page.
            shared.free.extend((0..PAGE).rev().map(|i| unsafe { page.cast::<Line>().add(i) }));
            shared.pages.push(page);
        }
        let kept = shared.free.len().saturating_sub(LOT);
        self.free.extend(shared.free.drain(kept..));
        self.free.pop().expect("a page has lines")
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.lines.shared.lock().free.append(&mut self.free);
    }
}

impl State {
    /// A plain read of a word that has these records: what becomes of them, the same
    /// as [`crate::history::visit`] would make of them, where that is one of
    ///
    /// | the records | then |
    /// |---|---|
    /// | all settled | the read alone stays |
    /// | reads, one of them of the same instruction that the thread joins | it joins |
    /// | reads, one of them of the thread itself, in this epoch | nothing changes |
    /// | reads that are all unordered to this one, and room for it | it is added |
    ///
    /// and `None` elsewhere. Gives how many records there are then.
    pub(crate) fn read_among(&self, records: &mut [u64; RECORDS], count: usize, read: &Read, shared: bool) -> Option<usize> {
        if self.exact {
            return None;
        }
        let new = word::THREAD_READ | read.site | read.key;
        if records[..count].iter().all(|&r| self.is_stale(r, shared)) {
            *records = [0; RECORDS];
            records[0] = new;
            return Some(1);
        }
        // A write may race with it, whatever the reads say.
        if !records[..count].iter().all(|&r| word::read_span(r).is_some()) {
            return None;
        }
        let own = |r: u64| (r ^ read.key) & word::KEY_MASK == 0 && r & word::STATE_MASK == word::THREAD_READ;
        for r in records[..count].iter_mut().rev().filter(|r| (**r ^ read.site) & word::SITE_MASK == 0) {
            if own(*r) {
                return Some(count);
            }
            if let Some(span) = self.joined(*r, read.key) {
                *r = *r & !word::STATE_MASK | word::state_bits(0, span);
                return Some(count);
            }
        }
        if records[..count].iter().any(|&r| own(r)) {
            return Some(count);
        }
        if count == RECORDS || !records[..count].iter().all(|&r| self.is_unordered_read(r, read.key)) {
            return None;
        }
        records[count] = new;
        Some(count + 1)
    }

    /// Whether a record is a read by other threads none of whose accesses happens
    /// before one that is made now by the thread with this key.
    fn is_unordered_read(&self, r: u64, key: u64) -> bool {
        let Some(span) = word::read_span(r) else { return false };
        let uid = word::uid_field(r);
        if uid != self.order.word_uid() {
            return self.mine.contains(&uid) && !self.order.has_past() && !self.order.knows_others();
        }
        if span == Span::Grid {
            return true;
        }
        let same_warp = (r ^ key) & word::WARP_MASK == 0;
        let same_thread = (r ^ key) & word::THREAD_MASK == 0;
        let floor = match span {
            Span::Thread | Span::Warp if same_warp => self.order.warp_floor(word::thread_field(key) / 32),
            _ => self.order.floor(),
        };
        word::clock_field(r) >= floor && !(same_thread && span == Span::Thread)
    }
}
