//! `gpurace report`, `merge` and `facts`: files in, files and statuses out.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use gpurace_report::schema::Report;

/// A report with one race, seen `count` times at `line`.
fn report(line: u32, count: u64, note: &str) -> String {
    let mut report = Report::from_json(EXAMPLE).unwrap();
    report.divergence.clear();
    let race = &mut report.races[0];
    race.count = count;
    for access in &mut race.accesses {
        access.line = Some(line);
    }
    report.notes = vec![note.to_owned()];
    report.to_json()
}

/// The same race in another kernel, which is another mistake.
fn in_another_kernel(report: &str) -> String {
    let mut report = Report::from_json(report).unwrap();
    report.races[0].kernel = Some("scan(int*)".to_owned());
    // They are made when the report is read.
    report.findings.clear();
    report.to_json()
}

const EXAMPLE: &str = include_str!("../../runtime/base/report/src/tests/interface.json");

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a.json", report(18, 2, "lost in a")),
        ("b.json", report(18, 40, "lost in b")),
        ("c.json", report(30, 1, "lost in c")),
        ("another.json", in_another_kernel(&report(30, 1, "lost in another"))),
        ("empty.json", String::new()),
        ("other.json", "{ \"schema\": \"other/1\" }".to_owned()),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn gpurace(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpurace")).args(args).current_dir(dir).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(path: impl AsRef<Path>) -> Report {
    Report::from_json(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_stored_report_names_no_process() {
    let dir = folder();
    let output = gpurace(dir.path(), &["report", "a.json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("WARNING: gpurace: data race\n"));
    assert!(!stdout(&output).contains("pid="));
}

#[test]
fn the_output_s_name_says_the_format_and_the_option_goes_before_it() {
    let dir = folder();
    for (args, wanted) in [
        (&["-o", "r.html"][..], "<!DOCTYPE html>"),
        (&["-o", "r.md"], "## gpurace: "),
        (&["-o", "r.sarif"], "{\n  \"$schema\""),
        (&["-o", "r.json"], "{\n  \"schema\": \"gpurace-report/1\""),
        (&["-o", "r.txt"], "=========="),
        (&["-o", "r"], "=========="),
        (&["-f", "gitlab", "-o", "r.json"], "[\n  {\n    \"description\": \"Data race: "),
        (&["-f", "short", "-o", "r.html"], "reduce.cu:18:15: data race: "),
    ] {
        let output = gpurace(dir.path(), &[&["report", "a.json"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
        let written = fs::read_to_string(dir.path().join(args.last().unwrap())).unwrap();
        assert!(written.starts_with(wanted), "{args:?}: {written}");
    }
    let refused = gpurace(dir.path(), &["report", "a.json", "-o", "nowhere/r.md"]);
    assert_eq!(refused.status.code(), Some(1));
    insta::assert_snapshot!(stderr(&refused), @"gpurace: error: cannot write `nowhere/r.md`: No such file or directory (os error 2)");
}

#[test]
fn a_runners_variable_names_the_root_of_the_checkout() {
    let dir = folder();
    let mut report = read(dir.path().join("a.json"));
    for access in &mut report.races[0].accesses {
        access.file = Some("/checkout/src/reduce.cu".to_owned());
    }
    fs::write(dir.path().join("absolute.json"), report.to_json()).unwrap();
    for (format, variable, before, after) in [
        ("github", "GITHUB_WORKSPACE", "::error file=", ",line=18,col=15,"),
        ("gitlab", "CI_PROJECT_DIR", "\"path\": \"", "\","),
    ] {
        let shown = |file: &str, root: Option<&str>| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_gpurace"));
            command.args(["report", file, "--format", format]).current_dir(dir.path());
            command.env_remove("GITHUB_WORKSPACE").env_remove("CI_PROJECT_DIR");
            command.envs(root.map(|root| (variable, root)));
            let output = command.output().unwrap();
            assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
            let text = stdout(&output);
            let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{text}"));
            rest.split_once(after).unwrap_or_else(|| panic!("{text}")).0.to_owned()
        };
        assert_eq!(shown("absolute.json", Some("/checkout")), "src/reduce.cu");
        assert_eq!(shown("absolute.json", Some("/checkout/")), "src/reduce.cu");
        for other in [None, Some(""), Some("/elsewhere")] {
            assert_eq!(shown("absolute.json", other), "/checkout/src/reduce.cu", "{other:?}");
        }
        assert_eq!(shown("a.json", Some("/checkout")), "reduce.cu");
    }
    // Statuses are those of the other formats; what is known is neither annotated nor an entry.
    for (format, nothing) in [("github", "no new findings\n"), ("gitlab", "[]\n")] {
        let known = gpurace(dir.path(), &["report", "b.json", "-f", format, "--baseline", "a.json"]);
        assert_eq!(known.status.code(), Some(0));
        assert!(stdout(&known).ends_with(nothing), "{}", stdout(&known));
        let words = ["report", "a.json", "another.json", "-f", format, "--baseline", "a.json"];
        let new = gpurace(dir.path(), &words);
        assert_eq!(new.status.code(), Some(66));
        assert!(!stdout(&new).contains(nothing), "{}", stdout(&new));
    }
}

#[test]
fn what_is_no_report_is_named() {
    let dir = folder();
    let said = |file: &str| {
        let output = gpurace(dir.path(), &["report", file]);
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    insta::assert_snapshot!(said("empty.json"), @r"
    gpurace: error: `empty.json` is not a report of this version of gpurace: EOF while parsing a value at line 1 column 0
    gpurace: hint: the file is empty: was the program killed before it could write its report?
    ");
    insta::assert_snapshot!(said("other.json"), @r"
    gpurace: error: `other.json` is not a report of this version of gpurace: unknown variant `other/1`, expected `gpurace-report/1` at line 1 column 21
    gpurace: hint: reports are written with `GPURACE_OPTIONS=json=FILE`
    ");
    // If one file is not a report, nothing is joined.
    let merged = gpurace(dir.path(), &["merge", "a.json", "other.json", "-o", "m.json"]);
    assert_eq!(merged.status.code(), Some(1));
    assert!(!dir.path().join("m.json").exists());
    assert_eq!(gpurace(dir.path(), &["merge"]).status.code(), Some(2));
}

#[test]
fn merging_adds_counts_and_keeps_notes() {
    let dir = folder();
    let output = gpurace(dir.path(), &["merge", "a.json", "b.json", "c.json", "a.json", "-o", "m.json"]);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(stderr(&output), @"gpurace: note: `a.json` is named twice and counted once");
    let merged = read(dir.path().join("m.json"));
    let seen: Vec<_> = merged.races.iter().map(|race| (race.later().line.unwrap(), race.count)).collect();
    assert_eq!(seen, [(18, 42), (30, 1)]);
    assert_eq!(merged.notes, ["`a.json`: lost in a", "`b.json`: lost in b", "`c.json`: lost in c"]);
    assert_eq!(merged.stats.launches, 3);
    // `report` of several files shows the same.
    let shown = gpurace(dir.path(), &["report", "-f", "json", "a.json", "b.json", "c.json"]);
    assert_eq!(stdout(&shown), merged.to_json());
}

#[test]
fn only_what_the_baseline_lacks_counts() {
    let dir = folder();
    let known = gpurace(dir.path(), &["report", "b.json", "--baseline", "a.json"]);
    assert_eq!(known.status.code(), Some(0));
    insta::assert_snapshot!(stdout(&known), @r"
    note: lost in b
    note: 1 finding is in the baseline `a.json` and not shown
    no new findings
    ");
    // Other lines of the same mistake.
    let moved = gpurace(dir.path(), &["report", "c.json", "--baseline", "a.json"]);
    assert_eq!(moved.status.code(), Some(0));
    // One is known, the other not.
    let new =
        gpurace(dir.path(), &["report", "-f", "short", "a.json", "another.json", "--baseline", "a.json"]);
    assert_eq!(new.status.code(), Some(66));
    assert!(stdout(&new).starts_with("reduce.cu:30:15: data race: "));
    assert!(stdout(&new).contains("SUMMARY: gpurace: 1 data race\n"));
    let missing = gpurace(dir.path(), &["report", "a.json", "--baseline", "no.json"]);
    assert_eq!(missing.status.code(), Some(1));
}

/// Facts of one kernel: line, verdict.
fn facts(sites: &[(u32, &str)]) -> String {
    let sites: Vec<_> = sites
        .iter()
        .map(|(line, verdict)| {
            serde_json::json!({
                "op": "write", "size": 4, "space": "shared", "file": "k.cu", "line": line,
                "column": 3, "verdict": verdict,
                "why": if *verdict == "checked" { "index is not injective" } else { "" },
                "requires": if *verdict == "proved-if" { vec!["blockDim.y == 1"] } else { vec![] },
                "witness": null,
            })
        })
        .collect();
    let kernels = [serde_json::json!({ "name": "f(int*)", "sites": sites })];
    serde_json::json!({ "schema": "gpurace-facts/1", "kernels": kernels }).to_string()
}

fn compare(before: &[(u32, &str)], after: &[(u32, &str)], args: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.json"), facts(before)).unwrap();
    fs::write(dir.path().join("b.json"), facts(after)).unwrap();
    gpurace(dir.path(), &[&["facts", "a.json", "b.json"], args].concat())
}

#[test]
fn facts_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let sites = [(3, "proved"), (4, "proved-if"), (5, "checked")];
    fs::write(dir.path().join("a.json"), facts(&sites)).unwrap();
    let all = gpurace(dir.path(), &["facts", "a.json"]);
    insta::assert_snapshot!(stdout(&all), @r"
    `f(int*)`: 3 sites, 1 proved, 1 proved-if, 1 checked
      proved    k.cu:3:3: write of size 4, shared
      proved-if k.cu:4:3: write of size 4, shared
                requires blockDim.y == 1
      checked   k.cu:5:3: write of size 4, shared
                index is not injective
    total: 3 sites, 1 proved, 1 proved-if, 1 checked
    ");
    let checked = gpurace(dir.path(), &["facts", "a.json", "--verdict", "checked"]);
    assert!(!stdout(&checked).contains("k.cu:3") && stdout(&checked).contains("k.cu:5"));
    fs::write(dir.path().join("r.json"), EXAMPLE).unwrap();
    let wrong = gpurace(dir.path(), &["facts", "r.json"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stderr(&wrong).contains("has no facts of this version of gpurace"));
}

#[test]
fn a_witness_is_said_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let side = |block: u32| {
        serde_json::json!({
            "op": "write", "size": 4, "offset": 0, "file": "k.cu", "line": 3, "column": 3,
            "block": [block, 0, 0], "thread": [0, 0, 0],
        })
    };
    let witness = serde_json::json!({
        "grid": [2, 1, 1], "block": [1, 1, 1], "params": { "n": 7 }, "object": "p",
        "accesses": [side(0), side(1)],
    });
    let mut document: serde_json::Value = serde_json::from_str(&facts(&[(3, "racy")])).unwrap();
    let shown = |document: &serde_json::Value| {
        fs::write(dir.path().join("a.json"), document.to_string()).unwrap();
        stdout(&gpurace(dir.path(), &["facts", "a.json"]))
    };
    document["kernels"][0]["sites"][0]["witness"] = witness;
    insta::assert_snapshot!(shown(&document), @r"
    `f(int*)`: 1 site, 1 racy
      racy      k.cu:3:3: write of size 4, shared
                witness: write at line 3 by thread (0,0,0) of block (0,0,0) and write at line 3 by thread (0,0,0) of block (1,0,0); grid (2,1,1), block (1,1,1), n = 7
    total: 1 site, 1 racy
    ");
    // A witness of another shape is shown as JSON.
    document["kernels"][0]["sites"][0]["witness"] = serde_json::json!({ "t": 1 });
    assert!(shown(&document).contains(r#"witness: {"t":1}"#));
}

#[test]
fn facts_of_two_builds_are_compared() {
    let worse = compare(
        &[(3, "proved"), (4, "checked"), (5, "checked")],
        &[(3, "checked"), (4, "proved"), (5, "checked")],
        &["--fail-on-worse"],
    );
    assert_eq!(worse.status.code(), Some(1));
    insta::assert_snapshot!(stdout(&worse), @r"
    worse: k.cu:3:3: write of size 4, shared, in `f(int*)`: proved -> checked
      index is not injective
    better: k.cu:4:3: write of size 4, shared, in `f(int*)`: checked -> proved
    before: 3 sites, 1 proved, 2 checked
    after:  3 sites, 1 proved, 2 checked
    ");
    // A moved line is no difference.
    let moved =
        compare(&[(3, "proved"), (4, "checked")], &[(13, "proved"), (14, "checked")], &["--fail-on-worse"]);
    assert_eq!(moved.status.code(), Some(0));
    assert!(stdout(&moved).starts_with("no verdict changed\n"));
    // With a new site of the same shape, sites whose lines moved cannot be paired.
    let grown = compare(&[(3, "proved")], &[(13, "proved"), (14, "checked")], &[]);
    insta::assert_snapshot!(stdout(&grown), @r"
    gone: k.cu:3:3: write of size 4, shared, in `f(int*)`: proved
    new: k.cu:13:3: write of size 4, shared, in `f(int*)`: proved
    new: k.cu:14:3: write of size 4, shared, in `f(int*)`: checked
    before: 1 site, 1 proved
    after:  2 sites, 1 proved, 1 checked
    ");
}
