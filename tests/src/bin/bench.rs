//! Measures the cost of checks and the speed of the executor, and prints tables in Markdown.
//! `scripts/bench` measures all kernels, and `scripts/bench KERNEL...` these ones. `scripts/bench
//! gmrace` measures those of GMRace's paper, `scripts/bench covered` those in which nothing is proved
//! and one check covers several reads, and `scripts/bench ablation` the gain of each mechanism that
//! only buys speed. `scripts/bench kinds` measures kernels of further kinds.
//!
//! Each kernel of `tests/bench` is built without checks, with every check (`-fgpurace-prune=off`),
//! and with proofs at launch (`-fgpurace-prune=launch`). If the machine has OpenCL for its processor,
//! the OpenCL twin of the kernel is built too. The variants run in turn, round after round: a
//! disturbance of the machine meets all of them. A figure is the median of the rounds, with the least
//! and the greatest beside it.

#[path = "bench/ablation.rs"]
mod ablation;

use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use gpurace_abi::ablation::Mechanism;
use gpurace_tests::toolchain::{tool, workspace};

/// The kernels, by the names of their files.
const KERNELS: [&str; 12] = [
    "saxpy",
    "matmul",
    "reduction",
    "stencil",
    "histogram",
    "nbody",
    "bitonic",
    "spmv",
    "warpsums",
    "softmax",
    "warpscan",
    "compact",
];
/// The kernels of GMRace's paper, by the names of their files. They have no twins in OpenCL, and
/// neither have those in [`COVERED`] and [`KINDS`].
const GMRACE: [&str; 6] = ["cocluster", "em", "scan", "sweeps", "diagonals", "binomial"];
/// Kernels in which nothing is proved, and in which another access's check covers reads.
const COVERED: [&str; 2] = ["update", "rounds"];
/// Kernels of further kinds: with a site that no proof covers, with sums in registers, with loops that read and
/// write, with structs, with fences, with asynchronous copies, with syncs of parts of a warp.
const KINDS: [&str; 10] = [
    "radix",
    "walsh",
    "registers",
    "march",
    "insertion",
    "fields",
    "guarded",
    "lastblock",
    "copied",
    "tails",
];
/// Rounds in which each variant runs once.
const ROUNDS: usize = 5;
/// Timed repetitions in a run.
const REPETITIONS: usize = 3;
/// Launches that `launch.cu` times as one repetition.
const LAUNCHES: f64 = 20000.0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    Bare,
    Checked,
    Pruned,
    OpenCl,
}

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Checked => "checked",
            Self::Pruned => "pruned",
            Self::OpenCl => "opencl",
        }
    }
}

/// One build of a kernel.
#[derive(Clone, Copy)]
struct Build<'a> {
    kernel: &'a str,
    variant: Variant,
    /// The mechanism that the compiler leaves out.
    off: Option<Mechanism>,
}

/// The figures of one run of a program.
struct Run {
    /// Median time of a repetition, in ns.
    ns: f64,
    /// Size of the program's buffers, in bytes.
    bytes: f64,
    /// Largest resident size, in bytes.
    resident: f64,
}

