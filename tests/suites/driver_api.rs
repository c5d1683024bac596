//! Programs that know nothing of gpurace load checked kernels through bindings of the CUDA driver API, which
//! find gpurace's under `gpurace run`. A test whose binding cannot be fetched is skipped and counted.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{Outcome, compile, run, tool, work_folder, workspace};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let (crates, python) = match args.list {
        true => (true, None),
        false => (has_crates(), python_with_binding().ok()),
    };
    let rust = Trial::test("a_rust_program_launches_with_cust", rust_program).with_ignored_flag(!crates);
    let is_ignored = python.is_none();
    let python = Trial::test("a_python_program_launches_with_cuda_bindings", move || {
        python_program(&python.unwrap_or_default())
    });
    let named = Trial::test("a_program_that_opens_the_driver_by_name_finds_it", opened_by_name);
    let host = Trial::test("other_linkers_find_the_driver", other_linker);
    let memory = Trial::test("a_report_shows_a_source_that_was_never_on_disk", source_in_memory);
    let trials = vec![rust, python.with_ignored_flag(is_ignored), named, host, memory];
    libtest_mimic::run(&args, trials).exit_code()
}

fn example() -> PathBuf {
    workspace().join("examples/driver-api")
}

/// True if the crates of the example are here or can be fetched.
fn has_crates() -> bool {
    let mut command = Command::new("cargo");
    command.args(["fetch", "--locked"]).current_dir(example().join("rust"));
    command.output().is_ok_and(|output| output.status.success())
}

/// Fetches NVIDIA's binding. Returns its folder.
fn python_with_binding() -> Result<PathBuf, String> {
    let folder = work_folder("driver_api_binding")?;
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "install", "-q", "--only-binary=:all:", "--target", "."]);
    command.arg("cuda-bindings==13.*").current_dir(&folder);
    let outcome = run(&mut command, &folder)?;
    if outcome.status == Some(0) { Ok(folder) } else { Err(outcome.stderr) }
}

/// Compiles the example's kernel to a file.
fn kernel(folder: &Path, flags: &[&str]) -> Result<PathBuf, String> {
    let source = example().join("smooth.cu");
    let mut args = vec!["-fsanitize=gpurace", "-Wno-gpurace", "--cuda-device-only", "-o", "smooth.fatbin"];
    args.push(source.to_str().unwrap_or_default());
    args.extend(flags);
    compile(&args, folder)?;
    Ok(folder.join("smooth.fatbin"))
}

