//! Moves, and conversion of addresses.

use crate::translate::ptx::instruction::{Decoded, Instruction, Refusal, only_if};
use crate::translate::ptx::op::{Op, Operand};
use crate::translate::ptx::types::{Space, Ty};

/// Types that are moved as bits.
fn movable(ty: Ty) -> bool {
    matches!(ty, Ty::Pred | Ty::B(_) | Ty::U(_) | Ty::S(_) | Ty::F(_) | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2)
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
