//! One access to one shadow word. Where one record says all before and after it, the word changes
//! in place. Otherwise the worker makes the word busy and lets the access meet each record.

use std::sync::atomic::{AtomicU64, Ordering};

use gpurace_abi::ablation::{self, Mechanism};

use crate::model::access::{Access, Op};
use crate::model::entry::Entry;
use crate::model::record::{Content, Key, OpCode, Record, RecordFields, SiteField};
use crate::model::relation::{Span, Standing};
use crate::model::step::{self, Next};
use crate::order::view::{BlockView, member};
use crate::shadow::RaceSink;
use crate::shadow::chain::Chain;
use crate::shadow::fast::ListRaces;
use crate::shadow::history;
use crate::shadow::process::{BlockShadow, Shadow};
use crate::shadow::record_list::{RECORDS, RecordList};

/// The content of a shadow word.
#[inline(always)]
pub(crate) fn load(cell: &AtomicU64) -> Record {
    Record::from_bits(cell.load(Ordering::Acquire))
}

/// Puts `next` where `w` was seen. False if another value is there by now: `w` becomes it.
/// Nobody else changes the words of a block's `shared` memory.
#[inline(always)]
pub(crate) fn put(cell: &AtomicU64, w: &mut Record, next: Record, shared: bool) -> bool {
    if shared {
        cell.store(next.bits(), Ordering::Release);
        return true;
    }
    match cell.compare_exchange(w.bits(), next.bits(), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => true,
        Err(now) => {
            *w = Record::from_bits(now);
            false
        }
    }
}

/// What becomes of a word with one record.
struct Transition {
    /// The new word; `None` if it needs several records.
    next: Option<Record>,
    /// The record that the access races with, where the word does not need several.
    race: Option<(Entry, Standing)>,
}

impl BlockShadow {
    /// Checks an access to a word in which `w` was seen.
    pub(crate) fn check(
        &mut self,
        shadow: &Shadow,
        view: &BlockView,
        cell: &AtomicU64,
        mut w: Record,
        a: &Access,
        races: &mut impl RaceSink,
    ) {
        loop {
            let alone = |next| Transition { next, race: None };
            let Transition { next, race } = if view.is_settled(w, a.shared) {
                alone(view.new_record(a))
            } else {
                match w.content() {
                    Content::Empty => alone(view.new_record(a)),
                    Content::Busy => {
                        std::thread::yield_now();
                        w = load(cell);
                        continue;
                    }
                    Content::Chain(_) | Content::List(_) => alone(None),
                    Content::Record(fields) => transition(view, w, &fields, a),
                }
            };
            let done = match next {
                Some(next) if next == w => true,
                Some(next) => put(cell, &mut w, next, a.shared),
                None => {
                    let seen = w;
                    if put(cell, &mut w, Record::BUSY, a.shared) {
                        let next = self.check_each(shadow, view, seen, a, races);
                        cell.store(next.bits(), Ordering::Release);
                        return;
                    }
                    false
                }
            };
            if done {
                if let Some((entry, standing)) = race {
                    races.race(&entry, &standing, a, 0);
                }
                return;
            }
        }
    }

    /// Lets an access meet each record of a busy word that held `w`. Returns the new word.
    fn check_each(
        &mut self,
        shadow: &Shadow,
        view: &BlockView,
        w: Record,
        a: &Access,
        races: &mut impl RaceSink,
    ) -> Record {
        if let Some(next) = self.check_in_list(shadow, view, w, a, races) {
            return next;
        }
        if let Content::Chain(at) = w.content() {
            // SAFETY: the word owned the chain; making it busy took it over.
            let chain = unsafe { &*(at as *const Chain) };
            if history::represents(view, chain, a) {
                return w;
            }
        }
        let mut chain = match w.content() {
            // SAFETY: the word owned the chain; making it busy took it over.
            Content::Chain(at) => unsafe { Box::from_raw(at as *mut Chain) },
            Content::List(at) => {
                let mut chain = self.new_chain(shadow);
                let at = at as *mut RecordList<Record>;
                // SAFETY: as a chain.
                let list = unsafe { &*at };
                chain
                    .entries
                    .extend(list.as_slice().iter().filter_map(|r| r.fields()).map(|f| view.entry(&f)));
                chain.find_common();
                self.drop_list(shadow, at);
                chain
            }
            Content::Empty | Content::Busy => self.new_chain(shadow),
            Content::Record(fields) => {
                let mut chain = self.new_chain(shadow);
                chain.entries.push(view.entry(&fields));
                chain.find_common();
                chain
            }
        };
        history::check(view, shadow, &mut chain, a, races);
        self.word_of(shadow, view, chain)
    }

