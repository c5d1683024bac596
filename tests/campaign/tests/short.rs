//! Some batches of the campaign. `GPURACE_CAMPAIGN_BATCHES=n` takes n of them, and `GPURACE_SEED=s` those of
//! another seed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use gpurace_campaign::batch::{Fault, WAYS, check};
use gpurace_campaign::campaign::{self, Counts};
use gpurace_random::number;
use gpurace_tests::toolchain::work_folder;

#[test]
fn kernels_compute_and_race_as_the_interpreter_says() {
    let (batches, seed) = (number("GPURACE_CAMPAIGN_BATCHES", 3), number("GPURACE_SEED", 1));
    let (next, found) = (AtomicU64::new(0), Mutex::new((Counts::default(), Vec::new())));
    let work = || {
        loop {
            let batch = next.fetch_add(1, Ordering::Relaxed);
            if batch >= batches {
                return;
            }
            let folder = work_folder(&format!("campaign-{batch}")).unwrap();
            let (counts, _, checked) = campaign::run(seed, batch, &WAYS, &folder);
            let mut found = found.lock().unwrap();
            found.0.add(&counts);
            for p in &checked.problems {
                let source = folder.join("batch.cu");
                let (source, k) = (source.display(), p.kernel);
                found.1.push(format!("k_{k} of {source}: {:?} {}: {}", p.fault, p.way, p.text));
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let (total, problems) = found.into_inner().unwrap();
    println!("{}", total.line());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(total.clean > 15 && total.racy > 6 && total.mutants > 20, "{}", total.line());
}

#[test]
fn wrong_bits_and_wrong_races_are_noticed() {
    let mut cases = campaign::cases(5, 0);
    let (clean, racy): (Vec<_>, Vec<_>) =
        cases.drain(..).partition(|case| case.outcome.races.pairs.is_empty());
    let mut cases = vec![clean[0].clone(), clean[1].clone(), racy[0].clone(), clean[2].clone()];
    // One bit of a result, a race that is none, and none where there is one.
    cases[0].outcome.arrays.last_mut().unwrap()[0] ^= 1;
    cases[1].outcome.races = racy[0].outcome.races.clone();
    cases[2].outcome.races = clean[0].outcome.races.clone();
    let folder = work_folder("campaign-noticed").unwrap();
    let checked = check(&cases, "-O1", 1, &WAYS[1..2], &folder);
    let of =
        |k: usize| checked.problems.iter().filter(|p| p.kernel == k).map(|p| p.fault).collect::<Vec<_>>();
    assert_eq!(of(0), [Fault::Result], "{:?}", checked.problems);
    assert!(of(1).contains(&Fault::Miss), "{:?}", checked.problems);
    assert!(of(2).contains(&Fault::Alarm), "{:?}", checked.problems);
    assert_eq!(of(3), [], "{:?}", checked.problems);
}
