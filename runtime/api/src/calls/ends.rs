//! Functions of the C library by which a program can end without its exit handlers, or take away the
//! handlers of signals. They complete the report first, then do what the C library does.
//!
//! The program finds these instead of the C library's, because it is linked with this library. A
//! program that loads this library later, such as Python, does not: there only exit handlers and
//! signals complete the report.

use std::arch::naked_asm;
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::host::signals;
use crate::session::finish;

/// `_exit` of the C library.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(status: c_int) -> ! {
    finish::exit_at_once(status)
}

/// `_Exit` of the C library.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    finish::exit_at_once(status)
}

/// `quick_exit` of the C library: it calls handlers, the last of which completes the report.
#[unsafe(no_mangle)]
pub extern "C" fn quick_exit(status: c_int) -> ! {
    finish::quick_exit_begins(status);
    let function = QUICK_EXIT.address();
    // SAFETY: it is the C library's function of this type.
    unsafe { std::mem::transmute::<usize, extern "C" fn(c_int) -> !>(function)(status) }
}

/// A function of the C library whose name is that of one here.
struct Hidden {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Hidden {
    const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    fn address(&self) -> usize {
        match self.address.load(Ordering::Relaxed) {
            0 => self.look_up(),
            known => known,
        }
    }

    fn look_up(&self) -> usize {
        // SAFETY: only looks a name up.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        let address = if found == 0 { missing as *const () as usize } else { found };
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Stands for a function that an old C library does not have.
extern "C" fn missing() -> c_int {
    // SAFETY: the thread's own `errno`.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

static QUICK_EXIT: Hidden = Hidden::new(c"quick_exit");
static SIGNAL: Hidden = Hidden::new(c"signal");

/// Completes the report and returns the C library's function.
extern "C" fn before_exec(function: &Hidden) -> usize {
    finish::before_exec();
    function.address()
}

/// Defines the functions that replace the program by another one. Some take any number of
/// arguments, so each leaves its arguments in place and jumps to the C library's function.
macro_rules! exec {
    ($($name:ident = $hidden:ident($symbol:literal);)*) => {
        $(
            static $hidden: Hidden = Hidden::new($symbol);

            #[doc = concat!("`", stringify!($name), "` of the C library.")]
            ///
            /// # Safety
            /// To be called as C does.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                naked_asm!(
                    ".cfi_startproc",
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    "push rax",
                    ".cfi_adjust_cfa_offset 56",
                    "lea rdi, [rip + {function}]",
                    "call {before}",
                    "mov r11, rax",
                    "pop rax",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    ".cfi_adjust_cfa_offset -56",
                    "jmp r11",
                    ".cfi_endproc",
                    function = sym $hidden,
                    before = sym before_exec,
                )
            }
        )*

        /// Looks up the C library's functions: a child of `vfork` must not.
        pub fn prepare() {
            for hidden in [&QUICK_EXIT, &SIGNAL, $(&$hidden),*] {
                hidden.look_up();
            }
        }
    };
}

exec! {
    execve = EXECVE(c"execve");
    execv = EXECV(c"execv");
    execvp = EXECVP(c"execvp");
    execvpe = EXECVPE(c"execvpe");
    execl = EXECL(c"execl");
    execlp = EXECLP(c"execlp");
    execle = EXECLE(c"execle");
    fexecve = FEXECVE(c"fexecve");
    execveat = EXECVEAT(c"execveat");
}

/// `sigaction` of the C library. Where the program asks for the default action, the signal still
/// completes the report; the program sees the default action.
///
/// # Safety
/// As `sigaction`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let ours = finish::action();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        let is_default = new.as_ref().is_some_and(|new| new.sa_sigaction == libc::SIG_DFL);
        let new = if is_default && signals::ends_program(signal) { &raw const ours } else { new };
        let result = signals::action(signal, new, old);
        if let (0, Some(old)) = (result, old.as_mut())
            && old.sa_sigaction == ours.sa_sigaction
        {
            *old = std::mem::zeroed();
        }
        result
    }
}

/// `signal` of the C library, as [`sigaction`].
///
/// # Safety
/// As `signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    let ours = finish::action();
    // SAFETY: the action is valid, or the function is the C library's.
    let old = unsafe {
        if handler == libc::SIG_DFL && signals::ends_program(signal) {
            let mut old: libc::sigaction = std::mem::zeroed();
            match signals::action(signal, &ours, &mut old) {
                0 => old.sa_sigaction,
                _ => libc::SIG_ERR,
            }
        } else {
            std::mem::transmute::<usize, extern "C" fn(c_int, usize) -> usize>(SIGNAL.address())(
                signal, handler,
            )
        }
    };
    if old == ours.sa_sigaction { libc::SIG_DFL } else { old }
}
