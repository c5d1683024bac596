//! One program at one revision and optimisation level, from source to verdict.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::annotation::{self, Known, Program};
use crate::compare::{Mismatch, compare, too_wide};
use crate::diff::{moved, patched};
use crate::precompiled;
use crate::report::{Finding, Report};
use crate::toolchain::{Outcome, programs, run, tool, work_folder};

/// The exit status of a program with a race, unless the option `exitcode` sets another one.
pub const RACE_STATUS: i32 = 66;

/// A program at one revision and optimisation level.
#[derive(Clone, Debug)]
pub struct Case {
    /// The program.
    pub program: Program,
    /// The revision; `None` in a program without revisions.
    pub revision: Option<String>,
    /// `O0` to `O3`.
    pub opt: String,
}

/// The kind of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// Checks for races: `-fsanitize=gpurace`.
    Checked,
    /// Runs on the CPU executor without checks.
    Bare,
}

/// Messages about the differences between a case and its annotations.
#[derive(Clone, Debug, Default)]
struct Findings {
    misses: Vec<String>,
    alarms: Vec<String>,
    failures: Vec<String>,
}

impl Findings {
    fn count(&self) -> usize {
        self.misses.len() + self.alarms.len() + self.failures.len()
    }

    /// Appends a note to the last message.
    fn annotate(&mut self, note: &str) {
        let lists = [&mut self.failures, &mut self.misses, &mut self.alarms];
        if let Some(message) = lists.into_iter().find_map(|list| list.last_mut()) {
            message.push('\n');
            message.push_str(note);
        }
    }
}

/// Returns the cases of all programs in a folder of `tests/programs`, sorted by name.
///
/// # Errors
/// If an annotation is wrong or a folder cannot be read.
pub fn collect(folder: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for path in program_files(folder)? {
        let program = Program::load(&programs(), &path)?;
        for revision in &program.revisions {
            for opt in program.opt_levels(revision.as_deref()) {
                cases.push(Case { program: program.clone(), revision: revision.clone(), opt });
            }
        }
    }
    Ok(cases)
}

