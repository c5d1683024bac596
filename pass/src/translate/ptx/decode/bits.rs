//! Logic, shifts, bit fields, bytes, and video instructions.

use super::arithmetic::word;
use crate::translate::ptx::instruction::{Decoded, Instruction, Refusal};
use crate::translate::ptx::op::{BinaryOp, Carry, Op, PrmtMode, UnaryOp, VideoOp};
use crate::translate::ptx::types::{Cmp, FloatMode, Ty};

pub fn untyped(ty: Ty) -> bool {
    ty == Ty::Pred || shiftable(ty)
}

pub fn words(ty: Ty) -> bool {
    matches!(ty, Ty::B(32 | 64) | Ty::U(32 | 64) | Ty::S(32 | 64))
}

pub fn shiftable(ty: Ty) -> bool {
    matches!(ty, Ty::B(16..=64) | Ty::U(16..=64) | Ty::S(16..=64))
}

fn b32(i: &mut Instruction) -> Decoded<Ty> {
    i.ty_of(|ty| ty == Ty::B(32))
}

pub fn binary(i: &mut Instruction, op: BinaryOp, fits: fn(Ty) -> bool) -> Decoded {
    let ty = i.ty_of(fits)?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Binary { op, ty, mode: FloatMode::default(), carry: Carry::default(), d, a, b })
}

pub fn unary(i: &mut Instruction, op: UnaryOp, fits: fn(Ty) -> bool) -> Decoded {
    let ty = i.ty_of(fits)?;
    let (d, a) = (i.destination()?, i.scalar()?);
    Ok(Op::Unary { op, ty, mode: FloatMode::default(), d, a })
}

pub fn bfind(i: &mut Instruction) -> Decoded {
    let op = if i.flag("shiftamt") { UnaryOp::BfindShift } else { UnaryOp::Bfind };
    unary(i, op, words)
}

fn wraps(i: &mut Instruction) -> Decoded<bool> {
    i.one_of(&[("wrap", true), ("clamp", false)], "`.wrap` or `.clamp`")
}

pub fn shf(i: &mut Instruction) -> Decoded {
    let left = i.one_of(&[("l", true), ("r", false)], "`.l` or `.r`")?;
    let wrap = wraps(i)?;
    i.ty_of(|ty| word(ty) || ty == Ty::B(32))?;
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::FunnelShift { left, wrap, d, a, b, c })
}

pub fn bfe(i: &mut Instruction) -> Decoded {
    let ty = i.ty_of(words)?;
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Bfe { ty, d, a, b, c })
}

pub fn bfi(i: &mut Instruction) -> Decoded {
    let ty = i.ty_of(words)?;
    let (f, a, b, c, d) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Bfi { ty, f, a, b, c, d })
}

pub fn fns(i: &mut Instruction) -> Decoded {
    i.ty()?;
    let (d, mask, base, offset) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Fns { d, mask, base, offset })
}

const PRMT_MODES: &[(&str, PrmtMode)] = &[
    ("f4e", PrmtMode::Forward4),
    ("b4e", PrmtMode::Backward4),
    ("rc8", PrmtMode::Replicate8),
    ("ecl", PrmtMode::EdgeClampLeft),
    ("ecr", PrmtMode::EdgeClampRight),
    ("rc16", PrmtMode::Replicate16),
];

pub fn prmt(i: &mut Instruction) -> Decoded {
    b32(i)?;
    let mode = i.choice(PRMT_MODES).unwrap_or(PrmtMode::Index);
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Prmt { mode, d, a, b, c })
}

/// `lop3`. `.and` and `.or` write a predicate too; they are left over and so refused.
pub fn lop3(i: &mut Instruction) -> Decoded {
    b32(i)?;
    let (d, a, b, c, table) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Lop3 { d, a, b, c, table })
}

pub fn szext(i: &mut Instruction) -> Decoded {
    let wrap = wraps(i)?;
    let ty = i.ty_of(word)?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Szext { ty, wrap, d, a, b })
}

pub fn bmsk(i: &mut Instruction) -> Decoded {
    let wrap = wraps(i)?;
    b32(i)?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Bmsk { wrap, d, a, b })
}

/// `v<op>`, `v<op>2`, `v<op>4`. Operand selectors (`a.b0`) and lane masks are refused.
pub fn video(i: &mut Instruction) -> Decoded {
    let name = i.base().to_owned();
    let (stem, lanes) = match name.as_bytes().last() {
        Some(b'2') => (&name[..name.len() - 1], 2),
        Some(b'4') => (&name[..name.len() - 1], 4),
        _ => (&name[..], 1),
    };
    let op = match stem {
        "vadd" => VideoOp::Add,
        "vsub" => VideoOp::Sub,
        "vabsdiff" => VideoOp::AbsDiff,
        "vmin" => VideoOp::Min,
        "vmax" => VideoOp::Max,
        "vavrg" => VideoOp::Average,
        "vshl" | "vshr" => {
            let wrap = wraps(i)?;
            if stem == "vshl" { VideoOp::Shl(wrap) } else { VideoOp::Shr(wrap) }
        }
        "vset" => {
            let cmp = i.one(|m| Cmp::from_suffix(m).filter(|c| c.for_ints()));
            VideoOp::Set(cmp.ok_or_else(|| i.lacks("a comparison"))?)
        }
        _ => return Err(Refusal::Unsupported),
    };
    let d_signed = !matches!(op, VideoOp::Set(_)) && i.ty_of(word)?.is_signed();
    let (a_signed, b_signed) = (i.ty_of(word)?.is_signed(), i.ty_of(word)?.is_signed());
    let sat = i.flag("sat");
    let joins = [("add", BinaryOp::Add), ("min", BinaryOp::Min), ("max", BinaryOp::Max)];
    let then = i.choice(if lanes == 1 { &joins[..] } else { &joins[..1] });
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    // The SIMD forms always have `c`, the scalar ones only with a second operation.
    let c = i.scalar_if(lanes > 1 || then.is_some())?;
    Ok(Op::Video { op, lanes, d_signed, a_signed, b_signed, sat, then, d, a, b, c })
}
