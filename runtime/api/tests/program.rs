//! A program with device code, both made by hand as the compiler makes them:
//! registration, launches, copies, faults, and the report at its end.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use gpurace_abi::image::{FORMAT_VERSION, SectionKind, build_container};
use gpurace_abi::meta::*;
use gpurace_report::schema::{ObjectKind, RaceKind, Report, Scope};

mod support;

fn frame(line: u32, function: &str) -> Frame {
    Frame { file: 0, line, column: 5, function: function.to_owned() }
}

fn site(op: Op, line: u32, function: &str) -> Site {
    // The innermost frame is in a header: the report shows the user's.
    let inner = Frame { file: 1, line: 99, column: 1, function: "helper".to_owned() };
    Site {
        op,
        size: 4,
        space: Space::Global,
        volatile: false,
        parameter: None,
        variable: None,
        asynchronous: false,
        frames: vec![inner, frame(line, function)],
        verdict: Verdict::Checked,
    }
}

fn meta() -> ModuleMeta {
    let file = |name: &str, system| SourceFile {
        name: name.to_owned(),
        directory: "/src".to_owned(),
        system,
        text: None,
    };
    let param = |offset, size| Param { offset, size, ..Param::default() };
    let kernel = |name: &str, params: Vec<Param>, params_size, sites: Vec<u32>| KernelMeta {
        name: name.to_owned(),
        params,
        params_size,
        sites,
        ..KernelMeta::default()
    };
    ModuleMeta {
        source: "image.cu".to_owned(),
        instrumented: true,
        files: vec![file("image.cu", false), file("header.h", true)],
        sites: vec![site(Op::Read, 10, "scale"), site(Op::Write, 11, "scale"), site(Op::Write, 20, "clash")],
        kernels: vec![
            kernel("_Z5scalePiPKii", vec![param(0, 8), param(8, 8), param(16, 4)], 20, vec![0, 1]),
            kernel("_Z5clashPi", vec![param(0, 8)], 8, vec![2]),
            kernel("_Z5faultv", vec![], 0, vec![]),
        ],
        variables: vec![VariableMeta {
            name: "factor".to_owned(),
            size: 4,
            constant: false,
            frame: None,
            managed: false,
            elements: Elements::default(),
        }],
        ..ModuleMeta::default()
    }
}

/// The program, built once, or `None` without clang.
fn program() -> Option<PathBuf> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(build).clone()
}

fn build() -> Option<PathBuf> {
    let clang = support::clang()?;
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("program");
    std::fs::create_dir_all(&folder).unwrap();
    let image = folder.join("image.so");
    support::compile(
        Command::new(clang)
            .args(["-shared", "-fPIC", "-O1"])
            .arg(format!("-DVERSION={FORMAT_VERSION}"))
            .arg(data.join("image.c"))
            .arg("-o")
            .arg(&image),
    );
    let container = build_container(&[
        (SectionKind::HostImage, &std::fs::read(&image).unwrap()),
        (SectionKind::Meta, &serde_json::to_vec(&meta()).unwrap()),
    ]);
    let container_file = folder.join("container");
    std::fs::write(&container_file, container).unwrap();
    let binary = folder.join("program");
    support::compile(&mut link(clang, &container_file, &binary));
    Some(binary)
}

fn link(clang: &str, container: &std::path::Path, binary: &std::path::Path) -> Command {
    let library = support::library();
    let mut command = Command::new(clang);
    command
        .args(["-g", "-O1", "-D_GNU_SOURCE"])
        .arg(format!("-DCONTAINER=\"{}\"", container.display()))
        .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/host.c"))
        .arg(&library)
        // The C++ library without its streams in use, as in many programs.
        .args(["-Wl,--no-as-needed", "-lstdc++"])
        .arg(format!("-Wl,-rpath,{}", library.parent().unwrap().display()))
        .arg("-o")
        .arg(binary);
    command
}

struct Ran {
    output: Output,
    report: Option<Report>,
}

impl Ran {
    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    #[track_caller]
    fn assert_status(&self, wanted: i32) {
        assert_eq!(self.output.status.code(), Some(wanted), "{}{}", self.stdout(), self.stderr());
    }
}

/// Runs the program; `None` where it cannot be built.
fn run(what: &str, options: &str) -> Option<Ran> {
    let program = program()?;
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json");
    let options = format!("json={}:{options}", json.display());
    let output = Command::new(program).arg(what).env("GPURACE_OPTIONS", options).output().unwrap();
    let report = std::fs::read_to_string(&json).ok().map(|text| Report::from_json(&text).unwrap());
    Some(Ran { output, report })
}

