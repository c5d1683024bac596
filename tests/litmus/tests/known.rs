//! Programs whose verdict is known: the litmus tests of the PTX ISA and of the literature, each with
//! neighbours. Each claim has its reason.

use gpurace_litmus::candidates::allowed;
use gpurace_litmus::execution::Rules;
use gpurace_litmus::judge::{Verdicts, judge};
use gpurace_litmus::program::Order::{AcqRel, Acquire, Relaxed, Release};
use gpurace_litmus::program::Scope::{Cta, Gpu, Sys};
use gpurace_litmus::program::{Instruction, Meeting, Program, Scope, Thread, Update};
use gpurace_litmus::shorthand::*;
use gpurace_litmus::walk::Code;

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

fn verdicts(program: &Program) -> Verdicts {
    program.validate().unwrap_or_else(|why| panic!("{why}\n{program}"));
    judge(program, Rules::GPURACE, 1_000_000).unwrap_or_else(|| panic!("undecided:\n{program}"))
}

/// Whether a program has a race: by PTX in all executions, by gpurace's rules in all executions, and by
/// these in interleavings.
fn races(program: &Program) -> (bool, bool, bool) {
    let v = verdicts(program);
    (!v.ptx.is_empty(), !v.weak.is_empty(), !v.interleaved.is_empty())
}

const RACE: (bool, bool, bool) = (true, true, true);
const CLEAN: (bool, bool, bool) = (false, false, false);
/// A race behind a result that no interleaving has.
const WEAK: (bool, bool, bool) = (true, true, false);

#[track_caller]
fn assert_races(program: &Program, wanted: (bool, bool, bool)) {
    assert_eq!(races(program), wanted, "{program}{:?}", verdicts(program));
}

/// Message passing: `X` is the payload, `write` and `read` pass the flag `Y`, and `behind` is done if it
/// was seen. The reader is this thread.
fn passing(
    write: Vec<Instruction>,
    read: Instruction,
    behind: Vec<Instruction>,
    (block, number): (u32, u32),
) -> Program {
    let writer = [vec![st(X, 1)], write].concat();
    let reader = vec![read, if_is(0, 1, behind)];
    global(2, vec![thread(0, 0, writer), thread(block, number, reader)])
}

const OTHER_BLOCK: (u32, u32) = (1, 0);
const OTHER_WARP: (u32, u32) = (0, 32);

