//! What a project's files show before a build: its build systems, and what will not build.
//!
//! Only what is certain is said:
//!
//! - A line counts only outside of all conditions (`#if`, `if()`, `ifeq`).
//! - A folder of CMake counts only if its parent adds it.
//! - A source of such a folder counts only if a file of CMake names it.
//! - A header counts only if a source includes it.
//!
//! Of what fails at run time, only inline PTX is said that gpurace refuses whatever it is for ([`device_code`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_report::words::plural;

use crate::clang_options::{is_cuda_source, is_source};
use crate::cuda::Toolkit;
use crate::diagnostic::Error;
use crate::headers::{Include, included};
use crate::{device_code, dialect, libraries, nvcc, response};

/// A build system, by the files that a project has in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// CMake
    Cmake,
    /// Bazel
    Bazel,
    /// Meson
    Meson,
    /// Make
    Make,
}

/// The build systems, and the files that show each of them.
pub const SYSTEMS: [(System, &[&str]); 4] = [
    (System::Cmake, &["CMakeLists.txt"]),
    (System::Bazel, &["MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"]),
    (System::Meson, &["meson.build"]),
    (System::Make, &["GNUmakefile", "makefile", "Makefile"]),
];

/// Returns the build systems of a project, each with its file.
pub fn systems(folder: &Path) -> impl Iterator<Item = (System, PathBuf)> {
    SYSTEMS.iter().filter_map(move |(system, files)| {
        let file = files.iter().map(|file| folder.join(file)).find(|file| file.is_file())?;
        Some((*system, file))
    })
}

/// The variables of CMake that name a program to start compilers by.
const LAUNCHERS: [&str; 3] =
    ["CMAKE_CUDA_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_C_COMPILER_LAUNCHER"];

/// What will not build, and the places that show it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Obstacles(BTreeMap<String, (Error, Vec<String>)>);

impl Obstacles {
    fn add(&mut self, file: &Path, line: usize, what: Error) {
        let (_, places) = self.0.entry(what.message.clone()).or_insert_with(|| (what, Vec::new()));
        let place = format!("{}:{line}", file.display());
        // Several sources may include one header.
        if !places.contains(&place) {
            places.push(place);
        }
    }

    /// True if nothing was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns them as text, in the form of `gpurace doctor`.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for (what, places) in self.0.values() {
            let more = match places.len() {
                1 => String::new(),
                many => format!(", and {} more", plural((many - 1) as u64, "place", "places")),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "fails    {}: {}{more}", places[0], what.message);
            if let Some(hint) = &what.hint {
                let _ = writeln!(text, "{:9}hint: {hint}", "");
            }
        }
        text
    }
}

/// Reads a project's build files and sources.
///
/// # Errors
/// The folder cannot be read.
pub fn examine(folder: &Path, toolkit: Option<&Toolkit>) -> Result<Obstacles, Error> {
    fs::read_dir(folder).map_err(Error::cannot("read", folder))?;
    let mut project = Project { folder, toolkit, found: Obstacles::default(), read: BTreeSet::new() };
    let mut has_cmake = false;
    for (system, file) in systems(folder) {
        project.submodules(&text_of(&file));
        match system {
            System::Cmake => {
                has_cmake = true;
                let mut folders = Vec::new();
                project.cmake(folder, &mut folders);
                let named: String = folders.iter().map(|(_, text)| text.as_str()).collect();
                for (below, text) in &folders {
                    // Folders with a file of their own are read when they are added.
                    let enters = |path: &Path| !path.join("CMakeLists.txt").is_file();
                    let takes = |name: &str| text.contains("GLOB") || named.contains(name);
                    project.sources(below, &enters, &takes);
                }
            }
            System::Meson => project.meson(&file),
            System::Make => project.make(&file),
            System::Bazel => {}
        }
    }
    if !has_cmake {
        project.sources(folder, &|_| true, &|_| true);
    }
    Ok(project.found)
}

struct Project<'a> {
    folder: &'a Path,
    toolkit: Option<&'a Toolkit>,
    found: Obstacles,
    /// The sources and headers that were read, and whether for CUDA.
    read: BTreeSet<(PathBuf, bool)>,
}

