//! Barriers, exchange within a warp, mbarriers, and the end of a thread.

use gpurace_abi::scope::{Order, Scope};

use super::memory::{order, scope};
use crate::translate::ptx::instruction::{Decoded, Instruction, Refusal, only_if};
use crate::translate::ptx::op::{BarrierOp, MbarrierPhase, Op, Operand, ReduxOp, ShflMode, VoteMode};
use crate::translate::ptx::types::{Space, Ty};

pub fn bar(i: &mut Instruction) -> Decoded {
    if i.flag("warp") {
        i.need("sync", "`.sync`")?;
        return Ok(Op::WarpSync { mask: i.scalar()? });
    }
    if i.flag("cluster") {
        return cluster(i);
    }
    i.flag("cta");
    // A barrier orders the same also if the threads of a warp do not arrive together.
    i.flag("aligned");
    if i.flag("sync") {
        let id = i.scalar()?;
        let threads = i.scalar_if(i.left() > 0)?;
        return Ok(Op::Barrier { op: BarrierOp::Sync, d: None, id, threads, p: None });
    }
    if i.flag("arrive") {
        let (id, threads) = (i.scalar()?, i.scalar()?);
        return Ok(Op::Barrier { op: BarrierOp::Arrive, d: None, id, threads: Some(threads), p: None });
    }
    i.need("red", "`.sync`, `.arrive` or `.red`")?;
    let ops = [("popc", BarrierOp::Popc), ("and", BarrierOp::And), ("or", BarrierOp::Or)];
    let op = i.one_of(&ops, "an operation")?;
    let ty = i.ty()?;
    let wanted = if op == BarrierOp::Popc { Ty::U(32) } else { Ty::Pred };
    if ty != wanted {
        return Err(i.lacks("the type of its result"));
    }
    let (d, id) = (i.destination()?, i.scalar()?);
    let threads = i.scalar_if(i.left() > 1)?;
    let p = i.scalar()?;
    Ok(Op::Barrier { op, d: Some(d), id, threads, p: Some(p) })
}

/// `barrier.cluster`.
fn cluster(i: &mut Instruction) -> Decoded {
    i.flag("aligned");
    if i.flag("wait") {
        i.flag("acquire");
        return Ok(Op::ClusterWait);
    }
    i.need("arrive", "`.arrive` or `.wait`")?;
    let order = i.choice(&[("release", Order::Release), ("relaxed", Order::Relaxed)]);
    Ok(Op::ClusterArrive { order: order.unwrap_or(Order::Release) })
}

pub fn shfl(i: &mut Instruction) -> Decoded {
    let sync = i.flag("sync");
    let modes =
        [("idx", ShflMode::Idx), ("up", ShflMode::Up), ("down", ShflMode::Down), ("bfly", ShflMode::Bfly)];
    let mode = i.one_of(&modes, "`.idx`, `.up`, `.down` or `.bfly`")?;
    i.ty_of(|ty| ty.bits() == 32)?;
    let (d, p) = i.destinations()?;
    let (a, b, c, mask) = (i.scalar()?, i.scalar()?, i.scalar()?, i.scalar_if(sync)?);
    Ok(Op::Shfl { mode, d, p, a, b, c, mask })
}

pub fn vote(i: &mut Instruction) -> Decoded {
    let sync = i.flag("sync");
    let modes = [
        ("all", VoteMode::All),
        ("any", VoteMode::Any),
        ("uni", VoteMode::Uni),
        ("ballot", VoteMode::Ballot),
    ];
    let mode = i.one_of(&modes, "`.all`, `.any`, `.uni` or `.ballot`")?;
    let ty = i.ty()?;
    if (ty == Ty::Pred) == (mode == VoteMode::Ballot) {
        return Err(i.lacks("the type of its result"));
    }
    let (d, a, mask) = (i.destination()?, i.scalar()?, i.scalar_if(sync)?);
    Ok(Op::Vote { mode, d, a, mask })
}

pub fn matches(i: &mut Instruction) -> Decoded {
    let all = i.one_of(&[("any", false), ("all", true)], "`.any` or `.all`")?;
    i.need("sync", "`.sync`")?;
    let ty = i.ty_of(|ty| matches!(ty.bits(), 32 | 64))?;
    let (d, p) = i.destinations()?;
    let (a, mask) = (i.scalar()?, i.scalar()?);
    Ok(Op::Match { all, ty, d, p, a, mask })
}

