//! Trials: launches whose order rests on more than barriers run under further schedules.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{Checked, compile, programs, run_checked, work_folder};

/// The schedules of a launch that are not the program's own, by default.
const TRIALS: u64 = 11;

fn run(args: &[&str], options: &str) -> Checked {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let executable = BUILT.get_or_init(|| {
        let folder = work_folder("trials").unwrap();
        let source = programs().join("report/trials.cu");
        compile(&["-fsanitize=gpurace", "-O1", source.to_str().unwrap(), "-o", "trials"], &folder).unwrap();
        folder.join("trials")
    });
    let folder = work_folder(&format!("trials_run_{}", RUNS.fetch_add(1, Ordering::Relaxed))).unwrap();
    run_checked(executable, args, options, &folder).unwrap()
}

fn report(args: &[&str], options: &str) -> Report {
    run(args, options).report.unwrap()
}

#[test]
fn a_race_that_only_a_trial_shows_is_reported_with_its_replay() {
    assert!(report(&[], "explore=0").races.is_empty());
    let Checked { outcome, report: found } = run(&[], "");
    let found = found.unwrap();
    let [race] = &found.races[..] else { panic!("{:?}", found.races) };
    let seed = race.seed.unwrap();
    assert_eq!((outcome.status, found.stats.trials.races, race.count), (Some(66), 1, 2));
    assert_eq!(outcome.stdout, "2 no error\n");
    assert!(
        outcome.stderr.contains(&format!("replay with GPURACE_OPTIONS=seed={seed}\n")),
        "{}",
        outcome.stderr
    );
    let replayed = report(&[], &format!("explore=0:seed={seed}"));
    let [again] = &replayed.races[..] else { panic!("{:?}", replayed.races) };
    assert_eq!((again.seed, &again.kind, again.count), (None, &race.kind, race.count));
    assert_eq!(again.accesses[0].line, race.accesses[0].line);
}

#[test]
fn what_the_own_schedule_shows_too_is_its_own() {
    let found = report(&[], "seed=2");
    assert_eq!(found.races.iter().map(|race| (race.seed, race.count)).collect::<Vec<_>>(), [(None, 2)]);
    assert_eq!((found.stats.trials.trials, found.stats.trials.races), (TRIALS, 0));
}

#[test]
fn the_program_notices_no_trial() {
    let with = run(&["correct"], "");
    assert_eq!(with.outcome.stdout, run(&["correct"], "explore=0").outcome.stdout);
    assert_eq!((with.outcome.status, with.outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(with.report.unwrap().stats.trials.trials, TRIALS);
}

#[test]
fn trials_are_bounded() {
    let trials = report(&["many", "100"], "").stats.trials;
    // The launches 1 to 4, 8, 16, 32, 64.
    assert_eq!((trials.launches, trials.trials, trials.unfinished), (8, 8 * TRIALS, 0));
    assert_eq!(report(&["many", "3"], "explore=3").stats.trials.trials, 6);
}

#[test]
fn long_launches_have_few_trials_which_run_to_their_end() {
    // 8,192 threads with three turns each, and one that takes long. Trials that end early are counted.
    for (numbers, wanted, unfinished) in [("4096", 10, 6), ("16777216", 1, 0)] {
        let Checked { outcome, report } = run(&["sum", numbers], "");
        let trials = report.unwrap().stats.trials;
        let found = (trials.trials, trials.unfinished, outcome.status);
        assert_eq!(found, (wanted, unfinished, Some(0)), "{numbers}");
    }
}

#[test]
fn other_launches_have_no_trials() {
    for (args, options) in
        [(&["plain"][..], ""), (&[], "explore=0"), (&[], "explore=1"), (&[], "every=2:kernels=x")]
    {
        assert_eq!(report(args, options).stats.trials.trials, 0, "{args:?} {options}");
    }
}

#[test]
fn a_fault_of_a_trial_is_reported() {
    let Checked { outcome, report } = run(&["assert"], "");
    let faults = report.unwrap().faults;
    let [fault] = &faults[..] else { panic!("{faults:?}") };
    assert_eq!((fault.kind.as_str(), fault.seed), ("assert", Some(2)));
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(66), "2 no error\n"));
}

#[test]
fn launches_of_several_threads_have_no_trials() {
    let report = report(&["thread"], "");
    assert_eq!(report.stats.trials.trials, 0);
    assert!(report.notes[0].contains("the program has several threads"), "{:?}", report.notes);
}

#[test]
fn a_seed_gives_the_same_trials() {
    let found = |options: &str| {
        let Report { races, stats, .. } = report(&[], options);
        let races: Vec<_> =
            races.iter().map(|race| (race.seed, race.count, race.accesses[0].block)).collect();
        (races, stats.trials.steps, stats.checks_executed)
    };
    for seed in ["seed=1", "seed=7"] {
        assert_eq!(found(seed), found(seed));
    }
}

#[test]
fn a_launch_that_asked_the_solver_has_trials() {
    // The solver keeps a thread of its own.
    let folder = work_folder("trials_solver").unwrap();
    let source = programs().join("race/barrier/halo_exchange.cu");
    let include = format!("-I{}", programs().join("support").display());
    let args = ["-fsanitize=gpurace", "-Wno-gpurace", "-DRACY", "-O2", &include, source.to_str().unwrap()];
    compile(&[&args[..], &["-o", "program"]].concat(), &folder).unwrap();
    let ran = run_checked(&folder.join("program"), &[], "cache_dir=", &folder).unwrap();
    let report = ran.report.unwrap();
    assert_eq!((report.stats.trials.trials, report.notes), (TRIALS, Vec::new()), "{}", ran.outcome.stderr);
    assert!(report.stats.sites.proved_at_launch > 0, "the solver was not asked: {:?}", report.stats);
}
