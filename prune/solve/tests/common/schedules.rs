//! The races of a block whose threads wait at named barriers and mbarriers: an oracle that runs the threads in random
//! order, and finds by vector clocks what no barrier orders.
//!
//! A block is one row of whole warps. A phase of a named barrier counts threads as PTX does: a warp counts as 32 once
//! all its live threads have arrived.

use std::collections::{BTreeSet, HashMap};

use gpurace_protocol::expr::*;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::*;
use gpurace_protocol::race::{conflict, threads};
use gpurace_protocol::run::{Open, trace};
use gpurace_random::Random;

/// Sites from here on are syncs.
const SYNCS: u32 = 1 << 24;
const WARP: usize = 32;

/// What a thread does at a sync.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Block,
    Lanes,
    Named {
        waits: bool,
    },
    Arrives(ObjectId),
    Waits(ObjectId),
    /// The mbarrier that counts the copy before.
    Told(ObjectId),
}

/// The protocol with an access to an object of its own in place of each sync: where it is, and with which numbers.
fn with_visible_syncs(p: &Protocol) -> (Protocol, Vec<Kind>) {
    let mut all = Visible { p: p.clone(), kinds: Vec::new(), events: ObjectId(p.objects.len() as u32) };
    all.p.objects.push(Object { name: "syncs".into(), kind: ObjectKind::Unshared });
    let mut body = std::mem::take(&mut all.p.body);
    all.body(&mut body);
    all.p.body = body;
    (all.p, all.kinds)
}

struct Visible {
    p: Protocol,
    kinds: Vec<Kind>,
    events: ObjectId,
}

impl Visible {
    fn body(&mut self, body: &mut Vec<Stmt>) {
        for stmt in std::mem::take(body) {
            let told = match &stmt {
                Stmt::Access(access) => self.p.told.iter().find(|told| told.site == access.site).copied(),
                _ => None,
            };
            body.push(match stmt {
                Stmt::Sync(sync) => self.event(sync),
                Stmt::Loop(mut of) => {
                    self.body(&mut of.body);
                    Stmt::Loop(of)
                }
                Stmt::If { cond, mut then, mut otherwise } => {
                    self.body(&mut then);
                    self.body(&mut otherwise);
                    Stmt::If { cond, then, otherwise }
                }
                other => other,
            });
            if let Some(told) = told {
                let zero = self.p.exprs.c64(0);
                body.push(self.access(Kind::Told(told.of), told.at, zero));
            }
        }
    }

    fn event(&mut self, sync: Sync) -> Stmt {
        let exprs = &mut self.p.exprs;
        let (kind, at, more) = match sync {
            Sync::Block => (Kind::Block, exprs.c64(0), exprs.c64(0)),
            Sync::Warp => (Kind::Lanes, exprs.c64(u32::MAX.into()), exprs.c64(0)),
            Sync::Lanes(mask) => (Kind::Lanes, exprs.zext(Width::W64, mask), exprs.c64(0)),
            Sync::Named(of) => {
                let (id, count) = (exprs.zext(Width::W64, of.id), exprs.zext(Width::W64, of.threads));
                (Kind::Named { waits: of.waits }, id, count)
            }
            Sync::Phase(of) => match of.parity {
                Some(parity) => (Kind::Waits(of.of), of.at, exprs.zext(Width::W64, parity)),
                None => (Kind::Arrives(of.of), of.at, exprs.zext(Width::W64, of.count)),
            },
            Sync::Grid => panic!("one block"),
        };
        self.access(kind, at, more)
    }

    fn access(&mut self, kind: Kind, offset: ExprId, size: ExprId) -> Stmt {
        let site = SiteId(SYNCS + self.kinds.len() as u32);
        self.kinds.push(kind);
        Stmt::Access(Access { site, op: Op::Read, object: self.events, offset, size })
    }
}

/// What a thread does, in order.
#[derive(Clone, Copy, Debug)]
enum Event {
    Access { site: SiteId, op: Op, object: u32, at: i64, size: u64 },
    Sync { kind: Kind, at: u64, more: u64 },
}

type Clock = Vec<u32>;
/// An access: who made it, at which time of theirs, by which site, and how.
type Seen = (usize, u32, SiteId, Op);