/// Returns the `.cu` files under a folder of `tests/programs`, at any depth, sorted.
///
/// # Errors
/// Names the folder that cannot be read.
pub fn program_files(folder: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![programs().join(folder)];
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
    /// Returns the name of the case, such as `race/barrier/scan_in_place::racy::O2`.
    pub fn name(&self) -> String {
        match &self.revision {
            Some(revision) => format!("{}::{revision}::{}", self.program.name, self.opt),
            None => format!("{}::{}", self.program.name, self.opt),
        }
    }

    fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// Returns the known fault of gpurace that the case shows.
    pub fn known(&self) -> Option<Known> {
        self.program.known(self.revision())
    }

    /// True if the program needs a GPU.
    pub fn needs_gpu(&self) -> bool {
        self.program.words(self.revision(), "requires").contains(&"gpu")
    }

    /// True if no race and no divergence is declared.
    pub fn is_right(&self) -> bool {
        let revision = self.revision();
        self.program.races(revision).is_empty() && self.program.divergences(revision).is_empty()
    }

    /// Builds the program, runs it with every seed and compares the results with its annotations.
    ///
    /// # Errors
    /// Describes each difference. A case with a `known-...` directive fails if there is none.
    pub fn check(&self) -> Result<(), String> {
        let findings = self.findings()?;
        let Findings { misses, alarms, failures } = &findings;
        let holds = |wanted: &[String], others: [&[String]; 2]| {
            if others.iter().any(|o| !o.is_empty()) {
                Err([wanted, others[0], others[1]].concat().join("\n"))
            } else if wanted.is_empty() {
                Err("the known fault is gone: remove the `known-...` directive".to_owned())
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
        let mut tried = HashMap::new();
        for seed in self.program.seeds(self.revision()) {
            let (outcome, report, replay) = self.run_seed(&checked, &folder, &seed)?;
            let before = findings.count();
            let is_last_level = self.program.opt_levels(self.revision()).last() == Some(&self.opt);
            if let Ok(report) = &report {
                // What other schedules offer differs little. What other levels prove may.
                if is_last_level || seed == "0" {
                    self.try_fixes(report, &folder, &mut tried, &mut findings)?;
                }
                if is_last_level {
                    self.compare_findings(report, &seed, &mut findings);
                }
            }
            self.judge(&outcome, report, &mut findings);
            if findings.count() > before {
                let mut note = format!("  replay: {replay}");
                for line in outcome.stdout.lines().chain(outcome.stderr.lines()).take(60) {
                    let _ = write!(note, "\n  | {line}");
                }
                findings.annotate(&note);
            }
            printed.push(outcome.stdout);
        }
        // A race-free program prints the same with and without checks. A racy program may print anything.
        if self.is_right() {
            self.compare_with_bare(&checked, &folder, &printed, &mut findings)?;
        }
        if findings.count() == 0 {
            // The folder of a failed case stays, for whoever looks for the cause.
            let _ = std::fs::remove_dir_all(&folder);
        }
        Ok(findings)
    }

    /// Returns the value of `-fgpurace-prune`. Device code and expected races are the same at each
    /// optimisation level. Therefore each level tests another way to prune. What the compiler proves is
    /// part of what is proved by the launch, so few programs need `O1`.
    fn prune(&self) -> &'static str {
        match self.opt.as_str() {
            "O0" => "off",
            "O1" => "compile",
            _ => "launch",
        }
    }

    /// Returns the warnings of `-Wgpurace` about lines on which no race is declared.
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

    /// Applies each change of the source that a report offers. All races of the finding must be gone then, and the
    /// program must still end. `tried` holds what is known of each changed source: other schedules offer the same
    /// changes again.
    ///
    /// # Errors
    /// If `gclang` or the program cannot be started or does not end.
    fn try_fixes(
        &self,
        report: &Report,
        folder: &Path,
        tried: &mut HashMap<String, Result<Report, String>>,
        findings: &mut Findings,
    ) -> Result<(), String> {
        let source = std::fs::read_to_string(&self.program.path).map_err(|e| e.to_string())?;
        for finding in &report.findings {
            let Some(diff) = &finding.fix.diff else { continue };
            let fixed = patched(&source, diff);
            if !tried.contains_key(&fixed) {
                let folder = folder.join(format!("fix-{}", tried.len()));
                let after = self.changed_to(&fixed, &folder)?;
                tried.insert(fixed.clone(), after);
            }
            let after = match &tried[&fixed] {
                Ok(after) => after,
                Err(why) => {
                    findings.failures.push(format!("a fix does not work:\n{diff}{why}"));
                    continue;
                }
            };
            if let Some(left) = after.findings.iter().find(|left| left.fingerprint == finding.fingerprint) {
                findings.failures.push(format!("a fix leaves `{}`:\n{diff}{}", left.title, left.why));
            }
            // The number of a barrier interval is part of a fingerprint, and the new barrier changes it.
            let mended: Vec<_> = finding.races.iter().map(|&race| moved(&report.races[race], diff)).collect();
            if let Some(left) = after.races.iter().find(|race| mended.contains(&moved(race, ""))) {
                let lines = left.accesses.each_ref().map(|access| access.line.unwrap_or_default());
                findings.failures.push(format!("a fix leaves a race of lines {lines:?}:\n{diff}"));
            }
            // Without the prover nothing is known of what the run did not show.
            if report.findings.len() == 1
                && self.prune() != "off"
                && let Some(left) = after.findings.first()
            {
                let how = format!("a fix of all leaves `{}`:\n{diff}{}", left.title, left.why);
                findings.failures.push(how);
            }
            let left = &after.findings;
            if report.divergence.is_empty() && left.iter().any(|left| left.cause == "divergence") {
                findings.failures.push(format!("a fix makes threads wait for others:\n{diff}"));
            }
        }
        Ok(())
    }

    /// Returns the report of the program after a change of its source, or why the changed program does not compile or
    /// has no report.
    ///
    /// # Errors
    /// If `gclang` or the program cannot be started or does not end.
    fn changed_to(&self, source: &str, folder: &Path) -> Result<Result<Report, String>, String> {
        std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
        let mut changed = self.clone();
        changed.program.path = folder.join("fixed.cu");
        std::fs::write(&changed.program.path, source).map_err(|e| e.to_string())?;
        let (executable, compilation) = changed.build(Build::Checked, folder)?;
        if compilation.status != Some(0) {
            return Ok(Err(compilation.stderr));
        }
        let (_, report, _) = changed.run_seed(&executable, folder, "0")?;
        Ok(report)
    }

    /// Checks that a racy build has the declared findings, under the schedule without a seed. A build whose races
    /// are certain must declare them.
    fn compare_findings(&self, report: &Report, seed: &str, findings: &mut Findings) {
        let wanted = self.program.words(self.revision(), "findings");
        let is_racy = self.program.races(self.revision()).iter().any(|race| !race.optional);
        if seed != "0" || self.program.known(self.revision()).is_some() || wanted.is_empty() && !is_racy {
            return;
        }
        let mut found: Vec<String> = report.findings.iter().filter_map(Finding::name).collect();
        found.sort();
        if !annotation::are_causes(&wanted, &found) {
            let [found, wanted] = [found.join(" "), wanted.join(" ")];
            findings.failures.push(format!("findings: `{found}`, declared: `{wanted}`"));
        }
        let fixes = report.findings.iter().filter(|finding| finding.fix.diff.is_some()).count();
        if let Some(wanted) = self.program.all(self.revision(), "fixes").next()
            && wanted != fixes.to_string()
        {
            findings.failures.push(format!("{fixes} fixes, declared: {wanted}"));
        }
    }

    /// Runs the program without checks and compares its output with that of the checked runs. At each
    /// optimisation level it runs the bare kernels of the checked build, and at the last level a build
    /// without checks too.
    ///
    /// # Errors
    /// If the program or `gclang` cannot be started or does not end.
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
                let Outcome { status, stdout, stderr, .. } = &outcome;
                findings.failures.push(format!(
                    "prints with checks:\n{other}and with {way}:\n{stdout}(status {status:?})\n{stderr}"
                ));
            }
        }
        Ok(())
    }

    /// Compiles the program into `folder`.
    ///
    /// # Errors
    /// If `gclang` is missing or does not end.
    pub fn build(&self, build: Build, folder: &Path) -> Result<(PathBuf, Outcome), String> {
        let executable = folder.join(match build {
            Build::Checked => "checked",
            Build::Bare => "bare",
        });
        let flags = self.program.words(self.revision(), "compile-flags");
        let source = std::fs::read_to_string(&self.program.path).map_err(|e| e.to_string())?;
        let sanitize = build == Build::Checked;
        // Not where the program runs: its precompiled headers are none for what it compiles itself.
        let place = folder.join("build");
        std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        precompiled::provide(&place, &source, sanitize, &self.opt, &flags)?;
        let mut command = Command::new(tool("gclang++")?);
        command.arg("-fgpurace-exec=cpu").arg(format!("-{}", self.opt));
        if sanitize {
            command.arg("-fsanitize=gpurace");
            command.arg(format!("-fgpurace-prune={}", self.prune()));
        }
        if let Some(revision) = &self.revision {
            // With another `-D`, clang refuses a precompiled header. With another `-include`, it does not.
            let header = folder.join("revision.h");
            let line = format!("#define {} 1\n", revision.to_uppercase());
            std::fs::write(&header, line).map_err(|e| format!("{}: {e}", header.display()))?;
            command.arg("-include").arg(&header);
        }
        // lld links faster. Other suites link with the default linker.
        command.arg("-fuse-ld=lld").arg("-I").arg(programs().join("support"));
        command.args(flags);
        command.arg(&self.program.path).current_dir(&place);
        if !self.program.words(self.revision(), "module").is_empty() {
            let mut alone = Command::new(command.get_program());
            alone.args(command.get_args()).current_dir(&place);
            alone.args(["--cuda-device-only", "-o"]).arg(executable.with_extension("fatbin"));
            let outcome = run(&mut alone, folder)?;
            if outcome.status != Some(0) {
                return Ok((executable, outcome));
            }
        }
        let outcome = run(command.arg("-o").arg(&executable), folder)?;
        Ok((executable, outcome))
    }

    /// Runs the checked build once. Returns its outcome, its report and a command that repeats the run.
    ///
    /// # Errors
    /// If the program cannot be started or does not end.
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
            // No proof of an earlier run may be used.
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
        // The right status depends on the report, which was compared above.
        let reported = report.is_ok_and(|report| !report.findings.is_empty());
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
        for line in too_wide(&outcome.stderr) {
            findings.failures.push(format!("a line of the report is too wide:\n{line}"));
        }
        for fragment in self.program.all(revision, "stderr-contains") {
            if !outcome.stderr.contains(fragment) {
                findings.failures.push(format!("no `{fragment}` on standard error"));
            }
        }
    }
}
