//! Reads that another access's check stands for.

use gpurace_tests::toolchain::{compile, run_checked, work_folder};

/// A read beside a write of the same element has no check of its own. Its race is reported
/// nevertheless.
#[test]
fn a_read_beside_a_write_is_checked_with_it() {
    let body = "int own = a[i];\n    a[i] = own + 1;";
    for (prune, checks) in [("off", 128), ("compile", 64), ("launch", 64)] {
        let facts = racy_lines("covered", body, prune, checks);
        let said = facts.matches("checked with the access in k.cu:4").count();
        assert_eq!(said, usize::from(prune != "off"), "{facts}");
    }
}

/// The read of one element in each iteration of a loop is checked in the first iteration. Its race is
/// reported nevertheless.
#[test]
fn a_read_of_every_iteration_is_checked_once() {
    let body =
        "int next = (i + 1) % n, sum = 0; for (int k = 0; k < 10; k++) sum += a[next] ^ k;\n    a[i] = sum;";
    for (prune, checks) in [("off", 704), ("compile", 128), ("launch", 128)] {
        racy_lines("once", body, prune, checks);
    }
}

/// Two threads run each line of `body`, which reads on line 3 and writes on line 4. Asserts that both
/// pairs are reported with this number of checks. Returns the facts.
fn racy_lines(test: &str, body: &str, prune: &str, checks: u64) -> String {
    let source = format!(
        "__global__ void add(int* a, int n) {{
    int i = threadIdx.x % n;
    {body}
}}
int main() {{
    int* a;
    cudaMalloc(&a, 256);
    add<<<1, 64>>>(a, 32);
    return cudaDeviceSynchronize();
}}
"
    );
    let folder = work_folder(&format!("proofs_{test}_{prune}")).unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    let flag = format!("-fgpurace-prune={prune}");
    let flags =
        ["-fsanitize=gpurace", "k.cu", "-o", "k", "-Wno-gpurace", "-fgpurace-facts=facts.json", &flag];
    compile(&flags, &folder).unwrap();
    let run = run_checked(&folder.join("k"), &[], "cache_dir=", &folder).unwrap();
    let report = run.report.unwrap();
    assert_eq!(report.stats.checks_executed, checks, "{prune}");
    let lines = |side: usize| report.races.iter().map(move |race| race.accesses[side].line.unwrap());
    let both: Vec<_> = lines(0).zip(lines(1)).collect();
    assert!(
        both.contains(&(4, 4)) && (both.contains(&(3, 4)) || both.contains(&(4, 3))),
        "{prune}: {both:?}"
    );
    std::fs::read_to_string(folder.join("facts.json")).unwrap()
}
