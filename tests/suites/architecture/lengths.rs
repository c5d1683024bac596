//! The length of source files: one file is read in one sitting.

use std::path::Path;

use gpurace_tests::toolchain::workspace;

use crate::reader::crates;

/// Lines of a source file at most, without the tests in it.
const LIMIT: usize = 500;

/// Folders of C++ and CUDA sources that are part of gpurace.
const CPP: &[&str] = &["driver/include", "runtime/device/cpp"];

/// Adds the C++ and CUDA files below a folder, with their lengths.
fn add_cpp(folder: &Path, lengths: &mut Vec<(String, usize)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_cpp(&path, lengths);
        } else if let Some("cpp" | "h" | "cu" | "cuh") = path.extension().and_then(|e| e.to_str()) {
            lengths.push((shown(&path), lines(&path)));
        }
    }
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap().lines().count()
}

fn shown(file: &Path) -> String {
    file.strip_prefix(workspace()).unwrap_or(file).display().to_string()
}

#[test]
fn a_source_file_is_read_in_one_sitting() {
    let mut lengths = Vec::new();
    for (_, source) in crates() {
        lengths.extend(source.files.iter().map(|(file, tests)| (shown(file), lines(file) - tests)));
    }
    CPP.iter().for_each(|folder| add_cpp(&workspace().join(folder), &mut lengths));
    assert!(lengths.len() > 200, "only {} source files were found", lengths.len());
    lengths.retain(|(_, length)| *length > LIMIT);
    assert!(lengths.is_empty(), "longer than {LIMIT} lines: {lengths:?}");
}
