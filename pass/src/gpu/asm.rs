//! What an inline asm does to memory and to the order of threads, by its text alone.

use gpurace_abi::scope::{AtomicKind, Order};

use crate::ptx::effects::{self, Access, AccessKind, AsyncCopy, Effects, Sync};
use crate::ptx::op::AtomOp;
use crate::ptx::types::Space;
use crate::ptx::{self, Asm, Op, Operand, Stmt};

/// What an asm does to the order of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orders {
    /// A barrier of the whole block.
    Block,
    /// A sync of the lanes of the mask that is this argument of the asm.
    Warp(u32),
    /// The thread ends.
    End,
    /// Something that clocks do not show.
    Irregular,
}

/// What an asm does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OfAsm<'a> {
    /// What it orders by, but for the accesses' own orders.
    pub orders: Option<Orders>,
    /// Accesses that can be checked where their addresses are known before the asm runs.
    pub accesses: Vec<Candidate<'a>>,
    /// Accesses that cannot.
    pub unseen: u32,
    /// Asynchronous copies: what they do after they have begun is not checked.
    pub copies: u32,
    /// Accesses to textures and surfaces.
    pub fetches: u32,
    /// It may release to another block.
    pub releases: bool,
}

/// An access of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate<'a> {
    /// Which statement makes it.
    pub statement: usize,
    pub access: Access<'a>,
    /// A copy's read, which is made only where this predicate does not hold.
    pub unless: Option<&'a Operand>,
    /// An asynchronous copy's.
    pub asynchronous: bool,
}

/// What an asm does. A barrier or a warp sync is recognised where it is all that the text orders by.
pub(super) fn of_asm(asm: &Asm) -> OfAsm<'_> {
    let mut out = OfAsm::default();
    let mut all = Vec::new();
    let transparent = is_transparent(asm);
    for (n, statement) in asm.statements.iter().enumerate() {
        let effects = ptx::memory_effects(statement);
        let starts = matches!(effects.sync, Some(Sync::AsyncCopy(AsyncCopy::Start)));
        let mut hidden = false;
        for access in &effects.accesses {
            if matches!(access.space, Space::Local | Space::Const | Space::Param) {
                continue;
            }
            if transparent && is_checkable(asm, statement, &effects, access) {
                let unless = match &statement.op {
                    Op::CpAsync { ignore, .. } if access.kind == AccessKind::Read => ignore.as_ref(),
                    _ => None,
                };
                let access = Access { kind: kind_of(statement, access), ..access.clone() };
                out.accesses.push(Candidate { statement: n, access, unless, asynchronous: starts });
            } else {
                out.unseen += 1;
                hidden |= is_strong(access);
            }
        }
        out.copies += u32::from(starts);
        out.fetches += u32::from(matches!(statement.op, Op::Texture { .. } | Op::SurfaceLoad { .. } | Op::SurfaceStore { .. }));
        out.unseen += u32::from(effects.unsupported.is_some());
        out.releases |= effects.unsupported.is_some()
            || matches!(effects.sync, Some(Sync::Fence(..) | Sync::Mbarrier(_) | Sync::Cluster { .. }))
            || effects.accesses.iter().any(|a| matches!(a.kind, AccessKind::Atomic(_, order, _) if order != Order::Relaxed));
        all.extend(orders(asm, statement, &effects, hidden));
    }
    let branches = asm.blocks.len() > 1;
    out.orders = match all[..] {
        [] => None,
        [one] if !branches => Some(one),
        _ => Some(Orders::Irregular),
    };
    out
}

/// What a statement orders by. `hidden`: it has a strong access that is not checked.
fn orders(asm: &Asm, statement: &Stmt, effects: &Effects<'_>, hidden: bool) -> Option<Orders> {
    match &effects.sync {
        _ if effects.unsupported.is_some() => Some(Orders::Irregular),
        Some(Sync::Barrier { waits: true, id: Operand::Int(0), threads: None }) if effects.guard.is_none() => {
            Some(Orders::Block)
        }
        Some(Sync::Warp(mask)) if effects.guard.is_none() => {
            Some(argument_of(asm, mask).map_or(Orders::Irregular, Orders::Warp))
        }
        // A copy happens later, and its thread alone waits for it: nobody else is ordered.
        Some(Sync::AsyncCopy(AsyncCopy::Start | AsyncCopy::Commit | AsyncCopy::Wait(_))) => None,
        Some(
            Sync::Fence(..)
            | Sync::Barrier { .. }
            | Sync::Cluster { .. }
            | Sync::Warp(_)
            | Sync::AsyncCopy(AsyncCopy::Arrive(_))
            | Sync::Mbarrier(_),
        ) => Some(Orders::Irregular),
        // `trap` and `brkpt` end the launch; a slot that a guarded `exit` keeps is one less.
        Some(Sync::End) if matches!(statement.op, Op::Exit) && effects.guard.is_none() => Some(Orders::End),
        // What an atomic of any order has read may be a release, where something releases.
        _ if hidden => Some(Orders::Irregular),
        Some(Sync::End | Sync::Collective(_) | Sync::Branch) | None => None,
    }
}

