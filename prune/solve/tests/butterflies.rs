//! Exchanges between elements whose indices differ by an exclusive or with a number that the kernel is given: one query
//! for all launches. Each proved kernel stands beside a neighbour that must not be.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

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
    let all = prove(p);
    for (outcome, exprs) in [(&all, &all.verdicts.exprs), (&prove_with(p, launch), &p.exprs)] {
        for site in &outcome.verdicts.sites {
            let proved = match &site.verdict {
                Verdict::Proved => true,
                Verdict::ProvedIf(conditions) => conditions.iter().all(|c| {
                    let p = Protocol { exprs: exprs.clone(), ..p.clone() };
                    c.holds(&p, exprs, launch)
                }),
                _ => false,
            };
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
