//! Warp collectives, called by device threads.

mod support;

use gpurace_abi::context::ThreadCtx;
use gpurace_cpu::{DivergenceReason, WaitKind};
use support::device::*;
use support::{FULL, Run, arg, executor, kernel};

/// The butterfly and the down-shift reduction of each warp.
unsafe extern "C" fn warp_sums(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes in, out (2 words per thread).
    unsafe {
        let (input, out) = (arg::<u32>(args, 0), arg::<u32>(args, 1));
        let t = ((*ctx).ctaid[0] * (*ctx).ntid[0] + (*ctx).linear_tid) as usize;
        let (mut bfly, mut down) = (input.add(t).read(), input.add(t).read());
        for delta in [16, 8, 4, 2, 1] {
            bfly = bfly.wrapping_add(__gpurace_shfl(ctx, 3, FULL, bfly, delta, 31, 1) as u32);
            down = down.wrapping_add(__gpurace_shfl(ctx, 2, FULL, down, delta, 31, 2) as u32);
        }
        out.add(2 * t).write(bfly);
        out.add(2 * t + 1).write(down);
    }
}

#[test]
fn shuffles_reduce_a_warp() {
    for seed in [0, 1, 2] {
        let n = 5 * 256;
        let mut input: Vec<u32> = (0..n).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
        let want: Vec<u32> =
            input.chunks(32).map(|w| w.iter().fold(0u32, |a, &b| a.wrapping_add(b))).collect();
        let mut out = vec![0u32; 2 * n as usize];
        kernel(warp_sums, 5, 256).buffer(&mut input).buffer(&mut out).seed(seed).ok();
        for (w, sum) in want.iter().enumerate() {
            assert!(out[64 * w..64 * w + 64].iter().step_by(2).all(|s| s == sum));
            assert_eq!(out[64 * w + 1], *sum);
        }
    }
}

/// One shuffle of the launch's mode and operands; the value is 1000 + lane.
unsafe extern "C" fn one_shuffle(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out, mode, b, c.
    unsafe {
        let out = arg::<u64>(args, 0);
        let [mode, b, c] = [1, 2, 3].map(|i| arg::<u8>(args, i) as u32);
        let lane = (*ctx).lane;
        out.add(lane as usize).write(__gpurace_shfl(ctx, mode, FULL, 1000 + lane, b, c, 1));
    }
}

/// The PTX ISA's pseudocode of `shfl.sync`, word by word, in wide integers.
fn isa_shuffle(lane: i64, mode: u32, b: i64, c: i64) -> (u32, bool) {
    let (bval, cval, mask) = (b & 0x1f, c & 0x1f, (c >> 8) & 0x1f);
    let max_lane = (lane & mask) | (cval & !mask & 0x1f);
    let min_lane = lane & mask;
    let (j, pval) = match mode {
        1 => (lane - bval, lane - bval >= max_lane),
        2 => (lane + bval, lane + bval <= max_lane),
        3 => (lane ^ bval, (lane ^ bval) <= max_lane),
        _ => {
            let j = min_lane | (bval & !mask & 0x1f);
            (j, j <= max_lane)
        }
    };
    if pval { (1000 + j as u32, true) } else { (1000 + lane as u32, false) }
}

#[test]
fn every_shuffle_agrees_with_the_isa() {
    let executor = executor(1);
    let mut out = vec![0u64; 32];
    for mode in 0..4 {
        for b in [0, 1, 2, 5, 16, 31, 33] {
            for c in [0, 0x1f, 0x0f, 0x1800, 0x181f, 0x1c03, 0x101f, 0x1f1f, 0x1e00, 0x0a15] {
                kernel(one_shuffle, 1, 32)
                    .buffer(&mut out)
                    .value(mode.into())
                    .value(b)
                    .value(c)
                    .on(&executor)
                    .expect("launch");
                for (lane, &got) in out.iter().enumerate() {
                    let want = isa_shuffle(lane as i64, mode, b as i64, c as i64);
                    assert_eq!(
                        (got as u32, got >> 32 == 1),
                        want,
                        "mode {mode}, b {b}, c {c:#x}, lane {lane}"
                    );
                }
            }
        }
    }
}

/// Votes, matches and reductions over the lanes that share `lane % parts`,
/// each part under its own mask, at its own pace.
unsafe extern "C" fn parts(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out (8 words of 8 bytes per lane), parts.
    unsafe {
        let (out, parts) = (arg::<u64>(args, 0), arg::<u8>(args, 1) as u32);
        let lane = (*ctx).lane;
        let part = lane % parts;
        let mask = (0..32).filter(|l| l % parts == part).fold(0u32, |m, l| m | 1 << l);
        // Parts do different numbers of collectives before the ones that count.
        for _ in 0..part {
            __gpurace_syncwarp(ctx, mask, 1);
            __gpurace_vote(ctx, 3, mask, 1, 2);
        }
        let pred = u32::from(lane.is_multiple_of(3));
        let value = u64::from(lane / 8) << 33;
        let out = out.add(8 * lane as usize);
        out.write(__gpurace_vote(ctx, 0, mask, pred, 3).into());
        out.add(1).write(__gpurace_vote(ctx, 1, mask, pred, 4).into());
        out.add(2).write(__gpurace_vote(ctx, 2, mask, pred, 5).into());
        out.add(3).write(__gpurace_vote(ctx, 3, mask, pred, 6).into());
        out.add(4).write(__gpurace_match(ctx, 0, mask, value, 64, 7));
        out.add(5).write(__gpurace_match(ctx, 1, mask, value, 64, 8));
        out.add(6).write(__gpurace_match(ctx, 1, mask, value, 32, 9));
        out.add(7).write(__gpurace_redux(ctx, 0, mask, lane, 10).into());
    }
}

