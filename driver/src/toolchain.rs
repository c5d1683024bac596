//! Finds clang, the plugin, the runtime and the CUDA toolkit.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_abi::plugin::Cpu;

use crate::cuda::{self, Origin, Search, Toolkit};
use crate::diagnostic::Error;

/// The LLVM that the plugin is built for.
pub const LLVM_MAJOR: u32 = 22;

/// The clang that an installed gpurace brings, seen from its programs.
const BROUGHT_CLANG: &str = "../lib/gpurace/llvm/bin/clang";

/// The header with what nvcc declares in every CUDA source, relative to [`Installation::include_dir`].
pub const COMPATIBILITY_HEADER: &str = "gpurace/nvcc_compat.h";
/// The folder with replacements for headers that a toolkit may lack. clang searches it last.
pub const FALLBACK_HEADERS: &str = "gpurace/fallback";

/// The driver that the user called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// `gclang`
    C,
    /// `gclang++`
    Cxx,
}

impl Driver {
    /// Returns gpurace's name for the driver.
    pub fn name(self) -> &'static str {
        match self {
            Driver::C => "gclang",
            Driver::Cxx => "gclang++",
        }
    }

    /// Returns clang's name for the driver, without a version.
    fn clang(self) -> &'static str {
        match self {
            Driver::C => "clang",
            Driver::Cxx => "clang++",
        }
    }
}

/// A compiler, which is clang 22.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The program.
    pub path: PathBuf,
    /// Arguments that select the driver, if the program's name does not.
    pub mode: Vec<String>,
    /// The driver that the user called.
    pub driver: Driver,
}

/// The parts of gpurace that a build needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// `libgpurace_pass.so`
    pub plugin: PathBuf,
    /// `libgpurace_solve.so`. Without it nothing is proved.
    pub solver: Option<PathBuf>,
    /// The folder of `libgpurace_rt.so`.
    pub library_dir: PathBuf,
    /// The folder of gpurace's headers.
    pub include_dir: PathBuf,
}

/// Everything that a plan refers to outside the user's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// The compiler.
    pub compiler: Compiler,
    /// Plugin and runtime, if the command line needs them.
    pub installation: Option<Installation>,
    /// The CUDA toolkit, if the command line needs one and one was found.
    pub toolkit: Option<Toolkit>,
    /// Toolkit headers and sources that clang reads in an adapted copy.
    pub adapted_headers: Vec<PathBuf>,
    /// The standard of C++ in place of the command line's, which is too old for the toolkit's libraries.
    pub newer_standard: Option<&'static str>,
    /// Where clang looks for CUDA's `cuda.h` first, if it would then find one of the program's own.
    pub hidden_header: Option<PathBuf>,
    /// Folders of headers that are not the user's.
    pub system_prefixes: Vec<PathBuf>,
    /// The highest processor level that this machine supports.
    pub cpu: Cpu,
    /// The folder for relative names.
    pub work_dir: PathBuf,
}

/// The parts of the machine that the search reads. Tests make one up.
#[derive(Clone, Debug)]
pub struct World {
    /// The folder of this executable, with links resolved.
    pub exe_dir: PathBuf,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// `CUDA_PATH`, `CUDA_HOME`
    pub cuda_variables: Vec<PathBuf>,
    /// `/`
    pub root: PathBuf,
}

impl World {
    /// Returns this machine.
    pub fn real() -> Result<Self, Error> {
        let exe = env::current_exe()
            .and_then(fs::canonicalize)
            .map_err(|e| Error::new(format!("cannot find the path of this program: {e}")))?;
        let variable = |name| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        Ok(Self {
            exe_dir: exe.parent().map(Path::to_owned).unwrap_or_default(),
            path: env::var_os("PATH").map(|p| env::split_paths(&p).collect()).unwrap_or_default(),
            cuda_variables: ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(variable).collect(),
            root: "/".into(),
        })
    }

