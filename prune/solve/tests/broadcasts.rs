//! Values that one thread hands to all through memory, and that decide whether threads reach barriers or write. Each
//! proved kernel stands beside neighbours in which threads may read different values.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    /// As it should be.
    Right,
    /// The threads add to the flag atomically, before the barrier.
    AtomicAdditions,
    /// No barrier between the write and the read.
    NoBarrierBefore,
    /// No barrier between the read and the next round's write.
    NoBarrierAfter,
    /// Each thread reads a flag of its own.
    OfEachThread,
    /// A call that may write to the flag.
    Call,
    /// A write that decides by what the thread has read.
    WriteByReader,
}

/// `do { if (t == 0) flag = more(); sync; go = flag; tile[t] = ...; sync; ... = tile[t ^ 1]; } while (go);`
fn rounds(case: Case) -> Kernel {
    let mut k = Kernel::new("rounds");
    let (flag, tile, t) = (k.shared("flag", 4096), k.shared("tile", 4 * 1024), k.tid());
    let (zero, first) = (k.c(0), k.eqc(t, 0));
    let of = k.next_loop();
    let go = k.opaque("a value loaded from `flag`", Width::W32, Uniform::Thread, &[of]);
    k.open();
    if case == Case::AtomicAdditions {
        k.atomic(flag, zero);
    } else {
        k.when(first, |k| k.write(flag, zero));
    }
    if case == Case::Call {
        let touches = Some(Space::Shared);
        k.stmt(Stmt::Unknown(Unknown { why: "a call".into(), touches, syncs: false }));
    }
    if case != Case::NoBarrierBefore {
        k.sync();
    }
    let site = k.read(flag, if case == Case::OfEachThread { t } else { zero });
    k.p.opaques[0].loaded_by = Some(site);
    if case == Case::WriteByReader {
        let own = k.eq(go, t);
        k.when(own, |k| k.write(flag, zero));
    }
    if case != Case::NoBarrierAfter {
        k.write(tile, t);
        k.sync();
        let other = k.binc(BinOp::Xor, t, 1);
        k.read(tile, other);
    } else {
        k.write(tile, t);
    }
    let stop = k.eqc(go, 0);
    let one = k.p.exprs.constant(Width::W1, 1);
    let cond = k.bin(BinOp::Xor, stop, one);
    let body = k.close();
    k.stmt(Stmt::Loop(Loop { id: of, vars: Vec::new(), cond, test: Test::After, breaks: None, body }));
    // The barriers of the rounds order the way to this one, if all threads make equally many.
    k.sync();
    let other = k.binc(BinOp::Xor, t, 2);
    k.read(tile, other);
    k
}

/// True if all accesses to the object are proved for a launch of two blocks, and so they are by conditions.
fn is_proved(p: &Protocol, object: &str) -> bool {
    let known = launch([2, 1, 1], [64, 1, 1], p, &[]);
    let object = p.objects.iter().position(|of| of.name == object).expect("there is one");
    let places = gpurace_protocol::place::Place::all(p);
    let [at_launch, by_conditions] = [prove_with(p, &known), prove(p)].map(|outcome| {
        places.iter().filter(|place| place.access.object.0 as usize == object).all(|place| {
            let found = outcome.verdicts.sites.iter().find(|site| site.site == place.access.site);
            match found.map(|site| &site.verdict) {
                Some(Verdict::Proved) => true,
                Some(Verdict::ProvedIf(all)) => {
                    all.iter().all(|c| c.holds(p, &outcome.verdicts.exprs, &known))
                }
                _ => false,
            }
        })
    });
    assert_eq!(at_launch, by_conditions, "{}", p.kernel);
    at_launch
}

#[test]
fn rounds_that_one_thread_ends_for_all() {
    for (case, proved) in [
        (Case::Right, true),
        (Case::AtomicAdditions, true),
        (Case::NoBarrierBefore, false),
        (Case::NoBarrierAfter, false),
        (Case::OfEachThread, false),
        (Case::Call, false),
        (Case::WriteByReader, false),
    ] {
        let p = rounds(case).done();
        assert_eq!(is_proved(&p, "tile"), proved, "{case:?}");
    }
}

/// `if (t == 0) last = ...; sync; if (last) { tile[t] = ...; sync; ... = tile[t ^ 1]; }`
fn last_block(shared: bool, read_again: bool) -> Kernel {
    let mut k = Kernel::new("last_block");
    let last = if shared { k.shared("last", 4) } else { k.pointer("last") };
    let (tile, t) = (k.shared("tile", 4 * 1024), k.tid());
    let (zero, first) = (k.c(0), k.eqc(t, 0));
    k.when(first, |k| k.write(last, zero));
    k.sync();
    let site = k.read(last, zero);
    let is_last = k.opaque("a value loaded from `last`", Width::W32, Uniform::Thread, &[]);
    k.p.opaques[0].loaded_by = Some(site);
    if read_again {
        // All threads of the block have read it, some of them have written it again.
        k.when(first, |k| k.write(last, zero));
    }
    let is_last = k.eqc(is_last, 1);
    k.when(is_last, |k| {
        k.write(tile, t);
        k.sync();
        let other = k.binc(BinOp::Xor, t, 1);
        k.read(tile, other);
    });
    // Without this barrier, the threads that do not enter the branch could count as ended.
    k.sync();
    let other = k.binc(BinOp::Xor, t, 2);
    k.read(tile, other);
    k
}

#[test]
fn the_last_block_goes_on() {
    assert!(is_proved(&last_block(true, false).done(), "tile"));
    assert!(!is_proved(&last_block(true, true).done(), "tile"));
    // Other blocks may write to global memory meanwhile.
    assert!(!is_proved(&last_block(false, false).done(), "tile"));
}

/// `while (..) { if (t == 0) leader = ...; sync; if (t == leader) out[block] = ...; sync; }`
fn election(shared: bool, barriers: [bool; 2]) -> Protocol {
    let mut k = Kernel::new("election");
    let leader = if shared { k.shared("leader", 4) } else { k.pointer("leader") };
    let (out, t, b, n) = (k.pointer("out"), k.tid(), k.bid(), k.scalar("n"));
    let (zero, first) = (k.c(0), k.eqc(t, 0));
    let of = k.next_loop();
    k.range(0, n, |k, _| {
        k.when(first, |k| k.write(leader, zero));
        if barriers[0] {
            k.sync();
        }
        let site = k.read(leader, zero);
        let chosen = k.opaque("a value loaded from `leader`", Width::W32, Uniform::Thread, &[of]);
        k.p.opaques[0].loaded_by = Some(site);
        let own = k.eq(chosen, t);
        k.when(own, |k| k.write(out, b));
        if barriers[1] {
            k.sync();
        }
    });
    k.done()
}

#[test]
fn the_elected_thread_writes_for_its_block() {
    let is_proved = |p: Protocol| {
        let known = launch([2, 1, 1], [64, 1, 1], &p, &[5]);
        let places = gpurace_protocol::place::Place::all(&p);
        let outcome = prove_with(&p, &known);
        let site = places.last().expect("there is one").access.site;
        outcome.verdicts.sites.iter().any(|of| of.site == site && of.verdict == Verdict::Proved)
    };
    assert!(is_proved(election(true, [true, true])));
    // Threads of one iteration may read several leaders.
    for barriers in [[false, true], [true, false], [false, false]] {
        assert!(!is_proved(election(true, barriers)), "{barriers:?}");
    }
    // Another block may elect meanwhile.
    assert!(!is_proved(election(false, [true, true])));
}
