//! `gpurace toolkit`: a folder that looks like a CUDA toolkit, for builds that want one: its headers, gpurace's
//! libraries under the names of CUDA's, and an `nvcc` that runs `gclang++`.

use std::env;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use clap::Args;

use super::Done;
use crate::clang_options::{OF_STATIC_LIBRARIES, OWN_LIBRARIES, REPLACED_LIBRARIES};
use crate::diagnostic::Error;
use crate::toolchain::{self, Driver, FALLBACK_HEADERS, Installation, World};
use crate::{headers, libraries, part};

/// The runtime library, as `-l` takes it.
const RUNTIME: &str = "gpurace_rt";
/// Libraries of the driver, which a toolkit has as stubs.
const STUBS: [&str; 3] = ["cuda", "nvidia-ml", RUNTIME];

/// Arguments of `gpurace toolkit`.
#[derive(Args)]
pub struct ToolkitArgs {
    /// The folder to make, in place of one in the user's cache
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Let `nvcc` build programs without checks
    #[arg(long)]
    bare: bool,
}

/// Makes the folder, or brings it up to date, and prints its path.
///
/// # Errors
/// gpurace or CUDA's headers are missing, or the folder cannot be written.
pub fn toolkit(args: &ToolkitArgs) -> Result<Done, Error> {
    let world = World::real()?;
    let found = world.cuda_search(None).run();
    let cuda = found.toolkit.as_ref().ok_or_else(|| toolchain::no_toolkit_error(&found))?;
    let installation = world.installation()?;
    let flags = if args.bare { "-fgpurace-exec=cpu" } else { "-fsanitize=gpurace -fgpurace-exec=cpu" };
    let folder = match &args.folder {
        Some(folder) => std::path::absolute(folder).unwrap_or_else(|_| folder.clone()),
        None => {
            let parts = [&cuda.path, &installation.library_dir, &world.exe_dir].map(|path| path.as_os_str());
            let id =
                part::unit_id(parts.iter().map(|path| path.as_encoded_bytes()).chain([flags.as_bytes()]));
            cache()?.join("gpurace/toolkit").join(id)
        }
    };
    let tools = tools(&world.exe_dir.join("gclang++"), flags, &folder, &cuda.version.to_string());
    let openmp = libraries::of_clang(&world.compiler(Driver::C, None)?.path, "libomp.so");
    fill(&folder, &cuda.path, &installation, openmp.as_deref(), &tools)
        .map_err(Error::cannot("make", &folder))?;
    Ok(Done::success(format!("{}\n", folder.display())))
}

/// The user's folder for what can be made again.
fn cache() -> Result<PathBuf, Error> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let found = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    found.ok_or_else(|| {
        Error::new("neither `XDG_CACHE_HOME` nor `HOME` is set")
            .hint("name the folder to make: `gpurace toolkit DIR`")
    })
}

