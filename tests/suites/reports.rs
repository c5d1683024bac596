//! The contents of a report, in JSON and as text, and the effect of `GPURACE_OPTIONS` on it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gpurace_tests::report::{Finding, Race, Report};
use gpurace_tests::toolchain::{
    Checked, compile, programs, run as run_command, run_checked, tool, work_folder,
};

/// Returns a program of `tests/programs/report`, compiled once for all tests, and a new folder for
/// one run.
fn program(name: &'static str) -> (PathBuf, PathBuf) {
    static BUILT: [OnceLock<PathBuf>; 9] = [const { OnceLock::new() }; 9];
    let names =
        ["two_races", "same_value", "objects", "overlap", "causes", "places", "fault", "coverage", "fields"];
    let index = names.iter().position(|n| *n == name).expect("listed");
    let executable = BUILT[index].get_or_init(|| {
        let folder = work_folder(&format!("reports_{name}")).unwrap();
        let source = source(name);
        compile(
            &["-fsanitize=gpurace", "-Wno-gpurace", "-O1", source.to_str().unwrap(), "-o", name],
            &folder,
        )
        .unwrap();
        folder.join(name)
    });
    static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    (executable.clone(), work_folder(&format!("reports_run_{run}")).unwrap())
}

fn source(name: &str) -> PathBuf {
    programs().join("report").join(name).with_extension("cu")
}

/// Returns the number of the source line with this text.
fn line(name: &str, text: &str) -> Option<u32> {
    let source = std::fs::read_to_string(source(name)).unwrap();
    let at = source.lines().position(|l| l.contains(text));
    Some(at.unwrap_or_else(|| panic!("`{text}` is not in {name}.cu")) as u32 + 1)
}

fn run(name: &'static str, args: &[&str], options: &str) -> Checked {
    let (executable, folder) = program(name);
    run_checked(&executable, args, options, &folder).unwrap()
}

fn report(name: &'static str, options: &str) -> Report {
    run(name, &[], options).report.unwrap()
}

fn kernels(report: &Report) -> Vec<&str> {
    report.races.iter().filter_map(|r| r.kernel.as_deref()).collect()
}

fn race<'a>(report: &'a Report, kernel: &str) -> &'a Race {
    let found = report.races.iter().find(|r| r.kernel.as_deref().is_some_and(|k| k.starts_with(kernel)));
    found.unwrap_or_else(|| panic!("no race in `{kernel}`: {:?}", kernels(report)))
}

#[test]
fn both_sides_carry_everything_that_is_known() {
    let report = report("two_races", "");
    assert_eq!(report.device, "cpu");
    assert_eq!(report.races.len(), 2, "{:?}", kernels(&report));
    let race = race(&report, "shared_race");
    assert_eq!(race.kernel.as_deref(), Some("shared_race(int*)"));
    assert_eq!((race.space.as_str(), race.same_value), ("shared", None));
    for access in &race.accesses {
        let text = if access.op == "write" { "// write of the tile" } else { "// read of the neighbour" };
        assert_eq!(access.line, line("two_races", text));
        assert!(access.file.as_deref().unwrap().ends_with("two_races.cu"));
        assert!(access.column.is_some_and(|c| c > 1));
        assert!(access.function.as_deref().unwrap().starts_with("shared_race"));
        assert_eq!((access.size, access.launch, access.block), (Some(4), Some(1), Some([0, 0, 0])));
    }
    let [reader, writer] = ["read", "write"].map(|op| race.accesses.iter().find(|a| a.op == op).unwrap());
    let [x, y] = [reader, writer].map(|a| a.thread.unwrap()[0]);
    assert_eq!((x + 1) % 64, y, "thread {x} reads what thread {y} wrote");
    let object = race.object.as_ref().unwrap();
    assert_eq!((object.kind.as_str(), object.name.as_deref()), ("shared", Some("tile")));
    assert_eq!((object.size, object.offset), (Some(256), Some(u64::from(y) * 4)));
    assert!(race.hint.as_deref().unwrap().contains("__syncthreads()"), "{:?}", race.hint);
}

