//! Sorting networks and butterflies. They cut bits out of a thread's index to make positions, at
//! strides that halve or double. Each proved kernel stands beside a neighbour that must not be.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;
use gpurace_solve::Outcome;

/// `radix * t - (radix - 1) * (t & (stride - 1))`: the first of a thread's elements. They lie `stride`
/// apart.
fn first_of(k: &mut Kernel, t: E, stride: E, radix: i64) -> E {
    let mask = k.addc(stride, -1);
    let low = k.bin(BinOp::And, t, mask);
    let (all, low) = (k.mulc(t, radix), k.mulc(low, radix - 1));
    k.sub(all, low)
}

/// Reads and writes all elements of a thread.
fn exchange(k: &mut Kernel, of: ObjectId, first: E, stride: E, radix: i64) -> Vec<SiteId> {
    let places: Vec<_> = (0..radix)
        .map(|i| {
            let far = k.mulc(stride, i);
            k.add(first, far)
        })
        .collect();
    let mut sites: Vec<_> = places.iter().map(|at| k.read(of, *at)).collect();
    sites.extend(places.iter().map(|at| k.write(of, *at)));
    sites
}

/// Asserts that there are races, and that no site of one is proved.
fn races_are_found(p: &Protocol, launch: &Launch) {
    let racing = racing(p, launch, 0);
    assert!(!racing.is_empty(), "{}", p.kernel);
    for s in &prove_with(p, launch).verdicts.sites {
        let is_fine = !racing.contains(&s.site) || s.verdict != Verdict::Proved;
        assert!(is_fine, "{}: {:?}", p.kernel, s.site);
    }
}

/// One step over all of an array in global memory, the stride a parameter.
#[test]
fn one_step_in_global_memory() {
    for radix in [2, 4] {
        let mut k = Kernel::new("merge_global");
        let (x, stride, t) = (k.pointer("x"), k.scalar("stride"), k.gid());
        let first = first_of(&mut k, t, stride, radix);
        exchange(&mut k, x, first, stride, radix);
        let p = k.done();
        for stride in [1, 2, 4, 8, 16, 32, 64] {
            at_launch(&p, &launch([8, 1, 1], [8, 1, 1], &p, &[stride]), &[]);
        }
        // Not a power of two: the mask cuts out other bits.
        races_are_found(&p, &launch([8, 1, 1], [8, 1, 1], &p, &[12]));
        // As large as real ones.
        for stride in [256, 1024, 2048, 1 << 17, 1 << 18] {
            let outcome = prove_with(&p, &launch([1024, 1, 1], [512, 1, 1], &p, &[stride]));
            assert!(words(&outcome).iter().all(|w| *w == "proved"), "{stride}: {:?}", words(&outcome));
            assert!(outcome.stats.units < 2_000_000, "{stride}: {:?}", outcome.stats);
        }
    }
}

/// Exchanges in shared memory, the stride halved from `from` on.
fn halved(k: &mut Kernel, s: ObjectId, from: E, wait: bool) {
    let t = k.tid();
    k.looped(from, Step::UDiv(2), Kernel::positive, |k, stride| {
        if wait {
            k.sync();
        }
        let first = first_of(k, t, stride, 2);
        exchange(k, s, first, stride, 2);
    });
}

/// All steps of a merge in shared memory.
fn merge_shared(from: i64, block: u32, wait: bool) -> Protocol {
    let mut k = Kernel::new("merge_shared");
    let s = k.shared("s", u64::from(block) * 8);
    let from = k.c(from);
    halved(&mut k, s, from, wait);
    k.done()
}

#[test]
fn strides_that_halve_in_shared_memory() {
    let p = merge_shared(16, 16, true);
    at_launch(&p, &launch([2, 1, 1], [16, 1, 1], &p, &[]), &[]);
    races_are_found(&merge_shared(16, 16, false), &launch([2, 1, 1], [16, 1, 1], &p, &[]));
    // From 12 the strides are 12, 6, 3 and 1.
    races_are_found(&merge_shared(12, 16, true), &launch([2, 1, 1], [16, 1, 1], &p, &[]));
    let p = merge_shared(512, 512, true);
    let outcome = prove_with(&p, &launch([64, 1, 1], [512, 1, 1], &p, &[]));
    assert!(words(&outcome).iter().all(|w| *w == "proved"), "{:?}", words(&outcome));
    assert!(outcome.stats.units < 4_000_000, "{:?}", outcome.stats);
}

