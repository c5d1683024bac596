//! What becomes of a region's records when an access to some of its words meets them.

use super::records::{RegionList, RegionRecord};
use crate::model::relation::{Relation, Span, Status};
use crate::model::step::{self, Next, Step};
use crate::order::view::BlockView;
use crate::shadow::record_list::RECORDS;

/// What becomes of a region's records when an access meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// They represent it already.
    Same,
    /// They have changed.
    Changed,
    /// They do not tell: it races with one of them, or they would be too many. Each word must be
    /// checked by itself.
    Apart,
}

impl BlockView {
    /// The transition of a region's record that is not settled, by an access to these words. `None`
    /// if it is not the same for all words, or the record's bits do not tell.
    fn region_step(&self, r: &RegionRecord, a: &RegionRecord, words: u32) -> Option<(Relation, Step)> {
        let (mut relation, mut status) = self.relation_to_other_warps(r.record, r.span())?;
        if !r.compares_with(a) {
            let step = Step { race: false, next: Next::Both };
            return (!r.writes() && !a.writes()).then_some((relation, step));
        }
        let alone = (r.span(), a.span()) == (Span::Thread, Span::Thread);
        if alone && (relation, status) == (Relation::Block, Status::Unsynced) {
            match r.same_thread(a, words)? {
                0 => {}
                own if own == words => (relation, status) = (Relation::Itself, Status::SameEpoch),
                _ => return None,
            }
        }
        // The relation is known of records of this launch alone.
        let same_site = r.record.has_site(a.record.site()) && self.may_join(relation, r.record.clock());
        Some((relation, step::step(r.touch(), r.span(), a.touch(), relation, status, same_site)))
    }

    /// Removes the settled records of these words. Settled for the device, they may not be settled
    /// for the host: the other words of global memory keep them, as shadow words do.
    pub(super) fn drop_settled(&self, list: &mut RegionList, words: u32, shared: bool) -> bool {
        let over = if shared { !0 } else { words };
        let mut changed = false;
        for r in list.as_mut_slice() {
            if r.mask & over != 0 && self.is_settled(r.record, shared) {
                *r = r.part(!over);
                changed = true;
            }
        }
        list.retain(|r| r.mask != 0);
        changed
    }

    /// Lets an access meet the records of a list in place, where each of them that has some of its words is
    /// settled or of the same threads in this epoch, as in [`crate::shadow::fast`]. False in other cases:
    /// then nothing was done.
    #[inline]
    pub(super) fn meet_own(&self, list: &mut RegionList, a: &RegionRecord, shared: bool) -> bool {
        // The words in which no record represents the access, and the records that it replaces there.
        let (mut todo, mut replaced) = (a.mask, 0_u32);
        for (i, r) in list.as_slice().iter().enumerate().filter(|(_, r)| r.mask & a.mask != 0) {
            let both = r.words_of_both(a);
            if self.is_settled(r.record, shared) {
                replaced |= 1 << i;
            } else if both == Some(0) {
                continue;
            } else if both != Some(r.mask & a.mask) || !r.is_of_same_threads(a) || !r.compares_with(a) {
                return false;
            } else if step::covers(r.touch(), a.touch(), true) {
                todo &= !r.mask;
            } else if step::covers(a.touch(), r.touch(), true) {
                replaced |= 1 << i;
            } else if r.record.has_site(a.record.site()) {
                return false;
            }
        }
        if todo == 0 {
            return true;
        }
        let loses = |i: usize| replaced >> i & 1 != 0;
        let new = a.part(todo);
        let records = list.as_mut_slice();
        let is_gap = |(i, r): (usize, &RegionRecord)| loses(i) && r.mask & !todo == 0;
        let gaps = records.iter().enumerate().filter(|&r| is_gap(r)).count();
        let gap = records.iter().enumerate().position(is_gap);
        let like = (0..records.len()).find(|&i| records[i].is_like(a) && !is_gap((i, &records[i])));
        if like.is_none() && gap.is_none() && !list.push(new) {
            return false;
        }
        let records = list.as_mut_slice();
        (0..records.len()).filter(|&i| loses(i)).for_each(|i| records[i] = records[i].part(!todo));
        match (like, gap) {
            (Some(like), _) => records[like].mask |= todo,
            (None, Some(gap)) => records[gap] = new,
            (None, None) => {}
        }
        if gaps > usize::from(like.is_none()) {
            list.retain(|r| r.mask != 0);
        }
        true
    }

