//! Floating-point arithmetic.
//!
//! 16-bit formats compute in `float` and round once more. For `add`, `sub` and, in half precision,
//! `mul`, the second rounding changes nothing, since `float` has more than twice their digits. Other
//! operations use building blocks that keep a sticky bit.

use crate::translate::ptx::op::{BinaryOp, FloatClass, MulAddOp, Op, UnaryOp};
use crate::translate::ptx::types::{FloatMode, Round, Ty};

use super::body::{Body, Refused, Translated, float_type};
use super::integers::{half, join};

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::Binary { op, ty, mode, d, a, b, .. } => {
            let (x, y) = (body.get(a, *ty)?, body.get(b, *ty)?);
            let r = by_lane(body, *ty, &[x, y], |body, ty, v| binary(body, *op, ty, *mode, &v[0], &v[1]))?;
            body.set(d, *ty, &r)
        }
        Op::Unary { op, ty, mode, d, a } => {
            let x = body.get(a, *ty)?;
            let r = by_lane(body, *ty, &[x], |body, ty, v| unary(body, *op, ty, *mode, &v[0]))?;
            body.set(d, *ty, &r)
        }
        Op::MulAdd { op: MulAddOp::Fma, ty, mode, d, a, b, c, .. } => {
            let v = [body.get(a, *ty)?, body.get(b, *ty)?, body.get(c, *ty)?];
            let r = by_lane(body, *ty, &v, |body, ty, v| fma(body, ty, *mode, v))?;
            body.set(d, *ty, &r)
        }
        Op::Testp { class, ty, p, a } => {
            let x = body.get(a, *ty)?;
            let r = testp(body, *class, *ty, &x)?;
            body.set(p, Ty::Pred, &r)
        }
        _ => Err(Refused),
    }
}

/// Applies an operation to each element of a packed type, or to the value of another type.
pub(super) fn by_lane(
    body: &mut Body,
    ty: Ty,
    values: &[String],
    operation: impl Fn(&mut Body, Ty, &[String]) -> Translated<String>,
) -> Translated<String> {
    let Some(lane) = ty.lane() else { return operation(body, ty, values) };
    let mut halves = Vec::new();
    for at in [0, 16] {
        let lanes: Vec<_> = values.iter().map(|v| half(body, v, at)).collect();
        halves.push(operation(body, lane, &lanes)?);
    }
    Ok(join(body, &halves[0], &halves[1]))
}

/// The 16-bit format's name in building blocks.
pub(super) fn small(ty: Ty) -> Option<&'static str> {
    match ty {
        Ty::F(16) => Some("f16"),
        Ty::Bf16 => Some("bf16"),
        _ => None,
    }
}

/// A rounding mode's name in building blocks.
pub(super) fn rounding(round: Option<Round>) -> Translated<&'static str> {
    match round {
        None | Some(Round::Nearest) => Ok("rn"),
        Some(Round::Zero) => Ok("rz"),
        Some(Round::Down) => Ok("rm"),
        Some(Round::Up) => Ok("rp"),
        Some(Round::NearestAway) => Err(Refused),
    }
}

/// The suffix of LLVM's intrinsics for `float` or `double`.
pub(super) fn suffix(t: &str) -> &'static str {
    if t == "double" { "f64" } else { "f32" }
}

/// The suffix of building blocks for `float` or `double`.
fn letter(t: &str) -> char {
    if t == "double" { 'd' } else { 'f' }
}

/// Calls an intrinsic of LLVM on one `float` or `double`.
pub(super) fn intrinsic(body: &mut Body, name: &str, t: &str, x: &str) -> String {
    body.call(t, &format!("llvm.{name}.{}", suffix(t)), &[(t, x)])
}

/// Bits as LLVM's `float` or `double`, and that type. 16-bit formats become `float`.
pub(super) fn load(body: &mut Body, ty: Ty, bits: &str) -> Translated<(String, &'static str)> {
    if let Some(format) = small(ty) {
        return Ok((body.call("float", &format!("gr.load.{format}"), &[("i16", bits)]), "float"));
    }
    let t = float_type(ty).ok_or(Refused)?;
    Ok((body.value(format_args!("bitcast i{} {bits} to {t}", ty.bits())), t))
}

