//! A short way to write protocols in tests.
#![allow(dead_code)]

use std::collections::BTreeSet;
use std::time::Duration;

use gpurace_protocol::expr::*;
use gpurace_protocol::launch::{Extent, GUARD, Launch, LaunchShape};
use gpurace_protocol::protocol::*;
use gpurace_protocol::race::races;
use gpurace_protocol::show::condition;
use gpurace_protocol::verdict::{SiteVerdict, Verdict};
use gpurace_solve::{Limits, Options, Outcome, solve, solve_with};

pub type E = ExprId;

/// An atomic that is one for all threads of the device.
pub const DEVICE: Op = Op::Atomic { scope: Scope::Device, writes: true };

/// A kernel being written. Statements go to the innermost open body.
#[derive(Clone)]
pub struct Kernel {
    pub p: Protocol,
    bodies: Vec<Vec<Stmt>>,
    sites: u32,
    ids: u32,
}

impl Kernel {
    pub fn new(name: &str) -> Self {
        let p = Protocol { kernel: name.into(), ..Protocol::default() };
        Self { p, bodies: vec![Vec::new()], sites: 0, ids: 0 }
    }

    pub fn done(mut self) -> Protocol {
        assert_eq!(self.bodies.len(), 1);
        self.p.body = self.bodies.pop().unwrap();
        self.p
    }

    pub fn c(&mut self, v: i64) -> E {
        self.p.exprs.c32(v)
    }
    pub fn tid(&mut self) -> E {
        self.p.exprs.add(Expr::Tid(Axis::X))
    }
    pub fn tidy(&mut self) -> E {
        self.p.exprs.add(Expr::Tid(Axis::Y))
    }
    pub fn bid(&mut self) -> E {
        self.p.exprs.add(Expr::Ctaid(Axis::X))
    }
    pub fn bidy(&mut self) -> E {
        self.p.exprs.add(Expr::Ctaid(Axis::Y))
    }
    pub fn bdim(&mut self) -> E {
        self.p.exprs.add(Expr::Ntid(Axis::X))
    }
    pub fn bdimy(&mut self) -> E {
        self.p.exprs.add(Expr::Ntid(Axis::Y))
    }
    pub fn gdim(&mut self) -> E {
        self.p.exprs.add(Expr::Nctaid(Axis::X))
    }
    pub fn lane(&mut self) -> E {
        self.p.exprs.add(Expr::Lane)
    }
    pub fn add(&mut self, a: E, b: E) -> E {
        self.p.exprs.sum(a, b)
    }
    pub fn sub(&mut self, a: E, b: E) -> E {
        self.p.exprs.bin(BinOp::Sub, a, b)
    }
    pub fn mul(&mut self, a: E, b: E) -> E {
        self.p.exprs.product(a, b)
    }
    pub fn bin(&mut self, op: BinOp, a: E, b: E) -> E {
        self.p.exprs.bin(op, a, b)
    }
    pub fn addc(&mut self, a: E, b: i64) -> E {
        let b = self.c(b);
        self.add(a, b)
    }
    pub fn mulc(&mut self, a: E, b: i64) -> E {
        let b = self.c(b);
        self.mul(a, b)
    }
    pub fn binc(&mut self, op: BinOp, a: E, b: i64) -> E {
        let w = self.p.exprs.width(a);
        let b = self.p.exprs.constant(w, b);
        self.bin(op, a, b)
    }
    pub fn lt(&mut self, a: E, b: E) -> E {
        self.p.exprs.cmp(CmpOp::Slt, a, b)
    }
    pub fn le(&mut self, a: E, b: E) -> E {
        self.p.exprs.cmp(CmpOp::Sle, a, b)
    }
    pub fn ult(&mut self, a: E, b: E) -> E {
        self.p.exprs.cmp(CmpOp::Ult, a, b)
    }
    pub fn eq(&mut self, a: E, b: E) -> E {
        self.p.exprs.cmp(CmpOp::Eq, a, b)
    }
    pub fn eqc(&mut self, a: E, b: i64) -> E {
        let w = self.p.exprs.width(a);
        let b = self.p.exprs.constant(w, b);
        self.eq(a, b)
    }
    pub fn ltc(&mut self, a: E, b: i64) -> E {
        let b = self.c(b);
        self.lt(a, b)
    }
    /// `blockIdx.x * blockDim.x + threadIdx.x`
    pub fn gid(&mut self) -> E {
        let (b, d, t) = (self.bid(), self.bdim(), self.tid());
        let base = self.mul(b, d);
        self.add(base, t)
    }
    pub fn gidy(&mut self) -> E {
        let (b, d, t) = (self.bidy(), self.bdimy(), self.tidy());
        let base = self.mul(b, d);
        self.add(base, t)
    }