    /// Finds clang 22: `chosen` (`--clang`), else the one that was installed with gpurace, else `clang-22` in
    /// `PATH`, else `clang` in LLVM's own folder, else a `clang` of that version in `PATH`.
    pub fn compiler(&self, driver: Driver, chosen: Option<&Path>) -> Result<Compiler, Error> {
        if let Some(path) = chosen {
            expect_llvm(path)?;
            let is_cxx = path.file_name().is_some_and(|name| name.to_string_lossy().contains("++"));
            let mode = match (driver, is_cxx) {
                (Driver::Cxx, false) => vec!["--driver-mode=g++".to_owned()],
                (Driver::C, true) => vec!["--driver-mode=gcc".to_owned()],
                _ => Vec::new(),
            };
            return Ok(Compiler { path: path.to_owned(), mode, driver });
        }
        // An installed gpurace may bring the clang that its plugin was built with, under one name.
        let brought = self.exe_dir.join(BROUGHT_CLANG);
        if brought.is_file() {
            let mode = match driver {
                Driver::Cxx => vec!["--driver-mode=g++".to_owned()],
                Driver::C => Vec::new(),
            };
            return Ok(Compiler { path: fs::canonicalize(&brought).unwrap_or(brought), mode, driver });
        }
        let found = |path| Ok(Compiler { path, mode: Vec::new(), driver });
        let prefix = self.root.join(format!("usr/lib/llvm-{LLVM_MAJOR}/bin"));
        let numbered = format!("{}-{LLVM_MAJOR}", driver.clang());
        let in_prefix = prefix.join(driver.clang());
        if let Some(path) = self.in_path(&numbered) {
            let distributed = fs::canonicalize(&path).is_ok_and(|real| real.starts_with(&prefix));
            if !distributed {
                expect_llvm(&path)?;
            }
            return found(path);
        }
        if in_prefix.is_file() {
            return found(in_prefix);
        }
        match self.in_path(driver.clang()) {
            Some(path) => expect_llvm(&path).and_then(|()| found(path)),
            None => Err(Error::new(format!("`{numbered}` was not found")).hint(format!(
                "install it with `apt-get install clang-{LLVM_MAJOR}`, or set `--clang=PATH`"
            ))),
        }
    }

    fn in_path(&self, name: &str) -> Option<PathBuf> {
        self.path.iter().map(|dir| dir.join(name)).find(|path| path.is_file())
    }

    /// Finds plugin and runtime beside this executable or in `lib/gpurace` of its prefix, and the headers in
    /// the checkout or in the prefix.
    pub fn installation(&self) -> Result<Installation, Error> {
        let places = [self.exe_dir.clone(), self.exe_dir.join("../lib/gpurace")];
        let mut missing = None;
        for place in &places {
            let plugin = place.join("libgpurace_pass.so");
            let runtime = place.join("libgpurace_rt.so");
            match (plugin.is_file(), runtime.is_file()) {
                (true, true) => {
                    let library_dir = fs::canonicalize(place).unwrap_or_else(|_| place.clone());
                    let plugin = library_dir.join("libgpurace_pass.so");
                    let solver = library_dir.join("libgpurace_solve.so");
                    let include_dir = self.include_dir()?;
                    return Ok(Installation {
                        plugin,
                        solver: solver.is_file().then_some(solver),
                        library_dir,
                        include_dir,
                    });
                }
                (true, false) => missing = Some("libgpurace_rt.so"),
                _ => missing = missing.or(Some("libgpurace_pass.so")),
            }
        }
        let missing = missing.unwrap_or("libgpurace_pass.so");
        Err(not_found(missing, &places).hint("build gpurace with `scripts/setup`"))
    }

    fn include_dir(&self) -> Result<PathBuf, Error> {
        let places = self.own_places("driver/include", "share/gpurace/include");
        let found = places.iter().find(|place| place.join(COMPATIBILITY_HEADER).is_file());
        let place = found.ok_or_else(|| not_found(COMPATIBILITY_HEADER, &places))?;
        Ok(fs::canonicalize(place).unwrap_or_else(|_| place.clone()))
    }

    /// Returns the places to search for a CUDA toolkit.
    pub fn cuda_search(&self, argument: Option<&Path>) -> Search {
        Search {
            argument: argument.map(Path::to_owned),
            environment: self.cuda_variables.clone(),
            system: cuda::clang_search_dirs(&self.path, &self.root),
            own: self.own_toolkits(),
            system_first: false,
        }
    }

    /// Returns the places where gpurace keeps a toolkit of its own.
    pub fn own_toolkits(&self) -> Vec<PathBuf> {
        let mut places = self.own_places(".cache/cuda-13.0", "share/gpurace/cuda");
        places.extend(self.python_toolkits());
        places
    }

