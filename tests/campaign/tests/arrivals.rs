//! Proofs of kernels whose blocks meet at barrier objects: no access that is proved takes part in a race that the
//! checker finds without proofs.
//!
//! `GPURACE_CASES=n` takes n batches, and `GPURACE_SEED=s` those of another seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use gpurace_campaign::arrivals::{Arrivals, kernel, mutant, source};
use gpurace_random::{Random, number};
use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{compile, run, work_folder};

/// Kernels of a batch that are no mutants.
const KERNELS: u64 = 10;
/// Mutants of each.
const MUTANTS: u64 = 3;

/// A line and a column of the source.
type At = (u32, u32);

#[derive(Debug, Default)]
struct Counts {
    kernels: usize,
    /// All accesses are proved.
    proved: usize,
    /// With a race.
    racy: usize,
    /// Without a race, and an access is checked.
    open: usize,
    /// They wait for ever, or until a signal.
    stuck: usize,
}

/// Runs one kernel for some seconds. A kernel that waits for ever is interrupted, and reports what it found.
fn report(folder: &Path, program: &str, k: usize, options: &str) -> (Option<Report>, bool) {
    let json = folder.join(format!("{program}-{k}.json"));
    let mut command = Command::new("timeout");
    command.args(["-s", "INT", "-k", "5", "2"]).arg(folder.join(program)).arg(k.to_string());
    command
        .env("GPURACE_OPTIONS", format!("device=cpu:cache_dir=:explore=0:json={}:{options}", json.display()));
    let ended = run(&mut command, folder).unwrap();
    let text = std::fs::read_to_string(&json).unwrap_or_default();
    (Report::parse(&text).ok(), ended.status.is_none_or(|status| status != 0 && status != 66))
}

/// The places in the source of the accesses that take part in races.
fn racing(report: &Report) -> BTreeSet<At> {
    let accesses = report.races.iter().flat_map(|race| &race.accesses);
    let here = accesses.filter(|a| a.file.as_deref().is_some_and(|file| file.ends_with("k.cu")));
    here.filter_map(|a| Some((a.line?, a.column?))).collect()
}

/// Whether each access of a kernel in the source is proved.
fn states(report: &Report, k: usize) -> BTreeMap<At, bool> {
    let mut states = BTreeMap::new();
    let own = format!("k_{k}(");
    let kernels = report.coverage.iter().filter(|of| of.kernel.starts_with(&own));
    for access in kernels.flat_map(|kernel| &kernel.accesses) {
        if access.file.as_deref().is_some_and(|file| file.ends_with("k.cu"))
            && let (Some(line), Some(column)) = (access.line, access.column)
        {
            *states.entry((line, column)).or_insert(true) &= access.state == "proved";
        }
    }
    states
}

fn batch(seed: u64, level: &str, counts: &mut Counts) -> Vec<String> {
    let folder = work_folder(&format!("arrivals-{seed}")).unwrap();
    let mut kernels: Vec<Arrivals> = vec![];
    for own in 0..KERNELS {
        let seed = seed * 1000 + own;
        let first = kernel(seed);
        let mut random = Random(!seed);
        kernels.push(first.clone());
        kernels.extend((0..MUTANTS).map(|_| mutant(&first, &mut random)));
    }
    std::fs::write(folder.join("k.cu"), source(&kernels)).unwrap();
    for (program, prune) in [("pruned", "launch"), ("unpruned", "off")] {
        let prune = format!("-fgpurace-prune={prune}");
        let arguments =
            ["-fsanitize=gpurace", "-std=c++17", "-g", "-w", level, &prune, "k.cu", "-o", program];
        // A busy machine may need longer than one test may take.
        compile(&arguments, &folder).or_else(|_| compile(&arguments, &folder)).unwrap();
    }
    let mut wrong = vec![];
    for (k, kernel) in kernels.iter().enumerate() {
        counts.kernels += 1;
        let (Some(pruned), stuck) = report(&folder, "pruned", k, "") else {
            wrong.push(format!("seed {seed} {level} kernel {k}: no report"));
            continue;
        };
        counts.stuck += usize::from(stuck);
        let states = states(&pruned, k);
        let all = states.values().all(|proved| *proved);
        counts.proved += usize::from(all);
        let mut found = BTreeSet::new();
        for options in ["", "seed=1", "seed=2"] {
            let (report, stuck) = report(&folder, "unpruned", k, options);
            found.extend(report.iter().flat_map(racing));
            if stuck || !found.is_empty() {
                break;
            }
        }
        counts.racy += usize::from(!found.is_empty());
        counts.open += usize::from(found.is_empty() && !all && !stuck);
        if found.is_empty() && !all && !stuck && std::env::var_os("GPURACE_SHOW").is_some() {
            let open: Vec<_> = states.iter().filter(|(_, proved)| !**proved).map(|(at, _)| at).collect();
            println!("open: seed {seed} {level} {open:?}\n{}", kernel.text(k));
        }
        for at in found {
            if states.get(&at) == Some(&true) {
                let text = kernel.text(k);
                wrong.push(format!(
                    "seed {seed} {level}: {at:?} of {} races and is proved\n{text}",
                    folder.display()
                ));
            }
        }
    }
    wrong
}

#[test]
fn what_races_at_barrier_objects_is_not_proved() {
    let (first, batches) = (number("GPURACE_SEED", 0), number("GPURACE_CASES", 1));
    let (mut counts, mut wrong) = (Counts::default(), vec![]);
    for seed in first..first + batches {
        let more = batch(seed, ["-O2", "-O1", "-O3"][(seed % 3) as usize], &mut counts);
        println!("{seed}: {counts:?}\n{}", more.join("\n"));
        wrong.extend(more);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let Counts { kernels, proved, racy, .. } = counts;
    assert!(proved * 10 >= kernels && racy * 5 >= kernels, "{counts:?}");
}
