//! How records stand to the accesses of a running block: the one place that says whether a record
//! happens before an access, and how their threads are related.
//!
//! [`BlockView::standing`] answers for any record. [`BlockView::relation`] gives the same answer
//! for a record of 64 bits from only the record's fields and a few numbers of the block. It gives
//! none if the answer takes more.

use std::ops::Range;
use std::sync::Arc;

use crate::model::access::Access;
use crate::model::entry::{COPIES, Entry, Member};
use crate::model::record::{Key, OpCode, Record, RecordFields, SiteField};
use crate::model::relation::{Relation, Span, Standing, Status};
use crate::model::step;
use crate::order::block_order::BlockOrder;
use crate::order::launches::{LaunchData, LaunchOrder, Origin};

/// What a running block knows of the order of accesses.
pub(crate) struct BlockView {
    pub(crate) order: BlockOrder,
    pub(crate) launch: Arc<LaunchOrder>,
    /// Linear index of the block.
    pub(crate) index: u64,
    /// Vector clocks order its threads one by one, so a record of several threads must name each of them. Not so
    /// [between two barriers](Self::between_barriers).
    pub(crate) names_each_thread: bool,
    /// Asynchronous copies of a block may be under way behind its barriers.
    pub(crate) copies: bool,
    /// It stands in for a block whose reads are checked later than they were made.
    pub(crate) late: bool,
    /// Copies and fills are concurrent with the launch, and may meet the accesses that are checked.
    pub(crate) transfers: bool,
    /// Records with smaller uids are of launches before everything still to come.
    settled: u64,
    /// Records with smaller uids are of launches before this one.
    before: u64,
    /// Uids, in records, with which blocks of this launch begin.
    mine: Range<u64>,
}

impl BlockView {
    /// The view of a block of a launch that has not begun.
    pub(crate) fn new(launch: Arc<LaunchOrder>) -> Self {
        let order = BlockOrder::default();
        Self {
            order,
            launch,
            index: 0,
            names_each_thread: false,
            copies: false,
            late: false,
            transfers: false,
            settled: 0,
            before: 0,
            mine: 0..0,
        }
    }

    /// Sets what is known of a block of the launch that begins. Its clocks are set already.
    pub(crate) fn restart(&mut self, index: u64, copies: bool, transfers: bool) {
        (self.names_each_thread, self.copies) = (self.order.is_exact(), copies);
        (self.index, self.transfers) = (index, transfers);
        (self.settled, self.before) =
            (self.launch.settled_in_records(), self.launch.first_concurrent_in_records());
        self.mine = self.launch.uids_in_records();
    }

    /// Begins or ends the check of accesses whose threads do not synchronise from the last barrier to the next. These
    /// threads may share records even in an exact launch. Each of them knows of its block what the last barrier told.
    /// All other threads learn of the accesses through the next barrier, of all of them together.
    pub(crate) fn between_barriers(&mut self, begins: bool) {
        self.names_each_thread = self.order.is_exact() && !(begins && self.order.cluster().is_none());
    }

    /// True if threads that stand in this relation to a record, with this clock, may join it. Where vector clocks order
    /// threads, no barrier orders what several blocks did, so a record of several would be ordered before nobody. A
    /// read that is checked late may meet a record that its block made since. The thread of that one may have released
    /// it.
    #[inline(always)]
    pub(crate) fn may_join(&self, relation: Relation, clock: u32) -> bool {
        !self.order.is_exact() || relation.in_block() && !self.is_newer(clock)
    }

    /// True if a record of this block was made behind a barrier since the access, which is checked late.
    #[inline(always)]
    fn is_newer(&self, clock: u32) -> bool {
        self.late && clock > self.order.floor()
    }

    /// The uids of records by blocks of this launch.
    pub(crate) fn mine(&self) -> &Range<u64> {
        &self.mine
    }

