//! Random protocols: small, but with every kind of statement and operator.

use crate::common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_random::Random;

pub struct Generator {
    pub k: Kernel,
    pub r: Random,
    objects: Vec<ObjectId>,
    scalars: Vec<E>,
    /// Loop variables in scope, and whether all threads see the same.
    vars: Vec<(E, LoopId)>,
    accesses: usize,
    /// The distance from simple kernels, 0 to 2.
    wild: u64,
    /// True if some lanes wait for each other.
    lanes: bool,
}

/// A random protocol.
pub fn protocol(seed: u64) -> Protocol {
    protocol_with(seed, false)
}

/// A random protocol in which some lanes wait for each other.
pub fn protocol_with_lane_syncs(seed: u64) -> Protocol {
    protocol_with(seed, true)
}

fn protocol_with(seed: u64, lanes: bool) -> Protocol {
    let mut r = Random(seed);
    let wild = r.below(3);
    let mut g = Generator {
        k: Kernel::new(&format!("random_{seed}")),
        r,
        objects: Vec::new(),
        scalars: Vec::new(),
        vars: Vec::new(),
        accesses: 0,
        wild,
        lanes,
    };
    let n = g.r.below(3);
    for i in 0..n {
        let s = g.k.scalar(["n", "m", "w"][i as usize]);
        g.scalars.push(s);
    }
    let count = 1 + g.r.below(2);
    for i in 0..count {
        let object = match g.r.below(10) {
            0..=4 => g.k.shared(["tile", "sums"][i as usize], 256),
            5..=8 => g.k.pointer(["a", "b"][i as usize]),
            _ if g.wild == 2 => {
                let space = g.r.pick(&[Space::Global, Space::Shared, Space::Generic]);
                let uniform = g.r.pick(&[Uniform::Grid, Uniform::Block, Uniform::Thread]);
                g.k.object("unknown", ObjectKind::Opaque { space, uniform, loaded_by: None })
            }
            _ => g.k.dynamic("dynamic"),
        };
        g.objects.push(object);
    }
    let statements = 2 + g.r.below(4);
    g.body(statements, 0, true);
    if g.accesses == 0 {
        g.access();
    }
    g.k.done()
}

impl Generator {
    fn body(&mut self, statements: u64, depth: u64, uniform: bool) {
        for _ in 0..statements {
            match self.r.below(12) {
                0..=4 => self.access(),
                5 | 6 if self.lanes && self.r.chance(60) => self.lane_sync(),
                5 | 6 if uniform || self.r.chance(20) => match self.r.below(10) {
                    0 | 1 => self.k.warp_sync(),
                    2 if self.wild == 2 => self.k.stmt(Stmt::Sync(Sync::Grid)),
                    _ => self.k.sync(),
                },
                7 | 8 if depth < 3 => self.conditional(depth, uniform),
                9..=11 if depth < 3 => self.repeated(depth, uniform),
                _ => self.access(),
            }
        }
    }

    /// A sync of some lanes. Mostly its mask names sets of lanes.
    fn lane_sync(&mut self) {
        let size = self.r.pick(&[2, 2, 4, 4, 8, 16]);
        let lane = match self.r.below(8) {
            0 => self.k.tid(),
            1 => {
                let t = self.k.tid();
                self.k.binc(BinOp::And, t, 31)
            }
            2 => {
                let (y, x, w) = (self.k.tidy(), self.k.tid(), self.k.bdim());
                let row = self.k.mul(y, w);
                self.k.add(row, x)
            }
            _ => self.k.lane(),
        };
        let mask = match self.r.below(10) {
            0..=4 => self.k.tile_mask(size, lane),
            // `0xf << (threadIdx.x & 28)`
            5 => {
                let at = self.k.binc(BinOp::And, lane, 32 - i64::from(size));
                let tile = self.k.c((1 << size) - 1);
                self.k.bin(BinOp::Shl, tile, at)
            }
            6 => {
                let mask = self.r.pick(&[0xf, 0x3, 0xff, 0x5, 0xffff, 0xfff0, 0x3c, 0xffff_0000]);
                self.k.c(mask)
            }
            7 => {
                let cut = self.k.c(self.r.pick(&[2, 4, 16]));
                let (low, lower) = (self.k.c(self.r.pick(&[0x3, 0xf, 0xffff])), self.k.ult(lane, cut));
                let rest = self.k.binc(BinOp::Xor, low, -1);
                self.k.p.exprs.select(lower, low, rest)
            }
            8 => {
                let tile = self.k.c(self.r.pick(&[0x3, 0x5, 0x6, 0x7]));
                let at = self.k.binc(BinOp::And, lane, -4);
                self.k.bin(BinOp::Shl, tile, at)
            }
            _ => self.term(),
        };
        self.k.lane_sync(mask);
    }