#[test]
fn message_passing() {
    let reads = || vec![ld(1, X)];
    let fenced = |scope| vec![fence(scope), ld(1, X)];
    let cases: Vec<(&str, Program, (bool, bool, bool))> = vec![
        ("a plain flag races itself", passing(vec![st(Y, 1)], ld(0, Y), reads(), OTHER_BLOCK), RACE),
        (
            "a relaxed flag orders nothing",
            passing(vec![st_atomic(Relaxed, Gpu, Y, 1)], ld_atomic(Relaxed, Gpu, 0, Y), reads(), OTHER_BLOCK),
            RACE,
        ),
        (
            "release and acquire order",
            passing(vec![st_atomic(Release, Gpu, Y, 1)], ld_atomic(Acquire, Gpu, 0, Y), reads(), OTHER_BLOCK),
            CLEAN,
        ),
        (
            "no acquire",
            passing(vec![st_atomic(Release, Gpu, Y, 1)], ld_atomic(Relaxed, Gpu, 0, Y), reads(), OTHER_BLOCK),
            RACE,
        ),
        (
            "no release",
            passing(vec![st_atomic(Relaxed, Gpu, Y, 1)], ld_atomic(Acquire, Gpu, 0, Y), reads(), OTHER_BLOCK),
            RACE,
        ),
        (
            "fences make patterns of relaxed accesses",
            passing(
                vec![fence(Gpu), st_atomic(Relaxed, Gpu, Y, 1)],
                ld_atomic(Relaxed, Gpu, 0, Y),
                fenced(Gpu),
                OTHER_BLOCK,
            ),
            CLEAN,
        ),
        (
            "a fence of the writer's block is not morally strong with the reader's",
            passing(
                vec![fence(Cta), st_atomic(Relaxed, Gpu, Y, 1)],
                ld_atomic(Relaxed, Gpu, 0, Y),
                fenced(Gpu),
                OTHER_BLOCK,
            ),
            RACE,
        ),
        (
            "within a block it is",
            passing(
                vec![fence(Cta), st_atomic(Relaxed, Cta, Y, 1)],
                ld_atomic(Relaxed, Gpu, 0, Y),
                fenced(Sys),
                OTHER_WARP,
            ),
            CLEAN,
        ),
        (
            "a fence behind the flag releases nothing",
            passing(
                vec![st_atomic(Relaxed, Gpu, Y, 1), fence(Gpu)],
                ld_atomic(Relaxed, Gpu, 0, Y),
                fenced(Gpu),
                OTHER_BLOCK,
            ),
            RACE,
        ),
        (
            "a fence behind the read acquires nothing for it",
            passing(
                vec![fence(Gpu), st_atomic(Relaxed, Gpu, Y, 1)],
                ld_atomic(Relaxed, Gpu, 0, Y),
                vec![ld(1, X), fence(Gpu)],
                OTHER_BLOCK,
            ),
            RACE,
        ),
        (
            "the flag's own scopes too narrow: the flag races, and nothing is observed",
            passing(vec![st_atomic(Release, Cta, Y, 1)], ld_atomic(Acquire, Gpu, 0, Y), reads(), OTHER_BLOCK),
            RACE,
        ),
        (
            "the same scopes within a block",
            passing(vec![st_atomic(Release, Cta, Y, 1)], ld_atomic(Acquire, Gpu, 0, Y), reads(), OTHER_WARP),
            CLEAN,
        ),
        (
            "a write behind an acquire is ordered as a read is",
            passing(
                vec![st_atomic(Release, Gpu, Y, 1)],
                ld_atomic(Acquire, Gpu, 0, Y),
                vec![st(X, 2)],
                OTHER_BLOCK,
            ),
            CLEAN,
        ),
        (
            "a release operation earlier on the flag begins a pattern",
            global(
                2,
                vec![
                    thread(
                        0,
                        0,
                        vec![st(X, 1), st_atomic(Release, Gpu, Y, 2), st_atomic(Relaxed, Gpu, Y, 1)],
                    ),
                    thread(1, 0, vec![ld_atomic(Acquire, Gpu, 0, Y), if_is(0, 1, vec![ld(1, X)])]),
                ],
            ),
            CLEAN,
        ),
        (
            "it does not release what comes between",
            global(
                2,
                vec![
                    thread(
                        0,
                        0,
                        vec![st_atomic(Release, Gpu, Y, 2), st(X, 1), st_atomic(Relaxed, Gpu, Y, 1)],
                    ),
                    thread(1, 0, vec![ld_atomic(Acquire, Gpu, 0, Y), if_is(0, 1, vec![ld(1, X)])]),
                ],
            ),
            RACE,
        ),
        (
            "nobody looks at the flag",
            global(
                2,
                vec![
                    thread(0, 0, vec![st(X, 1), st_atomic(Release, Gpu, Y, 1)]),
                    thread(1, 0, vec![ld_atomic(Acquire, Gpu, 0, Y), ld(1, X)]),
                ],
            ),
            RACE,
        ),
        (
            "a reduction's read is part of no acquire pattern",
            global(
                2,
                vec![
                    thread(0, 0, vec![st(X, 1), st_atomic(Release, Gpu, Y, 1)]),
                    thread(
                        1,
                        0,
                        vec![
                            red(Relaxed, Gpu, Y, 4),
                            fence(Gpu),
                            ld_atomic(Relaxed, Gpu, 0, Y),
                            if_is(0, 5, vec![ld(1, X)]),
                        ],
                    ),
                ],
            ),
            RACE,
        ),
        (
            "an atomic's read is",
            global(
                2,
                vec![
                    thread(0, 0, vec![st(X, 1), st_atomic(Release, Gpu, Y, 1)]),
                    thread(
                        1,
                        0,
                        vec![
                            atom(Relaxed, Gpu, 0, Y, Update::Add(4)),
                            if_is(0, 1, vec![fence(Gpu), ld(1, X)]),
                        ],
                    ),
                ],
            ),
            CLEAN,
        ),
    ];
    for (why, program, wanted) in cases {
        assert_eq!(races(&program), wanted, "{why}\n{program}{:?}", verdicts(&program));
    }
}

