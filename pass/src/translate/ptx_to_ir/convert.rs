//! Moves, comparison, selection and conversion.

use crate::translate::ptx::op::{CvtRound, Op, Operand};
use crate::translate::ptx::types::{BoolOp, Cmp, Round, Ty};

use super::body::{Body, Refused, Translated};
use super::float8;
use super::floats::{clamp, flush, intrinsic, load, rounding, small, store, suffix};
use super::integers::{extension, half, join, saturate};

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::Mov { ty, d, a } => mov(body, *ty, d, a),
        Op::Setp { cmp, ty, ftz, p, q, a, b, join } => {
            let truths = compare(body, *cmp, *ty, *ftz, [a, b])?;
            // For packed types, `p` is the truth of the lower half and `q` of the upper one.
            let second = match truths.get(1) {
                Some(upper) => upper.clone(),
                None => body.value(format_args!("xor i1 {}, true", truths[0])),
            };
            let first = joined(body, &truths[0], join.as_ref())?;
            let second = joined(body, &second, join.as_ref())?;
            body.set(p, Ty::Pred, &first)?;
            match q {
                Some(q) => body.set(q, Ty::Pred, &second),
                None => Ok(()),
            }
        }
        Op::Set { cmp, d_ty, ty, ftz, d, a, b, join: with } => {
            let truths = compare(body, *cmp, *ty, *ftz, [a, b])?;
            let mut values = Vec::new();
            for truth in &truths {
                let truth = joined(body, truth, with.as_ref())?;
                let lane = d_ty.lane().unwrap_or(*d_ty);
                let (bits, yes) = match lane {
                    Ty::F(16) => (16, 0x3c00),
                    Ty::Bf16 => (16, 0x3f80),
                    Ty::F(32) => (32, 0x3f80_0000),
                    _ if truths.len() == 2 => (16, 0xffff),
                    other => (other.bits(), (1u64 << other.bits()) - 1),
                };
                values.push(body.value(format_args!("select i1 {truth}, i{bits} {yes}, i{bits} 0")));
            }
            let r = match values.as_slice() {
                [one] => one.clone(),
                [low, high] => join(body, low, high),
                _ => return Err(Refused),
            };
            body.set(d, *d_ty, &r)
        }
        Op::Selp { ty, d, a, b, p } => {
            let (x, y, p) = (body.get(a, *ty)?, body.get(b, *ty)?, body.get(p, Ty::Pred)?);
            let t = format!("i{}", ty.bits());
            let r = body.value(format_args!("select i1 {p}, {t} {x}, {t} {y}"));
            body.set(d, *ty, &r)
        }
        Op::Slct { ty, c_ty, ftz, d, a, b, c } => {
            let (x, y, mut z) = (body.get(a, *ty)?, body.get(b, *ty)?, body.get(c, *c_ty)?);
            let p = if *c_ty == Ty::F(32) {
                if *ftz {
                    z = flush(body, *c_ty, &z);
                }
                let (z, _) = load(body, *c_ty, &z)?;
                body.value(format_args!("fcmp oge float {z}, 0.0"))
            } else {
                body.value(format_args!("icmp sge i32 {z}, 0"))
            };
            let t = format!("i{}", ty.bits());
            let r = body.value(format_args!("select i1 {p}, {t} {x}, {t} {y}"));
            body.set(d, *ty, &r)
        }
        Op::Cvt { .. } => cvt(body, op),
        Op::CvtPack { d_ty, d, a, b, c } => {
            let mut r = body.get_or(c.as_ref(), Ty::B(32), "0")?;
            let bits = d_ty.bits();
            for part in [a, b] {
                let value = body.get(part, Ty::S(32))?;
                let value = saturated(body, &value, Ty::S(32), *d_ty);
                let value = body.resize(&value, bits, 32, "zext");
                r = body.value(format_args!("shl i32 {r}, {bits}"));
                r = body.value(format_args!("or i32 {r}, {value}"));
            }
            body.set(d, Ty::B(32), &r)
        }
        _ => Err(Refused),
    }
}

