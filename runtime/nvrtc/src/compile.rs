//! How gclang is run, and what it makes.

use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use data_encoding::BASE64;
use gpurace_abi::image::{Container, SectionKind, TEXT_HEAD, build_container};
use gpurace_abi::meta::ModuleMeta;

use crate::names;
use crate::options::Options;
use crate::program::Program;
use crate::status::Status;

/// What the compiler made.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// What it said: warnings.
    pub log: String,
    /// The container.
    pub binary: Vec<u8>,
    /// The container as text, in place of PTX. It ends with a nul.
    pub text: Vec<u8>,
    /// The mangled name of each name expression.
    pub lowered: Vec<CString>,
}

/// The file of the source and the folder of the headers, in a folder of their own.
const SOURCE: &str = "program.cu";
const HEADERS: &str = "headers";

/// Compiles a program.
///
/// # Errors
/// What the compiler said, and the status that tells of it.
pub fn compile(program: &Program, options: &Options) -> Result<Compiled, (String, Status)> {
    let broken = |what: &str| (format!("gpurace: {what}\n"), Status::BUILTIN_OPERATION_FAILURE);
    let compiler = compiler().map_err(|what| broken(&what))?;
    let folder = tempfile::Builder::new().prefix("gpurace-nvrtc-").tempdir();
    let folder = folder.map_err(|error| broken(&format!("cannot make a temporary folder: {error}")))?;
    let source = write(program, options, folder.path())
        .map_err(|error| broken(&format!("cannot write the program's files: {error}")))?;
    let output = folder.path().join("program.fatbin");
    let mut command = Command::new(&compiler);
    command.args(["-fsanitize=gpurace", "-fgpurace-exec=cpu", "--cuda-device-only"]);
    command.arg("-I").arg(folder.path().join(HEADERS));
    if !options.no_source_folder {
        let parent = Path::new(&program.name).parent().filter(|parent| !parent.as_os_str().is_empty());
        command.arg("-iquote").arg(parent.unwrap_or(Path::new(".")));
    }
    command.args(&options.words).args(["-x", "cu"]).arg(&source).arg("-o").arg(&output);
    let done =
        command.output().map_err(|error| broken(&format!("cannot run `{}`: {error}", compiler.display())))?;
    let log = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    if !done.status.success() {
        let status = match log.contains("unknown argument") {
            true => Status::INVALID_OPTION,
            false => Status::COMPILATION,
        };
        return Err((log, status));
    }
    let made =
        fs::read(&output).map_err(|error| broken(&format!("cannot read the compiler's output: {error}")))?;
    finished(&made, program, log, folder.path()).ok_or_else(|| broken("the compiler made no device code"))
}

/// Writes source and headers. Returns the path of the source.
fn write(program: &Program, options: &Options, folder: &Path) -> io::Result<PathBuf> {
    for header in &program.headers {
        let name = Path::new(&header.name);
        if !name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            let what = format!("the header `{}` would lie outside of their folder", header.name);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let path = folder.join(HEADERS).join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, &header.text)?;
    }
    let name = program.name.replace('\\', "\\\\").replace('"', "\\\"");
    // NVRTC defines the macro, and has `assert` without a header.
    let mut text = b"#include <assert.h>\n#define __CUDACC_RTC__ 1\n".to_vec();
    if options.default_device {
        text.extend_from_slice(b"#pragma clang force_cuda_host_device begin\n");
    }
    text.extend_from_slice(format!("#line 1 \"{name}\"\n").as_bytes());
    text.extend_from_slice(&program.source);
    text.extend_from_slice(names::questions(&program.expressions).as_bytes());
    if options.default_device {
        text.extend_from_slice(b"\n#pragma clang force_cuda_host_device end\n");
    }
    let path = folder.join(SOURCE);
    fs::write(&path, text)?;
    Ok(path)
}

/// Puts the texts of source and headers into the container, which outlives their files. `None` if gclang made none.
fn finished(made: &[u8], program: &Program, log: String, folder: &Path) -> Option<Compiled> {
    let container = Container::at_start_of(made).ok()?;
    let mut meta: ModuleMeta = serde_json::from_slice(container.find(SectionKind::Meta)?).ok()?;
    let headers = folder.join(HEADERS);
    for file in &mut meta.files {
        let path = Path::new(&file.directory).join(&file.name);
        let text = match path.strip_prefix(&headers) {
            Ok(name) => {
                let header = program.headers.iter().find(|header| Path::new(&header.name) == name);
                file.name = name.to_string_lossy().into_owned();
                header.map(|header| &header.text)
            }
            Err(_) => {
                let names = [Path::new(&file.name), &path];
                names.contains(&Path::new(&program.name)).then_some(&program.source)
            }
        };
        file.text = text.map(|text| String::from_utf8_lossy(text).into_owned());
    }
    program.name.clone_into(&mut meta.source);
    let kernels = || meta.kernels.iter().map(|kernel| &*kernel.name);
    let lowered = (0..program.expressions.len())
        .map(|number| CString::new(names::answer(number, kernels())?).ok())
        .collect::<Option<Vec<_>>>()?;
    let meta = serde_json::to_vec(&meta).ok()?;
    let sections = [SectionKind::HostImage, SectionKind::Proofs].into_iter();
    let mut sections: Vec<_> =
        sections.filter_map(|kind| container.find(kind).map(|content| (kind, content))).collect();
    sections.push((SectionKind::Meta, &meta));
    let binary = build_container(&sections);
    let text = [TEXT_HEAD.as_bytes(), BASE64.encode(&binary).as_bytes(), b"\n\0"].concat();
    Some(Compiled { log, binary, text, lowered })
}

/// gclang, beside this library or in `bin` of its prefix.
fn compiler() -> Result<PathBuf, String> {
    let library = own_path().ok_or("cannot find the path of `libgpurace_nvrtc.so`")?;
    let folder = library.parent().unwrap_or(Path::new("/"));
    let places = [folder.join("gclang++"), folder.join("../../bin/gclang++")];
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
        format!("`gclang++` was not found beside `{}` or in `bin` of its prefix", library.display())
    })
}

/// The path of this library, with links resolved.
fn own_path() -> Option<PathBuf> {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let inside = own_path as fn() -> Option<PathBuf>;
    // SAFETY: it writes to `found`, which is valid.
    let is_found = unsafe { libc::dladdr(inside as *const libc::c_void, &raw mut found) } != 0;
    if !is_found || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of this library, which stays loaded while this runs.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
}
