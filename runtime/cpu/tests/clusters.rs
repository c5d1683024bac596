//! Clusters of blocks: they are resident together, reach each other's shared memory, and share a
//! barrier.

mod support;

use gpurace_abi::context::{ClusterRegister, ThreadCtx};
use gpurace_abi::scope::Order;
use gpurace_check::{RaceScope, Space};
use gpurace_cpu::{DivergenceReason, FaultKind, WaitKind};
use support::device::*;
use support::{END_OF_BLOCK, arg, executor, kernel};

const RELEASE: u32 = Order::Release as u32;

unsafe fn sync(ctx: *mut ThreadCtx, place: u32) {
    // SAFETY: the caller's thread runs.
    unsafe {
        __gpurace_cluster_arrive(ctx, RELEASE, place);
        __gpurace_cluster_wait(ctx, place);
    }
}

/// Each thread writes its number to its block's shared memory, and reads the number of the thread
/// with the same index in the next block of the cluster.
unsafe extern "C" fn ring(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes an output with an element per thread, how often to go
    // around, and whether to wait for the cluster; shared memory holds a word per thread.
    unsafe {
        let (out, rounds, waits) =
            (arg::<u32>(args, 0), arg::<u8>(args, 1).addr(), arg::<u8>(args, 2).addr());
        let (t, n) = ((*ctx).linear_tid, (*ctx).ntid[0]);
        let register = |which| __gpurace_cluster(ctx, which as u32);
        let (rank, ranks) = (register(ClusterRegister::Rank), register(ClusterRegister::Ranks));
        let own = (*ctx).shared_base.cast::<u32>().add(t as usize);
        let next = __gpurace_mapa(ctx, own.cast(), (rank + 1) % ranks).cast::<u32>();
        let index = (*ctx).ctaid[0] * n + t;
        let mut value = index;
        for _ in 0..rounds {
            __gpurace_write(ctx, own.cast(), 4, 0, value.into());
            own.write(value);
            if waits != 0 {
                sync(ctx, 0);
            }
            __gpurace_read(ctx, next.cast(), 4, 1);
            value = next.read();
            if waits != 0 {
                sync(ctx, 1);
            }
        }
        out.add(index as usize).write(value);
    }
}

fn ring_launch(out: &mut [u32], rounds: u64, waits: bool, blocks: u32, size: u32) -> support::Run {
    let threads = out.len() as u32 / blocks;
    kernel(ring, blocks, threads)
        .clusters(size)
        .shared(4 * threads)
        .buffer(out)
        .value(rounds)
        .value(waits.into())
}

#[test]
fn blocks_of_a_cluster_pass_values_around() {
    for (blocks, size, threads, rounds) in
        [(12u32, 4u32, 40u32, 3u32), (6, 1, 33, 2), (16, 16, 8, 5), (8, 2, 1, 1)]
    {
        for seed in [0, 1, 2] {
            let mut out = vec![0; (blocks * threads) as usize];
            ring_launch(&mut out, rounds.into(), true, blocks, size).seed(seed).ok();
            for (i, &got) in out.iter().enumerate() {
                let (block, t) = (i as u32 / threads, i as u32 % threads);
                let from = block - block % size + (block % size + rounds) % size;
                assert_eq!(got, from * threads + t, "{blocks} blocks of {size}, seed {seed}, thread {i}");
            }
        }
    }
}

#[test]
fn only_the_barrier_of_the_cluster_orders_its_blocks() {
    for workers in [1, 2] {
        let mut out = vec![0; 8 * 40];
        let (races, checks) = ring_launch(&mut out, 2, true, 8, 4).races(workers, None);
        assert_eq!((races, checks), (Vec::new(), 2 * 2 * 8 * 40));
        let (races, _) = ring_launch(&mut out, 1, false, 8, 4).races(workers, None);
        assert!(races.iter().all(|r| (r.scope, r.space) == (RaceScope::Cluster, Space::Shared)));
        // A block does not stay until another one has read its memory.
        let mut pairs: Vec<_> = races.iter().map(|r| [r.earlier.site, r.later.site]).collect();
        pairs.iter_mut().for_each(|pair| pair.sort_unstable());
        pairs.sort_unstable();
        assert_eq!(pairs, [[0, 1], [1, END_OF_BLOCK]]);
        // In a cluster of one block each thread reads its own number.
        assert_eq!(ring_launch(&mut out, 2, false, 8, 1).races(workers, None).0, Vec::new());
    }
}

/// Writes the special registers of clusters, 15 words for each block.
unsafe extern "C" fn registers(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes an output with 15 words per block.
    unsafe {
        let out = arg::<u32>(args, 0);
        let [x, y, z] = (*ctx).ctaid;
        let [nx, ny, _] = (*ctx).nctaid;
        let block = x + nx * (y + ny * z);
        for which in 0..15 {
            out.add((block * 15 + which) as usize).write(__gpurace_cluster(ctx, which));
        }
    }
}