    /// True if a record happens before everything still to come: mostly so at the first access of a
    /// launch, or of a barrier interval, to a word. False for what is no record.
    #[inline(always)]
    pub(crate) fn is_settled(&self, record: Record, shared: bool) -> bool {
        record.is_record() && self.has_settled(record.uid(), record.clock(), shared)
    }

    /// True if all that a block did up to a clock happens before everything still to come. Of
    /// `shared` memory: what lies there is of an earlier block, or from before a barrier of this
    /// one.
    #[inline(always)]
    pub(crate) fn has_settled(&self, uid: u64, clock: u32, shared: bool) -> bool {
        if shared { uid != self.order.word_uid() || clock < self.order.floor() } else { uid < self.settled }
    }

    /// True if the record of an access takes the place of a record: this one is settled, or of a launch before this one
    /// and conflicts with nothing more. False for what is no record.
    #[inline(always)]
    pub(crate) fn is_replaced(&self, record: Record, op: OpCode, shared: bool) -> bool {
        self.is_settled(record, shared)
            || !shared
                && record.is_record()
                && self.is_of_launch_before(record.uid())
                && step::covers(op.touch(), record.op().touch(), false)
    }

    /// True if the record's launch happens before this one, but not before everything to come.
    #[inline(always)]
    pub(crate) fn is_of_launch_before(&self, uid: u64) -> bool {
        uid < self.mine.start
            && (uid < self.before || self.launch.earlier(self.launch.base + uid) == Some(Origin::Before))
    }

    /// True if nothing orders other blocks of this launch before an access of this block, as far as
    /// the uids of records tell blocks apart.
    #[inline(always)]
    pub(crate) fn is_unordered_to_grid(&self, span: Span) -> bool {
        !self.order.knows_grid() && (span == Span::Grid || !self.order.has_past())
    }

    /// The relation of a record, not settled, to an access by the thread with this key. `None`: ask
    /// [`BlockView::standing`].
    #[inline(always)]
    pub(crate) fn relation(&self, record: Record, span: Span, key: Key) -> Option<(Relation, Status)> {
        if self.names_each_thread {
            return self.relation_of_one(record, span, key.thread());
        }
        if record.uid() == self.order.word_uid() {
            Some(self.relation_in_block(span, record.thread(), record.clock(), key.thread()))
        } else {
            self.relation_in_grid(record, span)
        }
    }

    /// The same where records name each thread, for a record of one thread of the block.
    #[inline(never)]
    fn relation_of_one(&self, record: Record, span: Span, thread: u32) -> Option<(Relation, Status)> {
        if span != Span::Thread || record.uid() != self.order.word_uid() {
            return None;
        }
        let by = record.thread();
        if by == thread {
            let same = record.clock() == self.order.clock(thread);
            return Some((Relation::Itself, if same { Status::SameEpoch } else { Status::Synced }));
        }
        let relation = if by / 32 == thread / 32 { Relation::Warp } else { Relation::Block };
        let known = self.order.known_lanes(thread, self.order.uid(), by / 32, 1 << (by % 32), record.clock());
        Some((relation, if known == 0 { Status::Unsynced } else { Status::Synced }))
    }

    /// The same for threads of the block in other warps than the record's.
    #[inline(always)]
    pub(crate) fn relation_to_other_warps(&self, record: Record, span: Span) -> Option<(Relation, Status)> {
        if record.uid() == self.order.word_uid() {
            // It may be of the same thread.
            let tells = !(self.is_newer(record.clock()) && self.order.is_exact());
            tells.then(|| self.relation_across_warps(span, record.clock()))
        } else {
            self.relation_in_grid(record, span)
        }
    }

    /// The relation of a record by another block. `None`: ask [`BlockView::standing`].
    #[inline(always)]
    fn relation_in_grid(&self, record: Record, span: Span) -> Option<(Relation, Status)> {
        if !self.mine.contains(&record.uid()) {
            return self.relation_to_launch(record);
        }
        self.is_unordered_to_grid(span).then_some((Relation::Grid, Status::Unsynced))
    }

