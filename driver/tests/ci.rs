//! Tests `gpurace ci`, and the steps of the GitHub action and the GitLab template with a runner's environment. Shell
//! scripts take the place of checked programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gpurace_report::schema::{Device, Report};
use gpurace_tests::toolchain::write_program;
use yaml_rust2::{Yaml, YamlLoader};

/// Makes a folder with the programs `clean`, `racy` and `racier`, which write reports as checked programs do.
/// `racier` finds the race of `racy` and another one.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut report =
        Report::from_json(include_str!("../../runtime/base/report/src/tests/interface.json")).unwrap();
    report.divergence.clear();
    report.notes.clear();
    let write = |name: &str, report: &Report| fs::write(dir.path().join(name), report.to_json()).unwrap();
    write("clean.json", &Report::new(Device::Cpu));
    write("racy.json", &report);
    let mut other = report.races[0].clone();
    other.kernel = Some("other()".to_owned());
    report.races.push(other);
    write("racier.json", &report);
    for name in ["clean", "racy", "racier"] {
        script(
            &dir.path().join(name),
            r#"
options=":$GPURACE_OPTIONS"
name=$(basename "$0")
json=${options##*:json=\"}; json=${json%%\"*}
cp "$(dirname "$0")/$name.json" "$(echo "$json" | sed "s/%p/$$/")"
case $options in *:exitcode=0*) exit 0 ;; esac
[ $name = clean ] || exit 66
"#,
        );
    }
    dir
}

fn script(path: &Path, text: &str) {
    write_program(path, format!("#!/bin/sh\n{text}")).unwrap();
}

/// A command in this folder, with no variables of a CI that runs this test.
fn command(program: impl AsRef<std::ffi::OsStr>, dir: &Path) -> Command {
    let mut command = Command::new(program);
    let mut path = PathBuf::from(env!("CARGO_BIN_EXE_gpurace")).parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    command.current_dir(dir).env("PATH", path).env_remove("GPURACE_OPTIONS");
    for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"] {
        command.env_remove(name);
    }
    command
}

