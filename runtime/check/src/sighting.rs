//! From a record and an access that race to a [`RaceRecord`].

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use gpurace_abi::scope::Scope;

use crate::block::{Access, State, Value};
use crate::chain::{Entry, Member};
use crate::covered::CoveredRead;
use crate::launch::KernelKey;
use crate::observed::{self, Doubtful, Excuse, Logged};
use crate::race::{PairKey, RaceRecord, RaceScope, Races, Side, SideOp, both_same};
use crate::standing::Standing;
use crate::state::{self, Relation, Status};
use crate::syncvar::Location;
use crate::word::{GRANULE, Op, Span, Touch};

/// A block's own count of what it has seen, so that a race that is seen a
/// million times takes no lock a million times.
#[derive(Default)]
pub(crate) struct Sightings {
    seen: HashMap<PairKey, Sighting>,
    /// Number of the access being checked: its words count once.
    access: u64,
    /// What is checked now has been checked before: nothing is noted.
    pub(crate) quiet: bool,
    /// Bytes of the word being checked that more than one record has changed:
    /// whose value memory holds is not known.
    pub(crate) contested: u8,
    traced: Option<Vec<RaceRecord>>,
}

struct Sighting {
    /// Index in [`Races`].
    index: usize,
    /// Further accesses that saw it, after the first.
    count: u64,
    same_value: Option<bool>,
    /// The last access that saw it.
    access: u64,
}

impl Sightings {
    pub(crate) fn next_access(&mut self) {
        self.access += 1;
    }

    pub(crate) fn trace(&mut self) {
        self.traced = Some(Vec::new());
    }

    pub(crate) fn take_traced(&mut self) -> Vec<RaceRecord> {
        self.traced.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(crate) fn flush(&mut self, races: &Races) {
        for (_, s) in self.seen.drain() {
            races.add(s.index, s.count, s.same_value);
        }
    }
}

/// Who made the earlier access, as far as it is known.
struct Culprit {
    uid: Option<u64>,
    thread: Option<u32>,
    relation: Relation,
}

impl State {
    /// Notes that record `e` races with access `a`, and with the reads that either's
    /// check stands for, in the order in which the program makes them.
    #[cold]
    pub(crate) fn race(&mut self, e: &Entry, s: &Standing, a: &Access<'_>) {
        let covered = &self.launch.inner.covered;
        let base = self.launch.data.site_base;
        let (before, after): (Vec<_>, Vec<_>) =
            covered.by(base + a.site).into_iter().partition(|read| read.before);
        // A record of one thread stands for what that thread reads later.
        let several = !self.exact && e.member.span != Span::Thread;
        let earlier = if several { covered.by(e.site) } else { Vec::new() };
        let later = |read: &CoveredRead| Access {
            site: read.read - base,
            touch: Touch { op: Op::Read, mask: a.touch.mask },
            value: Value::Unknown,
            ..*a
        };
        for read in before.iter().map(later) {
            self.race_of_two(e, s, &read);
        }
        self.race_of_two(e, s, a);
        for read in after.iter().map(later) {
            self.race_of_two(e, s, &read);
        }
        for read in earlier.iter().filter(|read| !read.before) {
            let touch = Touch { op: Op::Read, mask: e.touch.mask };
            self.race_of_two(&Entry { site: read.read, touch, ..*e }, s, a);
        }
    }

    fn race_of_two(&mut self, e: &Entry, s: &Standing, a: &Access<'_>) {
        // Which of the two's relatives conflict is for this to say.
        if !state::conflict(e.touch, a.touch, s.relation) {
            return;
        }
        if self.sightings.quiet || self.is_meant(e.touch.mask & a.touch.mask, a.word) {
            return;
        }
        match self.instead(e, a) {
            None => self.sight(e, s, a),
            Some(others) => others.iter().for_each(|(e, s)| self.sight(e, s, a)),
        }
    }

    fn sight(&mut self, e: &Entry, s: &Standing, a: &Access<'_>) {
        let site = self.launch.data.site_base + a.site;
        let earlier = self.launch.owner(e.member.uid).map_or(KernelKey::NONE, |(launch, _)| launch.kernel);
        let kernel = match self.launch.kernel {
            KernelKey::NONE => earlier,
            kernel => kernel,
        };
        let key = (kernel, e.site.min(site), e.site.max(site));
        // What a copy writes is no value that a thread meant.
        let of_threads = ![earlier, self.launch.kernel].contains(&KernelKey::NONE);
        let same_value = of_threads.then(|| self.same_value(e.touch, a)).flatten();
        let access = self.sightings.access;
        if self.sightings.traced.is_some() {
            let record = self.record(e, s, a, kernel, same_value);
            self.sightings.traced.get_or_insert_default().push(record);
        }
        if let Some(seen) = self.sightings.seen.get_mut(&key) {
            if seen.access != access {
                seen.access = access;
                seen.count += 1;
            }
            seen.same_value = both_same(seen.same_value, same_value);
            return;
        }
        let record = self.record(e, s, a, kernel, same_value);
        let index = self.launch.inner.races.see(key, record);
        self.sightings.seen.insert(key, Sighting { index, count: 0, same_value, access });
    }

