//! CUDA toolkits: where they are, and which of them clang 22 can parse.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A toolkit's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 12 in 12.5.
    pub major: u32,
    /// 5 in 12.5.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// Returns the version as `CUDART_VERSION` has it: 12050 for 12.5.
    pub fn number(self) -> u32 {
        self.major * 1000 + self.minor * 10
    }

    /// Returns the version of PTX that clang 22 writes for this toolkit: 78 for 7.8.
    pub fn ptx(self) -> u32 {
        match (self.major, self.minor) {
            (..=10, _) => 63,
            (11, minor) => 70 + minor.min(8),
            (12, minor @ ..=5) => 80 + minor,
            (12, 6) => 85,
            (12, 7 | 8) => 87,
            _ => NEWEST_PTX,
        }
    }
}

/// The newest version of PTX that clang 22 writes: 88 for 8.8.
pub const NEWEST_PTX: u32 = 88;

/// The versions whose headers clang 22 can parse: from the first to before the second.
pub const PARSED: (Version, Version) = (Version { major: 11, minor: 0 }, Version { major: 14, minor: 0 });

/// Returns the last toolkit that has an architecture, of those that clang 22 knows as left out by later ones.
pub fn last_version_for(arch: &str) -> Option<Version> {
    match arch {
        "sm_20" | "sm_21" => Some(Version { major: 8, minor: 0 }),
        "sm_30" | "sm_32" => Some(Version { major: 10, minor: 2 }),
        "sm_35" | "sm_37" => Some(Version { major: 11, minor: 8 }),
        _ => None,
    }
}

impl Toolkit {
    /// True if the toolkit has an architecture, by its version.
    pub fn has_architecture(&self, arch: &str) -> bool {
        last_version_for(arch).is_none_or(|last| self.version <= last)
    }
}

/// Where a toolkit was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `--cuda-path`
    Argument,
    /// `CUDA_PATH` or `CUDA_HOME`
    Environment,
    /// Where clang looks by itself.
    System,
    /// Brought by gpurace.
    Own,
}

/// A toolkit that clang 22 can parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    /// Its folder.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
    /// Where it was found.
    pub origin: Origin,
}

impl Toolkit {
    /// Returns the folders of its headers. From CUDA 13 on, those of libcu++, CUB and Thrust lie apart.
    pub fn include_dirs(&self) -> impl Iterator<Item = PathBuf> {
        let apart = self.version.major >= 13;
        let dirs = ["include", "include/cccl"].into_iter().take(1 + usize::from(apart));
        dirs.map(|dir| self.path.join(dir))
    }

    /// True if a file is one of its headers, by whatever path.
    pub fn has(&self, file: &Path) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        real(file).zip(real(&self.path.join("include"))).is_some_and(|(file, dir)| file.starts_with(dir))
    }
}

/// The reason why clang 22 cannot use a folder as a toolkit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// There is no such folder, or it has no part of CUDA.
    Absent,
    /// This file, which clang needs, is missing.
    Lacks(&'static str),
    /// clang 22 cannot parse this version.
    Version(Version),
}

impl Unusable {
    /// Returns what is wrong with the toolkit at `path`, as the start of a sentence.
    pub fn explain(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            Unusable::Absent => format!("there is no CUDA toolkit at `{path}`"),
            Unusable::Lacks(what) => format!("the CUDA toolkit at `{path}` lacks `{what}`"),
            Unusable::Version(version) => {
                format!("the CUDA toolkit at `{path}` is version {version}, which clang 22 cannot parse")
            }
        }
    }
}

/// Examines one folder.
pub fn inspect(path: &Path, origin: Origin) -> Result<Toolkit, Unusable> {
    let header = match fs::read_to_string(path.join("include/cuda.h")) {
        Ok(header) => header,
        Err(_) if path.join("include").is_dir() || path.join("bin/nvcc").exists() => {
            return Err(Unusable::Lacks("include/cuda.h"));
        }
        Err(_) => return Err(Unusable::Absent),
    };
    let version = version_of(&header).ok_or(Unusable::Lacks("CUDA_VERSION in include/cuda.h"))?;
    if version < PARSED.0 || version >= PARSED.1 {
        return Err(Unusable::Version(version));
    }
    for needed in
        ["bin", "include/cuda_runtime.h", "include/curand_mtgp32_kernel.h", "nvvm/libdevice/libdevice.10.bc"]
    {
        if !path.join(needed).exists() {
            return Err(Unusable::Lacks(needed));
        }
    }
    Ok(Toolkit { path: path.to_owned(), version, origin })
}

