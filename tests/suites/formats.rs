//! What a user reads of each kind of mistake, in each format of a report.
//!
//! Each program has one mistake. The snapshots have its whole report: text, one line each, Markdown, SARIF, and
//! the page without style and script.

use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_tests::compare::too_wide;
use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{compile, run, run_checked, tool, work_folder};

/// The programs: name, device code, host code.
const MISTAKES: [(&str, &str, &str); 6] = [
    (
        "missing_barrier",
        "\
__global__ void turn(int* out) {
    __shared__ int tile[2][32];
    int t = threadIdx.x;
    tile[t / 32][t % 32] = t;
    out[t] = tile[1 - t / 32][t % 32];
}
",
        "turn<<<1, 64>>>(d);",
    ),
    (
        "alias",
        "\
__global__ void shift(const int* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 63) out[i] = in[i + 1];
}
",
        "shift<<<2, 32>>>(d, d);",
    ),
    (
        "two_streams",
        "\
__global__ void fill(int* out, int value) { out[threadIdx.x] = value; }
",
        "\
cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    fill<<<1, 64, 0, one>>>(d, 1);
    fill<<<1, 64, 0, two>>>(d, 2);",
    ),
    (
        "narrow_scope",
        "\
__device__ int total;
__global__ void count() { atomicAdd_block(&total, 1); }
",
        "count<<<2, 32>>>();",
    ),
    (
        "divergence",
        "\
__global__ void halves(int* out) {
    if (threadIdx.x < 32) {
        out[threadIdx.x] = 1;
        __syncthreads();
    } else {
        out[threadIdx.x] = 2;
        __syncthreads();
    }
}
",
        "halves<<<1, 64>>>(d);",
    ),
    (
        "fault",
        "\
__global__ void past(int* out, int n) {
    for (int i = threadIdx.x; i <= n; i += blockDim.x) out[i] = i;
}
",
        "past<<<1, 1>>>(d, 4096);",
    ),
];

/// The formats: what `--format` calls each.
const FORMATS: [&str; 7] = ["text", "short", "github", "gitlab", "markdown", "sarif", "html"];

/// Compiles a program, runs it, and returns the folder with its `report.json`.
fn report_of(name: &str, device: &str, host: &str) -> PathBuf {
    let folder = work_folder(&format!("formats_{name}")).unwrap();
    let source = format!(
        "{device}\nint main() {{\n    int* d;\n    cudaMalloc(&d, 4096);\n    {host}\n    cudaDeviceSynchronize();\n}}\n"
    );
    std::fs::write(folder.join(format!("{name}.cu")), source).unwrap();
    let file = format!("{name}.cu");
    compile(&["-fsanitize=gpurace", "-Wno-gpurace", "-O1", &file, "-o", name], &folder).unwrap();
    let checked = run_checked(&folder.join(name), &[], "", &folder).unwrap();
    assert_eq!(checked.outcome.status, Some(66), "{name}: {}", checked.outcome.stderr);
    folder
}

/// Renders the stored report in a format.
fn rendered(folder: &Path, format: &str) -> String {
    let mut command = Command::new(tool("gpurace").unwrap());
    command.args(["report", "report.json", "--format", format]).current_dir(folder);
    // A runner of the tests may have these.
    command.env_remove("GITHUB_WORKSPACE").env_remove("CI_PROJECT_DIR");
    let outcome = run(&mut command, folder).unwrap();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{format}");
    outcome.stdout
}

/// Leaves out what differs between runs and versions, and the style and script of the page.
fn comparable(text: &str, folder: &Path) -> String {
    let text =
        text.replace(&*folder.to_string_lossy(), "/folder").replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let mut lines = Vec::new();
    let mut rest = match text.split_once("<style>") {
        Some((head, tail)) => {
            let (_, body) = tail.split_once("</style>").unwrap();
            let (body, end) = body.split_once("<script>").unwrap();
            // One element of the page on each line.
            format!("{head}{body}{}", end.split_once("</script>").unwrap().1).replace("><", ">\n<")
        }
        None => text,
    };
    for before in [" Process ", "(pid=", "address 0x"] {
        let parts: Vec<_> = rest.split(before).collect();
        let numbered = |part: &&str| part.trim_start_matches(|c: char| c.is_ascii_hexdigit()).to_owned();
        let others = parts[1..].iter().map(|part| format!("{before}N{}", numbered(part)));
        rest = std::iter::once(parts[0].to_owned()).chain(others).collect();
    }
    lines.extend(rest.lines().map(str::trim_end));
    lines.join("\n")
}

