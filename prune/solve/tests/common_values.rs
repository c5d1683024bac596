//! Proofs for all launches that have some values in common: which values become constants, and that a launch
//! with another value has no part in the proof.
mod common;

use common::*;
use gpurace_protocol::common::Common;
use gpurace_protocol::expr::{Axis, Expr};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::{ObjectId, Protocol, SiteId};
use gpurace_protocol::show::condition;
use gpurace_protocol::verdict::Verdict;
use gpurace_solve::Outcome;

/// `a[i * n + j] -= a[i * n + k] * a[k * n + j]` for `i` and `j` from `k + 1` to `n - 1`, or from `k` on. The
/// last site is the write.
fn elimination(from: i64) -> Protocol {
    let mut k = Kernel::new("elimination");
    let (a, n, step) = (k.pointer("a"), k.scalar("n"), k.scalar("k"));
    let (x, y) = (k.gid(), k.gidy());
    let first = k.addc(step, from);
    let (j, i) = (k.add(x, first), k.add(y, first));
    let (row, pivot) = (k.mul(i, n), k.mul(step, n));
    let guard = [k.lt(i, n), k.lt(j, n)];
    let both = k.p.exprs.both(guard[0], guard[1]);
    let (left, above, own) = (k.add(row, step), k.add(pivot, j), k.add(row, j));
    k.when(both, |k| {
        k.read(a, left);
        k.read(a, above);
        k.read(a, own);
        k.write(a, own);
    });
    k.done()
}

/// The verdicts for launches that have in common what two of these have, and their protocol.
fn alike(p: &Protocol, a: &Launch, b: &Launch) -> (Common, Protocol, Outcome) {
    let common = Common::of(p, a, b);
    let special = common.protocol(p);
    let outcome = prove(&special);
    (common, special, outcome)
}

/// True if the site is proved for the launch, which has the values in common.
fn proved_for(special: &Protocol, outcome: &Outcome, launch: &Launch, site: SiteId) -> bool {
    let of_site = outcome.verdicts.sites.iter().find(|found| found.site == site);
    match &of_site.unwrap().verdict {
        Verdict::Proved => true,
        Verdict::ProvedIf(all) => all.iter().all(|c| c.holds(special, &outcome.verdicts.exprs, launch)),
        Verdict::Racy(_) | Verdict::Unknown(_) => false,
    }
}

#[test]
fn a_loop_of_launches_has_one_proof() {
    let p = elimination(1);
    let step = |k: u64, blocks: u32| launch([blocks, blocks, 1], [4, 4, 1], &p, &[10, k]);
    let (common, special, outcome) = alike(&p, &step(1, 3), &step(5, 2));
    for (k, blocks) in [(1, 3), (2, 3), (3, 3), (5, 3), (8, 3)] {
        let launch = step(k, blocks);
        assert!(common.holds(&launch));
        for site in 0..4 {
            assert!(proved_for(&special, &outcome, &launch, SiteId(site)), "{site} of {k}");
        }
        assert!(racing(&p, &launch, 0).is_empty());
        // With the size of a row as an unknown, the index is a product of two unknowns.
        let of_all = prove(&p);
        assert!((0..4).any(|site| !proved_for(&p, &of_all, &launch, SiteId(site))), "{k}");
    }
    // The steps of a row before the first one reach the row above: `k` is below 0.
    let before = step(u64::from(u32::MAX), 4);
    assert!(common.holds(&before) && racing(&p, &before, 0).contains(&SiteId(0)));
    assert!(!proved_for(&special, &outcome, &before, SiteId(0)));
}

#[test]
fn a_loop_of_launches_that_race_has_none() {
    let p = elimination(0);
    let step = |k: u64| launch([3, 3, 1], [4, 4, 1], &p, &[12, k]);
    let (_, special, outcome) = alike(&p, &step(1), &step(5));
    for k in 0..11 {
        assert!(racing(&p, &step(k), 0).contains(&SiteId(0)), "{k}");
        assert!(!proved_for(&special, &outcome, &step(k), SiteId(0)), "{k}");
        assert!(!proved_for(&special, &outcome, &step(k), SiteId(3)), "{k}");
    }
}

