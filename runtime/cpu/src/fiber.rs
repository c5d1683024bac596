//! Switching between a worker's scheduler and device threads.
//!
//! [`Fiber`] is all that the rest of the crate knows of it; [`CoroFiber`] is
//! corosensei's implementation.

use std::ptr;

use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::stack::SlabStack;

/// What a fiber runs; `handle` is what it suspends itself with.
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

/// A stackful coroutine on a stack that is used again and again.
pub(crate) trait Fiber: Sized {
    /// What a running fiber suspends itself with.
    type Handle: Copy;
    /// What a signal handler needs to end a fiber that trapped.
    type Trap: Copy;

    /// A fiber that will call `body(arg, handle)` when first resumed.
    ///
    /// # Safety
    /// Nothing else uses `stack` until the fiber has finished, trapped or was
    /// abandoned; `arg` is what `body` expects; `body` does not unwind.
    unsafe fn new(stack: SlabStack, body: Body<Self::Handle>, arg: *mut u8) -> Self;

    /// Runs the fiber until it suspends itself, finishes or traps.
    fn resume(&mut self) -> Turn;

    /// Suspends the fiber that runs.
    ///
    /// # Safety
    /// `handle` is the running fiber's.
    unsafe fn suspend(handle: Self::Handle);

    /// Forgets a suspended fiber without unwinding its frames.
    fn abandon(&mut self);

    /// The key to [`Fiber::end_trapped`].
    fn trap(&self) -> Self::Trap;

    /// Called in a signal handler: changes the interrupted registers so that
    /// on return from the handler the fiber ends with [`Turn::Trapped`].
    /// Returns false, and changes nothing, where the registers are not the fiber's.
    ///
    /// # Safety
    /// `trap` is that of the fiber that runs on this OS thread, `context` the
    /// handler's third argument.
    unsafe fn end_trapped(trap: Self::Trap, context: &mut libc::ucontext_t) -> bool;
}

/// How a coroutine ended.
#[derive(Clone, Copy)]
enum End {
    Finished,
    Trapped,
}

/// A fiber of corosensei.
pub(crate) struct CoroFiber(Coroutine<(), (), End, SlabStack>);

/// See [`Fiber::Handle`].
#[derive(Clone, Copy)]
pub(crate) struct CoroHandle(*const Yielder<(), ()>);

impl CoroHandle {
    /// The handle of no fiber.
    pub(crate) const NONE: Self = Self(ptr::null());
}

/// See [`Fiber::Trap`].
#[derive(Clone, Copy)]
pub(crate) struct CoroTrap(CoroutineTrapHandler<End>);

impl Fiber for CoroFiber {
    type Handle = CoroHandle;
    type Trap = CoroTrap;

    unsafe fn new(stack: SlabStack, body: Body<CoroHandle>, arg: *mut u8) -> Self {
        // SAFETY: the stack is exclusive (caller), and the closure's captures
        // are plain pointers.
        Self(unsafe {
            Coroutine::with_stack_unchecked(stack, move |yielder, ()| {
                // SAFETY: the caller of `new` vouches for `arg`.
                body(arg, CoroHandle(yielder));
                End::Finished
            })
        })
    }

    fn resume(&mut self) -> Turn {
        match self.0.resume(()) {
            CoroutineResult::Yield(()) => Turn::Suspended,
            CoroutineResult::Return(End::Finished) => Turn::Finished,
            CoroutineResult::Return(End::Trapped) => Turn::Trapped,
        }
    }

    unsafe fn suspend(handle: CoroHandle) {
        // SAFETY: the yielder lives on the running coroutine's stack.
        unsafe { (*handle.0).suspend(()) };
    }

    fn abandon(&mut self) {
        // SAFETY: the frames are those of lowered device code and of entry
        // points, which own nothing that must be dropped while suspended.
        unsafe { self.0.force_reset() };
    }

    fn trap(&self) -> CoroTrap {
        CoroTrap(self.0.trap_handler())
    }

    unsafe fn end_trapped(trap: CoroTrap, context: &mut libc::ucontext_t) -> bool {
        let regs = &mut context.uc_mcontext.gregs;
        if !trap
            .0
            .stack_ptr_in_bounds(regs[libc::REG_RSP as usize] as usize)
        {
            return false;
        }
        // SAFETY: the stack pointer lies in the coroutine, and the registers
        // are changed as told.
        let new = unsafe { trap.0.setup_trap_handler(|| End::Trapped) };
        regs[libc::REG_RIP as usize] = new.rip as i64;
        regs[libc::REG_RSP as usize] = new.rsp as i64;
        regs[libc::REG_RBP as usize] = new.rbp as i64;
        regs[libc::REG_RDI as usize] = new.rdi as i64;
        regs[libc::REG_RSI as usize] = new.rsi as i64;
        true
    }
}

impl Drop for CoroFiber {
    fn drop(&mut self) {
        // A suspended fiber is never unwound: its frames are device code.
        if !self.0.done() {
            self.abandon();
        }
    }
}