#[test]
fn launches_are_described() {
    let report = report("two_races", "");
    let race = race(&report, "app::global_race");
    let launch = race.launch.as_ref().unwrap();
    assert_eq!((launch.index, launch.grid, launch.block), (2, [2, 2, 1], [1, 1, 1]));
    assert_eq!(launch.line, line("two_races", "app::global_race<<<"));
    assert!(launch.file.as_deref().unwrap().ends_with("two_races.cu"));
    assert_eq!((race.scope.as_str(), race.kind.as_str()), ("grid", "write-write"));
    assert_eq!(race.same_value, Some(false));
    let [a, b] = &race.accesses;
    assert_ne!(a.block, b.block);
}

#[test]
fn counts_add_up() {
    let report = report("two_races", "");
    let stats = &report.stats;
    assert_eq!((stats.launches, stats.launches_unchecked), (4, 0));
    assert_eq!(stats.kernels.iter().map(|k| k.launches).sum::<u64>(), 4);
    assert_eq!(stats.kernels.iter().map(|k| k.checks_executed).sum::<u64>(), stats.checks_executed);
    assert!(stats.checks_executed > 0);
}

#[test]
fn objects_are_named_with_size_and_offset() {
    let report = report("objects", "");
    let of = |kernel: &str| {
        let object = race(&report, kernel).object.as_ref().unwrap();
        (object.kind.as_str(), object.name.as_deref(), object.size, object.offset)
    };
    assert_eq!(of("in_static_array"), ("shared", Some("hits"), Some(64), Some(20)));
    assert_eq!(of("in_dynamic_memory"), ("shared", Some("scratch"), Some(64), Some(12)));
    assert_eq!(of("in_variable"), ("variable", Some("counters"), Some(32), Some(8)));
    let (kind, _, size, offset) = of("in_allocation");
    assert_eq!((kind, size, offset), ("allocation", Some(100), Some(28)));
}

#[test]
fn a_field_of_a_struct_is_named() {
    let Checked { outcome, report } = run("fields", &[], "");
    let report = report.unwrap();
    let element = |kernel: &str| {
        let element =
            race(&report, kernel).object.as_ref().and_then(|object| object.element.clone()).unwrap();
        (element.r#type, element.field)
    };
    let of = |ty: &str, field: &str| (Some(ty.to_owned()), Some(field.to_owned()));
    assert_eq!(element("nested"), of("Particle", "velocity.y"));
    assert_eq!(element("array"), of("Particle", "ids[1]"));
    // The fields of a union share their bytes: the first has all.
    assert_eq!(element("shared_bytes"), of("Other", "whole"));
    assert_eq!(element("numbers"), (Some("float".to_owned()), None));
    let shown = "(element 0, field `velocity.y` of `Particle`)";
    assert!(outcome.stderr.contains(shown), "{}", outcome.stderr);
}

#[test]
fn overlaps_carry_both_sizes() {
    let report = report("overlap", "");
    let race = race(&report, "overlap");
    let mut sizes: Vec<_> = race.accesses.iter().map(|a| a.size.unwrap()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [2, 8]);
}

#[test]
fn text_shows_both_lines_and_ends_with_a_summary() {
    let stderr = run("two_races", &[], "").outcome.stderr;
    assert_eq!(stderr.matches("WARNING: gpurace: data race (pid=").count(), 2, "{stderr}");
    for text in ["tile[t] = t;", "out[t] = tile[(t + 1) % 64];", "out[0] = blockIdx.x;"] {
        assert!(stderr.contains(text), "no `{text}` in:\n{stderr}");
    }
    assert_eq!(stderr.lines().last(), Some("SUMMARY: gpurace: 2 data races"));
    assert!(!stderr.contains('\x1b'), "colour although standard error is a file");
}

#[test]
fn the_exit_status_is_the_programs_own_or_66() {
    assert_eq!(run("two_races", &[], "").outcome.status, Some(66));
    assert_eq!(run("two_races", &[], "exitcode=5").outcome.status, Some(5));
    assert_eq!(run("two_races", &[], "exitcode=0").outcome.status, Some(0));
}

#[test]
fn a_limit_hides_no_kernel_and_nothing_of_the_json() {
    let Checked { outcome, report } = run("two_races", &[], "max_reports=0");
    // Each kernel's first finding is printed.
    assert_eq!(outcome.stderr.matches("WARNING: gpurace: data race").count(), 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("SUMMARY: gpurace: 2 data races"), "{}", outcome.stderr);
    let report = report.unwrap();
    assert_eq!((report.races.len(), report.findings.len()), (2, 2));
    assert_eq!(report.notes, Vec::<String>::new());
}

#[test]
fn halt_on_error_stops_at_the_first_race() {
    let Checked { outcome, report } = run("two_races", &[], "halt_on_error=1");
    assert_eq!(outcome.status, Some(66));
    assert_eq!(kernels(&report.unwrap()), ["shared_race(int*)"]);
}

#[test]
fn log_path_names_a_file() {
    let (executable, folder) = program("two_races");
    let log = folder.join("log.%p");
    let options = format!("log_path={}", log.display());
    let Checked { outcome, .. } = run_checked(&executable, &[], &options, &folder).unwrap();
    assert_eq!(outcome.stderr, "");
    let logs: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("log."))
        .collect();
    let [name] = &logs[..] else { panic!("{logs:?}") };
    assert!(name["log.".len()..].parse::<u32>().is_ok(), "{name}");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(text.ends_with("SUMMARY: gpurace: 2 data races\n"), "{text}");
}

