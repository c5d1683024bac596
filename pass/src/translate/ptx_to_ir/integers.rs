//! Integer arithmetic, logic, shifts, bit fields and video instructions.

use crate::translate::ptx::op::{BinaryOp, Carry, MulAddOp, Op, Operand, PrmtMode, UnaryOp};
use crate::translate::ptx::types::{FloatMode, Ty};

use super::body::{Body, Refused, Translated};
use super::video;

const WORD: Ty = Ty::B(32);

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::Binary { op, ty, mode, carry, d, a, b } => binary(body, *op, *ty, *mode, *carry, d, a, b),
        Op::Unary { op, ty, d, a, .. } => unary(body, *op, *ty, d, a),
        Op::MulAdd { op, ty, mode, carry, d, a, b, c } => {
            let product = match op {
                MulAddOp::Lo => BinaryOp::Mul,
                MulAddOp::Hi => BinaryOp::MulHi,
                MulAddOp::Wide => BinaryOp::MulWide,
                MulAddOp::Lo24 => BinaryOp::Mul24Lo,
                MulAddOp::Hi24 => BinaryOp::Mul24Hi,
                MulAddOp::Fma => return Err(Refused),
            };
            let sum_ty = if *op == MulAddOp::Wide { widened(*ty) } else { *ty };
            let (x, y) = (body.get(a, *ty)?, body.get(b, *ty)?);
            let p = multiply(body, product, *ty, &x, &y)?;
            let c = body.get(c, sum_ty)?;
            let sum = sum(body, "add", sum_ty, mode.sat, *carry, &p, &c);
            body.set(d, sum_ty, &sum)
        }
        Op::Sad { ty, d, a, b, c } => {
            let (x, y, z) = (body.get(a, *ty)?, body.get(b, *ty)?, body.get(c, *ty)?);
            let t = format!("i{}", ty.bits());
            let [high, low] = [BinaryOp::Max, BinaryOp::Min].map(|op| least(body, op, *ty, false, &x, &y));
            let difference = body.value(format_args!("sub {t} {high}, {low}"));
            let sum = body.value(format_args!("add {t} {difference}, {z}"));
            body.set(d, *ty, &sum)
        }
        Op::DotProduct { .. } | Op::Video { .. } => video::operation(body, op),
        Op::FunnelShift { left, wrap, d, a, b, c } => funnel_shift(body, *left, *wrap, [d, a, b, c]),
        Op::Bfe { ty, d, a, b, c } => bfe(body, *ty, [d, a, b, c]),
        Op::Bfi { ty, f, a, b, c, d } => bfi(body, *ty, [f, a, b, c, d]),
        Op::Fns { d, mask, base, offset } => {
            let (m, b, o) = (body.get(mask, WORD)?, body.get(base, WORD)?, body.get(offset, WORD)?);
            let r = body.call("i32", "gr.fns", &[("i32", &m), ("i32", &b), ("i32", &o)]);
            body.set(d, WORD, &r)
        }
        Op::Prmt { mode, d, a, b, c } => prmt(body, *mode, [d, a, b, c]),
        Op::Lop3 { d, a, b, c, table } => lop3(body, [d, a, b, c, table]),
        Op::Szext { ty, wrap, d, a, b } => szext(body, *ty, *wrap, [d, a, b]),
        Op::Bmsk { wrap, d, a, b } => bmsk(body, *wrap, [d, a, b]),
        _ => Err(Refused),
    }
}

/// The letter of LLVM's signed or unsigned comparisons.
pub(super) fn sign(ty: Ty) -> char {
    if ty.is_signed() { 's' } else { 'u' }
}

/// The instruction that makes an integer of a type wider.
pub(super) fn extension(ty: Ty) -> &'static str {
    if ty.is_signed() { "sext" } else { "zext" }
}

/// The nearest number that `bits` bits hold, of a number of `wide` bits with a sign.
pub(super) fn saturate(body: &mut Body, value: &str, wide: u16, bits: u16, signed: bool) -> String {
    let (low, high) =
        if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    let t = format!("i{wide}");
    let v = body.call(&t, &format!("llvm.smax.{t}"), &[(&t, value), (&t, &low.to_string())]);
    body.call(&t, &format!("llvm.smin.{t}"), &[(&t, &v), (&t, &high.to_string())])
}

fn widened(ty: Ty) -> Ty {
    if ty.is_signed() { Ty::S(ty.bits() * 2) } else { Ty::U(ty.bits() * 2) }
}

