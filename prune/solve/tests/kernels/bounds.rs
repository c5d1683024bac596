//! Accesses that may leave the memory of their object, beside those that are shown to stay there.

use super::*;
use gpurace_protocol::launch::{GUARD, Launch};
use gpurace_random::Random;

/// The verdicts in a launch of one block of 64 threads. Each allocation has 64 words and these guards.
fn in_launch(p: &Protocol, scalars: &[u64], guard: u64) -> Vec<&'static str> {
    let mut at: Launch = launch([1, 1, 1], [64, 1, 1], p, scalars);
    for extent in at.objects.iter_mut().flatten() {
        (extent.allocation, extent.guard) = (Some((extent.base, extent.base + 256)), guard);
    }
    words(&prove_with(p, &at))
}

#[test]
fn an_index_from_memory_is_kept_by_guards_alone() {
    // Each thread reads 4 bytes of an element.
    let kernel = |width: Width, extend: fn(&mut Exprs, Width, ExprId) -> ExprId, element: i64| {
        let mut k = Kernel::new("gather");
        let (to, from) = (k.pointer("to"), k.pointer("from"));
        let (i, t) = (k.gid(), k.opaque("index", width, Uniform::Thread, &[]));
        let wide = extend(&mut k.p.exprs, Width::W64, t);
        let by = k.p.exprs.c64(element);
        let offset = k.p.exprs.product(wide, by);
        k.access_bytes(Op::Read, from, offset, 4);
        k.write(to, i);
        k.done()
    };
    let [signed, unsigned] = [Exprs::sext, Exprs::zext];
    let narrow = kernel(Width::W32, signed, 4);
    assert_eq!(in_launch(&narrow, &[], GUARD), ["proved", "proved"]);
    assert_eq!(in_launch(&narrow, &[], 0), ["unknown", "unknown"]);
    assert_eq!(in_launch(&narrow, &[], 1 << 32), ["unknown", "unknown"]);
    assert_eq!(in_launch(&kernel(Width::W64, signed, 4), &[], GUARD), ["unknown", "unknown"]);
    for (extend, element, is_kept) in
        [(signed, 32, true), (signed, 33, false), (unsigned, 16, true), (unsigned, 17, false)]
    {
        let words = in_launch(&kernel(Width::W32, extend, element), &[], GUARD);
        assert_eq!(words == ["proved", "proved"], is_kept, "{element}: {words:?}");
    }
}

/// Each thread stores `ahead` words behind its own in one object, and reads the other one.
fn beside(make: impl Fn(&mut Kernel, &str) -> ObjectId) -> Protocol {
    let mut k = Kernel::new("beside");
    let (to, from, ahead) = (make(&mut k, "to"), make(&mut k, "from"), k.scalar("ahead"));
    let t = k.tid();
    let at = k.add(t, ahead);
    k.write(to, at);
    let (last, block) = (k.c(63), k.bdim());
    let inside = k.ult(t, block);
    let other = k.sub(last, t);
    k.when(inside, |k| k.read(from, other));
    k.done()
}

#[test]
fn a_store_that_leaves_its_object_may_reach_the_next() {
    let variable = |k: &mut Kernel, name: &str| {
        k.object(name, ObjectKind::Variable { symbol: name.to_owned(), size: 256, constant: false })
    };
    let shared = |k: &mut Kernel, name: &str| k.shared(name, 256);
    let pointer = |k: &mut Kernel, name: &str| k.pointer(name);
    for (p, guarded) in [(beside(variable), false), (beside(shared), false), (beside(pointer), true)] {
        assert_eq!(in_launch(&p, &[0], 0), ["proved", "proved"]);
        for past in [1, 64, -1i32 as u32 as u64] {
            assert_eq!(in_launch(&p, &[past], 0), ["unknown", "unknown"], "{past}");
        }
        if guarded {
            assert_eq!(in_launch(&p, &[64], GUARD), ["proved", "proved"]);
        }
    }
}

#[test]
fn arrays_that_no_index_leaves_need_no_condition() {
    let kernel = |mask: i64| {
        let mut k = Kernel::new("bins");
        let (bins, more) = (k.shared("bins", 1024), k.shared("more", 1024));
        let any = k.opaque("value", Width::W32, Uniform::Thread, &[]);
        let bin = k.binc(BinOp::And, any, mask);
        k.atomic(bins, bin);
        let t = k.tid();
        let own = k.binc(BinOp::And, t, 255);
        k.read(more, own);
        k
    };
    assert_eq!(proved(kernel(255)), Vec::<String>::new());
    let conditions = proved(kernel(511));
    assert!(conditions[0].contains("bins"), "{conditions:?}");
}