impl Project<'_> {
    /// Follows the folders that are always added. Leaves each, with the commands that always run there.
    fn cmake(&mut self, folder: &Path, folders: &mut Vec<(PathBuf, String)>) {
        let file = folder.join("CMakeLists.txt");
        let text = text_of(&file);
        let commands = cmake_commands(&text);
        folders.push((folder.to_owned(), commands.iter().map(|(_, command)| command.as_str()).collect()));
        let mut compiler = None;
        for (number, command) in commands {
            let words: Vec<&str> = command.split(|c: char| c.is_whitespace() || "()\"".contains(c)).collect();
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let Some((name, values)) = words.split_first() else { continue };
            match name.to_ascii_lowercase().as_str() {
                "add_subdirectory" => {
                    let below = values.first().map(|name| folder.join(name));
                    if let Some(below) = below.filter(|path| path.join("CMakeLists.txt").is_file()) {
                        self.cmake(&below, folders);
                    }
                }
                "set" if values.first() == Some(&"CMAKE_CUDA_COMPILER") => compiler = Some(number),
                "project" | "enable_language" if values.contains(&"CUDA") => {
                    if let Some(number) = compiler.take() {
                        self.found.add(&file, number, own_compiler());
                    }
                }
                name => self.cmake_command(&file, number, name, values),
            }
        }
    }

    /// Judges a command of CMake that says all by itself. `name` is in lower case.
    fn cmake_command(&mut self, file: &Path, line: usize, name: &str, values: &[&str]) {
        match (name, values.first().copied()) {
            ("set", Some("CMAKE_CUDA_FLAGS" | "CUDA_NVCC_FLAGS")) => {
                let flags = values[1..].split(|value| *value == "CACHE").next().unwrap_or_default();
                self.options(file, line, flags);
            }
            ("set", Some(variable)) if LAUNCHERS.contains(&variable) => {
                self.launcher(file, line, values.get(1).copied().unwrap_or_default());
            }
            ("cmake_minimum_required", _) => self.cmake_version(file, line, values),
            ("find_package", Some(package)) if values.contains(&"REQUIRED") => {
                if let Some(library) = libraries::lacking_package(package) {
                    self.found.add(file, line, lacking(library));
                }
            }
            ("target_link_libraries", _) => {
                let names = values.iter().filter_map(|value| value.strip_prefix("CUDA::"));
                for library in names.filter_map(libraries::lacking_target) {
                    self.found.add(file, line, lacking(library));
                }
            }
            _ => {}
        }
    }

    /// Names a version of CMake that is asked for and not installed.
    fn cmake_version(&mut self, file: &Path, line: usize, values: &[&str]) {
        let Some(wanted) = values.get(1).and_then(|range| version(range.split("...").next()?)) else {
            return;
        };
        let Some(found) = installed_cmake().filter(|found| *found < wanted) else { return };
        let what =
            Error::new(format!("needs CMake {}.{}, found {}.{}", wanted.0, wanted.1, found.0, found.1));
        self.found.add(file, line, what.hint("`pip install cmake` gets a new one"));
    }

    /// Names the submodules that are not there, of those that a build file names.
    fn submodules(&mut self, build: &str) {
        let file = self.folder.join(".gitmodules");
        for (number, line) in (1..).zip(text_of(&file).lines()) {
            let Some(path) = line.trim().strip_prefix("path").and_then(|rest| rest.trim().strip_prefix('='))
            else {
                continue;
            };
            let path = path.trim();
            let is_there = fs::read_dir(self.folder.join(path)).is_ok_and(|mut files| files.next().is_some());
            if !is_there && build.contains(path) {
                let what = Error::new("lacks submodules that its build names")
                    .hint("get them with `git submodule update --init --recursive`");
                self.found.add(&file, number, what);
            }
        }
    }

    /// Names the lines of a file of Meson that need its own CUDA compiler.
    fn meson(&mut self, file: &Path) {
        for (number, line) in (1..).zip(text_of(file).lines()) {
            let line = line.split('#').next().unwrap_or_default().trim_start();
            let names = line.starts_with("project(") || line.starts_with("add_languages(");
            if names && line.contains("'cuda'") {
                let what = Error::new("makes CUDA a language: Meson's own needs NVIDIA's nvcc")
                    .hint("compile the kernels by a `custom_target` that calls `gclang++`");
                self.found.add(file, number, what);
            }
        }
    }

    /// Judges the arguments of nvcc in a Makefile, outside of its conditions.
    fn make(&mut self, file: &Path) {
        let mut depth = 0_usize;
        for (number, line) in (1..).zip(text_of(file).lines()) {
            let line = line.split('#').next().unwrap_or_default();
            match line.split_whitespace().next() {
                Some("ifeq" | "ifneq" | "ifdef" | "ifndef") => depth += 1,
                Some("endif") => depth = depth.saturating_sub(1),
                // A line without nvcc may be for another program.
                _ if depth == 0 && line.to_ascii_lowercase().contains("nvcc") => {
                    let words: Vec<&str> =
                        line.split(|c: char| c.is_whitespace() || "\"'".contains(c)).collect();
                    self.options(file, number, &words);
                }
                _ => {}
            }
        }
    }

    /// Judges arguments of nvcc, also those in response files.
    fn options(&mut self, file: &Path, line: usize, words: &[&str]) {
        for what in nvcc::refused(words) {
            self.found.add(file, line, what);
        }
        let named = nvcc::options_files(words.iter().map(Into::into).collect());
        for name in named.iter().filter_map(|word| word.to_str()?.strip_prefix('@')) {
            let path = file.parent().unwrap_or(self.folder).join(name);
            // A file that is not there may be made by the build.
            let text = text_of(&path);
            let inner: Vec<String> = response::split(text.as_bytes())
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            for what in nvcc::refused(&inner.iter().map(String::as_str).collect::<Vec<_>>()) {
                self.found.add(&path, 1, what);
            }
        }
    }

    /// Names a launcher of compilers, such as ccache, that is not installed.
    fn launcher(&mut self, file: &Path, line: usize, name: &str) {
        let places = std::env::var_os("PATH").unwrap_or_default();
        let is_there = std::env::split_paths(&places).any(|folder| folder.join(name).is_file());
        if !name.is_empty() && !name.contains(['$', '/', ';']) && !is_there {
            let what = Error::new(format!("starts the compiler by `{name}`, which is not in `PATH`"))
                .hint("install it, or build without it");
            self.found.add(file, line, what);
        }
    }

    /// Reads the sources in a folder and below it: those in folders that are entered, by names that are taken.
    fn sources(&mut self, folder: &Path, enters: &dyn Fn(&Path) -> bool, takes: &dyn Fn(&str) -> bool) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or(".");
            if name.starts_with('.') || path.is_symlink() || path.join("CMakeCache.txt").exists() {
                continue;
            }
            if path.is_dir() && enters(&path) {
                self.sources(&path, enters, takes);
            } else if is_source(name) && takes(name) && path.is_file() {
                self.source(&path, is_cuda_source(name));
            }
        }
    }

    /// Reads a source, and the headers that it includes in quotes.
    fn source(&mut self, path: &Path, is_cuda: bool) {
        if !self.read.insert((path.to_owned(), is_cuda)) {
            return;
        }
        let text = unconditional(&text_of(path));
        for (number, line) in (1..).zip(text.lines()) {
            let Some(Include { name, .. }) = included(line) else { continue };
            if let Some(library) = libraries::lacking_header(name).filter(|_| !self.has_header(name)) {
                self.found.add(path, number, lacking(library));
            }
        }
        if is_cuda {
            for (line, what) in device_code::obstacles(&text) {
                self.found.add(path, line, what);
            }
        }
        for Include { name, .. } in text.lines().filter_map(included).filter(|include| include.in_quotes) {
            let places = [path.parent(), Some(self.folder)];
            let mut places = places.into_iter().flatten().map(|folder| folder.join(name));
            if let Some(header) = places.find(|place| place.is_file()) {
                self.source(&header, is_cuda);
            }
        }
    }

    /// True if the machine has a header: then it is the user's.
    fn has_header(&self, name: &str) -> bool {
        has_header(name, self.toolkit)
    }
}