    /// Where the thread of an access has observed the atomic writes that a record stands
    /// for: what else the record stands for and races with the access, atomic operations on
    /// the same location.
    fn instead(&self, e: &Entry, a: &Access<'_>) -> Option<Vec<(Entry, Standing)>> {
        let Op::Atomic { modifies: true, start, size, .. } = e.touch.op else { return None };
        let launch = &self.launch;
        // A newer operation in the log stands for older ones against plain accesses, not against atomics,
        // which may conflict with one of them alone by their scope.
        let plain = !matches!(a.touch.op, Op::Atomic { .. }) && a.copy.is_none();
        if !launch.features.observes || !plain || launch.owner(e.member.uid)?.0.id != launch.data.id {
            return None;
        }
        let address = a.word.wrapping_add_signed(start.into());
        let Some(ops) = launch.inner.syncvars.log((address, size.into()), launch.data.id) else {
            let undecided = !launch.inner.limits.reports_undecided;
            return undecided.then(|| {
                self.leave_undecided();
                Vec::new()
            });
        };
        let shared = self.shared.contains(&a.word);
        let member = |op: &Logged| Member::thread(op.uid, op.thread, op.clock);
        let standings: Vec<_> = ops.iter().map(|op| self.standing(a.thread, &member(op), shared)).collect();
        let known: Vec<_> = standings.iter().map(|s| s.status != Status::Unsynced).collect();
        let conflicting = |&i: &usize| {
            let (op, standing) = (&ops[i], standings[i]);
            let touch = Touch {
                op: Op::Atomic { modifies: op.modifies, scope: op.scope, start, size },
                mask: e.touch.mask,
            };
            let conflicts = state::conflict(touch, a.touch, standing.relation);
            op.site.filter(|_| conflicts).map(|site| (Entry { touch, site, member: member(op) }, standing))
        };
        let mut left = observed::unobserved(&ops, &known);
        if !launch.inner.limits.reports_undecided {
            let mut doubtful = observed::doubtful(&ops, &known);
            doubtful.retain(|doubtful| conflicting(&doubtful.of).is_some());
            left.extend(self.certain((address, size.into()), &ops, &doubtful, a.site));
        }
        let others: Vec<_> = left.iter().filter_map(conflicting).collect();
        let same = others.iter().any(|(other, _)| {
            other.site == e.site && matches!(other.touch.op, Op::Atomic { modifies: true, .. })
        });
        (!same).then_some(others)
    }

    /// Of writes that a thread may or may not have observed before its access, one that it races with in any case, as another thread does otherwise.
    fn certain(&self, location: Location, ops: &[Logged], doubtful: &[Doubtful], site: u32) -> Option<usize> {
        let launch = &self.launch;
        let site = launch.data.site_base + site;
        let by_one = doubtful.iter().filter_map(|doubtful| Some((doubtful.of, doubtful.by?)));
        let (of, excuses): (Vec<_>, Vec<_>) =
            by_one.map(|(of, by)| (of, Excuse::new(&ops[by], &ops[of], site))).unzip();
        let certain = launch.inner.syncvars.excuse(location, &excuses).map(|i| of[i]);
        if certain.is_none() && !doubtful.is_empty() {
            self.leave_undecided();
        }
        certain
    }