/// Whether all that the asm accesses may be checked before it: each statement runs once, if its guard holds, and nothing in
/// it begins a new clock between two of its accesses.
fn is_transparent(asm: &Asm) -> bool {
    let one = asm.statements.len() == 1;
    asm.blocks.len() == 1
        && asm.statements.iter().all(|statement| {
            let effects = ptx::memory_effects(statement);
            let divides = matches!(effects.sync, Some(Sync::Barrier { .. } | Sync::Warp(_) | Sync::End | Sync::Branch));
            one || !(divides || effects.unsupported.is_some())
        })
}

fn is_checkable(asm: &Asm, statement: &Stmt, effects: &Effects<'_>, access: &Access<'_>) -> bool {
    let is_swap = matches!(statement.op, Op::Atom { op: AtomOp::CompareAndSwap, .. });
    matches!(access.space, Space::Generic | Space::Global | Space::Shared)
        && matches!(effects.sync, None | Some(Sync::AsyncCopy(AsyncCopy::Start)))
        // One that fails is a read: it has to be known before.
        && (!is_swap || effects::swap_arguments(asm).is_some())
}

pub(super) fn is_strong(access: &Access<'_>) -> bool {
    matches!(access.kind, AccessKind::Atomic(..))
}

/// What an access does: `red`, and an `atom` that is one by its destination `_`, gives nothing back.
fn kind_of(statement: &Stmt, access: &Access<'_>) -> AccessKind {
    match (&statement.op, access.kind) {
        (Op::Atom { op, d, .. }, AccessKind::Atomic(AtomicKind::Rmw, order, scope))
            if *op != AtomOp::Exchange && *op != AtomOp::CompareAndSwap && d.iter().all(|d| *d == Operand::Sink) =>
        {
            AccessKind::Atomic(AtomicKind::Reduction, order, scope)
        }
        (_, kind) => kind,
    }
}

