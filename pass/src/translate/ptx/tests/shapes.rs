//! One case for each shape of text, and what it means.

use gpurace_abi::scope::{Order, Scope};

use super::{modelled, only};
use crate::translate::ptx::op::*;
use crate::translate::ptx::types::*;
use crate::translate::ptx::{Status, parse, special_registers, supported};

fn reg(n: u32) -> Operand {
    Operand::Reg(Reg(n))
}

fn at(base: Operand, offset: i64) -> Address {
    Address { base, offset }
}

#[test]
fn operands_and_constraints() {
    let asm = modelled("add.s32 $0, $1, ${2:r};", "=&r,r,n,~{memory}");
    assert!(asm.memory_clobber);
    assert_eq!(asm.operands[0].result, Some(0));
    assert_eq!((asm.operands[1].argument, asm.operands[2].argument), (Some(0), Some(1)));
    assert!(asm.operands[2].immediate && !asm.operands[1].immediate);
    let types: Vec<_> = modelled("", "=r,h,l,f,d,b,q").operands.iter().map(|o| o.ty).collect();
    assert_eq!(types, [Ty::B(32), Ty::B(16), Ty::B(64), Ty::F(32), Ty::F(64), Ty::Pred, Ty::B(128)]);
}

#[test]
fn a_tied_operand_is_one_register_with_two_numbers() {
    let asm = modelled("{ .reg .pred p; elect.sync $0|p, $2; @p mov.s32 $1, $4; }", "=r,=r,r,0,1");
    assert_eq!(asm.operands.len(), 3);
    assert_eq!((asm.operands[0].result, asm.operands[0].argument), (Some(0), Some(1)));
    assert_eq!((asm.operands[1].result, asm.operands[1].argument), (Some(1), Some(2)));
    assert_eq!(asm.statements[1].op, Op::Mov { ty: Ty::S(32), d: reg(1), a: reg(1) });
}

#[test]
fn escapes_alternatives_and_comments() {
    assert_eq!(
        only("mov.u32 $0, %laneid; // one\n/* two */", "=r"),
        Op::Mov { ty: Ty::U(32), d: reg(0), a: Operand::Special(Special::B32("laneid")) }
    );
    assert_eq!(
        only("$(mov.b32$|what$) $0, 0x10U;", "=r"),
        Op::Mov { ty: Ty::B(32), d: reg(0), a: Operand::Int(16) }
    );
    let asm =
        modelled("{ .reg .pred __$$t, %p; setp.eq.s32 __$$t|%p, $1, -1; selp.u32 $0, 1, 0, %p }", "=r,r");
    assert_eq!(asm.regs[2].name, "__$t");
    assert_eq!(asm.statements.len(), 2);
}

#[test]
fn registers_are_declared_in_scopes() {
    let asm = modelled(
        "{.reg.b16 a; .reg .b32 r<3>, b; { .reg .f32 a; mov.f32 a, 0f3f800000; } mov.b16 a, $1; }",
        "=h,h",
    );
    let names: Vec<_> = asm.regs[2..].iter().map(|r| (r.name.as_str(), r.ty)).collect();
    assert_eq!(
        names,
        [
            ("a", Ty::B(16)),
            ("r0", Ty::B(32)),
            ("r1", Ty::B(32)),
            ("r2", Ty::B(32)),
            ("b", Ty::B(32)),
            ("a", Ty::F(32))
        ]
    );
    assert_eq!(asm.statements[0].op, Op::Mov { ty: Ty::F(32), d: reg(7), a: Operand::F32(0x3f80_0000) });
    assert_eq!(asm.statements[1].op, Op::Mov { ty: Ty::B(16), d: reg(2), a: reg(1) });
    let vector = modelled("{ .reg .v2 .f32 v; ld.global.v2.f32 v, [$1]; mov.f32 $0, v.y; }", "=f,l");
    assert_eq!(vector.statements[1].op, Op::Mov { ty: Ty::F(32), d: reg(0), a: reg(3) });
}

