//! The order in which threads and blocks run, and the launch's shape as they see it.

mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use gpurace_abi::context::ThreadCtx;
use support::device::*;
use support::{FULL, arg, kernel};

/// Each thread takes three tickets, with waits between them.
unsafe extern "C" fn tickets(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes next, out (a word per ticket).
    unsafe {
        let (next, out) = (AtomicU32::from_ptr(arg::<u32>(args, 0)), arg::<u32>(args, 1));
        let me = (*ctx).ctaid[0] * (*ctx).ntid[0] + (*ctx).linear_tid;
        for step in 0..3 {
            out.add(next.fetch_add(1, Ordering::Relaxed) as usize).write(me);
            match step {
                0 => __gpurace_syncwarp(ctx, FULL, 1),
                1 => __gpurace_nanosleep(ctx, 1),
                _ => {}
            }
        }
    }
}

fn order(seed: u64, workers: usize) -> Vec<u32> {
    let mut next = vec![0u32; 1];
    let mut out = vec![0u32; 3 * 20 * 96];
    kernel(tickets, 20, 96).buffer(&mut next).buffer(&mut out).seed(seed).ok_on(workers);
    out
}

#[test]
fn the_same_seed_gives_the_same_schedule() {
    let orders: Vec<_> = (1..6).map(|seed| order(seed, 3)).collect();
    for (i, o) in orders.iter().enumerate() {
        assert_eq!(&order(i as u64 + 1, 1), o, "seed {}", i + 1);
        assert!(orders[..i].iter().all(|p| p != o), "seed {} as an earlier one", i + 1);
        let mut all = o.clone();
        all.sort_unstable();
        assert!(all.chunks(3).zip(0..).all(|(c, t)| c == [t, t, t]), "seed {}", i + 1);
    }
}

#[test]
fn without_a_seed_one_worker_runs_in_order() {
    let o = order(0, 1);
    assert_eq!(o, order(0, 1));
    assert_eq!(o[..32], (0..32).collect::<Vec<u32>>());
    let firsts: Vec<u32> = o.iter().map(|t| t / 96).collect();
    assert!(firsts.is_sorted(), "blocks run in order");
}

#[test]
fn of_four_blocks_and_warps_each_comes_first_and_last() {
    let mut ends = [[[false; 4]; 4]; 2];
    for (seed, looped) in (1..=5).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut next = vec![0u32; 1];
        let mut out = vec![0u32; 4 * 128];
        let run = kernel(one_ticket, 4, 128).buffer(&mut next).buffer(&mut out).seed(seed);
        if looped { run.looped() } else { run }.ok_on(1);
        let (first, last) = (out[0] as usize, out[4 * 128 - 1] as usize);
        let ends = &mut ends[usize::from(looped)];
        for (seen, of) in ends.iter_mut().zip([first / 128, last / 128, first % 128 / 32, last % 128 / 32]) {
            seen[of] = true;
        }
    }
    assert_eq!(ends, [[[true; 4]; 4]; 2]);
}

/// Each thread takes one ticket.
unsafe extern "C" fn one_ticket(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes next, out (a word per thread).
    unsafe {
        let (next, out) = (AtomicU32::from_ptr(arg::<u32>(args, 0)), arg::<u32>(args, 1));
        let me = (*ctx).ctaid[0] * (*ctx).ntid[0] + (*ctx).linear_tid;
        out.add(next.fetch_add(1, Ordering::Relaxed) as usize).write(me);
    }
}

#[test]
fn a_trial_ends_when_it_has_made_its_steps() {
    for seed in [1, 2, 7] {
        for looped in [false, true] {
            let mut next = vec![0u32; 1];
            let mut out = vec![0u32; 20 * 96];
            let run = kernel(one_ticket, 20, 96).buffer(&mut next).buffer(&mut out).seed(seed);
            let mut run = if looped { run.looped() } else { run };
            run.trial = Some(200);
            let report = run.on(&support::executor(1)).expect("launch");
            assert!(report.unfinished && (200..300).contains(&report.steps), "{report:?}");
            assert!((200..300).contains(&next[0]), "{next:?}");
        }
    }
}