    /// A scalar `int` parameter.
    pub fn scalar(&mut self, name: &str) -> E {
        let id = ParamId(self.p.params.len() as u32);
        let offset = 8 * id.0;
        self.p.params.push(Param { name: name.into(), width: Width::W32, offset, pointer: false });
        self.p.exprs.add(Expr::Param { id, width: Width::W32 })
    }
    /// A pointer parameter.
    pub fn pointer(&mut self, name: &str) -> ObjectId {
        self.argument(name, ObjectKind::Param)
    }
    /// A texture or surface object.
    pub fn image(&mut self, name: &str) -> ObjectId {
        self.argument(name, ObjectKind::Image)
    }
    fn argument(&mut self, name: &str, kind: impl FnOnce(ParamId) -> ObjectKind) -> ObjectId {
        let id = ParamId(self.p.params.len() as u32);
        let offset = 8 * id.0;
        self.p.params.push(Param { name: name.into(), width: Width::W64, offset, pointer: true });
        self.object(name, kind(id))
    }
    /// A static `__shared__` variable.
    pub fn shared(&mut self, name: &str, size: u64) -> ObjectId {
        self.object(name, ObjectKind::Shared { size })
    }
    pub fn dynamic(&mut self, name: &str) -> ObjectId {
        self.object(name, ObjectKind::DynamicShared)
    }
    pub fn object(&mut self, name: &str, kind: ObjectKind) -> ObjectId {
        self.p.objects.push(Object { name: name.into(), kind });
        ObjectId(self.p.objects.len() as u32 - 1)
    }
    pub fn opaque(&mut self, what: &str, width: Width, uniform: Uniform, loops: &[LoopId]) -> E {
        let (id, loops) = (OpaqueId(self.p.opaques.len() as u32), loops.to_vec());
        self.p.opaques.push(Opaque {
            what: what.into(),
            width,
            uniform,
            loops,
            range: None,
            loaded_by: None,
            argument: None,
            last: None,
            ticket: None,
        });
        self.p.exprs.add(Expr::Opaque { id, width })
    }

    /// Breaks of the innermost of these loops, of which only is known who breaks together.
    pub fn breaks(&mut self, uniform: Uniform, loops: &[LoopId]) -> Breaks {
        let leaves = self.opaque("whether a loop is left", Width::W1, uniform, loops);
        Breaks { uniform, unless: self.binc(BinOp::Xor, leaves, 1) }
    }

