//! Questions about arrivals at mbarriers, and waits for phases of a parity.

use gpurace_protocol::expr::ExprId;
use gpurace_protocol::group::Group;
use gpurace_protocol::named::WarpSets;
use gpurace_protocol::place::Turn;
use gpurace_protocol::protocol::Test;
use gpurace_protocol::range::Range;

use super::named::Turned;
use super::{Question, Relation, distinct};
use crate::encode::{Encoder, Setting};
use crate::linear::{Encoded, Formula, Lin};
use crate::tiles;

/// Asks whether two threads of one of these sets arrive, each at its place.
pub fn both_arrive<'a>(
    setting: Setting<'a>,
    each: [&Turned<'a>; 2],
    sets: WarpSets,
) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    for (side, at) in each.into_iter().enumerate() {
        let (mut way, _) = question.enter(side, at)?;
        let arrives = question.arrives(&mut way, at)?;
        question.sought.push(arrives);
    }
    let differ = distinct(&mut question.encoder, Relation::SameBlock)?;
    let in_one = tiles::both_in_group(&mut question.encoder, Group::Warps(sets))?;
    question.sought.extend([differ, in_one]);
    Ok(question)
}

/// The phases of an mbarrier, by the iterations of the loop that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Phases {
    /// The number of the phase to which the first arrival in the loop belongs.
    pub first: i64,
    /// Another loop waits for the arrival of iteration `k` in iteration `k + shift`.
    pub shift: i64,
    /// The iterations from an arrival at an mbarrier to the next one there.
    pub period: i64,
}

/// Asks about a wait for another phase. A thread arrives in some iteration `k`. Another one, `shift` iterations of its
/// loop later, does not wait at the same mbarrier for the phase with the parity of `first + k / period`.
pub fn unwaited<'a>(
    setting: Setting<'a>,
    both: [&Turned<'a>; 2],
    parity: ExprId,
    Phases { first, shift, period }: Phases,
) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let (k, mut wait, matched) = question.matched(both, shift)?;
    let encoder = &mut question.encoder;
    let (phase, _) = encoder.divide(&k, period.into())?;
    let (_, odd) = encoder.divide(&phase.shifted(first.into())?, 2)?;
    let odd = Formula::eq(&odd, &Lin::constant(1))?;
    let waits_for_odd = encoder.cond(&mut wait.frame, parity)?;
    let is_its = Formula::alike(odd, waits_for_odd);
    question.sought.push(Formula::all([matched, is_its]).negated());
    Ok(question)
}

/// Asks whether a thread which comes to a loop makes fewer iterations than `rounds`. The loop has no breaks.
pub fn ends_before<'a>(setting: Setting<'a>, at: &Turned<'a>, rounds: i64) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let Some((Turn::Into(of), before)) = at.way[..at.inside].split_last() else { return Ok(question) };
    let none = |_: &mut Encoder<'a>, _, _| Lin::default();
    let mut way = question.walk(0, before, |_| true, |_, _| None, none)?;
    // The iteration before whose condition, or behind which, it leaves.
    let last = match of.test {
        Test::Before => rounds - 1,
        Test::After => rounds - 2,
    };
    let k = Lin::atom(question.encoder.fresh("iteration", Range::new(0, last.max(0).into())));
    way.frame.iteration.insert(of.id, k);
    way.frame.certain = false;
    let ends = question.encoder.decided(&mut way.frame, (of.cond, false))?;
    question.sought.push(if last < 0 { Formula::False } else { ends });
    Ok(question)
}
