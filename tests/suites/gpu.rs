//! Code for an NVIDIA GPU, as far as it can be tested without one. `ptxas`, which is part of the
//! toolkit, must accept the code. The behaviour on a GPU is not tested here.
//!
//! `GPURACE_GPU_PROGRAMS=all` tests every program of `race/`, `clean/` and `exec/` for each
//! architecture; another value tests the programs with this text in their path. By default a sample
//! is tested.

use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_tests::case::program_files;
use gpurace_tests::toolchain::{Outcome, programs, run, tool, work_folder};

const ARCHITECTURES: [&str; 3] = ["sm_75", "sm_80", "sm_90"];

/// Programs with all kinds of synchronisation and memory access.
const SAMPLE: [&str; 13] = [
    // The address of a check is a constant.
    "race/atomics/device_variable_plain_counter.cu",
    "race/barrier/block_barrier_across_blocks.cu",
    "race/warp/syncwarp_mask_too_narrow.cu",
    "race/async_copies/cp_async_mbarrier.cu",
    "race/host/host_reads_managed_variable.cu",
    "race/fences/grid_barrier_without_fences.cu",
    "clean/last_block_reduction_of_the_guide.cu",
    "clean/cooperative_groups_sync_in_branches.cu",
    "exec/math_functions.cu",
    "exec/malloc_in_kernel.cu",
    "race/elements/fragments_side_by_side.cu",
    "race/elements/matrix_rows_stored_beside_others.cu",
    "race/clusters/cluster_shared_by_ptx.cu",
];

fn gclang(folder: &Path, arguments: &[&str]) -> Outcome {
    try_gclang(folder, arguments).unwrap()
}

fn try_gclang(folder: &Path, arguments: &[&str]) -> Result<Outcome, String> {
    let mut command = Command::new(tool("gclang++")?);
    command.arg(format!("-I{}", programs().join("support").display())).args(arguments).current_dir(folder);
    run(&mut command, folder)
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// True if a build says that the checker for a GPU, or the GPU itself, does not support the program.
fn is_refusal(said: &str) -> bool {
    // `ptxas` refuses an instruction that the GPU is too old for.
    said.contains("requires .target sm_") || said.contains("are not known there")
}

#[test]
fn ptxas_takes_checked_programs() {
    // `all`, or a part of the path of the wanted programs.
    let wanted = std::env::var("GPURACE_GPU_PROGRAMS").ok();
    let all = wanted.is_some();
    let is_wanted = |path: &Path| {
        wanted.as_ref().is_some_and(|part| part == "all" || path.to_string_lossy().contains(part))
    };
    let mut sources: Vec<PathBuf> = SAMPLE.iter().map(|name| programs().join(name)).collect();
    if all {
        sources = ["race", "clean", "exec"]
            .iter()
            .flat_map(|folder| program_files(folder).unwrap())
            .filter(|path| is_wanted(path))
            .collect();
    }
    let folder = work_folder("gpu-ptxas").unwrap();
    let (mut built, mut refused, mut failed) = (0, 0, Vec::new());
    for (index, source) in sources.iter().enumerate() {
        let text = std::fs::read_to_string(source).unwrap();
        if text.contains("-fgpu-rdc") || text.contains("//@ files") {
            continue;
        }
        // Some programs need a newer GPU.
        let oldest = text
            .split_once("--cuda-gpu-arch=")
            .map_or("", |(_, rest)| rest.split_whitespace().next().unwrap_or(""));
        let architectures: Vec<&str> = ARCHITECTURES.into_iter().filter(|arch| *arch >= oldest).collect();
        for (n, arch) in architectures.iter().enumerate() {
            // Each architecture gets a part of the sample.
            if !all && (index + n) % architectures.len() != 0 {
                continue;
            }
            let source = source.to_str().unwrap();
            // Warnings of the executor's build do not matter here.
            let made = try_gclang(
                &folder,
                &[
                    "-fsanitize=gpurace",
                    "-fgpurace-exec=cuda",
                    "-std=c++17",
                    "-w",
                    &format!("--cuda-gpu-arch={arch}"),
                    "-c",
                    source,
                    "-o",
                    "a.o",
                ],
            );
            // A build that does not end in time does not stop the test of the others.
            match made {
                Ok(made) if made.status == Some(0) => built += 1,
                Ok(made) if is_refusal(&made.stderr) => refused += 1,
                Ok(made) => failed.push(format!("{source} for {arch}: {}", made.stderr)),
                Err(why) => failed.push(format!("{source} for {arch}: {why}")),
            }
        }
    }
    println!("{built} built, {refused} refused, {} failed", failed.len());
    assert!(built > 5);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

const KERNEL: &str = "
__device__ int total;
__global__ void add(int *a) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  atomicAdd(&total, s[63 - threadIdx.x]);
}
int main() {
  int *a;
  cudaMalloc(&a, 256);
  add<<<1, 64>>>(a);
  return cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}
";

/// Returns the PTX in an object.
fn ptx(object: &Path) -> Option<String> {
    let bytes = std::fs::read(object).unwrap();
    let begin = b"//\n// Generated by LLVM NVPTX Back-End";
    let at = bytes.windows(begin.len()).position(|w| w == begin)?;
    let end = bytes[at..].iter().position(|&b| b == 0)?;
    Some(String::from_utf8(bytes[at..at + end].to_vec()).unwrap())
}

/// Returns the body of an entry.
fn entry<'a>(ptx: &'a str, name: &str) -> &'a str {
    let at = ptx.find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no entry `{name}`"));
    let end = ptx[at..].find("\n}").unwrap();
    &ptx[at..at + end]
}

