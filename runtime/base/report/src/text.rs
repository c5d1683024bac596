//! The report as text, in the style of ThreadSanitizer.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::coverage;
use crate::fold::{WIDTH, fold};
use crate::schema::{Access, Call, Dim3, Divergence, Fault, Race, Report, Sites, Waiting};
use crate::snippet::{self, Mark};
use crate::sources::Sources;
use crate::words::{
    self, between, by, dim3, doing, in_kernel, launched, location, plural, short_name, target,
};

/// The line before each finding and after the last.
const RULE: &str = "==================\n";

/// A function's name in a call has at least so many characters.
const SHORTEST_NAME: usize = 20;

/// Renders a report or parts of one. It does not read the terminal or the environment.
#[derive(Clone, Copy)]
pub struct TextRenderer<'a> {
    /// The process id that the report names. A stored report does not know it.
    pub pid: Option<u32>,
    /// True for ANSI colours.
    pub color: bool,
    /// The source files.
    pub sources: &'a dyn Sources,
}

impl fmt::Debug for TextRenderer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextRenderer")
            .field("pid", &self.pid)
            .field("color", &self.color)
            .finish_non_exhaustive()
    }
}

impl TextRenderer<'_> {
    /// Returns all findings, the notes, the statistics if `stats`, and the summary if there are findings.
    pub fn report(&self, report: &Report, stats: bool) -> String {
        let mut out = String::new();
        for finding in &report.findings {
            out.extend(report.races_of(finding).take(1).map(|race| self.race(race)));
        }
        for divergence in &report.divergence {
            out.push_str(&self.divergence(divergence));
        }
        for fault in &report.faults {
            out.push_str(&self.fault(fault));
        }
        out.push_str(&self.findings(report, u64::MAX));
        out.push_str(&self.notes(&report.notes));
        if stats {
            out.push_str(&self.stats(report));
        }
        out.push_str(&self.summary(report));
        out
    }

    /// Returns a list of the findings: cause, number of races, fix. At most `most` are listed, and each kernel's
    /// first.
    pub fn findings(&self, report: &Report, most: u64) -> String {
        if report.findings.is_empty() {
            return String::new();
        }
        let mut out = RULE.to_owned();
        let style = self.style(Style::new().bold());
        let mut not_listed = 0;
        for (index, finding) in report.findings.iter().enumerate() {
            let is_first_of_kernel =
                report.findings[..index].iter().all(|earlier| earlier.kernel != finding.kernel);
            if index as u64 >= most && !is_first_of_kernel {
                not_listed += 1;
                continue;
            }
            // Writing to a `String` does not fail.
            let title = fold(&format!("{}: {}", finding.id, finding.title));
            let (id, title) = title.split_once(':').unwrap_or_default();
            let _ = writeln!(out, "{style}{id}:{style:#}{title}");
            if finding.races.is_empty() {
                continue;
            }
            let races = plural(finding.pairs, "race", "races");
            let why = format!("    {}: {races}, seen {}", finding.why, words::times(finding.count));
            let _ = writeln!(out, "{}", fold(&why));
            // The first race that was seen has its hint beside it.
            let shown = finding.races.iter().min().and_then(|&race| report.races.get(race)?.hint.as_ref());
            if let Some(advice) = &finding.fix.advice {
                match finding.fix.diff {
                    Some(_) => out.push_str(&fold(&format!("    fix: {advice}"))),
                    None if shown != Some(advice) => out.push_str(&fold(&format!("    hint: {advice}"))),
                    None => continue,
                }
                out.push('\n');
            }
        }
        if not_listed > 0 {
            let more = plural(not_listed, "more finding is", "more findings are");
            let _ = writeln!(out, "{more} in the JSON report only");
        }
        out
    }

    /// Returns one line for each finding, the notes and the summary.
    pub fn short(&self, report: &Report) -> String {
        let mut out = String::new();
        for finding in &report.findings {
            match report.races_of(finding).next() {
                Some(race) => {
                    out.push_str(&words::one_line(race));
                    if finding.pairs > 1 {
                        let _ = write!(out, ", and {}", plural(finding.pairs - 1, "more race", "more races"));
                    }
                }
                None => out.push_str(&finding.title),
            }
            out.push('\n');
        }
        out.push_str(&self.notes(&report.notes));
        out.push_str(&self.summary(report));
        out
    }

    /// Returns the text of a race.
    pub fn race(&self, race: &Race) -> String {
        let mut text = Block::new(self, "data race");
        let (later, earlier) = (race.later(), race.earlier());
        let launches = words::launches_differ(race);

        text.line(format_args!(
            "  {} {}{}{}",
            doing(later, race.kind.later(), false),
            target(race),
            by(later, launches),
            colon(later),
        ));
        text.frame(later);
        text.line(format_args!(
            "  {}{}{}",
            doing(earlier, race.kind.earlier(), true),
            by(earlier, launches),
            colon(earlier),
        ));
        text.frame(earlier);

        let marks: Vec<_> = [
            mark(later, format!("this {}", race.kind.later().as_str()), true),
            mark(earlier, format!("previous {}", race.kind.earlier().as_str()), false),
        ]
        .into_iter()
        .flatten()
        .collect();
        text.out.push_str(&snippet::render(&marks, self.sources, self.color));

        if let Some(object) = &race.object {
            text.line(format_args!("  Location is {}", location(object)));
        }
        if let (Some(kernel), Some(launch)) = (&race.kernel, &race.launch) {
            text.line(format_args!("  In {}", launched(&short_name(kernel), launch)));
            text.calls(0, &launch.stack);
        } else if let Some(kernel) = &race.kernel {
            text.line(format_args!("  In `{}`", short_name(kernel)));
        }
        if race.same_value == Some(true) {
            text.line(format_args!("  Both writes stored the same value"));
        }
        // The lines above already name a copy or the host.
        if race.accesses.iter().all(|access| in_kernel(access.op)) {
            text.line(format_args!("  The race is {}", between(race.scope)));
        }
        text.schedule(race.seed);
        text.hint(race.hint.as_deref());
        text.out
    }

    /// Returns the text of a divergence.
    pub fn divergence(&self, divergence: &Divergence) -> String {
        let mut text = Block::new(self, words::divergence_kind(divergence));
        text.line(format_args!(
            "  In block {} of launch {} of `{}`:",
            dim3(divergence.block),
            divergence.launch,
            short_name(&divergence.kernel)
        ));
        let mut marks = Vec::new();
        for waiting in &divergence.waiting {
            match waiting {
                Waiting::At(at) => {
                    let threads = words::divergence_threads(divergence.kind, at.threads);
                    let place = match (&at.file, at.line) {
                        (Some(file), Some(line)) => format!("at {file}:{line}"),
                        // This is a barrier without debug info, or a loop.
                        _ => "at an unknown line [-g may show it]".to_owned(),
                    };
                    text.line(format_args!("    {threads} {place}{}", among(at.threads, at.example)));
                    if let (Some(file), Some(line)) = (&at.file, at.line) {
                        let label = format!("{threads} here");
                        let primary = marks.is_empty();
                        marks.push(Mark { file, line, column: None, label, primary });
                    }
                }
                Waiting::Exited(gone) => {
                    let threads = plural(gone.threads.into(), "thread has", "threads have");
                    text.line(format_args!(
                        "    {threads} left the kernel{}",
                        among(gone.threads, gone.example)
                    ));
                }
            }
        }
        text.out.push_str(&snippet::render(&marks, self.sources, self.color));
        text.schedule(divergence.seed);
        // An unknown place may be a loop instead of a barrier.
        text.hint((!marks.is_empty()).then_some(words::divergence_hint(divergence)));
        text.out
    }

    /// Returns the text of a fault.
    pub fn fault(&self, fault: &Fault) -> String {
        let mut text = Block::new(self, "fault");
        // One line, however long: scripts look for it.
        text.out.push_str(&format!("  {}\n", fault.message));
        text.line(format_args!("  In launch {}", fault.launch));
        if let (Some(file), Some(line)) = (&fault.file, fault.line) {
            match fault.column {
                Some(column) => text.line(format_args!("    #0 {file}:{line}:{column}")),
                None => text.line(format_args!("    #0 {file}:{line}")),
            }
            let mark = Mark { file, line, column: fault.column, label: "here".to_owned(), primary: true };
            text.out.push_str(&snippet::render(&[mark], self.sources, self.color));
        }
        if let Some(distance) = words::fault_distance(fault) {
            text.line(format_args!("  The address is {distance}"));
        }
        text.schedule(fault.seed);
        text.hint(words::fault_hint(fault));
        // One loop ran all threads of the block. A seed runs each by itself.
        text.hint(fault.line.is_none().then_some("GPURACE_OPTIONS=seed=1 may show the line and the thread"));
        text.out
    }

    /// Returns the notes, one on each line.
    pub fn notes(&self, notes: &[String]) -> String {
        let style = self.style(Style::new().bold());
        let note = |note| {
            let folded = fold(&format!("note: {note}"));
            let text = folded.strip_prefix("note:").unwrap_or(&folded);
            format!("{style}note:{style:#}{text}\n")
        };
        notes.iter().map(note).collect()
    }

    /// Returns the last line with the numbers of races and divergences. Empty if there are none.
    pub fn summary(&self, report: &Report) -> String {
        if !report.has_findings() {
            return String::new();
        }
        let coverage = coverage::line(report).map(|line| format!("coverage: {line}\n")).unwrap_or_default();
        format!("{coverage}SUMMARY: gpurace: {}\n", words::counts(report))
    }

    /// Returns the text that `stats=1` prints.
    pub fn stats(&self, report: &Report) -> String {
        let stats = &report.stats;
        let mut out = String::from("gpurace: statistics\n");
        // Writing to a `String` does not fail.
        let _ = writeln!(
            out,
            "  {}\n  {}\n  {}",
            words::launches(stats),
            sites(&stats.sites),
            plural(stats.checks_executed, "check executed", "checks executed"),
        );
        let trials = stats.trials;
        if trials.trials > 0 {
            let _ = writeln!(
                out,
                "  {} of {}: {}, {} unfinished, {} found by them alone",
                plural(trials.trials, "trial", "trials"),
                plural(trials.launches, "launch", "launches"),
                plural(trials.steps, "step", "steps"),
                trials.unfinished,
                plural(trials.races, "race", "races"),
            );
        }
        for kernel in &stats.kernels {
            let line = format!(
                "  `{}`: {}, {}, {}",
                short_name(&kernel.name),
                plural(kernel.launches, "launch", "launches"),
                sites(&kernel.sites),
                plural(kernel.checks_executed, "check executed", "checks executed"),
            );
            let _ = writeln!(out, "{}", fold(&line));
        }
        if let Some(line) = coverage::line(report).filter(|_| !report.has_findings()) {
            let _ = writeln!(out, "  coverage: {line}");
        }
        out
    }

    fn style(&self, style: Style) -> Style {
        if self.color { style } else { Style::new() }
    }
}