    /// Returns the places where pip puts NVIDIA's packages if it has installed gpurace: in the folders of
    /// Python's packages of the same prefix.
    fn python_toolkits(&self) -> Vec<PathBuf> {
        let Some(libraries) = self.exe_dir.parent().map(|prefix| prefix.join("lib")) else {
            return Vec::new();
        };
        let mut pythons: Vec<_> = fs::read_dir(libraries)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
            .map(|entry| entry.path())
            .collect();
        pythons.sort();
        let folders = ["site-packages/nvidia/cu13", "dist-packages/nvidia/cu13"];
        pythons.iter().rev().flat_map(|python| folders.map(|folder| python.join(folder))).collect()
    }

    /// Returns the places of a part of gpurace: in the checkout two folders above this executable, in an
    /// installed prefix, or in the checkout that this executable was built from, whose target folder may be
    /// elsewhere.
    fn own_places(&self, in_checkout: &str, in_prefix: &str) -> Vec<PathBuf> {
        let checkout = self.exe_dir.ancestors().nth(2).map(|root| root.join(in_checkout));
        let prefix = self.exe_dir.parent().map(|prefix| prefix.join(in_prefix));
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(|root| root.join(in_checkout));
        checkout.into_iter().chain(prefix).chain(built_from).collect()
    }

    /// Returns a file or folder of `driver/share`, which installations have at one of these places.
    fn shared(&self, in_checkout: &str, in_prefix: &[&str]) -> Result<PathBuf, Error> {
        let in_checkout = format!("driver/share/{in_checkout}");
        let mut places = in_prefix.iter().flat_map(|installed| self.own_places(&in_checkout, installed));
        places.find(|place| place.exists()).ok_or_else(|| {
            Error::new(format!(
                "a part of gpurace is missing: `{in_checkout}` or `{}`",
                in_prefix.join("` or `")
            ))
        })
    }

    /// Returns the script that gives gdb the commands for device threads.
    ///
    /// # Errors
    /// It is missing.
    pub fn gdb_script(&self) -> Result<PathBuf, Error> {
        // gdb looks for the script of a library beside it, and there for one that the system has installed.
        let beside = "lib/gpurace/libgpurace_rt.so-gdb.py";
        let of_system = "share/gdb/auto-load/usr/lib/gpurace/libgpurace_rt.so-gdb.py";
        self.shared("gdb/gpurace.py", &[beside, of_system])
    }

    /// Returns the toolchain file for CMake.
    ///
    /// # Errors
    /// It is missing.
    pub fn cmake_toolchain(&self) -> Result<PathBuf, Error> {
        self.shared("cmake/gpurace/gpurace-toolchain.cmake", &["share/cmake/gpurace/gpurace-toolchain.cmake"])
    }

    /// Returns the folder of the rules for Bazel.
    ///
    /// # Errors
    /// It is missing.
    pub fn bazel_rules(&self) -> Result<PathBuf, Error> {
        self.shared("bazel", &["share/gpurace/bazel"])
    }

    /// Returns the folders of headers that are not the user's.
    pub fn system_prefixes(&self, compiler: &Compiler, toolkit: Option<&Toolkit>) -> Vec<PathBuf> {
        // clang names the C++ library as `/usr/bin/../lib/...`.
        let mut prefixes: Vec<PathBuf> =
            ["/usr/include", "/usr/local/include", "/usr/lib", "/usr/bin/../lib"].map(Into::into).into();
        if let Some(resources) = resource_dir(&compiler.path) {
            prefixes.push(resources);
        }
        prefixes.extend(toolkit.map(|toolkit| toolkit.path.join("include")));
        prefixes
    }
}

fn not_found(what: &str, places: &[PathBuf]) -> Error {
    let places: Vec<_> = places.iter().map(|place| format!("`{}`", place.display())).collect();
    Error::new(format!("`{what}` was not found in {}", places.join(" or ")))
}

/// Returns the folder of clang's own headers: `../lib/clang/22`, seen from the real program.
pub fn resource_dir(clang: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(clang).ok()?;
    let dir = real.parent()?.parent()?.join(format!("lib/clang/{LLVM_MAJOR}"));
    dir.is_dir().then_some(dir)
}

