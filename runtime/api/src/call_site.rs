//! Which source line of the host program an address belongs to, from the
//! program's own debug info. Read only when a report wants to say it.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::path::{Path, PathBuf};

use addr2line::Loader;
use parking_lot::Mutex;

use gpurace_report::demangle;
use gpurace_report::schema::{self, InlinedAt};

use crate::launch::CallSite;
use crate::modules;

/// A position in the host program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Source file, as the compiler was given it where that is known.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// The position of a call that returns to `site`, or `None` without debug info.
pub fn position(site: CallSite) -> Option<Position> {
    static KNOWN: Mutex<Option<HashMap<CallSite, Option<Position>>>> = Mutex::new(None);
    let mut known = KNOWN.lock();
    known.get_or_insert_with(HashMap::new).entry(site).or_insert_with(|| read(site)).clone()
}

/// The calls that led into this library, the innermost first; 0 for none.
pub type Callers = [CallSite; 3];

/// As [`Callers`], for a launch.
pub type Stack = [CallSite; 8];

thread_local! {
    /// What [`callers`] gives while something runs that was asked for earlier.
    static INSTEAD: Cell<Option<Callers>> = const { Cell::new(None) };
}

/// Runs `body` as called by these.
pub fn on_behalf_of<T>(callers: &Callers, body: impl FnOnce() -> T) -> T {
    let set = |callers| INSTEAD.try_with(|instead| instead.replace(callers)).unwrap_or(None);
    let before = set(Some(*callers));
    let result = body();
    set(before);
    result
}

/// Who called the function of this library that is running, or was interrupted
/// by its signal handler, as far out as there is room. Takes some microseconds.
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
        // SAFETY: `callers` passes its own.
        let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
        let mut is_instruction = 0;
        // SAFETY: the unwinder's own.
        let address = unsafe { _Unwind_GetIPInfo(context, &mut is_instruction) };
        if walk.count == 0 && base_of(address) == walk.library {
            return GO_ON;
        }
        let Some(caller) = walk.callers.get_mut(walk.count) else {
            return END;
        };
        // A signal interrupts an instruction; a call is before its address.
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
    let mut walk =
        Walk { library: base_of(base_of as fn(usize) -> usize as usize), callers: &mut callers, count: 0 };
    // SAFETY: the unwinder of the C runtime, which the standard library links;
    // it reads the stack and passes `walk` on.
    unsafe { _Unwind_Backtrace(frame, (&raw mut walk).cast()) };
    callers
}

/// Where the object that holds a code address begins; 0 for none.
fn base_of(address: usize) -> usize {
    // SAFETY: all fields may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` takes any address and writes `info`.
    match unsafe { libc::dladdr(address as *const _, &mut info) } {
        0 => 0,
        _ => info.dli_fbase as usize,
    }
}

/// The innermost position in user code: headers of the toolkit wrap some
/// functions, and then it is their caller's.
pub fn position_in_user_code(callers: &Callers) -> Option<Position> {
    let mut known = callers.iter().filter_map(|&caller| position(caller));
    let first = known.next()?;
    if !is_system(&first.file) {
        return Some(first);
    }
    Some(known.find(|p| !is_system(&p.file)).unwrap_or(first))
}

/// The file that is mapped at `address` and where its mapping begins.
fn object_of(address: usize) -> Option<(PathBuf, usize)> {
    // SAFETY: all fields may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` takes any address and writes `info`.
    if unsafe { libc::dladdr(address as *const _, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a C string of the loader's.
    let name = unsafe { CStr::from_ptr(info.dli_fname) }.to_str().ok()?;
    // The main program's name is what it was called with, which need not be a
    // path from here.
    let is_file = Path::new(name).is_file() && name.contains('/');
    let path = if is_file { name.into() } else { PathBuf::from("/proc/self/exe") };
    Some((path, info.dli_fbase as usize))
}

/// The calls in user code that led to a launch at `launch`, its own position
/// first; empty where there is no more than that, or it is not among them.
pub fn calls(stack: &Stack, launch: &Position) -> Vec<InlinedAt> {
    let mut calls: Vec<InlinedAt> = Vec::new();
    for &site in stack.iter().take_while(|&&site| site != 0) {
        for call in frames(site).unwrap_or_default() {
            // Stubs and wrappers stand before the launch itself.
            let is_launch = || call.position.file == launch.file && call.position.line == launch.line;
            if !calls.is_empty() || is_launch() {
                calls.push(call);
            }
        }
        if calls.last().is_some_and(|call| call.function.as_deref() == Some("main")) {
            break;
        }
    }
    if calls.len() > 1 { calls } else { Vec::new() }
}

/// The calls of user code at an address, the innermost first: one, and those
/// that it was inlined into.
fn frames(site: CallSite) -> Option<Vec<InlinedAt>> {
    let address = site.checked_sub(1)?;
    let (path, base) = object_of(address)?;
    let loader = Loader::new(path).ok()?;
    let at = loader.relative_address_base() + (address - base) as u64;
    let mut frames = loader.find_frames(at).ok()?;
    let mut calls = Vec::new();
    while let Ok(Some(frame)) = frames.next() {
        let Some((Some(file), Some(line))) = frame.location.map(|at| (at.file, at.line)) else {
            continue;
        };
        if is_system(file) {
            continue;
        }
        // Of functions that nothing is inlined into, line tables have no name.
        let named = frame.function.and_then(|name| name.raw_name().ok().map(|name| demangle(&name)));
        let position = as_given(Position { file: file.to_owned(), line });
        calls.push(InlinedAt {
            function: named.or_else(|| loader.find_symbol(at).map(demangle)),
            position: schema::Position { file: position.file, line: position.line },
            column: None,
        });
    }
    Some(calls)
}

fn read(site: CallSite) -> Option<Position> {
    // The call itself ends before the address that it returns to.
    let address = site.checked_sub(1)?;
    let (path, base) = object_of(address)?;
    let loader = Loader::new(path).ok()?;
    let at = loader.relative_address_base() + (address - base) as u64;
    let mut frames = loader.find_frames(at).ok()?;
    let mut innermost = None;
    while let Ok(Some(frame)) = frames.next() {
        let Some(location) = frame.location else {
            continue;
        };
        let (Some(file), Some(line)) = (location.file, location.line) else {
            continue;
        };
        let position = Position { file: file.to_owned(), line };
        if !is_system(file) {
            return Some(as_given(position));
        }
        innermost.get_or_insert(position);
    }
    innermost.map(as_given)
}

/// Headers of the toolkit wrap the launch functions: shown is who uses them.
fn is_system(file: &str) -> bool {
    let name = Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    file.starts_with("/usr/") || name.starts_with("cuda_runtime") || name == "launch.h"
}

/// Debug info has the whole path; the name that the compiler was given is what
/// the other positions of a report have.
fn as_given(position: Position) -> Position {
    let path = Path::new(&position.file);
    let modules = modules::loaded();
    let mut files = modules.iter().flat_map(|module| &module.meta.files);
    match files.find(|file| Path::new(&file.directory).join(&file.name) == path) {
        Some(file) => Position { file: file.name.clone(), ..position },
        None => position,
    }
}
