//! Comparison, selection, conversion and moves.

use crate::translate::ptx::instruction::{Decoded, Instruction, Refusal, only_if};
use crate::translate::ptx::op::{CvtRound, Op, Operand};
use crate::translate::ptx::types::{BoolOp, Cmp, Round, Space, Ty};

/// `.eq`, ..., and the `.and`, `.or`, `.xor` that join it with a predicate.
fn comparison(i: &mut Instruction) -> Decoded<(Cmp, Option<BoolOp>)> {
    let join = i.choice(&[("and", BoolOp::And), ("or", BoolOp::Or), ("xor", BoolOp::Xor)]);
    Ok((i.one(Cmp::from_suffix).ok_or_else(|| i.lacks("a comparison"))?, join))
}

fn check_comparison(i: &Instruction, cmp: Cmp, ty: Ty) -> Decoded<()> {
    let fits = match ty {
        Ty::U(16..=64) | Ty::S(16..=64) => cmp.for_ints(),
        // Bits are only equal or not; no header writes `setp.lt.b32`.
        Ty::B(16..=64) => matches!(cmp, Cmp::Eq | Cmp::Ne),
        Ty::F(_) | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2 => cmp.for_floats(),
        _ => return Err(Refusal::Unsupported),
    };
    if fits { Ok(()) } else { Err(i.lacks("a comparison that its type has")) }
}

fn join_operand(i: &mut Instruction, join: Option<BoolOp>) -> Decoded<Option<(BoolOp, Operand)>> {
    join.map(|join| Ok((join, i.scalar()?))).transpose()
}

pub fn setp(i: &mut Instruction) -> Decoded {
    let (cmp, join) = comparison(i)?;
    let ftz = i.flag("ftz");
    let ty = i.ty()?;
    check_comparison(i, cmp, ty)?;
    let (p, q) = i.destinations()?;
    let (a, b) = (i.scalar()?, i.scalar()?);
    let join = join_operand(i, join)?;
    Ok(Op::Setp { cmp, ty, ftz, p, q, a, b, join })
}

pub fn set(i: &mut Instruction) -> Decoded {
    let (cmp, join) = comparison(i)?;
    let ftz = i.flag("ftz");
    let (d_ty, ty) = (i.ty()?, i.ty()?);
    check_comparison(i, cmp, ty)?;
    only_if(match d_ty {
        Ty::U(16 | 32) | Ty::S(16 | 32) | Ty::B(16 | 32) => true,
        Ty::F(16 | 32) | Ty::Bf16 => ty.lane().is_none(),
        Ty::F16x2 | Ty::Bf16x2 => ty.lane().is_some(),
        _ => false,
    })?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar()?);
    let join = join_operand(i, join)?;
    Ok(Op::Set { cmp, d_ty, ty, ftz, d, a, b, join })
}

/// Types that are moved and selected as bits.
fn movable(ty: Ty) -> bool {
    matches!(ty, Ty::Pred | Ty::B(_) | Ty::U(_) | Ty::S(_) | Ty::F(_) | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2)
}

pub fn selp(i: &mut Instruction) -> Decoded {
    let ty = i.ty_of(|ty| movable(ty) && ty != Ty::Pred)?;
    let (d, a, b, p) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Selp { ty, d, a, b, p })
}

pub fn slct(i: &mut Instruction) -> Decoded {
    let ftz = i.flag("ftz");
    let ty = i.ty_of(movable)?;
    let c_ty = i.ty_of(|ty| matches!(ty, Ty::S(32) | Ty::F(32)))?;
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar()?);
    Ok(Op::Slct { ty, c_ty, ftz, d, a, b, c })
}

pub fn mov(i: &mut Instruction) -> Decoded {
    let ty = i.ty_of(movable)?;
    let (d, a) = (i.operand()?, i.operand()?);
    match (&d, &a) {
        (Operand::Vector(_), Operand::Vector(_)) => Err(Refusal::Unsupported),
        (Operand::Vector(parts), _) if parts.iter().all(Operand::is_writable) && packs(parts.len(), ty) => {
            Ok(Op::Mov { ty, d, a })
        }
        (_, Operand::Vector(parts)) if d.is_writable() && packs(parts.len(), ty) => {
            if parts.iter().any(|p| matches!(p, Operand::Vector(_))) {
                return Err(i.operands_wanted("one level of `{ }`"));
            }
            Ok(Op::Mov { ty, d, a })
        }
        (Operand::Vector(_), _) | (_, Operand::Vector(_)) => {
            Err(i.operands_wanted("2 or 4 registers that fill the type"))
        }
        _ if d.is_writable() => Ok(Op::Mov { ty, d, a }),
        _ => Err(i.operands_wanted("a register to write")),
    }
}