/// A whole sort. The size doubles; for each size, the stride halves from half of the size on.
#[test]
fn a_sort_in_shared_memory() {
    let kernel = |block: u32, wait: bool| {
        let mut k = Kernel::new("sort_shared");
        let s = k.shared("s", u64::from(block) * 8);
        let (two, end) = (k.c(2), k.c(i64::from(block) * 2));
        k.looped(
            two,
            Step::Mul(2),
            |k, size| k.le(size, end),
            |k, size| {
                let half = k.binc(BinOp::UDiv, size, 2);
                halved(k, s, half, wait);
            },
        );
        k.done()
    };
    let p = kernel(8, true);
    at_launch(&p, &launch([2, 1, 1], [8, 1, 1], &p, &[]), &[]);
    races_are_found(&kernel(8, false), &launch([2, 1, 1], [8, 1, 1], &p, &[]));
    let p = kernel(512, true);
    let outcome = prove_with(&p, &launch([64, 1, 1], [512, 1, 1], &p, &[]));
    assert!(words(&outcome).iter().all(|w| *w == "proved"), "{:?}", words(&outcome));
}

/// Strides that double up to a parameter. One doubling too many makes a stride 0, and `stride - 1` is
/// then no mask of the right width.
#[test]
fn strides_that_double_up_to_a_parameter() {
    let kernel = |wait: bool| {
        let mut k = Kernel::new("merge_shared_up");
        let (s, end, t) = (k.shared("s", 128), k.scalar("end"), k.tid());
        k.doubled(end, |k, stride| {
            if wait {
                k.sync();
            }
            let first = first_of(k, t, stride, 2);
            exchange(k, s, first, stride, 2);
        });
        k.done()
    };
    let p = kernel(true);
    prove(&p);
    for end in [2, 32, 33] {
        at_launch(&p, &launch([2, 1, 1], [16, 1, 1], &p, &[end]), &[]);
    }
    let p = kernel(false);
    prove(&p);
    races_are_found(&p, &launch([2, 1, 1], [16, 1, 1], &p, &[32]));
}

/// The up-sweep of a scan over `n` elements. The offset doubles, and half of the next one is used.
fn doubled_first(wait: bool, factor: u64) -> Protocol {
    let mut k = Kernel::new("up_sweep");
    let (s, n, t) = (k.shared("s", 1 << 24), k.scalar("n"), k.tid());
    let half = k.binc(BinOp::SDiv, n, 2);
    let vars = [(half, Step::SDiv(2)), (k.c(1), Step::Mul(factor))];
    let cond = |k: &mut Kernel, [d, _]: [ExprId; 2]| k.positive(d);
    k.looped_by(vars, cond, |k, [d, offset]| {
        if wait {
            k.sync();
        }
        let twice = k.mulc(offset, 2);
        let offset = k.binc(BinOp::SDiv, twice, 2);
        let below = k.lt(t, if factor == 2 { d } else { half });
        k.when(below, |k| {
            let places = [1, 2].map(|by| {
                let twice = k.mulc(t, 2);
                let odd = k.addc(twice, by);
                k.mul(offset, odd)
            });
            k.read(s, places[0]);
            k.read(s, places[1]);
            k.write(s, places[1]);
        });
    });
    k.done()
}

/// The number of halvings bounds the number of doublings, so the offset does not wrap.
#[test]
fn an_offset_that_doubles_while_another_number_halves() {
    let p = doubled_first(true, 2);
    for n in [2, 8, 16] {
        at_launch(&p, &launch([2, 1, 1], [n / 2, 1, 1], &p, &[n.into()]), &[]);
    }
    let outcome = prove_with(&p, &launch([64, 1, 1], [512, 1, 1], &p, &[1024]));
    assert!(words(&outcome).iter().all(|w| *w == "proved"), "{:?}", words(&outcome));
    races_are_found(&doubled_first(false, 2), &launch([2, 1, 1], [8, 1, 1], &p, &[16]));
    // In the third iteration the offset wraps to 0, and all threads have one place.
    races_are_found(&doubled_first(true, 1 << 16), &launch([2, 1, 1], [8, 1, 1], &p, &[16]));
}

