//! The batches of a campaign, and what is written down of them.

use std::path::Path;

use crate::batch::{Case, Checked, WAYS, Way, check};
use crate::{generate, interpret, mutate};

/// Kernels in one source.
pub const BATCH: usize = 12;
/// Mutants that are made of each kernel.
const MUTANTS: usize = 2;

/// What a batch showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Kernels without a race, mutants among them.
    pub clean: u64,
    /// Mutants.
    pub mutants: u64,
    /// Mutants with a race.
    pub racy: u64,
    /// Pairs of lines that race.
    pub pairs: u64,
    /// Kernels whose pairs differ between the pruned and the unpruned build.
    pub differences: u64,
    /// Problems.
    pub problems: u64,
}

impl Counts {
    /// Adds a batch.
    pub fn add(&mut self, other: &Self) {
        self.clean += other.clean;
        self.mutants += other.mutants;
        self.racy += other.racy;
        self.pairs += other.pairs;
        self.differences += other.differences;
        self.problems += other.problems;
    }

    /// All kernels.
    pub fn kernels(&self) -> u64 {
        self.clean + self.racy
    }

    fn fields(&self) -> [(&'static str, u64); 6] {
        [
            ("clean", self.clean),
            ("mutants", self.mutants),
            ("racy", self.racy),
            ("pairs", self.pairs),
            ("differences", self.differences),
            ("problems", self.problems),
        ]
    }

    /// One line.
    pub fn line(&self) -> String {
        self.fields().map(|(name, n)| format!("{name}={n}")).join(" ")
    }

    /// Reads such a line.
    pub fn parse(line: &str) -> Option<Self> {
        let get = |name: &str| {
            line.split(' ').find_map(|w| w.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok())
        };
        Some(Self {
            clean: get("clean")?,
            mutants: get("mutants")?,
            racy: get("racy")?,
            pairs: get("pairs")?,
            differences: get("differences")?,
            problems: get("problems")?,
        })
    }
}

/// The kernels of a batch.
pub fn cases(seed: u64, batch: u64) -> Vec<Case> {
    let mut all = Vec::new();
    let mut next = (seed << 32).wrapping_add(batch << 12);
    while all.len() < BATCH {
        next += 1;
        let kernel = generate::kernel(next);
        match interpret::run(&kernel) {
            Ok(outcome) => {
                let mutants =
                    (0..MUTANTS).filter_map(|m| mutate::mutant(&kernel, next + (1 << 48) * m as u64));
                let mutants: Vec<_> = mutants.collect();
                all.push(Case { kernel, outcome });
                all.extend(mutants.into_iter().map(|(kernel, outcome)| Case { kernel, outcome }));
            }
            Err(interpret::Refused::TooLong) => {}
            Err(why) => {
                panic!("the kernel of seed {next} is refused: {why:?}\n{}", crate::cuda::source(&[&kernel]).0)
            }
        }
    }
    all
}

/// The level of optimisation and the schedule's seed of a batch.
pub fn level(batch: u64) -> (&'static str, u64) {
    (["-O2", "-O0", "-O3", "-O1"][(batch % 4) as usize], 1 + batch % 1000)
}

/// Runs one batch. Returns what it showed, and the details.
pub fn run(seed: u64, batch: u64, ways: &[Way], folder: &Path) -> (Counts, Vec<Case>, Checked) {
    let cases = cases(seed, batch);
    let (level, schedule) = level(batch);
    let checked = check(&cases, level, schedule, ways, folder);
    let mut counts = Counts::default();
    for (k, case) in cases.iter().enumerate() {
        let races = &case.outcome.races;
        counts.mutants += u64::from(k % (MUTANTS + 1) != 0);
        *(if races.pairs.is_empty() { &mut counts.clean } else { &mut counts.racy }) += 1;
        counts.pairs += races.pairs.len() as u64;
    }
    counts.differences = checked.differences.len() as u64;
    counts.problems = checked.problems.len() as u64;
    (counts, cases, checked)
}

/// The ways to build and run that a problem's way names.
pub fn ways_of(way: &str) -> Vec<Way> {
    // What two builds differ in takes both.
    let of = |w: &&Way| {
        way == "unpruned" && w.build != "bare" && !w.seeded
            || way.starts_with(w.build) && w.seeded == way.contains("seed=")
    };
    WAYS.iter().filter(of).cloned().collect()
}
