//! One program at one revision and optimisation level, from source to verdict.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::annotation::{Known, Program};
use crate::compare::{Mismatch, compare};
use crate::precompiled;
use crate::report::Report;
use crate::toolchain::{Outcome, programs, run, tool, work_folder};

/// Exit status of a program with a race, unless `exitcode` says otherwise.
pub const RACE_STATUS: i32 = 66;

/// A program to build and run in one way.
#[derive(Clone, Debug)]
pub struct Case {
    /// The program.
    pub program: Program,
    /// Revision, `None` in a program without any.
    pub revision: Option<String>,
    /// `O0` to `O3`.
    pub opt: String,
}

/// Whether a build checks for races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// `-fsanitize=gpurace`.
    Checked,
    /// The plain program on the CPU executor.
    Bare,
}

/// What does not hold: one message each.
#[derive(Clone, Debug, Default)]
struct Findings {
    misses: Vec<String>,
    alarms: Vec<String>,
    failures: Vec<String>,
}

/// All cases of all programs in a folder of `tests/programs`, by name.
///
/// # Errors
/// An annotation that is not understood, or a folder that cannot be read.
pub fn collect(folder: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for path in sources(&programs().join(folder))? {
        let program = Program::load(&programs(), &path)?;
        for revision in &program.revisions {
            for opt in program.opt_levels(revision.as_deref()) {
                cases.push(Case { program: program.clone(), revision: revision.clone(), opt });
            }
        }
    }
    Ok(cases)
}

/// Every `.cu` file under a folder, sorted.
fn sources(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|e| e.to_string())?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "cu") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

impl Case {
    /// `race/tree_reduction::racy::O2`.
    pub fn name(&self) -> String {
        match &self.revision {
            Some(revision) => format!("{}::{revision}::{}", self.program.name, self.opt),
            None => format!("{}::{}", self.program.name, self.opt),
        }
    }

    fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// What is known not to hold yet.
    pub fn known(&self) -> Option<Known> {
        self.program.known(self.revision())
    }

    /// Whether the program says that it needs a GPU.
    pub fn needs_gpu(&self) -> bool {
        self.program.words(self.revision(), "requires").contains(&"gpu")
    }

    /// Builds, runs under every seed and compares.
    ///
    /// # Errors
    /// Everything that does not hold; for a case with a `known-...` directive,
    /// that it holds now.
    pub fn check(&self) -> Result<(), String> {
        let findings = self.findings()?;
        let Findings { misses, alarms, failures } = &findings;
        let holds = |wanted: &[String], others: [&[String]; 2]| {
            if others.iter().any(|o| !o.is_empty()) {
                Err([wanted, others[0], others[1]].concat().join("\n"))
            } else if wanted.is_empty() {
                Err("what is known not to hold holds now: remove the `known-...` directive".to_owned())
            } else {
                Ok(())
            }
        };
        match self.known() {
            None => {
                let all = [misses.as_slice(), alarms, failures].concat();
                if all.is_empty() { Ok(()) } else { Err(all.join("\n")) }
            }
            Some(Known::Miss) => holds(misses, [alarms, failures]),
            Some(Known::Alarm) => holds(alarms, [misses, failures]),
            Some(Known::Failure) => holds(failures, [misses, alarms]),
        }
    }

