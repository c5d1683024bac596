//! Measures the executor's own costs: the time of an empty launch, of a barrier, of a warp
//! collective, and of a thread.
//!
//! `cargo run --release -p gpurace-cpu --example overhead`

use std::time::Instant;

use gpurace_abi::LaunchShape;
use gpurace_abi::context::ThreadCtx;
use gpurace_abi::image::KernelFn;
use gpurace_abi::meta::{KernelMeta, SyncFeatures};
use gpurace_cpu::{Config, Executor, KernelLaunch};

unsafe extern "C" {
    fn __gpurace_barrier(ctx: *mut ThreadCtx, id: u32, threads: u32, sync: u32);
    fn __gpurace_syncwarp(ctx: *mut ThreadCtx, mask: u32, sync: u32);
    fn __gpurace_shfl(
        ctx: *mut ThreadCtx,
        mode: u32,
        mask: u32,
        value: u32,
        b: u32,
        c: u32,
        sync: u32,
    ) -> u64;
    fn __gpurace_yield(ctx: *mut ThreadCtx);
}

const REPEATS: u32 = 1000;

unsafe extern "C" fn empty(_ctx: *mut ThreadCtx, _args: *const u8) {}

unsafe extern "C" fn barriers(ctx: *mut ThreadCtx, _args: *const u8) {
    for _ in 0..REPEATS {
        // SAFETY: the thread runs.
        unsafe { __gpurace_barrier(ctx, 0, 0, 0) };
    }
}

unsafe extern "C" fn warp_syncs(ctx: *mut ThreadCtx, _args: *const u8) {
    for _ in 0..REPEATS {
        // SAFETY: the thread runs.
        unsafe { __gpurace_syncwarp(ctx, u32::MAX, 0) };
    }
}

unsafe extern "C" fn shuffles(ctx: *mut ThreadCtx, _args: *const u8) {
    let mut value = 1;
    for _ in 0..REPEATS {
        // SAFETY: the thread runs.
        value = unsafe { __gpurace_shfl(ctx, 3, u32::MAX, value, 1, 31, 0) as u32 };
    }
    std::hint::black_box(value);
}

unsafe extern "C" fn yields(ctx: *mut ThreadCtx, _args: *const u8) {
    for _ in 0..REPEATS {
        // SAFETY: the thread runs.
        unsafe { __gpurace_yield(ctx) };
    }
}

/// Median time of one launch, in nanoseconds.
fn time(executor: &Executor, entry: KernelFn, suspends: bool, blocks: u32, threads: u32) -> f64 {
    let kernel = KernelMeta {
        name: "kernel".into(),
        sync: SyncFeatures { suspends, ..SyncFeatures::default() },
        ..KernelMeta::default()
    };
    let launch = KernelLaunch {
        entry,
        block_entry: None,
        kernel: &kernel,
        shape: LaunchShape::flat(blocks, threads),
        args: &[],
        cooperative: false,
        id: 1,
        checks: None,
        checked_blocks: None,
        seed: 0,
        seed_orders_blocks: false,
        trial: None,
    };
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let begun = Instant::now();
            executor.run(&launch).expect("launch");
            begun.elapsed().as_nanos() as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let one = Executor::new(Config { workers: 1, ..Config::default() });
    println!("empty launch of 1 thread: {:.2} us", time(&one, empty, false, 1, 1) / 1e3);
    println!("empty launch of 1 thread, as coroutine: {:.2} us", time(&one, empty, true, 1, 1) / 1e3);
    println!("empty launch of 32 threads: {:.2} us", time(&one, empty, true, 1, 32) / 1e3);
    println!("empty launch of 4 blocks of 64: {:.2} us", time(&one, empty, true, 4, 64) / 1e3);
    let many = 1 << 20;
    println!("a thread in a loop: {:.2} ns", time(&one, empty, false, many / 256, 256) / f64::from(many));
    println!(
        "a thread as coroutine: {:.1} ns",
        time(&one, empty, true, many / 256 / 8, 256) / f64::from(many / 8)
    );
    let per_call =
        |entry, threads: u32| time(&one, entry, true, 1, threads) / f64::from(threads) / f64::from(REPEATS);
    for threads in [32, 256, 1024] {
        println!(
            "{threads} threads, ns per thread: barrier {:.1}, syncwarp {:.1}, shuffle {:.1}, yield {:.1}",
            per_call(barriers, threads),
            per_call(warp_syncs, threads),
            per_call(shuffles, threads),
            per_call(yields, threads),
        );
    }
    let all = Executor::new(Config::default());
    println!(
        "{} workers, 64 blocks of 256: barrier {:.1} ns per thread",
        all.workers(),
        time(&all, barriers, true, 64, 256) / (64.0 * 256.0) / f64::from(REPEATS)
    );
    println!(
        "{} workers, empty launch of 8 blocks of 64: {:.1} us",
        all.workers(),
        time(&all, empty, true, 8, 64) / 1e3
    );
}
