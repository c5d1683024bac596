//! Some batches of the campaign. `GPURACE_CAMPAIGN_BATCHES=n` takes n of them, and `GPURACE_SEED=s` those of
//! another seed.

use gpurace_campaign::batch::WAYS;
use gpurace_campaign::campaign::{self, Counts};
use gpurace_tests::toolchain::work_folder;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn kernels_compute_and_race_as_the_interpreter_says() {
    let mut total = Counts::default();
    let mut problems = Vec::new();
    for batch in 0..number("GPURACE_CAMPAIGN_BATCHES", 2) {
        let folder = work_folder(&format!("campaign-{batch}")).unwrap();
        let (counts, _, checked) = campaign::run(number("GPURACE_SEED", 1), batch, &WAYS, &folder);
        total.add(&counts);
        for p in &checked.problems {
            let source = folder.join("batch.cu");
            let (source, k) = (source.display(), p.kernel);
            problems.push(format!("k_{k} of {source}: {:?} {}: {}", p.fault, p.way, p.text));
        }
    }
    println!("{}", total.line());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(total.clean > 20 && total.racy > 8 && total.mutants > 20, "{}", total.line());
}
