//! Expressions and conditions as text, in CUDA's own words.

use std::fmt::Write;

use crate::condition::Condition;
use crate::expr::{Axis, BinOp, Cast, CmpOp, Expr, ExprId, Exprs, ParamId, VarId, Width};
use crate::protocol::{ObjectId, Protocol};

/// The greatest length of an expression's text, characters. The text of an expression that shares its
/// parts could be very long.
const LONGEST: usize = 300;

/// How tightly an operator binds. An operand that binds less gets parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Compare,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Unit,
}

/// An expression as text, without the casts that only widen.
pub fn expr(protocol: &Protocol, exprs: &Exprs, id: ExprId) -> String {
    let mut out = String::new();
    write_expr(&mut out, protocol, exprs, id, Binding::Or);
    out
}

/// Returns a condition as text: `blockDim.y == 1`, `disjoint(x, y)`.
pub fn condition(protocol: &Protocol, exprs: &Exprs, condition: &Condition) -> String {
    match condition {
        Condition::Holds(cond) => expr(protocol, exprs, *cond),
        Condition::Fits { value, signed, .. } => {
            let sign = if *signed { "" } else { "unsigned " };
            let bits = exprs.width(*value).bits();
            format!("{} fits {sign}{bits} bits", expr(protocol, exprs, *value))
        }
        Condition::Disjoint(a, b) => {
            format!("disjoint({}, {})", object(protocol, *a), object(protocol, *b))
        }
    }
}

fn object(protocol: &Protocol, id: ObjectId) -> &str {
    protocol.objects.get(id.0 as usize).map_or("?", |object| &object.name)
}

fn param(protocol: &Protocol, id: ParamId) -> &str {
    protocol.params.get(id.0 as usize).map_or("?", |param| &param.name)
}

fn axis(axis: Axis) -> char {
    match axis {
        Axis::X => 'x',
        Axis::Y => 'y',
        Axis::Z => 'z',
    }
}

fn var(id: VarId) -> String {
    // The protocol has no names of loop variables.
    let letter = char::from(b'i' + (id.0 % 6) as u8);
    let round = id.0 / 6;
    if round == 0 { letter.to_string() } else { format!("{letter}{round}") }
}