/// Makes the files and links of a toolkit for other builds.
fn fill(
    folder: &Path,
    cuda: &Path,
    own: &Installation,
    openmp: Option<&Path>,
    tools: &[(&str, String)],
) -> io::Result<()> {
    let [bin, include, lib] = ["bin", "include", "lib64"].map(|name| folder.join(name));
    let stubs = lib.join("stubs");
    for made in [&bin, &include, &stubs] {
        fs::create_dir_all(made)?;
    }
    put_link(&cuda.join("nvvm"), &folder.join("nvvm"))?;
    put_link(Path::new("lib64"), &folder.join("lib"))?;
    // NVIDIA's own folders lie there, and some builds name them.
    let targets = folder.join("targets/x86_64-linux");
    fs::create_dir_all(&targets)?;
    put_link(Path::new("../../include"), &targets.join("include"))?;
    put_link(Path::new("../../lib64"), &targets.join("lib"))?;
    // gpurace's headers stand for those that the toolkit lacks.
    let (theirs, ours) = (cuda.join("include"), own.include_dir.join(FALLBACK_HEADERS));
    for from in [&ours, &theirs] {
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            let header = from.join(&name);
            match headers::adapted_of_toolkit(&header) {
                Some(text) => put_file(&include.join(&name), &text)?,
                None if *from == theirs || !theirs.join(&name).exists() => {
                    put_link(&header, &include.join(&name))?;
                }
                None => {}
            }
        }
    }
    put_link(&own.include_dir.join("gpurace"), &include.join("gpurace"))?;
    let file = |library: &str| own.library_dir.join(format!("lib{library}.so"));
    let replaced = REPLACED_LIBRARIES.iter().map(|name| (*name, RUNTIME));
    let beside =
        OWN_LIBRARIES.iter().flat_map(|library| library.replaces.iter().map(|name| (*name, library.name)));
    // A program records the name of gpurace's library, and searches for it in the folder that it was linked from.
    let recorded = OWN_LIBRARIES.iter().map(|library| library.name).chain([RUNTIME]).map(|name| (name, name));
    // Host code that gclang compiled with OpenMP needs clang's library, whoever links it.
    let openmp = openmp.map_or_else(String::new, |file| format!(" AS_NEEDED(\"{}\")", file.display()));
    for (name, library) in replaced.chain(beside).chain(recorded) {
        if !name.ends_with("_static") {
            put_link(&file(library), &lib.join(format!("lib{name}.so")))?;
        }
        if name != library {
            // A linker reads a library that is a text file as a script.
            let script = format!("INPUT(\"{}\"{openmp})\n", file(library).display());
            put_file(&lib.join(format!("lib{name}.a")), &script)?;
        }
    }
    for name in STUBS {
        put_link(&file(RUNTIME), &stubs.join(format!("lib{name}.so")))?;
    }
    for name in OF_STATIC_LIBRARIES {
        // An archive without members.
        put_file(&lib.join(format!("lib{name}.a")), "!<arch>\n")?;
    }
    for (name, script) in tools {
        put_file(&bin.join(name), script)?;
    }
    Ok(())
}

/// Makes a link, unless it is there. Another build may make the same one, or use it: it appears at once.
fn put_link(target: &Path, link: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|found| found == target) {
        return Ok(());
    }
    let new = beside(link);
    symlink(target, &new).and_then(|()| fs::rename(&new, link))
}

/// Writes a file, unless it is there, as [`put_link`] does.
fn put_file(path: &Path, text: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    let new = beside(path);
    fs::write(&new, text)?;
    // Some are programs.
    fs::set_permissions(&new, Permissions::from_mode(0o755))?;
    fs::rename(&new, path)
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

/// The programs of the toolkit, by name.
fn tools(gclangxx: &Path, flags: &str, folder: &Path, version: &str) -> [(&'static str, String); 3] {
    let quoted = |path: &Path| shlex::try_quote(&path.to_string_lossy()).unwrap_or_default().into_owned();
    let (gclangxx, top) = (quoted(gclangxx), quoted(folder));
    let head = "#!/bin/sh\n# Made by `gpurace toolkit`";
    let nvcc = format!(
        r##"{head}: gclang++ as nvcc.
case "$*" in
  *__cmake_determine_cuda*) printf '#$ TOP=%s\n' {top}; exit 0 ;;
  --version | -V) echo 'gpurace: in place of nvcc: Cuda compilation tools, release {version}, V{version}.0'; exit 0 ;;
esac
exec {gclangxx} {flags} "$@"
"##
    );
    let nvlink = format!(
        r#"{head}: nvlink for CMake's separable compilation.
for word do
  shift
  case $word in
    -o=*) output=${{word#-o=}} ;;
    -arch=* | --register-link-binaries=*) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec {gclangxx} -fgpurace-exec=cpu -dlink "$@" -o "$output"
"#
    );
    let fatbinary = format!(
        r#"{head}: copies nvlink's output.
for word do
  case $word in
    --embedded-fatbin=*) output=${{word#*=}} ;;
    *file=*) input=${{word##*file=}} ;;
  esac
done
exec cp "$input" "$output"
"#
    );
    [("nvcc", nvcc), ("nvlink", nvlink), ("fatbinary", fatbinary)]
}
