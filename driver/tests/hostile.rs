//! A report or facts from a stranger: no format passes on what would act on a terminal, in a CI's log or in a
//! comment, and no file is read that only the stranger names.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Clears the screen, begins a command of GitHub Actions, turns the direction of text, links, loads an image, calls a
/// person, and ends a code span.
const EVIL: &str = "\u{1b}[2J\n::error::fake\r\u{202e}\u{2066}\u{7}` [click](http://evil.example/) \
    ![i](https://evil.example/i.png) <img src=x onerror=alert(1)> @someone www.evil.example \u{2028}```\n";

const FORMATS: [&str; 9] = ["text", "short", "json", "sarif", "markdown", "html", "github", "gitlab", "lcov"];

fn gpurace(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpurace")).current_dir(dir).args(args).output().unwrap()
}

/// Appends [`EVIL`] to each text that the schema leaves to the program.
fn spoil(value: &mut Value, key: &str) {
    const WORDS: [&str; 9] =
        ["schema", "device", "kind", "space", "scope", "op", "cause", "state", "verdict"];
    match value {
        Value::String(text) if !WORDS.contains(&key) => text.push_str(EVIL),
        Value::Array(items) => items.iter_mut().for_each(|item| spoil(item, key)),
        Value::Object(fields) => {
            let is_object = fields.contains_key("offset");
            for (key, value) in fields {
                spoil(value, if is_object && key == "kind" { "kind" } else { key });
            }
        }
        _ => {}
    }
}

/// A report in which each text is a stranger's.
fn hostile() -> String {
    let text = include_str!("../../runtime/render/src/tests/everything.json");
    let mut report: Value = serde_json::from_str(text).unwrap();
    spoil(&mut report, "");
    report.to_string()
}

/// Asserts that a text moves no cursor, hides nothing, and begins no command.
fn assert_plain(what: &str, text: &str) {
    let odd = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t') || "\u{202e}\u{2066}\u{2028}\u{61c}".contains(c)
    };
    let found: Vec<_> = text.match_indices(odd).map(|(at, c)| (at, c.escape_unicode().to_string())).collect();
    assert!(found.is_empty(), "{what}: {found:?}");
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::error::fake"), "{what}: {line}");
    }
}

#[test]
fn no_format_passes_on_what_acts() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("evil.json"), hostile()).unwrap();
    for format in FORMATS {
        let output = gpurace(dir.path(), &["report", "evil.json", "--format", format]);
        assert!(output.status.success(), "{format}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("evil.example") || format == "lcov", "{format} has lost the names");
        assert_plain(format, &text);
    }
    for args in [&["report", "evil.json", "--coverage"][..], &["merge", "evil.json", "evil.json"]] {
        let output = gpurace(dir.path(), args);
        assert_plain(&args.join(" "), &String::from_utf8(output.stdout).unwrap());
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_said() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("evil.json"), hostile()).unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpurace"));
    let output = command.current_dir(dir.path()).args(["report", "evil.json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output: No space left")
    );
}

#[test]
fn a_comment_links_nowhere_and_calls_nobody() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("evil.json"), hostile()).unwrap();
    let output = gpurace(dir.path(), &["report", "evil.json", "--format", "markdown"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let ticks: String = line.chars().take_while(|&c| c == '`').collect();
        match &fence {
            Some(open) => {
                if ticks.len() >= open.len() {
                    fence = None;
                }
                continue;
            }
            None if ticks.len() >= 3 => {
                fence = Some(ticks);
                continue;
            }
            None => {}
        }
        let outside = without_code(line).replace("\\]", "");
        // A reader finds no Markdown in an element that begins a line.
        let of_markdown: &[&str] =
            if line.starts_with("<details>") { &[] } else { &["](", "http://", "https://", "www."] };
        for active in of_markdown.iter().chain(&["<img", "@someone"]) {
            assert!(!outside.contains(active), "`{active}` in {outside}");
        }
    }
    assert!(fence.is_none());
}

/// Returns a line of Markdown without its code spans.
fn without_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        out.push_str(&rest[..at]);
        let ticks = rest[at..].find(|c| c != '`').unwrap_or(rest.len() - at);
        let after = &rest[at + ticks..];
        let end = closing(after, ticks);
        rest = end.map_or(after, |end| &after[end + ticks..]);
    }
    out + rest
}

