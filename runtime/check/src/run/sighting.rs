//! From a record and an access that race to a [`RaceRecord`].

use std::collections::HashMap;

use crate::batch::Value;
use crate::model::access::{Access, GRANULE, Op, Touch};
use crate::model::entry::{Entry, Member};
use crate::model::race::{KernelKey, RaceRecord, RaceScope, Side, SideOp, Space};
use crate::model::relation::{Relation, Span, Standing, Status};
use crate::model::step;
use crate::order::observed::{self, AtomicOperation};
use crate::order::view::BlockView;
use crate::run::benign::Benign;
use crate::run::block::BlockMemory;
use crate::run::covered::{Covered, CoveredRead, CoveredReads};
use crate::run::launch::Launch;
use crate::run::races::{PairKey, Races, both_same};
use crate::shadow::RaceSink;

/// A worker's own counts of the races that its blocks of a launch have seen, so that a race that is seen a
/// million times does not take a lock a million times.
#[derive(Default)]
pub(crate) struct Sightings {
    seen: Vec<SeenRace>,
    by_pair: HashMap<PairKey, usize>,
    /// For some pairs, where [`Self::seen`] has them.
    recent: [usize; RECENT],
    /// The covered reads of some sites.
    covered: [Option<(u32, CoveredReads)>; RECENT],
    /// Number of the access that is checked. Its words count once.
    access: u64,
    /// The access that is checked now was checked before: no race is noted.
    pub(crate) quiet: bool,
    /// All sightings, if they are traced.
    traced: Option<Vec<RaceRecord>>,
}

/// Places for what a worker keeps at hand of pairs, and of sites.
const RECENT: usize = 16;

/// A race that blocks of a worker have seen, and how often.
struct SeenRace {
    key: PairKey,
    /// Index in [`Races`].
    index: usize,
    /// Number of accesses that saw it, of which [`Races`] does not know yet.
    count: u64,
    /// [`Races`] does not know all that was seen.
    untold: bool,
    same_value: Option<bool>,
    widest: RaceScope,
    /// The last access that saw it.
    access: u64,
}

impl Sightings {
    /// Begins an access.
    pub(crate) fn next_access(&mut self) {
        self.access += 1;
    }

    /// Keeps every further sighting for [`Sightings::take_traced`].
    pub(crate) fn trace(&mut self) {
        self.traced = Some(Vec::new());
    }

    pub(crate) fn take_traced(&mut self) -> Vec<RaceRecord> {
        self.traced.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds the counts to the process's races.
    pub(crate) fn flush(&mut self, races: &Races) {
        for s in self.seen.iter_mut().filter(|s| s.untold) {
            races.add(s.index, s.count, s.same_value, s.widest);
            (s.count, s.untold) = (0, false);
        }
    }

    /// Forgets the races of the last launch, whose counts were added.
    pub(crate) fn forget(&mut self) {
        self.seen.clear();
        self.by_pair.clear();
        self.covered = Default::default();
    }

    /// What the worker has seen of a race, if anything.
    fn of(&mut self, key: PairKey) -> Option<&mut SeenRace> {
        let place = (key.1 ^ key.2.wrapping_mul(5)) as usize % RECENT;
        let mut at = self.recent[place];
        if self.seen.get(at).is_none_or(|seen| seen.key != key) {
            at = *self.by_pair.get(&key)?;
            self.recent[place] = at;
        }
        Some(&mut self.seen[at])
    }

    /// The reads that the check of a site stands for.
    fn covered_by(&mut self, covered: &Covered, site: u32) -> CoveredReads {
        let place = &mut self.covered[site as usize % RECENT];
        match place {
            Some((of, reads)) if *of == site => reads.clone(),
            _ => place.insert((site, covered.by(site))).1.clone(),
        }
    }
}

/// The thread that made the earlier access, as far as it is known.
struct Culprit {
    uid: Option<u64>,
    thread: Option<u32>,
    relation: Relation,
}

/// Reports the races of one access of a running block.
pub(crate) struct RaceReporter<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) view: &'a BlockView,
    pub(crate) memory: &'a BlockMemory,
    /// Bytes of the block's shared memory on which races are intended.
    pub(crate) benign: &'a Benign,
    pub(crate) sightings: &'a mut Sightings,
    /// What the access is about to write.
    pub(crate) value: Value<'a>,
}

