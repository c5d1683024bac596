//! Indices whose parts differ by constants: strides, masks, distances. Each proved kernel stands beside
//! a neighbour that must not be.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;

/// `x[t]` and `x[32 + t]` are for a block of 32 threads, or for a smaller one.
#[test]
fn accesses_a_constant_apart() {
    let kernel = || {
        let mut k = Kernel::new("two_halves");
        let (x, t) = (k.pointer("x"), k.tid());
        let far = k.addc(t, 32);
        let sites = vec![k.write(x, t), k.write(x, far)];
        (k, sites)
    };
    assert!(proved(kernel().0).contains(&"blockDim.x <= 32".to_owned()));
    let (k, sites) = kernel();
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [32, 1, 1], &p, &[]), &[]);
    at_launch(&p, &launch([1, 1, 1], [33, 1, 1], &p, &[]), &sites);
}

/// A block of `j` rows steps over a tile's rows by `j`.
#[test]
fn rows_that_a_loop_steps_over() {
    let kernel = || {
        let mut k = Kernel::new("rows");
        let x = k.pointer("x");
        let (t, y, zero, step, end) = (k.tid(), k.tidy(), k.c(0), k.c(16), k.c(32));
        let below = |k: &mut Kernel, j: E| k.lt(j, end);
        let site = k.looped(zero, Step::Add(step), below, |k, j| {
            let row = k.add(y, j);
            let row = k.mulc(row, 64);
            let at = k.add(row, t);
            k.write(x, at)
        });
        (k, site)
    };
    assert!(proved(kernel().0).contains(&"blockDim.y <= 16".to_owned()));
    let (k, site) = kernel();
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [8, 16, 1], &p, &[]), &[]);
    at_launch(&p, &launch([1, 1, 1], [8, 17, 1], &p, &[]), &[site]);
}

/// A loop whose step is the number of threads of the launch, a constant. Its index has digits in three
/// radices.
#[test]
fn strides_of_a_constant() {
    let kernel = |step: i64| {
        let mut k = Kernel::new("sums_of_columns");
        let (x, n) = (k.pointer("x"), k.scalar("n"));
        let (i, step) = (k.gid(), k.c(step));
        let sites = k.looped(i, Step::Add(step), |k, v| k.lt(v, n), |k, v| [k.read(x, v), k.write(x, v)]);
        (k.done(), sites)
    };
    let (p, _) = kernel(1024);
    let many = launch([8, 1, 1], [128, 1, 1], &p, &[12_500_992]);
    let outcome = prove_with(&p, &many);
    assert_eq!(words(&outcome), ["proved", "proved"]);
    assert!(outcome.stats.units < 200_000, "{:?}", outcome.stats);
    at_launch(&p, &launch([4, 1, 1], [8, 1, 1], &kernel(32).0, &[100]), &[]);
    // With a smaller step, an element of one block is another block's in a later iteration.
    let (p, sites) = kernel(24);
    at_launch(&p, &launch([4, 1, 1], [8, 1, 1], &p, &[100]), &sites);
}

/// In each iteration, the threads are spread over a square that gets smaller, down to nothing: the rest of a matrix
/// that is factored.
#[test]
fn squares_that_get_smaller() {
    let kernel = |op: [BinOp; 2], stride: i64, size: u64| {
        let mut k = Kernel::new("trailing");
        let (s, pivot) = (k.shared("s", 4 * size), k.shared("pivot", 4));
        let (t, zero, last, end) = (k.tid(), k.c(0), k.c(8), k.c(9));
        let first = k.eq(t, zero);
        let site = k.range(0, end, |k, i| {
            k.when(first, |k| k.write(pivot, zero));
            let w = k.sub(last, i);
            let square = k.mul(w, w);
            let below = k.lt(t, square);
            let site = k.when(below, |k| {
                let [row, column] = op.map(|op| k.bin(op, t, w));
                let row = k.mulc(row, stride);
                let at = k.add(row, column);
                k.write(s, at)
            });
            k.sync();
            site
        });
        (k.done(), site)
    };
    for op in [[BinOp::UDiv, BinOp::URem], [BinOp::SDiv, BinOp::SRem]] {
        let at_launch =
            |p: &Protocol, open: &[SiteId]| at_launch(p, &launch([1, 1, 1], [64, 1, 1], p, &[]), open);
        at_launch(&kernel(op, 8, 64).0, &[]);
        // The last column of a row is the first one of the next row.
        let (p, site) = kernel(op, 7, 64);
        at_launch(&p, &[site]);
        // The last element lies behind the matrix, where the pivot may be.
        let (p, _) = kernel(op, 8, 63);
        let outcome = prove_with(&p, &launch([1, 1, 1], [64, 1, 1], &p, &[]));
        assert_eq!(words(&outcome), ["unknown", "unknown"]);
    }
}

