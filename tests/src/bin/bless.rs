//! Prints the declarations that fit what a program reports.
//!
//! `cargo run -p gpurace-tests --bin bless -- [--write] PROGRAM.cu...`
//!
//! A race that is reported at every optimisation level and seed is printed as `RACE`, any other one as
//! `RACE?`. With `--write` the declarations replace those in the file, and the lines get labels. Read the
//! result: a blessed report is not yet a right one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpurace_tests::annotation::Program;
use gpurace_tests::case::{Build, Case};
use gpurace_tests::compare::{Side, sides};
use gpurace_tests::report::Finding;
use gpurace_tests::toolchain::{programs, work_folder};

/// Sides, space and scope of a race.
type RaceKey = ([Side; 2], String, String);

fn main() -> ExitCode {
    let (flags, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let write = flags.iter().any(|f| f == "--write");
    if files.is_empty() || flags.iter().any(|f| f != "--write") {
        eprintln!("usage: bless [--write] PROGRAM.cu...");
        return ExitCode::FAILURE;
    }
    let mut status = ExitCode::SUCCESS;
    for file in files {
        if let Err(e) = bless(Path::new(&file), write) {
            eprintln!("error: {file}: {e}");
            status = ExitCode::FAILURE;
            break;
        }
    }
    status
}

fn bless(file: &Path, write: bool) -> Result<(), String> {
    let file = file.canonicalize().map_err(|e| e.to_string())?;
    let program = Program::load(&programs(), &file)?;
    let mut text = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
    let mut labels = program.labels.clone();
    let mut declarations = Vec::new();
    for revision in &program.revisions {
        let (seen, runs, names) = observe(&program, revision.clone())?;
        let tag = revision.as_ref().map_or(String::new(), |r| format!("[{r}]"));
        if !names.is_empty() {
            println!("//@{tag} findings: {}", names.join(" "));
        }
        for ((pair, space, scope), count) in seen {
            let mark = if count == runs { "" } else { "?" };
            let names = pair.clone().map(|(_, line)| label(line, &mut labels));
            let [a, b] = pair.map(|(op, _)| op);
            declarations
                .push(format!("//~ RACE{mark}{tag} {a}-{b} {space} {scope}: {} {}", names[0], names[1]));
        }
    }
    println!("{}", file.display());
    for declaration in &declarations {
        println!("{declaration}");
    }
    for (name, line) in &labels {
        let source = text.lines().nth(*line as usize - 1).unwrap_or("");
        println!("  {name} = line {line}: {}", source.trim());
    }
    if write {
        text = rewrite(&text, &labels, &declarations);
        std::fs::write(&file, text).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Races, each with the number of runs that reported it; the number of all runs; the findings of the last level's
/// run without a seed.
type Observed = (BTreeMap<RaceKey, usize>, usize, Vec<String>);

/// Runs one revision at all levels and with all seeds.
fn observe(program: &Program, revision: Option<String>) -> Result<Observed, String> {
    let (mut seen, mut runs, mut names) = (BTreeMap::new(), 0, Vec::new());
    for opt in program.opt_levels(revision.as_deref()) {
        let case = Case { program: program.clone(), revision: revision.clone(), opt };
        let folder: PathBuf = work_folder(&case.name())?;
        let (executable, compilation) = case.build(Build::Checked, &folder)?;
        if compilation.status != Some(0) {
            return Err(compilation.stderr);
        }
        for seed in program.seeds(revision.as_deref()) {
            let report = case.run_seed(&executable, &folder, &seed)?.1?;
            runs += 1;
            if seed == "0" {
                names = report.findings.iter().filter_map(Finding::name).collect();
            }
            let mut keys: Vec<RaceKey> = report
                .races
                .iter()
                .map(|r| (sides(r, &program.path), r.space.clone(), r.scope.clone()))
                .collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                *seen.entry(key).or_insert(0) += 1;
            }
        }
    }
    names.sort();
    Ok((seen, runs, names))
}

/// Returns the label of a line. A line without a label gets a new one.
fn label(line: Option<u32>, labels: &mut BTreeMap<String, u32>) -> String {
    let Some(line) = line else { return "_".into() };
    if let Some((name, _)) = labels.iter().find(|(_, l)| **l == line) {
        return name.clone();
    }
    let name = (b'A'..=b'Z')
        .map(|c| char::from(c).to_string())
        .find(|name| !labels.contains_key(name))
        .unwrap_or_else(|| format!("L{line}"));
    labels.insert(name.clone(), line);
    name
}

/// Returns the program with these labels, and with these declarations in place of its own.
fn rewrite(text: &str, labels: &BTreeMap<String, u32>, declarations: &[String]) -> String {
    let mut out = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("//~ RACE") {
            continue;
        }
        out.push_str(line.split("//~").next().unwrap_or("").trim_end());
        if let Some((name, _)) = labels.iter().find(|(_, l)| **l == number) {
            out.push_str(&format!("  //~ {name}"));
        }
        out.push('\n');
    }
    for declaration in declarations {
        out.push_str(declaration);
        out.push('\n');
    }
    out
}