/// Returns the version that `clang --version` prints.
pub fn llvm_version(clang: &Path) -> Result<String, Error> {
    let output = Command::new(clang).arg("--version").output().map_err(Error::cannot("run", clang))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_once("clang version ")
        .map(|(_, rest)| rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect())
        .ok_or_else(|| Error::new(format!("`{}` is not a clang", clang.display())))
}

/// Returns an error if clang has another LLVM version, since the plugin would not load.
fn expect_llvm(clang: &Path) -> Result<(), Error> {
    let version = llvm_version(clang)?;
    if version.split('.').next() == Some(&LLVM_MAJOR.to_string()) {
        return Ok(());
    }
    Err(Error::new(format!(
        "plugin was built for LLVM {LLVM_MAJOR} but `{}` is LLVM {version}",
        clang.display()
    ))
    .hint("set `--clang=PATH`"))
}

/// Refuses to build for NVIDIA GPUs with a toolkit that has only the parts that the CPU executor
/// needs. clang's own error would only name a missing internal tool.
pub fn expect_fatbinary(toolkit: &Toolkit) -> Result<(), Error> {
    if toolkit.path.join("bin/fatbinary").exists() {
        return Ok(());
    }
    Err(Error::new(format!(
        "building for NVIDIA GPUs needs a whole CUDA toolkit; `{}` lacks `bin/fatbinary`",
        toolkit.path.display()
    ))
    .hint("`-fgpurace-exec=cpu` builds for this machine's processor; `--cuda-path=DIR` sets another toolkit"))
}

/// Returns the note for the user if gpurace's own toolkit is used because another one is unusable.
pub fn own_toolkit_note(found: &cuda::Found) -> Option<String> {
    let toolkit = found.toolkit.as_ref().filter(|toolkit| toolkit.origin == Origin::Own)?;
    let (path, why) = found.unusable.first()?;
    let why = why.explain(path);
    Some(format!("{why}; using gpurace's CUDA {} at `{}`", toolkit.version, toolkit.path.display()))
}

/// Returns the error for a search that found no usable toolkit.
pub fn no_toolkit_error(found: &cuda::Found) -> Error {
    let message = match found.unusable.first() {
        Some((path, why)) => why.explain(path),
        None => "no CUDA toolkit was found".to_owned(),
    };
    let (first, end) = cuda::PARSED;
    Error::new(message).hint(format!(
        "run `scripts/setup` (in an installation: `share/gpurace/get-cuda`) to get one, or set `--cuda-path=DIR` to a toolkit from {first} to before {end}"
    ))
}

#[cfg(test)]
mod tests {
    use gpurace_tests::toolchain::write_program;

    use super::*;

    fn world(root: &Path) -> World {
        World {
            exe_dir: root.join("checkout/target/release"),
            path: vec![root.join("bin")],
            cuda_variables: Vec::new(),
            root: root.to_owned(),
        }
    }

    fn program(path: &Path, prints: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_program(path, format!("#!/bin/sh\necho '{prints}'\n")).unwrap();
    }

    /// An error's text with the temporary folder's name taken out.
    fn text(error: Error, root: &Path) -> String {
        error.to_string().replace(&root.display().to_string(), "ROOT")
    }