    fn findings(&self) -> Result<Findings, String> {
        let mut findings = Findings::default();
        let folder = work_folder(&self.name())?;
        let wanted_errors: Vec<&str> = self.program.all(self.revision(), "compile-error").collect();
        let (checked, compilation) = self.build(Build::Checked, &folder)?;
        if !wanted_errors.is_empty() {
            if compilation.status == Some(0) {
                findings.failures.push("compiles, although `compile-error` is declared".into());
            }
            for fragment in wanted_errors.iter().filter(|f| !compilation.stderr.contains(**f)) {
                findings.failures.push(format!("no `{fragment}` in:\n{}", compilation.stderr));
            }
            return Ok(findings);
        }
        if compilation.status != Some(0) {
            let how = compilation.status.map_or("a signal".into(), |s| format!("status {s}"));
            findings.failures.push(format!("gclang ended by {how}:\n{}", compilation.stderr));
            return Ok(findings);
        }
        findings.alarms.extend(self.unfounded_warnings(&compilation.stderr));
        let mut printed = Vec::new();
        for seed in self.program.seeds(self.revision()) {
            let (outcome, report, replay) = self.run_seed(&checked, &folder, &seed)?;
            let before = findings.failures.len() + findings.misses.len() + findings.alarms.len();
            self.judge(&outcome, report, &mut findings);
            if findings.failures.len() + findings.misses.len() + findings.alarms.len() > before {
                let mut note = format!("  replay: {replay}");
                for line in outcome.stdout.lines().chain(outcome.stderr.lines()).take(60) {
                    let _ = write!(note, "\n  | {line}");
                }
                for list in [&mut findings.failures, &mut findings.misses, &mut findings.alarms] {
                    if let Some(last) = list.last_mut() {
                        last.push('\n');
                        last.push_str(&note);
                        break;
                    }
                }
            }
            printed.push(outcome.stdout);
        }
        // A program without races prints the same with and without checks. One
        // with races may compute anything.
        if self.program.races(self.revision()).is_empty()
            && self.program.divergences(self.revision()).is_empty()
        {
            self.compare_with_bare(&checked, &folder, &printed, &mut findings)?;
        }
        if findings.failures.is_empty() && findings.misses.is_empty() && findings.alarms.is_empty() {
            // Kept only where somebody will want to look.
            let _ = std::fs::remove_dir_all(&folder);
        }
        Ok(findings)
    }

