//! Queues of work: a block's first thread takes an item by an atomic addition and hands it to all, until none is left.
//! Loops that threads leave by breaks with a known condition. Each proved kernel stands beside neighbours that
//! must not be.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Right,
    /// The store is of the item with a known distance.
    Shifted,
    /// The tile is one element wider than the items' distance.
    OneFurther,
    NoBarrierBefore,
    NoBarrierAfter,
    /// Each thread takes an item, and the first one hands on its own.
    AllTake,
    /// The second thread hands on its own item too.
    TwoTell,
    /// Only threads that a loaded value chooses tell.
    SomeTell,
    /// A further write to the word.
    OtherWrite,
    /// The threads read another word.
    OtherWord,
    /// The word is written behind the barrier, after the threads have read it.
    Late,
    /// The additions add nothing.
    AddsNothing,
    /// A value that is not the item decides whether the loop goes on.
    GoesOnAnyway,
    /// Negative items go on too. They are so many that places in `out` come twice.
    Signed,
    /// The threads end one by one.
    EndsAlone,
}

/// `do { if (t == 0) item = atomicAdd(next, 1); sync; i = item; sync; if (i < n) out[i * 64 + t] = ...; } while (i <
/// n);`
fn queue(case: Case) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("queue");
    let (next, out, n) = (k.pointer("next"), k.pointer("out"), k.scalar("n"));
    let (word, t, zero) = (k.shared("item", 8), k.tid(), k.c(0));
    let (first, second) = (k.eqc(t, 0), k.eqc(t, 1));
    let of = k.next_loop();
    k.skip_loop();
    k.open();
    let added = k.c(i64::from(case != Case::AddsNothing));
    let plus = if case == Case::Shifted { 3 } else { 0 };
    let tell = |k: &mut Kernel, ticket: E| {
        let value = k.addc(ticket, plus);
        let site = k.write(word, zero);
        k.p.stored.push(Stored { site, value });
    };
    let ticket = if case == Case::AllTake {
        let ticket = k.take(DEVICE, next, zero, added, &[of]);
        k.when(first, |k| tell(k, ticket));
        ticket
    } else {
        let take = |k: &mut Kernel| {
            let ticket = k.take(DEVICE, next, zero, added, &[of]);
            if case != Case::Late {
                tell(k, ticket);
            }
            ticket
        };
        let cond = if case == Case::SomeTell {
            k.opaque("a value loaded from `chosen`", Width::W1, Uniform::Thread, &[of])
        } else {
            first
        };
        let ticket = k.when(cond, take);
        if case == Case::TwoTell {
            k.when(second, take);
        }
        if case == Case::OtherWrite {
            k.when(first, |k| k.write(word, zero));
        }
        ticket
    };
    if case != Case::NoBarrierBefore {
        k.sync();
    }
    let other = k.c(i64::from(case == Case::OtherWord));
    let site = k.read(word, other);
    let i = k.opaque("a value loaded from `item`", Width::W32, Uniform::Thread, &[of]);
    k.p.opaques.last_mut().expect("there is one").loaded_by = Some(site);
    if case != Case::NoBarrierAfter {
        k.sync();
    }
    if case == Case::Late {
        k.when(first, |k| tell(k, ticket));
        k.sync();
    }
    let own = k.addc(n, 0);
    let bound = if case == Case::EndsAlone { k.add(own, t) } else { own };
    let more = if case == Case::Signed { k.lt(i, bound) } else { k.ult(i, bound) };
    let sites = k.when(more, |k| {
        let at = k.mulc(i, 64);
        let at = k.add(at, t);
        let mut sites = vec![k.write(out, at)];
        if case == Case::OneFurther {
            let at = k.addc(at, 1);
            sites = vec![k.write(out, at), sites[0]];
        }
        sites
    });
    let cond = if case == Case::GoesOnAnyway {
        k.opaque("a value loaded from `go`", Width::W1, Uniform::Block, &[of])
    } else {
        more
    };
    let body = k.close();
    k.stmt(Stmt::Loop(Loop { id: of, vars: Vec::new(), cond, test: Test::After, breaks: None, body }));
    (k, sites)
}

/// True if a launch of two blocks proves the sites.
fn is_proved(p: &Protocol, sites: &[SiteId], scalars: &[u64]) -> bool {
    let outcome = prove_with(p, &guarded(2, 64, p, scalars));
    let of =
        |site| outcome.verdicts.sites.iter().find(|found| found.site == site).map(|found| &found.verdict);
    sites.iter().all(|site| matches!(of(*site), Some(Verdict::Proved)))
}

