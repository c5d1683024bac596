//! Hovers: the verdict on an access, its conditions, and why it is not proved.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use gen_lsp_types as lsp;
use gpurace_render::markdown;

use super::compile::Located;
use super::position::{Encoding, touch};
use crate::tool::explain::Explained;

/// The most accesses that one hover shows.
const MOST: usize = 8;

/// The accesses that facts of a build know, and when they were written.
#[derive(Debug)]
pub struct StoredVerdicts {
    /// The time of the file.
    pub written: SystemTime,
    /// The accesses.
    pub accesses: Vec<Located>,
}

/// The explained accesses of all sources.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// What compilations told, by source.
    pub compiled: HashMap<PathBuf, Vec<Located>>,
    /// What stored facts know.
    pub stored: Vec<StoredVerdicts>,
}

impl Verdicts {
    /// Returns the sources whose compilation read this file.
    pub fn readers(&self, file: &Path) -> Vec<PathBuf> {
        let reads = |accesses: &[Located]| accesses.iter().any(|(path, _)| path == file);
        let readers = self.compiled.iter().filter(|(_, accesses)| reads(accesses));
        readers.map(|(source, _)| source.clone()).collect()
    }

    /// Returns the accesses of a file: those that compilations told, else those of facts that are newer than it.
    fn of<'a>(&'a self, file: &'a Path) -> Vec<&'a Explained> {
        fn here<'a>(accesses: &'a [Located], file: &'a Path) -> impl Iterator<Item = &'a Explained> {
            accesses.iter().filter(move |(path, _)| path == file).map(|(_, access)| access)
        }
        let compiled: Vec<&Explained> =
            self.compiled.values().flat_map(|accesses| here(accesses, file)).collect();
        if !compiled.is_empty() {
            return compiled;
        }
        let changed = file.metadata().and_then(|about| about.modified());
        let fresh = self
            .stored
            .iter()
            .filter(|stored| changed.as_ref().is_ok_and(|changed| *changed <= stored.written));
        fresh.flat_map(|stored| here(&stored.accesses, file)).collect()
    }

    /// Returns what there is to say of the accesses at a position.
    pub fn hover(
        &self,
        file: &Path,
        text: &Arc<str>,
        position: lsp::Position,
        encoding: Encoding,
        in_markdown: bool,
    ) -> Option<lsp::Hover> {
        let at = lsp::Range { start: position, end: position };
        let mut shown: Vec<(&Explained, usize)> = Vec::new();
        let mut range = None;
        for access in self.of(file) {
            // Asking for the row first is quicker.
            if access.line.is_none_or(|line| line.saturating_sub(1) != position.line) {
                continue;
            }
            let own = encoding.range(Some(text), access.line.unwrap_or_default(), access.column);
            if !touch(own, at) {
                continue;
            }
            range = Some(own);
            // Instances of a template mostly have the same to say.
            match shown.iter_mut().find(|(other, _)| is_alike(other, access)) {
                // Two sources may read one header.
                Some((other, _)) if *other == access => {}
                Some((_, more)) => *more += 1,
                None => shown.push((access, 0)),
            }
        }
        let range = range?;
        let more = shown.len().saturating_sub(MOST);
        let first = shown.iter().take(MOST);
        let mut parts: Vec<String> = first.map(|(access, more)| part(access, *more, in_markdown)).collect();
        if more > 0 {
            parts.push(format!("{more} more accesses are not shown"));
        }
        let value = parts.join("\n\n---\n\n");
        let kind = if in_markdown { lsp::MarkupKind::Markdown } else { lsp::MarkupKind::PlainText };
        let contents = lsp::Contents::MarkupContent(lsp::MarkupContent { kind, value });
        Some(lsp::Hover { contents, range: Some(range) })
    }
}

/// True if two accesses differ in their kernel alone.
fn is_alike(a: &Explained, b: &Explained) -> bool {
    (&a.op, &a.size, &a.object, a.verdict, &a.says) == (&b.op, &b.size, &b.object, b.verdict, &b.says)
}

/// Returns what there is to say of one access, and of as many `more` that are alike.
fn part(access: &Explained, more: usize, in_markdown: bool) -> String {
    let plain = |text: &str| if in_markdown { markdown::text(text) } else { text.to_owned() };
    let Explained { kernel, op, size, object, verdict, .. } = access;
    let kernels = match more {
        0 => format!("`{kernel}`"),
        more => format!("`{kernel}` and {more} more"),
    };
    let strong = if in_markdown { "**" } else { "" };
    let what = plain(&format!("{op} of {size}, {object}, in {kernels}"));
    let mut text = format!("{strong}gpurace: {verdict}{strong}: {what}\n");
    for (label, said) in &access.says {
        text += &format!("\n- {label}: {}", plain(said));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_program_are_no_markdown() {
        let access: Explained = serde_json::from_value(serde_json::json!({
            "kernel": "f<A>(int*)", "file": "k.cu", "line": 1, "column": 1, "op": "write", "size": "4 B",
            "object": "global", "verdict": "checked", "says": [["why", "a*b < c_d_e"], ["remedy", "`a*b`"]],
        }))
        .unwrap();
        assert_eq!(
            part(&access, 1, true),
            "**gpurace: checked**: write of 4 B, global, in `f<A>(int*)` and 1 more\n\n\
             - why: a\\*b &lt; c\\_d\\_e\n- remedy: `a*b`"
        );
        assert_eq!(
            part(&access, 0, false),
            "gpurace: checked: write of 4 B, global, in `f<A>(int*)`\n\n- why: a*b < c_d_e\n- remedy: `a*b`"
        );
    }
}
