//! Runs a plan: each step in order. Explains the linker's errors about device code to the user.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpurace_abi::diagnostic::Diagnostic;
use gpurace_abi::image::{SectionKind, build_container};
use gpurace_abi::plugin;

use crate::clang_form;
use crate::diagnostic::{Error, Exit, remark, write_file as write};
use crate::plan::{Failure, GpuFiles, Plan, Step, ToolCommand};
use crate::response;
use crate::{headers, part};

mod gpu;

/// Runs the steps in order, until one fails. Returns how the last one ended, and how many succeeded. Messages start
/// with `program`. Response files go to `work`.
pub fn run(plan: &Plan, program: &str, verbose: bool, work: &Path) -> (Exit, usize) {
    let interrupted = match watch_signals() {
        Ok(flag) => flag,
        Err(e) => return (refused(Error::new(format!("cannot watch for signals: {e}")), program), 0),
    };
    for (index, step) in plan.steps.iter().enumerate() {
        if verbose {
            // clang's own `-v` goes to the same stream. A closed one is no reason to stop.
            let _ = io::stderr().write_all(step.render().as_bytes());
        }
        let response_file = work.join(format!("arguments-{index}"));
        let exit = run_step(step, program, &response_file).unwrap_or_else(|error| refused(error, program));
        match interrupted.load(Ordering::Relaxed) {
            0 if exit == Exit::Success => {}
            0 => return (exit, index),
            signal => return (Exit::Signal(signal as i32), index),
        }
    }
    (Exit::Success, plan.steps.len())
}

/// Runs a step. Returns how the program ends if it is the last one.
fn run_step(step: &Step, program: &str, response_file: &Path) -> Result<Exit, Error> {
    match step {
        Step::Clang(command) => return run_command(command, response_file),
        Step::Archive { command, output } => {
            // `ar` would keep members of an older archive.
            let _ = fs::remove_file(output);
            return run_command(command, response_file);
        }
        Step::Linked { command, settings } => {
            return run_command(&with_settings(command, settings)?, response_file);
        }
        Step::Image { command, source, linked } => {
            let place = if *linked { Place::Link } else { Place::Source(source) };
            return link_image(command, place, program, response_file);
        }
        Step::Diagnostics { file, errors, settings } => {
            let settings = settings.as_deref().filter(|_| !errors).map(part::settings).transpose()?;
            return diagnostics(file, *errors || settings.is_some_and(|settings| settings.werror));
        }
        Step::Header { from, to } => adapt(from, to)?,
        Step::Overlay { text, to } => write(to, text)?,
        Step::Gpu { ptx, sass, files, source, failure } => {
            gpu::make(ptx, sass.as_ref(), files, response_file)
                .or_else(|why| gpu::failed(&why, source, files, *failure))?;
        }
        Step::Container { image, meta, proofs, gpus, no_gpu, output } => {
            pack(image.as_deref(), meta, proofs, gpu_sections(gpus, no_gpu.as_ref())?, output)?;
        }
        Step::Joined { parts, output } => join(parts, output.as_deref())?,
        Step::Unit { bitcode, symbols, unit, container, declarations } => {
            part::pack(bitcode, symbols, unit.as_ref().clone(), container, declarations)?;
        }
        Step::Units { files, config, arch } => part::unpack(files, config, arch)?,
    }
    Ok(Exit::Success)
}

/// Replaces this process by the plan's only command, so that signals, streams and exit status are clang's
/// own. Returns only if that fails.
pub fn become_command(command: &ToolCommand, program: &str) -> Exit {
    let error = std::process::Command::new(&command.program).args(&command.args).exec();
    refused(cannot_run(command, &error), program)
}

fn refused(error: Error, program: &str) -> Exit {
    error.print(program);
    Exit::Refused
}

fn cannot_run(command: &ToolCommand, error: &io::Error) -> Error {
    Error::new(format!("cannot run `{}`: {error}", command.program.display()))
}

/// Returns a flag that holds the last signal that ends a build, or 0. Because the signal is handled, this
/// process can still remove the temporary files. The child gets the signal from the terminal too.
fn watch_signals() -> io::Result<Arc<AtomicUsize>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let flag = Arc::new(AtomicUsize::new(0));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register_usize(signal, Arc::clone(&flag), signal as usize)?;
    }
    Ok(flag)
}

