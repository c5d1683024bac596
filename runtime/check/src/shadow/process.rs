//! The shadow of a process, and what a block keeps to change it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpurace_abi::device::REGION_WORDS;

use crate::model::access::GRANULE;
use crate::model::entry::Entry;
use crate::model::record::{Content, Record, RecordFields};
use crate::shadow::chain::Chain;
use crate::shadow::map::ShadowMap;
use crate::shadow::pieces::{PieceStore, Pieces};
use crate::shadow::record_list::RecordList;
use crate::shadow::region::{self, RegionList};
use crate::shadow::word;

/// Chains that a block keeps for its next words.
const CHAINS_KEPT: usize = 256;
/// Chains and lists that a block makes before it adds them to the process's count.
const LOT: u64 = 1024;

/// The shadow of all memory.
pub(crate) struct Shadow {
    pub(crate) map: ShadowMap,
    /// Most words with a chain or a list.
    most_chains: u64,
    /// Most records of one word.
    pub(crate) most_records: usize,
    lists: Arc<PieceStore<RecordList<Record>>>,
    region_lists: Arc<PieceStore<RegionList>>,
    /// Words with a chain or a list, without those that running blocks have not added yet: modulo
    /// 2^64.
    chains: AtomicU64,
    pub(crate) lost_records: AtomicU64,
    pub(crate) lost_words: AtomicU64,
}

/// What a word that no running block changes holds.
pub(crate) enum Stored<'a> {
    Record(RecordFields),
    Entry(&'a Entry),
}

impl Shadow {
    /// An empty shadow, with at most so many words with a chain or a list, and records of one word.
    pub(crate) fn new(most_chains: u64, most_records: usize) -> Self {
        Self {
            map: ShadowMap::new(),
            most_chains,
            most_records,
            lists: Arc::default(),
            region_lists: Arc::default(),
            chains: AtomicU64::new(0),
            lost_records: AtomicU64::new(0),
            lost_words: AtomicU64::new(0),
        }
    }

    /// Number of words with a chain or a list.
    pub(crate) fn chains(&self) -> i64 {
        self.chains.load(Ordering::Relaxed) as i64
    }

    /// True if a word must do without a chain: there are too many. Counts the word.
    pub(crate) fn loses_word(&self) -> bool {
        let loses = self.chains() > self.most_chains as i64;
        if loses {
            self.lost_words.fetch_add(1, Ordering::Relaxed);
        }
        loses
    }

    /// Empties it. No block may run.
    pub(crate) fn clear(&self) {
        self.map.clear(
            |word| self.drop_history(Record::from_bits(word)),
            |region| self.drop_region(Record::from_bits(region)),
        );
    }

    /// Frees what a word that lies in no shadow any more points to.
    pub(crate) fn drop_history(&self, word: Record) {
        match word.content() {
            Content::Chain(at) => {
                self.chains.fetch_sub(1, Ordering::Relaxed);
                // SAFETY: the word owned its chain, and the caller has taken it out of the shadow.
                drop(unsafe { Box::from_raw(at as *mut Chain) });
            }
            Content::List(at) => {
                self.chains.fetch_sub(1, Ordering::Relaxed);
                self.lists.give_back(at as *mut RecordList<Record>);
            }
            Content::Empty | Content::Busy | Content::Record(_) => {}
        }
    }

    /// Frees the list that the word of a region points to. Nobody else uses it.
    pub(crate) fn drop_region(&self, region: Record) {
        if let Some(list) = region::list_of(region) {
            self.region_lists.give_back(list);
        }
    }

    /// Drops all records of some bytes: their memory was freed, or is new.
    pub(crate) fn forget(&self, bytes: &Range<usize>) {
        self.map.regions(bytes, |first, place| {
            let from = bytes.start.saturating_sub(first) / GRANULE;
            let to = (bytes.end - first).div_ceil(GRANULE).min(REGION_WORDS);
            region::forget(self, place.region, (!0 << from) & (!0 >> (REGION_WORDS - to)));
            for cell in &place.words()[from..to] {
                loop {
                    let w = cell.load(Ordering::Acquire);
                    if w == Record::BUSY.bits() {
                        std::thread::yield_now();
                    } else if w == 0
                        || cell
                            .compare_exchange(w, 0, Ordering::AcqRel, Ordering::Acquire)
                            .inspect(|&w| self.drop_history(Record::from_bits(w)))
                            .is_ok()
                    {
                        break;
                    }
                }
            }
        });
    }

