//! Reports of races and faults on a GPU, and launches that run without checks.

use crate::{build, checked, line, on_gpu, run_program};

#[test]
fn that_memory_has_no_shadow_is_said_with_what_it_would_take() {
    for (memory, is_said) in [("5000000", true), ("500000000", false)] {
        let ran = run_program(&checked(), true, "ordered", "", &[("MOCK_MEMORY", memory)]);
        assert_eq!(ran.outcome.status, Some(0), "{}", ran.outcome.stderr);
        let said =
            "note: 4096 bytes of device memory are not checked: their shadow would take 8192 more, and ";
        assert_eq!(ran.outcome.stderr.contains(said), is_said, "{}", ran.outcome.stderr);
        let notes = ran.report.unwrap().notes;
        assert_eq!(
            notes
                .iter()
                .any(|note| note == "4096 bytes of allocations not checked: no memory for their shadow"),
            is_said,
            "{notes:?}"
        );
    }
}

#[test]
fn a_race_in_global_memory_is_reported() {
    let ran = on_gpu(&checked(), "racy");
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    assert!(ran.outcome.stderr.contains("WARNING: gpurace: data race"), "{}", ran.outcome.stderr);
    assert!(ran.outcome.stderr.ends_with("SUMMARY: gpurace: 1 data race\n"), "{}", ran.outcome.stderr);
    let report = ran.report.unwrap();
    let [race] = &report.races[..] else { panic!("{:?}", report.races) };
    assert_eq!(
        (&race.kind[..], &race.space[..], race.kernel.as_deref()),
        ("write-write", "global", Some("racy"))
    );
    for access in &race.accesses {
        assert_eq!(
            (&access.op[..], access.line, access.launch),
            ("write", Some(line("racy-write")), Some(1))
        );
    }
    let [later, earlier] = &race.accesses;
    assert_ne!((later.block, later.thread), (earlier.block, earlier.thread));
    let object = race.object.as_ref().unwrap();
    assert_eq!(
        (&object.kind[..], object.name.as_deref(), object.size, object.offset),
        ("allocation", Some("#1"), Some(4096), Some(4))
    );
    let launch = race.launch.as_ref().unwrap();
    assert_eq!((launch.index, launch.grid, launch.block), (1, [2, 1, 1], [64, 1, 1]));
    assert_eq!(launch.line, Some(line("launch-of-racy")));
    assert_eq!(report.stats.checks_executed, 128);
    assert!(
        report.notes.iter().any(|note| note.contains("the same instructions as before")),
        "{:?}",
        report.notes
    );
}

#[test]
fn a_race_in_shared_memory_is_reported() {
    let ran = on_gpu(&checked(), "shared");
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    let report = ran.report.unwrap();
    let [race] = &report.races[..] else { panic!("{:?}", report.races) };
    let lines = race.accesses.each_ref().map(|access| (access.op.clone(), access.line));
    // The mock runs thread after thread. That decides which side comes first.
    assert!(lines.contains(&("write".to_owned(), Some(line("shared-write")))), "{lines:?}");
    assert!(lines.contains(&("read".to_owned(), Some(line("shared-read")))), "{lines:?}");
    assert_eq!((&race.space[..], &race.scope[..]), ("shared", "warp"));
    // The array is known, because the kernel has only one. The offset is not.
    let object = race.object.as_ref().unwrap();
    assert_eq!((object.name.as_deref(), object.size, object.offset), (Some("s"), Some(256), None));
}

#[test]
fn a_race_on_a_variable_is_reported() {
    let ran = on_gpu(&checked(), "total");
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    let report = ran.report.unwrap();
    assert!(!report.races.is_empty());
    for race in &report.races {
        let object = race.object.as_ref().unwrap();
        assert_eq!(
            (&object.kind[..], object.name.as_deref(), object.size),
            ("variable", Some("total"), Some(4))
        );
        assert!(race.accesses.iter().all(|access| access.line == Some(line("total"))), "{race:?}");
    }
}