    pub fn stmt(&mut self, stmt: Stmt) {
        self.bodies.last_mut().unwrap().push(stmt);
    }
    pub fn access_bytes(&mut self, op: Op, object: ObjectId, offset: E, size: i64) -> SiteId {
        let site = SiteId(self.sites);
        self.sites += 1;
        let size = self.p.exprs.c64(size);
        self.stmt(Stmt::Access(Access { site, op, object, offset, size }));
        site
    }
    /// An access to element `index` (a signed 32-bit value) of `size` bytes.
    pub fn access(&mut self, op: Op, object: ObjectId, index: E, size: i64) -> SiteId {
        let index = match self.p.exprs.width(index) {
            Width::W64 => index,
            _ => self.p.exprs.sext(Width::W64, index),
        };
        let by = self.p.exprs.c64(size);
        let offset = self.p.exprs.product(index, by);
        self.access_bytes(op, object, offset, size)
    }
    pub fn read(&mut self, object: ObjectId, index: E) -> SiteId {
        self.access(Op::Read, object, index, 4)
    }
    pub fn write(&mut self, object: ObjectId, index: E) -> SiteId {
        self.access(Op::Write, object, index, 4)
    }
    pub fn atomic(&mut self, object: ObjectId, index: E) -> SiteId {
        self.access(DEVICE, object, index, 4)
    }
    /// `atomicAdd(&counter[at], added)`, and its result.
    pub fn take(&mut self, op: Op, counter: ObjectId, at: E, added: E, loops: &[LoopId]) -> E {
        let site = self.access(op, counter, at, 4);
        let ticket = self.opaque("the result of an atomic", Width::W32, Uniform::Thread, loops);
        self.p.opaques.last_mut().expect("there is one").ticket = Some(Ticket { site, added });
        ticket
    }
    pub fn sync(&mut self) {
        self.stmt(Stmt::Sync(Sync::Block));
    }
    pub fn warp_sync(&mut self) {
        self.stmt(Stmt::Sync(Sync::Warp));
    }
    /// `__syncwarp(mask)`
    pub fn lane_sync(&mut self, mask: E) {
        self.stmt(Stmt::Sync(Sync::Lanes(mask)));
    }
    /// `bar.sync id, threads`, or `bar.arrive` if the thread does not wait.
    pub fn named(&mut self, id: E, threads: E, waits: bool) {
        self.stmt(Stmt::Sync(Sync::Named(Named { id, threads, waits })));
    }
    /// An arrival at the mbarrier of an array, where `count` threads end a phase, or a wait for the phase of a parity.
    pub fn phase(&mut self, of: ObjectId, index: E, count: i64, parity: Option<E>) {
        let wide = self.p.exprs.sext(Width::W64, index);
        let by = self.p.exprs.c64(8);
        let (at, count) = (self.p.exprs.product(wide, by), self.c(count));
        self.stmt(Stmt::Sync(Sync::Phase(Phase { of, at, count, parity })));
    }
    /// A copy to shared memory that the mbarrier of an array counts.
    pub fn told(&mut self, object: ObjectId, index: E, size: i64, of: ObjectId, mbarrier: E) -> SiteId {
        let site = self.access(Op::Copy { writes: true, passes: Op::NO_WAIT }, object, index, 4);
        let Some(Stmt::Access(access)) = self.bodies.last_mut().unwrap().last_mut() else { unreachable!() };
        access.size = self.p.exprs.c64(size);
        let wide = self.p.exprs.sext(Width::W64, mbarrier);
        let by = self.p.exprs.c64(8);
        let at = self.p.exprs.product(wide, by);
        self.p.told.push(Told { site, of, at });
        site
    }
    /// The tile's mask, as `cooperative_groups` computes it: `((1 << size) - 1) << (lane & -size)`.
    pub fn tile_mask(&mut self, size: u32, lane: E) -> E {
        let tile = self.c((1 << size) - 1);
        let at = self.binc(BinOp::And, lane, -i64::from(size));
        self.bin(BinOp::Shl, tile, at)
    }
    /// `tiled_partition<size>(this_thread_block()).sync()`
    pub fn tile_sync(&mut self, size: u32) {
        let lane = self.lane();
        let mask = self.tile_mask(size, lane);
        self.lane_sync(mask);
    }