#[test]
fn each_mistake_reads_well_in_each_format() {
    for (name, device, host) in MISTAKES {
        let folder = report_of(name, device, host);
        for format in FORMATS {
            insta::assert_snapshot!(
                format!("{name}_{format}"),
                comparable(&rendered(&folder, format), &folder)
            );
        }
    }
}

#[test]
fn ten_thousand_races_of_one_mistake_are_one_finding() {
    let mut device = String::from(
        "__global__ void many(int* out) {\n    __shared__ int tile[128];\n    int t = threadIdx.x, sum = 0;\n",
    );
    // 64 of 128 words, so that each write meets each read.
    for line in 0..100 {
        device += &format!("    tile[(t + {line}) % 128] = t;\n");
    }
    for line in 0..100 {
        device += &format!("    sum += tile[(t + {line}) % 128];\n");
    }
    device += "    out[t] = sum;\n}\n__global__ void other(int* out) { *out = threadIdx.x; }\n";
    let folder = report_of("many", &device, "many<<<1, 64>>>(d);\n    other<<<1, 64>>>(d);");
    // The last format is the page, which is checked by its size.
    for (format, most) in FORMATS.into_iter().zip([6_000, 1_000, 2_000, 3_000, 10_000, 100_000, 3_000_000]) {
        let report = rendered(&folder, format);
        assert!(report.len() < most, "{format}: {} bytes", report.len());
        for kernel in ["many", "other"] {
            assert!(report.contains(kernel), "{format}: {kernel}");
        }
        if format == "text" || format == "short" {
            insta::assert_snapshot!(format!("many_{format}"), comparable(&report, &folder));
        }
    }
}

#[test]
fn a_race_that_was_found_hides_no_other_in_any_format() {
    // 32 lines without a barrier beside four other racy kernels.
    let mut device = String::from(
        "__global__ void lines(int* out) {\n    __shared__ int tile[64];\n    int t = threadIdx.x, sum = 0;\n",
    );
    for line in 0..16 {
        device += &format!("    tile[(t + {line}) % 64] = t;\n");
    }
    for line in 0..16 {
        device += &format!("    sum += tile[(t + {line}) % 64];\n");
    }
    device += "    out[t] = sum;\n}\n\
        __global__ void last(int* out) { *out = threadIdx.x; }\n\
        __global__ void update(int* out) { *out += 1; }\n\
        __global__ void shift(int* out) { int t = threadIdx.x; out[t] = out[t + 1]; }\n\
        __global__ void scope(int* out) { atomicAdd_block(out, 1); }\n";
    let launches: Vec<String> = ["lines<<<1", "last<<<1", "update<<<1", "shift<<<1", "scope<<<2"]
        .iter()
        .map(|launch| format!("{launch}, 64>>>(d);\n    cudaDeviceSynchronize();"))
        .collect();
    let folder = report_of("hidden", &device, &launches.join("\n    "));
    let json = std::fs::read_to_string(folder.join("report.json")).unwrap();
    let report = Report::parse(&json).unwrap();
    assert_eq!(report.findings.len(), 5, "{json}");
    assert!(report.findings[0].pairs > 100 && report.races.len() > 104, "{}", report.races.len());
    for format in FORMATS {
        let text = rendered(&folder, format);
        for kernel in ["lines", "last", "update", "shift", "scope"] {
            assert!(text.contains(kernel), "{format}: {kernel}");
        }
        assert!(format != "text" || text.lines().count() < 120, "{text}");
        let parsed = || serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let number = match format {
            "sarif" => parsed()["runs"][0]["results"].as_array().unwrap().len(),
            "gitlab" => parsed().as_array().unwrap().len(),
            "github" => text.lines().filter(|line| line.starts_with("::error file=hidden.cu,line=")).count(),
            _ => continue,
        };
        assert_eq!(number, report.findings.len(), "{format}: {text}");
    }
}

#[test]
fn no_line_of_a_text_report_is_wider_than_a_terminal() {
    let snapshots = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/snapshots");
    let mut seen = 0;
    for entry in std::fs::read_dir(snapshots).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with("_text.snap") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(too_wide(&text).next(), None, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 7, "{seen}");
    // Names of 400 characters.
    let name = "a_name_that_goes_on".repeat(20);
    let device = format!(
        "template <class T> __global__ void {name}(T* {name}_out) {{ __shared__ T {name}_tile[64];\n\
         {name}_tile[threadIdx.x] = 1;\n{name}_out[0] = {name}_tile[63 - threadIdx.x]; }}"
    );
    let folder = report_of("names", &device, &format!("{name}<<<1, 64>>>(d);"));
    let text = rendered(&folder, "text");
    assert_eq!(too_wide(&text).next(), None, "{text}");
}
