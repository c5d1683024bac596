//! Tests `gpurace sweep`. A shell script takes the place of a checked program, as in the tests of `gpurace stress`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use gpurace_driver::tool::runs::Outcome;
use gpurace_driver::tool::sweep::matrix;
use gpurace_driver::tool::sweep::results::Results;
use gpurace_report::schema::{Device, Report};
use gpurace_tests::toolchain::write_program;

/// One race, seen once.
fn racy() -> Report {
    let mut report =
        Report::from_json(include_str!("../../runtime/base/report/src/tests/interface.json")).unwrap();
    report.divergence.clear();
    report.notes.clear();
    report.races[0].count = 1;
    report
}

/// Makes a folder with a description and `app`, which writes its word and seed into the file `made`. It finds a race
/// if the seed ends with 3. With the word `fail` it ends with status 9 until there is a file `mended`.
fn folder(description: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("sweep.toml", description);
    write("racy.json", &racy().to_json());
    write("clean.json", &Report::new(Device::Cpu).to_json());
    script(
        &dir.path().join("app"),
        r#"
options=":$GPURACE_OPTIONS"
seed=${options##*:seed=}; seed=${seed%%:*}
json=${options##*:json=\"}; json=${json%%\"*}
json=$(echo "$json" | sed "s/%p/$$/")
[ "$1" = slow ] && sleep 0.02
[ "$1" = sleep ] && touch started && sleep 5
case $seed in *3) cp racy.json "$json" ;; *) cp clean.json "$json" ;; esac
echo "$1 $seed" >>made
[ "$1" = fail ] && [ ! -f mended ] && exit 9
case $seed in *3) exit 66 ;; esac
exit 0
"#,
    );
    dir
}

fn script(path: &Path, text: &str) {
    write_program(path, format!("#!/bin/sh\n{text}")).unwrap();
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpurace"));
    // Not the folder of the description: programs are named as seen from there.
    command
        .current_dir("/")
        .env_remove("GPURACE_OPTIONS")
        // What is killed leaves its temporary folder.
        .env("TMPDIR", dir)
        .arg("sweep")
        .arg(dir.join("sweep.toml"))
        .args(args);
    command
}

