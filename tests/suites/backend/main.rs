//! Programs on a GPU, from `gclang` to the report, over a mock of the driver. The mock is a
//! `libcuda.so.1` that runs the kernels of `tests/gpu/backend.cu` and the checker's code on the host
//! (`runtime/cuda/tests/mock/libcuda.cpp`). Only a real GPU can run the PTX.

mod choice;
mod operations;
mod reports;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{Outcome, mock_driver, programs, run, tool, work_folder};
use serde_json::Value;

fn source() -> PathBuf {
    programs().join("../gpu/backend.cu")
}

/// Returns the number of the source line that ends with `// MARK`.
fn line(mark: &str) -> u32 {
    let text = std::fs::read_to_string(source()).unwrap();
    let at = text.lines().position(|line| line.ends_with(&format!("// {mark}")));
    at.unwrap_or_else(|| panic!("no line `{mark}`")) as u32 + 1
}

/// Builds the program with these arguments, once for each name. Returns its folder.
fn build(name: &str, arguments: &[&str]) -> PathBuf {
    static BUILT: OnceLock<std::sync::Mutex<HashMap<String, PathBuf>>> = OnceLock::new();
    let mut built = BUILT.get_or_init(Default::default).lock().unwrap();
    built
        .entry(name.to_owned())
        .or_insert_with(|| {
            let folder = work_folder(&format!("backend-{name}")).unwrap();
            let mut command = Command::new(tool("gclang++").unwrap());
            command.args(["-fsanitize=gpurace", "-w"]).args(arguments).arg(source());
            command.arg("-o").arg(folder.join("program")).current_dir(&folder);
            let made = run(&mut command, &folder).unwrap();
            assert_eq!((made.status, &made.stderr[..]), (Some(0), ""));
            folder
        })
        .clone()
}

/// Returns the folder of the program in which every access is checked.
fn checked() -> PathBuf {
    build("checked", &["-fgpurace-exec=auto", "-fgpurace-prune=off", "--cuda-gpu-arch=sm_80"])
}

/// The sites of the kernels in the code for a GPU, in the form that the mock reads.
fn sites(program: &Path) -> String {
    let bytes = std::fs::read(program).unwrap();
    let begin = b"{\"arch\":";
    let mut descriptions =
        bytes.windows(begin.len()).enumerate().filter(|(_, w)| w == begin).filter_map(|(at, _)| {
            serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<Value>().next()?.ok()
        });
    // The executor's description comes first.
    let meta = descriptions.next_back().expect("a description in the program");
    let kernels = meta["kernels"].as_array().unwrap().iter().map(|kernel| {
        let sites: Vec<String> = kernel["sites"].as_array().unwrap().iter().map(Value::to_string).collect();
        format!("{}:{}", kernel["name"].as_str().unwrap(), sites.join(","))
    });
    kernels.collect::<Vec<_>>().join(" ")
}

/// The result of one run of the program.
struct Ran {
    outcome: Outcome,
    report: Option<Report>,
    /// The calls that the mock received, a line each.
    calls: String,
}

impl Ran {
    fn assert_ends(&self, status: i32, stdout: &str) {
        let Outcome { status: own, stdout: printed, stderr, .. } = &self.outcome;
        assert_eq!((*own, printed.as_str()), (Some(status), stdout), "{stderr}");
    }
}

/// Runs the program with or without the mock, with these options and environment variables.
fn run_program(
    folder: &Path,
    with_driver: bool,
    argument: &str,
    options: &str,
    variables: &[(&str, &str)],
) -> Ran {
    static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let unique = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let (json, log) = (folder.join(format!("{unique}.json")), folder.join(format!("{unique}.log")));
    let program = folder.join("program");
    let mut command = Command::new(&program);
    command.arg(argument).current_dir(folder).env("XDG_CACHE_HOME", folder);
    command.env("GPURACE_OPTIONS", format!("json={}:{options}", json.display()).trim_end_matches(':'));
    command.env_remove("LD_LIBRARY_PATH").env("MOCK_LOG", &log).env("MOCK_SITES", sites(&program));
    if with_driver {
        command.env("LD_LIBRARY_PATH", mock_driver().unwrap());
    }
    command.envs(variables.iter().copied());
    let outcome = run(&mut command, folder).unwrap();
    let report = std::fs::read_to_string(&json).ok().map(|text| Report::parse(&text).unwrap());
    Ran { outcome, report, calls: std::fs::read_to_string(&log).unwrap_or_default() }
}

/// Runs the program on the mock's GPU.
fn on_gpu(folder: &Path, argument: &str) -> Ran {
    let ran = run_program(folder, true, argument, "", &[]);
    assert_eq!(ran.report.as_ref().map(|report| &report.device[..]), Some("cuda"), "{}", ran.outcome.stderr);
    ran
}
