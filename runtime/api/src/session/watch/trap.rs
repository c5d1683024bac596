//! Protected pages: each access by the host is noted and let through.
//!
//! While the pages are protected, an access by the host raises `SIGSEGV`. The handler notes it,
//! opens the page and lets the processor execute one instruction. The `SIGTRAP` after it
//! protects the page again. So every access is seen, and none is changed.
//!
//! A system call with a pointer to a protected page would fail. Linux's syscall user dispatch hands
//! every system call of the thread to a `SIGSYS` handler first. The handler makes calls that touch
//! no protected page. Before any other call it ends the protection for good.
//!
//! Pages are protected only while the program has one thread: see [`ready`].
//!
//! The state is a static: nothing can be passed to signal handlers.

use std::arch::{asm, global_asm};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use gpurace_cpu::signal;
use gpurace_cpu::stack_frame::code_around;

use crate::host::limits::PAGE;
use crate::host::stack::{self, Callers};

/// An access by the host to a protected page.
#[derive(Clone, Copy, Debug)]
pub struct HostEvent {
    /// Its first byte in the page.
    pub address: usize,
    /// It writes.
    pub write: bool,
    /// The address of the instruction, then the calls that led there.
    pub callers: Callers,
}

/// Most accesses that are noted before the protection ends for good. Each costs some microseconds.
pub const MOST_EVENTS: usize = 4096;
/// The same for the whole run of the program.
const MOST_EVENTS_OF_ALL: usize = 1 << 18;

/// `PR_SET_SYSCALL_USER_DISPATCH`, `PR_SYS_DISPATCH_ON` of `linux/prctl.h`.
const SET_DISPATCH: c_int = 59;
const DISPATCH_ON: usize = 1;
/// Values of the selector, `linux/syscall_user_dispatch.h`.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;
/// `SYS_USER_DISPATCH`, the `si_code` of such a `SIGSYS`.
const USER_DISPATCH: c_int = 2;
/// `SEGV_ACCERR`: the page is there and protected.
const ACCESS_ERROR: c_int = 2;
/// `TRAP_TRACE`: one instruction was executed.
const TRACED: c_int = 2;
/// The trap flag of `EFLAGS`.
const TRAP_FLAG: i64 = 1 << 8;

/// The pages that one instruction has accessed so far.
struct Opened {
    pages: [usize; MOST_OPENED],
    count: usize,
}

/// Most pages that an instruction may access. A scatter of 16 elements may need so many.
const MOST_OPENED: usize = 32;

struct TrapState {
    /// The handlers are installed. False if the system lacks what they need.
    is_set_up: OnceLock<bool>,
    /// The pages are protected, or will be after the next instruction.
    is_on: AtomicBool,
    /// The [`Self::opened`] pages can be accessed for one instruction.
    stepping: AtomicBool,
    opened: UnsafeCell<Opened>,
    /// [`BLOCK`] if the kernel hands system calls to the handler.
    selector: AtomicU8,
    pages: UnsafeCell<Vec<Range<usize>>>,
    events: UnsafeCell<Vec<HostEvent>>,
    /// Number of events since the program began.
    total: AtomicUsize,
    /// The protection ended although more accesses may follow.
    gave_up: AtomicBool,
    previous: UnsafeCell<[MaybeUninit<libc::sigaction>; 3]>,
}

// SAFETY: while `is_on` is false, only the one thread that uses this module changes the cells. While
// it is true, only signal handlers of that thread do.
unsafe impl Sync for TrapState {}

static STATE: TrapState = TrapState {
    is_set_up: OnceLock::new(),
    is_on: AtomicBool::new(false),
    stepping: AtomicBool::new(false),
    opened: UnsafeCell::new(Opened { pages: [0; MOST_OPENED], count: 0 }),
    selector: AtomicU8::new(ALLOW),
    pages: UnsafeCell::new(Vec::new()),
    events: UnsafeCell::new(Vec::new()),
    total: AtomicUsize::new(0),
    gave_up: AtomicBool::new(false),
    previous: UnsafeCell::new([MaybeUninit::zeroed(); 3]),
};

const SIGNALS: [c_int; 3] = [libc::SIGSEGV, libc::SIGTRAP, libc::SIGSYS];

// A handler returns by a system call, which must come from this library. Unwinders recognise a
// signal frame by these bytes.
global_asm!("nop", "nop", "gpurace_watch_return:", ".byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05",);

unsafe extern "C" {
    fn gpurace_watch_return();
}

/// Makes a system call from this library's code.
///
/// # Safety
/// As the system call.
unsafe fn system_call(number: usize, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel changes `rcx` and `r11` besides the result.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// `struct sigaction` of the kernel.
#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: usize,
    restorer: usize,
    mask: u64,
}

const SA_RESTORER: usize = 0x0400_0000;

const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

fn handler_of(signal: c_int) -> usize {
    match signal {
        libc::SIGSEGV => on_fault as *const () as usize,
        libc::SIGTRAP => on_step as *const () as usize,
        _ => on_system_call as *const () as usize,
    }
}