fn main() -> ExitCode {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    let ablation = wanted.first().is_some_and(|first| first == "ablation");
    if ablation {
        wanted.remove(0);
    }
    match bench(&wanted, ablation) {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("bench: error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn bench(wanted: &[String], ablation: bool) -> Result<String, String> {
    let groups = [("gmrace", &GMRACE[..]), ("covered", &COVERED[..]), ("kinds", &KINDS[..])];
    let group_of = |k: &str| groups.iter().find(|group| group.1.contains(&k)).map(|group| group.0);
    let all = || KERNELS.into_iter().chain(GMRACE).chain(COVERED).chain(KINDS);
    let known = |w: &str| groups.iter().any(|group| group.0 == w) || all().any(|k| k == w);
    if let Some(unknown) = wanted.iter().find(|w| !known(w)) {
        let all: Vec<_> = all().collect();
        return Err(format!(
            "found kernel `{unknown}`, wanted `gmrace`, `covered`, `kinds` or one of {}",
            all.join(", ")
        ));
    }
    let folder = workspace().join("target/bench");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    if ablation {
        let kernels: Vec<&str> = all()
            .filter(|k| wanted.is_empty() || wanted.iter().any(|w| w == k || Some(w.as_str()) == group_of(k)))
            .collect();
        return ablation::table(&kernels, &folder);
    }
    let opencl = match has_opencl(&folder) {
        Ok(()) => true,
        Err(why) => {
            eprintln!("bench: without OpenCL: {why}");
            eprintln!("hint: install `pocl-opencl-icd`, `ocl-icd-opencl-dev` and `opencl-c-headers`");
            false
        }
    };
    let mut variants = vec![Variant::Bare, Variant::Checked, Variant::Pruned];
    variants.extend(opencl.then_some(Variant::OpenCl));
    let kernels: Vec<&str> = all()
        .filter(|k| match group_of(k) {
            None => wanted.is_empty() || wanted.iter().any(|w| w == k),
            Some(group) => wanted.iter().any(|w| w == k || w == group),
        })
        .collect();

    let mut rows = Rows::default();
    for kernel in kernels {
        let variants = if group_of(kernel).is_some() { &variants[..3] } else { &variants[..] };
        for &variant in variants {
            build(&Build { kernel, variant, off: None }, &folder)?;
        }
        eprintln!("bench: {kernel}");
        let mut runs: Vec<Vec<Run>> = variants.iter().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            for (variant, runs) in variants.iter().zip(&mut runs) {
                let program = program(&Build { kernel, variant: *variant, off: None }, &folder);
                runs.push(run(&program, &REPETITIONS.to_string(), None)?);
            }
        }
        rows.add(kernel, &runs);
    }
    let mut out = format!("Machine: {}. {ROUNDS} rounds.\n\n", machine());
    out.push_str(&rows.table(opencl));
    if wanted.is_empty() {
        out.push('\n');
        out.push_str(&starting(&folder)?);
    }
    Ok(out)
}

#[derive(Default)]
struct Rows {
    lines: String,
    /// Medians of the ratios: bare to OpenCL, checked to bare, pruned to bare.
    ratios: [Vec<f64>; 3],
}

impl Rows {
    /// Adds a line to the table. `runs` holds the runs by variant and round.
    fn add(&mut self, kernel: &str, runs: &[Vec<Run>]) {
        let ns = |v: usize| spread(runs[v].iter().map(|r| r.ns).collect());
        // The ratio compares runs of one round.
        let ratio =
            |a: usize, b: usize| spread(runs[a].iter().zip(&runs[b]).map(|(a, b)| a.ns / b.ns).collect());
        let _ = write!(self.lines, "| {kernel} | {:.2} |", ns(0)[1] / 1e6);
        if runs.len() > 3 {
            let [least, median, most] = ratio(0, 3);
            let _ = write!(self.lines, " {:.2} | {median:.2} ({least:.2} to {most:.2}) |", ns(3)[1] / 1e6);
            self.ratios[0].push(median);
        } else {
            self.lines.push_str(" – | – |");
        }
        for (i, checked) in [1, 2].into_iter().enumerate() {
            let [least, median, most] = ratio(checked, 0);
            let _ = write!(self.lines, " {median:.2} ({least:.2} to {most:.2}) |");
            self.ratios[i + 1].push(median);
        }
        let resident = |v: usize| spread(runs[v].iter().map(|r| r.resident).collect())[1];
        let more = resident(1) - resident(0);
        let _ = writeln!(self.lines, " {:.1} | {:.1} |", runs[0][0].bytes / 1e6, more / 1e6);
    }

    fn table(&self, opencl: bool) -> String {
        let mut out = String::from(
            "| kernel | bare, ms | OpenCL, ms | bare / OpenCL | checked / bare | pruned at launch / bare | buffers, MB | more memory checked, MB |\n\
             |---|---|---|---|---|---|---|---|\n",
        );
        out.push_str(&self.lines);
        let mean = |v: &Vec<f64>| (v.iter().map(|r| r.ln()).sum::<f64>() / v.len() as f64).exp();
        let first = if opencl && !self.ratios[0].is_empty() {
            format!("{:.2}", mean(&self.ratios[0]))
        } else {
            "–".into()
        };
        let _ = writeln!(
            out,
            "| geometric mean | | | {first} | {:.2} | {:.2} | | |",
            mean(&self.ratios[1]),
            mean(&self.ratios[2])
        );
        out
    }
}

/// Measures the start of a program and the launch of an empty kernel, bare, checked and pruned.
fn starting(folder: &Path) -> Result<String, String> {
    let mut out =
        String::from("| | start to end of a program, ms | launch of an empty kernel, µs |\n|---|---|---|\n");
    for (name, variant) in
        [("bare", Variant::Bare), ("checked", Variant::Checked), ("pruned at launch", Variant::Pruned)]
    {
        let launch = Build { kernel: "launch", variant, off: None };
        build(&launch, folder)?;
        let program = program(&launch, folder);
        let (mut starts, mut launches) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            run(&program, "tiny", None)?;
            starts.push(begin.elapsed().as_nanos() as f64);
            launches.push(run(&program, "3", None)?.ns / LAUNCHES);
        }
        let ([s0, s, s1], [l0, l, l1]) = (spread(starts), spread(launches));
        let _ = writeln!(
            out,
            "| {name} | {:.1} ({:.1} to {:.1}) | {:.2} ({:.2} to {:.2}) |",
            s / 1e6,
            s0 / 1e6,
            s1 / 1e6,
            l / 1e3,
            l0 / 1e3,
            l1 / 1e3
        );
    }
    Ok(out)
}

