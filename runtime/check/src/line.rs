//! Records of a word side by side in one cache line: a side chain for words that
//! have several records, each of which would fit a shadow word.
//!
//! Most words with a chain are read by several instructions of one kernel (a
//! stencil, an array that neighbours share): a few records, one for each
//! instruction. A [`Chain`](crate::chain::Chain) holds anything; a line holds these in 64 bytes, and a
//! further read meets them without being unpacked.

use crate::block::State;
use crate::common::Read;
use crate::word::{self, Compact, READ, Span, Word};

/// Records of a line.
pub(crate) const RECORDS: usize = 8;

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
    pub(crate) fn read_among(
        &self,
        records: &mut [u64; RECORDS],
        count: usize,
        read: &Read,
        shared: bool,
    ) -> Option<usize> {
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
        if !records[..count].iter().all(|&r| word::span_of(r, READ).is_some()) {
            return None;
        }
        let own = |r: u64| (r ^ read.key) & word::KEY_MASK == 0 && r & word::STATE_MASK == word::THREAD_READ;
        for r in records[..count].iter_mut().rev().filter(|r| (**r ^ read.site) & word::SITE_MASK == 0) {
            if own(*r) {
                return Some(count);
            }
            if let Some(span) = self.joined(*r, read.key, READ) {
                *r = *r & !word::STATE_MASK | word::state_bits(READ, span);
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
        let Some(span) = word::span_of(r, READ) else { return false };
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gpurace_abi::meta::SyncFeatures;

    use super::*;
    use crate::block::Block;
    use crate::checker::Checker;
    use crate::host::HostAccess;
    use crate::launch::{KernelKey, Launch, LaunchInfo};
    use crate::race::SideOp;
    use crate::transfer::{Touched, Transfer};

    const WORD: usize = 0x1000;

    fn launch(checker: &Checker, id: u64, settled: u64) -> Arc<Launch> {
        let info = LaunchInfo {
            id,
            kernel: KernelKey(1),
            site_base: 0,
            features: SyncFeatures::default(),
            threads_per_block: 64,
            blocks: 2,
            clusters: None,
            stream: 1,
            settled,
        };
        checker.begin_launch(info, &[])
    }

    /// A launch whose first threads read one word, each by an instruction of its own.
    fn read_by(readers: u32) -> Checker {
        let checker = Checker::new();
        let launch = launch(&checker, 1, 0);
        let mut block = Block::begin(&launch, 0, 0..0);
        (0..readers).for_each(|t| block.read(t, WORD, 4, t));
        block.end();
        checker.end_launch(&launch);
        checker
    }

    /// The instructions that a write by the other block races with.
    fn racing_with_a_write(readers: u32) -> Vec<u32> {
        let checker = Checker::new();
        let launch = launch(&checker, 1, 0);
        let mut blocks = [0, 1].map(|i| Block::begin(&launch, i, 0..0));
        (0..readers).for_each(|t| blocks[0].read(t, WORD, 4, t));
        blocks[1].write(0, WORD, 4, 99, None);
        blocks.into_iter().for_each(Block::end);
        let mut sites: Vec<_> = checker.races().iter().map(|r| r.earlier.site).collect();
        sites.sort_unstable();
        sites
    }

    #[test]
    fn every_reader_is_known_in_a_line_and_beyond_it() {
        for readers in [1, 2, 3, 7, 8, 9, 20] {
            assert_eq!(racing_with_a_write(readers), (0..readers).collect::<Vec<_>>());
        }
    }

    #[test]
    fn readers_by_one_instruction_are_one_record() {
        let checker = Checker::new();
        let launch = launch(&checker, 1, 0);
        let mut block = Block::begin(&launch, 0, 0..0);
        for t in 0..64 {
            (0..3).for_each(|site| block.read(t, WORD, 4, site));
        }
        let w = checker
            .inner
            .shadow
            .existing_place(WORD)
            .expect("shadow")
            .word
            .load(std::sync::atomic::Ordering::Acquire);
        let Word::Line(at) = Word::unpack(w) else { panic!("{:?}", Word::unpack(w)) };
        // SAFETY: the word owns the line, and no block runs.
        let line = unsafe { &*(at as *const Line) };
        // Each thread's further reads in one epoch are represented by its first.
        assert!(line.count() <= 3);
        assert!(line.compact().all(|c| c.touch.op == crate::word::Op::Read));
        block.end();
    }

    #[test]
    fn a_settled_line_goes_and_its_memory_is_used_again() {
        let checker = read_by(5);
        for id in 2..5 {
            let launch = launch(&checker, id, id - 1);
            let mut block = Block::begin(&launch, 1, 0..0);
            block.write(3, WORD, 4, 7, None);
            block.end();
            checker.end_launch(&launch);
        }
        assert_eq!(checker.races().len(), 0);
        let cell = checker.inner.shadow.existing_place(WORD).expect("shadow").word;
        assert!(word::is_compact(cell.load(std::sync::atomic::Ordering::Acquire)));
        assert_eq!(checker.inner.chains.load(std::sync::atomic::Ordering::Relaxed), 0);
    }

    #[test]
    fn copies_and_the_host_meet_each_record() {
        let checker = read_by(4);
        let transfer = Transfer { id: 2, site_base: 1000, stream: 2, settled: 0 };
        let touched = Touched { bytes: WORD..WORD + 4, writes: true, site: 0 };
        checker.transfer(transfer, &[1], [touched]);
        assert_eq!(checker.races().len(), 4);
        assert!(checker.races().iter().all(|r| (r.earlier.op, r.later.op) == (SideOp::Read, SideOp::Write)));
        let checker = read_by(4);
        checker.host_access(HostAccess { address: WORD, writes: true, site: 9 }, &|_| true);
        assert_eq!(checker.races().len(), 4);
    }
}
