//! `gpurace explain` on a source and on one launch.

use std::path::Path;
use std::process::Command;

use gpurace_tests::report::Finding;
use gpurace_tests::toolchain::{Outcome, compile, programs, run, run_checked, tool, work_folder};

const SOURCE: &str = "\
__global__ void rows(int pitch, int width, int* out) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width) out[row * pitch + column] = column;
}
__global__ void copy(const int* x, int* y) {
    y[threadIdx.x] = x[threadIdx.x];
}
__global__ void banks(int stride, int* out) {
    __shared__ int tile[1024];
    tile[threadIdx.x * stride] = 1;
    out[threadIdx.x] = tile[threadIdx.x * stride];
}
";

fn explain(test: &str, args: &[&str]) -> Outcome {
    let folder = work_folder(&format!("explain_{test}")).unwrap();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    gpurace(args, &folder)
}

fn gpurace(args: &[&str], folder: &Path) -> Outcome {
    let mut command = Command::new(tool("gpurace").unwrap());
    command.arg("explain").args(args).current_dir(folder);
    run(&mut command, folder).unwrap()
}

#[test]
fn each_access_stands_under_its_line_with_its_conditions() {
    let said = explain("table", &["k.cu", "-DUNUSED", "-arch=sm_80"]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let line = "  k.cu:7: y[threadIdx.x] = x[threadIdx.x];\n";
    assert_eq!(said.stdout.matches(line).count(), 1, "{}", said.stdout);
    assert!(said.stdout.contains("write   4 B  global `y`"), "{}", said.stdout);
    assert!(said.stdout.contains("disjoint(x, y)\n"), "{}", said.stdout);
    assert!(said.stdout.contains("`rows(int, int, int*)`: 1 site, 1 proved-if\n"), "{}", said.stdout);
}

#[test]
fn a_launch_is_solved_and_its_race_shown() {
    let of = |pitch: &str| {
        let launch = format!("grid=2,2,block=16,4,width=32,pitch={pitch}");
        explain(&format!("launch_{pitch}"), &["--kernel", "rows", "--launch", &launch, "k.cu"])
    };
    let apart = of("32");
    assert!(apart.stdout.contains("1 site, 1 proved\n"), "{}{}", apart.stdout, apart.stderr);
    // Rows of 32 elements overlap with a pitch of 16.
    let overlapping = of("16");
    let text = &overlapping.stdout;
    assert!(text.contains("1 site, 1 racy\n"), "{text}{}", overlapping.stderr);
    assert!(text.contains("witness:") && text.contains("grid (2,2,1), block (16,4,1)"), "{text}");
    assert!(!apart.stdout.contains("witness:"));
}

#[test]
fn pointers_may_lie_in_one_allocation() {
    let of =
        |name: &str, launch: &str| explain(name, &["--kernel", "copy", "--launch", launch, "k.cu"]).stdout;
    let apart = of("apart", "block=64");
    assert!(apart.contains("2 sites, 2 proved\n"), "{apart}");
    let over = of("over", "block=64,x=ptr(4096),y=x+4");
    assert!(over.contains("2 racy\n"), "{over}");
    // The launch touches 256 bytes.
    let behind = of("behind", "block=64,x=ptr(4096),y=x+256");
    assert!(behind.contains("2 sites, 2 proved\n"), "{behind}");
}

#[test]
fn an_argument_that_nothing_depends_on_is_noted() {
    let said = explain("unused", &["--kernel", "copy", "--launch", "block=32,n=1", "k.cu"]);
    let note =
        "note: no access depends on an argument `n`; `--launch` takes `grid`, `block`, `shared`, `x`, `y`\n";
    assert!(
        said.stdout.contains(note) && said.stdout.contains("2 sites, 2 proved\n"),
        "{}{}",
        said.stdout,
        said.stderr
    );
}

#[test]
fn bank_conflicts_are_named_with_their_degree() {
    let of = |stride: u32| {
        let launch = format!("block=32,stride={stride}");
        explain(&format!("banks_{stride}"), &["--kernel", "banks", "--launch", &launch, "k.cu"]).stdout
    };
    assert!(of(4).contains("remark:   4-way bank conflict\n"));
    assert!(!of(3).contains("bank conflict"));
}

#[test]
fn what_there_is_not_is_named() {
    let said = explain("kernel", &["--kernel", "row", "k.cu"]);
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("error: there is no kernel `row`\n"), "{}", said.stderr);
    assert!(said.stderr.contains("`rows(int, int, int*)`"), "{}", said.stderr);
    let said = explain("argument", &["--kernel", "rows", "--launch", "block=32,pich=8,width=8", "k.cu"]);
    assert!(
        said.stderr.contains("no value for `pitch`\n") && said.stderr.contains("`width`"),
        "{}",
        said.stderr
    );
    let said = explain("missing", &["nowhere.cu"]);
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("cannot read `nowhere.cu`"), "{}", said.stderr);
}