    fn conditional(&mut self, depth: u64, uniform: bool) {
        let same = self.r.chance(40);
        let cond = self.cond(same);
        let statements = 1 + self.r.below(2);
        let both = self.r.chance(25);
        self.k.open();
        self.body(statements, depth + 1, uniform && same);
        let then = self.k.close();
        self.k.open();
        if both {
            self.body(1, depth + 1, uniform && same);
        }
        let otherwise = self.k.close();
        self.k.stmt(Stmt::If { cond, then, otherwise });
    }

    fn repeated(&mut self, depth: u64, uniform: bool) {
        let same = self.r.chance(60);
        let id = LoopId(
            100 + self.k.p.opaques.len() as u32 + 10 * self.vars.len() as u32 + self.r.below(1 << 20) as u32,
        );
        let var = VarId(id.0);
        let width = if self.r.chance(15) { Width::W8 } else { Width::W32 };
        let up = self.r.chance(70);
        let narrow = |g: &mut Self, e: E| {
            if width == Width::W32 { e } else { g.k.p.exprs.trunc(width, e) }
        };
        let (from, step) = match self.r.below(if up { 4 } else { 3 }) {
            0 => {
                let by = 1 + self.r.below(3);
                let from = self.r.below(3) as i64 - self.r.chance(20) as i64;
                let from = self.k.c(from);
                let by = self.k.p.exprs.constant(width, by as i64);
                (from, Step::Add(by))
            }
            1 => {
                let from = self.small(same);
                let by = self.small(same);
                let by = narrow(self, by);
                (from, Step::Add(by))
            }
            2 => {
                let from = match self.r.below(6) {
                    0..=2 => self.k.bdim(),
                    3 if !same => self.one_of_two(),
                    _ => self.small(same),
                };
                let by = 2 + self.r.below(2);
                (from, if self.r.chance(70) { Step::UDiv(by) } else { Step::AShr(1) })
            }
            _ => {
                let from = self.r.below(2) as i64 + 1 - self.r.chance(10) as i64;
                let from = if !same && self.r.chance(30) { self.one_of_two() } else { self.k.c(from) };
                (from, Step::Mul(2 + self.r.below(2)))
            }
        };
        let step = if self.wild == 2 && self.r.chance(8) {
            Step::Any(self.r.pick(&[Uniform::Grid, Uniform::Block, Uniform::Thread]))
        } else {
            step
        };
        let from = narrow(self, from);
        let v = self.k.p.exprs.add(Expr::Var { id: var, width });
        let bound = match self.r.below(4) {
            0 => self.k.bdim(),
            1 => self.small(same),
            _ => {
                let c = 1 + self.r.below(6) as i64;
                self.k.c(c)
            }
        };
        let bound = narrow(self, bound);
        let down = matches!(step, Step::UDiv(_) | Step::AShr(_)) && self.r.chance(80);
        let test = if self.r.chance(20) { Test::After } else { Test::Before };
        // A rotated loop tests the next value.
        let asked = match step {
            Step::Add(by) if test == Test::After && self.r.chance(70) => self.k.add(v, by),
            _ => v,
        };
        let cond = if down {
            let least = self.r.below(2) as i64;
            let least = self.k.p.exprs.constant(width, least);
            let op = if self.r.chance(70) { CmpOp::Slt } else { CmpOp::Ult };
            self.k.p.exprs.cmp(op, least, asked)
        } else {
            let op = self.r.pick(&[CmpOp::Slt, CmpOp::Slt, CmpOp::Ult, CmpOp::Sle, CmpOp::Ne]);
            self.k.p.exprs.cmp(op, asked, bound)
        };
        let cond = if self.wild > 0 && self.r.chance(10) {
            let more = self.cond(same);
            self.k.p.exprs.both(cond, more)
        } else {
            cond
        };
        self.vars.push((v, id));
        let breaks = (self.wild > 0 && self.r.chance(20)).then(|| self.breaks());
        self.k.open();
        let statements = 1 + self.r.below(3);
        let uniform = uniform && same && breaks.is_none_or(|breaks| breaks.uniform > Uniform::Thread);
        self.body(statements, depth + 1, uniform);
        if let Some(Breaks { unless, .. }) = breaks
            && self.r.chance(60)
        {
            self.k.open();
            self.body(2, depth + 1, uniform);
            let then = self.k.close();
            self.k.stmt(Stmt::If { cond: unless, then, otherwise: Vec::new() });
        }
        let body = self.k.close();
        self.vars.pop();
        let vars = vec![Induction { id: var, width, from, step }];
        self.k.stmt(Stmt::Loop(Loop { id, vars, cond, test, breaks, body }));
    }