/// The text of one finding.
struct Block<'a> {
    renderer: &'a TextRenderer<'a>,
    out: String,
}

impl<'a> Block<'a> {
    fn new(renderer: &'a TextRenderer<'a>, what: &str) -> Self {
        let style = renderer.style(AnsiColor::Magenta.on_default().bold());
        let pid = renderer.pid.map(|pid| format!(" (pid={pid})"));
        let pid = pid.unwrap_or_default();
        let out = format!("{RULE}{style}WARNING: gpurace: {what}{pid}{style:#}\n");
        Self { renderer, out }
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        self.out.push_str(&fold(&line.to_string()));
        self.out.push('\n');
    }

    /// Adds the place of an access, if it has one.
    fn frame(&mut self, access: &Access) {
        let place = match words::place(access) {
            Some(place) => place,
            None if has_place(access) => "[no debug info: build with -g]".to_owned(),
            None => return,
        };
        self.call(0, access.function.as_deref(), &place);
        self.calls(1, access.frames.get(1..).unwrap_or_default());
    }

    /// Adds calls, the innermost first, numbered from `first`.
    fn calls(&mut self, first: usize, calls: &[Call]) {
        for (number, call) in (first..).zip(calls) {
            let function = call.function.as_deref().unwrap_or("<unknown>");
            let column = call.column.map(|column| format!(":{column}")).unwrap_or_default();
            self.call(number, Some(function), &format!("{}:{}{column}", call.file, call.line));
        }
    }