    fn leave_undecided(&self) {
        self.launch.inner.undecided.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the program has said of all these bytes of a word that races on
    /// them are meant.
    fn is_meant(&self, mask: u8, word: usize) -> bool {
        let bytes = (0..GRANULE).filter(|i| mask & 1 << i != 0);
        let mut bytes = bytes.map(|i| word + i);
        if self.shared.contains(&word) {
            bytes.all(|byte| self.benign.holds(byte))
        } else {
            let benign = self.launch.inner.benign.read();
            bytes.all(|byte| benign.holds(byte))
        }
    }

    fn record(
        &self,
        e: &Entry,
        s: &Standing,
        a: &Access<'_>,
        kernel: KernelKey,
        same_value: Option<bool>,
    ) -> RaceRecord {
        let who = self.culprit(e, s, a);
        let data = &self.launch.data;
        let owner = self.launch.owner(e.member.block());
        let (launch, stream) = owner.as_ref().map_or((data.id, data.stream), |(l, _)| (l.id, l.stream));
        let (size, address) = match e.touch.op {
            Op::Atomic { start, size, .. } => {
                (Some(size.into()), Some(a.word.wrapping_add_signed(start.into())))
            }
            Op::Read | Op::Write => (None, None),
        };
        let overlap = (e.touch.mask & a.touch.mask).trailing_zeros() as usize;
        RaceRecord {
            kernel,
            launch: data.id,
            earlier: Side {
                op: side_op(e.touch),
                site: e.site,
                size,
                address,
                launch,
                stream,
                block: who.uid.and_then(|uid| self.launch.owner(uid)).map(|(_, block)| block),
                thread: who.thread,
                scope: scope_of(e.touch),
            },
            later: Side {
                op: side_op(a.touch),
                site: data.site_base + a.site,
                size: u32::try_from(a.size).ok(),
                address: Some(a.address),
                launch: data.id,
                stream: data.stream,
                block: Some(self.index),
                thread: Some(a.thread),
                scope: scope_of(a.touch),
            },
            address: a.word + overlap,
            space: self.space(a.word),
            shared_base: self.shared_of(a.word).map_or(self.shared.start, |shared| shared.start),
            scope: match who.relation {
                Relation::Itself | Relation::Warp => RaceScope::Warp,
                Relation::Block => RaceScope::Block,
                Relation::Cluster => RaceScope::Cluster,
                Relation::Grid => RaceScope::Grid,
                Relation::Launch => RaceScope::Device,
            },
            same_value,
            count: 1,
        }
    }

    /// A thread that the record stands for and that races with the access.
    fn culprit(&self, e: &Entry, s: &Standing, a: &Access<'_>) -> Culprit {
        let m = &e.member;
        let unordered = m.lanes & !s.ordered;
        if unordered != 0 {
            let thread = m.warp() * 32 + unordered.trailing_zeros();
            return Culprit { uid: Some(m.block()), thread: Some(thread), relation: s.relation };
        }
        let known = u32::from(m.thread);
        let same_block = m.uid == self.order.uid() || self.order.was(m.uid);
        if !same_block {
            return Culprit { uid: Some(m.uid), thread: Some(known), relation: s.relation };
        }
        match m.span {
            // Every lane of it is concurrent, but the thread may be the one that asks.
            Span::Thread | Span::Warp if m.warp() == a.thread / 32 => {
                let thread = (known != a.thread).then_some(known);
                Culprit { uid: Some(m.uid), thread, relation: s.relation }
            }
            Span::Thread | Span::Warp => {
                Culprit { uid: Some(m.uid), thread: Some(known), relation: s.relation }
            }
            // The known thread's own warp may have synced since.
            Span::Block => {
                let thread = (m.warp() != a.thread / 32).then_some(known);
                Culprit { uid: Some(m.uid), thread, relation: s.relation }
            }
            Span::Grid => self.culprit_in_grid(e.touch, m, a),
        }
    }

    /// The known thread of a record of several blocks is of the asking block:
    /// either it races itself, or a block races that is not known.
    fn culprit_in_grid(&self, touch: Touch, m: &Member, a: &Access<'_>) -> Culprit {
        let thread = u32::from(m.thread);
        let relation = if m.warp() == a.thread / 32 { Relation::Warp } else { Relation::Block };
        let races = m.uid == self.order.uid()
            && thread != a.thread
            && m.clock >= self.order.known(a.thread, m.uid, thread)
            && state::conflict(touch, a.touch, relation);
        if races {
            Culprit { uid: Some(m.uid), thread: Some(thread), relation }
        } else {
            Culprit { uid: None, thread: None, relation: Relation::Grid }
        }
    }

    /// Whether the access writes what an earlier write left in the bytes of both,
    /// where memory can still tell.
    fn same_value(&self, earlier: Touch, a: &Access<'_>) -> Option<bool> {
        if earlier.op != Op::Write || a.touch.op != Op::Write {
            return None;
        }
        if earlier.mask & a.touch.mask & self.sightings.contested != 0 {
            return None;
        }
        let value = match a.value {
            Value::Unknown => return None,
            Value::Item(item) => return item.left_equal(a.word),
            Value::Bytes(value) => value,
        };
        let read = self.launch.inner.read_memory?;
        let there = read(a.address, u32::try_from(a.size).ok().filter(|&n| n <= 8)?)?;
        let same = (0..GRANULE).filter(|i| earlier.mask & a.touch.mask & 1 << i != 0).all(|i| {
            let byte = a.word + i - a.address;
            value >> (8 * byte) & 0xff == there >> (8 * byte) & 0xff
        });
        Some(same)
    }
}

pub(crate) fn side_op(touch: Touch) -> SideOp {
    match touch.op {
        Op::Read => SideOp::Read,
        Op::Write => SideOp::Write,
        Op::Atomic { modifies: false, .. } => SideOp::AtomicLoad,
        Op::Atomic { modifies: true, .. } => SideOp::AtomicWrite,
    }
}

pub(crate) fn scope_of(touch: Touch) -> Option<Scope> {
    match touch.op {
        Op::Read | Op::Write => None,
        Op::Atomic { scope, .. } => Some(scope),
    }
}
