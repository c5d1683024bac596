//! What the executor reports to the checker: each kind of synchronisation makes its order, and no
//! more.

mod support;

use std::sync::atomic::{AtomicU32, Ordering, fence};

use gpurace_abi::context::ThreadCtx;
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use gpurace_check::SideOp;
use support::device::*;
use support::{FULL, Run, arg, kernel};

/// A checked write of a word: site 0.
unsafe fn store(ctx: *mut ThreadCtx, p: *mut u32, value: u32) {
    // SAFETY: the caller's word.
    unsafe {
        __gpurace_write(ctx, p.cast(), 4, 0, value.into());
        p.write_volatile(value);
    }
}

/// A checked read of a word: site 1.
unsafe fn load(ctx: *mut ThreadCtx, p: *mut u32) -> u32 {
    // SAFETY: the caller's word.
    unsafe {
        __gpurace_read(ctx, p.cast(), 4, 1);
        p.read_volatile()
    }
}

/// The synchronisation between the threads of [`neighbours`].
const NOTHING: u64 = 0;
const BARRIER: u64 = 1;
const WARP: u64 = 2;
const NAMED: u64 = 3;
const WARP_HALF: u64 = 4;
const SHUFFLE: u64 = 5;
const COUNTED: u64 = 6;
const REDUCED: u64 = 7;

/// Each thread writes its word of shared memory, synchronises, and reads the word that lies
/// `distance` further on. Threads from `live` on exit first.
unsafe extern "C" fn neighbours(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes how, distance, live; a word per thread.
    unsafe {
        let [how, distance, live] = [0, 1, 2].map(|i| arg::<u8>(args, i).addr());
        let t = (*ctx).linear_tid as usize;
        if t >= live {
            return;
        }
        let tile = (*ctx).shared_base.cast::<u32>();
        store(ctx, tile.add(t), t as u32);
        match how as u64 {
            BARRIER => __gpurace_barrier(ctx, 0, 0, 0),
            WARP => __gpurace_syncwarp(ctx, FULL, 0),
            WARP_HALF => {
                __gpurace_syncwarp(ctx, if t % 32 < 16 { 0xffff } else { 0xffff_0000 }, 0);
            }
            NAMED => __gpurace_barrier(ctx, 1 + (t / 64) as u32, 64, 0),
            COUNTED => __gpurace_barrier(ctx, 3, (*ctx).ntid[0], 0),
            REDUCED => {
                __gpurace_barrier_red(ctx, 0, 0, 1, 1, 0);
            }
            SHUFFLE => {
                __gpurace_shfl(ctx, 3, FULL, 1, 1, 31, 0);
            }
            _ => {}
        }
        load(ctx, tile.add((t + distance) % live));
    }
}

fn neighbours_race(how: u64, distance: u64, live: u64) -> bool {
    let run = |seed| {
        kernel(neighbours, 3, 128)
            .shared(4 * 128)
            .value(how)
            .value(distance)
            .value(live)
            .seed(seed)
            .features(|f| {
                f.barriers = true;
                f.warp_syncs = true;
                f.partial_masks = how == WARP_HALF;
                f.named_barriers = how == NAMED || how == COUNTED;
            })
            .races(2, None)
    };
    let verdicts = [0, 1, 2].map(|seed| {
        let (races, checks) = run(seed);
        assert_eq!(checks, 2 * 3 * live);
        !races.is_empty()
    });
    assert!(verdicts.iter().all(|&v| v == verdicts[0]), "verdicts depend on the seed");
    verdicts[0]
}

#[test]
fn synchronisation_orders_whom_it_should() {
    for (how, distance, races) in [
        (NOTHING, 0, false),
        (NOTHING, 1, true),
        (BARRIER, 1, false),
        (BARRIER, 77, false),
        (REDUCED, 77, false),
        (COUNTED, 77, false),
        // The last lane of a warp reads from the next warp.
        (WARP, 1, true),
        (SHUFFLE, 0, false),
        (SHUFFLE, 1, true),
        // The last thread of a part reads from the other part.
        (NAMED, 1, true),
        (WARP_HALF, 1, true),
    ] {
        assert_eq!(neighbours_race(how, distance, 128), races, "{how}, distance {distance}");
    }
    // One warp, and with 16 threads half of one: no neighbour is outside.
    assert!(!neighbours_race(WARP, 1, 32));
    assert!(neighbours_race(WARP, 1, 33));
    assert!(!neighbours_race(WARP_HALF, 1, 16));
    assert!(neighbours_race(WARP_HALF, 1, 17));
    assert!(!neighbours_race(NAMED, 1, 64));
    assert!(!neighbours_race(BARRIER, 1, 50), "threads that exited are not waited for");
}