    /// The word that holds the records of a chain.
    pub(super) fn word_of(&mut self, shadow: &Shadow, view: &BlockView, chain: Box<Chain>) -> Record {
        let alone = match chain.entries.as_slice() {
            [] => Some(Record::EMPTY),
            [e] => view.pack(e),
            _ => None,
        };
        if let Some(word) = alone {
            self.drop_chain(shadow, chain);
            return word;
        }
        if let Some(list) = pack_list(view, &chain.entries) {
            self.drop_chain(shadow, chain);
            return self.list_word(shadow, list);
        }
        if shadow.loses_word() {
            // The newest record that fits is worth more than the oldest.
            let kept = chain.entries.iter().rev().find_map(|e| view.pack(e)).unwrap_or_default();
            self.drop_chain(shadow, chain);
            return kept;
        }
        Record::chain(Box::into_raw(chain) as u64)
    }

    /// Checks a plain access to a word with a list, or with one record that is to be kept beside it,
    /// in the frequent cases of [`BlockView::meet_among`]. Returns the new word.
    fn check_in_list(
        &mut self,
        shadow: &Shadow,
        view: &BlockView,
        w: Record,
        a: &Access,
        races: &mut impl RaceSink,
    ) -> Option<Record> {
        if !ablation::is_on(Mechanism::RecordLists) || a.copy.is_some() {
            return None;
        }
        let (key, site) = (view.order.key(a.thread), SiteField::new(a.number?));
        if key == Key::NONE {
            return None;
        }
        let new = Record::new(OpCode::of(a.touch)?, Span::Thread, site, key);
        let (mut found, mut contested) = (ListRaces::new(), 0);
        let mut meet = |list: &mut RecordList<Record>| {
            let before = (a.touch.op == Op::Write).then_some(*list);
            let met = view.meet_among(list, new, a.shared, &mut found);
            if let Some(before) = before.filter(|_| met && !found.is_empty()) {
                contested = history::contested(before.as_slice().iter().map(|r| r.op().touch()));
            }
            met
        };
        let next = match w.content() {
            Content::Record(_) => {
                let mut list = RecordList::of(w);
                meet(&mut list).then(|| match *list.as_slice() {
                    [alone] => alone,
                    _ => self.list_word(shadow, list),
                })
            }
            Content::List(at) => {
                // SAFETY: the word owned the list; making it busy took it over.
                let list = unsafe { &mut *(at as *mut RecordList<Record>) };
                meet(list).then(|| match *list.as_slice() {
                    [alone] => {
                        self.drop_list(shadow, list);
                        alone
                    }
                    _ => w,
                })
            }
            Content::Empty | Content::Busy | Content::Chain(_) => None,
        }?;
        for (fields, standing) in found.iter().filter_map(|(r, standing)| Some((r.fields()?, standing))) {
            races.race(&view.entry(&fields), standing, a, contested);
        }
        Some(next)
    }
}

/// What becomes of a word with one record.
fn transition(view: &BlockView, w: Record, fields: &RecordFields, a: &Access) -> Transition {
    if a.copy.is_some() {
        return Transition { next: None, race: None };
    }
    let s = view.standing(a.thread, &member(fields, view.launch.base), a.shared);
    let same_site = s.mine && a.number == Some(fields.site) && view.may_join(s.relation, fields.clock.into());
    let step = step::step(fields.touch, fields.span, a.touch, s.relation, s.status, same_site);
    let next = match step.next {
        Next::Keep => Some(w),
        Next::Replace => view.new_record(a),
        // Lists keep sets of threads lane by lane then.
        Next::Join(_) if view.names_each_thread => None,
        Next::Join(span) => RecordFields { span, ..*fields }.pack(),
        Next::Extend => RecordFields { touch: fields.touch.with_bytes(a.touch.mask), ..*fields }.pack(),
        Next::Both => None,
    };
    let race = (step.race && next.is_some()).then(|| (view.entry(fields), s));
    Transition { next, race }
}

/// The records of a chain as a list; `None` if they do not fit.
fn pack_list(view: &BlockView, entries: &[Entry]) -> Option<RecordList<Record>> {
    if !ablation::is_on(Mechanism::RecordLists) || entries.len() > RECORDS {
        return None;
    }
    let mut list = RecordList::default();
    for entry in entries {
        list.push(view.pack(entry)?).then_some(())?;
    }
    Some(list)
}
