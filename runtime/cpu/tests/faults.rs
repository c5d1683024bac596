//! Faults end the launch with a description, not the process.

mod support;

use gpurace_abi::context::ThreadCtx;
use gpurace_cpu::{Executor, Fault, FaultKind};
use support::device::*;
use support::{Run, arg, executor, kernel};

/// A kernel without fault, to show that the executor still works.
unsafe extern "C" fn fill(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes out, a word per thread of the grid.
    unsafe {
        let i = (*ctx).ctaid[0] * (*ctx).ntid[0] + (*ctx).tid[0];
        arg::<u32>(args, 0).add(i as usize).write(i + 1);
    }
}

fn still_works(executor: &Executor) {
    let mut out = vec![0u32; 1000];
    for run in [kernel(fill, 10, 100), kernel(fill, 10, 100).looped()] {
        out.fill(0);
        run.buffer(&mut out).on(executor).expect("launch");
        assert!(out.iter().enumerate().all(|(i, &v)| v == i as u32 + 1));
    }
}

/// The fault of a run with fibers and as a loop, on one worker and on three. Each time the executor
/// still works afterwards.
fn faults(run: impl Fn() -> Run, check: impl Fn(&Fault)) {
    for workers in [1, 3] {
        let executor = executor(workers);
        for _ in 0..2 {
            check(&run().on(&executor).expect_err("fault"));
            still_works(&executor);
            check(&run().looped().on(&executor).expect_err("fault"));
            still_works(&executor);
        }
    }
}

/// Thread 5 of block 2 writes to the address in its argument.
unsafe extern "C" fn wild_write(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the test wants an address that is not mapped.
    unsafe {
        if (*ctx).ctaid[0] == 2 && (*ctx).tid[0] == 5 {
            arg::<u32>(args, 0).write_volatile(1);
        }
    }
}

#[test]
fn a_wild_write_is_an_illegal_address() {
    faults(
        || kernel(wild_write, 4, 64).pointer(0x1234_5000 as *mut u32),
        |fault| {
            let kind = FaultKind::IllegalAddress { address: Some(0x1234_5000), write: true };
            assert_eq!(fault.kind, kind);
            assert_eq!((fault.block, fault.thread), (Some([2, 0, 0]), Some([5, 0, 0])));
            assert_eq!(
                fault.to_string(),
                "illegal write of address 0x12345000 in kernel `kernel`, block (2,0,0), thread (5,0,0)"
            );
        },
    );
}

#[test]
fn a_non_canonical_address_has_no_name() {
    faults(
        || kernel(wild_write, 4, 64).pointer(0xdead_0000_0000_0000_usize as *mut u32),
        |fault| {
            assert!(matches!(fault.kind, FaultKind::IllegalAddress { address: None, .. }), "{fault:?}");
        },
    );
}

#[inline(never)]
fn recurse(n: u64) -> u64 {
    let frame = std::hint::black_box([n; 32]);
    if n == 0 { 0 } else { recurse(n - 1) + frame[(n % 32) as usize] }
}

unsafe extern "C" fn deep(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the launch passes a depth.
    unsafe {
        if (*ctx).tid[0] == 7 {
            std::hint::black_box(recurse(arg::<u8>(args, 0) as u64));
        }
    }
}

#[test]
fn endless_recursion_is_a_stack_overflow() {
    faults(
        || kernel(deep, 2, 64).value(1 << 40),
        |fault| {
            assert_eq!(fault.kind, FaultKind::StackOverflow, "{fault:?}");
            assert_eq!(fault.thread, Some([7, 0, 0]));
        },
    );
}

#[test]
fn a_kernel_that_says_so_has_a_larger_stack() {
    let executor = executor(1);
    let run = || kernel(deep, 1, 64).value(2000);
    assert_eq!(run().on(&executor).expect_err("overflow").kind, FaultKind::StackOverflow);
    let mut large = run();
    large.meta.stack = 2 << 20;
    large.on(&executor).expect("launch");
    executor.set_stack_bytes(2 << 20);
    run().on(&executor).expect("launch");
}

unsafe extern "C" fn traps(ctx: *mut ThreadCtx, _args: *const u8) {
    // SAFETY: the thread runs.
    unsafe {
        if (*ctx).linear_tid == 33 {
            __gpurace_trap(ctx, 4);
        }
    }
}