#[test]
fn branches_cut_basic_blocks() {
    let text = "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}";
    let asm = modelled(text, "r,r");
    let ranges: Vec<_> = asm.blocks.iter().map(|b| b.statements.clone()).collect();
    assert_eq!(ranges, [0..2, 2..3, 3..3]);
    assert_eq!(asm.statements[1].op, Op::Bra { target: BlockId(2) });
    assert!(asm.statements[1].guard.is_some_and(|g| !g.negated));
    assert_eq!(asm.statements[2].op, Op::Bra { target: BlockId(0) });
    // Labels of one scope may be used again in the next.
    modelled("{ L: @p bra L; } { L: @p bra L; }".replace("@p ", "").as_str(), "");
}

/// An instruction on values with these typed operands, destinations first, whose number is `results`.
fn value(name: &str, results: usize, operands: &[(Ty, Operand)]) -> Op {
    let (d, of) = operands.split_at(results);
    Op::Value { name: name.to_owned(), d: d.to_vec(), of: of.to_vec() }
}

#[test]
fn arithmetic_keeps_its_modifiers() {
    let fma = |name, ty| value(name, 1, &[0, 1, 2, 3].map(|n| (ty, reg(n))));
    assert_eq!(only("fma.rn.ftz.sat.f32 $0,$1,$2,$3;", "=f,f,f,f"), fma("fma.ftz.sat.rn.f32", Ty::F(32)));
    assert_eq!(
        only("{fma.rn.relu.bf16x2 $0,$1,$2,$3;\n}", "=r,r,r,r"),
        fma("fma.relu.rn.bf16x2", Ty::Bf16x2)
    );
    let (word, carry) = (|n| (Ty::U(32), reg(n)), (Ty::Pred, Operand::Carry));
    assert_eq!(
        only("madc.hi.cc.u32 $0, $1, $2, $3;", "=r,r,r,r"),
        value("madc.hi.cc.u32", 2, &[word(0), carry.clone(), word(1), word(2), word(3), carry])
    );
    // Headers also write the type before `.ftz`.
    assert_eq!(
        only("rsqrt.approx.f32.ftz $0, $1;", "=f,f"),
        value("rsqrt.ftz.approx.f32", 1, &[(Ty::F(32), reg(0)), (Ty::F(32), reg(1))])
    );
    assert_eq!(
        only("bfind.shiftamt.u32 $0, $1;", "=r,r"),
        value("bfind.shiftamt.u32", 1, &[word(0), word(1)])
    );
    let half = |n| (Ty::F(16), reg(n));
    for text in ["min.NaN.xorsign.abs.f16 $0,$1,$2;", "min.xorsign.abs.NaN.f16 $0,$1,$2;"] {
        assert_eq!(only(text, "=h,h,h"), value("min.NaN.xorsign.abs.f16", 1, &[half(0), half(1), half(2)]));
    }
}

#[test]
fn conversions_and_moves() {
    assert_eq!(
        only("{ cvt.rn.bf16x2.f32 $0, $2, $1;}\n", "=r,f,f"),
        value("cvt.rn.bf16x2.f32", 1, &[(Ty::Bf16x2, reg(0)), (Ty::F(32), reg(2)), (Ty::F(32), reg(1))])
    );
    assert_eq!(
        only("cvt.rmi.s64.f16 $0, $1;", "=l,h"),
        value("cvt.rmi.s64.f16", 1, &[(Ty::S(64), reg(0)), (Ty::F(16), reg(1))])
    );
    let asm = modelled("{ .reg.b8 m;\n cvt.rzi.u8.bf16 m, $1;\n mov.b16 $0, {m, 0};\n}", "=h,h");
    assert_eq!(
        asm.statements[1].op,
        Op::Mov { ty: Ty::B(16), d: reg(0), a: Operand::Vector(vec![reg(2), Operand::Int(0)]) }
    );
    modelled("mov.b64 {$0,$1}, $2;", "=r,=r,d");
    modelled("cvt.rna.tf32.f32 $0, $1;", "=r,f");
    modelled("cvt.pack.sat.u8.s32.b32 $0, $1, $2, 0;", "=r,r,r");
    modelled(
        "{ .reg .u32 s; .reg .u64 e; mov.u32 s, %reserved_smem_offset_1; cvt.u64.u32 e, s; cvta.shared.u64 $0, e; }",
        "=l",
    );
}

