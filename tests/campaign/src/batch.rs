//! Builds and runs many kernels as one program, and compares what they do with what they must do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpurace_tests::toolchain::{compile, run_checked};

use crate::cuda::source;
use crate::interpret::Outcome;
use crate::order::Pair;
use crate::program::Kernel;

/// A kernel and what it must do.
#[derive(Clone, Debug)]
pub struct Case {
    /// The kernel.
    pub kernel: Kernel,
    /// Its results and races.
    pub outcome: Outcome,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It does not build.
    Build,
    /// It crashes, does not end, or ends with a wrong status.
    End,
    /// Results differ from the reference.
    Result,
    /// A reported pair is no race.
    Alarm,
    /// Bytes with a race of which nothing is reported.
    Miss,
    /// A race of two writes is reported only with proofs, or only without.
    Unequal,
    /// The report says that something was lost or not checked.
    Note,
}

/// Something that is wrong with one kernel of a batch.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The kernel's number.
    pub kernel: usize,
    /// What is wrong.
    pub fault: Fault,
    /// The build and the options of the run.
    pub way: String,
    /// Details.
    pub text: String,
}

/// How a batch is built and run.
#[derive(Clone, Debug)]
pub struct Way {
    /// Its name.
    pub build: &'static str,
    /// Arguments of the compiler.
    pub arguments: &'static [&'static str],
    /// With a schedule's seed, so that threads are fibers.
    pub seeded: bool,
}

/// All ways.
pub const WAYS: [Way; 5] = [
    Way { build: "bare", arguments: &[], seeded: false },
    Way { build: "pruned", arguments: &["-fsanitize=gpurace"], seeded: false },
    Way { build: "pruned", arguments: &["-fsanitize=gpurace"], seeded: true },
    Way { build: "unpruned", arguments: &["-fsanitize=gpurace", "-fgpurace-prune=off"], seeded: false },
    Way { build: "unpruned", arguments: &["-fsanitize=gpurace", "-fgpurace-prune=off"], seeded: true },
];

/// What one run of a batch showed.
#[derive(Default)]
struct Shown {
    /// For each kernel that ran, the bytes of its arrays.
    results: BTreeMap<usize, BTreeMap<usize, Vec<u8>>>,
    /// For each kernel, the pairs of sites reported; a line that is no site has the number `usize::MAX`.
    pairs: BTreeMap<usize, BTreeSet<Pair>>,
    /// Further text of the report.
    notes: Vec<String>,
    /// Why the run failed.
    failed: Option<String>,
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).filter_map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()).collect()
}

fn run_once(
    program: &Path,
    numbers: &[usize],
    options: &str,
    checked: bool,
    places: &[Vec<u32>],
    folder: &Path,
) -> Shown {
    let mut shown = Shown::default();
    let arguments: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match run_checked(program, &arguments, options, folder) {
        Ok(ran) => ran,
        Err(why) => {
            shown.failed = Some(why.chars().take(2000).collect());
            return shown;
        }
    };
    for line in ran.outcome.stdout.lines() {
        let mut words = line.split(' ');
        let mut next = || words.next().unwrap_or_default();
        if next() == "R" {
            let (kernel, array) = (next().parse().unwrap_or(0), next().parse().unwrap_or(0));
            shown.results.entry(kernel).or_default().insert(array, bytes(next()));
        }
    }
    let mut any = false;
    if checked {
        match &ran.report {
            Ok(report) => {
                any = !report.races.is_empty();
                for race in &report.races {
                    let name = race.kernel.clone().unwrap_or_default();
                    let digits: String = name
                        .chars()
                        .skip_while(|c| !c.is_ascii_digit())
                        .take_while(char::is_ascii_digit)
                        .collect();
                    let Ok(k) = digits.parse::<usize>() else {
                        shown.notes.push(format!("a race of `{name}`"));
                        continue;
                    };
                    let site = |line: Option<u32>| {
                        let at = line.and_then(|line| places[k].iter().position(|&l| l == line));
                        at.unwrap_or(usize::MAX)
                    };
                    let (a, b) = (site(race.accesses[0].line), site(race.accesses[1].line));
                    shown.pairs.entry(k).or_default().insert((a.min(b), a.max(b)));
                }
                shown.notes.extend(report.notes.clone());
                shown.notes.extend(report.divergence.iter().map(|d| format!("divergence: {d:?}")));
                shown.notes.extend(report.faults.iter().map(|f| format!("fault: {f:?}")));
            }
            Err(why) => shown.notes.push(why.clone()),
        }
    }
    let wanted = Some(if any { 66 } else { 0 });
    if ran.outcome.status != wanted {
        let mut error = ran.outcome.stderr;
        error.truncate(error.char_indices().nth(2000).map_or(error.len(), |(i, _)| i));
        shown.failed = Some(format!(
            "ended with {:?}, signal {:?}, not with {wanted:?}: {error}",
            ran.outcome.status, ran.outcome.signal
        ));
    }
    shown
}

