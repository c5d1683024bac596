//! Compares this version with another one: `scripts/bench --against REVISION [NAME...]`.
//!
//! Both versions build the same kernels, those of this one. Their programs run in turn, round after
//! round. A ratio below 1 says that this version is faster.

use std::fmt::Write as _;
use std::path::Path;

use super::{Build, REPETITIONS, ROUNDS, Run, Variant, build, machine, mean, program, run, spread};

/// What is compared.
const VARIANTS: [Variant; 3] = [Variant::Bare, Variant::Checked, Variant::Pruned];

/// Returns the table of these kernels. `other` is the folder of the other version's `gclang++`.
pub fn table(kernels: &[&str], other: &Path, folder: &Path) -> Result<String, String> {
    let mut out = format!(
        "Machine: {}. {ROUNDS} rounds. Time now / before.\n\n\
         | kernel | bare | checked | pruned at launch |\n|---|---|---|---|\n",
        machine()
    );
    let mut ratios = [const { Vec::new() }; VARIANTS.len()];
    for kernel in kernels {
        eprintln!("bench: {kernel}");
        let _ = write!(out, "| {kernel} |");
        for (variant, ratios) in VARIANTS.into_iter().zip(&mut ratios) {
            let now = Build { kernel, variant, off: None, tools: None };
            let before = Build { tools: Some(other), ..now };
            build(&now, folder)?;
            build(&before, folder)?;
            let time = |of: &Build<'_>| -> Result<f64, String> {
                let Run { ns, .. } = run(&program(of, folder), &REPETITIONS.to_string(), None)?;
                Ok(ns)
            };
            let rounds: Vec<f64> =
                (0..ROUNDS).map(|_| Ok(time(&now)? / time(&before)?)).collect::<Result<_, String>>()?;
            let [least, median, most] = spread(rounds);
            let _ = write!(out, " {median:.2} ({least:.2} to {most:.2}) |");
            ratios.push(median);
        }
        out.push('\n');
    }
    let means = ratios.each_ref().map(|ratios| mean(ratios));
    let _ = writeln!(out, "| geometric mean | {} |", means.join(" | "));
    Ok(out)
}
