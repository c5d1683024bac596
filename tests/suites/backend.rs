//! Programs on a GPU, from `gclang` to the report, over a driver of our own: `libcuda.so.1` that
//! runs the kernels of `tests/gpu/backend.cu` and the checker's own code on the host
//! (`runtime/cuda/tests/mock/libcuda.cpp`). Kernels of real PTX run on a real GPU alone.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gpurace_tests::report::{Access, Report};
use gpurace_tests::toolchain::{Outcome, has_gpu, mock_driver, programs, run, tool, work_folder, workspace};
use serde_json::Value;

fn source() -> PathBuf {
    programs().join("../gpu/backend.cu")
}

/// The number of the source's line with this mark.
fn line(mark: &str) -> u32 {
    let text = std::fs::read_to_string(source()).unwrap();
    let at = text.lines().position(|line| line.ends_with(&format!("// {mark}")));
    at.unwrap_or_else(|| panic!("no line `{mark}`")) as u32 + 1
}

/// Builds the program with these arguments, once each; gives the folder.
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

/// With every access checked.
fn checked() -> PathBuf {
    build("checked", &["-fgpurace-exec=auto", "-fgpurace-prune=off", "--cuda-gpu-arch=sm_80"])
}

/// The sites of the kernels of the code for a GPU, as the driver wants them.
fn sites(program: &Path) -> String {
    let bytes = std::fs::read(program).unwrap();
    let begin = b"{\"arch\":";
    let descriptions =
        bytes.windows(begin.len()).enumerate().filter(|(_, w)| w == begin).filter_map(|(at, _)| {
            serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<Value>().next()?.ok()
        });
    // The executor's comes first.
    let meta = descriptions.last().expect("a description in the program");
    let kernels = meta["kernels"].as_array().unwrap().iter().map(|kernel| {
        let sites: Vec<String> = kernel["sites"].as_array().unwrap().iter().map(Value::to_string).collect();
        format!("{}:{}", kernel["name"].as_str().unwrap(), sites.join(","))
    });
    kernels.collect::<Vec<_>>().join(" ")
}

struct Ran {
    outcome: Outcome,
    report: Option<Report>,
    /// The driver's calls.
    calls: String,
}

/// Runs the program: over the driver or without one, with these variables and options.
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

fn on_gpu(folder: &Path, argument: &str) -> Ran {
    let ran = run_program(folder, true, argument, "", &[]);
    assert_eq!(ran.report.as_ref().map(|report| &report.device[..]), Some("cuda"), "{}", ran.outcome.stderr);
    ran
}

#[test]
fn memory_streams_and_events_are_as_on_the_executor() {
    let folder = checked();
    let gpu = on_gpu(&folder, "values");
    assert_eq!(
        (gpu.outcome.status, &gpu.outcome.stdout[..]),
        (Some(0), "all values are right\n"),
        "{}",
        gpu.outcome.stderr
    );
    // What the driver does with the kernels is what they do.
    let host = run_program(&folder, true, "values", "device=cpu", &[]);
    assert_eq!(
        (host.outcome.status, &host.outcome.stdout),
        (Some(0), &gpu.outcome.stdout),
        "{}",
        host.outcome.stderr
    );
    assert_eq!(host.calls, "", "`device=cpu` asks no driver");
    assert!(gpu.calls.contains("launch together scale__gpurace_checked 1 128 0 on 0"), "{}", gpu.calls);
    assert!(gpu.calls.contains("stream non-blocking\n") && gpu.calls.contains("on another\n"));
    let (gpu, host) = (gpu.report.unwrap(), host.report.unwrap());
    assert!(gpu.races.is_empty() && host.races.is_empty());
    assert_eq!((gpu.stats.launches, gpu.stats.launches_unchecked), (host.stats.launches, 0));
    assert_eq!(gpu.stats.checks_executed, host.stats.checks_executed);
    assert_eq!(gpu.stats.sites.total, host.stats.sites.total);
    // Registered memory has no shadow, and that is said.
    assert!(
        gpu.notes.iter().any(|note| note.contains("not checked against launches that may overlap")),
        "{:?}",
        gpu.notes
    );
    let clocks = run_program(&folder, true, "values", "", &[("GPURACE_GPU_LOG", "0")]).report.unwrap();
    assert!(
        clocks.notes.iter().any(|note| note.ends_with("accesses to memory without shadow not checked")),
        "{:?}",
        clocks.notes
    );
    assert!(
        gpu.notes
            .iter()
            .any(|note| note.contains("by the host while a launch may touch it not looked at on the GPU")),
        "{:?}",
        gpu.notes
    );
}

