//! Logic, shifts, bit fields, bytes, and video instructions.

use crate::translate::ptx::op::{BinaryOp, Carry, Op, PrmtMode, UnaryOp, VideoOp};
use crate::translate::ptx::table::{Decoded, Instruction, Refusal};
use crate::translate::ptx::types::{Cmp, FloatMode, Ty};

fn untyped(ty: Ty) -> bool {
    matches!(ty, Ty::Pred | Ty::B(16..=64) | Ty::U(16..=64) | Ty::S(16..=64))
}

fn words(ty: Ty) -> bool {
    matches!(ty, Ty::B(32 | 64) | Ty::U(32 | 64) | Ty::S(32 | 64))
}

fn shiftable(ty: Ty) -> bool {
    matches!(ty, Ty::B(16..=64) | Ty::U(16..=64) | Ty::S(16..=64))
}

fn binary(i: &mut Instruction, op: BinaryOp, fits: fn(Ty) -> bool) -> Decoded {
    let ty = i.ty_of(fits)?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Binary { op, ty, mode: FloatMode::default(), carry: Carry::default(), d, a, b })
}

pub(in crate::translate::ptx) fn and(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::And, untyped)
}

pub(in crate::translate::ptx) fn or(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::Or, untyped)
}

pub(in crate::translate::ptx) fn xor(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::Xor, untyped)
}

pub(in crate::translate::ptx) fn shl(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::Shl, shiftable)
}

pub(in crate::translate::ptx) fn shr(i: &mut Instruction) -> Decoded {
    binary(i, BinaryOp::Shr, shiftable)
}

fn unary(i: &mut Instruction, op: UnaryOp, fits: fn(Ty) -> bool) -> Decoded {
    let ty = i.ty_of(fits)?;
    let (d, a) = (i.destination()?, i.scalar()?);
    Ok(Op::Unary { op, ty, mode: FloatMode::default(), d, a })
}

pub(in crate::translate::ptx) fn not(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Not, untyped)
}

pub(in crate::translate::ptx) fn cnot(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Cnot, shiftable)
}

pub(in crate::translate::ptx) fn popc(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Popc, words)
}

pub(in crate::translate::ptx) fn clz(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Clz, words)
}

pub(in crate::translate::ptx) fn brev(i: &mut Instruction) -> Decoded {
    unary(i, UnaryOp::Brev, words)
}

pub(in crate::translate::ptx) fn bfind(i: &mut Instruction) -> Decoded {
    let op = if i.flag("shiftamt") { UnaryOp::BfindShift } else { UnaryOp::Bfind };
    unary(i, op, words)
}

pub(in crate::translate::ptx) fn shf(i: &mut Instruction) -> Decoded {
    let left = i.choice(&[("l", true), ("r", false)]).ok_or_else(|| i.lacks("`.l` or `.r`"))?;
    let wrap = i.choice(&[("wrap", true), ("clamp", false)]).ok_or_else(|| i.lacks("`.wrap` or `.clamp`"))?;
    i.ty_of(|ty| matches!(ty, Ty::B(32) | Ty::U(32) | Ty::S(32)))?;
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::FunnelShift { left, wrap, d, a, b, c })
}

pub(in crate::translate::ptx) fn bfe(i: &mut Instruction) -> Decoded {
    let ty = i.ty_of(words)?;
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Bfe { ty, d, a, b, c })
}

pub(in crate::translate::ptx) fn bfi(i: &mut Instruction) -> Decoded {
    let ty = i.ty_of(words)?;
    let (f, a, b, c, d) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Bfi { ty, f, a, b, c, d })
}

pub(in crate::translate::ptx) fn fns(i: &mut Instruction) -> Decoded {
    i.ty()?;
    let (d, mask, base, offset) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Fns { d, mask, base, offset })
}

pub(in crate::translate::ptx) fn prmt(i: &mut Instruction) -> Decoded {
    i.ty_of(|ty| matches!(ty, Ty::B(32)))?;
    let mode = i
        .choice(&[
            ("f4e", PrmtMode::Forward4),
            ("b4e", PrmtMode::Backward4),
            ("rc8", PrmtMode::Replicate8),
            ("ecl", PrmtMode::EdgeClampLeft),
            ("ecr", PrmtMode::EdgeClampRight),
            ("rc16", PrmtMode::Replicate16),
        ])
        .unwrap_or(PrmtMode::Index);
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Prmt { mode, d, a, b, c })
}

pub(in crate::translate::ptx) fn lop3(i: &mut Instruction) -> Decoded {
    // `.and` and `.or` write a predicate too; they are left over and so refused.
    i.ty_of(|ty| matches!(ty, Ty::B(32)))?;
    let (d, a, b, c, table) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Lop3 { d, a, b, c, table })
}

fn wraps(i: &mut Instruction) -> Decoded<bool> {
    i.choice(&[("wrap", true), ("clamp", false)]).ok_or_else(|| i.lacks("`.wrap` or `.clamp`"))
}

pub(in crate::translate::ptx) fn szext(i: &mut Instruction) -> Decoded {
    let wrap = wraps(i)?;
    let ty = i.ty_of(|ty| matches!(ty, Ty::U(32) | Ty::S(32)))?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Szext { ty, wrap, d, a, b })
}

pub(in crate::translate::ptx) fn bmsk(i: &mut Instruction) -> Decoded {
    let wrap = wraps(i)?;
    i.ty_of(|ty| matches!(ty, Ty::B(32)))?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Bmsk { wrap, d, a, b })
}

/// `v<op>`, `v<op>2`, `v<op>4`. Operand selectors (`a.b0`) and lane masks are refused.
pub(in crate::translate::ptx) fn video(i: &mut Instruction) -> Decoded {
    let name = i.base().to_owned();
    let (stem, lanes) = match name.as_bytes().last() {
        Some(b'2') => (&name[..name.len() - 1], 2),
        Some(b'4') => (&name[..name.len() - 1], 4),
        _ => (&name[..], 1),
    };
    let word = |ty| matches!(ty, Ty::U(32) | Ty::S(32));
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
    let joins: &[(&str, BinaryOp)] = if lanes == 1 {
        &[("add", BinaryOp::Add), ("min", BinaryOp::Min), ("max", BinaryOp::Max)]
    } else {
        &[("add", BinaryOp::Add)]
    };
    let then = i.choice(joins);
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    // The SIMD forms always have `c`, the scalar ones only with a second operation.
    let c = if lanes > 1 || then.is_some() { Some(i.scalar()?) } else { None };
    Ok(Op::Video { op, lanes, d_signed, a_signed, b_signed, sat, then, d, a, b, c })
}
