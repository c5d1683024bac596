//! Headers of the toolkit that clang reads in an adapted copy.
//!
//! nvcc takes `__shared__ cuda::barrier<cuda::thread_scope_block> b;` although
//! the barrier's destructor does something: nobody ever calls it for a shared
//! variable. clang refuses a shared variable whose destructor is not empty. So
//! gclang hands it the toolkit's own header with that destructor defaulted; all
//! that it does is to tell the hardware that the barrier's memory is free.
//!
//! nvcc also takes two operands of an `asm` without a comma between them, as the
//! same header has them for architectures from `sm_90` on.

use std::path::{Path, PathBuf};

/// Where the header of `cuda::barrier` is in a toolkit, by the version of its libcu++.
const BARRIERS: [&str; 2] = [
    "include/cuda/std/detail/libcxx/include/__cuda/barrier.h",
    "include/cuda/__barrier/barrier_block_scope.h",
];

/// The headers of a toolkit that are to be read in an adapted copy.
pub fn to_adapt(toolkit: &Path) -> Vec<PathBuf> {
    BARRIERS
        .iter()
        .map(|header| toolkit.join(header))
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| adapt(&text).is_some()))
        .collect()
}

/// The header as clang takes it, on as many lines; `None` where it takes it as it is.
pub fn adapt(text: &str) -> Option<String> {
    let defaulted = default_destructor(text);
    let separated = separate_operands(defaulted.as_deref().unwrap_or(text));
    separated.or(defaulted)
}

/// The header with a comma between the operands of each `asm`.
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

/// The header with the barrier's destructor defaulted; `None` where it has none
/// that does something.
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