#[allow(clippy::too_many_arguments, reason = "an instruction's fields")]
fn binary(
    body: &mut Body,
    op: BinaryOp,
    ty: Ty,
    mode: FloatMode,
    carry: Carry,
    d: &Operand,
    a: &Operand,
    b: &Operand,
) -> Translated {
    if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
        // The amount is always 32 bits wide.
        let (x, n) = (body.get(a, ty)?, body.get(b, WORD)?);
        let r = shift(body, op, ty, &x, &n);
        return body.set(d, ty, &r);
    }
    let (x, y) = (body.get(a, ty)?, body.get(b, ty)?);
    let t = format!("i{}", ty.bits());
    let simple = |name: &str| format!("{name} {t} {x}, {y}");
    let r = match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Min | BinaryOp::Max if ty.lane().is_some() => {
            packed(body, op, ty, mode.relu, &x, &y)?
        }
        BinaryOp::Add => sum(body, "add", ty, mode.sat, carry, &x, &y),
        BinaryOp::Sub => sum(body, "sub", ty, mode.sat, carry, &x, &y),
        BinaryOp::Mul | BinaryOp::MulHi | BinaryOp::Mul24Lo | BinaryOp::Mul24Hi => {
            multiply(body, op, ty, &x, &y)?
        }
        BinaryOp::MulWide => {
            let r = multiply(body, op, ty, &x, &y)?;
            return body.set(d, widened(ty), &r);
        }
        BinaryOp::Div => body.value(simple(if ty.is_signed() { "sdiv" } else { "udiv" })),
        BinaryOp::Rem => body.value(simple(if ty.is_signed() { "srem" } else { "urem" })),
        BinaryOp::Min | BinaryOp::Max => least(body, op, ty, mode.relu, &x, &y),
        BinaryOp::And => body.value(simple("and")),
        BinaryOp::Or => body.value(simple("or")),
        BinaryOp::Xor => body.value(simple("xor")),
        BinaryOp::Shl | BinaryOp::Shr | BinaryOp::CopySign => return Err(Refused),
    };
    body.set(d, ty, &r)
}

fn least(body: &mut Body, op: BinaryOp, ty: Ty, relu: bool, x: &str, y: &str) -> String {
    let t = format!("i{}", ty.bits());
    let which = if op == BinaryOp::Min { "min" } else { "max" };
    let name = format!("llvm.{}{which}.{t}", sign(ty));
    let r = body.call(&t, &name, &[(&t, x), (&t, y)]);
    if relu { body.call(&t, &format!("llvm.smax.{t}"), &[(&t, &r), (&t, "0")]) } else { r }
}

/// An operation on each half of a word.
fn packed(body: &mut Body, op: BinaryOp, ty: Ty, relu: bool, x: &str, y: &str) -> Translated<String> {
    let lane = ty.lane().ok_or(Refused)?;
    let mut halves = Vec::new();
    for at in [0, 16] {
        let (p, q) = (half(body, x, at), half(body, y, at));
        halves.push(match op {
            BinaryOp::Add => body.value(format_args!("add i16 {p}, {q}")),
            BinaryOp::Sub => body.value(format_args!("sub i16 {p}, {q}")),
            _ => least(body, op, lane, relu, &p, &q),
        });
    }
    Ok(join(body, &halves[0], &halves[1]))
}

/// 16 bits of a word, from bit `at` on.
pub(super) fn half(body: &mut Body, word: &str, at: u32) -> String {
    let shifted = body.value(format_args!("lshr i32 {word}, {at}"));
    body.resize(&shifted, 32, 16, "zext")
}

/// A word of two halves.
pub(super) fn join(body: &mut Body, low: &str, high: &str) -> String {
    let (low, high) = (body.resize(low, 16, 32, "zext"), body.resize(high, 16, 32, "zext"));
    let high = body.value(format_args!("shl i32 {high}, 16"));
    body.value(format_args!("or i32 {high}, {low}"))
}

/// The carry of the condition code as a number of `bits` bits, 0 if it is not used.
fn carry_in(body: &mut Body, carry: Carry, bits: u16) -> String {
    if !carry.input {
        return "0".to_owned();
    }
    let bit = body.value("load i1, ptr %cc");
    body.resize(&bit, 1, bits, "zext")
}

/// Sets the carry to bit `n` of a sum that has one bit more than its type.
fn carry_out(body: &mut Body, carry: Carry, wide: &str, n: u16) {
    if carry.output {
        let bits = n + 1;
        let bit = body.value(format_args!("lshr i{bits} {wide}, {n}"));
        let bit = body.resize(&bit, bits, 1, "zext");
        body.line(format_args!("store i1 {bit}, ptr %cc"));
    }
}