    /// Breaks of the innermost loop. Half of them have a known condition, which threads may decide alike although the
    /// protocol does not say so.
    fn breaks(&mut self) -> Breaks {
        if self.r.chance(50) {
            let same = self.r.chance(60);
            return Breaks { uniform: Uniform::Thread, unless: self.cond(same) };
        }
        let uniform = self.r.pick(&[Uniform::Grid, Uniform::Block, Uniform::Warp, Uniform::Thread]);
        let loops: Vec<LoopId> = self.vars.iter().map(|(_, of)| *of).collect();
        Breaks { uniform, unless: self.k.opaque("whether a loop goes on", Width::W1, uniform, &loops) }
    }

    fn access(&mut self) {
        self.accesses += 1;
        if self.accesses > 7 {
            return;
        }
        let object = self.r.pick(&self.objects);
        let op = match self.r.below(12) {
            0..=3 => Op::Read,
            4..=6 => Op::Write,
            10 | 11 => match self.r.chance(30) {
                true => Op::Between { writes: self.r.chance(60), passes: self.r.pick(&[1, 1, 2]) },
                false => Op::Copy {
                    writes: self.r.chance(60),
                    passes: self.r.pick(&[0, 0, 1, 1, 2, 3, Op::NO_WAIT]),
                },
            },
            7 => Op::Volatile { writes: self.r.chance(50) },
            8 => Op::Atomic { scope: self.r.pick(&[Scope::Block, Scope::Device]), writes: true },
            _ => Op::Atomic { scope: Scope::Device, writes: self.r.chance(70) },
        };
        let mut index = self.index();
        let scale = self.r.pick(&[4, 4, 4, 4, 1, 2, 8]);
        let size = if self.r.chance(85) { scale } else { self.r.pick(&[1, 2, 4, 8]) };
        if self.r.chance(15) {
            index = self.k.p.exprs.trunc(Width::W16, index);
        }
        let wide = if self.r.chance(70) {
            self.k.p.exprs.sext(Width::W64, index)
        } else {
            self.k.p.exprs.zext(Width::W64, index)
        };
        let by = self.k.p.exprs.c64(scale);
        let offset = self.k.p.exprs.product(wide, by);
        let offset = if self.r.chance(15) {
            let by = self.k.p.exprs.c64(self.r.below(9) as i64);
            self.k.p.exprs.sum(offset, by)
        } else {
            offset
        };
        self.k.access_bytes(op, object, offset, size);
    }

    /// A value. Often it is an index that differs from thread to thread.
    fn index(&mut self) -> E {
        if self.lanes && self.r.chance(40) {
            // The element of another lane.
            let t = self.k.tid();
            let by = self.r.pick(&[1, 1, 3, 2, 7, 15]);
            return self.k.binc(BinOp::Xor, t, by);
        }
        let base = match self.r.below(8) {
            0 | 1 => self.k.tid(),
            2 | 3 => self.k.gid(),
            4 => {
                let (y, x, w) = (self.k.tidy(), self.k.tid(), self.k.bdim());
                let row = self.k.mul(y, w);
                self.k.add(row, x)
            }
            5 => {
                let (b, x) = (self.k.bid(), self.k.tid());
                let c = self.r.pick(&[4, 8, 16]);
                let row = self.k.mulc(b, c);
                self.k.add(row, x)
            }
            _ => self.term(),
        };
        match self.r.below(6) {
            0 | 1 => base,
            2 => {
                let c = 1 + self.r.below(4) as i64;
                let scaled = self.k.mulc(base, c);
                let rest = self.term();
                self.k.add(scaled, rest)
            }
            3 => {
                let more = self.small(false);
                self.k.add(base, more)
            }
            4 => self.twisted(base),
            _ => {
                let t = self.term();
                let t = self.twisted(t);
                self.k.add(base, t)
            }
        }
    }

