//! The entry points that inspect their caller's stack.
//!
//! `__gpurace_yield` distinguishes a thread that waits from one that makes progress, and
//! `__gpurace_activemask` the places that it is called from. Both are naked functions: they need
//! the caller's stack pointer and registers.

use std::arch::naked_asm;
use std::mem::offset_of;

use gpurace_abi::context::ThreadCtx;

use crate::thread::{block_of, lane_of};
use crate::{slot, stack_frame, sync};

/// Offset in [`ThreadCtx`] of the calls left until a switch.
const COUNTDOWN: usize = offset_of!(ThreadCtx, executor) + 8 * slot::COUNTDOWN;

/// A hint that the thread may be waiting for another one. Every
/// [`YIELD_PERIOD`](crate::block::YIELD_PERIOD)th call gives way.
///
/// # Safety
/// `ctx` is the context of the device thread that runs.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __gpurace_yield(ctx: *mut ThreadCtx) {
    naked_asm!(
        "mov rax, [rdi + {countdown}]",
        "sub rax, 1",
        "jb 2f",
        "mov [rdi + {countdown}], rax",
        "ret",
        // The registers that calls preserve are part of the thread's private state: pushed onto its
        // stack, they enter the digest.
        "2:",
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rsi, rsp",
        "sub rsp, 8",
        "call {give_way}",
        "add rsp, 56",
        "ret",
        countdown = const COUNTDOWN,
        give_way = sym give_way,
    )
}

/// `frame` points to the caller's preserved registers, its return address and its stack.
unsafe extern "C" fn give_way(ctx: *mut ThreadCtx, frame: *const u64) {
    // SAFETY: the lowering's contract; the stack is readable to its top.
    unsafe {
        let Some(stack) = (*lane_of(ctx)).stack else { return };
        sync::give_way(ctx, stack_frame::digest(frame, stack.top()));
    }
}

/// `activemask`: once no lane of the warp can run, the lanes that have come to this call by the
/// same chain of calls.
///
/// # Safety
/// `ctx` is the context of the device thread that runs.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __gpurace_activemask(ctx: *mut ThreadCtx) -> u32 {
    naked_asm!(
        "mov rsi, rsp",
        "mov rdx, rbp",
        "jmp {active_lanes}",
        active_lanes = sym active_lanes,
    )
}

/// `returns` points to the return address into the caller, `frame` is the caller's frame pointer.
unsafe extern "C" fn active_lanes(ctx: *mut ThreadCtx, returns: *const u64, frame: usize) -> u32 {
    // SAFETY: the lowering's contract; the stack is readable to its top.
    unsafe {
        let Some(stack) = (*lane_of(ctx)).stack else { return 0 };
        let code = (*(*block_of(ctx)).launch).code();
        sync::active_lanes(ctx, stack_frame::call_chain(returns, frame, stack.top(), code))
    }
}
