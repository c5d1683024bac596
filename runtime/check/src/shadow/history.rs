//! A new access against the chain of its word: the transition function record by record, with lane
//! sets.

use std::sync::atomic::Ordering;

use crate::model::access::{Access, FULL, Op, Touch};
use crate::model::entry::Entry;
use crate::model::relation::{Relation, Span, Standing, Status};
use crate::model::step::{self, Next};
use crate::order::view::BlockView;
use crate::shadow::RaceSink;
use crate::shadow::chain::Chain;
use crate::shadow::process::Shadow;

/// The newest records that an access meets which conflicts with none of the word's. From older ones it would only
/// learn which to join or to drop.
const LOOK_BACK: usize = 48;

/// What becomes of a record.
enum Fate {
    Stays,
    Goes,
}

/// Checks an access against each record of the chain, and records it.
pub(crate) fn check(
    view: &BlockView,
    shadow: &Shadow,
    chain: &mut Chain,
    a: &Access,
    races: &mut impl RaceSink,
) {
    let common = without_conflict(view, chain, a);
    if common.is_some() {
        let joins = if view.names_each_thread { joins_warp } else { joins_span };
        if joins(view, chain, a) {
            return;
        }
    }
    let first = if common.is_some() { first_to_meet(view, chain, a) } else { 0 };
    let contested =
        if a.touch.op == Op::Write { contested(chain.entries.iter().map(|e| e.touch)) } else { 0 };
    let mut represented = false;
    let mut kept = first;
    for i in first..chain.entries.len() {
        let mut e = chain.entries[i];
        let mut race = |e: &Entry, s: &Standing| races.race(e, s, a, contested);
        if let Fate::Stays = meet(view, &mut e, a, &mut represented, &mut race) {
            chain.entries[kept] = e;
            kept += 1;
        }
    }
    chain.entries.truncate(kept);
    if !represented {
        if chain.entries.len() < shadow.most_records {
            chain.entries.push(view.new_entry(a));
        } else {
            shadow.lost_records.fetch_add(1, Ordering::Relaxed);
        }
    }
    match common {
        Some(_) => chain.common = common,
        None => chain.find_common(),
    }
}

/// True if a read of a word that was only read changes nothing, as one record tells: threads of the block, this one
/// among them, have read the same bytes by the same instruction in this epoch.
pub(crate) fn represents(view: &BlockView, chain: &Chain, a: &Access) -> bool {
    let plain = a.touch.op == Op::Read && a.copy.is_none() && !view.names_each_thread;
    if !plain || chain.common != Some(Op::Read) {
        return false;
    }
    let (when, site) = (view.when(a), view.launch.data.site_base + a.site);
    chain.entries.iter().any(|e| {
        let m = &e.member;
        e.site == site
            && e.touch == a.touch
            && m.span == Span::Block
            && m.lanes == 0
            && (m.uid, m.clock) == when
    })
}

/// The operation that the entries and an access have in common ([`step::common`]); `None` if some of them may conflict.
/// It is a read among plain reads. Where records name each thread, it may also be an atomic among atomics, such as
/// those at which many threads arrive and wait.
fn without_conflict(view: &BlockView, chain: &Chain, a: &Access) -> Option<Op> {
    if !view.names_each_thread && a.touch.op != Op::Read {
        return None;
    }
    let op = step::common(chain.common?, a.touch.op)?;
    // Only threads of the block reach its shared memory.
    let farthest = if a.shared { Relation::Block } else { Relation::Launch };
    let touch = Touch { op, mask: FULL };
    (!step::conflict(touch, touch, farthest)).then_some(op)
}

/// The bytes that more than one record of a word has changed.
pub(super) fn contested(records: impl Iterator<Item = Touch>) -> u8 {
    let changes = |touch: &Touch| matches!(touch.op, Op::Write | Op::Atomic { modifies: true, .. });
    let (mut once, mut twice) = (0, 0);
    for touch in records.filter(changes) {
        twice |= once & touch.mask;
        once |= touch.mask;
    }
    twice
}

/// The first record that an access meets which conflicts with none.
fn first_to_meet(view: &BlockView, chain: &Chain, a: &Access) -> usize {
    let settled = |e: &Entry| view.standing(a.thread, &e.member, a.shared).status == Status::Settled;
    if chain.entries.first().is_some_and(settled) { 0 } else { chain.entries.len().saturating_sub(LOOK_BACK) }
}

