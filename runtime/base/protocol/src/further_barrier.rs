//! Whether a further barrier would order accesses of one launch: runs all threads of a block with it.

use std::collections::HashMap;

use crate::interval::uniformity;
use crate::launch::{Launch, LaunchShape};
use crate::protocol::{ObjectKind, Protocol, SiteId, Stmt, Sync, Uniform};
use crate::race::{conflict, threads};
use crate::run::{Run, Touch, Trace};

/// Statements and iterations of a block that are run, and bytes that are compared.
const MOST_STEPS: u64 = 1 << 20;

/// A barrier that the kernel does not have, in uniform control flow.
#[derive(Clone, Copy)]
pub struct FurtherBarrier<'a> {
    /// [`Sync::Block`] or [`Sync::Warp`].
    pub sync: Sync,
    /// True for the accesses that a thread reaches only through the barrier, in each iteration of the loops
    /// around it.
    pub precedes: &'a dyn Fn(SiteId) -> bool,
    /// The number of loops around it.
    pub loops: usize,
}

/// Returns the protocol with a further barrier. `None` if the protocol has no place that is certainly its own.
pub fn insert(protocol: &Protocol, barrier: FurtherBarrier<'_>) -> Option<Protocol> {
    let mut changed = protocol.clone();
    insert_in(protocol, &mut changed.body, barrier)?;
    Some(changed)
}

fn insert_in(protocol: &Protocol, body: &mut Vec<Stmt>, barrier: FurtherBarrier<'_>) -> Option<()> {
    let preceded = |stmt: &Stmt| any_site(stmt, &|site| (barrier.precedes)(site));
    let first = body.iter().position(preceded)?;
    let only = !body[first + 1..].iter().any(preceded);
    match &mut body[first] {
        Stmt::Loop(inner) if barrier.loops > 0 => {
            let barrier = FurtherBarrier { loops: barrier.loops - 1, ..barrier };
            return only.then(|| insert_in(protocol, &mut inner.body, barrier)).flatten();
        }
        Stmt::If { cond, then, otherwise }
            if only && uniformity(protocol, &protocol.exprs, *cond) >= Uniform::Block =>
        {
            // Threads that agree on the condition may meet the barrier behind it.
            match (then.iter().any(preceded), otherwise.iter().any(preceded)) {
                (true, false) => return insert_in(protocol, then, barrier),
                (false, true) => return insert_in(protocol, otherwise, barrier),
                _ => {}
            }
        }
        _ => {}
    }
    // Behind the barrier there may be no access that some thread reaches without it.
    let bypassed = |stmt: &Stmt| any_site(stmt, &|site| !(barrier.precedes)(site));
    if barrier.loops > 0 || body[first..].iter().any(bypassed) {
        return None;
    }
    body.insert(first, Stmt::Sync(barrier.sync));
    Some(())
}

fn any_site(stmt: &Stmt, holds: &dyn Fn(SiteId) -> bool) -> bool {
    let any = |body: &[Stmt]| body.iter().any(|stmt| any_site(stmt, holds));
    match stmt {
        Stmt::Access(access) => holds(access.site),
        Stmt::Loop(inner) => any(&inner.body),
        Stmt::If { then, otherwise, .. } => any(then) || any(otherwise),
        Stmt::Sync(_) | Stmt::Unknown(_) => false,
    }
}

/// Accesses of one site to a byte that no barrier parts.
#[derive(PartialEq, Eq, Hash)]
struct Together {
    /// The number of barriers before, and the warp if barriers are those of a warp.
    interval: [u32; 3],
    site: SiteId,
    offset: i64,
    size: u64,
}

/// Of each group: an access, its thread, and whether others are of another thread.
type Groups = HashMap<Together, (Touch, u32, bool)>;

