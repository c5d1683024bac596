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

/// Copies a program. A file that this process wrote could not be run while another thread starts a program.
fn copy(program: &str, to: &Path) {
    assert!(Command::new("cp").arg(program).arg(to).status().unwrap().success());
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
    copy(GCLANG, &dir.join("bin/gclang"));
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
    fs::write(base.join("share/gpurace/cuda/include/cuda.h"), "#define CUDA_VERSION 13000\n").unwrap();
    // CUDA 13 no longer has `sm_35`. The executor has.
    for (exec, archs, said) in [
        ("cpu", "-arch=sm_35", Some("`sm_80`")),
        ("auto", "-gencode=arch=compute_35,code=sm_35 -gencode=arch=compute_50,code=sm_50", Some("`sm_50`")),
        ("cpu", "-arch=sm_75", None),
    ] {
        let exec = format!("-fgpurace-exec={exec}");
        let mut args = vec!["-fsanitize=gpurace", &exec, "-###", "k.cu"];
        args.extend(archs.split(' '));
        let plan = stderr(&run(&gclang, &args, &base));
        let note =
            said.map(|to| format!("note: CUDA 13.0 no longer has `sm_35`: device code is built for {to}\n"));
        assert_eq!(plan.contains("no longer has"), note.is_some(), "{plan}");
        assert!(plan.contains(&note.unwrap_or_default()) && !plan.contains("gpu-arch=sm_35"), "{plan}");
    }
    let for_gpu = refused(&["-fsanitize=gpurace", "-fgpurace-exec=cuda", "-arch=sm_35", "k.cu"]);
    assert!(for_gpu.contains("`sm_35` is not supported with `-fgpurace-exec=cuda`"), "{for_gpu}");
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
    copy(env!("CARGO_BIN_EXE_gpurace"), &gpurace);
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
fn what_gpurace_lacks_is_named_where_a_source_does_not_compile() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    let gclang = prefix(&base);
    let said = |text: &str, more: &str| {
        fs::write(base.join("k.cu"), text).unwrap();
        let args = ["-fsanitize=gpurace", "-fgpurace-exec=cpu", "-c", "k.cu", more];
        let output = run(&gclang, &args, &base);
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
            .lines()
            .filter(|line| line.starts_with("gclang++: error"))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let launch = "__global__ void c();\n__global__ void k() { c<<<1, 1>>>(); }\n";
    assert_eq!(
        said(&format!("#include <cudnn.h>\n{launch}"), "-O1"),
        "gclang++: error: k.cu:3: a kernel launches a kernel, which gpurace does not support; \
         gclang++: error: k.cu:1: needs cuDNN, which gpurace does not have"
    );
    assert_eq!(said("#if 0\n#include <cudnn.h>\n#endif\nint x", "-O1"), "");
    // The user's own.
    fs::create_dir(base.join("own")).unwrap();
    fs::write(base.join("own/cudnn.h"), "#error old").unwrap();
    assert_eq!(said("#include <cudnn.h>\n", "-Iown"), "");
}

#[test]
fn a_built_program_is_not_explained() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("lib.a"), "!<arch>\n").unwrap();
    fs::write(dir.path().join("image.png"), "PNG\0").unwrap();
    let explain = |file: &str| {
        let output = run(env!("CARGO_BIN_EXE_gpurace"), &["explain", file], dir.path());
        assert_eq!(output.status.code(), Some(1));
        stderr(&output).lines().next().unwrap_or_default().to_owned()
    };
    let is = |file: &str, what: &str| format!("gpurace: error: `{file}` is {what}, wanted a CUDA source");
    assert_eq!(explain(GCLANG), is(GCLANG, "a built program, object or library"));
    assert_eq!(explain("lib.a"), is("lib.a", "a library"));
    assert_eq!(explain("image.png"), is("image.png", "no text"));
    assert!(explain("nowhere.cu").starts_with("gpurace: error: cannot read `nowhere.cu`"));
    assert!(explain(".").starts_with("gpurace: error: cannot read `.`"));
}

#[test]
fn a_folder_looks_like_a_toolkit() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    prefix(&base);
    let gpurace = base.join("bin/gpurace");
    copy(env!("CARGO_BIN_EXE_gpurace"), &gpurace);
    fs::create_dir_all(base.join("share/gpurace/include/gpurace/fallback")).unwrap();
    fs::write(base.join("share/gpurace/include/gpurace/fallback/cublas.h"), "ours").unwrap();
    let made = |args: &[&str]| {
        let output = Command::new(&gpurace)
            .args([&["toolkit"], args].concat())
            .current_dir(&base)
            .env_remove("CUDA_PATH")
            .env("XDG_CACHE_HOME", base.join("cache"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    };
    let (checked, bare) = (made(&[]), made(&["--bare"]));
    assert!(checked.starts_with(base.join("cache")) && checked != bare);
    assert_eq!(made(&["here"]), base.join("here"));
    for (file, real) in [
        ("include/cublas.h", "share/gpurace/include/gpurace/fallback/cublas.h"),
        ("include/cuda.h", "share/gpurace/cuda/include/cuda.h"),
        ("lib/libcudart.so", "lib/gpurace/libgpurace_rt.so"),
        ("lib64/stubs/libcuda.so", "lib/gpurace/libgpurace_rt.so"),
        ("targets/x86_64-linux/include/cuda.h", "share/gpurace/cuda/include/cuda.h"),
        ("targets/x86_64-linux/lib/libcudart.so", "lib/gpurace/libgpurace_rt.so"),
    ] {
        assert_eq!(fs::canonicalize(checked.join(file)).unwrap(), base.join(real));
    }
    // An older one is brought up to date, and nothing else stays in it.
    fs::write(checked.join("bin/nvcc"), "old").unwrap();
    fs::remove_file(checked.join("lib64/libcudart.so")).unwrap();
    symlink("/nowhere", checked.join("lib64/libcudart.so")).unwrap();
    assert_eq!(made(&[]), checked);
    assert!(checked.join("lib64/libcudart.so").exists());
    let version = run(checked.join("bin/nvcc"), &["--version"], &base);
    assert!(String::from_utf8_lossy(&version.stdout).contains("release 12.5, V12.5.0"), "{version:?}");
    assert!(fs::read_to_string(checked.join("bin/nvcc")).unwrap().contains("-fsanitize=gpurace"));
    assert!(!fs::read_to_string(bare.join("bin/nvcc")).unwrap().contains("-fsanitize=gpurace"));
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