/// A thread's index is taken apart by the sizes of an array. Its digits are put together again by other sizes, or in
/// another order.
#[test]
fn digits_of_a_thread_index() {
    let sizes = [5, 6, 4];
    let kernel = |[divide, rest]: [BinOp; 2], pitches: [i64; 3], planes_first: bool| {
        let mut k = Kernel::new("digits");
        let (x, t) = (k.pointer("x"), k.gid());
        let inside = k.ltc(t, sizes.iter().product());
        let site = k.when(inside, |k| {
            let early = planes_first.then(|| k.binc(divide, t, sizes[0] * sizes[1]));
            let column = k.binc(rest, t, sizes[0]);
            let row = k.binc(divide, t, sizes[0]);
            let row = k.binc(rest, row, sizes[1]);
            let plane = early.unwrap_or_else(|| k.binc(divide, t, sizes[0] * sizes[1]));
            let [column, row, plane] = [(column, 0), (row, 1), (plane, 2)]
                .map(|(digit, axis): (E, usize)| k.mulc(digit, pitches[axis]));
            let at = k.add(column, row);
            // The solver meets the parts in the order of the sum.
            let at = if planes_first { k.add(plane, at) } else { k.add(at, plane) };
            k.write(x, at)
        });
        (k.done(), site)
    };
    for operators in [[BinOp::UDiv, BinOp::URem], [BinOp::SDiv, BinOp::SRem]] {
        for planes_first in [false, true] {
            let test = |pitches: [i64; 3], races: bool| {
                let (p, site) = kernel(operators, pitches, planes_first);
                let open: &[SiteId] = if races { &[site] } else { &[] };
                at_launch(&p, &launch([4, 1, 1], [32, 1, 1], &p, &[]), open);
            };
            // As it was, with wider rows and planes, and with the axes in another order.
            test([1, 5, 30], false);
            test([1, 7, 45], false);
            test([24, 4, 1], false);
            test([6, 1, 30], false);
            // Rows overlap, the last element of a plane is the first of the next one, two axes have equal pitches.
            test([1, 4, 45], true);
            test([1, 5, 29], true);
            test([6, 6, 36], true);
        }
    }
}

/// A thread's index is taken apart by the sizes of four axes, which is proved for any sizes: by divisions of the whole
/// index, or each by a division of what the last one left.
#[test]
fn four_digits_in_another_order() {
    let kernel = |sizes: [i64; 4], step_by_step: bool, order: [usize; 4], gap: i64| {
        let mut k = Kernel::new("permute");
        let (x, i) = (k.pointer("x"), k.gid());
        let inside = k.ltc(i, sizes.iter().product());
        let site = k.when(inside, |k| {
            let mut below: i64 = sizes.iter().product();
            let mut rest = i;
            let digits = sizes.map(|size| {
                below /= size;
                let digit = k.binc(BinOp::SDiv, if step_by_step { rest } else { i }, below);
                if step_by_step {
                    rest = k.binc(BinOp::SRem, rest, below);
                    digit
                } else {
                    k.binc(BinOp::SRem, digit, size)
                }
            });
            let at = order[1..].iter().fold(digits[order[0]], |at, axis| {
                let row = k.mulc(at, sizes[*axis] - gap);
                k.add(row, digits[*axis])
            });
            k.write(x, at)
        });
        (k.done(), site)
    };
    for step_by_step in [false, true] {
        for order in [[3, 1, 0, 2], [0, 3, 2, 1], [2, 3, 0, 1]] {
            for sizes in [[128, 3, 224, 224], [7, 33, 65, 129], [8, 512, 16, 16]] {
                let blocks = (sizes.iter().product::<i64>() as u32).div_ceil(256);
                let at = |gap| {
                    let (p, _) = kernel(sizes, step_by_step, order, gap);
                    prove_with(&p, &launch([blocks, 1, 1], [256, 1, 1], &p, &[]))
                };
                assert_eq!(words(&at(0)), ["proved"], "{sizes:?} as {order:?}");
                assert_ne!(words(&at(1)), ["proved"], "{sizes:?} as {order:?}");
            }
            for gap in [0, 1] {
                let (p, site) = kernel([4, 3, 5, 3], step_by_step, order, gap);
                let racy: &[SiteId] = if gap == 0 { &[] } else { &[site] };
                at_launch(&p, &launch([6, 1, 1], [32, 1, 1], &p, &[]), racy);
            }
        }
    }
}

