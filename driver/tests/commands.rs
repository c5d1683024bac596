//! The commands as a user runs them. Checks against clang what they leave to clang, and how they find their
//! parts in an installed prefix.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GCLANG: &str = env!("CARGO_BIN_EXE_gclang");

fn run(program: impl AsRef<Path>, args: &[&str], dir: &Path) -> Output {
    Command::new(program.as_ref()).args(args).current_dir(dir).env_remove("CUDA_PATH").output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Makes a prefix like an installation: `bin`, libraries, headers, a toolkit. Libraries and toolkit are empty
/// files, which are enough for a plan.
fn prefix(dir: &Path) -> PathBuf {
    let touch = |file: &str, text: &str| {
        let path = dir.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    touch("lib/gpurace/libgpurace_pass.so", "");
    touch("lib/gpurace/libgpurace_rt.so", "");
    touch("share/gpurace/include/gpurace/nvcc_compat.h", "");
    for file in [
        "bin/ptxas",
        "include/cuda_runtime.h",
        "include/curand_mtgp32_kernel.h",
        "nvvm/libdevice/libdevice.10.bc",
    ] {
        touch(&format!("share/gpurace/cuda/{file}"), "");
    }
    touch("share/gpurace/cuda/include/cuda.h", "#define CUDA_VERSION 12050\n");
    fs::create_dir_all(dir.join("bin")).unwrap();
    fs::copy(GCLANG, dir.join("bin/gclang")).unwrap();
    symlink("gclang", dir.join("bin/gclang++")).unwrap();
    dir.join("bin/gclang++")
}

#[test]
fn what_is_not_ours_is_clang_s_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.c"), "int f(int x) { return x + N; }\n").unwrap();
    fs::write(dir.path().join("bad.c"), "int f( { }\n").unwrap();
    fs::write(dir.path().join("args"), "-DN=3 \"a.c\" -c\n").unwrap();
    for args in [
        &["--version"][..],
        &["-dumpmachine"],
        &["-print-resource-dir"],
        &["-DN=1", "-E", "a.c"],
        &["-DN=1", "-S", "-O2", "a.c", "-o", "-"],
        &["bad.c", "-c"],
        &["nowhere.c"],
        &["-fno-such-option", "a.c"],
        &[],
    ] {
        let (ours, theirs) = (run(GCLANG, args, dir.path()), run("clang-22", args, dir.path()));
        assert_eq!(ours.status, theirs.status, "{args:?}");
        assert_eq!(ours.stdout, theirs.stdout, "{args:?}");
        assert_eq!(stderr(&ours), stderr(&theirs), "{args:?}");
    }
    run(GCLANG, &["-fsanitize=gpurace", "-fno-sanitize=gpurace", "@args", "-o", "ours.o"], dir.path());
    run("clang-22", &["@args", "-o", "theirs.o"], dir.path());
    let read = |name| fs::read(dir.path().join(name)).unwrap();
    assert_eq!(read("ours.o"), read("theirs.o"));
}

#[test]
fn other_sanitizers_are_clang_s() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.c"), "int main() { int a[2], i = 2; return a[i]; }\n").unwrap();
    let args = ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-Wno-everything", "a.c"];
    assert!(run(GCLANG, &args, dir.path()).status.success());
    assert!(!run(dir.path().join("a.out"), &[], dir.path()).status.success());
}

#[test]
fn help_is_clang_s_and_ours() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(GCLANG, &["--help"], dir.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(text.contains("OVERVIEW: clang LLVM compiler"));
    assert!(text.ends_with("The clang 22 to run\n"), "{text}");
}

#[test]
fn an_installed_prefix_finds_its_parts() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    let gclang = prefix(&base);
    let output = run(gclang, &["-fsanitize=gpurace", "-###", "k.cu", "-o", "k"], &base);
    let text = stderr(&output).replace(&base.display().to_string(), "PREFIX");
    assert!(output.status.success(), "{text}");
    for part in [
        "\"-fpass-plugin=PREFIX/lib/gpurace/libgpurace_pass.so\"",
        "\"-LPREFIX/lib/gpurace\" \"-lgpurace_rt\" \"-Wl,-rpath,PREFIX/lib/gpurace\"",
        "\"-isystem\" \"PREFIX/share/gpurace/include\"",
        // The machine may have another toolkit, which comes first.
        "\"--cuda-path=",
        "\"--cuda-gpu-arch=sm_80\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!base.join("k").exists());
}

