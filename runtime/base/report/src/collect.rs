//! Decides which findings are one entry, and how many entries are kept.

use std::collections::HashMap;

use crate::schema::{Access, Device, Divergence, Op, Race, RaceKind, Report, Stats, Waiting, not_shown_note};

/// Collects the findings of a run.
///
/// One entry stands for a kernel and an unordered pair of source positions. Its first finding is shown, the
/// others are counted. Sides without a position differ by function, operation, size and object.
#[derive(Debug)]
pub struct Collector {
    max_races: u64,
    ignore_same_value: bool,
    races: Vec<Race>,
    entries: HashMap<RaceKey, Entry>,
    not_shown: u64,
    divergence: Vec<Divergence>,
    /// The index of each entry in `divergence`, and the number of times that it was seen again.
    divergences: HashMap<DivergenceKey, (usize, u64)>,
    notes: Vec<String>,
}

/// What happened to a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It has a new entry, which will be shown.
    First,
    /// It was counted in an existing entry.
    Again,
    /// It has a new entry over the limit, which is counted and not shown.
    OverLimit,
    /// The options leave it out.
    Ignored,
}

#[derive(Debug)]
enum Entry {
    Shown(usize),
    NotShown,
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
    /// Returns a collector that shows at most `max_races` distinct races and counts the rest. With
    /// `ignore_same_value`, it ignores races whose two writes stored equal values.
    pub fn new(max_races: u64, ignore_same_value: bool) -> Self {
        Self {
            max_races,
            ignore_same_value,
            races: Vec::new(),
            entries: HashMap::new(),
            not_shown: 0,
            divergence: Vec::new(),
            divergences: HashMap::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a race that was seen `race.count` times.
    pub fn add_race(&mut self, race: Race) -> Added {
        if self.ignore_same_value && race.same_value == Some(true) {
            return Added::Ignored;
        }
        let key = race_key(&race);
        match self.entries.get(&key) {
            Some(&Entry::Shown(at)) => {
                let shown = &mut self.races[at];
                shown.count = shown.count.saturating_add(race.count);
                if shown.kind == RaceKind::WriteWrite && race.kind == RaceKind::WriteWrite {
                    shown.same_value = both_same(shown.same_value, race.same_value);
                }
                Added::Again
            }
            Some(Entry::NotShown) => Added::Again,
            None if (self.races.len() as u64) < self.max_races => {
                self.entries.insert(key, Entry::Shown(self.races.len()));
                self.races.push(race);
                Added::First
            }
            None => {
                self.entries.insert(key, Entry::NotShown);
                self.not_shown += 1;
                Added::OverLimit
            }
        }
    }

    /// Adds a divergence. One entry stands for a kernel and the places where its threads wait.
    pub fn add_divergence(&mut self, divergence: Divergence) -> Added {
        let key = divergence_key(&divergence);
        if let Some((_, again)) = self.divergences.get_mut(&key) {
            *again += 1;
            return Added::Again;
        }
        self.divergences.insert(key, (self.divergence.len(), 0));
        self.divergence.push(divergence);
        Added::First
    }

    /// Adds a note on something that was lost or not checked. Equal notes are kept once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the number of entries, shown or not.
    pub fn findings(&self) -> u64 {
        self.races.len() as u64 + self.not_shown + self.divergence.len() as u64
    }

    /// Returns the shown races so far, in order.
    pub fn races(&self) -> &[Race] {
        &self.races
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
                "the barrier divergence of `{}` in block {} was seen {times} more in other blocks or launches",
                self.divergence[at].kernel,
                crate::words::dim3(self.divergence[at].block),
            ));
        }
        if self.not_shown > 0 {
            notes.push(not_shown_note(self.not_shown));
        }
        Report {
            races: self.races.clone(),
            divergence: self.divergence.clone(),
            notes,
            stats,
            races_not_shown: self.not_shown,
            ..Report::new(device)
        }
    }
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
