//! Barriers, fences, exchange within a warp, and the end of a thread. They become calls of entry points.
//! The pass fills in their `sync` argument later.

use gpurace_abi::entry::Entry;

use crate::translate::ptx::op::{BarrierOp, Op, Operand, ReduxOp, VoteMode};
use crate::translate::ptx::types::Ty;

use super::body::{Body, Refused, Translated};

const WORD: Ty = Ty::B(32);

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::Fence { order, scope } => call(body, Entry::Fence, &[&code(*scope as u32), &code(*order as u32)]),
        Op::Barrier { op, d, id, threads, p } => {
            barrier(body, *op, d.as_ref(), id, threads.as_ref(), p.as_ref())
        }
        Op::ClusterArrive { order } => call(body, Entry::ClusterArrive, &[&code(*order as u32)]),
        Op::ClusterWait => call(body, Entry::ClusterWait, &[]),
        Op::WarpSync { mask } => {
            let mask = body.get(mask, WORD)?;
            call(body, Entry::Syncwarp, &[&mask])
        }
        Op::Shfl { mode, d, p, a, b, c, mask } => {
            let mask = mask_or_active(body, mask.as_ref())?;
            let (a, b, c) = (body.get(a, WORD)?, body.get(b, WORD)?, body.get(c, WORD)?);
            let r = body.entry(Entry::Shfl, &[&code(*mode as u32), &mask, &a, &b, &c]);
            value_and_predicate(body, &r, d, p.as_ref())
        }
        Op::Vote { mode, d, a, mask } => {
            let mask = mask_or_active(body, mask.as_ref())?;
            let p = body.get(a, Ty::Pred)?;
            let p = body.resize(&p, 1, 32, "zext");
            let r = body.entry(Entry::Vote, &[&code(*mode as u32), &mask, &p]);
            if *mode == VoteMode::Ballot {
                return body.set(d, WORD, &r);
            }
            let r = body.value(format_args!("icmp ne i32 {r}, 0"));
            body.set(d, Ty::Pred, &r)
        }
        Op::Match { all, ty, d, p, a, mask } => {
            let (value, mask) = (body.get(a, *ty)?, body.get(mask, WORD)?);
            let value = body.resize(&value, ty.bits(), 64, "zext");
            let (all, bits) = (code((*all).into()), code(ty.bits().into()));
            let r = body.entry(Entry::Match, &[&all, &mask, &value, &bits]);
            value_and_predicate(body, &r, d, p.as_ref())
        }
        Op::Redux { op, signed, d, a, mask } => {
            let number = match (op, signed) {
                (ReduxOp::Add, _) => "0",
                (ReduxOp::Min, false) => "1",
                (ReduxOp::Max, false) => "2",
                (ReduxOp::Min, true) => "3",
                (ReduxOp::Max, true) => "4",
                (ReduxOp::And, _) => "5",
                (ReduxOp::Or, _) => "6",
                (ReduxOp::Xor, _) => "7",
            };
            let (a, mask) = (body.get(a, WORD)?, body.get(mask, WORD)?);
            let r = body.entry(Entry::Redux, &[number, &mask, &a]);
            body.set(d, WORD, &r)
        }
        Op::Activemask { d } => {
            let r = body.entry(Entry::Activemask, &[]);
            body.set(d, WORD, &r)
        }
        Op::Elect { d, p, mask } => {
            // All lanes of the mask must arrive, as for a vote. The lowest lane leads.
            let mask = body.get(mask, WORD)?;
            body.entry(Entry::Vote, &[&code(VoteMode::Ballot as u32), &mask, "1"]);
            let leader = body.call("i32", "llvm.cttz.i32", &[("i32", &mask), ("i1", "false")]);
            let lane = body.call("i32", "llvm.nvvm.read.ptx.sreg.laneid", &[]);
            let own = body.value(format_args!("icmp eq i32 {leader}, {lane}"));
            body.set(d, WORD, &leader)?;
            body.set(p, Ty::Pred, &own)
        }
        Op::Nanosleep { t } => {
            let t = body.get(t, WORD)?;
            call(body, Entry::Nanosleep, &[&t])
        }
        Op::Trap | Op::Brkpt => call(body, Entry::Trap, &[]),
        Op::Exit => call(body, Entry::Exit, &[]),
        _ => Err(Refused),
    }
}

/// Calls an entry point that has no result.
fn call(body: &mut Body, entry: Entry, arguments: &[&str]) -> Translated {
    body.entry(entry, arguments);
    Ok(())
}

/// A number as IR text.
fn code(number: u32) -> String {
    number.to_string()
}

/// The mask of a collective. The legacy forms have none: the active threads take part.
fn mask_or_active(body: &mut Body, mask: Option<&Operand>) -> Translated<String> {
    match mask {
        Some(mask) => body.get(mask, WORD),
        None => Ok(body.entry(Entry::Activemask, &[])),
    }
}

/// Takes apart a result whose low word is a value and whose bit 32 is a predicate.
fn value_and_predicate(body: &mut Body, both: &str, d: &Operand, p: Option<&Operand>) -> Translated {
    let value = body.resize(both, 64, 32, "zext");
    body.set(d, WORD, &value)?;
    let Some(p) = p else { return Ok(()) };
    let high = body.value(format_args!("lshr i64 {both}, 32"));
    let bit = body.resize(&high, 64, 1, "zext");
    body.set(p, Ty::Pred, &bit)
}

/// A barrier of the block; with `d` and `p`, one that reduces predicates.
fn barrier(
    body: &mut Body,
    op: BarrierOp,
    d: Option<&Operand>,
    id: &Operand,
    threads: Option<&Operand>,
    p: Option<&Operand>,
) -> Translated {
    let id = body.get(id, WORD)?;
    let threads = body.get_or(threads, WORD, "0")?;
    let number = match op {
        BarrierOp::Sync | BarrierOp::Arrive => {
            let entry = if op == BarrierOp::Sync { Entry::Barrier } else { Entry::BarrierArrive };
            body.entry(entry, &[&id, &threads]);
            return Ok(());
        }
        BarrierOp::Popc => "0",
        BarrierOp::And => "1",
        BarrierOp::Or => "2",
    };
    let (Some(d), Some(p)) = (d, p) else { return Err(Refused) };
    let p = body.get(p, Ty::Pred)?;
    let p = body.resize(&p, 1, 32, "zext");
    let r = body.entry(Entry::BarrierRed, &[&id, &threads, number, &p]);
    if op == BarrierOp::Popc {
        return body.set(d, Ty::U(32), &r);
    }
    let r = body.value(format_args!("icmp ne i32 {r}, 0"));
    body.set(d, Ty::Pred, &r)
}