#[test]
fn comparisons_with_predicates() {
    let asm = modelled(
        "{ .reg .pred p, q; setp.gtu.and.ftz.f32 p|q, $1, $2, !q; set.le.u32.f32 $0, $1, $2; }",
        "=r,f,f",
    );
    let (float, p) = (|n| (Ty::F(32), reg(n)), |operand| (Ty::Pred, operand));
    assert_eq!(
        asm.statements[0].op,
        value(
            "setp.gtu.ftz.and.f32",
            2,
            &[p(reg(3)), p(reg(4)), float(1), float(2), p(Operand::NotReg(Reg(4)))]
        )
    );
}

#[test]
fn accesses_keep_strength_scope_and_space() {
    let ld = |template: &str, strength, space, ty, n: u32| {
        let constraints = format!("{}l", "=r,".repeat(n as usize));
        let Op::Ld { strength: s, space: p, ty: t, d, from, .. } = only(template, &constraints) else {
            panic!()
        };
        assert_eq!(
            (s, p, t, d, from),
            (strength, space, ty, (0..n).map(reg).collect(), at(reg(n), 0)),
            "{template}"
        );
    };
    ld("ld.global.nc.v4.f32 {$0,$1,$2,$3}, [$4];", Strength::Weak, Space::Global, Ty::F(32), 4);
    ld(
        "ld.acquire.gpu.u32 $0,[$1];",
        Strength::Strong(Order::Acquire, Scope::Device),
        Space::Generic,
        Ty::U(32),
        1,
    );
    ld(
        "ld.acquire.sys.global.u8 $0, [$1];",
        Strength::Strong(Order::Acquire, Scope::System),
        Space::Global,
        Ty::U(8),
        1,
    );
    ld(
        "ld.relaxed.cta.shared::cta.b32 $0, [$1];",
        Strength::Strong(Order::Relaxed, Scope::Block),
        Space::Shared,
        Ty::B(32),
        1,
    );
    ld("ld.volatile.shared.u32 $0, [$1];", Strength::Volatile, Space::Shared, Ty::U(32), 1);
    ld("ld.mmio.relaxed.sys.u32 $0, [$1];", Strength::Mmio, Space::Generic, Ty::U(32), 1);
    ld("ld.cv.u8 $0, [$1];", Strength::Weak, Space::Generic, Ty::U(8), 1);
    ld("ldu.global.u32 $0, [$1];", Strength::Weak, Space::Global, Ty::U(32), 1);
    ld(
        "ld.global.L1::no_allocate.L2::128B.v2.u32 {$0,$1}, [$2];",
        Strength::Weak,
        Space::Global,
        Ty::U(32),
        2,
    );
    let op = only("st.global.L2::cache_hint.f32 [$0+-16], $1, $2;", "l,f,l");
    assert!(matches!(op, Op::St { to: Address { offset: -16, .. }, space: Space::Global, .. }));
    let op = only("atom.global.acq_rel.cluster.cas.b64 $0, [$1+8], $2, $3;", "=l,l,l,l");
    assert_eq!(
        op,
        Op::Atom {
            op: AtomOp::CompareAndSwap,
            order: Order::AcqRel,
            scope: Scope::Cluster,
            space: Space::Global,
            ty: Ty::B(64),
            d: vec![reg(0)],
            at: at(reg(1), 8),
            b: vec![reg(2)],
            c: Some(reg(3))
        }
    );
    let op = only("red.relaxed.gpu.global.add.noftz.bf16x2 [$0], $1;", "l,r");
    assert!(matches!(op, Op::Atom { op: AtomOp::Add, ty: Ty::Bf16x2, order: Order::Relaxed, .. }));
    // The defaults of `atom`: relaxed, the whole device.
    let op = only("atom.cta.add.v2.f32 {$0,$1}, [$2], {$3,$4};", "=f,=f,l,f,f");
    assert!(matches!(op, Op::Atom { order: Order::Relaxed, scope: Scope::Block, .. }));
    let op = only("ld.shared.u32 $0, [tile + 4];", "=r");
    assert!(
        matches!(op, Op::Ld { from: Address { base: Operand::Symbol(name), offset: 4 }, .. } if name == "tile")
    );
}

