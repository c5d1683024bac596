//! One self-contained page. It loads nothing, and it is readable without scripts, on a phone, in the dark and
//! with a screen reader.
//!
//! [`picture`] draws. The page contains `page.css` and `page.js` as they are. The script only filters
//! findings.

mod listing;
pub(crate) mod picture;
mod race;

use std::path::Path;

use gpurace_report::coverage;
use gpurace_report::schema::{CoveredAccess, Finding, Race, Report, Sites};
use gpurace_report::sources::Sources;
use gpurace_report::words;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use percent_encoding::utf8_percent_encode;

use crate::PATH;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The browser loads nothing, whatever the texts of the report are.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The most findings with races on the page, so that browsers can show it.
const SHOWN: usize = 1000;

/// Returns the page of the report called `name`, written by `version` of the tool.
pub fn render(report: &Report, name: &str, version: &str, sources: &dyn Sources) -> String {
    let headline = if report.has_findings() { words::counts(report) } else { "no data races".to_owned() };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(format!("gpurace {version}"));
                title { "gpurace: " (headline) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#findings" { "Skip to the findings" }
                header {
                    h1 { "gpurace: " (headline) }
                    p { "Report " code { (name) } ", kernels ran on " (device(report)) "." (run(report)) }
                    (summary(report))
                }
                main {
                    (notes(&report.notes))
                    section #findings aria-labelledby="findings-title" tabindex="-1" {
                        h2 #findings-title { "Findings" }
                        @if report.has_findings() {
                            (filters(report))
                            (table(report))
                            @for (index, (kernel, findings)) in by_kernel(report).into_iter().enumerate() {
                                @let title = format!("kernel-{}", index + 1);
                                section.kernel aria-labelledby=(title) {
                                    h3 id=(title) {
                                        @match kernel { Some(kernel) => { "Kernel " code { (kernel) } }, None => { "Not in a kernel" } }
                                    }
                                    @for (finding, first) in findings {
                                        (race::finding(report, finding, first, sources))
                                    }
                                }
                            }
                            @for (index, found) in report.divergence.iter().enumerate() {
                                (race::divergence(found, index + 1, sources))
                            }
                            @for (index, fault) in report.faults.iter().enumerate() {
                                (race::fault(fault, index + 1, sources))
                            }
                            @if of_races(report).count() > SHOWN {
                                p { (of_races(report).count() - SHOWN) " more findings are in the JSON report only." }
                            }
                        } @else {
                            p { "No data race, no barrier divergence and no fault was reported. A run checks only the code that it executes." }
                        }
                    }
                    (listing::files(report))
                    (kernels(report))
                    (never_ran(report, sources))
                }
                footer { p { "Written by gpurace " (version) "." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Returns the findings that have races, each with its first race.
fn of_races(report: &Report) -> impl Iterator<Item = (&Finding, &Race)> {
    report.findings.iter().filter_map(|finding| Some((finding, report.races_of(finding).next()?)))
}

/// The findings of a kernel, each with its first race.
type OfKernel<'a> = (Option<&'a str>, Vec<(&'a Finding, &'a Race)>);

/// Returns the findings that are shown, by kernel. The kernels have the order of their first findings.
fn by_kernel(report: &Report) -> Vec<OfKernel<'_>> {
    let mut kernels: Vec<OfKernel<'_>> = Vec::new();
    for (finding, first) in of_races(report).take(SHOWN) {
        let kernel = finding.kernel.as_deref();
        match kernels.iter_mut().find(|(known, _)| *known == kernel) {
            Some((_, findings)) => findings.push((finding, first)),
            None => kernels.push((kernel, vec![(finding, first)])),
        }
    }
    kernels
}

/// Returns a link that opens a place in Visual Studio Code. `None` if the file's directory is not known.
fn editor(report: &Report, file: &str, line: u32, column: Option<u32>) -> Option<String> {
    let directory = report.run.as_ref().and_then(|run| run.directory.as_deref());
    let path = Path::new(directory.unwrap_or_default()).join(file);
    let path = path.is_absolute().then(|| path.to_string_lossy().into_owned())?;
    let column = column.map(|column| format!(":{column}")).unwrap_or_default();
    Some(format!("vscode://file{}:{line}{column}", utf8_percent_encode(&path, PATH)))
}

/// Returns what is known of the run.
fn run(report: &Report) -> Markup {
    html! {
        @if let Some(run) = &report.run {
            @let program = run.program.iter().chain(&run.arguments).map(String::as_str).collect::<Vec<_>>().join(" ");
            " Process " (run.pid) ", seed " (run.seed) ", gpurace " (run.version) ": " code { (program) }
            @if let Some(directory) = &run.directory { " in " code { (directory) } }
            "."
        }
    }
}

fn device(report: &Report) -> &'static str {
    match report.device {
        gpurace_report::schema::Device::Cpu => "the host",
        gpurace_report::schema::Device::Cuda => "an NVIDIA GPU",
    }
}

