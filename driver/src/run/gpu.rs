//! Code for a GPU. Where it cannot be made, the program says so and runs on the
//! executor, unless it has no code for that.

use std::path::Path;
use std::process::Stdio;

use gpurace_abi::image::{SectionKind, gpu_section};

use super::{prepare, read, write};
use crate::diagnostic::Error;
use crate::plan::{Command, Failure, GpuFiles};

/// Makes PTX, and the processor's own code where `sass` says how.
///
/// # Errors
/// Why there is none, in a line.
pub fn make(ptx: &Command, sass: Option<&Command>, files: &GpuFiles, response_file: &Path) -> Result<(), String> {
    if let Ok(why) = std::fs::read_to_string(&files.from_plugin.note) {
        return Err(why);
    }
    quietly(ptx, response_file)?;
    sass.map_or(Ok(()), |command| quietly(command, response_file))
}

/// Says that there is no code for a GPU, in the container too.
///
/// # Errors
/// The same, where the program would have no code at all.
pub fn failed(why: &str, source: &str, files: &GpuFiles, failure: Failure) -> Result<(), Error> {
    let text = format!("no code for a GPU was made of `{source}`: {why}");
    match failure {
        Failure::Ends => return Err(Error::new(text).hint("`-fgpurace-exec=cpu` checks it on the host's processor")),
        Failure::IsSaid => anstream::eprintln!("gclang: remark: {text}"),
        Failure::IsNoted => {}
    }
    for file in [&files.ptx, &files.sass] {
        // What is there may be half of it.
        let _ = std::fs::remove_file(file);
    }
    write(&files.from_plugin.note, why.as_bytes())
}

/// The container's sections.
///
/// # Errors
/// Names a file that cannot be read.
pub fn sections(files: &GpuFiles) -> Result<Vec<(SectionKind, Vec<u8>)>, Error> {
    if files.from_plugin.note.exists() {
        return Ok(vec![(SectionKind::GpuNote, read(&files.from_plugin.note)?)]);
    }
    // The driver wants text that ends.
    let mut ptx = read(&files.ptx)?;
    ptx.push(0);
    let mut out = vec![
        (SectionKind::GpuMeta, read(&files.from_plugin.meta)?),
        (SectionKind::GpuPtx, gpu_section(files.arch, &ptx)),
    ];
    if files.sass.exists() {
        out.push((SectionKind::GpuSass, gpu_section(files.arch, &read(&files.sass)?)));
    }
    Ok(out)
}

/// Runs a command; what it says is the error.
fn quietly(command: &Command, response_file: &Path) -> Result<(), String> {
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
    let line = said.lines().find(|line| line.contains("error")).or(said.lines().next()).unwrap_or("it says nothing");
    Err(format!("`{name}` failed: {}", line.trim()))
}
