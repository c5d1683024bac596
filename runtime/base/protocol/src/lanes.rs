//! Syncs of some lanes, `__syncwarp(mask)`: the sets of lanes that wait for each other.
//!
//! A mask is an expression, such as `0xff << (laneid & ~7)`. Its value for each of the 32 lanes shows
//! the sets. No form of the expression is known by name: a table of its values decides. A mask that
//! depends on anything but the lane and the launch has no known sets.
//!
//! A kernel may compute the lane from `threadIdx`. Whether it does so rightly depends on the shape of
//! the block, so whoever uses [`MaskSets`] must show it.

use std::collections::{BTreeMap, BTreeSet};

use crate::expr::{Axis, BinOp, Expr, ExprId, Exprs};
use crate::fold;
use crate::launch::Launch;
use crate::protocol::{Stmt, Sync};
use crate::uniform::uniform_value;

/// The lanes of a warp.
const WARP: u32 = 32;
/// The most threads of a block, so the linear index of a thread is below it.
pub const MOST_THREADS: u64 = 1024;

/// Sets of lanes without a common lane. The warp is divided into tiles of `period` lanes, and each tile
/// has one set, at the same place in the tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneSets {
    /// The number of lanes of a tile: a power of two up to 32.
    period: u32,
    /// The set of the first tile, as a mask.
    first: u32,
}

impl LaneSets {
    /// All lanes of the warp.
    pub const WHOLE: Self = Self { period: WARP, first: u32::MAX };

    /// The sets of a mask that has this value in each lane. A lane that its own mask does not name is in
    /// no set. `None` if the masks are not such sets, or name no lane.
    pub fn of_masks(masks: &[u32; 32]) -> Option<Self> {
        let named = |lane: u32| masks[lane as usize] >> lane & 1 == 1;
        let lane = (0..WARP).find(|&lane| named(lane))?;
        [2, 4, 8, 16, 32].into_iter().find_map(|period| {
            let sets = Self { period, first: masks[lane as usize] >> (lane / period * period) };
            let fits = u64::from(sets.first) < 1 << period;
            let right = |lane: u32| sets.of(lane) == named(lane).then(|| masks[lane as usize]);
            (fits && (0..WARP).all(right)).then_some(sets)
        })
    }

    /// The number of lanes of a tile.
    pub const fn period(self) -> u32 {
        self.period
    }

    /// The set of the first tile, as a mask.
    pub const fn first(self) -> u32 {
        self.first
    }

    /// True if every lane is in a set.
    pub const fn names_all(self) -> bool {
        self.first == u32::MAX >> (WARP - self.period)
    }

    /// The set that a lane is in, as a mask; `None` if it is in none.
    pub fn of(self, lane: u32) -> Option<u32> {
        let (tile, place) = (lane / self.period, lane % self.period);
        (self.first >> place & 1 == 1).then(|| self.first << (tile * self.period))
    }

    /// True if two lanes that are in one of these sets are also in one of the `wider` sets.
    pub fn within(self, wider: Self) -> bool {
        (0..WARP).all(|lane| match (self.of(lane), wider.of(lane)) {
            (Some(own), Some(wider)) => own & !wider == 0,
            // A lane alone in its set has no other that it could miss.
            (Some(own), None) => own.count_ones() == 1,
            (None, _) => true,
        })
    }

    /// True if a lane is in one set of both.
    pub fn share_a_set(self, other: Self) -> bool {
        (0..WARP).any(|lane| self.of(lane).is_some() && self.of(lane) == other.of(lane))
    }

    /// True if no set of one is partly in a set of the other.
    pub fn nested(self, other: Self) -> bool {
        (0..WARP).all(|lane| match (self.of(lane), other.of(lane)) {
            (Some(a), Some(b)) => a & !b == 0 || b & !a == 0,
            _ => true,
        })
    }

    /// The number of lanes of a set.
    pub const fn size(self) -> u32 {
        self.first.count_ones()
    }
}

