//! Code for an NVIDIA GPU, run on the executor. The suite takes the checked kernels of
//! `tests/gpu/kernels.cu` and the checker's code before `clang` makes PTX of them, and compiles them for
//! the executor. There the checks that the pass puts into a kernel for a GPU run with barriers, warps and
//! schedules, without a GPU. The verdict on each kernel must be the one in its name.
//!
//! `tests/gpu/executed.cu` takes the place of the runtime library. `corpus` runs the programs of
//! `tests/programs` with the runtime library itself, over a mock of the driver. The suite does not test
//! PTX, `ptxas` and the hardware.

mod corpus;
mod lowering;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gpurace_tests::case::RACE_STATUS;
use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{Outcome, mock_driver, run, tool, work_folder, workspace};
use lowering::{calls, lower, must_run};

/// Returns the names of the kernels.
fn kernels() -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join("tests/gpu/kernels.cu")).unwrap();
    text.lines()
        .filter_map(|line| Some(line.strip_prefix("KERNEL ")?.split('(').next()?.to_owned()))
        .collect()
}

/// Compiles the code for a GPU for the executor, and builds the program that runs it. Returns the folder.
fn program() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = work_folder("executed").unwrap();
        let gpu = workspace().join("tests/gpu");
        let mut command = Command::new(tool("gclang++").unwrap());
        command.args([
            "-fsanitize=gpurace",
            "-fgpurace-exec=auto",
            "--cuda-gpu-arch=sm_80",
            "-O2",
            "-w",
            "-save-temps",
            "-c",
        ]);
        must_run(command.arg(gpu.join("kernels.cu")).args(["-o", "kernels.o"]), &folder).unwrap();
        let (_, unknown) = lower(&folder, "kernels.gpurace.device.gpu.bc").unwrap();
        assert!(unknown.is_empty(), "the executor does not know these instructions: {unknown:?}");

        let stubs: String = kernels().iter().map(|name| format!("K({name})\n")).collect();
        std::fs::write(folder.join("kernels.inc"), stubs).unwrap();
        let include = workspace().join("driver/include");
        let mut host = Command::new(&calls().clang);
        host.args([
            "-w",
            "-O1",
            "--cuda-host-only",
            "--cuda-gpu-arch=sm_80",
            "-include",
            "gpurace/nvcc_compat.h",
            "-I.",
            "-isystem",
        ]);
        host.arg(&include).arg("-idirafter").arg(include.join("gpurace/fallback"));
        host.arg(format!("--cuda-path={}", calls().toolkit))
            .arg("-I")
            .arg(workspace().join("runtime/device/cpp"));
        host.args([
            "-Xclang",
            "-fcuda-include-gpubinary",
            "-Xclang",
            "container",
            "-c",
            "-o",
            "host.o",
            "-x",
            "cuda",
        ]);
        must_run(host.arg(gpu.join("executed.cu")), &folder).unwrap();
        let mut link = Command::new(tool("gclang++").unwrap());
        must_run(link.args(["-fgpurace-exec=cpu", "host.o", "-o", "program"]), &folder).unwrap();
        folder
    })
}

/// The races and the counters of one run of a kernel.
struct KernelRun {
    races: usize,
    counted: String,
}

impl KernelRun {
    fn count(&self, what: &str) -> u64 {
        let mut words = self.counted.split_whitespace();
        words.find(|word| *word == what).unwrap_or_else(|| panic!("no `{what}` in {}", self.counted));
        words.next().unwrap().parse().unwrap()
    }
}

fn execute(kernel: &str, seed: u32) -> KernelRun {
    let folder = program();
    let mut command = Command::new(folder.join("program"));
    command.arg(kernel).current_dir(folder).env("GPURACE_OPTIONS", format!("seed={seed}"));
    let ran = run(&mut command, folder).unwrap();
    assert_eq!(ran.status, Some(0), "{kernel}, seed {seed}: {}{}", ran.stdout, ran.stderr);
    let (counted, races) = ran.stdout.split_once('\n').unwrap();
    KernelRun {
        races: races.lines().filter(|line| line.starts_with("race ")).count(),
        counted: counted.to_owned(),
    }
}

#[test]
fn verdicts_are_by_the_kernels_names() {
    let mut decided = 0;
    for kernel in kernels() {
        for seed in 0..4 {
            let found = execute(&kernel, seed);
            let said = format!("{kernel}, seed {seed}: {} races; {}", found.races, found.counted);
            if kernel.starts_with("clean_") {
                assert_eq!(found.races, 0, "{said}");
            } else {
                // A conflict that may be ordered stays undecided, and is counted.
                assert!(found.races > 0 || found.count("undecided") > 0, "{said}");
                decided += usize::from(found.races > 0);
            }
            assert_eq!(found.count("taken"), 0, "a block has not given its slot back: {said}");
            for lost in ["outside", "shared_outside", "exhausted"] {
                assert_eq!(found.count(lost), 0, "{said}");
            }
        }
    }
    assert!(decided > 4 * 6, "{decided} races");
    // Strong accesses and copies of inline PTX are decided if nothing in the kernel can order them.
    for kernel in [
        "racy_guarded_ptx",
        "racy_async_copy",
        "racy_strong_beside_plain_ptx",
        "racy_swap_ptx",
        "racy_matrix",
    ] {
        assert!(execute(kernel, 0).races > 0, "{kernel}");
    }
}