/// Block 0 writes data and raises a flag; block 1 waits for it and reads.
/// With `fences` the flag is fenced on both sides.
unsafe extern "C" fn message(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes data, flag, fences.
    unsafe {
        let (data, flag) = (arg::<u32>(args, 0), arg::<u32>(args, 1));
        let fences = !arg::<u8>(args, 2).is_null();
        let (device, seq) = (Scope::Device as u32, Order::SeqCst as u32);
        let atomic = |kind: AtomicKind| {
            __gpurace_yield(ctx);
            (4, 2, kind as u32, device, Order::Relaxed as u32)
        };
        let order = |ctx| {
            if fences {
                fence(Ordering::SeqCst);
                __gpurace_fence(ctx, device, seq, 0);
            }
        };
        if (*ctx).ctaid[0] == 0 {
            store(ctx, data, 42);
            order(ctx);
            let (size, site, kind, scope, o) = atomic(AtomicKind::Store);
            __gpurace_atomic(ctx, flag.cast(), size, site, kind, scope, o);
            AtomicU32::from_ptr(flag).store(1, Ordering::Relaxed);
            __gpurace_atomic_done(ctx, flag.cast(), size, site, kind, scope, o);
        } else {
            loop {
                let (size, site, kind, scope, o) = atomic(AtomicKind::Load);
                __gpurace_atomic(ctx, flag.cast(), size, site, kind, scope, o);
                let seen = AtomicU32::from_ptr(flag).load(Ordering::Relaxed);
                __gpurace_atomic_done(ctx, flag.cast(), size, site, kind, scope, o);
                if seen == 1 {
                    break;
                }
            }
            order(ctx);
            load(ctx, data);
        }
    }
}

#[test]
fn messages_between_blocks_are_ordered_by_fences() {
    for fences in [0, 1] {
        for seed in [0, 1, 2, 3] {
            for workers in [1, 2] {
                let (mut data, mut flag) = (vec![0u32; 1], vec![0u32; 1]);
                let (races, _) = kernel(message, 2, 1)
                    .buffer(&mut data)
                    .buffer(&mut flag)
                    .value(fences)
                    .seed(seed)
                    .features(|f| f.fences = true)
                    .races(workers, None);
                assert_eq!(races.len(), usize::from(fences == 0), "seed {seed}: {races:?}");
                if let Some(race) = races.first() {
                    assert_eq!((race.earlier.op, race.earlier.site), (SideOp::Write, 0));
                    assert_eq!((race.later.op, race.later.site), (SideOp::Read, 1));
                    assert_eq!((race.earlier.block, race.later.block), (Some(0), Some(1)));
                }
            }
        }
    }
}

/// Accesses to a local variable. The stack frames of different threads have the same addresses.
unsafe extern "C" fn local(ctx: *mut ThreadCtx, _args: *const u8) {
    let mut word = 0u32;
    let word = std::hint::black_box(&raw mut word);
    // SAFETY: the thread's own word.
    unsafe {
        store(ctx, word, (*ctx).linear_tid);
        load(ctx, word);
        __gpurace_write_range(ctx, word.cast(), 4, 0);
        __gpurace_read_range(ctx, word.cast(), 4, 0);
    }
}

#[test]
fn local_memory_is_not_checked() {
    let runs: [fn() -> Run; 2] = [|| kernel(local, 2, 64), || kernel(local, 2, 64).looped()];
    for run in runs {
        let (races, checks) = run().races(2, None);
        assert_eq!((races.len(), checks), (0, 0));
    }
}

/// Every thread of every block writes the same word.
unsafe extern "C" fn all_write(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out.
    unsafe { store(ctx, arg::<u32>(args, 0), (*ctx).linear_tid) }
}

#[test]
fn only_the_chosen_blocks_are_checked() {
    for looped in [false, true] {
        let mut out = vec![0u32; 1];
        let run = kernel(all_write, 10, 1).buffer(&mut out);
        let run = if looped { run.looped() } else { run };
        let (races, checks) = run.races(1, Some(|b| b % 2 == 0));
        assert_eq!(checks, 5);
        assert_eq!(races.iter().map(|r| r.count).sum::<u64>(), 4, "{races:?}");
        let (races, checks) = run.races(1, Some(|b| b == 3));
        assert_eq!((races.len(), checks), (0, 1));
        let (races, checks) = run.races(3, None);
        assert_eq!((races.len(), checks), (1, 10));
    }
}

/// Threads allocate, write and free, one after another at the same address.
unsafe extern "C" fn heap(ctx: *mut ThreadCtx, _args: *const u8) {
    // SAFETY: the allocation's own words.
    unsafe {
        let p = __gpurace_malloc(ctx, 64).cast::<u32>();
        store(ctx, p, 1);
        __gpurace_free(ctx, p.cast());
    }
}

#[test]
fn memory_of_the_device_heap_is_new_when_allocated() {
    let (races, checks) = kernel(heap, 4, 64).races(1, None);
    assert_eq!((races.len(), checks), (0, 256), "{races:?}");
}