/// Returns a process for a command. If the command is long, writes its arguments to the response file.
fn prepare(command: &ToolCommand, response_file: &Path) -> Result<std::process::Command, Error> {
    let mut process = std::process::Command::new(&command.program);
    process.envs(command.env.iter().map(|(name, value)| (name, value)));
    if command.is_long() {
        write(response_file, response::render(&command.args))?;
        let mut word = OsString::from("@");
        word.push(response_file);
        process.arg(word);
    } else {
        process.args(&command.args);
    }
    Ok(process)
}

fn run_command(command: &ToolCommand, response_file: &Path) -> Result<Exit, Error> {
    let status = prepare(command, response_file)?.status();
    status.map(exit_of).map_err(|error| cannot_run(command, &error))
}

/// True if clang finds no error in the sources of a command when it also gets these options. It says nothing.
pub fn reads_with(command: &ToolCommand, options: &[&str]) -> bool {
    let mut process = std::process::Command::new(&command.program);
    process.envs(command.env.iter().map(|(name, value)| (name, value)));
    process.args(&command.args).args(["-fsyntax-only", "-w"]).args(options);
    process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A system refuses a command that is too long.
    process.status().is_ok_and(|status| status.success())
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(0), _) => Exit::Success,
        (Some(code), _) => Exit::Step(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

/// Returns the command with the plugin's configuration in its environment.
fn with_settings(command: &ToolCommand, settings: &Path) -> Result<ToolCommand, Error> {
    let json = serde_json::to_string(&part::settings(settings)?).unwrap_or_default();
    let mut command = command.clone();
    command.env.push((plugin::VARIABLE.to_owned(), json));
    Ok(command)
}

/// The place where device code is defined, for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// In this source alone.
    Source(&'a str),
    /// In any object of the link.
    Link,
}

/// Links a host image. Names what is undefined in it.
fn link_image(
    command: &ToolCommand,
    place: Place,
    program: &str,
    response_file: &Path,
) -> Result<Exit, Error> {
    let output = prepare(command, response_file)?.stdin(Stdio::null()).output();
    let output = output.map_err(|error| cannot_run(command, &error))?;
    let exit = exit_of(output.status);
    if exit == Exit::Success {
        return Ok(exit);
    }
    let mut undefined = undefined_symbols(&String::from_utf8_lossy(&output.stderr));
    undefined.dedup_by(|next, last| launches_kernels(&next.name) && launches_kernels(&last.name));
    if undefined.is_empty() {
        // Only the linker's own words can explain this.
        let _ = io::stderr().write_all(&output.stderr);
        return Err(match place {
            Place::Source(source) => Error::new(format!("the device code of `{source}` did not link")),
            Place::Link => Error::new("the device code of the program did not link"),
        });
    }
    for symbol in &undefined {
        explain_undefined(symbol, place).print(program);
    }
    Ok(exit)
}

fn adapt(from: &Path, to: &Path) -> Result<(), Error> {
    let text = fs::read_to_string(from).map_err(Error::cannot("read", from))?;
    // The header may have changed since the plan was made. Then it is copied as it is.
    write(to, headers::adapt(from, &text).unwrap_or(text).as_bytes())?;
    // Precompiled headers are taken only if what they read has its time.
    if let Ok(time) = fs::metadata(from).and_then(|found| found.modified()) {
        let _ = fs::File::options().write(true).open(to).and_then(|copy| copy.set_modified(time));
    }
    Ok(())
}

/// A name that a device image uses and nothing defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undefined {
    /// The name, demangled.
    pub name: String,
    /// `file:line` of the first use, if the object has it.
    pub referenced_at: Option<String>,
}

/// Returns the undefined symbols that lld printed.
pub fn undefined_symbols(said: &str) -> Vec<Undefined> {
    let mut found: Vec<Undefined> = Vec::new();
    for line in said.lines() {
        if let Some((_, name)) = line.split_once("error: undefined symbol: ") {
            found.push(Undefined { name: name.to_owned(), referenced_at: None });
        } else if let (Some(place), Some(last)) = (line.strip_prefix(">>> referenced by "), found.last_mut())
        {
            let short = place.split(" (").next().unwrap_or(place);
            let has_line = short.rsplit_once(':').is_some_and(|(_, n)| n.parse::<u32>().is_ok());
            if has_line && last.referenced_at.is_none() {
                last.referenced_at = Some(short.to_owned());
            }
        }
    }
    found
}