/// True if this number of equal parts fills the type.
fn packs(parts: usize, ty: Ty) -> bool {
    matches!((parts, ty.bits()), (2, 16 | 32 | 64 | 128) | (4, 32 | 64 | 128))
}

pub fn cvt(i: &mut Instruction) -> Decoded {
    if i.flag("pack") {
        return cvt_pack(i);
    }
    let to_integer =
        [("rni", Round::Nearest), ("rzi", Round::Zero), ("rmi", Round::Down), ("rpi", Round::Up)];
    let to_integer = i.choice(&to_integer).map(CvtRound::ToInteger);
    let round = to_integer.or_else(|| i.round().map(CvtRound::ToType));
    let (ftz, sat) = (i.flag("ftz"), i.flag("sat"));
    let (satfinite, relu) = (i.flag("satfinite"), i.flag("relu"));
    let (d_ty, a_ty) = (i.ty()?, i.ty()?);
    let packed = |ty| matches!(ty, Ty::F16x2 | Ty::Bf16x2 | Ty::E4m3x2 | Ty::E5m2x2);
    let two_sources = packed(d_ty) && a_ty == Ty::F(32);
    let one = |ty| matches!(ty, Ty::U(8..=64) | Ty::S(8..=64) | Ty::F(_) | Ty::Bf16);
    only_if(match (d_ty, a_ty) {
        (Ty::Tf32, Ty::F(32)) => true,
        (Ty::E4m3x2 | Ty::E5m2x2, Ty::F16x2) | (Ty::F16x2, Ty::E4m3x2 | Ty::E5m2x2) => true,
        _ => two_sources || (one(d_ty) && one(a_ty)),
    })?;
    let (d, a, b) = (i.destination()?, i.scalar()?, i.scalar_if(two_sources)?);
    Ok(Op::Cvt { d_ty, a_ty, round, ftz, sat, satfinite, relu, d, a, b })
}

/// `cvt.pack.sat.dtype.s32{.b32}`.
fn cvt_pack(i: &mut Instruction) -> Decoded {
    i.need("sat", "`.sat`")?;
    // Types of 2 and 4 bits exist only here; they are left over and so refused.
    let d_ty = i.ty_of(|ty| matches!(ty, Ty::U(8 | 16) | Ty::S(8 | 16)))?;
    i.ty_of(|ty| ty == Ty::S(32))?;
    let with_c = i.flag("b32");
    let (d, a, b, c) = (i.destination()?, i.scalar()?, i.scalar()?, i.scalar_if(with_c)?);
    Ok(Op::CvtPack { d_ty, d, a, b, c })
}

pub fn cvta(i: &mut Instruction) -> Decoded {
    let to = i.flag("to");
    let space = i.one(Space::from_suffix).ok_or_else(|| i.lacks("a state space"))?;
    let ty = i.ty_of(|ty| matches!(ty, Ty::U(32 | 64)))?;
    let (d, a) = (i.destination()?, i.scalar()?);
    Ok(Op::Cvta { to, space, ty, d, a })
}

/// The state space of `mapa` and `getctarank`, and the type of the address.
fn shared_address(i: &mut Instruction) -> Decoded<(Space, Ty)> {
    let space = i.space();
    only_if(matches!(space, Space::Generic | Space::SharedCluster))?;
    Ok((space, i.ty_of(|ty| matches!(ty, Ty::U(32 | 64)))?))
}

pub fn mapa(i: &mut Instruction) -> Decoded {
    let (space, ty) = shared_address(i)?;
    let (d, a, rank) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Mapa { space, ty, d, a, rank })
}

pub fn getctarank(i: &mut Instruction) -> Decoded {
    let (space, ty) = shared_address(i)?;
    let (d, a) = (i.destination()?, i.scalar()?);
    Ok(Op::ClusterRank { space, ty, d, a })
}

pub fn isspacep(i: &mut Instruction) -> Decoded {
    let space = i.one(Space::from_suffix).ok_or_else(|| i.lacks("a state space"))?;
    let (p, a) = (i.destination()?, i.scalar()?);
    Ok(Op::Isspacep { space, p, a })
}