/// The threads of block 0 store, make fences, meet, and then one of them sets a flag. A thread of block 1 looks at it.
fn passing_by_barrier(
    [storer, teller]: [Vec<Instruction>; 2],
    meets: Meeting,
    behind: Vec<Instruction>,
) -> Program {
    let meet = vec![Instruction::Meet(0)];
    let other = if matches!(meets, Meeting::Block(_)) { 32 } else { 1 };
    let tell = vec![st_atomic(Relaxed, Gpu, Y, 1)];
    let looks = vec![ld_atomic(Relaxed, Gpu, 0, Y), if_is(0, 1, behind)];
    let threads = vec![
        thread(0, 0, [teller, meet.clone(), tell].concat()),
        thread(0, other, [vec![st(X, 1)], storer, meet].concat()),
        thread(1, 0, looks),
    ];
    meeting(vec![meets], global(2, threads))
}

#[test]
fn full_fences_before_a_barrier() {
    let read = |fences: Vec<Instruction>| [fences, vec![ld(1, X)]].concat();
    for meets in [Meeting::Block(0), Meeting::Lanes { block: 0, warp: 0, mask: 3 }] {
        let full = || vec![fence_sc(Gpu)];
        let of = |storer, teller, behind| passing_by_barrier([storer, teller], meets, behind);
        assert_races(&of(full(), full(), read(full())), CLEAN);
        // Fence-SC order orders these too, but gpurace does not look for it unless the teller has a fence.
        assert_races(&of(full(), vec![], read(full())), (false, true, true));
        // Other fences are in no common order, narrow ones do not reach the reader, and the storer needs one.
        for weaker in [vec![fence(Gpu)], vec![fence_sc(Cta)], vec![]] {
            assert_races(&of(weaker.clone(), full(), read(full())), RACE);
            assert_races(&of(full(), full(), read(weaker)), RACE);
        }
    }
}

#[test]
fn volatile_flags() {
    let pass =
        |behind| passing(vec![fence_sc(Gpu), st_volatile(Y, 1)], ld_volatile(0, Y), behind, OTHER_BLOCK);
    // By PTX volatile accesses are relaxed ones; by gpurace's default they race, and order with fences.
    let fenced = pass(vec![fence_sc(Gpu), ld(1, X)]);
    assert_races(&fenced, (false, true, true));
    let flag: Vec<(usize, usize)> = vec![(2, 3)];
    assert_eq!(verdicts(&fenced).interleaved.into_iter().collect::<Vec<_>>(), flag);
    assert_eq!(
        judge(&fenced, Rules::VOLATILE_RELAXED, 100_000).unwrap().weak,
        gpurace_litmus::judge::Pairs::new()
    );
    assert_races(&pass(vec![ld(1, X)]), RACE);
    // A volatile access and an atomic are morally strong in both.
    let mixed = passing(
        vec![fence(Gpu), st_volatile(Y, 1)],
        ld_atomic(Relaxed, Gpu, 0, Y),
        vec![fence(Gpu), ld(1, X)],
        OTHER_BLOCK,
    );
    assert_races(&mixed, CLEAN);
    // An atomic of block scope beside a volatile access of another block is not.
    let narrow = passing(
        vec![fence(Gpu), st_volatile(Y, 1)],
        ld_atomic(Relaxed, Cta, 0, Y),
        vec![fence(Gpu), ld(1, X)],
        OTHER_BLOCK,
    );
    assert_races(&narrow, RACE);
}

/// Both sides of a store buffer, which write `Z` if they pass.
fn store_buffering(between: &[Instruction]) -> Program {
    let side = |block, mine, other| {
        let mut code = vec![st_atomic(Relaxed, Gpu, mine, 1)];
        code.extend_from_slice(between);
        code.extend([ld_atomic(Relaxed, Gpu, 0, other), if_is(0, 0, vec![st(Z, 1 + block)])]);
        thread(block, 0, code)
    };
    global(3, vec![side(0, X, Y), side(1, Y, X)])
}

