//! Prints the pass's warnings and remarks as clang prints its own: `file:line:column: warning: message
//! [-Wgpurace]`, the source line, a caret.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use gpurace_abi::diagnostic::{Diagnostic, Group, Note, Position};
use gpurace_report::plain;

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const MAGENTA: Style = AnsiColor::Magenta.on_default().bold();
const BLUE: Style = AnsiColor::Blue.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();

/// Returns the text of the diagnostics, and true if one of them ends the build. With `errors`, warnings are
/// errors.
pub fn render(diagnostics: &[Diagnostic], errors: bool) -> (String, bool) {
    let mut sources = Sources::default();
    let mut out = String::new();
    let mut warnings = 0;
    for diagnostic in diagnostics {
        let (style, kind, flag) = match diagnostic.group {
            Group::Warning if errors => (RED, "error", "-Werror,-Wgpurace"),
            Group::Warning => (MAGENTA, "warning", "-Wgpurace"),
            Group::Proved => (BLUE, "remark", "-Rpass=gpurace"),
            Group::Missed => (BLUE, "remark", "-Rpass-missed=gpurace"),
        };
        warnings += usize::from(diagnostic.group == Group::Warning);
        sources.add(&mut out, &diagnostic.text, style, kind, Some(flag));
        for note in &diagnostic.notes {
            sources.add(&mut out, note, CYAN, "note", None);
        }
    }
    if warnings > 0 {
        let (what, s) = (if errors { "error" } else { "warning" }, if warnings == 1 { "" } else { "s" });
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(out, "{warnings} {what}{s} generated.");
    }
    (out, errors && warnings > 0)
}

/// The source files that were read, as lines.
#[derive(Default)]
struct Sources {
    lines: HashMap<PathBuf, Vec<String>>,
}

impl Sources {
    /// Adds a note with its source line. `kind`: error, warning, remark or note.
    fn add(&mut self, out: &mut String, note: &Note, style: Style, kind: &str, flag: Option<&str>) {
        let place = match &note.position {
            Some(Position { file, line, column: 0, .. }) => format!("{}:{line}: ", plain::line(file)),
            Some(Position { file, line, column, .. }) => format!("{}:{line}:{column}: ", plain::line(file)),
            None => String::new(),
        };
        let message = plain::line(&note.message);
        let _ = write!(out, "{BOLD}{place}{BOLD:#}{style}{kind}: {style:#}{BOLD}{message}");
        if let Some(flag) = flag {
            let _ = write!(out, " [{flag}]");
        }
        let _ = writeln!(out, "{BOLD:#}");
        if let Some((position, text)) = note.position.as_ref().and_then(|p| Some((p, self.line(p)?))) {
            let _ = writeln!(out, "{:>5} | {text}", position.line);
            if position.column > 0 {
                let before = text.chars().take(position.column as usize - 1);
                // Tabs stay, so that the caret stands under its character.
                let before: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                let _ = writeln!(out, "      | {before}{GREEN}^{GREEN:#}");
            }
        }
    }

    fn line(&mut self, position: &Position) -> Option<String> {
        let path = Path::new(&position.directory).join(&position.file);
        let lines = self.lines.entry(path).or_insert_with_key(|path| {
            let text = fs::read(path).unwrap_or_default();
            plain::lines(&String::from_utf8_lossy(&text)).lines().map(str::to_owned).collect()
        });
        lines.get(position.line as usize - 1).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_look_as_clang_s_do() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("k.cu"), "// one\n\tp[i / 2] = i;\n").unwrap();
        let position = |line, column| {
            Some(Position {
                file: "k.cu".into(),
                directory: folder.path().display().to_string(),
                line,
                column,
            })
        };
        let note = |position, message: &str| Note { position, message: message.into() };
        let diagnostics = [
            Diagnostic {
                group: Group::Warning,
                text: note(position(2, 11), "data race"),
                notes: vec![note(position(1, 0), "the other access"), note(None, "nowhere")],
            },
            Diagnostic {
                group: Group::Proved,
                // The file no longer has this line.
                text: note(position(9, 1), "cannot race"),
                notes: vec![],
            },
        ];
        let (text, ends) = render(&diagnostics, false);
        assert!(!ends);
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @r"
        k.cu:2:11: warning: data race [-Wgpurace]
            2 | 	p[i / 2] = i;
              | 	         ^
        k.cu:1: note: the other access
            1 | // one
        note: nowhere
        k.cu:9:1: remark: cannot race [-Rpass=gpurace]
        1 warning generated.
        ");
        let (text, ends) = render(&diagnostics, true);
        assert!(ends && text.contains("[-Werror,-Wgpurace]") && text.contains("1 error generated."));
        assert!(!render(&diagnostics[1..], true).1);
    }
}