/// In the next iteration, a variable in the condition of a barrier has another value.
#[test]
fn values_of_one_iteration_are_not_those_of_the_next() {
    // The last iteration, in which `v` is 1, has no barrier. So the access after the loop meets that
    // iteration's accesses, and no others.
    let kernel = |least: i64| {
        let mut k = Kernel::new("last_barrier_left_out");
        let (s, t) = (k.shared("s", 4096), k.tid());
        let from = k.c(16);
        let mut sites = Vec::new();
        k.looped(from, Step::UDiv(2), Kernel::positive, |k, v| {
            let at = k.mulc(v, 16);
            let at = k.add(at, t);
            sites.push(k.write(s, at));
            let least = k.c(least);
            let more = k.lt(least, v);
            k.when(more, |k| k.sync());
        });
        let at = k.addc(t, 17);
        sites.push(k.read(s, at));
        (k.done(), sites)
    };
    let (p, sites) = kernel(1);
    at_launch(&p, &launch([1, 1, 1], [16, 1, 1], &p, &[]), &sites);
    let (p, _) = kernel(0);
    at_launch(&p, &launch([1, 1, 1], [16, 1, 1], &p, &[]), &[]);
}

/// The first stride of a loop, from the parameter `n`.
type First = fn(&mut Kernel, E) -> E;

/// Exchanges in shared memory at the strides of a loop from `first(n)` on, with a barrier before each.
fn strides(first: First, step: Step) -> Protocol {
    let mut k = Kernel::new("strides");
    let (s, n, t) = (k.shared("s", 1 << 12), k.scalar("n"), k.tid());
    let first = first(&mut k, n);
    let goes_on = |k: &mut Kernel, stride| match step {
        Step::Mul(_) => {
            let end = k.c(65);
            k.ult(stride, end)
        }
        _ => k.positive(stride),
    };
    k.looped(first, step, goes_on, |k, stride| {
        k.sync();
        let first = first_of(k, t, stride, 2);
        exchange(k, s, first, stride, 2);
    });
    k.done()
}

/// The argument itself.
fn given(_: &mut Kernel, n: E) -> E {
    n
}
fn half(k: &mut Kernel, n: E) -> E {
    k.binc(BinOp::SDiv, n, 2)
}
fn unsigned_half(k: &mut Kernel, n: E) -> E {
    k.binc(BinOp::LShr, n, 1)
}
fn half_at_most_8(k: &mut Kernel, n: E) -> E {
    let (half, most) = (half(k, n), k.c(8));
    k.bin(BinOp::SMin, half, most)
}
fn twice(k: &mut Kernel, n: E) -> E {
    k.mulc(n, 2)
}
fn third(k: &mut Kernel, n: E) -> E {
    k.binc(BinOp::UDiv, n, 3)
}
fn one_more(k: &mut Kernel, n: E) -> E {
    k.addc(n, 1)
}

/// Asserts that no proof for all launches or for one hides a race, and returns whether all sites are proved for it.
fn is_proved_at(p: &Protocol, all: &Outcome, launch: &Launch) -> bool {
    let racing = racing(p, launch, 0);
    let alone = prove_with(p, launch);
    for outcome in [all, &alone] {
        for (site, proved) in outcome.verdicts.sites.iter().zip(holds(p, outcome, launch)) {
            assert!(!proved || !racing.contains(&site.site), "{:?}: {:?}", site.site, launch.params);
        }
    }
    holds(p, all, launch).into_iter().all(|proved| proved)
}

/// One query stands for all strides, if each is a power of two. The parameter decides that, at each launch.
#[test]
fn strides_that_are_powers_of_two_if_an_argument_is_one() {
    for (first, step) in [
        (given as First, Step::UDiv(2)),
        (given, Step::SDiv(2)),
        (given, Step::AShr(1)),
        (given, Step::UDiv(4)),
        (half, Step::SDiv(2)),
        (half, Step::UDiv(2)),
        (half, Step::AShr(2)),
        (unsigned_half, Step::UDiv(2)),
        (half_at_most_8, Step::UDiv(2)),
        (twice, Step::UDiv(2)),
    ] {
        let p = strides(first, step);
        let all = prove(&p);
        assert!(all_proved(&all), "{step:?}: {:?}", words(&all));
        assert!(all.stats.units < 4_000_000, "{step:?}: {:?}", all.stats);
        for n in (0..9).chain([12, 16, 24, 31, 32, 64]) {
            let proved = is_proved_at(&p, &all, &launch([2, 1, 1], [16, 1, 1], &p, &[n]));
            assert!(proved || !n.is_power_of_two(), "{step:?}: {n}");
        }
        // With the sign bit, and powers of two that a signed quotient is not.
        for n in [1 << 31, 3 << 30, 5 << 29, (1 << 32) - 1, (1 << 32) - 16] {
            is_proved_at(&p, &all, &launch([2, 1, 1], [16, 1, 1], &p, &[n]));
        }
    }
}

