//! Tests the annotations of GitHub and the code quality report of GitLab, also with hostile names.

use std::collections::HashSet;
use std::path::Path;

use gpurace_report::schema::{CauseKind, Fault, FaultKind, Report};
use serde_json::Value;

use super::{everything, nothing};
use crate::found::{self, relative};
use crate::{github, gitlab};

/// Texts that would be commands of their own, or end the one that has them.
const HOSTILE: [&str; 9] = [
    "\n::error file=fake.cu,line=1::fake",
    "\r::stop-commands::token",
    "\r\n::add-mask::secret",
    "::error::fake",
    "a,line=77,title=fake::fake",
    "%0A::error::fake",
    "100%25, %3A%2C%0D",
    "##[error]fake",
    "\u{1b}]0;title\u{7}\u{1b}[31m\u{85}\u{2028}::error::fake\u{0}",
];

fn fault(message: &str, line: Option<u32>) -> Fault {
    Fault {
        kind: FaultKind::IllegalAddress,
        message: message.to_owned(),
        file: line.map(|_| "/checkout/src/k.cu".to_owned()),
        line,
        column: line,
        kernel: "past(int*)".to_owned(),
        launch: 1,
        block: None,
        thread: None,
        object: None,
        distance: None,
        seed: None,
    }
}

/// Returns the report as a reader of its JSON has it, with a finding for each entry.
fn stored(mut report: Report) -> Report {
    report.findings.clear();
    Report::from_json(&report.to_json()).unwrap()
}

/// Returns a report in which each name, path and text is this one.
fn all_named(text: &str) -> Report {
    let mut report = everything();
    for race in &mut report.races {
        race.kernel = Some(text.to_owned());
        race.hint = Some(text.to_owned());
        if let Some(object) = &mut race.object {
            object.name = Some(text.to_owned());
        }
        if let Some(launch) = &mut race.launch {
            launch.file = Some(text.to_owned());
        }
        for access in &mut race.accesses {
            access.file = Some(text.to_owned());
            access.function = Some(text.to_owned());
            access.line = Some(3);
        }
    }
    for found in &mut report.divergence {
        found.kernel = text.to_owned();
    }
    report.faults = vec![Fault { kernel: text.to_owned(), ..fault(text, Some(9)) }];
    report.faults[0].file = Some(text.to_owned());
    report.notes = vec![text.to_owned()];
    stored(report)
}

/// A command as GitHub's runner reads it.
#[derive(Debug)]
struct Command {
    level: String,
    properties: Vec<(String, String)>,
    message: String,
}

/// Reads a log as GitHub's runner does: what follows `::` at the start of a line is a command, up to the next
/// `::` are its properties, and these are split at commas before they are unescaped.
fn commands(log: &str) -> Vec<Command> {
    let unescape = |text: &str, codes: &[(&str, &str)]| {
        codes.iter().fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
    };
    let data = [("%0D", "\r"), ("%0A", "\n"), ("%25", "%")];
    let property = [("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")];
    let command = |line: &str| {
        let (head, message) = line.trim_start().strip_prefix("::")?.split_once("::")?;
        let (level, properties) = head.split_once(' ').unwrap_or((head, ""));
        let properties = properties.split(',').filter_map(|pair| pair.split_once('='));
        Some(Command {
            level: level.to_owned(),
            properties: properties.map(|(key, value)| (key.to_owned(), unescape(value, &property))).collect(),
            message: unescape(message, &data),
        })
    };
    log.split(['\n', '\r']).filter_map(command).collect()
}