#[test]
fn kernels_are_there_bare_and_checked() {
    let folder = work_folder("gpu-variants").unwrap();
    write(&folder, "k.cu", KERNEL);
    let made = gclang(&folder, &["-fsanitize=gpurace", "-fgpurace-exec=auto", "-c", "k.cu", "-o", "k.o"]);
    assert_eq!((made.status, made.stderr.as_str()), (Some(0), ""));
    let ptx = ptx(&folder.join("k.o")).expect("PTX in the object");
    let checked = entry(&ptx, "_Z3addPi__gpurace_checked");
    for called in
        ["__gpurace_enter", "__gpurace_read", "__gpurace_write", "__gpurace_atomic", "__gpurace_leave"]
    {
        assert!(checked.contains(called) || called != "__gpurace_enter", "`{called}` in\n{checked}");
    }
    assert!(checked.contains("bar.sync"));
    let bare = entry(&ptx, "_Z3addPi");
    assert!(bare.contains("bar.sync") && !bare.contains("gpurace"), "{bare}");
    // Bare and checked code use the same variable.
    assert_eq!(ptx.matches(".visible .global .align 4 .u32 total").count(), 1, "one `total`");
    assert!(ptx.contains(".entry __gpurace_begin("));
}

#[test]
fn kernels_of_templates_are_there_bare_and_checked_too() {
    let folder = work_folder("gpu-templates").unwrap();
    write(
        &folder,
        "k.cu",
        "
template <class T> __device__ __noinline__ T twice(T x) { return x < 1000 ? twice(x * 2) : x; }
inline __device__ __noinline__ int once(int x) { return x * 3; }
template <class T> __global__ void scale(T *a) { a[threadIdx.x] = twice(a[threadIdx.x]) + once(threadIdx.x); }
static __global__ void of_file(int *a) { a[threadIdx.x]++; }
namespace { __global__ void of_nobody(int *a) { a[threadIdx.x]++; } }
int main() {
  scale<<<1, 64>>>((int *)0);
  scale<<<1, 64>>>((float *)0);
  of_file<<<1, 64>>>((int *)0);
  of_nobody<<<1, 64>>>((int *)0);
}
",
    );
    // `ptxas` would refuse an undefined function.
    let made = gclang(
        &folder,
        &["-fsanitize=gpurace", "-fgpurace-exec=cuda", "--cuda-gpu-arch=sm_80", "-c", "k.cu", "-o", "k.o"],
    );
    assert_eq!((made.status, &made.stderr[..]), (Some(0), ""));
    let ptx = ptx(&folder.join("k.o")).unwrap();
    let entries: Vec<&str> =
        ptx.lines().filter_map(|line| line.split_once(".visible .entry ")?.1.strip_suffix('(')).collect();
    for kernel in ["_Z5scaleIiEvPT_", "_Z5scaleIfEvPT_"] {
        assert!(entries.contains(&kernel), "{entries:?}");
        assert!(entries.contains(&&format!("{kernel}__gpurace_checked")[..]), "{entries:?}");
        assert!(!entry(&ptx, kernel).contains("gpurace"));
    }
    // Each kernel stands there bare and checked; one more begins launches.
    assert_eq!(entries.len(), 4 * 2 + 1, "{entries:?}");
}

