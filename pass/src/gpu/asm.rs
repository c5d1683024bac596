//! What an inline asm does to memory and to the order of threads, by its text alone.

use gpurace_abi::scope::{AtomicKind, Order, Scope};

use super::fetches;
use super::matrix::Rows;
use crate::ptx::effects::{self, Access, AccessKind, AsyncCopy, Effects, Mbarrier, Sync};
use crate::ptx::op::{Address, AtomOp};
use crate::ptx::types::Space;
use crate::ptx::{self, Asm, Op, Operand, Stmt};

/// Something that a statement does and that the device runtime is told of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act<'a> {
    /// An access that can be checked where its address is known before the asm runs.
    Access(Candidate<'a>),
    /// An access through a texture or a surface.
    Fetch(fetches::Candidate<&'a Operand>),
    /// A fence. `again`: what the asm has read before it, it may acquire, so that it is to be said behind the asm as well.
    Fence { scope: Scope, order: Order, again: bool },
    /// A barrier of the block: its number, whether it is for as many threads as something says, and whether it waits.
    Barrier { number: &'a Operand, counted: bool, waits: bool },
    /// A sync of the warp's lanes in a mask.
    Warp(&'a Operand),
    /// The thread's asynchronous copies become a group.
    Commit,
    /// It waits for its groups but so many; `None`: what it has copied so far is a group, and it waits for all.
    Wait(Option<&'a Operand>),
    /// Its arrival at an mbarrier, which follows, happens when its copies so far are done.
    CopiesArrive(Space, &'a Address),
    /// It arrives at the barrier of its cluster.
    ClusterArrive(Order),
    /// It waits there.
    ClusterWait,
    /// It ends.
    End,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step<'a> {
    /// Its index.
    pub statement: usize,
    pub act: Act<'a>,
}

/// What an asm does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OfAsm<'a> {
    /// What is known of it, in the order of the statements.
    pub steps: Vec<Step<'a>>,
    /// It may order threads in a way that the steps do not say.
    pub irregular: bool,
    /// Accesses that are not among the steps.
    pub unseen: u32,
    /// Accesses through textures and surfaces that are not among the steps.
    pub fetches: u32,
}

/// An access of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate<'a> {
    pub access: Access<'a>,
    /// A copy's read, which is made only where this predicate does not hold.
    pub unless: Option<&'a Operand>,
    /// An asynchronous copy's.
    pub asynchronous: bool,
    /// Of the whole warp: what it accesses together, at rows the lane's own of which is the access.
    pub rows: Option<Rows>,
    /// Of a load of an mbarrier that acquires only where the phase is over: what tells.
    pub tells: Option<Tells>,
}

/// A result of an asm that is one number where an mbarrier's phase is over, and another where it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tells {
    /// Which result.
    pub result: u32,
    /// What it is where the phase is over.
    pub over: u64,
}

/// What an asm does.
pub(super) fn of_asm(asm: &Asm) -> OfAsm<'_> {
    let mut out = OfAsm::default();
    let transparent = is_transparent(asm);
    for (n, statement) in asm.statements.iter().enumerate() {
        if is_harmless(&statement.op) {
            continue;
        }
        let effects = ptx::memory_effects(statement);
        let mut add = |act| out.steps.push(Step { statement: n, act });
        if let Some(Sync::AsyncCopy(AsyncCopy::Arrive(at))) = effects.sync {
            if let Some(access) = effects.accesses.first() {
                add(Act::CopiesArrive(access.space, at));
            }
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
                true => out.steps.push(Step { statement: n, act: Act::Fetch(fetch) }),
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
        // Which of them happen, and how often, is not known.
        out.irregular |= !out.steps.is_empty();
        out.steps.clear();
    }
    out.irregular |= is_out_of_order(&mut out.steps);
    out
}

/// An asm that asks an mbarrier in a loop, and does nothing else that threads share, ends when a phase is over: one wait.
fn wait_in_loop(asm: &Asm) -> Option<Step<'_>> {
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
    Some(Step { statement, act: Act::Access(wait) })
}

/// Whether an instruction that is not modelled orders no threads: a fence between the ways that one thread has to the same memory.
fn is_harmless(op: &Op) -> bool {
    matches!(op, Op::Unsupported(name) if is_fence_of_proxies(name))
}

/// Whether a fence, by its name, is one between proxies and nothing more.
pub(super) fn is_fence_of_proxies(name: &str) -> bool {
    name.starts_with("fence.proxy.") && !name.contains("acquire") && !name.contains("release")
}

fn candidate<'a>(asm: &Asm, n: usize, statement: &'a Stmt, access: &Access<'a>) -> Candidate<'a> {
    let unless = match &statement.op {
        Op::CpAsync { ignore, .. } if access.kind == AccessKind::Read => ignore.as_ref(),
        _ => None,
    };
    let tells = match &statement.op {
        Op::MbarrierWait { p, .. } => tells(asm, n, p),
        _ => None,
    };
    let asynchronous = matches!(statement.op, Op::CpAsync { .. });
    Candidate {
        access: Access { kind: kind_of(statement, access), ..access.clone() },
        unless,
        asynchronous,
        rows: Rows::of(&statement.op),
        tells,
    }
}

/// What a statement orders by, beside its accesses.
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

/// Whether what the asm does cannot be said as it is: what waits or acquires is said behind the asm, all else before it, in the order of
/// the statements. So an access that another step of the asm orders would be told of too early. Fences are said twice where need be.
fn is_out_of_order(steps: &mut [Step<'_>]) -> bool {
    // Statements with atomics that have read something, and the last one that acquires.
    let mut read: Vec<(usize, &Operand)> = Vec::new();
    let mut acquired = None;
    for Step { statement, act } in steps {
        let is_later = acquired.is_some_and(|n| n < *statement);
        match act {
            Act::Access(Candidate { access, .. }) => {
                // Who has observed an atomic write is behind it.
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
            // Of which memory it is, is not known.
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

/// The result that says whether the wait at an mbarrier, the `n`th statement, has found its phase over.
fn tells(asm: &Asm, n: usize, p: &Operand) -> Option<Tells> {
    let Operand::Reg(predicate) = p else { return None };
    let is_always = |statement: &Stmt| statement.guard.is_none();
    // Anything beside these two may change the predicate or the result.
    let [wait, select] = &asm.statements[n..] else { return None };
    match &select.op {
        Op::Selp {
            d: Operand::Reg(result),
            a: Operand::Int(over),
            b: Operand::Int(not),
            p: Operand::Reg(p),
            ..
        } if p == predicate && over != not && is_always(wait) && is_always(select) => {
            Some(Tells { result: asm.regs.get(result.0 as usize)?.operand?.result?, over: *over })
        }
        _ => None,
    }
}

/// Whether all that the asm accesses may be checked before it: each statement runs once, if its guard holds, and nothing in
/// it begins a new clock between two of its accesses.
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

fn is_checkable(asm: &Asm, statement: &Stmt, effects: &Effects<'_>, access: &Access<'_>) -> bool {
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
        // One that fails is a read: it has to be known before.
        && (!is_swap || effects::swap_arguments(asm).is_some())
}

pub(super) fn is_strong(access: &Access<'_>) -> bool {
    matches!(access.kind, AccessKind::Atomic(..))
}

/// What an access does: `red`, and an `atom` that is one by its destination `_`, gives nothing back. Nor does an arrival at an mbarrier
/// that copies make, once they are done.
fn kind_of(statement: &Stmt, access: &Access<'_>) -> AccessKind {
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
mod tests {
    use super::*;

    struct Seen {
        /// What is no access, in words.
        acts: Vec<String>,
        kinds: Vec<AccessKind>,
        irregular: bool,
        unseen: u32,
    }

    fn of(template: &str, constraints: &str) -> Seen {
        let asm = ptx::parse(template, constraints).unwrap();
        let OfAsm { steps, irregular, unseen, .. } = of_asm(&asm);
        let kinds = steps.iter().filter_map(|step| match &step.act {
            Act::Access(candidate) => Some(candidate.access.kind),
            _ => None,
        });
        let kinds = kinds.collect();
        let acts = steps.iter().filter_map(|step| match &step.act {
            Act::Access(_) => None,
            Act::Fence { scope, order, again } => {
                Some(format!("{order:?} {scope:?}{}", if *again { " again" } else { "" }))
            }
            Act::Barrier { counted, waits, .. } => Some(format!(
                "barrier{}{}",
                if *counted { " counted" } else { "" },
                if *waits { "" } else { " arrive" }
            )),
            Act::Wait(groups) => {
                Some(if groups.is_some() { "wait for groups" } else { "wait for all" }.to_owned())
            }
            Act::ClusterArrive(order) => Some(format!("cluster {order:?}")),
            other => Some(format!("{other:?}").split('(').next().unwrap_or_default().to_owned()),
        });
        Seen { acts: acts.collect(), kinds, irregular, unseen }
    }

    #[test]
    fn what_orders_threads_is_recognised() {
        for (text, constraints, acts) in [
            ("bar.sync 0;", "", "barrier"),
            ("barrier.sync 0;", "", "barrier"),
            ("bar.sync $0;", "r", "barrier"),
            ("bar.sync 0, 64;", "", "barrier counted"),
            ("barrier.cta.sync.aligned 1, 64;", "", "barrier counted"),
            ("{ .reg .pred p; setp.ne.u32 p, $1, 0; bar.red.popc.u32 $0, 1, p; }", "=r,r", "barrier"),
            ("bar.arrive 0, 64;", "", "barrier counted arrive"),
            ("bar.warp.sync $0;", "r", "Warp"),
            ("exit;", "", "End"),
            ("fence.acq_rel.gpu;", "", "AcqRel Device"),
            ("fence.sc.cta;", "", "SeqCst Block"),
            ("membar.sys;", "", "SeqCst System"),
            ("membar.gl; membar.cta;", "", "SeqCst Device, SeqCst Block"),
            ("barrier.cluster.arrive;", "", "cluster Release"),
            ("barrier.cluster.arrive.relaxed.aligned;", "", "cluster Relaxed"),
            ("barrier.cluster.wait.acquire;", "", "ClusterWait"),
            ("cp.async.wait_all;", "", "wait for all"),
            ("cp.async.commit_group; cp.async.wait_group 1;", "", "Commit, wait for groups"),
            // Fences between the ways of one thread to the same memory order no other.
            ("fence.proxy.async;", "", ""),
            // Under a guard, too.
            ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p bar.sync 1, 64; }", "r", "barrier counted"),
        ] {
            let of = of(text, constraints);
            assert_eq!((&of.acts.join(", ")[..], of.irregular, of.unseen), (acts, false, 0), "{text}");
        }
        let parsed = ptx::parse("add.u32 $0, $1, $1;", "=r,r").unwrap();
        assert_eq!(of_asm(&parsed), OfAsm::default());
    }

    #[test]
    fn what_cannot_be_said_is_announced() {
        for (text, constraints) in [
            // Of which the second is said before the first has been waited for.
            ("bar.sync 0; bar.sync 0;", ""),
            ("bar.sync 1, 64; bar.arrive 2, 64;", ""),
            ("cp.async.wait_all; bar.sync 0;", ""),
            ("{ ld.acquire.gpu.u32 $0, [$1]; st.release.gpu.u32 [$1], 1; }", "=r,l"),
            ("{ ld.relaxed.gpu.u32 $0, [$1]; fence.acq_rel.gpu; st.global.u32 [$2], 1; }", "=r,l,l"),
            ("{ ld.relaxed.gpu.u32 $0, [$1]; st.global.u32 [$1], 1; }", "=r,l"),
            // Which of them happen is not known.
            ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p bra L; membar.gl; L: }", "r"),
            (
                "{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra D; bra L; D: membar.gl; }",
                "r,r",
            ),
            (
                "{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cluster.b64 p, [$0], $1; @p bra D; bra L; D: }",
                "r,r",
            ),
            (
                "{ .reg .pred p; L: mbarrier.arrive.shared.b64 _, [$0]; setp.ne.u32 p, $1, 0; @p bra L; }",
                "r,r",
            ),
            // Not known at all.
            ("fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "l"),
            ("cp.async.bulk.commit_group;", ""),
            // Not checked before it.
            ("{ bar.sync 0; atom.add.relaxed.gpu.u32 $0, [$1], 1; }", "=r,l"),
            ("{ .reg .u32 o; atom.cas.relaxed.gpu.b32 o, [$1], 1, 2; mov.u32 $0, o; }", "=r,l"),
        ] {
            assert!(of(text, constraints).irregular, "{text}");
        }
        // The neighbours, whose order is right.
        for (text, constraints) in [
            ("bar.arrive 2, 64; bar.sync 1, 64;", ""),
            ("cp.async.wait_all; cp.async.commit_group;", ""),
            ("{ ld.relaxed.gpu.u32 $0, [$1]; st.relaxed.gpu.u32 [$2], 1; }", "=r,l,l"),
            ("{ ld.relaxed.gpu.u32 $0, [$1]; st.global.u32 [$2], 1; }", "=r,l,l"),
            ("{ st.global.u32 [$1], 1; ld.acquire.gpu.u32 $0, [$1]; }", "=r,l"),
            ("{ red.release.gpu.add.u32 [$0], 1; st.global.u32 [$1], 1; }", "l,l"),
            ("ld.acquire.gpu.v2.u32 {$0, $1}, [$2];", "=r,=r,l"),
        ] {
            assert!(!of(text, constraints).irregular, "{text}");
        }
    }

    #[test]
    fn fences_behind_what_is_read_are_said_again() {
        let acts = |text| of(text, "=r,l").acts.join(", ");
        assert_eq!(
            acts("fence.acq_rel.gpu; atom.add.relaxed.gpu.u32 $0, [$1], 1; fence.sc.gpu;"),
            "AcqRel Device, SeqCst Device again"
        );
        assert_eq!(acts("ld.volatile.u32 $0, [$1]; membar.gl;"), "SeqCst Device again");
        // Nothing is read by a `red`, nor by what writes.
        assert_eq!(acts("red.relaxed.gpu.add.u32 [$1], 1; fence.acq_rel.gpu;"), "AcqRel Device");
        assert_eq!(acts("st.relaxed.gpu.u32 [$1], 1; fence.acq_rel.gpu;"), "AcqRel Device");
    }

    #[test]
    fn copies_are_asynchronous_until_they_are_waited_for() {
        let copy = of("cp.async.ca.shared.global [$0], [$1], 4;", "r,l");
        assert_eq!(
            (copy.irregular, &copy.kinds[..], copy.unseen),
            (false, &[AccessKind::Read, AccessKind::Write][..], 0)
        );
        let asm =
            ptx::parse("cp.async.ca.shared.global [$0], [$1], 4; st.shared.u32 [$2], 1;", "r,l,r").unwrap();
        let asynchronous = of_asm(&asm)
            .steps
            .iter()
            .map(|step| matches!(&step.act, Act::Access(c) if c.asynchronous))
            .collect::<Vec<_>>();
        assert_eq!(asynchronous, [true, true, false]);
        // Who arrives for them is the thread, once they are done.
        let arrives = of("cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", "r");
        let kind = AccessKind::Atomic(AtomicKind::Reduction, Order::Release, Scope::Block);
        assert_eq!(
            (&arrives.acts[..], &arrives.kinds[..], arrives.irregular),
            (&["CopiesArrive".to_owned()][..], &[kind][..], false)
        );
    }

    #[test]
    fn mbarriers_are_accessed() {
        let atomic = AccessKind::Atomic;
        for (text, constraints, kinds) in [
            ("mbarrier.init.shared.b64 [$0], $1;", "r,r", &[AccessKind::Write][..]),
            ("mbarrier.inval.shared.b64 [$0];", "r", &[]),
            (
                "mbarrier.arrive.shared.b64 $0, [$1];",
                "=l,r",
                &[atomic(AtomicKind::Rmw, Order::Release, Scope::Block)],
            ),
            (
                "mbarrier.arrive_drop.noComplete.b64 $0, [$1], $2;",
                "=l,l,r",
                &[atomic(AtomicKind::Rmw, Order::Release, Scope::Block)],
            ),
            (
                "mbarrier.arrive.release.cluster.shared::cta.b64 $0, [$1];",
                "=l,r",
                &[atomic(AtomicKind::Rmw, Order::Release, Scope::Cluster)],
            ),
            (
                "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];",
                "r",
                &[atomic(AtomicKind::Rmw, Order::Release, Scope::Cluster)],
            ),
            (
                "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], $1;",
                "r,r",
                &[atomic(AtomicKind::Rmw, Order::Relaxed, Scope::Block)],
            ),
            (
                "{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }",
                "=r,r,l",
                &[atomic(AtomicKind::Load, Order::Acquire, Scope::Block)],
            ),
            ("mbarrier.pending_count.b64 $0, $1;", "=r,l", &[]),
        ] {
            let of = of(text, constraints);
            assert_eq!((&of.kinds[..], of.irregular, of.unseen), (kinds, false, 0), "{text}");
        }
    }

    #[test]
    fn loops_that_ask_an_mbarrier_are_one_wait() {
        for text in [
            "{ .reg .pred p; W: mbarrier.test_wait.parity.shared.b64 p, [$0], $1; @!p bra W; }",
            "{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra D; nanosleep.u32 20; bra W; D: }",
        ] {
            let asm = ptx::parse(text, "r,r").unwrap();
            let OfAsm { steps, irregular, unseen, .. } = of_asm(&asm);
            let [Step { statement: 0, act: Act::Access(candidate) }] = &steps[..] else {
                panic!("{steps:?}")
            };
            assert_eq!(
                candidate.access.kind,
                AccessKind::Atomic(AtomicKind::Load, Order::Acquire, Scope::Block)
            );
            // Who comes out of it has waited.
            assert_eq!((candidate.tells, irregular, unseen), (None, false, 0), "{text}");
        }
    }

    #[test]
    fn what_tells_that_a_phase_is_over_is_found() {
        let tells = |wait: &str, behind: &str| {
            let asm =
                ptx::parse(&format!("{{ .reg .pred p, q; .reg .u32 t; {wait} {behind} }}"), "=r,=r,r,r")
                    .unwrap();
            let found = of_asm(&asm).steps.into_iter().find_map(|step| match step.act {
                Act::Access(candidate) => Some(candidate.tells),
                _ => None,
            });
            found.unwrap()
        };
        let wait = "mbarrier.try_wait.parity.shared.b64 p, [$2], $3;";
        assert_eq!(tells(wait, "selp.b32 $0, 1, 0, p;"), Some(Tells { result: 0, over: 1 }));
        assert_eq!(tells(wait, "selp.u32 $1, 0, 5, p;"), Some(Tells { result: 1, over: 0 }));
        for behind in [
            "",
            "selp.b32 $0, 1, 1, p;",
            "selp.b32 $0, 1, 0, q;",
            "selp.b32 t, 1, 0, p;",
            "selp.b32 $0, $3, 0, p;",
            "setp.eq.u32 p, $2, $3; selp.b32 $0, 1, 0, p;",
            "selp.b32 $0, 1, 0, p; mov.u32 $0, 1;",
        ] {
            assert_eq!(tells(wait, behind), None, "{behind}");
        }
        assert_eq!(
            tells("@q mbarrier.try_wait.parity.shared.b64 p, [$2], $3;", "selp.b32 $0, 1, 0, p;"),
            None
        );
    }

    #[test]
    fn strong_accesses_announce_themselves() {
        for (text, constraints, kind) in [
            (
                "ld.acquire.gpu.u32 $0, [$1];",
                "=r,l",
                AccessKind::Atomic(AtomicKind::Load, Order::Acquire, Scope::Device),
            ),
            (
                "ld.relaxed.sys.u32 $0, [$1];",
                "=r,l",
                AccessKind::Atomic(AtomicKind::Load, Order::Relaxed, Scope::System),
            ),
            (
                "ld.acquire.cluster.shared::cluster.u32 $0, [$1];",
                "=r,r",
                AccessKind::Atomic(AtomicKind::Load, Order::Acquire, Scope::Cluster),
            ),
            (
                "st.release.cta.u32 [$0], $1;",
                "l,r",
                AccessKind::Atomic(AtomicKind::Store, Order::Release, Scope::Block),
            ),
            (
                "st.volatile.u32 [$0], $1;",
                "l,r",
                AccessKind::Atomic(AtomicKind::VolatileStore, Order::Relaxed, Scope::System),
            ),
            (
                "atom.add.relaxed.gpu.u32 $0, [$1], 1;",
                "=r,l",
                AccessKind::Atomic(AtomicKind::Rmw, Order::Relaxed, Scope::Device),
            ),
            (
                "red.release.gpu.add.u32 [$0], 1;",
                "l",
                AccessKind::Atomic(AtomicKind::Reduction, Order::Release, Scope::Device),
            ),
            (
                "atom.exch.b32 _, [$0], 1;",
                "l",
                AccessKind::Atomic(AtomicKind::Rmw, Order::Relaxed, Scope::Device),
            ),
            (
                "atom.cas.acquire.cta.b32 $0, [$1], $2, $3;",
                "=r,l,r,r",
                AccessKind::Atomic(AtomicKind::Rmw, Order::Acquire, Scope::Block),
            ),
        ] {
            let of = of(text, constraints);
            assert_eq!(
                (of.irregular, &of.kinds[..], of.unseen, of.acts.len()),
                (false, &[kind][..], 0, 0),
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_checked_before_the_asm_is_counted() {
        for (text, constraints) in [
            // Behind a barrier, an end, a branch, or what is not known.
            ("{ bar.sync 0; ld.global.u32 $0, [$1]; }", "=r,l"),
            ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p exit; st.u32 [$1], 1; }", "r,l"),
            ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p bra L; st.u32 [$1], 1; L: }", "r,l"),
            ("{ bar.sync 0; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [$1]; }", "=r,r"),
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
            // In another block's memory.
            ("ld.shared::cluster.u32 $0, [$1];", "=r,r", AccessKind::Read),
            // A row of a matrix.
            ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [$1];", "=r,r", AccessKind::Read),
            ("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [$1], {$0};", "r,r", AccessKind::Write),
            // Under a guard, and at an address that the asm computes.
            (
                "{ .reg .pred p; setp.ne.u32 p, $1, 0; @p ld.global.u32 $0, [$2]; }",
                "=r,r,l",
                AccessKind::Read,
            ),
            ("{ .reg .u64 a; add.u64 a, $1, 64; ld.global.u32 $0, [a]; }", "=r,l", AccessKind::Read),
        ] {
            let of = of(text, constraints);
            assert_eq!(
                (&of.kinds[..], of.unseen, of.irregular, of.acts.len()),
                (&[kind][..], 0, false, 0),
                "{text}"
            );
        }
    }

    #[test]
    fn fetches_are_told_of_where_they_can_be() {
        let parsed = ptx::parse("suld.b.2d.b32.trap $0, [$1, {$2, $3}];", "=r,l,r,r").unwrap();
        let of_one = of_asm(&parsed);
        assert!(matches!(&of_one.steps[..], [Step { statement: 0, act: Act::Fetch(_) }]), "{of_one:?}");
        assert_eq!((of_one.fetches, of_one.unseen, of_one.irregular), (0, 0, false));
        for (text, constraints, steps, fetches, irregular) in [
            // Behind a barrier, or it may not happen: nothing can be said of it before the asm.
            ("{ bar.sync 0; sust.b.1d.b32.trap [$0, {$1}], {$1}; }", "l,r", 1, 1, false),
            (
                "{ .reg .pred p; setp.ne.u32 p, $1, 0; @p bra L; sust.b.1d.b32.trap [$0, {$1}], {$1}; L: }",
                "l,r",
                0,
                1,
                false,
            ),
            // What is acquired before it, or observed, it comes behind.
            ("{ ld.acquire.gpu.u32 $0, [$1]; suld.b.1d.b32.trap $0, [$1, {$2}]; }", "=r,l,r", 2, 0, true),
            ("{ ld.relaxed.gpu.u32 $0, [$1]; suld.b.1d.b32.trap $0, [$1, {$2}]; }", "=r,l,r", 2, 0, true),
            ("{ suld.b.1d.b32.trap $0, [$1, {$2}]; ld.acquire.gpu.u32 $0, [$1]; }", "=r,l,r", 2, 0, false),
            ("{ st.global.u32 [$1], $2; suld.b.1d.b32.trap $0, [$1, {$2}]; }", "=r,l,r", 2, 0, false),
        ] {
            let asm = ptx::parse(text, constraints).unwrap();
            let of = of_asm(&asm);
            assert_eq!(
                (of.steps.len(), of.fetches, of.irregular),
                (steps, fetches, irregular),
                "{text}: {of:?}"
            );
        }
    }
}