/// A scan step by step, beside another array: each thread reads what lies `back` words behind its own, if
/// `guard` of its index and `back` holds.
fn scan(back: impl Fn(&mut Kernel, E) -> E, guard: impl Fn(&mut Kernel, E, E) -> E) -> Protocol {
    let mut k = Kernel::new("scan");
    let (sums, more) = (k.shared("sums", 256), k.shared("more", 256));
    let (t, to) = (k.tid(), k.c(64));
    k.write(more, t);
    k.doubled(to, |k, step| {
        let back = back(k, step);
        let holds = guard(k, back, t);
        let behind = k.sub(t, back);
        k.when(holds, |k| k.read(sums, behind));
        k.sync();
        k.write(sums, t);
        k.sync();
    });
    k.done()
}

#[test]
fn a_difference_has_the_sign_that_its_guard_says() {
    let step = |_: &mut Kernel, step: E| step;
    let any = |k: &mut Kernel, _: E| k.opaque("any", Width::W32, Uniform::Thread, &[]);
    let le = |k: &mut Kernel, back: E, t: E| k.le(back, t);
    let unsigned = |k: &mut Kernel, back: E, t: E| {
        let less = k.ult(t, back);
        k.p.exprs.not(less)
    };
    let almost = |k: &mut Kernel, back: E, t: E| {
        let next = k.addc(t, 1);
        k.le(back, next)
    };
    for proved in [scan(step, le), scan(step, unsigned)] {
        assert_eq!(in_launch(&proved, &[], 0), ["proved"; 3]);
    }
    // The first thread reads before the array, which may be the end of the other one. The array's own writes stay in
    // it.
    assert_eq!(in_launch(&scan(step, almost), &[], 0), ["unknown", "unknown", "proved"]);
    // A difference that wraps may have any sign.
    assert_eq!(in_launch(&scan(any, le), &[], 0), ["unknown", "unknown", "proved"]);
    // As numbers without sign it cannot wrap.
    let bounded = in_launch(&scan(any, unsigned), &[], 0);
    assert_eq!(bounded[0], "proved", "no access leaves an array");
}

/// Each thread of a block of 16 walks in a tile of rows of 16 words against the diagonal: its row is `15 - t`,
/// its column `t` less `t` times `back`. Another array lies beside the tile.
fn against_the_diagonal(rows: u64, back: i64) -> Vec<&'static str> {
    let mut k = Kernel::new("diagonal");
    let (tile, more) = (k.shared("tile", rows * 64), k.shared("more", 64));
    let (t, last) = (k.tid(), k.c(15));
    let row = k.sub(last, t);
    let less = k.mulc(t, back);
    let column = k.sub(t, less);
    let start = k.mulc(row, 16);
    let at = k.add(start, column);
    k.write(tile, at);
    k.write(more, t);
    let p = k.done();
    words(&prove_with(&p, &launch([1, 1, 1], [16, 1, 1], &p, &[])))
}

#[test]
fn parts_of_a_sum_that_cancel_do_not_leave_a_tile() {
    // 240 - 15 t, and 240 - 16 t.
    assert_eq!(against_the_diagonal(16, 0), ["proved", "proved"]);
    assert_eq!(against_the_diagonal(16, 1), ["proved", "proved"]);
    // 240 - 17 t: the last thread is before the tile. With a row less, the first one is behind it.
    assert_eq!(against_the_diagonal(16, 2), ["unknown", "unknown"]);
    assert_eq!(against_the_diagonal(15, 1), ["unknown", "unknown"]);
}

/// Threads of a block of 16 by 16 whose linear index is less than `bound` store to rows of 8 bytes for each of
/// `columns` columns, in a table of 8 rows of 16. Another array lies beside it.
fn first_rows(bound: i64, columns: i64) -> Vec<&'static str> {
    let mut k = Kernel::new("rows");
    let (table, more) = (k.shared("table", 1024), k.shared("more", 2048));
    let (x, y) = (k.tid(), k.tidy());
    let row = k.mulc(y, 16);
    let index = k.add(row, x);
    let end = k.c(bound);
    let inside = k.ult(index, end);
    let [x, y] = [x, y].map(|at| k.p.exprs.zext(Width::W64, at));
    let bytes = [(y, 8 * columns), (x, 8)].map(|(at, by)| {
        let by = k.p.exprs.c64(by);
        k.p.exprs.product(at, by)
    });
    let place = k.add(bytes[0], bytes[1]);
    k.when(inside, |k| k.access_bytes(Op::Write, table, place, 8));
    k.write(more, index);
    let p = k.done();
    words(&prove_with(&p, &launch([1, 1, 1], [16, 16, 1], &p, &[])))
}