#[test]
fn without_a_word_code_for_a_gpu_is_made_too() {
    let folder = work_folder("gpu-default").unwrap();
    write(&folder, "k.cu", KERNEL);
    let made = |flags: &[&str]| {
        let made = gclang(&folder, &[flags, &["-fsanitize=gpurace", "-c", "k.cu", "-o", "k.o"]].concat());
        assert_eq!((made.status, &made.stderr[..]), (Some(0), ""), "{flags:?}");
        ptx(&folder.join("k.o")).is_some()
    };
    assert!(made(&[]));
    assert!(!made(&["-fgpurace-exec=cpu"]));
    // For a GPU without independent thread scheduling there is no code. The build says nothing,
    // because the user has not asked for code for a GPU.
    assert!(!made(&["--cuda-gpu-arch=sm_60"]));
    // The program holds the reason, and prints it on a machine with a GPU.
    write(&folder, "table.cu", TABLE_OF_SHARED);
    let silent = gclang(&folder, &["-fsanitize=gpurace", "-w", "-c", "table.cu", "-o", "table.o"]);
    assert_eq!((silent.status, &silent.stderr[..]), (Some(0), ""));
    let object = std::fs::read(folder.join("table.o")).unwrap();
    let why = b"constants that are addresses of shared memory are not known there";
    assert!(object.windows(why.len()).any(|w| w == why));
}

/// A kernel that needs a constant with addresses of shared memory. The executor can have such
/// constants, PTX cannot.
const TABLE_OF_SHARED: &str = "
__global__ void k(int* out) {
    __shared__ int a[32], b[32];
    int* rows[] = {a, b};
    rows[threadIdx.x % 2][0] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = a[0] + b[0];
}
int main() {
    int* out;
    cudaMalloc(&out, 32 * sizeof(int));
    k<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}
";

/// Returns the words after `.target` in the PTX of a file, and the number of images in a processor's
/// own code.
fn targets(file: &Path) -> (Vec<String>, usize) {
    let bytes = std::fs::read(file).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let targets = text.match_indices("\n.target ").map(|(at, found)| {
        text[at + found.len()..].split(|c: char| c.is_whitespace() || c == ',').next().unwrap().to_owned()
    });
    // ELF files for machine 190, CUDA.
    let own =
        bytes.windows(20).filter(|w| w.starts_with(b"\x7fELF\x02\x01\x01") && w[18..] == [190, 0]).count();
    (targets.collect(), own)
}

