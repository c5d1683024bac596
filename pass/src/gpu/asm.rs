//! The accesses and the synchronisation of an inline asm, read from its text alone.

use gpurace_abi::scope::AtomicKind;

use super::matrix::Rows;
use crate::translate::ptx::effects::{self, AccessKind, AsyncCopy, Effects, Mbarrier, PtxAccess, Sync};
use crate::translate::ptx::op::AtomOp;
use crate::translate::ptx::types::Space;
use crate::translate::ptx::{self, Asm, Op, Operand, Stmt};

/// An action of a statement that the device runtime must know.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act<'a> {
    /// An access. It can be checked if its address is known before the asm runs.
    Access(CheckableAccess<'a>),
    /// All threads of the block meet at the barrier with this number. Number 0 is the block's.
    Barrier(&'a Operand),
    /// A sync of the lanes in a mask.
    Warp(&'a Operand),
    /// The thread ends.
    End,
}

/// An action and the statement that performs it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StatementAct<'a> {
    /// The index of the statement.
    pub statement: usize,
    pub act: Act<'a>,
}

/// The effects of an asm.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OfAsm<'a> {
    /// The known actions, in the order of the statements.
    pub steps: Vec<StatementAct<'a>>,
    /// True if the asm may order threads in a way that `steps` lacks.
    pub irregular: bool,
    /// The number of accesses that `steps` lacks.
    pub unseen: u32,
}

/// An access of a statement that may be checked before the asm.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CheckableAccess<'a> {
    pub access: PtxAccess<'a>,
    /// For the read of a copy: it happens only if this predicate is false.
    pub unless: Option<&'a Operand>,
    /// True for an access of an asynchronous copy.
    pub asynchronous: bool,
    /// For an access of the whole warp: the matrices. `access` is the lane's own row.
    pub rows: Option<Rows>,
}

/// The effects of an asm.
pub(super) fn of_asm(asm: &Asm) -> OfAsm<'_> {
    let mut out = OfAsm::default();
    let transparent = is_transparent(asm);
    for (n, statement) in asm.statements.iter().enumerate() {
        let effects = ptx::memory_effects(statement);
        let mut add = |act| out.steps.push(StatementAct { statement: n, act });
        for access in &effects.accesses {
            if matches!(access.space, Space::Local | Space::Const | Space::Param)
                || matches!(statement.op, Op::MbarrierInval { .. })
            {
                continue;
            }
            if transparent && is_checkable(asm, statement, &effects, access) {
                add(Act::Access(candidate(statement, access)));
            } else {
                out.unseen += 1;
                out.irregular |= is_strong(access);
            }
        }
        match &effects.sync {
            Some(Sync::Barrier { waits: true, id, threads: None }) => add(Act::Barrier(id)),
            Some(Sync::Warp(mask)) => add(Act::Warp(mask)),
            // `trap` and `brkpt` end the launch.
            Some(Sync::End) if matches!(statement.op, Op::Exit) => add(Act::End),
            Some(
                Sync::Fence(..)
                | Sync::Barrier { .. }
                | Sync::Cluster { .. }
                | Sync::AsyncCopy(AsyncCopy::Bulk),
            ) => out.irregular = true,
            // Waits for copies order the thread alone.
            Some(Sync::End | Sync::Collective(_) | Sync::Branch | Sync::AsyncCopy(_) | Sync::Mbarrier(_))
            | None => {}
        }
        out.unseen += u32::from(is_fetch(&statement.op));
        out.unseen += u32::from(effects.unsupported.is_some());
        out.irregular |= effects.unsupported.is_some();
    }
    if let Some(step) = wait_in_loop(asm) {
        return OfAsm { steps: vec![step], ..OfAsm::default() };
    }
    if asm.blocks.len() > 1 {
        // Branches decide which of them happen, and how often.
        out.irregular |= !out.steps.is_empty();
        out.steps.clear();
    }
    // The calls around the asm belong to one barrier.
    let meets = |step: &&StatementAct<'_>| matches!(step.act, Act::Barrier(_) | Act::Warp(_));
    out.irregular |= out.steps.iter().filter(meets).count() > 1;
    out
}