/// The bits of a `float` or `double`, rounded to a type.
pub(super) fn store(body: &mut Body, ty: Ty, value: &str) -> Translated<String> {
    if let Some(format) = small(ty) {
        return Ok(body.call("i16", &format!("gr.round.{format}.rn"), &[("float", value)]));
    }
    let t = float_type(ty).ok_or(Refused)?;
    Ok(body.value(format_args!("bitcast {t} {value} to i{}", ty.bits())))
}

/// Replaces a subnormal value by a zero of its sign. Only `float` and half precision have `.ftz`.
pub(super) fn flush(body: &mut Body, ty: Ty, bits: &str) -> String {
    let (t, name, n) = match ty {
        Ty::F(32) => ("float", "gr.ftz.f32", 32),
        Ty::F(16) => ("half", "gr.ftz.f16", 16),
        _ => return bits.to_owned(),
    };
    let value = body.value(format_args!("bitcast i{n} {bits} to {t}"));
    let value = body.call(t, name, &[(t, &value)]);
    body.value(format_args!("bitcast {t} {value} to i{n}"))
}

fn flushed(body: &mut Body, ty: Ty, mode: FloatMode, values: &[String]) -> Vec<String> {
    values.iter().map(|v| if mode.ftz { flush(body, ty, v) } else { v.clone() }).collect()
}

/// Applies `.ftz`, `.sat` and `.relu` to a result.
fn finish(body: &mut Body, ty: Ty, mode: FloatMode, bits: String) -> Translated<String> {
    let r = if mode.ftz { flush(body, ty, &bits) } else { bits };
    clamp(body, ty, mode.sat, mode.relu, r)
}

/// Applies `.sat` and `.relu` to a result.
pub(super) fn clamp(body: &mut Body, ty: Ty, sat: bool, relu: bool, bits: String) -> Translated<String> {
    let mut r = bits;
    for (wanted, name) in [(sat, "sat"), (relu, "relu")] {
        if !wanted {
            continue;
        }
        r = match small(ty) {
            Some(format) => body.call("i16", &format!("gr.{format}.{name}"), &[("i16", &r)]),
            None if name == "sat" => {
                let (value, t) = load(body, ty, &r)?;
                let value = body.call(t, &format!("gr.saturate.{t}"), &[(t, &value)]);
                store(body, ty, &value)?
            }
            None => return Err(Refused),
        };
    }
    Ok(r)
}

fn binary(body: &mut Body, op: BinaryOp, ty: Ty, mode: FloatMode, a: &str, b: &str) -> Translated<String> {
    if op == BinaryOp::CopySign {
        let (sign, t) = load(body, ty, a)?;
        let (magnitude, _) = load(body, ty, b)?;
        let name = format!("llvm.copysign.f{}", ty.bits());
        let r = body.call(t, &name, &[(t, &magnitude), (t, &sign)]);
        return store(body, ty, &r);
    }
    let v = flushed(body, ty, mode, &[a.to_owned(), b.to_owned()]);
    if ty == Ty::Bf16 && op == BinaryOp::Mul {
        // The product of two `bf16` may be a subnormal `float`.
        return fma(body, ty, mode, &[v[0].clone(), v[1].clone(), "-32768".to_owned()]);
    }
    let (x, t) = load(body, ty, &v[0])?;
    let (y, _) = load(body, ty, &v[1])?;
    let letter = letter(t);
    let r = match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => {
            let (name, y) = match op {
                BinaryOp::Add => ("add", y),
                // The directed modes have no building block for subtraction.
                BinaryOp::Sub => ("add", body.value(format_args!("fneg {t} {y}"))),
                BinaryOp::Mul => ("mul", y),
                _ => ("div", y),
            };
            let rounding = rounding(mode.round)?;
            if small(ty).is_some() && rounding != "rn" {
                return Err(Refused);
            }
            body.call(t, &format!("gr.{name}.{rounding}.{letter}"), &[(t, &x), (t, &y)])
        }
        BinaryOp::Min | BinaryOp::Max => {
            let which = if op == BinaryOp::Min { "minimum" } else { "maximum" };
            let nan = if mode.nan { "nan" } else { "num" };
            if mode.xorsign_abs && t == "double" {
                return Err(Refused);
            }
            let sign = if mode.xorsign_abs { ".xorsign" } else { "" };
            body.call(t, &format!("gr.{which}.{nan}{sign}.{t}"), &[(t, &x), (t, &y)])
        }
        _ => return Err(Refused),
    };
    let r = store(body, ty, &r)?;
    finish(body, ty, mode, r)
}

