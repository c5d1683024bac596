//! The source lines of the host program's calls, from the program's debug info. They are read only
//! when a report needs them.

use std::path::Path;

use addr2line::Loader;
use gpurace_report::demangle;
use gpurace_report::schema::Call;

use crate::host::stack::{self, CallSite, Callers, LaunchStack};
use crate::program::python_stacks::PythonStackId;
use crate::program::{Program, device_lines};

/// A position in the host program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPosition {
    /// Source file, as its name was passed to the compiler if that is known.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: Option<u32>,
}

impl Program {
    /// The position of the call that returns to `site`. `None` without debug info.
    pub fn position(&self, site: CallSite) -> Option<HostPosition> {
        self.positions.lock().entry(site).or_insert_with(|| self.read_position(site)).clone()
    }

    /// The innermost position in user code. Headers of the toolkit wrap some functions: then it is
    /// that of their caller.
    pub fn position_in_user_code(&self, callers: &Callers) -> Option<HostPosition> {
        let mut known = callers.iter().filter_map(|&caller| self.position(caller));
        let first = known.next()?;
        if !is_system(&first.file) {
            return Some(first);
        }
        Some(known.find(|p| !is_system(&p.file)).unwrap_or(first))
    }

    /// File and line of a launch, and the calls in user code that led there: native ones, then those of Python. Without
    /// debug info of native code, the Python code is what launches.
    pub fn launched_at(
        &self,
        site: CallSite,
        stack: &LaunchStack,
        python: PythonStackId,
    ) -> (Option<String>, Option<u32>, Vec<Call>) {
        let python = self.python_stacks.calls(python);
        let in_python = |call: &Call| HostPosition { file: call.file.clone(), line: call.line, column: None };
        let Some(position) = self.position(site).or_else(|| python.first().map(in_python)) else {
            return (None, None, Vec::new());
        };
        let calls = self.calls(stack, python, &position);
        (Some(position.file), Some(position.line), calls)
    }

    /// The calls in user code that led to the launch at the position `launch`, which comes first, and the Python frames
    /// that led there. Empty if there is only that one, or if it is not among them.
    fn calls(&self, stack: &LaunchStack, python: Vec<Call>, launch: &HostPosition) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        // The interpreter's own calls are left out.
        let is_native = |site: usize| site != 0 && (python.is_empty() || !stack::is_in_python(site));
        for &site in stack.iter().take_while(|&&site| is_native(site)) {
            for call in self.calls_at(site).unwrap_or_default() {
                // Stubs and wrappers come before the launch itself.
                let is_launch = || call.file == launch.file && call.line == launch.line;
                if !calls.is_empty() || is_launch() {
                    calls.push(call);
                }
            }
            if calls.last().is_some_and(|call| call.function.as_deref() == Some("main")) {
                break;
            }
        }
        calls.extend(python);
        if calls.len() > 1 { calls } else { Vec::new() }
    }

    /// The calls of user code at a call site, the innermost first: one, and those that it was
    /// inlined into.
    fn calls_at(&self, site: CallSite) -> Option<Vec<Call>> {
        let (loader, at) = debug_info(site)?;
        let mut frames = loader.find_frames(at).ok()?;
        let mut calls = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let Some(position) = frame.location.and_then(known_position) else { continue };
            if is_system(&position.file) {
                continue;
            }
            // Line tables have no name for a function that nothing is inlined into.
            let named = frame.function.and_then(|name| name.raw_name().ok().map(|name| demangle(&name)));
            let position = self.as_given(position);
            calls.push(Call {
                function: named.or_else(|| loader.find_symbol(at).map(demangle)),
                file: position.file,
                line: position.line,
                column: None,
            });
        }
        Some(calls)
    }

    /// The position of an instruction of device code that runs on the host.
    pub fn device_position(&self, instruction: usize) -> Option<HostPosition> {
        device_lines::position(instruction).map(|position| self.as_given(position))
    }

    /// The position of a call, in the innermost function of user code that it was inlined into.
    fn read_position(&self, site: CallSite) -> Option<HostPosition> {
        let (loader, at) = debug_info(site)?;
        let mut frames = loader.find_frames(at).ok()?;
        let mut innermost = None;
        while let Ok(Some(frame)) = frames.next() {
            let Some(position) = frame.location.and_then(known_position) else { continue };
            if !is_system(&position.file) {
                return Some(self.as_given(position));
            }
            innermost.get_or_insert(position);
        }
        innermost.map(|position| self.as_given(position))
    }

    /// The position with the file name that was passed to the compiler, as in the other positions
    /// of a report. Debug info has the whole path.
    fn as_given(&self, position: HostPosition) -> HostPosition {
        let path = Path::new(&position.file);
        let modules = self.modules.loaded();
        let mut files = modules.iter().flat_map(|module| &module.meta.files);
        match files.find(|file| Path::new(&file.directory).join(&file.name) == path) {
            Some(file) => HostPosition { file: file.name.clone(), ..position },
            None => position,
        }
    }
}

/// The debug info of the call that returns to `site`, and the call's address in it.
fn debug_info(site: CallSite) -> Option<(Loader, u64)> {
    // The call instruction ends before the address that it returns to.
    let address = site.checked_sub(1)?;
    let object = stack::object_of(address)?;
    // The name of the main program is its first argument, which need not be a path.
    let name = object.name.to_str().ok()?;
    let is_file = Path::new(name).is_file() && name.contains('/');
    let loader = Loader::new(if is_file { name } else { "/proc/self/exe" }).ok()?;
    let at = loader.relative_address_base() + (address - object.base) as u64;
    Some((loader, at))
}

/// The position of a location, if file and line are known.
fn known_position(at: addr2line::Location<'_>) -> Option<HostPosition> {
    Some(HostPosition { file: at.file?.to_owned(), line: at.line?, column: at.column })
}

/// True for headers of the system and of the toolkit, which wrap the launch functions.
fn is_system(file: &str) -> bool {
    let name = Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    file.starts_with("/usr/") || name.starts_with("cuda_runtime") || name == "launch.h"
}