/// The wait of an asm that does nothing but test an mbarrier in a loop: the asm ends when the phase
/// is over, so the loop counts as one wait.
fn wait_in_loop(asm: &Asm) -> Option<StatementAct<'_>> {
    let mut found = None;
    for (n, statement) in asm.statements.iter().enumerate() {
        let effects = ptx::memory_effects(statement);
        match (&effects.sync, &effects.accesses[..]) {
            (Some(Sync::Mbarrier(Mbarrier::Wait(..))), [access])
                if found.is_none() && effects.guard.is_none() =>
            {
                let is_own = matches!(access.space, Space::Generic | Space::Shared);
                found = Some((n, candidate(statement, access))).filter(|_| is_own);
                found.as_ref()?;
            }
            (None | Some(Sync::Branch), []) if effects.unsupported.is_none() && !is_fetch(&statement.op) => {}
            _ => return None,
        }
    }
    let (statement, wait) = found.filter(|_| asm.blocks.len() > 1)?;
    Some(StatementAct { statement, act: Act::Access(wait) })
}

/// True for an access through a texture, a surface or a tensor map. Only the host knows which memory it touches.
fn is_fetch(op: &Op) -> bool {
    matches!(
        op,
        Op::Texture { .. }
            | Op::SurfaceLoad { .. }
            | Op::SurfaceStore { .. }
            | Op::TensorLoad { .. }
            | Op::TensorStore { .. }
    )
}

/// The access of a statement as a check sees it.
fn candidate<'a>(statement: &'a Stmt, access: &PtxAccess<'a>) -> CheckableAccess<'a> {
    let unless = match &statement.op {
        Op::CpAsync { ignore, .. } if access.kind == AccessKind::Read => ignore.as_ref(),
        _ => None,
    };
    CheckableAccess {
        access: PtxAccess { kind: kind_of(statement, access), ..access.clone() },
        unless,
        asynchronous: matches!(statement.op, Op::CpAsync { .. }),
        rows: Rows::of(&statement.op),
    }
}

/// True if all accesses of the asm may be checked before it: each statement runs at most once, and
/// no clock begins between two accesses.
fn is_transparent(asm: &Asm) -> bool {
    let one = asm.statements.len() == 1;
    asm.blocks.len() == 1
        && asm.statements.iter().all(|statement| {
            let effects = ptx::memory_effects(statement);
            let divides = matches!(
                effects.sync,
                Some(Sync::Barrier { .. } | Sync::Cluster { .. } | Sync::Warp(_) | Sync::End | Sync::Branch)
            );
            one || !(divides || effects.unsupported.is_some())
        })
}

/// True if a check before the asm can stand for an access.
fn is_checkable(asm: &Asm, statement: &Stmt, effects: &Effects<'_>, access: &PtxAccess<'_>) -> bool {
    let is_swap = matches!(statement.op, Op::Atom { op: AtomOp::CompareAndSwap, .. });
    let at_once = matches!(
        effects.sync,
        None | Some(
            Sync::AsyncCopy(AsyncCopy::Start | AsyncCopy::Arrive(_))
                | Sync::Mbarrier(Mbarrier::Lifetime(_) | Mbarrier::Arrive(_) | Mbarrier::Wait(..))
        )
    );
    // The shared memory of other blocks has no shadow.
    matches!(access.space, Space::Generic | Space::Global | Space::Shared)
        && (at_once || Rows::of(&statement.op).is_some())
        // A compare-and-swap that fails is a read: the check must know the outcome.
        && (!is_swap || effects::swap_arguments(asm).is_some())
}

/// True for an access that counts as atomic.
pub(super) fn is_strong(access: &PtxAccess<'_>) -> bool {
    matches!(access.kind, AccessKind::Atomic(..))
}

/// The kind of an access. `red`, and `atom` with the destination `_`, return nothing and are
/// reductions. So is the arrival at an mbarrier that copies make when they are done.
fn kind_of(statement: &Stmt, access: &PtxAccess<'_>) -> AccessKind {
    match (&statement.op, access.kind) {
        (Op::Atom { op, d, .. }, AccessKind::Atomic(AtomicKind::Rmw, order, scope))
            if *op != AtomOp::Exchange
                && *op != AtomOp::CompareAndSwap
                && d.iter().all(|d| *d == Operand::Sink) =>
        {
            AccessKind::Atomic(AtomicKind::Reduction, order, scope)
        }
        (Op::CpAsyncArrive { .. }, AccessKind::Atomic(_, order, scope)) => {
            AccessKind::Atomic(AtomicKind::Reduction, order, scope)
        }
        (_, kind) => kind,
    }
}

#[cfg(test)]
mod tests;
