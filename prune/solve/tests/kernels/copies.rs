//! Asynchronous copies that their thread waits for before it syncs.

use super::*;

const COPIED: Op = Op::Copy { writes: true, passes: 0 };
const SOURCE: Op = Op::Copy { writes: false, passes: 0 };

impl Kernel {
    /// `__pipeline_memcpy_async(&tile[to], &from[at], 4)`, for which the thread waits before it syncs. Returns the
    /// sites of the read and of the write.
    fn copy(&mut self, (tile, to): (ObjectId, E), (from, at): (ObjectId, E)) -> [SiteId; 2] {
        [self.access(SOURCE, from, at, 4), self.access(COPIED, tile, to, 4)]
    }
}

/// Rounds over one tile, whose elements other threads read.
fn one_tile(barriers: [bool; 2]) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("one tile");
    let (from, rounds) = (k.pointer("from"), k.scalar("rounds"));
    let tile = k.shared("tile", 256);
    let (t, last) = (k.tid(), k.c(63));
    let across = k.sub(last, t);
    let sites = k.range(0, rounds, |k, r| {
        let row = k.mulc(r, 64);
        let at = k.add(row, t);
        let [_, written] = k.copy((tile, t), (from, at));
        if barriers[0] {
            k.sync();
        }
        let read = k.read(tile, across);
        if barriers[1] {
            k.sync();
        }
        vec![written, read]
    });
    (k, sites)
}

#[test]
fn a_tile_that_is_copied_anew_in_each_round() {
    proved(one_tile([true, true]).0);
    for barriers in [[true, true], [true, false], [false, true]] {
        let (k, sites) = one_tile(barriers);
        let p = k.done();
        let racing = if barriers == [true, true] { Vec::new() } else { sites };
        at_launch(&p, &launch([1; 3], [64, 1, 1], &p, &[3]), &racing);
    }
}

/// While one tile is read, the next one is copied.
fn two_tiles(other: bool, plain: bool) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("two tiles");
    let (from, rounds) = (k.pointer("from"), k.scalar("rounds"));
    let tile = k.shared("tiles", 512);
    let t = k.tid();
    let in_tile = |k: &mut Kernel, round: E, at: E| {
        let parity = k.binc(BinOp::And, round, 1);
        let start = k.mulc(parity, 64);
        k.add(start, at)
    };
    let few = k.ltc(t, 64);
    let sites = k.range(0, rounds, |k, r| {
        let next = if other { k.addc(r, 1) } else { r };
        let to = in_tile(k, next, t);
        let written =
            k.when(few, |k| if plain { k.write(tile, to) } else { k.copy((tile, to), (from, t))[1] });
        let own = in_tile(k, r, t);
        let read = k.when(few, |k| k.read(tile, own));
        k.sync();
        vec![written, read]
    });
    (k, sites)
}

#[test]
fn the_next_tile_is_copied_while_threads_read_their_own_elements() {
    only_with(|other| two_tiles(other, false));
    // A thread's own write is done before it reads.
    proved(two_tiles(false, true).0);
    let p = two_tiles(false, false).0.done();
    let sites = [SiteId(1), SiteId(2)];
    let launch = launch([1; 3], [40, 1, 1], &p, &[3]);
    assert_eq!(racing(&p, &launch, 0), sites.into());
    assert!(!all_proved(&prove_with(&p, &launch)));
}

#[test]
fn copies_of_one_thread_do_not_wait_for_each_other() {
    let copies = |apart: bool, op: Op| {
        let mut k = Kernel::new("several copies");
        let tile = k.shared("tile", 1024);
        let (t, four) = (k.tid(), k.c(4));
        let few = k.ltc(t, 64);
        let site = k.range(0, four, |k, i| {
            let step = if apart { i } else { k.binc(BinOp::And, i, 1) };
            let start = k.mulc(step, 64);
            let at = k.add(start, t);
            k.when(few, |k| k.access(op, tile, at, 4))
        });
        (k, vec![site])
    };
    only_with(|apart| copies(apart, COPIED));
    proved(copies(false, Op::Write).0);
}