/// For masks, by their expressions, the sets of lanes that they name.
pub type KnownMasks = BTreeMap<ExprId, LaneSets>;

/// The sets of a mask, and what they rest on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskSets {
    /// The sets.
    pub sets: LaneSets,
    /// The expression, below [`MOST_THREADS`], that is taken for the lane, modulo 32.
    pub lane: Option<ExprId>,
}

/// The sets of lanes that a mask names, if it depends on the lane and the launch alone.
pub fn sets_of(exprs: &Exprs, launch: Option<&Launch>, mask: ExprId) -> Option<MaskSets> {
    let mut table = Table { exprs, launch, index: 0, lane: None, known: BTreeMap::new() };
    let mut masks = [0; 32];
    for index in 0..MOST_THREADS {
        table.index = index;
        table.known.clear();
        let mask = table.value(mask)? as u32;
        // A linear index counts beyond a warp. The mask may depend on its lowest five bits only.
        let lane = (index % u64::from(WARP)) as usize;
        if index < u64::from(WARP) {
            masks[lane] = mask;
        } else if table.lane.is_none() {
            break;
        } else if masks[lane] != mask {
            return None;
        }
    }
    Some(MaskSets { sets: LaneSets::of_masks(&masks)?, lane: table.lane })
}

/// The values of expressions for the thread of one linear index.
struct Table<'a> {
    exprs: &'a Exprs,
    launch: Option<&'a Launch>,
    index: u64,
    lane: Option<ExprId>,
    known: BTreeMap<ExprId, Option<u64>>,
}

impl Table<'_> {
    fn value(&mut self, id: ExprId) -> Option<u64> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let value = self.compute(id);
        self.known.insert(id, value);
        value
    }

    fn compute(&mut self, id: ExprId) -> Option<u64> {
        let exprs = self.exprs;
        match exprs.get(id) {
            Expr::Const { bits, .. } => Some(bits),
            Expr::Lane => Some(self.index % u64::from(WARP)),
            Expr::Param { .. } | Expr::Ntid(_) | Expr::Nctaid(_) | Expr::DynamicShared => {
                uniform_value(exprs, self.launch?, id)
            }
            Expr::Tid(Axis::X) => self.taken_for_lane(id),
            Expr::Tid(_)
            | Expr::Ctaid(_)
            | Expr::Var { .. }
            | Expr::Iteration(_)
            | Expr::Total { .. }
            | Expr::Opaque { .. } => None,
            // `threadIdx.y * blockDim.x + threadIdx.x`
            Expr::Bin(BinOp::Add, ..) if self.is_of_several_axes(id) => self.taken_for_lane(id),
            Expr::Bin(op, a, b) => fold::apply(op, exprs.width(a), self.value(a)?, self.value(b)?),
            Expr::Cmp(op, a, b) => {
                Some(u64::from(fold::compare(op, exprs.width(a), self.value(a)?, self.value(b)?)))
            }
            Expr::Select(c, a, b) => {
                if self.value(c)? == 1 {
                    self.value(a)
                } else {
                    self.value(b)
                }
            }
            Expr::Cast(cast, to, a) => Some(fold::convert(cast, exprs.width(a), to, self.value(a)?)),
        }
    }

    fn taken_for_lane(&mut self, id: ExprId) -> Option<u64> {
        // Two expressions that are equal modulo 32 may differ otherwise, and the table would not show it.
        let is_the_only = *self.lane.get_or_insert(id) == id;
        is_the_only.then_some(self.index)
    }

    fn is_of_several_axes(&self, id: ExprId) -> bool {
        self.exprs.mentions(id, |node| node == Expr::Tid(Axis::X))
            && self.exprs.mentions(id, |node| matches!(node, Expr::Tid(Axis::Y | Axis::Z)))
    }
}