/// The argument of the asm that an operand is.
fn argument_of(asm: &Asm, operand: &Operand) -> Option<u32> {
    let Operand::Reg(reg) = operand else { return None };
    asm.regs.get(reg.0 as usize)?.operand?.argument
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpurace_abi::scope::Scope;

    struct Seen {
        orders: Option<Orders>,
        kinds: Vec<AccessKind>,
        unseen: u32,
        releases: bool,
        copies: u32,
    }

    fn of(template: &str, constraints: &str) -> Seen {
        let asm = ptx::parse(template, constraints).unwrap();
        let OfAsm { orders, accesses, unseen, releases, copies, .. } = of_asm(&asm);
        Seen { orders, kinds: accesses.iter().map(|a| a.access.kind).collect(), unseen, releases, copies }
    }

    #[test]
    fn what_the_clocks_show_is_recognised() {
        assert_eq!(of("bar.sync 0;", "").orders, Some(Orders::Block));
        assert_eq!(of("barrier.sync 0;", "").orders, Some(Orders::Block));
        assert_eq!(of("bar.warp.sync $0;", "r").orders, Some(Orders::Warp(0)));
        let parsed = ptx::parse("add.u32 $0, $1, $1;", "=r,r").unwrap();
        assert_eq!(of_asm(&parsed), OfAsm::default());
        assert_eq!(of("exit;", "").orders, Some(Orders::End));
    }

    #[test]
    fn what_they_do_not_show_is_announced() {
        for (text, constraints) in [
            ("bar.sync 1;", ""),
            ("bar.sync 0, 64;", ""),
            ("bar.arrive 0, 64;", ""),
            ("bar.sync $0;", "r"),
            ("fence.acq_rel.gpu;", ""),
            ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p bar.sync 0; }", "r"),
            ("bar.sync 0; bar.sync 0;", ""),
            ("cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", "r"),
            ("mbarrier.init.shared.b64 [$0], 32;", "r,r"),
            ("barrier.cluster.arrive;", ""),
            ("barrier.cluster.wait;", ""),
            // Strong accesses whose check does not stand before them.
            ("ld.acquire.gpu.shared::cluster.u32 $0, [$1];", "=r,r"),
            ("{ bar.sync 0; atom.add.relaxed.gpu.u32 $0, [$1], 1; }", "=r,l"),
            ("{ .reg .u32 o; atom.cas.relaxed.gpu.b32 o, [$1], 1, 2; mov.u32 $0, o; }", "=r,l"),
        ] {
            assert_eq!(of(text, constraints).orders, Some(Orders::Irregular), "{text}");
        }
    }

    #[test]
    fn copies_order_nobody() {
        for text in ["cp.async.wait_all;", "cp.async.commit_group;", "cp.async.wait_group 1;"] {
            assert_eq!(of(text, "").orders, None, "{text}");
        }
        let copy = of("cp.async.ca.shared.global [$0], [$1], 4;", "r,l");
        assert_eq!((copy.orders, &copy.kinds[..], copy.unseen), (None, &[AccessKind::Read, AccessKind::Write][..], 0));
        // It goes on until it is waited for, which no check sees.
        assert_eq!(copy.copies, 1);
    }

    #[test]
    fn strong_accesses_announce_themselves() {
        for (text, constraints, kind, releases) in [
            ("ld.acquire.gpu.u32 $0, [$1];", "=r,l", AccessKind::Atomic(AtomicKind::Load, Order::Acquire, Scope::Device), true),
            ("ld.relaxed.sys.u32 $0, [$1];", "=r,l", AccessKind::Atomic(AtomicKind::Load, Order::Relaxed, Scope::System), false),
            ("st.release.cta.u32 [$0], $1;", "l,r", AccessKind::Atomic(AtomicKind::Store, Order::Release, Scope::Block), true),
            ("st.volatile.u32 [$0], $1;", "l,r", AccessKind::Atomic(AtomicKind::VolatileStore, Order::Relaxed, Scope::System), false),
            ("atom.add.relaxed.gpu.u32 $0, [$1], 1;", "=r,l", AccessKind::Atomic(AtomicKind::Rmw, Order::Relaxed, Scope::Device), false),
            ("red.release.gpu.add.u32 [$0], 1;", "l", AccessKind::Atomic(AtomicKind::Reduction, Order::Release, Scope::Device), true),
            ("atom.exch.b32 _, [$0], 1;", "l", AccessKind::Atomic(AtomicKind::Rmw, Order::Relaxed, Scope::Device), false),
            ("atom.cas.acquire.cta.b32 $0, [$1], $2, $3;", "=r,l,r,r", AccessKind::Atomic(AtomicKind::Rmw, Order::Acquire, Scope::Block), true),
        ] {
            let of = of(text, constraints);
            assert_eq!((of.orders, &of.kinds[..], of.unseen, of.releases), (None, &[kind][..], 0, releases), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_checked_before_the_asm_is_counted() {
        for (text, constraints) in [
            // Behind a barrier, an end, a branch, or what is not known.
            ("{ bar.sync 0; ld.global.u32 $0, [$1]; }", "=r,l"),
            ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p exit; st.u32 [$1], 1; }", "r,l"),
            ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p bra L; st.u32 [$1], 1; L: }", "r,l"),
            // In another block's memory.
            ("ld.shared::cluster.u32 $0, [$1];", "=r,r"),
            // Whether it will write is not known: the expected value, or the new one, is not an argument of the asm.
            ("atom.cas.b32 $0, [$1], 1, $2;", "=r,l,r"),
            ("{ .reg .pred p; setp.ne.u32 p, $4, 0; @p atom.cas.b32 $0, [$1], $2, $3; }", "=r,l,r,r,r"),
        ] {
            let of = of(text, constraints);
            assert_eq!((of.kinds.len(), of.unseen), (0, 1), "{text}");
        }
        // What is local is nobody else's.
        let local = of("ld.local.u32 $0, [$1];", "=r,l");
        assert_eq!((local.kinds.len(), local.unseen), (0, 0));
    }

    #[test]
    fn plain_accesses_are_checked() {
        for (text, constraints, kind) in [
            ("ld.global.nc.u32 $0, [$1];", "=r,l", AccessKind::Read),
            ("st.shared.u8 [$1], $0;", "r,r", AccessKind::Write),
            // Under a guard, and at an address that the asm computes.
            ("{ .reg .pred p; setp.ne.u32 p, $1, 0; @p ld.global.u32 $0, [$2]; }", "=r,r,l", AccessKind::Read),
            ("{ .reg .u64 a; add.u64 a, $1, 64; ld.global.u32 $0, [a]; }", "=r,l", AccessKind::Read),
        ] {
            let of = of(text, constraints);
            assert_eq!((&of.kinds[..], of.unseen, of.orders, of.releases), (&[kind][..], 0, None, false), "{text}");
        }
    }

    #[test]
    fn fetches_are_counted() {
        let parsed = ptx::parse("suld.b.2d.b32.trap $0, [$1, {$2, $3}];", "=r,l,r,r").unwrap();
        let of = of_asm(&parsed);
        assert_eq!((of.fetches, of.unseen), (1, 0));
    }
}
