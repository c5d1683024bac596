//! What surrounds a checked program may be broken or hostile: disks, files, rights, the time of a launch.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_tests::toolchain::{
    Checked, Outcome, compile, run, run_checked, tool, work_folder, write_program,
};

const RACY: &str = "\
__global__ void race(int* out) { out[0] = threadIdx.x; }
int main() {
    int* out;
    cudaMalloc(&out, 4);
    race<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    return cudaGetLastError();
}
";

/// Compiles a program with checks in a folder of its own. Returns both.
fn program(test: &str, source: &str) -> (PathBuf, PathBuf) {
    let folder = work_folder(&format!("surroundings_{test}")).unwrap();
    std::fs::write(folder.join("app.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "-Wno-gpurace", "app.cu", "-o", "app"], &folder).unwrap();
    (folder.join("app"), folder)
}

fn with_options(program: &Path, options: &str, folder: &Path) -> Outcome {
    let mut command = Command::new(program);
    command.env("GPURACE_OPTIONS", options).env("XDG_CACHE_HOME", folder);
    run(&mut command, folder).unwrap()
}

#[test]
fn a_full_disk_is_said_and_the_text_is_not_lost() {
    let (app, folder) = program("full", RACY);
    let outcome = with_options(&app, "device=cpu:log_path=/dev/full", &folder);
    assert_eq!(outcome.status, Some(66));
    for text in ["cannot write `/dev/full`: No space left", "WARNING: gpurace: data race", "SUMMARY: gpurace"]
    {
        assert!(outcome.stderr.contains(text), "no `{text}` in {}", outcome.stderr);
    }
    let outcome = with_options(&app, "device=cpu:json=/dev/full", &folder);
    assert_eq!(outcome.status, Some(66));
    assert!(outcome.stderr.contains("cannot write `/dev/full`: No space left"), "{}", outcome.stderr);
}

/// Allocates 3 GiB of device memory, and more than any device has.
const LARGE: &str = "\
int main() {
    char *fits, *never;
    cudaError_t first = cudaMalloc(&fits, 3ull << 30);
    return 10 * first + cudaMalloc(&never, 1ull << 50);
}
";

#[test]
fn memory_that_the_system_refuses_is_said() {
    let (app, folder) = program("addresses", LARGE);
    let mut bounded = Command::new("bash");
    bounded.args(["-c", "ulimit -v 4000000 && exec ./app"]).env("GPURACE_OPTIONS", "device=cpu");
    let outcome = run(bounded.current_dir(&folder), &folder).unwrap();
    assert_eq!(outcome.status, Some(22), "cudaErrorMemoryAllocation twice: {}", outcome.stderr);
    let why = "an allocation of device memory failed: this process may have 4096000000 bytes";
    assert_eq!(outcome.stderr.matches(why).count(), 1, "{}", outcome.stderr);
    // The program can know how much the device has. To ask for more is its own affair.
    let outcome = with_options(&app, "device=cpu", &folder);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("an allocation"), "{}", outcome.stderr);
}

#[test]
fn damaged_device_code_is_refused_by_name() {
    let (app, folder) = program("damaged", RACY);
    let whole = std::fs::read(&app).unwrap();
    let magic = b"GPURACE\x01";
    let container = whole.windows(8).position(|bytes| bytes == magic).unwrap();
    let size = u64::from_le_bytes(whole[container + 16..container + 24].try_into().unwrap()) as usize;
    // Size, checksums, headers, image and description.
    for at in [16, 20, 30, 40, 70, 200, 1000, size / 3, size / 2, size - 1] {
        let mut damaged = whole.clone();
        damaged[container + at] ^= 0xff;
        let path = folder.join(format!("damaged_{at}"));
        write_program(&path, damaged).unwrap();
        let outcome = with_options(&path, "device=cpu", &folder);
        assert!(outcome.stderr.contains("damaged gpurace device code"), "byte {at}: {}", outcome.stderr);
        assert_eq!(outcome.status, Some(209), "cudaErrorNoKernelImageForDevice: {}", outcome.stderr);
    }
}

