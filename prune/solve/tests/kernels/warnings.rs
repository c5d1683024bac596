//! Witnesses of races: launches that CUDA accepts and that the kernel is for.

use super::*;
use gpurace_protocol::verdict::Witness;

/// The witness of the first site that is racy.
fn witness(k: Kernel) -> Option<Witness> {
    let outcome = prove(&k.done());
    outcome.verdicts.sites.into_iter().find_map(|site| match site.verdict {
        Verdict::Racy(witness) => Some(*witness),
        _ => None,
    })
}

#[test]
fn a_race_within_a_block_comes_before_one_across_blocks() {
    let shifted = |apart: i64| {
        let mut k = Kernel::new("shift");
        let a = k.pointer("a");
        let i = k.gid();
        let next = k.addc(i, apart);
        k.read(a, next);
        k.write(a, i);
        k
    };
    let found = witness(shifted(1)).expect("a race");
    assert_eq!(found.accesses[0].ctaid, found.accesses[1].ctaid, "{found:?}");
    // The first access of the lowest thread lies before the array.
    assert_eq!(witness(shifted(-1)), None);
}

/// Each thread writes `tile[t]` and then `tile[t + apart]`, without a barrier.
fn two_parts(tile: impl Fn(&mut Kernel) -> ObjectId, apart: impl Fn(&mut Kernel) -> E) -> Kernel {
    let mut k = Kernel::new("parts");
    let (tile, apart, t) = (tile(&mut k), apart(&mut k), k.tid());
    let second = k.add(t, apart);
    k.write(tile, t);
    k.write(tile, second);
    k
}

#[test]
fn accesses_stay_within_shared_arrays() {
    let of = |size: u64| two_parts(move |k| k.shared("tile", size), |k| k.c(20));
    assert!(witness(of(1024)).is_some());
    // Only threads from 20 on race, and with them the block leaves the array.
    assert_eq!(witness(of(4 * 30)), None);
}

#[test]
fn dynamic_shared_memory_fits_a_block() {
    let of = |apart: i64| {
        let mut k = two_parts(|k| k.dynamic("tile"), |k| k.c(1));
        let (tile, t) = (ObjectId(0), k.tid());
        let far = k.addc(t, apart);
        k.read(tile, far);
        k
    };
    let found = witness(of(1000)).expect("a race");
    assert!(found.launch.shape.dynamic_shared >= 4 * 1001, "{found:?}");
    assert_eq!(witness(of(60 << 10)), None);
}

#[test]
fn launch_bounds_hold() {
    let of = |most: u32| {
        let mut k = two_parts(|k| k.shared("tile", 4096), |k| k.c(20));
        k.p.max_threads = most;
        k
    };
    assert!(witness(of(32)).is_some());
    assert_eq!(witness(of(16)), None);
}

#[test]
fn a_part_holds_a_row_of_the_block() {
    // With more threads than rows, the parts overlap. The kernel is not for that.
    assert_eq!(witness(two_parts(|k| k.dynamic("tile"), |k| k.scalar("rows"))), None);
    let half = |k: &mut Kernel| {
        let n = k.scalar("n");
        k.binc(BinOp::LShr, n, 1)
    };
    assert_eq!(witness(two_parts(|k| k.dynamic("tile"), half)), None);
}

#[test]
fn a_mask_is_of_a_power_of_two_that_holds_the_block() {
    let kernel = |apart: i64| {
        let mut k = Kernel::new("turn");
        let (s, n) = (k.shared("s", 4096), k.scalar("n"));
        let t = k.tid();
        let less = k.addc(n, -1);
        let (own, next) = (k.bin(BinOp::And, t, less), k.addc(t, apart));
        let next = k.bin(BinOp::And, next, less);
        k.write(s, own);
        k.read(s, next);
        k
    };
    assert_eq!(witness(kernel(0)), None);
    let found = witness(kernel(1)).expect("a race");
    let n = found.launch.params[0];
    assert!(n.is_power_of_two() && n >= found.launch.shape.block[0].into(), "{found:?}");
}

/// A kernel whose rows overlap only for some arguments is meant for others.
#[test]
fn a_race_that_other_arguments_avoid_is_no_warning() {
    // `x[t * pitch + r * columns + c]` for `r < rows`, `c < columns`.
    let boxes = |each: i64| {
        let mut k = Kernel::new("boxes");
        let (x, t) = (k.pointer("x"), k.tid());
        let [pitch, rows, columns] = ["pitch", "rows", "columns"].map(|name| k.scalar(name));
        let (zero, one) = (k.c(0), k.c(1));
        k.looped(
            zero,
            Step::Add(one),
            |k, r| k.lt(r, rows),
            |k, r| {
                k.looped(
                    zero,
                    Step::Add(one),
                    |k, c| k.lt(c, columns),
                    |k, c| {
                        let (own, row) = (k.mul(t, pitch), k.mul(r, columns));
                        let at = k.add(own, row);
                        let at = k.add(at, c);
                        let at = k.mulc(at, each);
                        k.write(x, at)
                    },
                )
            },
        );
        k
    };
    assert_eq!(witness(boxes(1)), None);
    // Rows of 8 elements for any number of columns: it may be small.
    let rows = |apart: i64| {
        let mut k = Kernel::new("rows");
        let (x, t, n) = (k.pointer("x"), k.tid(), k.scalar("n"));
        let (zero, one) = (k.c(0), k.c(1));
        k.looped(
            zero,
            Step::Add(one),
            |k, j| k.lt(j, n),
            |k, j| {
                let row = k.mulc(t, apart);
                let at = k.add(row, j);
                k.write(x, at)
            },
        );
        k
    };
    assert_eq!(witness(rows(8)), None);
    // In one round, nothing would overlap in rows of one element. The loop is for more.
    assert!(witness(rows(1)).is_some());
    // No stride orders a read of the next thread's element.
    let shifted = |by: fn(&mut Kernel, E) -> E| {
        let mut k = Kernel::new("shift");
        let (x, t, pitch) = (k.pointer("x"), k.tid(), k.scalar("pitch"));
        let own = k.mul(t, pitch);
        let next = by(&mut k, pitch);
        let next = k.add(own, next);
        k.write(x, own);
        k.read(x, next);
        k
    };
    assert!(witness(shifted(|_, pitch| pitch)).is_some());
    assert_eq!(witness(shifted(|k, _| k.c(1))), None);
}