fn join(into: &mut Clock, other: &Clock) {
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

/// A barrier of threads, with its arrivals since it last opened.
#[derive(Clone, Debug, Default)]
struct Barrier {
    arrived: BTreeSet<usize>,
    repeated: u64,
    waiting: Vec<usize>,
    expected: u64,
    clock: Clock,
}

#[derive(Clone, Debug, Default)]
struct Mbarrier {
    phase: u64,
    arrived: u64,
    /// Copies in flight.
    copies: u64,
    expected: u64,
    clock: Clock,
    /// What the phases that are over tell.
    done: Clock,
}

/// What a thread has done at an mbarrier.
#[derive(Clone, Copy, Debug, Default)]
struct Made {
    arrivals: u64,
    copies: u64,
}

/// A copy in flight. The first arrival of its thread at its mbarrier counts the first copy, and so on.
#[derive(Clone, Debug)]
struct Copy {
    mbarrier: (u32, u64),
    clock: Clock,
    /// The thread has made the arrival that counts it.
    counted: bool,
    by: usize,
}

struct Block<'e> {
    events: &'e [Vec<Event>],
    at: Vec<usize>,
    clocks: Vec<Clock>,
    stops: Vec<bool>,
    named: HashMap<(u8, u64), Barrier>,
    mbarriers: HashMap<(u32, u64), Mbarrier>,
    copies: Vec<Copy>,
    started: usize,
    /// The copies that each thread tells each mbarrier of, in all.
    told: HashMap<usize, HashMap<(u32, u64), u64>>,
    made: HashMap<(usize, (u32, u64)), Made>,
    /// The accesses to each byte of an object.
    seen: HashMap<(u32, i64), Vec<Seen>>,
    racing: BTreeSet<SiteId>,
}

/// The sites that race when the threads of the launch's only block run in these numbers of random orders. The answers
/// to open questions are `choose`'s. The flag says whether all threads came to their ends each time.
pub fn racing(
    p: &Protocol,
    launch: &Launch,
    orders: u64,
    seed: u64,
    choose: &mut dyn FnMut(&Open) -> u64,
) -> (BTreeSet<SiteId>, bool) {
    let (p, kinds) = with_visible_syncs(p);
    let events: Vec<Vec<Event>> = threads(launch)
        .map(|thread| {
            let made = trace(&p, launch, thread, choose, 1_000_000).expect("it ends");
            let event = |touch: &gpurace_protocol::run::Touch| match touch.site.0.checked_sub(SYNCS) {
                Some(sync) => {
                    Event::Sync { kind: kinds[sync as usize], at: touch.offset as u64, more: touch.size }
                }
                None => Event::Access {
                    site: touch.site,
                    op: touch.op,
                    object: touch.object,
                    at: touch.offset,
                    size: touch.size,
                },
            };
            made.touches.iter().map(event).collect()
        })
        .collect();
    let mut r = Random(seed);
    let (mut racing, mut ends) = (BTreeSet::new(), true);
    for order in 0..orders {
        let (found, ended) = Block::new(&events).run(&mut r, order);
        racing.extend(found);
        ends &= ended;
    }
    (racing, ends)
}

/// The number of copies that a thread tells each mbarrier of.
fn told(events: &[Event]) -> HashMap<(u32, u64), u64> {
    let mut all = HashMap::new();
    for event in events {
        if let Event::Sync { kind: Kind::Told(of), at, .. } = event {
            *all.entry((of.0, *at)).or_default() += 1;
        }
    }
    all
}

impl<'e> Block<'e> {
    fn new(events: &'e [Vec<Event>]) -> Self {
        let n = events.len();
        let is_told = |event: &&Event| matches!(event, Event::Sync { kind: Kind::Told(_), .. });
        let all = n + events.iter().flatten().filter(is_told).count();
        let own = |thread| {
            let mut clock = vec![0; all];
            clock[thread] = 1;
            clock
        };
        Self {
            events,
            at: vec![0; n],
            clocks: (0..n).map(own).collect(),
            stops: vec![false; n],
            named: HashMap::new(),
            mbarriers: HashMap::new(),
            copies: Vec::new(),
            started: n,
            told: events.iter().map(|own| told(own)).enumerate().collect(),
            made: HashMap::new(),
            seen: HashMap::new(),
            racing: BTreeSet::new(),
        }
    }

