//! `gpurace run`: a program that finds gpurace's driver API where it looks for NVIDIA's.
//!
//! The folder `driver/lib64` beside the runtime library has links to it, under the names of CUDA's driver, and to the
//! compiler of NVRTC. The program's linker and loader search this folder first.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::Done;
use crate::diagnostic::Error;
use crate::toolchain::World;

/// The runtime library.
const RUNTIME: &str = "libgpurace_rt.so";
/// The folder with the libraries under other names, as seen from them.
const FOLDER: &str = "driver/lib64";
/// The compiler's library, which programs open by name too.
const COMPILER: &str = "libgpurace_nvrtc.so";
/// The names of each library: for the linker, for the loader, and the one that linked programs record.
const NAMES: [(&str, &[&str]); 2] = [
    (RUNTIME, &["libcuda.so", "libcuda.so.1", RUNTIME]),
    (COMPILER, &["libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13", COMPILER]),
];

/// Arguments of `gpurace run`.
#[derive(Args)]
pub struct RunArgs {
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Becomes the program.
///
/// # Errors
/// The program cannot be run, or the runtime library is missing.
pub fn run(args: &RunArgs) -> Result<Done, Error> {
    let folder = links(&World::real()?.installation()?.library_dir)?;
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    for variable in ["LD_LIBRARY_PATH", "LIBRARY_PATH"] {
        command.env(variable, before(&folder, env::var_os(variable).as_deref()));
    }
    // Where build scripts of Rust crates look for the folder `lib64`.
    command.env("CUDA_LIBRARY_PATH", folder.parent().unwrap_or(&folder));
    let error = command.exec();
    Err(Error::new(format!("cannot run `{}`: {error}", args.command[0].display())))
}

/// A search path that begins with a folder.
fn before(folder: &Path, others: Option<&OsStr>) -> OsString {
    let mut path = OsString::from(folder);
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    path
}

/// The folder with the links. They are made if they are not there: a wheel has no links.
fn links(library_dir: &Path) -> Result<PathBuf, Error> {
    let folder = library_dir.join(FOLDER);
    let hint = "run `gpurace run -- true` once as a user who may write there";
    let cannot = |e| Error::cannot("make", &folder)(e).hint(hint);
    for (library, name) in names() {
        let link = folder.join(name);
        let own = fs::canonicalize(library_dir.join(library)).ok();
        if own.is_some() && fs::canonicalize(&link).ok() == own {
            continue;
        }
        fs::create_dir_all(&folder).map_err(cannot)?;
        // Another run may make the same link. So it appears at once, with its final content.
        let new = folder.join(format!(".{name}.{}", std::process::id()));
        symlink(target(library), &new).and_then(|()| fs::rename(&new, &link)).map_err(cannot)?;
    }
    Ok(folder)
}

/// Each library with each of its names.
fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.into_iter().flat_map(|(library, names)| names.iter().map(move |&name| (library, name)))
}

/// What a link in the folder names.
fn target(library: &str) -> String {
    format!("../../{library}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_comes_first() {
        assert_eq!(before(Path::new("/a"), None), "/a");
        assert_eq!(before(Path::new("/a"), Some("".as_ref())), "/a");
        assert_eq!(before(Path::new("/a"), Some("/b:/c".as_ref())), "/a:/b:/c");
    }

    #[test]
    fn links_are_made_where_they_lack() {
        let place = tempfile::tempdir().unwrap();
        for library in [RUNTIME, COMPILER] {
            fs::write(place.path().join(library), library).unwrap();
        }
        // A copy, as a wheel would hold it.
        fs::create_dir_all(place.path().join(FOLDER)).unwrap();
        fs::write(place.path().join(FOLDER).join("libcuda.so.1"), "copy").unwrap();
        for _ in 0..2 {
            let folder = links(place.path()).unwrap();
            for (library, name) in names() {
                assert_eq!(fs::read_link(folder.join(name)).unwrap().as_os_str(), &*target(library));
                assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), library);
            }
            assert_eq!(fs::read_dir(folder).unwrap().count(), names().count());
        }
    }
}
