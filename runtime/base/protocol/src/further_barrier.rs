//! Whether a further barrier would order accesses of one launch: runs all threads of a block with it.

use std::collections::{BTreeMap, HashMap};

use crate::interval::uniformity;
use crate::launch::{Launch, LaunchShape};
use crate::protocol::{Loop, ObjectKind, Protocol, SiteId, Stmt, Sync, Uniform};
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
    /// It ends each iteration of the innermost of them, whose accesses are those that it precedes.
    pub ends_iteration: bool,
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
        Stmt::Loop(inner) if barrier.ends_iteration && barrier.loops == 1 => {
            // A thread that breaks the loop would not come to its end.
            let is_own = only && inner.breaks.is_none();
            let others = |stmt: &Stmt| any_site(stmt, &|site| !(barrier.precedes)(site));
            let ends = is_own && !inner.body.iter().any(others);
            return ends.then(|| inner.body.push(Stmt::Sync(barrier.sync)));
        }
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

/// The part of a body that decides where threads meet at the sites that `takes` accepts: without what only decides on
/// accesses of other sites.
fn part(protocol: &Protocol, body: &[Stmt], takes: &dyn Fn(SiteId) -> bool) -> Vec<Stmt> {
    let part = |body: &[Stmt]| part(protocol, body, takes);
    let leaves_value =
        |id| protocol.opaques.iter().any(|opaque| opaque.last.is_some_and(|last| last.of == id));
    let of_stmt = |stmt: &Stmt| match stmt {
        Stmt::Access(access) => takes(access.site).then(|| stmt.clone()),
        Stmt::Loop(inner) => {
            let body = part(&inner.body);
            let is_left = !body.is_empty() || leaves_value(inner.id);
            is_left.then(|| Stmt::Loop(Loop { body, ..inner.clone() }))
        }
        Stmt::If { cond, then, otherwise } => {
            let (then, otherwise) = (part(then), part(otherwise));
            let is_left = !then.is_empty() || !otherwise.is_empty();
            is_left.then_some(Stmt::If { cond: *cond, then, otherwise })
        }
        Stmt::Sync(_) | Stmt::Unknown(_) => Some(stmt.clone()),
    };
    body.iter().filter_map(of_stmt).collect()
}

/// Accesses of one warp to a byte by one site, without a barrier between them.
#[derive(PartialEq, Eq, Hash)]
struct Together {
    warp: u32,
    /// The numbers of warp, block and grid barriers before.
    passed: [u32; 3],
    site: SiteId,
    offset: i64,
    size: u64,
}

/// Of each group: an access, its thread, and whether others are of another thread.
type Groups = HashMap<Together, (Touch, u32, bool)>;

/// Which threads of a block conflict at two sites without a barrier between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conflict {
    /// Two threads of one warp.
    pub in_warp: bool,
    /// Threads of two warps.
    pub across_warps: bool,
}

/// The pairs of sites at which threads of a block meet, the lower number first.
pub type Conflicts = BTreeMap<[SiteId; 2], Conflict>;