    #[test]
    fn numbered_clang_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        program(&dir.path().join("bin/clang"), "clang version 18.1.0");
        program(&dir.path().join("bin/clang-22"), "Debian clang version 22.1.8 (3)");
        let found = world(dir.path()).compiler(Driver::C, None).unwrap();
        assert_eq!(found.path, dir.path().join("bin/clang-22"));
    }

    #[test]
    fn what_was_installed_with_gpurace_comes_before_the_system_s() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        program(&root.join("bin/clang-22"), "Debian clang version 22.1.8 (3)");
        let world = World { exe_dir: root.join("venv/bin"), ..world(&root) };
        fs::create_dir_all(&world.exe_dir).unwrap();
        let brought = root.join("venv/lib/gpurace/llvm/bin/clang");
        program(&brought, "clang version 22.1.8");
        let found = world.compiler(Driver::Cxx, None).unwrap();
        assert_eq!((found.path, found.mode), (brought, vec!["--driver-mode=g++".to_owned()]));
        fs::create_dir_all(root.join("venv/lib/python3.11")).unwrap();
        let toolkit = root.join("venv/lib/python3.11/site-packages/nvidia/cu13");
        assert!(world.own_toolkits().contains(&toolkit), "{:?}", world.own_toolkits());
    }

    #[test]
    fn another_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        program(&dir.path().join("bin/clang++"), "clang version 18.1.0 (tags)");
        let error = world(dir.path()).compiler(Driver::Cxx, None).unwrap_err();
        insta::assert_snapshot!(text(error, dir.path()), @r"
        error: plugin was built for LLVM 22 but `ROOT/bin/clang++` is LLVM 18.1.0
        hint: set `--clang=PATH`
        ");
    }

    #[test]
    fn no_clang_at_all_is_explained() {
        let dir = tempfile::tempdir().unwrap();
        let error = world(dir.path()).compiler(Driver::Cxx, None).unwrap_err();
        insta::assert_snapshot!(error, @r"
        error: `clang++-22` was not found
        hint: install it with `apt-get install clang-22`, or set `--clang=PATH`
        ");
    }

    #[test]
    fn a_chosen_clang_is_made_the_right_driver() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my-clang");
        program(&path, "clang version 22.1.0");
        let mode = |driver| world(dir.path()).compiler(driver, Some(&path)).unwrap().mode;
        assert_eq!(mode(Driver::Cxx), ["--driver-mode=g++"]);
        assert!(mode(Driver::C).is_empty());
        let error = world(dir.path()).compiler(Driver::C, Some(&dir.path().join("none"))).unwrap_err();
        insta::assert_snapshot!(text(error, dir.path()), @"error: cannot run `ROOT/none`: No such file or directory (os error 2)");
        program(&path, "gcc 12");
        let error = world(dir.path()).compiler(Driver::C, Some(&path)).unwrap_err();
        insta::assert_snapshot!(text(error, dir.path()), @"error: `ROOT/my-clang` is not a clang");
    }

    #[test]
    fn the_installation_is_beside_the_program_or_in_its_prefix() {
        let dir = tempfile::tempdir().unwrap();
        let world = world(dir.path());
        fs::create_dir_all(&world.exe_dir).unwrap();
        insta::assert_snapshot!(text(world.installation().unwrap_err(), dir.path()), @r"
        error: `libgpurace_pass.so` was not found in `ROOT/checkout/target/release` or `ROOT/checkout/target/release/../lib/gpurace`
        hint: build gpurace with `scripts/setup`
        ");
        fs::write(world.exe_dir.join("libgpurace_pass.so"), "").unwrap();
        assert!(world.installation().unwrap_err().message.starts_with("`libgpurace_rt.so`"));
        let prefix = world.exe_dir.join("../lib/gpurace");
        fs::create_dir_all(&prefix).unwrap();
        for library in ["libgpurace_pass.so", "libgpurace_rt.so"] {
            fs::write(prefix.join(library), "").unwrap();
        }
        let found = world.installation().unwrap();
        assert!(found.library_dir.ends_with("checkout/target/lib/gpurace"));
    }

    #[test]
    fn the_toolkit_passed_over_is_named() {
        let toolkit = Toolkit {
            path: "/own".into(),
            version: cuda::Version { major: 12, minor: 5 },
            origin: Origin::Own,
        };
        let unusable = vec![("/usr/local/cuda".into(), cuda::Unusable::Version(cuda::PARSED.1))];
        let found = cuda::Found { toolkit: Some(toolkit), unusable };
        insta::assert_snapshot!(own_toolkit_note(&found).unwrap(), @"the CUDA toolkit at `/usr/local/cuda` is version 14.0, which clang 22 cannot parse; using gpurace's CUDA 12.5 at `/own`");
        let none = cuda::Found { toolkit: None, ..found };
        insta::assert_snapshot!(no_toolkit_error(&none), @r"
        error: the CUDA toolkit at `/usr/local/cuda` is version 14.0, which clang 22 cannot parse
        hint: run `scripts/setup` (in an installation: `share/gpurace/get-cuda`) to get one, or set `--cuda-path=DIR` to a toolkit from 11.0 to before 14.0
        ");
        insta::assert_snapshot!(no_toolkit_error(&cuda::Found::default()), @r"
        error: no CUDA toolkit was found
        hint: run `scripts/setup` (in an installation: `share/gpurace/get-cuda`) to get one, or set `--cuda-path=DIR` to a toolkit from 11.0 to before 14.0
        ");
    }
}