impl Command {
    fn get(&self, key: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

#[test]
fn only_the_runners_own_characters_are_escaped() {
    assert_eq!(github::data("a: b, c = 10%\r\n%0A"), "a: b, c = 10%25%0D%0A%250A");
    assert_eq!(github::property("a: b, c = 10%\r\n%3A"), "a%3A b%2C c = 10%25%0D%0A%253A");
    assert_eq!(github::data("größe <int>::f(`x`)\t|"), "größe <int>::f(`x`) |");
    assert_eq!(
        github::data("\u{1b}[31m\u{85}\u{2028}\u{2029}\0"),
        "\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}\u{fffd}"
    );
}

#[test]
fn what_is_escaped_is_read_back() {
    for text in &HOSTILE[..8] {
        let log = format!("::error title={}::{}\n", github::property(text), github::data(text));
        let read = commands(&log);
        assert_eq!(read.len(), 1, "{log}");
        assert_eq!((read[0].get("title"), read[0].message.as_str()), (Some(*text), *text));
    }
    // Without the escapes, the reader of this test is fooled as the runner would be.
    assert_eq!(commands("::error title=a::b\n::error::fake\n").len(), 2);
    assert_eq!(commands("::error title=a,line=77::fake::b\n")[0].get("line"), Some("77"));
}

#[test]
fn no_name_makes_a_command_or_a_property() {
    for text in HOSTILE {
        let report = all_named(text);
        let log = github::render(&report, None);
        let read = commands(&log);
        // One line is one command, and there are no others.
        assert_eq!(log.lines().count(), report.findings.len() + 1, "{log}");
        assert_eq!(read.len(), report.findings.len() + 1, "{log}");
        assert!(!log.contains(|c: char| c.is_control() && c != '\n'), "{log:?}");
        for command in &read {
            assert!(["error", "warning", "notice"].contains(&command.level.as_str()), "{command:?}");
            assert!(
                !command.properties.iter().any(|(_, value)| value == "fake" || value == "77"),
                "{command:?}"
            );
            let keys: Vec<_> = command.properties.iter().map(|(key, _)| key.as_str()).collect();
            let expected: &[&[&str]] =
                &[&["file", "line", "col", "title"], &["file", "line", "title"], &["title"]];
            assert!(expected.contains(&&keys[..]), "{command:?}");
        }
    }
}

#[test]
fn each_finding_is_one_annotation_and_one_entry() {
    let mut report = everything();
    // Two faults of one kernel have the same fingerprint.
    report.faults = vec![fault("illegal write", Some(4)), fault("illegal write", None)];
    let report = stored(report);
    let errors = commands(&github::render(&report, None));
    assert_eq!(errors.iter().filter(|command| command.level != "notice").count(), report.findings.len());
    assert_eq!(errors.iter().filter(|command| command.level == "notice").count(), report.notes.len());
    let entries: Vec<Value> = serde_json::from_str(&gitlab::render(&report, None)).unwrap();
    assert_eq!(entries.len(), report.findings.len());
    assert!(report.findings.len() >= 8, "{}", report.findings.len());
    for (command, entry) in errors.iter().zip(&entries) {
        assert_eq!(entry["description"], command.message);
        assert_eq!(command.level == "warning", entry["severity"] == "minor");
        assert_eq!(entry["location"]["path"], command.get("file").unwrap_or("<unknown>"));
        assert_eq!(entry["location"]["lines"]["begin"].to_string(), command.get("line").unwrap_or("1"));
    }
    assert_eq!(github::render(&nothing(), None), "");
    assert_eq!(gitlab::render(&nothing(), None), "[]\n");
}

#[test]
fn entries_have_what_gitlab_needs() {
    let mut reports = vec![everything(), all_named("/checkout/src/a,b%.cu")];
    let mut faults = everything();
    // The number that tells faults apart must not be another fingerprint.
    faults.faults = (1..5).map(|line| fault("illegal write", Some(line))).collect();
    faults.faults[1].kernel = "past:IllegalAddress:2".to_owned();
    reports.push(stored(faults));
    for report in &reports {
        let text = gitlab::render(report, Some(Path::new("/checkout")));
        let entries: Vec<serde_json::Map<String, Value>> = serde_json::from_str(&text).unwrap();
        let mut fingerprints = HashSet::new();
        for entry in &entries {
            let keys: Vec<_> = entry.keys().map(String::as_str).collect();
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, ["check_name", "description", "fingerprint", "location", "severity"]);
            for key in ["check_name", "description", "fingerprint"] {
                assert!(!entry[key].as_str().unwrap().is_empty(), "{entry:?}");
            }
            assert!(entry["check_name"].as_str().unwrap().starts_with("gpurace/"));
            let severity = entry["severity"].as_str().unwrap();
            assert!(["info", "minor", "major", "critical", "blocker"].contains(&severity), "{severity}");
            let path = entry["location"]["path"].as_str().unwrap();
            assert!(!path.starts_with(['/', '.']), "{path}");
            assert!(entry["location"]["lines"]["begin"].as_u64().unwrap() >= 1);
            assert!(fingerprints.insert(entry["fingerprint"].as_str().unwrap()), "{entry:?}");
        }
        assert_eq!(entries.len(), report.findings.len());
        // The first entry with a fingerprint has the finding's own.
        assert!(fingerprints.contains(report.findings[0].fingerprint.as_str()));
    }
    // Outside of the checkout, no name is made up.
    let outside = gitlab::render(&reports[2], Some(Path::new("/other")));
    assert!(outside.contains("\"path\": \"/checkout/src/k.cu\""), "{outside}");
}

#[test]
fn files_are_named_as_in_the_checkout() {
    let root = Some(Path::new("/w/c"));
    for (file, expected) in [
        ("/w/c/src/k.cu", "src/k.cu"),
        ("/w/c/src/../inc/a.h", "inc/a.h"),
        ("/w/c/build/../../c/k.cu", "k.cu"),
        ("./k.cu", "k.cu"),
        ("src/./x/../k.cu", "src/k.cu"),
        // Neighbours: what is not below the root, and what has only its beginning.
        ("../k.cu", "../k.cu"),
        ("/w/cc/k.cu", "/w/cc/k.cu"),
        ("/w/c/../k.cu", "/w/k.cu"),
        ("/w/c", "/w/c"),
        ("", ""),
    ] {
        assert_eq!(relative(file, root), expected, "{file}");
    }
    assert_eq!(relative("/w/c/src/k.cu", None), "/w/c/src/k.cu");
}

#[test]
fn a_race_without_a_later_line_is_shown_at_the_earlier_one_or_at_the_launch() {
    let place = |change: &dyn Fn(&mut Report)| {
        let mut report = everything();
        report.races.truncate(1);
        report.divergence.clear();
        report.notes.clear();
        change(&mut report);
        let log = github::render(&stored(report), None);
        commands(&log)[0].properties.iter().take(3).map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(place(&|_| {}), ["a b/k.cu", "6", "10"]);
    assert_eq!(place(&|report| report.races[0].accesses[0].line = None), ["a b/k.cu", "5", "17"]);
    let unknown = |report: &mut Report| {
        for access in &mut report.races[0].accesses {
            access.file = None;
        }
    };
    assert_eq!(place(&unknown)[..2], ["main.cu", "31"]);
    let no_launch = |report: &mut Report| {
        unknown(report);
        report.races[0].launch = None;
    };
    assert_eq!(place(&no_launch).len(), 1);
}

#[test]
fn related_places_are_all_but_the_main_one() {
    let lines = |change: &dyn Fn(&mut Report)| {
        let mut report = everything();
        report.races.truncate(1);
        change(&mut report);
        let report = stored(report);
        let related = found::all(&report)[0].related();
        related.iter().map(|related| related.place.line).collect::<Vec<_>>()
    };
    assert_eq!(lines(&|_| {}), [5, 31]);
    assert_eq!(lines(&|report| report.races[0].accesses[0].line = None), [31]);
    assert_eq!(lines(&|report| report.races[0].accesses[1].line = None), [31]);
    let same = |report: &mut Report| report.races[0].accesses[1] = report.races[0].accesses[0].clone();
    assert_eq!(lines(&same), [6, 31]);
    let unknown =
        |report: &mut Report| report.races[0].accesses.iter_mut().for_each(|access| access.file = None);
    assert!(lines(&unknown).is_empty(), "the launch is the main place");
    // The first place of a divergence is its main one.
    let mut report = everything();
    report.races.clear();
    let report = stored(report);
    let found = found::all(&report);
    let diverged = found.iter().find(|found| found.cause() == CauseKind::Divergence).unwrap();
    let waiting = diverged.related();
    assert!(waiting.iter().all(|related| Some(related.place) != diverged.place()), "{waiting:?}");
    assert!(diverged.change().is_none());
}

#[test]
fn a_race_and_a_fault_without_a_place_read_well() {
    let mut report = everything();
    report.races.truncate(1);
    report.divergence.clear();
    report.notes.truncate(1);
    report.faults = vec![fault("illegal write of address 0x40 in kernel `past(int*)`", None)];
    let report = stored(report);
    insta::assert_snapshot!("github", github::render(&report, None));
    insta::assert_snapshot!("gitlab", gitlab::render(&report, None));
}