    fn twisted(&mut self, e: E) -> E {
        let c = 1 + self.r.below(9) as i64;
        match self.r.below(12) {
            0 => self.k.binc(BinOp::URem, e, c),
            1 => self.k.binc(BinOp::UDiv, e, c),
            2 => self.k.binc(BinOp::SRem, e, c),
            3 => self.k.binc(BinOp::SDiv, e, c),
            4 => self.k.binc(BinOp::Xor, e, c - 1),
            5 => self.k.binc(BinOp::And, e, self_mask(c)),
            6 => self.k.binc(BinOp::Or, e, c),
            7 => self.k.binc(BinOp::Shl, e, c % 4),
            8 => self.k.binc(BinOp::LShr, e, c % 4),
            9 => {
                let other = self.small(true);
                let op = self.r.pick(&[
                    BinOp::UMin,
                    BinOp::SMax,
                    BinOp::URem,
                    BinOp::UDiv,
                    BinOp::SRem,
                    BinOp::Xor,
                    BinOp::And,
                    BinOp::Or,
                    BinOp::Mul,
                    BinOp::Shl,
                ]);
                // `t & (s - 1)`
                let other = if self.r.chance(30) { self.k.addc(other, -1) } else { other };
                self.k.bin(op, e, other)
            }
            10 => {
                let cond = self.cond(false);
                let other = self.small(false);
                self.k.p.exprs.select(cond, e, other)
            }
            _ => {
                let n = self.k.c(c);
                self.k.sub(n, e)
            }
        }
    }

    fn term(&mut self) -> E {
        match self.r.below(10) {
            0 | 1 => self.k.tid(),
            2 => self.k.tidy(),
            3 => self.k.bid(),
            4 | 5 if !self.vars.is_empty() => self.var(),
            6 if self.wild == 2 => {
                let uniform = self.r.pick(&[Uniform::Grid, Uniform::Block, Uniform::Warp, Uniform::Thread]);
                let loops: Vec<_> = self.vars.iter().map(|(_, id)| *id).collect();
                self.k.opaque("loaded", Width::W32, uniform, &loops)
            }
            7 if self.wild > 0 => self.k.lane(),
            _ => self.small(true),
        }
    }

    fn var(&mut self) -> E {
        let (v, id) = self.r.pick(&self.vars);
        if self.r.chance(8) {
            let all = Expr::Total { of: id, uniform: Uniform::Thread };
            let count = if self.r.chance(50) { Expr::Iteration(id) } else { all };
            let k = self.k.p.exprs.add(count);
            return self.k.p.exprs.trunc(Width::W32, k);
        }
        match self.k.p.exprs.width(v) {
            Width::W32 => v,
            _ if self.r.chance(50) => self.k.p.exprs.zext(Width::W32, v),
            _ => self.k.p.exprs.sext(Width::W32, v),
        }
    }

    /// A small value. With `same` it is equal for all threads of a block.
    fn small(&mut self, same: bool) -> E {
        match self.r.below(if same { 6 } else { 9 }) {
            0 if !self.scalars.is_empty() => self.r.pick(&self.scalars),
            1 => self.k.bdim(),
            2 => self.k.gdim(),
            3 if !self.vars.is_empty() && !same => self.var(),
            0..=4 => {
                let c = self.r.below(6) as i64 - self.r.chance(15) as i64;
                self.k.c(c)
            }
            5 => self.k.bid(),
            6 => self.k.tid(),
            7 => self.k.tidy(),
            _ => self.k.lane(),
        }
    }

    /// A constant that depends on the thread.
    fn one_of_two(&mut self) -> E {
        let t = self.k.tid();
        let cond = if self.r.chance(50) {
            let bit = self.k.binc(BinOp::And, t, 1 << self.r.below(2));
            self.k.eqc(bit, 0)
        } else {
            self.k.ltc(t, 1 + self.r.below(4) as i64)
        };
        let [a, b] = [(); 2].map(|()| self.r.below(9) as i64);
        let (a, b) = (self.k.c(a), self.k.c(b));
        self.k.p.exprs.select(cond, a, b)
    }

    fn cond(&mut self, same: bool) -> E {
        if self.lanes && self.r.chance(30) {
            // Often all lanes of a tile decide alike.
            let lane = if self.r.chance(50) { self.k.lane() } else { self.k.tid() };
            let bits = self.r.pick(&[2, 4, 8, 12, 16, 1, 28]);
            let some = self.k.binc(BinOp::And, lane, bits);
            return if self.r.chance(60) { self.k.eqc(some, 0) } else { self.k.ltc(lane, bits) };
        }
        let op = self.r.pick(&[CmpOp::Slt, CmpOp::Ult, CmpOp::Eq, CmpOp::Ne, CmpOp::Sle, CmpOp::Ule]);
        let a = if same { self.small(true) } else { self.term() };
        let a = if self.r.chance(20) { self.twisted(a) } else { a };
        let same = same || self.r.chance(70);
        let b = self.small(same);
        let cond =
            if self.r.chance(50) { self.k.p.exprs.cmp(op, a, b) } else { self.k.p.exprs.cmp(op, b, a) };
        if self.r.chance(10) { self.k.p.exprs.not(cond) } else { cond }
    }
}

fn self_mask(c: i64) -> i64 {
    [1, 3, 7, 6, -4, 5, 15, 8, -2][(c - 1) as usize % 9]
}
