//! Random kernels without races. Blocks share no memory but inputs and what they update by atomics. What
//! the threads of a block share is used in phases between barriers: in one phase, an array is only read,
//! or only updated by atomics of one kind, or each of its elements belongs to one thread.

pub mod maps;
mod patterns;
mod phases;
mod values;
mod warps;

use gpurace_random::Random;

use crate::program::{Array, Element, Expr, Kernel, Kind, Place, Space, Special, Stmt};
use crate::scalar::{Op, Scalar, Test};
use maps::{Map, add, binary, compare, less, mul, u};

/// Makes one kernel.
pub struct Maker<'a> {
    r: &'a mut Random,
    kernel: Kernel,
    /// Inputs.
    inputs: Vec<usize>,
    /// Local variables that take up what is loaded.
    sums: Vec<usize>,
    /// Variables of the loops around.
    loops: Vec<usize>,
    /// How many inputs an index is read through.
    depth: u32,
    /// Threads of a block that do not end at once: the first ones.
    active: u32,
}

/// Variables that each kernel begins with: the thread's number in its block, the block's, the thread's in
/// the grid.
const THREAD: usize = 0;
const BLOCK: usize = 1;
const GLOBAL: usize = 2;

impl Maker<'_> {
    fn thread(&mut self) -> Expr {
        let flat = self.kernel.block[1] * self.kernel.block[2] == 1;
        if flat && self.r.chance(40) { Expr::Special(Special::Thread, 0) } else { Expr::Local(THREAD) }
    }

    fn global_thread(&self) -> Expr {
        Expr::Local(GLOBAL)
    }

    /// A local variable.
    fn local(&mut self, s: Scalar) -> usize {
        self.kernel.locals.push(s);
        self.kernel.locals.len() - 1
    }

    fn array(&mut self, space: Space, element: Element, extents: Vec<u32>) -> usize {
        let seed = self.r.bits() >> 16;
        self.kernel.arrays.push(Array { space, element, extents, seed });
        self.kernel.arrays.len() - 1
    }

    fn scalar(&mut self) -> Scalar {
        self.r.pick(&Scalar::ALL)
    }

    fn element(&mut self) -> Element {
        let s = self.scalar();
        match self.r.below(8) {
            0 => Element::Vector(s, if s.size() == 8 { 2 } else { self.r.pick(&[2, 4]) }),
            1 => Element::Struct(match self.r.below(5) {
                0 => vec![Scalar::U32, Scalar::F32],
                1 => vec![Scalar::F64, Scalar::U32, Scalar::I32],
                2 => vec![Scalar::U16, Scalar::I16, Scalar::U32],
                3 => vec![Scalar::U8, Scalar::I8, Scalar::U16],
                _ => vec![Scalar::U8, Scalar::U8, Scalar::U8],
            }),
            _ => Element::Scalar(s),
        }
    }

    /// A number that the program knows as a constant, a parameter or a special register.
    fn number(&mut self, n: u32) -> Expr {
        match self.r.below(3) {
            0 => {
                self.kernel.params.push((Scalar::U32, u64::from(n)));
                Expr::Param(self.kernel.params.len() - 1)
            }
            1 if self.kernel.block == [n, 1, 1] => Expr::Special(Special::BlockDim, 0),
            _ => u(n),
        }
    }

    /// The same statements in a loop over a variable, which `body` gets.
    fn looped(
        &mut self,
        first: Expr,
        bound: Expr,
        step: Expr,
        body: impl FnOnce(&mut Self, Expr) -> Vec<Stmt>,
    ) -> Stmt {
        let v = self.local(Scalar::U32);
        self.loops.push(v);
        let body = body(self, Expr::Local(v));
        self.loops.pop();
        Kind::For(v, first, less(Expr::Local(v), bound), add(Expr::Local(v), step), body).into()
    }

    /// Leaves a loop, or its iteration, under a condition.
    fn leave(&mut self, condition: Expr) -> Stmt {
        let kind = if self.r.chance(60) { Kind::Break } else { Kind::Continue };
        Kind::If(condition, vec![kind.into()], Vec::new()).into()
    }

    /// Loops and branches that depend on values and access inputs alone.
    fn alone(&mut self, depth: u32) -> Vec<Stmt> {
        let mut body = Vec::new();
        for _ in 0..1 + self.r.below(2) {
            let v = self.r.pick(&self.sums);
            let seen = self.convert(Scalar::U32, Expr::Local(v));
            match self.r.below(5) {
                0 | 1 if depth > 0 => {
                    let bound = maps::rem(seen, u(self.r.pick(&[2, 4, 7])));
                    body.push(self.looped(u(0), bound, u(1), |m, _| {
                        let mut inner = m.alone(depth - 1);
                        if m.r.chance(30) {
                            let c = m.condition();
                            inner.push(m.leave(c));
                        }
                        inner.extend(m.alone(0));
                        inner
                    }));
                }
                2 if depth > 0 => {
                    let c = compare(Test::Less, maps::rem(seen, u(5)), u(self.r.below(5u32)));
                    let then = self.alone(depth - 1);
                    let other = if self.r.chance(50) { self.alone(depth - 1) } else { Vec::new() };
                    body.push(Kind::If(c, then, other).into());
                }
                _ => {
                    let input = self.input();
                    body.push(self.mix(input));
                }
            }
        }
        body
    }

    /// Work on an array of the thread's own.
    fn local_array(&mut self) -> Vec<Stmt> {
        let n = self.r.pick(&[2, 4, 7]);
        let s = self.scalar();
        let array = self.array(Space::Local, Element::Scalar(s), vec![n]);
        let place = |index| Place { array, index: vec![index], part: 0 };
        let mut body =
            vec![self.looped(u(0), u(n), u(1), |m, v| vec![Kind::Store(place(v), m.value(s, 1)).into()])];
        if self.r.chance(60) {
            self.barrier(&mut body);
        }
        let (to, from) = (self.index(n), self.index(n));
        let value = self.value(s, 1);
        body.push(Kind::Update(if s.is_float() { Op::Add } else { Op::Xor }, place(to), value).into());
        body.push(self.mix(Expr::Load(Box::new(place(from)))));
        body
    }

    fn barrier(&mut self, body: &mut Vec<Stmt>) {
        if self.r.chance(8) {
            let (v, condition) = (self.local(Scalar::I32), self.condition());
            body.push(Kind::BarrierCount(v, condition).into());
            body.push(self.mix(Expr::Local(v)));
        } else {
            body.push(Kind::Barrier.into());
        }
    }

    /// The kernel's first statements.
    fn head(&mut self) -> Vec<Stmt> {
        let linear = |which, extents: Special| {
            let part = |d| Expr::Special(which, d);
            let extent = |d| Expr::Special(extents, d);
            add(part(0), mul(extent(0), add(part(1), mul(extent(1), part(2)))))
        };
        let t = if self.kernel.block[1] * self.kernel.block[2] == 1 {
            Expr::Special(Special::Thread, 0)
        } else {
            linear(Special::Thread, Special::BlockDim)
        };
        let b = if self.kernel.grid[1] * self.kernel.grid[2] == 1 {
            Expr::Special(Special::Block, 0)
        } else {
            linear(Special::Block, Special::GridDim)
        };
        let threads = self.kernel.threads();
        let threads = self.number(threads);
        vec![
            Kind::Set(THREAD, t).into(),
            Kind::Set(BLOCK, b).into(),
            Kind::Set(GLOBAL, add(mul(Expr::Local(BLOCK), threads), Expr::Local(THREAD))).into(),
        ]
    }

    /// Each thread writes its results to elements of its own.
    fn results(&mut self) -> Vec<Stmt> {
        let total = self.kernel.threads() * self.kernel.blocks();
        let mut body = Vec::new();
        for v in self.sums.clone() {
            let s = self.kernel.locals[v];
            let array = self.array(Space::Global, Element::Scalar(s), vec![total]);
            let index = Map::random(self.r, total).of(self.global_thread());
            body.push(Kind::Store(Place { array, index: vec![index], part: 0 }, Expr::Local(v)).into());
        }
        body
    }

    /// A loop with the grid's stride, over elements that each belong to one thread.
    fn grid_stride(&mut self) -> Vec<Stmt> {
        let total = self.kernel.threads() * self.kernel.blocks();
        let n = total * self.r.pick(&[1, 2, 3]) + self.r.pick(&[0, 0, 1, total / 2]);
        let element = self.element();
        let parts = element.parts();
        let space = self.r.pick(&[Space::Global, Space::Global, Space::Variable]);
        let array = self.array(space, element, vec![n]);
        let map = Map::random(self.r, n);
        let (bound, step) = (self.number(n), self.number(total));
        let first = self.global_thread();
        let condition = self.r.chance(30).then(|| self.condition());
        let one = self.looped(first, bound, step, |m, v| {
            let part = m.r.below(parts.len());
            let place = Place { array, index: vec![map.of(v)], part };
            let mut body = Vec::new();
            if m.r.chance(15) {
                let c = m.condition();
                body.push(m.leave(c));
            }
            if m.r.chance(50) {
                body.push(m.mix(Expr::Load(Box::new(place.clone()))));
            }
            let value = m.value(parts[part], 2);
            body.push(match m.r.below(3) {
                0 => {
                    Kind::Update(if parts[part].is_float() { Op::Add } else { Op::Xor }, place, value).into()
                }
                1 => {
                    let values = parts.iter().map(|&s| m.value(s, 1)).collect();
                    Kind::StoreAll(place, values).into()
                }
                _ => Kind::Store(place, value).into(),
            });
            body
        });
        match condition {
            Some(c) => vec![Kind::If(c, vec![one], Vec::new()).into()],
            None => vec![one],
        }
    }

    /// Atomics of all blocks on one array.
    fn atomics(&mut self) -> Vec<Stmt> {
        let (s, op) = self.atomic_kind();
        let n = self.r.pick(&[1, 3, 16, 100]);
        let space = self.r.pick(&[Space::Global, Space::Variable]);
        let array = self.array(space, Element::Scalar(s), vec![n]);
        let mut body: Vec<Stmt> = Vec::new();
        for _ in 0..1 + self.r.below(2) {
            let place = Place { array, index: vec![self.index(n)], part: 0 };
            let value = self.atomic_value(s);
            let atomic: Stmt = Kind::Atomic(op, place, value).into();
            body.push(match self.r.chance(50) {
                true => Kind::If(self.condition(), vec![atomic], Vec::new()).into(),
                false => atomic,
            });
        }
        body
    }

    /// A type and an operation whose result does not depend on the order of the threads.
    fn atomic_kind(&mut self) -> (Scalar, Op) {
        let s = self.r.pick(&[Scalar::U32, Scalar::U32, Scalar::I32, Scalar::U64, Scalar::F32, Scalar::F64]);
        let ops: &[Op] = match s {
            Scalar::F32 | Scalar::F64 => &[Op::Add],
            _ => &[Op::Add, Op::Add, Op::And, Op::Or, Op::Xor, Op::Min, Op::Max],
        };
        (s, self.r.pick(ops))
    }

    /// A value for an atomic. Sums of such floats are exact in any order.
    fn atomic_value(&mut self, s: Scalar) -> Expr {
        if s.is_float() {
            let small = binary(Op::And, self.known(), u(15));
            return maps::cast(s, small);
        }
        self.value(s, 2)
    }

    /// Whole blocks that end early.
    fn early_end(&mut self) -> Stmt {
        let blocks = self.kernel.blocks();
        let bound = self.r.below(blocks) + 1;
        let bound = self.number(bound);
        let c = compare(Test::AtLeast, Expr::Local(BLOCK), bound);
        Kind::If(c, vec![Kind::Return.into()], Vec::new()).into()
    }

    fn make(&mut self) {
        for _ in 0..1 + self.r.below(2) {
            let element = self.element();
            let n = self.r.pick(&[16, 64, 100, 257]);
            let array = self.array(Space::Input, element, vec![n]);
            self.inputs.push(array);
        }
        for _ in 0..3 {
            self.local(Scalar::U32);
        }
        for _ in 0..1 + self.r.below(3) {
            let s = self.scalar();
            let v = self.local(s);
            self.sums.push(v);
        }
        let mut body = self.head();
        if self.r.chance(10) {
            body.push(self.early_end());
        }
        if self.r.chance(12) {
            // The last threads of each block end before they have accessed anything.
            self.active -= self.r.below(self.active);
            let c = compare(Test::AtLeast, self.thread(), u(self.active));
            body.push(Kind::If(c, vec![Kind::Return.into()], Vec::new()).into());
        }
        for _ in 0..1 + self.r.below(3) {
            let more = match self.r.below(12) {
                11 => self.alone(2),
                0 => self.grid_stride(),
                10 => self.local_array(),
                1 => self.atomics(),
                2 => self.warp_work(),
                3..=5 => self.pattern(),
                _ => self.phases(),
            };
            body.extend(more);
        }
        if self.r.chance(20) {
            let total = self.kernel.threads() * self.kernel.blocks();
            let bound = self.r.below(total) + 1;
            let bound = self.number(bound);
            let c = compare(Test::AtLeast, Expr::Local(GLOBAL), bound);
            body.push(Kind::If(c, vec![Kind::Return.into()], Vec::new()).into());
        }
        body.extend(self.results());
        self.kernel.body = body;
        self.kernel.number();
    }
}

