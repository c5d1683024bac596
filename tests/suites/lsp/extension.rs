//! The extension for VS Code: what its manifest says fits what the tools take and print.

use std::path::PathBuf;
use std::process::Command;

use gpurace_tests::toolchain::{run, tool, work_folder, workspace as root};
use regex::Regex;
use serde_json::{Value, json};

use super::client::Client;
use super::{NAME, SOURCE, workspace};

fn folder() -> PathBuf {
    root().join("driver/share/vscode")
}

fn manifest() -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join("package.json")).unwrap()).unwrap()
}

/// Returns what a problem matcher finds in a line: the parts that it names.
fn matched(name: &str, line: &str) -> Option<Vec<(String, String)>> {
    let manifest = manifest();
    let matchers = manifest["contributes"]["problemMatchers"].as_array().unwrap();
    let matcher = matchers.iter().find(|matcher| matcher["name"] == name).unwrap();
    let pattern = matcher["pattern"].as_object().unwrap();
    // Both engines read these patterns alike: they have neither look-around nor back references.
    let regex = Regex::new(pattern["regexp"].as_str().unwrap()).unwrap();
    let found = regex.captures(line)?;
    let part = |(name, group): (&String, &Value)| {
        let text = found.get(group.as_u64()? as usize)?;
        Some((name.clone(), text.as_str().to_owned()))
    };
    Some(pattern.iter().filter_map(part).collect())
}

fn part<'a>(parts: &'a [(String, String)], name: &str) -> &'a str {
    parts.iter().find(|(other, _)| other == name).map_or("", |(_, text)| text)
}

#[test]
fn a_warning_of_gclang_is_a_problem() {
    let folder = work_folder("lsp matcher").unwrap();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    let mut command = Command::new(tool("gclang++").unwrap());
    command.args(["-fsanitize=gpurace", "-fgpurace-exec=cpu", "-c", "k.cu"]).current_dir(&folder);
    let said = run(&mut command, &folder).unwrap().stderr;
    let problems: Vec<_> = said.lines().filter_map(|line| matched("gclang", line)).collect();
    let shown: Vec<[&str; 4]> = problems
        .iter()
        .map(|parts| ["file", "line", "column", "severity"].map(|name| part(parts, name)))
        .collect();
    // The source's lines and carets, which clang prints between them, are no problems.
    assert_eq!(
        shown,
        [["k.cu", "8", "32", "warning"], ["k.cu", "9", "59", "note"], ["k.cu", "8", "32", "note"]],
        "{said}"
    );
    assert!(part(&problems[0], "message").starts_with("data race in `mirror(int*)`"), "{said}");
    let error = matched("gclang", "/a b/k.cu:3:10: fatal error: 'x.h' file not found").unwrap();
    assert_eq!((part(&error, "file"), part(&error, "severity")), ("/a b/k.cu", "error"));
}

#[test]
fn a_short_finding_is_a_problem() {
    let folder = workspace("short");
    let mut command = Command::new(tool("gpurace").unwrap());
    command.args(["report", "--format=short", "gpurace.json"]).current_dir(&folder);
    let said = run(&mut command, &folder).unwrap().stdout;
    let problems: Vec<_> = said.lines().filter_map(|line| matched("gpurace-short", line)).collect();
    // The summary is no problem.
    assert!(problems.len() == 1 && said.lines().count() > 1, "{said}");
    let found = &problems[0];
    assert_eq!(["file", "line", "column"].map(|name| part(found, name)), [NAME, "9", "59"]);
    assert!(part(found, "message").starts_with("data race: read of shared `tile`"), "{said}");
    // The forms of the other findings.
    let diverged =
        matched("gpurace-short", "k.cu:4: barrier divergence with k.cu:7, in `halves(int*)`").unwrap();
    assert_eq!(["line", "column"].map(|name| part(&diverged, name)), ["4", ""]);
    for kind in ["skipped barrier", "absent lanes", "mask without its caller"] {
        assert!(matched("gpurace-short", &format!("k.cu:4: {kind}, in `halves(int*)`")).is_some(), "{kind}");
    }
    assert!(matched("gpurace-short", "k.cu:2:63: fault: illegal write of address 0x1").is_some());
    assert!(matched("gpurace-short", "SUMMARY: gpurace: 1 data race").is_none());
    assert!(matched("gpurace-short", "<unknown>: fault: trap").is_none());
}

#[test]
fn the_server_takes_all_settings_and_has_all_commands() {
    let manifest = manifest();
    assert!(folder().join(manifest["main"].as_str().unwrap()).is_file());
    let properties = manifest["contributes"]["configuration"]["properties"].as_object().unwrap();
    let mut options = serde_json::Map::new();
    for (name, property) in properties {
        let name = name.strip_prefix("gpurace.").unwrap();
        let value = match &property["type"] {
            Value::String(text) if text == "string" => json!("nowhere"),
            _ => json!(["nowhere"]),
        };
        if name != "path" {
            options.insert(name.to_owned(), value);
        }
        // The extension passes it on.
        let code = std::fs::read_to_string(folder().join("extension.js")).unwrap();
        assert!(code.contains(&format!("\"{name}\"")), "{name}");
    }
    assert_eq!(options.len(), 4);
    let place = work_folder("lsp settings").unwrap();
    let (mut client, said) = Client::start(&place, options.clone().into(), json!({}));
    assert_eq!(client.count("window/showMessage"), 0);
    let commands = &said["capabilities"]["executeCommandProvider"]["commands"];
    let contributed: Vec<&Value> =
        manifest["contributes"]["commands"].as_array().unwrap().iter().map(|c| &c["command"]).collect();
    assert_eq!(json!(contributed), *commands);
    client.stop();
    // A setting that the server does not have is named.
    options.insert("reports".to_owned(), json!("x"));
    let (mut client, _) = Client::start(&place, options.into(), json!({}));
    let shown = client.wait_for("window/showMessage");
    assert!(shown["message"].as_str().unwrap().contains("`reports`"), "{shown}");
    client.stop();
}
