//! Runs a campaign: random kernels whose results and races are known. What each batch showed is a line of
//! `results-SEED.txt`, and a campaign that is started again goes on behind the last one. A batch with a problem
//! leaves its source, what was wrong, and a small kernel that shows it.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use gpurace_campaign::batch::{Case, Checked, Fault, WAYS, Way};
use gpurace_campaign::campaign::{self, Counts};
use gpurace_campaign::{cuda, shrink};
use indicatif::{ProgressBar, ProgressStyle};

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
    /// Only these builds: bare, pruned, unpruned
    #[arg(long)]
    build: Vec<String>,
    /// Leave kernels with a problem as they are
    #[arg(long)]
    no_shrink: bool,
}

/// Writes down what is wrong in a batch. Of each kind of problem, the first kernel is shrunk.
fn write_down(
    arguments: &Arguments,
    batch: u64,
    cases: &[Case],
    checked: &Checked,
    work: &Path,
) -> std::io::Result<()> {
    let name = |rest: &str| arguments.folder.join(format!("{}-{batch}{rest}", arguments.seed));
    let mut text = String::new();
    for p in &checked.problems {
        _ = writeln!(text, "k_{} {:?} {}: {}", p.kernel, p.fault, p.way, p.text);
    }
    std::fs::write(name(".cu"), &checked.text)?;
    std::fs::write(name(".txt"), text)?;
    let mut seen = Vec::new();
    for p in &checked.problems {
        if arguments.no_shrink || p.fault == Fault::Build || seen.contains(&p.fault) {
            continue;
        }
        seen.push(p.fault);
        let ways = campaign::ways_of(&p.way);
        let (level, schedule) = campaign::level(batch);
        let small = shrink::shrink(&cases[p.kernel].kernel, p.fault, level, schedule, &ways, work);
        let text = format!("// {:?}, {}: {}\n", p.fault, p.way, p.text.lines().next().unwrap_or_default());
        std::fs::write(name(&format!("-{:?}.cu", p.fault)), text + &cuda::source(&[&small]).0)?;
    }
    Ok(())
}

fn run(arguments: &Arguments) -> std::io::Result<Counts> {
    let work = std::path::absolute(arguments.folder.join(format!("work-{}", arguments.seed)))?;
    std::fs::create_dir_all(&work)?;
    let results = arguments.folder.join(format!("results-{}.txt", arguments.seed));
    let chosen = |w: &&Way| arguments.build.is_empty() || arguments.build.iter().any(|b| b == w.build);
    let ways: Vec<Way> = WAYS.iter().filter(chosen).cloned().collect();
    let mut total = Counts::default();
    let mut batch = 0;
    for counts in std::fs::read_to_string(&results).unwrap_or_default().lines().filter_map(Counts::parse) {
        total.add(&counts);
        batch += 1;
    }
    // Nothing is drawn where standard error is no terminal.
    let bar = ProgressBar::new(arguments.kernels);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} kernels, {eta} left, {msg}");
    bar.set_style(style.expect("a template"));
    let differences = arguments.folder.join(format!("differences-{}.txt", arguments.seed));
    let mut differences = OpenOptions::new().create(true).append(true).open(differences)?;
    let mut file = OpenOptions::new().create(true).append(true).open(&results)?;
    while total.kernels() < arguments.kernels {
        bar.set_position(total.kernels());
        bar.set_message(format!("{} problems", total.problems));
        let (counts, cases, checked) = campaign::run(arguments.seed, batch, &ways, &work);
        total.add(&counts);
        for (k, text) in &checked.differences {
            writeln!(differences, "batch {batch}, k_{k}: {text}")?;
        }
        if !checked.problems.is_empty() {
            write_down(arguments, batch, &cases, &checked, &work)?;
        }
        writeln!(file, "{}", counts.line())?;
        batch += 1;
    }
    bar.finish_and_clear();
    Ok(total)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(total) => {
            println!("{}", total.line());
            if total.problems > 0 {
                println!("see `{}`", arguments.folder.display());
            }
            ExitCode::from(u8::from(total.problems > 0))
        }
        Err(why) => {
            eprintln!("gpurace-campaign: error: {}: {why}", arguments.folder.display());
            ExitCode::from(2)
        }
    }
}
