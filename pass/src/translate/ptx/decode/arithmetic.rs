//! Integer and floating-point arithmetic.

use crate::translate::ptx::op::{BinaryOp, Carry, FloatClass, MulAddOp, Op, UnaryOp};
use crate::translate::ptx::table::{Decoded, Instruction, Refusal};
use crate::translate::ptx::types::{FloatMode, Ty};

fn float_mode(i: &mut Instruction) -> FloatMode {
    FloatMode {
        round: i.round(),
        ftz: i.flag("ftz"),
        sat: i.flag("sat"),
        relu: i.flag("relu"),
        approx: i.flag("approx") | i.flag("full"),
        nan: i.flag("NaN"),
        xorsign_abs: i.flag("xorsign") & i.flag("abs"),
    }
}

/// Integers and floats that `add`, `sub`, `min`, ... compute on.
fn numeric(ty: Ty) -> bool {
    match ty {
        Ty::U(n) | Ty::S(n) | Ty::F(n) => n >= 16,
        Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2 | Ty::U16x2 | Ty::S16x2 => true,
        // `.b32` is what some headers write where the sign does not matter.
        Ty::B(n) => (16..=64).contains(&n),
        _ => false,
    }
}

fn integer(ty: Ty) -> bool {
    matches!(ty, Ty::U(16..=64) | Ty::S(16..=64) | Ty::B(16..=64))
}

fn float(ty: Ty) -> bool {
    matches!(ty, Ty::F(_) | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2)
}

fn full_float(ty: Ty) -> bool {
    matches!(ty, Ty::F(32 | 64))
}

fn binary(i: &mut Instruction, op: BinaryOp, carry: Carry, fits: fn(Ty) -> bool) -> Decoded {
    let mode = float_mode(i);
    let ty = i.ty_of(fits)?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    // The forms with three inputs, and mixed precision, are for later architectures.
    if i.left() > 0 && matches!(op, BinaryOp::Min | BinaryOp::Max) {
        return Err(Refusal::Unsupported);
    }
    Ok(Op::Binary { op, ty, mode, carry, d, a, b })
}

fn with_carry(i: &mut Instruction, op: BinaryOp, input: bool) -> Decoded {
    let carry = Carry { input, output: i.flag("cc") };
    let fits = if input || carry.output { integer } else { numeric };
    binary(i, op, carry, fits)
}

pub(in crate::translate::ptx) fn add(i: &mut Instruction) -> Decoded {
    with_carry(i, BinaryOp::Add, false)
}

pub(in crate::translate::ptx) fn sub(i: &mut Instruction) -> Decoded {
    with_carry(i, BinaryOp::Sub, false)
}

pub(in crate::translate::ptx) fn addc(i: &mut Instruction) -> Decoded {
    with_carry(i, BinaryOp::Add, true)
}

pub(in crate::translate::ptx) fn subc(i: &mut Instruction) -> Decoded {
    with_carry(i, BinaryOp::Sub, true)
}

pub(in crate::translate::ptx) fn mul(i: &mut Instruction) -> Decoded {
    let part = i.choice(&[("lo", BinaryOp::Mul), ("hi", BinaryOp::MulHi), ("wide", BinaryOp::MulWide)]);
    match part {
        Some(BinaryOp::MulWide) => {
            binary(i, BinaryOp::MulWide, Carry::default(), |ty| integer(ty) && ty.bits() <= 32)
        }
        Some(op) => binary(i, op, Carry::default(), integer),
        None => {
            let op = binary(i, BinaryOp::Mul, Carry::default(), numeric)?;
            match op {
                Op::Binary { ty, .. } if !ty.is_float() => Err(i.lacks("`.lo`, `.hi` or `.wide`")),
                op => Ok(op),
            }
        }
    }
}

pub(in crate::translate::ptx) fn mul24(i: &mut Instruction) -> Decoded {
    let op = i
        .choice(&[("lo", BinaryOp::Mul24Lo), ("hi", BinaryOp::Mul24Hi)])
        .ok_or_else(|| i.lacks("`.lo` or `.hi`"))?;
    binary(i, op, Carry::default(), |ty| matches!(ty, Ty::U(32) | Ty::S(32)))
}

fn mul_add(i: &mut Instruction, op: MulAddOp, carry: Carry, fits: fn(Ty) -> bool) -> Decoded {
    let mode = float_mode(i);
    let ty = i.ty_of(fits)?;
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::MulAdd { op, ty, mode, carry, d, a, b, c })
}

fn mad_with(i: &mut Instruction, input: bool) -> Decoded {
    let part = i.choice(&[("lo", MulAddOp::Lo), ("hi", MulAddOp::Hi), ("wide", MulAddOp::Wide)]);
    let carry = Carry { input, output: i.flag("cc") };
    match part {
        Some(MulAddOp::Wide) => mul_add(i, MulAddOp::Wide, carry, |ty| integer(ty) && ty.bits() <= 32),
        Some(op) => mul_add(i, op, carry, integer),
        None => mul_add(i, MulAddOp::Fma, carry, full_float),
    }
}