fn judge(case: &Case, k: usize, shown: &Shown, checked: bool, way: &str, problems: &mut Vec<Problem>) {
    let mut add =
        |fault, text: String| problems.push(Problem { kernel: k, fault, way: way.to_owned(), text });
    let races = &case.outcome.races;
    if races.pairs.is_empty() {
        for (array, wanted) in case.outcome.arrays.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty()) {
            let got = shown.results.get(&k).and_then(|all| all.get(&array));
            let Some(got) = got else {
                add(Fault::End, format!("array {array} is not printed"));
                continue;
            };
            if let Some(at) = (0..wanted.len()).find(|&i| got.get(i) != Some(&wanted[i])) {
                let size = case.kernel.arrays[array].element.size();
                let first = at / size * size;
                let hex = |b: &[u8]| b.iter().map(|x| format!("{x:02x}")).collect::<String>();
                let end = (first + size).min(got.len());
                let text = format!(
                    "array {array}, element {}: {} instead of {}",
                    at / size,
                    hex(&got[first.min(end)..end]),
                    hex(&wanted[first..first + size])
                );
                add(Fault::Result, text);
            }
        }
    }
    if !checked {
        return;
    }
    let none = BTreeSet::new();
    let found = shown.pairs.get(&k).unwrap_or(&none);
    for pair in found.difference(&races.pairs) {
        add(Fault::Alarm, format!("{pair:?}, where {:?} race", races.pairs));
    }
    for here in &races.bytes {
        if here.is_disjoint(found) {
            add(Fault::Miss, format!("none of {here:?} is among {found:?}"));
        }
    }
}

/// Adds kernels whose pairs differ between the pruned and the unpruned build. Where a read has no check because
/// another access of its thread has one, the other one may be named.
fn compare(cases: &[Case], checked: &mut Checked) {
    let none = BTreeSet::new();
    for (k, case) in cases.iter().enumerate() {
        let [pruned, unpruned] = [0, 1].map(|i| checked.found[i].get(&k).unwrap_or(&none));
        if pruned == unpruned {
            continue;
        }
        let line = |site: &usize| checked.places[k].get(*site).copied().unwrap_or(0);
        let lines = |a: &BTreeSet<Pair>, b: &BTreeSet<Pair>| -> Vec<(u32, u32)> {
            a.difference(b).map(|(x, y)| (line(x), line(y))).collect()
        };
        let text = format!(
            "only with proofs: lines {:?}; only without: {:?}",
            lines(pruned, unpruned),
            lines(unpruned, pruned)
        );
        let writes = |&&(a, b): &&Pair| case.kernel.only_writes(a) && case.kernel.only_writes(b);
        if pruned.symmetric_difference(unpruned).any(|pair| writes(&pair)) {
            let way = "unpruned".to_owned();
            checked.problems.push(Problem { kernel: k, fault: Fault::Unequal, way, text: text.clone() });
        }
        checked.differences.push((k, text));
    }
}

/// What became of a batch.
#[derive(Default)]
pub struct Checked {
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Kernels whose pairs differ between the pruned and the unpruned build, and how.
    pub differences: Vec<(usize, String)>,
    /// For each kernel, the pairs found by one run: pruned and unpruned, without a seed.
    pub found: [BTreeMap<usize, BTreeSet<Pair>>; 2],
    /// The source.
    pub text: String,
    /// The line of each site.
    pub places: Vec<Vec<u32>>,
}

/// Builds and runs kernels in these ways.
pub fn check(cases: &[Case], level: &str, seed: u64, ways: &[Way], folder: &Path) -> Checked {
    let kernels: Vec<&Kernel> = cases.iter().map(|c| &c.kernel).collect();
    let (text, places) = source(&kernels);
    let mut checked = Checked { text, places, ..Checked::default() };
    std::fs::create_dir_all(folder).expect("a folder for the batch");
    std::fs::write(folder.join("batch.cu"), &checked.text).expect("room for the source");
    let all: Vec<usize> = (0..cases.len()).collect();
    let mut built: BTreeMap<&str, bool> = BTreeMap::new();
    for way in ways {
        let name = format!("{} {level}", way.build);
        let program = folder.join(way.build);
        let ok = *built.entry(way.build).or_insert_with(|| {
            let mut arguments = vec!["-g", "-w", "--cuda-gpu-arch=sm_80", level];
            arguments.extend(way.arguments);
            arguments.extend(["batch.cu", "-o", way.build]);
            // A busy machine may need longer than one test may take.
            let made = compile(&arguments, folder).or_else(|why| match why.contains("did not end") {
                true => compile(&arguments, folder),
                false => Err(why),
            });
            if let Err(text) = &made {
                let problem =
                    Problem { kernel: 0, fault: Fault::Build, way: name.clone(), text: text.clone() };
                checked.problems.push(problem);
            }
            made.is_ok()
        });
        if !ok {
            continue;
        }
        let options = if way.seeded { format!("seed={seed}") } else { String::new() };
        let name = format!("{name} {options}");
        let is_checked = !way.arguments.is_empty();
        let shown = run_once(&program, &[], &options, is_checked, &checked.places, folder);
        if shown.failed.is_none() && shown.notes.is_empty() {
            for (k, case) in cases.iter().enumerate() {
                judge(case, k, &shown, is_checked, &name, &mut checked.problems);
            }
            if is_checked && !way.seeded {
                checked.found[usize::from(way.build == "unpruned")] = shown.pairs;
            }
            continue;
        }
        // One by one, to see whose fault it is.
        for &k in &all {
            let one = run_once(&program, &[k], &options, is_checked, &checked.places, folder);
            let mut add = |fault, text| {
                checked.problems.push(Problem { kernel: k, fault, way: name.clone(), text });
            };
            one.notes.iter().for_each(|note| add(Fault::Note, note.clone()));
            if let Some(why) = &one.failed {
                add(Fault::End, why.clone());
            } else {
                judge(&cases[k], k, &one, is_checked, &name, &mut checked.problems);
            }
        }
    }
    let both = |build| ways.iter().any(|w| w.build == build && !w.seeded);
    if both("pruned") && both("unpruned") {
        compare(cases, &mut checked);
    }
    checked
}
