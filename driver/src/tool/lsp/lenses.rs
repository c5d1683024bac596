//! Code lenses: above each kernel, what the last run has shown of its accesses.

use std::path::Path;

use gen_lsp_types as lsp;
use gpurace_report::schema::{KernelCoverage, Report};
use gpurace_report::{coverage, names, words};

use super::documents::{key, resolve};
use super::setup::RELOAD;

/// Lines between `__global__` and the name of a kernel, at most.
const HEAD: usize = 3;

/// Returns the lenses of a file. A click reads the report again.
pub fn lenses(report: &Report, file: &Path, text: &str, folders: &[&Path]) -> Vec<lsp::CodeLens> {
    let mut found: Vec<(u32, &KernelCoverage)> = Vec::new();
    for kernel in &report.coverage {
        let here = kernel.accesses.iter().filter_map(|access| {
            let name = access.file.as_deref()?;
            // Most accesses are in files of another name: do not ask the disk for each.
            let is_here = Path::new(name).file_name() == file.file_name()
                && key(&resolve(name, folders.iter().copied())) == file;
            access.line.filter(|_| is_here)
        });
        let lines: Vec<u32> = here.collect();
        let (Some(first), Some(last)) = (lines.iter().min(), lines.iter().max()) else { continue };
        let row = definition(kernel, text, *last).unwrap_or_else(|| first.saturating_sub(1));
        found.push((row, kernel));
    }
    found.sort_by_key(|(row, _)| *row);
    let lens = |&(row, kernel): &(u32, &KernelCoverage)| {
        // Instances of a template share a line.
        let is_alone = found.iter().filter(|(other, _)| *other == row).count() == 1;
        let name =
            if is_alone { String::new() } else { format!(" `{}`:", words::short_name(&kernel.kernel)) };
        let at = lsp::Position { line: row, character: 0 };
        lsp::CodeLens {
            range: lsp::Range { start: at, end: at },
            command: Some(lsp::Command {
                title: format!("gpurace:{name} {}", coverage::summary(kernel)),
                command: RELOAD.to_owned(),
                ..Default::default()
            }),
            data: None,
        }
    };
    found.iter().map(lens).collect()
}

/// Returns the row of a kernel's name in its definition: the last one before its last access.
fn definition(kernel: &KernelCoverage, text: &str, last: u32) -> Option<u32> {
    let name = names::kernel_name(&kernel.kernel);
    let name = name.rsplit("::").next().unwrap_or(name);
    let lines: Vec<&str> = text.lines().take(last as usize).collect();
    let is_head = |row: &usize| {
        let above = &lines[row.saturating_sub(HEAD)..=*row];
        names(lines[*row], name) && above.iter().any(|line| line.contains("__global__"))
    };
    let row = (0..lines.len()).rev().find(is_head)?;
    u32::try_from(row).ok()
}

/// True if a line has the name as a word that parentheses follow.
fn names(line: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let after = &line[at + name.len()..];
        !name.is_empty() && !line[..at].ends_with(is_word) && after.trim_start().starts_with('(')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_by_the_name_of_its_definition() {
        let text = "void copy(int);\n__global__ void copy(int* x);\nvoid f() { copy(1); }\n\
                    template <class T> __global__ void\n__launch_bounds__(64)\n copy (T* x) {\n  x[0] = 1;\n}\n\
                    __global__ void copy2(int* x) {}\n";
        let row = |kernel: &str, last| {
            let kernel = KernelCoverage { kernel: kernel.to_owned(), launches: 1, accesses: Vec::new() };
            definition(&kernel, text, last)
        };
        assert_eq!(row("void a::copy<int>(int*)", 7), Some(5));
        assert_eq!(row("copy(int*)", 2), Some(1));
        assert_eq!(row("copy2(int*)", 99), Some(8));
        assert_eq!(row("cop(int*)", 99), None);
        assert_eq!(row("", 99), None);
    }
}
