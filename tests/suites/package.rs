//! The tarball of `scripts/package` works in the folder that it is unpacked into, also if its name
//! has a space.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_tests::toolchain::{Outcome, run, run_checked, tool, work_folder, workspace};

fn succeed(command: &mut Command, folder: &Path) -> Outcome {
    let outcome = run(command.current_dir(folder), folder).unwrap();
    assert_eq!(outcome.status, Some(0), "{command:?}\n{}{}", outcome.stdout, outcome.stderr);
    outcome
}

/// Packs, unpacks and renames the folder. Returns its path.
fn unpacked(folder: &Path) -> PathBuf {
    let built = tool("gclang").unwrap().parent().unwrap().to_owned();
    let mut package = Command::new(workspace().join("scripts/package"));
    succeed(package.arg(folder).env("GPURACE_TEST_BIN", built), folder);
    let tarball = format!("gpurace-{}-x86_64-linux.tar.gz", env!("CARGO_PKG_VERSION"));
    succeed(Command::new("tar").args(["xf", &tarball]), folder);
    let prefix = folder.join("an other place");
    std::fs::rename(folder.join(tarball.trim_end_matches(".tar.gz")), &prefix).unwrap();
    prefix
}

#[test]
fn a_renamed_folder_works_as_it_lies() {
    let folder = work_folder("package").unwrap();
    let prefix = unpacked(&folder);
    for file in [
        "LICENSE",
        "VERSION",
        "README.txt",
        "share/man/man1/gpurace.1",
        "share/bash-completion/completions/gpurace",
    ] {
        assert!(std::fs::metadata(prefix.join(file)).unwrap().len() > 0, "{file}");
    }
    let version = std::fs::read_to_string(prefix.join("VERSION")).unwrap();
    assert!(version.starts_with(&format!("version: {}\n", env!("CARGO_PKG_VERSION"))), "{version}");
    // The tarball holds no part of CUDA. `get-cuda` would write it here.
    assert!(!prefix.join("share/gpurace/cuda").exists());
    symlink(workspace().join(".cache/cuda-13.0"), prefix.join("share/gpurace/cuda")).unwrap();

    let source = prefix.join("share/doc/gpurace/examples/reduction/reduction.cu");
    let gclang = || {
        let mut gclang = Command::new(prefix.join("bin/gclang++"));
        gclang.args(["-fsanitize=gpurace", "-Wno-gpurace"]).arg(&source).args(["-o", "app"]);
        gclang
    };
    // The packed gclang uses nothing of the checkout.
    let plan = succeed(gclang().arg("-###"), &folder).stderr;
    let checkout = workspace().display().to_string();
    assert!(!plan.contains(&checkout), "{plan}");
    assert!(plan.contains("an other place/lib/gpurace/libgpurace_solve.so"), "{plan}");
    succeed(&mut gclang(), &folder);
    let checked = run_checked(&folder.join("app"), &[], "", &folder).unwrap();
    assert_eq!((checked.outcome.status, checked.report.unwrap().races.len()), (Some(66), 1));

    let said = succeed(Command::new(prefix.join("bin/gpurace")).arg("doctor"), &folder).stdout;
    assert!(
        !said.contains(&checkout) && said.contains("an other place/lib/gpurace/libgpurace_rt.so"),
        "{said}"
    );
}

#[test]
fn presets_of_the_packed_example_name_a_file_that_is_there() {
    let folder = work_folder("package_presets").unwrap();
    let project = unpacked(&folder).join("share/doc/gpurace/examples/cmake-project");
    let presets: serde_json::Value =
        serde_json::from_slice(&std::fs::read(project.join("CMakePresets.json")).unwrap()).unwrap();
    let toolchain = presets["configurePresets"][0]["toolchainFile"].as_str().unwrap();
    let toolchain = project.join(toolchain.strip_prefix("${sourceDir}/").unwrap());
    assert!(toolchain.is_file(), "{}", toolchain.display());
}