#[test]
fn each_architecture_has_code_of_its_own() {
    let folder = work_folder("gpu-archs").unwrap();
    write(
        &folder,
        "k.cu",
        &KERNEL.replace(
            "__syncthreads();",
            "
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
      asm volatile(\"setmaxnreg.inc.sync.aligned.u32 128;\");  // of sm_90a alone
#endif
      __syncthreads();",
        ),
    );
    let archs = ["--cuda-gpu-arch=sm_60", "--cuda-gpu-arch=sm_80", "--offload-arch=sm_90a"];
    for (exec, own) in [("-fgpurace-exec=auto", 0), ("-fgpurace-exec=cuda", 2)] {
        let made = gclang(
            &folder,
            &[&archs[..], &["-fsanitize=gpurace", exec, "-w", "-c", "k.cu", "-o", "k.o"]].concat(),
        );
        assert_eq!((made.status, &made.stderr[..]), (Some(0), ""), "{exec}");
        let (ptx, sass) = targets(&folder.join("k.o"));
        // The checker for a GPU needs sm_70 or newer.
        assert_eq!(ptx, ["sm_80", "sm_90a"], "{exec}");
        assert_eq!(sass, own, "{exec}");
    }
    // Where `ptxas` runs, it refuses an instruction that the processor lacks.
    let wrong = [
        "--cuda-gpu-arch=sm_80",
        "--cuda-gpu-arch=sm_90",
        "-fsanitize=gpurace",
        "-fgpurace-exec=cuda",
        "-w",
        "-c",
        "k.cu",
    ];
    let refused = gclang(&folder, &wrong);
    assert!(
        refused.status != Some(0) && refused.stderr.contains("no code for a GPU was made from `k.cu`"),
        "{}",
        refused.stderr
    );
    // An error in the source for one architecture is an error of the compiler.
    write(
        &folder,
        "e.cu",
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n#error newer\n#endif\n__global__ void k() {}\n",
    );
    let error = gclang(
        &folder,
        &["--cuda-gpu-arch=sm_80", "--cuda-gpu-arch=sm_90", "-fsanitize=gpurace", "-c", "e.cu"],
    );
    assert!(error.status != Some(0) && error.stderr.contains("error: newer"), "{}", error.stderr);
}

#[test]
fn largest_blocks_have_room_for_checks() {
    let folder = work_folder("gpu-bounds").unwrap();
    write(
        &folder,
        "k.cu",
        "
__global__ void free_of_bounds(int *a) { a[threadIdx.x]++; }
__global__ void __launch_bounds__(128) bounded(int *a) { a[threadIdx.x]++; }
",
    );
    let made = gclang(&folder, &["-fsanitize=gpurace", "-c", "k.cu", "-o", "k.o"]);
    assert_eq!((made.status, &made.stderr[..]), (Some(0), ""));
    let ptx = ptx(&folder.join("k.o")).unwrap();
    let bound = |name: &str| {
        let (_, rest) = entry(&ptx, name).split_once(".maxntid ")?;
        Some(rest.chars().take_while(char::is_ascii_digit).collect::<String>())
    };
    assert_eq!(bound("_Z14free_of_boundsPi__gpurace_checked").as_deref(), Some("1024"));
    assert_eq!(bound("_Z7boundedPi__gpurace_checked").as_deref(), Some("128"));
    // The bare code keeps the bounds of the program.
    assert_eq!(bound("_Z14free_of_boundsPi"), None);
    assert_eq!(bound("_Z7boundedPi").as_deref(), Some("128"));
}

#[test]
fn separately_compiled_code_is_made_at_the_link() {
    let folder = work_folder("gpu-separate").unwrap();
    write(
        &folder,
        "k.cu",
        "
extern __device__ int counter;
__device__ void bump(int *);
__global__ void work(int *a) { bump(a); bump(&counter); }
int main() {
  int *a;
  cudaMalloc(&a, 256);
  work<<<1, 64>>>(a);
  return cudaDeviceSynchronize() != cudaSuccess;
}
",
    );
    write(&folder, "d.cu", "__device__ int counter;\n__device__ void bump(int *p) { *p += 1; }\n");
    let compile = |source: &str, arch: &str| {
        let flags = ["-fsanitize=gpurace", "-fgpurace-exec=auto", "-w", "-fgpu-rdc", arch, "-c", source];
        let made = gclang(&folder, &flags);
        assert_eq!((made.status, &made.stderr[..]), (Some(0), ""));
        // An object has no code for a GPU, because its device code is not complete.
        assert_eq!(targets(&folder.join(source).with_extension("o")), (Vec::<String>::new(), 0));
    };
    compile("k.cu", "--cuda-gpu-arch=sm_90");
    compile("d.cu", "--cuda-gpu-arch=sm_90");
    for (exec, own) in [("-fgpurace-exec=auto", 0), ("-fgpurace-exec=cuda", 1)] {
        let made = gclang(&folder, &["-fsanitize=gpurace", exec, "-fgpu-rdc", "k.o", "d.o", "-o", "k"]);
        assert_eq!((made.status, &made.stderr[..]), (Some(0), ""));
        // The link makes code for the architecture of the objects.
        assert_eq!(targets(&folder.join("k")), (vec!["sm_90".to_owned()], own), "{exec}");
        let bytes = std::fs::read(folder.join("k")).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            text.contains(".entry _Z4workPi__gpurace_checked(") || text.contains("_Z4workPi__intern"),
            "{exec}"
        );
    }
    let joined = gclang(
        &folder,
        &["-fsanitize=gpurace", "-fgpurace-exec=cuda", "-dlink", "k.o", "d.o", "-o", "joined.o"],
    );
    assert_eq!((joined.status, &joined.stderr[..]), (Some(0), ""));
    assert_eq!(targets(&folder.join("joined.o")), (vec!["sm_90".to_owned()], 1));
    // For an older architecture the link makes no code for a GPU and says it. The program has code
    // for the executor.
    compile("k.cu", "--cuda-gpu-arch=sm_60");
    compile("d.cu", "--cuda-gpu-arch=sm_60");
    let old =
        gclang(&folder, &["-fsanitize=gpurace", "-fgpurace-exec=auto", "-fgpu-rdc", "k.o", "d.o", "-o", "k"]);
    assert_eq!(old.status, Some(0), "{}", old.stderr);
    assert!(old.stderr.contains("remark: no code for a GPU was made from `k`"), "{}", old.stderr);
    let insisting =
        gclang(&folder, &["-fsanitize=gpurace", "-fgpurace-exec=cuda", "-fgpu-rdc", "k.o", "d.o", "-o", "k"]);
    assert!(
        insisting.status != Some(0) && insisting.stderr.contains("no code for a GPU was made from `k`"),
        "{}",
        insisting.stderr
    );
}