#[test]
fn store_buffers() {
    // Both sides may pass. No interleaving shows it, so the executor never does.
    assert_races(&store_buffering(&[]), WEAK);
    assert_races(&store_buffering(&[fence(Gpu)]), WEAK);
    // `fence.sc` forbids it, and the side that does not pass does not write.
    assert_races(&store_buffering(&[fence_sc(Gpu)]), CLEAN);
    assert_races(&store_buffering(&[fence_sc(Cta)]), WEAK);
}

#[test]
fn fence_sc_order_is_causality() {
    // T0 says that it has not seen T1's write. So its fence came first, and T1 is ordered after X = 1 by
    // its own fence. gpurace does not use this order, and reports X.
    let program = |between: fn(Scope) -> Instruction| {
        let first = vec![
            st(X, 1),
            between(Gpu),
            ld_atomic(Relaxed, Gpu, 0, Y),
            if_is(0, 0, vec![st_atomic(Relaxed, Gpu, Z, 1)]),
        ];
        let second = vec![
            st_atomic(Relaxed, Gpu, Y, 1),
            between(Gpu),
            ld_atomic(Relaxed, Gpu, 0, Z),
            if_is(0, 1, vec![ld(1, X)]),
        ];
        global(3, vec![thread(0, 0, first), thread(1, 0, second)])
    };
    assert_races(&program(fence_sc), (false, true, true));
    assert_races(&program(fence), RACE);
}

#[test]
fn load_buffering() {
    let side = |block, mine, other, then| {
        thread(
            block,
            0,
            vec![ld_atomic(Relaxed, Gpu, 0, mine), st_atomic(Relaxed, Gpu, other, 1), if_is(0, 1, then)],
        )
    };
    let program = |a, b| global(3, vec![side(0, X, Y, a), side(1, Y, X, b)]);
    // Both loads may see the other's later store; in interleavings one of them does not.
    assert_races(&program(vec![st(Z, 1)], vec![st(Z, 2)]), WEAK);
    // With dependencies these values would come out of thin air.
    let depends = |block, mine, other, value| {
        let then = vec![st_atomic(Relaxed, Gpu, other, 1), st(Z, value)];
        thread(block, 0, vec![ld_atomic(Relaxed, Gpu, 0, mine), if_is(0, 1, then)])
    };
    assert_races(&global(3, vec![depends(0, X, Y, 1), depends(1, Y, X, 2)]), CLEAN);
    // Plain accesses alike: no thread ever writes.
    let plain = |block, mine, other| thread(block, 0, vec![ld(0, mine), if_is(0, 1, vec![st(other, 1)])]);
    assert_races(&global(2, vec![plain(0, X, Y), plain(1, Y, X)]), CLEAN);
}

#[test]
fn one_location_is_sequentially_consistent() {
    // CoRR: who has seen the new value sees no older one.
    let reader = |first: Instruction, second: Instruction| {
        thread(1, 0, vec![first, second, if_is(0, 1, vec![if_is(1, 0, vec![st(Y, 1)])])])
    };
    let program = |first, second| {
        global(2, vec![thread(0, 0, vec![st_atomic(Relaxed, Gpu, X, 1), st(Y, 2)]), reader(first, second)])
    };
    let relaxed = |register| ld_atomic(Relaxed, Gpu, register, X);
    assert_races(&program(relaxed(0), relaxed(1)), CLEAN);
    // Weak loads may.
    let v = verdicts(&program(ld(0, X), ld(1, X)));
    let of_y = |pairs: &gpurace_litmus::judge::Pairs| pairs.iter().any(|&(a, _)| a == 1);
    assert_eq!((of_y(&v.ptx), of_y(&v.interleaved)), (true, false), "{v:?}");
    // Coherence of writes: 2+2W. Each location's last value is the first one's only if the stores of each
    // thread are seen in different orders.
    let writer =
        |block: u32, a, b| vec![st_atomic(Relaxed, Gpu, a, 1 + block), st_atomic(Relaxed, Gpu, b, 1 + block)];
    let then = |code: Vec<Instruction>, block, number| thread(block, number, code);
    let watch = thread(
        2,
        0,
        vec![
            ld_atomic(Acquire, Gpu, 0, X),
            ld_atomic(Acquire, Gpu, 1, X),
            if_is(0, 2, vec![if_is(1, 1, vec![st(Z, 1)])]),
        ],
    );
    let other = thread(
        3,
        0,
        vec![
            ld_atomic(Acquire, Gpu, 0, X),
            ld_atomic(Acquire, Gpu, 1, X),
            if_is(0, 1, vec![if_is(1, 2, vec![st(Z, 2)])]),
        ],
    );
    // Two observers never see two writes of a location in different orders.
    let four = global(3, vec![then(writer(0, X, Y), 0, 0), then(writer(1, Y, X), 1, 0), watch, other]);
    assert_races(&four, CLEAN);
}