/// Some of these strides are no powers of two, for all arguments or for some.
#[test]
fn strides_that_are_no_powers_of_two() {
    for (first, step) in [
        (given as First, Step::UDiv(3)),
        (given, Step::SDiv(6)),
        (given, Step::Mul(2)),
        (given, Step::Mul(3)),
        (given, Step::Mul(6)),
        (third, Step::UDiv(2)),
        (one_more, Step::UDiv(2)),
    ] {
        let p = strides(first, step);
        let all = prove(&p);
        let mut races = 0;
        for n in (1..14).chain([24, 30, 33, 36, 60]) {
            let launch = launch([2, 1, 1], [16, 1, 1], &p, &[n]);
            is_proved_at(&p, &all, &launch);
            races += racing(&p, &launch, 0).len();
        }
        assert!(races > 0, "{step:?}");
    }
}

/// A sort whose size and block are those of the launch. Only with a barrier in each step there is no race.
#[test]
fn a_sort_for_all_sizes() {
    let kernel = |wait: bool, by_xor: bool| {
        let mut k = Kernel::new("sort");
        let (s, n, t) = (k.shared("s", 1 << 12), k.scalar("n"), k.tid());
        k.looped(
            n,
            Step::Mul(2),
            |k, size| k.ltc(size, 33),
            |k, size| {
                let half = k.binc(BinOp::SDiv, size, 2);
                k.looped(half, Step::SDiv(2), Kernel::positive, |k, stride| {
                    let (up, zero) = (k.bin(BinOp::And, t, size), k.c(0));
                    let swap = k.ult(zero, up);
                    let both = |k: &mut Kernel, [a, b]: [E; 2]| {
                        k.read(s, a);
                        k.read(s, b);
                        k.when(swap, |k| {
                            k.write(s, a);
                            k.write(s, b);
                        });
                    };
                    if by_xor {
                        let far = k.bin(BinOp::Xor, t, stride);
                        let leads = k.lt(t, far);
                        k.when(leads, |k| both(k, [t, far]));
                    } else {
                        let first = first_of(k, t, stride, 2);
                        let far = k.add(first, stride);
                        both(k, [first, far]);
                    }
                    if wait {
                        k.sync();
                    }
                });
            },
        );
        k.done()
    };
    for by_xor in [false, true] {
        let p = kernel(true, by_xor);
        let all = prove(&p);
        assert!(all_proved(&all), "{by_xor}: {:?}", words(&all));
        assert!(all.stats.units < 5_000_000, "{by_xor}: {:?}", all.stats);
        for n in [1, 2, 3, 4, 6, 8] {
            let proved = is_proved_at(&p, &all, &launch([2, 1, 1], [16, 1, 1], &p, &[n]));
            assert!(proved || n % 3 == 0, "{by_xor}: {n}");
        }
        let p = kernel(false, by_xor);
        let all = prove(&p);
        assert!(!is_proved_at(&p, &all, &launch([2, 1, 1], [16, 1, 1], &p, &[2])), "{by_xor}");
    }
}

/// The stages of a transform: `(t / half) * half * 2 + t % half` and `half` elements behind it.
#[test]
fn stages_whose_half_doubles_up_to_a_parameter() {
    let kernel = |factor: u64, wait: bool| {
        let mut k = Kernel::new("stages");
        let (s, n, t) = (k.shared("s", 1 << 12), k.scalar("n"), k.tid());
        let one = k.c(1);
        k.looped(
            one,
            Step::Mul(factor),
            |k, half| k.lt(half, n),
            |k, half| {
                let (above, low) = (k.bin(BinOp::SDiv, t, half), k.bin(BinOp::SRem, t, half));
                let whole = k.mul(above, half);
                let twice = k.mulc(whole, 2);
                let first = k.add(twice, low);
                exchange(k, s, first, half, 2);
                if wait {
                    k.sync();
                }
            },
        );
        k.done()
    };
    let p = kernel(2, true);
    let all = prove(&p);
    assert!(all_proved(&all), "{:?}", words(&all));
    assert!(all.stats.units < 5_000_000, "{:?}", all.stats);
    for n in [1, 2, 3, 4, 8, 12, 16, 32] {
        assert!(is_proved_at(&p, &all, &launch([2, 1, 1], [16, 1, 1], &p, &[n])), "{n}");
    }
    let p = kernel(2, false);
    assert!(!is_proved_at(&p, &prove(&p), &launch([1, 1, 1], [16, 1, 1], &p, &[8])));
}
