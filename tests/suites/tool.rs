//! The command `gpurace` on the reports of real programs, and the parts of a report that only the
//! program's own text has: inlined calls, allocations, suppressions.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{Outcome, compile, programs, run, run_checked, tool, work_folder};

/// Returns a program of `tests/programs/report`, compiled once for all tests.
fn program(name: &'static str) -> PathBuf {
    static BUILT: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
    let names = ["two_races", "inlined"];
    let index = names.iter().position(|n| *n == name).expect("listed");
    let build = || {
        let folder = work_folder(&format!("tool_{name}")).unwrap();
        let source = source(name);
        let args = ["-fsanitize=gpurace", source.to_str().unwrap(), "-o", name];
        compile(&args, &folder).unwrap();
        folder.join(name)
    };
    BUILT[index].get_or_init(build).clone()
}

fn source(name: &str) -> PathBuf {
    programs().join("report").join(name).with_extension("cu")
}

/// Returns the place of a text in a program's source, in the form of a report.
fn place(name: &str, text: &str) -> String {
    let path = source(name);
    let source = std::fs::read_to_string(&path).unwrap();
    let at = source.lines().position(|line| line.contains(text));
    format!("{}:{}", path.display(), at.expect(text) + 1)
}

fn gpurace(args: &[&str], folder: &Path) -> Outcome {
    let mut command = Command::new(tool("gpurace").unwrap());
    command.args(args).current_dir(folder);
    run(&mut command, folder).unwrap()
}

#[test]
fn the_text_names_inlined_calls_and_the_allocation() {
    let folder = work_folder("tool_inlined_run").unwrap();
    let text = run_checked(&program("inlined"), &[], "", &folder).unwrap().outcome.stderr;
    let frames: Vec<&str> =
        text.lines().map(str::trim).filter(|line| line.starts_with('#')).take(3).collect();
    let wanted = [("store", "the access"), ("fill", "the inner call"), ("racy", "the outer call")];
    assert_eq!(frames.len(), wanted.len(), "{text}");
    for (number, (frame, (function, at))) in frames.iter().zip(wanted).enumerate() {
        assert!(frame.starts_with(&format!("#{number} {function}")), "{frame}");
        assert!(frame.contains(&format!(" {}:", place("inlined", at))), "{frame}");
    }
    let allocated = format!(
        "Location is allocation `#2` of size 128, byte 12 (element 3, `int`), allocated at {}, argument ",
        place("inlined", "the allocation")
    );
    // A long path is on a line of its own.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&allocated), "{text}");
}

#[test]
fn suppressions_leave_out_by_kind_and_the_unused_are_listed() {
    let folder = work_folder("tool_suppressions").unwrap();
    let lines = "# known\nobject:^tile$\nkernel:no_such_kernel\n";
    std::fs::write(folder.join("known.supp"), lines).unwrap();
    let run = |options: &str| run_checked(&program("two_races"), &[], options, &folder).unwrap();
    let checked = run("suppressions=known.supp:stats=1");
    let report = checked.report.unwrap();
    let kernels: Vec<_> = report.races.iter().filter_map(|race| race.kernel.as_deref()).collect();
    assert_eq!(kernels, ["app::global_race(int*)"]);
    let note = |note: &String| note.ends_with(" suppressed by `object:^tile$`");
    assert!(report.notes.iter().any(note), "{:?}", report.notes);
    let unused: Vec<&str> =
        checked.outcome.stderr.lines().filter(|line| line.contains("unused suppression")).collect();
    assert_eq!(unused, ["  unused suppression `kernel:no_such_kernel`"]);
    // Without `stats=1`, unused suppressions are not listed.
    assert!(!run("suppressions=known.supp").outcome.stderr.contains("unused"));
    // With all races suppressed, the program ends with status 0.
    std::fs::write(folder.join("known.supp"), "file:two_races.cu").unwrap();
    assert_eq!(run("suppressions=known.supp").outcome.status, Some(0));
}

#[test]
fn a_programs_report_is_rendered_in_every_format() {
    let folder = work_folder("tool_formats").unwrap();
    let checked = run_checked(&program("two_races"), &[], "", &folder).unwrap();
    assert_eq!(checked.report.unwrap().races.len(), 2);
    let rendered = |format: &str| {
        let outcome = gpurace(&["report", "report.json", "-f", format], &folder);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        outcome.stdout
    };
    // The stored report is whole: its text is that of the program.
    assert_eq!(rendered("text"), checked.outcome.stderr);
    // So it is in another folder, where its relative names mean nothing.
    let elsewhere = folder.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    assert_eq!(gpurace(&["report", "../report.json"], &elsewhere).stdout, checked.outcome.stderr);
    let html = rendered("html");
    assert_eq!(html.matches("<article ").count(), 2);
    assert!(html.contains("<mark class=\"later\">") && html.contains("// read of the neighbour"));
    let sarif: serde_json::Value = serde_json::from_str(&rendered("sarif")).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 2);
    assert!(rendered("markdown").starts_with("## gpurace: 2 data races\n"));
    assert_eq!(rendered("short").lines().count(), 3);
    Report::parse(&rendered("json")).unwrap();
}

#[test]
fn stress_joins_the_runs_of_a_program() {
    let folder = work_folder("tool_stress").unwrap();
    let program = program("two_races");
    let program = program.to_str().unwrap();
    let all = gpurace(&["stress", "-n", "3", "-o", "all.json", "--", program], &folder);
    assert_eq!(all.status, Some(66), "{}", all.stderr);
    assert!(all.stdout.contains("3 of 3 runs found something, with seeds 0, 1, 2\n"));
    let report = std::fs::read_to_string(folder.join("all.json")).unwrap();
    let report = Report::parse(&report).unwrap();
    assert_eq!((report.races.len(), report.stats.launches), (2, 12));
    let once = run_checked(Path::new(program), &[], "seed=0", &folder).unwrap().report.unwrap();
    for race in &report.races {
        let alone = once.races.iter().find(|other| other.kernel == race.kernel).unwrap();
        assert!(race.count > alone.count, "{race:?}");
    }
    let replay = all.stdout.lines().find_map(|line| line.strip_prefix("replay: ")).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", replay]).current_dir(&folder);
    assert_eq!(run(&mut shell, &folder).unwrap().status, Some(66));
}

#[test]
fn sweep_and_ci_join_the_runs_of_programs() {
    let folder = work_folder("tool_sweep").unwrap();
    let program = program("two_races");
    let sweep = format!(
        "seeds = 2\n[[run]]\ncommand = [{:?}]\noptions = ['', 'kernels=none']\n",
        program.to_str().unwrap()
    );
    std::fs::write(folder.join("sweep.toml"), sweep).unwrap();
    let all = gpurace(&["sweep", "sweep.toml", "-o", "all.json"], &folder);
    assert_eq!(all.status, Some(66), "{}", all.stderr);
    assert!(all.stdout.contains("2 of 4 runs found something\n"), "{}", all.stdout);
    let read = |file: &str| Report::parse(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap();
    let swept = read("all.json");
    assert_eq!((swept.races.len(), swept.stats.launches), (2, 16));

    let ci = ["ci", "--fail-on=none", "--", program.to_str().unwrap()];
    let ran = gpurace(&ci, &folder);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_eq!(read("gpurace-reports/report.json").races.len(), 2);
    let known = ["ci", "--baseline=all.json", "--reports=new", "--", program.to_str().unwrap()];
    let ran = gpurace(&known, &folder);
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
}
