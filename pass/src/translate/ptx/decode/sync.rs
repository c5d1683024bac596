//! Barriers, exchange within a warp, mbarriers, and the end of a thread.

use gpurace_abi::scope::{Order, Scope};

use super::memory::{order, scope, space};
use crate::translate::ptx::op::{BarrierOp, MbarrierPhase, Op, Operand, ReduxOp, ShflMode, VoteMode};
use crate::translate::ptx::table::{Decoded, Instruction, Refusal};
use crate::translate::ptx::types::{Space, Ty};

pub(in crate::translate::ptx) fn bar(i: &mut Instruction) -> Decoded {
    if i.flag("warp") {
        if !i.flag("sync") {
            return Err(i.lacks("`.sync`"));
        }
        return Ok(Op::WarpSync { mask: i.scalar()? });
    }
    if i.flag("cluster") {
        return cluster(i);
    }
    i.flag("cta");
    // The order is the same if the threads of a warp do not arrive together.
    i.flag("aligned");
    if i.flag("sync") {
        let id = i.scalar()?;
        let threads = if i.left() > 0 { Some(i.scalar()?) } else { None };
        return Ok(Op::Barrier { op: BarrierOp::Sync, d: None, id, threads, p: None });
    }
    if i.flag("arrive") {
        let (id, threads) = (i.scalar()?, i.scalar()?);
        return Ok(Op::Barrier { op: BarrierOp::Arrive, d: None, id, threads: Some(threads), p: None });
    }
    if !i.flag("red") {
        return Err(i.lacks("`.sync`, `.arrive` or `.red`"));
    }
    let op = i
        .choice(&[("popc", BarrierOp::Popc), ("and", BarrierOp::And), ("or", BarrierOp::Or)])
        .ok_or_else(|| i.lacks("an operation"))?;
    let ty = i.ty()?;
    let wanted = if op == BarrierOp::Popc { Ty::U(32) } else { Ty::Pred };
    if ty != wanted {
        return Err(i.lacks("the type of its result"));
    }
    let (d, id) = (i.destination()?, i.scalar()?);
    let threads = if i.left() > 1 { Some(i.scalar()?) } else { None };
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
    if !i.flag("arrive") {
        return Err(i.lacks("`.arrive` or `.wait`"));
    }
    let order = i.choice(&[("release", Order::Release), ("relaxed", Order::Relaxed)]);
    Ok(Op::ClusterArrive { order: order.unwrap_or(Order::Release) })
}

pub(in crate::translate::ptx) fn shfl(i: &mut Instruction) -> Decoded {
    let sync = i.flag("sync");
    let mode = i
        .choice(&[
            ("idx", ShflMode::Idx),
            ("up", ShflMode::Up),
            ("down", ShflMode::Down),
            ("bfly", ShflMode::Bfly),
        ])
        .ok_or_else(|| i.lacks("`.idx`, `.up`, `.down` or `.bfly`"))?;
    i.ty_of(|ty| ty.bits() == 32)?;
    let (d, p) = i.destinations()?;
    let (a, b, c) = (i.scalar()?, i.scalar()?, i.scalar()?);
    let mask = if sync { Some(i.scalar()?) } else { None };
    Ok(Op::Shfl { mode, d, p, a, b, c, mask })
}

pub(in crate::translate::ptx) fn vote(i: &mut Instruction) -> Decoded {
    let sync = i.flag("sync");
    let mode = i
        .choice(&[
            ("all", VoteMode::All),
            ("any", VoteMode::Any),
            ("uni", VoteMode::Uni),
            ("ballot", VoteMode::Ballot),
        ])
        .ok_or_else(|| i.lacks("`.all`, `.any`, `.uni` or `.ballot`"))?;
    let ty = i.ty()?;
    if (ty == Ty::Pred) == (mode == VoteMode::Ballot) {
        return Err(i.lacks("the type of its result"));
    }
    let (d, a) = (i.destination()?, i.scalar()?);
    let mask = if sync { Some(i.scalar()?) } else { None };
    Ok(Op::Vote { mode, d, a, mask })
}

pub(in crate::translate::ptx) fn matches(i: &mut Instruction) -> Decoded {
    let all = i.choice(&[("any", false), ("all", true)]).ok_or_else(|| i.lacks("`.any` or `.all`"))?;
    if !i.flag("sync") {
        return Err(i.lacks("`.sync`"));
    }
    let ty = i.ty_of(|ty| matches!(ty.bits(), 32 | 64))?;
    let (d, p) = i.destinations()?;
    let (a, mask) = (i.scalar()?, i.scalar()?);
    Ok(Op::Match { all, ty, d, p, a, mask })
}

