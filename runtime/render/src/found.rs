//! What a report found, as an annotation says it: one entry for each finding, with the place of its narrowest
//! race, a message of some sentences, and how bad it is. All formats for code review and the language server use
//! these entries, so none can leave out what another one shows.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use gpurace_report::schema::{Access, CauseKind, Divergence, Fault, Finding, Launch, Race, Report, Waiting};
use gpurace_report::words;

/// A finding, and what shows it first.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// The narrowest race of a finding.
    Race(&'a Finding, &'a Race),
    /// A divergence. A report that was not read from JSON may lack its finding.
    Divergence(Option<&'a Finding>, &'a Divergence),
    /// A fault. Its finding may be missing too.
    Fault(Option<&'a Finding>, &'a Fault),
}

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file, as the report names it.
    pub file: &'a str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: Option<u32>,
}

/// A further place of a finding, and what happened there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related<'a> {
    /// The place.
    pub place: Place<'a>,
    /// What happened there.
    pub text: String,
}

/// A change of a source file that mends a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The file, as the report names it.
    pub file: &'a str,
    /// The change, as a unified diff.
    pub diff: &'a str,
    /// The change in words.
    pub advice: Option<&'a str>,
}

/// Returns all that a report found: races, then divergences, then faults.
pub fn all(report: &Report) -> Vec<Found<'_>> {
    // A report lists divergences in the order of their findings. It does the same with faults.
    let of = |cause| {
        report.findings.iter().filter(move |finding| finding.cause == cause && finding.races.is_empty())
    };
    let races = report.findings.iter().filter_map(|finding| {
        let race = report.races_of(finding).next()?;
        Some(Found::Race(finding, race))
    });
    let mut divergences = of(CauseKind::Divergence);
    let divergences = report.divergence.iter().map(move |found| Found::Divergence(divergences.next(), found));
    let mut faults = of(CauseKind::Fault);
    let faults = report.faults.iter().map(move |fault| Found::Fault(faults.next(), fault));
    races.chain(divergences).chain(faults).collect()
}

impl<'a> Found<'a> {
    /// What is wrong.
    pub fn cause(self) -> CauseKind {
        match self {
            Self::Race(finding, _) => finding.cause,
            Self::Divergence(..) => CauseKind::Divergence,
            Self::Fault(..) => CauseKind::Fault,
        }
    }

    /// The finding in some words.
    pub fn title(self) -> String {
        match self {
            Self::Race(finding, _) => finding.title.clone(),
            Self::Divergence(_, found) => {
                format!("{} in `{}`", words::divergence_kind(found), words::short_name(&found.kernel))
            }
            Self::Fault(_, fault) => format!("fault in `{}`", words::short_name(&fault.kernel)),
        }
    }

    /// The finding in some sentences.
    pub fn message(self) -> String {
        match self {
            Self::Race(finding, race) => self::race(finding, race, false),
            Self::Divergence(_, found) => divergence(found),
            Self::Fault(_, fault) => self::fault(fault),
        }
    }

    /// The place where a reader looks first. A race whose later access has no known line is shown at its
    /// earlier one, or else at the launch. `None` if no line is known.
    pub fn place(self) -> Option<Place<'a>> {
        match self {
            Self::Race(_, race) => {
                of_access(race.later()).or_else(|| of_access(race.earlier())).or_else(|| {
                    let launch = race.launch.as_ref()?;
                    at(launch.file.as_deref(), launch.line, None)
                })
            }
            Self::Divergence(_, found) => found.waiting.iter().find_map(|waiting| match waiting {
                Waiting::At(waiting) => at(waiting.file.as_deref(), waiting.line, None),
                Waiting::Exited(_) => None,
            }),
            Self::Fault(_, fault) => at(fault.file.as_deref(), fault.line, fault.column),
        }
    }

    /// The other places: the earlier access and the launch of a race, the other threads of a divergence.
    pub fn related(self) -> Vec<Related<'a>> {
        match self {
            Self::Race(_, race) => {
                // Both sides may be one place. But if the later one has none, the earlier one is the main place.
                let earlier = of_access(race.earlier()).filter(|_| of_access(race.later()).is_some());
                let earlier = earlier.map(|place| Related { place, text: side(race, true) });
                let launch = race.launch.as_ref().and_then(|launch| {
                    let place = at(launch.file.as_deref(), launch.line, None)?;
                    Some(Related { place, text: self::launch(race, launch) })
                });
                let launch = launch.filter(|launch| Some(launch.place) != self.place());
                earlier.into_iter().chain(launch).collect()
            }
            Self::Divergence(_, found) => {
                let waiting = found.waiting.iter().filter_map(|waiting| {
                    let Waiting::At(waiting) = waiting else { return None };
                    let place = at(waiting.file.as_deref(), waiting.line, None)?;
                    Some(Related {
                        place,
                        text: format!("{} here", words::divergence_threads(found.kind, waiting.threads)),
                    })
                });
                // The first one is the main place.
                waiting.skip(1).collect()
            }
            Self::Fault(..) => Vec::new(),
        }
    }

    /// The change of the source that mends the finding, if the report has one.
    pub fn change(self) -> Option<Change<'a>> {
        let Self::Race(finding, race) = self else { return None };
        let diff = finding.fix.diff.as_deref()?;
        let named = diff.lines().find_map(|line| line.strip_prefix("--- a/"))?;
        // The diff names an absolute file without its first slash.
        let files = race.accesses.iter().filter_map(|access| access.file.as_deref());
        let file = files.into_iter().find(|file| file.trim_start_matches('/') == named).unwrap_or(named);
        Some(Change { file, diff, advice: finding.fix.advice.as_deref() })
    }

    /// True if the finding changes no result in this run: all its writes stored the same value.
    pub fn is_mild(self) -> bool {
        matches!(self, Self::Race(_, race) if race.same_value == Some(true))
    }

    /// The fingerprint of the finding, which stays when lines move. Several divergences or faults may have the same
    /// one.
    pub fn fingerprint(self) -> String {
        match self {
            Self::Race(finding, _) => finding.fingerprint.clone(),
            Self::Divergence(_, found) => words::divergence_fingerprint(found),
            Self::Fault(_, fault) => words::fault_fingerprint(fault),
        }
    }
}

