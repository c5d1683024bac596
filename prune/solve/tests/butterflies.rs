//! Exchanges between elements whose indices differ by an exclusive or with a number that the kernel is given: one query
//! for all launches. Each proved kernel stands beside a neighbour that must not be.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::*;

/// Swaps two elements.
fn swap(k: &mut Kernel, of: ObjectId, a: E, b: E) {
    for at in [a, b] {
        k.read(of, at);
    }
    for at in [a, b] {
        k.write(of, at);
    }
}

/// A thread's partner, from its index and the distance.
type Partner = fn(&mut Kernel, E, E) -> E;
/// What decides whether a thread swaps: from its index, the partner and the distance.
type Guard = fn(&mut Kernel, E, E, E) -> E;

/// A step of a bitonic sort: threads swap in either direction, by a bit of their index.
fn step(partner: Partner, guard: Guard) -> Protocol {
    let mut k = Kernel::new("step");
    let (x, j, size) = (k.pointer("x"), k.scalar("j"), k.scalar("k"));
    let i = k.gid();
    let far = partner(&mut k, i, j);
    let leads = guard(&mut k, i, far, j);
    k.when(leads, |k| {
        let bit = k.bin(BinOp::And, i, size);
        let ascends = k.eqc(bit, 0);
        k.when(ascends, |k| swap(k, x, i, far));
        let descends = k.p.exprs.not(ascends);
        k.when(descends, |k| swap(k, x, i, far));
    });
    k.done()
}

fn xor(k: &mut Kernel, i: E, j: E) -> E {
    k.bin(BinOp::Xor, i, j)
}
fn or(k: &mut Kernel, i: E, j: E) -> E {
    k.bin(BinOp::Or, i, j)
}
fn sum(k: &mut Kernel, i: E, j: E) -> E {
    k.add(i, j)
}
fn below(k: &mut Kernel, i: E, far: E, _: E) -> E {
    k.ult(i, far)
}
fn below_signed(k: &mut Kernel, i: E, far: E, _: E) -> E {
    k.lt(i, far)
}
fn bit_is_clear(k: &mut Kernel, i: E, _: E, j: E) -> E {
    let bit = k.bin(BinOp::And, i, j);
    k.eqc(bit, 0)
}
fn bit_is_set(k: &mut Kernel, i: E, _: E, j: E) -> E {
    let bit = k.bin(BinOp::And, i, j);
    let clear = k.eqc(bit, 0);
    k.p.exprs.not(clear)
}
fn always(k: &mut Kernel, _: E, _: E, _: E) -> E {
    k.p.exprs.truth(true)
}
fn below_or_before(k: &mut Kernel, i: E, far: E, _: E) -> E {
    let before = k.addc(i, -1);
    k.le(before, far)
}

/// Asserts that no site with a race in a launch is proved for it, be it alone or with all launches.
fn races_are_found(p: &Protocol, launch: &Launch) {
    let racing = racing(p, launch, 0);
    assert!(!racing.is_empty());
    for outcome in [prove(p), prove_with(p, launch)] {
        for (site, proved) in outcome.verdicts.sites.iter().zip(holds(p, &outcome, launch)) {
            assert!(!proved || !racing.contains(&site.site), "{:?}", site.site);
        }
    }
}

#[test]
fn one_thread_of_each_pair_swaps() {
    for (name, partner, guard) in [
        ("xor, unsigned", xor as Partner, below as Guard),
        ("xor, signed", xor, below_signed),
        ("xor, by bit", xor, bit_is_clear),
        ("or, by bit", or, bit_is_clear),
        ("sum, by bit", sum, bit_is_clear),
    ] {
        let p = step(partner, guard);
        let all = prove(&p);
        assert!(all_proved(&all), "{name}: {:?}", words(&all));
        assert!(all.stats.units < 4_000_000, "{name}: {:?}", all.stats);
        for j in [1, 2, 3, 4, 8, 12] {
            at_launch(&p, &launch([4, 1, 1], [8, 1, 1], &p, &[j, 4]), &[]);
        }
    }
}

