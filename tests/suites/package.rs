//! What `scripts/package` makes works where it is put: the tarball in any folder, also if its name has
//! a space, and the wheel in a virtual environment on a machine that has no LLVM. A test whose programs
//! or rights are missing is skipped and counted.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use gpurace_tests::toolchain::{Outcome, run, run_checked, tool, work_folder, workspace};
use libtest_mimic::{Arguments, Failed, Trial};

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let can_pack = succeeds("patchelf", &["--version"]) && Path::new("/usr/lib/llvm-22/bin/lld").exists();
    let can_hide =
        succeeds("unshare", &["--mount", "true"]) && succeeds("python3", &["-c", "import ensurepip, venv"]);
    let can_debug = can_pack && succeeds("gdb", &["--version"]);
    let tests: [(&str, Test, bool); 6] = [
        ("a_renamed_folder_works_as_it_lies", a_renamed_folder_works, can_pack),
        ("version_names_what_is_there", version_names_what_is_there, can_pack),
        ("presets_of_the_packed_example_name_a_file", presets_name_a_file, can_pack),
        ("gdb_loads_its_commands_with_a_program", gdb_loads_its_commands, can_debug),
        ("the_debian_package_holds_no_llvm", the_debian_package_holds_no_llvm, can_pack),
        ("the_wheel_works_without_llvm_of_the_machine", the_wheel_works, can_pack && can_hide),
    ];
    let trials = tests.map(|(name, test, can)| Trial::test(name, test).with_ignored_flag(!can));
    libtest_mimic::run(&args, trials.into()).exit_code()
}

fn succeeds(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

fn succeed(command: &mut Command, folder: &Path) -> Outcome {
    let outcome = run(command.current_dir(folder), folder).unwrap();
    assert_eq!(outcome.status, Some(0), "{command:?}\n{}{}", outcome.stdout, outcome.stderr);
    outcome
}

/// The folder with all packages. They are made once.
fn packages() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = work_folder("package").unwrap();
        let built = tool("gclang").unwrap().parent().unwrap().to_owned();
        let mut package = Command::new(workspace().join("scripts/package"));
        succeed(package.arg("--fast").arg(&folder).env("GPURACE_TEST_BIN", built), &folder);
        folder
    })
}

fn name() -> String {
    format!("gpurace-{}", env!("CARGO_PKG_VERSION"))
}

/// The tarball, unpacked and renamed once.
fn unpacked() -> &'static Path {
    static UNPACKED: OnceLock<PathBuf> = OnceLock::new();
    UNPACKED.get_or_init(|| {
        let folder = work_folder("package_tarball").unwrap();
        let tarball = packages().join(format!("{}-x86_64-linux.tar.gz", name()));
        succeed(Command::new("tar").arg("xf").arg(tarball), &folder);
        let prefix = folder.join("an other place");
        std::fs::rename(folder.join(format!("{}-x86_64-linux", name())), &prefix).unwrap();
        prefix
    })
}

fn a_renamed_folder_works() -> Result<(), Failed> {
    let (prefix, folder) = (unpacked(), work_folder("package_renamed")?);
    for file in [
        "LICENSE",
        "VERSION",
        "README.txt",
        "share/man/man1/gpurace.1",
        "share/gpurace/bazel/gpurace.bzl",
        "share/cmake/gpurace/gpurace-toolchain.cmake",
        "share/bash-completion/completions/gpurace",
        "share/doc/gpurace/licences/libz3-4",
    ] {
        assert!(std::fs::metadata(prefix.join(file))?.len() > 0, "{file}");
    }
    // The tarball holds no part of CUDA. `get-cuda` would write it here.
    assert!(!prefix.join("share/gpurace/cuda").exists());
    symlink(workspace().join(".cache/cuda-13.0"), prefix.join("share/gpurace/cuda"))?;

    let source = prefix.join("share/doc/gpurace/examples/reduction/reduction.cu");
    // The toolkit is that of the folder, whatever the environment names.
    let packed = |program: &str| {
        let mut command = Command::new(prefix.join(program));
        command.env_remove("CUDA_PATH").env_remove("CUDA_HOME");
        command
    };
    let gclang = || {
        let mut gclang = packed("bin/gclang++");
        gclang.args(["-fsanitize=gpurace", "-Wno-gpurace"]).arg(&source).args(["-o", "app"]);
        gclang
    };
    // The packed gclang uses nothing of the checkout, and its own clang.
    let plan = succeed(gclang().arg("-###"), &folder).stderr;
    let checkout = workspace().display().to_string();
    assert!(!plan.contains(&checkout), "{plan}");
    for part in ["libgpurace_solve.so", "llvm/bin/clang\""] {
        assert!(plan.contains(&format!("an other place/lib/gpurace/{part}")), "{part}: {plan}");
    }
    succeed(&mut gclang(), &folder);
    let checked = run_checked(&folder.join("app"), &[], "", &folder)?;
    assert_eq!((checked.outcome.status, checked.report?.races.len()), (Some(66), 1));

    let said = succeed(packed("bin/gpurace").arg("doctor"), &folder).stdout;
    assert!(
        !said.contains(&checkout) && said.contains("an other place/lib/gpurace/libgpurace_rt.so"),
        "{said}"
    );
    Ok(())
}

