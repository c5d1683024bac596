//! One finding: its source lines, its facts, its pictures.

use gpurace_abi::meta::Space;
use gpurace_report::names::kernel_name;
use gpurace_report::schema::{CauseKind, Divergence, Fault, Finding, Race, Report, Scope, Waiting};
use gpurace_report::snippet::{self, Excerpt};
use gpurace_report::sources::Sources;
use gpurace_report::words;
use maud::{Markup, html};

use super::{code_spans, editor, picture};

/// The number of source lines before and after the marked one.
const CONTEXT: usize = 3;

/// Returns the kind of memory in a word.
pub(super) fn space(race: &Race) -> &'static str {
    match race.space {
        Space::Shared => "shared",
        Space::Global => "global",
        Space::Generic => "generic",
    }
}

/// Returns the narrowest group that has both sides, in words.
pub(super) fn scope(race: &Race) -> &'static str {
    match race.scope {
        Scope::Warp => "threads of a warp",
        Scope::Block => "warps of a block",
        Scope::Cluster => "blocks of a cluster",
        Scope::Grid => "blocks of a launch",
        Scope::Device => "launches",
        Scope::System => "device and host",
    }
}

/// Returns the place where the first group of a divergence waits.
pub(super) fn first_place(found: &Divergence) -> String {
    let places = found.waiting.iter().filter_map(|waiting| match waiting {
        Waiting::At(at) => Some(format!("{}:{}", at.file.as_deref()?, at.line?)),
        Waiting::Exited(_) => None,
    });
    places.take(1).collect()
}

/// The most races that are listed below the findings, so that the page stays small.
const LISTED: usize = 5000;

/// Returns the article on a finding: its cause, its fix, its first race, and a list of the others.
pub(super) fn finding(report: &Report, finding: &Finding, first: &Race, sources: &dyn Sources) -> Markup {
    let title = format!("{}-title", finding.id);
    let listed = (LISTED / report.findings.len().max(1)).clamp(5, 200);
    html! {
        article id=(finding.id) aria-labelledby=(title)
            data-kind=(finding.cause.words()) data-space=(space(first)) data-scope=(scope(first))
            data-kernel=[finding.kernel.as_deref()]
        {
            h4 id=(title) {
                (finding.id) ": " (code_spans(&finding.title)) " "
                span.count { "(" (words::plural(finding.pairs, "race", "races")) ", seen " (words::times(finding.count)) ")" }
            }
            p { (code_spans(&words::capitalised(&finding.why))) "." }
            @if let Some(diff) = &finding.fix.diff {
                p { "Fix: " (code_spans(finding.fix.advice.as_deref().unwrap_or_default())) }
                pre.diff tabindex="0" role="group" aria-label=(format!("Fix of {}", finding.id)) {
                    code { @for line in diff.lines() { (diff_line(line)) } }
                }
            }
            (race(report, first, sources))
            @if finding.pairs > 1 {
                details {
                    summary { "All " (words::plural(finding.pairs, "race", "races")) }
                    ul.races {
                        @for race in report.races_of(finding).take(listed) { li { (code_spans(&words::one_line(race))) } }
                    }
                    @if finding.races.len() > listed {
                        p { (finding.races.len() - listed) " more are in the JSON report only." }
                    }
                }
            }
        }
    }
}

fn diff_line(line: &str) -> Markup {
    html! {
        @if line.starts_with('+') && !line.starts_with("+++") {
            span.line.added { (line) "\n" }
        } @else {
            span.line { (line) "\n" }
        }
    }
}

/// Returns the parts of a race: both sides, facts, pictures. The side that came first is first.
fn race(report: &Report, race: &Race, sources: &dyn Sources) -> Markup {
    html! {
            div.sides {
                (side(report, race, Side::Earlier, sources))
                (side(report, race, Side::Later, sources))
            }
            dl.facts {
                @if let Some(object) = &race.object {
                    dt { "Location" } dd { (code_spans(&words::location(object))) }
                }
                @match (&race.kernel, &race.launch) {
                    (Some(kernel), Some(launch)) => { dt { "In" } dd { (code_spans(&words::launched(kernel, launch))) } }
                    (Some(kernel), None) => { dt { "In" } dd { code { (kernel) } } }
                    (None, _) => {}
                }
                dt { "Seen" } dd {
                    (words::times(race.count)) ", " (words::between(race.scope))
                    @if race.same_value == Some(true) { "; both writes stored the same value" }
                }
                dt { "Why" } dd { (words::missing_order(race)) }
                (schedule(race.seed))
                @if let Some(hint) = &race.hint {
                    dt { "Hint" } dd { (code_spans(hint)) }
                }
            }
            div.pictures {
                (picture::threads(race))
                (picture::order(race))
                (picture::bytes(race))
            }
    }
}

/// Names the schedule, if it is not the program's own.
fn schedule(seed: Option<u64>) -> Markup {
    html! {
        @if let Some(seed) = seed { dt { "Schedule" } dd { (words::replay(seed)) } }
    }
}

/// A side of a race. It determines the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The access that found the race.
    Later,
    /// The other access.
    Earlier,
}