/// Builds `tests/gpu/NAME.cu`. Returns the folder of `program`, and the container with its code for a GPU
/// in the form that the executor runs.
fn built(name: &str, flags: &[&str]) -> (PathBuf, PathBuf) {
    let folder = work_folder(&format!("executed-{name}")).unwrap();
    let mut command = Command::new(tool("gclang++").unwrap());
    command.args(["-fsanitize=gpurace", "-fgpurace-exec=auto", "--cuda-gpu-arch=sm_80"]).args(flags);
    command.args(["-O2", "-w", "-save-temps"]).arg(workspace().join(format!("tests/gpu/{name}.cu")));
    must_run(command.args(["-o", "program"]), &folder).unwrap();
    let (container, unknown) = lower(&folder, &format!("{name}.gpurace.device.gpu.bc")).unwrap();
    assert!(unknown.is_empty(), "the executor does not know these instructions: {unknown:?}");
    (folder, container)
}

#[test]
fn races_in_shared_memory_name_the_array_and_the_byte() {
    let (folder, container) = built("shared", &["-fgpurace-prune=off"]);
    let report = run_on_executor(&folder, &folder.join("program"), &container, &[], 0).unwrap().1;
    let mut objects: Vec<_> = report
        .races
        .iter()
        .filter_map(|race| race.object.as_ref())
        .map(|o| (o.name.as_deref(), o.size, o.offset))
        .collect();
    objects.sort_unstable();
    // The offset of a race on 8 bytes is that of its first byte.
    let wanted = [
        (Some("rest"), Some(128), Some(80)),
        (Some("second"), Some(512), Some(40)),
        (Some("third"), Some(200), Some(192)),
    ];
    assert_eq!(objects, wanted);
}

#[test]
fn what_lies_beside_managed_variables_is_ordinary_memory() {
    let (folder, container) = built("managed", &[]);
    let mut on_executor = Command::new(folder.join("program"));
    let outcome = run(on_executor.env("GPURACE_OPTIONS", "device=cpu"), &folder).unwrap();
    assert_eq!((outcome.status, &outcome.stdout[..]), (Some(0), "done\n"), "{}", outcome.stderr);
    let (outcome, report) = run_on_executor(&folder, &folder.join("program"), &container, &[], 0).unwrap();
    assert_eq!((outcome.status, &outcome.stdout[..]), (Some(0), "done\n"), "{}", outcome.stderr);
    assert!(report.races.is_empty() && report.stats.checks_executed > 0, "{:?}", report.races);
}

/// Runs a program over the mock of the driver, which lets the executor run the kernels. Returns the outcome
/// and the report.
fn run_on_executor(
    folder: &Path,
    program: &Path,
    container: &Path,
    arguments: &[&str],
    seed: u32,
) -> Result<(Outcome, Report), String> {
    let json = folder.join(format!("{seed}.json"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    command.env("GPURACE_OPTIONS", format!("device=cuda:json={}", json.display()));
    command
        .env("MOCK_ARCH", "90")
        .env("MOCKRUN_OPTIONS", format!("device=cpu:seed={seed}"))
        .env("MOCK_EXECUTED", container);
    command
        .env("MOCK_RUNTIME", calls().libraries().join("libgpurace_rt.so"))
        .env("LD_LIBRARY_PATH", mock_driver()?);
    let outcome = run(&mut command, folder)?;
    let said = || format!("seed {seed}: {}{}", outcome.stdout, outcome.stderr);
    if ![Some(0), Some(RACE_STATUS)].contains(&outcome.status) {
        return Err(format!("status {:?}, {}", outcome.status, said()));
    }
    let report = std::fs::read_to_string(&json).map_err(|e| format!("no report: {e}; {}", said()))?;
    let report = Report::parse(&report)?;
    if report.device == "cuda" { Ok((outcome, report)) } else { Err(format!("not on the GPU, {}", said())) }
}

#[test]
fn each_access_is_checked_once() {
    // Three launches of 8 blocks of 256 threads.
    let threads = 3 * 8 * 256;
    for (kernel, of_thread) in [
        ("clean_saxpy", 2),
        ("racy_one_word", 1),
        ("clean_shared_reverse", 4),
        ("clean_inline_ptx", 2),
        ("clean_async_copy", 4),
        ("clean_matrix", 4),
    ] {
        assert_eq!(execute(kernel, 0).count("checks"), threads * of_thread, "{kernel}");
    }
    // Only every second thread passes the guard.
    assert_eq!(execute("clean_guarded_ptx", 0).count("checks"), threads / 2);
}
