//! The call stack of the host program: which addresses led into this library.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};

/// An address in the host program to which a call returns.
pub type CallSite = usize;

/// The calls that led into this library, the innermost first. 0 for none.
pub type Callers = [CallSite; 3];

/// The calls that led to a launch, the innermost first. 0 for none.
pub type LaunchStack = [CallSite; 8];

thread_local! {
    /// The result of [`callers`] while a node of a graph runs.
    static INSTEAD: Cell<Option<Callers>> = const { Cell::new(None) };
}

/// Runs `body` with these callers instead of those on the stack.
pub fn on_behalf_of<T>(callers: &Callers, body: impl FnOnce() -> T) -> T {
    let set = |callers| INSTEAD.try_with(|instead| instead.replace(callers)).unwrap_or(None);
    let before = set(Some(*callers));
    let result = body();
    set(before);
    result
}

/// The callers of the running function of this library, or of the code that its signal handler has
/// interrupted. Takes some microseconds.
pub fn callers<const N: usize>() -> [CallSite; N] {
    if let Some(known) = INSTEAD.try_with(Cell::get).ok().flatten() {
        return std::array::from_fn(|n| known.get(n).copied().unwrap_or(0));
    }
    struct Walk<'a> {
        library: usize,
        callers: &'a mut [CallSite],
        count: usize,
    }
    extern "C" fn frame(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: `callers` passes a pointer to its own value.
        let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
        let mut is_instruction = 0;
        // SAFETY: the unwinder's own.
        let address = unsafe { _Unwind_GetIPInfo(context, &mut is_instruction) };
        if walk.count == 0 && (base_of(address) == walk.library || is_in_own_library(address)) {
            return GO_ON;
        }
        let Some(caller) = walk.callers.get_mut(walk.count) else {
            return END;
        };
        // A call ends before the address that it returns to, an interrupted instruction begins
        // there.
        *caller = address + usize::from(is_instruction != 0);
        walk.count += 1;
        GO_ON
    }
    const GO_ON: c_int = 0;
    /// Any other result ends the walk.
    const END: c_int = 4;
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            frame: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            argument: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIPInfo(context: *mut c_void, is_instruction: *mut c_int) -> usize;
    }
    let mut callers = [0; N];
    let library = own_object().map_or(0, |own| own.base);
    let mut walk = Walk { library, callers: &mut callers, count: 0 };
    // SAFETY: the unwinder of the C runtime, which the standard library links. It reads the stack
    // and passes `walk` on.
    unsafe { _Unwind_Backtrace(frame, (&raw mut walk).cast()) };
    callers
}

/// A loaded object: the program or a library.
pub struct LoadedObject {
    /// Its name, as the loader knows it.
    pub name: &'static CStr,
    /// The address that it begins at.
    pub base: usize,
}

/// The object that holds a code address.
pub fn object_of(address: usize) -> Option<LoadedObject> {
    // SAFETY: all fields may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` takes any address and writes `info`.
    if unsafe { libc::dladdr(address as *const _, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a C string of the loader's.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(LoadedObject { name, base: info.dli_fbase as usize })
}

/// True for code of a library beside this one, such as `libgpurace_blas.so`.
fn is_in_own_library(address: usize) -> bool {
    object_of(address).is_some_and(|object| {
        let name = object.name.to_bytes();
        let name = name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        name.starts_with(b"libgpurace_") && name.ends_with(b".so")
    })
}

/// True for code of a Python interpreter and of its own modules, such as `ctypes`.
pub fn is_in_python(address: usize) -> bool {
    // SAFETY: only looks a name up.
    let interpreter = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PyEval_GetFrame".as_ptr()) } as usize;
    object_of(address).is_some_and(|object| {
        let holds = |part: &str| memchr::memmem::find(object.name.to_bytes(), part.as_bytes()).is_some();
        interpreter != 0 && object.base == base_of(interpreter) || holds("/lib-dynload/") || holds("/libffi")
    })
}

/// The start of the object that holds a code address. 0 for none.
fn base_of(address: usize) -> usize {
    object_of(address).map_or(0, |object| object.base)
}

/// This library, as a loaded object.
pub fn own_object() -> Option<LoadedObject> {
    object_of(base_of as fn(usize) -> usize as usize)
}