    /// Lets an access to some words of a region meet its records: what
    /// [`history::check`](crate::shadow::history::check) does, for all words of a record at once.
    pub(super) fn meet(&self, list: &mut RegionList, a: &RegionRecord, shared: bool) -> Met {
        let mut changed = self.drop_settled(list, a.mask, shared);
        let mut todo = a.mask;
        // For each record, the words in which the access's record replaces it; and the words in
        // which some record represents the access.
        let mut replaced = [0; RECORDS];
        let mut kept = 0;
        for (i, replaced) in replaced.iter_mut().enumerate().take(list.len()) {
            let r = list.as_slice()[i];
            if r.mask & a.mask == 0 {
                continue;
            }
            let both = match r.words_of_both(a) {
                Some(0) => continue,
                Some(both) => both,
                None if !r.writes() && !a.writes() => continue,
                None => return Met::Apart,
            };
            let Some((relation, Step { race: false, next })) = self.region_step(&r, a, both) else {
                return Met::Apart;
            };
            match next {
                Next::Both | Next::Extend => {}
                // The threads of one record lie at one distance.
                Next::Join(_) if !r.splits_words_like(a) => {}
                Next::Keep => kept |= both,
                Next::Replace => *replaced = both,
                Next::Join(span) => {
                    // An access joins one record.
                    let joins = both & todo;
                    todo &= !joins;
                    match join_words(list, i, a, joins, relation, span) {
                        Some(has_changed) => changed |= has_changed,
                        None => return Met::Apart,
                    }
                }
            }
        }
        todo &= !kept;
        // A read that a record among reads represents already leaves the others.
        let reads = list.as_slice().iter().chain([a]).all(|r| !r.writes());
        for (r, words) in list.as_mut_slice().iter_mut().zip(replaced) {
            let words = if reads { words & todo } else { words };
            changed |= words != 0;
            *r = r.part(!words);
        }
        list.retain(|r| r.mask != 0);
        if todo != 0 && !add_words(list, a, todo) {
            return Met::Apart;
        }
        if changed || todo != 0 { Met::Changed } else { Met::Same }
    }
}

/// Lets an access join record `i` of a list in some words. `span`: that of the record then. Where the access joins
/// threads of its own warp, the span is that of a warp. Returns whether the records have changed; `None` if they do not
/// tell, or would be too many.
#[inline(always)]
fn join_words(
    list: &mut RegionList,
    i: usize,
    a: &RegionRecord,
    words: u32,
    relation: Relation,
    span: Span,
) -> Option<bool> {
    let r = list.as_slice()[i];
    let in_warp = match relation {
        Relation::Block if words != 0 => r.same_warp(a, words)?,
        _ => 0,
    };
    let warp = r.span().max(a.span()).max(Span::Warp);
    let mut changed = false;
    for (part, span) in [(words & in_warp, warp), (words & !in_warp, span)] {
        if part == 0 || span == r.span() {
            continue;
        }
        changed = true;
        let record = r.record.with(r.op(), span);
        let stored = &mut list.as_mut_slice()[i];
        if part == stored.mask {
            stored.record = record;
        } else {
            *stored = stored.part(!part);
            list.push(RegionRecord { record, ..r.part(part) }).then_some(())?;
        }
    }
    Some(changed)
}

/// Adds an access to some words. False if there is no room.
#[inline(always)]
fn add_words(list: &mut RegionList, a: &RegionRecord, words: u32) -> bool {
    match list.as_slice().iter().position(|r| r.is_like(a) && r.mask & words == 0) {
        Some(i) => {
            list.as_mut_slice()[i].mask |= words;
            true
        }
        None => list.push(a.part(words)),
    }
}
