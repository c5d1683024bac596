//! The end of the process: however the program ends, the report is completed and the exit status is
//! set.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use gpurace_report::schema::Report;

use crate::host::edge::{self, guard};
use crate::host::{allocator, message, signals};
use crate::session::{Session, watch};

/// Seconds that the report may take after a signal or `_exit`: the interrupted code may hold a lock
/// that the report needs.
const MOST_SECONDS: u32 = 10;
/// Stack of the signal handlers, bytes. The report is rendered on it.
const SIGNAL_STACK: usize = 512 << 10;

/// Exit status if the options are wrong or the report cannot be written.
pub const FAILED: c_int = 1;

/// Ends the process without a report. `_exit` is this library's own, which writes one.
pub fn exit_now(status: c_int) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

/// The session whose report comes at the end. Signal handlers have no other way to it.
static ENDING: OnceLock<&'static Session> = OnceLock::new();

/// The session, if this process has one: a forked child has none until it launches a kernel.
pub(super) fn own_session() -> Option<&'static Session> {
    ENDING.get().copied().filter(|session| session.is_own_process())
}

/// Completes text and JSON. Returns the exit status that the findings ask for, 0 for none. `None`
/// if the report was completed before.
fn complete(session: &Session) -> Option<c_int> {
    if !session.is_own_process() || session.is_complete.swap(true, Ordering::AcqRel) {
        return None;
    }
    session.progress.end();
    let Some(report) = session.finish() else {
        message::error("interrupted while findings were being noted: the report is incomplete");
        return Some(FAILED);
    };
    let mut status = if write_json(session, &report) { 0 } else { FAILED };
    session.write_end(&report);
    if report.has_findings() {
        status = session.options().exitcode.into();
    }
    Some(status)
}

/// Writes the report as JSON, if the options name a file. False if it cannot be written.
fn write_json(session: &Session, report: &Report) -> bool {
    let Some(pattern) = &session.options().json else { return true };
    let path = pattern.expand(std::process::id());
    let written = std::fs::write(&path, report.to_json());
    if let Err(error) = &written {
        message::error(&format!("cannot write `{}`: {error}", path.display()));
    }
    written.is_ok()
}

/// Writes what was found so far: the text of findings that were not printed, and the JSON. Nothing is written while
/// the program expects races.
pub fn write_so_far(session: &Session) {
    if !session.is_own_process() || session.expects_races() {
        return;
    }
    if let Some(report) = session.finish() {
        write_json(session, &report);
    }
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
    edge::at_quick_exit(at_quick_exit);
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

/// Ends the program with this status at once, as `_exit` does: the report is completed, but the
/// program's own output is not flushed.
pub fn exit_at_once(status: c_int) -> ! {
    // Only the low byte of a status reaches the parent.
    let succeeded = status & 0xff == 0;
    let Some(session) = own_session() else { exit_now(status) };
    // A handler of the program may have called this.
    let wanted = within_time_limit(if succeeded { FAILED } else { status }, || {
        watch::pause(session);
        session.watch.stop();
        complete(session).unwrap_or_default()
    });
    exit_now(if succeeded { wanted } else { status })
}

/// Completes the report before another program takes this one's place. If that fails, this program
/// goes on and will complete the report again.
pub fn before_exec() {
    let Some(session) = own_session() else { return };
    guard("exec", (), || {
        watch::pause(session);
        if let Some(wanted) = complete(session) {
            session.is_complete.store(false, Ordering::Release);
            if wanted != 0 {
                message::note(
                    "`exec` replaces this program: the exit status will be that of the new program",
                );
            }
        }
    });
}

/// The status with which `quick_exit` was called.
static QUICK_STATUS: AtomicI32 = AtomicI32::new(0);

/// Notes the status with which `quick_exit` was called.
pub fn quick_exit_begins(status: c_int) {
    QUICK_STATUS.store(status, Ordering::Relaxed);
}

extern "C" fn at_quick_exit(_: *mut c_void) {
    exit_at_once(QUICK_STATUS.load(Ordering::Relaxed));
}

/// Ends the program at its first finding.
pub fn halt(session: &Session) -> ! {
    flush();
    complete(session);
    exit_now(session.options().exitcode.into())
}

/// The action that completes the report when a signal ends the program.
pub fn action() -> libc::sigaction {
    // SAFETY: all zero is a valid action, and both sets are valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
        libc::sigfillset(&mut action.sa_mask);
        action
    }
}

/// Handles the signals that would end the program without a report.
fn install_handlers() {
    install_stack();
    for signal in (1..=signals::COUNT).filter(|&signal| signals::ends_program(signal)) {
        // SAFETY: the actions are valid. A signal that the program handles or ignores stays as it
        // is.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            signals::action(signal, std::ptr::null(), &mut old);
            if old.sa_sigaction == libc::SIG_DFL {
                signals::action(signal, &action(), std::ptr::null_mut());
            }
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

/// How the program ends if the report takes too long: by a status, or by a signal if negative.
static TOO_LATE: AtomicI32 = AtomicI32::new(FAILED);

/// Runs the part of an end that may wait for a lock which the interrupted code holds. If it takes
/// too long, the program ends without it.
fn within_time_limit(too_late: c_int, body: impl FnOnce() -> c_int) -> c_int {
    TOO_LATE.store(too_late, Ordering::Relaxed);
    allocator::leave_malloc();
    // SAFETY: the program ends: its own alarm is not needed any more. The action and the set are
    // valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_too_late as *const () as usize;
        signals::action(libc::SIGALRM, &action, std::ptr::null_mut());
        signals::unblock(libc::SIGALRM);
        libc::alarm(MOST_SECONDS);
    }
    let result = guard("the end of the program", FAILED, body);
    // SAFETY: ends what was begun above.
    unsafe { libc::alarm(0) };
    signals::reset(libc::SIGALRM);
    result
}

extern "C" fn on_too_late(_: c_int) {
    let text = b"gpurace: error: interrupted while it held a lock: the report is incomplete\n";
    // SAFETY: these calls may be made in a signal handler.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    let end = TOO_LATE.load(Ordering::Relaxed);
    if end < 0 {
        signals::reset(-end);
        signals::unblock(-end);
        // SAFETY: as above.
        unsafe { libc::raise(-end) };
    }
    exit_now(if end < 0 { FAILED } else { end })
}

/// The process that a signal ends, or 0.
static ENDED_BY_SIGNAL: AtomicU32 = AtomicU32::new(0);

/// Completes the report, then lets the signal take its default effect. A signal that is blocked here
/// and raised is delivered when this handler returns.
extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    if let Some(session) = own_session() {
        let process = std::process::id();
        if ENDED_BY_SIGNAL.swap(process, Ordering::AcqRel) == process {
            // Another thread completes the report, and then ends the program.
            loop {
                // SAFETY: it may be called in a signal handler.
                unsafe { libc::pause() };
            }
        }
        session.watch.stop();
        within_time_limit(-signal, || complete(session).unwrap_or_default());
    }
    // Not before: of two equal signals another thread would take the second one, and end the program.
    signals::reset(signal);
    // SAFETY: `info` is the kernel's. A fault is raised again by the instruction itself, which a core
    // dump should show. A signal that was sent is not.
    unsafe {
        let faulted = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL)
            && !info.is_null()
            && (*info).si_code > 0;
        if !faulted {
            libc::raise(signal);
        }
    }
}