/// The sum or difference, as `what` says.
fn sum(body: &mut Body, what: &str, ty: Ty, sat: bool, carry: Carry, x: &str, y: &str) -> String {
    let n = ty.bits();
    let t = format!("i{n}");
    if sat {
        let name = format!("llvm.{}{what}.sat.{t}", sign(ty));
        return body.call(&t, &name, &[(&t, x), (&t, y)]);
    }
    if carry == Carry::default() {
        return body.value(format_args!("{what} {t} {x}, {y}"));
    }
    // One bit more holds the carry of an addition and the borrow of a subtraction.
    let wide = n + 1;
    let (p, q) = (body.resize(x, n, wide, "zext"), body.resize(y, n, wide, "zext"));
    let input = carry_in(body, carry, wide);
    let r = body.value(format_args!("{what} i{wide} {p}, {q}"));
    let r = body.value(format_args!("{what} i{wide} {r}, {input}"));
    carry_out(body, carry, &r, n);
    body.resize(&r, wide, n, "zext")
}

/// The product, or the part of it that the operation names.
fn multiply(body: &mut Body, op: BinaryOp, ty: Ty, x: &str, y: &str) -> Translated<String> {
    let n = ty.bits();
    if op == BinaryOp::Mul {
        return Ok(body.value(format_args!("mul i{n} {x}, {y}")));
    }
    let wide = n * 2;
    let (mut p, mut q) = (x.to_owned(), y.to_owned());
    let of_24_bits = matches!(op, BinaryOp::Mul24Lo | BinaryOp::Mul24Hi);
    if of_24_bits {
        p = body.resize(&p, n, 24, "zext");
        q = body.resize(&q, n, 24, "zext");
    }
    let from = if of_24_bits { 24 } else { n };
    let (p, q) = (body.resize(&p, from, wide, extension(ty)), body.resize(&q, from, wide, extension(ty)));
    let product = body.value(format_args!("mul i{wide} {p}, {q}"));
    let at = match op {
        BinaryOp::MulWide => return Ok(product),
        BinaryOp::MulHi => n,
        // The 48-bit product's bits 47 to 16.
        BinaryOp::Mul24Hi => 16,
        BinaryOp::Mul24Lo => 0,
        _ => return Err(Refused),
    };
    let r = body.value(format_args!("lshr i{wide} {product}, {at}"));
    Ok(body.resize(&r, wide, n, "zext"))
}

/// A shift. PTX clamps the amount: a shift by the width or more leaves nothing, or only the sign.
pub(super) fn shift(body: &mut Body, op: BinaryOp, ty: Ty, x: &str, n: &str) -> String {
    let bits = ty.bits();
    let t = format!("i{bits}");
    let last = bits - 1;
    let clamped = body.call("i32", "llvm.umin.i32", &[("i32", n), ("i32", &last.to_string())]);
    let amount = body.resize(&clamped, 32, bits, "zext");
    if op == BinaryOp::Shr && ty.is_signed() {
        return body.value(format_args!("ashr {t} {x}, {amount}"));
    }
    let name = if op == BinaryOp::Shl { "shl" } else { "lshr" };
    let shifted = body.value(format_args!("{name} {t} {x}, {amount}"));
    let out = body.value(format_args!("icmp ugt i32 {n}, {last}"));
    body.value(format_args!("select i1 {out}, {t} 0, {t} {shifted}"))
}

/// The amount of a shift that wraps at 32 or is clamped to it.
pub(super) fn amount(body: &mut Body, n: &str, wrap: bool) -> String {
    if wrap {
        body.value(format_args!("and i32 {n}, 31"))
    } else {
        body.call("i32", "llvm.umin.i32", &[("i32", n), ("i32", "32")])
    }
}