/// Races that a run has seen: those that it names, and those that it counts only.
fn races_in_all(ran: &Ran) -> u64 {
    let report = ran.report.as_ref().unwrap();
    let counted = report
        .notes
        .iter()
        .find_map(|note| note.strip_suffix(" races not counted singly: the same instructions as before"));
    report.races.iter().map(|race| race.count).sum::<u64>()
        + counted.map_or(0, |count| count.parse::<u64>().unwrap())
}

#[test]
fn launches_of_several_host_threads_know_of_each_other() {
    let folder = checked();
    let one = run_program(&folder, true, "overlapping", "", &[]);
    let wanted = races_in_all(&one);
    // Each of four launches, but for a round's first, meets another on each of 64 words.
    assert!(wanted >= 16 * 3 * 64, "{wanted}");
    for _ in 0..4 {
        let several = run_program(&folder, true, "overlapping threads", "", &[("MOCK_LAUNCH_TIME", "200")]);
        assert_eq!(races_in_all(&several), wanted, "{:?}", several.report.unwrap().notes);
    }
}

#[test]
fn copies_race_as_on_the_executor() {
    let folder = checked();
    let races = |ran: &Ran| {
        let races = &ran.report.as_ref().unwrap().races;
        let side = |access: &Access| (access.line, access.op == "copy", access.stream);
        let pairs = races.iter().map(|race| race.accesses.iter().map(side).collect::<BTreeSet<_>>());
        pairs.collect::<BTreeSet<_>>()
    };
    let gpu = on_gpu(&folder, "copies");
    let host = run_program(&folder, true, "copies", "device=cpu", &[]);
    // A fill and a launch, a launch and a copy, two copies.
    assert_eq!(
        (races(&gpu), races(&gpu).len()),
        (races(&host), 3),
        "{}{}",
        gpu.outcome.stderr,
        host.outcome.stderr
    );
    assert!(gpu.calls.contains("launch __gpurace_touch 1 256 0 on another"), "{}", gpu.calls);
}

#[test]
fn memory_is_freed_in_a_streams_order_without_a_wait() {
    let folder = checked();
    let gpu = on_gpu(&folder, "stream_ordered");
    assert_eq!(
        (gpu.outcome.status, &gpu.outcome.stdout[..]),
        (Some(66), "all are there\n"),
        "{}",
        gpu.outcome.stderr
    );
    // The end of the program waits, and nothing else.
    assert_eq!(gpu.calls.matches("wait for all").count(), 1, "{}", gpu.calls);
    // A race in what is gone since is told with its memory.
    let report = gpu.report.unwrap();
    let [race] = &report.races[..] else { panic!("{:?}", report.races) };
    let object = race.object.as_ref().unwrap();
    assert_eq!(
        (race.kernel.as_deref(), &object.kind[..], object.name.as_deref(), object.size),
        (Some("racy"), "allocation", Some("#2"), Some(32 << 20))
    );
    let host = run_program(&folder, true, "stream_ordered", "device=cpu", &[]);
    assert_eq!(
        (host.outcome.status, &host.outcome.stdout),
        (Some(66), &gpu.outcome.stdout),
        "{}",
        host.outcome.stderr
    );
}

#[test]
fn that_memory_has_no_shadow_is_said_with_what_it_would_take() {
    for (memory, is_said) in [("5000000", true), ("500000000", false)] {
        let ran = run_program(
            &checked(),
            true,
            "ordered",
            "",
            &[("MOCK_MEMORY", memory), ("GPURACE_GPU_LOG", "0")],
        );
        assert_eq!(ran.outcome.status, Some(0), "{}", ran.outcome.stderr);
        let said =
            "note: 4096 bytes of device memory are not checked: their shadow would take 8192 more, and ";
        assert_eq!(ran.outcome.stderr.contains(said), is_said, "{}", ran.outcome.stderr);
        let notes = ran.report.unwrap().notes;
        assert_eq!(
            notes
                .iter()
                .any(|note| note == "4096 bytes of allocations not checked: no memory for their shadow"),
            is_said,
            "{notes:?}"
        );
    }
}

