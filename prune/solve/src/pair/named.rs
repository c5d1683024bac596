//! Questions about arrivals at named barriers.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use gpurace_protocol::expr::{ExprId, LoopId};
use gpurace_protocol::group::Group;
use gpurace_protocol::named::{WARP, WarpSets};
use gpurace_protocol::place::Turn;
use gpurace_protocol::protocol::Named;
use gpurace_protocol::range::{Range, View};

use super::Question;
use super::way::Way;
use crate::encode::{Encoder, Frame, Setting};
use crate::linear::{Encoded, Formula, Lin};
use crate::tiles;

/// The numbers of named barriers. Number 0 is the barrier of the block.
pub const NUMBERS: RangeInclusive<u64> = 1..=15;

/// Asks whether a thread arrives at a barrier whose number is that of no named barrier.
pub fn unnumbered<'a>(setting: Setting<'a>, arrival: (Named, &[Turn<'a>])) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let number = question.number(0, arrival)?;
    let named = Range::new((*NUMBERS.start()).into(), (*NUMBERS.end()).into());
    question.sought.push(Formula::within(&number, named)?.negated());
    Ok(question)
}

/// Asks whether two threads of a block, or one thread twice, arrive at one barrier. With `sets`, no set holds both.
pub fn at_one_barrier<'a>(
    setting: Setting<'a>,
    both: [(Named, &[Turn<'a>]); 2],
    sets: Option<WarpSets>,
) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let first = question.number(0, both[0])?;
    let second = question.number(1, both[1])?;
    question.sought.push(Formula::eq(&first, &second)?);
    if let Some(sets) = sets {
        let in_one = tiles::both_in_group(&mut question.encoder, Group::Warps(sets))?;
        question.sought.push(in_one.negated());
    }
    Ok(question)
}

/// An arrival or a wait in a loop. If loops are around it, its iterations are counted over all of their rounds.
#[derive(Clone, Debug)]
pub struct Turned<'a> {
    /// The number of the barrier, or the place of the mbarrier.
    pub number: ExprId,
    /// The loop.
    pub of: LoopId,
    /// The way to it.
    pub way: Vec<Turn<'a>>,
    /// The number of turns of the way that lead into the loop.
    pub inside: usize,
    /// Of the conditions in the loop, those that choose threads for all iterations, as `lane == 0`. Questions are about
    /// the chosen threads alone.
    pub chosen: Vec<(ExprId, bool)>,
    /// The ways to syncs by which the chosen threads do it for all threads of their warps.
    pub syncs: Vec<Vec<Turn<'a>>>,
}

impl Turned<'_> {
    /// The turns that lead into loops, the outermost one first.
    pub fn into(&self) -> impl Iterator<Item = usize> {
        let all = self.way[..self.inside].iter().enumerate();
        all.filter(|(_, turn)| matches!(turn, Turn::Into(_))).map(|(at, _)| at)
    }
}

/// What may be wrong with arrivals in a loop. A proof rules it out.
#[derive(Clone, Copy, Debug)]
pub enum Doubt {
    /// A thread in the loop has an index in its block that is below the first one, or not below the second.
    Outside(u32, u32),
    /// A thread in the loop has an index that is at least the first one, and below the second.
    Inside(u32, u32),
    /// A thread arrives in an iteration `k`, and `k` plus this is below 0: no iteration of another loop is at this
    /// distance.
    TooEarly(i64),
    /// A thread does not arrive in this iteration, or in a later one.
    Silent(i64),
    /// A thread comes to this iteration.
    GoesOn(i64),
}

/// Asks whether this is wrong with an arrival.
pub fn doubted<'a>(setting: Setting<'a>, at: &Turned<'a>, doubt: Doubt) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let (mut way, k) = question.enter(0, at)?;
    let thread = question.encoder.linear_tid(0)?;
    let constant = |value: i64| Lin::constant(value.into());
    match doubt {
        Doubt::Outside(first, end) => question.sought.push(Formula::any([
            Formula::lt(&thread, &constant(first.into()))?,
            Formula::le(&constant(end.into()), &thread)?,
        ])),
        Doubt::Inside(first, end) => question.sought.extend([
            Formula::le(&constant(first.into()), &thread)?,
            Formula::lt(&thread, &constant(end.into()))?,
        ]),
        Doubt::TooEarly(shift) => {
            let arrives = question.arrives(&mut way, at)?;
            question.sought.extend([arrives, Formula::lt(&k.shifted(shift.into())?, &constant(0))?]);
        }
        Doubt::Silent(first) => {
            let silent = question.arrives(&mut way, at)?.negated();
            question.sought.extend([silent, Formula::le(&constant(first), &k)?]);
        }
        Doubt::GoesOn(first) => question.sought.push(Formula::le(&constant(first), &k)?),
    }
    Ok(question)
}

/// Asks whether a thread arrives in some iteration, and another one, `shift` iterations of its loop later, does not
/// arrive at the same barrier.
pub fn unmatched<'a>(setting: Setting<'a>, both: [&Turned<'a>; 2], shift: i64) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let (_, _, matched) = question.matched(both, shift)?;
    question.sought.push(matched.negated());
    Ok(question)
}

/// Asks about an early end. A thread leaves the second one's loop, which has no breaks, in some iteration, and all
/// loops around it. Another thread comes to an iteration of the first one's loop that is more than `shift` later.
pub fn leaves_early<'a>(
    setting: Setting<'a>,
    [later, at]: [&Turned<'a>; 2],
    shift: i64,
) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let (_, next) = question.enter(0, later)?;
    let (way, last) = question.enter(1, at)?;
    question.sought.push(Formula::eq(&last.shifted(i128::from(shift) + 1)?, &next)?);
    for of in at.way[..at.inside].iter().filter_map(Turn::into_loop) {
        let left = question.encoder.ends(&way, of, false)?;
        question.sought.push(left);
    }
    Ok(question)
}