/// True if two threads of a block conflict at these sites without a barrier between them. `None` if the
/// protocol leaves open what the threads do, if some lanes wait for each other, or if there are too many
/// steps.
pub fn meet(
    protocol: &Protocol,
    launch: &Launch,
    block: [u32; 3],
    pairs: &[[SiteId; 2]],
    sync: Sync,
) -> Option<bool> {
    let mut is_open = false;
    let mut choose = |_: &_| {
        is_open = true;
        0
    };
    let mut run = Run::new(protocol, launch, &mut choose);
    let one_block = Launch { shape: LaunchShape { grid: [1; 3], ..launch.shape }, ..Launch::default() };
    let steps = MOST_STEPS / u64::from(launch.shape.threads().max(1));
    let mut left = MOST_STEPS;
    let mut bytes: HashMap<(u8, u64), Groups> = HashMap::new();
    for mut thread in threads(&one_block) {
        thread.ctaid = block;
        let number = thread.linear(launch);
        let Trace { touches, syncs, .. } = run.thread(thread, steps).ok()?;
        if syncs.name_some() {
            // Lanes that wait for some others could wait forever if those wait at the further barrier.
            return None;
        }
        for touch in
            touches.into_iter().filter(|touch| pairs.iter().flatten().any(|site| *site == touch.site))
        {
            let (memory, base) = match &protocol.objects.get(touch.object as usize)?.kind {
                ObjectKind::Param(_) | ObjectKind::Image(_) | ObjectKind::Variable { .. } => {
                    (0, launch.objects.get(touch.object as usize)?.as_ref()?.base)
                }
                ObjectKind::Shared { .. } | ObjectKind::DynamicShared => (1, u64::from(touch.object) << 32),
                _ => return None,
            };
            if touch.op.is_copy() || touch.op.passes() > 0 {
                // It may still be in flight at the new barrier.
                return None;
            }
            let [warp_syncs, block_syncs, _] = touch.passed;
            let interval = match sync {
                Sync::Warp => [thread.warp(launch), warp_syncs, block_syncs],
                Sync::Block | Sync::Grid => [0, 0, block_syncs],
                Sync::Lanes(_) | Sync::Named(_) => return None,
            };
            let start = base.wrapping_add(touch.offset as u64);
            left = left.checked_sub(touch.size)?;
            for at in 0..touch.size {
                let Touch { site, offset, size, .. } = touch;
                let group = bytes.entry((memory, start.wrapping_add(at))).or_default();
                group
                    .entry(Together { interval, site, offset, size })
                    .and_modify(|(_, first, several)| *several |= *first != number)
                    .or_insert((touch, number, false));
            }
        }
    }
    if is_open {
        return None;
    }
    Some(bytes.values().any(|groups| {
        groups.iter().any(|(a, (touch, thread, several))| {
            groups.iter().any(|(b, (other, other_thread, _))| {
                a.interval == b.interval
                    && (thread != other_thread || *several)
                    && pairs.iter().any(|&[x, y]| (x, y) == (a.site, b.site) || (y, x) == (a.site, b.site))
                    && conflict(touch.op, other.op, (a.offset, a.size) == (b.offset, b.size), true)
            })
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Axis, CmpOp, Expr, ExprId, LoopId, VarId, Width};
    use crate::protocol::{Access, Induction, Loop, Object, ObjectId, Op, Step, Test};

    const READ: SiteId = SiteId(0);
    const WRITE: SiteId = SiteId(1);

    /// `for (s = 64; s; s /= 2) if (t < s) tile[t] += tile[t + s + more]`, within a condition on the thread or
    /// on the launch.
    fn halving(more: i64, guard: Expr) -> Protocol {
        let mut p = Protocol::default();
        let zero = p.exprs.c32(0);
        let t = p.exprs.add(Expr::Tid(Axis::X));
        let s = p.exprs.add(Expr::Var { id: VarId(0), width: Width::W32 });
        let more = p.exprs.c32(more);
        let from = p.exprs.sum(t, s);
        let from = p.exprs.sum(from, more);
        let mut access = |site, op, index: ExprId| {
            let four = p.exprs.c32(4);
            let offset = p.exprs.product(index, four);
            let offset = p.exprs.zext(Width::W64, offset);
            let size = p.exprs.c64(4);
            Stmt::Access(Access { site, op, object: ObjectId(0), offset, size })
        };
        let then = vec![access(READ, Op::Read, from), access(WRITE, Op::Write, t)];
        let cond = p.exprs.cmp(CmpOp::Ult, t, s);
        let body = vec![Stmt::If { cond, then, otherwise: Vec::new() }];
        let from = p.exprs.c32(64);
        let vars = vec![Induction { id: VarId(0), width: Width::W32, from, step: Step::UDiv(2) }];
        let cond = p.exprs.cmp(CmpOp::Ult, zero, s);
        let halving = Loop { id: LoopId(0), vars, cond, test: Test::Before, breaks: None, body };
        let guard = p.exprs.add(guard);
        let cond = p.exprs.cmp(CmpOp::Ult, zero, guard);
        p.body = vec![Stmt::If { cond, then: vec![Stmt::Loop(halving)], otherwise: Vec::new() }];
        p.objects = vec![Object { name: "tile".into(), kind: ObjectKind::Shared { size: 1024 } }];
        p
    }

    fn barrier(precedes: &dyn Fn(SiteId) -> bool, loops: usize) -> FurtherBarrier<'_> {
        FurtherBarrier { sync: Sync::Block, precedes, loops }
    }

    fn meets(protocol: &Protocol) -> Option<bool> {
        let launch = Launch { shape: LaunchShape::flat(2, 128), ..Launch::default() };
        meet(protocol, &launch, [1, 0, 0], &[[READ, WRITE]], Sync::Block)
    }

    #[test]
    fn a_barrier_in_each_round_orders_rounds_but_no_round() {
        for (more, left) in [(0, false), (-1, true)] {
            let racy = halving(more, Expr::Ntid(Axis::X));
            assert_eq!(meets(&racy), Some(true));
            let fixed = insert(&racy, barrier(&|_| true, 1)).unwrap();
            assert_eq!(meets(&fixed), Some(left), "{more}");
        }
        // One before the loop orders nothing in it.
        let before = insert(&halving(0, Expr::Ntid(Axis::X)), barrier(&|_| true, 0)).unwrap();
        assert_eq!(meets(&before), Some(true));
    }

    #[test]
    fn no_barrier_stands_where_an_access_bypasses_it() {
        let racy = halving(0, Expr::Ntid(Axis::X));
        assert!(insert(&racy, barrier(&|site| site == WRITE, 1)).is_none());
        assert!(insert(&racy, barrier(&|_| false, 1)).is_none());
        assert!(insert(&racy, barrier(&|_| true, 2)).is_none());
        // Not in a condition that threads decide one by one.
        assert!(insert(&halving(0, Expr::Tid(Axis::X)), barrier(&|_| true, 1)).is_none());
    }

    #[test]
    fn what_the_protocol_leaves_open_decides_nothing() {
        let mut open = halving(0, Expr::Ntid(Axis::X));
        open.objects[0].kind =
            ObjectKind::Opaque { space: crate::protocol::Space::Shared, uniform: Uniform::Thread };
        assert_eq!(meets(&open), None);
        let mut unending = halving(0, Expr::Ntid(Axis::X));
        let Stmt::If { then, .. } = &mut unending.body[0] else { panic!() };
        let Stmt::Loop(inner) = &mut then[0] else { panic!() };
        inner.vars[0].step = Step::Mul(1);
        assert_eq!(meets(&unending), None);
    }

    #[test]
    fn nothing_is_said_beside_syncs_of_some_lanes() {
        let mut racy = halving(0, Expr::Ntid(Axis::X));
        let mask = racy.exprs.c32(0xffff);
        racy.body.push(Stmt::Sync(Sync::Lanes(mask)));
        assert_eq!(meets(&racy), None);
    }

    #[test]
    fn threads_of_several_warps_do_not_wait_at_a_warps_barrier() {
        let racy = halving(0, Expr::Ntid(Axis::X));
        let with = |sync| insert(&racy, FurtherBarrier { sync, precedes: &|_| true, loops: 1 }).unwrap();
        assert_eq!(meets(&with(Sync::Warp)), Some(true));
        let launch = Launch { shape: LaunchShape::flat(1, 128), ..Launch::default() };
        let in_warps = |protocol: &Protocol| meet(protocol, &launch, [0; 3], &[[READ, WRITE]], Sync::Warp);
        assert_eq!((in_warps(&racy), in_warps(&with(Sync::Warp))), (Some(true), Some(false)));
    }
}
