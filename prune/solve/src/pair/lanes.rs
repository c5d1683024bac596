//! Formulas about syncs of some lanes.

use std::collections::HashMap;

use gpurace_protocol::expr::ExprId;
use gpurace_protocol::group::Group;
use gpurace_protocol::lanes::{self, LaneSets};
use gpurace_protocol::place::Turn;
use gpurace_protocol::range::View;

use super::PairFormula;
use super::way::reached;
use crate::encode::{Encoder, Frame, Setting};
use crate::linear::{Encoded, Formula, Lin};
use crate::tiles;

/// Returns the formula that a thread whose lane is in none of the sets makes a sync on this way.
pub fn unnamed<'a>(
    setting: Setting<'a>,
    way: &[Turn<'a>],
    lanes: LaneSets,
    candidates: &[ExprId],
) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut sought = reached(&mut encoder, way, false)?;
    sought.push(tiles::is_in(&mut encoder, 0, lanes)?.negated());
    PairFormula::of(encoder, sought, candidates)
}

/// Returns the formula that an expression is not the thread's lane, modulo 32, or is no index of a thread
/// in a block: a mask may depend on more than the lane then.
pub fn no_lane<'a>(setting: Setting<'a>, value: ExprId, candidates: &[ExprId]) -> Encoded<PairFormula<'a>> {
    let mut encoder = Encoder::new(setting, Group::Block);
    let mut frame = Frame::uncertain(setting, 0, HashMap::new());
    let taken = encoder.computed(&mut frame, value, View::Unsigned)?;
    let is_linear = Formula::eq(&taken, &encoder.linear_tid(0)?)?;
    let beyond = Formula::le(&Lin::constant(lanes::MOST_THREADS.into()), &taken)?;
    let taken = encoder.divide(&taken, 32)?.1;
    let lane = encoder.warp_and_lane(0)?.1;
    let sought = vec![is_linear.negated(), Formula::any([beyond, Formula::eq(&taken, &lane)?.negated()])];
    PairFormula::of(encoder, sought, candidates)
}