/// Splits a number into three factors.
fn shape(r: &mut Random, n: u32) -> [u32; 3] {
    let divisor = |r: &mut Random, n: u32| {
        let all: Vec<u32> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
        r.pick(&all)
    };
    match r.below(4) {
        0 => {
            let x = divisor(r, n);
            [x, n / x, 1]
        }
        1 => {
            let x = divisor(r, n);
            let y = divisor(r, n / x);
            let mut all = [x, y, n / x / y];
            // A block has at most 64 layers.
            all.sort_by(|a, b| b.cmp(a));
            all
        }
        _ => [n, 1, 1],
    }
}

/// Returns the kernel of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let r = &mut Random(seed);
    let threads = r.pick(&[32, 64, 64, 96, 128, 128, 48, 17, 7, 256, 33]);
    let blocks = if threads >= 128 { r.pick(&[1, 2, 3]) } else { r.pick(&[1, 2, 4, 6]) };
    let kernel = Kernel {
        launches: if r.chance(15) { 2 } else { 1 },
        grid: shape(r, blocks),
        block: shape(r, threads),
        arrays: Vec::new(),
        params: Vec::new(),
        locals: Vec::new(),
        functions: Vec::new(),
        body: Vec::new(),
    };
    let mut maker = Maker {
        r,
        kernel,
        inputs: Vec::new(),
        sums: Vec::new(),
        loops: Vec::new(),
        depth: 0,
        active: threads,
    };
    maker.make();
    maker.kernel
}