/// An access as its report needs it.
#[derive(Clone, Copy)]
struct Later<'a> {
    access: &'a Access,
    /// The instruction: that of the access, or of a read that its check covers.
    site: u32,
    touch: Touch,
    value: Value<'a>,
    /// The bytes of the word that more than one record has changed. Memory may hold the value of any
    /// of them.
    contested: u8,
}

impl RaceSink for RaceReporter<'_> {
    /// Notes the race of a record and an access, and those of the reads that either covers, in the
    /// order in which the program makes them.
    #[cold]
    fn race(&mut self, e: &Entry, s: &Standing, access: &Access, contested: u8) {
        let covered = &self.launch.inner.covered;
        let base = self.launch.order.data.site_base;
        let Access { site, touch, .. } = *access;
        let a = Later { access, site, touch, value: self.value, contested };
        let reads = self.sightings.covered_by(covered, base + a.site);
        // A record of one thread also represents its later reads.
        let several = !self.view.names_each_thread && e.member.span != Span::Thread;
        let earlier = if several { self.sightings.covered_by(covered, e.site) } else { None };
        let later = |read: &CoveredRead| Later {
            site: read.read - base,
            touch: Touch { op: Op::Read, mask: a.touch.mask },
            value: Value::Unknown,
            ..a
        };
        for read in reads.iter().flat_map(|reads| reads.iter()).filter(|read| read.before) {
            self.race_of_two(e, s, &later(read));
        }
        self.race_of_two(e, s, &a);
        for read in reads.iter().flat_map(|reads| reads.iter()).filter(|read| !read.before) {
            self.race_of_two(e, s, &later(read));
        }
        for read in earlier.iter().flat_map(|reads| reads.iter()).filter(|read| !read.before) {
            let touch = Touch { op: Op::Read, mask: e.touch.mask };
            self.race_of_two(&Entry { site: read.read, touch, ..*e }, s, &a);
        }
    }
}