pub(in crate::translate::ptx) fn mad(i: &mut Instruction) -> Decoded {
    mad_with(i, false)
}

pub(in crate::translate::ptx) fn madc(i: &mut Instruction) -> Decoded {
    mad_with(i, true)
}

pub(in crate::translate::ptx) fn mad24(i: &mut Instruction) -> Decoded {
    let op = i
        .choice(&[("lo", MulAddOp::Lo24), ("hi", MulAddOp::Hi24)])
        .ok_or_else(|| i.lacks("`.lo` or `.hi`"))?;
    mul_add(i, op, Carry::default(), |ty| matches!(ty, Ty::U(32) | Ty::S(32)))
}

pub(in crate::translate::ptx) fn fma(i: &mut Instruction) -> Decoded {
    // `.oob` and mixed precision are left over and so refused.
    mul_add(i, MulAddOp::Fma, Carry::default(), float)
}

pub(in crate::translate::ptx) fn sad(i: &mut Instruction) -> Decoded {
    let ty = i.ty_of(integer)?;
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Sad { ty, d, a, b, c })
}

pub(in crate::translate::ptx) fn div(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::Div, Carry::default(), |ty| integer(ty) || full_float(ty))
}

pub(in crate::translate::ptx) fn rem(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::Rem, Carry::default(), integer)
}

pub(in crate::translate::ptx) fn min(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::Min, Carry::default(), numeric)
}

pub(in crate::translate::ptx) fn max(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::Max, Carry::default(), numeric)
}

pub(in crate::translate::ptx) fn copysign(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::CopySign, Carry::default(), full_float)
}

fn unary(i: &mut Instruction, op: UnaryOp, fits: fn(Ty) -> bool) -> Decoded {
    let mode = float_mode(i);
    let ty = i.ty_of(fits)?;
    let (d, a) = (i.destination()?, i.scalar()?);
    Ok(Op::Unary { op, ty, mode, d, a })
}

pub(in crate::translate::ptx) fn abs(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Abs, numeric)
}

pub(in crate::translate::ptx) fn neg(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Neg, numeric)
}

/// `rcp` and `sqrt`: `.approx` or a rounding mode must be named.
fn rounded(i: &mut Instruction, op: UnaryOp) -> Decoded {
    let decoded = unary(i, op, full_float)?;
    match decoded {
        Op::Unary { mode: FloatMode { round: None, approx: false, .. }, .. } => {
            Err(i.lacks("`.approx` or a rounding mode"))
        }
        op => Ok(op),
    }
}

pub(in crate::translate::ptx) fn rcp(i: &mut Instruction) -> Decoded {
    rounded(i, UnaryOp::Rcp)
}

pub(in crate::translate::ptx) fn sqrt(i: &mut Instruction) -> Decoded {
    rounded(i, UnaryOp::Sqrt)
}

pub(in crate::translate::ptx) fn rsqrt(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Rsqrt, full_float)
}

pub(in crate::translate::ptx) fn ex2(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Ex2, |ty| float(ty) && ty != Ty::F(64))
}

pub(in crate::translate::ptx) fn lg2(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Lg2, |ty| ty == Ty::F(32))
}

pub(in crate::translate::ptx) fn sin(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Sin, |ty| ty == Ty::F(32))
}

pub(in crate::translate::ptx) fn cos(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Cos, |ty| ty == Ty::F(32))
}

pub(in crate::translate::ptx) fn tanh(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Tanh, |ty| float(ty) && ty != Ty::F(64))
}

pub(in crate::translate::ptx) fn testp(i: &mut Instruction) -> Decoded {
    let class = i
        .choice(&[
            ("finite", FloatClass::Finite),
            ("infinite", FloatClass::Infinite),
            ("number", FloatClass::Number),
            ("notanumber", FloatClass::NotANumber),
            ("normal", FloatClass::Normal),
            ("subnormal", FloatClass::Subnormal),
        ])
        .ok_or_else(|| i.lacks("a property to test"))?;
    let ty = i.ty_of(full_float)?;
    let (p, a) = (i.destination()?, i.scalar()?);
    Ok(Op::Testp { class, ty, p, a })
}

fn dot_product(i: &mut Instruction, halves: Option<bool>) -> Decoded {
    let word = |ty| matches!(ty, Ty::U(32) | Ty::S(32));
    let (a_ty, b_ty) = (i.ty_of(word)?, i.ty_of(word)?);
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    let (a_signed, b_signed) = (a_ty.is_signed(), b_ty.is_signed());
    Ok(Op::DotProduct { halves, a_signed, b_signed, d, a, b, c })
}

pub(in crate::translate::ptx) fn dp4a(i: &mut Instruction) -> Decoded {
    dot_product(i, None)
}

pub(in crate::translate::ptx) fn dp2a(i: &mut Instruction) -> Decoded {
    let high = i.choice(&[("lo", false), ("hi", true)]).ok_or_else(|| i.lacks("`.lo` or `.hi`"))?;
    dot_product(i, Some(high))
}