#[test]
fn kernels_are_selected_by_name() {
    assert_eq!(kernels(&report("two_races", "kernels=shared_*")), ["shared_race(int*)"]);
    assert_eq!(kernels(&report("two_races", "kernels=app::*")), ["app::global_race(int*)"]);
    assert_eq!(kernels(&report("two_races", "skip_kernels=app::*")), ["shared_race(int*)"]);
    let report = report("two_races", "kernels=nothing");
    assert!(report.races.is_empty());
    assert_eq!((report.stats.checks_executed, report.stats.launches_unchecked), (0, 4));
}

#[test]
fn objects_are_selected() {
    assert_eq!(kernels(&report("two_races", "objects=shared")), ["shared_race(int*)"]);
    assert_eq!(kernels(&report("two_races", "objects=global")), ["app::global_race(int*)"]);
    assert_eq!(kernels(&report("objects", "objects=hits")), ["in_static_array()"]);
    assert_eq!(
        kernels(&report("objects", "objects=counters,scratch")),
        ["in_dynamic_memory()", "in_variable()"]
    );
    assert_eq!(kernels(&report("objects", "objects=100")), ["in_allocation(int*)"]);
}

#[test]
fn blocks_are_selected() {
    // The race in global memory is between two blocks. It cannot be seen if only one of them is
    // checked.
    assert_eq!(kernels(&report("two_races", "blocks=0")), ["shared_race(int*)"]);
    assert_eq!(kernels(&report("two_races", "blocks=1-3")), ["app::global_race(int*)"]);
}

#[test]
fn equal_values_can_be_ignored() {
    let all = report("same_value", "");
    let mut values: Vec<_> = all.races.iter().map(|r| (r.accesses[0].line, r.same_value)).collect();
    values.sort();
    let (same, other) = (line("same_value", "// the same value"), line("same_value", "// other values"));
    assert_eq!(values, [(same, Some(true)), (other, Some(false))]);
    let rest = report("same_value", "same_value=ignore");
    assert_eq!(rest.races.iter().map(|r| r.accesses[0].line).collect::<Vec<_>>(), [other]);
}

