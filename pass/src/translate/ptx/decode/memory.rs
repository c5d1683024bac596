//! Accesses, fences, asynchronous copies, hints.

use gpurace_abi::scope::{Order, Scope};

use crate::translate::ptx::instruction::{Decoded, Instruction, Refusal, only_if};
use crate::translate::ptx::op::{AtomOp, CacheHints, Op, Operand};
use crate::translate::ptx::types::{Space, Strength, Ty, scope_from_suffix};

const ORDERS: &[(&str, Order)] = &[
    ("relaxed", Order::Relaxed),
    ("acquire", Order::Acquire),
    ("release", Order::Release),
    ("acq_rel", Order::AcqRel),
];

pub(super) fn order(i: &mut Instruction) -> Option<Order> {
    i.choice(ORDERS)
}

pub(super) fn scope(i: &mut Instruction) -> Option<Scope> {
    i.one(scope_from_suffix)
}

/// Takes `.ca`, `.L1::evict_last`, `.L2::128B`, ... . True if a cache policy operand follows.
fn cache(i: &mut Instruction) -> (CacheHints, bool) {
    let policy = i.flag("L2::cache_hint") | i.flag("L1::cache_hint");
    let mut any = policy;
    let hint = |m: &str| {
        let operator = matches!(m, "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt");
        let level = m.starts_with("L1::") || m.starts_with("L2::");
        (operator || level).then_some(())
    };
    while i.one(hint).is_some() {
        any = true;
    }
    (CacheHints { non_coherent: i.flag("nc"), any }, policy)
}

fn strength(i: &mut Instruction) -> Decoded<Strength> {
    if i.flag("weak") {
        return Ok(Strength::Weak);
    }
    if i.flag("volatile") {
        return Ok(Strength::Volatile);
    }
    let mmio = i.flag("mmio");
    match order(i) {
        Some(order) => {
            let scope = scope(i).ok_or_else(|| i.lacks("a scope"))?;
            Ok(if mmio { Strength::Mmio } else { Strength::Strong(order, scope) })
        }
        None if mmio => Err(i.lacks("`.relaxed.sys`")),
        None => Ok(Strength::Weak),
    }
}

