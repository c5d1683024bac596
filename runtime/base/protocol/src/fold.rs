//! The values of operators on bit patterns, and the simplifications of nodes that are added to the
//! arena.

use crate::expr::{BinOp, Cast, CmpOp, Expr, ExprId, Exprs, Width};
use crate::protocol::Step;

/// Returns `op` applied to two values of `width`; `None` for a division by zero, whose result is
/// arbitrary.
pub fn apply(op: BinOp, width: Width, a: u64, b: u64) -> Option<u64> {
    let (sa, sb) = (width.signed(a), width.signed(b));
    let bits = u64::from(width.bits());
    let value = match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::UDiv => a.checked_div(b)?,
        BinOp::URem => a.checked_rem(b)?,
        BinOp::SDiv if b == 0 => return None,
        BinOp::SDiv => sa.wrapping_div(sb) as u64,
        BinOp::SRem if b == 0 => return None,
        BinOp::SRem => sa.wrapping_rem(sb) as u64,
        BinOp::Shl if b >= bits => 0,
        BinOp::Shl => a << b,
        BinOp::LShr if b >= bits => 0,
        BinOp::LShr => a >> b,
        BinOp::AShr => (sa >> b.min(bits - 1)) as u64,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::UMin => a.min(b),
        BinOp::UMax => a.max(b),
        BinOp::SMin => sa.min(sb) as u64,
        BinOp::SMax => sa.max(sb) as u64,
    };
    Some(width.truncate(value))
}

/// Returns the truth of a comparison of two values of `width`.
pub fn compare(op: CmpOp, width: Width, a: u64, b: u64) -> bool {
    let (sa, sb) = (width.signed(a), width.signed(b));
    match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::Ult => a < b,
        CmpOp::Ule => a <= b,
        CmpOp::Slt => sa < sb,
        CmpOp::Sle => sa <= sb,
    }
}

/// Returns the cast of a value of width `from`.
pub fn convert(cast: Cast, from: Width, to: Width, a: u64) -> u64 {
    match cast {
        Cast::Zext | Cast::Trunc => to.truncate(a),
        Cast::Sext => to.truncate(from.signed(a) as u64),
    }
}

/// Returns a loop variable's value in the next iteration, if it is known. `of` returns the value
/// that a step adds.
pub fn step(step: Step, width: Width, value: u64, of: impl FnOnce(ExprId) -> Option<u64>) -> Option<u64> {
    let signed = width.signed(value);
    Some(width.truncate(match step {
        Step::Add(by) => value.wrapping_add(of(by)?),
        Step::Mul(factor) => value.wrapping_mul(factor),
        Step::UDiv(by) => value.checked_div(by)?,
        Step::SDiv(by) => signed.checked_div(by.try_into().ok()?)? as u64,
        Step::AShr(by) => (signed >> by.min(63)) as u64,
        Step::Any(_) => return None,
    }))
}

pub(crate) enum Simplified {
    Existing(ExprId),
    Node(Expr),
}

/// Returns the node in a simpler form of equal value.
pub(crate) fn simplify(exprs: &Exprs, node: Expr) -> Simplified {
    use Simplified::{Existing, Node};
    let constant = |width: Width, bits: u64| Node(Expr::Const { width, bits: width.truncate(bits) });
    match node {
        Expr::Const { width, bits } => constant(width, bits),
        Expr::Bin(op, a, b) => {
            let width = exprs.width(a);
            match (exprs.as_const(a), exprs.as_const(b)) {
                (Some(x), Some(y)) => match apply(op, width, x, y) {
                    Some(value) => constant(width, value),
                    None => Node(node),
                },
                (_, Some(y)) => match (op, y) {
                    (BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor, 0)
                    | (BinOp::Shl | BinOp::LShr | BinOp::AShr, 0)
                    | (BinOp::Mul | BinOp::UDiv, 1) => Existing(a),
                    // With one bit, a signed operator reads 1 as -1.
                    (BinOp::SDiv, 1) if width != Width::W1 => Existing(a),
                    (BinOp::Mul | BinOp::And, 0) => constant(width, 0),
                    (BinOp::URem, 1) => constant(width, 0),
                    (BinOp::And, y) if y == width.mask() => Existing(a),
                    _ => Node(node),
                },
                (Some(x), _) => match (op, x) {
                    (BinOp::Add | BinOp::Or | BinOp::Xor, 0) | (BinOp::Mul, 1) => Existing(b),
                    (BinOp::Mul | BinOp::And, 0) => constant(width, 0),
                    (BinOp::And, x) if x == width.mask() => Existing(b),
                    // Rules look for a constant on the right.
                    _ if op.commutes() => Node(Expr::Bin(op, b, a)),
                    _ => Node(node),
                },
                _ if a == b => match op {
                    BinOp::Sub | BinOp::Xor => constant(width, 0),
                    BinOp::And | BinOp::Or | BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax => {
                        Existing(a)
                    }
                    _ => Node(node),
                },
                _ => Node(node),
            }
        }
        Expr::Cmp(op, a, b) => {
            let width = exprs.width(a);
            match (exprs.as_const(a), exprs.as_const(b)) {
                (Some(x), Some(y)) => constant(Width::W1, u64::from(compare(op, width, x, y))),
                _ if a == b => {
                    let holds = matches!(op, CmpOp::Eq | CmpOp::Ule | CmpOp::Sle);
                    constant(Width::W1, u64::from(holds))
                }
                _ => Node(node),
            }
        }
        Expr::Select(c, a, b) => match exprs.as_const(c) {
            Some(0) => Existing(b),
            Some(_) => Existing(a),
            None if a == b => Existing(a),
            None => Node(node),
        },
        Expr::Cast(cast, width, a) => {
            let from = exprs.width(a);
            if from == width {
                return Existing(a);
            }
            match exprs.as_const(a) {
                Some(bits) => constant(width, convert(cast, from, width, bits)),
                None => Node(node),
            }
        }
        _ => Node(node),
    }
}