    /// Where proofs may remove checks. Device code is the same at each
    /// optimisation level, and the expected races are: so each level stands for
    /// a way of pruning, and all must find the same.
    fn prune(&self) -> &'static str {
        match self.opt.as_str() {
            "O0" => "off",
            "O1" => "compile",
            _ => "launch",
        }
    }

    /// Warnings of `-Wgpurace` on lines of which no race is expected.
    fn unfounded_warnings(&self, compilation: &str) -> Vec<String> {
        let races = self.program.races(self.revision());
        let expected =
            |line: Option<u32>| line.is_some() && races.iter().any(|race| race.lines.contains(&line));
        let warnings = compilation.lines().filter(|text| text.ends_with("[-Wgpurace]"));
        warnings
            .filter(|text| {
                let line = text.split(':').nth(1).and_then(|line| line.parse().ok());
                !expected(line)
            })
            .map(|text| format!("unfounded warning: {text}"))
            .collect()
    }

    /// Runs the program without checks, and compares what it prints: by the bare
    /// entries of the checked build at each optimisation level, and at one level
    /// by a build of its own.
    ///
    /// # Errors
    /// Where a program or `gclang` cannot be started or does not end.
    fn compare_with_bare(
        &self,
        checked: &Path,
        folder: &Path,
        printed: &[String],
        findings: &mut Findings,
    ) -> Result<(), String> {
        let args = self.program.words(self.revision(), "run-args");
        let mut unchecked = Command::new(checked);
        unchecked.env("GPURACE_OPTIONS", "device=cpu:skip_kernels=*");
        let mut ways = vec![("its checks skipped", unchecked)];
        let levels = self.program.opt_levels(self.revision());
        if levels.last() == Some(&self.opt) {
            let (bare, compilation) = self.build(Build::Bare, folder)?;
            if compilation.status != Some(0) {
                let why = format!("the bare build fails:\n{}", compilation.stderr);
                findings.failures.push(why);
                return Ok(());
            }
            ways.push(("a bare build", Command::new(bare)));
        }
        for (way, mut command) in ways {
            let outcome = run(command.args(&args).current_dir(folder), folder)?;
            if let Some(other) = printed.iter().find(|p| **p != outcome.stdout) {
                let bare = &outcome.stdout;
                findings.failures.push(format!("prints with checks:\n{other}and with {way}:\n{bare}"));
            }
        }
        Ok(())
    }

    /// Compiles the program into `folder`.
    ///
    /// # Errors
    /// Where `gclang` is missing or does not end.
    pub fn build(&self, build: Build, folder: &Path) -> Result<(PathBuf, Outcome), String> {
        let executable = folder.join(match build {
            Build::Checked => "checked",
            Build::Bare => "bare",
        });
        let flags = self.program.words(self.revision(), "compile-flags");
        // Flags of a program's own may ask for headers of its own.
        if flags.is_empty() {
            let source = std::fs::read_to_string(&self.program.path).map_err(|e| e.to_string())?;
            let sanitize = build == Build::Checked;
            precompiled::provide(folder, &source, sanitize, &self.opt, self.revision())?;
        }
        let mut command = Command::new(tool("gclang++")?);
        command.arg("-fgpurace-exec=cpu").arg(format!("-{}", self.opt));
        if build == Build::Checked {
            command.arg("-fsanitize=gpurace");
            command.arg(format!("-fgpurace-prune={}", self.prune()));
        }
        if let Some(revision) = &self.revision {
            command.arg(format!("-D{}", revision.to_uppercase()));
        }
        command.arg("-I").arg(programs().join("support"));
        command.args(flags);
        command.arg(&self.program.path).arg("-o").arg(&executable).current_dir(folder);
        let outcome = run(&mut command, folder)?;
        Ok((executable, outcome))
    }

    /// Runs the checked build once: what it left, its report, and how to run it
    /// again.
    ///
    /// # Errors
    /// Where the program cannot be started or does not end.
    pub fn run_seed(
        &self,
        executable: &Path,
        folder: &Path,
        seed: &str,
    ) -> Result<(Outcome, Result<Report, String>, String), String> {
        let json = folder.join(format!("report-{seed}.json"));
        let mut options = format!("device=cpu:seed={seed}:json={}", json.display());
        for more in self.program.all(self.revision(), "options") {
            options.push(':');
            options.push_str(more);
        }
        let args = self.program.words(self.revision(), "run-args");
        let replay = format!("GPURACE_OPTIONS={options} {} {}", executable.display(), args.join(" "));
        let mut command = Command::new(executable);
        command
            .args(args)
            .env("GPURACE_OPTIONS", &options)
            // Proofs of other runs are not to be met here.
            .env("XDG_CACHE_HOME", folder)
            .current_dir(folder);
        let outcome = run(&mut command, folder).map_err(|e| format!("{e}\n  replay: {replay}"))?;
        let report = std::fs::read_to_string(&json)
            .map_err(|e| format!("no report `{}`: {e}", json.display()))
            .and_then(|text| Report::parse(&text));
        Ok((outcome, report, replay))
    }

    fn judge(&self, outcome: &Outcome, report: Result<Report, String>, findings: &mut Findings) {
        let revision = self.revision();
        match &report {
            Err(e) => findings.failures.push(e.clone()),
            Ok(report) => {
                let races = self.program.races(revision);
                let divergences = self.program.divergences(revision);
                for mismatch in compare(&races, &divergences, report, &self.program.path) {
                    let message = mismatch.to_string();
                    match mismatch {
                        Mismatch::Missing(_) => findings.misses.push(message),
                        Mismatch::Unexpected(_) => findings.alarms.push(message),
                    }
                }
            }
        }
        // The status follows from what was reported, which has been judged above.
        let reported = report.is_ok_and(|r| !r.races.is_empty() || !r.divergence.is_empty());
        let own = self.program.words(revision, "exit").first().and_then(|s| s.parse().ok());
        let status = own.unwrap_or(if reported { RACE_STATUS } else { 0 });
        if outcome.status != Some(status) {
            let how = outcome.status.map_or("by a signal".into(), |s| format!("with status {s}"));
            findings.failures.push(format!("ended {how}, wanted status {status}"));
        }
        let lines: Vec<&str> = self.program.all(revision, "stdout").collect();
        if !lines.is_empty() && outcome.stdout.lines().collect::<Vec<_>>() != lines {
            findings.failures.push(format!("printed:\n{}wanted:\n{}", outcome.stdout, lines.join("\n")));
        }
        for fragment in self.program.all(revision, "stderr-contains") {
            if !outcome.stderr.contains(fragment) {
                findings.failures.push(format!("no `{fragment}` on standard error"));
            }
        }
    }
}
