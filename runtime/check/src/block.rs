//! The checks that a running block makes.
//!
//! One worker runs a block and owns its [`Block`]. The worker calls it for
//! each access just before it happens, and for each synchronisation when it
//! takes effect. Blocks of one launch, or of concurrent ones, may run on
//! several workers at once: they meet in the shadow words, which change by
//! compare-and-swap, and in chains, which a worker takes by making the word busy.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpurace_abi::scope::{AtomicKind, Order, Scope};

use crate::chain::{Chain, Entry, Member};
use crate::history;
use crate::launch::{Inner, Launch, Origin};
use crate::order::{BlockOrder, Mode};
use crate::race::{RaceRecord, Space};
use crate::sighting::Sightings;
use crate::state::{self, Next, Relation, Status};
use crate::word::{self, Compact, FULL, GRANULE, KEY_MASK, NO_KEY, Op, STATE_MASK, Span, Touch, Word};

/// A running block.
pub struct Block {
    inner: Arc<Inner>,
    state: State,
}

/// What changes while words are looked at.
pub(crate) struct State {
    pub(crate) launch: Arc<Launch>,
    pub(crate) index: u64,
    pub(crate) order: BlockOrder,
    pub(crate) shared: Range<usize>,
    pub(crate) sightings: Sightings,
    pub(crate) exact: bool,
    fences: bool,
    checks: u64,
    /// Locations on which this block released.
    published: HashSet<usize>,
    /// Chains without a word, to be used again.
    pool: Vec<Box<Chain>>,
}

/// One access to one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) thread: u32,
    pub(crate) touch: Touch,
    /// The module's index of the instruction.
    pub(crate) site: u32,
    /// Address of the word.
    pub(crate) word: usize,
    /// The whole access.
    pub(crate) address: usize,
    pub(crate) size: u64,
    /// The bytes about to be written, where known.
    pub(crate) value: Option<u64>,
}

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

const POOL: usize = 256;

impl Block {
    /// Begins block `index` (linear) of a launch, with its shared memory.
    pub fn begin(launch: &Arc<Launch>, index: u64, shared: Range<usize>) -> Self {
        let uid = launch.data.first_uid + index;
        let mode = mode(launch);
        Self {
            inner: launch.inner.clone(),
            state: State {
                order: BlockOrder::new(mode, launch.threads, uid, uid - launch.base),
                launch: launch.clone(),
                index,
                shared,
                sightings: Sightings::default(),
                exact: mode == Mode::Exact,
                fences: launch.features.fences,
                checks: 0,
                published: HashSet::new(),
                pool: Vec::new(),
            },
        }
    }

    /// Ends this block and begins another in its place.
    pub fn restart(&mut self, launch: &Arc<Launch>, index: u64, shared: Range<usize>) {
        self.finish();
        let uid = launch.data.first_uid + index;
        let s = &mut self.state;
        let mode = mode(launch);
        self.inner = launch.inner.clone();
        s.order.restart(mode, launch.threads, uid, uid - launch.base);
        s.launch = launch.clone();
        s.index = index;
        s.shared = shared;
        s.exact = mode == Mode::Exact;
        s.fences = launch.features.fences;
    }