/// True if this function of CUDA's device runtime launches a kernel from a kernel.
fn launches_kernels(name: &str) -> bool {
    name.starts_with("__cudaCDP2") || name.starts_with("cudaGetParameterBuffer")
}

/// The function of `cuda::ptx` that a name stands for, and the first architecture that has it. libcu++ refers to such a
/// name where it is compiled for an older one.
fn newer_gpu(name: &str) -> Option<(&str, &str)> {
    let (function, arch) = name.split_once("_is_not_supported_before_SM_")?;
    Some((function.trim_start_matches("__cuda_ptx_"), arch.split('_').next()?))
}

/// Explains an undefined name to the user.
pub fn explain_undefined(symbol: &Undefined, place: Place) -> Error {
    let name = &symbol.name;
    let at = match &symbol.referenced_at {
        Some(place) => format!(" (used at {place})"),
        None => String::new(),
    };
    if name.starts_with("__gpurace_") {
        return Error::new(format!("the runtime does not define `{name}`, which the plugin uses"))
            .hint("plugin and runtime come from different builds: run `scripts/setup` again");
    }
    if launches_kernels(name) {
        return Error::new(format!("kernels that launch kernels are not supported{at}"))
            .hint("launch them from the host, or leave the file out of the check");
    }
    if name.starts_with("llvm.") || name.starts_with("__nv") {
        let file = match place {
            Place::Source(source) => format!(" in `{source}`"),
            Place::Link => String::new(),
        };
        return Error::new(format!("the CPU executor does not support `{name}`{at}{file}"));
    }
    if let Some((function, arch)) = newer_gpu(name) {
        return Error::new(format!("`{function}` needs `sm_{arch}`{at}"))
            .hint(format!("build for it: `--cuda-gpu-arch=sm_{arch}`"));
    }
    let kind = if name.ends_with(')') { "function" } else { "symbol" };
    match place {
        Place::Source(source) => {
            Error::new(format!("device {kind} `{name}` is declared but not defined in `{source}`{at}"))
                .hint("define it in the same file, or compile all files and link with `-fgpu-rdc`")
        }
        Place::Link => Error::new(format!("no object of this link defines device {kind} `{name}`{at}"))
            .hint("compile the file that defines it with `-fgpu-rdc`, and link its object or archive"),
    }
}

/// Returns the sections for GPUs: code, or a note that says why there is none.
fn gpu_sections(
    files: &[GpuFiles],
    why_not: Option<&(String, Failure)>,
) -> Result<Vec<(SectionKind, Vec<u8>)>, Error> {
    if let Some((why, failure)) = why_not {
        if *failure == Failure::Remark {
            remark("gclang", &format!("no code for a GPU was made: {why}"));
        }
        return Ok(vec![(SectionKind::GpuNote, why.clone().into_bytes())]);
    }
    gpu::sections(files)
}

/// Writes a container.
fn pack(
    image: Option<&Path>,
    meta: &Path,
    proofs: &Path,
    gpu: Vec<(SectionKind, Vec<u8>)>,
    output: &Path,
) -> Result<(), Error> {
    let (image, meta) = (image.map(read).transpose()?, read(meta)?);
    let mut sections = vec![(SectionKind::Meta, &meta[..])];
    if let Some(image) = &image {
        sections.insert(0, (SectionKind::HostImage, image));
    }
    sections.extend(gpu.iter().map(|(kind, content)| (*kind, &content[..])));
    let proofs = if proofs.exists() { read(proofs)? } else { Vec::new() };
    if !proofs.is_empty() {
        sections.push((SectionKind::Proofs, &proofs));
    }
    write(output, build_container(&sections))
}

/// Writes files one after the other into one.
fn join(parts: &[PathBuf], output: Option<&Path>) -> Result<(), Error> {
    let mut text = Vec::new();
    for part in parts {
        text.extend(read(part)?);
    }
    match output {
        Some(output) => write(output, &text),
        None => io::stdout()
            .write_all(&text)
            .map_err(|e| Error::new(format!("cannot write to standard output: {e}"))),
    }
}

