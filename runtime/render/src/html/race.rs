//! One finding: its source lines, its facts, its pictures.

use gpurace_abi::meta::Space;
use gpurace_report::schema::{Access, Divergence, Effect, Race, Scope, Waiting};
use gpurace_report::snippet::{self, Excerpt};
use gpurace_report::sources::Sources;
use gpurace_report::words;
use maud::{Markup, html};

use super::{code_spans, picture};

/// The number of source lines before and after the marked one.
const CONTEXT: usize = 3;
/// The filter's name for a divergence.
pub(super) const DIVERGENCE: &str = "divergence";

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

/// Returns the article on a race.
pub(super) fn race(race: &Race, number: usize, sources: &dyn Sources) -> Markup {
    let id = format!("race-{number}");
    let title = format!("{id}-title");
    html! {
        article id=(id) aria-labelledby=(title)
            data-kind=(race.kind) data-space=(space(race)) data-scope=(scope(race))
            data-kernel=[race.kernel.as_deref()]
        {
            h3 id=(title) { (code_spans(&words::title(race))) " " span.count { "(" (words::times(race.count)) ")" } }
            div.sides {
                (side(race, race.later(), race.kind.later(), Side::Later, sources))
                (side(race, race.earlier(), race.kind.earlier(), Side::Earlier, sources))
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

fn side(race: &Race, access: &Access, effect: Effect, which: Side, sources: &dyn Sources) -> Markup {
    let what = words::doing(access, effect, which == Side::Earlier);
    let by = words::by(access, words::launches_differ(race));
    let place = words::place(access);
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
        article id=(id) aria-labelledby=(title) data-kind=(DIVERGENCE) data-kernel=(found.kernel) {
            h3 id=(title) { "barrier divergence in block " (words::dim3(found.block)) " of launch " (found.launch) " of " code { (found.kernel) } }
            div.sides {
                @for waiting in &found.waiting {
                    @match waiting {
                        Waiting::At(at) => {
                            @let place = at.file.as_deref().zip(at.line);
                            figure.side.later {
                                figcaption {
                                    strong { (words::plural(at.threads.into(), "thread waits", "threads wait")) }
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
                dt { "Hint" } dd { (words::DIVERGENCE_HINT) }
            }
        }
    }
}
