//! A new access against the chain of its word: the same rules as the state
//! machine's, record by record, with lane sets.

use std::sync::atomic::Ordering;

use crate::block::{Access, State};
use crate::chain::{Chain, Entry};
use crate::checker::Inner;
use crate::standing::Standing;
use crate::state::{self, Next, Relation, Status};
use crate::word::{Op, Span};

/// Records that a read looks back on among reads only. It races with none of
/// them: looking further would only find what to merge with or to drop.
const LOOK_BACK: usize = 48;

/// What becomes of a record.
enum Fate {
    Stays,
    Goes,
}

/// Checks access `a` against each record of the chain, and records it.
pub(crate) fn visit(state: &mut State, inner: &Inner, chain: &mut Chain, a: &Access<'_>, shared: bool) {
    let site = state.launch.data.site_base + a.site;
    let reads_only = chain.reads_only && a.touch.op == Op::Read;
    let first = if reads_only { first_to_meet(state, chain, a, shared) } else { 0 };
    if reads_only {
        let joins = if state.exact { joins_warp } else { joins_span };
        if joins(state, chain, a, site) {
            return;
        }
    }
    state.sightings.contested = if a.touch.op == Op::Write { contested(chain) } else { 0 };
    let mut represented = false;
    let mut kept = first;
    for i in first..chain.entries.len() {
        let mut e = chain.entries[i];
        if let Fate::Stays = meet(state, &mut e, a, site, shared, &mut represented) {
            chain.entries[kept] = e;
            kept += 1;
        }
    }
    state.sightings.contested = 0;
    chain.entries.truncate(kept);
    if !represented {
        if chain.entries.len() < inner.limits.entries {
            chain.entries.push(state.new_entry(a));
        } else {
            inner.lost_records.fetch_add(1, Ordering::Relaxed);
        }
    }
    chain.reads_only = reads_only || chain.entries.iter().all(|e| e.touch.op == Op::Read);
}

/// The bytes that more than one record of the chain has changed.
fn contested(chain: &Chain) -> u8 {
    let changes = |e: &&Entry| matches!(e.touch.op, Op::Write | Op::Atomic { modifies: true, .. });
    let (mut once, mut twice) = (0, 0);
    for e in chain.entries.iter().filter(changes) {
        twice |= once & e.touch.mask;
        once |= e.touch.mask;
    }
    twice
}

/// Where a read that comes to reads only begins to look.
fn first_to_meet(state: &State, chain: &Chain, a: &Access<'_>, shared: bool) -> usize {
    let oldest = chain.entries.first();
    let settled =
        oldest.is_some_and(|e| state.standing(a.thread, &e.member, shared).status == Status::Settled);
    if settled { 0 } else { chain.entries.len().saturating_sub(LOOK_BACK) }
}

/// The common case among reads only: other lanes of the warp have just read
/// the word by the same instruction.
fn joins_warp(state: &State, chain: &mut Chain, a: &Access<'_>, site: u32) -> bool {
    let (uid, clock) = state.when(a);
    let recent = chain.entries.iter_mut().rev().take(LOOK_BACK);
    for e in recent {
        let m = &mut e.member;
        if m.uid == uid
            && m.clock == clock
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

/// The same where threads are known by spans: others of the block, or of the
/// grid, have just read the word by the same instruction.
fn joins_span(state: &State, chain: &mut Chain, a: &Access<'_>, site: u32) -> bool {
    if a.copy.is_some() {
        return false;
    }
    let (uid, clock) = state.when(a);
    let recent = chain.entries.iter_mut().rev().take(LOOK_BACK);
    for e in recent {
        let m = &mut e.member;
        if e.site != site || e.touch != a.touch || m.is_copy() || !state.launch.owns(m.uid) {
            continue;
        }
        let span = if m.span != Span::Grid && m.uid == uid && m.clock == clock {
            if m.span == Span::Thread && u32::from(m.thread) == a.thread {
                Span::Thread
            } else if m.span != Span::Block && m.warp() == a.thread / 32 {
                Span::Warp
            } else {
                Span::Block
            }
        } else if (m.span == Span::Grid || (m.uid != uid && !state.order.has_past()))
            && !state.order.knows_others()
        {
            Span::Grid
        } else {
            continue;
        };
        if span != Span::Thread {
            m.span = span;
            m.lanes = 0;
        }
        return true;
    }
    false
}

fn meet(
    state: &mut State,
    e: &mut Entry,
    a: &Access<'_>,
    site: u32,
    shared: bool,
    represented: &mut bool,
) -> Fate {
    let s = state.standing(a.thread, &e.member, shared);
    if s.status == Status::Settled {
        return Fate::Goes;
    }
    let same_site = s.mine && e.site == site;
    if state.exact && e.member.lanes != 0 {
        return meet_lanes(state, e, a, s, same_site, represented);
    }
    let step = state::step(e.touch, e.member.span, a.touch, s.relation, s.status, same_site);
    if step.race {
        state.race(e, &s, a);
    }
    match step.next {
        Next::Replace => Fate::Goes,
        Next::Keep => {
            *represented = true;
            Fate::Stays
        }
        // Lanes of another launch that are known one by one stay so.
        Next::Join(span) if !*represented && (e.member.lanes.count_ones() <= 1) => {
            e.member.span = span;
            e.member.lanes = 0;
            *represented = true;
            Fate::Stays
        }
        Next::Join(_) | Next::Both => Fate::Stays,
    }
}

/// A record whose threads are known one by one, in an exact launch.
fn meet_lanes(
    state: &mut State,
    e: &mut Entry,
    a: &Access<'_>,
    s: Standing,
    same_site: bool,
    represented: &mut bool,
) -> Fate {
    let lane = 1 << (a.thread % 32);
    let unordered = e.member.lanes & !s.ordered;
    if unordered != 0 && state::conflict(e.touch, a.touch, s.relation) {
        state.race(e, &s, a);
    }
    let same_block = matches!(s.relation, Relation::Itself | Relation::Warp | Relation::Block);
    let now = (e.member.uid, e.member.clock) == state.when(a) && e.member.warp() == a.thread / 32;
    let mut own = 0;
    if now && e.member.lanes & lane != 0 && state::covers(e.touch, a.touch, same_block) {
        own = lane;
        *represented = true;
    }
    if state::covers(a.touch, e.touch, same_block) {
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