#[test]
fn auto_needs_no_ptxas_and_cuda_no_image() {
    let folder = work_folder("gpu-plans").unwrap();
    write(&folder, "k.cu", KERNEL);
    let plan = |exec: &str| gclang(&folder, &["-###", "-fsanitize=gpurace", exec, "-c", "k.cu"]).stderr;
    let auto = plan("-fgpurace-exec=auto");
    assert!(!auto.contains("ptxas") && auto.contains("-shared"), "{auto}");
    let cuda = plan("-fgpurace-exec=cuda");
    assert!(cuda.contains("ptxas") && !cuda.contains("-shared"), "{cuda}");
}

#[test]
fn what_a_gpu_cannot_have_does_not_fail_a_build_for_the_executor() {
    let folder = work_folder("gpu-refused").unwrap();
    write(&folder, "table.cu", TABLE_OF_SHARED);
    let source = "table.cu";
    let auto = gclang(&folder, &["-fsanitize=gpurace", "-fgpurace-exec=auto", "-w", source, "-o", "auto"]);
    assert_eq!(auto.status, Some(0), "{}", auto.stderr);
    assert!(auto.stderr.contains("remark: no code for a GPU was made from"), "{}", auto.stderr);
    assert!(is_refusal(&auto.stderr));
    let ran = run(&mut Command::new(folder.join("auto")), &folder).unwrap();
    assert_eq!(ran.status, Some(66), "it runs on the executor: {}", ran.stderr);
    let cuda =
        gclang(&folder, &["-fsanitize=gpurace", "-fgpurace-exec=cuda", "-w", "-c", source, "-o", "cuda.o"]);
    assert!(cuda.status != Some(0) && is_refusal(&cuda.stderr), "{}", cuda.stderr);
    let old = gclang(
        &folder,
        &["-fsanitize=gpurace", "-fgpurace-exec=cuda", "--cuda-gpu-arch=sm_60", "-c", source],
    );
    assert!(old.status != Some(0) && old.stderr.contains("wanted `sm_70` or newer"), "{}", old.stderr);
}

#[test]
fn without_the_sanitizer_it_is_clang() {
    let folder = work_folder("gpu-plain").unwrap();
    write(&folder, "k.cu", KERNEL);
    let plan = |words: &[&str]| {
        let mut all = vec!["-###", "-c", "k.cu", "--cuda-gpu-arch=sm_80"];
        all.extend(words);
        let said = gclang(&folder, &all).stderr;
        // Lines with names of temporary files differ.
        said.lines().filter(|line| !line.contains("/tmp/")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(plan(&["-fgpurace-exec=cuda"]), plan(&[]));
}

#[test]
fn kernels_for_the_run_on_a_gpu_are_as_their_names_say() {
    let folder = work_folder("gpu-kernels").unwrap();
    let source = programs().join("../gpu/kernels.cu");
    let text = std::fs::read_to_string(&source).unwrap();
    let made = gclang(
        &folder,
        &["-fsanitize=gpurace", "-w", "-DWITH_MAIN", source.to_str().unwrap(), "-o", "kernels"],
    );
    assert_eq!(made.status, Some(0), "{}", made.stderr);
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("KERNEL ")?.split('(').next()).collect();
    assert!(names.len() > 10);
    for name in names {
        assert!(text.contains(&format!("RUN({name});")), "`{name}` is run");
        let ran = run(Command::new(folder.join("kernels")).arg(name), &folder).unwrap();
        let wanted = if name.starts_with("racy_") { 66 } else { 0 };
        assert_eq!(ran.status, Some(wanted), "{name}: {}", ran.stderr);
    }
}