const NAMES: &str = "\
#include <gpurace/findings.h>
#include <nvtx3/nvToolsExt.h>
__global__ void race(int* out) { out[0] = threadIdx.x; }
int main() {
    int* out;
    cudaMalloc(&out, 4);
    nvtxRangePushA(\"range\\n::error::fake\\x1b[2J\\xe2\\x80\\xae\");
    gpurace_region_begin(\"region\\r\\n::error::fake `x`\");
    race<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}
";

#[test]
fn names_of_a_program_act_on_no_terminal_and_no_log() {
    let (app, folder) = program("names", NAMES);
    let json = folder.join("r.json");
    let outcome = with_options(&app, &format!("device=cpu:stats=1:json={}", json.display()), &folder);
    assert_eq!(outcome.status, Some(66), "{}", outcome.stderr);
    let odd = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!outcome.stderr.contains(odd), "{}", outcome.stderr.escape_debug());
    assert!(
        outcome.stderr.lines().all(|line| !line.trim_start().starts_with("::error")),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("range ::error::fake"), "{}", outcome.stderr);
    let json = std::fs::read_to_string(json).unwrap();
    assert!(!json.contains('\u{202e}') && !json.contains("\\u001b"));
}

#[test]
fn a_privileged_program_ignores_the_environment() {
    // SAFETY: a plain query.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let (app, folder) = program("privileged", RACY);
    let written = folder.join("written");
    let options = format!("device=cpu:exitcode=0:log_path={}", written.display());
    let nobody = 65534;
    std::os::unix::fs::chown(&app, Some(nobody), None).unwrap();
    std::fs::set_permissions(&app, PermissionsExt::from_mode(0o4755)).unwrap();
    let outcome = with_options(&app, &options, &folder);
    assert!(!written.exists());
    assert_eq!(outcome.status, Some(66), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("`GPURACE_OPTIONS` is ignored"), "{}", outcome.stderr);
    assert!(!folder.join("gpurace").exists(), "a proof was kept where the environment says");
}

#[test]
fn the_compilers_temporary_folder_is_private() {
    let folder = work_folder("surroundings_umask").unwrap();
    std::fs::write(folder.join("app.cu"), RACY).unwrap();
    // A launcher of the steps sees the folder while it is in use.
    let mut command = Command::new("sh");
    let gclang = tool("gclang++").unwrap();
    command.args(["-c", "umask 0; \"$0\" -fsanitize=gpurace -v -c app.cu -o app.o & wait_for=$!; \
        while kill -0 $wait_for 2>/dev/null; do ls -ld \"$TMPDIR\"/gpurace-* 2>/dev/null; sleep 0.01; done; wait $wait_for"]);
    let temporary = folder.join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    command.arg(gclang).env("TMPDIR", &temporary).current_dir(&folder);
    let outcome = run(&mut command, &folder).unwrap();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let seen: Vec<&str> = outcome.stdout.lines().collect();
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|line| line.starts_with("drwx------")), "{seen:?}");
}

#[test]
fn static_objects_may_launch_when_they_begin_and_when_they_end() {
    let source = "\
#include <cstdio>
__global__ void race(int* out) { out[0] = threadIdx.x; }
struct Object {
    const char* name;
    int* out = nullptr;
    Object(const char* name, bool launches) : name(name) {
        cudaMalloc(&out, 4);
        if (launches) launch();
    }
    ~Object() { launch(); }
    void launch() {
        race<<<1, 32>>>(out);
        printf(\"%s %s\\n\", name, cudaGetErrorName(cudaGetLastError()));
    }
};
static Object early(\"early\", true);
int main() {
    static Object late(\"late\", false);
    puts(\"main\");
}
";
    let (app, folder) = program("static", source);
    let Checked { outcome, report } = run_checked(&app, &[], "", &folder).unwrap();
    assert_eq!(outcome.stdout, "early cudaSuccess\nmain\nlate cudaSuccess\nearly cudaSuccess\n");
    assert_eq!(outcome.status, Some(66), "{}", outcome.stderr);
    assert_eq!(report.unwrap().races.len(), 1);
}