pub(in crate::translate::ptx) fn redux(i: &mut Instruction) -> Decoded {
    if !i.flag("sync") {
        return Err(i.lacks("`.sync`"));
    }
    let op = i
        .choice(&[
            ("add", ReduxOp::Add),
            ("min", ReduxOp::Min),
            ("max", ReduxOp::Max),
            ("and", ReduxOp::And),
            ("or", ReduxOp::Or),
            ("xor", ReduxOp::Xor),
        ])
        .ok_or_else(|| i.lacks("an operation"))?;
    let ty = i.ty_of(|ty| matches!(ty, Ty::U(32) | Ty::S(32) | Ty::B(32)))?;
    let (d, a, mask) = (i.destination()?, i.scalar()?, i.scalar()?);
    Ok(Op::Redux { op, signed: ty.is_signed(), d, a, mask })
}

pub(in crate::translate::ptx) fn activemask(i: &mut Instruction) -> Decoded {
    i.ty_of(|ty| ty.bits() == 32)?;
    Ok(Op::Activemask { d: i.destination()? })
}

pub(in crate::translate::ptx) fn elect(i: &mut Instruction) -> Decoded {
    if !i.flag("sync") {
        return Err(i.lacks("`.sync`"));
    }
    let (d, Some(p)) = i.destinations()? else {
        return Err(i.operands_wanted("a lane and a predicate, `d|p`"));
    };
    Ok(Op::Elect { d, p, mask: i.scalar()? })
}

/// Where an mbarrier may lie: shared memory, or generic.
fn barrier_space(i: &mut Instruction) -> Decoded<Space> {
    match space(i) {
        space @ (Space::Generic | Space::Shared | Space::SharedCluster) => Ok(space),
        _ => Err(Refusal::Unsupported),
    }
}

fn b64(i: &mut Instruction) -> Decoded<()> {
    i.ty_of(|ty| ty == Ty::B(64)).map(|_| ())
}

pub(in crate::translate::ptx) fn mbarrier(i: &mut Instruction) -> Decoded {
    if i.flag("init") {
        let space = barrier_space(i)?;
        b64(i)?;
        return Ok(Op::MbarrierInit { space, at: i.address()?, count: i.scalar()? });
    }
    if i.flag("inval") {
        let space = barrier_space(i)?;
        b64(i)?;
        return Ok(Op::MbarrierInval { space, at: i.address()? });
    }
    if i.flag("pending_count") {
        b64(i)?;
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
        b64(i)?;
        return Ok(Op::MbarrierTx { complete, scope, space, at: i.address()?, bytes: i.scalar()? });
    }
    Err(Refusal::Unsupported)
}

fn arrive(i: &mut Instruction, drop: bool) -> Decoded {
    let (no_complete, expects) = (i.flag("noComplete"), i.flag("expect_tx"));
    let order = order(i).unwrap_or(Order::Release);
    let scope = scope(i).unwrap_or(Scope::Block);
    let space = barrier_space(i)?;
    b64(i)?;
    let state = if i.address_next() { Operand::Sink } else { i.destination()? };
    let at = i.address()?;
    let (mut expect_tx, mut count) = (None, None);
    if expects {
        expect_tx = Some(i.scalar()?);
    } else if no_complete || i.left() > 0 {
        count = Some(i.scalar()?);
    }
    Ok(Op::MbarrierArrive { drop, no_complete, expect_tx, order, scope, space, state, at, count })
}

fn wait(i: &mut Instruction, suspends: bool) -> Decoded {
    let parity = i.flag("parity");
    let order = order(i).unwrap_or(Order::Acquire);
    let scope = scope(i).unwrap_or(Scope::Block);
    let space = barrier_space(i)?;
    b64(i)?;
    let (p, at, phase) = (i.destination()?, i.address()?, i.scalar()?);
    let phase = if parity { MbarrierPhase::Parity(phase) } else { MbarrierPhase::Token(phase) };
    // How long to suspend is a hint.
    if suspends && i.left() > 0 {
        i.scalar()?;
    }
    Ok(Op::MbarrierWait { suspends, order, scope, space, p, at, phase })
}

pub(in crate::translate::ptx) fn nanosleep(i: &mut Instruction) -> Decoded {
    i.ty_of(|ty| ty == Ty::U(32))?;
    Ok(Op::Nanosleep { t: i.scalar()? })
}

pub(in crate::translate::ptx) fn trap(_: &mut Instruction) -> Decoded {
    Ok(Op::Trap)
}

pub(in crate::translate::ptx) fn exit(_: &mut Instruction) -> Decoded {
    Ok(Op::Exit)
}

pub(in crate::translate::ptx) fn brkpt(_: &mut Instruction) -> Decoded {
    Ok(Op::Brkpt)
}

/// Branches are read by the parser, which knows the labels.
pub(in crate::translate::ptx) fn never(_: &mut Instruction) -> Decoded {
    Err(Refusal::Unsupported)
}