fn unary(body: &mut Body, op: UnaryOp, ty: Ty, d: &Operand, a: &Operand) -> Translated {
    let bits = ty.bits();
    let t = format!("i{bits}");
    let x = body.get(a, ty)?;
    let leading_zeros = |body: &mut Body, x: &str| {
        let r = body.call(&t, &format!("llvm.ctlz.{t}"), &[(&t, x), ("i1", "false")]);
        body.resize(&r, bits, 32, "zext")
    };
    let r = match op {
        UnaryOp::Not if ty == Ty::Pred => body.value(format_args!("xor i1 {x}, true")),
        UnaryOp::Not => body.value(format_args!("xor {t} {x}, -1")),
        UnaryOp::Cnot => {
            let zero = body.value(format_args!("icmp eq {t} {x}, 0"));
            body.resize(&zero, 1, bits, "zext")
        }
        UnaryOp::Neg => body.value(format_args!("sub {t} 0, {x}")),
        UnaryOp::Abs => body.call(&t, &format!("llvm.abs.{t}"), &[(&t, &x), ("i1", "false")]),
        UnaryOp::Brev => body.call(&t, &format!("llvm.bitreverse.{t}"), &[(&t, &x)]),
        UnaryOp::Popc => {
            let r = body.call(&t, &format!("llvm.ctpop.{t}"), &[(&t, &x)]);
            let r = body.resize(&r, bits, 32, "zext");
            return body.set(d, Ty::U(32), &r);
        }
        UnaryOp::Clz => {
            let r = leading_zeros(body, &x);
            return body.set(d, Ty::U(32), &r);
        }
        UnaryOp::Bfind | UnaryOp::BfindShift => {
            let mut x = x;
            if ty.is_signed() {
                let s = body.value(format_args!("ashr {t} {x}, {}", bits - 1));
                x = body.value(format_args!("xor {t} {x}, {s}"));
            }
            let zeros = leading_zeros(body, &x);
            let r = if op == UnaryOp::Bfind {
                body.value(format_args!("sub i32 {}, {zeros}", bits - 1))
            } else {
                let none = body.value(format_args!("icmp eq {t} {x}, 0"));
                body.value(format_args!("select i1 {none}, i32 -1, i32 {zeros}"))
            };
            return body.set(d, Ty::U(32), &r);
        }
        _ => return Err(Refused),
    };
    body.set(d, ty, &r)
}

fn funnel_shift(body: &mut Body, left: bool, wrap: bool, [d, a, b, c]: [&Operand; 4]) -> Translated {
    let (low, high, n) = (body.get(a, WORD)?, body.get(b, WORD)?, body.get(c, WORD)?);
    let n = amount(body, &n, wrap);
    let n = body.resize(&n, 32, 64, "zext");
    let v = pair(body, &low, &high);
    let r = if left {
        let v = body.value(format_args!("shl i64 {v}, {n}"));
        body.value(format_args!("lshr i64 {v}, 32"))
    } else {
        body.value(format_args!("lshr i64 {v}, {n}"))
    };
    let r = body.resize(&r, 64, 32, "zext");
    body.set(d, WORD, &r)
}

/// 64 bits of two words.
fn pair(body: &mut Body, low: &str, high: &str) -> String {
    body.call("i64", "gr.pair", &[("i32", low), ("i32", high)])
}

/// The low 8 bits of a word: positions and lengths of bit fields.
fn byte_of(body: &mut Body, operand: &Operand) -> Translated<String> {
    let word = body.get(operand, WORD)?;
    Ok(body.value(format_args!("and i32 {word}, 255")))
}

/// The bit field at `b` of length `c`, extended with zeros or its sign.
fn bfe(body: &mut Body, ty: Ty, [d, a, b, c]: [&Operand; 4]) -> Translated {
    let bits = ty.bits();
    let x = body.get(a, ty)?;
    let (at, length) = (byte_of(body, b)?, byte_of(body, c)?);
    let field = shift(body, BinaryOp::Shr, ty, &x, &at);
    // Shifts the field to the top of the word, and down again.
    let full = bits.to_string();
    let kept = body.call("i32", "llvm.umin.i32", &[("i32", &length), ("i32", &full)]);
    let rest = body.value(format_args!("sub i32 {full}, {kept}"));
    let up = shift(body, BinaryOp::Shl, Ty::B(bits), &field, &rest);
    let down = shift(body, BinaryOp::Shr, ty, &up, &rest);
    // A signed shift by the whole width keeps a sign, which an empty field does not have.
    let empty = body.value(format_args!("icmp eq i32 {length}, 0"));
    let r = body.value(format_args!("select i1 {empty}, i{bits} 0, i{bits} {down}"));
    body.set(d, ty, &r)
}

/// `b`, in which `a` replaces the bit field at `c` of length `d`.
fn bfi(body: &mut Body, ty: Ty, [f, a, b, c, d]: [&Operand; 5]) -> Translated {
    let bits = ty.bits();
    let t = format!("i{bits}");
    let ty = Ty::B(bits);
    let (x, y) = (body.get(a, ty)?, body.get(b, ty)?);
    let (at, length) = (byte_of(body, c)?, byte_of(body, d)?);
    let above = shift(body, BinaryOp::Shl, ty, "-1", &length);
    let ones = body.value(format_args!("xor {t} {above}, -1"));
    let mask = shift(body, BinaryOp::Shl, ty, &ones, &at);
    let moved = shift(body, BinaryOp::Shl, ty, &x, &at);
    let inserted = body.value(format_args!("and {t} {moved}, {mask}"));
    let hole = body.value(format_args!("xor {t} {mask}, -1"));
    let kept = body.value(format_args!("and {t} {y}, {hole}"));
    let r = body.value(format_args!("or {t} {kept}, {inserted}"));
    body.set(f, ty, &r)
}