#[test]
fn fences_and_barriers() {
    let fence = |order, scope| Op::Fence { order, scope };
    assert_eq!(only("fence.acq_rel.gpu;", "~{memory}"), fence(Order::AcqRel, Scope::Device));
    assert_eq!(only("fence.sc.cluster;", ""), fence(Order::SeqCst, Scope::Cluster));
    assert_eq!(only("membar.gl;", ""), fence(Order::SeqCst, Scope::Device));
    let barrier = |op, threads, p: Option<Operand>, d| Op::Barrier { op, d, id: Operand::Int(1), threads, p };
    assert_eq!(only("bar.sync 1;", ""), barrier(BarrierOp::Sync, None, None, None));
    assert_eq!(
        only("barrier.cta.sync.aligned 1, $0;", "r"),
        barrier(BarrierOp::Sync, Some(reg(0)), None, None)
    );
    assert_eq!(
        only("bar.cta.arrive 1, 64;", ""),
        barrier(BarrierOp::Arrive, Some(Operand::Int(64)), None, None)
    );
    assert_eq!(
        only("bar.red.and.pred $0, 1, $1, !$2;", "=b,r,b"),
        barrier(BarrierOp::And, Some(reg(1)), Some(Operand::NotReg(Reg(2))), Some(reg(0)))
    );
    assert_eq!(only("bar.warp.sync 0xffffffff;", ""), Op::WarpSync { mask: Operand::Int(0xffff_ffff) });
}

#[test]
fn clusters() {
    assert_eq!(only("barrier.cluster.arrive.aligned;", ""), Op::ClusterArrive { order: Order::Release });
    assert_eq!(only("barrier.cluster.arrive.relaxed;", ""), Op::ClusterArrive { order: Order::Relaxed });
    assert_eq!(only("barrier.cluster.wait.acquire.aligned;", ""), Op::ClusterWait);
    let (near, far) = (Space::SharedCluster, Space::Generic);
    assert_eq!(
        only("mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r"),
        Op::Mapa { space: near, ty: Ty::U(32), d: reg(0), a: reg(1), rank: reg(2) }
    );
    assert_eq!(
        only("mapa.u64 $0, $1, 3;", "=l,l"),
        Op::Mapa { space: far, ty: Ty::U(64), d: reg(0), a: reg(1), rank: Operand::Int(3) }
    );
    assert_eq!(
        only("getctarank.shared::cluster.u32 $0, $1;", "=r,r"),
        Op::ClusterRank { space: near, ty: Ty::U(32), d: reg(0), a: reg(1) }
    );
    let op = only("red.relaxed.cluster.shared::cluster.add.u32 [$0], 1;", "r");
    assert!(matches!(op, Op::Atom { space: Space::SharedCluster, scope: Scope::Cluster, .. }));
    let op = only("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];", "r");
    assert!(matches!(op, Op::MbarrierArrive { space: Space::SharedCluster, scope: Scope::Cluster, .. }));
}

#[test]
fn exchange_within_a_warp() {
    let asm = modelled(
        "{ .reg .f32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, $1, $2, $3, $5; @p add.f32 r0, r0, $4; mov.f32 $0, r0;}",
        "=f,f,r,r,f,r",
    );
    assert_eq!(
        asm.statements[0].op,
        Op::Shfl {
            mode: ShflMode::Up,
            d: reg(6),
            p: Some(reg(7)),
            a: reg(1),
            b: reg(2),
            c: reg(3),
            mask: Some(reg(5))
        }
    );
    assert!(matches!(only("shfl.bfly.b32 $0, $1, $2, $3;", "=f,f,r,r"), Op::Shfl { mask: None, .. }));
    modelled(
        "{ .reg .pred p; and.b32 $0, $1, $2; setp.ne.u32 p, $0, 0; vote.ballot.sync.b32 $0, p, 0xffffffff; @!p not.b32 $0, $0; }",
        "=r,r,r",
    );
    assert!(matches!(
        only("match.all.sync.b64 $0|$1, $2, $3;", "=r,=b,l,r"),
        Op::Match { all: true, ty: Ty::B(64), p: Some(_), .. }
    ));
    assert!(matches!(only("redux.sync.xor.b32 $0, $1, $2;", "=r,r,r"), Op::Redux { op: ReduxOp::Xor, .. }));
    assert_eq!(only("activemask.b32 $0;", "=r"), Op::Activemask { d: reg(0) });
}