#[test]
fn items_that_the_first_thread_takes() {
    for (case, fine) in [
        (Case::Right, true),
        (Case::Shifted, true),
        (Case::OneFurther, false),
        (Case::NoBarrierBefore, false),
        (Case::NoBarrierAfter, false),
        (Case::AllTake, false),
        (Case::TwoTell, false),
        (Case::SomeTell, false),
        (Case::OtherWrite, false),
        (Case::OtherWord, false),
        (Case::AddsNothing, false),
        (Case::GoesOnAnyway, false),
        (Case::Signed, false),
        (Case::EndsAlone, false),
        (Case::Late, false),
    ] {
        let (k, sites) = queue(case);
        assert_eq!(is_proved(&k.done(), &sites, &[100]), fine, "{case:?}");
    }
}

/// Each thread takes items of its own: `while ((i = atomicAdd(next, many)) < n) out[i] = ...;`
fn own_items(many: i64, writes: i64, bounded: bool, unsigned: bool) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("own_items");
    let (next, out, n) = (k.pointer("next"), k.pointer("out"), k.scalar("n"));
    let (zero, added) = (k.c(0), k.c(many));
    let of = k.next_loop();
    k.skip_loop();
    k.open();
    let i = k.take(DEVICE, next, zero, added, &[of]);
    let more = if unsigned { k.ult(i, n) } else { k.lt(i, n) };
    let sites = k.when(more, |k| {
        let last = k.addc(i, writes - 1);
        vec![k.write(out, i), k.write(out, last)]
    });
    let cond =
        if bounded { more } else { k.opaque("a value loaded from `go`", Width::W1, Uniform::Thread, &[of]) };
    let body = k.close();
    k.stmt(Stmt::Loop(Loop { id: of, vars: Vec::new(), cond, test: Test::After, breaks: None, body }));
    (k, sites)
}

#[test]
fn items_that_each_thread_takes_until_none_is_left() {
    let most = u64::from(u32::MAX);
    for (many, writes, bounded, unsigned, n, fine) in [
        (1, 1, true, true, 1_000_000, true),
        (1, 1, true, false, 1_000_000, true),
        (4, 4, true, true, 1_000_000, true),
        (4, 5, true, true, 1_000_000, false),
        (1, 1, false, true, 1_000_000, false),
        // 128 threads take one number each after the last item.
        (1, 1, true, true, most - 127, true),
        (1, 1, true, true, most - 126, false),
        // And here four numbers each.
        (4, 4, true, true, most - 514, true),
        (4, 4, true, true, most - 513, false),
        // Half of the numbers are negative.
        (4, 4, true, false, 1_000_000, true),
    ] {
        let (k, sites) = own_items(many, writes, bounded, unsigned);
        let found = is_proved(&k.done(), &sites, &[n]);
        assert_eq!(found, fine, "{many} {writes} {bounded} {unsigned} {n}");
    }
}