#[test]
fn both_threads_of_a_pair_swap() {
    for (partner, guard, js) in [
        (xor as Partner, always as Guard, &[1, 3, 8][..]),
        (xor, below_or_before, &[1]),
        // Threads that have one of the mask's bits swap too.
        (xor, bit_is_set, &[3, 12]),
        (or, always, &[1, 3, 8]),
        (or, below, &[3, 12]),
        (sum, below, &[1, 3, 8]),
        (sum, bit_is_set, &[3, 12]),
    ] {
        let p = step(partner, guard);
        for j in js {
            races_are_found(&p, &launch([4, 1, 1], [8, 1, 1], &p, &[*j, 4]));
        }
    }
}

/// The first distance of a loop over stages.
type First = fn(&mut Kernel) -> E;

/// `for (j = from; j != 0; j = step) if (guard) swap(s[i], s[partner])`, with a barrier at the end of the body. A
/// distance that grows ends at 8.
fn stages(from: First, step: Step, (partner, guard): (Partner, Guard), barrier: bool) -> Protocol {
    let mut k = Kernel::new("stages");
    let (x, i) = (k.shared("s", 4 * 64), k.tid());
    let from = from(&mut k);
    let goes_on = |k: &mut Kernel, j| {
        if let Step::Mul(_) = step {
            let most = k.c(8);
            return k.ult(j, most);
        }
        let over = k.eqc(j, 0);
        k.p.exprs.not(over)
    };
    k.looped(from, step, goes_on, |k, j| {
        let far = partner(k, i, j);
        let leads = guard(k, i, far, j);
        k.when(leads, |k| swap(k, x, i, far));
        if barrier {
            k.sync();
        }
    });
    k.done()
}

fn given(k: &mut Kernel) -> E {
    k.scalar("n")
}
fn half(k: &mut Kernel) -> E {
    let n = k.scalar("n");
    k.binc(BinOp::SDiv, n, 2)
}
fn half_at_most(k: &mut Kernel) -> E {
    let (half, most) = (half(k), k.c(256));
    let is_less = k.lt(half, most);
    k.p.exprs.select(is_less, half, most)
}
/// Each second thread begins with another distance.
fn own_by_bit(k: &mut Kernel) -> E {
    let (n, i) = (k.scalar("n"), k.tid());
    let (other, bit) = (k.addc(n, 2), k.binc(BinOp::And, i, 1));
    let is_even = k.eqc(bit, 0);
    k.p.exprs.select(is_even, n, other)
}
fn own_by_order(k: &mut Kernel) -> E {
    let (n, i) = (k.scalar("n"), k.tid());
    let (other, low) = (k.addc(n, 1), k.ltc(i, 3));
    k.p.exprs.select(low, n, other)
}

/// What one thread knows of the distance, the other knows too, although nobody knows its value.
#[test]
fn distances_that_each_stage_halves() {
    let exchange = (xor as Partner, below as Guard);
    for (name, from, step) in [
        ("half, signed", half as First, Step::AShr(1)),
        ("half, divided", half, Step::SDiv(2)),
        ("at most 256", half_at_most, Step::AShr(1)),
        ("given", given, Step::UDiv(2)),
        ("doubled", given, Step::Mul(2)),
    ] {
        let all = prove(&stages(from, step, exchange, true));
        assert!(all_proved(&all), "{name}: {:?}", words(&all));
        assert!(all.stats.units < 4_000_000, "{name}: {:?}", all.stats);
        let p = stages(from, Step::UDiv(2), exchange, false);
        races_are_found(&p, &launch([1, 1, 1], [8, 1, 1], &p, &[4]));
    }
    for step in [Step::UDiv(2), Step::AShr(1)] {
        let p = stages(own_by_bit, step, exchange, true);
        races_are_found(&p, &launch([1, 1, 1], [8, 1, 1], &p, &[4]));
    }
}

