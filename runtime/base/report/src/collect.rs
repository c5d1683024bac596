//! Decides which races are one entry, which entries are one finding, and how many are kept.

use std::collections::{BTreeMap, HashMap};

use crate::cause::{self, Cause};
use crate::hint::SideFacts;
use crate::names::kernel_name;
use crate::schema::{
    Access, CauseKind, Device, Divergence, Fault, Finding, Fix, Op, Race, RaceKind, Report, Scope, Stats,
    Waiting,
};
use crate::words;

/// The most races that are kept: below 1 GB.
const MOST_RACES: usize = 1 << 19;

/// Collects the findings of a run.
///
/// One entry stands for a kernel and an unordered pair of source positions. Its first race is shown, the
/// others are counted. Sides without a position differ by function, operation, size and object. Entries with
/// one cause are one finding.
#[derive(Debug)]
pub struct Collector {
    max_reports: u64,
    ignore_same_value: bool,
    races: Vec<Race>,
    /// The index of each entry in `races`.
    entries: HashMap<RaceKey, usize>,
    findings: Vec<Finding>,
    /// The index of each fingerprint in `findings`.
    causes: HashMap<String, usize>,
    /// The number of races over the bound, by kernel.
    not_kept: BTreeMap<String, u64>,
    divergence: Vec<Divergence>,
    /// The index of each entry in `divergence`, and the number of times that it was seen again.
    divergences: HashMap<DivergenceKey, (usize, u64)>,
    faults: Vec<Fault>,
    notes: Vec<String>,
}

/// What happened to a race or divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is the first of a new finding, which is printed.
    First,
    /// It is the first of a new finding, which `max_reports` keeps from being printed.
    NotPrinted,
    /// It has a new entry in a known finding.
    Joined,
    /// It was counted in an existing entry.
    Again,
    /// The options leave it out.
    Ignored,
}