/// The first thread takes places for its block: `if (base < 1000) out[base * 64 + t] = ...;`
#[test]
fn places_for_a_whole_block() {
    for (barrier, fine) in [(true, true), (false, false)] {
        let mut k = Kernel::new("reserve");
        let (next, out, word) = (k.pointer("next"), k.pointer("out"), k.shared("base", 4));
        let (t, zero, one) = (k.tid(), k.c(0), k.c(1));
        let first = k.eqc(t, 0);
        k.when(first, |k| {
            let value = k.take(DEVICE, next, zero, one, &[]);
            let site = k.write(word, zero);
            k.p.stored.push(Stored { site, value });
        });
        if barrier {
            k.sync();
        }
        let site = k.read(word, zero);
        let base = k.opaque("a value loaded from `base`", Width::W32, Uniform::Thread, &[]);
        k.p.opaques.last_mut().expect("there is one").loaded_by = Some(site);
        let most = k.c(1000);
        let fits = k.ult(base, most);
        let sites = k.when(fits, |k| {
            let row = k.mulc(base, 64);
            let at = k.add(row, t);
            vec![k.write(out, at)]
        });
        assert_eq!(is_proved(&k.done(), &sites, &[]), fine, "{barrier}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Break {
    /// All threads read whether they break, in memory that nothing changes.
    Alike,
    /// Each thread looks at a place of its own.
    OfEachThread,
    /// No barrier ends an iteration.
    NoBarrier,
    /// The threads break by what one of them says.
    Told,
    /// And it says so without a barrier.
    ToldTooEarly,
    /// The break stands behind all barriers of the iteration.
    AtTheEnd,
    /// And each thread looks at a place of its own.
    AtTheEndOfEachThread,
}

/// `for (r = 0; r < n; ++r) { if (stop[r]) break; tile[t] = ...; sync; ... = tile[t ^ 1]; sync; } sync; ... = tile[t ^
/// 2];`
fn rounds(case: Break) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("breaks");
    let (stop, n) = (k.pointer("stop"), k.scalar("n"));
    let (flag, tile, t, zero) = (k.shared("flag", 4), k.shared("tile", 4096), k.tid(), k.c(0));
    let (first, one) = (k.eqc(t, 0), k.c(1));
    let of = k.next_loop();
    k.skip_loop();
    let var = VarId(of.0);
    let r = k.p.exprs.add(Expr::Var { id: var, width: Width::W32 });
    let is_told = matches!(case, Break::Told | Break::ToldTooEarly);
    k.open();
    if is_told {
        k.when(first, |k| k.write(flag, zero));
        if case == Break::Told {
            k.sync();
        }
    }
    let site = if is_told {
        k.read(flag, zero)
    } else {
        let own = matches!(case, Break::OfEachThread | Break::AtTheEndOfEachThread);
        let at = if own { k.add(r, t) } else { r };
        k.read(stop, at)
    };
    let stops = k.opaque("a value loaded from `stop`", Width::W32, Uniform::Thread, &[of]);
    k.p.opaques.last_mut().expect("there is one").loaded_by = Some(site);
    let unless = k.eqc(stops, 0);
    let mut sites = Vec::new();
    let is_last = matches!(case, Break::AtTheEnd | Break::AtTheEndOfEachThread);
    let yes = k.p.exprs.constant(Width::W1, 1);
    k.when(if is_last { yes } else { unless }, |k| {
        sites.push(k.write(tile, t));
        k.sync();
        let other = k.binc(BinOp::Xor, t, 1);
        sites.push(k.read(tile, other));
        if case != Break::NoBarrier {
            k.sync();
        }
    });
    let body = k.close();
    let cond = k.lt(r, n);
    let vars = vec![Induction { id: var, width: Width::W32, from: zero, step: Step::Add(one) }];
    let breaks = Some(Breaks { uniform: Uniform::Thread, unless });
    k.stmt(Stmt::Loop(Loop { id: of, vars, cond, test: Test::Before, breaks, body }));
    k.sync();
    let other = k.binc(BinOp::Xor, t, 2);
    sites.push(k.read(tile, other));
    (k, sites)
}

#[test]
fn breaks_that_threads_decide_alike() {
    for (case, fine) in [
        (Break::Alike, true),
        (Break::OfEachThread, false),
        (Break::NoBarrier, false),
        (Break::Told, true),
        (Break::ToldTooEarly, false),
        (Break::AtTheEnd, true),
        (Break::AtTheEndOfEachThread, false),
    ] {
        let (k, sites) = rounds(case);
        assert_eq!(is_proved(&k.done(), &sites, &[100]), fine, "{case:?}");
    }
}

/// What the last iteration leaves: `for (r = 0; r < n; ++r) { sync; if (r == m) break; } tile[t] = ...`, beside
/// `tile[t ^ 1]` behind the barrier of an iteration.
#[test]
fn a_break_leaves_no_barrier_behind() {
    for (before, fine) in [(true, true), (false, false)] {
        let mut k = Kernel::new("last_iteration");
        let (n, m) = (k.scalar("n"), k.scalar("m"));
        let (tile, t, zero, one) = (k.shared("tile", 4096), k.tid(), k.c(0), k.c(1));
        let of = k.next_loop();
        k.skip_loop();
        let var = VarId(of.0);
        let r = k.p.exprs.add(Expr::Var { id: var, width: Width::W32 });
        let last = k.eq(r, m);
        let yes = k.p.exprs.constant(Width::W1, 1);
        let unless = k.bin(BinOp::Xor, last, yes);
        k.open();
        let mut sites = Vec::new();
        if before {
            sites.push(k.read(tile, t));
            k.sync();
        } else {
            k.sync();
            sites.push(k.read(tile, t));
        }
        let body = k.close();
        let cond = k.lt(r, n);
        let vars = vec![Induction { id: var, width: Width::W32, from: zero, step: Step::Add(one) }];
        let breaks = Some(Breaks { uniform: Uniform::Grid, unless });
        k.stmt(Stmt::Loop(Loop { id: of, vars, cond, test: Test::Before, breaks, body }));
        let other = k.binc(BinOp::Xor, t, 1);
        sites.push(k.write(tile, other));
        assert_eq!(is_proved(&k.done(), &sites, &[100, 7]), fine, "{before}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum List {
    Right,
    /// It starts at a number that is no constant.
    StartsAnywhere,
    /// It starts at 1.
    StartsAtOne,
    /// A thread that a loaded value chooses starts it.
    SomeStart,
    NoBarrier,
    /// Each thread adds two elements.
    Two,
    /// The additions take two places each.
    TwoPlaces,
    /// Three rounds without a new start.
    Rounds,
    /// Three rounds, each with a new start.
    NewRounds,
    /// And no barrier behind the round.
    NewRoundsTooEarly,
    /// Another write to the counter, in front.
    OtherWrite,
}

/// `if (t == 0) n = 0; sync; list[atomicAdd(&n, 1)] = ...;` with 64 threads, beside a counter of its own memory.
fn unguarded_list(case: List, size: u64) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("unguarded");
    let (n, list, t) = (k.shared("n", 4), k.shared("list", 4 * size), k.tid());
    let (zero, first) = (k.c(0), k.eqc(t, 0));
    let is_new = matches!(case, List::NewRounds | List::NewRoundsTooEarly);
    let start = |k: &mut Kernel, around: &[LoopId]| {
        let cond = match case {
            List::SomeStart => k.opaque("a value loaded from `chosen`", Width::W1, Uniform::Thread, around),
            _ => first,
        };
        let site = k.when(cond, |k| k.write(n, zero));
        if case != List::StartsAnywhere {
            let value = k.c(i64::from(case == List::StartsAtOne));
            k.p.stored.push(Stored { site, value });
        }
        if case != List::NoBarrier {
            k.sync();
        }
    };
    let put = |k: &mut Kernel, around: &[LoopId]| {
        let added = k.c(if case == List::TwoPlaces { 2 } else { 1 });
        let ticket = k.take(DEVICE, n, zero, added, around);
        k.write(list, ticket)
    };
    if case == List::OtherWrite {
        k.when(first, |k| k.write(n, zero));
        k.sync();
    }
    let mut sites = Vec::new();
    if is_new || case == List::Rounds {
        if !is_new {
            start(&mut k, &[]);
        }
        let (of, three) = (k.next_loop(), k.c(3));
        k.range(0, three, |k, _| {
            if is_new {
                start(k, &[of]);
            }
            sites.push(put(k, &[of]));
            if case != List::NewRoundsTooEarly {
                k.sync();
            }
        });
    } else {
        start(&mut k, &[]);
        sites.push(put(&mut k, &[]));
        if case == List::Two {
            sites.push(put(&mut k, &[]));
        }
    }
    (k, sites)
}

#[test]
fn lists_that_hold_all_that_a_block_adds() {
    for (case, size, fine) in [
        (List::Right, 64, true),
        (List::Right, 63, false),
        (List::StartsAnywhere, 64, false),
        (List::StartsAtOne, 65, true),
        (List::StartsAtOne, 64, false),
        (List::SomeStart, 64, false),
        (List::NoBarrier, 64, false),
        (List::Two, 128, true),
        (List::Two, 127, false),
        (List::TwoPlaces, 127, true),
        (List::TwoPlaces, 126, false),
        (List::Rounds, 64, false),
        (List::NewRounds, 64, true),
        (List::NewRounds, 63, false),
        (List::NewRoundsTooEarly, 64, false),
        (List::OtherWrite, 64, false),
    ] {
        let (k, sites) = unguarded_list(case, size);
        assert_eq!(is_proved(&k.done(), &sites, &[]), fine, "{case:?} {size}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Append {
    /// The threads read the number of elements once.
    Once,
    /// They read it once before the first thread takes the places, and once after.
    Twice,
    /// The first thread takes one place less.
    OneLess,
    /// One thread more than there are elements writes.
    OneMore,
    /// Some threads read the number before all have added.
    Early,
    /// They read it once before the additions, and once after.
    BeforeAndAfter,
    /// Further elements are added between the two reads.
    AddedBetween,
    /// A thread that a loaded value chooses starts the number.
    SomeStart,
    /// Each thread that has added writes at the place that it got.
    OwnPlace,
    /// All threads write at the place that they would have got.
    PlaceOfAll,
    /// They write at twice the place, beyond those of the block.
    TwicePlace,
    /// Some threads read the number before all have added.
    OwnPlaceEarly,
}

/// `if (t == 0) n = 0; sync; atomicAdd(&n, 1); sync; if (t == 0) base = atomicAdd(count, n); sync;
/// if (t < n) list[base + t] = ...;`, in three rounds if `rounds`.
fn append(case: Append, rounds: bool) -> Protocol {
    let mut k = Kernel::new("append");
    let (count, list, t) = (k.pointer("count"), k.pointer("list"), k.tid());
    let (n, base) = (k.shared("n", 4), k.shared("base", 4));
    let (zero, one, row, width) = (k.c(0), k.c(1), k.tidy(), k.bdim());
    let row = k.mul(row, width);
    let index = k.add(row, t);
    let first = k.eqc(index, 0);
    let around: Vec<LoopId> = if rounds { vec![k.next_loop()] } else { Vec::new() };
    let load = |k: &mut Kernel, of: ObjectId| {
        let site = k.read(of, zero);
        let value = k.opaque("a loaded value", Width::W32, Uniform::Thread, &around);
        k.p.opaques.last_mut().expect("there is one").loaded_by = Some(site);
        value
    };
    let body = |k: &mut Kernel| {
        let starts = match case {
            Append::SomeStart => k.opaque("a chosen thread", Width::W1, Uniform::Thread, &around),
            _ => first,
        };
        let site = k.when(starts, |k| k.write(n, zero));
        k.p.stored.push(Stored { site, value: zero });
        k.sync();
        let before = (case == Append::BeforeAndAfter).then(|| {
            let read = load(k, n);
            k.sync();
            read
        });
        let odd = k.binc(BinOp::And, t, 1);
        let odd = k.eqc(odd, 1);
        let own = if case >= Append::OwnPlace {
            k.when(odd, |k| k.take(DEVICE, n, zero, one, &around))
        } else {
            k.take(DEVICE, n, zero, one, &around)
        };
        if !matches!(case, Append::Early | Append::OwnPlaceEarly) {
            k.sync();
        }
        let amount = before.unwrap_or_else(|| load(k, n));
        if case == Append::AddedBetween {
            k.sync();
            k.take(DEVICE, n, zero, one, &around);
        }
        let added = if case == Append::OneLess { k.addc(amount, -1) } else { amount };
        k.when(first, |k| {
            let ticket = k.take(DEVICE, count, zero, added, &around);
            let site = k.write(base, zero);
            k.p.stored.push(Stored { site, value: ticket });
        });
        k.sync();
        let taken = if case == Append::Once { amount } else { load(k, n) };
        let start = load(k, base);
        let last = if case == Append::OneMore { k.addc(taken, 1) } else { taken };
        let many = k.c(64);
        let all = k.lt(t, many);
        let (writes, place) = match case {
            Append::PlaceOfAll => (all, own),
            Append::TwicePlace => (odd, k.mulc(own, 2)),
            Append::OwnPlace | Append::OwnPlaceEarly => (odd, own),
            _ => (k.lt(t, last), t),
        };
        let site = k.when(writes, |k| {
            let at = k.add(start, place);
            k.write(list, at)
        });
        k.sync();
        site
    };
    if rounds {
        let three = k.c(3);
        k.range(0, three, |k, _| body(k));
    } else {
        body(&mut k);
    }
    k.done()
}

#[test]
fn blocks_that_take_places_for_all_that_they_have_added() {
    for rounds in [false, true] {
        for (case, fine) in [
            (Append::Once, true),
            (Append::Twice, true),
            (Append::OneLess, false),
            (Append::OneMore, false),
            (Append::Early, false),
            (Append::BeforeAndAfter, false),
            (Append::AddedBetween, false),
            (Append::SomeStart, false),
            (Append::OwnPlace, true),
            (Append::PlaceOfAll, false),
            (Append::TwicePlace, false),
            (Append::OwnPlaceEarly, false),
        ] {
            let p = append(case, rounds);
            let places = gpurace_protocol::place::Place::all(&p);
            let site = places.last().expect("there is one").access.site;
            assert_eq!(is_proved(&p, &[site], &[]), fine, "{case:?} {rounds}");
        }
    }
}
