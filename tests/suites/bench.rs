//! The kernels of `scripts/bench` at a small size. Each kernel checks its own result, bare and
//! checked, and has no race.

use std::process::Command;

use gpurace_tests::toolchain::{compile, run, run_checked, work_folder, workspace};

fn check(kernel: &str) {
    let source = workspace().join("tests/bench").join(kernel).with_extension("cu");
    let source = source.to_str().unwrap();
    let folder = work_folder(&format!("bench_{kernel}")).unwrap();
    compile(&["-O2", source, "-o", "bare"], &folder).unwrap();
    let bare = run(Command::new(folder.join("bare")).arg("tiny"), &folder).unwrap();
    assert_eq!(bare.status, Some(0), "bare: {}", bare.stderr);
    assert!(bare.stdout.starts_with(kernel), "{}", bare.stdout);
    let args = ["-O2", "-fsanitize=gpurace", "-fgpurace-prune=off", source, "-o", "checked"];
    compile(&args, &folder).unwrap();
    let checked = run_checked(&folder.join("checked"), &["tiny"], "", &folder).unwrap();
    assert_eq!(checked.outcome.status, Some(0), "{}", checked.outcome.stderr);
    let report = checked.report.unwrap();
    assert!(report.stats.checks_executed > 0 && report.races.is_empty());
}

macro_rules! kernels {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name));
        }
    )*};
}
kernels!(saxpy stencil march nbody kmeans insertion fields matmul registers transpose convolution reduction bitonic
    walsh fft wavelet guarded lastblock cocluster em scan sweeps diagonals binomial warpsums softmax warpscan compact
    tails copied awaited spmv scatter levels boxes radix hash histogram updates update rounds stacks blur pixels search runs
    alignment lu paths);
