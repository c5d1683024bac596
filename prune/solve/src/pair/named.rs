//! Formulas about arrivals at named barriers.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use gpurace_protocol::expr::{ExprId, LoopId};
use gpurace_protocol::group::Group;
use gpurace_protocol::interval::At;
use gpurace_protocol::named::{WARP, WarpSets};
use gpurace_protocol::place::Turn;
use gpurace_protocol::protocol::{Named, Test};
use gpurace_protocol::range::{Range, View};

use super::PairFormula;
use super::way::{Way, decided, follow, moment, walk};
use crate::encode::{Encoder, Frame, Setting};
use crate::linear::{Encoded, Formula, Lin};
use crate::tiles;

/// The numbers of named barriers. Number 0 is the barrier of the block.
pub const NUMBERS: RangeInclusive<u64> = 1..=15;

/// Returns the formula that a thread arrives at a barrier whose number is that of no named barrier.
pub fn unnumbered<'a>(
    setting: Setting<'a>,
    (sync, way): (Named, &[Turn<'a>]),
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let number = number(&mut encoder, &mut sought, 0, (sync, way))?;
    let named = Range::new((*NUMBERS.start()).into(), (*NUMBERS.end()).into());
    sought.push(Formula::within(&number, named)?.negated());
    PairFormula::of(encoder, sought, candidates)
}

/// Returns the formula that two threads of a block, or one thread twice, arrive at one barrier. With `sets`, no set
/// holds both.
pub fn at_one_barrier<'a>(
    setting: Setting<'a>,
    both: [(Named, &[Turn<'a>]); 2],
    sets: Option<WarpSets>,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let first = number(&mut encoder, &mut sought, 0, both[0])?;
    let second = number(&mut encoder, &mut sought, 1, both[1])?;
    sought.push(Formula::eq(&first, &second)?);
    if let Some(sets) = sets {
        sought.push(tiles::both_in_group(&mut encoder, Group::Warps(sets))?.negated());
    }
    PairFormula::of(encoder, sought, candidates)
}

/// Returns the number of the barrier at which a thread arrives on its way.
fn number<'a>(
    encoder: &mut Encoder<'a>,
    sought: &mut Vec<Formula>,
    side: usize,
    (sync, way): (Named, &[Turn<'a>]),
) -> Encoded<Lin> {
    let mut way = follow(encoder, sought, side, way)?;
    encoder.computed(&mut way.frame, sync.id, View::Unsigned)
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

/// Returns the formula that this is wrong with an arrival.
pub fn doubted<'a>(
    setting: Setting<'a>,
    at: &Turned<'a>,
    doubt: Doubt,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let (mut way, k) = enter(&mut encoder, &mut sought, 0, at)?;
    let thread = encoder.linear_tid(0)?;
    let constant = |value: i64| Lin::constant(value.into());
    match doubt {
        Doubt::Outside(first, end) => sought.push(Formula::any([
            Formula::lt(&thread, &constant(first.into()))?,
            Formula::le(&constant(end.into()), &thread)?,
        ])),
        Doubt::Inside(first, end) => sought.extend([
            Formula::le(&constant(first.into()), &thread)?,
            Formula::lt(&thread, &constant(end.into()))?,
        ]),
        Doubt::TooEarly(shift) => {
            sought.push(arrives(&mut encoder, &mut way, at)?);
            sought.push(Formula::lt(&k.shifted(shift.into())?, &constant(0))?);
        }
        Doubt::Silent(first) => {
            sought.push(arrives(&mut encoder, &mut way, at)?.negated());
            sought.push(Formula::le(&constant(first), &k)?);
        }
        Doubt::GoesOn(first) => sought.push(Formula::le(&constant(first), &k)?),
    }
    PairFormula::of(encoder, sought, candidates)
}

/// Returns the formula that a thread arrives in some iteration, and another one, `shift` iterations of its loop later,
/// does not arrive at the same barrier.
pub fn unmatched<'a>(
    setting: Setting<'a>,
    [a, b]: [&Turned<'a>; 2],
    shift: i64,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let (mut first, k) = enter(&mut encoder, &mut sought, 0, a)?;
    let (mut second, l) = enter(&mut encoder, &mut sought, 1, b)?;
    sought.push(arrives(&mut encoder, &mut first, a)?);
    sought.push(Formula::eq(&k.shifted(shift.into())?, &l)?);
    let arrives = arrives(&mut encoder, &mut second, b)?;
    let number = encoder.computed(&mut first.frame, a.number, View::Unsigned)?;
    let other = encoder.computed(&mut second.frame, b.number, View::Unsigned)?;
    sought.push(Formula::all([arrives, Formula::eq(&number, &other)?]).negated());
    PairFormula::of(encoder, sought, candidates)
}

/// Returns the formula of an early end. A thread leaves the second one's loop, which has no breaks, in some iteration,
/// and all loops around it. Another thread comes to an iteration of the first one's loop that is more than `shift`
/// later.
pub fn leaves_early<'a>(
    setting: Setting<'a>,
    [later, at]: [&Turned<'a>; 2],
    shift: i64,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let (_, next) = enter(&mut encoder, &mut sought, 0, later)?;
    let (way, last) = enter(&mut encoder, &mut sought, 1, at)?;
    sought.push(Formula::eq(&last.shifted(i128::from(shift) + 1)?, &next)?);
    for turn in at.into() {
        let Turn::Into(of) = at.way[turn] else { continue };
        let test = match of.test {
            Test::Before => vec![(of.id, At::Next)],
            Test::After => Vec::new(),
        };
        let mut frame = moment(&encoder, &way, &test, false)?;
        sought.push(encoder.cond(&mut frame, of.cond)?.negated());
    }
    PairFormula::of(encoder, sought, candidates)
}

/// Returns the formula that two nests of loops, which only their conditions end, have different iterations. Two threads
/// are in the same iterations of the outer loops of theirs. One comes to an iteration of its loop at this depth, for
/// which the other one has left its own.
pub fn rounds_differ<'a>(
    setting: Setting<'a>,
    [later, at]: [&Turned<'a>; 2],
    depth: usize,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let (Some(last), Some(before)) = (later.into().nth(depth), at.into().nth(depth)) else {
        return PairFormula::of(encoder, sought, candidates);
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
        let mut way = walk(&mut encoder, &mut sought, side, way, |_| true, |_, _| None, counter)?;
        if let (1, Turn::Into(of)) = (side, at.way[before]) {
            way.frame.iteration.insert(of.id, shared[depth].clone());
            // It may have left the loop before.
            way.frame.certain = false;
            sought.push(encoder.cond(&mut way.frame, of.cond)?.negated());
        }
    }
    PairFormula::of(encoder, sought, candidates)
}

/// Returns the formula that threads arrive at one barrier in two iterations that are less than `period` apart.
pub fn too_often<'a>(
    setting: Setting<'a>,
    at: &Turned<'a>,
    period: i64,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let mut both = Vec::new();
    for side in [0, 1] {
        let (mut way, k) = enter(&mut encoder, &mut sought, side, at)?;
        sought.push(arrives(&mut encoder, &mut way, at)?);
        both.push((encoder.computed(&mut way.frame, at.number, View::Unsigned)?, k));
    }
    sought.push(Formula::eq(&both[0].0, &both[1].0)?);
    sought.push(Formula::lt(&both[0].1, &both[1].1)?);
    sought.push(Formula::lt(&both[1].1, &both[0].1.shifted(period.into())?)?);
    PairFormula::of(encoder, sought, candidates)
}

/// Returns the formula that a thread is in the loop, and the first thread of its warp is not chosen.
pub fn first_not_chosen<'a>(
    setting: Setting<'a>,
    at: &Turned<'a>,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let all = Turned { chosen: Vec::new(), ..at.clone() };
    enter(&mut encoder, &mut sought, 0, &all)?;
    let (warp, _) = encoder.warp_and_lane(0)?;
    sought.push(Formula::eq(&encoder.linear_tid(1)?, &warp.times(WARP.into())?)?);
    let mut frame = Frame::uncertain(setting, 1, HashMap::new());
    let mut chosen = Vec::new();
    for (cond, value) in &at.chosen {
        chosen.push(decided(&mut encoder, &mut frame, *cond, *value)?);
    }
    sought.push(Formula::all(chosen).negated());
    PairFormula::of(encoder, sought, candidates)
}

/// A thread enters an iteration of the loop around an arrival. Returns the iteration's number, over all rounds of the
/// loops around.
pub(super) fn enter<'a>(
    encoder: &mut Encoder<'a>,
    sought: &mut Vec<Formula>,
    side: usize,
    at: &Turned<'a>,
) -> Encoded<(Way<'a>, Lin)> {
    let mut way = follow(encoder, sought, side, &at.way[..at.inside])?;
    let k = match way.loops.contains_key(&at.of) {
        true => encoder.total(&way.frame, at.of)?,
        false => Lin::default(),
    };
    for (cond, value) in &at.chosen {
        sought.push(decided(encoder, &mut way.frame, *cond, *value)?);
        way.frame.guard(*cond, *value);
    }
    Ok((way, k))
}

/// Returns the formula that a thread in an iteration of the loop comes to the arrival.
pub(super) fn arrives<'a>(encoder: &mut Encoder<'a>, way: &mut Way<'a>, at: &Turned<'a>) -> Encoded<Formula> {
    // It may not come there.
    way.frame.certain = false;
    let mut all = Vec::new();
    for turn in &at.way[at.inside..] {
        if let Turn::Branch { cond, value } = turn
            && !at.chosen.contains(&(*cond, *value))
        {
            all.push(decided(encoder, &mut way.frame, *cond, *value)?);
        }
    }
    Ok(Formula::all(all))
}