    /// The relation of a record by a block of an earlier launch. `None`: ask [`BlockView::standing`].
    #[inline(never)]
    fn relation_to_launch(&self, record: Record) -> Option<(Relation, Status)> {
        let status = match self.launch.earlier(self.launch.base + record.uid())? {
            Origin::Before => Status::Synced,
            // A launch before this one may have learnt of it. Then the record stays needlessly, and where it seems to
            // race, `standing` tells.
            Origin::Concurrent(_) if !self.order.knows_grid() => Status::Unsynced,
            _ => return None,
        };
        Some((Relation::Launch, status))
    }

    /// The relation of a record by this block, under its present uid, to an access by `thread`.
    #[inline(always)]
    fn relation_in_block(&self, span: Span, recorded: u32, clock: u32, thread: u32) -> (Relation, Status) {
        let newer = self.is_newer(clock);
        if matches!(span, Span::Block | Span::Grid) || recorded / 32 != thread / 32 || newer {
            return self.relation_across_warps(span, clock);
        }
        if span == Span::Thread && recorded == thread {
            let same = clock == self.order.clock(thread);
            return (Relation::Itself, if same { Status::SameEpoch } else { Status::Synced });
        }
        let synced = clock < self.order.warp_floor(thread / 32);
        (Relation::Warp, if synced { Status::Synced } else { Status::Unsynced })
    }

    /// The same to threads of other warps.
    ///
    /// A read that is checked late may meet records that its block made behind a barrier since. A
    /// later access that races with the read also races with those, so they represent it. Where vector clocks order
    /// threads, the barrier may be yet to come for the other threads of the block.
    #[inline(always)]
    fn relation_across_warps(&self, span: Span, clock: u32) -> (Relation, Status) {
        if span == Span::Grid {
            (Relation::Grid, Status::Unsynced)
        } else if clock < self.order.floor() {
            (Relation::Block, Status::Synced)
        } else if self.is_newer(clock) && !self.order.is_exact() {
            (Relation::Block, Status::SameEpoch)
        } else {
            (Relation::Block, Status::Unsynced)
        }
    }

    /// How a record stands to an access by `thread`.
    pub(crate) fn standing(&self, thread: u32, m: &Member, shared: bool) -> Standing {
        let order = &self.order;
        if m.is_copy() {
            return self.standing_of_copy(thread, m, shared);
        }
        if m.uid == order.uid() {
            if shared && m.clock < order.floor() {
                // Only this block reaches it, and all of the block has passed the barrier.
                return Standing::of_all(Relation::Block, Status::Settled, true);
            }
            if self.names_each_thread && m.lanes != 0 {
                return self.standing_of_lanes(thread, m);
            }
            let (relation, status) = self.relation_in_block(m.span, m.thread.into(), m.clock, thread);
            return Standing::of_all(relation, status, true);
        }
        if shared {
            // It is of another block whose shared memory lay here before, or of this block under an
            // older uid, before a barrier.
            return Standing::settled(false);
        }
        let origin = self.launch.origin(m.uid);
        let mine = origin == Origin::Mine;
        let relation = if mine { self.launch.relation(m.uid, self.index) } else { Relation::Launch };
        let status = match origin {
            Origin::Settled => Status::Settled,
            Origin::Before => Status::Synced,
            Origin::Mine if m.span != Span::Grid && order.was(m.uid) => {
                return Standing::of_all(Relation::Block, Status::Synced, mine);
            }
            // Through an acquire from a thread of a launch that began after it.
            Origin::Concurrent(launch) if order.knows_launch(thread, launch) => Status::Synced,
            Origin::Mine | Origin::Concurrent(_) => {
                if m.lanes != 0 && order.knows_others() {
                    return self.standing_by_clocks(thread, m, relation, mine);
                }
                // Its threads passed a barrier together before any of them could release it.
                let passed = m.span != Span::Grid && m.clock < order.known_floor(thread, m.uid);
                if passed { Status::Synced } else { Status::Unsynced }
            }
        };
        Standing::of_all(relation, status, mine)
    }