/// True if a toolkit or the system has a header.
fn has_header(name: &str, toolkit: Option<&Toolkit>) -> bool {
    let toolkit = toolkit.into_iter().flat_map(Toolkit::include_dirs);
    let system = ["/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu"].map(PathBuf::from);
    toolkit.chain(system).any(|folder| folder.join(name).is_file())
}

/// What of CUDA sources gpurace cannot build, for those that did not compile. Code under conditions does not count.
pub fn explain(sources: &[(PathBuf, String)], folders: &[PathBuf], toolkit: Option<&Toolkit>) -> Vec<Error> {
    let mut found = Obstacles::default();
    for (path, text) in sources {
        let text = unconditional(text);
        for (number, line) in (1..).zip(text.lines()) {
            let name = included(line).map(|include| include.name).filter(|name| {
                !has_header(name, toolkit) && !folders.iter().any(|at| at.join(name).is_file())
            });
            if let Some(library) = name.and_then(libraries::lacking_header) {
                found.add(path, number, lacking(library));
            }
        }
        for (line, what) in device_code::obstacles(&text) {
            found.add(path, line, what);
        }
    }
    found
        .0
        .into_values()
        .map(|(what, places)| Error { message: format!("{}: {}", places[0], what.message), ..what })
        .collect()
}