    pub fn open(&mut self) {
        self.bodies.push(Vec::new());
    }
    pub fn close(&mut self) -> Vec<Stmt> {
        self.bodies.pop().unwrap()
    }
    /// `if (cond) { then }`. Returns what `then` returns.
    pub fn when<T>(&mut self, cond: E, then: impl FnOnce(&mut Self) -> T) -> T {
        self.when_else(cond, then, |_| {})
    }
    pub fn when_else<T>(
        &mut self,
        cond: E,
        then: impl FnOnce(&mut Self) -> T,
        otherwise: impl FnOnce(&mut Self),
    ) -> T {
        self.open();
        let result = then(self);
        let then = self.close();
        self.open();
        otherwise(self);
        let otherwise = self.close();
        self.stmt(Stmt::If { cond, then, otherwise });
        result
    }
    /// `for (v = from; cond(v); v = step) { body }`. Returns what `body` returns.
    pub fn looped<T>(
        &mut self,
        from: E,
        step: Step,
        cond: impl FnOnce(&mut Self, E) -> E,
        body: impl FnOnce(&mut Self, E) -> T,
    ) -> T {
        self.looped_by([(from, step)], |k, [v]| cond(k, v), |k, [v]| body(k, v))
    }
    /// The same with several variables, each with its first value and its step.
    pub fn looped_by<const N: usize, T>(
        &mut self,
        vars: [(E, Step); N],
        cond: impl FnOnce(&mut Self, [E; N]) -> E,
        body: impl FnOnce(&mut Self, [E; N]) -> T,
    ) -> T {
        let id = self.next_loop();
        let vars = vars.map(|(from, step)| {
            self.ids += 1;
            Induction { id: VarId(self.ids), width: self.p.exprs.width(from), from, step }
        });
        let values = vars.each_ref().map(|var| self.p.exprs.add(Expr::Var { id: var.id, width: var.width }));
        let cond = cond(self, values);
        self.open();
        let result = body(self, values);
        let body = self.close();
        self.stmt(Stmt::Loop(Loop { id, vars: vars.to_vec(), cond, test: Test::Before, breaks: None, body }));
        result
    }
    /// Reserves the number of the next loop for one that a test writes itself.
    pub fn skip_loop(&mut self) {
        self.ids += 1;
    }
    /// The number of the loop that is made next.
    pub fn next_loop(&self) -> LoopId {
        LoopId(self.ids + 1)
    }
    /// `for (v = from; v < to; v += 1)`
    pub fn range<T>(&mut self, from: i64, to: E, body: impl FnOnce(&mut Self, E) -> T) -> T {
        let from = self.c(from);
        let one = self.c(1);
        self.looped(from, Step::Add(one), |k, v| k.lt(v, to), body)
    }
    /// `for (v = 1; v < to; v *= 2)`, unsigned
    pub fn doubled<T>(&mut self, to: E, body: impl FnOnce(&mut Self, E) -> T) -> T {
        let one = self.c(1);
        self.looped(one, Step::Mul(2), |k, v| k.ult(v, to), body)
    }
    /// `for (v = from; v > 0; v /= 2)`, unsigned
    pub fn halved<T>(&mut self, from: E, body: impl FnOnce(&mut Self, E) -> T) -> T {
        let zero = self.c(0);
        self.looped(from, Step::UDiv(2), |k, v| k.ult(zero, v), body)
    }
    /// `v > 0`
    pub fn positive(&mut self, v: E) -> E {
        let zero = self.c(0);
        self.lt(zero, v)
    }

    /// A shared array, a parameter `n`, the thread's index, and the next thread's.
    pub fn neighbours(&mut self) -> (ObjectId, E, E, E) {
        let (s, n, t) = (self.shared("s", 4096), self.scalar("n"), self.tid());
        let next = self.addc(t, 1);
        (s, n, t, next)
    }
}

pub fn launch(grid: [u32; 3], block: [u32; 3], protocol: &Protocol, scalars: &[u64]) -> Launch {
    let mut launch =
        Launch { shape: LaunchShape { grid, block, ..LaunchShape::default() }, ..Launch::default() };
    let mut scalars = scalars.iter();
    for (i, param) in protocol.params.iter().enumerate() {
        launch.params.push(if param.pointer {
            (i as u64 + 1) << 32
        } else {
            param.width.truncate(*scalars.next().expect("a value for each scalar"))
        });
    }
    for (i, object) in protocol.objects.iter().enumerate() {
        launch.objects.push(match object.kind {
            ObjectKind::Param(p) | ObjectKind::Image(p) => {
                let base = launch.params[p.0 as usize];
                Some(Extent { base, allocation: Some((base, base + (1 << 31))), guard: 0 })
            }
            ObjectKind::Variable { size, .. } => {
                let base = (i as u64 + 1) << 48;
                Some(Extent { base, allocation: Some((base, base + size)), guard: 0 })
            }
            _ => None,
        });
    }
    launch
}

/// A launch as the executor makes it: an access that leaves its array ends it.
pub fn guarded(grid: u32, block: u32, p: &Protocol, scalars: &[u64]) -> Launch {
    let mut known = launch([grid, 1, 1], [block, 1, 1], p, scalars);
    known.objects.iter_mut().flatten().for_each(|extent| extent.guard = GUARD);
    known
}

pub fn prove(protocol: &Protocol) -> Outcome {
    solve(protocol, &options())
}

pub fn prove_with(protocol: &Protocol, launch: &Launch) -> Outcome {
    solve_with(protocol, launch, &options())
}

