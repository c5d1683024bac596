//! Formulas about arrivals at mbarriers, and waits for phases of a parity.

use gpurace_protocol::expr::ExprId;
use gpurace_protocol::group::Group;
use gpurace_protocol::named::WarpSets;

use super::named::{Turned, arrives, enter};
use super::{PairFormula, Relation, distinct};
use crate::encode::{Encoder, Setting};
use crate::linear::{Encoded, Formula, Lin};
use crate::tiles;

/// Returns the formula that two threads of one of these sets arrive.
pub fn both_arrive<'a>(
    setting: Setting<'a>,
    at: &Turned<'a>,
    sets: WarpSets,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut race = Vec::new();
    for side in [0, 1] {
        let (mut way, _) = enter(&mut encoder, &mut race, side, at)?;
        race.push(arrives(&mut encoder, &mut way, at)?);
    }
    race.push(distinct(&mut encoder, Relation::SameBlock)?);
    race.push(tiles::both_in_group(&mut encoder, Group::Warps(sets))?);
    PairFormula::of(encoder, race, candidates)
}

/// Returns the formula of a wait for another phase. A thread arrives in some iteration `k`. Another one, `shift`
/// iterations of its loop later, does not wait at the same mbarrier for the phase with the parity of `k / period`.
pub fn unwaited<'a>(
    setting: Setting<'a>,
    [arrival, wait]: [&Turned<'a>; 2],
    parity: ExprId,
    [shift, period]: [i64; 2],
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut race = Vec::new();
    let (mut first, k) = enter(&mut encoder, &mut race, 0, arrival)?;
    let (mut second, l) = enter(&mut encoder, &mut race, 1, wait)?;
    race.push(arrives(&mut encoder, &mut first, arrival)?);
    race.push(Formula::eq(&k.shifted(shift.into())?, &l)?);
    let waits = arrives(&mut encoder, &mut second, wait)?;
    let number = encoder.computed(&mut first.frame, arrival.number, super::View::Unsigned)?;
    let other = encoder.computed(&mut second.frame, wait.number, super::View::Unsigned)?;
    let (phase, _) = encoder.divide(&k, period.into())?;
    let (_, odd) = encoder.divide(&phase, 2)?;
    let odd = Formula::eq(&odd, &Lin::constant(1))?;
    let waits_for_odd = encoder.cond(&mut second.frame, parity)?;
    let is_its = Formula::any([
        Formula::all([odd.clone(), waits_for_odd.clone()]),
        Formula::all([odd.negated(), waits_for_odd.negated()]),
    ]);
    race.push(Formula::all([waits, Formula::eq(&number, &other)?, is_its]).negated());
    PairFormula::of(encoder, race, candidates)
}