/// The masks of the syncs of some lanes in a body.
pub fn masks(body: &[Stmt]) -> BTreeSet<ExprId> {
    let mut found = BTreeSet::new();
    for stmt in body {
        match stmt {
            Stmt::Sync(Sync::Lanes(mask)) => {
                found.insert(*mask);
            }
            Stmt::Loop(of) => found.extend(masks(&of.body)),
            Stmt::If { then, otherwise, .. } => {
                found.extend(masks(then));
                found.extend(masks(otherwise));
            }
            Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
        }
    }
    found
}

/// The syncs of lanes that one thread makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MadeSyncs {
    /// For each mask, the places of its syncs among all.
    places: Vec<(u32, Vec<u32>)>,
    count: u32,
}

impl MadeSyncs {
    /// Adds the next sync.
    pub fn push(&mut self, mask: u32) {
        match self.places.iter_mut().find(|(known, _)| *known == mask) {
            Some((_, places)) => places.push(self.count),
            None => self.places.push((mask, vec![self.count])),
        }
        self.count += 1;
    }

    /// The number of syncs.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// True if some of them do not name the whole warp.
    pub fn name_some(&self) -> bool {
        self.places.iter().any(|(mask, _)| *mask != u32::MAX)
    }

    /// The masks of the first syncs, in order.
    pub fn first(&self, number: u32) -> Vec<u32> {
        let of = |(mask, places): &(u32, Vec<u32>)| places.iter().map(|at| (*at, *mask)).collect::<Vec<_>>();
        let mut all: Vec<_> = self.places.iter().flat_map(of).filter(|(at, _)| *at < number).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, mask)| mask).collect()
    }
}

