//! Signals: which of them end a program, and their actions as the system knows them.

use std::ffi::c_int;

/// Number of signals.
pub const COUNT: c_int = 64;

unsafe extern "C" {
    /// `sigaction` of the C library. Programs find this library's own under that name.
    fn __sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
}

/// True if the signal ends a program that does not handle it, and can be handled.
pub fn ends_program(signal: c_int) -> bool {
    let harmless = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
    let stops = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    // The C library keeps those between 32 and the first real-time signal for itself.
    (1..32).contains(&signal)
        && ![&harmless, &stops].iter().any(|list| list.contains(&signal))
        && signal != libc::SIGKILL
        || (libc::SIGRTMIN()..=libc::SIGRTMAX()).contains(&signal)
}

/// Reads and changes the action of a signal.
///
/// # Safety
/// As `sigaction`.
pub unsafe fn action(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the caller keeps the contract.
    unsafe { __sigaction(signal, new, old) }
}

/// Lets a signal through to this thread.
pub fn unblock(signal: c_int) {
    // SAFETY: the set is valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
}

/// Lets no signal through to this thread, except those that its own instructions raise.
pub fn block_all() {
    // SAFETY: the set is valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut set);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT] {
            libc::sigdelset(&mut set, fault);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

/// Gives a signal its default action.
pub fn reset(signal: c_int) {
    // SAFETY: all zero is the default action, with no flags.
    unsafe { action(signal, &std::mem::zeroed(), std::ptr::null_mut()) };
}