    fn lives(&self, thread: usize) -> bool {
        self.at[thread] < self.events[thread].len() || self.stops[thread]
    }

    /// Runs all until nobody can go on. In every other order, threads of some warps are far ahead of others.
    fn run(mut self, r: &mut Random, order: u64) -> (BTreeSet<SiteId>, bool) {
        let n = self.events.len();
        let mut rank: Vec<u64> = (0..n).map(|_| r.bits()).collect();
        loop {
            let ready: Vec<usize> = (0..n).filter(|&thread| self.is_ready(thread)).collect();
            let done: Vec<usize> = (0..self.copies.len()).filter(|&at| self.copies[at].counted).collect();
            if !done.is_empty()
                && (ready.is_empty() || r.chance(if order.is_multiple_of(3) { 30 } else { 3 }))
            {
                self.finish_copy(r.pick(&done));
                continue;
            }
            if ready.is_empty() {
                let ended = (0..n).all(|thread| !self.lives(thread));
                return (self.racing, ended);
            }
            let thread = if order.is_multiple_of(2) {
                r.pick(&ready)
            } else {
                if r.chance(2) {
                    rank[r.below(n)] = r.bits();
                }
                ready.into_iter().max_by_key(|&thread| rank[thread]).expect("some are ready")
            };
            self.step(thread);
        }
    }

    fn is_ready(&self, thread: usize) -> bool {
        if self.stops[thread] {
            return false;
        }
        match self.events[thread].get(self.at[thread]) {
            None => false,
            Some(Event::Sync { kind: Kind::Waits(of), at, more }) => {
                let phase = self.mbarriers.get(&(of.0, *at)).map_or(0, |of| of.phase);
                phase & 1 != *more
            }
            Some(_) => true,
        }
    }

    fn step(&mut self, thread: usize) {
        let event = self.events[thread][self.at[thread]];
        self.at[thread] += 1;
        match event {
            Event::Access { site, op, object, at, size } => {
                if !op.is_copy() {
                    let clock = self.clocks[thread].clone();
                    self.touch((thread, &clock), (site, op), object, at, size);
                }
            }
            Event::Sync { kind, at, more } => self.sync(thread, kind, at, more),
        }
        self.ended(thread);
    }

    /// If the thread has come to its end, barriers that waited for it alone open.
    fn ended(&mut self, thread: usize) {
        if !self.lives(thread) {
            let all: Vec<_> = self.named.keys().copied().collect();
            all.into_iter().for_each(|of| self.open(of));
        }
    }

    /// An access by one who has this number and clock.
    fn touch(
        &mut self,
        (who, clock): (usize, &Clock),
        (site, op): (SiteId, Op),
        object: u32,
        at: i64,
        size: u64,
    ) {
        for byte in at..at + size as i64 {
            let seen = self.seen.entry((object, byte)).or_default();
            for (other, time, its, of) in seen.iter() {
                if *other != who && clock[*other] < *time && conflict(op, *of, true, true) {
                    self.racing.extend([site, *its]);
                }
            }
            let new = (who, clock[who], site, op);
            if !seen.contains(&new) {
                seen.push(new);
            }
        }
    }

