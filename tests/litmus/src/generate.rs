//! Random programs: a correct idiom, of which one or a few things are weakened. Programs without an idiom
//! race nearly always, and by the first access; these are the ones that a checker may judge wrongly.

use gpurace_random::Random;

use crate::program::Order::{AcqRel, Acquire, Relaxed, Release};
use crate::program::{Instruction, Meeting, Program, Scope, Thread, Update};
use crate::shorthand::*;

/// A place for a thread: block and number in it.
pub(crate) type Place = (u32, u32);

/// The places that a thread may have: two blocks, two warps, three lanes.
pub(crate) const PLACES: [Place; 8] = [(0, 0), (0, 1), (0, 2), (0, 32), (1, 0), (1, 1), (1, 2), (1, 32)];

pub(crate) struct Maker<'a> {
    pub(crate) r: &'a mut Random,
    registers: usize,
}

impl Maker<'_> {
    /// Different places for `n` threads: in one warp, in one block, or anywhere.
    fn places(&mut self, n: usize) -> Vec<Place> {
        let near = self.r.below(3);
        let mut from: Vec<Place> = match near {
            0 => PLACES[..3].to_vec(),
            1 => PLACES[..4].to_vec(),
            _ => PLACES.to_vec(),
        };
        if n > from.len() {
            from = PLACES.to_vec();
        }
        (0..n).map(|_| from.swap_remove(self.r.below(from.len()))).collect()
    }

    pub(crate) fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    /// A scope that holds these threads.
    fn scope(&mut self, places: &[Place]) -> Scope {
        let one = places.iter().all(|p| p.0 == places[0].0);
        match one {
            true => self.r.pick(&[Scope::Cta, Scope::Cta, Scope::Gpu, Scope::Sys]),
            false => self.r.pick(&[Scope::Gpu, Scope::Gpu, Scope::Sys]),
        }
    }

    pub(crate) fn fence(&mut self, scope: Scope) -> Instruction {
        Instruction::Fence { scope, full: self.r.chance(60) }
    }

    /// A releasing write of a flag, as one of the patterns.
    fn release(&mut self, scope: Scope, at: usize, value: u32) -> Vec<Instruction> {
        match self.r.below(6) {
            0 => vec![st_atomic(Release, scope, at, value)],
            1 => vec![self.fence(scope), st_atomic(Relaxed, scope, at, value)],
            2 => vec![self.fence(scope), st_volatile(at, value)],
            3 => {
                let register = self.register();
                vec![self.fence(scope), atom(Relaxed, scope, register, at, Update::Exchange(value))]
            }
            4 => {
                let register = self.register();
                let order = self.r.pick(&[Release, AcqRel]);
                vec![atom(order, scope, register, at, Update::Exchange(value))]
            }
            // The pattern goes on with a later write.
            _ => vec![st_atomic(Release, scope, at, value + 8), st_atomic(Relaxed, scope, at, value)],
        }
    }

    /// An acquiring read of a flag, and what is done if it has the value.
    fn acquire(&mut self, scope: Scope, at: usize, value: u32, then: Vec<Instruction>) -> Vec<Instruction> {
        let r = self.register();
        let fenced = |fence: Instruction, mut then: Vec<Instruction>| {
            then.insert(0, fence);
            then
        };
        match self.r.below(6) {
            0 => vec![ld_atomic(Acquire, scope, r, at), if_is(r, value, then)],
            1 => {
                let fence = self.fence(scope);
                vec![ld_atomic(Relaxed, scope, r, at), if_is(r, value, fenced(fence, then))]
            }
            2 => {
                let fence = self.fence(scope);
                vec![ld_volatile(r, at), fence, if_is(r, value, then)]
            }
            3 => {
                let fence = self.fence(scope);
                vec![atom(Relaxed, scope, r, at, Update::Add(0)), if_is(r, value, fenced(fence, then))]
            }
            4 => vec![atom(Acquire, scope, r, at, Update::Swap(value, value + 16)), if_is(r, value, then)],
            // The pattern ends with a later acquire of the location.
            _ => {
                let again = self.register();
                let later = ld_atomic(Acquire, scope, again, at);
                vec![ld_atomic(Relaxed, scope, r, at), if_is(r, value, fenced(later, then))]
            }
        }
    }

    /// A plain access of a payload.
    fn payload(&mut self, at: usize) -> Instruction {
        match self.r.below(3) {
            0 => st(at, 1 + self.r.below(2u32)),
            _ => ld(self.register(), at),
        }
    }

    /// One thread passes the payload 0 to others through flag 1, straight or through a chain.
    fn passing(&mut self) -> Program {
        let n = 2 + self.r.below(2usize);
        let places = self.places(n);
        let scope = self.scope(&places);
        let mut first = vec![st(0, 1)];
        first.extend(self.release(scope, 1, 1));
        let mut threads = vec![thread(places[0].0, places[0].1, first)];
        let chained = n == 3 && self.r.chance(60);
        for (i, &(block, number)) in places.iter().enumerate().skip(1) {
            let code = if chained && i == 1 {
                let then = self.release(scope, 2, 1);
                self.acquire(scope, 1, 1, then)
            } else {
                let then = vec![if chained { self.payload(0) } else { ld(self.register(), 0) }];
                self.acquire(scope, if chained { 2 } else { 1 }, 1, then)
            };
            threads.push(thread(block, number, code));
        }
        global(3, threads)
    }

    /// Threads that try a lock once.
    fn lock(&mut self) -> Program {
        let n = 2 + self.r.below(2usize);
        let places = self.places(n);
        let scope = self.scope(&places);
        let fenced = self.r.chance(50);
        let mut threads = Vec::new();
        for &(block, number) in &places {
            let mut inside = Vec::new();
            inside.extend(fenced.then(|| self.fence(scope)));
            inside.push(self.payload(0));
            if self.r.chance(60) {
                inside.push(st(0, number + 3));
            }
            inside.extend(self.release(scope, 1, 0));
            let r = self.register();
            let order = if fenced { Relaxed } else { self.r.pick(&[Acquire, AcqRel]) };
            let swap = atom(order, scope, r, 1, Update::Swap(0, 1));
            threads.push(thread(block, number, vec![swap, if_is(r, 0, inside)]));
        }
        global(2, threads)
    }

    /// Threads write and count; who comes last reads all, and may set the count back.
    fn last(&mut self) -> Program {
        let n = 2 + self.r.below(2usize);
        let places = self.places(n);
        let scope = self.scope(&places);
        let fenced = self.r.chance(50);
        let resets = self.r.chance(50);
        let mut threads = Vec::new();
        for (i, &(block, number)) in places.iter().enumerate() {
            let mut then = Vec::new();
            then.extend(fenced.then(|| self.fence(scope)));
            then.extend((0..n.min(2)).filter(|&x| x != i).map(|x| ld(self.register(), x)));
            then.extend(resets.then(|| st(2, 0)));
            let mut code = vec![];
            if i < 2 {
                code.push(st(i, 1));
            }
            code.extend(fenced.then(|| self.fence(scope)));
            let r = self.register();
            let order = if fenced { Relaxed } else { AcqRel };
            code.push(atom(order, scope, r, 2, Update::Add(1)));
            code.push(if_is(r, n as u32 - 1, then));
            threads.push(thread(block, number, code));
        }
        global(3, threads)
    }

    /// A release that goes on through other threads' read-modify-writes.
    fn chain(&mut self) -> Program {
        let places = self.places(3);
        let scope = self.scope(&places);
        let mut first = vec![st(0, 1)];
        first.extend(self.release(scope, 1, 1));
        let r = self.register();
        let link = match self.r.below(4) {
            0 => red(self.r.pick(&[Relaxed, Release]), scope, 1, 1),
            1 => atom(self.r.pick(&[Relaxed, AcqRel]), scope, r, 1, Update::Swap(1, 2)),
            2 => atom(Relaxed, scope, r, 1, Update::Exchange(2)),
            _ => atom(self.r.pick(&[Relaxed, Acquire]), scope, r, 1, Update::Add(1)),
        };
        let then = vec![self.payload(0)];
        let last = self.acquire(scope, 1, 2, then);
        let codes = [first, vec![link], last];
        global(2, places.iter().zip(codes).map(|(p, code)| thread(p.0, p.1, code)).collect())
    }

    /// A leader acquires, and its block or warp follows behind a meeting; or the other way round.
    fn leader(&mut self) -> Program {
        let (leader, follower) = (self.r.pick(&[(0, 0), (0, 1)]), self.r.pick(&[(0, 2), (0, 32)]));
        let other = (1, 0);
        let scope = self.scope(&[leader, other]);
        let warp = follower.1 < 32 && self.r.chance(50);
        let meeting = if warp {
            let mask = 1 << leader.1 | 1 << follower.1;
            Meeting::Lanes { block: 0, warp: 0, mask }
        } else {
            Meeting::Block(0)
        };
        let meet = Instruction::Meet(0);
        let threads = if self.r.chance(50) {
            // The follower's payload is behind the leader's flag.
            let mut first = vec![st(0, 1)];
            first.extend(self.release(scope, 1, 1));
            // The leader says what it has seen, in the block's own memory.
            let then = vec![st(2, 1)];
            let mut code = self.acquire(scope, 1, 1, then);
            code.push(meet.clone());
            let r = self.register();
            let then = vec![ld(self.register(), 0)];
            let behind = vec![meet, ld(r, 2), if_is(r, 1, then)];
            vec![
                thread(other.0, other.1, first),
                thread(leader.0, leader.1, code),
                thread(follower.0, follower.1, behind),
            ]
        } else {
            let mut code = vec![meet.clone()];
            code.extend(self.release(scope, 1, 1));
            let then = vec![self.payload(0)];
            let last = self.acquire(scope, 1, 1, then);
            vec![
                thread(leader.0, leader.1, code),
                thread(follower.0, follower.1, vec![st(0, 1), meet]),
                thread(other.0, other.1, last),
            ]
        };
        let shared = vec![false, false, self.r.chance(70)];
        Program { shared, threads, meetings: vec![meeting] }
    }

    /// Rounds between barriers, syncs of warps and of some lanes.
    fn rounds(&mut self) -> Program {
        let n = 2 + self.r.below(3usize);
        let mut places: Vec<Place> = PLACES[..4].to_vec();
        while places.len() > n {
            places.swap_remove(self.r.below(places.len()));
        }
        let mut threads: Vec<Thread> = places.iter().map(|p| thread(p.0, p.1, vec![])).collect();
        let mut meetings = Vec::new();
        for round in 0..1 + self.r.below(3usize) {
            if round > 0 {
                let lanes: Vec<u32> = places.iter().map(|p| p.1).filter(|&l| l < 32).collect();
                let meeting = if lanes.len() > 1 && self.r.chance(60) {
                    let mut mask = 0;
                    while mask == 0 {
                        mask = lanes.iter().filter(|_| self.r.chance(75)).fold(0, |m, l| m | 1 << l);
                    }
                    Meeting::Lanes { block: 0, warp: 0, mask }
                } else {
                    Meeting::Block(0)
                };
                threads
                    .iter_mut()
                    .filter(|t| meeting.has(t))
                    .for_each(|t| t.code.push(Instruction::Meet(meetings.len())));
                meetings.push(meeting);
            }
            // In each round, one thread writes each location, or some read it.
            for x in 0..2 {
                let writes = self.r.chance(50);
                let who = self.r.below(n);
                for (i, t) in threads.iter_mut().enumerate() {
                    if writes && i == who {
                        t.code.push(st(x, 1 + round as u32));
                    } else if !writes && self.r.chance(40) {
                        t.code.push(ld(self.register(), x));
                    }
                }
            }
        }
        Program { shared: vec![self.r.chance(60), self.r.chance(60)], threads, meetings }
    }

    /// Shapes of litmus tests: store buffers, load buffers, writes to two locations, independent reads.
    fn shape(&mut self) -> Program {
        let places = self.places(4);
        let scope = self.scope(&places);
        let order = self.r.pick(&[Relaxed, Acquire]);
        let pair = |m: &mut Self, a: Instruction, b: Instruction| match m.r.chance(50) {
            true => vec![a, m.fence(scope), b],
            false => vec![a, b],
        };
        let mut codes = Vec::new();
        let kind = self.r.below(4);
        for (x, y) in [(0, 1), (1, 0)] {
            let (r, s) = (self.register(), self.register());
            let loads = [ld_atomic(order, scope, r, x), ld_atomic(order, scope, s, y)];
            let stores = [st_atomic(Relaxed, scope, x, 1), st_atomic(Relaxed, scope, y, 2)];
            let [load_x, load_y] = loads;
            let [store_x, store_y] = stores;
            let mut code = match kind {
                0 => pair(self, store_x, load_y),
                1 => pair(self, load_x, store_y),
                2 => pair(self, store_x, store_y),
                _ => {
                    codes.push(vec![store_x]);
                    pair(self, load_x, load_y)
                }
            };
            let seen = if kind == 0 { s } else { r };
            if kind != 2 {
                let value = self.r.below(2u32);
                code.push(if_is(seen, value, vec![self.payload(2), st(2, 1)]));
            }
            codes.push(code);
        }
        global(3, places.iter().zip(codes).map(|(p, code)| thread(p.0, p.1, code)).collect())
    }
}

/// Returns the program of a seed.
pub fn program(seed: u64) -> Program {
    let random = &mut Random(seed);
    loop {
        let mut maker = Maker { r: &mut *random, registers: 0 };
        let mut program = match maker.r.below(9) {
            0 | 1 => maker.passing(),
            2 => maker.lock(),
            3 => maker.last(),
            4 => maker.chain(),
            5 | 6 => maker.leader(),
            7 => maker.rounds(),
            _ => maker.shape(),
        };
        // Of threads of one block, the shared memory may serve as well.
        let one_block = program.threads.iter().all(|t| t.block == program.threads[0].block);
        if one_block && maker.r.chance(50) {
            program.shared.iter_mut().for_each(|shared| *shared = true);
        }
        for _ in 0..[0, 1, 1, 2, 2, 3, 3][maker.r.below(7usize)] {
            let mut other = program.clone();
            maker.weaken(&mut other);
            if other.validate().is_ok() {
                program = other;
            }
        }
        if program.validate().is_ok() {
            return program;
        }
    }
}
