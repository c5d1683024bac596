//! Where `gclang` is, how to compile with it, and how to run the built programs.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use wait_timeout::ChildExt;

/// The time limit for one compilation or one run. It only ends what hangs: the longest compilation takes
/// 20 s of a quiet machine, and several times as long where other work shares the cores.
pub const TIME_LIMIT: Duration = Duration::from_secs(240);

/// Returns the root of the workspace.
pub fn workspace() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// Returns the folder of the annotated programs.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// Returns the path of `gclang`, `gclang++` or `gpurace` as `scripts/setup` builds it. `GPURACE_TEST_BIN`
/// names another folder for them.
///
/// # Errors
/// Names the file that is missing.
pub fn tool(name: &str) -> Result<PathBuf, String> {
    let folder = std::env::var_os("GPURACE_TEST_BIN")
        .map_or_else(|| workspace().join("target/release"), PathBuf::from);
    let path = folder.join(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("`{}` is not built\nhint: run `scripts/setup`", path.display()))
    }
}

/// The folder for the files of this process's tests.
fn process_folder() -> PathBuf {
    std::env::temp_dir().join(format!("gpurace-tests-{}", std::process::id()))
}

/// Removes it, unless `GPURACE_TEST_KEEP` is set.
extern "C" fn remove_process_folder() {
    if std::env::var_os("GPURACE_TEST_KEEP").is_none() {
        // Files that stay behind in the temporary folder do no harm.
        let _ = std::fs::remove_dir_all(process_folder());
    }
}

/// Makes a folder for the files of one test. It is removed when the process ends.
///
/// # Errors
/// Returns the error of the file system.
pub fn work_folder(test: &str) -> Result<PathBuf, String> {
    static REMOVED_AT_EXIT: Once = Once::new();
    REMOVED_AT_EXIT.call_once(|| {
        // SAFETY: the function takes no argument and does not unwind.
        unsafe { libc::atexit(remove_process_folder) };
    });
    let folder = process_folder().join(test.replace(['/', ':', '+'], "_"));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// Writes a program that the caller can run at once.
///
/// Another process writes the file. If this one did, a child that another thread forks meanwhile would hold the file
/// open until its own `exec`, and a file that is open for writing cannot be run (`ETXTBSY`).
///
/// # Errors
/// Returns the error of the file system, or what `install` printed.
pub fn write_program(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), String> {
    let source = PathBuf::from(format!("{}.source", path.display()));
    std::fs::write(&source, bytes).map_err(|e| format!("{}: {e}", source.display()))?;
    let installed = Command::new("install")
        .args(["-m", "755"])
        .args([&source, path])
        .output()
        .map_err(|e| format!("install: {e}"))?;
    std::fs::remove_file(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    if installed.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&installed.stderr).into_owned())
    }
}

/// The result of a process.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Exit status; `None` if a signal ended the process.
    pub status: Option<i32>,
    /// The signal that ended the process.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs a command until it ends or [`TIME_LIMIT`] has passed.
///
/// # Errors
/// If the command cannot be started or does not end in time.
pub fn run(command: &mut Command, folder: &Path) -> Result<Outcome, String> {
    // Output goes to files. Nobody would empty pipes while this function waits.
    let unique = format!("{:p}", command);
    let out_path = folder.join(format!("stdout-{unique}"));
    let err_path = folder.join(format!("stderr-{unique}"));
    let create = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    command.stdin(Stdio::null()).stdout(create(&out_path)?).stderr(create(&err_path)?);
    let mut child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
    let status = child.wait_timeout(TIME_LIMIT).map_err(|e| e.to_string())?;
    if status.is_none() {
        child.kill().map_err(|e| e.to_string())?;
        child.wait().map_err(|e| e.to_string())?;
    }
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
    let (stdout, stderr) = (read(&out_path), read(&err_path));
    match status {
        Some(status) => Ok(Outcome { status: status.code(), signal: status.signal(), stdout, stderr }),
        None => Err(format!("{command:?} did not end in {TIME_LIMIT:?}\n{stdout}{stderr}")),
    }
}

/// True if this machine has an NVIDIA GPU.
pub fn has_gpu() -> bool {
    Path::new("/dev/nvidiactl").exists()
}

/// Returns the folder of a mock of the driver, `libcuda.so.1`, built from
/// `runtime/cuda/tests/mock/libcuda.cpp` on the first call.
///
/// # Errors
/// Returns what clang printed.
pub fn mock_driver() -> Result<&'static Path, String> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        let folder = work_folder("mock-driver")?;
        let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
        let runtime = workspace().join("runtime");
        let mut command = Command::new(format!("{prefix}/bin/clang++"));
        // With `-Bsymbolic` the mock's checker calls its own functions, not those of the same name in the
        // runtime library.
        command.args([
            "-shared",
            "-fPIC",
            "-std=c++17",
            "-O1",
            "-w",
            "-Wl,-soname,libcuda.so.1",
            "-Wl,-Bsymbolic",
            "-I",
        ]);
        command.arg(runtime.join("device/cpp")).arg(runtime.join("cuda/tests/mock/libcuda.cpp"));
        command.arg("-o").arg(folder.join("libcuda.so.1"));
        let built = run(&mut command, &folder)?;
        if built.status == Some(0) { Ok(folder) } else { Err(built.stderr) }
    });
    made.as_deref().map_err(Clone::clone)
}

/// Compiles in `folder` with `gclang++` and these arguments, for the CPU executor.
///
/// # Errors
/// Returns what `gclang++` printed, if it does not end with status 0.
pub fn compile<S: AsRef<std::ffi::OsStr>>(args: &[S], folder: &Path) -> Result<(), String> {
    let mut command = Command::new(tool("gclang++")?);
    command.arg("-fgpurace-exec=cpu").arg("-I").arg(programs().join("support"));
    command.args(args).current_dir(folder);
    let outcome = run(&mut command, folder)?;
    match outcome.status {
        Some(0) => Ok(()),
        status => Err(format!("{command:?} ended with {status:?}:\n{}", outcome.stderr)),
    }
}

/// The result of a checked program.
#[derive(Debug)]
pub struct Checked {
    /// Status and output.
    pub outcome: Outcome,
    /// The JSON report, or why there is none.
    pub report: Result<crate::report::Report, String>,
}

/// Runs a program with `options` in `GPURACE_OPTIONS`, and reads its JSON report.
///
/// # Errors
/// If the program cannot be started or does not end.
pub fn run_checked(program: &Path, args: &[&str], options: &str, folder: &Path) -> Result<Checked, String> {
    let json = folder.join("report.json");
    let _ = std::fs::remove_file(&json);
    let all = format!("device=cpu:json={}:{options}", json.display());
    let mut command = Command::new(program);
    command
        .args(args)
        .env("GPURACE_OPTIONS", all.trim_end_matches(':'))
        // No proof of an earlier run may be used.
        .env("XDG_CACHE_HOME", folder)
        .current_dir(folder);
    let outcome = run(&mut command, folder)?;
    let report = std::fs::read_to_string(&json)
        .map_err(|e| format!("no report: {e}"))
        .and_then(|text| crate::report::Report::parse(&text));
    Ok(Checked { outcome, report })
}
