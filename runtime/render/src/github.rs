//! Annotations of GitHub Actions: one workflow command on each line, which the runner reads in a job's log.
//!
//! A name in a report comes from the program under test, which may be a stranger's. So no text of a report may
//! end its command and begin another one: each command is one line, and no property has a `:` or `,` of its own.

use std::fmt::Write as _;
use std::path::Path;

use gpurace_report::plain;
use gpurace_report::schema::Report;

use crate::found::{self, relative};

/// Returns an `error` for each finding (a `warning` if all its writes stored the same value), and a `notice` for
/// each note. Files below `root` have names relative to it.
pub fn render(report: &Report, root: Option<&Path>) -> String {
    let mut out = String::new();
    for found in found::all(report) {
        let mut properties = Vec::new();
        if let Some(place) = found.place() {
            properties.push(("file", relative(place.file, root).into_owned()));
            properties.push(("line", place.line.to_string()));
            properties.extend(place.column.map(|column| ("col", column.to_string())));
        }
        properties.push(("title", format!("gpurace: {}", found.title())));
        let level = if found.is_mild() { "warning" } else { "error" };
        command(&mut out, level, &properties, &found.message());
    }
    for note in &report.notes {
        command(&mut out, "notice", &[("title", "gpurace".to_owned())], note);
    }
    out
}

fn command(out: &mut String, level: &str, properties: &[(&str, String)], message: &str) {
    let properties: Vec<_> =
        properties.iter().map(|(key, value)| format!("{key}={}", property(value))).collect();
    // Writing to a `String` does not fail.
    let _ = writeln!(out, "::{level} {}::{}", properties.join(","), data(message));
}

/// Returns a text as the message of a command. A terminal that shows the log obeys no control character of it.
pub(crate) fn data(text: &str) -> String {
    plain::line(&text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")).into_owned()
}

/// Returns a text as the value of a property.
pub(crate) fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