#[test]
fn a_source_that_its_thread_overwrites() {
    let in_place = |waits: bool, op: Op| {
        let mut k = Kernel::new("in place");
        let (data, tile) = (k.pointer("data"), k.shared("tile", 256));
        let (t, at) = (k.tid(), k.gid());
        let few = k.ltc(t, 64);
        k.when(few, |k| k.access(COPIED, tile, t, 4));
        let read = k.access(op, data, at, 4);
        if waits {
            k.sync();
        }
        let written = k.write(data, at);
        (k, vec![read, written])
    };
    only_with(|waits| in_place(waits, SOURCE));
    proved(in_place(false, Op::Read).0);
}

/// A thread may have the ticket of its own copy.
#[test]
fn a_ticket_does_not_keep_a_thread_apart_from_itself() {
    let list = |op: Op| {
        let mut k = Kernel::new("list");
        let (count, list) = (k.pointer("count"), k.pointer("list"));
        let (zero, one) = (k.c(0), k.c(1));
        let at = k.take(DEVICE, count, zero, one, &[]);
        let sites = vec![k.access(op, list, at, 4), k.read(list, at)];
        (k, sites)
    };
    proved(list(Op::Write).0);
    let (k, sites) = list(COPIED);
    not_proved(k, &sites);
}

/// A ring of `stages` tiles. Each round waits for its tile, which a copy has fetched `ahead` rounds before. The copies
/// in flight pass `passes` barriers.
fn ring(stages: i64, ahead: i64, passes: u32) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("ring");
    let (from, rounds) = (k.pointer("from"), k.scalar("rounds"));
    let tile = k.shared("tiles", 4096);
    let (t, last) = (k.tid(), k.c(63));
    let across = k.sub(last, t);
    let in_tile = |k: &mut Kernel, round: E, at: E| {
        let stage = k.binc(BinOp::URem, round, stages);
        let start = k.mulc(stage, 64);
        k.add(start, at)
    };
    let few = k.ltc(t, 64);
    let copied = |passes: u32| Op::Copy { writes: true, passes };
    let mut sites = Vec::new();
    for stage in 0..ahead {
        let round = k.c(stage);
        let to = in_tile(&mut k, round, t);
        k.access(Op::Copy { writes: false, passes: stage as u32 }, from, to, 4);
        sites.push(k.when(few, |k| k.access(copied(stage as u32), tile, to, 4)));
    }
    let more = k.range(0, rounds, |k, r| {
        k.sync();
        let own = in_tile(k, r, across);
        let read = k.when(few, |k| k.read(tile, own));
        let next = k.addc(r, ahead);
        let goes_on = k.lt(next, rounds);
        let goes_on = k.p.exprs.both(few, goes_on);
        let to = in_tile(k, next, t);
        let written = k.when(goes_on, |k| k.access(copied(passes), tile, to, 4));
        vec![read, written]
    });
    sites.extend(more);
    (k, sites)
}

/// In a block of 64 threads these sites race by the oracle. None of them is proved.
#[track_caller]
fn open_where_the_oracle_finds_races(k: Kernel, sites: &[SiteId], scalars: &[u64]) {
    let p = k.done();
    let launch = launch([1; 3], [64, 1, 1], &p, scalars);
    let found = racing(&p, &launch, 0);
    assert!(sites.iter().all(|site| found.contains(site)), "{found:?}");
    for s in prove_with(&p, &launch).verdicts.sites.iter().filter(|s| sites.contains(&s.site)) {
        assert!(matches!(s.verdict, Verdict::Unknown(_)), "site {} is {:?}", s.site.0, s.verdict);
    }
}

#[test]
fn a_ring_of_tiles_with_copies_in_flight_over_barriers() {
    for stages in [2, 3, 4, 5] {
        let passes = stages as u32 - 2;
        proved(ring(stages, stages - 1, passes).0);
    }
}

#[test]
fn a_ring_whose_copies_are_in_flight_too_long_or_come_too_early() {
    for (stages, ahead, passes) in [(3, 2, 2), (4, 3, 3), (3, 3, 1), (4, 4, 2)] {
        let (k, sites) = ring(stages, ahead, passes);
        open_where_the_oracle_finds_races(k, &sites[sites.len() - 2..], &[9]);
    }
}