fn summary(report: &Report) -> Markup {
    let stats = &report.stats;
    let races = report.races.len() as u64;
    let tiles = [
        ("Findings", report.findings.len() as u64),
        ("Data races", races),
        ("Barrier divergences", report.divergence.len() as u64),
        ("Faults", report.faults.len() as u64),
        ("Launches", stats.launches),
        ("of them without checks", stats.launches_proved),
        ("of them left out", stats.launches_unchecked),
        ("Checks executed", stats.checks_executed),
        ("Access sites", stats.sites.total),
    ];
    html! {
        dl.tiles {
            @for (label, value) in tiles {
                div { dt { (label) } dd { (grouped(value)) } }
            }
        }
        (site_bar(&stats.sites))
    }
}

/// Returns one bar with the numbers of proved and checked sites.
fn site_bar(sites: &Sites) -> Markup {
    if sites.total == 0 {
        return html! {};
    }
    let parts = [
        ("proved", "proved", sites.proved),
        ("launch", "proved at launch", sites.proved_at_launch),
        ("checked", "checked", sites.checked),
    ];
    html! {
        div.bar aria-hidden="true" {
            @for (class, _, count) in parts {
                @if count > 0 {
                    span class=(class) style=(format!("flex-grow:{count}")) {}
                }
            }
        }
        ul.legend {
            @for (class, label, count) in parts {
                li { span class=(format!("swatch {}", class)) aria-hidden="true" {} (grouped(count)) " " (label) }
            }
        }
    }
}

fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            section.notes aria-labelledby="notes-title" {
                h2 #notes-title { "Lost or not checked" }
                ul { @for note in notes { li { (code_spans(note)) } } }
            }
        }
    }
}

/// Returns a text whose parts between backticks are code.
fn code_spans(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // An unpaired backtick is text.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Returns the filters. The script shows them, since they do not work without it.
fn filters(report: &Report) -> Markup {
    let distinct = |values: Vec<String>| {
        let mut values = values;
        values.sort();
        values.dedup();
        values
    };
    let races = &report.races;
    let selects = [
        ("kind", "Cause", distinct(report.findings.iter().map(|finding| finding.cause.words()).collect())),
        ("space", "Memory", distinct(races.iter().map(|race| race::space(race).to_owned()).collect())),
        ("scope", "Between", distinct(races.iter().map(|race| race::scope(race).to_owned()).collect())),
        (
            "kernel",
            "Kernel",
            distinct(report.findings.iter().filter_map(|finding| finding.kernel.clone()).collect()),
        ),
    ];
    html! {
        form #filters role="search" aria-label="Filter the findings" hidden {
            p {
                label for="filter-text" { "Text" }
                input #filter-text type="search" autocomplete="off" placeholder="file, function, object";
            }
            @for (key, label, values) in selects {
                p {
                    label for=(format!("filter-{key}")) { (label) }
                    select id=(format!("filter-{key}")) data-key=(key) {
                        option value="" { "all" }
                        @for value in values { option value=(value) { (value) } }
                    }
                }
            }
            p { button type="reset" { "Show all" } }
            output #shown for="filter-text" aria-live="polite" {}
        }
    }
}