/// Returns the least value, the median and the greatest.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values[0], values[values.len() / 2], values[values.len() - 1]]
}

fn program(build: &Build<'_>, folder: &Path) -> PathBuf {
    let off = build.off.map_or_else(String::new, |off| format!("-without-{}", off.name()));
    folder.join(format!("{}-{}{off}", build.kernel, build.variant.name()))
}

fn build(build: &Build<'_>, folder: &Path) -> Result<(), String> {
    let Build { kernel, variant, off } = *build;
    let sources = workspace().join("tests/bench");
    let mut command = match variant {
        Variant::OpenCl => {
            let mut command = Command::new("clang++-22");
            let kernels = sources.join(format!("{kernel}.cl"));
            command
                .args(["-O2", "-std=c++17", "-x", "c++", "-DBENCH_OPENCL", "-lOpenCL"])
                .arg(format!("-DBENCH_SOURCE=\"{}\"", kernels.display()))
                .arg(sources.join(format!("{kernel}.h")));
            command
        }
        Variant::Bare | Variant::Checked | Variant::Pruned => {
            let mut command = Command::new(tool("gclang++")?);
            command.args(["-O2", "-fgpurace-exec=cpu"]);
            match variant {
                Variant::Checked => command.args(["-fsanitize=gpurace", "-fgpurace-prune=off"]),
                Variant::Pruned => command.args(["-fsanitize=gpurace", "-fgpurace-prune=launch"]),
                Variant::Bare | Variant::OpenCl => &mut command,
            };
            command.arg(sources.join(format!("{kernel}.cu")));
            command
        }
    };
    command.arg("-o").arg(program(build, folder));
    command.env("GPURACE_ABLATE", off.map_or("", Mechanism::name));
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

fn has_opencl(folder: &Path) -> Result<(), String> {
    let saxpy = Build { kernel: "saxpy", variant: Variant::OpenCl, off: None };
    build(&saxpy, folder)?;
    run(&program(&saxpy, folder), "tiny", None).map(|_| ())
}

/// Runs a program of `tests/bench`, without a mechanism if one is given.
fn run(program: &Path, argument: &str, off: Option<Mechanism>) -> Result<Run, String> {
    let mut command = Command::new(program);
    command
        .arg(argument)
        .env_remove("GPURACE_OPTIONS")
        .env("GPURACE_ABLATE", off.map_or("", Mechanism::name))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // The alarm ends a program that hangs.
    // SAFETY: `alarm` is safe between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::alarm(900);
            Ok(())
        });
    }
    let child = command.spawn().map_err(|e| format!("{}: {e}", program.display()))?;
    let (output, resident) = wait(child)?;
    let fail = |what: &str| format!("{} {argument}: {what}", program.display());
    let line = output.lines().next().ok_or_else(|| fail("no output"))?;
    let mut words = line.split_whitespace().skip(1);
    let mut times: Vec<f64> = words.by_ref().map_while(|w| w.parse().ok()).collect();
    // The word `bytes` has ended the list of times.
    let bytes = words.next().and_then(|w| w.parse().ok());
    let (Some(bytes), false) = (bytes, times.is_empty()) else {
        return Err(fail(&format!("found `{line}`, wanted a name, times, `bytes` and a number")));
    };
    times.sort_by(f64::total_cmp);
    Ok(Run { ns: times[times.len() / 2], bytes, resident })
}

/// Waits for a process. Returns its output and its largest resident size in bytes.
fn wait(mut child: std::process::Child) -> Result<(String, f64), String> {
    use std::io::Read as _;
    let mut out = String::new();
    let mut errors = String::new();
    // The program prints a few lines only, which fit the pipes.
    child.stdout.take().map(|mut s| s.read_to_string(&mut out));
    child.stderr.take().map(|mut s| s.read_to_string(&mut errors));
    let mut status = 0;
    // SAFETY: all-zero bytes are a `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the process is a child that nobody has waited for; both places are writable.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    if waited < 0 || status != 0 {
        return Err(format!("a benchmark ended with wait status {status}:\n{out}{errors}"));
    }
    Ok((out, usage.ru_maxrss as f64 * 1024.0))
}

/// Returns the processor's name and the number of cores.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split(':').nth(1))
        .map_or("unknown processor", str::trim);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {cores} cores")
}
