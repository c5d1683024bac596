//! Measures what each mechanism that only buys speed gains: `scripts/bench ablation [KERNEL...]`.
//!
//! `gclang` and the runtime library are built with the feature `ablation`. Each kernel runs with all
//! mechanisms on, then with one of them off, round after round. A gain is the time without the
//! mechanism over the time with all of them.

use std::fmt::Write as _;
use std::path::Path;

use gpurace_abi::ablation::{Acts, Mechanism};

use super::{Build, ROUNDS, Variant, build, machine, mean, program, run, spread};

/// The two ways of checking: without pruning, and the default.
const VARIANTS: [Variant; 2] = [Variant::Checked, Variant::Pruned];

/// Gains of one mechanism, by kernel.
type Gains = Vec<(String, f64)>;

/// Returns the table of gains over these kernels.
pub fn table(kernels: &[&str], folder: &Path) -> Result<String, String> {
    let mut gains = vec![[Gains::new(), Gains::new()]; Mechanism::ALL.len()];
    for kernel in kernels {
        for (v, variant) in VARIANTS.into_iter().enumerate() {
            eprintln!("bench: {kernel}, {}", variant.name());
            for (mechanism, ratio) in gains_of(kernel, variant, folder)? {
                gains[mechanism as usize][v].push(((*kernel).to_owned(), ratio));
            }
        }
    }
    let mut out = format!(
        "Machine: {}. {ROUNDS} rounds.\n\n\
         | mechanism | gain without pruning | most | gain with default pruning | most |\n\
         |---|---|---|---|---|\n",
        machine()
    );
    for (mechanism, [checked, pruned]) in Mechanism::ALL.iter().zip(&gains) {
        let _ = writeln!(out, "| {} | {} | {} |", mechanism.name(), cells(checked), cells(pruned));
    }
    Ok(out)
}

/// The gain of each mechanism for one kernel: the median over the rounds.
fn gains_of(kernel: &str, variant: Variant, folder: &Path) -> Result<Vec<(Mechanism, f64)>, String> {
    let with_all = Build { kernel, variant, off: None, tools: None };
    build(&with_all, folder)?;
    for &mechanism in Mechanism::ALL {
        if mechanism.acts() == Acts::Compiling {
            build(&Build { off: Some(mechanism), ..with_all }, folder)?;
        }
    }
    let mut rounds = vec![Vec::new(); Mechanism::ALL.len()];
    for _ in 0..ROUNDS {
        let all = run(&program(&with_all, folder), "3", None)?.ns;
        for (&mechanism, ratios) in Mechanism::ALL.iter().zip(&mut rounds) {
            let without = match mechanism.acts() {
                Acts::Compiling => {
                    run(&program(&Build { off: Some(mechanism), ..with_all }, folder), "3", None)?
                }
                Acts::Running => run(&program(&with_all, folder), "3", Some(mechanism))?,
            };
            ratios.push(without.ns / all);
        }
    }
    Ok(Mechanism::ALL.iter().copied().zip(rounds.into_iter().map(|ratios| spread(ratios)[1])).collect())
}

/// Two cells of the table: the geometric mean, and the kernel that gains most.
fn cells(gains: &Gains) -> String {
    let ratios: Vec<f64> = gains.iter().map(|(_, gain)| *gain).collect();
    match gains.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((kernel, gain)) => format!("{} | {gain:.2} ({kernel})", mean(&ratios)),
        None => "– | –".into(),
    }
}