#[test]
fn asynchronous_copies() {
    let Op::CpAsync { size, source_size, ignore, .. } =
        only("cp.async.cg.shared.global.L2::128B [$0], [$1], 16, $2;", "r,l,r")
    else {
        panic!()
    };
    assert_eq!((size, source_size, ignore), (Operand::Int(16), Some(reg(2)), None));
    let Op::CpAsync { source_size, ignore, .. } =
        only("cp.async.ca.shared::cta.global [$0], [$1], 4, $2;", "r,l,b")
    else {
        panic!()
    };
    assert_eq!((source_size, ignore), (None, Some(reg(2))));
    assert_eq!(only("cp.async.wait_group $0;", "n"), Op::CpAsyncWait { pending: Some(reg(0)) });
    assert_eq!(only("cp.async.wait_all;", ""), Op::CpAsyncWait { pending: None });
    assert!(matches!(
        only("cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", "r"),
        Op::CpAsyncArrive { noinc: true, .. }
    ));
}

#[test]
fn mbarriers() {
    modelled("mbarrier.init.shared.b64 [$0], $1;", "r,r");
    assert!(matches!(
        only("mbarrier.arrive_drop.shared.b64 _, [$0];", "r"),
        Op::MbarrierArrive {
            drop: true,
            state: Operand::Sink,
            order: Order::Release,
            scope: Scope::Block,
            ..
        }
    ));
    assert!(matches!(
        only("mbarrier.arrive.noComplete.shared.b64 $0, [$1], $2;", "=l,r,r"),
        Op::MbarrierArrive { no_complete: true, count: Some(_), .. }
    ));
    assert!(matches!(
        only("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 $0, [$1], $2;", "=l,r,r"),
        Op::MbarrierArrive { expect_tx: Some(_), .. }
    ));
    let wait = "{ .reg .pred %p; mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p, [$1], $2; selp.b32 $0, 1, 0, %p; }";
    assert!(matches!(
        &modelled(wait, "=r,r,r").statements[0].op,
        Op::MbarrierWait { suspends: false, phase: MbarrierPhase::Parity(_), .. }
    ));
    modelled(
        "{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [$1], $2, $3; selp.b32 $0, 1, 0, p; }",
        "=r,r,l,r",
    );
    modelled("mbarrier.pending_count.b64 $0, $1;", "=r,l");
}