    /// Ends the block.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        let s = &mut self.state;
        s.launch.checks.fetch_add(s.checks, Ordering::Relaxed);
        s.checks = 0;
        s.sightings.flush(&self.inner.races);
        for address in s.published.drain() {
            if s.shared.contains(&address) {
                // The next block's shared memory may lie there.
                self.inner.syncvars.overwrite(address, 1, None);
            } else {
                self.inner.syncvars.block_ended(s.order.home(), address);
            }
        }
    }

    /// A plain read of `size` bytes by thread `thread` (linear).
    #[inline]
    pub fn read(&mut self, thread: u32, address: usize, size: u32, site: u32) {
        self.state.checks += 1;
        if size == 4
            && address % GRANULE == 0
            && let Some(cell) = self.inner.shadow.cell(address)
        {
            let w = cell.load(Ordering::Acquire);
            let state = w & STATE_MASK;
            if (w ^ self.state.order.key(thread)) & KEY_MASK == 0
                && (state == word::THREAD_READ || state == word::THREAD_WRITE)
            {
                return;
            }
            let touch = Touch { op: Op::Read, mask: FULL };
            let access =
                Access { thread, touch, site, word: address, address, size: 4, value: None };
            return self.state.word(&self.inner, cell, w, &access);
        }
        self.words(thread, address, size.into(), site, Op::Read, None);
    }

    /// A plain write of `size` bytes; `value` holds the bytes about to be
    /// written, zero-extended, where they are known and at most 8.
    #[inline]
    pub fn write(&mut self, thread: u32, address: usize, size: u32, site: u32, value: Option<u64>) {
        self.state.checks += 1;
        if self.state.fences {
            self.inner.syncvars.overwrite(address, size as usize, None);
        }
        if size == 4
            && address % GRANULE == 0
            && let Some(cell) = self.inner.shadow.cell(address)
        {
            let w = cell.load(Ordering::Acquire);
            if (w ^ self.state.order.key(thread)) & KEY_MASK == 0
                && w & STATE_MASK == word::THREAD_WRITE
            {
                return;
            }
            let touch = Touch { op: Op::Write, mask: FULL };
            let access = Access { thread, touch, site, word: address, address, size: 4, value };
            return self.state.word(&self.inner, cell, w, &access);
        }
        self.words(thread, address, size.into(), site, Op::Write, value);
    }

    /// A plain read of any length.
    pub fn read_range(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.state.checks += 1;
        self.words(thread, address, size, site, Op::Read, None);
    }

    /// A plain write of any length.
    pub fn write_range(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.state.checks += 1;
        if self.state.fences {
            self.inner.syncvars.overwrite(address, size as usize, None);
        }
        self.words(thread, address, size, site, Op::Write, None);
    }

    /// An atomic or volatile access, before it happens: what it releases is
    /// published. Nothing else of the block may run before [`Block::atomic_done`].
    #[expect(clippy::too_many_arguments, reason = "the arguments of the entry point")]
    pub fn atomic(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        site: u32,
        kind: AtomicKind,
        scope: Scope,
        order: Order,
    ) {
        self.state.checks += 1;
        let (modifies, volatile) = match kind {
            AtomicKind::Load => (false, false),
            AtomicKind::Store | AtomicKind::Rmw => (true, false),
            AtomicKind::VolatileLoad => (false, true),
            AtomicKind::VolatileStore => (true, true),
        };
        // A volatile access carries order as an atomic one does, and races as a plain one.
        let op = match (volatile, modifies) {
            (true, false) => Op::Read,
            (true, true) => Op::Write,
            (false, _) => Op::Atomic { modifies, scope, start: 0, size: size as u8 },
        };
        self.words(thread, address, size.into(), site, op, None);
        let s = &mut self.state;
        if !s.fences {
            if order != Order::Relaxed {
                self.inner.unforeseen_sync.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        if modifies {
            let what = s.order.publish(thread, address, scope, order);
            let head = s.order.head(thread, scope);
            self.inner.syncvars.write(address, size, head, &what, kind == AtomicKind::Rmw);
            if !what.block.is_empty() {
                s.published.insert(address);
            }
        }
    }

    /// The access of the last [`Block::atomic`] has happened: what it
    /// acquires is learnt.
    #[expect(clippy::too_many_arguments, reason = "the arguments of the entry point")]
    pub fn atomic_done(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        _site: u32,
        kind: AtomicKind,
        scope: Scope,
        order: Order,
    ) {
        let s = &mut self.state;
        if !s.fences {
            return;
        }
        let (reads, writes) = match kind {
            AtomicKind::Load | AtomicKind::VolatileLoad => (true, false),
            AtomicKind::Store | AtomicKind::VolatileStore => (false, true),
            AtomicKind::Rmw => (true, true),
        };
        if reads {
            let head = s.order.head(thread, scope);
            let seen = self.inner.syncvars.read(address, size, head);
            s.order.observe(thread, address, scope, order, seen);
        }
        if writes {
            self.inner.syncvars.written(address, size);
        }
    }

    /// A fence.
    pub fn fence(&mut self, thread: u32, scope: Scope, order: Order) {
        if !self.state.fences || !self.state.order.fence(thread, scope, order) {
            self.unforeseen();
        }
    }

    /// All live threads of the block have arrived at barrier 0, and go on.
    pub fn barrier(&mut self) {
        let s = &mut self.state;
        let further = (s.order.max_clock() + 1 >= self.inner.limits.clock).then(|| {
            let uid = self.inner.further_uid(&s.launch.data, s.index);
            (uid, uid - s.launch.base)
        });
        s.order.barrier(further);
    }

    /// A thread arrives at a named barrier without waiting (`bar.arrive`).
    pub fn barrier_arrive(&mut self, thread: u32, barrier: u32) {
        if !self.state.order.arrive(thread, barrier) {
            self.unforeseen();
        }
    }

    /// A named barrier, or a barrier of a part of the block, completes: the
    /// threads in `waited` go on. Those that arrived without waiting have been
    /// told by [`Block::barrier_arrive`].
    pub fn named_barrier(&mut self, barrier: u32, waited: &[u32]) {
        if !self.state.order.named_barrier(barrier, waited) {
            self.unforeseen();
        }
    }

    /// The lanes of `mask` have synced (`__syncwarp(mask)`), and go on.
    /// Lanes that the block does not have are ignored.
    pub fn syncwarp(&mut self, warp: u32, mask: u32) {
        if !self.state.order.syncwarp(warp, mask) {
            self.unforeseen();
        }
    }

    /// A thread has ended: for barriers still to come it counts as arrived.
    pub fn thread_exit(&mut self, _thread: u32) {}

    /// Forgets all accesses to a range: this block has freed it, or newly allocated it.
    pub fn forget(&mut self, address: usize, size: usize) {
        self.inner.forget(address, size);
    }

    /// From now on keeps every sighting of a race, for [`Block::take_traced`]:
    /// so a test sees what each single access found.
    pub fn trace(&mut self) {
        self.state.sightings.trace();
    }

    /// The sightings since the last call, where [`Block::trace`] was called.
    pub fn take_traced(&mut self) -> Vec<RaceRecord> {
        self.state.sightings.take_traced()
    }

    /// Checks made since the block began.
    pub fn checks(&self) -> u64 {
        self.state.checks
    }

    #[cold]
    fn unforeseen(&self) {
        self.inner.unforeseen_sync.fetch_add(1, Ordering::Relaxed);
    }

    /// Checks each word that an access covers.
    fn words(&mut self, thread: u32, address: usize, size: u64, site: u32, op: Op, value: Option<u64>) {
        let end = address.saturating_add(size as usize);
        let mut at = address & !(GRANULE - 1);
        self.state.sightings.next_access();
        while at < end {
            let from = address.max(at) - at;
            let to = end.min(at + GRANULE) - at;
            let mask = (FULL << from) & (FULL >> (GRANULE - to));
            let op = match op {
                Op::Atomic { modifies, scope, size, .. } => {
                    let start = address.wrapping_sub(at) as i8;
                    Op::Atomic { modifies, scope, start, size }
                }
                Op::Read | Op::Write => op,
            };
            let touch = Touch { op, mask };
            if let Some(cell) = self.inner.shadow.cell(at) {
                let w = cell.load(Ordering::Acquire);
                let access = Access { thread, touch, site, word: at, address, size, value };
                self.state.word(&self.inner, cell, w, &access);
            }
            at += GRANULE;
        }
    }
}

fn mode(launch: &Launch) -> Mode {
    let f = launch.features;
    if f.partial_masks || f.named_barriers || f.fences { Mode::Exact } else { Mode::Regular }
}

impl State {
    /// Which memory an address is in.
    pub(crate) fn space(&self, address: usize) -> Space {
        if self.shared.contains(&address) { Space::Shared } else { Space::Global }
    }

    /// How a record stands to an access by `thread`.
    pub(crate) fn standing(&self, thread: u32, m: &Member, shared: bool) -> Standing {
        let order = &self.order;
        if m.uid == order.uid() {
            let here = |relation, status, ordered| Standing { relation, status, ordered, mine: true };
            let synced = |known: u32| if m.clock < known { Status::Synced } else { Status::Unsynced };
            if shared && m.clock < order.floor() {
                // Only this block can reach it, and all of it has passed the barrier.
                return here(Relation::Block, Status::Settled, !0);
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
            return Standing {
                relation: Relation::Grid,
                status: Status::Settled,
                ordered: !0,
                mine: false,
            };
        }
        let origin = self.launch.origin(m.uid);
        let mine = origin == Origin::Mine;
        let relation = if mine { Relation::Grid } else { Relation::Launch };
        let status = match origin {
            Origin::Settled => Status::Settled,
            Origin::Before => Status::Synced,
            Origin::Mine if m.span != Span::Grid && order.was(m.uid) => {
                return Standing { relation: Relation::Block, status: Status::Synced, ordered: !0, mine };
            }
            Origin::Mine | Origin::Concurrent => {
                if m.lanes != 0 && self.exact {
                    return self.standing_by_clocks(thread, m, relation, mine);
                }
                Status::Unsynced
            }
        };
        let ordered = if status == Status::Unsynced { 0 } else { !0 };
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

    /// Checks one word.
    fn word(&mut self, inner: &Inner, cell: &AtomicU64, mut w: u64, a: &Access) {
        if a.size == 4 && a.touch.mask == FULL {
            self.sightings.next_access();
        }
        let shared = self.shared.contains(&a.word);
        loop {
            let next = match Word::unpack(w) {
                Word::Empty => self.pack(a),
                Word::Busy => {
                    std::thread::yield_now();
                    w = cell.load(Ordering::Acquire);
                    continue;
                }
                Word::Expanded(_) => None,
                Word::Compact(c) => {
                    let m = member(&c, self.launch.base);
                    let s = self.standing(a.thread, &m, shared);
                    let same_site =
                        s.mine && self.launch.data.sites.number(a.site) == Some(c.site);
                    let step = state::step(c.touch, c.span, a.touch, s.relation, s.status, same_site);
                    let next = match step.next {
                        Next::Keep => Some(w),
                        Next::Replace => self.pack(a),
                        Next::Join(_) if self.exact => None,
                        Next::Join(span) => Some(Compact { span, ..c }.pack().expect("as it was")),
                        Next::Both => None,
                    };
                    if next.is_some() && step.race && (next == Some(w) || swap(cell, &mut w, next)) {
                        let e = self.entry(&c, m);
                        self.race(&e, &s, a);
                        return;
                    }
                    if next.is_some() && step.race {
                        continue;
                    }
                    next
                }
            };
            match next {
                Some(next) if next == w => return,
                Some(_) => {
                    if swap(cell, &mut w, next) {
                        return;
                    }
                }
                None => {
                    if swap(cell, &mut w, Some(word::BUSY_WORD)) {
                        let next = self.expanded(inner, w, a, shared);
                        cell.store(next, Ordering::Release);
                        return;
                    }
                }
            }
        }
    }

    /// Checks a word whose history is, or becomes, a chain. Returns the new word.
    fn expanded(&mut self, inner: &Inner, w: u64, a: &Access, shared: bool) -> u64 {
        let mut chain = match Word::unpack(w) {
            Word::Expanded(at) => {
                // SAFETY: the word owned the chain; making it busy took it over.
                unsafe { Box::from_raw(at as *mut Chain) }
            }
            Word::Empty | Word::Busy => self.fresh_chain(inner),
            Word::Compact(c) => {
                let mut chain = self.fresh_chain(inner);
                let m = member(&c, self.launch.base);
                chain.entries.push(self.entry(&c, m));
                chain.reads_only = c.touch.op == Op::Read;
                chain
            }
        };
        history::visit(self, inner, &mut chain, a, shared);
        let alone = match chain.entries.as_slice() {
            [] => Some(0),
            [e] => self.pack_entry(e),
            _ => None,
        };
        if let Some(word) = alone {
            self.recycle(inner, chain);
            return word;
        }
        if inner.chains.load(Ordering::Relaxed) > inner.limits.chains {
            // The newest record, if it fits, is worth more than the oldest.
            inner.lost_words.fetch_add(1, Ordering::Relaxed);
            let kept = chain.entries.iter().rev().find_map(|e| self.pack_entry(e)).unwrap_or(0);
            self.recycle(inner, chain);
            return kept;
        }
        word::expanded(Box::into_raw(chain) as u64)
    }

    fn fresh_chain(&mut self, inner: &Inner) -> Box<Chain> {
        inner.chains.fetch_add(1, Ordering::Relaxed);
        let mut chain = self.pool.pop().unwrap_or_default();
        chain.entries.clear();
        chain.reads_only = true;
        chain
    }

    fn recycle(&mut self, inner: &Inner, chain: Box<Chain>) {
        inner.chains.fetch_sub(1, Ordering::Relaxed);
        if self.pool.len() < POOL && chain.entries.capacity() <= 64 {
            self.pool.push(chain);
        }
    }

    /// The word of a new access alone; `None` where it does not fit.
    fn pack(&self, a: &Access) -> Option<u64> {
        let op = word::op_code(a.touch)?;
        let key = self.order.key(a.thread);
        if key == NO_KEY {
            return None;
        }
        let site = self.launch.data.sites.number(a.site)?;
        Some(word::state_bits(op, Span::Thread) | word::site_bits(site) | key)
    }

    /// The word of a record alone; `None` where it does not fit.
    fn pack_entry(&self, e: &Entry) -> Option<u64> {
        let m = &e.member;
        let span = if m.lanes == 0 {
            m.span
        } else if m.lanes.is_power_of_two() {
            Span::Thread
        } else {
            return None;
        };
        let (data, _) = self.launch.owner(m.uid)?;
        let site = data.sites.number(e.site.checked_sub(data.site_base)?)?;
        Compact {
            touch: e.touch,
            span,
            site,
            thread: (m.thread & !31) | if m.lanes == 0 { m.thread & 31 } else { m.lanes.trailing_zeros() as u16 },
            uid: u32::try_from(m.uid - self.launch.base).ok()?,
            clock: u16::try_from(m.clock).ok()?,
        }
        .pack()
    }

    /// The record of a word, at full width.
    fn entry(&self, c: &Compact, member: Member) -> Entry {
        // A launch that is not known any more is settled: its site names no race.
        let site = self
            .launch
            .owner(member.uid)
            .map_or(0, |(data, _)| data.site_base + data.sites.site(c.site));
        Entry { touch: c.touch, site, member }
    }

    /// The record of a new access, at full width.
    pub(crate) fn new_entry(&self, a: &Access) -> Entry {
        Entry {
            touch: a.touch,
            site: self.launch.data.site_base + a.site,
            member: Member::thread(self.order.uid(), a.thread, self.order.clock(a.thread)),
        }
    }
}

fn member(c: &Compact, base: u64) -> Member {
    Member {
        uid: base + u64::from(c.uid),
        clock: c.clock.into(),
        lanes: if c.span == Span::Thread { 1 << (c.thread % 32) } else { 0 },
        thread: c.thread,
        span: c.span,
    }
}

/// Puts `next` where `w` was seen; where another value is there, `w` becomes it.
fn swap(cell: &AtomicU64, w: &mut u64, next: Option<u64>) -> bool {
    let next = next.expect("a word to put");
    match cell.compare_exchange(*w, next, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => true,
        Err(now) => {
            *w = now;
            false
        }
    }
}