#[test]
fn what_is_missing_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    let gclang = prefix(&base);
    let refused = |args: &[&str]| {
        let output = run(&gclang, args, &base);
        assert_eq!(output.status.code(), Some(1));
        stderr(&output).replace(&base.display().to_string(), "PREFIX")
    };
    insta::assert_snapshot!(refused(&["-fsanitize=gpurace", "--cuda-path=/nowhere", "k.cu"]), @r"
    gclang++: error: there is no CUDA toolkit at `/nowhere`
    gclang++: hint: run `scripts/setup` (in an installation: `share/gpurace/get-cuda`) to get one, or set `--cuda-path=DIR` to a toolkit from 11.0 to before 14.0
    ");
    insta::assert_snapshot!(refused(&["--clang=/nowhere/clang", "a.c"]), @"gclang++: error: cannot run `/nowhere/clang`: No such file or directory (os error 2)");
    // The executor runs the code for the first architecture only.
    let old = "`sm_35` needs CUDA 11.8 or older, found ";
    assert!(refused(&["-fsanitize=gpurace", "-fgpurace-exec=cpu", "-arch=sm_35", "k.cu"]).contains(old));
    let second = [
        "-fsanitize=gpurace",
        "-fgpurace-exec=cpu",
        "-gencode",
        "arch=compute_80,code=[sm_80,sm_35]",
        "k.cu",
    ];
    assert!(!refused(&second).contains(old));
    fs::remove_file(base.join("lib/gpurace/libgpurace_rt.so")).unwrap();
    insta::assert_snapshot!(refused(&["-fsanitize=gpurace", "k.cu"]), @r"
    gclang++: error: `libgpurace_rt.so` was not found in `PREFIX/bin` or `PREFIX/bin/../lib/gpurace`
    gclang++: hint: build gpurace with `scripts/setup`
    ");
}

#[test]
fn doctor_names_what_is_missing_and_how_to_get_it() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    prefix(&base);
    let gpurace = base.join("bin/gpurace");
    fs::copy(env!("CARGO_BIN_EXE_gpurace"), &gpurace).unwrap();
    let doctor = || {
        let output = run(&gpurace, &["doctor"], &base);
        let text = String::from_utf8_lossy(&output.stdout);
        let text = text.replace(&base.display().to_string(), "PREFIX");
        (output.status.code(), text)
    };
    let (status, text) = doctor();
    assert_eq!(status, Some(1));
    for line in [
        "ok       plugin        `PREFIX/lib/gpurace/libgpurace_pass.so`\n",
        "ok       linker        `/",
        "missing  solver        `libgpurace_solve.so` is not in `PREFIX/lib/gpurace`; without it nothing is \
         proved and every access is checked\n                       hint: build gpurace with `scripts/setup`\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    fs::write(base.join("lib/gpurace/libgpurace_solve.so"), "").unwrap();
    assert_eq!(doctor().0, Some(0), "{text}");
    let project = base.join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("Makefile"), "NVCC = nvcc\n").unwrap();
    fs::write(project.join("a.cu"), "int main() {}\n").unwrap();
    let of_project = |command| run(&gpurace, &[command, "project"], &base);
    assert_eq!(of_project("doctor").status.code(), Some(0));
    fs::write(project.join("a.cu"), "#include <nccl.h>\n").unwrap();
    assert_eq!(of_project("doctor").status.code(), Some(1));
    for command in ["doctor", "init"] {
        let output = of_project(command);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("fails    project/a.cu:1: needs NCCL"), "{command}: {text}");
    }
}

#[test]
fn temporary_files_do_not_stay() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    let gclang = prefix(&base);
    let temporary = base.join("tmp");
    fs::create_dir(&temporary).unwrap();
    // The device compilation fails: the file is not there.
    let output = Command::new(gclang)
        .args(["-fsanitize=gpurace", "nowhere.cu"])
        .env("TMPDIR", &temporary)
        .current_dir(&base)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no such file or directory: 'nowhere.cu'"));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn reports_that_cannot_be_read_are_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("r.json"), "{ \"schema\": \"other/1\" }").unwrap();
    let gpurace = env!("CARGO_BIN_EXE_gpurace");
    let missing = run(gpurace, &["report", "nowhere.json"], dir.path());
    insta::assert_snapshot!(stderr(&missing), @"gpurace: error: cannot read `nowhere.json`: No such file or directory (os error 2)");
    let other = run(gpurace, &["report", "r.json"], dir.path());
    assert_eq!(other.status.code(), Some(1));
    assert!(
        stderr(&other).starts_with("gpurace: error: `r.json` is not a report of this version of gpurace: ")
    );
}