#[test]
fn one_launch_in_n_is_checked() {
    // `no_race` is launched twice, the two other kernels once.
    let report = report("two_races", "every=2");
    assert_eq!((report.stats.launches, report.stats.launches_unchecked), (4, 1));
}

#[test]
fn statistics_are_printed_on_demand() {
    let with = run("two_races", &[], "stats=1").outcome.stderr;
    assert!(with.contains("4 launches") && with.contains("checks executed"), "{with}");
    assert!(!run("two_races", &[], "").outcome.stderr.contains("checks executed"));
}

#[test]
fn a_seed_gives_one_report() {
    let text = |options: &str| {
        let (executable, folder) = program("two_races");
        run_checked(&executable, &[], options, &folder).unwrap();
        let text = std::fs::read_to_string(folder.join("report.json")).unwrap();
        let mut report: serde_json::Value = serde_json::from_str(&text).unwrap();
        // The process id and the time differ.
        let run = report.as_object_mut().unwrap().remove("run").unwrap();
        assert_eq!(run["seed"], 7);
        report
    };
    assert_eq!(text("seed=7"), text("seed=7"));
}

#[test]
fn without_debug_info_lines_are_unknown_not_invented() {
    let folder = work_folder("reports_no_debug_info").unwrap();
    let source = source("two_races");
    compile(&["-fsanitize=gpurace", "-g0", source.to_str().unwrap(), "-o", "bare_lines"], &folder).unwrap();
    let Checked { outcome, report } = run_checked(&folder.join("bare_lines"), &[], "", &folder).unwrap();
    let report = report.unwrap();
    assert_eq!(report.races.len(), 2);
    for access in report.races.iter().flat_map(|r| &r.accesses) {
        assert_eq!((access.line, access.column, access.file.as_deref()), (None, None, None));
    }
    assert!(outcome.stderr.contains("no debug info"), "{}", outcome.stderr);
}

#[test]
fn a_bare_build_writes_no_report() {
    let folder = work_folder("reports_bare").unwrap();
    let source = source("two_races");
    compile(&[source.to_str().unwrap(), "-o", "bare"], &folder).unwrap();
    let Checked { outcome, .. } = run_checked(Path::new(&folder.join("bare")), &[], "", &folder).unwrap();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
}

#[test]
fn an_endless_wait_is_ended() {
    let folder = work_folder("reports_endless").unwrap();
    let source = "__global__ void wait(int* flag) { while (!*flag); }\n\
                  int main() {\n    int* flag;\n    cudaMalloc(&flag, 4);\n    cudaMemset(flag, 0, 4);\n    \
                  wait<<<1, 1>>>(flag);\n    return cudaDeviceSynchronize() == cudaErrorLaunchTimeout ? 0 : 1;\n}\n";
    std::fs::write(folder.join("endless.cu"), source).unwrap();
    // The program itself returns 0. Without checks there is no report.
    for (flags, status) in [(&[][..], 0), (&["-fsanitize=gpurace"], 66)] {
        compile(&[flags, &["endless.cu", "-o", "endless"]].concat(), &folder).unwrap();
        let Checked { outcome, report } = run_checked(&folder.join("endless"), &[], "", &folder).unwrap();
        let said = &outcome.stderr;
        assert!(
            said.contains("wait in a loop without progress for 10") && said.contains("`wait(int*)`"),
            "{said}"
        );
        assert_eq!(outcome.status, Some(status), "{said}");
        let kinds: Vec<_> =
            report.iter().flat_map(|report| &report.faults).map(|fault| &fault.kind).collect();
        assert_eq!(kinds, if status == 66 { &["endless-wait"][..] } else { &[] });
    }
}