#[test]
fn registers_say_where_a_block_is() {
    let (grid, size) = ([4u32, 6, 2], [2u32, 3, 1]);
    let mut out = vec![0u32; 48 * 15];
    let mut run = kernel(registers, 1, 1).buffer(&mut out);
    (run.shape.grid, run.shape.cluster) = (grid, Some(size));
    run.ok();
    for (block, got) in (0u32..).zip(out.chunks(15)) {
        let at = [block % 4, block / 4 % 6, block / 24];
        let id = [0, 1, 2].map(|i| at[i] / size[i]);
        let within = [0, 1, 2].map(|i| at[i] % size[i]);
        let mut want = Vec::new();
        want.extend(id);
        want.extend([2, 2, 2]);
        want.extend(within);
        want.extend(size);
        want.extend([within[0] + 2 * within[1], 6, 1]);
        assert_eq!(got, want, "block {block}");
    }
    // Without clusters each block is a cluster.
    let mut out = vec![0u32; 3 * 15];
    kernel(registers, 3, 1).buffer(&mut out).ok();
    assert_eq!(out[15..30], [1, 0, 0, 3, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0]);
}

/// Rank 1 waits at the block's barrier, the others at the cluster's.
unsafe extern "C" fn diverges(ctx: *mut ThreadCtx, _args: *const u8) {
    // SAFETY: the thread runs.
    unsafe {
        let rank = __gpurace_cluster(ctx, ClusterRegister::Rank as u32);
        if rank == 1 && (*ctx).linear_tid == 0 {
            __gpurace_barrier(ctx, 0, 0, 7);
        }
        sync(ctx, 8);
    }
}

#[test]
fn threads_that_do_not_come_are_reported() {
    for seed in [0, 3] {
        let report = kernel(diverges, 4, 34).clusters(2).seed(seed).on(&executor(1)).expect("a report");
        assert_eq!(report.divergences, 4);
        let waits: Vec<Vec<_>> = report
            .divergence
            .iter()
            .map(|d| d.waiting.iter().map(|w| (w.sync, w.kind, w.threads)).collect())
            .collect();
        assert!(report.divergence.iter().all(|d| d.reason == DivergenceReason::Stuck));
        let all = vec![(8, WaitKind::Cluster, 34)];
        let some = vec![(7, WaitKind::Barrier(0), 1), (8, WaitKind::Cluster, 33)];
        assert_eq!(waits, [all.clone(), some.clone(), all, some]);
    }
}

/// All but the first thread of each block end at once.
unsafe extern "C" fn most_end(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes a counter.
    unsafe {
        if (*ctx).linear_tid != 0 {
            return;
        }
        for _ in 0..3 {
            sync(ctx, 0);
        }
        let counter = arg::<u32>(args, 0);
        counter.write(counter.read() + 1);
    }
}

#[test]
fn threads_that_have_ended_are_not_waited_for() {
    let mut counter = [0u32];
    kernel(most_end, 6, 70).clusters(3).buffer(&mut counter).seed(5).on(&executor(1)).expect("launch");
    assert_eq!(counter, [6]);
}

/// Arrives twice (0), waits without having arrived (1), maps to a missing rank (2), or maps an
/// address outside shared memory (3).
unsafe extern "C" fn misuse(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes which.
    unsafe {
        match arg::<u8>(args, 0).addr() {
            0 => {
                __gpurace_cluster_arrive(ctx, RELEASE, 1);
                __gpurace_cluster_arrive(ctx, RELEASE, 2);
            }
            1 => __gpurace_cluster_wait(ctx, 2),
            2 => drop(__gpurace_mapa(ctx, (*ctx).shared_base.cast(), 2)),
            _ => drop(__gpurace_mapa(ctx, ctx.cast(), 1)),
        }
    }
}

#[test]
fn what_ptx_leaves_undefined_ends_the_launch() {
    let fault = |which| {
        kernel(misuse, 2, 2).clusters(2).shared(64).value(which).on(&executor(1)).expect_err("a fault")
    };
    let (twice, never) = (fault(0), fault(1));
    assert_eq!((twice.kind, twice.sync), (FaultKind::Barrier, Some(2)));
    assert_eq!((never.kind, never.sync), (FaultKind::Barrier, Some(2)));
    assert!(twice.message.contains("has not waited"), "{}", twice.message);
    assert!(never.message.contains("has not arrived"), "{}", never.message);
    assert_eq!(fault(2).message, "rank `2` of a block in a cluster of 2");
    assert!(fault(3).message.contains("not in shared memory"));
    let mut run = kernel(misuse, 3, 1).value(1);
    run.shape.cluster = Some([2, 1, 1]);
    assert_eq!(run.on(&executor(1)).expect_err("a fault").kind, FaultKind::InvalidConfiguration);
}
