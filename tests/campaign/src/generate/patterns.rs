//! Patterns of real kernels: trees, scans, stencils, double buffers, tiles, histograms, rows of threads.

use super::maps::{Map, add, binary, less, mul, rem, u};
use super::{Maker, THREAD};
use crate::program::{Element, Expr, Kind, Place, Space, Stmt};
use crate::scalar::{Op, Scalar, Test};

impl Maker<'_> {
    pub(super) fn pattern(&mut self) -> Vec<Stmt> {
        match self.r.below(9) {
            0 => self.tree(),
            1 => self.scan(),
            2 => self.stencil(),
            3 => self.two_buffers(),
            4 if self.active == self.kernel.threads() => self.transposed(),
            4 => self.scan(),
            5 => self.histogram(),
            6 => self.products(),
            7 => self.own_rows(),
            _ => self.odd_even(),
        }
    }

    /// An operation that is used for trees and scans.
    fn gather(&mut self, s: Scalar) -> Op {
        if s.is_float() { Op::Add } else { self.r.pick(&[Op::Add, Op::Xor, Op::Add]) }
    }

    /// Halves of an array are added until one element is left.
    fn tree(&mut self) -> Vec<Stmt> {
        let threads = self.active;
        let n = 1 << threads.ilog2();
        let s = self.scalar();
        let region = self.region(n, Element::Scalar(s));
        let mut body = self.first_values(&region);
        self.barrier(&mut body);
        let op = self.gather(s);
        let v = self.local(Scalar::U32);
        let half = Expr::Local(v);
        let t = self.thread();
        let up = self.r.chance(30);
        let (guard, to, from) = if up {
            // Pairs at growing distances.
            let guard = super::maps::compare(Test::Equal, rem(t.clone(), mul(half.clone(), u(2))), u(0));
            let guard = binary(Op::And, guard, less(add(t.clone(), half.clone()), u(n)));
            (guard, t.clone(), add(t.clone(), half.clone()))
        } else {
            (less(t.clone(), half.clone()), t.clone(), add(t.clone(), half.clone()))
        };
        let update = Kind::Update(op, self.place(&region, to, 0), self.load(&region, from, 0));
        let mut inner: Vec<Stmt> = vec![Kind::If(guard, vec![update.into()], Vec::new()).into()];
        inner.push(Kind::Barrier.into());
        let (first, test, next) = if up {
            (u(1), less(half.clone(), u(n)), mul(half, u(2)))
        } else {
            (u(n / 2), less(u(0), half.clone()), binary(Op::Shr, half, u(1)))
        };
        body.push(Kind::For(v, first, test, next, inner).into());
        body.push(self.mix_load(&region, u(0)));
        self.barrier(&mut body);
        body
    }

    /// Prefix sums, with a barrier before and after each addition.
    fn scan(&mut self) -> Vec<Stmt> {
        let threads = self.active;
        let s = self.scalar();
        let region = self.region(threads, Element::Scalar(s));
        let mut body = self.first_values(&region);
        self.barrier(&mut body);
        let op = self.gather(s);
        let (distance, kept) = (self.local(Scalar::U32), self.local(s));
        let d = Expr::Local(distance);
        let t = self.thread();
        let far = super::maps::compare(Test::AtLeast, t.clone(), d.clone());
        let load = self.load(&region, binary(Op::Sub, t.clone(), d.clone()), 0);
        let update = Kind::Update(op, self.place(&region, t, 0), Expr::Local(kept));
        let inner = vec![
            Kind::If(far.clone(), vec![Kind::Set(kept, load).into()], Vec::new()).into(),
            Kind::Barrier.into(),
            Kind::If(far, vec![update.into()], Vec::new()).into(),
            Kind::Barrier.into(),
        ];
        let test = less(d.clone(), self.number(threads));
        body.push(Kind::For(distance, u(1), test, mul(d, u(2)), inner).into());
        let t = Expr::Local(THREAD);
        body.push(self.mix_load(&region, t));
        self.barrier(&mut body);
        body
    }

    /// Elements with their neighbours, which some threads load beyond the block's edges.
    fn stencil(&mut self) -> Vec<Stmt> {
        let threads = self.active;
        let s = self.scalar();
        let radius = self.r.pick(&[1, 1, 2, 3]).min(threads);
        let region = self.region(threads + 2 * radius, Element::Scalar(s));
        let t = self.thread();
        let mut body = Vec::new();
        let rounds = self.r.chance(40);
        let mut inner: Vec<Stmt> = Vec::new();
        let value = self.value(s, 2);
        inner.push(Kind::Store(self.place(&region, add(t.clone(), u(radius)), 0), value).into());
        let (left, right) = (self.value(s, 1), self.value(s, 1));
        let edge = add(t.clone(), u(threads + radius));
        let edges = vec![
            Kind::Store(self.place(&region, t.clone(), 0), left).into(),
            Kind::Store(self.place(&region, edge, 0), right).into(),
        ];
        inner.push(Kind::If(less(t.clone(), u(radius)), edges, Vec::new()).into());
        self.barrier(&mut inner);
        if self.r.chance(50) {
            for k in 0..=2 * radius {
                inner.push(self.mix_load(&region, add(t.clone(), u(k))));
            }
        } else {
            let bound = 2 * radius + 1;
            let one = self.looped(u(0), u(bound), u(1), |m, v| vec![m.mix_load(&region, add(t.clone(), v))]);
            inner.push(one);
        }
        self.barrier(&mut inner);
        if rounds {
            let bound = self.number(3);
            let one = self.looped(u(0), bound, u(1), |_, _| inner);
            body.push(one);
            return body;
        }
        inner
    }

    /// Two buffers: each round reads one and writes the other.
    fn two_buffers(&mut self) -> Vec<Stmt> {
        let threads = self.active;
        let s = self.scalar();
        let space = self.r.pick(&[Space::Shared, Space::Shared, Space::Dynamic]);
        let array = self.array(space, Element::Scalar(s), vec![2, threads]);
        let t = self.thread();
        let own = Map::random(self.r, threads);
        let place = |buffer: Expr, index: Expr| Place { array, index: vec![buffer, index], part: 0 };
        let value = self.value(s, 2);
        let mut body: Vec<Stmt> = vec![Kind::Store(place(u(0), t.clone()), value).into()];
        self.barrier(&mut body);
        let rounds = 2 + self.r.below(4u32);
        let bound = self.number(rounds);
        let one = self.looped(u(0), bound, u(1), |m, v| {
            let from = binary(Op::And, v.clone(), u(1));
            let to = match m.r.below(2) {
                0 => binary(Op::Sub, u(1), from.clone()),
                _ => binary(Op::And, add(v, u(1)), u(1)),
            };
            let other = m.index(threads);
            let loaded = Expr::Load(Box::new(place(from.clone(), other)));
            let value = m.value(s, 1);
            let op = m.gather(s);
            let mut inner: Vec<Stmt> =
                vec![Kind::Store(place(to, own.of(t.clone())), binary(op, loaded, value)).into()];
            m.barrier(&mut inner);
            inner
        });
        body.push(one);
        let last = Expr::Load(Box::new(place(u(rounds & 1), t)));
        body.push(self.mix(last));
        self.barrier(&mut body);
        body
    }

    /// A tile that is written by rows and read by columns, in the block's own coordinates.
    fn transposed(&mut self) -> Vec<Stmt> {
        use crate::program::Special;
        let [x, y, z] = self.kernel.block;
        let (columns, rows) = (x, y * z);
        let s = self.scalar();
        let padding = self.r.pick(&[0, 1]);
        let array = self.array(Space::Shared, Element::Scalar(s), vec![rows, columns + padding]);
        let column = Expr::Special(Special::Thread, 0);
        let row = add(Expr::Special(Special::Thread, 1), mul(Expr::Special(Special::Thread, 2), u(y)));
        let value = self.value(s, 2);
        let place = Place { array, index: vec![row.clone(), column.clone()], part: 0 };
        let mut body: Vec<Stmt> = vec![Kind::Store(place, value).into()];
        self.barrier(&mut body);
        let index = if rows == columns && self.r.chance(70) {
            vec![column, row]
        } else {
            let flat = add(mul(column, u(rows)), row);
            vec![binary(Op::Div, flat.clone(), u(columns)), rem(flat, u(columns))]
        };
        body.push(self.mix(Expr::Load(Box::new(Place { array, index, part: 0 }))));
        self.barrier(&mut body);
        body
    }

    /// Counts in shared memory, which are added to global ones.
    fn histogram(&mut self) -> Vec<Stmt> {
        let bins = self.r.pick(&[1, 5, 16, 32, 100]);
        let s = self.r.pick(&[Scalar::U32, Scalar::I32, Scalar::U64]);
        let counts = self.array(Space::Global, Element::Scalar(s), vec![bins]);
        let own = self.array(Space::Shared, Element::Scalar(s), vec![bins]);
        let place = |array, index| Place { array, index: vec![index], part: 0 };
        let threads = self.active;
        let zero = Expr::Const(s, 0);
        let (bound, step) = (self.number(bins), self.number(threads));
        let first = self.thread();
        let mut body = vec![self.looped(first, bound.clone(), step.clone(), |_, v| {
            vec![Kind::Store(place(own, v), zero).into()]
        })];
        self.barrier(&mut body);
        let times = 1 + self.r.below(3);
        let one = self.looped(u(0), u(times), u(1), |m, _| {
            let index = m.index(bins);
            vec![Kind::Atomic(Op::Add, place(own, index), Expr::Const(s, 1)).into()]
        });
        body.push(one);
        self.barrier(&mut body);
        let first = self.thread();
        let one = self.looped(first, bound, step, |_, v| {
            let count = Expr::Load(Box::new(place(own, v.clone())));
            vec![Kind::Atomic(Op::Add, place(counts, v), count).into()]
        });
        body.push(one);
        self.barrier(&mut body);
        body
    }

    /// Products of tiles: two tiles are loaded, used by all, and loaded again.
    fn products(&mut self) -> Vec<Stmt> {
        let threads = self.active;
        let s = self.scalar();
        let (a, b) = (self.region(threads, Element::Scalar(s)), self.region(threads, Element::Scalar(s)));
        let sum = self.local(s);
        let rounds = self.number(2);
        let width = self.r.pick(&[2, 4, 7]).min(threads);
        let outer = self.looped(u(0), rounds, u(1), |m, _| {
            let mut body = m.first_values(&a);
            body.extend(m.first_values(&b));
            m.barrier(&mut body);
            let t = m.thread();
            let inner = m.looped(u(0), u(width), u(1), |m, v| {
                let row = binary(Op::Sub, t.clone(), rem(t.clone(), u(width)));
                let x = m.load(&a, binary(Op::Min, add(row, v.clone()), u(threads - 1)), 0);
                let y = m.load(&b, rem(add(mul(v, u(3)), t), u(threads)), 0);
                let both = if s.is_float() { add(x, y) } else { mul(add(x, Expr::Const(s, 1)), y) };
                vec![Kind::Set(sum, add(Expr::Local(sum), both)).into()]
            });
            body.push(inner);
            m.barrier(&mut body);
            body
        });
        vec![outer, self.mix(Expr::Local(sum))]
    }

    /// Neighbours are put in order, at even and at odd places in turn.
    fn odd_even(&mut self) -> Vec<Stmt> {
        let threads = self.active;
        let n = 2 * threads;
        let s = self.scalar();
        let region = self.region(n, Element::Scalar(s));
        let mut body = self.first_values(&region);
        self.barrier(&mut body);
        let rounds = 2 + self.r.below(3u32);
        let bound = self.number(rounds);
        let (x, y) = (self.local(s), self.local(s));
        let one = self.looped(u(0), bound, u(1), |m, v| {
            let i = add(mul(m.thread(), u(2)), binary(Op::And, v, u(1)));
            let j = add(i.clone(), u(1));
            let (low, high) = (
                binary(Op::Min, Expr::Local(x), Expr::Local(y)),
                binary(Op::Max, Expr::Local(x), Expr::Local(y)),
            );
            let swap = vec![
                Kind::Set(x, m.load(&region, i.clone(), 0)).into(),
                Kind::Set(y, m.load(&region, j.clone(), 0)).into(),
                Kind::Store(m.place(&region, i.clone(), 0), low).into(),
                Kind::Store(m.place(&region, j.clone(), 0), high).into(),
            ];
            let mut inner: Vec<Stmt> = vec![Kind::If(less(j, u(n)), swap, Vec::new()).into()];
            m.barrier(&mut inner);
            inner
        });
        body.push(one);
        let t = self.thread();
        body.push(self.mix_load(&region, t));
        self.barrier(&mut body);
        body
    }
    /// Rows that are each thread's own: it reads and writes their elements in turn. The kernel may not know before it
    /// runs which element that is.
    fn own_rows(&mut self) -> Vec<Stmt> {
        let width = self.r.pick(&[2, 3, 4]);
        let s = self.scalar();
        let region = self.region(width * self.active, Element::Scalar(s));
        let mut body = self.first_values(&region);
        self.barrier(&mut body);
        let element = |m: &mut Self| {
            let column = m.r.below(u64::from(width)) as u32;
            let column = m.number(column);
            add(mul(m.thread(), u(width)), column)
        };
        for _ in 0..3 + self.r.below(4) {
            let [to, one, other] = [(); 3].map(|()| element(self));
            let sum = add(self.load(&region, one, 0), self.load(&region, other, 0));
            body.push(Kind::Store(self.place(&region, to, 0), sum).into());
        }
        let last = element(self);
        body.push(self.mix_load(&region, last));
        self.barrier(&mut body);
        body
    }
}
