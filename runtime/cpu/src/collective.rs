//! Computes a warp's collectives, by the PTX ISA ("Parallel Synchronization and Communication
//! Instructions"). Pure functions of the lanes' operands; `group` is the mask of the lanes that
//! take part.

/// The operand of one lane of a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operand {
    /// The value, or the predicate.
    pub(crate) value: u64,
    /// Mode or operator.
    pub(crate) mode: u32,
    /// `shfl`'s operand `b`.
    pub(crate) b: u32,
    /// `shfl`'s operand `c`.
    pub(crate) c: u32,
}

/// The kind of a collective. Lanes that wait with equal kinds and masks take part in the same
/// collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collective {
    /// `bar.warp.sync`.
    Sync,
    /// `shfl.sync`.
    Shuffle,
    /// `vote.sync`.
    Vote,
    /// `match.sync`.
    Match,
    /// `redux.sync`.
    Reduce,
    /// `wmma.mma`.
    Multiply,
}

/// Iterates over the set bits of a lane mask.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

/// The lane that `shfl` reads from, and its predicate.
fn source_lane(lane: u32, mode: u32, b: u32, c: u32) -> (u32, bool) {
    let (bval, cval, segmask) = (b & 31, c & 31, c >> 8 & 31);
    let max_lane = (lane & segmask) | (cval & !segmask);
    let min_lane = lane & segmask;
    // Signed: `up` from a low lane goes below 0, which is outside the segment.
    let (lane, bval, max_lane) = (lane as i32, bval as i32, max_lane as i32);
    let (j, inside) = match mode {
        1 => (lane - bval, lane - bval >= max_lane),
        2 => (lane + bval, lane + bval <= max_lane),
        3 => (lane ^ bval, lane ^ bval <= max_lane),
        _ => {
            let j = min_lane as i32 | (bval & !(segmask as i32));
            (j, j <= max_lane)
        }
    };
    if inside { (j as u32, true) } else { (lane as u32, false) }
}

/// The result of `shfl.sync` for `lane`: the value, and the predicate in bit 32. PTX leaves a
/// source outside the group undefined; here it gives the lane's own value.
pub(crate) fn shuffle(operands: &[Operand; 32], group: u32, lane: usize) -> u64 {
    let own = operands[lane];
    let (source, inside) = source_lane(lane as u32, own.mode, own.b, own.c);
    let from = if group >> source & 1 != 0 { source as usize } else { lane };
    u64::from(operands[from].value as u32) | u64::from(inside) << 32
}

/// The result of `vote.sync` of this mode: 0 all, 1 any, 2 uni, 3 ballot.
pub(crate) fn vote(operands: &[Operand; 32], group: u32, mode: u32) -> u64 {
    let ballot =
        lanes(group).filter(|&lane| operands[lane].value != 0).fold(0u32, |mask, lane| mask | 1 << lane);
    match mode {
        0 => u64::from(ballot == group),
        1 => u64::from(ballot != 0),
        2 => u64::from(ballot == 0 || ballot == group),
        _ => u64::from(ballot),
    }
}

/// The result of `match.any.sync` (mode 0) or `match.all.sync` (1) for `lane`: the
/// mask, and the predicate of the latter in bit 32.
pub(crate) fn matching(operands: &[Operand; 32], group: u32, lane: usize) -> u64 {
    let equal = lanes(group)
        .filter(|&other| operands[other].value == operands[lane].value)
        .fold(0u32, |mask, other| mask | 1 << other);
    match operands[lane].mode {
        0 => u64::from(equal),
        _ if equal == group => u64::from(group) | 1 << 32,
        _ => 0,
    }
}