/// Runs a program that finds gpurace's driver API.
fn run_with_driver(command: &mut Command, folder: &Path) -> Result<Outcome, String> {
    let mut with = Command::new(tool("gpurace")?);
    with.args(["run", "--"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        with.env(name, value.unwrap_or_default());
    }
    let options = format!("device=cpu:json={}", folder.join("report.json").display());
    run(with.env("GPURACE_OPTIONS", options).env("XDG_CACHE_HOME", folder).current_dir(folder), folder)
}

/// Runs a program of the example with the racy kernel, then with the corrected one.
fn check(name: &str, program: impl Fn(&Path) -> Command) -> Result<(), Failed> {
    let folder = work_folder(name)?;
    let racy = kernel(&folder, &[])?;
    check_racy(run_with_driver(&mut program(&racy), &folder)?, &folder)?;

    let fixed = kernel(&folder, &["-DFIXED"])?;
    check_fixed(run_with_driver(&mut program(&fixed), &folder)?, &folder)
}

/// The run of a program with the racy kernel.
fn check_racy(outcome: Outcome, folder: &Path) -> Result<(), Failed> {
    assert_eq!(outcome.status, Some(66), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("#0 smooth "), "{}", outcome.stderr);
    // The page shows this report.
    let page = std::fs::read_to_string(workspace().join("docs/driver-api.md"))?;
    let shown = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or("nothing");
    let folders = [example().as_path(), folder].map(|folder| format!("{}/", folder.display()));
    let said = outcome.stderr.replace(&folders[0], "").replace(&folders[1], "");
    assert!(said.contains(shown), "{said}");
    let text = std::fs::read_to_string(example().join("smooth.cu"))?;
    let line = |part: &str| text.lines().position(|line| line.contains(part)).map(|at| at as u32 + 1);
    let (write, read) = (line("tile[t] = i < n"), line("float left = tile"));
    let report = Report::parse(&std::fs::read_to_string(folder.join("report.json"))?)?;
    let lines = |accesses: &[Option<u32>]| accesses.contains(&write) && accesses.contains(&read);
    let found = report.races.iter().any(|race| lines(&race.accesses.each_ref().map(|access| access.line)));
    assert!(found, "{}", outcome.stderr);
    Ok(())
}

/// The run of a program with the corrected kernel.
fn check_fixed(outcome: Outcome, folder: &Path) -> Result<(), Failed> {
    assert_eq!((outcome.status, &outcome.stdout[..]), (Some(0), "right\n"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "");
    let report = Report::parse(&std::fs::read_to_string(folder.join("report.json"))?)?;
    assert!(report.races.is_empty() && report.stats.launches == 1);
    Ok(())
}

fn rust_program() -> Result<(), Failed> {
    let folder = work_folder("driver_api_rust")?;
    let mut build = Command::new("cargo");
    build.args(["build", "-q", "--locked", "--manifest-path"]).arg(example().join("rust/Cargo.toml"));
    build.env("CARGO_TARGET_DIR", folder.join("target"));
    let built = run_with_driver(&mut build, &folder)?;
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let program = folder.join("target/debug/smooth");
    check("driver_api_rust_runs", |kernel| {
        let mut command = Command::new(&program);
        command.arg(kernel);
        command
    })
}

fn python_program(binding: &Path) -> Result<(), Failed> {
    let program = |kernel: &Path| {
        let mut command = Command::new("python3");
        command.arg(example().join("python/smooth.py")).arg(kernel).env("PYTHONPATH", binding);
        command
    };
    check("driver_api_python", program)?;
    // It compiles the kernel itself. The report shows the source that it had.
    let folder = work_folder("driver_api_python_compiles")?;
    let copy = folder.join("smooth.cu");
    std::fs::copy(example().join("smooth.cu"), &copy)?;
    check_racy(run_with_driver(&mut program(&copy), &folder)?, &folder)?;
    check_fixed(run_with_driver(program(&copy).arg("-DFIXED"), &folder)?, &folder)
}

/// A program in C that opens `libcuda.so.1`, and takes its functions by name.
const BY_NAME: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return puts(dlerror());
  int (*init)(unsigned) = dlsym(driver, "cuInit");
  int (*version)(int *) = dlsym(driver, "cuDriverGetVersion");
  int found = 0;
  printf("%d %d", init(0), version(&found));
  return printf(" %d\n", found) < 0;
}
"#;

fn opened_by_name() -> Result<(), Failed> {
    let folder = work_folder("driver_api_by_name")?;
    std::fs::write(folder.join("program.c"), BY_NAME)?;
    let built = run(Command::new("cc").args(["program.c", "-o", "program"]).current_dir(&folder), &folder)?;
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let outcome = run_with_driver(&mut Command::new("./program"), &folder)?;
    assert_eq!((outcome.status, &outcome.stdout[..]), (Some(0), "0 0 13000\n"), "{}", outcome.stderr);
    Ok(())
}

/// A program in C that is linked with the driver by another compiler, under `gpurace run`.
const LINKED: &str = "int cuInit(unsigned); int main(void) { return cuInit(0); }\n";

fn other_linker() -> Result<(), Failed> {
    let folder = work_folder("driver_api_linked")?;
    std::fs::write(folder.join("program.c"), LINKED)?;
    let mut build = Command::new("cc");
    build.args(["program.c", "-o", "program", "-lcuda"]);
    let built = run_with_driver(&mut build, &folder)?;
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let outcome = run_with_driver(&mut Command::new("./program"), &folder)?;
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    Ok(())
}

/// A program that compiles its kernel with NVRTC. Its header races.
const IN_MEMORY: &str = r##"
#include <cuda.h>
#include <nvrtc.h>
#include <vector>
int main() {
  const char *source = "#include \"shift.h\"\n"
                       "extern \"C\" __global__ void move(int *data) {\n"
                       "  shift(data, threadIdx.x);\n"
                       "}\n";
  const char *header = "__device__ void shift(int *data, int t) {\n"
                       "  data[t] = data[t + 1]; // in the header\n"
                       "}\n", *name = "shift.h";
  nvrtcProgram program;
  size_t size;
  if (nvrtcCreateProgram(&program, source, "move.cu", 1, &header, &name)) return 2;
  if (nvrtcCompileProgram(program, 0, nullptr) || nvrtcGetPTXSize(program, &size)) return 3;
  std::vector<char> code(size);
  if (nvrtcGetPTX(program, code.data()) || nvrtcDestroyProgram(&program)) return 4;
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr data;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 5;
  if (cuModuleLoadData(&module, code.data()) || cuModuleGetFunction(&kernel, module, "move")) return 6;
  if (cuMemAlloc(&data, 65 * 4)) return 7;
  void *arguments[] = {&data};
  return cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr) || cuCtxSynchronize();
}
"##;

fn source_in_memory() -> Result<(), Failed> {
    let folder = work_folder("driver_api_source_in_memory")?;
    std::fs::write(folder.join("program.cpp"), IN_MEMORY)?;
    compile(&["-fsanitize=gpurace", "program.cpp", "-lnvrtc", "-o", "program"], &folder)?;
    let mut command = Command::new("./program");
    command.env("GPURACE_OPTIONS", "device=cpu:json=report.json").current_dir(&folder);
    let temporary = folder.join("temporary");
    std::fs::create_dir(&temporary)?;
    command.env("TMPDIR", &temporary);
    let outcome = run(&mut command, &folder)?;
    assert_eq!(outcome.status, Some(66), "{}{}", outcome.stdout, outcome.stderr);
    for part in ["#0 shift shift.h:2:", "#1 move move.cu:3:", "data[t] = data[t + 1]; // in the header"] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
    assert_eq!(std::fs::read_dir(&temporary)?.count(), 0, "the compiler's files are gone");
    Ok(())
}