fn ci(dir: &Path, args: &[&str], tests: &str) -> Output {
    command(env!("CARGO_BIN_EXE_gpurace"), dir)
        .arg("ci")
        .args(args)
        .args(["--", "sh", "-c", tests])
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn races(dir: &Path) -> usize {
    let text = fs::read_to_string(dir.join("gpurace-reports/report.json")).unwrap();
    Report::from_json(&text).unwrap().races.len()
}

#[test]
fn the_job_fails_on_what_it_is_told() {
    let dir = folder();
    let status = |args: &[&str], tests: &str| ci(dir.path(), args, tests).status.code();
    assert_eq!(status(&[], "./clean"), Some(0));
    assert_eq!(status(&[], "./clean; ./racy; true"), Some(66));
    assert_eq!(races(dir.path()), 1);
    // The status of the tests wins.
    assert_eq!(status(&[], "./racy; exit 8"), Some(8));
    assert_eq!(status(&["--fail-on=none"], "./racy"), Some(0));
    assert_eq!(races(dir.path()), 1);
    fs::copy(dir.path().join("gpurace-reports/report.json"), dir.path().join("known.json")).unwrap();
    // A known race fails neither a test nor the job.
    assert_eq!(status(&["--baseline=known.json"], "./racy && ./clean"), Some(0));
    let new = ci(dir.path(), &["--baseline=known.json"], "./racier");
    assert_eq!(new.status.code(), Some(66));
    assert!(text(&new.stdout).contains("other()") && !text(&new.stdout).contains("in `reduce("));
    // The folder has the whole report, of this run alone.
    assert_eq!(races(dir.path()), 2);
    assert_eq!(status(&[], "./clean"), Some(0));
    assert_eq!(races(dir.path()), 0);
}

#[test]
fn what_is_wrong_is_said() {
    let dir = folder();
    let wrong = |args: &[&str], tests: &str| {
        let output = ci(dir.path(), args, tests);
        (output.status.code(), text(&output.stderr))
    };
    // A job that checks nothing must not pass.
    let (status, said) = wrong(&[], "true");
    assert_eq!(status, Some(1));
    assert!(said.contains("no program that `sh` ran wrote a report"), "{said}");
    let (status, said) = wrong(&[], "exit 3");
    assert!(status == Some(3) && said.contains("no program wrote a report"), "{said}");
    assert_eq!(wrong(&["--fail-on=new"], "./clean").0, Some(2));
    let (status, said) = wrong(&["--baseline=none.json"], "touch ran; ./clean");
    assert!(status == Some(1) && said.contains("none.json"), "{said}");
    assert!(!dir.path().join("ran").exists());
    // Files of others in the folder stay.
    fs::write(dir.path().join("gpurace-reports/mine"), "kept").unwrap();
    assert_eq!(wrong(&[], "./clean").0, Some(0));
    assert!(dir.path().join("gpurace-reports/mine").exists());
}

fn share(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("share").join(file)
}

fn yaml(file: &Path) -> Yaml {
    YamlLoader::load_from_str(&fs::read_to_string(file).unwrap()).unwrap().remove(0)
}

/// Runs the steps of the action as GitHub's runner does.
fn run_action(dir: &Path, inputs: &[(&str, &str)]) -> (Output, BTreeMap<String, String>) {
    let action = yaml(&share("github/action.yml"));
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for (name, input) in action["inputs"].as_hash().unwrap() {
        let default = input["default"].as_str().unwrap_or_default();
        values.insert(format!("inputs.{}", name.as_str().unwrap()), default.to_owned());
    }
    for (name, value) in inputs {
        assert!(values.insert(format!("inputs.{name}"), (*value).to_owned()).is_some(), "{name}");
    }
    values.insert("runner.temp".to_owned(), dir.join("temp").display().to_string());
    let fill = |text: &str| {
        let mut text = text.to_owned();
        for (name, value) in &values {
            text = text.replace(&format!("${{{{ {name} }}}}"), value);
        }
        assert!(!text.contains("${{"), "{text}");
        text
    };
    let files = ["GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_ENV", "GITHUB_STEP_SUMMARY"];
    let mut last = None;
    for step in action["runs"]["steps"].as_vec().unwrap() {
        if step["if"].as_str() == Some("inputs.wheel != ''") && values["inputs.wheel"].is_empty() {
            continue;
        }
        assert_eq!(step["shell"].as_str(), Some("bash"));
        let mut command = command("bash", dir);
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].as_str().unwrap()]);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_WORKSPACE", dir);
        for file in files {
            command.env(file, dir.join(file));
        }
        // The path that earlier steps have added to.
        let added = fs::read_to_string(dir.join("GITHUB_PATH")).unwrap_or_default();
        let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_owned();
        let added: String = added.lines().map(|line| format!("{line}:")).collect();
        command.env("PATH", format!("{added}{}", path.display()));
        for (name, value) in step["env"].as_hash().unwrap() {
            command.env(name.as_str().unwrap(), fill(value.as_str().unwrap()));
        }
        last = Some(command.output().unwrap());
    }
    let outputs = fs::read_to_string(dir.join("GITHUB_OUTPUT")).unwrap();
    let outputs: BTreeMap<String, String> = outputs
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for (name, output) in action["outputs"].as_hash().unwrap() {
        let name = name.as_str().unwrap();
        assert_eq!(output["value"].as_str().unwrap(), format!("${{{{ steps.run.outputs.{name} }}}}"));
        assert!(outputs.contains_key(name), "{name}");
    }
    (last.unwrap(), outputs)
}