/// Returns where the first run of exactly so many backquotes begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let begin = at + found;
        let length = text[begin..].find(|c| c != '`').unwrap_or(text.len() - begin);
        if length == ticks {
            return Some(begin);
        }
        at = begin + length;
    }
    None
}

/// Returns facts with one access at this place.
fn facts(file: &str) -> String {
    serde_json::json!({ "schema": "gpurace-facts/1", "kernels": [{ "name": format!("k{EVIL}"), "sites": [
        { "op": "write", "size": 4, "space": "global", "file": file, "line": 1, "column": 1,
          "verdict": "checked", "why": EVIL, "requires": [EVIL], "witness": { "odd": EVIL } },
    ] }] })
    .to_string()
}

#[test]
fn facts_pass_on_nothing_that_acts() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("facts.json"), facts(&format!("k.cu{EVIL}"))).unwrap();
    for args in
        [&["facts", "facts.json"][..], &["explain", "facts.json"], &["facts", "facts.json", "facts.json"]]
    {
        let output = gpurace(dir.path(), args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        assert_plain(&args.join(" "), &String::from_utf8(output.stdout).unwrap());
    }
}

#[test]
fn facts_show_no_file_that_only_they_name() {
    let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = elsewhere.path().join("secret");
    std::fs::write(&secret, "do not tell\n").unwrap();
    std::os::unix::fs::symlink(&secret, dir.path().join("link")).unwrap();
    let above = format!("../{}/secret", elsewhere.path().file_name().unwrap().to_str().unwrap());
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in [secret.to_str().unwrap(), "link", &above, "pipe", "/dev/zero"] {
        std::fs::write(dir.path().join("facts.json"), facts(file)).unwrap();
        let output = gpurace(dir.path(), &["explain", "facts.json"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !text.contains("do not tell"), "{file}: {text}");
    }
    std::fs::write(dir.path().join("own.cu"), "  a line of its own\n").unwrap();
    std::fs::write(dir.path().join("facts.json"), facts("own.cu")).unwrap();
    let output = gpurace(dir.path(), &["explain", "facts.json"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("own.cu:1: a line of its own"));
}

#[test]
fn a_report_shows_no_file_that_only_it_names() {
    let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = elsewhere.path().join("secret");
    std::fs::write(&secret, "do not tell\n".repeat(50)).unwrap();
    std::os::unix::fs::symlink(&secret, dir.path().join("link")).unwrap();
    let above = format!("../{}/secret", elsewhere.path().file_name().unwrap().to_str().unwrap());
    let text = include_str!("../../runtime/render/src/tests/everything.json");
    for file in [secret.to_str().unwrap(), "link", &above, "/dev/zero", "/proc/self/environ"] {
        let mut report: Value = serde_json::from_str(text).unwrap();
        rename(&mut report, file);
        report["sources"] = serde_json::json!([]);
        std::fs::write(dir.path().join("evil.json"), report.to_string()).unwrap();
        for format in FORMATS {
            let output = gpurace(dir.path(), &["report", "evil.json", "--format", format]);
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success() && !text.contains("do not tell"), "{file}: {text}");
            assert!(!text.contains("PATH="), "{file}: {text}");
        }
    }
}

/// Gives each file of a report this name.
fn rename(value: &mut Value, to: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, to)),
        Value::Object(fields) => {
            for (key, value) in fields {
                if key == "file" && value.is_string() {
                    *value = to.into();
                } else {
                    rename(value, to);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn numbers_at_their_bounds_end_no_command() {
    let dir = tempfile::tempdir().unwrap();
    let text = include_str!("../../runtime/render/src/tests/everything.json");
    for number in [0_u64, 1, u64::from(u32::MAX), u64::MAX] {
        let mut report: Value = serde_json::from_str(text).unwrap();
        renumber(&mut report, number);
        std::fs::write(dir.path().join("evil.json"), report.to_string()).unwrap();
        for format in FORMATS {
            let output = gpurace(dir.path(), &["report", "evil.json", "--format", format]);
            // A number may be too large for the schema, or a report may have no coverage.
            assert!(matches!(output.status.code(), Some(0 | 1)), "{format}, {number}: {output:?}");
        }
    }
}

/// Sets each number of a report.
fn renumber(value: &mut Value, to: u64) {
    match value {
        Value::Number(_) => *value = to.into(),
        Value::Array(items) => items.iter_mut().for_each(|item| renumber(item, to)),
        Value::Object(fields) => fields.values_mut().for_each(|value| renumber(value, to)),
        _ => {}
    }
}