/// Joins an access to the record of other lanes of its warp that have just accessed the word by the same
/// instruction: the frequent case where records name each thread and nothing conflicts.
fn joins_warp(view: &BlockView, chain: &mut Chain, a: &Access) -> bool {
    let when = view.when(a);
    let site = view.launch.data.site_base + a.site;
    let recent = chain.entries.iter_mut().rev().take(LOOK_BACK);
    for e in recent {
        let m = &mut e.member;
        if (m.uid, m.clock) == when
            && m.warp() == a.thread / 32
            && m.lanes != 0
            && e.site == site
            && e.touch == a.touch
        {
            m.lanes |= 1 << (a.thread % 32);
            m.span = if m.lanes.is_power_of_two() { Span::Thread } else { Span::Warp };
            return true;
        }
    }
    false
}

/// The same where records have spans: joins a read to the record of other threads of the launch
/// that have just read the word by the same instruction.
fn joins_span(view: &BlockView, chain: &mut Chain, a: &Access) -> bool {
    if a.copy.is_some() {
        return false;
    }
    let site = view.launch.data.site_base + a.site;
    let recent = chain.entries.iter_mut().rev().take(LOOK_BACK);
    for e in recent {
        let m = &mut e.member;
        if e.site != site || e.touch != a.touch || m.is_copy() || !view.launch.owns(m.uid) {
            continue;
        }
        let s = view.standing(a.thread, m, a.shared);
        let same_site = view.may_join(s.relation, m.clock);
        match step::step(e.touch, m.span, a.touch, s.relation, s.status, same_site).next {
            Next::Keep => return true,
            Next::Join(span) => {
                (m.span, m.lanes) = (span, 0);
                return true;
            }
            Next::Replace | Next::Extend | Next::Both => {}
        }
    }
    false
}

/// Lets an access meet a record. Sets `represented` where the record then represents the access.
fn meet(
    view: &BlockView,
    e: &mut Entry,
    a: &Access,
    represented: &mut bool,
    race: &mut impl FnMut(&Entry, &Standing),
) -> Fate {
    let s = view.standing(a.thread, &e.member, a.shared);
    if s.status == Status::Settled {
        return Fate::Goes;
    }
    let same_site = s.mine && e.site == view.launch.data.site_base + a.site;
    if (view.names_each_thread || e.member.is_copy()) && e.member.lanes != 0 {
        return meet_lanes(view, e, a, s, same_site, represented, race);
    }
    let same_site = same_site && view.may_join(s.relation, e.member.clock);
    let step = step::step(e.touch, e.member.span, a.touch, s.relation, s.status, same_site);
    if step.race {
        race(e, &s);
    }
    match step.next {
        Next::Replace => Fate::Goes,
        // A copy is done later than what its thread does.
        Next::Keep | Next::Join(_) | Next::Extend if a.copy.is_some() => Fate::Stays,
        Next::Keep => {
            *represented = true;
            Fate::Stays
        }
        // Several lanes of another launch that are known one by one stay so.
        Next::Join(span) if !*represented && e.member.lanes.count_ones() <= 1 => {
            e.member.span = span;
            e.member.lanes = 0;
            *represented = true;
            Fate::Stays
        }
        Next::Extend if !*represented => {
            e.touch = e.touch.with_bytes(a.touch.mask);
            *represented = true;
            Fate::Stays
        }
        Next::Join(_) | Next::Extend | Next::Both => Fate::Stays,
    }
}

/// The same for a record whose threads are known one by one.
fn meet_lanes(
    view: &BlockView,
    e: &mut Entry,
    a: &Access,
    s: Standing,
    same_site: bool,
    represented: &mut bool,
    race: &mut impl FnMut(&Entry, &Standing),
) -> Fate {
    let lane = 1 << (a.thread % 32);
    let unordered = e.member.lanes & !s.ordered;
    if unordered != 0 && step::conflict(e.touch, a.touch, s.relation) {
        race(e, &s);
    }
    let same_block = s.relation.in_block();
    let now = (e.member.uid, e.member.clock) == view.when(a) && e.member.warp() == a.thread / 32;
    let mut own = 0;
    if now && e.member.lanes & lane != 0 && step::covers(e.touch, a.touch, same_block) {
        own = lane;
        *represented = true;
    }
    if step::covers(a.touch, e.touch, same_block) {
        e.member.lanes = unordered | own;
    }
    if now && !*represented && same_site && e.touch == a.touch {
        e.member.lanes |= lane;
        *represented = true;
    }
    if e.member.lanes == 0 {
        return Fate::Goes;
    }
    if e.member.lanes.is_power_of_two() {
        e.member.thread = (e.member.thread & !31) | e.member.lanes.trailing_zeros() as u16;
        e.member.span = Span::Thread;
    } else {
        e.member.span = Span::Warp;
    }
    Fate::Stays
}