fn lacking(library: &str) -> Error {
    Error::new(format!("needs {library}, which gpurace does not have")).hint(libraries::advice(library))
}

fn own_compiler() -> Error {
    Error::new("sets `CMAKE_CUDA_COMPILER`, so gpurace's toolchain file does not")
        .hint("leave the choice of the compiler to the command line")
}

/// The major and the minor number of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next().and_then(Result::ok).unwrap_or(0)))
}

/// The version of the CMake in `PATH`.
fn installed_cmake() -> Option<(u32, u32)> {
    let output = Command::new("cmake").arg("--version").output().ok()?;
    version(String::from_utf8_lossy(&output.stdout).strip_prefix("cmake version ")?.lines().next()?)
}

fn text_of(path: &Path) -> String {
    fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// The commands of a CMake file outside of conditions, loops and functions, with the number of their line.
fn cmake_commands(text: &str) -> Vec<(usize, String)> {
    const OPENS: [&str; 5] = ["if", "foreach", "while", "function", "macro"];
    let mut commands: Vec<(usize, String)> = Vec::new();
    let (mut depth, mut brackets) = (0_usize, 0_usize);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        if brackets == 0 {
            let name = line.split('(').next().unwrap_or_default().trim().to_ascii_lowercase();
            if OPENS.contains(&name.as_str()) {
                depth += 1;
            } else if name.strip_prefix("end").is_some_and(|name| OPENS.contains(&name)) {
                depth = depth.saturating_sub(1);
            }
            if depth == 0 {
                commands.push((number, String::new()));
            }
        }
        if let Some((_, command)) = commands.last_mut().filter(|_| depth == 0) {
            *command += line;
            command.push('\n');
        }
        brackets = (brackets + line.matches('(').count()).saturating_sub(line.matches(')').count());
    }
    commands
}