fn mov(body: &mut Body, ty: Ty, d: &Operand, a: &Operand) -> Translated {
    let bits = ty.bits();
    match (d, a) {
        (Operand::Vector(parts), _) => {
            let value = body.get(a, ty)?;
            let part = Ty::B(bits / parts.len() as u16);
            for (i, d) in parts.iter().enumerate() {
                let moved =
                    body.value(format_args!("lshr i{bits} {value}, {}", i * usize::from(part.bits())));
                let moved = body.resize(&moved, bits, part.bits(), "zext");
                body.set(d, part, &moved)?;
            }
            Ok(())
        }
        (_, Operand::Vector(parts)) => {
            let part = Ty::B(bits / parts.len() as u16);
            let mut whole = "0".to_owned();
            for (i, a) in parts.iter().enumerate() {
                let value = body.get(a, part)?;
                let value = body.resize(&value, part.bits(), bits, "zext");
                let value = body.value(format_args!("shl i{bits} {value}, {}", i * usize::from(part.bits())));
                whole = body.value(format_args!("or i{bits} {whole}, {value}"));
            }
            body.set(d, ty, &whole)
        }
        _ => {
            let value = body.get(a, ty)?;
            body.set(d, Ty::B(bits), &value)
        }
    }
}

/// The truth of a comparison; for a packed type, of each element.
fn compare(body: &mut Body, cmp: Cmp, ty: Ty, ftz: bool, of: [&Operand; 2]) -> Translated<Vec<String>> {
    let (x, y) = (body.get(of[0], ty)?, body.get(of[1], ty)?);
    if !ty.is_float() {
        let signed = ty.is_signed();
        let condition = match cmp {
            Cmp::Eq => "eq",
            Cmp::Ne => "ne",
            Cmp::Lt if signed => "slt",
            Cmp::Le if signed => "sle",
            Cmp::Gt if signed => "sgt",
            Cmp::Ge if signed => "sge",
            Cmp::Lt | Cmp::Lo => "ult",
            Cmp::Le | Cmp::Ls => "ule",
            Cmp::Gt | Cmp::Hi => "ugt",
            Cmp::Ge | Cmp::Hs => "uge",
            _ => return Err(Refused),
        };
        return Ok(vec![body.value(format_args!("icmp {condition} i{} {x}, {y}", ty.bits()))]);
    }
    let condition = match cmp {
        Cmp::Eq => "oeq",
        Cmp::Ne => "one",
        Cmp::Lt => "olt",
        Cmp::Le => "ole",
        Cmp::Gt => "ogt",
        Cmp::Ge => "oge",
        Cmp::Equ => "ueq",
        Cmp::Neu => "une",
        Cmp::Ltu => "ult",
        Cmp::Leu => "ule",
        Cmp::Gtu => "ugt",
        Cmp::Geu => "uge",
        Cmp::Num => "ord",
        Cmp::Nan => "uno",
        _ => return Err(Refused),
    };
    let lane = ty.lane().unwrap_or(ty);
    let pairs = match ty.lane() {
        Some(_) => [0, 16].map(|at| (half(body, &x, at), half(body, &y, at))).to_vec(),
        None => vec![(x, y)],
    };
    let mut truths = Vec::new();
    for (mut x, mut y) in pairs {
        if ftz {
            (x, y) = (flush(body, lane, &x), flush(body, lane, &y));
        }
        let (x, t) = load(body, lane, &x)?;
        let (y, _) = load(body, lane, &y)?;
        truths.push(body.value(format_args!("fcmp {condition} {t} {x}, {y}")));
    }
    Ok(truths)
}

/// The truth of a comparison, joined with a further predicate.
fn joined(body: &mut Body, truth: &str, with: Option<&(BoolOp, Operand)>) -> Translated<String> {
    let Some((op, operand)) = with else { return Ok(truth.to_owned()) };
    let name = match op {
        BoolOp::And => "and",
        BoolOp::Or => "or",
        BoolOp::Xor => "xor",
    };
    let p = body.get(operand, Ty::Pred)?;
    Ok(body.value(format_args!("{name} i1 {truth}, {p}")))
}

/// The nearest value of integer type `to`, in its width.
fn saturated(body: &mut Body, value: &str, from: Ty, to: Ty) -> String {
    let wide = body.resize(value, from.bits(), 128, extension(from));
    let nearest = saturate(body, &wide, 128, to.bits(), to.is_signed());
    body.resize(&nearest, 128, to.bits(), "zext")
}