fn write_expr(out: &mut String, protocol: &Protocol, exprs: &Exprs, id: ExprId, outside: Binding) {
    if out.len() > LONGEST {
        if !out.ends_with('…') {
            out.push('…');
        }
        return;
    }
    let infix = |out: &mut String, op: &str, own: Binding, a: ExprId, b: ExprId| {
        if own < outside {
            out.push('(');
        }
        write_expr(out, protocol, exprs, a, own);
        if out.ends_with('…') {
            return;
        }
        let _ = write!(out, " {op} ");
        // A right operand of the same kind keeps its parentheses: `a - (b - c)`.
        let inner = if own == Binding::Unit { own } else { tighter(own) };
        write_expr(out, protocol, exprs, b, inner);
        if own < outside {
            out.push(')');
        }
    };
    match exprs.get(id) {
        Expr::Const { width, bits } => {
            let _ = match width {
                Width::W1 => write!(out, "{}", bits == 1),
                _ => write!(out, "{}", width.signed(bits)),
            };
        }
        Expr::Tid(a) => {
            let _ = write!(out, "threadIdx.{}", axis(a));
        }
        Expr::Ctaid(a) => {
            let _ = write!(out, "blockIdx.{}", axis(a));
        }
        Expr::Ntid(a) => {
            let _ = write!(out, "blockDim.{}", axis(a));
        }
        Expr::Nctaid(a) => {
            let _ = write!(out, "gridDim.{}", axis(a));
        }
        Expr::DynamicShared => out.push_str("dynamic_smem_size"),
        Expr::Lane => out.push_str("laneid"),
        Expr::Param { id, .. } => out.push_str(param(protocol, id)),
        Expr::Var { id, .. } => out.push_str(&var(id)),
        Expr::Iteration(of) => {
            let _ = write!(out, "iteration({})", of.0);
        }
        Expr::Total { of, .. } => {
            let _ = write!(out, "total({})", of.0);
        }
        Expr::Opaque { id, .. } => {
            let what = protocol.opaques.get(id.0 as usize).map_or("?", |opaque| &opaque.what);
            let _ = write!(out, "[{what}]");
        }
        Expr::Bin(op, a, b) => {
            let width = exprs.width(a);
            if op == BinOp::Xor && width == Width::W1 && exprs.as_const(b) == Some(1) {
                out.push('!');
                write_expr(out, protocol, exprs, a, Binding::Unit);
                return;
            }
            let negative = exprs.as_const(b).map(|c| width.signed(c)).filter(|c| *c < 0);
            if let (BinOp::Add, Some(c)) = (op, negative) {
                if outside > Binding::Sum {
                    out.push('(');
                }
                write_expr(out, protocol, exprs, a, Binding::Sum);
                let _ = write!(out, " - {}", c.unsigned_abs());
                if outside > Binding::Sum {
                    out.push(')');
                }
                return;
            }
            let one_bit = width == Width::W1;
            match op {
                BinOp::Add => infix(out, "+", Binding::Sum, a, b),
                BinOp::Sub => infix(out, "-", Binding::Sum, a, b),
                BinOp::Mul => infix(out, "*", Binding::Product, a, b),
                BinOp::UDiv | BinOp::SDiv => infix(out, "/", Binding::Product, a, b),
                BinOp::URem | BinOp::SRem => infix(out, "%", Binding::Product, a, b),
                BinOp::Shl => infix(out, "<<", Binding::Shift, a, b),
                BinOp::LShr | BinOp::AShr => infix(out, ">>", Binding::Shift, a, b),
                BinOp::And if one_bit => infix(out, "&&", Binding::And, a, b),
                BinOp::Or if one_bit => infix(out, "||", Binding::Or, a, b),
                BinOp::And => infix(out, "&", Binding::BitAnd, a, b),
                BinOp::Or => infix(out, "|", Binding::BitOr, a, b),
                BinOp::Xor => infix(out, "^", Binding::BitXor, a, b),
                BinOp::UMin | BinOp::SMin | BinOp::UMax | BinOp::SMax => {
                    let min = matches!(op, BinOp::UMin | BinOp::SMin);
                    out.push_str(if min { "min(" } else { "max(" });
                    write_expr(out, protocol, exprs, a, Binding::Or);
                    out.push_str(", ");
                    write_expr(out, protocol, exprs, b, Binding::Or);
                    out.push(')');
                }
            }
        }
        Expr::Cmp(op, a, b) => {
            let (sign, a, b) = match op {
                CmpOp::Eq => ("==", a, b),
                CmpOp::Ne => ("!=", a, b),
                // Constants go to the right.
                CmpOp::Ult | CmpOp::Slt if exprs.as_const(a).is_some() => (">", b, a),
                CmpOp::Ule | CmpOp::Sle if exprs.as_const(a).is_some() => (">=", b, a),
                CmpOp::Ult | CmpOp::Slt => ("<", a, b),
                CmpOp::Ule | CmpOp::Sle => ("<=", a, b),
            };
            infix(out, sign, Binding::Compare, a, b);
        }
        Expr::Select(c, a, b) => {
            out.push('(');
            write_expr(out, protocol, exprs, c, Binding::Or);
            out.push_str(" ? ");
            write_expr(out, protocol, exprs, a, Binding::Or);
            out.push_str(" : ");
            write_expr(out, protocol, exprs, b, Binding::Or);
            out.push(')');
        }
        Expr::Cast(Cast::Zext | Cast::Sext, _, a) => write_expr(out, protocol, exprs, a, outside),
        Expr::Cast(Cast::Trunc, width, a) => {
            let _ = write!(out, "(int{})", width.bits());
            write_expr(out, protocol, exprs, a, Binding::Unit);
        }
    }
}

fn tighter(binding: Binding) -> Binding {
    match binding {
        Binding::Or => Binding::And,
        Binding::And => Binding::Compare,
        Binding::Compare => Binding::BitOr,
        Binding::BitOr => Binding::BitXor,
        Binding::BitXor => Binding::BitAnd,
        Binding::BitAnd => Binding::Shift,
        Binding::Shift => Binding::Sum,
        Binding::Sum => Binding::Product,
        Binding::Product | Binding::Unit => Binding::Unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_that_shares_its_parts_stays_short() {
        let mut protocol = Protocol::default();
        let mut sum = protocol.exprs.add(Expr::Tid(Axis::X));
        for _ in 0..200 {
            sum = protocol.exprs.bin(BinOp::Mul, sum, sum);
        }
        let text = expr(&protocol, &protocol.exprs, sum);
        assert!(text.contains("threadIdx.x") && text.contains('…'), "{text}");
        assert!(text.len() < 2 * LONGEST, "{}", text.len());
    }
}