/// Returns where threads of a block conflict without a barrier between them, at the sites that `takes` accepts. `None`
/// if the protocol leaves open what the threads do, if some lanes wait for each other, or if there are too many steps.
pub fn conflicts(
    protocol: &Protocol,
    launch: &Launch,
    block: [u32; 3],
    takes: &dyn Fn(SiteId) -> bool,
) -> Option<Conflicts> {
    let protocol = &Protocol { body: part(protocol, &protocol.body, takes), ..protocol.clone() };
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
        let (number, warp) = (thread.linear(launch), thread.warp(launch));
        let Trace { touches, syncs, .. } = run.thread(thread, steps).ok()?;
        if syncs.name_some() {
            // Lanes that wait for some others could wait forever if those wait at the further barrier.
            return None;
        }
        for touch in touches.into_iter().filter(|touch| takes(touch.site)) {
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
            let start = base.wrapping_add(touch.offset as u64);
            left = left.checked_sub(touch.size)?;
            for at in 0..touch.size {
                let Touch { passed, site, offset, size, .. } = touch;
                let group = bytes.entry((memory, start.wrapping_add(at))).or_default();
                group
                    .entry(Together { warp, passed, site, offset, size })
                    .and_modify(|(_, first, several)| *several |= *first != number)
                    .or_insert((touch, number, false));
            }
        }
    }
    if is_open {
        return None;
    }
    let mut conflicts = Conflicts::new();
    for groups in bytes.values() {
        let writes = groups.iter().filter(|(_, (touch, ..))| touch.op.writes());
        for (a, (touch, thread, several)) in writes {
            for (b, (other, other_thread, other_several)) in groups {
                let is_apart =
                    a.passed[1..] != b.passed[1..] || a.warp == b.warp && a.passed[0] != b.passed[0];
                let is_one_thread = thread == other_thread && !several && !other_several;
                let same_bytes = (a.offset, a.size) == (b.offset, b.size);
                if !is_apart && !is_one_thread && conflict(touch.op, other.op, same_bytes, true) {
                    let pair = [a.site.min(b.site), a.site.max(b.site)];
                    let conflict = conflicts.entry(pair).or_default();
                    conflict.in_warp |= a.warp == b.warp;
                    conflict.across_warps |= a.warp != b.warp;
                }
            }
        }
    }
    Some(conflicts)
}