/// The text of a source, with spaces for comments and for all that a condition may leave out. The condition around a
/// whole header, which guards it, does not count.
fn unconditional(text: &str) -> String {
    let code = dialect::without_comments(text);
    let directive = |line: &str| -> Option<String> {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        Some(rest.chars().take_while(char::is_ascii_alphabetic).collect())
    };
    let first: Vec<String> = code.lines().filter_map(directive).take(2).collect();
    let is_guarded = matches!(&first[..], [a, b] if (a == "ifndef" || a == "if") && b == "define");
    let (mut depth, mut conditions) = (0_usize, 0_usize);
    let mut out = String::with_capacity(code.len());
    for line in code.lines() {
        match directive(line).as_deref() {
            Some("if" | "ifdef" | "ifndef") => {
                conditions += 1;
                depth += usize::from(!(is_guarded && conditions == 1));
            }
            Some("endif") => depth = depth.saturating_sub(1),
            _ if depth == 0 => out += line,
            _ => {}
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::{Origin, Version};

    /// What is said of a project with these files, by paths from its folder.
    fn said(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let version = Version { major: 13, minor: 0 };
        let toolkit = Toolkit { path: "/nowhere".into(), version, origin: Origin::Own };
        let found = examine(folder.path(), Some(&toolkit)).unwrap().render();
        found.replace(&format!("{}/", folder.path().display()), "")
    }

    #[test]
    fn what_will_not_build_is_named_once_with_its_first_place() {
        insta::assert_snapshot!(said(&[
            ("a.cu", "#include <nccl.h>\n#include <cublas_v2.h>\n"),
            ("b/b.cu", "#include \"comm.cuh\"\n"),
            ("b/comm.cuh", "#ifndef COMM\n#define COMM\n# include \"nccl.h\"\n#endif\n"),
            ("c.cpp", "#include <torch/extension.h>\n"),
            ("t.cu", "\nstatic texture<float, 2, cudaReadModeElementType> image;\n"),
            ("k.cu", "__global__ void f();\n__global__ void k() {\n  if (1) { f<<<1, 1>>>(); }\n}\n"),
            ("p.cu", "__global__ void w() {\n  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n}\n"),
            ("Makefile", "all:\n\tnvcc -arch=sm_35 a.cu\n\t$(NVCC) --cuda a.cu @flags -clean\n"),
            ("flags", "-O2\n\"--run\"\n"),
        ]), @r"
        fails    k.cu:3: a kernel launches a kernel, which gpurace does not support
                 hint: launch it from the host, or leave the source out
        fails    t.cu:2: has a texture reference, which CUDA 12 removed
                 hint: use a texture object (`cudaTextureObject_t`)
        fails    p.cu:2: inline PTX has `wgmma.fence.sync.aligned`: a launch that reaches it ends with an error
                 hint: build for an architecture for which the source has other code, or do not launch it
        fails    a.cu:1: needs NCCL, which gpurace does not have, and 1 place more
                 hint: NVIDIA's runs on GPUs only: leave out what calls it
        fails    c.cpp:1: needs PyTorch, which gpurace does not have
                 hint: PyTorch's libraries run on GPUs only: check a small program that calls the kernels
        fails    Makefile:3: nvcc's `--cuda` is not supported
                 hint: `-E` writes the preprocessed source
        fails    flags:1: nvcc's `--run` is not supported
                 hint: compile to an executable, and run it
        fails    Makefile:3: nvcc's `-clean` is not supported
                 hint: remove the outputs
        ");
    }

    #[test]
    fn what_may_build_is_not_named() {
        for (name, text) in [
            ("a.cu", "#ifdef USE_NCCL\n#include <nccl.h>\n#endif\n"),
            ("a.cu", "#if __has_include(<nccl.h>)\n#include <nccl.h>\n#endif\n"),
            ("a.cu", "// #include <nccl.h>\n/*\n#include <nccl.h>\n*/\n"),
            ("unused.cuh", "#include <nccl.h>\n"),
            ("a.cu", "#include \"mine/nccl.h\"\n"),
            ("a.cu", "template <int N> struct texture {};\ntexture<3> t; auto u = texture<a, b>();\n"),
            ("a.cpp", "texture<float, 2> of_the_project;\n"),
            ("a.cu", "__global__ void f() { int a = 1; }\nint main() { f<<<1, 1>>>(); }\n"),
            ("a.cu", "__global__ void f();\nint main() { f<<<1, 1>>>(); }\n"),
            ("a.cu", "__global__ void f() { const char* s = \"{\"; }\nvoid g() { f<<<1, 1>>>(); }\n"),
            ("a.cu", "// __global__ kernels {\nvoid g() { f<<<1, 1>>>(); }\n"),
            (
                "Makefile",
                "# nvcc --cuda\nall:\n\tnvcc -lib a.cu\nifdef OLD\nNVCC += --run\nendif\nclean:\n\trm -clean --run @made\n",
            ),
            (".cache/a.cu", "#include <nccl.h>\n"),
            ("build/CMakeCache.txt", ""),
            ("meson.build", "project('a', 'cpp') # 'cuda'\n"),
        ] {
            assert_eq!(said(&[(name, text)]), "", "{name}: {text}");
        }
    }

    #[test]
    fn what_git_left_out_is_named() {
        let modules = "[submodule \"a\"]\n\tpath = ext/a\n[submodule \"b\"]\n\tpath = ext/b\n[submodule \"c\"]\n\tpath=ext/c\n";
        insta::assert_snapshot!(said(&[
            (".gitmodules", modules),
            ("ext/b/file", ""),
            ("Makefile", "all:\n\tnvcc -Iext/a -Iext/b main.cu\n"),
            ("main.cu", "int main() { cudaThreadSynchronize(); p.clockRate; }\n"),
        ]), @r"
        fails    .gitmodules:2: lacks submodules that its build names
                 hint: get them with `git submodule update --init --recursive`
        ");
    }

    #[test]
    fn cmake_is_followed_where_it_always_goes() {
        let top = "project(p LANGUAGES CXX CUDA)\nadd_subdirectory(src)\nif(TESTS)\n  add_subdirectory(tests)\n\
                   find_package(NCCL REQUIRED)\nendif()\n";
        let source = "#include <nccl.h>\n";
        let files = [
            ("CMakeLists.txt", top),
            (
                "src/CMakeLists.txt",
                "add_executable(a\n  a.cu)\nif(NCCL)\n  add_executable(b b.cu)\nendif()\n",
            ),
            ("src/a.cu", source),
            ("src/b.cu", source),
            ("src/other.cu", source),
            ("tests/CMakeLists.txt", "add_executable(t t.cu)\n"),
            ("tests/t.cu", source),
        ];
        let found = said(&files);
        assert!(
            found.starts_with("fails    src/a.cu:1: needs NCCL, which gpurace does not have\n"),
            "{found}"
        );
    }

    #[test]
    fn what_cmake_itself_will_not_do_is_named() {
        for (text, named) in [
            ("find_package(CUDA 9 REQUIRED)\nfind_package(CUDAToolkit REQUIRED)\n", ""),
            ("cmake_minimum_required(VERSION 3.10...99.0)\n", ""),
            (
                "cmake_minimum_required(VERSION 99.1 FATAL_ERROR)\n",
                "CMakeLists.txt:1: needs CMake 99.1, found ",
            ),
            ("# a\nfind_package(Torch REQUIRED)\n", "CMakeLists.txt:2: needs PyTorch"),
            ("find_package(CUDNN)\nfunction(f)\nfind_package(CUDNN REQUIRED)\nendfunction()\n", ""),
            ("target_link_libraries(a\n  CUDA::cublas CUDA::nppicc)\n", "CMakeLists.txt:1: needs NPP"),
            (
                "target_link_libraries(a CUDA::cudart CUDA::cublas_static CUDA::nvrtc CUDA::nvml CUDA::cuda_driver)\n",
                "",
            ),
            (
                "set(CMAKE_CUDA_COMPILER /c/nvcc)\nproject(p CUDA)\n",
                "CMakeLists.txt:1: sets `CMAKE_CUDA_COMPILER`",
            ),
            ("project(p CUDA)\nset(CMAKE_CUDA_COMPILER /c/nvcc)\n", ""),
            ("if(NOT X)\nset(CMAKE_CUDA_COMPILER /c/nvcc)\nendif()\nproject(p CUDA)\n", ""),
            (
                "set(CMAKE_CUDA_FLAGS \"${CMAKE_CUDA_FLAGS} -ewp\")\n",
                "CMakeLists.txt:1: nvcc's `-ewp` is not supported",
            ),
            ("set(CMAKE_CUDA_FLAGS \"-O2 -arch=sm_35\" CACHE STRING \"for --run\")\n", ""),
            (
                "set(CMAKE_CUDA_COMPILER_LAUNCHER no-such-launcher)\n",
                "CMakeLists.txt:1: starts the compiler by `no-such-launcher`, which is not in `PATH`",
            ),
            ("set(CMAKE_CUDA_COMPILER_LAUNCHER sh)\nset(CMAKE_CXX_COMPILER_LAUNCHER ${LAUNCHER})\n", ""),
        ] {
            let found = said(&[("CMakeLists.txt", text)]);
            assert_eq!(found.is_empty(), named.is_empty(), "{text}: {found}");
            assert!(found.contains(named), "{text}: {found}");
        }
        let meson = said(&[("meson.build", "project('a', ['cpp', 'cuda'])\n")]);
        assert!(meson.starts_with("fails    meson.build:1: makes CUDA a language"), "{meson}");
    }
}
