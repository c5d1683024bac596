//! Dot products of bytes, and video instructions.

use crate::translate::ptx::op::{BinaryOp, Op, Operand, VideoOp};
use crate::translate::ptx::types::{Cmp, Ty};

use super::body::{Body, Refused, Translated};
use super::integers::{self, saturate, shift};

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::DotProduct { halves, a_signed, b_signed, d, a, b, c } => {
            dot_product(body, *halves, [*a_signed, *b_signed], [d, a, b, c])
        }
        Op::Video { .. } => video(body, op),
        _ => Err(Refused),
    }
}

/// `bits` bits of a word from bit `at` on, extended to 64.
fn part(body: &mut Body, word: &str, at: u32, bits: u16, signed: bool) -> String {
    let shifted = body.value(format_args!("lshr i32 {word}, {at}"));
    let narrow = body.resize(&shifted, 32, bits, "zext");
    body.resize(&narrow, bits, 64, if signed { "sext" } else { "zext" })
}

fn dot_product(
    body: &mut Body,
    halves: Option<bool>,
    signed: [bool; 2],
    [d, a, b, c]: [&Operand; 4],
) -> Translated {
    let word = Ty::B(32);
    let (x, y, z) = (body.get(a, word)?, body.get(b, word)?, body.get(c, word)?);
    let mut sum = body.resize(&z, 32, 64, "zext");
    let terms = if halves.is_some() { 2 } else { 4 };
    for i in 0..terms {
        let (p, q) = match halves {
            None => (part(body, &x, 8 * i, 8, signed[0]), part(body, &y, 8 * i, 8, signed[1])),
            Some(high) => {
                let at = 8 * i + if high { 16 } else { 0 };
                (part(body, &x, 16 * i, 16, signed[0]), part(body, &y, at, 8, signed[1]))
            }
        };
        let product = body.value(format_args!("mul i64 {p}, {q}"));
        sum = body.value(format_args!("add i64 {sum}, {product}"));
    }
    let r = body.resize(&sum, 64, 32, "zext");
    body.set(d, word, &r)
}

fn video(body: &mut Body, op: &Op) -> Translated {
    let Op::Video { op, lanes, d_signed, a_signed, b_signed, sat, then, d, a, b, c } = op else {
        return Err(Refused);
    };
    let word = Ty::B(32);
    let (x, y) = (body.get(a, word)?, body.get(b, word)?);
    let c = c.as_ref().map(|c| body.get(c, word)).transpose()?;
    let bits = 32 / u16::from(*lanes);
    let mut results = Vec::new();
    for lane in 0..u32::from(*lanes) {
        let at = lane * u32::from(bits);
        let (p, q) = (part(body, &x, at, bits, *a_signed), part(body, &y, at, bits, *b_signed));
        let mut r = lane_operation(body, *op, *a_signed, &p, &q, &y);
        if *sat {
            r = saturate(body, &r, 64, bits, *d_signed);
        }
        results.push(r);
    }
    let d_ty = if *d_signed { Ty::S(32) } else { Ty::U(32) };
    if *lanes == 1 {
        let mut r = body.resize(&results[0], 64, 32, "zext");
        if let (Some(then), Some(c)) = (then, &c) {
            let letter = if *d_signed { "s" } else { "u" };
            r = if *then == BinaryOp::Add {
                body.value(format_args!("add i32 {r}, {c}"))
            } else {
                let which = if *then == BinaryOp::Min { "min" } else { "max" };
                body.call("i32", &format!("llvm.{letter}{which}.i32"), &[("i32", &r), ("i32", c)])
            };
        }
        return body.set(d, d_ty, &r);
    }
    if then.is_some() {
        // Each lane is first cut to the destination's type, then added to `c`.
        let mut sum = c.ok_or(Refused)?;
        for r in results {
            let lane = body.resize(&r, 64, bits, "zext");
            let lane = body.resize(&lane, bits, 32, if *d_signed { "sext" } else { "zext" });
            sum = body.value(format_args!("add i32 {sum}, {lane}"));
        }
        return body.set(d, d_ty, &sum);
    }
    // The result has all lanes, so nothing of `c` is left.
    let mut r = "0".to_owned();
    for (lane, value) in results.iter().enumerate() {
        let narrow = body.resize(value, 64, bits, "zext");
        let wide = body.resize(&narrow, bits, 32, "zext");
        let moved = body.value(format_args!("shl i32 {wide}, {}", lane * usize::from(bits)));
        r = body.value(format_args!("or i32 {r}, {moved}"));
    }
    body.set(d, d_ty, &r)
}

/// The operation on one lane. 64 bits hold all values exactly. `amount` is `b` as a word, for shifts.
fn lane_operation(body: &mut Body, op: VideoOp, a_signed: bool, p: &str, q: &str, amount: &str) -> String {
    let shifted = |body: &mut Body, which, wrap: bool| {
        let n = integers::amount(body, amount, wrap);
        shift(body, which, if a_signed { Ty::S(64) } else { Ty::U(64) }, p, &n)
    };
    match op {
        VideoOp::Add => body.value(format_args!("add i64 {p}, {q}")),
        VideoOp::Sub => body.value(format_args!("sub i64 {p}, {q}")),
        VideoOp::AbsDiff => {
            let difference = body.value(format_args!("sub i64 {p}, {q}"));
            body.call("i64", "llvm.abs.i64", &[("i64", &difference), ("i1", "false")])
        }
        VideoOp::Min => body.call("i64", "llvm.smin.i64", &[("i64", p), ("i64", q)]),
        VideoOp::Max => body.call("i64", "llvm.smax.i64", &[("i64", p), ("i64", q)]),
        VideoOp::Average => {
            // Halves are rounded away from zero (PTX ISA, `vavrg2`).
            let sum = body.value(format_args!("add i64 {p}, {q}"));
            let positive = body.value(format_args!("icmp sge i64 {sum}, 0"));
            let one = body.resize(&positive, 1, 64, "zext");
            let sum = body.value(format_args!("add i64 {sum}, {one}"));
            body.value(format_args!("ashr i64 {sum}, 1"))
        }
        VideoOp::Shl(wrap) => shifted(body, BinaryOp::Shl, wrap),
        VideoOp::Shr(wrap) => shifted(body, BinaryOp::Shr, wrap),
        VideoOp::Set(cmp) => {
            let condition = match cmp {
                Cmp::Eq => "eq",
                Cmp::Ne => "ne",
                Cmp::Lt | Cmp::Lo => "slt",
                Cmp::Le | Cmp::Ls => "sle",
                Cmp::Gt | Cmp::Hi => "sgt",
                _ => "sge",
            };
            let r = body.value(format_args!("icmp {condition} i64 {p}, {q}"));
            body.resize(&r, 1, 64, "zext")
        }
    }
}