    /// A list for a region, where no block asks for it.
    pub(crate) fn take_region_list(&self) -> *mut RegionList {
        Pieces::new(self.region_lists.clone()).take()
    }

    /// Visits the records of the word at an address. No block may run.
    pub(crate) fn visit(&self, word: usize, mut visit: impl FnMut(Stored<'_>)) {
        let Some(place) = self.map.existing_place(word) else { return };
        let mut in_region = false;
        for fields in region::records_of(word::load(place.region), word).filter_map(Record::fields) {
            visit(Stored::Record(fields));
            in_region = true;
        }
        if !in_region {
            // SAFETY: no block runs that could take over what the word points to.
            unsafe { each_stored(word::load(place.word), visit) };
        }
    }
}

/// Visits the records of a shadow word.
///
/// # Safety
/// Nobody may change the chain or list that the word points to.
pub(crate) unsafe fn each_stored(word: Record, mut visit: impl FnMut(Stored<'_>)) {
    match word.content() {
        Content::Empty | Content::Busy => {}
        Content::Record(fields) => visit(Stored::Record(fields)),
        Content::List(at) => {
            // SAFETY: the word owns the list, and the caller sees to the rest.
            let list = unsafe { &*(at as *const RecordList<Record>) };
            list.as_slice()
                .iter()
                .filter_map(|r| r.fields())
                .for_each(|fields| visit(Stored::Record(fields)));
        }
        Content::Chain(at) => {
            // SAFETY: as above.
            let chain = unsafe { &*(at as *const Chain) };
            chain.entries.iter().for_each(|entry| visit(Stored::Entry(entry)));
        }
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // Only words own the chains.
        if self.chains() != 0 {
            self.clear();
        }
    }
}

/// Chains and lists that a block keeps, to use them again.
pub(crate) struct BlockShadow {
    #[expect(clippy::vec_box, reason = "words hold their addresses")]
    free_chains: Vec<Box<Chain>>,
    lists: Pieces<RecordList<Record>>,
    pub(crate) region_lists: Pieces<RegionList>,
    /// Chains and lists made, less those dropped, that the process's count does not have yet.
    more_chains: i64,
}

impl BlockShadow {
    /// None are kept.
    pub(crate) fn new(shadow: &Shadow) -> Self {
        Self {
            free_chains: Vec::new(),
            lists: Pieces::new(shadow.lists.clone()),
            region_lists: Pieces::new(shadow.region_lists.clone()),
            more_chains: 0,
        }
    }

    /// The word of several records.
    pub(crate) fn list_word(&mut self, shadow: &Shadow, records: RecordList<Record>) -> Record {
        if shadow.loses_word() {
            // The newest record is worth more than the oldest.
            return records.as_slice().last().copied().unwrap_or_default();
        }
        self.count_chains(shadow, 1);
        let list = self.lists.take();
        // SAFETY: nobody else has the piece.
        unsafe { list.write(records) };
        Record::list(list as u64)
    }

    pub(crate) fn drop_list(&mut self, shadow: &Shadow, list: *mut RecordList<Record>) {
        self.count_chains(shadow, -1);
        self.lists.give_back(list);
    }

    /// An empty chain.
    pub(crate) fn new_chain(&mut self, shadow: &Shadow) -> Box<Chain> {
        self.count_chains(shadow, 1);
        let mut chain = self.free_chains.pop().unwrap_or_default();
        chain.entries.clear();
        chain.common = None;
        chain
    }

    pub(crate) fn drop_chain(&mut self, shadow: &Shadow, chain: Box<Chain>) {
        self.count_chains(shadow, -1);
        if self.free_chains.len() < CHAINS_KEPT && chain.entries.capacity() <= 64 {
            self.free_chains.push(chain);
        }
    }

    /// Counts chains and lists. The process's count, which other workers use too, gets them in
    /// lots.
    fn count_chains(&mut self, shadow: &Shadow, more: i64) {
        self.more_chains += more;
        if self.more_chains.unsigned_abs() > LOT.min(shadow.most_chains / 256) {
            self.add_counts(shadow);
        }
    }

    /// Adds the block's count of chains to the process's.
    pub(crate) fn add_counts(&mut self, shadow: &Shadow) {
        let more = std::mem::take(&mut self.more_chains);
        // Wraps if it is negative.
        shadow.chains.fetch_add(more as u64, Ordering::Relaxed);
    }
}
