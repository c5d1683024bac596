//! The folder that `scripts/gpu pack` makes for a machine with a GPU: it runs the benchmarks there and
//! prints a table.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use gpurace_tests::toolchain::{Outcome, has_gpu, mock_driver, run, work_folder, workspace, write_program};

/// Packs one benchmark and no program, once. Returns the folder.
fn packed() -> &'static Path {
    static FOLDER: OnceLock<std::path::PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = work_folder("carried").unwrap();
        let mut script = Command::new(workspace().join("scripts/gpu"));
        script.arg("pack").arg(folder.join("packed")).args(["--programs", "--benchmarks", "launch"]);
        let packed = run(&mut script, &folder).unwrap();
        assert_eq!(packed.status, Some(0), "{}", packed.stderr);
        folder.join("packed")
    })
}

/// The columns of the benchmark's row in the table that a run printed.
fn row(ran: &Outcome) -> Vec<String> {
    let row = ran.stdout.lines().find(|line| line.starts_with("| launch |"));
    let row = row.unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    row.trim_matches(&['|', ' '][..]).split(" | ").map(str::to_owned).collect()
}

/// True for a median with the least and the greatest value: `2.0 (1.5 to 3.0)`.
fn is_spread(text: &str) -> bool {
    let numbers: Vec<f64> = text.split(&[' ', '(', ')'][..]).filter_map(|word| word.parse().ok()).collect();
    matches!(numbers[..], [median, least, greatest] if least <= median && median <= greatest && least > 0.0)
}

#[test]
fn without_a_gpu_the_run_says_so() {
    if has_gpu() {
        return;
    }
    let folder = work_folder("carried-plain").unwrap();
    let mut command = Command::new(packed().join("gpu"));
    let ran = run(command.arg("run").arg("--results").arg(folder.join("results")), &folder).unwrap();
    assert_eq!(ran.status, Some(1), "{}", ran.stdout);
    let wanted = "gpurace-gpu: error: no NVIDIA driver: `libcuda.so.1` was not found";
    assert!(ran.stdout.contains(wanted), "{}", ran.stdout);
}

#[test]
fn what_checks_cost_is_put_in_a_table() {
    let folder = work_folder("carried-table").unwrap();
    // This nvcc takes the bare program for the plain one. This compute-sanitizer runs the program as it is; with
    // `--tool memcheck` it fails.
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let stubs = [
        ("nvcc", "for last; do :; done\ncp \"${last%.plain}.off\" \"$last\"\n"),
        (
            "compute-sanitizer",
            "echo \"$@\" >> \"$STUB_LOG\"\n[ \"$2\" = memcheck ] && exit 3\nshift 2\nexec \"$@\"\n",
        ),
    ];
    for (name, text) in stubs {
        write_program(&bin.join(name), format!("#!/bin/sh\n{text}")).unwrap();
    }
    let log = folder.join("stub.log");
    let path = std::env::var("PATH").unwrap();
    let table = |with_stub: bool| {
        let mut command = Command::new(packed().join("gpu"));
        command
            .args(["run", "benchmarks", "--rounds", "3", "--repetitions", "tiny", "--results"])
            .arg(folder.join(if with_stub { "with" } else { "without" }))
            .env("LD_LIBRARY_PATH", mock_driver().unwrap())
            .env("STUB_LOG", &log);
        command.env("PATH", if with_stub { format!("{}:{path}", bin.display()) } else { path.clone() });
        let ran = run(&mut command, &folder).unwrap();
        row(&ran)
    };
    if !has_gpu() {
        let row = table(false);
        assert_eq!(row.len(), 10, "{row:?}");
        assert!(row[2..5].iter().all(|column| is_spread(column)), "{row:?}");
        assert!([1, 5, 6, 9].iter().all(|&n| row[n] == "not run"), "{row:?}");
    }
    let row = table(true);
    assert_eq!(row.len(), 10, "{row:?}");
    assert!(row[1..6].iter().all(|column| is_spread(column)), "{row:?}");
    assert_eq!(row[6], "failed", "{row:?}");
    assert!(row[7..].iter().all(|column| column.parse::<u64>().is_ok()), "{row:?}");
    let calls = std::fs::read_to_string(&log).unwrap();
    let of_racecheck =
        |line: &&str| line.starts_with("--tool racecheck ") && line.ends_with("/bench/launch.plain tiny");
    assert_eq!(calls.lines().filter(of_racecheck).count(), 3, "{calls}");
    // A tool that has failed is not tried again in the next round.
    assert_eq!(calls.lines().filter(|line| line.starts_with("--tool memcheck ")).count(), 1, "{calls}");
}
