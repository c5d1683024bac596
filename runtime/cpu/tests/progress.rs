//! Threads and blocks that wait for each other in loops.

mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use gpurace_abi::context::ThreadCtx;
use gpurace_cpu::FaultKind;
use support::device::*;
use support::{arg, executor, kernel};

/// An atomic word of a buffer, with a yield before each use, as in device code.
unsafe fn word<'a>(ctx: *mut ThreadCtx, p: *mut u32) -> &'a AtomicU32 {
    // SAFETY: the launch's buffers hold aligned words.
    unsafe {
        __gpurace_yield(ctx);
        AtomicU32::from_ptr(p)
    }
}

/// Every thread adds 1 under a lock that it spins on.
unsafe extern "C" fn spin_lock(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes lock, counter.
    unsafe {
        let (lock, counter) = (arg::<u32>(args, 0), arg::<u32>(args, 1));
        while word(ctx, lock).compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_err() {}
        let seen = counter.read_volatile();
        // Other threads get their turns while the lock is held.
        __gpurace_nanosleep(ctx, 10);
        counter.write_volatile(seen + 1);
        word(ctx, lock).store(0, Ordering::Release);
    }
}

#[test]
fn a_spin_lock_between_threads_and_blocks() {
    for seed in [0, 1] {
        let (mut lock, mut counter) = (vec![0u32; 1], vec![0u32; 1]);
        kernel(spin_lock, 6, 64).buffer(&mut lock).buffer(&mut counter).seed(seed).ok();
        assert_eq!(counter[0], 2 * 6 * 64, "seed {seed}");
    }
}

/// Decoupled look-back: each block waits for its predecessor's sum.
unsafe extern "C" fn look_back(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes flags, sums.
    unsafe {
        let (flags, sums) = (arg::<u32>(args, 0), arg::<u32>(args, 1));
        let b = (*ctx).ctaid[0] as usize;
        if (*ctx).linear_tid == 0 {
            let mut sum = b as u32;
            if b > 0 {
                while word(ctx, flags.add(b - 1)).load(Ordering::Acquire) == 0 {}
                sum += sums.add(b - 1).read();
            }
            sums.add(b).write(sum);
            word(ctx, flags.add(b)).store(1, Ordering::Release);
        }
        __gpurace_barrier(ctx, 0, 0, 1);
    }
}

#[test]
fn blocks_wait_for_their_predecessors() {
    for seed in [0, 1, 2] {
        for workers in [1, 3] {
            let (mut flags, mut sums) = (vec![0u32; 200], vec![0u32; 200]);
            kernel(look_back, 200, 96).buffer(&mut flags).buffer(&mut sums).seed(seed).ok_on(workers);
            for (b, &sum) in sums.iter().enumerate() {
                assert_eq!(sum as usize, b * (b + 1) / 2, "block {b}, seed {seed}");
            }
        }
    }
}

#[test]
fn launches_one_after_another_start_no_more_threads() {
    let executor = executor(2);
    for _ in 0..2000 {
        let (mut flags, mut sums) = (vec![0u32; 4], vec![0u32; 4]);
        kernel(look_back, 4, 128).buffer(&mut flags).buffer(&mut sums).on(&executor).expect("no fault");
    }
    assert_eq!(executor.threads(), 1);
}

/// A hand-made grid barrier, five times: a counter that all blocks increment, between two block
/// barriers. The wait counts its iterations.
unsafe extern "C" fn grid_barrier(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes counter, data, or uses the grid workspace.
    unsafe {
        let (counter, data) = (arg::<u32>(args, 0), arg::<u32>(args, 1));
        let counter = if counter.is_null() { (*ctx).grid_workspace.cast::<u32>().add(1) } else { counter };
        let (b, n) = ((*ctx).ctaid[0] as usize, (*ctx).nctaid[0]);
        let mut value = b as u32;
        let mut tries = 0u32;
        for round in 1..=5 {
            if (*ctx).linear_tid == 0 {
                data.add(b).write_volatile(value);
            }
            for _ in 0..2 {
                __gpurace_barrier(ctx, 0, 0, 1);
                if (*ctx).linear_tid == 0 {
                    let goal = word(ctx, counter).fetch_add(1, Ordering::AcqRel) / n * n + n;
                    while word(ctx, counter).load(Ordering::Acquire) < goal {
                        tries = std::hint::black_box(tries + 1);
                    }
                }
                __gpurace_barrier(ctx, 0, 0, 2);
                if value < 1_000_000 {
                    value = data.add((b + 1) % n as usize).read_volatile() + 1_000_000;
                }
            }
            value -= 1_000_000 - u32::from(round == 5);
        }
        data.add(b).write_volatile(value);
    }
}

fn check_grid_barrier(data: &[u32]) {
    let n = data.len() as u32;
    let want: Vec<u32> = (0..n).map(|b| (b + 5) % n + 1).collect();
    assert_eq!(data, want);
}

#[test]
fn a_grid_barrier_made_by_hand() {
    for seed in [0, 1] {
        for workers in [1, 2, 3] {
            let (mut counter, mut data) = (vec![0u32; 1], vec![0u32; 24]);
            kernel(grid_barrier, 24, 64).buffer(&mut counter).buffer(&mut data).seed(seed).ok_on(workers);
            check_grid_barrier(&data);
        }
    }
}