/// Loops over stages, against all threads: distances that all threads share or that each chooses, in any order.
#[test]
fn no_stage_is_proved_that_races() {
    let partners: [Partner; 3] = [xor, or, |k, i, j| k.bin(BinOp::And, i, j)];
    let guards: [Guard; 2] = [below, always];
    let (mut free, mut shown, mut raced) = (0, 0, 0);
    for from in [given as First, half_at_most, own_by_bit, own_by_order] {
        for step in [Step::UDiv(2), Step::AShr(1), Step::Mul(2)] {
            for how in partners.iter().flat_map(|&p| guards.iter().map(move |&g| (p, g))) {
                let p = stages(from, step, how, true);
                let all = prove(&p);
                for n in [2, 4, 6] {
                    let launch = launch([1, 1, 1], [8, 1, 1], &p, &[n]);
                    let racing = racing(&p, &launch, 0);
                    let alone = prove_with(&p, &launch);
                    for outcome in [&all, &alone] {
                        for (site, proved) in outcome.verdicts.sites.iter().zip(holds(&p, outcome, &launch)) {
                            let races = racing.contains(&site.site);
                            assert!(!proved || !races, "{:?} with {n}: {p:#?}", site.site);
                            free += u32::from(!races);
                            raced += u32::from(races);
                            shown += u32::from(proved);
                        }
                    }
                }
            }
        }
    }
    assert!(2 * shown > free && raced > 100, "{shown} of {free}, {raced} race");
}

/// The first element of a thread in a stage, and the distance of the second, from its index and a number of the stage.
type Elements = fn(&mut Kernel, E, E) -> (E, E);

/// A stage of a transform: thread `i` has the elements `first` and `first + half`, each of two floats.
fn stage(first: Elements) -> Protocol {
    let mut k = Kernel::new("stage");
    let (x, stage) = (k.pointer("x"), k.scalar("stage"));
    let i = k.gid();
    let (first, half) = first(&mut k, i, stage);
    let far = k.add(first, half);
    for op in [Op::Read, Op::Write] {
        for at in [first, far] {
            let wide = k.p.exprs.sext(Width::W64, at);
            let by = k.p.exprs.c64(8);
            let bytes = k.p.exprs.product(wide, by);
            let four = k.p.exprs.c64(4);
            let next = k.p.exprs.sum(bytes, four);
            k.access_bytes(op, x, bytes, 4);
            k.access_bytes(op, x, next, 4);
        }
    }
    k.done()
}

/// `((i >> s) << (s + 1)) | (i & ((1 << s) - 1))`
fn by_shifts(k: &mut Kernel, i: E, s: E) -> (E, E) {
    let one = k.c(1);
    let half = k.bin(BinOp::Shl, one, s);
    let next = k.addc(s, 1);
    let high = k.bin(BinOp::AShr, i, s);
    let high = k.bin(BinOp::Shl, high, next);
    let mask = k.addc(half, -1);
    let low = k.bin(BinOp::And, i, mask);
    (k.bin(BinOp::Or, high, low), half)
}

/// `2 * (i - (i & (h - 1))) + (i & (h - 1))`
fn by_mask(k: &mut Kernel, i: E, h: E) -> (E, E) {
    let mask = k.addc(h, -1);
    let low = k.bin(BinOp::And, i, mask);
    let high = k.sub(i, low);
    let high = k.mulc(high, 2);
    (k.add(high, low), h)
}

/// `2 * (i & -h) + (i & (h - 1))`
fn by_masks(k: &mut Kernel, i: E, h: E) -> (E, E) {
    let (zero, mask) = (k.c(0), k.addc(h, -1));
    let clear = k.sub(zero, h);
    let (low, high) = (k.bin(BinOp::And, i, mask), k.bin(BinOp::And, i, clear));
    let high = k.mulc(high, 2);
    (k.add(high, low), h)
}

/// `i / h * 2 * h + i % h`
fn by_division(k: &mut Kernel, i: E, h: E) -> (E, E) {
    let (high, low) = (k.bin(BinOp::SDiv, i, h), k.bin(BinOp::SRem, i, h));
    let high = k.mulc(high, 2);
    let high = k.mul(high, h);
    (k.add(high, low), h)
}