fn version_names_what_is_there() -> Result<(), Failed> {
    let version = std::fs::read_to_string(unpacked().join("VERSION"))?;
    let clang = succeed(Command::new(unpacked().join("bin/gclang")).arg("--version"), unpacked()).stdout;
    let number = clang.split("clang version ").nth(1).unwrap_or_default();
    let number: String = number.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    assert!(!number.is_empty(), "{clang}");
    for line in [format!("version: {}", env!("CARGO_PKG_VERSION")), format!("llvm: {number}")] {
        assert!(version.lines().any(|known| known == line), "no `{line}` in:\n{version}");
    }
    Ok(())
}

fn presets_name_a_file() -> Result<(), Failed> {
    let project = unpacked().join("share/doc/gpurace/examples/cmake-project");
    let presets: serde_json::Value =
        serde_json::from_slice(&std::fs::read(project.join("CMakePresets.json"))?)?;
    let toolchain = presets["configurePresets"][0]["toolchainFile"].as_str().unwrap();
    let toolchain = project.join(toolchain.strip_prefix("${sourceDir}/").unwrap());
    assert!(toolchain.is_file(), "{}", toolchain.display());
    Ok(())
}

fn gdb_loads_its_commands() -> Result<(), Failed> {
    let (prefix, folder) = (unpacked(), work_folder("package_gdb")?);
    let source = prefix.join("share/doc/gpurace/examples/reduction/reduction.cu");
    let mut gclang = Command::new(prefix.join("bin/gclang++"));
    gclang.args(["-g", "-fsanitize=gpurace", "-fgpurace-exec=cpu", "-Wno-gpurace", "-o", "app"]).arg(source);
    succeed(gclang.env("CUDA_PATH", workspace().join(".cache/cuda-13.0")), &folder);
    let debug = |trust: Option<&Path>, commands: &[&str]| {
        let mut gdb = Command::new("gdb");
        let trust = trust.map(|folder| format!("-iex=add-auto-load-safe-path {}", folder.display()));
        gdb.args(["-nx", "-batch"]).args(trust).args(commands.iter().flat_map(|command| ["-ex", command]));
        gdb.arg("./app")
            .env_remove("LD_LIBRARY_PATH")
            .env("GPURACE_OPTIONS", "device=cpu:halt_on_error=break")
            .env("DEBUGINFOD_URLS", "");
        succeed(&mut gdb, &folder)
    };
    let trusted =
        debug(Some(&prefix.join("lib/gpurace")), &["run", "info cuda threads", "run", "info cuda threads"]);
    // The second program that gdb starts finds the script loaded.
    assert_eq!(
        trusted.stdout.matches("block      threads").count(),
        2,
        "{}{}",
        trusted.stdout,
        trusted.stderr
    );
    assert_eq!(trusted.stdout.matches("[thread (").count(), 2, "{}", trusted.stdout);
    // Otherwise gdb says that it did not.
    let declined = debug(None, &["run"]).stderr;
    assert!(declined.contains("auto-loading has been declined"), "{declined}");
    Ok(())
}

fn the_debian_package_holds_no_llvm() -> Result<(), Failed> {
    let deb = packages().join(format!("gpurace_{}_amd64.deb", env!("CARGO_PKG_VERSION")));
    let files = succeed(Command::new("dpkg-deb").arg("--contents").arg(&deb), packages()).stdout;
    let links = "./usr/lib/gpurace/driver/lib64";
    let link = format!("{links}/libcuda.so.1 -> ../../libgpurace_rt.so");
    for file in [
        "./usr/bin/gclang++ -> gclang",
        "./usr/lib/gpurace/libgpurace_rt.so",
        "./usr/lib/gpurace/libgpurace_blas.so",
        "./usr/lib/gpurace/libgpurace_rand.so",
        "./usr/lib/gpurace/libgpurace_fft.so",
        "./usr/lib/gpurace/libgpurace_sparse.so",
        "./usr/lib/gpurace/libgpurace_solver.so",
        "./usr/lib/gpurace/libgpurace_nvrtc.so",
        "./usr/share/gdb/auto-load/usr/lib/gpurace/libgpurace_rt.so-gdb.py",
        &link,
    ] {
        assert!(files.contains(file), "{file}: {files}");
    }
    assert!(!files.contains("libLLVM") && !files.contains("/cuda/"), "{files}");
    let depends =
        succeed(Command::new("dpkg-deb").arg("--field").arg(&deb).arg("Depends"), packages()).stdout;
    assert!(depends.contains("clang-22,") && depends.contains("lld-22,"), "{depends}");
    Ok(())
}

