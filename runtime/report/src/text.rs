//! The report as people read it, with the habits of ThreadSanitizer.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::schema::{
    Access, Dim3, Divergence, Effect, Launch, Object, ObjectKind, Op, Race, Report, Scope, Sites,
    Stats, Waiting,
};
use crate::snippet::{self, Mark};
use crate::sources::Sources;
use gpurace_abi::meta::Space;

/// Stands before each block and after the last.
const RULE: &str = "==================\n";

/// Renders a report or parts of one. Nothing here looks at the terminal or at
/// the environment: whoever prints decides.
#[derive(Clone, Copy)]
pub struct TextRenderer<'a> {
    /// Process id that the report names.
    pub pid: u32,
    /// Whether to use ANSI colours.
    pub color: bool,
    /// Where source lines come from.
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
    /// Every finding, the notes and, where there are findings, the summary as
    /// the last line; before the summary the statistics if `stats`. Empty
    /// where there is nothing to say.
    pub fn report(&self, report: &Report, stats: bool) -> String {
        let mut out = String::new();
        for race in &report.races {
            out.push_str(&self.race(race));
        }
        for divergence in &report.divergence {
            out.push_str(&self.divergence(divergence));
        }
        if !out.is_empty() {
            out.push_str(RULE);
        }
        out.push_str(&self.notes(&report.notes));
        if stats {
            out.push_str(&self.stats(&report.stats));
        }
        out.push_str(&self.summary(report));
        out
    }

    /// One race.
    pub fn race(&self, race: &Race) -> String {
        let mut text = Block::new(self, "data race");
        let (later, earlier) = (race.later(), race.earlier());
        // Which launch a side belongs to says something only where they differ.
        let launches = later.launch != earlier.launch || race.scope >= Scope::Device;

        text.line(format_args!(
            "  {} {}{}",
            doing(later, race.kind.later(), false),
            target(race),
            by(later, launches),
        ));
        text.frame(later);
        text.line(format_args!(
            "  {}{}",
            doing(earlier, race.kind.earlier(), true),
            by(earlier, launches),
        ));
        text.frame(earlier);

        let marks: Vec<_> = [
            mark(later, format!("this {}", race.kind.later().as_str()), true),
            mark(
                earlier,
                format!("previous {}", race.kind.earlier().as_str()),
                false,
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        text.out
            .push_str(&snippet::render(&marks, self.sources, self.color));

        if let Some(object) = &race.object {
            text.line(format_args!("  Location is {}", location(object)));
        }
        if let (Some(kernel), Some(launch)) = (&race.kernel, &race.launch) {
            text.line(format_args!("  In {}", launched(kernel, launch)));
        } else if let Some(kernel) = &race.kernel {
            text.line(format_args!("  In `{kernel}`"));
        }
        if race.same_value == Some(true) {
            text.line(format_args!("  Both writes stored the same value"));
        }
        let times = if race.count == 1 {
            "once".to_owned()
        } else {
            format!("{} times", race.count)
        };
        // Of a copy or the host the sides have said so.
        if race.accesses.iter().all(|access| in_kernel(access.op)) {
            text.line(format_args!("  Seen {times}, {}", between(race.scope)));
        } else {
            text.line(format_args!("  Seen {times}"));
        }
        text.hint(race.hint.as_deref());
        text.out
    }

    /// One divergence.
    pub fn divergence(&self, divergence: &Divergence) -> String {
        let mut text = Block::new(self, "barrier divergence");
        text.line(format_args!(
            "  In block {} of launch {} of `{}`:",
            dim3(divergence.block),
            divergence.launch,
            divergence.kernel
        ));
        let mut marks = Vec::new();
        for waiting in &divergence.waiting {
            match waiting {
                Waiting::At(at) => {
                    let threads = plural(at.threads.into(), "thread waits", "threads wait");
                    let place = match (&at.file, at.line) {
                        (Some(file), Some(line)) => format!("at {file}:{line}"),
                        _ => "at a barrier [no debug info: build with -g]".to_owned(),
                    };
                    text.line(format_args!(
                        "    {threads} {place}{}",
                        among(at.threads, at.example)
                    ));
                    if let (Some(file), Some(line)) = (&at.file, at.line) {
                        let label = format!("{threads} here");
                        let primary = marks.is_empty();
                        marks.push(Mark {
                            file,
                            line,
                            column: None,
                            label,
                            primary,
                        });
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
        text.out
            .push_str(&snippet::render(&marks, self.sources, self.color));
        text.hint(Some(
            "put the barrier where every thread that it waits for reaches it",
        ));
        text.out
    }

    /// The notes, a line each.
    pub fn notes(&self, notes: &[String]) -> String {
        let style = self.style(Style::new().bold());
        notes
            .iter()
            .map(|note| format!("{style}note:{style:#} {note}\n"))
            .collect()
    }

    /// The last line: how many races and divergences there are, those not
    /// shown included. Empty where there are none.
    pub fn summary(&self, report: &Report) -> String {
        if !report.has_findings() {
            return String::new();
        }
        let races = report.races.len() as u64 + report.races_not_shown;
        let mut line = format!(
            "SUMMARY: gpurace: {}",
            plural(races, "data race", "data races")
        );
        if !report.divergence.is_empty() {
            line.push_str(", ");
            line.push_str(&plural(
                report.divergence.len() as u64,
                "barrier divergence",
                "barrier divergences",
            ));
        }
        line.push('\n');
        line
    }

    /// What `stats=1` prints.
    pub fn stats(&self, stats: &Stats) -> String {
        let mut out = String::from("gpurace: statistics\n");
        // Writing to a `String` does not fail.
        let _ = writeln!(
            out,
            "  {}, {} of them unchecked\n  {}\n  {}",
            plural(stats.launches, "launch", "launches"),
            stats.launches_unchecked,
            sites(&stats.sites),
            plural(stats.checks_executed, "check executed", "checks executed"),
        );
        for kernel in &stats.kernels {
            let _ = writeln!(
                out,
                "  `{}`: {}, {}, {}",
                kernel.name,
                plural(kernel.launches, "launch", "launches"),
                sites(&kernel.sites),
                plural(kernel.checks_executed, "check executed", "checks executed"),
            );
        }
        out
    }

    fn style(&self, style: Style) -> Style {
        if self.color { style } else { Style::new() }
    }
}

/// The text of one finding while it grows.
struct Block<'a> {
    renderer: &'a TextRenderer<'a>,
    out: String,
}

impl<'a> Block<'a> {
    fn new(renderer: &'a TextRenderer<'a>, what: &str) -> Self {
        let style = renderer.style(AnsiColor::Magenta.on_default().bold());
        let out = format!(
            "{RULE}{style}WARNING: gpurace: {what} (pid={}){style:#}\n",
            renderer.pid
        );
        Self { renderer, out }
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a `String` does not fail.
        let _ = self.out.write_fmt(line);
        self.out.push('\n');
    }

    /// Where an access is. Of a copy or the host there is often nothing to say.
    fn frame(&mut self, access: &Access) {
        let place = match (&access.file, access.line, access.column) {
            (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}"),
            (Some(file), Some(line), None) => format!("{file}:{line}"),
            _ if in_kernel(access.op) => "[no debug info: build with -g]".to_owned(),
            _ => return,
        };
        match &access.function {
            Some(function) => self.line(format_args!("    #0 {function} {place}")),
            None => self.line(format_args!("    #0 {place}")),
        }
    }

    fn hint(&mut self, hint: Option<&str>) {
        if let Some(hint) = hint {
            let style = self.renderer.style(AnsiColor::Cyan.on_default().bold());
            self.line(format_args!("  {style}hint:{style:#} {hint}"));
        }
    }
}

fn in_kernel(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write | Op::Atomic)
}

/// `Write of size 4`, `Previous atomic access of size 4`.
fn doing(access: &Access, effect: Effect, previous: bool) -> String {
    let what = match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Atomic => "atomic access",
    };
    let mut text = if previous {
        format!("Previous {what}")
    } else {
        let (first, rest) = what.split_at(1);
        first.to_uppercase() + rest
    };
    if let Some(size) = access.size {
        let _ = write!(text, " of size {size}");
    }
    text
}

/// What the later access touched: ``at shared `tile`+64``, `in shared memory`.
fn target(race: &Race) -> String {
    let space = match race.space {
        Space::Shared => "shared ",
        Space::Global => "global ",
        Space::Generic => "",
    };
    let object = race.object.as_ref();
    let what = match object {
        Some(Object {
            name: Some(name), ..
        }) => format!("`{name}`"),
        Some(Object {
            kind: ObjectKind::Allocation,
            offset: Some(_),
            ..
        }) => "allocation".to_owned(),
        Some(Object {
            kind: ObjectKind::Heap,
            offset: Some(_),
            ..
        }) => "heap block".to_owned(),
        _ => return format!("in {space}memory"),
    };
    match object.and_then(|object| object.offset) {
        Some(offset) => format!("at {space}{what}+{offset}"),
        None => format!("at {space}{what}"),
    }
}

/// `` by thread (31,0,0) of block (0,0,0)``, with a colon where a frame follows.
fn by(access: &Access, launches: bool) -> String {
    let mut text = match access.op {
        Op::Copy => " by a copy or fill".to_owned(),
        Op::Host => " by the host".to_owned(),
        Op::Read | Op::Write | Op::Atomic => {
            let thread = match access.thread {
                Some(thread) => format!(" by thread {}", dim3(thread)),
                None => " by an unknown thread".to_owned(),
            };
            match access.block {
                Some(block) => format!("{thread} of block {}", dim3(block)),
                None => thread,
            }
        }
    };
    if launches && in_kernel(access.op) {
        if let Some(launch) = access.launch {
            let _ = write!(text, " of launch {launch}");
        }
    }
    if launches && access.op != Op::Host {
        if let Some(stream) = access.stream {
            let _ = write!(text, " on stream {stream}");
        }
    }
    if in_kernel(access.op) || (access.file.is_some() && access.line.is_some()) {
        text.push(':');
    }
    text
}

fn mark(access: &Access, label: String, primary: bool) -> Option<Mark<'_>> {
    Some(Mark {
        file: access.file.as_deref()?,
        line: access.line?,
        column: access.column,
        label,
        primary,
    })
}

/// ``shared variable `tile` of size 1024``.
fn location(object: &Object) -> String {
    let mut text = match (object.kind, &object.name) {
        (ObjectKind::Shared, Some(name)) => format!("shared variable `{name}`"),
        (ObjectKind::Shared, None) => "shared memory of the block".to_owned(),
        (ObjectKind::Variable, Some(name)) => format!("device variable `{name}`"),
        (ObjectKind::Variable, None) => "a device variable".to_owned(),
        (ObjectKind::Allocation, Some(name)) => format!("allocation `{name}`"),
        (ObjectKind::Allocation, None) => "an allocation".to_owned(),
        (ObjectKind::Heap, _) => "a heap block that device code allocated".to_owned(),
    };
    if let Some(size) = object.size {
        let _ = write!(text, " of size {size}");
    }
    if let Some(offset) = object.offset {
        let _ = write!(text, ", byte {offset}");
    }
    text
}

fn launched(kernel: &str, launch: &Launch) -> String {
    let mut text = format!(
        "launch {} of `{kernel}`, grid {}, block {}",
        launch.index,
        dim3(launch.grid),
        dim3(launch.block)
    );
    match (&launch.file, launch.line) {
        (Some(file), Some(line)) => {
            let _ = write!(text, ", at {file}:{line}");
        }
        (Some(file), None) => {
            let _ = write!(text, ", in {file}");
        }
        (None, _) => {}
    }
    text
}

const fn between(scope: Scope) -> &'static str {
    match scope {
        Scope::Warp => "between threads of one warp",
        Scope::Block => "between warps of one block",
        Scope::Cluster => "between blocks of one cluster",
        Scope::Grid => "between blocks of one launch",
        Scope::Device => "between launches",
        Scope::System => "between the device and the host",
    }
}

/// Which thread stands for its group.
fn among(threads: u32, example: Dim3) -> String {
    let example = dim3(example);
    if threads == 1 {
        format!(": thread {example}")
    } else {
        format!(", thread {example} among them")
    }
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

fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `(x,y,z)`.
pub(crate) fn dim3([x, y, z]: Dim3) -> String {
    format!("({x},{y},{z})")
}