/// Returns the version in `cuda.h`: `#define CUDA_VERSION 12050` is 12.5.
fn version_of(header: &str) -> Option<Version> {
    let number: u32 =
        header.lines().find_map(|line| line.strip_prefix("#define CUDA_VERSION"))?.trim().parse().ok()?;
    Some(Version { major: number / 1000, minor: number % 1000 / 10 })
}

/// The places to search for toolkits.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// `--cuda-path`
    pub argument: Option<PathBuf>,
    /// `CUDA_PATH`, `CUDA_HOME`
    pub environment: Vec<PathBuf>,
    /// Where clang looks by itself, in its order.
    pub system: Vec<PathBuf>,
    /// Where gpurace keeps its own.
    pub own: Vec<PathBuf>,
    /// True if a toolkit that clang finds by itself goes before those of the environment.
    pub system_first: bool,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The toolkit to use.
    pub toolkit: Option<Toolkit>,
    /// The unusable toolkits before it.
    pub unusable: Vec<(PathBuf, Unusable)>,
}

impl Search {
    /// Finds the first toolkit that clang can parse. With `--cuda-path`, it examines no other folder.
    pub fn run(&self) -> Found {
        let mut found = Found::default();
        let mut first = [(&self.environment, Origin::Environment), (&self.system, Origin::System)];
        if self.system_first {
            first.reverse();
        }
        let places: Vec<(&PathBuf, Origin)> = match &self.argument {
            Some(path) => vec![(path, Origin::Argument)],
            None => first
                .into_iter()
                .chain([(&self.own, Origin::Own)])
                .flat_map(|(paths, origin)| paths.iter().map(move |path| (path, origin)))
                .collect(),
        };
        for (path, origin) in places {
            match inspect(path, origin) {
                Ok(toolkit) => {
                    found.toolkit = Some(toolkit);
                    break;
                }
                Err(Unusable::Absent) if matches!(origin, Origin::System | Origin::Own) => {}
                Err(why) => found.unusable.push((path.clone(), why)),
            }
        }
        found
    }
}

