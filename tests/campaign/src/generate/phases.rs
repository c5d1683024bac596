//! Phases: what the threads of a block do with their arrays between two barriers.

use super::maps::{Map, add, binary, compare, less, mul, rem, u};
use super::{BLOCK, Maker};
use crate::program::{Element, Expr, Kind, Place, Space, Stmt};
use crate::scalar::{Op, Scalar, Test};

/// Memory that the threads of one block share: a shared array, or a block's part of a global one.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) array: usize,
    /// Elements.
    pub(super) n: u32,
    /// Columns, of an array with two extents.
    columns: Option<u32>,
    /// True if each block has its own part of the array.
    part_of_global: bool,
}

/// Which thread an element belongs to in a phase.
#[derive(Clone, Debug)]
struct Owners {
    map: Map,
    /// Threads have neighbouring elements, rather than every so many.
    blocked: bool,
}

/// What a phase does with a region.
#[derive(Clone, Debug)]
enum Mode {
    Read,
    Own(Owners),
    Atomic(Op),
}

impl Maker<'_> {
    /// A region of `n` elements.
    pub(super) fn region(&mut self, n: u32, element: Element) -> Region {
        let bytes = n as usize * element.size();
        if bytes > 6000 || self.r.chance(25) {
            let blocks = self.kernel.blocks();
            let space = self.r.pick(&[Space::Global, Space::Global, Space::Variable]);
            let array = self.array(space, element, vec![n * blocks]);
            return Region { array, n, columns: None, part_of_global: true };
        }
        let columns = self.r.pick(&[4, 8, 16, 32]);
        if n.is_multiple_of(columns) && self.r.chance(30) {
            let padding = self.r.pick(&[0, 1]);
            let array = self.array(Space::Shared, element, vec![n / columns, columns + padding]);
            return Region { array, n, columns: Some(columns), part_of_global: false };
        }
        let space = self.r.pick(&[Space::Shared, Space::Shared, Space::Dynamic]);
        let array = self.array(space, element, vec![n]);
        Region { array, n, columns: None, part_of_global: false }
    }

    /// A part of an element of a region.
    pub(super) fn place(&mut self, region: &Region, index: Expr, part: usize) -> Place {
        let mut index = match region.columns {
            Some(columns) => vec![binary(Op::Div, index.clone(), u(columns)), rem(index, u(columns))],
            None if region.part_of_global => {
                vec![add(mul(Expr::Local(BLOCK), u(region.n)), index)]
            }
            None => vec![index],
        };
        if self.r.chance(20) {
            let wide = self.r.pick(&[Scalar::I32, Scalar::I64, Scalar::U64]);
            index = index.into_iter().map(|e| super::maps::cast(wide, e)).collect();
        }
        Place { array: region.array, index, part }
    }

    pub(super) fn parts(&self, region: &Region) -> Vec<Scalar> {
        self.kernel.arrays[region.array].element.parts()
    }

    pub(super) fn load(&mut self, region: &Region, index: Expr, part: usize) -> Expr {
        Expr::Load(Box::new(self.place(region, index, part)))
    }

    /// Puts an element of a region into a result.
    pub(super) fn mix_load(&mut self, region: &Region, index: Expr) -> Stmt {
        let loaded = self.load(region, index, 0);
        self.mix(loaded)
    }

    /// Statements that each thread makes for each element that it owns.
    fn for_each_own(
        &mut self,
        region: &Region,
        owners: &Owners,
        body: impl Fn(&mut Self, Expr) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let threads = self.active;
        let n = region.n;
        if owners.blocked {
            let each = n / threads;
            let first = mul(self.thread(), u(each));
            if each <= 2 {
                return (0..each).flat_map(|j| body(self, owners.map.of(add(first.clone(), u(j))))).collect();
            }
            let one = self.looped(u(0), u(each), u(1), |m, v| body(m, owners.map.of(add(first, v))));
            return vec![one];
        }
        if n == threads && self.r.chance(80) {
            let t = self.thread();
            return body(self, owners.map.of(t));
        }
        if n < threads {
            let t = self.thread();
            let then = body(self, owners.map.of(t));
            let t = self.thread();
            let bound = self.number(n);
            return vec![Kind::If(less(t, bound), then, Vec::new()).into()];
        }
        if n.is_multiple_of(threads) && n <= 2 * threads && self.r.chance(50) {
            return (0..n / threads)
                .flat_map(|j| {
                    let t = self.thread();
                    body(self, owners.map.of(add(t, u(j * threads))))
                })
                .collect();
        }
        let (first, bound, step) = (self.thread(), self.number(n), self.number(threads));
        vec![self.looped(first, bound, step, |m, v| body(m, owners.map.of(v)))]
    }

    fn owners(&mut self, region: &Region) -> Owners {
        let map = Map::random(self.r, region.n);
        let blocked = region.n.is_multiple_of(self.active) && self.r.chance(30);
        Owners { map, blocked }
    }

    /// Gives all elements a value.
    pub(super) fn first_values(&mut self, region: &Region) -> Vec<Stmt> {
        let owners = self.owners(region);
        let parts = self.parts(region);
        let whole = self.r.chance(50);
        self.for_each_own(region, &owners, |m, index| {
            let place = m.place(region, index, 0);
            if whole {
                let values = parts.iter().map(|&s| m.value(s, 1)).collect();
                return vec![Kind::StoreAll(place, values).into()];
            }
            let mut body = Vec::new();
            for (part, &s) in parts.iter().enumerate() {
                let value = m.value(s, 2);
                body.push(Kind::Store(Place { part, ..place.clone() }, value).into());
            }
            body
        })
    }

    fn mode(&mut self, region: &Region) -> Mode {
        let ops: &[Op] = match self.kernel.arrays[region.array].element {
            Element::Scalar(Scalar::U32 | Scalar::I32 | Scalar::U64) => &[Op::Add, Op::Or, Op::Xor, Op::Max],
            _ => &[],
        };
        match self.r.below(5) {
            0 if !ops.is_empty() => Mode::Atomic(self.r.pick(ops)),
            0 | 1 => Mode::Read,
            2 => Mode::Own(Owners { map: Map::identity(region.n), blocked: false }),
            _ => Mode::Own(self.owners(region)),
        }
    }

    /// A load of a region that nobody writes to in this phase.
    fn free_load(&mut self, region: &Region) -> Expr {
        let parts = self.parts(region);
        let index = match self.r.below(3) {
            0 => {
                let known = self.known();
                Map::random(self.r, region.n).of(rem(known, u(region.n)))
            }
            _ => self.index(region.n),
        };
        let part = self.r.below(parts.len());
        self.load(region, index, part)
    }

    /// Statements of one phase.
    fn phase(&mut self, regions: &[Region]) -> Vec<Stmt> {
        let modes: Vec<Mode> = regions.iter().map(|r| self.mode(r)).collect();
        let mut fresh = vec![true; regions.len()];
        let free: Vec<Region> = regions
            .iter()
            .zip(&modes)
            .filter(|(_, m)| matches!(m, Mode::Read))
            .map(|(r, _)| r.clone())
            .collect();
        let mut body = Vec::new();
        for _ in 0..1 + self.r.below(3) {
            let i = self.r.below(regions.len());
            let region = &regions[i];
            let more = match &modes[i] {
                Mode::Read => self.reads(region),
                Mode::Own(owners) => {
                    let store = std::mem::replace(&mut fresh[i], false) && self.r.chance(50);
                    self.uses(region, owners, store, &free)
                }
                Mode::Atomic(op) => {
                    let s = self.parts(region)[0];
                    let index = self.index(region.n);
                    let place = self.place(region, index, 0);
                    vec![Kind::Atomic(*op, place, self.value(s, 1)).into()]
                }
            };
            if self.r.chance(25) {
                let c = self.condition();
                let other =
                    if self.r.chance(30) && !free.is_empty() { self.reads(&free[0]) } else { Vec::new() };
                body.push(Kind::If(c, more, other).into());
            } else {
                body.extend(more);
            }
        }
        body
    }

    fn reads(&mut self, region: &Region) -> Vec<Stmt> {
        let once = |m: &mut Self| {
            let loaded = m.free_load(region);
            m.mix(loaded)
        };
        if self.r.chance(30) {
            let bound = 2 + self.r.below(4);
            let leaves = self.r.chance(30);
            let one = self.looped(u(0), u(bound), u(1), |m, _| {
                let mut body = Vec::new();
                if leaves {
                    let c = m.condition();
                    body.push(m.leave(c));
                }
                body.push(once(m));
                body
            });
            return vec![one];
        }
        if self.r.chance(15) {
            return vec![self.function_load(region)];
        }
        vec![once(self)]
    }

    /// A load through a pointer, in a function.
    fn function_load(&mut self, region: &Region) -> Stmt {
        let parts = self.parts(region);
        let (flat, s) = (region.columns.is_none() && !region.part_of_global, parts[0]);
        let index = self.index(region.n);
        if !flat {
            let loaded = self.load(region, index, 0);
            return self.mix(loaded);
        }
        let style = self.r.pick(&[0, 2]);
        let body = Expr::Own(Box::new(binary(Op::Xor, Expr::Argument(0), u(0))));
        let function = crate::program::Function {
            arguments: vec![Scalar::U32],
            result: s,
            array: Some(region.array),
            body,
            style,
            site: 0,
        };
        self.kernel.functions.push(function);
        let call = Expr::Call(self.kernel.functions.len() - 1, vec![index]);
        self.mix(call)
    }

    /// What threads do with their own elements.
    fn uses(&mut self, region: &Region, owners: &Owners, store: bool, free: &[Region]) -> Vec<Stmt> {
        let parts = self.parts(region);
        let part = self.r.below(parts.len());
        let s = parts[part];
        let what = self.r.below(4);
        self.for_each_own(region, owners, |m, index| {
            let place = m.place(region, index, part);
            match what {
                _ if store => vec![Kind::Store(place, m.value(s, 2)).into()],
                0 => vec![m.mix(Expr::Load(Box::new(place)))],
                1 if !free.is_empty() => {
                    let from = m.r.below(free.len());
                    let loaded = m.free_load(&free[from]);
                    let value = m.convert(s, loaded);
                    vec![Kind::Update(Op::Add, place, value).into()]
                }
                2 if parts.len() > 1 => {
                    let variables: Vec<usize> = parts.iter().map(|&s| m.local(s)).collect();
                    let mut body: Vec<Stmt> = vec![Kind::LoadAll(variables.clone(), place).into()];
                    body.extend(variables.into_iter().map(|v| m.mix(Expr::Local(v))));
                    body
                }
                _ => {
                    let op = if s.is_float() { Op::Add } else { m.r.pick(&[Op::Add, Op::Sub, Op::Xor]) };
                    vec![Kind::Update(op, place, m.value(s, 1)).into()]
                }
            }
        })
    }

    /// Some regions and some phases, which a loop or a uniform branch may hold.
    pub(super) fn phases(&mut self) -> Vec<Stmt> {
        let threads = self.active;
        let mut regions = Vec::new();
        for _ in 0..1 + self.r.below(2) {
            let n = match self.r.below(6) {
                0 => self.r.pick(&[1, 8, 20, 64]),
                1 => 2 * threads,
                2 => 3 * threads,
                3 => threads + self.r.below(threads) + 1,
                _ => threads,
            };
            let element = self.element();
            regions.push(self.region(n, element));
        }
        let mut body = Vec::new();
        for region in &regions {
            body.extend(self.first_values(region));
        }
        self.barrier(&mut body);
        for _ in 0..1 + self.r.below(3) {
            let some = |m: &mut Self| {
                let mut body = Vec::new();
                for _ in 0..1 + m.r.below(2) {
                    body.extend(m.phase(&regions));
                    m.barrier(&mut body);
                }
                body
            };
            match self.r.below(6) {
                0 | 1 => {
                    let bound = 1 + self.r.below(4u32);
                    let bound = self.number(bound);
                    let one = self.looped(u(0), bound, u(1), |m, v| {
                        let mut body = some(m);
                        if m.r.chance(20) {
                            let c = compare(Test::Equal, v, u(m.r.below(3u32)));
                            body.push(m.leave(c));
                            body.extend(some(m));
                        }
                        body
                    });
                    body.push(one);
                }
                2 => {
                    let c = match self.r.below(2) {
                        0 => {
                            let bound = self.number(3);
                            less(u(self.r.below(6u32)), bound)
                        }
                        _ => compare(Test::Equal, rem(Expr::Local(BLOCK), u(2)), u(0)),
                    };
                    let then = some(self);
                    let other = if self.r.chance(50) { some(self) } else { Vec::new() };
                    body.push(Kind::If(c, then, other).into());
                }
                _ => body.extend(some(self)),
            }
        }
        body
    }
}
