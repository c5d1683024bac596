//! Rows that are only partly walked, by bounds that differ between threads: a column is below the row's width only
//! where the loop runs.

use gpurace_random::Random;

use super::*;

/// A quarter of a turn in place of a matrix of `n` rows: each thread turns one ring. The rows lie `n + wider` elements
/// apart, and the loop runs `longer` iterations longer than the ring's side.
fn turned(wider: i64, longer: i64) -> Protocol {
    let mut k = Kernel::new("turned");
    let (m, n, first) = (k.pointer("m"), k.scalar("n"), k.gid());
    let stride = k.addc(n, wider);
    let rings = k.binc(BinOp::UDiv, n, 2);
    let is_ring = k.lt(first, rings);
    k.when(is_ring, |k| {
        let end = k.addc(n, -1);
        let last = k.sub(end, first);
        let side = k.sub(last, first);
        let to = k.addc(side, longer);
        k.range(0, to, |k, along| {
            let (down, up) = (k.add(first, along), k.sub(last, along));
            let mut turn = Vec::new();
            for (row, column) in [(first, down), (up, first), (last, up), (down, last)] {
                let start = k.mul(row, stride);
                turn.push(k.add(start, column));
            }
            k.read(m, turn[0]);
            for corner in 0..3 {
                k.read(m, turn[corner + 1]);
                k.write(m, turn[corner]);
            }
            k.write(m, turn[3]);
        });
    });
    k.done()
}

/// The lower half of a matrix is copied to the upper one: each thread copies a row to a column. The loop runs `longer`
/// iterations longer than the row is in the lower half.
fn mirrored(wider: i64, longer: i64) -> Protocol {
    let mut k = Kernel::new("mirrored");
    let (m, n, row) = (k.pointer("m"), k.scalar("n"), k.gid());
    let stride = k.addc(n, wider);
    let is_row = k.lt(row, n);
    k.when(is_row, |k| {
        let to = k.addc(row, longer);
        k.range(0, to, |k, column| {
            let (lower, upper) = (k.mul(row, stride), k.mul(column, stride));
            let (from, to) = (k.add(lower, column), k.add(upper, row));
            k.read(m, from);
            k.write(m, to);
        });
    });
    k.done()
}

#[test]
fn rows_that_end_before_the_next_one_are_apart() {
    for n in [6, 9] {
        for p in [turned(0, 0), turned(3, 0), mirrored(0, 0), mirrored(1, 0)] {
            at_launch(&p, &launch([3, 1, 1], [3, 1, 1], &p, &[n]), &[]);
        }
    }
    for p in [turned(0, 0), mirrored(0, 0)] {
        for n in [1000, 1024] {
            assert!(all_proved(&prove_with(&p, &launch([16, 1, 1], [64, 1, 1], &p, &[n]))), "{}", p.kernel);
        }
    }
}

#[test]
fn rows_that_reach_into_the_next_one_are_not() {
    for n in [6, 9] {
        for p in [turned(-2, 0), turned(0, 2), turned(0, 3), mirrored(-1, 0), mirrored(0, 2), mirrored(0, 3)]
        {
            let at = launch([3, 1, 1], [3, 1, 1], &p, &[n]);
            let racing = racing(&p, &at, 0);
            assert!(!racing.is_empty(), "{}", p.kernel);
            for site in &prove_with(&p, &at).verdicts.sites {
                let is_proved = matches!(site.verdict, Verdict::Proved | Verdict::ProvedIf(_));
                assert!(!(is_proved && racing.contains(&site.site)), "{}: {site:?}", p.kernel);
            }
        }
    }
}

/// Rows of a packed triangle: row `i` begins at `i * (i + more) / 2`, and its thread writes `i + longer` elements from
/// there on.
fn packed(more: i64, longer: i64) -> Protocol {
    let mut k = Kernel::new("packed");
    let (m, n, row) = (k.pointer("m"), k.scalar("n"), k.gid());
    let is_row = k.lt(row, n);
    k.when(is_row, |k| {
        let next = k.addc(row, more);
        let twice = k.mul(row, next);
        let start = k.binc(BinOp::UDiv, twice, 2);
        let to = k.addc(row, longer);
        k.range(0, to, |k, column| {
            let at = k.add(start, column);
            k.write(m, at);
        });
    });
    k.done()
}