fn at(file: Option<&str>, line: Option<u32>, column: Option<u32>) -> Option<Place<'_>> {
    Some(Place { file: file?, line: line?, column })
}

fn of_access(access: &Access) -> Option<Place<'_>> {
    at(access.file.as_deref(), access.line, access.column)
}

/// Returns the name of a file for a reader of the checkout: relative to its root if the file is below it,
/// without `.`, and without `..` after a folder. Other names stay as the report has them.
pub fn relative<'a>(file: &'a str, root: Option<&Path>) -> Cow<'a, str> {
    let path = Path::new(file);
    let mut plain = PathBuf::new();
    for part in path.components() {
        match (part, plain.components().next_back()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                plain.pop();
            }
            (part, _) => plain.push(part),
        }
    }
    let below = root.and_then(|root| plain.strip_prefix(root).ok()).unwrap_or(&plain);
    // The root itself is no file.
    if below.as_os_str().is_empty() {
        Cow::Borrowed(file)
    } else {
        below.to_string_lossy().into_owned().into()
    }
}

/// Returns the message for a race. With `linked`, a link leads to the first related location (SARIF).
pub(crate) fn race(finding: &Finding, race: &Race, linked: bool) -> String {
    let (later, earlier) = (race.later(), race.earlier());
    let launches = words::launches_differ(race);
    let previous = words::doing(earlier, race.kind.earlier(), true);
    let previous = if linked { format!("[{previous}](1)") } else { previous };
    let mut text = format!(
        "Data race: {} {}{}. {previous}{}.",
        words::doing(later, race.kind.later(), false).to_lowercase(),
        words::target(race),
        words::by(later, launches),
        words::by(earlier, launches),
    );
    if let Some(kernel) = &race.kernel {
        text += &format!(" In `{kernel}`.");
    }
    if race.same_value == Some(true) {
        text += " Both writes stored the same value.";
    }
    text += &replay(race.seed);
    if finding.pairs > 1 {
        text += &format!(
            " The same mistake makes {}.",
            words::plural(finding.pairs - 1, "more race", "more races")
        );
    }
    if let Some(advice) = &finding.fix.advice {
        text += &format!(" Hint: {advice}.");
    }
    text
}

/// Returns what a side of a race did, and who did it.
pub(crate) fn side(race: &Race, previous: bool) -> String {
    let (access, effect) =
        if previous { (race.earlier(), race.kind.earlier()) } else { (race.later(), race.kind.later()) };
    words::doing(access, effect, previous) + &words::by(access, words::launches_differ(race))
}

/// Returns the launch of a race in words.
pub(crate) fn launch(race: &Race, launch: &Launch) -> String {
    let kernel = race.kernel.as_deref().unwrap_or("a kernel");
    let (grid, block) = (words::dim3(launch.grid), words::dim3(launch.block));
    format!("Launch {} of `{kernel}`, grid {grid}, block {block}", launch.index)
}

/// Returns the message for a fault.
pub(crate) fn fault(fault: &Fault) -> String {
    let distance = words::fault_distance(fault).map(|distance| format!(" The address is {distance}."));
    let hint = words::fault_hint(fault).map(|hint| format!(" Hint: {hint}."));
    let [distance, hint] = [distance, hint].map(Option::unwrap_or_default);
    format!("Fault: {}.{distance}{hint}{}", fault.message, replay(fault.seed))
}

/// Returns the message for a divergence.
pub(crate) fn divergence(found: &Divergence) -> String {
    let parts = found.waiting.iter().map(|waiting| match waiting {
        Waiting::At(at) => {
            let place = match (&at.file, at.line) {
                (Some(file), Some(line)) => format!("at {file}:{line}"),
                _ => "at a barrier".to_owned(),
            };
            format!("{} {place}", words::divergence_threads(found.kind, at.threads))
        }
        Waiting::Exited(gone) => {
            format!("{} left the kernel", words::plural(gone.threads.into(), "thread has", "threads have"))
        }
    });
    format!(
        "{} in block {} of launch {} of `{}`: {}.{}",
        words::capitalised(words::divergence_kind(found)),
        words::dim3(found.block),
        found.launch,
        found.kernel,
        parts.collect::<Vec<_>>().join("; "),
        replay(found.seed)
    )
}

/// Returns a sentence on the schedule, if it is not the program's own.
fn replay(seed: Option<u64>) -> String {
    seed.map(|seed| format!(" {}.", words::replay(seed))).unwrap_or_default()
}