    /// Adds a call, in one line, which other tools read. The path is whole, so the name has what is left.
    fn call(&mut self, number: usize, function: Option<&str>, place: &str) {
        let mut line = format!("    #{number}");
        if let Some(function) = function {
            let left = WIDTH.saturating_sub(line.len() + 2 + place.chars().count());
            line.extend([" ", &words::short_name_of(function, left.clamp(SHORTEST_NAME, words::NAME_WIDTH))]);
        }
        self.out.extend([&line, " ", place, "\n"]);
    }

    /// Names the schedule, if it is not the program's own.
    fn schedule(&mut self, seed: Option<u64>) {
        if let Some(seed) = seed {
            self.line(format_args!("  {}", words::replay(seed)));
        }
    }

    fn hint(&mut self, hint: Option<&str>) {
        if let Some(hint) = hint {
            let style = self.renderer.style(AnsiColor::Cyan.on_default().bold());
            let folded = fold(&format!("  hint: {hint}"));
            let text = folded.strip_prefix("  hint:").unwrap_or(&folded);
            self.out.push_str(&format!("  {style}hint:{style:#}{text}\n"));
        }
    }
}

/// True if the report shows a place for an access. An instruction has a place even if it is unknown. A copy
/// or the host may have none.
fn has_place(access: &Access) -> bool {
    (in_kernel(access.op) && !access.ends_block) || words::place(access).is_some()
}

/// Returns a colon if a place follows.
fn colon(access: &Access) -> &'static str {
    if has_place(access) { ":" } else { "" }
}

fn mark(access: &Access, label: String, primary: bool) -> Option<Mark<'_>> {
    Some(Mark { file: access.file.as_deref()?, line: access.line?, column: access.column, label, primary })
}

/// Names one thread of a group.
fn among(threads: u32, example: Dim3) -> String {
    let example = dim3(example);
    if threads == 1 { format!(": thread {example}") } else { format!(", thread {example} among them") }
}

fn sites(sites: &Sites) -> String {
    format!(
        "{} ({} proved, {} proved at launch, {} checked)",
        plural(sites.total, "site", "sites"),
        sites.proved,
        sites.proved_at_launch,
        sites.checked
    )
}