const REDUCTIONS: &[(&str, ReduxOp)] = &[
    ("add", ReduxOp::Add),
    ("min", ReduxOp::Min),
    ("max", ReduxOp::Max),
    ("and", ReduxOp::And),
    ("or", ReduxOp::Or),
    ("xor", ReduxOp::Xor),
];

pub fn redux(i: &mut Instruction) -> Decoded {
    i.need("sync", "`.sync`")?;
    let op = i.one_of(REDUCTIONS, "an operation")?;
    let ty = i.ty_of(|ty| matches!(ty, Ty::U(32) | Ty::S(32) | Ty::B(32)))?;
    let (d, a, mask) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Redux { op, signed: ty.is_signed(), d, a, mask })
}

pub fn activemask(i: &mut Instruction) -> Decoded {
    i.ty_of(|ty| ty.bits() == 32)?;
    Ok(Op::Activemask { d: i.destination()? })
}

pub fn elect(i: &mut Instruction) -> Decoded {
    i.need("sync", "`.sync`")?;
    let (d, Some(p)) = i.destinations()? else {
        return Err(i.operands_wanted("a lane and a predicate, `d|p`"));
    };
    Ok(Op::Elect { d, p, mask: i.scalar()? })
}

/// The state space of an mbarrier, shared or generic, and `.b64`.
fn barrier_space(i: &mut Instruction) -> Decoded<Space> {
    let space = i.space();
    only_if(matches!(space, Space::Generic | Space::Shared | Space::SharedCluster))?;
    i.ty_of(|ty| ty == Ty::B(64))?;
    Ok(space)
}

pub fn mbarrier(i: &mut Instruction) -> Decoded {
    if i.flag("init") {
        return Ok(Op::MbarrierInit { space: barrier_space(i)?, at: i.address()?, count: i.scalar()? });
    }
    if i.flag("inval") {
        return Ok(Op::MbarrierInval { space: barrier_space(i)?, at: i.address()? });
    }
    if i.flag("pending_count") {
        i.ty_of(|ty| ty == Ty::B(64))?;
        return Ok(Op::MbarrierPendingCount { d: i.destination()?, state: i.scalar()? });
    }
    if let Some(drop) = i.choice(&[("arrive", false), ("arrive_drop", true)]) {
        return arrive(i, drop);
    }
    if let Some(suspends) = i.choice(&[("test_wait", false), ("try_wait", true)]) {
        return wait(i, suspends);
    }
    if let Some(complete) = i.choice(&[("expect_tx", false), ("complete_tx", true)]) {
        order(i);
        let scope = scope(i).unwrap_or(Scope::Block);
        let space = barrier_space(i)?;
        return Ok(Op::MbarrierTx { complete, scope, space, at: i.address()?, bytes: i.scalar()? });
    }
    Err(Refusal::Unsupported)
}

fn arrive(i: &mut Instruction, drop: bool) -> Decoded {
    let (no_complete, expects) = (i.flag("noComplete"), i.flag("expect_tx"));
    let order = order(i).unwrap_or(Order::Release);
    let scope = scope(i).unwrap_or(Scope::Block);
    let space = barrier_space(i)?;
    let state = if i.address_next() { Operand::Sink } else { i.destination()? };
    let at = i.address()?;
    let expect_tx = i.scalar_if(expects)?;
    let count = i.scalar_if(!expects && (no_complete || i.left() > 0))?;
    Ok(Op::MbarrierArrive { drop, no_complete, expect_tx, order, scope, space, state, at, count })
}

fn wait(i: &mut Instruction, suspends: bool) -> Decoded {
    let parity = i.flag("parity");
    let order = order(i).unwrap_or(Order::Acquire);
    let scope = scope(i).unwrap_or(Scope::Block);
    let space = barrier_space(i)?;
    let (p, at, phase) = (i.destination()?, i.address()?, i.scalar()?);
    let phase = if parity { MbarrierPhase::Parity(phase) } else { MbarrierPhase::Token(phase) };
    // How long to suspend is a hint.
    i.scalar_if(suspends && i.left() > 0)?;
    Ok(Op::MbarrierWait { suspends, order, scope, space, p, at, phase })
}

pub fn nanosleep(i: &mut Instruction) -> Decoded {
    i.ty_of(|ty| ty == Ty::U(32))?;
    Ok(Op::Nanosleep { t: i.scalar()? })
}

/// Branches are read by the parser, which knows the labels.
pub fn never(_: &mut Instruction) -> Decoded {
    Err(Refusal::Unsupported)
}
