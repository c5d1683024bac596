//! Precompiled headers. Without them, clang would spend most of the time of a small program on CUDA's
//! headers, which it reads once for the host and once for the device.
//!
//! clang searches a folder `NAME.gch` beside the header of its first `-include`. That header is gclang's
//! `gpurace/nvcc_compat.h`. clang takes the file in the folder that was made for exactly the same language,
//! macros and target. Therefore one folder holds a file for the host and one for the device, and each
//! kind of build, optimisation level and list of flags has a folder of its own. The compiled code is the same
//! as without precompiled headers.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use crate::toolchain::{run, tool, work_folder};

/// Large headers that several programs include.
const SLOW_HEADERS: &[&str] = &["cooperative_groups.h", "cuda/atomic", "cuda/ptx", "cuda_pipeline.h"];

/// The properties of a compilation that its precompiled headers depend on. Compilations with the same key
/// share the headers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct HeadersKey {
    sanitize: bool,
    opt: String,
    flags: Vec<String>,
    headers: BTreeSet<&'static str>,
}

type Cached = Arc<OnceLock<Result<PathBuf, String>>>;

static FOLDERS: Mutex<Option<HashMap<HeadersKey, Cached>>> = Mutex::new(None);

/// Gives compilations in `folder` the precompiled headers that a program with the text `source` needs. The
/// first compilation with these headers makes them.
///
/// # Errors
/// If the headers cannot be compiled, or the link to them cannot be made.
pub fn provide(folder: &Path, source: &str, sanitize: bool, opt: &str, flags: &[&str]) -> Result<(), String> {
    let included = |h: &&str| source.contains(&format!("#include <{h}>"));
    let key = HeadersKey {
        sanitize,
        opt: opt.to_owned(),
        flags: flags.iter().filter(|flag| !flag.starts_with("-l")).map(|&flag| flag.to_owned()).collect(),
        headers: SLOW_HEADERS.iter().copied().filter(included).collect(),
    };
    let (cell, number) = {
        let mut folders = FOLDERS.lock().map_err(|e| e.to_string())?;
        let folders = folders.get_or_insert_default();
        let number = folders.len();
        (folders.entry(key.clone()).or_default().clone(), number)
    };
    let made = cell.get_or_init(|| make(&key, &work_folder(&format!("precompiled_headers_{number}"))?));
    let made = made.as_ref().map_err(Clone::clone)?;
    let link = folder.join("gpurace");
    // An earlier build in this folder may have used other headers.
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(made.join("gpurace"), &link).map_err(|e| format!("{}: {e}", link.display()))
}

/// Compiles the headers of a key into a folder.
fn make(key: &HeadersKey, folder: &Path) -> Result<PathBuf, String> {
    let headers = folder.join("gpurace/nvcc_compat.h.gch");
    std::fs::create_dir_all(&headers).map_err(|e| format!("{}: {e}", headers.display()))?;
    // In this folder clang finds no precompiled header.
    let plain = folder.join("plain");
    std::fs::create_dir_all(&plain).map_err(|e| format!("{}: {e}", plain.display()))?;
    let source = plain.join("headers.cu");
    let lines: String = key.headers.iter().map(|h| format!("#include <{h}>\n")).collect();
    std::fs::write(&source, lines).map_err(|e| format!("{}: {e}", source.display()))?;
    let gclang = |mode: &str| {
        let mut command = Command::new(tool("gclang++")?);
        command.args([mode, "-save-temps", "-fgpurace-exec=cpu"]);
        if key.sanitize {
            command.arg("-fsanitize=gpurace");
        }
        command.arg(format!("-{}", key.opt));
        command.args(&key.flags);
        command.arg(&source).args(["-o", "unused"]).current_dir(&plain);
        run(&mut command, &plain)
    };
    // Leaves the adapted copies of headers here.
    let read = gclang("-E")?;
    if read.status != Some(0) {
        return Err(read.stderr);
    }
    let plan = gclang("-###")?.stderr;
    for (side, flag) in [("host", "--cuda-host-only"), ("device", "--cuda-device-only")] {
        let line = plan
            .lines()
            .find(|l| l.contains(flag))
            .ok_or_else(|| format!("`gclang++ -###` has no step with `{flag}`:\n{plan}"))?;
        let mut words = compiler_words(line).into_iter();
        let mut command = Command::new(words.next().ok_or("an empty step")?);
        command.args(words);
        command.args(["-Xclang", "-emit-pch", "-o"]).arg(headers.join(format!("{side}.pch")));
        let outcome = run(command.current_dir(&plain), &plain)?;
        if outcome.status != Some(0) {
            return Err(format!("{command:?}:\n{}", outcome.stderr));
        }
    }
    Ok(folder.to_owned())
}

/// The words of a compiler's step as `-###` prints it, without the arguments that a header does not need:
/// the plugin, the device code, the name of the output and what is to be kept.
fn compiler_words(step: &str) -> Vec<String> {
    // Words are in double quotes. An assignment of an environment variable may stand before them.
    let start = step.find(" \"").unwrap_or(0);
    let mut words = step[start..].split('"').skip(1).step_by(2).map(str::to_owned);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == "-o" {
            words.next();
        } else if word == "-Xclang" {
            // `-Xclang -fcuda-include-gpubinary -Xclang FILE`.
            let argument = words.next().unwrap_or_default();
            if argument == "-fcuda-include-gpubinary" {
                words.by_ref().take(2).for_each(drop);
            } else {
                kept.extend([word, argument]);
            }
        } else if !word.starts_with("-fpass-plugin=") && !word.starts_with("-save-temps") {
            kept.push(word);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::compiler_words;

    #[test]
    fn steps_lose_plugin_device_code_and_output() {
        let device =
            r#" GPURACE_PASS='{"a":1}' "clang++" "-O2" "-fpass-plugin=p.so" "-c" "-o" "x.bc" "x.cu""#;
        assert_eq!(compiler_words(device), ["clang++", "-O2", "-c", "x.cu"]);
        let host = r#" "clang++" "-Xclang" "-fcuda-include-gpubinary" "-Xclang" "c" "-Xclang" "-a" "x.cu""#;
        assert_eq!(compiler_words(host), ["clang++", "-Xclang", "-a", "x.cu"]);
    }
}
