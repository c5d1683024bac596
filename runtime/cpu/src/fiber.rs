//! Switching between a worker's scheduler and device threads.
//!
//! [`Fiber`] is the interface; [`JumpFiber`] implements it in a few instructions of assembly.
//!
//! # Why jumps
//!
//! Both directions switch by an indirect jump, never by `call` and `ret`. The threads of a block
//! mostly suspend at the same place under the same calls. If no switch disturbs it, the processor's
//! return predictor predicts one thread's returns from another thread's calls. A library that
//! switches with `call` and `ret` (corosensei) misleads the predictor at each switch: a barrier
//! then costs three times as much.

use std::arch::{asm, naked_asm};
use std::mem::offset_of;

use crate::stack::SlabStack;

/// The body of a fiber. It suspends itself by `handle`.
pub(crate) type Body<H> = unsafe fn(arg: *mut u8, handle: H);

/// How a fiber's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It suspended itself and may be resumed.
    Suspended,
    /// Its body returned.
    Finished,
    /// A signal was raised in it; it cannot be resumed.
    Trapped,
}

/// A stackful coroutine on a stack that is reused.
///
/// If a fiber is dropped or replaced while suspended, its stack frames are not unwound.
pub(crate) trait Fiber: Sized {
    /// Names a running fiber, to suspend it or to end it in a signal handler.
    type Handle: Copy;

    /// A fiber that will call `body(arg, handle)` when first resumed.
    ///
    /// # Safety
    /// Nothing else uses `stack` until the fiber has finished, trapped or been
    /// forgotten; `arg` is what `body` expects; `body` does not unwind.
    unsafe fn new(stack: SlabStack, body: Body<Self::Handle>, arg: *mut u8) -> Self;

    /// Runs the fiber until it suspends itself, finishes or traps.
    ///
    /// # Safety
    /// `this` is live, has not moved since it was first resumed, and its last
    /// turn, if any, ended in [`Turn::Suspended`].
    unsafe fn resume(this: *mut Self) -> Turn;

    /// Suspends the fiber that runs.
    ///
    /// # Safety
    /// `handle` is the running fiber's.
    unsafe fn suspend(handle: Self::Handle);

    /// Called in a signal handler. Changes the interrupted registers: when the handler returns, the
    /// fiber's turn ends with [`Turn::Trapped`]. Returns false, and changes nothing, if the
    /// interrupted code does not run on the fiber's stack.
    ///
    /// # Safety
    /// `handle` is that of the fiber that runs on this OS thread, `context`
    /// the handler's third argument.
    unsafe fn end_trapped(handle: Self::Handle, context: &mut libc::ucontext_t) -> bool;
}

/// A fiber that switches by jumps. See the module.
#[repr(C)]
pub(crate) struct JumpFiber {
    /// The fiber's stack pointer while it does not run.
    own: usize,
    /// The scheduler's while it does.
    parent: usize,
    turn: Turn,
    stack: SlabStack,
    body: Body<JumpHandle>,
    arg: *mut u8,
}

/// The handle of a [`JumpFiber`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JumpHandle(*mut JumpFiber);

impl JumpHandle {
    /// The handle of no fiber.
    pub(crate) const NONE: Self = Self(std::ptr::null_mut());
}

impl JumpFiber {
    /// Offset of the stack pointer of a fiber that does not run. The stack then holds what `switch!` has left there.
    pub(crate) const OWN: usize = offset_of!(JumpFiber, own);

    /// The handle of this fiber.
    pub(crate) fn handle(this: *mut Self) -> JumpHandle {
        JumpHandle(this)
    }
}

/// Saves this side's stack pointer in field `$save` and continues at that of field `$load`. The
/// stack of a suspended side holds the address to continue at, `rbx` and `rbp`. It loses its other
/// registers.
macro_rules! switch {
    ($fiber:expr, $save:ident => $load:ident) => {
        asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi + {save}], rsp",
            "mov rsp, [rdi + {load}]",
            "pop rax",
            "jmp rax",
            "2:",
            "pop rbx",
            "pop rbp",
            save = const offset_of!(JumpFiber, $save),
            load = const offset_of!(JumpFiber, $load),
            inout("rdi") $fiber => _,
            lateout("r12") _,
            lateout("r13") _,
            lateout("r14") _,
            lateout("r15") _,
            clobber_abi("sysv64"),
        )
    };
}

/// The first code of a fiber. `rdi` still holds the argument of the switch. A return address of
/// zero ends backtraces.
#[unsafe(naked)]
unsafe extern "C" fn first() -> ! {
    naked_asm!("xor ebp, ebp", "push rbp", "jmp {main}", main = sym main)
}

/// Runs the body, and switches back for ever.
unsafe extern "C" fn main(fiber: *mut JumpFiber) -> ! {
    // SAFETY: `resume` passes its fiber, which stays in place while it lives;
    // once finished it is not resumed.
    unsafe {
        ((*fiber).body)((*fiber).arg, JumpHandle(fiber));
        (*fiber).turn = Turn::Finished;
        loop {
            switch!(fiber, own => parent);
        }
    }
}

