//! The choice between a GPU and the executor, and the choice of the code for a GPU.

use gpurace_tests::toolchain::has_gpu;

use crate::{build, checked, line, on_gpu, run_program};

#[test]
fn without_a_gpu_the_executor_takes_its_place_in_a_line() {
    let folder = checked();
    let racy = |with_driver, variables: &[(&str, &str)]| {
        let ran = run_program(&folder, with_driver, "racy", "", variables);
        assert_eq!((ran.outcome.status, &ran.report.unwrap().device[..]), (Some(66), "cpu"));
        let said = ran.outcome.stderr.lines().next().unwrap_or_default().to_owned();
        assert_eq!(ran.outcome.stderr.matches("gpurace: note").count(), 1, "{}", ran.outcome.stderr);
        said
    };
    if !has_gpu() {
        let wanted =
            "gpurace: note: no NVIDIA driver: `libcuda.so.1` was not found; kernels run on the CPU executor";
        assert_eq!(racy(false, &[]), wanted);
    }
    assert!(
        racy(true, &[("MOCK_DEVICES", "0")])
            .contains("no NVIDIA GPU: `cuInit` failed: CUDA_ERROR_NO_DEVICE; kernels run on")
    );
    assert!(racy(true, &[("MOCK_ARCH", "61")]).contains("compute capability 6.1, wanted 7.0 or newer"));
    assert!(racy(true, &[("MOCK_ARCH", "75")]).contains("the program has no code for this GPU, `sm_75`"));
}

#[test]
fn who_insists_on_a_gpu_gets_one_or_an_error() {
    let folder = checked();
    let there = run_program(&folder, true, "racy", "device=cuda", &[]);
    assert_eq!((there.outcome.status, &there.report.unwrap().device[..]), (Some(66), "cuda"));
    let refused = run_program(&folder, true, "racy", "device=cuda", &[("MOCK_DEVICES", "0")]);
    assert_eq!(refused.outcome.status, Some(1));
    let wanted = "gpurace: error: `device=cuda`: no NVIDIA GPU: `cuInit` failed: CUDA_ERROR_NO_DEVICE\n\
                  gpurace: hint: leave `device` out, or set `device=cpu`\n";
    assert_eq!(refused.outcome.stderr, wanted);
    // This program has no code for a GPU.
    let host = build("host", &["-fgpurace-exec=cpu"]);
    let refused = run_program(&host, true, "racy", "device=cuda", &[]);
    assert_eq!(refused.outcome.status, Some(1));
    assert!(
        refused
            .outcome
            .stderr
            .contains("the program has a file without code for a GPU: build it with `-fgpurace-exec=auto`"),
        "{}",
        refused.outcome.stderr
    );
    let silent = run_program(&host, true, "racy", "", &[]);
    assert_eq!(
        (silent.outcome.status, &silent.report.unwrap().device[..], &silent.calls[..]),
        (Some(66), "cpu", "")
    );
    assert!(!silent.outcome.stderr.contains("note"), "{}", silent.outcome.stderr);
}

#[test]
fn code_for_a_gpu_alone_runs_there() {
    let folder = build("alone", &["-fgpurace-exec=cuda", "-fgpurace-prune=off", "--cuda-gpu-arch=sm_80"]);
    let ran = run_program(&folder, true, "racy", "", &[]);
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    assert_eq!(ran.report.unwrap().device, "cuda");
    let nowhere = run_program(&folder, false, "racy", "", &[]);
    if !has_gpu() {
        assert_ne!(nowhere.outcome.status, Some(0));
        assert!(nowhere.outcome.stderr.contains("for an NVIDIA GPU alone"), "{}", nowhere.outcome.stderr);
    }
}

#[test]
fn separately_compiled_code_runs_there_too() {
    let flags = ["-fgpurace-exec=auto", "-fgpurace-prune=off", "--cuda-gpu-arch=sm_80", "-fgpu-rdc"];
    let folder = build("separate", &flags);
    let values = on_gpu(&folder, "values");
    values.assert_ends(0, "all values are right\n");
    let racy = on_gpu(&folder, "racy").report.unwrap();
    let [race] = &racy.races[..] else { panic!("{:?}", racy.races) };
    assert!(race.accesses.iter().all(|access| access.line == Some(line("racy-write"))), "{race:?}");
    let total = on_gpu(&folder, "total").report.unwrap();
    assert!(!total.races.is_empty());
    assert!(
        total.races.iter().all(|race| race.object.as_ref().unwrap().name.as_deref() == Some("total")),
        "{:?}",
        total.races
    );
}

#[test]
fn the_code_that_suits_the_gpu_is_loaded() {
    let archs = ["--cuda-gpu-arch=sm_75", "--cuda-gpu-arch=sm_80", "--cuda-gpu-arch=sm_90a"];
    let folder = build("archs", &[&["-fgpurace-exec=auto", "-fgpurace-prune=off"][..], &archs].concat());
    for (gpu, wanted) in
        [("75", "sm_75"), ("80", "sm_80"), ("89", "sm_80"), ("90", "sm_90a"), ("100", "sm_80")]
    {
        let ran = run_program(&folder, true, "racy", "", &[("MOCK_ARCH", gpu)]);
        let report = ran.report.unwrap();
        assert_eq!(
            (ran.outcome.status, &report.device[..]),
            (Some(66), "cuda"),
            "{gpu}: {}",
            ran.outcome.stderr
        );
        assert!(ran.calls.contains(&format!("target {wanted}\n")), "{gpu}: {}", ran.calls);
        assert!(
            report.races[0].accesses.iter().all(|access| access.line == Some(line("racy-write"))),
            "{gpu}: {:?}",
            report.races
        );
    }
    let older = run_program(&folder, true, "racy", "", &[("MOCK_ARCH", "70")]);
    assert!(older.outcome.stderr.contains("no code for this GPU, `sm_70`"), "{}", older.outcome.stderr);
    // The driver is older than the toolkit that made the PTX.
    let ran = run_program(&folder, true, "racy", "", &[("MOCK_VERSION", "12020")]);
    assert_eq!(
        (ran.outcome.status, &ran.report.unwrap().device[..]),
        (Some(66), "cuda"),
        "{}",
        ran.outcome.stderr
    );
    assert!(ran.calls.contains("version 8.2\n"), "{}", ran.calls);
}