/// The elements of each stage lie apart: for one launch, and for all launches, on conditions that those of powers of
/// two meet.
#[test]
fn stages_of_a_transform() {
    for (name, first, at_once) in [
        ("masks", by_masks as Elements, true),
        ("mask", by_mask, true),
        ("division", by_division, true),
        ("shifts", by_shifts, false),
    ] {
        let p = stage(first);
        let values: [u64; 5] = if at_once { [1, 8, 128, 256, 512] } else { [0, 3, 7, 8, 9] };
        for value in values {
            let outcome = prove_with(&p, &launch([128, 1, 1], [256, 1, 1], &p, &[value]));
            assert!(all_proved(&outcome), "{name}: {value}: {:?}", words(&outcome));
            assert!(outcome.stats.units < 200_000, "{name}: {value}: {:?}", outcome.stats);
        }
        if at_once {
            let outcome = prove(&p);
            assert!(all_proved(&outcome), "{name}: {:?}", words(&outcome));
            assert!(outcome.stats.units < 5_000_000, "{name}: {:?}", outcome.stats);
            let small = launch([4, 1, 1], [8, 1, 1], &p, &[4]);
            assert!(holds(&p, &outcome, &small).iter().all(|held| *held), "{name}");
        }
    }
    // A mask of no power of two cuts out other bits.
    for p in [stage(by_mask), stage(by_masks)] {
        for h in [3, 6, 12] {
            races_are_found(&p, &launch([4, 1, 1], [8, 1, 1], &p, &[h]));
        }
    }
}

/// `if (i / h % 2 == 0)`, with the element `times * h` behind.
fn by_parity(times: i64) -> Protocol {
    let mut k = Kernel::new("parity");
    let (x, h, i) = (k.pointer("x"), k.scalar("h"), k.gid());
    let row = k.bin(BinOp::SDiv, i, h);
    let odd = k.binc(BinOp::SRem, row, 2);
    let is_even = k.eqc(odd, 0);
    let behind = k.mulc(h, times);
    let far = k.add(i, behind);
    k.when(is_even, |k| swap(k, x, i, far));
    k.done()
}

#[test]
fn rows_that_take_turns() {
    for times in [1, 3] {
        let p = by_parity(times);
        for h in [1, 3, 4, 8] {
            at_launch(&p, &launch([4, 1, 1], [8, 1, 1], &p, &[h]), &[]);
        }
    }
    let outcome = prove(&by_parity(1));
    assert!(all_proved(&outcome), "{:?}", words(&outcome));
    assert!(holds(&by_parity(1), &outcome, &launch([4, 1, 1], [8, 1, 1], &by_parity(1), &[3]))[0]);
    let p = by_parity(2);
    for h in [1, 3, 4, 8] {
        races_are_found(&p, &launch([4, 1, 1], [8, 1, 1], &p, &[h]));
    }
}

/// All exchanges by these partners and guards, against all threads, for masks of all kinds and for none.
#[test]
fn no_exchange_is_proved_that_races() {
    let and = |k: &mut Kernel, i: E, j: E| k.bin(BinOp::And, i, j);
    let low = |k: &mut Kernel, i: E, j: E| {
        let mask = k.addc(j, -1);
        k.bin(BinOp::And, i, mask)
    };
    let high = |k: &mut Kernel, i: E, j: E| {
        let zero = k.c(0);
        let mask = k.sub(zero, j);
        k.bin(BinOp::And, i, mask)
    };
    let partners: [Partner; 6] = [xor, or, sum, and, low, high];
    let guards: [Guard; 5] = [always, below, bit_is_clear, bit_is_set, |k, i, far, _| k.ult(far, i)];
    let (mut free, mut shown) = (0, 0);
    for (partner, guard) in partners.iter().flat_map(|p| guards.iter().map(move |g| (p, g))) {
        let mut k = Kernel::new("exchange");
        let (x, j, i) = (k.pointer("x"), k.scalar("j"), k.gid());
        let far = partner(&mut k, i, j);
        let leads = guard(&mut k, i, far, j);
        k.when(leads, |k| swap(k, x, i, far));
        let p = k.done();
        let all = prove(&p);
        for mask in [0, 1, 2, 3, 4, 5, 8, 12, u64::from(u32::MAX)] {
            let launch = launch([2, 1, 1], [8, 1, 1], &p, &[mask]);
            let racing = racing(&p, &launch, 0);
            for (site, proved) in all.verdicts.sites.iter().zip(holds(&p, &all, &launch)) {
                assert!(!proved || !racing.contains(&site.site), "{:?} with {mask}", p.exprs);
                free += u32::from(!racing.contains(&site.site));
                shown += u32::from(proved);
            }
        }
    }
    assert!(5 * shown > 2 * free, "{shown} of {free}");
}
