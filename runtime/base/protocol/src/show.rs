//! Expressions and conditions as text, in CUDA's own words.

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

/// A part of an expression's text.
enum TextPart {
    Text(String),
    /// An operand, and what binds it from outside.
    Operand(ExprId, Binding),
}

fn write_expr(out: &mut String, protocol: &Protocol, exprs: &Exprs, id: ExprId, outside: Binding) {
    if out.len() > LONGEST {
        out.push('…');
        return;
    }
    let (own, mut parts) = parts(protocol, exprs, id, outside);
    if own < outside {
        parts.insert(0, text("("));
        parts.push(text(")"));
    }
    for part in parts {
        match part {
            TextPart::Text(text) => out.push_str(&text),
            TextPart::Operand(id, outside) => write_expr(out, protocol, exprs, id, outside),
        }
        if out.ends_with('…') {
            return;
        }
    }
}

fn text(text: impl Into<String>) -> TextPart {
    TextPart::Text(text.into())
}

/// How tightly an expression binds, and its parts.
fn parts(protocol: &Protocol, exprs: &Exprs, id: ExprId, outside: Binding) -> (Binding, Vec<TextPart>) {
    let leaf = match exprs.get(id) {
        Expr::Const { width: Width::W1, bits } => (bits == 1).to_string(),
        Expr::Const { width, bits } => width.signed(bits).to_string(),
        Expr::Tid(a) => format!("threadIdx.{}", axis(a)),
        Expr::Ctaid(a) => format!("blockIdx.{}", axis(a)),
        Expr::Ntid(a) => format!("blockDim.{}", axis(a)),
        Expr::Nctaid(a) => format!("gridDim.{}", axis(a)),
        Expr::DynamicShared => "dynamic_smem_size".to_owned(),
        Expr::Lane => "laneid".to_owned(),
        Expr::Param { id, .. } => param(protocol, id).to_owned(),
        Expr::Var { id, .. } => var(id),
        Expr::Iteration(of) => format!("iteration({})", of.0),
        Expr::Total { of, .. } => format!("total({})", of.0),
        Expr::Opaque { id, .. } => {
            let what = protocol.opaques.get(id.0 as usize).map_or("?", |opaque| &opaque.what);
            format!("[{what}]")
        }
        Expr::Bin(op, a, b) => return operation(exprs, op, a, b),
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
            return infix(sign, Binding::Compare, a, b);
        }
        Expr::Select(c, a, b) => {
            let [c, a, b] = [c, a, b].map(|id| TextPart::Operand(id, Binding::Or));
            return (Binding::Unit, vec![text("("), c, text(" ? "), a, text(" : "), b, text(")")]);
        }
        Expr::Cast(Cast::Zext | Cast::Sext, _, a) => {
            return (Binding::Unit, vec![TextPart::Operand(a, outside)]);
        }
        Expr::Cast(Cast::Trunc, width, a) => {
            let cast = format!("(int{})", width.bits());
            return (Binding::Unit, vec![text(cast), TextPart::Operand(a, Binding::Unit)]);
        }
    };
    (Binding::Unit, vec![TextPart::Text(leaf)])
}

/// An operator with its operands.
fn operation(exprs: &Exprs, op: BinOp, a: ExprId, b: ExprId) -> (Binding, Vec<TextPart>) {
    let width = exprs.width(a);
    let one_bit = width == Width::W1;
    let negative = exprs.as_const(b).map(|c| width.signed(c)).filter(|c| *c < 0);
    match op {
        BinOp::Xor if one_bit && exprs.as_const(b) == Some(1) => {
            (Binding::Unit, vec![text("!"), TextPart::Operand(a, Binding::Unit)])
        }
        BinOp::Add => match negative {
            Some(c) => {
                let c = text(format!(" - {}", c.unsigned_abs()));
                (Binding::Sum, vec![TextPart::Operand(a, Binding::Sum), c])
            }
            None => infix("+", Binding::Sum, a, b),
        },
        BinOp::Sub => infix("-", Binding::Sum, a, b),
        BinOp::Mul => infix("*", Binding::Product, a, b),
        BinOp::UDiv | BinOp::SDiv => infix("/", Binding::Product, a, b),
        BinOp::URem | BinOp::SRem => infix("%", Binding::Product, a, b),
        BinOp::Shl => infix("<<", Binding::Shift, a, b),
        BinOp::LShr | BinOp::AShr => infix(">>", Binding::Shift, a, b),
        BinOp::And if one_bit => infix("&&", Binding::And, a, b),
        BinOp::Or if one_bit => infix("||", Binding::Or, a, b),
        BinOp::And => infix("&", Binding::BitAnd, a, b),
        BinOp::Or => infix("|", Binding::BitOr, a, b),
        BinOp::Xor => infix("^", Binding::BitXor, a, b),
        BinOp::UMin | BinOp::SMin => call("min", a, b),
        BinOp::UMax | BinOp::SMax => call("max", a, b),
    }
}

fn infix(op: &str, own: Binding, a: ExprId, b: ExprId) -> (Binding, Vec<TextPart>) {
    // A right operand of the same kind keeps its parentheses: `a - (b - c)`.
    let right = TextPart::Operand(b, tighter(own));
    (own, vec![TextPart::Operand(a, own), text(format!(" {op} ")), right])
}

fn call(name: &str, a: ExprId, b: ExprId) -> (Binding, Vec<TextPart>) {
    let [a, b] = [a, b].map(|id| TextPart::Operand(id, Binding::Or));
    (Binding::Unit, vec![text(format!("{name}(")), a, text(", "), b, text(")")])
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
