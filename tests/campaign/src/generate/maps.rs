//! Indices: short ways to write expressions, and random bijections.

use gpurace_random::Random;

use crate::program::Expr;
use crate::scalar::{Op, Scalar, Test};

/// An unsigned constant.
pub fn u(n: u32) -> Expr {
    Expr::Const(Scalar::U32, u64::from(n))
}

/// `a op b`
pub fn binary(op: Op, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

/// `a + b`
pub fn add(a: Expr, b: Expr) -> Expr {
    binary(Op::Add, a, b)
}

/// `a * b`
pub fn mul(a: Expr, b: Expr) -> Expr {
    binary(Op::Mul, a, b)
}

/// `a % b`
pub fn rem(a: Expr, b: Expr) -> Expr {
    binary(Op::Rem, a, b)
}

/// `a test b`
pub fn compare(test: Test, a: Expr, b: Expr) -> Expr {
    Expr::Compare(test, Box::new(a), Box::new(b))
}

/// `a < b`
pub fn less(a: Expr, b: Expr) -> Expr {
    compare(Test::Less, a, b)
}

/// Conversion.
pub fn cast(to: Scalar, e: Expr) -> Expr {
    Expr::Cast(to, Box::new(e))
}

/// One way to permute the numbers from 0 to `n - 1`.
#[derive(Clone, Copy, Debug)]
enum Step {
    Reverse,
    Rotate(u32),
    Xor(u32),
    /// Times an odd number, plus a number, modulo a power of two.
    Affine(u32, u32),
    /// A row-major table of this many columns, read by columns.
    Transpose(u32),
    /// Even and odd neighbours change places.
    Swap,
    /// Plus a number, in one byte.
    Byte(u32),
}

/// A bijection of the numbers from 0 to `n - 1`.
#[derive(Clone, Debug)]
pub struct Map {
    n: u32,
    steps: Vec<Step>,
}

impl Map {
    /// The identity.
    pub fn identity(n: u32) -> Self {
        Self { n, steps: Vec::new() }
    }

    /// A random one.
    pub fn random(r: &mut Random, n: u32) -> Self {
        let steps = (0..r.pick(&[0, 1, 1, 1, 2])).map(|_| Self::step(r, n)).collect();
        Self { n, steps }
    }

    fn step(r: &mut Random, n: u32) -> Step {
        loop {
            let columns = r.pick(&[2, 3, 4, 8, 16]);
            match r.below(7) {
                0 => return Step::Reverse,
                1 => return Step::Rotate(1 + r.below(n)),
                2 if n.is_power_of_two() => return Step::Xor(r.below(n)),
                3 if n.is_power_of_two() => return Step::Affine(2 * r.below(n) + 1, r.below(n)),
                4 if n.is_multiple_of(columns) => return Step::Transpose(columns),
                5 if n.is_multiple_of(2) => return Step::Swap,
                6 if n == 256 => return Step::Byte(r.below(n)),
                _ => {}
            }
        }
    }

    /// The number that `e` becomes.
    pub fn of(&self, e: Expr) -> Expr {
        let n = self.n;
        self.steps.iter().fold(e, |e, step| match *step {
            Step::Reverse => binary(Op::Sub, u(n - 1), e),
            Step::Rotate(by) => rem(add(e, u(by)), u(n)),
            Step::Xor(mask) => binary(Op::Xor, e, u(mask)),
            Step::Affine(factor, more) => binary(Op::And, add(mul(e, u(factor)), u(more)), u(n - 1)),
            Step::Transpose(columns) => {
                add(mul(rem(e.clone(), u(columns)), u(n / columns)), binary(Op::Div, e, u(columns)))
            }
            Step::Byte(more) => cast(Scalar::U32, cast(Scalar::U8, add(e, u(more)))),
            Step::Swap => binary(Op::Xor, e, u(1)),
        })
    }
}