/// Hides the LLVM and z3 of this machine, its linker, and what this checkout has built, then runs the words
/// after the first three. Nothing outside sees this.
const HIDE: &str = r#"
set -e
for folder in /usr/lib/llvm-22 "$1/target" "$1/driver"; do
    case $2/ in "$folder"/*) continue ;; esac
    [ ! -d "$folder" ] || mount -t tmpfs none "$folder"
done
for file in /usr/lib/x86_64-linux-gnu/libLLVM*.so* /usr/lib/x86_64-linux-gnu/libclang-cpp.so.22* \
    /usr/lib/x86_64-linux-gnu/libz3.so* "$(readlink -f /usr/bin/ld)"; do
    [ ! -e "$file" ] || mount --bind /dev/null "$file"
done
for folder in $GPURACE_TEST_HIDE; do mount -t tmpfs none "$folder"; done
shift 2
exec "$@"
"#;

/// A program that compiles a kernel while it runs. Its status is NVRTC's.
const COMPILES: &str = r#"
#include <nvrtc.h>
int main() {
  nvrtcProgram program;
  nvrtcCreateProgram(&program, "__global__ void empty() {}", "empty.cu", 0, nullptr, nullptr);
  return nvrtcCompileProgram(program, 0, nullptr);
}
"#;

fn the_wheel_works() -> Result<(), Failed> {
    let folder = work_folder("package_wheel")?;
    let wheels: Vec<PathBuf> = std::fs::read_dir(packages())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "whl"))
        .collect();
    let [wheel] = &wheels[..] else { return Err(format!("wheels: {wheels:?}").into()) };
    succeed(Command::new("python3").args(["-m", "venv", "venv"]), &folder);
    let bin = folder.join("venv/bin");
    let mut pip = Command::new(bin.join("pip"));
    // CUDA's headers are those that this checkout has: the tests fetch nothing.
    succeed(pip.args(["install", "-q", "--no-deps", "--no-index"]).arg(wheel), &folder);
    let purelib = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let packages = succeed(Command::new(bin.join("python")).args(["-c", purelib]), &folder).stdout;
    let nvidia = Path::new(packages.trim()).join("nvidia");
    std::fs::create_dir_all(&nvidia)?;
    symlink(workspace().join(".cache/cuda-13.0"), nvidia.join("cu13"))?;

    let plugins = "import gpurace, importlib.metadata as m; print(repr(gpurace.recent_findings()), \
                   [p.value for p in m.distribution('gpurace').entry_points if p.group == 'pytest11'])";
    let plugins = succeed(Command::new(bin.join("python")).args(["-c", plugins]), &folder).stdout;
    assert_eq!(plugins.trim(), "'' ['gpurace.pytest_plugin']");

    std::fs::copy(workspace().join("examples/reduction/reduction.cu"), folder.join("app.cu"))?;
    let hidden = |also: &str, program: &Path, args: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", HIDE, "sh"]).arg(workspace()).arg(&folder);
        command.arg(program).args(args).env("XDG_CACHE_HOME", &folder).env("GPURACE_TEST_HIDE", also);
        run(command.current_dir(&folder), &folder)
    };
    let doctor = hidden("", &bin.join("gpurace"), &["doctor"])?;
    assert!(!doctor.stdout.contains("missing"), "{}{}", doctor.stdout, doctor.stderr);
    let words = ["-fsanitize=gpurace", "-Wno-gpurace", "app.cu", "-o", "app"];
    let built = hidden("", &bin.join("gclang"), &words)?;
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let ran = hidden("", &folder.join("app"), &[])?;
    assert_eq!(ran.status, Some(66), "{}", ran.stderr);
    // The fix was tried by the solver, which needs the wheel's z3.
    for text in
        ["WARNING: gpurace: data race", "tried on this run's launches", "SUMMARY: gpurace: 1 data race"]
    {
        assert!(ran.stderr.contains(text), "no `{text}` in {}", ran.stderr);
    }

    // NVRTC finds the wheel's gclang.
    std::fs::write(folder.join("compiles.cpp"), COMPILES)?;
    let words_of_it = ["-fgpurace-exec=cpu", "compiles.cpp", "-lnvrtc", "-o", "compiles"];
    let built = hidden("", &bin.join("gclang++"), &words_of_it)?;
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let ran = hidden("", &folder.join("compiles"), &[])?;
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);

    // What a system without a compiler lacks is named.
    for (hidden_too, lacks) in [
        ("/usr/include/c++", "the C++ library's headers were not found"),
        ("/usr/include", "the C library's headers and start files were not found"),
    ] {
        let doctor = hidden(hidden_too, &bin.join("gpurace"), &["doctor"])?;
        assert!(doctor.stdout.contains(&format!("missing  C++ library   {lacks}")), "{}", doctor.stdout);
        let built = hidden(hidden_too, &bin.join("gclang"), &words)?;
        assert_ne!(built.status, Some(0));
        assert!(built.stderr.contains(&format!("gclang: error: {lacks}")), "{}", built.stderr);
        assert!(built.stderr.contains("apt-get install g++"), "{}", built.stderr);
    }
    Ok(())
}