#[test]
fn rows_of_a_packed_triangle_are_apart_while_they_are_not_too_long() {
    for (more, longer, are_apart) in [
        (1, 1, true),
        (1, 0, true),
        (3, 1, true),
        (3, 2, true),
        (-1, 0, true),
        (1, 2, false),
        (0, 1, false),
        (-1, 1, false),
    ] {
        let p = packed(more, longer);
        let small = launch([3, 1, 1], [3, 1, 1], &p, &[8]);
        assert_eq!(racing(&p, &small, 0).is_empty(), are_apart, "{more}, {longer}");
        for at in [small, launch([16, 1, 1], [64, 1, 1], &p, &[1000])] {
            assert_eq!(all_proved(&prove_with(&p, &at)), are_apart, "{more}, {longer}");
        }
    }
}

#[test]
fn squares_of_negative_numbers_are_not_ordered() {
    // The square of -3 is 8 more than those of -1 and 1. Larger roots are not taken.
    let mut k = Kernel::new("signed_roots");
    let (m, t) = (k.pointer("m"), k.gid());
    let eight = k.c(8);
    let read = k.range(0, eight, |k, v| {
        let root = k.sub(t, v);
        let is_taken = k.ltc(root, 2);
        k.when(is_taken, |k| {
            let square = k.mul(root, root);
            let further = k.addc(square, 8);
            let read = k.read(m, square);
            k.write(m, further);
            read
        })
    });
    let p = k.done();
    let at = launch([1, 1, 1], [4, 1, 1], &p, &[]);
    assert!(racing(&p, &at, 0).contains(&read));
    for site in prove_with(&p, &at).verdicts.sites.iter().filter(|site| site.site == read) {
        assert!(!matches!(site.verdict, Verdict::Proved | Verdict::ProvedIf(_)), "{site:?}");
    }
}

/// Each thread has a row and walks columns up to a bound of its own. Accesses are at random sums of rows and columns,
/// of a matrix whose rows may lie too close.
fn random_walk(random: &mut Random) -> Protocol {
    let mut k = Kernel::new("random_walk");
    let (m, n, row) = (k.pointer("m"), k.scalar("n"), k.gid());
    let stride = k.addc(n, random.below(5) as i64 - 1);
    let end = k.addc(n, -1);
    let half = k.binc(BinOp::UDiv, n, 2);
    let rows = if random.below(2) == 0 { n } else { half };
    let is_row = k.lt(row, rows);
    k.when(is_row, |k| {
        let last = k.sub(end, row);
        let side = k.sub(last, row);
        let bound = [row, last, side, n][random.below(4) as usize];
        let to = k.addc(bound, random.below(3) as i64 - 1);
        k.range(0, to, |k, column| {
            let (back, ahead) = (k.sub(end, column), k.add(row, column));
            let behind = k.sub(last, column);
            let places = [row, column, last, back, ahead, behind];
            for _ in 0..2 + random.below(2) {
                let [r, c] = [0; 2].map(|_| places[random.below(6) as usize]);
                let start = k.mul(r, stride);
                let at = k.add(start, c);
                if random.below(2) == 0 {
                    k.read(m, at)
                } else {
                    k.write(m, at)
                };
            }
        });
    });
    k.done()
}

#[test]
fn random_walks_are_proved_only_where_no_threads_meet() {
    let random = &mut Random(11);
    let (mut proved, mut open) = (0, 0);
    for _ in 0..400 {
        let p = random_walk(random);
        let at = launch([3, 1, 1], [3, 1, 1], &p, &[5 + random.below(5)]);
        let racing = racing(&p, &at, 0);
        for site in &prove_with(&p, &at).verdicts.sites {
            let is_proved = matches!(site.verdict, Verdict::Proved | Verdict::ProvedIf(_));
            assert!(!(is_proved && racing.contains(&site.site)), "{p:?}: {site:?}");
            proved += usize::from(is_proved);
            open += usize::from(!is_proved && !racing.contains(&site.site));
        }
    }
    assert!(proved > 200 && open < proved / 4, "{proved} proved, {open} open");
}