#[test]
fn a_guard_on_the_linear_index_keeps_rows_within_a_table() {
    assert_eq!(first_rows(128, 16), ["proved", "proved"]);
    // One thread too many, or rows that are longer than the guard says.
    assert_eq!(first_rows(129, 16), ["unknown", "unknown"]);
    assert_eq!(first_rows(128, 17), ["unknown", "unknown"]);
}

/// Threads of a block of 16 store to their word less 8, if a comparison of its extension with 0 holds.
fn words_from_the_middle(op: CmpOp, swapped: bool) -> Vec<&'static str> {
    let mut k = Kernel::new("middle");
    let (words, more) = (k.shared("words", 64), k.shared("more", 64));
    let t = k.tid();
    let i = k.addc(t, -8);
    let (wide, zero) = (k.p.exprs.sext(Width::W64, i), k.p.exprs.c64(0));
    let (a, b) = if swapped { (zero, wide) } else { (wide, zero) };
    let holds = k.p.exprs.cmp(op, a, b);
    k.when(holds, |k| k.write(words, i));
    k.write(more, t);
    let p = k.done();
    self::words(&prove_with(&p, &launch([1, 1, 1], [16, 1, 1], &p, &[])))
}

#[test]
fn an_extension_that_is_not_zero_may_be_negative() {
    assert_eq!(words_from_the_middle(CmpOp::Ne, false), ["unknown", "unknown"]);
    // Read as unsigned numbers, negative ones are greater than zero.
    assert_eq!(words_from_the_middle(CmpOp::Ult, true), ["unknown", "unknown"]);
    assert_eq!(words_from_the_middle(CmpOp::Slt, true), ["proved", "proved"]);
}

/// `for (k = 0; k < n; k++) { at += t < w ? 64 : other; a[at] = 1; }`, from `at = t` on.
fn chosen_step(other: i64) -> Protocol {
    let mut k = Kernel::new("chosen_step");
    let (a, n, w, t) = (k.pointer("a"), k.scalar("n"), k.scalar("w"), k.tid());
    let (zero, one, far, other) = (k.c(0), k.c(1), k.c(64), k.c(other));
    let inside = k.lt(t, w);
    let step = k.p.exprs.add(Expr::Select(inside, far, other));
    let vars = [(zero, Step::Add(one)), (t, Step::Add(step))];
    k.looped_by(vars, |k, [count, _]| k.lt(count, n), |k, [_, at]| k.write(a, at));
    k.done()
}

#[test]
fn threads_that_move_on_and_threads_that_stay() {
    let p = chosen_step(0);
    for (n, w) in [(5, 3), (100, 50), (9, 64), (9, 0)] {
        at_launch(&p, &launch([1, 1, 1], [64, 1, 1], &p, &[n, w]), &[]);
    }
    // Threads that do not stay meet the next ones.
    let p = chosen_step(1);
    let outside = launch([1, 1, 1], [64, 1, 1], &p, &[5, 3]);
    assert!(!racing(&p, &outside, 0).is_empty());
    let sites = prove_with(&p, &outside).verdicts.sites;
    assert!(sites.iter().all(|s| s.verdict != Verdict::Proved), "{sites:?}");
}

/// A tile of 17 by 17 words, whose diagonals come one after the other: thread `t` is in row `step - t`, reads its
/// neighbours, the last one `below` rows further down, and writes what lies below and to the right.
fn diagonals(below: i64, threads: u32) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("diagonals");
    k.p.max_threads = threads;
    let (tile, end) = (k.shared("tile", 4 * 17 * 17), k.c(31));
    let t = k.tid();
    let mut sites = Vec::new();
    k.range(0, end, |k, step| {
        let (row, rows) = (k.sub(step, t), k.c(16));
        // LLVM's way to say `0 <= row && row < 16`.
        let inside = k.ult(row, rows);
        k.when(inside, |k| {
            let place = |k: &mut Kernel, down: i64, right: i64| {
                let row = k.addc(row, down);
                let [row, t] = [row, t].map(|value| k.p.exprs.zext(Width::W64, value));
                let by = k.p.exprs.c64(17);
                let first = k.p.exprs.product(row, by);
                let at = k.add(first, t);
                let right = k.p.exprs.c64(right);
                k.add(at, right)
            };
            for (down, right) in [(0, 0), (0, 1), (below, 0)] {
                let at = place(k, down, right);
                sites.push(k.read(tile, at));
            }
            let at = place(k, 1, 1);
            sites.push(k.write(tile, at));
        });
        k.sync();
    });
    (k, vec![sites[2], sites[3]])
}