/// The result of `redux.sync` with this operator: 0 add, 1 umin, 2 umax, 3 min,
/// 4 max, 5 and, 6 or, 7 xor.
pub(crate) fn reduce(operands: &[Operand; 32], group: u32, op: u32) -> u64 {
    let values = lanes(group).map(|lane| operands[lane].value as u32);
    let result = match op {
        0 => values.reduce(u32::wrapping_add),
        1 => values.reduce(u32::min),
        2 => values.reduce(u32::max),
        3 => values.map(|v| v as i32).reduce(i32::min).map(|v| v as u32),
        4 => values.map(|v| v as i32).reduce(i32::max).map(|v| v as u32),
        5 => values.reduce(|a, b| a & b),
        6 => values.reduce(|a, b| a | b),
        _ => values.reduce(|a, b| a ^ b),
    };
    u64::from(result.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shfl_all(mode: u32, b: u32, c: u32) -> Vec<(u32, bool)> {
        (0..32).map(|lane| source_lane(lane, mode, b, c)).collect()
    }

    /// The CUDA C++ intrinsics' definitions in terms of lanes and widths, with
    /// the operand `c` that each passes (`sm_30_intrinsics.hpp`).
    #[test]
    fn shuffles_agree_with_the_width_forms() {
        for width in [1u32, 2, 4, 8, 16, 32] {
            let clamp = (32 - width) << 8 | 0x1f;
            let clamp_up = (32 - width) << 8;
            for delta in 0..32 {
                for lane in 0..32 {
                    let segment = lane / width * width;
                    let idx = segment + delta % width;
                    assert_eq!(shfl_all(0, delta, clamp)[lane as usize].0, idx);
                    let up = if lane % width >= delta { lane - delta } else { lane };
                    assert_eq!(shfl_all(1, delta, clamp_up)[lane as usize].0, up);
                    let down = if lane % width + delta < width { lane + delta } else { lane };
                    assert_eq!(shfl_all(2, delta, clamp)[lane as usize].0, down);
                    // An xor that leaves the segment upwards gives the lane's own value; downwards
                    // it reads the earlier segment.
                    let other = lane ^ delta;
                    let bfly = if other < segment + width { other } else { lane };
                    assert_eq!(shfl_all(3, delta, clamp)[lane as usize].0, bfly);
                }
            }
        }
    }

    #[test]
    fn a_source_outside_the_group_gives_the_own_value() {
        let mut operands = [Operand::default(); 32];
        for (lane, o) in operands.iter_mut().enumerate() {
            *o = Operand { value: 100 + lane as u64, mode: 0, b: 5, c: 0x1f };
        }
        assert_eq!(shuffle(&operands, 0b11, 1), 101 | 1 << 32);
        assert_eq!(shuffle(&operands, 0b100011, 1), 105 | 1 << 32);
    }

    #[test]
    fn votes_over_a_partial_group() {
        let mut operands = [Operand::default(); 32];
        operands[1].value = 1;
        operands[3].value = 7;
        let modes = |group| [0, 1, 2, 3].map(|mode| vote(&operands, group, mode));
        assert_eq!(modes(0b1010), [1, 1, 1, 0b1010]);
        assert_eq!(modes(0b1110), [0, 1, 0, 0b1010]);
        assert_eq!(modes(0b0101), [0, 0, 1, 0]);
    }

    #[test]
    fn matches_see_the_group_only() {
        let mut operands = [Operand::default(); 32];
        operands[0].value = 1 << 40;
        operands[2].value = 1 << 40;
        assert_eq!(matching(&operands, 0b0111, 0), 0b101);
        assert_eq!(matching(&operands, 0b0111, 1), 0b010);
        for o in &mut operands {
            o.mode = 1;
        }
        assert_eq!(matching(&operands, 0b0101, 2), 0b101 | 1 << 32);
        assert_eq!(matching(&operands, 0b0111, 2), 0);
    }

    #[test]
    fn reductions_by_operator() {
        let mut operands = [Operand::default(); 32];
        operands[4].value = 6;
        operands[5].value = 0xffff_fffe;
        operands[6].value = 3;
        let by = |op| reduce(&operands, 0b111_0000, op) as u32;
        assert_eq!(by(0), 7);
        assert_eq!(by(1), 3);
        assert_eq!(by(2), 0xffff_fffe);
        assert_eq!(by(3) as i32, -2);
        assert_eq!(by(4) as i32, 6);
        assert_eq!(by(5), 6 & 0xffff_fffe & 3);
        assert_eq!(by(6), 0xffff_ffff);
        assert_eq!(by(7), 6 ^ 0xffff_fffe ^ 3);
    }
}
