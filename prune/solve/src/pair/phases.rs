//! Formulas about arrivals at mbarriers, and waits for phases of a parity.

use gpurace_protocol::expr::ExprId;
use gpurace_protocol::group::Group;
use gpurace_protocol::named::WarpSets;
use gpurace_protocol::place::Turn;
use gpurace_protocol::protocol::Test;
use gpurace_protocol::range::{Range, View};

use super::named::{Turned, arrives, enter};
use super::way::walk;
use super::{PairFormula, Relation, distinct};
use crate::encode::{Encoder, Setting};
use crate::linear::{Encoded, Formula, Lin};
use crate::tiles;

/// Returns the formula that two threads of one of these sets arrive, each at its place.
pub fn both_arrive<'a>(
    setting: Setting<'a>,
    each: [&Turned<'a>; 2],
    sets: WarpSets,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    for (side, at) in each.into_iter().enumerate() {
        let (mut way, _) = enter(&mut encoder, &mut sought, side, at)?;
        sought.push(arrives(&mut encoder, &mut way, at)?);
    }
    sought.push(distinct(&mut encoder, Relation::SameBlock)?);
    sought.push(tiles::both_in_group(&mut encoder, Group::Warps(sets))?);
    PairFormula::of(encoder, sought, candidates)
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

/// Returns the formula of a wait for another phase. A thread arrives in some iteration `k`. Another one, `shift`
/// iterations of its loop later, does not wait at the same mbarrier for the phase with the parity of
/// `first + k / period`.
pub fn unwaited<'a>(
    setting: Setting<'a>,
    [arrival, wait]: [&Turned<'a>; 2],
    parity: ExprId,
    Phases { first: before, shift, period }: Phases,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let (mut first, k) = enter(&mut encoder, &mut sought, 0, arrival)?;
    let (mut second, l) = enter(&mut encoder, &mut sought, 1, wait)?;
    sought.push(arrives(&mut encoder, &mut first, arrival)?);
    sought.push(Formula::eq(&k.shifted(shift.into())?, &l)?);
    let waits = arrives(&mut encoder, &mut second, wait)?;
    let number = encoder.computed(&mut first.frame, arrival.number, View::Unsigned)?;
    let other = encoder.computed(&mut second.frame, wait.number, View::Unsigned)?;
    let (phase, _) = encoder.divide(&k, period.into())?;
    let (_, odd) = encoder.divide(&phase.shifted(before.into())?, 2)?;
    let odd = Formula::eq(&odd, &Lin::constant(1))?;
    let waits_for_odd = encoder.cond(&mut second.frame, parity)?;
    let is_its = Formula::alike(odd, waits_for_odd);
    sought.push(Formula::all([waits, Formula::eq(&number, &other)?, is_its]).negated());
    PairFormula::of(encoder, sought, candidates)
}

/// Returns the formula that a thread which comes to a loop makes fewer iterations than `rounds`. The loop has no
/// breaks.
pub fn ends_before<'a>(
    setting: Setting<'a>,
    at: &Turned<'a>,
    rounds: i64,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = Vec::new();
    let Some((Turn::Into(of), before)) = at.way[..at.inside].split_last() else {
        return PairFormula::of(encoder, sought, candidates);
    };
    let none = |_: &mut Encoder<'a>, _, _| Lin::default();
    let mut way = walk(&mut encoder, &mut sought, 0, before, |_| true, |_, _| None, none)?;
    // The iteration before whose condition, or behind which, it leaves.
    let last = match of.test {
        Test::Before => rounds - 1,
        Test::After => rounds - 2,
    };
    let k = Lin::atom(encoder.fresh("iteration", Range::new(0, last.max(0).into())));
    way.frame.iteration.insert(of.id, k);
    way.frame.certain = false;
    let goes_on = encoder.cond(&mut way.frame, of.cond)?;
    sought.push(if last < 0 { Formula::False } else { goes_on.negated() });
    PairFormula::of(encoder, sought, candidates)
}