/// In each row of a table, each thread has a byte of its own: its index with the halves of bits swapped.
#[test]
fn fields_of_a_thread_index_permuted() {
    let kernel = |mask: i64| {
        let mut k = Kernel::new("histogram64");
        let (s, t) = (k.shared("counts", 64 * 64), k.tid());
        let row = k.opaque("value loaded from `data`", Width::W32, Uniform::Thread, &[]);
        let row = k.binc(BinOp::And, row, 63);
        let low = k.binc(BinOp::And, t, 15);
        let high = k.binc(BinOp::And, t, mask);
        let (low, high) = (k.binc(BinOp::Shl, low, 2), k.binc(BinOp::LShr, high, 4));
        let place = k.bin(BinOp::Or, low, high);
        let rows = k.mulc(row, 64);
        let at = k.add(rows, place);
        let sites = [k.access(Op::Read, s, at, 1), k.access(Op::Write, s, at, 1)];
        (k.done(), sites)
    };
    let (p, _) = kernel(48);
    let outcome = prove_with(&p, &launch([4, 1, 1], [64, 1, 1], &p, &[]));
    assert_eq!(words(&outcome), ["proved", "proved"]);
    // With a hole in the mask, threads that are 16 apart share a byte.
    let (p, _) = kernel(32);
    let outcome = prove_with(&p, &launch([4, 1, 1], [64, 1, 1], &p, &[]));
    assert!(!words(&outcome).contains(&"proved"), "{:?}", words(&outcome));
}

/// Masks of several runs of bits.
#[test]
fn masks_with_holes() {
    let kernel = |spread: bool| {
        let mut k = Kernel::new("spread");
        let (s, t) = (k.shared("s", 4096), k.tid());
        let kept = k.binc(BinOp::And, t, 0b101_1011);
        let rest = k.binc(BinOp::And, t, 0b010_0100);
        let far = k.mulc(rest, if spread { 8 } else { 2 });
        let at = k.add(kept, far);
        let site = k.write(s, at);
        (k.done(), site)
    };
    let (p, _) = kernel(true);
    at_launch(&p, &launch([1, 1, 1], [128, 1, 1], &p, &[]), &[]);
    let (p, site) = kernel(false);
    at_launch(&p, &launch([1, 1, 1], [128, 1, 1], &p, &[]), &[site]);
}

/// A division by zero gives any value, but the same one to all threads with equal dividends.
#[test]
fn divisions_by_zero() {
    let kernel = |of_thread: bool, op: BinOp| {
        let mut k = Kernel::new("by_zero");
        let (x, t, b) = (k.pointer("x"), k.tid(), k.bid());
        let q = k.bin(op, if of_thread { t } else { b }, b);
        let bit = k.binc(BinOp::And, q, 1);
        let at = k.add(t, bit);
        let sites = vec![k.write(x, at)];
        (k.done(), sites)
    };
    for op in [BinOp::UDiv, BinOp::SDiv, BinOp::URem, BinOp::SRem] {
        // 0 / 0 in block 0, for all of its threads.
        let (p, _) = kernel(false, op);
        at_launch(&p, &launch([1, 1, 1], [32, 1, 1], &p, &[]), &[]);
        let (p, _) = kernel(true, op);
        let outcome = prove_with(&p, &launch([1, 1, 1], [32, 1, 1], &p, &[]));
        assert!(!all_proved(&outcome), "{op:?}: {:?}", words(&outcome));
    }
    // The result of one operator says nothing about that of another.
    let mut k = Kernel::new("signed_and_unsigned");
    let (x, t, b) = (k.pointer("x"), k.tid(), k.bid());
    let twice = k.mulc(t, 2);
    let sites = [BinOp::UDiv, BinOp::SDiv].map(|op| {
        let q = k.bin(op, b, b);
        let bit = k.binc(BinOp::And, q, 1);
        let first = k.eqc(t, i64::from(op == BinOp::UDiv));
        let at = if op == BinOp::UDiv { k.add(twice, bit) } else { k.addc(bit, 2) };
        k.when(first, |k| k.write(x, at))
    });
    let p = k.done();
    let outcome = prove_with(&p, &launch([1, 1, 1], [32, 1, 1], &p, &[]));
    assert!(words(&outcome).iter().all(|w| *w != "proved"), "{sites:?}: {:?}", words(&outcome));
}
