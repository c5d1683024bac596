//! Tests SARIF with the standard's schema and with the types of another crate.

use std::path::Path;
use std::process::Command;

use gpurace_report::schema::{RaceKind, Report};
use gpurace_report::sources::NoSources;
use serde_json::Value;

use super::{OneFile, everything, nothing};
use crate::sarif::Renderer;

fn render(report: &Report) -> String {
    Renderer { version: "0.1.0", root: Some(Path::new("/checkout")), sources: &OneFile }.render(report)
}

fn value(report: &Report) -> Value {
    serde_json::from_str(&render(report)).unwrap()
}

/// Returns the schema of SARIF 2.1.0 from the crate `serde-sarif`.
fn schema() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline", "--filter-platform=x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "serde-sarif").unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    let text = std::fs::read_to_string(manifest.with_file_name("src").join("schema.json")).unwrap();
    // One pattern has a bracket too many, which the standard's errata remove.
    let text = text.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}?$");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn it_is_valid_by_the_standards_schema() {
    let schema = schema();
    assert!(schema["title"].as_str().unwrap().contains("Version 2.1.0"));
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let errors = |document: &Value| {
        let errors = validator.iter_errors(document);
        errors.map(|e| format!("{}: {e}", e.instance_path())).collect::<Vec<_>>()
    };
    for report in [everything(), nothing()] {
        assert_eq!(errors(&value(&report)), Vec::<String>::new());
    }
    // The validator finds what the schema forbids.
    let mut wrong = value(&everything());
    wrong["runs"][0]["results"][0]["level"] = "fatal".into();
    wrong["runs"][0]["results"][1]["surprise"] = 1.into();
    assert_eq!(errors(&wrong).len(), 2, "{:?}", errors(&wrong));
}

#[test]
fn others_read_what_is_written() {
    let read: serde_sarif::sarif::Sarif = serde_json::from_str(&render(&everything())).unwrap();
    let run = &read.runs[0];
    let results = run.results.as_ref().unwrap();
    assert_eq!(results.len(), 7);
    let rules = run.tool.driver.rules.as_ref().unwrap();
    for result in results {
        let rule = &rules[usize::try_from(result.rule_index.unwrap()).unwrap()];
        assert_eq!(Some(&rule.id), result.rule_id.as_ref());
    }
    assert_eq!(rules.len(), RaceKind::ALL.len() + 2);
    let notes = run.invocations.as_ref().unwrap()[0].tool_execution_notifications.as_ref();
    assert_eq!(notes.unwrap().len(), 2);
}

#[test]
fn the_later_access_is_the_location_and_the_earlier_is_related() {
    let document = value(&everything());
    let result = &document["runs"][0]["results"][0];
    let line = |location: &Value| location["physicalLocation"]["region"]["startLine"].clone();
    assert_eq!(line(&result["locations"][0]), 6);
    assert_eq!(line(&result["relatedLocations"][0]), 5);
    assert_eq!(line(&result["relatedLocations"][1]), 31);
    let flow = result["codeFlows"][0]["threadFlows"].as_array().unwrap();
    let lines: Vec<_> = flow.iter().map(|thread| line(&thread["locations"][0]["location"])).collect();
    assert_eq!(lines, [5, 6]);
    insta::assert_snapshot!(result["message"]["text"].as_str().unwrap());
}

#[test]
fn columns_count_characters_and_paths_are_uris() {
    let document = value(&everything());
    let earlier = &document["runs"][0]["results"][0]["relatedLocations"][0]["physicalLocation"];
    assert_eq!(earlier["artifactLocation"]["uri"], "a%20b/k.cu");
    assert_eq!(earlier["artifactLocation"]["uriBaseId"], "%SRCROOT%");
    let region = &earlier["region"];
    let text: Vec<char> = region["snippet"]["text"].as_str().unwrap().chars().collect();
    let at = |key: &str| region[key].as_u64().unwrap() as usize - 1;
    // Column 17 is in bytes: `ö` and `ß` before it have two each.
    assert_eq!(text[at("startColumn")..at("endColumn")].iter().collect::<String>(), "tile[t]");
}

#[test]
fn files_below_the_root_are_relative_to_it() {
    let mut report = everything();
    report.races[0].accesses[0].file = Some("/checkout/src/k.cu".to_owned());
    report.races[0].accesses[1].file = Some("/elsewhere/k#1.cu".to_owned());
    let document = value(&report);
    let result = &document["runs"][0]["results"][0];
    let artifact = |location: &Value| location["physicalLocation"]["artifactLocation"].clone();
    assert_eq!(artifact(&result["locations"][0])["uri"], "src/k.cu");
    let outside = artifact(&result["relatedLocations"][0]);
    assert_eq!(outside["uri"], "file:///elsewhere/k%231.cu");
    assert_eq!(outside.get("uriBaseId"), None);
}

#[test]
fn what_is_not_known_is_left_out() {
    let text = Renderer { version: "0.1.0", root: None, sources: &NoSources }.render(&everything());
    let document: Value = serde_json::from_str(&text).unwrap();
    let results = document["runs"][0]["results"].as_array().unwrap();
    // The atomics without debug info have no place. Equal values are a warning.
    assert_eq!(results[5]["locations"], serde_json::json!([]));
    assert_eq!(results[1]["level"], "warning");
    assert!(!text.contains("snippet"));
}