#[test]
fn the_calls_that_led_to_the_launch_are_listed() {
    let folder = work_folder("reports_calls").unwrap();
    let source = "\
__device__ int total;
__global__ void add() { total += threadIdx.x; }
__attribute__((noinline)) void step(int threads) { add<<<1, threads>>>(); }
static inline void solve() {
    step(32);
}
int main() {
    solve();
    return cudaDeviceSynchronize();
}
";
    std::fs::write(folder.join("calls.cu"), source).unwrap();
    for level in ["-O0", "-O2"] {
        compile(&["-fsanitize=gpurace", "-Wno-gpurace", level, "calls.cu", "-o", "calls"], &folder).unwrap();
        let said = run_checked(&folder.join("calls"), &[], "", &folder).unwrap().outcome.stderr;
        let lines: Vec<&str> =
            said.lines().skip_while(|line| !line.contains("In launch 1 of `add()`")).collect();
        let place =
            |line: &str| line.trim().rsplit_once(' ').map(|(_, place)| place.to_owned()).unwrap_or_default();
        let places: Vec<String> = lines[1..4].iter().map(|line| place(line)).collect();
        assert_eq!(places, ["calls.cu:3", "calls.cu:5", "calls.cu:8"], "{level}: {said}");
        assert!(
            lines[1].starts_with("    #0 step") && lines[3].starts_with("    #2 main"),
            "{level}: {said}"
        );
    }
}

#[test]
fn each_mistake_is_one_finding_and_its_cause_is_named() {
    let Checked { outcome, report } = run("causes", &[], "");
    let report = report.unwrap();
    let named: Vec<_> = report
        .findings
        .iter()
        .map(|finding| {
            let object = finding.object.as_deref().unwrap_or_default();
            (finding.cause.as_str(), finding.kernel.as_deref().unwrap_or_default(), object)
        })
        .collect();
    let tile = "shared variable `tile`";
    let wanted = [
        ("missing-barrier", "forgotten", tile),
        ("loop-back-edge", "next_round", tile),
        ("alias", "shift", "`out`"),
        ("narrow-scope", "narrow", "`counter`"),
        ("missing-fence", "published", "`data`"),
        ("mask", "halves", tile),
        ("unordered-operations", "step", "`data`"),
        ("unwaited-copy", "copied", tile),
        ("same-value", "flags", "`found`"),
        ("other", "update", "`total`"),
        ("missing-barrier", "left_early", tile),
        ("missing-barrier", "two_ways", tile),
        ("loop-back-edge", "halved", tile),
        ("missing-barrier", "halved_less_one", tile),
        ("loop-back-edge", "chosen", tile),
    ];
    assert_eq!(named, wanted, "{}", outcome.stderr);
    // Every race belongs to one finding, and the counts agree.
    let mut of_findings: Vec<usize> = report.findings.iter().flat_map(|f| f.races.clone()).collect();
    of_findings.sort_unstable();
    assert_eq!(of_findings, (0..report.races.len()).collect::<Vec<_>>());
    for finding in &report.findings {
        let counts = finding.races.iter().map(|&at| report.races[at].count);
        assert_eq!((finding.pairs, finding.count), (finding.races.len() as u64, counts.sum()));
    }
    // 32 lines without a barrier.
    assert!(report.findings[0].pairs > 100, "{}", report.findings[0].pairs);
    // Instances of a template.
    assert_eq!(report.findings[2].pairs, 2);
    assert!(outcome.stderr.lines().count() < 360, "{}", outcome.stderr);
}

#[test]
fn a_fix_says_where_the_barrier_is_missing() {
    let report = report("causes", "");
    let advice = |at: usize| report.findings[at].fix.advice.clone().unwrap();
    let insert = |statement: &str, text: &str| {
        let place = source("causes");
        format!("insert `{statement}` before line {} of {}", line("causes", text).unwrap(), place.display())
    };
    assert_eq!(advice(0), insert("__syncthreads();", "// the first read"));
    assert_eq!(advice(1), insert("__syncthreads();", "// the write"));
    assert_eq!(advice(5), insert("__syncwarp();", "out[t] = tile[31 - t]"));
    let halves = insert("__syncthreads();", "// the halves");
    assert_eq!(advice(12), format!("{halves} (tried on this run's launches)"));
    let allocated = format!("{}:", programs().join("support/check.h").display());
    assert!(
        advice(2).starts_with("pass different buffers: `in` and `out` both point into the allocation at ")
    );
    assert!(advice(2).contains(&allocated), "{}", advice(2));
    // What a barrier does not mend has no change of the source.
    let with_diff = |finding: &Finding| finding.fix.diff.is_some();
    assert_eq!(report.findings.iter().map(with_diff).filter(|&has| has).count(), 4);
}