#[test]
fn a_row_that_may_be_below_zero_is_kept_in_its_tile_by_one_comparison() {
    only_with(|right| diagonals(if right { 1 } else { 2 }, 16));
    for (below, races) in [(1, false), (2, true)] {
        let (k, sites) = diagonals(below, 16);
        let p = k.done();
        at_launch(&p, &launch([1, 1, 1], [16, 1, 1], &p, &[]), if races { &sites } else { &[] });
    }
}

#[test]
fn what_a_comparison_leaves_out_is_below_zero_or_beyond() {
    // Of 5 threads, one alone is outside: the first one, whose number is -1. The sixth is outside, too.
    let kernel = |threads: u32| {
        let mut k = Kernel::new("outside");
        k.p.max_threads = threads;
        let (first, zero, four) = (k.shared("first", 4), k.c(0), k.c(4));
        let t = k.tid();
        let y = k.addc(t, -1);
        let inside = k.ult(y, four);
        let outside = k.p.exprs.not(inside);
        let site = k.when(outside, |k| k.write(first, zero));
        (k, vec![site])
    };
    only_with(|right| kernel(if right { 5 } else { 6 }));
}

#[test]
fn random_comparisons_keep_apart_only_what_is_apart() {
    let mut random = Random(1);
    let (mut kept, mut apart) = (0, 0);
    for case in 0..300 {
        let mut k = Kernel::new("guarded");
        let threads = 2 + random.below(7) as u32;
        k.p.max_threads = threads;
        let (p, t) = (k.pointer("p"), k.tid());
        let mut number = |k: &mut Kernel, most: i64| {
            let by = random.below(2 * most as u64 + 1) as i64 - most;
            let scaled = k.mulc(t, by);
            k.addc(scaled, random.below(13) as i64 - 6)
        };
        let (y, x) = (number(&mut k, 2), number(&mut k, 1));
        let limit = k.c(random.below(6) as i64);
        let (low, high) = if random.chance(30) { (limit, y) } else { (y, limit) };
        let op = if random.chance(50) { CmpOp::Ult } else { CmpOp::Ule };
        let mut guard = k.p.exprs.cmp(op, low, high);
        if random.chance(30) {
            guard = k.p.exprs.not(guard);
        }
        k.when(guard, |k| {
            let wide = if random.chance(50) { Exprs::zext } else { Exprs::sext };
            let [y, x] = [y, x].map(|value| wide(&mut k.p.exprs, Width::W64, value));
            let by = k.p.exprs.c64(random.below(4) as i64);
            let y = k.p.exprs.product(y, by);
            let at = k.add(y, x);
            k.write(p, at);
        });
        let protocol = k.done();
        let outcome = prove(&protocol);
        let verdict = &outcome.verdicts.sites[0].verdict;
        for block in 1..=threads {
            let at = launch([1, 1, 1], [block, 1, 1], &protocol, &[]);
            let races = !racing(&protocol, &at, 0).is_empty();
            let holds = match verdict {
                Verdict::Proved => true,
                Verdict::ProvedIf(all) => {
                    all.iter().all(|c| c.holds(&protocol, &outcome.verdicts.exprs, &at))
                }
                _ => false,
            };
            let of_launch = words(&prove_with(&protocol, &at)) == ["proved"];
            assert!(!races || !holds && !of_launch, "case {case}, {block} threads: {verdict:?}");
            apart += u32::from(!races && block == threads);
            kept += u32::from(holds && block == threads);
        }
    }
    println!("{kept} of {apart} kernels without a race are proved for all launches");
    assert!(kept > apart / 2, "{kept} of {apart}");
}

/// Rows of `n` elements, of which each thread writes one in either half.
#[test]
fn a_block_is_at_most_half_of_a_row() {
    let mut k = Kernel::new("halves_of_rows");
    let (x, n, b, t) = (k.pointer("x"), k.scalar("n"), k.bid(), k.tid());
    let (row, half) = (k.mul(b, n), k.binc(BinOp::SDiv, n, 2));
    let first = k.add(row, t);
    let second = k.add(first, half);
    k.write(x, first);
    k.write(x, second);
    let p = k.done();
    let all = prove(&p);
    assert!(all_proved(&all), "{:?}", words(&all));
    // Of a row of 15, the halves lie 7 apart.
    for (n, fits) in [(32, true), (16, true), (17, true), (15, false), (14, false), (8, false)] {
        let launch = launch([3, 1, 1], [8, 1, 1], &p, &[n]);
        let found = racing(&p, &launch, 0);
        assert_eq!(found.is_empty(), fits, "{n}");
        assert_eq!(holds(&p, &all, &launch), [fits, fits], "{n}");
    }
}
