//! A report as a comment on a pull request, in the Markdown of GitHub and GitLab.

use std::fmt::Write;

use gpurace_report::coverage;
use gpurace_report::plain;
use gpurace_report::schema::{Access, Report};
use gpurace_report::sources::Sources;
use gpurace_report::text::TextRenderer;
use gpurace_report::words;

/// The most findings with their whole text, since a comment may have 65,536 characters.
const SHOWN: usize = 20;
/// The most rows of the table.
const ROWS: usize = 100;

/// Returns the summary, a table with one row for each finding, and the text of the first findings to unfold.
pub fn render(report: &Report, sources: &dyn Sources) -> String {
    let mut out = String::from("## gpurace: ");
    if report.has_findings() {
        out.push_str(&words::counts(report));
    } else {
        out.push_str("no data races");
    }
    out.push_str("\n\n");
    let first = |finding| Some((finding, report.races_of(finding).next()?));
    let of_races: Vec<_> = report.findings.iter().filter_map(first).collect();
    if !of_races.is_empty() {
        out.push_str(
            "| finding | kernel | object | where | with | races | seen |\n|---|---|---|---|---|---|---|\n",
        );
        for (finding, race) in of_races.iter().take(ROWS) {
            // Writing to a `String` does not fail.
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} |",
                finding.cause.words(),
                finding.kernel.as_deref().map_or_else(String::new, code),
                text(finding.object.as_deref().unwrap_or_default()).replace('|', "\\|"),
                place(race.later()),
                place(race.earlier()),
                finding.pairs,
                words::times(finding.count),
            );
        }
        more(&mut out, of_races.len(), ROWS, "in the table");
        out.push('\n');
    }
    let others = report.divergence.iter().map(words::divergence_line);
    let others: Vec<_> = others.chain(report.faults.iter().map(words::fault_line)).collect();
    for line in &others {
        let _ = writeln!(out, "- {}", text(line));
    }
    if !others.is_empty() {
        out.push('\n');
    }
    let renderer = TextRenderer { pid: None, color: false, sources };
    let races = of_races.iter().map(|(finding, race)| {
        let fix =
            finding.fix.diff.as_ref().map(|diff| (finding.fix.advice.clone().unwrap_or_default(), diff));
        (finding.title.clone(), renderer.race(race), fix)
    });
    let divergence = report.divergence.iter().map(|found| renderer.divergence(found));
    let faults = report.faults.iter().map(|fault| renderer.fault(fault));
    let rest = others.iter().zip(divergence.chain(faults)).map(|(line, text)| (line.clone(), text, None));
    for (summary, details, fix) in races.chain(rest).take(SHOWN) {
        // The first two lines repeat the summary.
        let details: Vec<&str> = details.lines().skip(2).collect();
        let details = details.join("\n");
        let fence_of_details = fence(&details);
        let _ = writeln!(
            out,
            "<details><summary>{}</summary>\n\n{fence_of_details}text\n{details}\n{fence_of_details}\n",
            html(&summary),
        );
        if let Some((advice, diff)) = fix {
            let fence = fence(diff);
            let _ = writeln!(out, "Fix: {}\n\n{fence}diff\n{diff}{fence}\n", text(&advice));
        }
        out.push_str("</details>\n\n");
    }
    more(&mut out, of_races.len() + others.len(), SHOWN, "in full");
    if !report.notes.is_empty() {
        out.push_str("**Not checked or lost**\n\n");
        for note in &report.notes {
            let _ = writeln!(out, "- {}", text(note));
        }
        out.push('\n');
    }
    let stats = &report.stats;
    let _ = writeln!(
        out,
        "On `{}`, {}; {}: {} proved, {} proved at launch, {} checked; {}",
        report.device.as_str(),
        words::launches(stats),
        words::plural(stats.sites.total, "access site", "access sites"),
        stats.sites.proved,
        stats.sites.proved_at_launch,
        stats.sites.checked,
        words::plural(stats.checks_executed, "check executed", "checks executed"),
    );
    if let Some(line) = coverage::line(report) {
        let _ = writeln!(out, "\n{line}");
    }
    out
}

/// Adds a line with the number of items that are not shown.
fn more(out: &mut String, all: usize, shown: usize, what: &str) {
    if all > shown {
        let _ = writeln!(out, "\n{} more not shown {what}\n", all - shown);
    }
}

fn place(access: &Access) -> String {
    words::place(access).as_deref().map_or_else(|| "unknown".to_owned(), code)
}

/// Returns a code span for a cell of a table. Its fence is longer than any run of backticks in it.
fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{}{space}{ticks}", cell(text))
}

/// Returns a text for a cell of a table. A `|` or a new line would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// Returns a text on one line, as Markdown. Outside of code spans it has no markup, no link, and nobody's name that
/// would call that person.
pub fn text(text: &str) -> String {
    let text = without_runs(&plain::line(text));
    let parts: Vec<&str> = text.split('`').collect();
    // An unpaired backtick is text.
    if parts.len().is_multiple_of(2) {
        return escaped(&text.replace('`', "'"));
    }
    let part =
        |(index, part): (usize, &&str)| if index % 2 == 0 { escaped(part) } else { (*part).to_owned() };
    parts.iter().enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// Returns a text whose backticks stand alone. A run of several opens no code span that one of them closes.
fn without_runs(text: &str) -> String {
    let is_beside = |at: usize| text[..at].ends_with('`') || text[at + 1..].starts_with('`');
    let of = |(at, c)| if c == '`' && is_beside(at) { '\'' } else { c };
    text.char_indices().map(of).collect()
}

/// Returns a text without code spans.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            // Readers make links of addresses: `https://...`, `www....`.
            ':' if text[at..].starts_with("://") => out.push_str("\\:"),
            '.' if text[..at].to_ascii_lowercase().ends_with("www") => out.push_str("\\."),
            '@' => out.push_str("@<!-- -->"),
            '\\' | '*' | '_' | '[' | ']' | '~' | '!' => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out
}

/// Returns the text for an HTML element.
fn html(text: &str) -> String {
    let text = plain::line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('@', "@<!-- -->")
}

/// Returns a fence for a code block with this text.
fn fence(text: &str) -> String {
    "`".repeat(longest_run(text).max(2) + 1)
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}
