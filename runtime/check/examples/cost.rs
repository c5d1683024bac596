//! What a check costs: `cargo run --release -p gpurace-check --example cost`.
//! Prints the least and the median of several rounds, in nanoseconds per check.

use std::hint::black_box;
use std::time::Instant;

use gpurace_check::{AtomicKind, Block, Checker, KernelKey, LaunchInfo, Order, Scope, SyncFeatures};

const WORD: usize = 0x10_0000_0000;
const WORDS: usize = 1 << 16;
const SHARED: usize = 0x20_0000_0000;
const THREADS: u32 = 256;

fn time(name: &str, features: SyncFeatures, mut round: impl FnMut(&mut Block) -> usize) {
    let checker = Checker::new();
    let mut ns = Vec::new();
    for id in 1..=21 {
        let l = checker.begin_launch(
            LaunchInfo { features, settled: id - 1, ..LaunchInfo::new(id, KernelKey(0), 1, THREADS) },
            &[],
        );
        let mut block = Block::begin(&l, 0, SHARED..SHARED + (1 << 20));
        let start = Instant::now();
        let checks = round(black_box(&mut block));
        ns.push(start.elapsed().as_nanos() as f64 / checks as f64);
        block.end();
        checker.end_launch(&l);
    }
    ns.sort_by(f64::total_cmp);
    println!("{name:44} {:7.1} {:7.1} ns", ns[0], ns[ns.len() / 2]);
}

fn main() {
    let regular = SyncFeatures { barriers: true, warp_syncs: true, ..Default::default() };
    let fences = SyncFeatures { fences: true, ..regular };
    let each = |f: &mut dyn FnMut(u32, usize)| {
        for i in 0..WORDS {
            f(i as u32 % THREADS, i);
        }
    };
    for (name, at) in [("global", WORD), ("shared", SHARED)] {
        time(&format!("write, word of an earlier launch, {name}"), regular, |b| {
            each(&mut |t, i| b.write(t, at + 4 * i, 4, 0, None));
            WORDS
        });
    }
    time("read, same thread again", regular, |b| {
        for i in 0..64 {
            b.write(i, WORD + 4 * i as usize, 4, 0, None);
        }
        for _ in 0..WORDS / 64 {
            for i in 0..64 {
                b.read(i, WORD + 4 * i as usize, 4, 1);
            }
        }
        WORDS + 64
    });
    time("read of one word by all threads, shared", regular, |b| {
        each(&mut |t, i| b.read(t, SHARED + 4 * (i / 1024), 4, 0));
        WORDS
    });
    time("atomic on one word by all threads", regular, |b| {
        each(&mut |t, i| {
            let (kind, scope, order) = (AtomicKind::Rmw, Scope::Device, Order::Relaxed);
            b.atomic(t, WORD + 4 * (i / 1024), 4, 0, kind, scope, order);
            b.atomic_done(t, WORD + 4 * (i / 1024), 4, 0, kind, scope, order);
        });
        WORDS
    });
    time("stencil: 3 reads by 3 threads (chain)", regular, |b| {
        each(&mut |t, i| {
            for s in 0..3 {
                b.read(t, WORD + 4 * (i + s as usize), 4, s);
            }
        });
        3 * WORDS
    });
    time("write of bytes by 4 threads (chain)", regular, |b| {
        each(&mut |t, i| b.write(t, WORD + i, 1, 0, None));
        WORDS
    });
    time("write, warp sync, read, warp sync (chain)", regular, |b| {
        for _ in 0..WORDS / 64 {
            for t in 0..32 {
                b.write(t, SHARED + 4 * t as usize, 4, 0, None);
            }
            b.syncwarp(0, !0);
            for t in 0..32 {
                b.read(t, SHARED + 4 * (31 - t) as usize, 4, 1);
            }
            b.syncwarp(0, !0);
        }
        WORDS
    });
    time("write, barrier, read, barrier, shared", regular, |b| {
        for _ in 0..WORDS / 512 {
            for t in 0..256 {
                b.write(t, SHARED + 4 * t as usize, 4, 0, None);
            }
            b.barrier();
            for t in 0..256 {
                b.read(t, SHARED + 4 * (255 - t) as usize, 4, 1);
            }
            b.barrier();
        }
        WORDS
    });
    time("exact: write, word of an earlier launch", fences, |b| {
        each(&mut |t, i| b.write(t, WORD + 4 * i, 4, 0, None));
        WORDS
    });
    time("exact: read of one word by all (chain)", fences, |b| {
        each(&mut |t, i| b.read(t, WORD + 4 * (i / 1024), 4, 0));
        WORDS
    });
    time("exact: fence, atomic, fence", fences, |b| {
        each(&mut |t, _| {
            let (kind, scope, order) = (AtomicKind::Rmw, Scope::Device, Order::Relaxed);
            b.fence(t, scope, Order::SeqCst);
            b.atomic(t, WORD, 4, 0, kind, scope, order);
            b.atomic_done(t, WORD, 4, 0, kind, scope, order);
            b.fence(t, scope, Order::SeqCst);
        });
        WORDS
    });
    time("a race, seen again", regular, |b| {
        each(&mut |t, _| b.write(t, WORD, 4, 0, None));
        WORDS
    });
}
