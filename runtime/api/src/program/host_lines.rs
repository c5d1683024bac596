//! The source lines of the host program's calls, from the program's debug info. They are read only
//! when a report needs them.

use std::collections::HashMap;
use std::ffi::CStr;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use gpurace_report::demangle;
use gpurace_report::schema::{self, InlinedAt};
use parking_lot::Mutex;

use crate::host::stack::{CallSite, Callers, LaunchStack};
use crate::program::modules;

/// A position in the host program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPosition {
    /// Source file, as its name was passed to the compiler if that is known.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// The position of the call that returns to `site`. `None` without debug info.
pub fn position(site: CallSite) -> Option<HostPosition> {
    static KNOWN: Mutex<Option<HashMap<CallSite, Option<HostPosition>>>> = Mutex::new(None);
    let mut known = KNOWN.lock();
    known.get_or_insert_with(HashMap::new).entry(site).or_insert_with(|| read(site)).clone()
}

/// The innermost position in user code. Headers of the toolkit wrap some functions: then it is that
/// of their caller.
pub fn position_in_user_code(callers: &Callers) -> Option<HostPosition> {
    let mut known = callers.iter().filter_map(|&caller| position(caller));
    let first = known.next()?;
    if !is_system(&first.file) {
        return Some(first);
    }
    Some(known.find(|p| !is_system(&p.file)).unwrap_or(first))
}

/// The file that is mapped at `address`, and the start of its mapping.
fn object_of(address: usize) -> Option<(PathBuf, usize)> {
    // SAFETY: all fields may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` takes any address and writes `info`.
    if unsafe { libc::dladdr(address as *const _, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a C string of the loader's.
    let name = unsafe { CStr::from_ptr(info.dli_fname) }.to_str().ok()?;
    // The name of the main program is its first argument, which need not be a path.
    let is_file = Path::new(name).is_file() && name.contains('/');
    let path = if is_file { name.into() } else { PathBuf::from("/proc/self/exe") };
    Some((path, info.dli_fbase as usize))
}

/// The calls in user code that led to the launch at the position `launch`, which comes first. Empty
/// if there is only that one, or if it is not among them.
pub fn calls(stack: &LaunchStack, launch: &HostPosition) -> Vec<InlinedAt> {
    let mut calls: Vec<InlinedAt> = Vec::new();
    for &site in stack.iter().take_while(|&&site| site != 0) {
        for call in frames(site).unwrap_or_default() {
            // Stubs and wrappers come before the launch itself.
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

/// The calls of user code at an address, the innermost first: one, and those that it was inlined
/// into.
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
        // Line tables have no name for a function that nothing is inlined into.
        let named = frame.function.and_then(|name| name.raw_name().ok().map(|name| demangle(&name)));
        let position = as_given(HostPosition { file: file.to_owned(), line });
        calls.push(InlinedAt {
            function: named.or_else(|| loader.find_symbol(at).map(demangle)),
            position: schema::Position { file: position.file, line: position.line },
            column: None,
        });
    }
    Some(calls)
}

fn read(site: CallSite) -> Option<HostPosition> {
    // The call instruction ends before the address that it returns to.
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
        let position = HostPosition { file: file.to_owned(), line };
        if !is_system(file) {
            return Some(as_given(position));
        }
        innermost.get_or_insert(position);
    }
    innermost.map(as_given)
}

/// True for headers of the system and of the toolkit, which wrap the launch functions.
fn is_system(file: &str) -> bool {
    let name = Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    file.starts_with("/usr/") || name.starts_with("cuda_runtime") || name == "launch.h"
}

/// The position with the file name that was passed to the compiler, as in the other positions of a
/// report. Debug info has the whole path.
fn as_given(position: HostPosition) -> HostPosition {
    let path = Path::new(&position.file);
    let modules = modules::loaded();
    let mut files = modules.iter().flat_map(|module| &module.meta.files);
    match files.find(|file| Path::new(&file.directory).join(&file.name) == path) {
        Some(file) => HostPosition { file: file.name.clone(), ..position },
        None => position,
    }
}