impl RaceReporter<'_> {
    /// Notes the race of a record and an access or a covered read, if they race.
    fn race_of_two(&mut self, e: &Entry, s: &Standing, a: &Later<'_>) {
        // A covered read may not conflict where its access does.
        if !step::conflict(e.touch, a.touch, s.relation) {
            return;
        }
        if self.sightings.quiet || self.is_intended(e.touch.mask & a.touch.mask, a.access.word) {
            return;
        }
        match self.instead(e, a) {
            None => self.sight(e, s, a),
            Some(others) => others.iter().for_each(|(e, s)| self.sight(e, s, a)),
        }
    }

    /// Counts one sighting of a race.
    fn sight(&mut self, e: &Entry, s: &Standing, a: &Later<'_>) {
        let site = self.launch.order.data.site_base + a.site;
        let order = &self.view.launch;
        let earlier = match order.owns(e.member.uid) {
            true => order.data.kernel,
            false => order.owner(e.member.uid).map_or(KernelKey::NONE, |(launch, _)| launch.kernel),
        };
        let kernel = match self.launch.kernel {
            KernelKey::NONE => earlier,
            kernel => kernel,
        };
        let key = (kernel, e.site.min(site), e.site.max(site));
        // Equal values are compared only if threads wrote both: a transfer writes no value of a
        // thread.
        let of_threads = ![earlier, self.launch.kernel].contains(&KernelKey::NONE);
        let same_value = of_threads.then(|| self.same_value(e.touch, a)).flatten();
        let widest = race_scope(s.relation);
        let access = self.sightings.access;
        if self.sightings.traced.is_some() {
            let record = self.record(e, s, a, kernel, same_value);
            self.sightings.traced.get_or_insert_default().push(record);
        }
        if let Some(seen) = self.sightings.of(key) {
            if seen.access != access {
                seen.access = access;
                seen.count += 1;
            }
            seen.untold = true;
            seen.same_value = both_same(seen.same_value, same_value);
            seen.widest = seen.widest.max(widest);
            return;
        }
        let record = self.record(e, s, a, kernel, same_value);
        let (index, is_new) = self.launch.inner.races.see(key, record);
        self.sightings.by_pair.insert(key, self.sightings.seen.len());
        self.sightings.seen.push(SeenRace {
            key,
            index,
            count: 0,
            untold: false,
            same_value,
            widest,
            access,
        });
        if let Some(tell) = self.launch.inner.on_new_race.get().filter(|_| is_new) {
            tell();
        }
    }

    /// The records to report in place of a record of atomic writes; `None` to report that one. The
    /// thread of the access may have observed the record's writes. Other atomic operations on the
    /// location may still race with the access.
    fn instead(&self, e: &Entry, a: &Later<'_>) -> Option<Vec<(Entry, Standing)>> {
        let Op::Atomic { modifies: true, volatile: false, start, size, .. } = e.touch.op else { return None };
        let launch = &self.launch;
        // In the log a newer operation stands for older ones against plain accesses, but not against
        // atomics: their scopes may make them conflict with only one of the operations.
        let plain = !matches!(a.touch.op, Op::Atomic { .. }) && a.access.copy.is_none();
        if !launch.features.observes
            || !plain
            || self.view.launch.owner(e.member.uid)?.0.id != launch.order.data.id
        {
            return None;
        }
        let address = a.access.word.wrapping_add_signed(start.into());
        let ops = launch.inner.syncvars.log((address, size.into()), launch.order.data.id)?;
        let shared = self.memory.own.contains(&a.access.word);
        let member = |op: &AtomicOperation| Member::thread(op.uid, op.thread, op.clock);
        let standings: Vec<_> =
            ops.iter().map(|op| self.view.standing(a.access.thread, &member(op), shared)).collect();
        let known: Vec<_> = standings.iter().map(|s| s.status != Status::Unsynced).collect();
        let conflicting = |&i: &usize| {
            let (op, standing) = (&ops[i], standings[i]);
            let touch = Touch {
                op: Op::Atomic { modifies: op.modifies, volatile: false, scope: op.scope, start, size },
                mask: e.touch.mask,
            };
            let conflicts = step::conflict(touch, a.touch, standing.relation);
            op.site.filter(|_| conflicts).map(|site| (Entry { touch, site, member: member(op) }, standing))
        };
        let others: Vec<_> = observed::unobserved(&ops, &known).iter().filter_map(conflicting).collect();
        let same = others.iter().any(|(other, _)| {
            other.site == e.site && matches!(other.touch.op, Op::Atomic { modifies: true, .. })
        });
        (!same).then_some(others)
    }

    /// True if races on all these bytes of a word are intended.
    fn is_intended(&self, mask: u8, word: usize) -> bool {
        let bytes = (0..GRANULE).filter(|i| mask & 1 << i != 0);
        let mut bytes = bytes.map(|i| word + i);
        if self.memory.own.contains(&word) {
            bytes.all(|byte| self.benign.holds(byte))
        } else {
            self.launch.inner.benign.has_some() && {
                let benign = self.launch.inner.benign.ranges();
                bytes.all(|byte| benign.holds(byte))
            }
        }
    }

    /// The record of a race that one access has seen once.
    fn record(
        &self,
        e: &Entry,
        s: &Standing,
        a: &Later<'_>,
        kernel: KernelKey,
        same_value: Option<bool>,
    ) -> RaceRecord {
        let who = self.culprit(e, s, a);
        let scope = race_scope(who.relation);
        let data = &self.launch.order.data;
        let owner = self.view.launch.owner(e.member.block());
        let (launch, stream) = owner.as_ref().map_or((data.id, data.stream), |(l, _)| (l.id, l.stream));
        let (size, address) = match e.touch.op {
            Op::Atomic { start, size, .. } => {
                (Some(size.into()), Some(a.access.word.wrapping_add_signed(start.into())))
            }
            Op::Read | Op::Write => (None, None),
        };
        let shared = self.memory.holding(a.access.word);
        let overlap = (e.touch.mask & a.touch.mask).trailing_zeros() as usize;
        RaceRecord {
            kernel,
            launch: data.id,
            earlier: Side {
                op: SideOp::of(e.touch.op),
                site: e.site,
                size,
                address,
                launch,
                stream,
                block: who.uid.and_then(|uid| self.view.launch.owner(uid)).map(|(_, block)| block),
                thread: who.thread,
                scope: e.touch.op.scope(),
            },
            later: Side {
                op: SideOp::of(a.touch.op),
                site: data.site_base + a.site,
                size: u32::try_from(a.access.size).ok(),
                address: Some(a.access.address),
                launch: data.id,
                stream: data.stream,
                block: Some(self.view.index),
                thread: Some(a.access.thread),
                scope: a.touch.op.scope(),
            },
            address: a.access.word + overlap,
            space: if shared.is_some() { Space::Shared } else { Space::Global },
            shared_base: shared.unwrap_or(&self.memory.own).start,
            scope,
            widest: scope.max(race_scope(s.relation)),
            same_value,
            count: 1,
            seed: None,
        }
    }

    /// A thread of the record that races with an access.
    fn culprit(&self, e: &Entry, s: &Standing, a: &Later<'_>) -> Culprit {
        let m = &e.member;
        let unordered = m.lanes & !s.ordered;
        if unordered != 0 {
            let thread = m.warp() * 32 + unordered.trailing_zeros();
            return Culprit { uid: Some(m.block()), thread: Some(thread), relation: s.relation };
        }
        let known = u32::from(m.thread);
        let same_block = m.uid == self.view.order.uid() || self.view.order.was(m.uid);
        if !same_block {
            return Culprit { uid: Some(m.uid), thread: Some(known), relation: s.relation };
        }
        match m.span {
            // All its lanes are concurrent, but the known thread may be that of the access.
            Span::Thread | Span::Warp if m.warp() == a.access.thread / 32 => {
                let thread = (known != a.access.thread).then_some(known);
                Culprit { uid: Some(m.uid), thread, relation: s.relation }
            }
            Span::Thread | Span::Warp => {
                Culprit { uid: Some(m.uid), thread: Some(known), relation: s.relation }
            }
            // The known thread's own warp may have synced since.
            Span::Block => {
                let thread = (m.warp() != a.access.thread / 32).then_some(known);
                Culprit { uid: Some(m.uid), thread, relation: s.relation }
            }
            Span::Grid => self.culprit_in_grid(e.touch, m, a),
        }
    }

    /// The culprit of a record of several blocks whose known thread is in the block of the access:
    /// that thread if it races, otherwise an unknown one of another block.
    fn culprit_in_grid(&self, touch: Touch, m: &Member, a: &Later<'_>) -> Culprit {
        let thread = u32::from(m.thread);
        let relation = if m.warp() == a.access.thread / 32 { Relation::Warp } else { Relation::Block };
        let races = m.uid == self.view.order.uid()
            && thread != a.access.thread
            && self.view.order.known_lanes(a.access.thread, m.uid, thread / 32, 1 << (thread % 32), m.clock)
                == 0
            && step::conflict(touch, a.touch, relation);
        if races {
            Culprit { uid: Some(m.uid), thread: Some(thread), relation }
        } else {
            Culprit { uid: None, thread: None, relation: Relation::Grid }
        }
    }

    /// True if the access writes the value that an earlier write left in their common bytes; `None`
    /// if memory cannot tell.
    fn same_value(&self, earlier: Touch, a: &Later<'_>) -> Option<bool> {
        let stores = matches!(earlier.op, Op::Write | Op::Atomic { modifies: true, volatile: true, .. });
        if !stores || a.touch.op != Op::Write {
            return None;
        }
        if earlier.mask & a.touch.mask & a.contested != 0 {
            return None;
        }
        let value = match a.value {
            Value::Unknown => return None,
            Value::Row(write) => {
                let common = (0..GRANULE).filter(|i| earlier.mask & a.touch.mask & 1 << i != 0);
                return common
                    .map(|i| write.left_equal(a.access.word + i))
                    .try_fold(true, |all, equal| Some(all && equal?));
            }
            // Of an access that has more bytes than both have written, some may be equal.
            Value::Gathered(equal) => {
                let all = a.access.size <= GRANULE as u64 && earlier.mask & a.touch.mask == a.touch.mask;
                return equal.filter(|equal| *equal || all);
            }
            Value::Bytes(value) => value,
        };
        let read = self.launch.inner.read_memory?;
        let there = read(a.access.address, u32::try_from(a.access.size).ok().filter(|&n| n <= 8)?)?;
        let same = (0..GRANULE).filter(|i| earlier.mask & a.touch.mask & 1 << i != 0).all(|i| {
            let byte = a.access.word + i - a.access.address;
            value >> (8 * byte) & 0xff == there >> (8 * byte) & 0xff
        });
        Some(same)
    }
}

/// The narrowest group that holds two threads in this relation.
fn race_scope(relation: Relation) -> RaceScope {
    match relation {
        Relation::Itself | Relation::Warp => RaceScope::Warp,
        Relation::Block => RaceScope::Block,
        Relation::Cluster => RaceScope::Cluster,
        Relation::Grid => RaceScope::Grid,
        Relation::Launch => RaceScope::Device,
    }
}
