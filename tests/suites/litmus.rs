//! Random litmus programs as CUDA kernels: gpurace reports a pair of accesses only if the axioms of the
//! PTX memory model have it race in some execution, and finds the races that its schedules reach.
//!
//! `GPURACE_CASES=n` takes n programs, `GPURACE_SEED=s` begins with that of seed s, `GPURACE_EXPLORE=n`
//! sets how many schedules are many. The first program with a report that is no race is shrunk.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use gpurace_litmus::cuda::{kernel, source};
use gpurace_litmus::execution::Rules;
use gpurace_litmus::judge::{Pairs, Verdicts, judge};
use gpurace_litmus::program::Program;
use gpurace_litmus::{generate, shrink};
use gpurace_random::number;
use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{compile, run_checked, work_folder};

/// Candidate executions of a program at most.
const LIMIT: u64 = 200_000;
/// Kernels in one source.
const BATCH: usize = 40;

/// A program and what the model says of it.
#[derive(Clone)]
struct Judged {
    seed: u64,
    program: Program,
    verdicts: Verdicts,
}

/// What became of the programs.
#[derive(Debug, Default)]
struct Counts {
    programs: u64,
    undecided: u64,
    /// With a race by gpurace's rules in some interleaving.
    racy: u64,
    /// Of these, reported under the schedules that are run by default.
    found: u64,
    /// Reported under many schedules.
    found_by_many: u64,
    /// With a race in some execution that PTX allows, but in no interleaving.
    weak_only: u64,
    /// By PTX's text with a race, by gpurace's rules without.
    missed_by_rule: u64,
    /// The other way round.
    alarmed_by_rule: u64,
    /// With a report that is a known false alarm.
    known_alarms: u64,
    /// Pairs of accesses that were reported.
    pairs: u64,
}

/// Compiles programs and runs each under `explore` schedules. Returns for each the pairs of sites that
/// are reported.
fn reported(programs: &[&Program], options: &[&str], level: &str) -> Vec<Vec<Pairs>> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let folder = work_folder(&format!("litmus-{}", NUMBER.fetch_add(1, Ordering::Relaxed))).unwrap();
    let kernels: Vec<_> = programs.iter().enumerate().map(|(k, p)| kernel(p, &k.to_string())).collect();
    let (text, places) = source(&kernels);
    std::fs::write(folder.join("litmus.cu"), text).unwrap();
    compile(&["-fsanitize=gpurace", "-Wno-gpurace", "-g", level, "litmus.cu", "-o", "litmus"], &folder)
        .unwrap();
    let program = folder.join("litmus");
    let run = |numbers: &[String], options: &str| -> Report {
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let ran = run_checked(&program, &numbers, options, &folder).unwrap();
        let report = ran.report.unwrap_or_else(|why| panic!("{why}: {}", ran.outcome.stderr));
        assert_eq!((report.faults.len(), report.divergence.len()), (0, 0), "{}", ran.outcome.stderr);
        assert_eq!(report.notes, Vec::<String>::new());
        report
    };
    let all = options.iter().map(|options| {
        // The trials of a program are bounded: with many, each kernel is one run.
        let numbers: Vec<String> = (0..programs.len()).map(|k| k.to_string()).collect();
        let runs = numbers.chunks(if options.is_empty() { BATCH } else { 1 });
        let mut found = vec![Pairs::new(); programs.len()];
        for report in runs.map(|numbers| run(numbers, options)) {
            for race in &report.races {
                let name = race.kernel.as_deref().unwrap();
                let k: usize = name.trim_start_matches("k_").trim_end_matches("()").parse().unwrap();
                let site = |line: Option<u32>| {
                    let line = line.unwrap();
                    let at = places[k].iter().position(|&l| l == line);
                    at.unwrap_or_else(|| panic!("line {line} of {} is no instruction", folder.display()))
                };
                let (a, b) = (site(race.accesses[0].line), site(race.accesses[1].line));
                found[k].insert((a.min(b), a.max(b)));
            }
        }
        found
    });
    let all = all.collect();
    _ = std::fs::remove_dir_all(&folder);
    all
}

/// What of the reported pairs is no race; known false alarms are counted.
fn wrong(verdicts: &Verdicts, found: &Pairs) -> (Pairs, Pairs) {
    let not_races: Pairs = found.difference(&verdicts.interleaved).copied().collect();
    let known = not_races.intersection(&verdicts.unobserved).copied().collect();
    (not_races.difference(&verdicts.unobserved).copied().collect(), known)
}