#[test]
fn trap_ends_the_launch() {
    faults(
        || kernel(traps, 1, 64),
        |fault| {
            assert_eq!(fault.kind, FaultKind::Trap);
            assert_eq!((fault.thread, fault.sync), (Some([33, 0, 0]), Some(4)));
        },
    );
}

unsafe extern "C" fn unsupported(ctx: *mut ThreadCtx, _args: *const u8) {
    // SAFETY: the thread runs.
    unsafe { __gpurace_unsupported(ctx, c"wgmma.mma_async".as_ptr().cast_mut().cast(), 1) }
}

#[test]
fn what_is_unsupported_is_named() {
    faults(
        || kernel(unsupported, 1, 32),
        |fault| {
            assert_eq!(fault.kind, FaultKind::Unsupported("wgmma.mma_async".into()));
            assert_eq!(fault.message, "`wgmma.mma_async` is not supported on the CPU");
        },
    );
}

unsafe extern "C" fn asserts(ctx: *mut ThreadCtx, _args: *const u8) {
    // SAFETY: the thread runs; C strings.
    unsafe {
        if (*ctx).linear_tid == 3 {
            let text = |s: &std::ffi::CStr| s.as_ptr().cast_mut().cast();
            __gpurace_assertfail(ctx, text(c"a == b"), text(c"k.cu"), 12, text(c"void k(int)"));
        }
    }
}

#[test]
fn a_failed_assertion_ends_the_launch() {
    faults(
        || kernel(asserts, 1, 32),
        |fault| {
            assert_eq!(fault.kind, FaultKind::Assert);
            assert_eq!(fault.message, "assertion `a == b` failed");
            assert_eq!(fault.thread, Some([3, 0, 0]));
        },
    );
}

/// Warp 0 faults while the other threads wait at a barrier.
unsafe extern "C" fn faults_amid_waits(ctx: *mut ThreadCtx, args: *const u8) {
    // SAFETY: the test wants an address that is not mapped.
    unsafe {
        if (*ctx).linear_tid == 70 {
            arg::<u32>(args, 0).write_volatile(1);
        }
        __gpurace_barrier(ctx, 0, 0, 1);
    }
}

#[test]
fn waiting_threads_are_abandoned_with_the_launch() {
    let executor = executor(3);
    for _ in 0..20 {
        let run = kernel(faults_amid_waits, 8, 128).pointer(8 as *mut u32);
        let fault = run.on(&executor).expect_err("fault");
        assert_eq!(fault.kind, FaultKind::IllegalAddress { address: Some(8), write: true });
    }
    still_works(&executor);
}

#[test]
fn sizes_that_cuda_does_not_allow_are_refused() {
    let executor = executor(1);
    let refused = |run: Run| run.on(&executor).expect_err("refused").kind;
    assert_eq!(refused(kernel(fill, 0, 32)), FaultKind::InvalidConfiguration);
    assert_eq!(refused(kernel(fill, 1, 0)), FaultKind::InvalidConfiguration);
    assert_eq!(refused(kernel(fill, 1, 1025)), FaultKind::InvalidConfiguration);
    assert_eq!(refused(kernel(fill, 1, 1).shared(1 << 20)), FaultKind::InvalidConfiguration);
    let mut short = kernel(fill, 1, 1);
    short.meta.params_size = 8;
    assert_eq!(refused(short), FaultKind::InvalidConfiguration);
}

unsafe extern "C" fn syncs(ctx: *mut ThreadCtx, _args: *const u8) {
    // SAFETY: the thread runs.
    unsafe { __gpurace_barrier(ctx, 0, 0, 6) }
}

#[test]
fn a_loop_over_threads_cannot_wait() {
    let executor = executor(1);
    let fault = kernel(syncs, 1, 32).looped().on(&executor).expect_err("fault");
    assert!(matches!(fault.kind, FaultKind::Unsupported(_)), "{fault:?}");
    assert_eq!(fault.sync, Some(6));
    still_works(&executor);
}

#[test]
fn several_host_threads_launch_at_once() {
    let executor = executor(2);
    std::thread::scope(|s| {
        for i in 0..4u32 {
            let executor = &executor;
            s.spawn(move || {
                for _ in 0..20 {
                    still_works(executor);
                    if i % 2 == 0 {
                        let run = kernel(traps, 3, 64);
                        assert_eq!(run.on(executor).expect_err("trap").kind, FaultKind::Trap);
                    }
                }
            });
        }
    });
}
