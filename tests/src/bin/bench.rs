//! Measures the cost of checks and the speed of the executor, and prints tables in Markdown.
//! `scripts/bench` measures all kernels, and `scripts/bench NAME...` these kernels and families.
//! `scripts/bench ablation` measures the gain of each mechanism that only buys speed, and
//! `scripts/bench --against REVISION` compares this version with another one.
//!
//! Each kernel of `tests/bench` is built without checks, with every check (`-fgpurace-prune=off`),
//! and with proofs at launch (`-fgpurace-prune=launch`). If the machine has OpenCL for its processor,
//! the OpenCL twin of the kernel is built too. The variants run in turn, round after round: a
//! disturbance of the machine meets all of them. A figure is the median of the rounds, with the least
//! and the greatest beside it.

#[path = "bench/ablation.rs"]
mod ablation;
#[path = "bench/against.rs"]
mod against;

use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use gpurace_abi::ablation::Mechanism;
use gpurace_tests::toolchain::{tool, workspace};

/// The kernels by family. Each is the name of a file, `NAME.cu`. Where there is a file `NAME.cl`, it is the
/// twin in OpenCL.
const FAMILIES: [(&str, &[&str]); 8] = [
    ("dense", &["saxpy", "stencil", "march", "nbody", "kmeans", "insertion", "fields"]),
    (
        "tiles",
        &[
            "matmul",
            "registers",
            "transpose",
            "convolution",
            "reduction",
            "bitonic",
            "walsh",
            "fft",
            "wavelet",
            "guarded",
            "lastblock",
        ],
    ),
    // The kernels of GMRace's paper.
    ("gmrace", &["cocluster", "em", "scan", "sweeps", "diagonals", "binomial"]),
    ("warps", &["warpsums", "softmax", "warpscan", "compact", "tails"]),
    ("copies", &["copied", "awaited"]),
    // Addresses that memory or a computation gives. Nothing is proved of `update` and `rounds`.
    (
        "irregular",
        &[
            "spmv",
            "scatter",
            "levels",
            "boxes",
            "radix",
            "hash",
            "histogram",
            "updates",
            "update",
            "rounds",
            "stacks",
        ],
    ),
    ("bytes", &["blur", "pixels", "search", "runs"]),
    ("launches", &["alignment", "lu", "paths"]),
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
    /// The folder of another version's `gclang++`.
    tools: Option<&'a Path>,
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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match bench(&arguments) {
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

fn bench(arguments: &[String]) -> Result<String, String> {
    let folder = workspace().join("target/bench");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let kernels =
        |wanted| Ok::<Vec<&str>, String>(choose(wanted)?.into_iter().flat_map(|(_, all)| all).collect());
    let wanted = match arguments {
        [first, wanted @ ..] if first == "ablation" => return ablation::table(&kernels(wanted)?, &folder),
        [first, tools, wanted @ ..] if first == "--against" => {
            return against::table(&kernels(wanted)?, Path::new(tools), &folder);
        }
        wanted => wanted,
    };
    let chosen = choose(wanted)?;
    let opencl = match has_opencl(&folder) {
        Ok(()) => true,
        Err(why) => {
            eprintln!("bench: without OpenCL: {why}");
            eprintln!("hint: install `pocl-opencl-icd`, `ocl-icd-opencl-dev` and `opencl-c-headers`");
            false
        }
    };
    let mut rows = Rows::default();
    for (family, kernels) in chosen {
        for kernel in kernels {
            rows.add(kernel, &measure(kernel, opencl, &folder)?);
        }
        rows.end(family);
    }
    let mut out = format!("Machine: {}. {ROUNDS} rounds.\n\n", machine());
    out.push_str(&rows.table());
    if wanted.is_empty() {
        out.push('\n');
        out.push_str(&starting(&folder)?);
    }
    Ok(out)
}

/// Returns the wanted kernels by family: all, or those that are named by themselves or by their family.
///
/// # Errors
/// Says which name is unknown.
fn choose(wanted: &[String]) -> Result<Vec<(&'static str, Vec<&'static str>)>, String> {
    let known = |w: &str| FAMILIES.iter().any(|(family, kernels)| *family == w || kernels.contains(&w));
    if let Some(unknown) = wanted.iter().find(|w| !known(w)) {
        let families: Vec<String> =
            FAMILIES.iter().map(|(family, kernels)| format!("{family}: {}", kernels.join(", "))).collect();
        return Err(format!("found `{unknown}`, wanted a family or a kernel:\n{}", families.join("\n")));
    }
    let named = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let chosen = FAMILIES.iter().map(|(family, kernels)| {
        (*family, kernels.iter().copied().filter(|k| named(family) || named(k)).collect::<Vec<_>>())
    });
    Ok(chosen.filter(|(_, kernels)| !kernels.is_empty()).collect())
}

/// Runs a kernel's variants in turn. Returns the runs by variant and round. Those in OpenCL come last, if there are
/// any.
fn measure(kernel: &str, opencl: bool, folder: &Path) -> Result<Vec<Vec<Run>>, String> {
    let mut variants = vec![Variant::Bare, Variant::Checked, Variant::Pruned];
    variants.extend((opencl && source(kernel, "cl").exists()).then_some(Variant::OpenCl));
    eprintln!("bench: {kernel}");
    for &variant in &variants {
        build(&Build { kernel, variant, off: None, tools: None }, folder)?;
    }
    let mut runs: Vec<Vec<Run>> = variants.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (variant, runs) in variants.iter().zip(&mut runs) {
            let program = program(&Build { kernel, variant: *variant, off: None, tools: None }, folder);
            runs.push(run(&program, &REPETITIONS.to_string(), None)?);
        }
    }
    Ok(runs)
}

fn source(kernel: &str, extension: &str) -> PathBuf {
    workspace().join("tests/bench").join(kernel).with_extension(extension)
}

#[derive(Default)]
struct Rows {
    lines: String,
    /// Medians of the ratios of a family: bare to OpenCL, checked to bare, pruned to bare.
    ratios: [Vec<f64>; 3],
    /// Those of the families that have ended.
    all: [Vec<f64>; 3],
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

    /// Ends a family: adds a line with its geometric means.
    fn end(&mut self, family: &str) {
        self.lines.push_str(&means(&format!("*{family}*"), &self.ratios));
        for (all, of_family) in self.all.iter_mut().zip(&mut self.ratios) {
            all.append(of_family);
        }
    }

    fn table(&self) -> String {
        let head = "| kernel | bare, ms | OpenCL, ms | bare / OpenCL | checked / bare | pruned at launch / bare | \
                    buffers, MB | more memory checked, MB |\n|---|---|---|---|---|---|---|---|\n";
        format!("{head}{}{}", self.lines, means("geometric mean of all", &self.all))
    }
}

/// A line of the table with the geometric means of these ratios.
fn means(name: &str, ratios: &[Vec<f64>; 3]) -> String {
    let [opencl, checked, pruned] = ratios.each_ref().map(|ratios| mean(ratios));
    format!("| {name} | | | {opencl} | {checked} | {pruned} | | |\n")
}

/// The geometric mean of these ratios, as text.
fn mean(ratios: &[f64]) -> String {
    match ratios.len() {
        0 => "–".to_owned(),
        n => format!("{:.2}", (ratios.iter().map(|r| r.ln()).sum::<f64>() / n as f64).exp()),
    }
}

/// Measures the start of a program and the launch of an empty kernel, bare, checked and pruned.
fn starting(folder: &Path) -> Result<String, String> {
    let mut out =
        String::from("| | start to end of a program, ms | launch of an empty kernel, µs |\n|---|---|---|\n");
    for (name, variant) in
        [("bare", Variant::Bare), ("checked", Variant::Checked), ("pruned at launch", Variant::Pruned)]
    {
        let launch = Build { kernel: "launch", variant, off: None, tools: None };
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
    let version = build.tools.map_or("", |_| "-before");
    folder.join(format!("{}-{}{off}{version}", build.kernel, build.variant.name()))
}

fn build(build: &Build<'_>, folder: &Path) -> Result<(), String> {
    let Build { kernel, variant, off, tools } = *build;
    let mut command = match variant {
        Variant::OpenCl => {
            let mut command = Command::new("clang++-22");
            command
                .args(["-O2", "-std=c++17", "-x", "c++", "-DBENCH_OPENCL", "-lOpenCL"])
                .arg(format!("-DBENCH_SOURCE=\"{}\"", source(kernel, "cl").display()))
                .arg(source(kernel, "h"));
            command
        }
        Variant::Bare | Variant::Checked | Variant::Pruned => {
            let own = || tool("gclang++");
            let mut command = Command::new(tools.map_or_else(own, |tools| Ok(tools.join("gclang++")))?);
            command.args(["-O2", "-fgpurace-exec=cpu"]);
            match variant {
                Variant::Checked => command.args(["-fsanitize=gpurace", "-fgpurace-prune=off"]),
                Variant::Pruned => command.args(["-fsanitize=gpurace", "-fgpurace-prune=launch"]),
                Variant::Bare | Variant::OpenCl => &mut command,
            };
            command.arg(source(kernel, "cu"));
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
    let saxpy = Build { kernel: "saxpy", variant: Variant::OpenCl, off: None, tools: None };
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
