//! The accesses and the synchronisation of an inline asm, read from its text alone.

use gpurace_abi::scope::{AtomicKind, Order, Scope};

use super::fetches;
use super::matrix::Rows;
use crate::translate::ptx::effects::{self, AccessKind, AsyncCopy, Effects, Mbarrier, PtxAccess, Sync};
use crate::translate::ptx::op::{Address, AtomOp};
use crate::translate::ptx::types::Space;
use crate::translate::ptx::{self, Asm, Op, Operand, Stmt};

/// An action of a statement that the device runtime must know.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act<'a> {
    /// An access. It can be checked if its address is known before the asm runs.
    Access(CheckableAccess<'a>),
    /// An access through a texture or a surface.
    Fetch(fetches::ImageAccess<&'a Operand>),
    /// A fence. `again`: the asm has read something before the fence, which the fence may acquire.
    /// Then the device runtime is called after the asm as well.
    Fence { scope: Scope, order: Order, again: bool },
    /// A barrier of the block. `counted`: the instruction gives the number of threads. `waits`: the
    /// thread waits for the others.
    Barrier { number: &'a Operand, counted: bool, waits: bool },
    /// A sync of the lanes in a mask.
    Warp(&'a Operand),
    /// The thread's asynchronous copies until now become a group.
    Commit,
    /// The thread waits for all its groups but this many. `None`: its copies until now become a
    /// group, and it waits for all groups.
    Wait(Option<&'a Operand>),
    /// The thread's next arrival at this mbarrier happens when its copies until now are done.
    CopiesArrive(Space, &'a Address),
    /// The thread arrives at the barrier of its cluster.
    ClusterArrive(Order),
    /// The thread waits at the barrier of its cluster.
    ClusterWait,
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
    /// The number of accesses through textures and surfaces that `steps` lacks.
    pub fetches: u32,
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
    /// For a load of an mbarrier that acquires only if the phase is over: the result that shows it.
    pub tells: Option<Tells>,
}

/// A result of an asm that shows whether the phase of an mbarrier is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tells {
    /// The index of the result.
    pub result: u32,
    /// Its value if the phase is over.
    pub over: u64,
}

/// The effects of an asm.
pub(super) fn of_asm(asm: &Asm) -> OfAsm<'_> {
    let mut out = OfAsm::default();
    let transparent = is_transparent(asm);
    for (n, statement) in asm.statements.iter().enumerate() {
        if is_harmless(&statement.op) {
            continue;
        }
        let effects = ptx::memory_effects(statement);
        let mut add = |act| out.steps.push(StatementAct { statement: n, act });
        if let Some(Sync::AsyncCopy(AsyncCopy::Arrive(at))) = effects.sync
            && let Some(access) = effects.accesses.first()
        {
            add(Act::CopiesArrive(access.space, at));
        }
        for access in &effects.accesses {
            if matches!(access.space, Space::Local | Space::Const | Space::Param)
                || matches!(statement.op, Op::MbarrierInval { .. })
            {
                continue;
            }
            if transparent && is_checkable(asm, statement, &effects, access) {
                add(Act::Access(candidate(asm, n, statement, access)));
            } else {
                out.unseen += 1;
                out.irregular |= is_strong(access);
            }
        }
        if let Some(act) = order(statement, &effects) {
            add(act);
        }
        if let Some(fetch) = fetches::of_statement(&statement.op) {
            match transparent {
                true => out.steps.push(StatementAct { statement: n, act: Act::Fetch(fetch) }),
                false => out.fetches += 1,
            }
        }
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
    out.irregular |= is_out_of_order(&mut out.steps);
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
                found = Some((n, candidate(asm, n, statement, access))).filter(|_| is_own);
                found.as_ref()?;
            }
            (None | Some(Sync::Branch), [])
                if effects.unsupported.is_none() && fetches::of_statement(&statement.op).is_none() => {}
            _ => return None,
        }
    }
    let (statement, wait) = found.filter(|_| asm.blocks.len() > 1)?;
    Some(StatementAct { statement, act: Act::Access(wait) })
}

/// True if an unmodelled instruction orders no threads: it is a fence between the proxies of one
/// thread.
fn is_harmless(op: &Op) -> bool {
    matches!(op, Op::Unsupported(name) if is_fence_of_proxies(name))
}

/// True for the name of a fence between proxies that neither acquires nor releases.
pub(super) fn is_fence_of_proxies(name: &str) -> bool {
    name.starts_with("fence.proxy.") && !name.contains("acquire") && !name.contains("release")
}

fn candidate<'a>(asm: &Asm, n: usize, statement: &'a Stmt, access: &PtxAccess<'a>) -> CheckableAccess<'a> {
    let unless = match &statement.op {
        Op::CpAsync { ignore, .. } if access.kind == AccessKind::Read => ignore.as_ref(),
        _ => None,
    };
    let tells = match &statement.op {
        Op::MbarrierWait { p, .. } => tells(asm, n, p),
        _ => None,
    };
    let asynchronous = matches!(statement.op, Op::CpAsync { .. });
    CheckableAccess {
        access: PtxAccess { kind: kind_of(statement, access), ..access.clone() },
        unless,
        asynchronous,
        rows: Rows::of(&statement.op),
        tells,
    }
}

/// The synchronisation of a statement, apart from its accesses.
fn order<'a>(statement: &'a Stmt, effects: &Effects<'a>) -> Option<Act<'a>> {
    Some(match &effects.sync {
        Some(Sync::Fence(order, scope)) => Act::Fence { scope: *scope, order: *order, again: false },
        Some(Sync::Barrier { waits, id, threads }) => {
            Act::Barrier { number: id, counted: threads.is_some(), waits: *waits }
        }
        Some(Sync::Warp(mask)) => Act::Warp(mask),
        Some(Sync::AsyncCopy(AsyncCopy::Commit)) => Act::Commit,
        Some(Sync::AsyncCopy(AsyncCopy::Wait(groups))) => Act::Wait(*groups),
        Some(Sync::Cluster { waits: true }) => Act::ClusterWait,
        Some(Sync::Cluster { waits: false }) => match statement.op {
            Op::ClusterArrive { order } => Act::ClusterArrive(order),
            _ => return None,
        },
        // `trap` and `brkpt` end the launch.
        Some(Sync::End) if matches!(statement.op, Op::Exit) => Act::End,
        Some(Sync::End | Sync::Collective(_) | Sync::Branch | Sync::AsyncCopy(_) | Sync::Mbarrier(_))
        | None => return None,
    })
}

/// True if calls around the asm cannot keep the order of its steps. Calls for waits and acquires
/// stand after the asm, all others before it, both in the order of the statements. So the call for
/// an access that follows a wait of the same asm would come too early. A fence that follows a read
/// gets a call on both sides.
fn is_out_of_order(steps: &mut [StatementAct<'_>]) -> bool {
    // The statements whose atomics read, and the last statement that acquires.
    let mut read: Vec<(usize, &Operand)> = Vec::new();
    let mut acquired = None;
    for StatementAct { statement, act } in steps {
        let is_later = acquired.is_some_and(|n| n < *statement);
        match act {
            Act::Access(CheckableAccess { access, .. }) => {
                // A thread that observed an atomic write comes after it.
                let observes = |&(n, base): &(usize, &Operand)| {
                    n < *statement && *base == access.address.base && !is_strong(access)
                };
                if is_later || read.iter().any(observes) {
                    return true;
                }
                if let AccessKind::Atomic(
                    AtomicKind::Load | AtomicKind::Rmw | AtomicKind::VolatileLoad,
                    order,
                    _,
                ) = access.kind
                {
                    read.push((*statement, &access.address.base));
                    acquired = if order.acquires() { Some(*statement) } else { acquired };
                }
            }
            // A fetch may read any memory.
            Act::Fetch(_) if is_later || !read.is_empty() => return true,
            Act::Fetch(_) => {}
            Act::Fence { again, .. } => {
                *again = !read.is_empty();
                acquired = if *again { Some(*statement) } else { acquired };
            }
            Act::Barrier { .. } | Act::Warp(_) | Act::CopiesArrive(..) | Act::ClusterArrive(_)
                if is_later =>
            {
                return true;
            }
            Act::Barrier { waits: true, .. } | Act::Warp(_) | Act::Wait(_) | Act::ClusterWait => {
                acquired = Some(*statement)
            }
            Act::Barrier { waits: false, .. }
            | Act::CopiesArrive(..)
            | Act::ClusterArrive(_)
            | Act::Commit
            | Act::End => {}
        }
    }
    false
}

/// The result that shows whether the `n`th statement, a test of an mbarrier, found its phase over.
fn tells(asm: &Asm, n: usize, p: &Operand) -> Option<Tells> {
    let Operand::Reg(predicate) = p else { return None };
    let is_always = |statement: &Stmt| statement.guard.is_none();
    // Anything beside these two may change the predicate or the result.
    let [wait, select] = &asm.statements[n..] else { return None };
    let Op::Value { name, d, of } = &select.op else { return None };
    match (&d[..], &of[..]) {
        (
            [(_, Operand::Reg(result))],
            [(_, Operand::Int(over)), (_, Operand::Int(not)), (_, Operand::Reg(p))],
        ) if name.starts_with("selp.")
            && p == predicate
            && over != not
            && is_always(wait)
            && is_always(select) =>
        {
            Some(Tells { result: asm.regs.get(result.0 as usize)?.operand?.result?, over: *over })
        }
        _ => None,
    }
}

/// True if all accesses of the asm may be checked before it: each statement runs at most once, and
/// no clock begins between two accesses.
fn is_transparent(asm: &Asm) -> bool {
    let one = asm.statements.len() == 1;
    asm.blocks.len() == 1
        && asm.statements.iter().all(|statement| {
            let effects = ptx::memory_effects(statement);
            let divides =
                matches!(effects.sync, Some(Sync::Barrier { .. } | Sync::Warp(_) | Sync::End | Sync::Branch));
            let unknown = effects.unsupported.is_some() && !is_harmless(&statement.op);
            one || !(divides || unknown)
        })
}

fn is_checkable(asm: &Asm, statement: &Stmt, effects: &Effects<'_>, access: &PtxAccess<'_>) -> bool {
    let is_swap = matches!(statement.op, Op::Atom { op: AtomOp::CompareAndSwap, .. });
    let at_once = matches!(
        effects.sync,
        None | Some(
            Sync::AsyncCopy(AsyncCopy::Start | AsyncCopy::Arrive(_))
                | Sync::Mbarrier(Mbarrier::Lifetime(_) | Mbarrier::Arrive(_) | Mbarrier::Wait(..))
        )
    );
    matches!(access.space, Space::Generic | Space::Global | Space::Shared | Space::SharedCluster)
        && (at_once || Rows::of(&statement.op).is_some())
        // A compare-and-swap that fails is a read: the check must know the outcome.
        && (!is_swap || effects::swap_arguments(asm).is_some())
}

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