#[test]
fn the_end_of_a_program_waits_for_no_kernel_for_ever() {
    let ran = run_program(&checked(), true, "unfinished", "", &[("MOCK_ENDLESS", "1")]);
    assert_eq!(ran.outcome.status, Some(0), "{}", ran.outcome.stderr);
    assert!(
        ran.outcome.stderr.contains("note: kernels still run at the end of the program"),
        "{}",
        ran.outcome.stderr
    );
    assert!(ran.report.is_some_and(|report| report.stats.launches == 1 && report.races.is_empty()));
}

#[test]
fn graphs_run_in_the_order_of_their_edges() {
    let folder = checked();
    let gpu = on_gpu(&folder, "graphs");
    assert_eq!(
        (gpu.outcome.status, &gpu.outcome.stdout[..]),
        (Some(0), "all graphs are right\n"),
        "{}",
        gpu.outcome.stderr
    );
    let host = run_program(&folder, true, "graphs", "device=cpu", &[]);
    assert_eq!(
        (host.outcome.status, &host.outcome.stdout),
        (Some(0), &gpu.outcome.stdout),
        "{}",
        host.outcome.stderr
    );
    // Each launch of a graph is a launch of each of its kernels, with a number and blocks of its own.
    let (gpu, host) = (gpu.report.unwrap(), host.report.unwrap());
    assert_eq!((gpu.stats.launches, host.stats.launches), (3 * 3 + 2 + 3 + 2 * 3, 3 * 3 + 2 + 3 + 2 * 3));
    assert_eq!(gpu.stats.checks_executed, host.stats.checks_executed);
    assert!(gpu.races.is_empty() && host.races.is_empty());
}

#[test]
fn a_race_in_global_memory_is_reported() {
    for logs in [true, false] {
        a_race_is_reported(logs);
    }
}

/// `logs`: the launch logs what it does, so that how often the race happens is known.
fn a_race_is_reported(logs: bool) {
    let ran = run_program(&checked(), true, "racy", "", &[("GPURACE_GPU_LOG", if logs { "1" } else { "0" })]);
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    assert!(ran.outcome.stderr.contains("WARNING: gpurace: data race"), "{}", ran.outcome.stderr);
    assert!(ran.outcome.stderr.ends_with("SUMMARY: gpurace: 1 data race\n"), "{}", ran.outcome.stderr);
    let report = ran.report.unwrap();
    let [race] = &report.races[..] else { panic!("{:?}", report.races) };
    assert_eq!(
        (&race.kind[..], &race.space[..], race.kernel.as_deref()),
        ("write-write", "global", Some("racy"))
    );
    for access in &race.accesses {
        assert_eq!(
            (&access.op[..], access.line, access.launch),
            ("write", Some(line("racy-write")), Some(1))
        );
    }
    let [later, earlier] = &race.accesses;
    assert_ne!((later.block, later.thread), (earlier.block, earlier.thread));
    let object = race.object.as_ref().unwrap();
    assert_eq!(
        (&object.kind[..], object.name.as_deref(), object.size, object.offset),
        ("allocation", Some("#1"), Some(4096), Some(4))
    );
    let launch = race.launch.as_ref().unwrap();
    assert_eq!((launch.index, launch.grid, launch.block), (1, [2, 1, 1], [64, 1, 1]));
    assert_eq!(launch.line, Some(line("launch-of-racy")));
    assert_eq!(report.stats.checks_executed, 128);
    assert_eq!(
        report.notes.iter().any(|note| note.contains("the same instructions as before")),
        !logs,
        "{:?}",
        report.notes
    );
    assert_eq!(race.count == 127, logs, "{}", race.count);
}