impl Fiber for JumpFiber {
    type Handle = JumpHandle;

    unsafe fn new(stack: SlabStack, body: Body<JumpHandle>, arg: *mut u8) -> Self {
        let entry = stack.top() - 24;
        // SAFETY: the word lies at the top of the stack, which is free.
        unsafe { (entry as *mut usize).write(first as *const () as usize) };
        // `first` is entered with the stack pointer past that word, a multiple
        // of 16, and pushes one word: `main` is entered as by a call.
        Self { own: entry, parent: 0, turn: Turn::Suspended, stack, body, arg }
    }

    unsafe fn resume(this: *mut Self) -> Turn {
        // SAFETY: the fiber is suspended or fresh: `own` is its stack pointer.
        unsafe {
            switch!(this, parent => own);
            (*this).turn
        }
    }

    unsafe fn suspend(handle: JumpHandle) {
        // SAFETY: the fiber runs, so `parent` is the scheduler's stack pointer.
        unsafe { switch!(handle.0, own => parent) };
    }

    unsafe fn end_trapped(handle: JumpHandle, context: &mut libc::ucontext_t) -> bool {
        let regs = &mut context.uc_mcontext.gregs;
        // SAFETY: the fiber runs, so it is live and its parent is suspended,
        // the address to go on at on top of its stack.
        unsafe {
            let fiber = handle.0;
            if fiber.is_null() || !(*fiber).stack.holds(regs[libc::REG_RSP as usize] as usize) {
                return false;
            }
            (*fiber).turn = Turn::Trapped;
            let parent = (*fiber).parent as *const usize;
            regs[libc::REG_RIP as usize] = parent.read() as i64;
            regs[libc::REG_RSP as usize] = parent.add(1) as i64;
            // String instructions count upwards, as the ABI has it.
            const DIRECTION: i64 = 1 << 10;
            regs[libc::REG_EFL as usize] &= !DIRECTION;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Slab;

    /// Counts in `arg`, in turns.
    unsafe fn counter(arg: *mut u8, handle: JumpHandle) {
        let local = std::hint::black_box([1u64, 2, 3].map(f64::sqrt_of));
        for value in local {
            // SAFETY: `arg` is the test's number; the handle is ours.
            unsafe {
                *arg.cast::<f64>() += value;
                JumpFiber::suspend(handle);
            }
        }
    }

    trait SqrtOf {
        fn sqrt_of(n: u64) -> f64;
    }

    impl SqrtOf for f64 {
        #[inline(never)]
        fn sqrt_of(n: u64) -> f64 {
            (n as f64).sqrt()
        }
    }

    #[test]
    fn fibers_keep_their_frames_between_turns() {
        let mut slab = Slab::new(3, 16 << 10, 0).expect("mapping");
        let stacks = [(); 3].map(|()| slab.hand_out().expect("protection"));
        let mut sums = [0f64; 3];
        for _ in 0..2 {
            sums.fill(0.0);
            // SAFETY: each stack has one fiber, and the fibers stay in place.
            unsafe {
                let mut fibers =
                    [0, 1, 2].map(|i| JumpFiber::new(stacks[i], counter, (&raw mut sums[i]).cast()));
                for turn in 0..3 {
                    for fiber in &mut fibers {
                        assert_eq!(JumpFiber::resume(fiber), Turn::Suspended, "turn {turn}");
                    }
                }
                // The first is forgotten, the others end.
                for fiber in &mut fibers[1..] {
                    assert_eq!(JumpFiber::resume(fiber), Turn::Finished);
                }
            }
            let want = 1.0 + 2f64.sqrt() + 3f64.sqrt();
            assert!(sums.iter().all(|&s| s == want), "{sums:?}");
        }
    }

    /// Writes whether the stack pointer is aligned as the ABI wants.
    unsafe fn aligned(arg: *mut u8, _handle: JumpHandle) {
        #[repr(align(16))]
        struct Aligned([u8; 16]);
        let local = std::hint::black_box(Aligned([7; 16]));
        let address = std::hint::black_box(&raw const local).addr();
        // SAFETY: `arg` is the test's number. An aligned move faults if the
        // stack is not as the compiler expects.
        unsafe { arg.cast::<f64>().write(f64::from(u8::from(address.is_multiple_of(16)) * local.0[15])) };
    }

    #[test]
    fn a_fiber_starts_on_an_aligned_stack() {
        let mut slab = Slab::new(1, 16 << 10, 0).expect("mapping");
        let stack = slab.hand_out().expect("protection");
        let mut result = 0f64;
        // SAFETY: one fiber on the stack, which stays in place.
        let turn = unsafe {
            let mut fiber = JumpFiber::new(stack, aligned, (&raw mut result).cast());
            JumpFiber::resume(&mut fiber)
        };
        assert_eq!((turn, result), (Turn::Finished, 7.0));
    }
}