#[test]
fn two_plus_two_writes() {
    // T0: X=1; Y=2. T1: Y=1; X=2. In the end X==1 and Y==1, seen by atomics that come last by a barrier.
    let program = |order| {
        let pair = |number, a, b| {
            thread(
                0,
                number,
                vec![
                    st_atomic(order, Cta, a, 1),
                    st_atomic(order, Cta, b, 2),
                    Instruction::Meet(0),
                    ld_atomic(Relaxed, Cta, 0, X),
                    ld_atomic(Relaxed, Cta, 1, Y),
                    if_is(0, 1, vec![if_is(1, 1, vec![st(Z, number)])]),
                ],
            )
        };
        meeting(vec![Meeting::Block(0)], global(3, vec![pair(0, X, Y), pair(32, Y, X)]))
    };
    assert_races(&program(Relaxed), WEAK);
    // Releases order nothing here, since nobody acquires.
    assert_races(&program(Release), WEAK);
}

#[test]
fn independent_reads_of_independent_writes() {
    let program = |between: Vec<Instruction>| {
        let reader = |block, a, b| {
            let mut code = vec![ld_atomic(Acquire, Gpu, 0, a)];
            code.extend(between.clone());
            code.push(ld_atomic(Acquire, Gpu, 1, b));
            code.push(if_is(0, 1, vec![if_is(1, 0, vec![st(Z, block)])]));
            thread(block, 0, code)
        };
        let writer = |block, a| thread(block, 0, vec![st_atomic(Release, Gpu, a, 1)]);
        global(3, vec![writer(0, X), writer(1, Y), reader(2, X, Y), reader(3, Y, X)])
    };
    // Not multi-copy atomic: the readers may see the writes in different orders.
    assert_races(&program(vec![]), WEAK);
    assert_races(&program(vec![fence_sc(Gpu)]), CLEAN);
}

/// Threads that try a lock at `Y` once, and count `X` if they get it.
fn lock(
    take: (Scope, gpurace_litmus::program::Order),
    free: Vec<Instruction>,
    inside: Vec<Instruction>,
) -> Program {
    let user = |block| {
        let mut critical = inside.clone();
        critical.extend([ld(1, X), st(X, 5)]);
        critical.extend(free.clone());
        let swap = atom(take.1, take.0, 0, Y, Update::Swap(0, 1));
        thread(block, 0, vec![swap, if_is(0, 0, critical)])
    };
    global(2, vec![user(0), user(1)])
}

#[test]
fn locks() {
    let free = |order, scope| vec![st_atomic(order, scope, Y, 0)];
    assert_races(&lock((Gpu, Acquire), free(Release, Gpu), vec![]), CLEAN);
    assert_races(&lock((Gpu, Relaxed), free(Release, Gpu), vec![]), RACE);
    assert_races(&lock((Gpu, Acquire), free(Relaxed, Gpu), vec![]), RACE);
    assert_races(&lock((Cta, Acquire), free(Release, Gpu), vec![]), RACE);
    let fences = vec![fence_sc(Gpu), atom(Relaxed, Gpu, 2, Y, Update::Exchange(0))];
    assert_races(&lock((Gpu, Relaxed), fences.clone(), vec![fence_sc(Gpu)]), CLEAN);
    assert_races(&lock((Gpu, Relaxed), fences, vec![fence_sc(Cta)]), RACE);
    // Never freed: only one thread gets in.
    assert_races(&lock((Gpu, Relaxed), vec![], vec![]), CLEAN);
    // Freed by a plain store, which races with the swaps.
    assert_races(&lock((Gpu, Acquire), vec![fence(Gpu), st(Y, 0)], vec![]), RACE);
}

