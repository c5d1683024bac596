//! `cargo test` of the crate in docs/frameworks.md.

use std::fs;
use std::path::Path;
use std::process::Command;

use gpurace_tests::toolchain::{run, tool, work_folder, workspace};
use libtest_mimic::Failed;

/// Writes the files of the page.
fn crate_of_the_page(folder: &Path) -> Result<(), Failed> {
    let page = fs::read_to_string(workspace().join("docs/frameworks.md"))?;
    let (_, section) = page.split_once("## cargo test\n").ok_or("no section")?;
    let block = |begin: &str| -> Result<&str, Failed> {
        let (_, rest) = section.split_once(begin).ok_or_else(|| format!("no `{begin}`"))?;
        Ok(rest.split_once("```").ok_or("the block does not end")?.0)
    };
    fs::create_dir_all(folder.join("src"))?;
    let manifest = "[package]\nname = \"mirror\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    for (file, text) in [
        ("Cargo.toml", manifest),
        ("build.rs", block("```rust\n// build.rs\n")?),
        ("src/lib.rs", block("```rust\n// src/lib.rs\n")?),
        ("src/kernels.cu", block("```cuda\n")?),
    ] {
        fs::write(folder.join(file), text)?;
    }
    Ok(())
}

pub fn tests_of_cargo() -> Result<(), Failed> {
    let folder = work_folder("cargo_test")?;
    crate_of_the_page(&folder)?;
    let gclang = tool("gclang")?;
    let path = format!("{}:{}", gclang.parent().ok_or("no folder")?.display(), std::env::var("PATH")?);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--offline", "--no-fail-fast"]).current_dir(&folder).env("PATH", path);
    cargo.env("CARGO_TARGET_DIR", folder.join("target")).env_remove("LD_LIBRARY_PATH");
    cargo.env("CUDA_PATH", workspace().join(".cache/cuda-13.0"));
    let tested = run(&mut cargo, &folder)?;
    let all = format!("{}{}", tested.stdout, tested.stderr);
    assert_ne!(tested.status, Some(0), "{all}");
    assert!(tested.stdout.contains("test tests::mirrors ... ok"), "{all}");
    assert!(tested.stdout.contains("test tests::mirrors_without_a_barrier ... FAILED"), "{all}");
    let (_, failure) =
        tested.stdout.split_once("---- tests::mirrors_without_a_barrier stdout ----").ok_or("no failure")?;
    assert!(failure.contains("F1: missing barrier: shared variable `tile` in `mirror`"), "{all}");
    Ok(())
}