#[test]
fn a_launch_with_another_value_has_no_part() {
    // `a[i * n + j]` with 4 columns: rows meet if `n` is 3.
    let mut k = Kernel::new("rows");
    let (a, n, m) = (k.pointer("a"), k.scalar("n"), k.scalar("m"));
    let (i, j) = (k.tidy(), k.tid());
    let row = k.mul(i, n);
    let own = k.add(row, j);
    let moved = k.add(own, m);
    let write = k.write(a, moved);
    let p = k.done();
    let of = |n: u64, m: u64| launch([1, 1, 1], [4, 2, 1], &p, &[n, m]);
    let (common, special, outcome) = alike(&p, &of(4, 0), &of(4, 1));
    assert!(common.holds(&of(4, 7)) && proved_for(&special, &outcome, &of(4, 7), write));
    // The proof knows `n` as a constant, so no condition of it would tell this launch apart.
    assert!(racing(&p, &of(3, 0), 0).contains(&write));
    assert!(proved_for(&special, &outcome, &of(3, 0), write) && !common.holds(&of(3, 0)));
}

#[test]
fn each_kind_of_value_is_compared() {
    let mut k = Kernel::new("values");
    let (a, n, t) = (k.pointer("a"), k.scalar("n"), k.gid());
    let i = k.add(t, n);
    k.write(a, i);
    let p = k.done();
    let first = launch([2, 3, 4], [5, 6, 7], &p, &[8]);
    let common = Common::of(&p, &first, &first);
    let mut others = vec![];
    for axis in 0..3 {
        let (mut block, mut grid) = (first.clone(), first.clone());
        block.shape.block[axis] += 1;
        grid.shape.grid[axis] += 1;
        others.extend([block, grid]);
    }
    let (mut shared, mut scalar, mut place, mut fewer) =
        (first.clone(), first.clone(), first.clone(), first.clone());
    shared.shape.dynamic_shared = 16;
    scalar.params[1] = 9;
    fewer.params.pop();
    others.extend([shared, scalar, fewer]);
    for other in &others {
        assert!(!common.holds(other), "{other:?}");
        // What differs between two launches is no constant, the rest is.
        let of_both = Common::of(&p, &first, other);
        assert!(of_both.holds(other) && (of_both.holds(&first) || other.params.len() < 2));
    }
    // Conditions tell where memory lies.
    place.params[0] = 1 << 40;
    assert!(common.holds(&place) && !common.is_empty());
    let special = common.protocol(&p);
    let named = |node| special.exprs.iter().any(|(_, e)| e == node);
    let [n, bdim] = [p.exprs.get(n), Expr::Ntid(Axis::X)];
    assert!(!named(n) && !named(bdim) && p.exprs.iter().any(|(_, e)| e == n || e == bdim));
    let unlike = launch([1, 1, 1], [1, 1, 1], &p, &[1]);
    let unlike = Launch {
        shape: gpurace_protocol::launch::LaunchShape { dynamic_shared: 1, ..unlike.shape },
        ..unlike
    };
    assert!(Common::of(&p, &first, &unlike).is_empty());
    assert_eq!(Common::of(&p, &first, &unlike).protocol(&p), p);
}

/// The size of dynamic shared memory keeps accesses apart from other arrays.
#[test]
fn dynamic_shared_memory_is_known() {
    let mut k = Kernel::new("dynamic");
    let dynamic: ObjectId = k.dynamic("d");
    let s = k.shared("s", 256);
    let (t, _) = (k.tid(), k.scalar("n"));
    k.write(dynamic, t);
    k.write(s, t);
    let p = k.done();
    let of = |bytes: u32, n: u64| {
        let mut launch = launch([1, 1, 1], [64, 1, 1], &p, &[n]);
        launch.shape.dynamic_shared = bytes;
        launch
    };
    for (bytes, wanted) in [(256, true), (252, false)] {
        let (_, special, outcome) = alike(&p, &of(bytes, 0), &of(bytes, 1));
        let apart = outcome.verdicts.sites[0].verdict == Verdict::Proved;
        let conditions = |v: &Verdict| match v {
            Verdict::ProvedIf(all) => {
                all.iter().map(|c| condition(&special, &outcome.verdicts.exprs, c)).collect()
            }
            _ => Vec::new(),
        };
        assert_eq!(apart, wanted, "{bytes}: {:?}", conditions(&outcome.verdicts.sites[0].verdict));
        assert_eq!(proved_for(&special, &outcome, &of(bytes, 0), SiteId(0)), wanted);
    }
}