#[test]
fn a_race_in_shared_memory_is_reported() {
    let ran = on_gpu(&checked(), "shared");
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    let report = ran.report.unwrap();
    let [race] = &report.races[..] else { panic!("{:?}", report.races) };
    let lines = race.accesses.each_ref().map(|access| (access.op.clone(), access.line));
    // Which of the two comes first is the driver's schedule: thread by thread.
    assert!(lines.contains(&("write".to_owned(), Some(line("shared-write")))), "{lines:?}");
    assert!(lines.contains(&("read".to_owned(), Some(line("shared-read")))), "{lines:?}");
    assert_eq!((&race.space[..], &race.scope[..]), ("shared", "warp"));
    // The kernel's only array; where in it is not known.
    let object = race.object.as_ref().unwrap();
    assert_eq!((object.name.as_deref(), object.size, object.offset), (Some("s"), Some(256), None));
}

#[test]
fn a_race_on_a_variable_is_reported() {
    let ran = on_gpu(&checked(), "total");
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    let report = ran.report.unwrap();
    assert!(!report.races.is_empty());
    for race in &report.races {
        let object = race.object.as_ref().unwrap();
        assert_eq!(
            (&object.kind[..], object.name.as_deref(), object.size),
            ("variable", Some("total"), Some(4))
        );
        assert!(race.accesses.iter().all(|access| access.line == Some(line("total"))), "{race:?}");
    }
}

#[test]
fn a_barrier_is_an_order() {
    let ran = on_gpu(&checked(), "ordered");
    assert_eq!((ran.outcome.status, &ran.outcome.stderr[..]), (Some(0), ""));
    assert_eq!(ran.report.unwrap().stats.checks_executed, 4 * 64 * 2);
}

#[test]
fn options_and_suppressions_hold() {
    let folder = checked();
    let races = |options: &str| {
        let ran = run_program(&folder, true, "racy", options, &[]);
        let report = ran.report.unwrap();
        (ran.outcome.status, report.races.len(), report.stats.launches_unchecked)
    };
    assert_eq!(races("exitcode=7"), (Some(7), 1, 0));
    assert_eq!(races("skip_kernels=racy"), (Some(0), 0, 1));
    assert_eq!(races("objects=shared"), (Some(0), 0, 0));
    std::fs::write(folder.join("suppressions"), "race:racy\n").unwrap();
    assert_eq!(races("suppressions=suppressions"), (Some(0), 0, 0));
    assert_eq!(races("halt_on_error=1"), (Some(66), 1, 0));
}

#[test]
fn launches_that_are_proved_run_bare() {
    let folder = build("proved", &["-fgpurace-exec=auto", "--cuda-gpu-arch=sm_80"]);
    let ran = on_gpu(&folder, "values");
    assert_eq!(ran.outcome.status, Some(0), "{}", ran.outcome.stderr);
    assert!(ran.calls.contains("launch scale 8 128 0 on 0\n"), "{}", ran.calls);
    // What may overlap other work, or touches managed memory, is checked.
    assert!(ran.calls.contains("launch scale__gpurace_checked 8 128 0 on another\n"), "{}", ran.calls);
    let bare = on_gpu(&folder, "scale");
    assert!(
        bare.calls.contains("launch scale 4 64") && !bare.calls.contains("launch __gpurace_"),
        "{}",
        bare.calls
    );
    assert_eq!(bare.report.unwrap().stats.checks_executed, 0);
    assert_eq!(on_gpu(&folder, "racy").outcome.status, Some(66));
}

#[test]
fn what_nobody_waits_for_is_in_the_report() {
    let ran = on_gpu(&checked(), "unfinished");
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    assert_eq!(ran.report.unwrap().stats.checks_executed, 128);
}

#[test]
fn a_fault_is_cudas_error_and_leaves_the_report() {
    let ran = on_gpu(&checked(), "fault");
    // Of a program that fails itself the status is its own.
    assert_eq!(ran.outcome.status, Some(5));
    assert_eq!(ran.outcome.stdout, "then: cudaErrorIllegalAddress\nlater: cudaErrorIllegalAddress\n");
    assert!(
        ran.outcome
            .stderr
            .contains("a kernel failed on the GPU: `cuCtxSynchronize` failed: CUDA_ERROR_ILLEGAL_ADDRESS"),
        "{}",
        ran.outcome.stderr
    );
    let report = ran.report.unwrap();
    assert_eq!(report.races.len(), 1);
    assert!(
        report.notes.iter().any(|note| note.contains("what the GPU has counted is lost")),
        "{:?}",
        report.notes
    );
}