    /// How asynchronous copies stand to an access. They are nobody's own: a thread is ordered after
    /// its copies only once it knows them to be done, as any other thread is.
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
            let synced = Standing::of_all(Relation::Launch, Status::Synced, false);
            match self.launch.origin(home) {
                Origin::Settled => return Standing::settled(false),
                Origin::Before => return synced,
                Origin::Concurrent(launch) if order.knows_launch(thread, launch) => return synced,
                Origin::Concurrent(_) => (Relation::Launch, false),
                Origin::Mine => (self.launch.relation(home, self.index), true),
            }
        };
        let ordered = known(&|other| order.known_copies(thread, home, other));
        let status = if ordered == m.lanes { Status::Synced } else { Status::Unsynced };
        Standing { relation, status, ordered, mine }
    }

    /// How known lanes of this block stand to an access.
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

    /// The uid and the epoch in which an access is made.
    pub(crate) fn when(&self, a: &Access) -> (u64, u32) {
        match a.copy {
            Some(epoch) => (self.order.home() | COPIES, epoch),
            None => (self.order.uid(), self.order.clock(a.thread)),
        }
    }

    /// The full-width record of a new access.
    pub(crate) fn new_entry(&self, a: &Access) -> Entry {
        let (uid, clock) = self.when(a);
        let site = self.launch.data.site_base + a.site;
        Entry { touch: a.touch, site, member: Member::thread(uid, a.thread, clock) }
    }

    /// The record of a new access; `None` if it does not fit.
    pub(crate) fn new_record(&self, a: &Access) -> Option<Record> {
        if a.copy.is_some() {
            return None;
        }
        let (op, key) = (OpCode::of(a.touch)?, self.order.key(a.thread));
        (key != Key::NONE).then_some(())?;
        Some(Record::new(op, Span::Thread, SiteField::new(a.number?), key))
    }

    /// A record at full width.
    pub(crate) fn entry(&self, fields: &RecordFields) -> Entry {
        let member = member(fields, self.launch.base);
        // A launch that is not known any more is settled: its site names no race.
        let site = |data: &LaunchData| data.site_base + data.sites.site(fields.site);
        let site = match self.launch.owns(member.uid) {
            true => site(&self.launch.data),
            false => self.launch.owner(member.uid).map_or(0, |(data, _)| site(&data)),
        };
        Entry { touch: fields.touch, site, member }
    }

    /// A full-width record in 64 bits; `None` if it does not fit.
    pub(crate) fn pack(&self, e: &Entry) -> Option<Record> {
        let m = &e.member;
        if m.is_copy() {
            return None;
        }
        let (span, lane) = match m.lanes {
            0 => (m.span, m.thread & 31),
            one if one.is_power_of_two() => (Span::Thread, one.trailing_zeros() as u16),
            _ => return None,
        };
        let number = |data: &LaunchData| data.sites.number(e.site.checked_sub(data.site_base)?);
        let site = match self.launch.owns(m.uid) {
            true => number(&self.launch.data)?,
            false => number(&self.launch.owner(m.uid)?.0)?,
        };
        let uid = u32::try_from(m.uid - self.launch.base).ok()?;
        let clock = u16::try_from(m.clock).ok()?;
        RecordFields { touch: e.touch, span, site, thread: (m.thread & !31) | lane, uid, clock }.pack()
    }
}

/// The threads of a record; records count uids from `base`.
pub(crate) fn member(fields: &RecordFields, base: u64) -> Member {
    Member {
        uid: base + u64::from(fields.uid),
        clock: fields.clock.into(),
        lanes: if fields.span == Span::Thread { 1 << (fields.thread % 32) } else { 0 },
        thread: fields.thread,
        span: fields.span,
    }
}
