//! Integer and floating-point arithmetic.

use crate::translate::ptx::instruction::{Decoded, Instruction, only_if};
use crate::translate::ptx::op::{BinaryOp, Carry, FloatClass, MulAddOp, Op, UnaryOp};
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
pub fn numeric(ty: Ty) -> bool {
    match ty {
        Ty::U(n) | Ty::S(n) | Ty::F(n) => n >= 16,
        Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2 | Ty::U16x2 | Ty::S16x2 => true,
        // Some headers write `.b32` where the sign does not matter.
        Ty::B(n) => (16..=64).contains(&n),
        _ => false,
    }
}

pub fn integer(ty: Ty) -> bool {
    matches!(ty, Ty::U(16..=64) | Ty::S(16..=64) | Ty::B(16..=64))
}

/// Integers for `.wide`, whose result has twice the width.
fn widens(ty: Ty) -> bool {
    integer(ty) && ty.bits() <= 32
}

/// An integer of 32 bits.
pub fn word(ty: Ty) -> bool {
    matches!(ty, Ty::U(32) | Ty::S(32))
}

fn float(ty: Ty) -> bool {
    matches!(ty, Ty::F(_) | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2)
}

pub fn single(ty: Ty) -> bool {
    ty == Ty::F(32)
}

pub fn full_float(ty: Ty) -> bool {
    matches!(ty, Ty::F(32 | 64))
}

fn with_mode(i: &mut Instruction, op: BinaryOp, carry: Carry, fits: fn(Ty) -> bool) -> Decoded {
    let mode = float_mode(i);
    let ty = i.ty_of(fits)?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Binary { op, ty, mode, carry, d, a, b })
}

/// `add`, `sub`, and with `input` `addc`, `subc`.
pub fn with_carry(i: &mut Instruction, op: BinaryOp, input: bool) -> Decoded {
    let carry = Carry { input, output: i.flag("cc") };
    let fits = if input || carry.output { integer } else { numeric };
    with_mode(i, op, carry, fits)
}

pub fn binary(i: &mut Instruction, op: BinaryOp, fits: fn(Ty) -> bool) -> Decoded {
    with_mode(i, op, Carry::default(), fits)
}

/// `min`, `max`. The forms with three inputs, and mixed precision, are for later architectures.
pub fn extreme(i: &mut Instruction, op: BinaryOp) -> Decoded {
    let extreme = binary(i, op, numeric)?;
    only_if(i.left() == 0)?;
    Ok(extreme)
}

pub fn mul(i: &mut Instruction) -> Decoded {
    let part = i.choice(&[("lo", BinaryOp::Mul), ("hi", BinaryOp::MulHi), ("wide", BinaryOp::MulWide)]);
    match part {
        Some(BinaryOp::MulWide) => binary(i, BinaryOp::MulWide, widens),
        Some(op) => binary(i, op, integer),
        None => match binary(i, BinaryOp::Mul, numeric)? {
            Op::Binary { ty, .. } if !ty.is_float() => Err(i.lacks("`.lo`, `.hi` or `.wide`")),
            op => Ok(op),
        },
    }
}

pub fn mul24(i: &mut Instruction) -> Decoded {
    let op = i.one_of(&[("lo", BinaryOp::Mul24Lo), ("hi", BinaryOp::Mul24Hi)], "`.lo` or `.hi`")?;
    binary(i, op, word)
}

fn mul_add(i: &mut Instruction, op: MulAddOp, carry: Carry, fits: fn(Ty) -> bool) -> Decoded {
    let mode = float_mode(i);
    let ty = i.ty_of(fits)?;
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::MulAdd { op, ty, mode, carry, d, a, b, c })
}

/// `mad`, and with `input` `madc`.
pub fn mad(i: &mut Instruction, input: bool) -> Decoded {
    let part = i.choice(&[("lo", MulAddOp::Lo), ("hi", MulAddOp::Hi), ("wide", MulAddOp::Wide)]);
    let carry = Carry { input, output: i.flag("cc") };
    match part {
        Some(MulAddOp::Wide) => mul_add(i, MulAddOp::Wide, carry, widens),
        Some(op) => mul_add(i, op, carry, integer),
        None => mul_add(i, MulAddOp::Fma, carry, full_float),
    }
}

pub fn mad24(i: &mut Instruction) -> Decoded {
    let op = i.one_of(&[("lo", MulAddOp::Lo24), ("hi", MulAddOp::Hi24)], "`.lo` or `.hi`")?;
    mul_add(i, op, Carry::default(), word)
}

/// `fma`. `.oob` and mixed precision are left over and so refused.
pub fn fma(i: &mut Instruction) -> Decoded {
    mul_add(i, MulAddOp::Fma, Carry::default(), float)
}

pub fn sad(i: &mut Instruction) -> Decoded {
    let ty = i.ty_of(integer)?;
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Sad { ty, d, a, b, c })
}

pub fn div(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::Div, |ty| integer(ty) || full_float(ty))
}

pub fn unary(i: &mut Instruction, op: UnaryOp, fits: fn(Ty) -> bool) -> Decoded {
    let mode = float_mode(i);
    let ty = i.ty_of(fits)?;
    let (d, a) = (i.destination()?, i.scalar()?);
    Ok(Op::Unary { op, ty, mode, d, a })
}

/// `ex2`, `tanh`.
pub fn approximate(i: &mut Instruction, op: UnaryOp) -> Decoded {
    unary(i, op, |ty| float(ty) && ty != Ty::F(64))
}

/// `rcp` and `sqrt`: `.approx` or a rounding mode must be named.
pub fn rounded(i: &mut Instruction, op: UnaryOp) -> Decoded {
    match unary(i, op, full_float)? {
        Op::Unary { mode: FloatMode { round: None, approx: false, .. }, .. } => {
            Err(i.lacks("`.approx` or a rounding mode"))
        }
        op => Ok(op),
    }
}

const CLASSES: &[(&str, FloatClass)] = &[
    ("finite", FloatClass::Finite),
    ("infinite", FloatClass::Infinite),
    ("number", FloatClass::Number),
    ("notanumber", FloatClass::NotANumber),
    ("normal", FloatClass::Normal),
    ("subnormal", FloatClass::Subnormal),
];

pub fn testp(i: &mut Instruction) -> Decoded {
    let class = i.one_of(CLASSES, "a property to test")?;
    let ty = i.ty_of(full_float)?;
    let (p, a) = (i.destination()?, i.scalar()?);
    Ok(Op::Testp { class, ty, p, a })
}

fn dot_product(i: &mut Instruction, halves: Option<bool>) -> Decoded {
    let (a_signed, b_signed) = (i.ty_of(word)?.is_signed(), i.ty_of(word)?.is_signed());
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::DotProduct { halves, a_signed, b_signed, d, a, b, c })
}

pub fn dp4a(i: &mut Instruction) -> Decoded {
    dot_product(i, None)
}

pub fn dp2a(i: &mut Instruction) -> Decoded {
    let high = i.one_of(&[("lo", false), ("hi", true)], "`.lo` or `.hi`")?;
    dot_product(i, Some(high))
}
