//! What the tests share: tools and files that may be missing.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A CUDA toolkit with headers, or `None`, which is said.
pub fn toolkit() -> Option<PathBuf> {
    let mut candidates: Vec<PathBuf> =
        ["GPURACE_TEST_CUDA_PATH", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(Into::into).collect();
    candidates.push("/usr/local/cuda".into());
    // Where `scripts/setup` puts one.
    candidates.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/cuda-13.0"));
    let found = candidates.into_iter().find(|path| path.join("include/cuda_runtime_api.h").is_file());
    if found.is_none() {
        eprintln!("skipped: no CUDA headers; set GPURACE_TEST_CUDA_PATH");
    }
    found
}

/// clang 22, or `None`, which is said.
pub fn clang() -> Option<&'static str> {
    let found = Command::new("clang-22").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no `clang-22`");
    }
    found.then_some("clang-22")
}

/// `libgpurace_rt.so` of the build that the test belongs to.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let deps = test.parent().expect("the test lies in a folder");
    let library = deps.join("libgpurace_rt.so");
    assert!(library.is_file(), "cargo builds the library beside its tests");
    library
}

/// Runs a command; gives its status and both outputs.
pub fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Compiles C or C++ and panics with the compiler's words where it fails.
pub fn compile(command: &mut Command) {
    let (status, _, errors) = run(command);
    assert_eq!(status, Some(0), "{command:?}:\n{errors}");
}
