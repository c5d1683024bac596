//! What is read from the text of an asm.

use gpurace_abi::scope::{Order, Scope};

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
        other => Some(format!("{other:?}").split('(').next().unwrap_or_default().to_owned()),
    });
    Seen { acts: acts.collect(), kinds, irregular, unseen }
}

#[test]
fn what_orders_threads_is_recognised() {
    for (text, constraints, acts) in [
        ("bar.sync 0;", "", "Barrier"),
        ("barrier.sync 0;", "", "Barrier"),
        ("bar.sync $0;", "r", "Barrier"),
        ("{ .reg .pred p; setp.ne.u32 p, $1, 0; bar.red.popc.u32 $0, 1, p; }", "=r,r", "Barrier"),
        ("bar.warp.sync $0;", "r", "Warp"),
        ("exit;", "", "End"),
        // Copies are waited for by their own thread.
        ("cp.async.wait_all;", "", ""),
        ("cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;", "", "Barrier"),
        // Fences between the ways of one thread to the same memory order no other.
        ("fence.proxy.async;", "", ""),
        // Under a guard, too.
        ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p bar.sync 1; }", "r", "Barrier"),
    ] {
        let of = of(text, constraints);
        assert_eq!((&of.acts.join(", ")[..], of.irregular, of.unseen), (acts, false, 0), "{text}");
    }
    let parsed = ptx::parse("add.u32 $0, $1, $1;", "=r,r").unwrap();
    assert_eq!(of_asm(&parsed), OfAsm::default());
}

#[test]
fn what_clocks_do_not_show_is_announced() {
    for (text, constraints) in [
        ("fence.acq_rel.gpu;", ""),
        ("membar.gl; membar.cta;", ""),
        ("bar.sync 0, 64;", ""),
        ("barrier.cta.sync.aligned 1, 64;", ""),
        ("bar.arrive 0, 64;", ""),
        ("barrier.cluster.arrive;", ""),
        ("barrier.cluster.wait.acquire;", ""),
        // The calls around it belong to one barrier.
        ("bar.sync 0; bar.sync 0;", ""),
        // Which of them happen is not known.
        ("{ .reg .pred p; setp.ne.u32 p, $0, 0; @p bra L; bar.sync 0; L: }", "r"),
        (
            "{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra D; bra L; D: membar.gl; }",
            "r,r",
        ),
        (
            "{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cluster.b64 p, [$0], $1; @p bra D; bra L; D: }",
            "r,r",
        ),
        ("{ .reg .pred p; L: mbarrier.arrive.shared.b64 _, [$0]; setp.ne.u32 p, $1, 0; @p bra L; }", "r,r"),
        // Not known at all.
        ("fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "l"),
        ("cp.async.bulk.commit_group;", ""),
        ("cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], 16;", "l,r"),
        ("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [$0, {$1}], [$2];", "l,r,r"),
        // Not checked before it.
        ("{ bar.sync 0; atom.add.relaxed.gpu.u32 $0, [$1], 1; }", "=r,l"),
        ("{ .reg .u32 o; atom.cas.relaxed.gpu.b32 o, [$1], 1, 2; mov.u32 $0, o; }", "=r,l"),
    ] {
        assert!(of(text, constraints).irregular, "{text}");
    }
    for (text, constraints) in [
        ("cp.async.wait_all; bar.sync 0;", ""),
        // Who acquires says so itself.
        ("{ ld.acquire.gpu.u32 $0, [$1]; st.global.u32 [$2], 1; }", "=r,l,l"),
        ("ld.acquire.gpu.v2.u32 {$0, $1}, [$2];", "=r,=r,l"),
    ] {
        assert!(!of(text, constraints).irregular, "{text}");
    }
}

#[test]
fn copies_are_asynchronous_until_they_are_waited_for() {
    let copy = of("cp.async.ca.shared.global [$0], [$1], 4;", "r,l");
    assert_eq!(
        (copy.irregular, &copy.kinds[..], copy.unseen),
        (false, &[AccessKind::Read, AccessKind::Write][..], 0)
    );
    let asm = ptx::parse("cp.async.ca.shared.global [$0], [$1], 4; st.shared.u32 [$2], 1;", "r,l,r").unwrap();
    let asynchronous = of_asm(&asm)
        .steps
        .iter()
        .map(|step| matches!(&step.act, Act::Access(c) if c.asynchronous))
        .collect::<Vec<_>>();
    assert_eq!(asynchronous, [true, true, false]);
    // Who arrives for them is the thread, once they are done.
    let arrives = of("cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", "r");
    let kind = AccessKind::Atomic(AtomicKind::Reduction, Order::Release, Scope::Block);
    assert_eq!((arrives.acts.len(), &arrives.kinds[..], arrives.irregular), (0, &[kind][..], false));
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
        let [StatementAct { statement: 0, act: Act::Access(candidate) }] = &steps[..] else {
            panic!("{steps:?}")
        };
        assert_eq!(candidate.access.kind, AccessKind::Atomic(AtomicKind::Load, Order::Acquire, Scope::Block));
        assert_eq!((irregular, unseen), (false, 0), "{text}");
    }
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
        ("{ barrier.cluster.wait; st.u32 [$1], $0; }", "r,l"),
        // Through a texture or surface, or in another block's memory.
        ("suld.b.2d.b32.trap $0, [$1, {$2, $3}];", "=r,l,r,r"),
        ("ld.shared::cluster.u32 $0, [$1];", "=r,r"),
        // Whether it will write is not known: the expected value, or the new one, is not an argument of
        // the asm.
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
        // A row of a matrix.
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [$1];", "=r,r", AccessKind::Read),
        ("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [$1], {$0};", "r,r", AccessKind::Write),
        // Under a guard, and at an address that the asm computes.
        ("{ .reg .pred p; setp.ne.u32 p, $1, 0; @p ld.global.u32 $0, [$2]; }", "=r,r,l", AccessKind::Read),
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