#[test]
fn the_github_action_annotates_and_summarises() {
    let dir = folder();
    // Quotes and dollar signs reach the shell as they are.
    let run = "name='ra'\n\"./$name\"'cy' || true\n./clean\n";
    let (ran, outputs) = run_action(dir.path(), &[("run", run)]);
    assert_eq!(ran.status.code(), Some(66), "{}", text(&ran.stderr));
    let annotations = text(&ran.stdout);
    assert!(
        annotations.starts_with("::error file=reduce.cu,line=18,col=15,title=gpurace%3A "),
        "{annotations}"
    );
    let summary = fs::read_to_string(dir.path().join("GITHUB_STEP_SUMMARY")).unwrap();
    assert!(summary.contains("data race"), "{summary}");
    for (name, holds) in [("report", "gpurace-report/1"), ("page", "<!DOCTYPE html>"), ("sarif", "\"2.1.0\"")]
    {
        let written = fs::read_to_string(dir.path().join(&outputs[name])).unwrap();
        assert!(written.contains(holds), "{name}");
    }
}

#[test]
fn the_github_action_takes_a_baseline() {
    let dir = folder();
    let with = |run: &str, more: &[(&str, &str)]| {
        let inputs: Vec<_> = [("run", run), ("reports", "r")].iter().chain(more).copied().collect();
        run_action(dir.path(), &inputs).0.status.code()
    };
    assert_eq!(with("./racy", &[("fail-on", "none")]), Some(0));
    assert_eq!(with("./racy", &[("baseline", "racy.json")]), Some(0));
    assert_eq!(with("./racier", &[("baseline", "racy.json"), ("fail-on", "new")]), Some(66));
    // A command of several that fails ends them.
    assert_eq!(with("./clean\nfalse\ntouch went-on", &[]), Some(1));
    assert!(!dir.path().join("went-on").exists());
}

#[test]
fn the_gitlab_template_writes_the_artifact_that_it_names() {
    let dir = folder();
    let template = yaml(&share("gitlab/gpurace.yml"));
    let job = &template[".gpurace"];
    let lines = |key: &str| -> Vec<String> {
        job[key].as_vec().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
    };
    let run = |variables: &[(&str, &str)]| {
        // GitLab's runner makes one script of both.
        let script = [lines("before_script"), lines("script")].concat().join("\n");
        let mut command = command("bash", dir.path());
        command.args(["-eo", "pipefail", "-c", &script]).env("GITLAB_CI", "true");
        command.env("CI_PROJECT_DIR", dir.path()).envs(variables.iter().copied());
        command.output().unwrap()
    };
    let ran = run(&[("GPURACE_RUN", "./racy || true\n./clean")]);
    assert_eq!(ran.status.code(), Some(66), "{}", text(&ran.stderr));
    let artifacts = &job["artifacts"];
    assert_eq!(artifacts["when"].as_str(), Some("always"));
    let quality = artifacts["reports"]["codequality"].as_str().unwrap();
    let quality: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join(quality)).unwrap()).unwrap();
    let entry = &quality.as_array().unwrap()[0];
    assert_eq!(
        (&entry["location"]["path"], &entry["location"]["lines"]["begin"]),
        (&"reduce.cu".into(), &18.into())
    );
    assert!(artifacts["paths"][0].as_str().is_some_and(|folder| dir.path().join(folder).is_dir()));
    let known = run(&[("GPURACE_RUN", "./racy"), ("GPURACE_BASELINE", "racy.json")]);
    assert_eq!(known.status.code(), Some(0), "{}", text(&known.stderr));
    assert_eq!(run(&[("GPURACE_RUN", "./racy"), ("GPURACE_FAIL_ON", "none")]).status.code(), Some(0));
}

/// Checks both files with the published schemas, where `check-jsonschema` (PyPI) is installed.
#[test]
fn the_files_have_their_published_schemas() {
    for (schema, file) in [("github-actions", "github/action.yml"), ("gitlab-ci", "gitlab/gpurace.yml")] {
        let schema = format!("vendor.{schema}");
        let checked =
            Command::new("check-jsonschema").args(["--builtin-schema", &schema]).arg(share(file)).output();
        match checked {
            Ok(checked) => assert!(checked.status.success(), "{file}: {}", text(&checked.stdout)),
            Err(_) => eprintln!("`check-jsonschema` is missing: the schema of {file} is not checked"),
        }
    }
}