#[test]
fn kernels_read_arguments_and_variables() {
    let Some(ran) = run("scale", "") else { return };
    ran.assert_status(0);
    assert_eq!((ran.stdout().as_str(), ran.stderr().as_str()), ("done scale\n", ""));
    let report = ran.report.unwrap();
    assert!(!report.has_findings());
    assert_eq!((report.stats.launches, report.stats.launches_unchecked), (1, 0));
    assert_eq!(report.stats.checks_executed, 2000);
    assert_eq!((report.stats.sites.total, report.stats.sites.checked), (3, 3));
    assert_eq!(report.stats.kernels[0].name, "scale(int*, int const*, int)");
    assert_eq!(report.stats.kernels[0].sites.total, 2);
}

#[test]
fn copies_and_limits_are_cudas() {
    let Some(ran) = run("copies limits", "") else {
        return;
    };
    ran.assert_status(0);
    // One of the limits: a launch of an address that names no kernel.
    assert!(ran.stderr().starts_with("gpurace: error: launch of a kernel that is not registered"));
    assert_eq!(ran.stderr().lines().count(), 1, "{}", ran.stderr());
}

#[test]
fn a_race_is_reported_and_sets_the_status() {
    let Some(ran) = run("race", "") else { return };
    ran.assert_status(66);
    assert_eq!(ran.stdout(), "done race\n");
    let report = ran.report.as_ref().unwrap();
    let [race] = &report.races[..] else { panic!("{report:?}") };
    assert_eq!((race.kind, race.scope), (RaceKind::WriteWrite, Scope::Warp));
    assert_eq!(race.kernel.as_deref(), Some("clash(int*)"));
    assert_eq!(race.same_value, Some(false));
    let object = race.object.as_ref().unwrap();
    assert_eq!((object.kind, object.size, object.offset), (ObjectKind::Allocation, Some(64), Some(20)));
    assert_eq!(object.name.as_deref(), Some("#1"));
    for access in &race.accesses {
        assert_eq!((access.file.as_deref(), access.line), (Some("image.cu"), Some(20)));
        assert_eq!(access.function.as_deref(), Some("clash"));
        assert_eq!((access.launch, access.stream, access.block), (Some(1), Some(0), Some([0, 0, 0])));
    }
    let mut threads = race.accesses.clone().map(|access| access.thread.unwrap()[0]);
    threads.sort();
    assert_eq!(threads, [0, 1]);
    // The launch is where the host program has its `<<<...>>>`.
    let launch = race.launch.as_ref().unwrap();
    assert_eq!((launch.index, launch.grid, launch.block), (1, [1, 1, 1], [2, 1, 1]));
    let source = include_str!("data/host.c");
    let line = source.lines().position(|line| line.contains("the racy launch")).unwrap() as u32 + 1;
    assert_eq!(launch.line, Some(line));
    assert!(launch.file.as_ref().unwrap().ends_with("host.c"));
    let text = ran.stderr();
    assert!(text.contains("WARNING: gpurace: data race"), "{text}");
    assert_eq!(text.lines().last(), Some("SUMMARY: gpurace: 1 data race"));
}

#[test]
fn launches_that_no_stream_orders_race() {
    let Some(ran) = run("streams", "") else {
        return;
    };
    ran.assert_status(66);
    let report = ran.report.unwrap();
    let [race] = &report.races[..] else { panic!("{report:?}") };
    assert_eq!((race.kind, race.scope, race.count), (RaceKind::WriteWrite, Scope::Device, 1));
    assert_eq!(
        race.accesses.clone().map(|access| (access.launch, access.stream)),
        [(Some(2), Some(2)), (Some(1), Some(1))]
    );
    for ordered in ["streams wait", "streams sync"] {
        let Some(ran) = run(ordered, "") else { return };
        ran.assert_status(0);
    }
}

#[test]
fn the_programs_own_status_stays() {
    let Some(ran) = run("race three", "") else {
        return;
    };
    ran.assert_status(3);
    assert!(ran.stderr().contains("SUMMARY"));
    let Some(ran) = run("race", "exitcode=7") else {
        return;
    };
    ran.assert_status(7);
    let Some(ran) = run("race", "halt_on_error=1") else {
        return;
    };
    ran.assert_status(66);
    assert_eq!(ran.stdout(), "");
    assert!(ran.report.unwrap().has_findings());
}

