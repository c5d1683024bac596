//! Random kernels whose threads take places by atomic additions, beside random executions: no place that is
//! proved to be the thread's own is another one's too.
//!
//! `GPURACE_CASES` sets the number of kernels.
mod common;

use std::collections::HashMap;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;
use gpurace_random::Random;

/// One step of a random kernel.
#[derive(Clone, Debug)]
enum Act {
    /// Thread 0, or each thread, sets a counter to 0.
    Reset {
        counter: usize,
        cell: i64,
        all: bool,
    },
    /// The addition with this number.
    Take {
        counter: usize,
        cell: i64,
        of_parity: bool,
        added: i64,
    },
    /// `out[scale * ticket + plus] = ...`, with the last ticket of this addition.
    Use {
        take: usize,
        array: usize,
        scale: i64,
        plus: i64,
    },
    Sync,
    Loop(i64, Vec<Act>),
}

/// A random kernel, its protocol, and the site of each use.
struct Made {
    steps: Vec<Act>,
    takes: usize,
    uses: usize,
}

/// Makes random steps. Uses are of additions in the same loop.
fn random_steps(r: &mut Random, made: &mut Made, depth: u32) -> Vec<Act> {
    let first = made.takes;
    let mut steps = Vec::new();
    for _ in 0..3 + r.below(4u32) {
        let counter = r.below(2usize);
        let cell = i64::from(r.below(4u32) == 0);
        match r.below(10u32) {
            0 | 1 if made.takes - first < 3 => {
                let added = r.pick(&[1, 1, 1, 2, 3, 0, -1]);
                steps.push(Act::Take { counter, cell, of_parity: r.chance(10), added });
                made.takes += 1;
            }
            2 => steps.push(Act::Reset { counter, cell, all: r.chance(20) }),
            3 => steps.push(Act::Sync),
            4 if depth == 0 => {
                let count = r.pick(&[1, 2, 3]);
                let body = random_steps(r, made, 1);
                steps.push(Act::Loop(count, body));
            }
            _ => {}
        }
        // The additions of this level, not of loops in it.
        let own: Vec<usize> = {
            let mut number = first;
            let mut own = Vec::new();
            for step in &steps {
                match step {
                    Act::Take { .. } => {
                        own.push(number);
                        number += 1;
                    }
                    Act::Loop(_, body) => number += count_takes(body),
                    _ => {}
                }
            }
            own
        };
        if !own.is_empty() && r.chance(50) {
            let (take, array) = (r.pick(&own), r.below(2usize));
            steps.push(Act::Use { take, array, scale: r.pick(&[1, 1, 2]), plus: r.pick(&[0, 0, 0, 1, -1]) });
            made.uses += 1;
        }
        if r.chance(25) {
            steps.push(Act::Sync);
        }
    }
    steps
}

fn count_takes(steps: &[Act]) -> usize {
    let of = |step: &Act| match step {
        Act::Take { .. } => 1,
        Act::Loop(_, body) => count_takes(body),
        _ => 0,
    };
    steps.iter().map(of).sum()
}

/// What the protocol of a random kernel names.
struct Names {
    counters: [ObjectId; 2],
    arrays: [ObjectId; 2],
    tickets: Vec<E>,
    uses: Vec<SiteId>,
    loops: Vec<LoopId>,
}

fn describe(k: &mut Kernel, steps: &[Act], names: &mut Names) {
    for step in steps {
        match step {
            Act::Reset { counter, cell, all } => {
                let (t, cell) = (k.tid(), k.c(*cell));
                let first = k.eqc(t, 0);
                let of = names.counters[*counter];
                if *all {
                    k.write(of, cell);
                } else {
                    k.when(first, |k| k.write(of, cell));
                }
            }
            Act::Take { counter, cell, of_parity, added } => {
                let t = k.tid();
                let at = if *of_parity { k.binc(BinOp::And, t, 1) } else { k.c(*cell) };
                let added = k.c(*added);
                let ticket = k.take(DEVICE, names.counters[*counter], at, added, &names.loops);
                names.tickets.push(ticket);
            }
            Act::Use { take, array, scale, plus } => {
                let at = k.mulc(names.tickets[*take], *scale);
                let at = k.addc(at, *plus);
                let site = k.write(names.arrays[*array], at);
                names.uses.push(site);
            }
            Act::Sync => k.sync(),
            Act::Loop(count, body) => {
                let count = k.c(*count);
                let id = k.next_loop();
                k.range(0, count, |k, _| {
                    names.loops.push(id);
                    describe(k, body, names);
                    names.loops.pop();
                });
            }
        }
    }
}

/// The steps that each thread makes, with the number of additions and uses.
fn unrolled(steps: &[Act], takes: &mut usize, uses: &mut usize, out: &mut Vec<(Act, usize)>) {
    for step in steps {
        match step {
            Act::Loop(count, body) => {
                let (mut t, mut u) = (*takes, *uses);
                for _ in 0..*count {
                    (t, u) = (*takes, *uses);
                    unrolled(body, &mut t, &mut u, out);
                }
                (*takes, *uses) = (t, u);
            }
            Act::Take { .. } => {
                out.push((step.clone(), *takes));
                *takes += 1;
            }
            Act::Use { .. } => {
                out.push((step.clone(), *uses));
                *uses += 1;
            }
            _ => out.push((step.clone(), 0)),
        }
    }
}