/// What T0 releases on `Y` goes on through `link` to T2.
fn chain(link: Instruction, wanted: u32) -> Program {
    global(
        2,
        vec![
            thread(0, 0, vec![st(X, 1), st_atomic(Release, Gpu, Y, 1)]),
            thread(1, 0, vec![link]),
            thread(2, 0, vec![ld_atomic(Acquire, Gpu, 0, Y), if_is(0, wanted, vec![ld(1, X)])]),
        ],
    )
}

#[test]
fn chains_of_read_modify_writes() {
    assert_races(&chain(atom(Relaxed, Gpu, 0, Y, Update::Add(4)), 5), CLEAN);
    assert_races(&chain(red(Relaxed, Gpu, Y, 4), 5), CLEAN);
    assert_races(&chain(atom(Relaxed, Gpu, 0, Y, Update::Swap(1, 7)), 7), CLEAN);
    // Who sees 4 has seen the atomic alone, which came first.
    assert_races(&chain(atom(Relaxed, Gpu, 0, Y, Update::Add(4)), 4), RACE);
    // An exchange hides whether the release came before.
    assert_races(&chain(atom(Relaxed, Gpu, 0, Y, Update::Exchange(7)), 7), RACE);
    // A store breaks the chain.
    assert_races(&chain(st_atomic(Relaxed, Gpu, Y, 7), 7), RACE);
    // A link of another block's scope is none.
    assert_races(&chain(atom(Relaxed, Cta, 0, Y, Update::Add(4)), 5), RACE);
    // Its acquire and release are its own.
    assert_races(&chain(atom(AcqRel, Gpu, 0, Y, Update::Add(4)), 5), CLEAN);
}

#[test]
fn causality_is_transitive() {
    let program = |second: (Scope, gpurace_litmus::program::Order)| {
        global(
            3,
            vec![
                thread(0, 0, vec![st(X, 1), st_atomic(Release, Gpu, Y, 1)]),
                thread(
                    1,
                    0,
                    vec![
                        ld_atomic(second.1, second.0, 0, Y),
                        if_is(0, 1, vec![st_atomic(Release, Cta, Z, 1)]),
                    ],
                ),
                thread(1, 1, vec![ld_atomic(Acquire, Cta, 0, Z), if_is(0, 1, vec![ld(1, X)])]),
            ],
        )
    };
    assert_races(&program((Gpu, Acquire)), CLEAN);
    assert_races(&program((Gpu, Relaxed)), RACE);
    assert_races(&program((Cta, Acquire)), RACE);
}

#[test]
fn a_write_that_was_observed_precedes_what_follows() {
    // The counter is set back by who has seen all counts, without a release.
    let count = |block: u32, order, reset: Instruction| {
        let last = vec![reset];
        thread(block, 0, vec![atom(order, Gpu, 0, X, Update::Add(1)), if_is(0, 1, last)])
    };
    let program =
        |reset: Instruction| global(1, vec![count(0, Relaxed, reset.clone()), count(1, Relaxed, reset)]);
    assert_races(&program(st(X, 0)), CLEAN);
    // A load of the counter precedes nothing.
    let mut loads = program(st(X, 0));
    loads.threads[0].code.insert(0, ld_atomic(Relaxed, Gpu, 5, X));
    assert_races(&loads, RACE);
}

fn syncs(meetings: Vec<Meeting>, threads: Vec<Thread>) -> Program {
    meeting(meetings, global(1, threads))
}