#[test]
fn properties_are_the_drivers() {
    let ran = on_gpu(&checked(), "properties");
    // The driver answers with an attribute's number and 1000 where it knows no better.
    assert_eq!((ran.outcome.status, &ran.outcome.stdout[..]), (Some(0), "Mock 8.0, 2, 1038, 1073741824\n"));
}

#[test]
fn blocks_that_do_not_fit_with_checks_run_without_and_that_is_said() {
    let ran = run_program(&checked(), true, "racy", "", &[("MOCK_CHECKED_THREADS", "32")]);
    assert_eq!(ran.outcome.status, Some(0), "{}", ran.outcome.stderr);
    let report = ran.report.unwrap();
    assert_eq!((report.stats.launches, report.stats.launches_unchecked), (1, 1));
    assert!(
        report.notes.iter().any(|note| note.starts_with("launches of `racy` not checked")),
        "{:?}",
        report.notes
    );
}

#[test]
fn without_a_gpu_the_executor_takes_its_place_in_a_line() {
    let folder = checked();
    let racy = |with_driver, variables: &[(&str, &str)]| {
        let ran = run_program(&folder, with_driver, "racy", "", variables);
        assert_eq!((ran.outcome.status, &ran.report.unwrap().device[..]), (Some(66), "cpu"));
        let said = ran.outcome.stderr.lines().next().unwrap_or_default().to_owned();
        assert_eq!(ran.outcome.stderr.matches("gpurace: note").count(), 1, "{}", ran.outcome.stderr);
        said
    };
    if !has_gpu() {
        let wanted =
            "gpurace: note: no NVIDIA driver: `libcuda.so.1` was not found; kernels run on the CPU executor";
        assert_eq!(racy(false, &[]), wanted);
    }
    assert!(
        racy(true, &[("MOCK_DEVICES", "0")])
            .contains("no NVIDIA GPU: `cuInit` failed: CUDA_ERROR_NO_DEVICE; kernels run on")
    );
    assert!(racy(true, &[("MOCK_ARCH", "61")]).contains("compute capability 6.1, wanted 7.0 or newer"));
    assert!(racy(true, &[("MOCK_ARCH", "75")]).contains("the program has no code for this GPU, `sm_75`"));
}

#[test]
fn arrays_textures_and_surfaces_are_the_drivers() {
    let folder = checked();
    let gpu = on_gpu(&folder, "arrays");
    assert_eq!(
        (gpu.outcome.status, &gpu.outcome.stdout[..]),
        (Some(0), "all arrays are right\n"),
        "{}",
        gpu.outcome.stderr
    );
    let host = run_program(&folder, true, "arrays", "device=cpu", &[]);
    assert_eq!(
        (host.outcome.status, &host.outcome.stdout),
        (Some(0), &gpu.outcome.stdout),
        "{}",
        host.outcome.stderr
    );
    for wanted in [
        // Formats, extents and flags as the driver has them.
        "array 6 4 0 format 10 channels 1 flags 0\n",
        "array 9 4 0 format 10 channels 1 flags 2\n",
        "array 4 3 2 format 1 channels 4 flags 1\n",
        "copy rows 24 4 1 from memory to array\n",
        "copy rows 12 2 1 from array to array\n",
        // Floats, normalised coordinates; then integers of memory, and rows.
        "texture of 0 format 0 channels 0 sizes 0 0 0 modes 1 1 3 filter 1 flags 2\n",
        "texture of 2 format 10 channels 1 sizes 96 0 0 modes 0 0 0 filter 0 flags 1\n",
        "texture of 3 format 32 channels 2 sizes 3 2 32 modes 0 0 0 filter 0 flags 0\n",
        "surface\n",
    ] {
        assert!(gpu.calls.contains(wanted), "no `{wanted}` in\n{}", gpu.calls);
    }
    assert_eq!(gpu.calls.matches("array gone").count(), 3, "{}", gpu.calls);
    // Addresses stand for them also where no memory can be mapped.
    let unmapped = run_program(&folder, true, "arrays", "", &[("MOCK_UNMAPPED", "1")]);
    assert_eq!(
        (unmapped.outcome.status, &unmapped.outcome.stdout),
        (Some(0), &gpu.outcome.stdout),
        "{}",
        unmapped.outcome.stderr
    );
    assert_eq!(unmapped.report.map(|report| report.device), Some("cuda".to_owned()));
}

