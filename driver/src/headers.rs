//! Toolkit headers and sources that clang cannot read as they are. gclang gives clang an adapted copy of each. The
//! module [`dialect`] says what gclang changes in sources.
//!
//! clang rejects a shared variable whose destructor is not empty. nvcc accepts
//! `__shared__ cuda::barrier<cuda::thread_scope_block> b;`, since nothing ever calls the destructor of a
//! shared variable. In the copy, that destructor is defaulted. The original only tells the hardware that
//! the barrier's memory is free.
//!
//! nvcc also accepts two operands of an `asm` without a comma between them. The same header has such an
//! `asm` for `sm_90` and newer. The copy has the comma.

use std::path::{Path, PathBuf};

use crate::args::{Args, Input, InputKind};
use crate::dialect;

/// The header of `cuda::barrier` in a toolkit. It depends on the version of libcu++.
const BARRIERS: [&str; 3] = [
    "include/cuda/std/detail/libcxx/include/__cuda/barrier.h",
    "include/cuda/__barrier/barrier_block_scope.h",
    "include/cccl/cuda/__barrier/barrier_block_scope.h",
];

/// Returns the headers of a toolkit that clang cannot read as they are.
pub fn to_adapt(toolkit: &Path) -> Vec<PathBuf> {
    BARRIERS
        .iter()
        .map(|header| toolkit.join(header))
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| adapt(&text).is_some()))
        .collect()
}

/// Returns the CUDA sources that clang cannot read as they are.
pub fn sources_to_adapt(args: &Args) -> impl Iterator<Item = PathBuf> {
    let sources = args.inputs().filter(|input| input.kind() == InputKind::Cuda);
    let path = |input: &Input| PathBuf::from(&input.path);
    sources.map(path).filter(|path| std::fs::read_to_string(path).is_ok_and(|text| adapt(&text).is_some()))
}

/// Returns the adapted text of a header or source, with the same number of lines. `None` if clang can read the header
/// as it is.
pub fn adapt(text: &str) -> Option<String> {
    let mut adapted: Option<String> = None;
    for rule in [default_destructor, separate_operands, dialect::adapt] {
        adapted = rule(adapted.as_deref().unwrap_or(text)).or(adapted);
    }
    adapted
}

/// Adds the missing commas between the operands of each `asm`. `None` if no comma is missing.
fn separate_operands(text: &str) -> Option<String> {
    let operand = |line: &str| {
        let line = line.trim();
        line.len() > 4 && line.starts_with('"') && line[2..].starts_with("\"(") && line.ends_with(')')
    };
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.push("");
    let missing = |pair: &[&str]| operand(pair[0]) && pair[1].trim_start().starts_with("\"r\"(");
    if !lines.windows(2).any(missing) {
        return None;
    }
    let mended = lines.windows(2).map(|pair| match missing(pair) {
        true => pair[0].replacen(pair[0].trim_end(), &format!("{},", pair[0].trim_end()), 1),
        false => pair[0].to_owned(),
    });
    Some(mended.collect())
}

/// Defaults the barrier's destructor. `None` if the header does not define one with a body.
fn default_destructor(text: &str) -> Option<String> {
    let name = text.find("~barrier()")?;
    let start = name + text[name..].find(['{', ';', '='])?;
    if !text[start..].starts_with('{') {
        return None;
    }
    let mut depth = 0;
    let length = text[start..].find(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let (before, rest) = text.split_at(start);
    let (body, after) = rest.split_at(length + 1);
    let lines = "\n".repeat(body.matches('\n').count());
    Some(format!("{before}= default;{lines}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_destructor_that_does_something_is_replaced() {
        let header = "struct barrier {\n  ~barrier() {\n    if (x) { f(); }\n  }\n  int y;\n};\n";
        let adapted = "struct barrier {\n  ~barrier() = default;\n\n\n  int y;\n};\n";
        assert_eq!(adapt(header).as_deref(), Some(adapted));
        assert_eq!(adapt(adapted), None);
        assert_eq!(adapt("struct barrier { ~barrier(); void f() {} };"), None);
        assert_eq!(adapt("struct barrier { int y; };"), None);
        assert_eq!(adapt("struct barrier { ~barrier() { f();"), None);
    }

    #[test]
    fn operands_get_the_comma_between_them() {
        let header =
            "asm(\"x\"\n  : \"=r\"(a)\n  : \"r\"(b),\n    \"l\"(token)\n    \"r\"(wait)\n  : \"memory\");\n";
        assert_eq!(adapt(header), Some(header.replace("(token)\n", "(token),\n")));
        assert_eq!(adapt(&header.replace("(token)\n", "(token),\n")), None);
    }
}