/// A conversion of one value.
#[derive(Clone, Copy)]
struct Conversion {
    d_ty: Ty,
    a_ty: Ty,
    round: Option<CvtRound>,
    ftz: bool,
}

fn cvt(body: &mut Body, op: &Op) -> Translated {
    let Op::Cvt { d_ty, a_ty, round, ftz, sat, satfinite, relu, d, a, b } = op else { return Err(Refused) };
    let (d_ty, a_ty) = (*d_ty, *a_ty);
    let how = Conversion { d_ty, a_ty, round: *round, ftz: *ftz };
    let x = body.get(a, a_ty)?;
    if [d_ty, a_ty].iter().any(|ty| matches!(ty, Ty::E4m3x2 | Ty::E5m2x2)) {
        let r = float8::convert(body, (d_ty, a_ty), *round, (*satfinite, *relu), &x, b.as_ref())?;
        return body.set(d, d_ty, &r);
    }
    if *satfinite {
        return Err(Refused);
    }
    let r = match (d_ty, a_ty) {
        (Ty::F16x2 | Ty::Bf16x2, Ty::F(32)) => {
            let lane = d_ty.lane().ok_or(Refused)?;
            let y = body.get(b.as_ref().ok_or(Refused)?, a_ty)?;
            let [high, low] = [x, y].map(|bits| {
                let r = float_to_float(body, Conversion { d_ty: lane, ..how }, &bits)?;
                clamp(body, lane, *sat, *relu, r)
            });
            join(body, &low?, &high?)
        }
        (Ty::Tf32, Ty::F(32)) if *round == Some(CvtRound::ToType(Round::NearestAway)) && !relu => {
            body.call("i32", "gr.tf32", &[("i32", &x)])
        }
        _ if d_ty.is_int() && a_ty.is_int() && *sat => saturated(body, &x, a_ty, d_ty),
        _ if d_ty.is_int() && a_ty.is_int() => body.resize(&x, a_ty.bits(), d_ty.bits(), extension(a_ty)),
        _ if d_ty.is_int() => float_to_int(body, how, &x)?,
        _ if a_ty.is_int() => {
            let r = int_to_float(body, how, &x)?;
            clamp(body, d_ty, *sat, *relu, r)?
        }
        (Ty::F(_) | Ty::Bf16, Ty::F(_) | Ty::Bf16) => {
            let r = float_to_float(body, how, &x)?;
            clamp(body, d_ty, *sat, *relu, r)?
        }
        _ => return Err(Refused),
    };
    body.set(d, d_ty, &r)
}

/// LLVM's intrinsic that rounds to an integer.
fn to_integral(round: Round) -> Translated<&'static str> {
    match round {
        Round::Nearest => Ok("roundeven"),
        Round::Zero => Ok("trunc"),
        Round::Down => Ok("floor"),
        Round::Up => Ok("ceil"),
        Round::NearestAway => Err(Refused),
    }
}

/// A float as an integer. A number out of range becomes the nearest integer. NaN becomes 0, or the highest
/// bit alone if one of the two types has 64 bits (PTX ISA, `cvt`).
fn float_to_int(body: &mut Body, how: Conversion, bits: &str) -> Translated<String> {
    let Conversion { d_ty, a_ty, round, ftz } = how;
    let round = match round {
        Some(CvtRound::ToInteger(round) | CvtRound::ToType(round)) => round,
        None => Round::Zero,
    };
    let bits = if ftz { flush(body, a_ty, bits) } else { bits.to_owned() };
    let (x, t) = load(body, a_ty, &bits)?;
    let x = intrinsic(body, to_integral(round)?, t, &x);
    let suffix = suffix(t);
    let n = d_ty.bits();
    let kind = if d_ty.is_signed() { "si" } else { "ui" };
    let r = body.call(&format!("i{n}"), &format!("llvm.fpto{kind}.sat.i{n}.{suffix}"), &[(t, &x)]);
    if n < 64 && a_ty.bits() < 64 {
        return Ok(r);
    }
    let nan = body.value(format_args!("fcmp uno {t} {x}, {x}"));
    let top = if n == 64 { i64::MIN } else { -(1i64 << (n - 1)) };
    Ok(body.value(format_args!("select i1 {nan}, i{n} {top}, i{n} {r}")))
}