#[test]
fn a_barrier_may_stand_where_threads_meet_and_between_calls() {
    let report = report("places", "");
    let advice = |at: usize| report.findings[at].fix.advice.clone().unwrap_or_default();
    let insert = |text: &str| {
        let place = source("places");
        format!(
            "insert `__syncthreads();` before line {} of {}",
            line("places", text).unwrap(),
            place.display()
        )
    };
    assert_eq!(advice(0), insert("// after the read"));
    assert_eq!(advice(3), insert("// the second call"));
    assert_eq!(advice(4), insert("// of the function's loop"));
    let with_diff = |finding: &Finding| finding.fix.diff.is_some();
    assert_eq!(report.findings.iter().map(with_diff).collect::<Vec<_>>(), [true, false, false, true, true]);
}

#[test]
fn the_stored_report_names_its_run_and_its_lines() {
    let Checked { report, .. } = run("causes", &["an argument"], "seed=5");
    let report = report.unwrap();
    let named = report.run.unwrap();
    assert!(named.program.unwrap().ends_with("/causes"));
    assert_eq!((named.arguments, named.seed), (vec!["an argument".to_owned()], 5));
    let text = std::fs::read_to_string(source("causes")).unwrap();
    for part in report.sources.iter().filter(|part| part.file.ends_with("causes.cu")) {
        for (number, kept) in (part.first as usize..).zip(&part.lines) {
            assert_eq!(text.lines().nth(number - 1), Some(kept.as_str()), "line {number}");
        }
    }
    let access = &report.races[0].accesses[0];
    let has = |part: &gpurace_tests::report::SourceLines| {
        let lines = part.first..part.first + part.lines.len() as u32;
        Some(&part.file) == access.file.as_ref() && lines.contains(&access.line.unwrap())
    };
    assert!(report.sources.iter().any(has));
}