/// Returns the folders that clang 22 searches by itself on Debian: those of a `ptxas` in `path_dirs`, then
/// those under `root`.
pub fn clang_search_dirs(path_dirs: &[PathBuf], root: &Path) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = path_dirs
        .iter()
        .filter(|dir| dir.join("ptxas").is_file())
        .filter_map(|dir| fs::canonicalize(dir.join("ptxas")).ok())
        .filter_map(|ptxas| Some(ptxas.parent()?.parent()?.to_owned()))
        .collect();
    dirs.push(root.join("usr/local/cuda"));
    let mut numbered: Vec<_> = fs::read_dir(root.join("usr/local"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("cuda-"))
        .map(|entry| entry.path())
        .collect();
    numbered.sort();
    dirs.extend(numbered.into_iter().rev());
    dirs.push(root.join("usr/lib/cuda"));
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the files that `inspect` asks for.
    fn fake(root: &Path, name: &str, version: u32) -> PathBuf {
        let path = root.join(name);
        for dir in ["bin", "include", "nvvm/libdevice"] {
            fs::create_dir_all(path.join(dir)).unwrap();
        }
        let header = format!("#ifndef X\n#define CUDA_VERSION {version}\n#endif\n");
        fs::write(path.join("include/cuda.h"), header).unwrap();
        for file in
            ["include/cuda_runtime.h", "include/curand_mtgp32_kernel.h", "nvvm/libdevice/libdevice.10.bc"]
        {
            fs::write(path.join(file), "").unwrap();
        }
        path
    }

    #[test]
    fn the_first_that_clang_parses_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let new = fake(root.path(), "cuda-14.0", 14000);
        let old = fake(root.path(), "cuda-10.2", 10020);
        let own = fake(root.path(), "own", 12050);
        let search = Search {
            environment: vec![new.clone()],
            system: vec![old.clone(), root.path().join("absent")],
            own: vec![own.clone()],
            ..Search::default()
        };
        let found = search.run();
        let version = Version { major: 12, minor: 5 };
        assert_eq!(found.toolkit, Some(Toolkit { path: own, version, origin: Origin::Own }));
        assert_eq!(
            found.unusable,
            [
                (new, Unusable::Version(Version { major: 14, minor: 0 })),
                (old, Unusable::Version(Version { major: 10, minor: 2 })),
            ]
        );
    }

    #[test]
    fn a_toolkit_of_the_environment_is_known_as_such_in_both_orders() {
        let root = tempfile::tempdir().unwrap();
        let environment = fake(root.path(), "environment", 12050);
        let system = fake(root.path(), "system", 12050);
        let origin = |search: &Search| search.run().toolkit.unwrap().origin;
        let mut search = Search { environment: vec![environment], ..Search::default() };
        for system_first in [false, true] {
            search.system_first = system_first;
            assert_eq!(origin(&search), Origin::Environment);
        }
        search.system = vec![system];
        assert_eq!(origin(&search), Origin::System);
        search.system_first = false;
        assert_eq!(origin(&search), Origin::Environment);
    }

    /// clang is the oracle: it names the last version.
    #[test]
    fn clang_agrees_on_the_last_version_for_an_architecture() {
        for number in [20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 75, 80, 90, 100, 120] {
            let arch = format!("sm_{number}");
            let root = tempfile::tempdir().unwrap();
            let path = fake(root.path(), "cuda", 13000);
            let mut clang = std::process::Command::new("clang-22");
            clang.args(["-###", "-x", "cuda", "-", "--cuda-device-only", &format!("--cuda-gpu-arch={arch}")]);
            let output = clang.arg(format!("--cuda-path={}", path.display())).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = said.split_once(" (inclusive)").and_then(|(before, _)| before.rsplit(' ').next());
            assert_eq!(
                last_version_for(&arch).map(|last| last.to_string()).as_deref(),
                last,
                "{arch}: {said}"
            );
        }
    }

    #[test]
    fn an_argument_rules_out_all_others() {
        let root = tempfile::tempdir().unwrap();
        let own = fake(root.path(), "own", 12050);
        let absent = root.path().join("absent");
        let search = Search { argument: Some(absent.clone()), own: vec![own], ..Search::default() };
        assert_eq!(search.run(), Found { toolkit: None, unusable: vec![(absent, Unusable::Absent)] });
    }

    #[test]
    fn missing_parts_are_named() {
        let root = tempfile::tempdir().unwrap();
        let path = fake(root.path(), "cuda", 12040);
        fs::remove_file(path.join("nvvm/libdevice/libdevice.10.bc")).unwrap();
        let why = inspect(&path, Origin::System).unwrap_err();
        assert_eq!(why, Unusable::Lacks("nvvm/libdevice/libdevice.10.bc"));
        assert_eq!(
            Unusable::Version(Version { major: 13, minor: 1 }).explain(Path::new("/c")),
            "the CUDA toolkit at `/c` is version 13.1, which clang 22 cannot parse"
        );
    }

    #[test]
    fn clang_s_own_places_come_in_its_order() {
        let root = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(root.path()).unwrap();
        fs::create_dir_all(base.join("opt/c/bin")).unwrap();
        fs::write(base.join("opt/c/bin/ptxas"), "").unwrap();
        fs::create_dir_all(base.join("usr/local/cuda-11.8")).unwrap();
        fs::create_dir_all(base.join("usr/local/cuda-12.4")).unwrap();
        let dirs = clang_search_dirs(&[base.join("bin"), base.join("opt/c/bin")], &base);
        let want = ["opt/c", "usr/local/cuda", "usr/local/cuda-12.4", "usr/local/cuda-11.8", "usr/lib/cuda"];
        assert_eq!(dirs, want.map(|dir| base.join(dir)));
    }
}
