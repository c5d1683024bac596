//! Addresses: conversion between state spaces, and questions about them.

use gpurace_abi::entry::Entry;

use crate::ir::address_space::{self as number, SHARED};
use crate::translate::ptx::op::{Address, Op, Operand};
use crate::translate::ptx::types::{Space, Ty};

use super::body::{Body, Refused, Translated};

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::Cvta { to, space, ty, d, a } => cvta(body, *to, *space, *ty, [d, a]),
        Op::Isspacep { space, p, a } => {
            let address = body.get(a, Ty::U(64))?;
            let pointer = body.value(format_args!("inttoptr i64 {address} to ptr"));
            let is = |body: &mut Body, entry: Entry| {
                let r = body.entry(entry, &[&pointer]);
                body.value(format_args!("icmp ne i32 {r}, 0"))
            };
            let r = match space {
                Space::Shared => is(body, Entry::IsShared),
                Space::SharedCluster => in_cluster(body, &pointer),
                Space::Local => is(body, Entry::IsLocal),
                Space::Global => {
                    let (s, l) = (in_cluster(body, &pointer), is(body, Entry::IsLocal));
                    let other = body.value(format_args!("or i1 {s}, {l}"));
                    body.value(format_args!("xor i1 {other}, true"))
                }
                _ => return Err(Refused),
            };
            body.set(p, Ty::Pred, &r)
        }
        Op::Mapa { space, ty, d, a, rank } => {
            let (address, rank) = (body.get(a, *ty)?, body.get(rank, Ty::U(32))?);
            let generic = shared_or_generic(body, *space, *ty, &address);
            let mapped = body.entry(Entry::Mapa, &[&generic, &rank]);
            let number = match space {
                Space::Generic => body.value(format_args!("ptrtoint ptr {mapped} to i64")),
                _ => {
                    let shared =
                        body.value(format_args!("addrspacecast ptr {mapped} to ptr addrspace({SHARED})"));
                    body.value(format_args!("ptrtoint ptr addrspace({SHARED}) {shared} to i64"))
                }
            };
            // 32 bits hold an address in shared memory; wider registers hold it without a sign.
            let number = match space {
                Space::Generic => number,
                _ => body.value(format_args!("and i64 {number}, {}", u32::MAX)),
            };
            let number = body.resize(&number, 64, ty.bits(), "zext");
            body.set(d, *ty, &number)
        }
        Op::ClusterRank { space, ty, d, a } => {
            let address = body.get(a, *ty)?;
            let generic = shared_or_generic(body, *space, *ty, &address);
            let rank = body.entry(Entry::SharedRank, &[&generic]);
            body.set(d, Ty::U(32), &rank)
        }
        _ => Err(Refused),
    }
}

/// True (as `i1`) if a generic address lies in shared memory of the cluster.
fn in_cluster(body: &mut Body, pointer: &str) -> String {
    let rank = body.entry(Entry::SharedRank, &[pointer]);
    body.value(format_args!("icmp ne i32 {rank}, -1"))
}

/// Converts a number, a shared or generic address, to a generic pointer.
fn shared_or_generic(body: &mut Body, space: Space, ty: Ty, address: &str) -> String {
    let number = body.resize(address, ty.bits(), 64, "zext");
    if space == Space::Generic {
        return body.value(format_args!("inttoptr i64 {number} to ptr"));
    }
    let shared = body.value(format_args!("inttoptr i64 {number} to ptr addrspace({SHARED})"));
    body.value(format_args!("addrspacecast ptr addrspace({SHARED}) {shared} to ptr"))
}

/// Address conversion. Only shared addresses differ from generic ones on the
/// host: there their number is the offset in the block's shared memory.
fn cvta(body: &mut Body, to: bool, space: Space, ty: Ty, [d, a]: [&Operand; 2]) -> Translated {
    let bits = ty.bits();
    let value = body.get(a, ty)?;
    if !matches!(space, Space::Shared | Space::SharedCluster) {
        return body.set(d, ty, &value);
    }
    let value = body.resize(&value, bits, 64, "zext");
    let shared = format!("ptr addrspace({SHARED})");
    let (from, into) = if to { ("ptr", shared.as_str()) } else { (shared.as_str(), "ptr") };
    let pointer = body.value(format_args!("inttoptr i64 {value} to {from}"));
    let pointer = body.value(format_args!("addrspacecast {from} {pointer} to {into}"));
    let number = body.value(format_args!("ptrtoint {into} {pointer} to i64"));
    let number = body.resize(&number, 64, bits, "zext");
    body.set(d, ty, &number)
}

/// The pointer that an instruction's address means, with its type.
pub(super) fn pointer(body: &mut Body, space: Space, address: &Address, extra: u32) -> Translated<String> {
    let number = address_space(space)?;
    let ty = if number == 0 { "ptr".to_owned() } else { format!("ptr addrspace({number})") };
    let base = match &address.base {
        Operand::Symbol(name) => {
            let symbol = body.symbol(name)?;
            // The address of a variable is one in its own state space.
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

/// The LLVM address space of a state space.
pub(super) fn address_space(space: Space) -> Translated<u32> {
    match space {
        Space::Generic => Ok(number::GENERIC),
        Space::Global => Ok(number::GLOBAL),
        Space::Shared | Space::SharedCluster => Ok(number::SHARED),
        Space::Const => Ok(number::CONSTANT),
        Space::Local => Ok(number::LOCAL),
        Space::Param => Err(Refused),
    }
}