#[test]
fn a_fault_is_a_finding_with_line_object_and_distance() {
    // One loop over all threads of a block does not know the line, so the launch runs again by threads.
    for options in ["", "seed=1"] {
        let Checked { outcome, report } = run("fault", &[], options);
        assert_eq!(outcome.status, Some(66), "{}", outcome.stderr);
        let report = report.unwrap();
        let [fault] = &report.faults[..] else { panic!("{:?}", report.faults) };
        assert_eq!((fault.kind.as_str(), fault.kernel.as_str()), ("illegal-address", "wild(int*)"));
        assert_eq!((fault.line, fault.column), (line("fault", "// far outside"), Some(19)));
        assert_eq!((fault.block, fault.thread), (Some([0, 0, 0]), Some([0, 0, 0])));
        assert!(fault.file.as_deref().unwrap().ends_with("fault.cu"));
        let object = fault.object.as_ref().unwrap();
        assert_eq!((object.kind.as_str(), object.size), ("allocation", Some(4096)));
        assert_eq!(fault.distance, Some((1 << 40) - 4096));
        assert_eq!(report.findings[0].cause, "fault");
        assert!(outcome.stderr.contains("WARNING: gpurace: fault"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(" bytes behind allocation `#1` of size 4096"), "{}", outcome.stderr);
    }
}

#[test]
fn a_fault_that_does_not_come_again_has_no_line() {
    let folder = work_folder("reports_once").unwrap();
    let source = "\
__global__ void once(int* p) {
    if (*p == 0) {
        *p = 1;
        p[1ull << 38] = 1;
    }
}
int main() {
    int* p;
    cudaMalloc(&p, 4096);
    cudaMemset(p, 0, 4096);
    once<<<1, 1>>>(p);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 1;
}
";
    std::fs::write(folder.join("once.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "once.cu", "-o", "once"], &folder).unwrap();
    let Checked { outcome, report } = run_checked(&folder.join("once"), &[], "", &folder).unwrap();
    let report = report.unwrap();
    let [fault] = &report.faults[..] else { panic!("{}", outcome.stderr) };
    assert_eq!((fault.kind.as_str(), fault.line), ("illegal-address", None));
    assert!(outcome.stderr.contains("GPURACE_OPTIONS=seed=1 may show the line"), "{}", outcome.stderr);
}

#[test]
fn a_fault_far_from_all_allocations_names_none_and_shortens_the_kernel() {
    let folder = work_folder("reports_far").unwrap();
    let source = "\
template <int A, int B, typename T> struct parameters_of_a_kernel_with_a_long_name {};
template <typename P> __global__ void wild(int* p, P) { p[1ull << 44] = 1; }
int main() {
    int* p;
    cudaMalloc(&p, 4096);
    wild<<<1, 1>>>(p, parameters_of_a_kernel_with_a_long_name<1, 2, float>());
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 1;
}
";
    std::fs::write(folder.join("far.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "far.cu", "-o", "far"], &folder).unwrap();
    let Checked { outcome, report } = run_checked(&folder.join("far"), &[], "", &folder).unwrap();
    let report = report.unwrap();
    let [fault] = &report.faults[..] else { panic!("{}", outcome.stderr) };
    assert!(fault.object.is_none() && fault.distance.is_none(), "{fault:?}");
    assert!(outcome.stderr.contains("in kernel `void wild<...>(...)`, block (0,0,0)"), "{}", outcome.stderr);
}

#[test]
fn filters_without_effect_are_said() {
    let notes = |options: &str| report("two_races", options).notes;
    for (options, note) in [
        ("kernels=shared_*,nomatch", "`kernels=nomatch` selects no kernel that was launched"),
        ("skip_kernels=nomatch", "`skip_kernels=nomatch` selects no kernel that was launched"),
        ("objects=tile,tilex", "`objects=tilex` selects no object of this run"),
        ("objects=global,12345", "`objects=12345` selects no object of this run"),
        ("objects=#1,#99", "`objects=#99` selects no object of this run"),
        ("blocks=77-80", "`blocks` selects no block: the largest launch has "),
        ("skip_kernels=*", "nothing was checked: the options leave out every launch"),
    ] {
        let notes = notes(options);
        assert!(notes.len() == 1 && notes[0].starts_with(note), "{options}: {notes:?}");
    }
    assert_eq!(notes(""), [""; 0]);
}

/// Returns what a report says of the accesses on each line of `coverage.cu` that has a comment.
fn states(report: &Report) -> Vec<(String, Vec<String>)> {
    let source = std::fs::read_to_string(source("coverage")).unwrap();
    let comments = (1..).zip(source.lines()).skip(1).filter_map(|(number, line)| {
        let (_, comment) = line.split_once(" // ")?;
        let accesses = report.coverage.iter().flat_map(|kernel| &kernel.accesses);
        let on_line = accesses.filter(|access| access.line == Some(number));
        let mut states: Vec<_> = on_line.map(|access| access.state.clone()).collect();
        states.dedup();
        Some((comment.to_owned(), states))
    });
    comments.collect()
}

#[test]
fn accesses_that_never_ran_are_told_from_those_that_were_checked_or_proved() {
    for options in ["", "seed=2"] {
        let Checked { outcome, report } = run("coverage", &[], options);
        let report = report.unwrap();
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        for (comment, states) in states(&report) {
            let wanted: &[&str] = match &*comment {
                "proved" | "left open" => &["proved"],
                "checked" => &["checked"],
                // The condition reads data.
                "excluded by the data" => &["checked", "never-ran"],
                "never launched" | "excluded by the argument" | "excluded by the shape" => &["never-ran"],
                other => panic!("{other}"),
            };
            assert!(states.iter().all(|state| wanted.contains(&&**state)), "{comment}: {states:?}");
            assert!(states.contains(&wanted[wanted.len() - 1].to_owned()), "{comment}: {states:?}");
        }
        let launches: Vec<_> =
            report.coverage.iter().map(|kernel| (&*kernel.kernel, kernel.launches)).collect();
        assert_eq!(
            launches,
            [("modes(int*, int, int)", 1), ("all_proved(int*, int)", 1), ("unused(int*)", 0)]
        );
    }
}

#[test]
fn without_proofs_coverage_is_what_ran() {
    let folder = work_folder("reports_coverage_unpruned").unwrap();
    let file = source("coverage");
    for opt in ["-O0", "-O2"] {
        let args =
            ["-fsanitize=gpurace", "-fgpurace-prune=off", opt, file.to_str().unwrap(), "-o", "program"];
        compile(&args, &folder).unwrap();
        for options in ["", "seed=2"] {
            let ran = run_checked(&folder.join("program"), &[], options, &folder).unwrap();
            for (comment, states) in states(&ran.report.unwrap()) {
                let wanted = match &*comment {
                    "proved" | "checked" => "checked",
                    "excluded by the data" => continue,
                    _ => "never-ran",
                };
                assert_eq!(states, [wanted], "{opt} {options}: {comment}");
            }
        }
    }
}

#[test]
fn coverage_is_listed_as_text_and_for_lcov() {
    let (executable, folder) = program("coverage");
    let ran = run_command(
        Command::new(executable).env("GPURACE_OPTIONS", "stats=1:json=r.json").current_dir(&folder),
        &folder,
    )
    .unwrap();
    assert!(ran.stderr.contains(" accesses never ran\n"), "{}", ran.stderr);
    let gpurace = tool("gpurace").unwrap();
    let render = |args: &[&str]| {
        let ran = run_command(
            Command::new(&gpurace).args(["report", "r.json"]).args(args).current_dir(&folder),
            &folder,
        )
        .unwrap();
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    let text = render(&["--coverage"]);
    let never = format!("coverage.cu:{}:", line("coverage", "excluded by the shape").unwrap());
    assert!(text.contains(&never) && text.contains("`unused(int*)`: never launched"), "{text}");
    assert!(!text.contains(&format!("coverage.cu:{}:", line("coverage", "// checked").unwrap())), "{text}");
    let lcov = render(&["--format", "lcov"]);
    for (text, ran) in [("excluded by the shape", 0), ("// checked", 1), ("// proved", 1), ("// never", 0)] {
        let wanted = format!("DA:{},{ran}\n", line("coverage", text).unwrap());
        assert!(lcov.contains(&wanted), "{wanted}{lcov}");
    }
    let page = render(&["--format", "html"]);
    assert!(page.contains("if (t &gt; 1000) data[n] = 3;"), "no source line of an access that never ran");
}

#[test]
fn no_source_leaves_out_every_line_of_the_program() {
    let (executable, folder) = program("causes");
    run_command(Command::new(executable).env("GPURACE_OPTIONS", "json=r.json").current_dir(&folder), &folder)
        .unwrap();
    let gpurace = tool("gpurace").unwrap();
    for format in ["text", "json", "html", "markdown", "sarif"] {
        let render = |more: &[&str]| {
            let args = ["report", "r.json", "--format", format];
            run_command(Command::new(&gpurace).args(args).args(more).current_dir(&folder), &folder)
                .unwrap()
                .stdout
        };
        let text = "// the first read";
        assert!(format == "sarif" || render(&[]).contains(text), "{format}");
        let (with, without) = (render(&[]), render(&["--no-source"]));
        assert!(
            !without.contains("first read") && !without.contains("tile[t") && without.len() < with.len(),
            "{format}"
        );
        assert!(without.contains("causes.cu"), "{format}");
    }
}
