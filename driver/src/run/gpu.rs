//! Makes code for GPUs and puts it into the container. If it cannot be made, the container has the reason,
//! and the program runs on the executor. If the program has no code for the executor, the build fails.

use std::path::Path;
use std::process::Stdio;

use gpurace_abi::gpu_code::{self, Arch};
use gpurace_abi::image::SectionKind;

use super::{prepare, read, write};
use crate::diagnostic::{Error, remark};
use crate::plan::{Failure, GpuFiles, ToolCommand, checks_on, too_old};

/// Makes PTX, and machine code if `sass` is given.
///
/// # Errors
/// The reason why there is no code, in one line.
pub fn make(
    ptx: &ToolCommand,
    sass: Option<&ToolCommand>,
    files: &GpuFiles,
    response_file: &Path,
) -> Result<(), String> {
    if let Ok(why) = std::fs::read_to_string(&files.from_plugin.note) {
        return Err(why);
    }
    quietly(ptx, response_file)?;
    let target = target(&std::fs::read(&files.ptx).unwrap_or_default())?;
    if !checks_on(&target) {
        return Err(too_old(&target));
    }
    let Some(sass) = sass else { return Ok(()) };
    let mut command = sass.clone();
    if files.arch.is_none() {
        command.args.push(format!("-arch={target}").into());
    }
    quietly(&command, response_file)
}

/// Returns the architecture that PTX names, such as `sm_80`.
fn target(ptx: &[u8]) -> Result<String, String> {
    let mut lines = ptx.split(|&c| c == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let named = lines.find_map(|line| line.strip_prefix(".target "));
    let name = named.and_then(|named| named.split([',', ' ']).next());
    name.map(str::to_owned).ok_or_else(|| "internal error: the PTX names no architecture".to_owned())
}

/// Notes in the container, and to the user if `failure` says so, that there is no code for a GPU.
///
/// # Errors
/// The same text, if the program would have no code at all.
pub fn failed(why: &str, source: &str, files: &GpuFiles, failure: Failure) -> Result<(), Error> {
    let text = format!("no code for a GPU was made from `{source}`: {why}");
    match failure {
        Failure::Error => {
            return Err(Error::new(text).hint("`-fgpurace-exec=cpu` checks it on the host's processor"));
        }
        Failure::Remark => remark("gclang", &text),
        Failure::Silent => {}
    }
    for file in [&files.ptx, &files.sass] {
        // The file may be incomplete.
        let _ = std::fs::remove_file(file);
    }
    write(&files.from_plugin.note, why.as_bytes())
}

/// Returns the container's sections: the code that was made, or the reason why there is none.
///
/// # Errors
/// A file cannot be read.
pub fn sections(all: &[GpuFiles]) -> Result<Vec<(SectionKind, Vec<u8>)>, Error> {
    let (without, with): (Vec<_>, Vec<_>) = all.iter().partition(|files| files.from_plugin.note.exists());
    if let (Some(files), []) = (without.first(), &with[..]) {
        return Ok(vec![(SectionKind::GpuNote, read(&files.from_plugin.note)?)]);
    }
    let mut out = Vec::new();
    for files in with {
        let mut ptx = read(&files.ptx)?;
        let name = target(&ptx).map_err(Error::new)?;
        let arch =
            Arch::of_name(&name).ok_or_else(|| Error::new(format!("internal error: PTX for `{name}`")))?;
        // The GPU's driver expects a nul at the end of the text.
        ptx.push(0);
        // The description comes first. The sections that follow it are for the same architecture.
        out.push((SectionKind::GpuMeta, read(&files.from_plugin.meta)?));
        out.push((SectionKind::GpuPtx, gpu_code::section(arch, &ptx)));
        if files.sass.exists() {
            out.push((SectionKind::GpuSass, gpu_code::section(arch, &read(&files.sass)?)));
        }
    }
    Ok(out)
}

/// Runs a command without showing its output. Returns the first line with an error if it fails.
fn quietly(command: &ToolCommand, response_file: &Path) -> Result<(), String> {
    let name = command.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let output = prepare(command, response_file)
        .map_err(|e| e.to_string())?
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cannot run `{}`: {e}", command.program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said
        .lines()
        .find(|line| line.contains("error"))
        .or(said.lines().next())
        .unwrap_or("it gives no reason");
    Err(format!("`{name}` failed: {}", line.trim()))
}