impl Side {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Later => "later",
            Self::Earlier => "earlier",
        }
    }
}

fn side(report: &Report, race: &Race, which: Side, sources: &dyn Sources) -> Markup {
    let (access, effect) = match which {
        Side::Later => (race.later(), race.kind.later()),
        Side::Earlier => (race.earlier(), race.kind.earlier()),
    };
    let what = words::doing(access, effect, which == Side::Earlier);
    let by = words::by(access, words::launches_differ(race));
    let place = words::place(access);
    let link = access.file.as_deref().zip(access.line);
    let link = link.and_then(|(file, line)| editor(report, file, line, access.column));
    let excerpt = access
        .file
        .as_deref()
        .zip(access.line)
        .and_then(|(file, line)| snippet::excerpt(sources, file, line, access.column, CONTEXT));
    html! {
        figure class=(format!("side {}", which.class())) {
            figcaption {
                strong { (what) } (by)
                @if let Some(place) = &place {
                    br;
                    @if let Some(function) = &access.function { code { (function) } " at " }
                    code { (place) }
                    @if let Some(link) = link { " " a href=(link) { "open" span.unseen { " " (place) " in the editor" } } }
                } @else if words::in_kernel(access.op) {
                    br; "no debug info: build with " code { "-g" }
                }
            }
            @match (excerpt, place) {
                (Some(excerpt), Some(place)) => { (source(&excerpt, which, &place)) }
                (None, Some(_)) => { p.absent { "The source cannot be read." } }
                (_, None) => {}
            }
        }
    }
}

fn source(excerpt: &Excerpt, which: Side, place: &str) -> Markup {
    html! {
        pre tabindex="0" role="group" aria-label=(format!("Source at {place}")) {
            code {
                @for (index, line) in excerpt.lines.iter().enumerate() {
                    @let number = excerpt.first + index as u32;
                    @if index == excerpt.marked {
                        @let (start, end) = (excerpt.mark.start, excerpt.mark.end);
                        span.line.hit {
                            span.no { (number) } (&line[..start])
                            mark class=(which.class()) { (&line[start..end]) }
                            (&line[end..]) "\n"
                        }
                    } @else {
                        span.line { span.no { (number) } (line) "\n" }
                    }
                }
            }
        }
    }
}

/// Returns the article on a divergence.
pub(super) fn divergence(found: &Divergence, number: usize, sources: &dyn Sources) -> Markup {
    let id = format!("divergence-{number}");
    let title = format!("{id}-title");
    html! {
        article id=(id) aria-labelledby=(title) data-kind=(CauseKind::Divergence.words()) data-kernel=(kernel_name(&found.kernel)) {
            h3 id=(title) { (words::divergence_kind(found)) " in block " (words::dim3(found.block)) " of launch " (found.launch) " of " code { (found.kernel) } }
            div.sides {
                @for waiting in &found.waiting {
                    @match waiting {
                        Waiting::At(at) => {
                            @let place = at.file.as_deref().zip(at.line);
                            figure.side.later {
                                figcaption {
                                    strong { (words::divergence_threads(found.kind, at.threads)) }
                                    ", such as " (words::dim3(at.example))
                                    @if let Some((file, line)) = place { br; code { (file) ":" (line) } }
                                    @else { br; "no debug info: build with " code { "-g" } }
                                }
                                @if let Some((file, line)) = place {
                                    @if let Some(excerpt) = snippet::excerpt(sources, file, line, None, CONTEXT) {
                                        (source(&excerpt, Side::Later, &format!("{file}:{line}")))
                                    }
                                }
                            }
                        }
                        Waiting::Exited(gone) => {
                            figure.side.earlier {
                                figcaption {
                                    strong { (words::plural(gone.threads.into(), "thread has", "threads have")) " left the kernel" }
                                    ", such as " (words::dim3(gone.example))
                                }
                            }
                        }
                    }
                }
            }
            dl.facts {
                (schedule(found.seed))
                dt { "Hint" } dd { (words::divergence_hint(found)) }
            }
        }
    }
}

/// Returns the article on a fault.
pub(super) fn fault(fault: &Fault, number: usize, sources: &dyn Sources) -> Markup {
    let id = format!("fault-{number}");
    let title = format!("{id}-title");
    let place = fault.file.as_deref().zip(fault.line);
    html! {
        article id=(id) aria-labelledby=(title) data-kind=(CauseKind::Fault.words()) data-kernel=(kernel_name(&fault.kernel)) {
            h3 id=(title) { (code_spans(&fault.message)) }
            @if let Some((file, line)) = place {
                @if let Some(excerpt) = snippet::excerpt(sources, file, line, fault.column, CONTEXT) {
                    (source(&excerpt, Side::Later, &format!("{file}:{line}")))
                }
            }
            dl.facts {
                dt { "In" } dd { "launch " (fault.launch) " of " code { (fault.kernel) } }
                @if let Some((file, line)) = place { dt { "Where" } dd { code { (file) ":" (line) } } }
                @if let Some(distance) = words::fault_distance(fault) {
                    dt { "Address" } dd { (code_spans(&distance)) }
                }
                (schedule(fault.seed))
            }
        }
    }
}