/// A fused multiplication and addition; `values` are a, b, c.
fn fma(body: &mut Body, ty: Ty, mode: FloatMode, values: &[String]) -> Translated<String> {
    let v = flushed(body, ty, mode, values);
    let rounding = rounding(mode.round)?;
    let r = if let Some(format) = small(ty) {
        if rounding != "rn" {
            return Err(Refused);
        }
        body.call("i16", &format!("gr.fma.{format}"), &[("i16", &v[0]), ("i16", &v[1]), ("i16", &v[2])])
    } else {
        let (x, t) = load(body, ty, &v[0])?;
        let ((y, _), (z, _)) = (load(body, ty, &v[1])?, load(body, ty, &v[2])?);
        let letter = letter(t);
        let r = body.call(t, &format!("gr.fma.{rounding}.{letter}"), &[(t, &x), (t, &y), (t, &z)]);
        store(body, ty, &r)?
    };
    finish(body, ty, mode, r)
}

fn unary(body: &mut Body, op: UnaryOp, ty: Ty, mode: FloatMode, a: &str) -> Translated<String> {
    let v = flushed(body, ty, mode, &[a.to_owned()]);
    let bits = ty.bits();
    let sign = 1u64 << (bits - 1);
    match op {
        UnaryOp::Neg => return Ok(body.value(format_args!("xor i{bits} {}, {sign}", v[0]))),
        UnaryOp::Abs => return Ok(body.value(format_args!("and i{bits} {}, {}", v[0], sign - 1))),
        _ => {}
    }
    let (x, t) = load(body, ty, &v[0])?;
    let letter = letter(t);
    let rounding = rounding(mode.round)?;
    let r = match op {
        UnaryOp::Rcp => body.call(t, &format!("gr.div.{rounding}.{letter}"), &[(t, "1.0"), (t, &x)]),
        UnaryOp::Sqrt => body.call(t, &format!("gr.sqrt.{rounding}.{letter}"), &[(t, &x)]),
        UnaryOp::Rsqrt => {
            let root = intrinsic(body, "sqrt", t, &x);
            body.value(format_args!("fdiv {t} 1.0, {root}"))
        }
        UnaryOp::Ex2 => intrinsic(body, "exp2", t, &x),
        UnaryOp::Lg2 => intrinsic(body, "log2", t, &x),
        UnaryOp::Sin => intrinsic(body, "sin", t, &x),
        UnaryOp::Cos => intrinsic(body, "cos", t, &x),
        UnaryOp::Tanh => intrinsic(body, "tanh", t, &x),
        _ => return Err(Refused),
    };
    let r = store(body, ty, &r)?;
    finish(body, ty, mode, r)
}

/// True (as `i1`) if the bits are of a class, by exponent and fraction.
fn testp(body: &mut Body, class: FloatClass, ty: Ty, bits: &str) -> Translated<String> {
    let t = format!("i{}", ty.bits());
    let (infinity, least_normal) = match ty {
        Ty::F(32) => (0x7f80_0000u64, 0x80_0000u64),
        Ty::F(64) => (0x7ff0_0000_0000_0000, 0x10_0000_0000_0000),
        _ => return Err(Refused),
    };
    let m = body.value(format_args!("and {t} {bits}, {}", (1u64 << (ty.bits() - 1)) - 1));
    let compare = |body: &mut Body, condition: &str, with: u64| {
        body.value(format_args!("icmp {condition} {t} {m}, {with}"))
    };
    Ok(match class {
        FloatClass::Finite => compare(body, "ult", infinity),
        FloatClass::Infinite => compare(body, "eq", infinity),
        FloatClass::Number => compare(body, "ule", infinity),
        FloatClass::NotANumber => compare(body, "ugt", infinity),
        FloatClass::Normal => {
            let (low, high) = (compare(body, "uge", least_normal), compare(body, "ult", infinity));
            body.value(format_args!("and i1 {low}, {high}"))
        }
        FloatClass::Subnormal => {
            let (low, high) = (compare(body, "ugt", 0), compare(body, "ult", least_normal));
            body.value(format_args!("and i1 {low}, {high}"))
        }
    })
}