/// Asks whether two nests of loops, which only their conditions end, have different iterations. Two threads are in the
/// same iterations of the outer loops of theirs. One comes to an iteration of its loop at this depth, for which the
/// other one has left its own.
pub fn rounds_differ<'a>(
    setting: Setting<'a>,
    [later, at]: [&Turned<'a>; 2],
    depth: usize,
) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let (Some(last), Some(before)) = (later.into().nth(depth), at.into().nth(depth)) else {
        return Ok(question);
    };
    let mut shared: Vec<Lin> = Vec::new();
    for (side, way) in [&later.way[..=last], &at.way[..before]].into_iter().enumerate() {
        let mut passed = 0;
        let counter = |encoder: &mut Encoder<'a>, range, _| {
            if shared.len() == passed {
                shared.push(Lin::atom(encoder.fresh("iteration", range)));
            }
            passed += 1;
            shared[passed - 1].clone()
        };
        let mut way = question.walk(side, way, |_| true, |_, _| None, counter)?;
        if let (1, Turn::Into(of)) = (side, at.way[before]) {
            way.frame.iteration.insert(of.id, shared[depth].clone());
            // It may have left the loop before.
            way.frame.certain = false;
            question.sought.push(question.encoder.decided(&mut way.frame, (of.cond, false))?);
        }
    }
    Ok(question)
}

/// Asks whether threads arrive at one barrier in two iterations that are less than `period` apart.
pub fn too_often<'a>(setting: Setting<'a>, at: &Turned<'a>, period: i64) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let mut both = Vec::new();
    for side in [0, 1] {
        let (mut way, k) = question.enter(side, at)?;
        let arrives = question.arrives(&mut way, at)?;
        question.sought.push(arrives);
        both.push((question.encoder.computed(&mut way.frame, at.number, View::Unsigned)?, k));
    }
    question.sought.extend([
        Formula::eq(&both[0].0, &both[1].0)?,
        Formula::lt(&both[0].1, &both[1].1)?,
        Formula::lt(&both[1].1, &both[0].1.shifted(period.into())?)?,
    ]);
    Ok(question)
}

/// Asks whether a thread is in the loop, and the first thread of its warp is not chosen.
pub fn first_not_chosen<'a>(setting: Setting<'a>, at: &Turned<'a>) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let all = Turned { chosen: Vec::new(), ..at.clone() };
    question.enter(0, &all)?;
    let encoder = &mut question.encoder;
    let (warp, _) = encoder.warp_and_lane(0)?;
    let is_first = Formula::eq(&encoder.linear_tid(1)?, &warp.times(WARP.into())?)?;
    let mut frame = Frame::uncertain(setting, 1, HashMap::new());
    let chosen = encoder.all_decided(&mut frame, &at.chosen)?;
    question.sought.extend([is_first, chosen.negated()]);
    Ok(question)
}

impl<'a> Question<'a> {
    /// Asks whether a thread arrives at a named barrier on its way. Returns the barrier's number.
    fn number(&mut self, side: usize, (sync, way): (Named, &[Turn<'a>])) -> Encoded<Lin> {
        let mut way = self.follow(side, way)?;
        self.encoder.computed(&mut way.frame, sync.id, View::Unsigned)
    }

    /// Asks whether a thread enters an iteration of the loop around an arrival. Returns the iteration's number, over
    /// all rounds of the loops around.
    pub(super) fn enter(&mut self, side: usize, at: &Turned<'a>) -> Encoded<(Way<'a>, Lin)> {
        let mut way = self.follow(side, &at.way[..at.inside])?;
        let k = match way.loops.contains_key(&at.of) {
            true => self.encoder.total(&way.frame, at.of)?,
            false => Lin::default(),
        };
        for &(cond, value) in &at.chosen {
            self.sought.push(self.encoder.decided(&mut way.frame, (cond, value))?);
            way.frame.guard(cond, value);
        }
        Ok((way, k))
    }

    /// Returns the formula that a thread in an iteration of the loop comes to the arrival.
    pub(super) fn arrives(&mut self, way: &mut Way<'a>, at: &Turned<'a>) -> Encoded<Formula> {
        // It may not come there.
        way.frame.certain = false;
        let conds = at.way[at.inside..].iter().filter_map(Turn::branch);
        let others: Vec<_> = conds.filter(|cond| !at.chosen.contains(cond)).collect();
        self.encoder.all_decided(&mut way.frame, &others)
    }

    /// Asks whether a thread arrives in some iteration, and another one is in the iteration that is `shift` later in
    /// its own loop. Returns the first iteration, the way of the other thread, and the formula that it arrives at the
    /// same barrier.
    pub(super) fn matched(
        &mut self,
        [a, b]: [&Turned<'a>; 2],
        shift: i64,
    ) -> Encoded<(Lin, Way<'a>, Formula)> {
        let (mut first, k) = self.enter(0, a)?;
        let (mut second, l) = self.enter(1, b)?;
        let arrives = self.arrives(&mut first, a)?;
        self.sought.extend([arrives, Formula::eq(&k.shifted(shift.into())?, &l)?]);
        let also = self.arrives(&mut second, b)?;
        let number = self.encoder.computed(&mut first.frame, a.number, View::Unsigned)?;
        let other = self.encoder.computed(&mut second.frame, b.number, View::Unsigned)?;
        Ok((k, second, Formula::all([also, Formula::eq(&number, &other)?])))
    }
}
