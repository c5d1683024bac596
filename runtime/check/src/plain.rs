//! Plain accesses to whole words: the cases that most of them are, decided from the
//! shadow word alone. Each does what [`State::word`] would, which does the rest.
//!
//! | the word | a read | a write |
//! |---|---|---|
//! | empty, or settled | becomes it | becomes it |
//! | this thread's, in this epoch, a write | stays | stays |
//! | this thread's, in this epoch, a read | stays | becomes it |
//! | reads by the same instruction, of this launch, unordered to this one | the thread joins | – |

use std::sync::atomic::AtomicU64;

use crate::block::State;
use crate::cell::put;
use crate::word::{self, KEY_MASK, NO_KEY, STATE_MASK, Span};

const READS: [u64; 4] = [
    word::THREAD_READ,
    word::state_bits(0, Span::Warp),
    word::state_bits(0, Span::Block),
    word::state_bits(0, Span::Grid),
];

impl State {
    /// Checks a plain access to a whole word in which `w` was seen. False where the
    /// case is none of the above: then nothing was done.
    #[inline]
    pub(crate) fn plain(
        &self,
        cell: &AtomicU64,
        w: u64,
        thread: u32,
        site: u32,
        write: bool,
        shared: bool,
    ) -> bool {
        let key = self.order.key(thread);
        let state = w & STATE_MASK;
        let own = (w ^ key) & KEY_MASK == 0;
        if own && (state == word::THREAD_WRITE || (!write && state == word::THREAD_READ)) {
            return true;
        }
        self.plain_of_others(cell, w, key, own, site, write, shared)
    }

    #[expect(clippy::too_many_arguments, reason = "what is known of the access by now")]
    fn plain_of_others(
        &self,
        cell: &AtomicU64,
        mut w: u64,
        key: u64,
        own: bool,
        site: u32,
        write: bool,
        shared: bool,
    ) -> bool {
        let state = w & STATE_MASK;
        // A copy that is under way is met by what lies in no word.
        if key == NO_KEY || !(shared || self.launch.copies.is_empty()) {
            return false;
        }
        let Some(number) = self.launch.data.sites.number(site) else {
            return false;
        };
        let site = word::site_bits(number);
        let next = if w == 0 || self.is_stale(w, shared) || (own && write && state == word::THREAD_READ) {
            let op = if write { word::THREAD_WRITE } else { word::THREAD_READ };
            op | site | key
        } else if write || self.exact || word::site_field_bits(w) != site {
            return false;
        } else {
            match self.joined(w, key) {
                Some(span) => w & !STATE_MASK | READS[span as usize],
                None => return false,
            }
        };
        next == w || put(cell, &mut w, next, shared)
    }

    /// The span of the word's threads with this one, where the word is a read by
    /// threads of this launch that are unordered to it, as two with one key's
    /// clock are, or two of different blocks that acquired nothing.
    #[inline]
    fn joined(&self, w: u64, key: u64) -> Option<Span> {
        let state = w & STATE_MASK;
        let span = match state {
            word::THREAD_READ => Span::Thread,
            s if s == READS[1] => Span::Warp,
            s if s == READS[2] => Span::Block,
            s if s == READS[3] => Span::Grid,
            _ => return None,
        };
        if span != Span::Grid && (w ^ key) & KEY_MASK & !word::THREAD_MASK == 0 {
            let same_warp = (w ^ key) & word::WARP_MASK == 0;
            return Some(if same_warp && span != Span::Block { Span::Warp } else { Span::Block });
        }
        let uid = word::uid_field(w);
        let other = span == Span::Grid || (uid != self.order.word_uid() && !self.order.has_past());
        (other && self.mine.contains(&uid) && !self.order.knows_others()).then_some(Span::Grid)
    }
}