/// The parts of a side that distinguish entries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    Known { file: String, line: u32, column: Option<u32> },
    Unknown { function: Option<String>, op: u8, size: Option<u64>, object: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RaceKey {
    kernel: Option<String>,
    places: [Place; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DivergenceKey {
    kernel: String,
    /// Sorted; `None` for threads that have left.
    places: Vec<Option<(Option<String>, Option<u32>)>>,
}

impl Collector {
    /// Returns a collector that has at most `max_reports` findings printed, and each kernel's first. With
    /// `ignore_same_value`, it ignores races whose two writes stored equal values.
    pub fn new(max_reports: u64, ignore_same_value: bool) -> Self {
        Self {
            max_reports,
            ignore_same_value,
            races: Vec::new(),
            entries: HashMap::new(),
            findings: Vec::new(),
            causes: HashMap::new(),
            not_kept: BTreeMap::new(),
            divergence: Vec::new(),
            divergences: HashMap::new(),
            faults: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a race that was seen `race.count` times.
    pub fn add_race(&mut self, race: Race, cause: &Cause) -> Added {
        if self.ignore_same_value && race.same_value == Some(true) {
            return Added::Ignored;
        }
        let key = race_key(&race);
        if let Some(&at) = self.entries.get(&key) {
            let shown = &mut self.races[at];
            shown.count = shown.count.saturating_add(race.count);
            if shown.kind == RaceKind::WriteWrite && race.kind == RaceKind::WriteWrite {
                shown.same_value = both_same(shown.same_value, race.same_value);
            }
            return Added::Again;
        }
        if self.races.len() == MOST_RACES {
            let kernel = race.kernel.unwrap_or_else(|| "no kernel".to_owned());
            *self.not_kept.entry(kernel).or_default() += 1;
            return Added::Again;
        }
        let known = self.causes.get(&cause.fingerprint).copied();
        let added = match known.or_else(|| self.finding_of_untraced(&race, cause)) {
            Some(finding) => {
                self.findings[finding].races.push(self.races.len());
                Added::Joined
            }
            None => {
                let mut finding = finding(cause.kind, race.kernel.as_deref(), String::new());
                finding.title = words::finding_title(&cause.words, finding.kernel.as_deref(), &race);
                finding.object = Some(words::object_name(&race));
                finding.why.clone_from(&cause.why);
                finding.fix.advice.clone_from(&cause.hint);
                finding.fingerprint.clone_from(&cause.fingerprint);
                finding.races = vec![self.races.len()];
                self.add_finding(finding)
            }
        };
        self.entries.insert(key, self.races.len());
        self.races.push(race);
        added
    }

    /// The finding of a race whose interval is not known, since the run has too many races: the first one of its
    /// kernel and object.
    fn finding_of_untraced(&self, race: &Race, cause: &Cause) -> Option<usize> {
        if cause.is_traced || cause.kind != CauseKind::MissingBarrier || race.scope > Scope::Block {
            return None;
        }
        let kernel = race.kernel.as_deref().map(kernel_name);
        let object = words::object_name(race);
        self.findings.iter().position(|known| {
            let lacks_order = matches!(
                known.cause,
                CauseKind::MissingBarrier
                    | CauseKind::LoopBackEdge
                    | CauseKind::Mask
                    | CauseKind::MissingFence
            );
            lacks_order && known.kernel.as_deref() == kernel && known.object.as_ref() == Some(&object)
        })
    }

    fn add_finding(&mut self, mut finding: Finding) -> Added {
        let is_first_of_kernel = self.findings.iter().all(|known| known.kernel != finding.kernel);
        let is_printed = is_first_of_kernel || (self.findings.len() as u64) < self.max_reports;
        finding.id = format!("F{}", self.findings.len() + 1);
        self.causes.insert(finding.fingerprint.clone(), self.findings.len());
        self.findings.push(finding);
        if is_printed { Added::First } else { Added::NotPrinted }
    }

    /// Adds a divergence. One entry stands for a kernel and the places where its threads wait.
    pub fn add_divergence(&mut self, divergence: Divergence) -> Added {
        let key = divergence_key(&divergence);
        if let Some((_, again)) = self.divergences.get_mut(&key) {
            *again += 1;
            return Added::Again;
        }
        let line = words::divergence_line(&divergence);
        let mut finding = finding(CauseKind::Divergence, Some(&divergence.kernel), line);
        finding.fingerprint = words::divergence_fingerprint(&divergence);
        finding.why = words::divergence_why(&divergence).to_owned();
        finding.fix.advice = Some(words::divergence_hint(&divergence).to_owned());
        self.divergences.insert(key, (self.divergence.len(), 0));
        self.divergence.push(divergence);
        self.add_finding(finding)
    }

    /// Adds a fault.
    pub fn add_fault(&mut self, fault: Fault) -> Added {
        // Several trials may end by one fault, each in another thread.
        let place = |fault: &Fault| (fault.kernel.clone(), fault.kind, fault.file.clone(), fault.line);
        let is_again = |known: &Fault| match fault.seed {
            Some(_) => place(known) == place(&fault),
            None => *known == fault,
        };
        if self.faults.iter().any(is_again) {
            return Added::Again;
        }
        let mut finding = finding(CauseKind::Fault, Some(&fault.kernel), words::fault_line(&fault));
        finding.fingerprint = words::fault_fingerprint(&fault);
        finding.why.clone_from(&fault.message);
        finding.fix.advice = words::fault_hint(&fault).map(str::to_owned);
        finding.object = fault.object.as_ref().map(words::location);
        self.faults.push(fault);
        self.add_finding(finding)
    }

    /// Adds a note on something that was lost or not checked. Equal notes are kept once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the findings so far.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the number of distinct races, divergences and faults so far.
    pub fn entries(&self) -> usize {
        self.races.len() + self.divergence.len() + self.faults.len()
    }

    /// Returns the report so far. The collector can continue, since a program may ask for a report before its
    /// end.
    pub fn report(&self, device: Device, stats: Stats) -> Report {
        let mut notes = self.notes.clone();
        let mut repeated: Vec<_> = self.divergences.values().filter(|(_, again)| *again > 0).collect();
        repeated.sort();
        for &&(at, again) in &repeated {
            let times = if again == 1 { "once".to_owned() } else { format!("{again} times") };
            notes.push(format!(
                "the {} of `{}` in block {} was seen {times} more in other blocks or launches",
                words::divergence_kind(&self.divergence[at]),
                self.divergence[at].kernel,
                words::dim3(self.divergence[at].block),
            ));
        }
        for (kernel, count) in &self.not_kept {
            notes.push(format!("{count} more races of `{kernel}` were not kept: too many"));
        }
        let mut findings = self.findings.clone();
        for finding in &mut findings {
            // The narrowest race is the easiest to understand.
            finding.races.sort_by_key(|&at| self.races[at].scope);
            finding.pairs = finding.races.len() as u64;
            finding.count =
                finding.races.iter().fold(0, |sum: u64, &at| sum.saturating_add(self.races[at].count));
        }
        Report {
            findings,
            races: self.races.clone(),
            divergence: self.divergence.clone(),
            faults: self.faults.clone(),
            notes,
            stats,
            ..Report::new(device)
        }
    }
}

/// Returns a finding without races.
pub(crate) fn finding(cause: CauseKind, kernel: Option<&str>, title: String) -> Finding {
    Finding {
        id: String::new(),
        cause,
        kernel: kernel.map(|kernel| kernel_name(kernel).to_owned()),
        object: None,
        title,
        why: String::new(),
        fix: Fix::default(),
        races: Vec::new(),
        pairs: 0,
        count: 0,
        fingerprint: String::new(),
    }
}

/// Returns each race of a report with its cause.
pub(crate) fn with_causes(report: &mut Report) -> Vec<(Race, Cause)> {
    let mut causes: Vec<Option<Cause>> = vec![None; report.races.len()];
    for finding in &report.findings {
        for &at in &finding.races {
            if let Some(cause) = causes.get_mut(at) {
                *cause = Some(Cause {
                    kind: finding.cause,
                    words: finding.title.split(':').next().unwrap_or_default().to_owned(),
                    hint: finding.fix.advice.clone(),
                    why: finding.why.clone(),
                    fingerprint: finding.fingerprint.clone(),
                    is_traced: true,
                });
            }
        }
    }
    let races = std::mem::take(&mut report.races);
    let with_cause = |(race, cause): (Race, Option<Cause>)| {
        let cause = cause.unwrap_or_else(|| cause::of(&race, [SideFacts::default(); 2], None));
        (race, cause)
    };
    races.into_iter().zip(causes).map(with_cause).collect()
}

/// Returns a report with only the races for which `keeps` is true, grouped again. Counts and fixes stay.
pub(crate) fn regrouped(mut report: Report, keeps: &[bool]) -> Report {
    let mut collector = Collector::new(u64::MAX, false);
    let fixes: HashMap<String, Fix> =
        report.findings.iter().map(|old| (old.fingerprint.clone(), old.fix.clone())).collect();
    for ((race, cause), _) in with_causes(&mut report).into_iter().zip(keeps).filter(|(_, keeps)| **keeps) {
        collector.add_race(race, &cause);
    }
    for divergence in report.divergence {
        collector.add_divergence(divergence);
    }
    for fault in report.faults {
        collector.add_fault(fault);
    }
    let mut new = collector.report(report.device, report.stats);
    for finding in &mut new.findings {
        if let Some(fix) = fixes.get(&finding.fingerprint) {
            finding.fix = fix.clone();
        }
    }
    let (run, sources, notes, coverage) = (report.run, report.sources, report.notes, report.coverage);
    Report { run, sources, notes, coverage, ..new }
}

/// True if all write pairs of an entry stored equal values, false if one pair did not. `None` if that is
/// unknown.
fn both_same(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        (None, _) | (_, None) => None,
    }
}

pub(crate) fn divergence_key(divergence: &Divergence) -> DivergenceKey {
    let mut places: Vec<_> = divergence
        .waiting
        .iter()
        .map(|waiting| match waiting {
            Waiting::At(at) => Some((at.file.clone(), at.line)),
            Waiting::Exited(_) => None,
        })
        .collect();
    places.sort();
    places.dedup();
    DivergenceKey { kernel: divergence.kernel.clone(), places }
}

pub(crate) fn race_key(race: &Race) -> RaceKey {
    let object = race.object.as_ref().and_then(|object| object.name.as_deref());
    let mut places = [place(race.later(), object), place(race.earlier(), object)];
    places.sort();
    RaceKey { kernel: race.kernel.clone(), places }
}

fn place(access: &Access, object: Option<&str>) -> Place {
    match (&access.file, access.line) {
        (Some(file), Some(line)) => Place::Known { file: file.clone(), line, column: access.column },
        _ => Place::Unknown {
            function: access.function.clone(),
            op: match access.op {
                Op::Read => 0,
                Op::Write => 1,
                Op::Atomic => 2,
                Op::Copy => 3,
                Op::Host => 4,
            },
            size: access.size,
            object: object.map(str::to_owned),
        },
    }
}