/// Prints the diagnostics of the plugin in clang's form. The build ends if one is an error.
fn diagnostics(file: &Path, errors: bool) -> Result<Exit, Error> {
    if !file.exists() {
        return Ok(Exit::Success);
    }
    let diagnostics: Vec<Diagnostic> =
        serde_json::from_slice(&read(file)?).map_err(|e| cannot_read(file, &e))?;
    let (text, ends) = clang_form::render(&diagnostics, errors);
    anstream::eprint!("{text}");
    Ok(if ends { Exit::Step(1) } else { Exit::Success })
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|e| cannot_read(path, &e))
}

fn cannot_read(path: &Path, error: &dyn std::error::Error) -> Error {
    Error::new(format!("cannot read `{}`: {error}", path.display()))
        .hint("the plugin writes this file: plugin and driver may come from different builds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lld_s_words_are_understood() {
        let said = "\
ld.lld: error: undefined symbol: foo(int)
>>> referenced by img2.c:1 (/src/img2.c:1)
>>>               img2.o:(__gpurace_image)
ld.lld: error: undefined symbol: table
>>> referenced by img2.o:(.text+0x1)
clang-22: error: linker command failed with exit code 1 (use -v to see invocation)
";
        let found = undefined_symbols(said);
        assert_eq!(
            found,
            [
                Undefined { name: "foo(int)".into(), referenced_at: Some("img2.c:1".into()) },
                Undefined { name: "table".into(), referenced_at: None },
            ]
        );
        insta::assert_snapshot!(explain_undefined(&found[0], Place::Source("img2.cu")), @r"
        error: device function `foo(int)` is declared but not defined in `img2.cu` (used at img2.c:1)
        hint: define it in the same file, or compile all files and link with `-fgpu-rdc`
        ");
        insta::assert_snapshot!(explain_undefined(&found[0], Place::Link), @r"
        error: no object of this link defines device function `foo(int)` (used at img2.c:1)
        hint: compile the file that defines it with `-fgpu-rdc`, and link its object or archive
        ");
        insta::assert_snapshot!(explain_undefined(&found[1], Place::Source("img2.cu")), @r"
        error: device symbol `table` is declared but not defined in `img2.cu`
        hint: define it in the same file, or compile all files and link with `-fgpu-rdc`
        ");
    }

    #[test]
    fn what_the_executor_lacks_is_not_blamed_on_the_user() {
        let error = |name: &str| {
            explain_undefined(&Undefined { name: name.into(), referenced_at: None }, Place::Source("a.cu"))
                .to_string()
        };
        insta::assert_snapshot!(error("__gpurace_warp"), @r"
        error: the runtime does not define `__gpurace_warp`, which the plugin uses
        hint: plugin and runtime come from different builds: run `scripts/setup` again
        ");
        insta::assert_snapshot!(error("__cudaCDP2LaunchDevice"), @r"
        error: kernels that launch kernels are not supported
        hint: launch them from the host, or leave the file out of the check
        ");
        insta::assert_snapshot!(error("__cuda_ptx_cp_async_bulk_is_not_supported_before_SM_90__"), @r"
        error: `cp_async_bulk` needs `sm_90`
        hint: build for it: `--cuda-gpu-arch=sm_90`
        ");
        insta::assert_snapshot!(error("llvm.nvvm.x"), @"error: the CPU executor does not support `llvm.nvvm.x` in `a.cu`");
    }

    #[test]
    fn long_commands_travel_in_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let long = "x".repeat(crate::plan::LONGEST_COMMAND);
        let command = ToolCommand {
            program: "/bin/true".into(),
            args: vec![long.into(), "a b".into()],
            env: Vec::new(),
        };
        let file = dir.path().join("arguments");
        let process = prepare(&command, &file).unwrap();
        let given: Vec<_> = process.get_args().map(ToOwned::to_owned).collect();
        assert_eq!(response::expand(given), command.args);
    }

    #[test]
    fn statuses_are_the_step_s_own() {
        let run = |script: &str| {
            let args = vec!["-c".into(), script.into()];
            let command = ToolCommand { program: "/bin/sh".into(), args, env: Vec::new() };
            run_command(&command, Path::new("/nonexistent/arguments")).unwrap()
        };
        assert_eq!(run("exit 0").code(), 0);
        assert_eq!(run("exit 70").code(), 70);
        assert_eq!(run("kill -9 $$").code(), 137);
    }
}
