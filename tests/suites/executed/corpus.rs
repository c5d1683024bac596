//! The programs of `race/` and `clean/`, built by `gclang` for a GPU and run with the runtime library
//! over a mock of the driver, which lets the executor run the checked kernels. The verdicts are
//! compared with the programs' declarations.
//!
//! If a declared race is not found, the run must count it as undecided, or `tests/gpu/known` must
//! list the program with a reason. A race that is found and not declared must be in that list too,
//! and so must a program that cannot run here. An entry that is no longer right fails.
//!
//! `GPURACE_GPU_PROGRAMS=all` takes all programs, and `GPURACE_GPU_PROGRAMS=NAME` those with this
//! text in their name. By default one of [`SAMPLED`] programs is taken.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpurace_tests::annotation::{ExpectedRace, Program};
use gpurace_tests::case::collect;
use gpurace_tests::compare::{Mismatch, compare};
use gpurace_tests::report::{Race, Report};
use gpurace_tests::toolchain::{programs, run, tool, work_folder, workspace};

use crate::lowering::lower;
use crate::run_on_executor;

/// One of this number of programs is in the sample.
const SAMPLED: u64 = 24;
/// The seeds of the executor's schedules.
const SEEDS: [u32; 3] = [0, 1, 2];

/// The word for a program that is not run, in `tests/gpu/known`.
const NOT_RUN: &str = "not-run";
/// Texts in the notes of a run that left something undecided or unchecked.
const COUNTED: [&str; 6] = [
    "undecided on the GPU",
    "dropped from shadow words",
    "not checked",
    "not recorded",
    "not looked at on the GPU",
    "were not looked for",
];

/// The verdict on a program, the better ones first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// The report is as the program declares.
    Right,
    /// The report is as the program declares, but does not know the place of a race's earlier side.
    Unplaced,
    /// No code for a GPU can be made of the program; why.
    Refused(String),
    /// A race is not reported, but the run has counted something undecided or unchecked; what.
    Undecided(String),
    /// A race is not reported.
    Miss(String),
    /// A race that is not declared is reported.
    Alarm(String),
    Failure(String),
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Unplaced => "unplaced",
            Self::Refused(_) => "refused",
            Self::Undecided(_) => "undecided",
            Self::Miss(_) => "miss",
            Self::Alarm(_) => "alarm",
            Self::Failure(_) => "failure",
        }
    }

    fn is_wrong(&self) -> bool {
        matches!(self, Self::Miss(_) | Self::Alarm(_) | Self::Failure(_))
    }
}

/// A program at one revision.
struct Subject {
    program: Program,
    revision: Option<String>,
}

impl Subject {
    /// Returns the name, such as `race/barrier/scan_in_place::racy`.
    fn name(&self) -> String {
        self.revision.as_ref().map_or_else(
            || self.program.name.clone(),
            |revision| format!("{}::{revision}", self.program.name),
        )
    }

    fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// True if the program can be judged here. Endless waits would hold a GPU, known faults of the
    /// executor would show here too, options belong to the executor, separately compiled code leaves
    /// no bitcode to lower, and modules in files are made for the executor.
    fn is_taken(&self) -> bool {
        let revision = self.revision();
        let has = |key: &str| self.program.all(revision, key).next().is_some();
        self.program.divergences(revision).is_empty()
            && self.program.known(revision).is_none()
            && !["exit", "options", "compile-error", "requires", "module"].into_iter().any(has)
            && !self.program.words(revision, "compile-flags").contains(&"-fgpu-rdc")
    }

    fn verdict(&self) -> Result<Verdict, String> {
        let folder = work_folder(&format!("corpus/{}", self.name()))?;
        let flags = self.program.words(self.revision(), "compile-flags");
        let mut command = Command::new(tool("gclang++")?);
        // For older architectures the toolkit's headers lack functions that some programs use.
        if !flags.iter().any(|flag| flag.contains("gpu-arch")) {
            command.arg("--cuda-gpu-arch=sm_80");
        }
        command.args([
            "-fsanitize=gpurace",
            "-fgpurace-exec=auto",
            "-fgpurace-prune=off",
            "-O2",
            "-w",
            "-save-temps",
        ]);
        command
            .args(self.revision().map(|revision| format!("-D{}", revision.to_uppercase())))
            .arg("-I")
            .arg(programs().join("support"));
        command.args(flags).arg(&self.program.path).args(["-o", "program"]).current_dir(&folder);
        let compilation = run(&mut command, &folder)?;
        if compilation.status != Some(0) {
            return Err(compilation.stderr);
        }
        let stem = self.program.path.file_stem().unwrap_or_default().to_string_lossy();
        if let Ok(why) = std::fs::read_to_string(folder.join(format!("{stem}.gpurace.device.gpu.note"))) {
            return Ok(Verdict::Refused(why));
        }
        let (container, _) = lower(&folder, &format!("{stem}.gpurace.device.gpu.bc"))?;
        let seeds = SEEDS
            .into_iter()
            .map(|seed| self.run_seed(&folder, &container, seed).unwrap_or_else(Verdict::Failure));
        let verdict = seeds.max().unwrap_or(Verdict::Right);
        if !verdict.is_wrong() {
            // The folder of a wrong verdict stays, for whoever looks for the cause.
            let _ = std::fs::remove_dir_all(&folder);
        }
        Ok(verdict)
    }

