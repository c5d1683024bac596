//! Sets of lanes and of warps as formulas: whether two threads are in one set whose threads wait for each other.
//!
//! A lane is the *linear* index of a thread in its block, modulo 32. Two threads in one tile of 32
//! lanes or less are in one warp.

use gpurace_protocol::group::Group;
use gpurace_protocol::lanes::LaneSets;
use gpurace_protocol::named::WarpSets;

use crate::encode::Encoder;
use crate::linear::{Encoded, Formula, Lin};

/// Returns the formula that both threads are in one set of this group. They are in one block.
pub fn both_in_group(encoder: &mut Encoder, group: Group) -> Encoded<Formula> {
    match group {
        Group::Lanes(lanes) => {
            let (x, y) = (tile_and_place(encoder, 0, lanes)?, tile_and_place(encoder, 1, lanes)?);
            Ok(Formula::all([Formula::eq(&x.0, &y.0)?, within(&x.1, lanes)?, within(&y.1, lanes)?]))
        }
        Group::Warps(warps) => {
            let [x, y] = [0, 1].map(|side| set_of(encoder, side, warps));
            let ((first, set), (second, other)) = (x?, y?);
            Ok(Formula::all([first, second, Formula::eq(&set, &other)?]))
        }
        Group::Block | Group::Grid => Ok(Formula::True),
    }
}

/// Returns the formula that a thread is in one of the sets of warps, and a number that only the threads of its set
/// have.
fn set_of(encoder: &mut Encoder, side: usize, warps: WarpSets) -> Encoded<(Formula, Lin)> {
    let linear = encoder.linear_tid(side)?;
    let is_in = Formula::le(&Lin::constant(warps.first().into()), &linear)?;
    let (size, first) = (i128::from(warps.size()), i128::from(warps.first()));
    let (number, _) = encoder.divide(&linear.shifted((-first).rem_euclid(size))?, size)?;
    Ok((is_in, number))
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