pub fn options() -> Options {
    // Without limits of time, so that a busy machine changes no answer.
    let limits = Limits { kernel: u64::MAX, time: Duration::from_secs(3600), ..Limits::default() };
    Options { limits, dump: std::env::var_os("GPURACE_DUMP_SMT").map(Into::into) }
}

/// One word for each site.
pub fn words(outcome: &Outcome) -> Vec<&'static str> {
    outcome
        .verdicts
        .sites
        .iter()
        .map(|s| match s.verdict {
            Verdict::Proved => "proved",
            Verdict::ProvedIf(_) => "proved-if",
            Verdict::Racy(_) => "racy",
            Verdict::Unknown(_) => "unknown",
        })
        .collect()
}

pub fn all_proved(outcome: &Outcome) -> bool {
    words(outcome).iter().all(|w| w.starts_with("proved"))
}

/// For each site, whether it is proved for a launch by these verdicts for all launches.
pub fn holds(p: &Protocol, all: &Outcome, launch: &Launch) -> Vec<bool> {
    let p = Protocol { exprs: all.verdicts.exprs.clone(), ..p.clone() };
    let holds = |site: &SiteVerdict| match &site.verdict {
        Verdict::Proved => true,
        Verdict::ProvedIf(conditions) => conditions.iter().all(|c| c.holds(&p, &p.exprs, launch)),
        Verdict::Racy(_) | Verdict::Unknown(_) => false,
    };
    all.verdicts.sites.iter().map(holds).collect()
}

/// Asserts that every site is proved. Returns the conditions as text.
#[track_caller]
pub fn proved(k: Kernel) -> Vec<String> {
    let p = k.done();
    let outcome = prove(&p);
    let mut all = Vec::new();
    for s in &outcome.verdicts.sites {
        match &s.verdict {
            Verdict::Proved => {}
            Verdict::ProvedIf(conditions) => {
                all.extend(conditions.iter().map(|c| condition(&p, &outcome.verdicts.exprs, c)));
            }
            other => panic!("{}: site {} is {other:?}: {}", p.kernel, s.site.0, s.why),
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Asserts that none of these sites is proved.
#[track_caller]
pub fn not_proved(k: Kernel, sites: &[SiteId]) -> Outcome {
    let p = k.done();
    let outcome = prove(&p);
    for s in outcome.verdicts.sites.iter().filter(|s| sites.contains(&s.site)) {
        let fine = matches!(s.verdict, Verdict::Unknown(_) | Verdict::Racy(_));
        assert!(fine, "{}: site {} is {:?}", p.kernel, s.site.0, s.verdict);
    }
    assert!(!sites.is_empty());
    outcome
}

/// The kernel for `true` is proved; of the one for `false`, none of these sites is.
#[track_caller]
pub fn only_with(kernel: impl Fn(bool) -> (Kernel, Vec<SiteId>)) {
    proved(kernel(true).0);
    let (k, sites) = kernel(false);
    not_proved(k, &sites);
}

/// The sites that race in this launch, as the oracle finds them. Each opaque value is `open`.
pub fn racing(p: &Protocol, launch: &Launch, open: u64) -> BTreeSet<SiteId> {
    let found = races(p, launch, &mut |_| open, &|_, _| (true, 0), 1_000_000).expect("it ends");
    found.keys().flat_map(|(a, b)| [*a, *b]).collect()
}

/// At this launch the oracle finds exactly the sites `expected` in races. No other site is open: it
/// is proved.
#[track_caller]
pub fn at_launch(p: &Protocol, launch: &Launch, expected: &[SiteId]) {
    let outcome = prove_with(p, launch);
    let found = racing(p, launch, 0);
    for s in &outcome.verdicts.sites {
        let in_race = found.contains(&s.site);
        assert_eq!(in_race, expected.contains(&s.site), "{}: oracle on site {}", p.kernel, s.site.0);
        match &s.verdict {
            Verdict::Proved => assert!(!in_race, "{}: site {}", p.kernel, s.site.0),
            Verdict::Racy(_) => assert!(in_race, "{}: site {}", p.kernel, s.site.0),
            other => panic!("{}: site {} is {other:?}: {}", p.kernel, s.site.0, s.why),
        }
    }
}
