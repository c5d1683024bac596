//! Runs a campaign.

use std::path::PathBuf;

use clap::Parser;
use gpurace_campaign::batch::WAYS;
use gpurace_campaign::campaign::{self, Counts};

/// Runs random kernels whose results and races are known.
#[derive(Parser)]
struct Arguments {
    /// Kernels, of which two thirds are mutants
    #[arg(long, default_value_t = 1000)]
    kernels: u64,
    /// What the kernels are made from
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder of the results; a campaign that is started again goes on there
    #[arg(long, default_value = "target/campaign")]
    folder: PathBuf,
}

fn main() {
    let arguments = Arguments::parse();
    let mut total = Counts::default();
    let mut batch = 0;
    let work = std::path::absolute(arguments.folder.join("work")).unwrap();
    while total.kernels() < arguments.kernels {
        let (counts, _cases, checked) = campaign::run(arguments.seed, batch, &WAYS, &work);
        total.add(&counts);
        println!("batch {batch}: {}", counts.line());
        for p in &checked.problems {
            println!("  k_{} {:?} {}: {:.300}", p.kernel, p.fault, p.way, p.text);
        }
        if !checked.problems.is_empty() {
            std::fs::write(arguments.folder.join(format!("batch-{batch}.cu")), &checked.text).unwrap();
        }
        batch += 1;
    }
    println!("{}", total.line());
}