/// True if a sync of lanes lies between two moments of two threads of a warp. `made` has all such syncs of
/// each thread, and `passed` how many of them came before its moment.
///
/// Lanes that did not all make the same syncs with a mask are not ordered by them.
pub fn parted(lanes: [u32; 2], made: [&MadeSyncs; 2], passed: [u32; 2]) -> bool {
    made[0].places.iter().any(|(mask, first)| {
        let names_both = lanes.iter().all(|lane| mask >> lane & 1 == 1);
        let second = made[1].places.iter().find(|(other, _)| other == mask);
        second.is_some_and(|(_, second)| {
            let before = |places: &[u32], passed| places.partition_point(|place| *place < passed);
            names_both && first.len() == second.len() && before(first, passed[0]) != before(second, passed[1])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Width;
    use crate::launch::LaunchShape;

    fn of(masks: impl Fn(u32) -> u32) -> Option<LaneSets> {
        LaneSets::of_masks(&std::array::from_fn(|lane| masks(lane as u32)))
    }

    #[test]
    fn masks_become_sets() {
        let sets = |period, first| Some(LaneSets { period, first });
        assert_eq!(of(|_| u32::MAX), Some(LaneSets::WHOLE));
        assert_eq!(of(|lane| 0xff << (lane & !7)), sets(8, 0xff));
        assert_eq!(of(|lane| 3 << (lane & !1)), sets(2, 3));
        assert_eq!(of(|lane| if lane < 16 { 0xffff } else { 0xffff_0000 }), sets(16, 0xffff));
        // Each tile's first three lanes.
        assert_eq!(of(|lane| 7 << (lane & !7)), sets(8, 7));
        // Only some lanes of the warp.
        assert_eq!(of(|_| 0xffff), sets(32, 0xffff));
        assert_eq!(of(|_| 0xff00_0000), sets(32, 0xff00_0000));
    }

    #[test]
    fn masks_that_are_no_sets() {
        // No lane names itself.
        assert_eq!(of(|_| 0), None);
        assert_eq!(of(|lane| 0xf << ((lane + 4) & 28)), None);
        // Lanes name each other with different masks.
        assert_eq!(of(|lane| 1 << lane | 1), None);
        assert_eq!(of(|lane| if lane & 1 == 0 { 0xffff } else { 0xff }), None);
        // A mask that reaches into the next tile.
        assert_eq!(of(|lane| 0x1ff << (lane & !7)), None);
    }

    #[test]
    fn finer_sets_are_within_wider_ones() {
        let sets = |period, first| LaneSets { period, first };
        let (quads, eights, low) = (sets(4, 0xf), sets(8, 0xff), sets(32, 0xffff));
        assert!(quads.within(eights) && quads.within(LaneSets::WHOLE) && low.within(LaneSets::WHOLE));
        assert!(!eights.within(quads) && !eights.within(low) && !LaneSets::WHOLE.within(eights));
        assert!(low.share_a_set(sets(16, 0xffff)) && !low.share_a_set(eights));
        assert!(!low.within(eights) && low.nested(eights) && eights.nested(low));
        let (a, b) = (sets(32, 0x0f), sets(32, 0x3c));
        assert!(!a.nested(b) && !a.within(b));
        assert!(sets(8, 1).within(sets(32, 0xf0)) && !sets(32, 0xff).within(sets(32, 0xf0)));
    }

    #[test]
    fn a_mask_depends_on_the_lane_alone() {
        let mut e = Exprs::default();
        let mut mask = |base: Expr, by: i64| {
            let (base, by, tile) = (e.add(base), e.c32(by), e.c32(0xff));
            let shift = e.bin(BinOp::And, base, by);
            e.bin(BinOp::Shl, tile, shift)
        };
        let lane = mask(Expr::Lane, -8);
        let thread = mask(Expr::Tid(Axis::X), 24);
        let beyond = mask(Expr::Tid(Axis::X), -8);
        let (row, block) = (mask(Expr::Tid(Axis::Y), 24), mask(Expr::Ctaid(Axis::X), 24));
        let size = mask(Expr::Ntid(Axis::X), 24);
        let x = e.add(Expr::Tid(Axis::X));
        let eights = LaneSets { period: 8, first: 0xff };
        let found = |launch, id| sets_of(&e, launch, id);
        assert_eq!(found(None, lane), Some(MaskSets { sets: eights, lane: None }));
        assert_eq!(found(None, thread), Some(MaskSets { sets: eights, lane: Some(x) }));
        // In the second warp it shifts by 32 and more.
        assert_eq!(found(None, beyond), None);
        assert_eq!((found(None, row), found(None, block), found(None, size)), (None, None, None));
        // The launch gives the size: a constant mask of the first eight lanes.
        let launch = Launch { shape: LaunchShape::flat(1, 64), ..Launch::default() };
        let first = LaneSets { period: 32, first: 0xff };
        assert_eq!(found(Some(&launch), size).map(|found| found.sets), Some(first));
        assert_eq!(e.width(size), Width::W32);
    }

    #[test]
    fn syncs_part_the_lanes_that_they_name() {
        let made = |masks: &[u32]| {
            let mut made = MadeSyncs::default();
            masks.iter().for_each(|mask| made.push(*mask));
            assert_eq!(made.first(made.count()), masks);
            made
        };
        let parted = |lanes, [a, b]: [&[u32]; 2], passed| parted(lanes, [&made(a), &made(b)], passed);
        let same: [&[u32]; 2] = [&[3, 15, 3], &[3, 15, 3]];
        assert!(parted([0, 1], same, [0, 1]) && parted([0, 1], same, [2, 1]) && parted([0, 1], same, [3, 2]));
        assert!(!parted([0, 1], same, [1, 1]));
        // 3 does not name lane 2.
        assert!(!parted([0, 2], same, [0, 1]) && parted([0, 2], same, [0, 2]));
        // One lane leaves a sync out.
        assert!(!parted([0, 1], [&[3], &[]], [1, 0]));
        assert!(!parted([0, 1], [&[3], &[1]], [0, 1]));
        assert!(made(&[u32::MAX, 3]).name_some() && !made(&[u32::MAX]).name_some());
    }
}