/// The kernels of `mistakes.cu`: the finding, a fragment of the race's hint, and one of what `explain` says where
/// the kernel alone is enough to see the mistake.
const MISTAKES: [(&str, &str, &str, &str); 20] = [
    ("barrier", "missing-barrier", "no __syncthreads() orders line", "no __syncthreads() orders line"),
    ("warp", "missing-barrier", "or __syncwarp() orders line", "or __syncwarp() orders line"),
    (
        "blocks",
        "missing-barrier",
        "use two launches, or a grid-wide barrier",
        "give each block bytes of its own",
    ),
    ("last", "several-writers", "let one of them write", ""),
    ("same", "same-value", "let one of them write", ""),
    ("update", "missing-atomic", "make the update one atomic operation (such as atomicAdd", ""),
    ("alias", "alias", "pass different buffers: `in` and `out` both point into", "disjoint(in, out)"),
    ("half_atomic", "missing-atomic", "make both atomic, or order them", "give each block bytes of its own"),
    ("scope", "narrow-scope", "use a device-scope one (such as atomicAdd)", ""),
    ("rounds", "loop-back-edge", "no __syncthreads() orders line", "n"),
    ("mask", "mask", "whose mask names their lanes: ", "put a barrier between this access and"),
    (
        "fence",
        "missing-fence",
        "put a __threadfence() before the atomic",
        "may touch the same bytes without order",
    ),
    ("lock", "missing-fence", "let both sides use the same flag or lock", ""),
    ("flag", "missing-atomic", "`volatile` is not atomic", "may touch the same bytes without order"),
    ("index", "several-writers", "let one of them write", "let one of them write"),
    ("sizes", "overlapping-atomics", "use one address and one size", "races (with"),
    (
        "histogram",
        "missing-barrier",
        "no __syncthreads() orders line",
        "put a barrier between this access and",
    ),
    ("copied", "unwaited-copy", "until its thread waits for it", ""),
    ("pitch", "several-writers", "let one of them write", "width"),
    ("stream", "unordered-operations", "put them in one stream, or order them with an event", ""),
];

#[test]
fn twenty_mistakes_get_advice_from_the_report_and_from_explain() {
    let folder = work_folder("explain_mistakes").unwrap();
    let source = programs().join("report/mistakes.cu");
    let source = source.to_str().unwrap();
    compile(&["-fsanitize=gpurace", "-Wno-gpurace", "-O1", source, "-o", "mistakes"], &folder).unwrap();
    let report = run_checked(&folder.join("mistakes"), &[], "", &folder).unwrap().report.unwrap();
    let explained = gpurace(&[source], &folder).stdout;
    assert_eq!(report.findings.len(), MISTAKES.len(), "{:?}", report.findings);
    for (kernel, cause, advice, why) in MISTAKES {
        let own = |finding: &&Finding| finding.kernel.as_deref() == Some(kernel);
        let finding = report.findings.iter().find(own).unwrap_or_else(|| panic!("no finding in `{kernel}`"));
        assert_eq!(finding.name().as_deref(), Some(cause), "{kernel}");
        let hint = report.races[finding.races[0]].hint.as_deref().unwrap_or_default();
        assert!(hint.contains(advice), "{kernel}: {hint}");
        let start = explained.find(&format!("`{kernel}(")).unwrap_or_else(|| panic!("{explained}"));
        let own = explained[start..].split("\n`").next().unwrap();
        assert!(own.contains(why), "{kernel}: {own}");
    }
}