#[test]
fn a_barrier_is_an_order() {
    let ran = on_gpu(&checked(), "ordered");
    assert_eq!((ran.outcome.status, &ran.outcome.stderr[..]), (Some(0), ""));
    assert_eq!(ran.report.unwrap().stats.checks_executed, 4 * 64 * 2);
}

#[test]
fn options_and_suppressions_hold() {
    let folder = checked();
    let races = |options: &str| {
        let ran = run_program(&folder, true, "racy", options, &[]);
        let report = ran.report.unwrap();
        (ran.outcome.status, report.races.len(), report.stats.launches_unchecked)
    };
    assert_eq!(races("exitcode=7"), (Some(7), 1, 0));
    assert_eq!(races("skip_kernels=racy"), (Some(0), 0, 1));
    assert_eq!(races("objects=shared"), (Some(0), 0, 0));
    std::fs::write(folder.join("suppressions"), "race:racy\n").unwrap();
    assert_eq!(races("suppressions=suppressions"), (Some(0), 0, 0));
    assert_eq!(races("halt_on_error=1"), (Some(66), 1, 0));
}

#[test]
fn launches_that_are_proved_run_bare() {
    let folder = build("proved", &["-fgpurace-exec=auto", "--cuda-gpu-arch=sm_80"]);
    let ran = on_gpu(&folder, "values");
    assert_eq!(ran.outcome.status, Some(0), "{}", ran.outcome.stderr);
    assert!(ran.calls.contains("launch scale 8 128 0 on 0\n"), "{}", ran.calls);
    // Also one that may overlap others: it is not compared with them. One that uses managed memory is
    // checked.
    assert!(ran.calls.contains("launch scale 8 128 0 on another\n"), "{}", ran.calls);
    assert!(ran.calls.contains("launch scale__gpurace_checked "), "{}", ran.calls);
    let bare = on_gpu(&folder, "scale");
    assert!(
        bare.calls.contains("launch scale 4 64") && !bare.calls.contains("launch __gpurace_"),
        "{}",
        bare.calls
    );
    assert_eq!(bare.report.unwrap().stats.checks_executed, 0);
    assert_eq!(on_gpu(&folder, "racy").outcome.status, Some(66));
}

#[test]
fn what_nobody_waits_for_is_in_the_report() {
    let ran = on_gpu(&checked(), "unfinished");
    assert_eq!(ran.outcome.status, Some(66), "{}", ran.outcome.stderr);
    assert_eq!(ran.report.unwrap().stats.checks_executed, 128);
}

#[test]
fn a_fault_is_cudas_error_and_leaves_the_report() {
    let ran = on_gpu(&checked(), "fault");
    // The program returns this status itself.
    assert_eq!(ran.outcome.status, Some(5));
    assert_eq!(ran.outcome.stdout, "then: cudaErrorIllegalAddress\nlater: cudaErrorIllegalAddress\n");
    assert!(
        ran.outcome
            .stderr
            .contains("a kernel failed on the GPU: `cuCtxSynchronize` failed: CUDA_ERROR_ILLEGAL_ADDRESS"),
        "{}",
        ran.outcome.stderr
    );
    let report = ran.report.unwrap();
    assert_eq!(report.races.len(), 1);
    assert!(
        report.notes.iter().any(|note| note.contains("what the GPU has counted is lost")),
        "{:?}",
        report.notes
    );
}

#[test]
fn blocks_that_do_not_fit_with_checks_run_without_and_that_is_said() {
    let ran = run_program(&checked(), true, "racy", "", &[("MOCK_CHECKED_THREADS", "32")]);
    assert_eq!(ran.outcome.status, Some(0), "{}", ran.outcome.stderr);
    let report = ran.report.unwrap();
    assert_eq!((report.stats.launches, report.stats.launches_unchecked), (1, 1));
    assert!(
        report.notes.iter().any(|note| note.starts_with("launches of `racy` not checked")),
        "{:?}",
        report.notes
    );
}
