//! Conditions that what accesses name in any launch decides, beside neighbours that it must leave to the launch's
//! values, and those that must not hold.

use gpurace_protocol::condition::{AnyLaunch, Condition, ConditionTest};
use gpurace_protocol::expr::{Axis, CmpOp, Expr, Exprs, ParamId, Width};
use gpurace_protocol::launch::{Extent, GUARD, Launch, LaunchShape};
use gpurace_protocol::protocol::*;

const APART: Condition = Condition::Disjoint(ObjectId(0), ObjectId(1));

/// `to[n + threadIdx.x] = from[n + threadIdx.x]` with elements of 4 bytes and an index of 32 or 64 bits.
fn copy(index: Width) -> Protocol {
    let mut exprs = Exprs::default();
    let (t, n) = (exprs.add(Expr::Tid(Axis::X)), exprs.add(Expr::Param { id: ParamId(2), width: index }));
    let offset = match index {
        Width::W64 => {
            let wide = exprs.zext(Width::W64, t);
            exprs.sum(n, wide)
        }
        _ => {
            let sum = exprs.sum(n, t);
            exprs.sext(Width::W64, sum)
        }
    };
    let four = exprs.c64(4);
    let offset = exprs.product(offset, four);
    let size = exprs.c64(4);
    let access = |site, op, object| {
        Stmt::Access(Access { site: SiteId(site), op, object: ObjectId(object), offset, size })
    };
    let param = |name: &str, at, width, pointer| Param { name: name.into(), width, offset: at, pointer };
    let object = |i| Object { name: format!("p{i}"), kind: ObjectKind::Param(ParamId(i)) };
    Protocol {
        body: vec![access(0, Op::Read, 0), access(1, Op::Write, 1)],
        params: vec![
            param("from", 0, Width::W64, true),
            param("to", 8, Width::W64, true),
            param("n", 16, index, false),
        ],
        objects: vec![object(0), object(1)],
        exprs,
        ..Protocol::default()
    }
}

/// A launch of one block of 32 threads, on two pointers into allocations with a guard.
fn launch(pointers: [(u64, (u64, u64)); 2], n: u64, guard: u64) -> Launch {
    let shape = LaunchShape { grid: [1; 3], block: [32, 1, 1], ..LaunchShape::default() };
    let object = |(base, allocation)| Some(Extent { base, allocation: Some(allocation), guard });
    let [a, b] = pointers;
    Launch { shape, params: vec![a.0, b.0, n], objects: vec![object(a), object(b)], ..Launch::default() }
}

/// If the condition holds, by what accesses name in any launch and by the launch's values alone.
fn holds(protocol: &Protocol, launch: &Launch) -> [bool; 2] {
    let any = AnyLaunch::of(protocol);
    // Without its values, only what holds in any launch is left.
    let unknown = Launch { params: Vec::new(), ..launch.clone() };
    let by_any = ConditionTest::new(protocol, &protocol.exprs, &unknown, Some(&any)).holds(&APART);
    let by_launch = APART.holds(protocol, &protocol.exprs, launch);
    assert_eq!(ConditionTest::new(protocol, &protocol.exprs, launch, Some(&any)).holds(&APART), by_launch);
    [by_any, by_launch]
}

const A: (u64, u64) = (1 << 40, (1 << 40) + 4096);
const B: (u64, u64) = (1 << 41, (1 << 41) + 4096);

#[test]
fn guarded_allocations_are_apart_for_any_index_of_32_bits() {
    let p = copy(Width::W32);
    assert_eq!(holds(&p, &launch([(A.0, A), (B.0, B)], 0, GUARD)), [true, true]);
    assert_eq!(holds(&p, &launch([(A.0 + 512, A), (B.0, B)], 0x7fff_fff0, GUARD)), [true, true]);
}

#[test]
fn the_launch_decides_where_an_index_may_pass_the_guard() {
    let p = copy(Width::W64);
    assert_eq!(holds(&p, &launch([(A.0, A), (B.0, B)], 0, GUARD)), [false, true]);
    // From one allocation into the other.
    assert_eq!(holds(&p, &launch([(A.0, A), (B.0, B)], 1 << 38, GUARD)), [false, false]);
    let p = copy(Width::W32);
    assert_eq!(holds(&p, &launch([(A.0, A), (B.0, B)], 0, 0)), [false, true]);
    assert_eq!(holds(&p, &launch([(A.0, A), (B.0, B)], 1020, 0)), [false, false]);
}

#[test]
fn the_launch_decides_within_one_allocation() {
    let p = copy(Width::W32);
    assert_eq!(holds(&p, &launch([(A.0, A), (A.0 + 128, A)], 0, GUARD)), [false, true]);
    assert_eq!(holds(&p, &launch([(A.0, A), (A.0 + 124, A)], 0, GUARD)), [false, false]);
}

#[test]
fn reads_alone_need_no_distance() {
    let mut p = copy(Width::W32);
    for stmt in &mut p.body {
        let Stmt::Access(access) = stmt else { continue };
        access.op = Op::Read;
    }
    assert_eq!(holds(&p, &launch([(A.0, A), (A.0, A)], 0, GUARD)), [true, true]);
}

#[test]
fn an_access_under_a_condition_of_the_launch_counts_in_any() {
    // if (n == 0) to[1 << 35] = 0;
    let mut p = copy(Width::W32);
    let (offset, size) = (p.exprs.c64(1 << 37), p.exprs.c64(4));
    let n = p.exprs.add(Expr::Param { id: ParamId(2), width: Width::W32 });
    let zero = p.exprs.c32(0);
    let cond = p.exprs.cmp(CmpOp::Eq, n, zero);
    let far = Access { site: SiteId(2), op: Op::Write, object: ObjectId(1), offset, size };
    p.body.push(Stmt::If { cond, then: vec![Stmt::Access(far)], otherwise: Vec::new() });
    assert_eq!(holds(&p, &launch([(A.0, A), (B.0, B)], 0, GUARD)), [false, false]);
}