/// Returns a table with one row for each finding.
fn table(report: &Report) -> Markup {
    html! {
        div.scroll role="region" aria-label="Table of findings" tabindex="0" {
            table {
                caption.unseen { "All findings; each links to its details" }
                thead {
                    tr {
                        th scope="col" { "Finding" }
                        th scope="col" { "Object" }
                        th scope="col" { "Kernel" }
                        th scope="col" { "Where" }
                        th scope="col" { "With" }
                        th.number scope="col" { "Races" }
                        th.number scope="col" { "Seen" }
                    }
                }
                tbody {
                    @for (finding, race) in of_races(report).take(SHOWN) {
                        tr data-for=(finding.id) {
                            th scope="row" { a href=(format!("#{}", finding.id)) { (finding.id) " " (finding.cause.words()) } }
                            td { (code_spans(finding.object.as_deref().unwrap_or_default())) }
                            td { code { (finding.kernel.as_deref().unwrap_or("")) } }
                            td { code { (words::place(race.later()).unwrap_or_default()) } }
                            td { code { (words::place(race.earlier()).unwrap_or_default()) } }
                            td.number { (grouped(finding.pairs)) }
                            td.number { (grouped(finding.count)) }
                        }
                    }
                    @for (index, found) in report.divergence.iter().enumerate() {
                        tr data-for=(format!("divergence-{}", index + 1)) {
                            th scope="row" { a href=(format!("#divergence-{}", index + 1)) { (words::divergence_kind(found)) " " (index + 1) } }
                            td {}
                            td { code { (found.kernel) } }
                            td { code { (race::first_place(found)) } }
                            td {}
                            td.number {}
                            td.number {}
                        }
                    }
                    @for (index, fault) in report.faults.iter().enumerate() {
                        tr data-for=(format!("fault-{}", index + 1)) {
                            th scope="row" { a href=(format!("#fault-{}", index + 1)) { "fault " (index + 1) } }
                            td { (code_spans(&fault.object.as_ref().map(words::location).unwrap_or_default())) }
                            td { code { (fault.kernel) } }
                            td { code { (fault.file.as_deref().unwrap_or("")) @if let Some(line) = fault.line { ":" (line) } } }
                            td {}
                            td.number {}
                            td.number {}
                        }
                    }
                }
            }
        }
    }
}

fn kernels(report: &Report) -> Markup {
    html! {
        @if !report.stats.kernels.is_empty() {
            section aria-labelledby="kernels-title" {
                h2 #kernels-title { "Kernels" }
                div.scroll role="region" aria-label="Table of kernels" tabindex="0" {
                    table {
                        caption.unseen { "Sites and checks of each kernel" }
                        thead {
                            tr {
                                th scope="col" { "Kernel" }
                                @for column in ["Launches", "Sites", "Proved", "Proved at launch", "Checked", "Checks executed"] {
                                    th.number scope="col" { (column) }
                                }
                            }
                        }
                        tbody {
                            @for kernel in &report.stats.kernels {
                                tr {
                                    th scope="row" { code { (kernel.name) } }
                                    @let sites = &kernel.sites;
                                    @for value in [kernel.launches, sites.total, sites.proved, sites.proved_at_launch, sites.checked, kernel.checks_executed] {
                                        td.number { (grouped(value)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the accesses that never ran.
fn never_ran(report: &Report, sources: &dyn Sources) -> Markup {
    let all = coverage::never_ran(report).count();
    let line = |access: &CoveredAccess| {
        let text = sources.text(access.file.as_deref()?)?;
        Some(text.lines().nth(access.line?.checked_sub(1)? as usize)?.trim().to_owned())
    };
    html! {
        @if let Some(summary) = coverage::line(report) {
            section aria-labelledby="coverage-title" {
                h2 #coverage-title { "Coverage" }
                p { (summary) ". The report says nothing of them." }
                div.scroll role="region" aria-label="Table of accesses that never ran" tabindex="0" {
                    table {
                        caption.unseen { "Accesses that never ran" }
                        thead {
                            tr { @for column in ["Place", "Access", "Source", "Kernel"] { th scope="col" { (column) } } }
                        }
                        tbody {
                            @for (kernel, access) in coverage::never_ran(report).take(coverage::MOST_SHOWN) {
                                tr {
                                    th scope="row" { code { (coverage::place(access)) } }
                                    td { (access.op.as_str()) }
                                    td { @if let Some(line) = line(access) { code { (line) } } }
                                    td {
                                        code { (kernel.kernel) }
                                        @if kernel.launches == 0 { " (never launched)" }
                                    }
                                }
                            }
                        }
                    }
                }
                @if all > coverage::MOST_SHOWN {
                    p { (all - coverage::MOST_SHOWN) " more are in the JSON report only." }
                }
            }
        }
    }
}

/// Returns `1 234 567`, with spaces that do not break.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}