struct Campaign {
    counts: Counts,
    /// Programs with a report that is no race: the program, the level of optimisation, and what is known.
    wrong: Vec<(Program, &'static str, String)>,
    /// Programs with a race that no schedule showed.
    missed: Vec<(u64, String)>,
    alarms: BTreeMap<u64, String>,
}

fn add(campaign: &Mutex<Campaign>, batch: &[Judged], level: &'static str, explore: u64) {
    let programs: Vec<&Program> = batch.iter().map(|j| &j.program).collect();
    let many = format!("explore={explore}");
    let found = reported(&programs, &["", &many], level);
    let mut campaign = campaign.lock().unwrap();
    for (k, Judged { seed, program, verdicts }) in batch.iter().enumerate() {
        let counts = &mut campaign.counts;
        let racy = !verdicts.interleaved.is_empty();
        counts.programs += 1;
        counts.racy += u64::from(racy);
        counts.weak_only += u64::from(!racy && !verdicts.weak.is_empty());
        counts.missed_by_rule += u64::from(verdicts.weak.is_empty() && !verdicts.ptx.is_empty());
        counts.alarmed_by_rule += u64::from(!verdicts.weak.is_empty() && verdicts.ptx.is_empty());
        let (few, many) = (&found[0][k], &found[1][k]);
        counts.found += u64::from(racy && !few.is_empty());
        counts.found_by_many += u64::from(racy && !(few.is_empty() && many.is_empty()));
        let both = few | many;
        counts.pairs += both.len() as u64;
        let (wrong, known) = wrong(verdicts, &both);
        counts.known_alarms += u64::from(!known.is_empty());
        if !known.is_empty() {
            campaign.alarms.insert(*seed, format!("{known:?}\n{program}"));
        }
        if !wrong.is_empty() {
            let why = format!("seed {seed} {level}: {wrong:?}\n{program}{verdicts:?}");
            campaign.wrong.push((program.clone(), level, why));
        }
        if racy && both.is_empty() {
            campaign.missed.push((*seed, format!("{program}{:?}", verdicts.interleaved)));
        }
    }
}

fn run(first: u64, cases: u64, explore: u64) -> Campaign {
    let campaign = Mutex::new(Campaign {
        counts: Counts::default(),
        wrong: Vec::new(),
        missed: Vec::new(),
        alarms: BTreeMap::new(),
    });
    let mut judged = Vec::new();
    for seed in first..first + cases {
        let program = generate::program(seed);
        match judge(&program, Rules::GPURACE, LIMIT) {
            Some(verdicts) => judged.push(Judged { seed, program, verdicts }),
            None => campaign.lock().unwrap().counts.undecided += 1,
        }
    }
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed) as usize;
                    let Some(batch) = judged.chunks(BATCH).nth(i) else { return };
                    add(&campaign, batch, ["-O1", "-O0", "-O2"][i % 3], explore);
                }
            });
        }
    });
    campaign.into_inner().unwrap()
}

#[test]
fn what_is_reported_races_by_the_model() {
    let (first, cases) = (number("GPURACE_SEED", 0), number("GPURACE_CASES", 40));
    let explore = number("GPURACE_EXPLORE", 100);
    let found = run(first, cases, explore);
    println!("{:#?}", found.counts);
    for (seed, shown) in &found.missed {
        println!("no schedule shows the race of seed {seed}:\n{shown}");
    }
    for (seed, shown) in &found.alarms {
        println!("known alarm of seed {seed}: {shown}");
    }
    if let Some((program, level, _)) = found.wrong.first() {
        let shows = |p: &Program| {
            let Some(verdicts) = judge(p, Rules::GPURACE, LIMIT) else { return false };
            let found = reported(&[p], &["", &format!("explore={explore}")], level);
            !wrong(&verdicts, &(&found[0][0] | &found[1][0])).0.is_empty()
        };
        println!("the first one, shrunk:\n{}", shrink::shrink(program, &mut |p| shows(p)));
    }
    let wrong: Vec<&str> = found.wrong.iter().map(|(.., why)| why.as_str()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Races are missed only where no schedule comes to them.
    let Counts { racy, found, found_by_many, .. } = found.counts;
    assert!(racy > 0 && found * 10 >= racy * 8, "{found} of {racy} are found");
    assert!(found_by_many * 10 >= racy * 9, "{found_by_many} of {racy} are found under many schedules");
}