    fn run_seed(&self, folder: &Path, container: &Path, seed: u32) -> Result<Verdict, String> {
        let arguments = self.program.words(self.revision(), "run-args");
        let (outcome, mut report) =
            run_on_executor(folder, &folder.join("program"), container, &arguments, seed)?;
        let said = || format!("seed {seed}: {}{}", outcome.stdout, outcome.stderr);
        // A GPU does not know whether two writes store the same value. The schedule decides which
        // pair of threads of a launch is reported first, and therefore the scope.
        let declared = self.program.races(self.revision()).into_iter().map(|race| ExpectedRace {
            same_value: None,
            scope: race.scope.clone().filter(|scope| scope == "device"),
            ..race.clone()
        });
        let declared: Vec<ExpectedRace> = declared.collect();
        let declared: Vec<&ExpectedRace> = declared.iter().collect();
        let placed = place(&mut report, &declared, &self.program.path);
        let mismatches = compare(&declared, &[], &report, &self.program.path);
        let counted = COUNTED.into_iter().filter(|what| report.notes.iter().any(|note| note.contains(what)));
        let counted = counted.collect::<Vec<_>>().join(", ");
        let verdicts = mismatches.into_iter().map(|mismatch| match mismatch {
            Mismatch::Unexpected(_) => Verdict::Alarm(format!("{mismatch}; {}", said())),
            Mismatch::Missing(_) if !counted.is_empty() => Verdict::Undecided(counted.clone()),
            Mismatch::Missing(_) => Verdict::Miss(format!("{mismatch}; {}", said())),
        });
        Ok(verdicts.max().unwrap_or(if placed { Verdict::Unplaced } else { Verdict::Right }))
    }
}

/// Gives each side whose place the report does not know the place of a declared race that fits. True
/// if there was such a side.
fn place(report: &mut Report, declared: &[&ExpectedRace], source: &Path) -> bool {
    let mut placed = false;
    let races = std::mem::take(&mut report.races);
    let matches = |race: &Race| {
        let alone = Report { races: vec![race.clone()], divergence: Vec::new(), ..report.clone() };
        !compare(declared, &[], &alone, source)
            .iter()
            .any(|mismatch| matches!(mismatch, Mismatch::Unexpected(_)))
    };
    let lines: Vec<u32> = declared.iter().flat_map(|race| race.lines).flatten().collect();
    let races = races.into_iter().map(|race| {
        let earlier = &race.accesses[1];
        if earlier.line.is_some() || ["copy", "host"].contains(&&earlier.op[..]) {
            return race;
        }
        placed = true;
        let mut at = lines.iter().map(|&line| {
            let mut race = race.clone();
            (race.accesses[1].line, race.accesses[1].file) = (Some(line), Some(source.display().to_string()));
            race
        });
        at.find(|race| matches(race)).unwrap_or(race)
    });
    let races = races.collect();
    report.races = races;
    placed
}

/// Returns the entries of `tests/gpu/known`. Each line has a name, a verdict and a reason.
fn known() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(workspace().join("tests/gpu/known")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let known = lines.map(|line| {
        let parts: Vec<&str> = line.splitn(3, ' ').collect();
        let [name, verdict, why] = parts[..] else {
            panic!("`{line}`: wanted a name, `miss`, `alarm` or `not-run`, and why")
        };
        assert!(["miss", "alarm", NOT_RUN].contains(&verdict) && !why.trim().is_empty(), "{line}");
        (name.to_owned(), verdict.to_owned())
    });
    known.collect()
}

#[test]
fn programs_have_the_verdicts_that_they_declare() {
    let mut subjects: Vec<Subject> = Vec::new();
    for case in ["race", "clean"].into_iter().flat_map(|folder| collect(folder).unwrap()) {
        // Device code is the same at each optimisation level; one case of each revision is taken.
        let subject = Subject { program: case.program, revision: case.revision };
        if subject.is_taken() && subjects.last().is_none_or(|last| last.name() != subject.name()) {
            subjects.push(subject);
        }
    }
    let known = known();
    let stale: Vec<&String> =
        known.keys().filter(|name| !subjects.iter().any(|subject| subject.name() == **name)).collect();
    assert!(stale.is_empty(), "no such programs, of `tests/gpu/known`: {stale:?}");
    subjects.retain(|subject| known.get(&subject.name()).is_none_or(|word| word != NOT_RUN));
    match std::env::var("GPURACE_GPU_PROGRAMS").as_deref() {
        Ok("all") => {}
        Ok(part) => subjects.retain(|subject| subject.name().contains(part)),
        Err(_) => subjects.retain(|subject| subject.program.number().is_multiple_of(SAMPLED)),
    }
    let (next, verdicts) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(subject) = subjects.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = subject.verdict().unwrap_or_else(Verdict::Failure);
                    verdicts.lock().unwrap().insert(subject.name(), verdict);
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().unwrap();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, verdict) in &verdicts {
        let word = verdict.word();
        *counts.entry(word).or_default() += 1;
        match known.get(name) {
            Some(wanted) if wanted == word => {}
            Some(wanted) => {
                wrong.push(format!("{name}: {verdict:?}, but `tests/gpu/known` has it for a known {wanted}"))
            }
            None if verdict.is_wrong() => wrong.push(format!("{name}: {verdict:?}")),
            None => {}
        }
    }
    println!("{} programs: {counts:?}", verdicts.len());
    for (name, verdict) in
        verdicts.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Undecided(_) | Verdict::Refused(_)))
    {
        println!("{name}: {verdict:?}");
    }
    assert!(!verdicts.is_empty(), "no program was taken");
    assert!(wrong.is_empty(), "{} of {} programs:\n{}", wrong.len(), verdicts.len(), wrong.join("\n"));
}
