//! Values that depend on nothing which may race, and what mixes loads into the results.

use super::Maker;
use super::maps::{add, binary, cast, compare, mul, rem, u};
use crate::program::{Expr, Function, Kind, Place, Stmt};
use crate::scalar::{Op, Scalar, Test};

impl Maker<'_> {
    /// Converts a value without losing that it is used.
    pub(super) fn convert(&self, to: Scalar, e: Expr) -> Expr {
        let from = self.kernel.type_of(&e, None);
        match (from.is_float(), to.is_float()) {
            _ if from == to => e,
            (true, false) => {
                let bits = Expr::Bits(Box::new(e));
                if self.kernel.type_of(&bits, None) == to { bits } else { cast(to, bits) }
            }
            // Small numbers, so that short sums are exact.
            (false, true) => cast(to, cast(Scalar::I16, e)),
            _ => cast(to, e),
        }
    }

    /// A constant of a type.
    pub(super) fn constant(&mut self, s: Scalar) -> Expr {
        let n = self.r.pick(&[1, 2, 3, 7, 13, 100, 255, 65_537, u64::MAX, 0x8000_0001]);
        let bits = match s {
            Scalar::F32 => u64::from((self.r.below(64u32) as f32 * 0.25 - 4.0).to_bits()),
            Scalar::F64 => (self.r.below(64u32) as f64 * 0.25 - 4.0).to_bits(),
            _ => s.keep(n),
        };
        Expr::Const(s, bits)
    }

    fn leaf(&mut self, s: Scalar) -> Expr {
        let e = match self.r.below(6) {
            0 => return self.constant(s),
            1 => self.thread(),
            2 => self.global_thread(),
            3 if !self.loops.is_empty() => Expr::Local(self.r.pick(&self.loops)),
            4 => self.input(),
            _ => {
                let v = self.r.pick(&self.sums);
                Expr::Local(v)
            }
        };
        self.convert(s, e)
    }

    /// An element of an input.
    pub(super) fn input(&mut self) -> Expr {
        let array = self.r.pick(&self.inputs);
        let n = self.kernel.arrays[array].len() as u32;
        let parts = self.kernel.arrays[array].element.parts().len();
        let index = self.index(n);
        Expr::Load(Box::new(Place { array, index: vec![index], part: self.r.below(parts) }))
    }

    /// A random value.
    pub(super) fn value(&mut self, s: Scalar, depth: u32) -> Expr {
        if depth == 0 || self.r.chance(25) {
            return self.leaf(s);
        }
        let a = self.value(s, depth - 1);
        match self.r.below(8) {
            0 => {
                let (c, d) = (self.leaf(s), self.leaf(s));
                let b = self.value(s, depth - 1);
                let test = self.r.pick(&[Test::Less, Test::Equal, Test::Unequal, Test::AtLeast]);
                Expr::Select(Box::new(compare(test, c, d)), Box::new(a), Box::new(b))
            }
            1 if !s.is_float() => {
                let by = self.r.below(8 * s.size() as u64);
                let op = self.r.pick(&[Op::Shl, Op::Shr]);
                binary(op, a, Expr::Const(s, by))
            }
            2 if !s.is_float() => {
                let by = self.r.pick(&[2, 3, 7, 10, 16, 100]);
                binary(self.r.pick(&[Op::Div, Op::Rem]), a, Expr::Const(s, by))
            }
            3 if s.is_float() => {
                let by = self.r.pick(&[0.5f32, 2.0, -1.0]);
                let one = Scalar::F32.convert(s, u64::from(by.to_bits()));
                mul(a, Expr::Const(s, one))
            }
            4 => self.call(s),
            _ => {
                let b = self.value(s, depth - 1);
                let ops: &[Op] = if s.is_float() {
                    &[Op::Add, Op::Sub, Op::Min, Op::Max]
                } else {
                    &[Op::Add, Op::Sub, Op::Mul, Op::And, Op::Or, Op::Xor, Op::Min, Op::Max]
                };
                binary(self.r.pick(ops), a, b)
            }
        }
    }

    /// A call of a function on values, which is made if it does not exist.
    fn call(&mut self, s: Scalar) -> Expr {
        let f = self.kernel.functions.iter().position(|f| f.array.is_none() && f.result == s);
        let f = f.unwrap_or_else(|| {
            let (x, y) = (Expr::Argument(0), Expr::Argument(1));
            let body = if s.is_float() {
                let half = Scalar::F32.convert(s, u64::from(0.5f32.to_bits()));
                add(mul(x, Expr::Const(s, half)), y)
            } else {
                let by = self.constant(s);
                binary(Op::Xor, mul(x, by), y)
            };
            let style = self.r.below(3u8);
            let function = Function { arguments: vec![s, s], result: s, array: None, body, style, site: 0 };
            self.kernel.functions.push(function);
            self.kernel.functions.len() - 1
        });
        let arguments = vec![self.leaf(s), self.leaf(s)];
        Expr::Call(f, arguments)
    }

    /// Something that is known without a load that may race, in different words.
    pub(super) fn known(&mut self) -> Expr {
        match self.r.below(6) {
            0 if !self.loops.is_empty() => Expr::Local(self.r.pick(&self.loops)),
            1 => self.global_thread(),
            2 => binary(Op::And, self.thread(), u(31)),
            3 => {
                let e = self.thread();
                let by = self.r.pick(&[2, 3, 5]);
                binary(self.r.pick(&[Op::Div, Op::Rem]), e, u(by))
            }
            _ => self.thread(),
        }
    }

    /// A random index below `n`.
    pub(super) fn index(&mut self, n: u32) -> Expr {
        let known = self.known();
        match self.r.below(6) {
            0 => u(self.r.below(n)),
            1 if n > 1 && self.depth == 0 => {
                self.depth += 1;
                let loaded = self.input();
                self.depth -= 1;
                let loaded = self.convert(Scalar::U32, loaded);
                rem(loaded, u(n))
            }
            2 => {
                let other = self.known();
                rem(add(known, mul(other, u(1 + self.r.below(7u32)))), u(n))
            }
            3 => binary(Op::Min, add(known, u(self.r.below(3u32))), u(n - 1)),
            _ => rem(add(known, u(self.r.below(n))), u(n)),
        }
    }

    /// A random condition that is known without a load that may race.
    pub(super) fn condition(&mut self) -> Expr {
        let known = self.known();
        let threads = self.kernel.threads();
        match self.r.below(4) {
            0 => compare(Test::Equal, rem(known, u(self.r.pick(&[2, 3, 4]))), u(0)),
            1 => {
                let loaded = self.input();
                let loaded = self.convert(Scalar::U32, loaded);
                compare(Test::Unequal, rem(loaded, u(3)), u(1))
            }
            _ => {
                let test = self.r.pick(&[Test::Less, Test::Less, Test::AtLeast, Test::Unequal]);
                compare(test, known, u(self.r.below(threads) + 1))
            }
        }
    }

    /// A statement that puts what may race into a result, so that no optimisation leaves the load out.
    pub(super) fn mix(&mut self, loaded: Expr) -> Stmt {
        let v = self.r.pick(&self.sums);
        self.mix_into(v, loaded)
    }

    fn mix_into(&mut self, v: usize, loaded: Expr) -> Stmt {
        let s = self.kernel.locals[v];
        let loaded = self.convert(s, loaded);
        let old = Expr::Local(v);
        let e = if s.is_float() {
            let half = Scalar::F32.convert(s, u64::from(0.5f32.to_bits()));
            add(mul(old, Expr::Const(s, half)), loaded)
        } else {
            let op = self.r.pick(&[Op::Add, Op::Sub, Op::Xor]);
            binary(op, mul(old, Expr::Const(s, self.r.pick(&[3, 5, 31, 33]))), loaded)
        };
        Kind::Set(v, e).into()
    }
}
