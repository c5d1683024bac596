//! The code quality report of GitLab: what a merge request shows beside its changes.

use std::collections::HashSet;
use std::path::Path;

use gpurace_report::schema::Report;
use serde::Serialize;

use crate::found::{self, Found, relative};

/// The path of a finding without a known place. GitLab takes no entry without a path.
const UNKNOWN: &str = "<unknown>";

/// Returns an array with an entry for each finding, as indented JSON with a newline at its end. Files below
/// `root` have names relative to it.
pub fn render(report: &Report, root: Option<&Path>) -> String {
    // GitLab shows only the first of several entries with the same fingerprint.
    let mut taken = HashSet::new();
    let entries: Vec<Entry> =
        found::all(report).into_iter().map(|found| entry(found, root, &mut taken)).collect();
    // Nothing in these types can fail to serialise.
    let mut text = serde_json::to_string_pretty(&entries).unwrap_or_default();
    text.push('\n');
    text
}

fn entry(found: Found<'_>, root: Option<&Path>, taken: &mut HashSet<String>) -> Entry {
    let (path, begin) = match found.place() {
        Some(place) => (relative(place.file, root).into_owned(), place.line),
        None => (UNKNOWN.to_owned(), 1),
    };
    let known = found.fingerprint();
    let mut fingerprint = known.clone();
    let mut number = 1;
    while !taken.insert(fingerprint.clone()) {
        number += 1;
        fingerprint = format!("{known}:{number}");
    }
    Entry {
        description: found.message(),
        check_name: format!("gpurace/{}", found.cause().as_str()),
        fingerprint,
        severity: if found.is_mild() { "minor" } else { "critical" },
        location: EntryLocation { path, lines: Lines { begin } },
    }
}

#[derive(Serialize)]
struct Entry {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: EntryLocation,
}

#[derive(Serialize)]
struct EntryLocation {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}