/// Sets the handler of a signal. False if the system refuses it.
fn install(signal: c_int) -> bool {
    let action = KernelAction {
        handler: handler_of(signal),
        flags: (libc::SA_SIGINFO | libc::SA_ONSTACK) as usize | SA_RESTORER,
        restorer: gpurace_watch_return as *const () as usize,
        mask: SIGNALS.iter().fold(0, |mask, &signal| mask | bit(signal)),
    };
    let args = [signal as usize, &raw const action as usize, 0, 8, 0, 0];
    // SAFETY: the action is the kernel's, and its handler stays.
    unsafe { system_call(libc::SYS_rt_sigaction as usize, args) == 0 }
}

/// Returns the executable segment of this library.
fn own_code() -> Option<Range<usize>> {
    let (start, size) = code_around(gpurace_watch_return as *const () as usize);
    (size > 0).then(|| start..start + size)
}

/// Installs the handlers and asks for syscall user dispatch, once.
fn set_up() -> bool {
    *STATE.is_set_up.get_or_init(|| {
        let Some(code) = own_code() else { return false };
        // The executor installs its handlers at its first launch. They must come before ours.
        signal::install_handlers();
        // SAFETY: the protection is off. `libc::sigaction` only reads the old action. The selector
        // lives as long as the process.
        let done = unsafe {
            let previous = &mut *STATE.previous.get();
            for (i, &signal) in SIGNALS.iter().enumerate() {
                libc::sigaction(signal, ptr::null(), previous[i].as_mut_ptr());
            }
            (*STATE.events.get()).reserve_exact(MOST_EVENTS);
            SIGNALS.iter().all(|&signal| install(signal))
                && libc::prctl(SET_DISPATCH, DISPATCH_ON, code.start, code.len(), STATE.selector.as_ptr())
                    == 0
        };
        // The unwinder and the loader allocate at their first use, which a handler must not be.
        let _: Callers = stack::callers();
        done
    })
}

/// Checks that pages can be protected and the program cannot notice. `workers` threads of the
/// process are our own.
///
/// # Errors
/// The reason why they cannot.
pub fn ready(workers: usize) -> Result<(), &'static str> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    if threads != workers + 1 {
        return Err("the program has several threads");
    }
    if !set_up() {
        return Err("the system has no syscall user dispatch");
    }
    let ours = own_code().unwrap_or_default();
    // SAFETY: plain queries.
    unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_BLOCK, ptr::null(), &mut blocked);
        if SIGNALS.iter().any(|&s| libc::sigismember(&blocked, s) == 1) {
            return Err("the program blocks signals");
        }
        for signal in 1..=64 {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, ptr::null(), &mut action) != 0 {
                continue;
            }
            let is_ours = ours.contains(&action.sa_sigaction);
            if SIGNALS.contains(&signal) && action.sa_sigaction != handler_of(signal) {
                return Err("the program handles signals of its own");
            }
            // While `SIGSYS` is blocked, a system call would end the process.
            let has_handler = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
            if has_handler && !is_ours && libc::sigismember(&action.sa_mask, libc::SIGSYS) == 1 {
                return Err("the program handles signals of its own");
            }
        }
    }
    Ok(())
}

/// True if the pages are protected.
pub fn is_on() -> bool {
    STATE.is_on.load(Ordering::Relaxed)
}

/// Protects the pages of these ranges. [`ready`] has succeeded.
pub fn start(ranges: impl Iterator<Item = Range<usize>>) {
    debug_assert!(!is_on());
    // SAFETY: the protection is off, so no handler reads it.
    let pages = unsafe { &mut *STATE.pages.get() };
    pages.clear();
    pages.extend(ranges.map(|r| r.start & !(PAGE - 1)..r.end.next_multiple_of(PAGE)));
    STATE.is_on.store(true, Ordering::Relaxed);
    self::pages().iter().for_each(|pages| protect(pages, libc::PROT_NONE));
    STATE.selector.store(BLOCK, Ordering::SeqCst);
}

/// Ends the protection. A signal handler may call this.
pub fn stop() {
    STATE.selector.store(ALLOW, Ordering::SeqCst);
    if STATE.is_on.swap(false, Ordering::Relaxed) {
        pages().iter().for_each(|pages| protect(pages, libc::PROT_READ | libc::PROT_WRITE));
    }
}

/// The events since the last call, and whether some may be missing.
pub fn take_events() -> (Vec<HostEvent>, bool) {
    // SAFETY: the protection is off, so no handler uses it.
    let events = unsafe { &mut *STATE.events.get() };
    let gave_up = STATE.gave_up.swap(false, Ordering::Relaxed);
    let taken = events.clone();
    events.clear();
    (taken, gave_up)
}

fn pages() -> &'static [Range<usize>] {
    // SAFETY: it changes only in this thread, while the protection is off.
    unsafe { &*STATE.pages.get() }
}