/// Each thread makes an access that writes its element, passes some barriers, and reads an element: its `own`, or that
/// of the thread at the other end.
fn written_before(name: &str, op: Op, barriers: u32, own: bool) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new(name);
    let tile = k.shared("tile", 256);
    let (t, last) = (k.tid(), k.c(63));
    let few = k.ltc(t, 64);
    let written = k.when(few, |k| k.access(op, tile, t, 4));
    for _ in 0..barriers {
        k.sync();
    }
    let at = if own { t } else { k.sub(last, t) };
    let read = k.when(few, |k| k.read(tile, at));
    (k, vec![written, read])
}

#[test]
fn a_copy_over_one_barrier_meets_what_comes_behind_it() {
    for passes in 0..4 {
        let one = |barriers| written_before("one copy", Op::Copy { writes: true, passes }, barriers, false);
        proved(one(passes + 1).0);
        let (k, sites) = one(passes);
        if passes > 0 {
            open_where_the_oracle_finds_races(k, &sites, &[]);
        }
    }
}

/// Others may have passed as many barriers as a thread has arrived at. The thread's own accesses stay in order.
#[test]
fn an_access_between_arrivals_and_waits_meets_what_comes_behind_them() {
    for passes in 1..3 {
        let one =
            |barriers, own| written_before("between", Op::Between { writes: true, passes }, barriers, own);
        proved(one(passes + 1, false).0);
        proved(one(passes, true).0);
        let (k, sites) = one(passes, false);
        open_where_the_oracle_finds_races(k, &sites, &[]);
    }
}

/// Syncs of a warp do not end a copy that passes a barrier.
#[test]
fn a_copy_over_a_barrier_passes_syncs_of_its_warp() {
    let one = |barrier: bool| {
        let mut k = Kernel::new("in a warp");
        let tile = k.shared("tile", 128);
        let t = k.tid();
        let few = k.ltc(t, 32);
        let other = k.binc(BinOp::Xor, t, 1);
        let written = k.when(few, |k| k.access(Op::Copy { writes: true, passes: 1 }, tile, t, 4));
        k.sync();
        k.warp_sync();
        if barrier {
            k.sync();
        }
        let read = k.when(few, |k| k.read(tile, other));
        (k, vec![written, read])
    };
    proved(one(true).0);
    let (k, sites) = one(false);
    open_where_the_oracle_finds_races(k, &sites, &[]);
}

/// A copy without a wait meets all that comes behind it, also behind barriers of the grid. It meets nothing that
/// comes before it, and nothing elsewhere.
#[test]
fn a_copy_without_a_wait_meets_only_what_comes_behind_it() {
    let one = |before: bool| {
        let mut k = Kernel::new("no wait");
        let (tile, data) = (k.shared("tile", 256), k.pointer("data"));
        let (t, at, last) = (k.tid(), k.gid(), k.c(63));
        let few = k.ltc(t, 64);
        let across = k.sub(last, t);
        let read = |k: &mut Kernel| k.when(few, |k| k.read(tile, across));
        let early = before.then(|| read(&mut k));
        k.sync();
        let no_wait = |writes| Op::Copy { writes, passes: Op::NO_WAIT };
        let written = k.when(few, |k| k.access(no_wait(true), tile, t, 4));
        for _ in 0..12 {
            k.sync();
        }
        k.stmt(Stmt::Sync(Sync::Grid));
        let late = (!before).then(|| read(&mut k));
        k.write(data, at);
        (k, [Some(written), early, late].into_iter().flatten().collect())
    };
    only_with(one);
    let (k, sites) = one(false);
    open_where_the_oracle_finds_races(k, &sites, &[]);
    let source = |before: bool| {
        let mut k = Kernel::new("no wait for a source");
        let (data, n) = (k.pointer("data"), k.scalar("n"));
        let (at, one) = (k.gid(), k.c(1));
        let next = k.add(at, one);
        let read = |k: &mut Kernel| k.access(Op::Copy { writes: false, passes: Op::NO_WAIT }, data, next, 4);
        let first = (!before).then(|| read(&mut k));
        let write = |k: &mut Kernel| {
            let inside = k.lt(at, n);
            k.when(inside, |k| k.write(data, at))
        };
        let written = write(&mut k);
        k.stmt(Stmt::Sync(Sync::Grid));
        let last = before.then(|| read(&mut k));
        (k, [first, Some(written), last].into_iter().flatten().collect())
    };
    only_with(source);
}
