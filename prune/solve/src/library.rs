//! The solver as a shared library with three C functions. A program that opens it needs neither Z3
//! nor the types of this crate. [`gpurace_protocol::wire`] defines the bytes.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::time::Duration;

use gpurace_protocol::protocol::PROTOCOL_VERSION;
use gpurace_protocol::wire::{Answer, request, to_bytes};

use crate::smt::UNITS_PER_MILLISECOND;
use crate::{Limits, Options, solve, solve_with};

/// Returns the version of the bytes that [`gpurace_solve`] reads and writes.
#[unsafe(no_mangle)]
pub extern "C" fn gpurace_solve_version() -> u32 {
    PROTOCOL_VERSION
}

/// Answers a request. Returns 0 and an answer, which the caller frees with [`gpurace_solve_free`].
/// Returns -1 if the request does not decode, -2 if the solver failed.
///
/// # Safety
/// `request` points to `size` readable bytes, `answer` and `answer_size` to
/// writable places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpurace_solve(
    request: *const u8,
    size: usize,
    answer: *mut *mut u8,
    answer_size: *mut usize,
) -> i32 {
    be_quiet();
    IS_ASKED.set(true);
    let result = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { std::slice::from_raw_parts(request, size) };
        solved(bytes)
    }));
    IS_ASKED.set(false);
    match result {
        Ok(Some(bytes)) => {
            let bytes = bytes.into_boxed_slice();
            // SAFETY: the caller vouches for the places.
            unsafe {
                *answer_size = bytes.len();
                *answer = Box::into_raw(bytes).cast::<u8>();
            }
            0
        }
        Ok(None) => -1,
        Err(_) => -2,
    }
}

thread_local! {
    static IS_ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Prints no panic of an answer: without memory Z3 fails, and the caller says so in its own words.
fn be_quiet() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_ASKED.get() {
                before(panic);
            }
        }));
    });
}

/// Frees an answer.
///
/// # Safety
/// `answer` and `size` come from one call of [`gpurace_solve`] and are freed
/// once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpurace_solve_free(answer: *mut u8, size: usize) {
    if !answer.is_null() {
        let slice = std::ptr::slice_from_raw_parts_mut(answer, size);
        // SAFETY: `gpurace_solve` made it of a box of this size.
        drop(unsafe { Box::from_raw(slice) });
    }
}

/// The answer to a request, both as bytes; `None` for bytes that are no request.
fn solved(bytes: &[u8]) -> Option<Vec<u8>> {
    let request = request(bytes).ok()?;
    let limits = match request.budget_ms {
        0 => Limits::default(),
        budget => Limits::about(Duration::from_millis(budget)),
    };
    let options = Options { limits, dump: request.dump.map(Into::into) };
    let outcome = match &request.launch {
        Some(launch) => solve_with(&request.protocol, launch, &options),
        None => solve(&request.protocol, &options),
    };
    Some(to_bytes(&Answer {
        verdicts: outcome.verdicts,
        queries: outcome.stats.asked as u64,
        gave_up: outcome.stats.gave_up as u64,
        cost_ms: outcome.stats.units / UNITS_PER_MILLISECOND,
    }))
}