fn sweep(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

fn start(dir: &Path, args: &[&str]) -> Child {
    command(dir, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The lines of the file `made`, sorted.
fn made(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("made")).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The number of races in a joined report, and how often they were seen.
fn races(file: &Path) -> (usize, u64) {
    let report = Report::from_json(&fs::read_to_string(file).unwrap()).unwrap();
    (report.races.len(), report.races.iter().map(|race| race.count).sum())
}

fn results(dir: &Path) -> usize {
    let files = fs::read_dir(dir.join("sweep.results")).into_iter().flatten().flatten();
    files.filter(|file| file.path().extension().is_some_and(|extension| extension == "json")).count()
}

fn wait_until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const HUNDREDS: &str = "seeds = 100\n[[run]]\ncommand = './app {word}'\nmatrix = { word = ['slow', 'b'] }\n";

#[test]
fn what_is_killed_and_resumed_loses_nothing_and_counts_nothing_twice() {
    let dir = folder(HUNDREDS);
    for stop in [20, 60, 110] {
        let mut child = start(dir.path(), &["--jobs", "2"]);
        wait_until(|| results(dir.path()) >= stop);
        child.kill().unwrap();
        child.wait().unwrap();
        // A run that was begun ends by itself, and leaves no result.
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(results(dir.path()) < 200);
    let all = dir.path().join("all.json");
    let output = sweep(dir.path(), &["--jobs", "2", "--short", "-o", all.to_str().unwrap()]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(66), "{text}");
    assert!(text.contains("20 of 200 runs found something\n"), "{text}");
    assert!(text.contains("replay: GPURACE_OPTIONS=seed=3 ./app slow\n"), "{text}");
    assert!(text.matches("replay: ").count() == 1 && !text.contains("missing"), "{text}");
    assert_eq!((races(&all), results(dir.path())), ((1, 20), 200));
    // Only what was interrupted was made twice.
    let lines = made(dir.path());
    let mut distinct = lines.clone();
    distinct.dedup();
    assert!(distinct.len() == 200 && lines.len() <= 200 + 3 * 2, "{} lines", lines.len());
    // What is complete is not made again.
    let again = sweep(dir.path(), &["--short"]);
    assert_eq!((stdout(&again), made(dir.path()).len()), (text, lines.len()));
}

#[test]
fn shards_make_each_run_once_and_merge_to_the_whole() {
    let dir = folder(HUNDREDS);
    let merged = |args: &[&str]| {
        let all = dir.path().join("all.json");
        let output = sweep(dir.path(), &[&["--merge", "-o", all.to_str().unwrap()], args].concat());
        (output.status.code(), stdout(&output), all)
    };
    assert!(merged(&[]).1.contains("no run has a result yet"));
    let first = sweep(dir.path(), &["--shard", "0/4"]);
    assert_eq!(stdout(&first), "50 runs made, 0 of 50 were there, 0 missing\n");
    // Findings are no failure of a shard: a scheduler would start it again.
    assert_eq!(first.status.code(), Some(0));
    let (status, text, all) = merged(&["--short"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("150 of 200 runs are missing") && races(&all) == (0, 0), "{text}");
    // One shard is started twice, as a scheduler may do.
    let others: Vec<Child> =
        ["1/4", "3/4", "3/4", "2/4"].map(|shard| start(dir.path(), &["--shard", shard])).into();
    for mut shard in others {
        assert!(shard.wait().unwrap().success());
    }
    let (status, text, all) = merged(&[]);
    assert_eq!((status, races(&all)), (Some(66), (1, 20)), "{text}");
    let again = sweep(dir.path(), &["--shard", "1/4"]);
    assert_eq!(stdout(&again), "0 runs made, 50 of 50 were there, 0 missing\n");
    // A longer sweep keeps what is there. A shorter one says what it leaves out.
    fs::write(dir.path().join("sweep.toml"), HUNDREDS.replace("100", "101")).unwrap();
    assert!(merged(&[]).1.contains("2 of 202 runs are missing"));
    fs::write(dir.path().join("sweep.toml"), HUNDREDS.replace("100", "4")).unwrap();
    let (_, text, all) = merged(&[]);
    assert!(
        text.contains("192 results of runs that the sweep does not have") && races(&all) == (1, 2),
        "{text}"
    );
    for wrong in ["4/4", "x", "1", "-1/4"] {
        assert_eq!(sweep(dir.path(), &[&format!("--shard={wrong}")]).status.code(), Some(2), "{wrong}");
    }
}

/// Asks the process with this parent to end.
fn end_child_of(parent: u32) {
    let found = Command::new("pgrep").args(["-P", &parent.to_string()]).output().unwrap();
    end(String::from_utf8(found.stdout).unwrap().trim());
}

fn end(process: &str) {
    assert!(Command::new("kill").args(["-TERM", process]).status().unwrap().success());
}

#[test]
fn what_a_signal_ends_is_made_again() {
    let dir = folder("[[run]]\ncommand = './app {word}'\nmatrix = { word = ['b', 'sleep', 'z'] }\n");
    let began = || {
        let child = start(dir.path(), &[]);
        wait_until(|| dir.path().join("started").exists());
        fs::remove_file(dir.path().join("started")).unwrap();
        child
    };
    // A terminal and Slurm tell all processes: here the sweep first, and then the run.
    let mut child = began();
    end(&child.id().to_string());
    end_child_of(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!((results(dir.path()), made(dir.path())), (1, vec!["b ".to_owned()]));
    // The run first. The sweep may not have been told yet when the run has ended.
    let mut child = began();
    end_child_of(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!((results(dir.path()), made(dir.path())), (2, vec!["b ".to_owned(), "z ".to_owned()]));
    let app = fs::read_to_string(dir.path().join("app")).unwrap();
    script(&dir.path().join("app"), &app.replace("sleep 5", "true"));
    let output = sweep(dir.path(), &[]);
    assert_eq!(stdout(&output), "no races were reported\n0 of 3 runs found something\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_failed_is_said_and_made_again_on_request() {
    let dir = folder("seeds = 2\n[[run]]\ncommand = './app {w}'\nmatrix = { w = ['a', 'fail'] }\n");
    let output = sweep(dir.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(stdout(&output), @r"
    no races were reported
    2 of 4 runs failed without a finding, first ./app fail, seed 0 (exit status: 9)
    replay: GPURACE_OPTIONS=seed=0 ./app fail
    0 of 4 runs found something
    ");
    fs::write(dir.path().join("mended"), "").unwrap();
    assert_eq!(sweep(dir.path(), &[]).status.code(), Some(1));
    assert_eq!(made(dir.path()).len(), 4);
    assert_eq!(sweep(dir.path(), &["--retry"]).status.code(), Some(0));
    assert_eq!(made(dir.path()), ["a 0", "a 1", "fail 0", "fail 0", "fail 1", "fail 1"]);
}

#[test]
fn programs_without_reports_fail_and_such_that_are_missing_stop() {
    let dir = folder("[[run]]\ncommand = ['sh', '-c', 'echo no checks here']\n");
    let output = sweep(dir.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(stdout(&output), @r"
    1 of 1 runs failed without a finding, first sh -c 'echo no checks here' (exit status: 0, no report)
      | no checks here
    replay: sh -c 'echo no checks here'
    0 of 1 runs found something
    ");
    let missing = folder("[[run]]\ncommand = 'app'\n");
    insta::assert_snapshot!(stdout(&sweep(missing.path(), &[])), @r"
    gpurace: error: cannot run `app`: No such file or directory (os error 2)
    gpurace: hint: to run the file in this folder, write `./app`
    ");
    let wrong = folder("[[run]]\ncommand = './app'\nsed = 3\n");
    let output = sweep(wrong.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output).replace(&wrong.path().display().to_string(), "DIR");
    insta::assert_snapshot!(said, @"gpurace: error: `DIR/sweep.toml`: line 3: unknown field `sed`, expected one of `command`, `matrix`, `seeds`, `options`");
}

#[test]
fn the_example_of_the_page_is_what_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sweep.md");
    let page = fs::read_to_string(page).unwrap();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(matrix::plans(example, "").unwrap().len(), 2 * 2 * 2 * 20 + 2);
}

/// `sbatch` that runs each task of the array at once. It keeps its arguments in the file `sbatch.args`.
const SBATCH: &str = r#"
echo "$@" >"$(dirname "$0")/sbatch.args"
for script; do :; done
last=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
for task in $(seq 0 "$last"); do
    SLURM_ARRAY_TASK_ID=$task sh "$script" || exit 1
done
echo 17
"#;

#[test]
fn slurm_gets_a_job_array() {
    let dir = folder("seeds = 10\n[[run]]\ncommand = './app b'\n");
    script(&dir.path().join("sbatch"), SBATCH);
    let mut submit =
        command(dir.path(), &["--slurm", "4", "--jobs", "2", "--", "--time=10", "--partition=cpu"]);
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let output = submit.env("PATH", path).output().unwrap();
    assert!(
        stdout(&output).starts_with("submitted job 17 with 4 shards; `gpurace sweep "),
        "{}",
        stdout(&output)
    );
    let args = fs::read_to_string(dir.path().join("sbatch.args")).unwrap();
    assert!(args.starts_with("--parsable --time=10 --partition=cpu "), "{args}");
    assert_eq!((made(dir.path()).len(), results(dir.path())), (10, 10));
    let log = fs::read_to_string(dir.path().join("sweep.results/shard-1.log")).unwrap();
    assert_eq!(log, "3 runs made, 0 of 3 were there, 0 missing\n");
    assert_eq!(sweep(dir.path(), &["--merge"]).status.code(), Some(66));
    let mut without = command(dir.path(), &["--slurm", "4"]);
    let without = without.env("PATH", "/nowhere").output().unwrap();
    assert!(stdout(&without).contains("is Slurm installed here?"));
}

#[test]
fn ten_thousand_results_are_merged() {
    let text = "seeds = 10000\n[[run]]\ncommand = './app'\n";
    let dir = folder(text);
    let results = Results::open(&dir.path().join("sweep.results")).unwrap();
    let plans = matrix::plans(text, "").unwrap();
    for (number, plan) in plans.iter().enumerate() {
        let mut report = racy();
        // 100 races in all.
        report.races[0].accesses[0].line = Some(1 + number as u32 % 100);
        let outcome = Outcome {
            succeeded: false,
            status: "exit status: 66".to_owned(),
            output: None,
            reports: vec![report],
            interrupted: false,
        };
        results.store(plan, outcome).unwrap();
    }
    let all = dir.path().join("all.json");
    let output = sweep(dir.path(), &["--merge", "--short", "-o", all.to_str().unwrap()]);
    assert!(stdout(&output).contains("10000 of 10000 runs found something\n"), "{}", stdout(&output));
    assert_eq!(races(&all), (100, 10000));
}