#[test]
fn masks_run_apart_from_each_other() {
    for seed in [0, 3, 4] {
        for parts_of in [1u32, 2, 3, 5, 32] {
            let mut out = vec![0u64; 8 * 32];
            kernel(parts, 1, 32).buffer(&mut out).value(parts_of.into()).seed(seed).ok();
            for lane in 0..32u32 {
                let group: Vec<u32> = (0..32).filter(|l| l % parts_of == lane % parts_of).collect();
                let mask_of =
                    |f: &dyn Fn(u32) -> bool| group.iter().filter(|&&l| f(l)).fold(0u64, |m, &l| m | 1 << l);
                let all = mask_of(&|_| true);
                let ballot = mask_of(&|l| l % 3 == 0);
                let equal = mask_of(&|l| l / 8 == lane / 8);
                let want = [
                    u64::from(ballot == all),
                    u64::from(ballot != 0),
                    u64::from(ballot == 0 || ballot == all),
                    ballot,
                    equal,
                    if equal == all { all | 1 << 32 } else { 0 },
                    // The values differ in their high words only.
                    all | 1 << 32,
                    group.iter().map(|&l| u64::from(l)).sum(),
                ];
                let got = &out[8 * lane as usize..8 * lane as usize + 8];
                assert_eq!(got, want, "lane {lane} of {parts_of} parts, seed {seed}");
            }
        }
    }
}

/// Lanes of odd number exit; the others ballot under the full mask.
unsafe extern "C" fn exits_then_votes(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out.
    unsafe {
        let out = arg::<u32>(args, 0);
        let lane = (*ctx).lane;
        if lane % 2 == 1 {
            return;
        }
        __gpurace_syncwarp(ctx, FULL, 1);
        out.add(lane as usize).write(__gpurace_vote(ctx, 3, FULL, 1, 2));
    }
}

#[test]
fn exited_lanes_count_as_arrived() {
    for seed in [0, 1, 2] {
        let mut out = vec![0u32; 32];
        kernel(exits_then_votes, 1, 32).buffer(&mut out).seed(seed).ok();
        let want: Vec<u32> = (0..32).map(|lane| if lane % 2 == 0 { 0x5555_5555 } else { 0 }).collect();
        assert_eq!(out, want);
    }
}

/// Each lane of the lower half names only lanes of the upper half.
unsafe extern "C" fn outside(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out.
    unsafe {
        let out = arg::<u32>(args, 0);
        let lane = (*ctx).lane;
        let got = __gpurace_shfl(ctx, 0, 0xffff_0000, lane, 20, 31, 5) as u32;
        out.add(lane as usize).write(got);
    }
}

#[test]
fn a_mask_without_its_caller_is_reported() {
    let mut out = vec![0u32; 32];
    let report = kernel(outside, 1, 32).buffer(&mut out).on(&executor(1)).expect("launch");
    assert_eq!(report.divergences, 1);
    let d = &report.divergence[0];
    assert_eq!(d.reason, DivergenceReason::CallerNotInMask);
    assert_eq!(d.waiting[0].kind, WaitKind::Collective(0xffff_0000));
    assert_eq!(d.waiting[0].sync, 5);
    assert_eq!(out[31], 20);
    assert_eq!(out[3], 3);
}

/// A function with a frame pointer, as the pass makes those of code that asks for active lanes.
#[unsafe(naked)]
unsafe extern "C" fn helper(_ctx: *mut ThreadCtx) -> u32 {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "call {asks}",
        "pop rbp",
        "ret",
        asks = sym __gpurace_activemask,
    )
}

/// Lanes ask which are active in two branches, through one helper function.
unsafe extern "C" fn active(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out (2 words per lane).
    unsafe {
        let out = arg::<u32>(args, 0).add(2 * (*ctx).linear_tid as usize);
        let lane = (*ctx).lane;
        // Volatile accesses around the calls keep the compiler from merging them.
        let mask = if lane < 10 {
            let mask = helper(ctx);
            out.write_volatile(mask);
            mask
        } else {
            out.read_volatile();
            let mask = helper(ctx);
            out.write_volatile(mask);
            out.read_volatile()
        };
        out.write(mask);
        // A group of active lanes can use its mask.
        let leader = mask.trailing_zeros();
        out.add(1).write(__gpurace_shfl(ctx, 0, mask, lane, leader, 31, 1) as u32);
    }
}

#[test]
fn active_lanes_are_those_that_came_the_same_way() {
    for seed in [0, 1, 2, 3] {
        let mut out = vec![0u32; 2 * 64];
        kernel(active, 1, 64).buffer(&mut out).seed(seed).ok_on(1);
        for (t, got) in out.chunks(2).enumerate() {
            let lane = t % 32;
            let want = if lane < 10 { [0x3ff, 0] } else { [!0x3ff, 10] };
            assert_eq!(got, want, "thread {t}, seed {seed}");
        }
    }
}

/// Lane 0 waits for the warp, the others for the block.
unsafe extern "C" fn never_meets(ctx: *mut ThreadCtx, _args: *const u8) {
    // SAFETY: the thread runs.
    unsafe {
        if (*ctx).lane == 0 {
            __gpurace_vote(ctx, 0, FULL, 1, 1);
        } else {
            __gpurace_barrier(ctx, 0, 0, 2);
        }
    }
}

#[test]
fn a_collective_that_never_completes_is_reported() {
    let run: Run = kernel(never_meets, 1, 32);
    let report = run.on(&executor(1)).expect("launch");
    let kinds: Vec<_> = report.divergence[0].waiting.iter().map(|w| (w.kind, w.threads)).collect();
    assert_eq!(kinds, [(WaitKind::Collective(FULL), 1), (WaitKind::Barrier(0), 31)]);
}