/// For each value of `c`'s low two bits the selector that the mode stands for (PTX ISA, `prmt`).
fn selectors(mode: PrmtMode) -> Option<u64> {
    let byte = |n: u64, i: u64| match mode {
        PrmtMode::Index => 0,
        PrmtMode::Forward4 => n + i,
        PrmtMode::Backward4 => (n + 8 - i) & 7,
        PrmtMode::Replicate8 => n,
        PrmtMode::EdgeClampLeft => n.max(i),
        PrmtMode::EdgeClampRight => n.min(i),
        PrmtMode::Replicate16 => (n & 1) * 2 + (i & 1),
    };
    let of = |n: u64| (0..4).fold(0, |s, i| s | byte(n, i) << (4 * i));
    (mode != PrmtMode::Index).then(|| (0..4).fold(0, |table, n| table | of(n) << (16 * n)))
}

fn prmt(body: &mut Body, mode: PrmtMode, [d, a, b, c]: [&Operand; 4]) -> Translated {
    let (low, high, mut selector) = (body.get(a, WORD)?, body.get(b, WORD)?, body.get(c, WORD)?);
    if let Some(table) = selectors(mode) {
        let n = body.value(format_args!("and i32 {selector}, 3"));
        let n = body.value(format_args!("shl i32 {n}, 4"));
        let n = body.resize(&n, 32, 64, "zext");
        let word = body.value(format_args!("lshr i64 {table}, {n}"));
        selector = body.resize(&word, 64, 32, "zext");
    }
    let v = pair(body, &low, &high);
    let r = body.call("i32", "gr.prmt", &[("i64", &v), ("i32", &selector)]);
    body.set(d, WORD, &r)
}

/// `lop3`: bit `k` of the table is the result where the bits of a, b, c are the binary digits of `k`.
fn lop3(body: &mut Body, [d, a, b, c, table]: [&Operand; 5]) -> Translated {
    let inputs = [body.get(a, WORD)?, body.get(b, WORD)?, body.get(c, WORD)?];
    let table = body.get(table, WORD)?;
    let mut r = "0".to_owned();
    for k in 0..8u32 {
        let up = body.value(format_args!("shl i32 {table}, {}", 31 - k));
        let mut term = body.value(format_args!("ashr i32 {up}, 31"));
        for (i, input) in inputs.iter().enumerate() {
            let wanted = k >> (2 - i) & 1 == 1;
            let bits = if wanted { input.clone() } else { body.value(format_args!("xor i32 {input}, -1")) };
            term = body.value(format_args!("and i32 {term}, {bits}"));
        }
        r = body.value(format_args!("or i32 {r}, {term}"));
    }
    body.set(d, WORD, &r)
}

fn szext(body: &mut Body, ty: Ty, wrap: bool, [d, a, b]: [&Operand; 3]) -> Translated {
    let (x, n) = (body.get(a, WORD)?, body.get(b, WORD)?);
    let n = amount(body, &n, wrap);
    let rest = body.value(format_args!("sub i32 32, {n}"));
    let up = shift(body, BinaryOp::Shl, WORD, &x, &rest);
    let down = shift(body, BinaryOp::Shr, ty, &up, &rest);
    let empty = body.value(format_args!("icmp eq i32 {n}, 0"));
    let r = body.value(format_args!("select i1 {empty}, i32 0, i32 {down}"));
    body.set(d, ty, &r)
}

/// A mask of `b` ones that starts at bit `a`.
fn bmsk(body: &mut Body, wrap: bool, [d, a, b]: [&Operand; 3]) -> Translated {
    let (mut at, mut n) = (body.get(a, WORD)?, body.get(b, WORD)?);
    if wrap {
        at = body.value(format_args!("and i32 {at}, 31"));
        n = body.value(format_args!("and i32 {n}, 31"));
    }
    let above = shift(body, BinaryOp::Shl, WORD, "-1", &n);
    let ones = body.value(format_args!("xor i32 {above}, -1"));
    let r = shift(body, BinaryOp::Shl, WORD, &ones, &at);
    body.set(d, WORD, &r)
}
