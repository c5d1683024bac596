//! Block barriers in all their forms.

mod support;

use gpurace_abi::context::ThreadCtx;
use gpurace_cpu::{DivergenceReason, WaitKind};
use support::device::*;
use support::{FULL, arg, executor, kernel};

/// Tree reduction in shared memory: out[block] = sum of the block's inputs.
unsafe extern "C" fn tree_reduce(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes in, out; shared memory holds a word per thread.
    unsafe {
        let (input, out) = (arg::<u32>(args, 0), arg::<u32>(args, 1));
        let (t, n, b) = ((*ctx).tid[0] as usize, (*ctx).ntid[0] as usize, (*ctx).ctaid[0] as usize);
        let tile = (*ctx).shared_base.cast::<u32>();
        tile.add(t).write(input.add(b * n + t).read());
        __gpurace_barrier(ctx, 0, 0, 1);
        let mut half = n / 2;
        while half > 0 {
            if t < half {
                let sum = tile.add(t).read() + tile.add(t + half).read();
                tile.add(t).write(sum);
            }
            __gpurace_barrier(ctx, 0, 0, 2);
            half /= 2;
        }
        if t == 0 {
            out.add(b).write(tile.read());
        }
    }
}

#[test]
fn a_tree_reduction_sums_each_block() {
    for seed in [0, 1, 2] {
        for threads in [32u32, 64, 256, 1024] {
            let blocks = 9;
            let mut input: Vec<u32> = (0..blocks * threads).map(|i| i * 7 + 3).collect();
            let want: Vec<u32> = input.chunks(threads as usize).map(|c| c.iter().sum()).collect();
            let mut out = vec![0u32; blocks as usize];
            kernel(tree_reduce, blocks, threads)
                .shared(4 * threads)
                .buffer(&mut input)
                .buffer(&mut out)
                .seed(seed)
                .ok();
            assert_eq!(out, want, "seed {seed}, {threads} threads");
        }
    }
}

/// Threads from `keep` on exit before the barrier.
unsafe extern "C" fn early_exit(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out, keep.
    unsafe {
        let (out, keep) = (arg::<u32>(args, 0), arg::<u8>(args, 1) as u32);
        let t = (*ctx).linear_tid;
        let tile = (*ctx).shared_base.cast::<u32>();
        tile.add(t as usize).write(t + 1);
        if t >= keep {
            if t.is_multiple_of(2) {
                return;
            }
            __gpurace_exit(ctx);
        }
        __gpurace_barrier(ctx, 0, 0, 1);
        out.add(t as usize).write(tile.add(((t + 1) % keep) as usize).read());
        __gpurace_barrier(ctx, 0, 0, 2);
    }
}

#[test]
fn threads_that_exited_do_not_count() {
    for seed in [0, 5] {
        for keep in [1u32, 31, 32, 33, 64, 95, 96] {
            let mut out = vec![0u32; 96];
            kernel(early_exit, 1, 96).shared(4 * 96).buffer(&mut out).value(keep.into()).seed(seed).ok();
            for t in 0..96 {
                let want = if t < keep { (t + 1) % keep + 1 } else { 0 };
                assert_eq!(out[t as usize], want, "thread {t} of {keep}");
            }
        }
    }
}

/// `__syncthreads_count/and/or` of `tid % divisor == 0`.
unsafe extern "C" fn barrier_red(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out (3 words per thread), divisor.
    unsafe {
        let (out, divisor) = (arg::<u32>(args, 0), arg::<u8>(args, 1) as u32);
        let t = (*ctx).linear_tid;
        for op in 0..3 {
            let pred = u32::from(t.is_multiple_of(divisor));
            let r = __gpurace_barrier_red(ctx, 0, 0, op, pred, op);
            out.add((t * 3 + op) as usize).write(r);
        }
    }
}

#[test]
fn barriers_reduce_predicates() {
    for divisor in [1u32, 2, 3, 1000] {
        let n = 80u32;
        let mut out = vec![9u32; 3 * n as usize];
        kernel(barrier_red, 1, n).buffer(&mut out).value(divisor.into()).ok();
        let count = (0..n).filter(|t| t % divisor == 0).count() as u32;
        let want = [count, u32::from(count == n), u32::from(count > 0)];
        assert!(out.chunks(3).all(|c| c == want), "divisor {divisor}");
    }
}

