//! What is read from the text of an asm.

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
        ("{ .reg .pred p; L: mbarrier.arrive.shared.b64 _, [$0]; setp.ne.u32 p, $1, 0; @p bra L; }", "r,r"),
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
        let [StatementAct { statement: 0, act: Act::Access(candidate) }] = &steps[..] else {
            panic!("{steps:?}")
        };
        assert_eq!(candidate.access.kind, AccessKind::Atomic(AtomicKind::Load, Order::Acquire, Scope::Block));
        // Who comes out of it has waited.
        assert_eq!((candidate.tells, irregular, unseen), (None, false, 0), "{text}");
    }
}

#[test]
fn what_tells_that_a_phase_is_over_is_found() {
    let tells = |wait: &str, behind: &str| {
        let asm =
            ptx::parse(&format!("{{ .reg .pred p, q; .reg .u32 t; {wait} {behind} }}"), "=r,=r,r,r").unwrap();
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
    assert_eq!(tells("@q mbarrier.try_wait.parity.shared.b64 p, [$2], $3;", "selp.b32 $0, 1, 0, p;"), None);
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
        // In another block's memory.
        ("ld.shared::cluster.u32 $0, [$1];", "=r,r", AccessKind::Read),
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

#[test]
fn fetches_are_told_of_where_they_can_be() {
    let parsed = ptx::parse("suld.b.2d.b32.trap $0, [$1, {$2, $3}];", "=r,l,r,r").unwrap();
    let of_one = of_asm(&parsed);
    assert!(matches!(&of_one.steps[..], [StatementAct { statement: 0, act: Act::Fetch(_) }]), "{of_one:?}");
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
        assert_eq!((of.steps.len(), of.fetches, of.irregular), (steps, fetches, irregular), "{text}: {of:?}");
    }
}