#[test]
fn meetings_order() {
    let meets = |number, before: Option<Instruction>, m: usize, after: Option<Instruction>| {
        let code = before.into_iter().chain([Instruction::Meet(m)]).chain(after);
        thread(0, number, code.collect())
    };
    let block = vec![Meeting::Block(0)];
    let barrier = |other| {
        syncs(block.clone(), vec![meets(0, Some(st(X, 1)), 0, None), meets(other, None, 0, Some(ld(0, X)))])
    };
    assert_races(&barrier(1), CLEAN);
    assert_races(&barrier(32), CLEAN);
    assert_races(
        &syncs(block.clone(), vec![meets(0, Some(st(X, 1)), 0, None), meets(1, Some(ld(0, X)), 0, None)]),
        RACE,
    );
    let lanes = |mask| Meeting::Lanes { block: 0, warp: 0, mask };
    let three = |mask| {
        let third = match mask & 4 {
            0 => thread(0, 2, vec![ld(0, X)]),
            _ => meets(2, None, 0, Some(ld(0, X))),
        };
        syncs(
            vec![lanes(mask)],
            vec![meets(0, Some(st(X, 1)), 0, None), meets(1, None, 0, Some(ld(0, X))), third],
        )
    };
    assert_races(&three(7), CLEAN);
    // The mask leaves out the third lane.
    assert_races(&three(3), RACE);
    // Order is passed on from mask to mask.
    let chained = |then: Vec<usize>| {
        let code = then.into_iter().map(Instruction::Meet).collect();
        syncs(
            vec![lanes(3), lanes(6)],
            vec![meets(0, Some(st(X, 1)), 0, None), thread(0, 1, code), meets(2, None, 1, Some(st(X, 2)))],
        )
    };
    assert_races(&chained(vec![0, 1]), CLEAN);
    assert_races(&chained(vec![1, 0]), RACE);
    // A barrier of one block orders no other.
    let blocks = syncs(
        vec![Meeting::Block(0), Meeting::Block(1)],
        vec![meets(0, Some(st(X, 1)), 0, None), thread(1, 0, vec![Instruction::Meet(1), ld(0, X)])],
    );
    assert_races(&blocks, RACE);
}

#[test]
fn shared_memory_is_each_blocks_own() {
    let program = |other| Program {
        shared: vec![true],
        ..global(1, vec![thread(0, 0, vec![st(X, 1)]), thread(other, 1, vec![st(X, 1)])])
    };
    assert_races(&program(0), RACE);
    assert_races(&program(1), CLEAN);
}

#[test]
fn a_barrier_acquires_by_gpuraces_rules_alone() {
    // The last block of a reduction: the leader's atomic has no fence behind it but a barrier.
    let program = |behind: Vec<Instruction>, released: bool| {
        let mut first = vec![st(X, 1)];
        first.extend(released.then(|| fence(Gpu)));
        first.push(atom(Relaxed, Gpu, 0, Y, Update::Add(1)));
        let leader = [vec![atom(Relaxed, Gpu, 0, Y, Update::Add(1))], behind].concat();
        let leader = [leader, vec![Instruction::Meet(0), if_is(0, 1, vec![ld(1, X)])]].concat();
        meeting(vec![Meeting::Block(1)], global(2, vec![thread(0, 0, first), thread(1, 0, leader)]))
    };
    assert_races(&program(vec![], true), (true, false, false));
    assert_races(&program(vec![fence(Gpu)], true), CLEAN);
    assert_races(&program(vec![], false), RACE);
}

#[test]
fn too_many_candidates_are_no_answer() {
    let program = store_buffering(&[fence_sc(Gpu)]);
    assert_eq!(judge(&program, Rules::GPURACE, 3), None);
    assert!(allowed(&Code::new(&program), &[Rules::PTX], 3).is_cut_short);
}

#[test]
fn programs_that_no_thread_can_run_are_refused() {
    let refused = |program: Program| assert!(program.validate().is_err(), "{program}");
    refused(global(1, vec![thread(0, 0, vec![if_is(0, 1, vec![])])]));
    refused(global(1, vec![thread(0, 0, vec![ld(0, Y)])]));
    refused(global(1, vec![thread(0, 0, vec![]), thread(0, 0, vec![])]));
    let crossed = |first, second| {
        let code = |a, b| vec![Instruction::Meet(a), Instruction::Meet(b)];
        syncs(
            vec![Meeting::Block(0), Meeting::Block(0)],
            vec![thread(0, 0, code(0, 1)), thread(0, 1, code(first, second))],
        )
    };
    refused(crossed(1, 0));
    assert_eq!(crossed(0, 1).validate(), Ok(()));
}