/// What a thread wrote, between which barriers, and the number of the use.
struct Write {
    by: usize,
    phase: usize,
    number: usize,
}

/// Runs the threads in a random order, and returns the uses that race. Counter 0 and array 0 are of each
/// block.
fn racing_uses(
    steps: &[(Act, usize)],
    takes: usize,
    blocks: usize,
    threads: usize,
    r: &mut Random,
) -> Vec<usize> {
    struct Thread {
        at: usize,
        phase: usize,
        tickets: Vec<i64>,
    }
    let start = i64::from(r.below(5u32));
    let mut all: Vec<Thread> =
        (0..blocks * threads).map(|_| Thread { at: 0, phase: 0, tickets: vec![0; takes] }).collect();
    let mut counters: HashMap<(usize, usize, i64), i64> = HashMap::new();
    let mut written: HashMap<(usize, usize, i64), Vec<Write>> = HashMap::new();
    loop {
        let waits = |thread: &Thread| matches!(steps.get(thread.at), Some((Act::Sync, _)));
        for block in all.chunks_mut(threads) {
            if block.iter().all(&waits) {
                block.iter_mut().for_each(|thread| {
                    thread.at += 1;
                    thread.phase += 1;
                });
            }
        }
        let ready: Vec<usize> =
            (0..all.len()).filter(|&i| all[i].at < steps.len() && !waits(&all[i])).collect();
        if ready.is_empty() {
            // A block may have passed one barrier and stand before the next one.
            if all.iter().all(|thread| thread.at >= steps.len()) {
                break;
            }
            continue;
        }
        let i = r.pick(&ready);
        let block = i / threads;
        let (step, number) = &steps[all[i].at];
        all[i].at += 1;
        let of = |which: usize| if which == 0 { block } else { usize::MAX };
        match step {
            Act::Reset { counter, cell, all: each } => {
                if *each || i.is_multiple_of(threads) {
                    counters.insert((*counter, of(*counter), *cell), 0);
                }
            }
            Act::Take { counter, cell, of_parity, added } => {
                let cell = if *of_parity { (i % threads % 2) as i64 } else { *cell };
                let value = counters.entry((*counter, of(*counter), cell)).or_insert(start);
                all[i].tickets[*number] = *value;
                *value += added;
            }
            Act::Use { take, array, scale, plus } => {
                let at = scale * all[i].tickets[*take] + plus;
                written.entry((*array, of(*array), at)).or_default().push(Write {
                    by: i,
                    phase: all[i].phase,
                    number: *number,
                });
            }
            Act::Sync | Act::Loop(..) => unreachable!("barriers are passed together, loops unrolled"),
        }
    }
    let mut racing = Vec::new();
    for by in written.values() {
        for (n, x) in by.iter().enumerate() {
            for y in &by[..n] {
                let ordered = x.by / threads == y.by / threads && x.phase != y.phase;
                if x.by != y.by && !ordered {
                    racing.extend([x.number, y.number]);
                }
            }
        }
    }
    racing
}

#[test]
fn random_kernels_beside_random_executions() {
    let cases = gpurace_random::number("GPURACE_CASES", 300);
    let (mut sure, mut races) = (0, 0);
    for seed in 0..cases {
        let mut r = Random(seed);
        let mut made = Made { steps: Vec::new(), takes: 0, uses: 0 };
        made.steps = random_steps(&mut r, &mut made, 0);
        if made.uses == 0 {
            continue;
        }
        let mut k = Kernel::new("random");
        let counters = [k.shared("n", 8), k.pointer("m")];
        let arrays = [k.shared("s", 1 << 20), k.pointer("out")];
        let mut names = Names { counters, arrays, tickets: Vec::new(), uses: Vec::new(), loops: Vec::new() };
        describe(&mut k, &made.steps, &mut names);
        let p = k.done();
        let (blocks, threads) = (1 + r.below(2usize), 2 + r.below(3usize));
        let known = guarded(blocks as u32, threads as u32, &p, &[]);
        let outcome = prove_with(&p, &known);
        let mut steps = Vec::new();
        unrolled(&made.steps, &mut 0, &mut 0, &mut steps);
        let is_proved: Vec<bool> = names
            .uses
            .iter()
            .map(|site| {
                let found = outcome.verdicts.sites.iter().find(|found| found.site == *site);
                matches!(found.map(|found| &found.verdict), Some(Verdict::Proved))
            })
            .collect();
        sure += is_proved.iter().filter(|proved| **proved).count();
        for _ in 0..40 {
            let racing = racing_uses(&steps, made.takes, blocks, threads, &mut r);
            races += racing.len();
            for number in racing {
                assert!(!is_proved[number], "seed {seed}: use {number} of {:#?}", made.steps);
            }
        }
    }
    assert!(sure > 20 && races > 1_000, "{sure} proved, {races} races");
}
