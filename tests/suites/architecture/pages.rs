//! The paths that ARCHITECTURE.md and docs/glossary.md name.

use gpurace_tests::toolchain::workspace;

use crate::manifests::packages;

#[test]
fn every_folder_of_the_code_map_exists() {
    let text = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    let mut seen = 0;
    for line in text.lines().filter(|l| l.starts_with("| `")) {
        let name = line.split('`').nth(1).unwrap();
        if name.ends_with('/') {
            assert!(workspace().join(name).is_dir(), "ARCHITECTURE.md names `{name}`");
            seen += 1;
        }
    }
    assert!(seen >= 8, "the code map has {seen} folders");
    for package in packages().values() {
        let named = text.contains(&format!("`{}/`", package.folder));
        assert!(named, "ARCHITECTURE.md does not name `{}/`", package.folder);
    }
}

/// The paths in the last column of the glossary's tables, each with its term.
fn glossary(text: &str) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let last = cells.last().copied().unwrap_or_default();
        paths.extend(last.split('`').skip(1).step_by(2).map(|path| (cells[0].to_owned(), path.to_owned())));
    }
    paths
}

#[test]
fn every_module_of_the_glossary_exists() {
    let text = std::fs::read_to_string(workspace().join("docs/glossary.md")).unwrap();
    let paths = glossary(&text);
    assert!(paths.len() > 20, "the glossary names {} modules", paths.len());
    let gone: Vec<_> = paths.iter().filter(|(_, path)| !workspace().join(path).exists()).collect();
    assert!(gone.is_empty(), "docs/glossary.md names modules that do not exist: {gone:?}");
}

#[test]
fn the_glossarys_last_column_is_read() {
    let text = "| term | meaning | defined in |\n|---|---|---|\n| a, b | `x` is not read | `p/q.rs`, `r` |\n\
                | c | no module | CUDA |\n";
    let wanted = ["p/q.rs", "r"].map(|path| ("a, b".to_owned(), path.to_owned()));
    assert_eq!(glossary(text), wanted);
}