#[test]
fn the_rest_of_what_headers_write() {
    for (text, constraints) in [
        ("vabsdiff4.u32.u32.u32 $0,$1,$2,$3;", "=r,r,r,r"),
        ("vset2.s32.s32.gt $0,$1,$2,$3;", "=r,r,r,r"),
        ("vshl.u32.u32.u32.clamp.add $0, $1, $2, $3;", "=r,r,r,r"),
        ("dp2a.lo.s32.s32 $0, $1, $2, $3;", "=r,r,r,r"),
        ("lop3.b32 $0, $1, $2, $3, 0xe8;", "=r,r,r,r"),
        ("prefetch.global.L2::evict_last [$0];", "l"),
        ("discard.global.L2 [$0], 128;", "l"),
        ("createpolicy.fractional.L2::evict_first.b64 $0, 1.0;", "=l"),
        ("pmevent 1; brkpt; trap; exit;", ""),
        ("nanosleep.u32 $0;", "r"),
        ("isspacep.shared $0, $1;", "=b,l"),
        (".pragma \"nounroll\"; mov.u64 $0, %globaltimer;", "=l"),
        ("testp.finite.f32 $0, $1;", "=b,f"),
        ("slct.f32.s32 $0, $1, $2, $3;", "=f,f,f,r"),
        ("griddepcontrol.wait;", "~{memory}"),
        ("tex.2d.v4.f32.f32 {$0,$1,$2,$3}, [$4, {$5, $6}];", "=f,=f,=f,=f,l,f,f"),
        ("tex.3d.v4.u32.f32 {$0,$1,$2,$3}, [$4, {$5, $6, $7, $7}];", "=r,=r,=r,=r,l,f,f,f"),
        ("tex.level.2d.v4.f32.f32 {$0,$1,$2,$3}, [$4, {$5, $6}], $7;", "=f,=f,=f,=f,l,f,f,f"),
        ("tex.grad.2d.v4.f32.f32 {$0,$1,$2,$3}, [$4, {$5, $6}], {$5, $6}, {$6, $5};", "=f,=f,=f,=f,l,f,f"),
        ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0,$1,$2,$3}, [$4+16];", "=r,=r,=r,=r,r"),
        ("stmatrix.sync.aligned.m8n8.x1.shared::cta.b16 [$0], {$1};", "r,r"),
        ("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r"),
        (
            "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {$0,$1}, {$2,$2,$2,$2}, {$2,$2}, {$2,$2};",
            "=r,=r,r",
        ),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0,$1}, {$2}, {$2}, {$2,$2};", "=d,=d,d"),
        ("cvt.rn.satfinite.relu.e4m3x2.f16x2 $0, $1;", "=h,r"),
        ("tld4.g.2d.v4.f32.f32 {$0,$1,$2,$3}, [$4, {$5, $6}];", "=f,=f,=f,=f,l,f,f"),
        ("suld.b.1d.b8.zero {$0}, [$1, {$2}];", "=h,l,r"),
        ("sust.b.a2d.v2.b32.trap [$0, {$1, $2, $3, $3}], {$4, $5};", "l,r,r,r,r,r"),
    ] {
        modelled(text, constraints);
    }
    for register in special_registers() {
        let register = if register == "envreg" { "envreg1" } else { register };
        modelled(&format!("{{ .reg .b64 r; mov.b64 r, %{register}; }}"), "");
    }
}

#[test]
fn what_is_not_modelled_keeps_its_name() {
    for text in [
        // Four products of a quarter of the warp each.
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {$0,$1}, {$2}, {$3}, {$4};",
        "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {$0,$1,$2,$3}, {$0,$1,$2,$3}, {$0,$1}, {$0,$1,$2,$3};",
        "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {$0,$1}, {$0,$1}, {$0,$1}, {$0,$1}, $2, 0;",
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.f16.f32 {$0,$1,$2,$3}, {$0,$1}, {$2}, {$0,$1,$2,$3};",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {$0,$1}, [$4];",
        "tex.2d.v4.f16.f32 {$0,$1,$2,$3}, [$4, {$0, $1}];",
        "suld.p.2d.v4.b32.trap {$0,$1,$2,$3}, [$4, {$0, $1}];",
        "tld4.r.cube.v4.f32.f32 {$0,$1,$2,$3}, [$4, {$0, $1, $2}];",
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [$0], [$4, {$1, $2, $3}], [$1], {$2};",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [$0], [$4, {$1, $2}], [$3];",
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$4, {$1}], [$2], $3;",
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [$4, {$1}], [$0];",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$4], $1, [$2], $3;",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$4], [$0], $1;",
        "barrier.cluster.sync;",
        "mapa.shared::cta.u32 $0, $1, 2;",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [$0], $1, [$2];",
        "call (r), vprintf, (a, b);",
        "add.f32.somethingnew $0, $1, $2;",
        "newinstruction.b32 $0, $1;",
        ".shared .b8 buffer[64];",
    ] {
        let asm = parse(text, "=r,r,r,r,l").unwrap_or_else(|e| panic!("{text}: {e}"));
        let name = text.split([' ', ';']).next().unwrap();
        assert_eq!(asm.unsupported().collect::<Vec<_>>(), [name]);
    }
}

#[test]
fn the_table_has_each_mnemonic_once() {
    let mut names: Vec<_> = supported().map(|s| s.mnemonic).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(supported().any(|s| s.mnemonic == "ld" && s.status == Status::Modelled));
    assert!(supported().any(|s| s.mnemonic == "wmma" && s.status == Status::Refused));
}
