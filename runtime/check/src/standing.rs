//! How a record stands to a new access: what [`crate::state`] asks, answered
//! from the launch's and the block's clocks.

use crate::block::State;
use crate::chain::Member;
use crate::launch::Origin;
use crate::state::{Relation, Status};
use crate::word::Span;

/// How a record's threads stand to the one that makes a new access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) relation: Relation,
    pub(crate) status: Status,
    /// Which of the record's lanes happen before the access or are its own thread.
    pub(crate) ordered: u32,
    /// The record's launch is the access's.
    pub(crate) mine: bool,
}

impl Standing {
    /// Before everything still to come.
    fn settled(mine: bool) -> Self {
        Self { relation: Relation::Grid, status: Status::Settled, ordered: !0, mine }
    }
}

impl State {
    /// How a record stands to an access by `thread`.
    ///
    /// One that is looked at late may meet records that its block made behind a barrier since. What races with it and
    /// is still to come races with those too, so that they stand for it.
    pub(crate) fn standing(&self, thread: u32, m: &Member, shared: bool) -> Standing {
        let order = &self.order;
        if m.is_copy() {
            return self.standing_of_copy(thread, m, shared);
        }
        if m.uid == order.uid() {
            let here = |relation, status, ordered| Standing { relation, status, ordered, mine: true };
            let synced = |known: u32| {
                if m.clock < known { Status::Synced } else { Status::Unsynced }
            };
            if shared && m.clock < order.floor() {
                // Only this block can reach it, and all of it has passed the barrier.
                return here(Relation::Block, Status::Settled, !0);
            }
            if self.late && m.span != Span::Grid && m.clock > order.floor() {
                return here(Relation::Block, Status::SameEpoch, !0);
            }
            if m.lanes != 0 {
                return self.standing_of_lanes(thread, m);
            }
            return match m.span {
                Span::Thread => unreachable!("a single thread is known by its lane"),
                Span::Warp if m.warp() == thread / 32 => {
                    here(Relation::Warp, synced(order.warp_floor(thread / 32)), 0)
                }
                Span::Warp | Span::Block => here(Relation::Block, synced(order.floor()), 0),
                Span::Grid => here(Relation::Grid, Status::Unsynced, 0),
            };
        }
        if shared {
            // Another block's: its shared memory lay here before, or this
            // block's own under an older uid, before a barrier.
            return Standing::settled(false);
        }
        let origin = self.launch.origin(m.uid);
        let mine = origin == Origin::Mine;
        let relation = if mine { self.launch.relation(m.uid, self.index) } else { Relation::Launch };
        let status = match origin {
            Origin::Settled => Status::Settled,
            Origin::Before => Status::Synced,
            Origin::Mine if m.span != Span::Grid && order.was(m.uid) => {
                return Standing { relation: Relation::Block, status: Status::Synced, ordered: !0, mine };
            }
            // Through an acquire from a thread of a launch that began after it.
            Origin::Concurrent(launch) if order.knows_launch(thread, launch) => Status::Synced,
            Origin::Mine | Origin::Concurrent(_) => {
                if m.lanes != 0 && order.knows_others() {
                    return self.standing_by_clocks(thread, m, relation, mine);
                }
                Status::Unsynced
            }
        };
        let ordered = if status == Status::Unsynced { 0 } else { !0 };
        Standing { relation, status, ordered, mine }
    }

    /// Of asynchronous copies. They are nobody's own: a thread is ordered after
    /// its copies, as any other is, only once it knows them to be done.
    fn standing_of_copy(&self, thread: u32, m: &Member, shared: bool) -> Standing {
        let order = &self.order;
        let (home, warp) = (m.block(), m.warp());
        let known = |by: &dyn Fn(u32) -> u32| {
            (0..32)
                .filter(|l| m.lanes >> l & 1 != 0 && m.clock < by(warp * 32 + l))
                .fold(0, |lanes, l| lanes | 1 << l)
        };
        let mine = home == order.home();
        let (relation, mine) = if mine {
            if shared && known(&|other| order.all_know_copies(home, other)) == m.lanes {
                return Standing::settled(mine);
            }
            let same_warp = warp == thread / 32;
            let relation = if same_warp { Relation::Warp } else { Relation::Block };
            (relation, true)
        } else if shared {
            return Standing::settled(false);
        } else {
            let all = |relation| Standing { relation, status: Status::Synced, ordered: !0, mine: false };
            match self.launch.origin(home) {
                Origin::Settled => return Standing::settled(false),
                Origin::Before => return all(Relation::Launch),
                Origin::Concurrent(launch) if order.knows_launch(thread, launch) => {
                    return all(Relation::Launch);
                }
                Origin::Concurrent(_) => (Relation::Launch, false),
                Origin::Mine => (self.launch.relation(home, self.index), true),
            }
        };
        let ordered = known(&|other| order.known_copies(thread, home, other));
        let status = if ordered == m.lanes { Status::Synced } else { Status::Unsynced };
        Standing { relation, status, ordered, mine }
    }

    /// Of known lanes of this block.
    fn standing_of_lanes(&self, thread: u32, m: &Member) -> Standing {
        let own = if m.warp() == thread / 32 { m.lanes & 1 << (thread % 32) } else { 0 };
        if m.lanes == own {
            let status = if m.clock == self.order.clock(thread) { Status::SameEpoch } else { Status::Synced };
            return Standing { relation: Relation::Itself, status, ordered: own, mine: true };
        }
        let relation = if m.warp() == thread / 32 { Relation::Warp } else { Relation::Block };
        let mut s = self.standing_by_clocks(thread, m, relation, true);
        s.ordered |= own;
        if s.ordered == m.lanes {
            s.status = Status::Synced;
        }
        s
    }

    fn standing_by_clocks(&self, thread: u32, m: &Member, relation: Relation, mine: bool) -> Standing {
        let ordered = self.order.known_lanes(thread, m.uid, m.warp(), m.lanes, m.clock);
        let status = if ordered == m.lanes { Status::Synced } else { Status::Unsynced };
        Standing { relation, status, ordered, mine }
    }
}
