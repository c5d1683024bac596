//! The source files, with the findings in the margin.

use std::collections::BTreeMap;

use gpurace_report::schema::{Report, SourceLines};
use maud::{Markup, html};

use super::{SHOWN, editor, of_races};
use crate::html::race::Side;

/// The most lines of all files together, so that the page stays small.
const MOST_LINES: usize = 4000;
/// The most findings that the margin of a line names.
const MOST_IN_MARGIN: usize = 4;

/// The findings on a line, each once, with the side of its first race that is there.
type Margins<'a> = BTreeMap<(&'a str, u32), Vec<(&'a str, Side)>>;

/// Returns the lines that the report keeps. Beside a line are links to the findings whose races it has.
pub(super) fn files(report: &Report) -> Markup {
    let margins = margins(report);
    let mut left = MOST_LINES;
    let mut files: Vec<(&str, Vec<&SourceLines>)> = Vec::new();
    for part in &report.sources {
        let end = part.first + part.lines.len() as u32;
        let is_marked = margins.range((&*part.file, part.first)..(&*part.file, end)).next().is_some();
        if !is_marked || part.lines.len() > left {
            continue;
        }
        left -= part.lines.len();
        match files.last_mut() {
            Some((file, parts)) if *file == part.file => parts.push(part),
            _ => files.push((&part.file, vec![part])),
        }
    }
    html! {
        @if !files.is_empty() {
            section.files aria-labelledby="files-title" {
                h2 #files-title { "Source files" }
                @for (index, (file, parts)) in files.into_iter().enumerate() {
                    @let id = format!("file-{}", index + 1);
                    details open[index == 0] {
                        summary id=(id) { code { (file) } }
                        @for part in parts { (lines(report, part, &margins)) }
                    }
                }
            }
        }
    }
}

fn lines(report: &Report, part: &SourceLines, margins: &Margins<'_>) -> Markup {
    html! {
        pre tabindex="0" role="group" aria-label=(format!("{} from line {}", part.file, part.first)) {
            code {
                @for (at, line) in part.lines.iter().enumerate() {
                    @let number = part.first + at as u32;
                    @let margin = margins.get(&(&*part.file, number)).map(Vec::as_slice).unwrap_or_default();
                    span class=(if margin.is_empty() { "line" } else { "line hit" }) {
                        span.margin {
                            @for (id, side) in margin.iter().take(MOST_IN_MARGIN) {
                                a class=(side.class()) href=(format!("#{id}")) { (id) } " "
                            }
                            @if margin.len() > MOST_IN_MARGIN { "+" (margin.len() - MOST_IN_MARGIN) " " }
                        }
                        span.no {
                            @match editor(report, &part.file, number, None).filter(|_| !margin.is_empty()) {
                                Some(link) => a href=(link) { (number) },
                                None => { (number) },
                            }
                        }
                        (line) "\n"
                    }
                }
            }
        }
    }
}

fn margins(report: &Report) -> Margins<'_> {
    let mut margins = Margins::new();
    for (finding, _) in of_races(report).take(SHOWN) {
        for race in report.races_of(finding) {
            for (access, side) in [(race.later(), Side::Later), (race.earlier(), Side::Earlier)] {
                let Some(place) = access.file.as_deref().zip(access.line) else { continue };
                let margin = margins.entry(place).or_default();
                if margin.last().is_none_or(|(last, _)| *last != finding.id) {
                    margin.push((&finding.id, side));
                }
            }
        }
    }
    margins
}