fn vector(i: &mut Instruction) -> usize {
    i.choice(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
}

fn accessible(ty: Ty) -> bool {
    matches!(ty, Ty::B(8..=128) | Ty::U(8..=64) | Ty::S(8..=64) | Ty::F(_))
}

/// Refuses vectors of 32 bytes, which are for later architectures.
fn check_size(n: usize, ty: Ty) -> Decoded<()> {
    only_if(n as u32 * ty.bytes() <= 16)
}

/// The modifiers of `ld` and `st`.
struct AccessModifiers {
    strength: Strength,
    space: Space,
    hints: CacheHints,
    /// True if an operand with a cache policy follows.
    policy: bool,
    n: usize,
    ty: Ty,
}

fn access(i: &mut Instruction) -> Decoded<AccessModifiers> {
    let (strength, space) = (strength(i)?, i.space());
    let (hints, policy) = cache(i);
    let (n, ty) = (vector(i), i.ty_of(accessible)?);
    check_size(n, ty)?;
    Ok(AccessModifiers { strength, space, hints, policy, n, ty })
}

pub fn ld(i: &mut Instruction) -> Decoded {
    let AccessModifiers { strength, space, hints, policy, n, ty } = access(i)?;
    if let Strength::Strong(Order::Release | Order::AcqRel | Order::SeqCst, _) = strength {
        return Err(i.lacks("an order that a load can have"));
    }
    let (d, from) = (i.registers(n)?, i.address()?);
    i.scalar_if(policy)?;
    Ok(Op::Ld { strength, space, hints, ty, d, from })
}

/// `st`. `st.async` tells an mbarrier of another block; it is left over and refused.
pub fn st(i: &mut Instruction) -> Decoded {
    let AccessModifiers { strength, space, hints, policy, n, ty } = access(i)?;
    if let Strength::Strong(Order::Acquire | Order::AcqRel | Order::SeqCst, _) = strength {
        return Err(i.lacks("an order that a store can have"));
    }
    if matches!(space, Space::Const) {
        return Err(i.lacks("a state space that can be written"));
    }
    let (to, a) = (i.address()?, i.elements(n)?);
    i.scalar_if(policy)?;
    Ok(Op::St { strength, space, hints, ty, to, a })
}

const ATOMS: &[(&str, AtomOp)] = &[
    ("and", AtomOp::And),
    ("or", AtomOp::Or),
    ("xor", AtomOp::Xor),
    ("exch", AtomOp::Exchange),
    ("cas", AtomOp::CompareAndSwap),
    ("add", AtomOp::Add),
    ("inc", AtomOp::Inc),
    ("dec", AtomOp::Dec),
    ("min", AtomOp::Min),
    ("max", AtomOp::Max),
];

/// True if an operation is defined for a type (PTX ISA, `atom`).
fn atomic_type(op: AtomOp, ty: Ty, n: usize) -> bool {
    let half = matches!(ty, Ty::F(16) | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2);
    match op {
        AtomOp::And | AtomOp::Or | AtomOp::Xor => {
            matches!(ty, Ty::B(32 | 64) | Ty::U(32 | 64) | Ty::S(32 | 64))
        }
        AtomOp::Exchange | AtomOp::CompareAndSwap => {
            matches!(ty, Ty::B(16..=128) | Ty::U(32 | 64) | Ty::S(32 | 64) | Ty::F(32))
        }
        AtomOp::Add => matches!(ty, Ty::U(32 | 64) | Ty::S(32 | 64) | Ty::F(32 | 64)) || half,
        AtomOp::Inc | AtomOp::Dec => ty == Ty::U(32),
        AtomOp::Min | AtomOp::Max => matches!(ty, Ty::U(32 | 64) | Ty::S(32 | 64)) || (half && n > 1),
    }
}

/// `atom`, and `red`, which returns nothing. `red.async` tells an mbarrier of another block; it is left
/// over and refused.
pub fn atomic(i: &mut Instruction, returns: bool) -> Decoded {
    let order = order(i).unwrap_or(Order::Relaxed);
    let scope = scope(i).unwrap_or(Scope::Device);
    let space = i.space();
    let op = i.one_of(ATOMS, "an operation")?;
    // 16-bit atomics keep subnormals here, as `.noftz` demands.
    i.flag("noftz");
    let (_, policy) = cache(i);
    let n = vector(i);
    let ty = i.ty_of(|_| true)?;
    only_if(atomic_type(op, ty, n))?;
    only_if(matches!(space, Space::Generic | Space::Global | Space::Shared | Space::SharedCluster))?;
    check_size(n, ty)?;
    let d = if returns { i.registers(n)? } else { vec![Operand::Sink; n] };
    let (at, b, c) = (i.address()?, i.elements(n)?, i.scalar_if(op == AtomOp::CompareAndSwap)?);
    i.scalar_if(policy)?;
    Ok(Op::Atom { op, order, scope, space, ty, d, at, b, c })
}

/// `fence` and `membar`. Fences of proxies that also acquire or release are refused.
pub fn fence(i: &mut Instruction) -> Decoded {
    if i.flag("proxy") {
        only_if(i.flag("alias") || i.flag("async"))?;
        i.space();
        return Ok(Op::ProxyFence);
    }
    // The initialisation of mbarriers becomes visible to the cluster.
    i.flag("mbarrier_init");
    let sc = i.flag("sc");
    // `membar` is `fence.sc` since sm_70 (PTX ISA, `membar`).
    let weakest = if i.base() == "membar" { Order::SeqCst } else { Order::AcqRel };
    let order = if sc { Order::SeqCst } else { order(i).unwrap_or(weakest) };
    let scope = scope(i).ok_or_else(|| i.lacks("a scope"))?;
    Ok(Op::Fence { order, scope })
}

/// `cp.async`. `cp.reduce.async` is refused.
pub fn cp(i: &mut Instruction) -> Decoded {
    only_if(i.flag("async"))?;
    if i.flag("bulk") {
        return bulk(i);
    }
    if i.flag("commit_group") {
        return Ok(Op::CpAsyncCommit);
    }
    if i.flag("wait_all") {
        return Ok(Op::CpAsyncWait { pending: None });
    }
    if i.flag("wait_group") {
        return Ok(Op::CpAsyncWait { pending: Some(i.scalar()?) });
    }
    if i.flag("mbarrier") {
        only_if(i.flag("arrive"))?;
        let (noinc, space) = (i.flag("noinc"), i.space());
        only_if(space != Space::SharedCluster)?;
        i.ty_of(|ty| ty == Ty::B(64))?;
        return Ok(Op::CpAsyncArrive { noinc, space, at: i.address()? });
    }
    let (hints, policy) = cache(i);
    if !hints.any {
        return Err(i.lacks("`.ca` or `.cg`"));
    }
    let spaces = (i.one(Space::from_suffix), i.one(Space::from_suffix));
    if spaces != (Some(Space::Shared), Some(Space::Global)) {
        return Err(i.lacks("`.shared.global`"));
    }
    let (to, from, size) = (i.address()?, i.address()?, i.scalar()?);
    let source_size = i.scalar_if(i.left() > usize::from(policy))?;
    i.scalar_if(policy)?;
    Ok(Op::CpAsync { to, from, size, source_size, ignore: None })
}

/// `cp.async.bulk` without `.tensor`. `.multicast::cluster` is left over and refused.
fn bulk(i: &mut Instruction) -> Decoded {
    if i.flag("commit_group") {
        return Ok(Op::BulkCommit);
    }
    if i.flag("wait_group") {
        i.flag("read");
        return Ok(Op::BulkWait { pending: i.scalar()? });
    }
    if i.flag("prefetch") {
        return hint(i);
    }
    if i.flag("tensor") {
        return tensor(i);
    }
    let (_, policy) = cache(i);
    let spaces = (i.one(Space::from_suffix), i.one(Space::from_suffix));
    let (to, from, size) = (i.address()?, i.address()?, i.scalar()?);
    let op = match spaces {
        (Some(to_space @ (Space::Shared | Space::SharedCluster)), Some(Space::Global)) => {
            i.need("mbarrier::complete_tx::bytes", "`.mbarrier::complete_tx::bytes`")?;
            Op::BulkLoad { to_space, to, from, size, mbarrier: i.address()? }
        }
        (Some(Space::Global), Some(Space::Shared)) => {
            i.need("bulk_group", "`.bulk_group`")?;
            Op::BulkStore { to, from, size }
        }
        _ => return Err(Refusal::Unsupported),
    };
    i.scalar_if(policy)?;
    Ok(op)
}

/// `cp.async.bulk.tensor` of a tile. `.im2col`, `.tile::gather4` and the like are left over and refused.
fn tensor(i: &mut Instruction) -> Decoded {
    let rank = i.one_of(&[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)], "dimensions")?;
    i.flag("tile");
    let (_, policy) = cache(i);
    let spaces = (i.one(Space::from_suffix), i.one(Space::from_suffix));
    let op = match spaces {
        (Some(to_space @ (Space::Shared | Space::SharedCluster)), Some(Space::Global)) => {
            i.need("mbarrier::complete_tx::bytes", "`.mbarrier::complete_tx::bytes`")?;
            let (to, (map, at)) = (i.address()?, i.box_of(rank)?);
            Op::TensorLoad { to_space, to, map, at, mbarrier: i.address()? }
        }
        (Some(Space::Global), Some(Space::Shared)) => {
            i.need("bulk_group", "`.bulk_group`")?;
            let (map, at) = i.box_of(rank)?;
            Op::TensorStore { map, at, from: i.address()? }
        }
        _ => return Err(Refusal::Unsupported),
    };
    i.scalar_if(policy)?;
    Ok(op)
}

/// An instruction that changes nothing here, whatever its modifiers and operands.
pub fn hint(i: &mut Instruction) -> Decoded {
    i.accept_all();
    Ok(Op::Nop)
}

/// `createpolicy`: any policy will do, since policies are hints.
pub fn createpolicy(i: &mut Instruction) -> Decoded {
    let d = i.destination()?;
    i.accept_all();
    Ok(Op::Mov { ty: Ty::B(64), d, a: Operand::Int(0) })
}
