//! The end of the process: however the program ends, the report is completed and the exit status is
//! set.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use crate::host::edge::{self, guard};
use crate::host::message;
use crate::session::{Session, watch};

/// Signals that end a program that does not handle them.
const SIGNALS: [c_int; 12] = [
    libc::SIGABRT,
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGPIPE,
    libc::SIGUSR1,
    libc::SIGUSR2,
];
/// Seconds that the report may take after a signal: the interrupted code may hold a lock that the
/// report needs.
const SECONDS_AFTER_SIGNAL: u32 = 30;
/// Stack of the signal handlers, bytes. The report is rendered on it.
const SIGNAL_STACK: usize = 512 << 10;

/// Exit status if the options are wrong or the report cannot be written.
pub const FAILED: c_int = 1;

/// Ends the process without a report.
pub fn exit_now(status: c_int) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(status) }
}

/// The session whose report comes at the end. Signal handlers have no other way to it.
static ENDING: OnceLock<&'static Session> = OnceLock::new();

/// Completes text and JSON. Returns the exit status that the findings ask for, 0 for none. `None`
/// if the report was completed before.
fn complete(session: &Session) -> Option<c_int> {
    if !session.is_own_process() || session.is_complete.swap(true, Ordering::AcqRel) {
        return None;
    }
    let Some(report) = session.finish() else {
        message::error("interrupted while findings were being noted: the report is incomplete");
        return None;
    };
    let mut status = 0;
    if let Some(pattern) = &session.options.json {
        let path = pattern.expand(std::process::id());
        if let Err(error) = std::fs::write(&path, report.to_json()) {
            message::error(&format!("cannot write `{}`: {error}", path.display()));
            status = FAILED;
        }
    }
    session.write_end(&report);
    if report.has_findings() {
        status = session.options.exitcode.into();
    }
    Some(status)
}

/// Flushes the program's C and C++ output streams, which `_exit` would lose.
fn flush() {
    type Flush = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
    // SAFETY: only looks a name up.
    let find = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // `std::ostream::flush()`, `std::cout`, `std::clog`
    let method = find(c"_ZNSo5flushEv");
    for stream in [c"_ZSt4cout", c"_ZSt4clog"].map(find) {
        // SAFETY: an object with virtual bases begins with a pointer, which is null until the
        // object is constructed.
        let constructed = !stream.is_null() && !unsafe { *stream.cast::<*mut c_void>() }.is_null();
        if !method.is_null() && constructed {
            // SAFETY: the Itanium C++ ABI: a method takes its object first.
            unsafe { std::mem::transmute::<*mut c_void, Flush>(method)(stream) };
        }
    }
    // SAFETY: a null pointer means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// Registers the end of the process: the report comes when the program exits, or when a signal ends
/// it.
pub fn at_end_of_process(session: &'static Session) {
    ENDING.get_or_init(|| session);
    edge::at_exit(at_exit, session);
    install_handlers();
}

extern "C" fn at_exit(status: c_int, session: *mut c_void) {
    // SAFETY: `at_end_of_process` has passed it, and it stays.
    let session = unsafe { &*session.cast::<Session>() };
    guard("at_exit", (), || {
        watch::pause(session);
        session.watch.stop();
        // The report comes after what the program printed.
        flush();
        let wanted = complete(session).unwrap_or_default();
        // Only the low byte of a status reaches the parent.
        if wanted != 0 && status & 0xff == 0 {
            flush();
            exit_now(wanted);
        }
    });
}

/// Ends the program at its first finding.
pub fn halt(session: &Session) -> ! {
    flush();
    complete(session);
    exit_now(session.options.exitcode.into())
}

fn install_handlers() {
    install_stack();
    for signal in SIGNALS {
        // SAFETY: the actions are valid. A signal that the program handles or ignores stays as it
        // is.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut old);
            if old.sa_sigaction != libc::SIG_DFL {
                continue;
            }
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = on_signal as *const () as usize;
            new.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
            libc::sigfillset(&mut new.sa_mask);
            libc::sigdelset(&mut new.sa_mask, libc::SIGALRM);
            libc::sigaction(signal, &new, std::ptr::null_mut());
        }
    }
}

/// Gives the main thread a stack for signals: the report comes even after a stack overflow.
fn install_stack() {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, which stays for the life of the process.
    unsafe {
        let stack = libc::mmap(std::ptr::null_mut(), SIGNAL_STACK, protection, flags, -1, 0);
        if stack != libc::MAP_FAILED {
            let new = libc::stack_t { ss_sp: stack, ss_flags: 0, ss_size: SIGNAL_STACK };
            libc::sigaltstack(&new, std::ptr::null_mut());
        }
    }
}

/// Completes the report, then lets the signal take its default effect.
extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    let session = ENDING.get();
    if let Some(session) = session {
        session.watch.stop();
    }
    // SAFETY: default actions are valid. A signal that is blocked here and raised is delivered when
    // this handler returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(SECONDS_AFTER_SIGNAL);
    }
    if let Some(session) = session {
        guard("on_signal", (), || {
            complete(session);
        });
    }
    // SAFETY: as above. A fault is raised again by the instruction itself, which a core dump should
    // show. A signal that was sent is not.
    unsafe {
        libc::alarm(0);
        let faulted = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL)
            && !info.is_null()
            && (*info).si_code > 0;
        if !faulted {
            libc::raise(signal);
        }
    }
}