fn protect(pages: &Range<usize>, protection: c_int) {
    let args = [pages.start, pages.len(), protection as usize, 0, 0, 0];
    // SAFETY: pages of host-visible memory, which are readable and writable.
    unsafe { system_call(libc::SYS_mprotect as usize, args) };
}

/// Opens the page of an address until [`close`]. False if too many are open.
///
/// # Safety
/// Called by the handlers of one thread, which do not interrupt each other.
unsafe fn open(address: usize) -> bool {
    // SAFETY: as promised.
    let opened = unsafe { &mut *STATE.opened.get() };
    let Some(free) = opened.pages.get_mut(opened.count) else { return false };
    *free = address & !(PAGE - 1);
    opened.count += 1;
    protect(&(*free..*free + PAGE), libc::PROT_READ | libc::PROT_WRITE);
    true
}

/// Protects the open pages again.
///
/// # Safety
/// As [`open`].
unsafe fn close() {
    // SAFETY: as promised.
    let opened = unsafe { &mut *STATE.opened.get() };
    for &page in &opened.pages[..opened.count] {
        protect(&(page..page + PAGE), libc::PROT_NONE);
    }
    opened.count = 0;
}

fn is_protected(address: usize) -> bool {
    pages().iter().any(|page| page.contains(&address))
}

/// Notes an access. True if another one can be noted.
fn note(address: usize, write: bool) -> bool {
    // SAFETY: only handlers of this thread call this, and they do not interrupt each other. There
    // is room, so nothing is allocated.
    let events = unsafe { &mut *STATE.events.get() };
    if events.len() < MOST_EVENTS {
        events.push(HostEvent { address, write, callers: stack::callers() });
    }
    let total = STATE.total.fetch_add(1, Ordering::Relaxed);
    events.len() < MOST_EVENTS && total < MOST_EVENTS_OF_ALL
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    STATE.selector.store(ALLOW, Ordering::SeqCst);
    // SAFETY: the handler's own arguments.
    unsafe {
        let address = (*info).si_addr() as usize;
        if !is_on() || (*info).si_code != ACCESS_ERROR || !is_protected(address) {
            stop();
            return chain(signal, info, context);
        }
        let context = &mut *context.cast::<libc::ucontext_t>();
        if !note(address, signal::is_write_fault(context)) || !open(address) {
            STATE.gave_up.store(true, Ordering::Relaxed);
            return stop();
        }
        STATE.stepping.store(true, Ordering::Relaxed);
        context.uc_mcontext.gregs[libc::REG_EFL as usize] |= TRAP_FLAG;
    }
}

unsafe extern "C" fn on_step(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the handler's own arguments.
    unsafe {
        if !STATE.stepping.swap(false, Ordering::Relaxed) || (*info).si_code != TRACED {
            stop();
            return chain(signal, info, context);
        }
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
        if is_on() {
            close();
            STATE.selector.store(BLOCK, Ordering::SeqCst);
        }
    }
}

/// System calls that do not wait for long, do not follow pointers inside the memory that they are
/// given, and do not change signal handling.
const SIMPLE: [i64; 22] = [
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_pread64,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_lseek,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_ioctl,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_sched_yield,
    libc::SYS_getrandom,
    libc::SYS_getdents64,
];

unsafe extern "C" fn on_system_call(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    /// Bytes of the instruction `syscall`.
    const INSTRUCTION: i64 = 2;
    STATE.selector.store(ALLOW, Ordering::SeqCst);
    // SAFETY: the handler's own arguments.
    unsafe {
        if (*info).si_code != USER_DISPATCH {
            stop();
            return chain(signal, info, context);
        }
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let number = registers[libc::REG_RAX as usize];
        let args = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9]
            .map(|register| registers[register as usize] as usize);
        let touched = args.into_iter().find(|&argument| is_protected(argument));
        if is_on() && touched.is_none() && SIMPLE.contains(&number) {
            // SAFETY: the program's own call, with its own arguments.
            let result = system_call(number as usize, args);
            registers[libc::REG_RAX as usize] = result as i64;
            STATE.selector.store(BLOCK, Ordering::SeqCst);
            return;
        }
        if is_on() {
            let reads = [libc::SYS_write, libc::SYS_pwrite64].contains(&number);
            let writes = [libc::SYS_read, libc::SYS_pread64].contains(&number);
            if let (Some(address), true) = (touched, reads || writes) {
                note(address, writes);
            }
            STATE.gave_up.store(true, Ordering::Relaxed);
            stop();
        }
        // The program makes the call again. Now it passes.
        registers[libc::REG_RIP as usize] -= INSTRUCTION;
    }
}

/// Does what the replaced action would have done.
unsafe fn chain(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(i) = SIGNALS.iter().position(|&s| s == signal) else {
        return;
    };
    // SAFETY: the action was written before the handlers were installed. The others are the handler's own arguments.
    unsafe {
        let previous = (*STATE.previous.get())[i].assume_init_ref();
        signal::chain(previous, signal, info, context);
    }
}
