//! Which backend a program gets.
//!
//! `device=auto` takes the GPU where there is one and the whole program can run on it:
//! each module has code for it, and nothing that the program is linked to is a function that the
//! backend lacks. That is decided once, when the backend is first needed, and a
//! program with code for a GPU says in a line why it does not run there.

use std::ffi::{CStr, c_int, c_void};
use std::path::PathBuf;

use gpurace_options::Device;
use object::{Object, ObjectSymbol};

use super::{Backend, executor::OnHost, gpu};
use crate::finish;
use crate::message;
use crate::modules::{self, Payload};
use crate::session;

static HOST: OnHost = OnHost;

/// The backend for the program as it is registered now.
pub fn choose() -> &'static dyn Backend {
    let payloads = modules::payloads();
    match session::get().options.device {
        Device::Cpu => &HOST,
        // No code for a GPU was asked for, or there is none and no driver that would take it: there is nothing to say.
        Device::Auto if payloads.iter().all(|payload| payload.gpu.is_none()) => &HOST,
        Device::Auto if !payloads.iter().any(is_for_gpu) && gpu::has_driver().is_err() => &HOST,
        Device::Auto => suits(&payloads).and_then(|()| gpu::open(&payloads)).unwrap_or_else(|why| {
            match payloads.iter().all(|payload| payload.image.is_some()) {
                true => message::note(&format!("{why}; kernels run on the CPU executor")),
                false => message::error(&why),
            }
            &HOST
        }),
        Device::Cuda => has_code(&payloads).and_then(|()| gpu::open(&payloads)).unwrap_or_else(|why| {
            message::error(&format!("`device=cuda`: {why}"));
            message::hint("leave `device` out, or set `device=cpu`");
            finish::exit_now(finish::FAILED)
        }),
    }
}

fn is_for_gpu(payload: &Payload) -> bool {
    matches!(payload.gpu, Some(Ok(_)))
}

/// Why the program cannot run on a GPU as a whole.
fn suits(payloads: &[Payload]) -> Result<(), String> {
    gpu::has_driver()?;
    has_code(payloads)?;
    match imports().into_iter().find_map(|name| Some((gpu::lacks(&name)?, name))) {
        Some((why, name)) => Err(format!("the program calls `{name}`, and {why}")),
        None => Ok(()),
    }
}

/// Why there is no code for a GPU of some module.
fn has_code(payloads: &[Payload]) -> Result<(), String> {
    let lacking = payloads.iter().find(|payload| !is_for_gpu(payload));
    match lacking.map(|payload| payload.gpu) {
        None => Ok(()),
        Some(Some(Err(why))) => Err(format!("the program has a file without code for a GPU: {why}")),
        Some(_) => Err("the program has a file without code for a GPU: build it with `-fgpurace-exec=auto`".to_owned()),
    }
}

/// The functions that the program and its libraries take from others, by name.
fn imports() -> Vec<String> {
    let mut names = Vec::new();
    for path in loaded_files() {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let Ok(file) = object::File::parse(&*bytes) else { continue };
        let wanted = file.dynamic_symbols().filter(|symbol| symbol.is_undefined());
        names.extend(wanted.filter_map(|symbol| symbol.name().ok().map(str::to_owned)));
    }
    names
}

/// The files of this process's code, the system's left out.
fn loaded_files() -> Vec<PathBuf> {
    extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, files: *mut c_void) -> c_int {
        // SAFETY: the loader's structure, and what `loaded_files` has passed.
        let (info, files) = unsafe { (&*info, &mut *files.cast::<Vec<PathBuf>>()) };
        // SAFETY: a C string of the loader's, or null.
        let name = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
        match name.to_str() {
            // The program itself has none.
            Ok("") if files.is_empty() => files.push(PathBuf::from("/proc/self/exe")),
            Ok(path) if path.starts_with('/') && !["/lib", "/usr/lib"].iter().any(|system| path.starts_with(system)) => {
                files.push(PathBuf::from(path));
            }
            _ => {}
        }
        0
    }
    let mut files: Vec<PathBuf> = Vec::new();
    // SAFETY: `add` takes what it is given here.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut files).cast()) };
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(gpu: Option<Result<(), &'static str>>) -> Payload {
        Payload { image: None, gpu: gpu.map(|gpu| gpu.map(|()| &[][..])), meta: b"", proofs: b"" }
    }

    #[test]
    fn every_module_needs_code() {
        assert_eq!(has_code(&[payload(Some(Ok(())))]), Ok(()));
        let why = has_code(&[payload(Some(Ok(()))), payload(Some(Err("it has clusters")))]).unwrap_err();
        assert!(why.ends_with("code for a GPU: it has clusters"), "{why}");
        assert!(has_code(&[payload(Some(Ok(()))), payload(None)]).is_err());
    }

    #[test]
    fn what_the_program_takes_from_others_is_known() {
        let imports = imports();
        assert!(imports.iter().any(|name| name == "malloc"), "{imports:?}");
        assert!(!imports.iter().any(|name| name == "cudaGraphLaunch"));
    }
}