/// Warp 0 produces 50 values one by one, warp 1 consumes them: two named
/// barriers, `bar.sync` on one side and `bar.arrive` on the other.
unsafe extern "C" fn producer_consumer(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out (50 words).
    unsafe {
        let out = arg::<u32>(args, 0);
        let lane = (*ctx).lane;
        let (full, empty) = (1, 2);
        let tile = (*ctx).shared_base.cast::<u32>();
        for i in 0..50 {
            if (*ctx).warp == 0 {
                __gpurace_barrier(ctx, empty, 64, 1);
                tile.add(lane as usize).write(i * 100 + lane);
                __gpurace_barrier_arrive(ctx, full, 64, 2);
            } else {
                __gpurace_barrier_arrive(ctx, empty, 64, 3);
                __gpurace_barrier(ctx, full, 64, 4);
                let seen = tile.add((31 - lane) as usize).read();
                if lane == 0 {
                    out.add(i as usize).write(seen);
                }
            }
        }
    }
}

#[test]
fn named_barriers_hand_over() {
    for seed in [0, 1, 2, 3] {
        let mut out = vec![0u32; 50];
        kernel(producer_consumer, 1, 64).shared(128).buffer(&mut out).seed(seed).ok();
        let want: Vec<u32> = (0..50).map(|i| i * 100 + 31).collect();
        assert_eq!(out, want, "seed {seed}");
    }
}

/// Two halves of a block sync apart from each other, then together.
unsafe extern "C" fn halves(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out.
    unsafe {
        let out = arg::<u32>(args, 0);
        let t = (*ctx).linear_tid as usize;
        let half = t / 64;
        let tile = (*ctx).shared_base.cast::<u32>();
        let mut value = t as u32;
        for _ in 0..(half + 1) * 5 {
            tile.add(t).write(value);
            __gpurace_barrier(ctx, 1 + half as u32, 64, 1);
            value = tile.add(half * 64 + (t + 1) % 64).read();
            __gpurace_barrier(ctx, 1 + half as u32, 64, 2);
        }
        tile.add(t).write(value);
        __gpurace_barrier(ctx, 0, 0, 3);
        out.add(t).write(tile.add(127 - t).read());
    }
}

#[test]
fn parts_of_a_block_sync_apart() {
    for seed in [0, 1, 2] {
        let mut out = vec![0u32; 128];
        kernel(halves, 1, 128).shared(512).buffer(&mut out).seed(seed).ok();
        for (t, &got) in out.iter().enumerate() {
            let from = 127 - t;
            let (half, place) = (from / 64, from % 64);
            let want = half * 64 + (place + (half + 1) * 5) % 64;
            assert_eq!(got, want as u32, "thread {t}");
        }
    }
}

/// Thread 3 syncs with its warp instead of the block.
unsafe extern "C" fn diverged(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out.
    unsafe {
        let out = arg::<u32>(args, 0);
        if (*ctx).linear_tid >= 40 {
            return;
        }
        if (*ctx).ctaid[0] == 1 && (*ctx).linear_tid == 3 {
            __gpurace_syncwarp(ctx, FULL, 8);
        } else {
            __gpurace_barrier(ctx, 0, 0, 7);
        }
        out.add((*ctx).ctaid[0] as usize).write(1);
    }
}

#[test]
fn divergence_is_reported_and_the_other_blocks_run() {
    for workers in [1, 3] {
        let mut out = vec![0u32; 3];
        let run = kernel(diverged, 3, 64).buffer(&mut out);
        let report = run.on(&executor(workers)).expect("launch");
        assert_eq!(out, [1, 0, 1]);
        assert_eq!(report.divergences, 1);
        let d = &report.divergence[0];
        assert_eq!((d.reason, d.block), (DivergenceReason::Stuck, [1, 0, 0]));
        assert_eq!((d.exited, d.exited_example), (24, Some([40, 0, 0])));
        let at: Vec<_> = d.waiting.iter().map(|w| (w.sync, w.kind, w.threads, w.example[0])).collect();
        assert_eq!(at, [(7, WaitKind::Barrier(0), 39, 0), (8, WaitKind::SyncWarp(FULL), 1, 3)]);
    }
}