/// Writes the thread's special registers.
unsafe extern "C" fn identity(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out, 10 words per thread of the grid.
    unsafe {
        let c = &*ctx;
        let block = c.ctaid[0] + c.nctaid[0] * (c.ctaid[1] + c.nctaid[1] * c.ctaid[2]);
        let threads = c.ntid[0] * c.ntid[1] * c.ntid[2];
        let out = arg::<u32>(args, 0).add(10 * (block * threads + c.linear_tid) as usize);
        let words = [
            c.tid[0],
            c.tid[1],
            c.tid[2],
            c.ctaid[0],
            c.ctaid[1],
            c.ctaid[2],
            c.linear_tid,
            c.warp,
            c.lane,
            c.dynamic_shared_bytes,
        ];
        std::ptr::copy_nonoverlapping(words.as_ptr(), out, 10);
        assert_eq!(c.dynamic_shared.addr(), c.shared_base.addr() + 112);
        assert_eq!(__gpurace_is_shared(ctx, c.shared_base.add(112 + 39).cast()), 1);
        assert_eq!(__gpurace_is_shared(ctx, c.shared_base.add(112 + 40).cast()), 0);
        let mut local = 0u32;
        assert_eq!(__gpurace_is_local(ctx, (&raw mut local).cast()), 1);
        assert_eq!(__gpurace_is_local(ctx, out.cast()), 0);
        assert_eq!(__gpurace_is_local(ctx, c.shared_base.cast()), 0);
    }
}

#[test]
fn threads_know_who_they_are() {
    for seed in [0, 9] {
        for looped in [false, true] {
            let (grid, block) = ([3u32, 2, 2], [5u32, 7, 2]);
            let mut out = vec![0u32; 10 * 12 * 70];
            let mut run = kernel(identity, 1, 1).buffer(&mut out).shared(100).seed(seed);
            (run.shape.grid, run.shape.block, run.shape.dynamic_shared) = (grid, block, 40);
            if looped {
                run = run.looped();
            }
            run.ok();
            let mut got = out.chunks(10);
            for bz in 0..2 {
                for by in 0..2 {
                    for bx in 0..3 {
                        let mut linear = 0;
                        for z in 0..2 {
                            for y in 0..7 {
                                for x in 0..5 {
                                    let want = [x, y, z, bx, by, bz, linear, linear / 32, linear % 32, 40];
                                    assert_eq!(got.next(), Some(&want[..]));
                                    linear += 1;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Every third thread exits from within a call; the others add 1.
unsafe extern "C" fn some_exit(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out.
    unsafe {
        if (*ctx).linear_tid.is_multiple_of(3) {
            __gpurace_exit(ctx);
        }
        *arg::<u32>(args, 0).add((*ctx).linear_tid as usize) += 1;
    }
}

#[test]
fn exit_ends_one_thread_only() {
    for seed in [0, 4] {
        for looped in [false, true] {
            let mut out = vec![0u32; 100];
            let run = kernel(some_exit, 1, 100).buffer(&mut out).seed(seed);
            if looped { run.looped() } else { run }.ok_on(1);
            let want: Vec<u32> = (0..100).map(|t| u32::from(t % 3 != 0)).collect();
            assert_eq!(out, want);
        }
    }
}

/// Writes a mark to shared memory, and reports if one was there before.
unsafe extern "C" fn marks(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out; one word of shared memory.
    unsafe {
        let mark = (*ctx).shared_base.cast::<u32>();
        arg::<u32>(args, 0).add((*ctx).ctaid[0] as usize).write(mark.read());
        mark.write(7);
    }
}

#[test]
fn blocks_do_not_see_each_others_shared_memory() {
    let mut out = vec![1u32; 300];
    kernel(marks, 300, 1).shared(4).buffer(&mut out).ok();
    assert!(out.iter().all(|&m| m == 0));
}

/// `malloc`, `free`, and the clocks.
unsafe extern "C" fn services(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out; the heap is the C library's.
    unsafe {
        let begun = __gpurace_clock(ctx);
        let timer = __gpurace_globaltimer(ctx);
        let memory = __gpurace_malloc(ctx, 4096).cast::<u32>();
        memory.add(1023).write((*ctx).linear_tid);
        __gpurace_barrier(ctx, 0, 0, 1);
        let kept = memory.add(1023).read() == (*ctx).linear_tid;
        __gpurace_free(ctx, memory.cast());
        __gpurace_free(ctx, std::ptr::null_mut());
        let on = __gpurace_clock(ctx) > begun && __gpurace_globaltimer(ctx) > timer;
        arg::<u32>(args, 0).add((*ctx).linear_tid as usize).write(u32::from(kept && on));
    }
}

#[test]
fn services_serve() {
    let mut out = vec![0u32; 64];
    kernel(services, 1, 64).buffer(&mut out).ok();
    assert!(out.iter().all(|&m| m == 1));
}
