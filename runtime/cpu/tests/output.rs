//! Output of device code goes through the host program's own buffers.

mod support;

use std::process::Command;

use gpurace_abi::context::ThreadCtx;
use support::device::*;
use support::{executor, kernel};

/// Set in the child process whose output the test compares.
const CHILD: &str = "GPURACE_TEST_OUTPUT_CHILD";

unsafe extern "C" fn prints(ctx: *mut ThreadCtx, _args: *const u8) {
    // SAFETY: packed arguments of the format.
    unsafe {
        #[repr(C)]
        struct Packed {
            thread: u32,
            half: f64,
            name: *const std::ffi::c_char,
        }
        let thread = (*ctx).linear_tid;
        let mut packed = Packed { thread, half: f64::from(thread) / 2.0, name: c"k".as_ptr() };
        let format = c"thread %d: %.1f %s\n".as_ptr();
        let taken = __gpurace_vprintf(ctx, format.cast_mut().cast(), (&raw mut packed).cast());
        assert_eq!(taken, 3);
    }
}

unsafe extern "C" fn asserts(ctx: *mut ThreadCtx, _args: *const u8) {
    // SAFETY: C strings.
    unsafe {
        if (*ctx).tid[0] == 2 {
            let text = |s: &std::ffi::CStr| s.as_ptr().cast_mut().cast();
            __gpurace_assertfail(ctx, text(c"i < n"), text(c"k.cu"), 12, text(c"void k(int)"));
        }
    }
}

#[test]
fn child_prints() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let executor = executor(1);
    // SAFETY: C strings without conversions.
    unsafe { libc::printf(c"\nhost before\n".as_ptr()) };
    kernel(prints, 1, 3).on(&executor).expect("launch");
    // SAFETY: as above; flushes every stream.
    unsafe {
        libc::printf(c"host after\n".as_ptr());
        libc::fflush(std::ptr::null_mut());
    }
    kernel(asserts, 1, 4).on(&executor).expect_err("assertion");
}

#[test]
fn device_and_host_output_keep_their_order() {
    let output = Command::new(std::env::current_exe().expect("own path"))
        .args(["--exact", "child_prints", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("child");
    assert!(output.status.success());
    let stdout = String::from_utf8_lossy(&output.stdout);
    let want = "host before\nthread 0: 0.0 k\nthread 1: 0.5 k\nthread 2: 1.0 k\nhost after\n";
    assert!(stdout.contains(want), "{stdout}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let want = "k.cu:12: void k(int): block: [0,0,0], thread: [2,0,0] Assertion `i < n` failed.\n";
    assert!(stderr.contains(want), "{stderr}");
}