#[test]
fn who_insists_on_a_gpu_gets_one_or_an_error() {
    let folder = checked();
    let there = run_program(&folder, true, "racy", "device=cuda", &[]);
    assert_eq!((there.outcome.status, &there.report.unwrap().device[..]), (Some(66), "cuda"));
    let refused = run_program(&folder, true, "racy", "device=cuda", &[("MOCK_DEVICES", "0")]);
    assert_eq!(refused.outcome.status, Some(1));
    let wanted = "gpurace: error: `device=cuda`: no NVIDIA GPU: `cuInit` failed: CUDA_ERROR_NO_DEVICE\n\
                  gpurace: hint: leave `device` out, or set `device=cpu`\n";
    assert_eq!(refused.outcome.stderr, wanted);
    // A program without code for one.
    let host = build("host", &["-fgpurace-exec=cpu"]);
    let refused = run_program(&host, true, "racy", "device=cuda", &[]);
    assert_eq!(refused.outcome.status, Some(1));
    assert!(
        refused
            .outcome
            .stderr
            .contains("the program has a file without code for a GPU: build it with `-fgpurace-exec=auto`"),
        "{}",
        refused.outcome.stderr
    );
    let silent = run_program(&host, true, "racy", "", &[]);
    assert_eq!(
        (silent.outcome.status, &silent.report.unwrap().device[..], &silent.calls[..]),
        (Some(66), "cpu", "")
    );
    assert!(!silent.outcome.stderr.contains("note"), "{}", silent.outcome.stderr);
}

#[test]
fn code_for_a_gpu_alone_runs_there() {
    let folder = build("alone", &["-fgpurace-exec=cuda", "-fgpurace-prune=off", "--cuda-gpu-arch=sm_80"]);
    // Nobody has `ptxas` everywhere: where it is, the driver is given what it made.
    let ran = run_program(&folder, true, "racy", "", &[]);
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    assert_eq!(ran.report.unwrap().device, "cuda");
    let nowhere = run_program(&folder, false, "racy", "", &[]);
    if !has_gpu() {
        assert_ne!(nowhere.outcome.status, Some(0));
        assert!(nowhere.outcome.stderr.contains("for an NVIDIA GPU alone"), "{}", nowhere.outcome.stderr);
    }
}

#[test]
fn separately_compiled_code_runs_there_too() {
    let flags = ["-fgpurace-exec=auto", "-fgpurace-prune=off", "--cuda-gpu-arch=sm_80", "-fgpu-rdc"];
    let folder = build("separate", &flags);
    let values = on_gpu(&folder, "values");
    assert_eq!(
        (values.outcome.status, &values.outcome.stdout[..]),
        (Some(0), "all values are right\n"),
        "{}",
        values.outcome.stderr
    );
    let racy = on_gpu(&folder, "racy").report.unwrap();
    let [race] = &racy.races[..] else { panic!("{:?}", racy.races) };
    assert!(race.accesses.iter().all(|access| access.line == Some(line("racy-write"))), "{race:?}");
    let total = on_gpu(&folder, "total").report.unwrap();
    assert!(!total.races.is_empty());
    assert!(
        total.races.iter().all(|race| race.object.as_ref().unwrap().name.as_deref() == Some("total")),
        "{:?}",
        total.races
    );
}

