//! Runs the kernels of an object, or one of them, each bare and checked, and prints a table: the races
//! found, the races expected by the kernel's name, the time of both runs. For `scripts/gpu`, on machines
//! that have a GPU and no compiler.
//!
//! A kernel takes the address of an array of numbers, and their count. Its name begins with `racy_`
//! or `clean_`.

use std::ffi::c_void;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use gpurace_abi::image::{Container, MAGIC};
use gpurace_abi::meta::{KernelMeta, ModuleMeta};
use gpurace_abi::{LaunchShape, gpu_code};
use gpurace_cuda::driver::{self, Stream};
use gpurace_cuda::{Code, Gpu, KernelLaunch, Module, Variant, notes};

const BLOCKS: u32 = 512;
const THREADS: u32 = 256;
const RUNS: usize = 21;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("gpurace-gpu: error: no object given\nhint: `scripts/gpu` makes one and runs it");
        return ExitCode::FAILURE;
    };
    let outcome = std::fs::read(&path)
        .map_err(|e| format!("cannot read `{}`: {e}", path.display()))
        .and_then(|object| run(&object, std::env::args().nth(2).as_deref()));
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("gpurace-gpu: error: {wrong} kernels with another verdict than wanted");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("gpurace-gpu: error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The sections of the container in an object: kind and content.
fn sections(object: &[u8]) -> Option<Vec<(u32, Vec<u8>)>> {
    let at = object.windows(MAGIC.len()).position(|w| w == MAGIC)?;
    let container = Container::at_start_of(&object[at..]).ok()?;
    Some(container.sections().map(|(kind, contents)| (kind, contents.to_vec())).collect())
}

/// The result of one kernel.
struct Outcome {
    races: usize,
    undecided: u64,
    bare: Duration,
    checked: Duration,
    notes: Vec<String>,
}

fn run(object: &[u8], only: Option<&str>) -> Result<usize, String> {
    let wanted = "wanted an object of `gclang -fgpurace-exec=cuda`";
    let sections = sections(object).ok_or(format!("found no device code in it, {wanted}"))?;
    let codes = gpu_code::in_sections(sections.iter().map(|(kind, content)| (*kind, &content[..])));
    let mut gpu = Gpu::open().map_err(|e| e.to_string())?;
    let arch = gpu.device().arch;
    let code = gpu_code::best(&codes, arch).map(|at| &codes[at]);
    let code = code.ok_or(format!("found no code for this GPU, `sm_{arch}`, in it, {wanted}"))?;
    let meta: ModuleMeta =
        serde_json::from_slice(code.meta).map_err(|e| format!("cannot read its description: {e}"))?;
    let variables: Vec<&str> = meta.variables.iter().filter(|v| !v.constant).map(|v| &v.name[..]).collect();
    let code = Code {
        sass: code.sass,
        ptx: code.ptx,
        orders: meta.kernels.iter().any(|k| k.sync.fences),
        annotated: meta.kernels.iter().any(|k| k.sync.annotated),
        variables: &variables,
    };
    let mut module = gpu.load(&code).map_err(|e| e.to_string())?;
    println!("GPU: {}; {BLOCKS} blocks of {THREADS} threads; median of {RUNS} runs", gpu.name());
    println!("| kernel | wanted | found | undecided | bare, us | checked, us | ratio |");
    println!("|---|---|---|---|---|---|---|");
    let mut wrong = 0;
    let mut said = Vec::new();
    let kernels = meta.kernels.iter().filter(|kernel| only.is_none_or(|name| kernel.name == name));
    for kernel in kernels {
        let racy = kernel.name.starts_with("racy_");
        let outcome = one(&mut gpu, &mut module, kernel).map_err(|e| format!("`{}`: {e}", kernel.name))?;
        let found = outcome.races > 0;
        // A clean kernel has no race. A racy one may stay undecided, which the table shows.
        wrong += usize::from(if racy { !found && outcome.undecided == 0 } else { found });
        let micros = |d: Duration| d.as_secs_f64() * 1e6;
        println!(
            "| {} | {} | {} | {} | {:.1} | {:.1} | {:.2} |",
            kernel.name,
            if racy { "race" } else { "none" },
            outcome.races,
            outcome.undecided,
            micros(outcome.bare),
            micros(outcome.checked),
            outcome.checked.as_secs_f64() / outcome.bare.as_secs_f64().max(1e-9),
        );
        said.extend(outcome.notes.into_iter().map(|note| format!("{}: {note}", kernel.name)));
    }
    println!("shadow of global memory: 2 bytes per byte; without shadow: {} bytes", gpu.memory.uncovered);
    for note in said {
        println!("note: {note}");
    }
    Ok(wrong)
}

fn one(gpu: &mut Gpu, module: &mut Module, kernel: &KernelMeta) -> driver::Result<Outcome> {
    let count = BLOCKS * THREADS;
    let array = gpu.allocate(u64::from(count) * 4)?;
    gpu.device().clear(array, u64::from(count) * 4)?;
    let before = gpu.counters().unwrap_or_default();
    let mut time = |gpu: &mut Gpu, variant| -> driver::Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let (mut array, mut count) = (array, count as i32);
            let arguments = [(&raw mut array).cast::<c_void>(), (&raw mut count).cast()];
            let launch = KernelLaunch {
                kernel: &kernel.name,
                variant,
                shape: LaunchShape::flat(BLOCKS, THREADS),
                static_shared: kernel.shared_static,
                cooperative: false,
                observes: false,
                stream: Stream::DEFAULT,
                number: 1,
            };
            let begun = Instant::now();
            // SAFETY: kernels of such objects take an address and a number.
            unsafe { gpu.launch(module, &launch, &arguments) }?;
            gpu.wait()?;
            times.push(begun.elapsed());
        }
        times.sort();
        Ok(times[times.len() / 2])
    };
    let bare = time(gpu, Variant::Bare)?;
    let checked = time(gpu, Variant::Checked)?;
    let races = gpu.take_found().len();
    let mut counters = gpu.counters().unwrap_or_default();
    for (now, then) in [
        (&mut counters.undecided, before.undecided),
        (&mut counters.narrowed, before.narrowed),
        (&mut counters.outside, before.outside),
        (&mut counters.shared_outside, before.shared_outside),
        (&mut counters.contended, before.contended),
        (&mut counters.exhausted, before.exhausted),
        (&mut counters.repeated, before.repeated),
        (&mut counters.lost, before.lost),
    ] {
        *now -= then;
    }
    gpu.memory.free(array)?;
    Ok(Outcome { races, undecided: counters.undecided, bare, checked, notes: notes(&counters, 0, 0) })
}