    fn sync(&mut self, thread: usize, kind: Kind, at: u64, more: u64) {
        match kind {
            Kind::Block => self.arrive(thread, (0, 0), 0, true),
            Kind::Lanes => {
                assert_eq!(at, u64::from(u32::MAX), "all lanes of a warp");
                self.arrive(thread, (1, (thread / WARP) as u64), 0, true);
            }
            Kind::Named { waits } => self.arrive(thread, (2, at), more, waits),
            Kind::Arrives(of) => {
                let all = self.clocks[0].len();
                let clock = self.tick(thread);
                let place = (of.0, at);
                // The copy of the same iteration, before or behind the arrival, if there is one.
                let made = self.made.entry((thread, place)).or_default();
                let counts = u64::from(made.arrivals < self.told[&thread].get(&place).copied().unwrap_or(0));
                made.arrivals += 1;
                let own = |copy: &&mut Copy| copy.by == thread && copy.mbarrier == place && !copy.counted;
                if let Some(copy) = self.copies.iter_mut().find(own) {
                    copy.counted = true;
                }
                let mbarrier = self.mbarriers.entry((of.0, at)).or_default();
                mbarrier.clock.resize(all, 0);
                join(&mut mbarrier.clock, &clock);
                mbarrier.expected = more;
                mbarrier.arrived += 1;
                mbarrier.copies += counts;
                mbarrier.end();
            }
            Kind::Waits(of) => {
                if let Some(mbarrier) = self.mbarriers.get(&(of.0, at)) {
                    join(&mut self.clocks[thread], &mbarrier.done);
                }
            }
            Kind::Told(of) => {
                // The access is the event before.
                let (number, before) = (self.started, self.at[thread] - 2);
                self.started += 1;
                let mut clock = self.tick(thread);
                clock[number] = 1;
                if let Event::Access { site, op, object, at, size } = self.events[thread][before] {
                    self.touch((number, &clock), (site, op), object, at, size);
                }
                let mbarrier = (of.0, at);
                let made = self.made.entry((thread, mbarrier)).or_default();
                made.copies += 1;
                let counted = made.copies <= made.arrivals;
                self.copies.push(Copy { mbarrier, by: thread, clock, counted });
            }
        }
    }

    /// A copy is done.
    fn finish_copy(&mut self, which: usize) {
        let copy = self.copies.swap_remove(which);
        let mbarrier = self.mbarriers.get_mut(&copy.mbarrier).expect("it counts the copy");
        join(&mut mbarrier.clock, &copy.clock);
        mbarrier.copies -= 1;
        mbarrier.end();
    }

    /// What a thread has done so far. What it does next comes later.
    fn tick(&mut self, thread: usize) -> Clock {
        let clock = self.clocks[thread].clone();
        self.clocks[thread][thread] += 1;
        clock
    }

    fn arrive(&mut self, thread: usize, of: (u8, u64), expected: u64, waits: bool) {
        let all = self.clocks[0].len();
        let clock = self.tick(thread);
        let barrier = self.named.entry(of).or_default();
        barrier.clock.resize(all, 0);
        join(&mut barrier.clock, &clock);
        barrier.repeated += u64::from(!barrier.arrived.insert(thread));
        barrier.expected = expected;
        if waits {
            barrier.waiting.push(thread);
            self.stops[thread] = true;
        }
        self.open(of);
    }

    /// Opens a barrier if all that it waits for have arrived.
    fn open(&mut self, of: (u8, u64)) {
        let n = self.events.len();
        let Some(barrier) = self.named.get(&of) else { return };
        let live = |warp: usize| (warp * WARP..n.min((warp + 1) * WARP)).filter(|&t| self.lives(t));
        let all_of = |warp: usize| live(warp).all(|thread| barrier.arrived.contains(&thread));
        let warps = 0..n.div_ceil(WARP);
        let opens = match of {
            (0, _) => warps.clone().all(all_of),
            (1, warp) => all_of(warp as usize),
            _ => {
                let of_warp =
                    |warp: usize| match barrier.arrived.range(warp * WARP..(warp + 1) * WARP).count() {
                        0 => 0,
                        _ if all_of(warp) => WARP as u64,
                        some => some as u64,
                    };
                warps.map(of_warp).sum::<u64>() + barrier.repeated >= barrier.expected
            }
        };
        if opens {
            let barrier = self.named.remove(&of).expect("it is there");
            for &thread in &barrier.waiting {
                join(&mut self.clocks[thread], &barrier.clock);
                self.stops[thread] = false;
            }
            barrier.waiting.into_iter().for_each(|thread| self.ended(thread));
        }
    }
}

impl Mbarrier {
    /// Ends the phase if all have arrived.
    fn end(&mut self) {
        if self.arrived >= self.expected && self.copies == 0 {
            self.phase += 1;
            self.arrived = 0;
            self.done.clone_from(&self.clock);
        }
    }
}
