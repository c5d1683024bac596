//! Conversion of addresses between state spaces, and tests of their space.

use crate::ir::address_space as number;
use crate::translate::ptx::op::{Address, Op, Operand};
use crate::translate::ptx::types::{Space, Ty};

use super::body::{Body, Refused, Translated};

const SHARED_POINTER: &str = "ptr addrspace(3)";

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::Cvta { to, space, ty, d, a } => cvta(body, *to, *space, *ty, [d, a]),
        Op::Isspacep { space, p, a } => {
            let address = body.get(a, Ty::U(64))?;
            let pointer = body.value(format_args!("inttoptr i64 {address} to ptr"));
            let name = match space {
                Space::Shared => "shared",
                Space::SharedCluster => "shared.cluster",
                Space::Local => "local",
                Space::Global => "global",
                _ => return Err(Refused),
            };
            let r = body.call("i1", &format!("llvm.nvvm.isspacep.{name}"), &[("ptr", &pointer)]);
            body.set(p, Ty::Pred, &r)
        }
        Op::Mapa { space, ty, d, a, rank } => {
            let (at, (pointer, suffix)) = (shared_or_generic(body, *space, *ty, a)?, of_cluster(*space));
            let rank = body.get(rank, Ty::U(32))?;
            let mapa = format!("llvm.nvvm.mapa{suffix}");
            let mapped = body.call(pointer, &mapa, &[(pointer, &at), ("i32", &rank)]);
            let mut number = body.value(format_args!("ptrtoint {pointer} {mapped} to i64"));
            if *space != Space::Generic {
                // 32 bits hold an address in shared memory; wider registers hold it without a sign.
                number = body.value(format_args!("and i64 {number}, {}", u32::MAX));
            }
            let number = body.resize(&number, 64, ty.bits(), "zext");
            body.set(d, *ty, &number)
        }
        Op::ClusterRank { space, ty, d, a } => {
            let (at, (pointer, suffix)) = (shared_or_generic(body, *space, *ty, a)?, of_cluster(*space));
            let rank = body.call("i32", &format!("llvm.nvvm.getctarank{suffix}"), &[(pointer, &at)]);
            body.set(d, Ty::U(32), &rank)
        }
        _ => Err(Refused),
    }
}

/// The type of a shared or generic pointer, and the suffix of the intrinsics that take it.
fn of_cluster(space: Space) -> (&'static str, &'static str) {
    if space == Space::Generic { ("ptr", "") } else { (SHARED_POINTER, ".shared.cluster") }
}

/// An operand that holds a shared or generic address, as a pointer.
fn shared_or_generic(body: &mut Body, space: Space, ty: Ty, a: &Operand) -> Translated<String> {
    let number = body.get(a, ty)?;
    let number = body.resize(&number, ty.bits(), 64, "zext");
    Ok(body.value(format_args!("inttoptr i64 {number} to {}", of_cluster(space).0)))
}

/// Address conversion. On the host only shared addresses differ from generic ones: their number is the
/// offset in the block's shared memory.
fn cvta(body: &mut Body, to: bool, space: Space, ty: Ty, [d, a]: [&Operand; 2]) -> Translated {
    let bits = ty.bits();
    let value = body.get(a, ty)?;
    if !matches!(space, Space::Shared | Space::SharedCluster) {
        return body.set(d, ty, &value);
    }
    let value = body.resize(&value, bits, 64, "zext");
    let (from, into) = if to { ("ptr", SHARED_POINTER) } else { (SHARED_POINTER, "ptr") };
    let pointer = body.value(format_args!("inttoptr i64 {value} to {from}"));
    let pointer = body.value(format_args!("addrspacecast {from} {pointer} to {into}"));
    let number = body.value(format_args!("ptrtoint {into} {pointer} to i64"));
    let number = body.resize(&number, 64, bits, "zext");
    body.set(d, ty, &number)
}

/// The pointer for an instruction's address, with its type.
pub(super) fn pointer(body: &mut Body, space: Space, address: &Address, extra: u32) -> Translated<String> {
    let ty = pointer_type(space)?;
    let base = match &address.base {
        Operand::Symbol(name) => {
            let symbol = body.symbol(name)?;
            // The address of a variable belongs to the variable's own state space.
            let (own, value) = symbol.rsplit_once(' ').ok_or(Refused)?;
            if own == ty {
                value.to_owned()
            } else {
                body.value(format_args!("addrspacecast {symbol} to {ty}"))
            }
        }
        base => {
            let value = body.get(base, Ty::B(64))?;
            body.value(format_args!("inttoptr i64 {value} to {ty}"))
        }
    };
    let offset = address.offset.wrapping_add(i64::from(extra));
    if offset == 0 {
        return Ok(format!("{ty} {base}"));
    }
    let moved = body.value(format_args!("getelementptr i8, {ty} {base}, i64 {offset}"));
    Ok(format!("{ty} {moved}"))
}

/// The type of pointers into a state space.
pub(super) fn pointer_type(space: Space) -> Translated<String> {
    let space = match space {
        Space::Generic => return Ok("ptr".to_owned()),
        Space::Global => number::GLOBAL,
        Space::Shared | Space::SharedCluster => number::SHARED,
        Space::Const => number::CONSTANT,
        Space::Local => number::LOCAL,
        Space::Param => return Err(Refused),
    };
    Ok(format!("ptr addrspace({space})"))
}