#[test]
fn a_cooperative_launch_has_a_workspace_and_all_its_blocks() {
    for seed in [0, 1] {
        for workers in [1, 2] {
            let mut data = vec![0u32; 40];
            kernel(grid_barrier, 40, 32)
                .pointer(std::ptr::null_mut::<u32>())
                .buffer(&mut data)
                .cooperative()
                .seed(seed)
                .ok_on(workers);
            check_grid_barrier(&data);
        }
    }
}

#[test]
fn a_cooperative_launch_that_is_too_large_is_refused() {
    let executor = executor(2);
    let max = executor.max_cooperative_blocks(1024, 0);
    assert!(max >= 2, "{max}");
    let mut data = vec![0u32; 1];
    let run = kernel(grid_barrier, max as u32 + 1, 1024)
        .pointer(std::ptr::null_mut::<u32>())
        .buffer(&mut data)
        .cooperative();
    let fault = run.on(&executor).expect_err("too large");
    assert_eq!(fault.kind, FaultKind::CooperativeLaunchTooLarge { max_blocks: max });
}

/// Every thread waits for a flag that nobody sets.
unsafe extern "C" fn endless(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes flag.
    unsafe { while word(ctx, arg::<u32>(args, 0)).load(Ordering::Acquire) == 0 {} }
}

#[test]
fn a_wait_without_end_is_ended() {
    for workers in [1, 2] {
        let mut flag = vec![0u32; 1];
        let run = kernel(endless, 4, 64).buffer(&mut flag);
        let executor = executor(workers);
        let fault = run.on(&executor).expect_err("endless wait");
        assert_eq!(fault.kind, FaultKind::EndlessWait);
        assert!(fault.message.contains("without progress"), "{fault}");
        assert!(fault.block.is_some() && fault.thread.is_some());
        // The executor goes on.
        flag[0] = 1;
        kernel(endless, 4, 64).buffer(&mut flag).on(&executor).expect("launch");
    }
}

/// Every thread waits for a flag that nobody sets. It gives way at two places in turn, as the loops of `cuda::barrier`
/// do.
unsafe extern "C" fn waits_at_two_places(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes flag.
    unsafe {
        let mut place = 0u64;
        while word(ctx, arg::<u32>(args, 0)).load(Ordering::Acquire) == 0 {
            place = std::hint::black_box(1 - place);
            __gpurace_nanosleep(ctx, 100);
        }
    }
}

#[test]
fn a_wait_that_gives_way_at_two_places_is_ended_too() {
    let executor = executor(2);
    let mut flag = vec![0u32; 1];
    let begun = std::time::Instant::now();
    let run = kernel(waits_at_two_places, 2, 64).buffer(&mut flag);
    let fault = run.on(&executor).expect_err("endless wait");
    assert_eq!(fault.kind, FaultKind::EndlessWait);
    // The executor's limit is 400 ms. A thread whose state stays new gets 60 of them.
    assert!(begun.elapsed().as_secs() < 12, "{:?}", begun.elapsed());
}

/// Counts to a number in a loop of atomics that is longer than the limit on waits.
unsafe extern "C" fn long_count(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes counter, microseconds.
    unsafe {
        let counter = arg::<u32>(args, 0);
        let begun = std::time::Instant::now();
        let mut local = 0u64;
        while begun.elapsed().as_micros() < arg::<u8>(args, 1).addr() as u128 {
            word(ctx, counter).fetch_add(1, Ordering::Relaxed);
            local = std::hint::black_box(local + 1);
        }
    }
}

#[test]
fn long_work_is_no_endless_wait() {
    let mut counter = vec![0u32; 1];
    // The executor's limit is 400 ms.
    kernel(long_count, 1, 4).buffer(&mut counter).value(900_000).ok_on(1);
    assert!(counter[0] > 0);
}

/// Gives way often, each time with other private state, and then adds 1.
unsafe extern "C" fn many_turns(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes counter.
    unsafe {
        let mut local = 0u64;
        for _ in 0..3000 {
            __gpurace_nanosleep(ctx, 10);
            local = std::hint::black_box(local + 1);
        }
        word(ctx, arg::<u32>(args, 0)).fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_block_for_which_no_memory_is_left_runs_once_another_has_ended() {
    let executor = executor(1);
    // The stacks of one block take half of the addresses that a process has.
    executor.set_stack_bytes(1 << 40);
    let mut counter = vec![0u32; 1];
    kernel(many_turns, 3, 64).buffer(&mut counter).on(&executor).expect("no fault");
    assert_eq!(counter[0], 3 * 64);
}

/// Lane 0 of each warp waits for the flag of a later warp, while the other lanes of its warp wait
/// for lane 0.
unsafe extern "C" fn warps_wait(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes flags.
    unsafe {
        let flags = arg::<u32>(args, 0);
        let w = (*ctx).warp as usize;
        let last = (*ctx).ntid[0] as usize / 32 - 1;
        if (*ctx).lane == 0 {
            if w < last {
                while word(ctx, flags.add(w + 1)).load(Ordering::Acquire) == 0 {}
            }
            word(ctx, flags.add(w)).store(1 + w as u32, Ordering::Release);
        }
        __gpurace_syncwarp(ctx, u32::MAX, 1);
    }
}

#[test]
fn a_warp_waits_for_a_later_warp() {
    for seed in [0, 1] {
        let mut flags = vec![0u32; 32];
        kernel(warps_wait, 1, 1024).buffer(&mut flags).seed(seed).ok_on(1);
        assert!(flags.iter().enumerate().all(|(w, &f)| f as usize == w + 1));
    }
}
