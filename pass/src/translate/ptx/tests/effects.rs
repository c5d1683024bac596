//! Accesses and synchronisation of statements.

use gpurace_abi::scope::{AtomicKind, Order, Scope};

use super::modelled;
use crate::translate::ptx::effects::*;
use crate::translate::ptx::op::Operand;
use crate::translate::ptx::types::Space;
use crate::translate::ptx::{memory_effects, parse};

#[test]
fn a_weak_vector_is_one_access_and_a_strong_one_is_many() {
    let weak = modelled("ld.global.v4.f32 {$0,$1,$2,$3}, [$4+32];", "=f,=f,=f,=f,l");
    let effects = memory_effects(&weak.statements[0]);
    let [access] = effects.accesses.as_slice() else { panic!() };
    assert_eq!(
        (access.kind, &access.size, access.space, access.address.offset),
        (AccessKind::Read, &Size::Bytes(16), Space::Global, 32)
    );
    let strong = modelled("st.release.gpu.v2.u64 [$0], {$1,$2};", "l,l,l");
    let effects = memory_effects(&strong.statements[0]);
    let offsets: Vec<_> = effects.accesses.iter().map(|a| (a.element_offset, a.kind)).collect();
    let kind = AccessKind::Atomic(AtomicKind::Store, Order::Release, Scope::Device);
    assert_eq!(offsets, [(0, kind), (8, kind)]);
}

#[test]
fn volatile_is_relaxed_at_system_scope() {
    let asm = modelled("ld.volatile.shared.u16 $0, [$1];", "=h,r");
    let effects = memory_effects(&asm.statements[0]);
    let access = &effects.accesses[0];
    assert!(access.volatile);
    assert_eq!(access.kind, AccessKind::Atomic(AtomicKind::VolatileLoad, Order::Relaxed, Scope::System));
    assert_eq!(access.size, Size::Bytes(2));
}

#[test]
fn guards_and_synchronisation_are_told() {
    let asm = modelled(
        "{ .reg .pred p; setp.ne.u32 p, $0, 0; @!p bar.arrive 3, 64; fence.sc.cta; bar.warp.sync $0; shfl.sync.idx.b32 $0, $0, 0, 31, -1; }",
        "=r",
    );
    let of = |i: usize| memory_effects(&asm.statements[i]);
    assert!(of(0).sync.is_none() && of(0).accesses.is_empty());
    assert!(of(1).guard.is_some_and(|g| g.negated));
    let (id, threads) = (Operand::Int(3), Operand::Int(64));
    assert_eq!(of(1).sync, Some(Sync::Barrier { waits: false, id: &id, threads: Some(&threads) }));
    assert_eq!(of(2).sync, Some(Sync::Fence(Order::SeqCst, Scope::Block)));
    assert!(matches!(of(3).sync, Some(Sync::Warp(_))));
    assert!(matches!(of(4).sync, Some(Sync::Collective(Some(_)))));
}

#[test]
fn asynchronous_copies_read_and_write() {
    let asm = modelled("cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r");
    let effects = memory_effects(&asm.statements[0]);
    let accesses: Vec<_> = effects.accesses.iter().map(|a| (a.kind, a.space)).collect();
    assert_eq!(accesses, [(AccessKind::Read, Space::Global), (AccessKind::Write, Space::Shared)]);
    assert_eq!(effects.accesses[1].size, Size::Bytes(16));
    assert!(matches!(effects.accesses[0].size, Size::Operand(_)));
    assert_eq!(effects.sync, Some(Sync::AsyncCopy(AsyncCopy::Start)));
}

#[test]
fn what_is_not_modelled_may_do_anything() {
    let asm = parse("wgmma.fence.sync.aligned;", "").unwrap();
    assert_eq!(memory_effects(&asm.statements[0]).unsupported, Some("wgmma.fence.sync.aligned"));
}
