//! Asynchronous copies that their thread waits for before it syncs.

use super::*;

const COPIED: Op = Op::Copy { writes: true };
const SOURCE: Op = Op::Copy { writes: false };

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