/// True if two threads of a block conflict at these pairs of sites without a barrier between them: of a warp, or of a
/// block. `None` if that is unknown, as for [`conflicts`].
pub fn meet(
    protocol: &Protocol,
    launch: &Launch,
    block: [u32; 3],
    pairs: &[[SiteId; 2]],
    sync: Sync,
) -> Option<bool> {
    let counts = |conflict: &Conflict| match sync {
        Sync::Warp => Some(conflict.in_warp),
        Sync::Block | Sync::Grid => Some(true),
        Sync::Lanes(_) | Sync::Named(_) | Sync::Phase(_) => None,
    };
    let found =
        conflicts(protocol, launch, block, &|site| pairs.iter().flatten().any(|taken| *taken == site))?;
    let mut any = false;
    for (&[a, b], conflict) in &found {
        any |= counts(conflict)? && pairs.iter().any(|&pair| pair == [a, b] || pair == [b, a]);
    }
    Some(any)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Axis, CmpOp, Expr, ExprId, LoopId, VarId, Width};
    use crate::protocol::{Access, Breaks, Induction, Object, ObjectId, Op, Step, Test};

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
        FurtherBarrier { sync: Sync::Block, precedes, loops, ends_iteration: false }
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
    fn a_barrier_may_end_each_round() {
        let at_end = |precedes, loops| FurtherBarrier { ends_iteration: true, ..barrier(precedes, loops) };
        let racy = halving(0, Expr::Ntid(Axis::X));
        let fixed = insert(&racy, at_end(&|_| true, 1)).unwrap();
        assert_eq!(meets(&fixed), Some(false));
        let wrong_index = insert(&halving(-1, Expr::Ntid(Axis::X)), at_end(&|_| true, 1)).unwrap();
        assert_eq!(meets(&wrong_index), Some(true));
        // The loop has other accesses, is another one, or may be left before its end.
        assert!(insert(&racy, at_end(&|site| site == WRITE, 1)).is_none());
        assert!(insert(&racy, at_end(&|_| true, 2)).is_none());
        let mut broken = racy.clone();
        let unless = broken.exprs.add(Expr::Tid(Axis::Y));
        let Stmt::If { then, .. } = &mut broken.body[0] else { panic!() };
        let Stmt::Loop(inner) = &mut then[0] else { panic!() };
        inner.breaks = Some(Breaks { uniform: Uniform::Block, unless });
        assert!(insert(&broken, at_end(&|_| true, 1)).is_none());
    }

    #[test]
    fn a_condition_on_other_accesses_decides_nothing() {
        // What is stored before the loop depends on what memory holds.
        let open = |site| {
            let mut p = halving(0, Expr::Ntid(Axis::X));
            let cond = p.exprs.add(Expr::Opaque { id: crate::expr::OpaqueId(0), width: Width::W1 });
            p.opaques.push(crate::protocol::Opaque {
                what: "value".into(),
                width: Width::W1,
                uniform: Uniform::Thread,
                loops: Vec::new(),
                range: None,
                loaded_by: None,
                last: None,
                argument: None,
                ticket: None,
            });
            let (zero, four) = (p.exprs.c64(0), p.exprs.c64(4));
            let store =
                Stmt::Access(Access { site, op: Op::Write, object: ObjectId(0), offset: zero, size: four });
            let stores = Stmt::If { cond, then: vec![store.clone()], otherwise: vec![store] };
            p.body.insert(0, stores);
            p
        };
        assert_eq!(meets(&open(SiteId(2))), Some(true));
        let fixed = insert(&open(SiteId(2)), barrier(&|site| site.0 < 2, 1)).unwrap();
        assert_eq!(meets(&fixed), Some(false));
        assert_eq!(meets(&open(WRITE)), None);
    }

    #[test]
    fn each_pair_that_meets_is_told_with_its_threads() {
        let launch = Launch { shape: LaunchShape::flat(1, 128), ..Launch::default() };
        let all = |protocol: &Protocol| conflicts(protocol, &launch, [0; 3], &|_| true).unwrap();
        // Of 64 threads each one reads what another one writes: 32 apart, or fewer.
        let racy = halving(0, Expr::Ntid(Axis::X));
        let both = Conflict { in_warp: true, across_warps: true };
        assert_eq!(all(&racy), Conflicts::from([([READ, WRITE], both)]));
        // A barrier of the warp leaves what threads of two warps do.
        let sync = FurtherBarrier { sync: Sync::Warp, ..barrier(&|_| true, 1) };
        let across = Conflict { in_warp: false, across_warps: true };
        assert_eq!(all(&insert(&racy, sync).unwrap()), Conflicts::from([([READ, WRITE], across)]));
        let fixed = insert(&racy, barrier(&|_| true, 1)).unwrap();
        assert_eq!(all(&fixed), Conflicts::new());
        assert_eq!(conflicts(&racy, &launch, [0; 3], &|site| site == READ), Some(Conflicts::new()));
    }

    #[test]
    fn one_thread_that_writes_meets_others_that_read() {
        // Thread 0 writes what all threads read, itself included.
        let mut p = Protocol::default();
        let (t, zero, four) = (p.exprs.add(Expr::Tid(Axis::X)), p.exprs.c64(0), p.exprs.c64(4));
        let access =
            |site, op| Stmt::Access(Access { site, op, object: ObjectId(0), offset: zero, size: four });
        let none = p.exprs.c32(0);
        let cond = p.exprs.cmp(CmpOp::Eq, t, none);
        let write = Stmt::If { cond, then: vec![access(WRITE, Op::Write)], otherwise: Vec::new() };
        p.body = vec![access(READ, Op::Read), write];
        p.objects = vec![Object { name: "tile".into(), kind: ObjectKind::Shared { size: 4 } }];
        let found = |threads| {
            let launch = Launch { shape: LaunchShape::flat(1, threads), ..Launch::default() };
            conflicts(&p, &launch, [0; 3], &|_| true).unwrap()
        };
        let in_warp = Conflict { in_warp: true, across_warps: false };
        assert_eq!(found(1), Conflicts::new());
        assert_eq!(found(2), Conflicts::from([([READ, WRITE], in_warp)]));
        assert_eq!(found(64), Conflicts::from([([READ, WRITE], Conflict { across_warps: true, ..in_warp })]));
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
        open.objects[0].kind = ObjectKind::Opaque {
            space: crate::protocol::Space::Shared,
            uniform: Uniform::Thread,
            loaded_by: None,
        };
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
        let with = |sync| insert(&racy, FurtherBarrier { sync, ..barrier(&|_| true, 1) }).unwrap();
        assert_eq!(meets(&with(Sync::Warp)), Some(true));
        let launch = Launch { shape: LaunchShape::flat(1, 128), ..Launch::default() };
        let in_warps = |protocol: &Protocol| meet(protocol, &launch, [0; 3], &[[READ, WRITE]], Sync::Warp);
        assert_eq!((in_warps(&racy), in_warps(&with(Sync::Warp))), (Some(true), Some(false)));
    }
}
