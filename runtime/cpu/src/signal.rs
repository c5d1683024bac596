//! Signals that device code raises: they end the launch, not the process.
//!
//! A handler for `SIGSEGV`, `SIGBUS`, `SIGFPE` and `SIGILL` runs on an alternate stack. If a device
//! thread was interrupted, the handler notes the signal and ends the thread's fiber as trapped.
//! Otherwise it does what the replaced action would have done.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;

use crate::fiber::{Fiber, JumpFiber, JumpHandle};

/// A signal that a device thread raised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raised {
    pub(crate) signal: libc::c_int,
    /// The address accessed, if the processor reports it.
    pub(crate) address: Option<usize>,
    /// True if the access was a write.
    pub(crate) write: bool,
    /// The address of the instruction.
    pub(crate) instruction: usize,
    /// The stack pointer.
    pub(crate) stack_pointer: usize,
}

/// The device thread that runs on an OS thread.
pub(crate) struct Running {
    /// The handle of its fiber, or [`JumpHandle::NONE`].
    pub(crate) fiber: Cell<JumpHandle>,
    /// The signal that the handler noted.
    pub(crate) raised: Cell<Option<Raised>>,
}

impl Running {
    pub(crate) fn new() -> Self {
        Self { fiber: Cell::new(JumpHandle::NONE), raised: Cell::new(None) }
    }
}

thread_local! {
    static RUNNING: Cell<*const Running> = const { Cell::new(ptr::null()) };
    static ALTERNATE: AlternateStack = AlternateStack::install();
}

/// Resets the current OS thread's `running` when dropped.
pub(crate) struct Entered(*const Running);

/// Prepares the current OS thread to run device code under `running`, which
/// must outlive the result.
pub(crate) fn enter(running: *const Running) -> Entered {
    install_handlers();
    // After the destructors of thread-locals the thread has the stack of its own no more. Static objects
    // may still launch.
    let _ = ALTERNATE.try_with(|_| {});
    Entered(RUNNING.replace(running))
}

impl Drop for Entered {
    fn drop(&mut self) {
        RUNNING.set(self.0);
    }
}

/// True if a device thread runs on this OS thread.
pub(crate) fn runs_device_thread() -> bool {
    let running = RUNNING.get();
    // SAFETY: what `enter` was given outlives its result.
    !running.is_null() && unsafe { (*running).fiber.get() } != JumpHandle::NONE
}

const SIGNALS: [libc::c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// The actions that the handler replaced. Written once, before the handler can run.
static mut PREVIOUS: [MaybeUninit<libc::sigaction>; 4] = [MaybeUninit::zeroed(); 4];

/// Installs the handlers, once. A handler that is to run before these must be installed after this
/// call.
pub fn install_handlers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (i, &signal) in SIGNALS.iter().enumerate() {
            // SAFETY: `action` is a valid action; `PREVIOUS` is written here
            // only, before the handler that reads it is in place.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&mut action.sa_mask);
                let previous = (&raw mut PREVIOUS).cast::<libc::sigaction>().add(i);
                libc::sigaction(signal, ptr::null(), previous);
                libc::sigaction(signal, &action, ptr::null_mut());
            }
        }
    });
}

/// Returns true if the access that raised a page fault was a write.
pub fn is_write_fault(context: &libc::ucontext_t) -> bool {
    // Bit 1 of the error code (Intel SDM, vol. 3, 4.7).
    context.uc_mcontext.gregs[libc::REG_ERR as usize] & 2 != 0
}

/// Ends the turn of the device thread that raised a signal. Other signals go to the handler before this one.
unsafe extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let running = RUNNING.get();
    // SAFETY: `enter`'s caller keeps `running` alive while it is set, and a fiber that runs is
    // alive. `context` is the kernel's.
    let ended = unsafe {
        !running.is_null() && (*running).fiber.get() != JumpHandle::NONE && {
            let context = &mut *context.cast::<libc::ucontext_t>();
            let raised = Raised {
                signal,
                // A positive code is that of a fault of the access itself. A non-canonical address
                // comes as `SI_KERNEL`, without the address.
                address: ((*info).si_code > 0 && (*info).si_code != libc::SI_KERNEL)
                    .then(|| (*info).si_addr() as usize),
                write: is_write_fault(context),
                instruction: context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize,
                stack_pointer: context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize,
            };
            let ended = JumpFiber::end_trapped((*running).fiber.get(), context);
            if ended {
                (*running).raised.set(Some(raised));
            }
            ended
        }
    };
    if let Some(i) = SIGNALS.iter().position(|&s| s == signal).filter(|_| !ended) {
        // SAFETY: `PREVIOUS` was written before this handler was installed. The others are the handler's own
        // arguments.
        unsafe {
            let previous = &*(&raw const PREVIOUS).cast::<libc::sigaction>().add(i);
            chain(previous, signal, info, context);
        }
    }
}

/// Does what the action that a handler has replaced would have done. A handler calls this with its own arguments.
///
/// # Safety
/// `previous` is the replaced action of `signal`. The others are the arguments of the handler.
pub unsafe fn chain(
    previous: &libc::sigaction,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: by contract; the flags of a handler give its signature.
    unsafe {
        match previous.sa_sigaction {
            libc::SIG_IGN if (*info).si_code <= 0 => {}
            libc::SIG_DFL | libc::SIG_IGN => {
                libc::signal(signal, libc::SIG_DFL);
                // The instruction of a fault runs again and raises the fault again. A signal that was sent, or that
                // follows an instruction, comes once.
                let comes_again = !matches!(signal, libc::SIGTRAP | libc::SIGSYS);
                if !comes_again || (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
            handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(libc::c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// An OS thread's alternate signal stack, unless it has one already.
struct AlternateStack(Option<*mut libc::c_void>);

impl AlternateStack {
    /// Enough for the handler and for one that it chains to.
    const BYTES: usize = 64 << 10;

    /// Gives the OS thread an alternate signal stack, if it has none.
    fn install() -> Self {
        // SAFETY: plain system calls on memory made here.
        unsafe {
            let mut old: libc::stack_t = std::mem::zeroed();
            if libc::sigaltstack(ptr::null(), &mut old) == 0 && old.ss_flags & libc::SS_DISABLE == 0 {
                return Self(None);
            }
            let memory = libc::mmap(
                ptr::null_mut(),
                Self::BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return Self(None);
            }
            let new = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: Self::BYTES };
            libc::sigaltstack(&new, ptr::null_mut());
            Self(Some(memory))
        }
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        if let Some(memory) = self.0 {
            // SAFETY: the stack is this OS thread's own, and not in use once it is disabled.
            unsafe {
                let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
                libc::sigaltstack(&none, ptr::null_mut());
                libc::munmap(memory, Self::BYTES);
            }
        }
    }
}
