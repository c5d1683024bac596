//! Sets of lanes as formulas: whether two threads are in one set that a sync of some lanes names.
//!
//! A lane is the *linear* index of a thread in its block, modulo 32. Two threads in one tile of 32
//! lanes or less are in one warp.

use gpurace_protocol::lanes::LaneSets;

use crate::encode::Encoder;
use crate::linear::{Encoded, Formula, Lin};

/// Returns the formula that both threads are in one warp, and their lanes in one of the sets.
pub fn both_in(encoder: &mut Encoder, lanes: LaneSets) -> Encoded<Formula> {
    let (x, y) = (tile_and_place(encoder, 0, lanes)?, tile_and_place(encoder, 1, lanes)?);
    Ok(Formula::all([Formula::eq(&x.0, &y.0)?, within(&x.1, lanes)?, within(&y.1, lanes)?]))
}

/// Returns the formula that the lane of a thread is in one of the sets.
pub fn is_in(encoder: &mut Encoder, side: usize, lanes: LaneSets) -> Encoded<Formula> {
    let (_, place) = tile_and_place(encoder, side, lanes)?;
    within(&place, lanes)
}

/// Returns the number of a thread's tile in the block, and its place in the tile.
fn tile_and_place(encoder: &mut Encoder, side: usize, lanes: LaneSets) -> Encoded<(Lin, Lin)> {
    let linear = encoder.linear_tid(side)?;
    encoder.divide(&linear, i128::from(lanes.period()))
}

/// Returns the formula that the set of a tile holds a place: a case for each run of places.
fn within(place: &Lin, lanes: LaneSets) -> Encoded<Formula> {
    if lanes.names_all() {
        return Ok(Formula::True);
    }
    let holds = |at: u32| at < lanes.period() && lanes.first() >> at & 1 == 1;
    let mut runs = Vec::new();
    let mut start = None;
    for at in 0..=lanes.period() {
        match (start, holds(at)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                runs.push(Formula::all([
                    Formula::le(&Lin::constant(from.into()), place)?,
                    Formula::lt(place, &Lin::constant(at.into()))?,
                ]));
                start = None;
            }
            _ => {}
        }
    }
    Ok(Formula::any(runs))
}