fn int_to_float(body: &mut Body, how: Conversion, bits: &str) -> Translated<String> {
    let Conversion { d_ty, a_ty, round, .. } = how;
    let round = match round {
        Some(CvtRound::ToType(round)) => Some(round),
        None => None,
        Some(CvtRound::ToInteger(_)) => return Err(Refused),
    };
    let mode = rounding(round)?;
    let signed = a_ty.is_signed();
    let wide = body.resize(bits, a_ty.bits(), 64, extension(a_ty));
    let kind = if signed { "si" } else { "ui" };
    if small(d_ty).is_some() {
        // The integer's first bits with a sticky bit round to any smaller format as the integer does.
        let magnitude = if signed {
            body.call("i64", "llvm.abs.i64", &[("i64", &wide), ("i1", "false")])
        } else {
            wide.clone()
        };
        let narrow = body.call("i64", "gr.narrow", &[("i64", &wide), ("i64", &magnitude)]);
        let double = body.value(format_args!("{kind}tofp i64 {narrow} to double"));
        let float = body.call("float", "gr.d2f.odd", &[("double", &double)]);
        return to_small(body, d_ty, mode, &float);
    }
    let t = if d_ty == Ty::F(64) { "double" } else { "float" };
    let value = if mode == "rn" {
        body.value(format_args!("{kind}tofp i64 {wide} to {t}"))
    } else {
        let from = if signed { "ll" } else { "ull" };
        let letter = if t == "double" { "d" } else { "f" };
        body.call(t, &format!("gr.{from}2{letter}.{mode}"), &[("i64", &wide)])
    };
    store(body, d_ty, &value)
}

fn float_to_float(body: &mut Body, how: Conversion, bits: &str) -> Translated<String> {
    let Conversion { d_ty, a_ty, round, ftz } = how;
    let bits = if ftz { flush(body, a_ty, bits) } else { bits.to_owned() };
    let (mut x, mut t) = load(body, a_ty, &bits)?;
    let mode = match round {
        Some(CvtRound::ToInteger(round)) => {
            x = intrinsic(body, to_integral(round)?, t, &x);
            "rn"
        }
        Some(CvtRound::ToType(round)) => rounding(Some(round))?,
        None => "rn",
    };
    if d_ty == a_ty && round.is_none() {
        return Ok(bits);
    }
    let r = match d_ty {
        Ty::F(64) => {
            if t == "float" {
                x = body.value(format_args!("fpext float {x} to double"));
            }
            store(body, d_ty, &x)?
        }
        Ty::F(32) => {
            if t == "double" {
                x = body.call("float", &format!("gr.d2f.{mode}"), &[("double", &x)]);
            }
            store(body, d_ty, &x)?
        }
        Ty::F(16) | Ty::Bf16 => {
            if t == "double" {
                x = body.call("float", "gr.d2f.odd", &[("double", &x)]);
                t = "float";
            }
            debug_assert_eq!(t, "float");
            to_small(body, d_ty, mode, &x)?
        }
        _ => return Err(Refused),
    };
    Ok(if ftz { flush(body, d_ty, &r) } else { r })
}

/// A `float` in a 16-bit format, rounded as the mode says.
fn to_small(body: &mut Body, ty: Ty, mode: &str, float: &str) -> Translated<String> {
    let format = small(ty).ok_or(Refused)?;
    if matches!(mode, "rn" | "rz") {
        return Ok(body.call("i16", &format!("gr.round.{format}.{mode}"), &[("float", float)]));
    }
    // Rounds toward zero, then steps away from zero if the value lies on the side to round to.
    let r = body.call("i16", &format!("gr.round.{format}.rz"), &[("float", float)]);
    let back = body.call("float", &format!("gr.load.{format}"), &[("i16", &r)]);
    let condition = if mode == "rp" { "ogt" } else { "olt" };
    let wrong = body.value(format_args!("fcmp {condition} float {float}, {back}"));
    // The step goes away from zero, since `rz` keeps the sign of the value.
    let next = body.value(format_args!("add i16 {r}, 1"));
    Ok(body.value(format_args!("select i1 {wrong}, i16 {next}, i16 {r}")))
}
