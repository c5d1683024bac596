//! Where `gclang` is, how to compile with it and how to run what it built.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use wait_timeout::ChildExt;

/// Longest that one compilation or one run may take.
pub const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Root of the workspace.
pub fn workspace() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// Folder of the annotated programs.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// One of the commands `gclang`, `gclang++` and `gpurace` as `scripts/setup`
/// builds them; `GPURACE_TEST_BIN` names another folder to take them from.
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

/// Folder for what one test builds, empty and new.
///
/// # Errors
/// What the file system says.
pub fn work_folder(test: &str) -> Result<PathBuf, String> {
    let folder = std::env::temp_dir()
        .join(format!("gpurace-tests-{}", std::process::id()))
        .join(test.replace(['/', ':', '+'], "_"));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// What a process left behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Exit status; `None` where a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs a command to its end, or to [`TIME_LIMIT`].
///
/// # Errors
/// Where it cannot be started, or does not end in time.
pub fn run(command: &mut Command, folder: &Path) -> Result<Outcome, String> {
    // Output goes to files: nobody would empty pipes while we wait with a limit.
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
        Some(status) => Ok(Outcome { status: status.code(), stdout, stderr }),
        None => Err(format!("{command:?} did not end in {TIME_LIMIT:?}\n{stdout}{stderr}")),
    }
}

/// Whether this machine has an NVIDIA GPU.
pub fn has_gpu() -> bool {
    Path::new("/dev/nvidiactl").exists()
}

/// The folder of a driver of our own, `libcuda.so.1`: see `runtime/cuda/tests/mock/libcuda.cpp`. Built once.
///
/// # Errors
/// What clang printed.
pub fn mock_driver() -> Result<&'static Path, String> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        let folder = work_folder("mock-driver")?;
        let prefix = std::env::var("LLVM_SYS_191_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-19".to_owned());
        let runtime = workspace().join("runtime");
        let mut command = Command::new(format!("{prefix}/bin/clang++"));
        // The checker there calls its own entries, not those of the library that the program has.
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

/// Compiles with `gclang++` for the CPU executor, in `folder`, with these
/// arguments; fails where it does not end with status 0.
///
/// # Errors
/// What `gclang++` printed.
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

/// What a checked program left behind: its outcome and, where one was written
/// and is right, its JSON report.
#[derive(Debug)]
pub struct Checked {
    /// Status and output.
    pub outcome: Outcome,
    /// The report.
    pub report: Result<crate::report::Report, String>,
}

/// Runs a program with `GPURACE_OPTIONS` of `options` and a JSON report.
///
/// # Errors
/// Where it cannot be started or does not end.
pub fn run_checked(program: &Path, args: &[&str], options: &str, folder: &Path) -> Result<Checked, String> {
    let json = folder.join("report.json");
    let _ = std::fs::remove_file(&json);
    let all = format!("device=cpu:json={}:{options}", json.display());
    let mut command = Command::new(program);
    command
        .args(args)
        .env("GPURACE_OPTIONS", all.trim_end_matches(':'))
        // Proofs of other runs are not to be met here.
        .env("XDG_CACHE_HOME", folder)
        .current_dir(folder);
    let outcome = run(&mut command, folder)?;
    let report = std::fs::read_to_string(&json)
        .map_err(|e| format!("no report: {e}"))
        .and_then(|text| crate::report::Report::parse(&text));
    Ok(Checked { outcome, report })
}