#[test]
fn the_report_comes_also_when_a_signal_ends_the_program() {
    for (what, signal) in [("race abort", 6), ("race kill", 15), ("race segv", 11)] {
        let Some(ran) = run(what, "") else { return };
        assert_eq!(ran.output.status.signal(), Some(signal), "{}", ran.stderr());
        assert_eq!(ran.report.as_ref().map(|report| report.races.len()), Some(1), "{}", ran.stderr());
        assert!(ran.stderr().contains("SUMMARY: gpurace: 1 data race"));
    }
}

#[test]
fn options_choose_what_is_checked() {
    for options in ["skip_kernels=clash", "kernels=scale*", "blocks=1", "objects=#2", "objects=shared"] {
        let Some(ran) = run("race", options) else {
            return;
        };
        ran.assert_status(0);
        assert!(!ran.report.unwrap().has_findings(), "{options}");
    }
    let Some(ran) = run("race", "kernels=clash:blocks=0:objects=#1") else {
        return;
    };
    ran.assert_status(66);
    let Some(ran) = run("race", "skip_kernels=clash") else {
        return;
    };
    assert_eq!(ran.report.unwrap().stats.launches_unchecked, 1);
}

#[test]
fn suppressed_races_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("suppressions");
    std::fs::write(&file, "# known\nrace:^clash\n").unwrap();
    let Some(ran) = run("race", &format!("suppressions={}", file.display())) else {
        return;
    };
    ran.assert_status(0);
    let report = ran.report.unwrap();
    assert!(!report.has_findings());
    assert_eq!(report.notes, ["1 suppressed by `race:^clash`"]);
    std::fs::write(&file, "\nclash\n").unwrap();
    let Some(ran) = run("race", &format!("suppressions={}", file.display())) else {
        return;
    };
    ran.assert_status(1);
    assert!(ran.stderr().contains(":2: found `clash`, wanted `KIND:PATTERN`"), "{}", ran.stderr());
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure() {
    let Some(ran) = run("copies", "json=/nonexistent/report.json") else {
        return;
    };
    ran.assert_status(1);
    assert!(ran.stderr().contains("cannot write `/nonexistent/report.json`"), "{}", ran.stderr());
}

#[test]
fn a_fault_is_a_sticky_error_with_a_message() {
    let Some(ran) = run("fault", "") else { return };
    ran.assert_status(66);
    let text = ran.stderr();
    assert!(text.contains("in kernel `fault()`, block (0,0,0), thread (0,0,0)"), "{text}");
    assert!(ran.report.is_some());
}

#[test]
fn bad_options_end_the_program_before_it_starts() {
    for (options, wanted) in [
        ("hlat_on_error=1", "did you mean `halt_on_error`?"),
        ("exitcode=300", "wanted a whole number from 0 to 255"),
        ("device=cuda", "the program has a file without code for a GPU"),
    ] {
        let Some(ran) = run("race", options) else {
            return;
        };
        ran.assert_status(1);
        assert_eq!(ran.stdout(), "");
        assert!(ran.stderr().contains(wanted), "{}", ran.stderr());
    }
}

#[test]
fn device_code_of_other_compilers_is_refused_by_name() {
    let Some(clang) = support::clang() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut other = build_container(&[]);
    other[8] = 200;
    let mut damaged = build_container(&[(SectionKind::Meta, b"{}")]);
    *damaged.last_mut().unwrap() ^= 1;
    for (bytes, wanted) in [
        (0xba55_ed50u32.to_le_bytes().repeat(8), "an NVIDIA fat binary from nvcc or plain clang"),
        (vec![0x7f; 64], "unknown data that starts with 0x7f7f7f7f"),
        (other, "gpurace device code of version 200"),
        (damaged, "damaged gpurace device code: its checksum is wrong"),
        (build_container(&[]), "gpurace device code without an image for the host"),
    ] {
        let container = folder.path().join("container");
        let binary = folder.path().join("program");
        std::fs::write(&container, bytes).unwrap();
        support::compile(&mut link(clang, &container, &binary));
        let (status, out, errors) = support::run(Command::new(&binary).arg("copies"));
        assert_eq!((status, out.as_str()), (Some(0), "done copies\n"));
        assert!(errors.contains(wanted), "{errors}");
        assert!(errors.contains("rebuild the objects that hold kernels with gclang"), "{errors}");
    }
}
