//! README.md shows the example's kernel and its real report.

use gpurace_tests::toolchain::{compile, run_checked, work_folder, workspace};

fn readme() -> String {
    std::fs::read_to_string(workspace().join("README.md")).unwrap()
}

/// Returns the fenced blocks of a language, in order.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == format!("```{language}") {
            let block: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
            found.push(block.join("\n"));
        }
    }
    found
}

/// Returns a source without the lines that `-DFIXED` adds.
fn racy(source: &str) -> String {
    let mut kept = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line == "#ifdef FIXED" {
            // An `#else` would belong to the racy form. The kernel has none.
            lines.by_ref().take_while(|l| *l != "#endif" && *l != "#else").for_each(drop);
        } else {
            kept.push(line);
        }
    }
    kept.join("\n")
}

#[test]
fn the_kernel_is_the_examples() {
    let kernel = blocks(&readme(), "cuda").remove(0);
    assert!(kernel.lines().count() <= 12, "the kernel has {} lines", kernel.lines().count());
    let example = std::fs::read_to_string(workspace().join("examples/reduction/reduction.cu")).unwrap();
    assert!(racy(&example).contains(&kernel), "reduction.cu does not have:\n{kernel}");
}

#[test]
fn the_report_is_the_examples() {
    let shown = blocks(&readme(), "text").remove(0);
    let folder = work_folder("readme").unwrap();
    std::fs::copy(workspace().join("examples/reduction/reduction.cu"), folder.join("reduction.cu")).unwrap();
    compile(&["-fsanitize=gpurace", "reduction.cu", "-o", "reduction"], &folder).unwrap();
    let outcome = run_checked(&folder.join("reduction"), &[], "", &folder).unwrap().outcome;
    let sum = blocks(&readme(), "console").remove(0);
    assert_eq!(sum, outcome.stdout.trim_end(), "README.md shows another sum than the example prints");
    let real = outcome.stderr;
    // The process id differs between runs. So does the block in the report: all blocks race alike,
    // and several workers run them.
    let normal = |text: &str| {
        let mut out = String::new();
        for line in text.trim_end().lines() {
            let line = match line.split_once("(pid=") {
                Some((head, _)) => format!("{head}(pid=N)"),
                None => line.to_owned(),
            };
            let line =
                (1..4).fold(line, |line, n| line.replace(&format!("of block ({n},0,0)"), "of block (0,0,0)"));
            out.push_str(&line);
            out.push('\n');
        }
        out
    };
    assert_eq!(normal(&shown), normal(&real), "README.md shows another report than the example gives");
}

#[test]
fn what_it_names_exists() {
    let text = readme();
    for path in [
        "scripts/demo",
        "scripts/setup",
        "scripts/test",
        "ARCHITECTURE.md",
        "docs/soundness.md",
        "LICENSE",
        "CHANGELOG.md",
    ] {
        assert!(text.contains(path), "README.md does not name {path}");
        assert!(workspace().join(path).exists(), "README.md names {path}, which is not there");
    }
}