#[test]
fn the_code_that_suits_the_gpu_is_loaded() {
    let archs = ["--cuda-gpu-arch=sm_75", "--cuda-gpu-arch=sm_80", "--cuda-gpu-arch=sm_90a"];
    let folder = build("archs", &[&["-fgpurace-exec=auto", "-fgpurace-prune=off"][..], &archs].concat());
    for (gpu, wanted) in
        [("75", "sm_75"), ("80", "sm_80"), ("89", "sm_80"), ("90", "sm_90a"), ("100", "sm_80")]
    {
        let ran = run_program(&folder, true, "racy", "", &[("MOCK_ARCH", gpu)]);
        let report = ran.report.unwrap();
        assert_eq!(
            (ran.outcome.status, &report.device[..]),
            (Some(66), "cuda"),
            "{gpu}: {}",
            ran.outcome.stderr
        );
        assert!(ran.calls.contains(&format!("target {wanted}\n")), "{gpu}: {}", ran.calls);
        assert!(
            report.races[0].accesses.iter().all(|access| access.line == Some(line("racy-write"))),
            "{gpu}: {:?}",
            report.races
        );
    }
    let older = run_program(&folder, true, "racy", "", &[("MOCK_ARCH", "70")]);
    assert!(older.outcome.stderr.contains("no code for this GPU, `sm_70`"), "{}", older.outcome.stderr);
    // A driver that is older than the toolkit, whose PTX it is.
    let ran = run_program(&folder, true, "racy", "", &[("MOCK_VERSION", "12020")]);
    assert_eq!(
        (ran.outcome.status, &ran.report.unwrap().device[..]),
        (Some(66), "cuda"),
        "{}",
        ran.outcome.stderr
    );
    assert!(ran.calls.contains("version 8.2\n"), "{}", ran.calls);
}

#[test]
fn what_checks_cost_is_put_in_a_table() {
    let folder = work_folder("backend-table").unwrap();
    let script = workspace().join("scripts/gpu");
    let packed = run(
        Command::new(script).arg("pack").arg(folder.join("packed")).args(["sm_80", "none", "launch"]),
        &folder,
    )
    .unwrap();
    assert_eq!(packed.status, Some(0), "{}", packed.stderr);
    // A compute-sanitizer that runs the program as it is, or, as memcheck, fails.
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let stub = bin.join("compute-sanitizer");
    std::fs::write(
        &stub,
        "#!/bin/sh\necho \"$@\" >> \"$STUB_LOG\"\n[ \"$2\" = memcheck ] && exit 3\nshift 2\nexec \"$@\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&stub, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let log = folder.join("stub.log");
    let path = std::env::var("PATH").unwrap();
    let table = |with_stub: bool| {
        let mut command = Command::new(folder.join("packed/run"));
        command
            .env("LD_LIBRARY_PATH", mock_driver().unwrap())
            .env("ROUNDS", "3")
            .env("REPETITIONS", "tiny")
            .env("STUB_LOG", &log);
        command.env("PATH", if with_stub { format!("{}:{path}", bin.display()) } else { path.clone() });
        let ran = run(&mut command, &folder).unwrap();
        let row = ran
            .stdout
            .lines()
            .find(|line| line.starts_with("| launch |"))
            .unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
        row.trim_matches(&['|', ' '][..]).split(" | ").map(str::to_owned).collect::<Vec<_>>()
    };
    // Median, least and greatest.
    let is_spread = |text: &str| {
        let numbers: Vec<f64> =
            text.split(&[' ', '(', ')'][..]).filter_map(|word| word.parse().ok()).collect();
        matches!(numbers[..], [median, least, greatest] if least <= median && median <= greatest && least > 0.0)
    };
    let row = table(true);
    assert_eq!(row.len(), 10, "{row:?}");
    assert!(row[1..6].iter().all(|column| is_spread(column)), "{row:?}");
    assert_eq!(row[6], "failed", "{row:?}");
    assert!(row[7..].iter().all(|column| column.parse::<u64>().is_ok()), "{row:?}");
    let calls = std::fs::read_to_string(&log).unwrap();
    assert_eq!(
        calls
            .lines()
            .filter(|line| line.starts_with("--tool racecheck ") && line.ends_with("/bench/launch.off tiny"))
            .count(),
        3,
        "{calls}"
    );
    // What fails is not tried in each round.
    assert_eq!(calls.lines().filter(|line| line.starts_with("--tool memcheck ")).count(), 1, "{calls}");
    if !has_gpu() {
        let row = table(false);
        assert!(row[1..5].iter().all(|column| is_spread(column)), "{row:?}");
        assert_eq!((&row[5][..], &row[6][..], &row[9][..]), ("not run", "not run", "not run"), "{row:?}");
    }
}
