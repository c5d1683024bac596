//! Questions about syncs of some lanes.

use std::collections::HashMap;

use gpurace_protocol::expr::ExprId;
use gpurace_protocol::group::Group;
use gpurace_protocol::lanes::{self, LaneSets};
use gpurace_protocol::place::Turn;
use gpurace_protocol::range::View;

use super::Question;
use crate::encode::{Frame, Setting};
use crate::linear::{Encoded, Formula, Lin};
use crate::tiles;

/// Asks whether a thread whose lane is in none of the sets makes a sync on this way.
pub fn unnamed<'a>(setting: Setting<'a>, way: &[Turn<'a>], lanes: LaneSets) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    question.follow(0, way)?;
    question.sought.push(tiles::is_in(&mut question.encoder, 0, lanes)?.negated());
    Ok(question)
}

/// Asks whether an expression is not the thread's lane, modulo 32, or is no index of a thread in a block: a mask may
/// depend on more than the lane then.
pub fn no_lane<'a>(setting: Setting<'a>, value: ExprId) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let encoder = &mut question.encoder;
    let mut frame = Frame::uncertain(setting, 0, HashMap::new());
    let taken = encoder.computed(&mut frame, value, View::Unsigned)?;
    let is_linear = Formula::eq(&taken, &encoder.linear_tid(0)?)?;
    let beyond = Formula::le(&Lin::constant(lanes::MOST_THREADS.into()), &taken)?;
    let taken = encoder.divide(&taken, 32)?.1;
    let lane = encoder.warp_and_lane(0)?.1;
    let other_lane = Formula::eq(&taken, &lane)?.negated();
    question.sought.extend([is_linear.negated(), Formula::any([beyond, other_lane])]);
    Ok(question)
}
