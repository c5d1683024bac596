//! Source lines with carets.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::fold::WIDTH;
use crate::sources::Sources;

/// What stands before each line.
const INDENT: &str = "  ";

/// A place in a source file with a label.
#[derive(Clone, Debug)]
pub(crate) struct Mark<'a> {
    pub(crate) file: &'a str,
    /// From 1.
    pub(crate) line: u32,
    /// In bytes, from 1. `None` marks the whole line.
    pub(crate) column: Option<u32>,
    pub(crate) label: String,
    /// True if it is drawn with `^`, false with `-`.
    pub(crate) primary: bool,
}

/// Returns the marked lines, grouped by file. Empty if no source can be read.
pub(crate) fn render(marks: &[Mark<'_>], sources: &dyn Sources, color: bool) -> String {
    let mut files: Vec<&str> = Vec::new();
    for mark in marks {
        if !files.contains(&mark.file) {
            files.push(mark.file);
        }
    }
    let mut out = String::new();
    for file in files {
        let Some(text) = sources.text(file) else {
            continue;
        };
        let marks: Vec<_> = marks.iter().filter(|mark| mark.file == file).collect();
        out.push_str(&render_file(file, &text, &marks, color).unwrap_or_default());
    }
    out
}

/// Returns the marked lines of one file. `None` if the text has none of them.
fn render_file(file: &str, text: &str, marks: &[&Mark<'_>], color: bool) -> Option<String> {
    let lines = line_ranges(text);
    let range = |mark: &Mark<'_>| lines.get((mark.line as usize).checked_sub(1)?).cloned();
    let inside: Vec<_> = marks.iter().filter_map(|mark| range(mark).map(|line| (*mark, line))).collect();

    // The renderer gets only the lines from the first mark to the last. It folds lines between marks.
    let first = inside.iter().min_by_key(|(mark, _)| mark.line)?;
    let last = inside.iter().max_by_key(|(mark, _)| mark.line)?;
    let (start, first_line) = (first.1.start, first.0.line);
    let window = &text[start..last.1.end];

    let mut snippet = Snippet::source(window).line_start(first_line as usize).path(file);
    let mut spans: Vec<(Range<usize>, Vec<&str>, bool)> = Vec::new();
    for (mark, line) in &inside {
        let within = span(&text[line.clone()], mark.column);
        let at = line.start - start;
        let span = at + within.start..at + within.end;
        // Two labels at one place are one label.
        match spans.iter_mut().find(|(other, ..)| *other == span) {
            Some((_, labels, primary)) => {
                labels.push(&mark.label);
                *primary |= mark.primary;
            }
            None => spans.push((span, vec![&mark.label], mark.primary)),
        }
    }
    for (span, labels, primary) in spans {
        let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        snippet = snippet.annotation(kind.span(span).label(labels.join(" and ")));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(WIDTH - INDENT.len());
    let mut drawn = renderer.render(&[Group::with_level(Level::WARNING).element(snippet)]);
    // The header has the start of the first primary mark, or else of the first mark. The report's column is that
    // of clang, or is not known.
    let named = inside.iter().find(|(mark, _)| mark.primary).or(inside.first());
    let header_end = drawn.find('\n').unwrap_or(drawn.len());
    if let Some(colon) = drawn[..header_end].rfind(':') {
        let column = named.and_then(|(mark, _)| mark.column).map(|column| format!(":{column}"));
        // The header's end may be a colour.
        let digits = drawn[colon + 1..header_end].find(|c: char| !c.is_ascii_digit());
        let end = digits.map_or(header_end, |length| colon + 1 + length);
        drawn.replace_range(colon..end, &column.unwrap_or_default());
    }
    Some(drawn.lines().map(|line| format!("{INDENT}{line}\n")).collect())
}

/// Returns the range of each line, without its end.
fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            start..start + line.trim_end_matches(['\n', '\r']).len()
        })
        .collect()
}

/// A marked source line and the lines around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The number of the first line, from 1.
    pub first: u32,
    /// The lines, without their ends.
    pub lines: Vec<String>,
    /// The index of the marked line in `lines`.
    pub marked: usize,
    /// The marked bytes of that line.
    pub mark: Range<usize>,
}

/// Returns the line of an access with up to `context` lines on each side. `None` if the source cannot be read
/// or has no such line.
pub fn excerpt(
    sources: &dyn Sources,
    file: &str,
    line: u32,
    column: Option<u32>,
    context: usize,
) -> Option<Excerpt> {
    let text = sources.text(file)?;
    let lines: Vec<&str> = text.lines().collect();
    let at = (line as usize).checked_sub(1)?;
    let mark = span(lines.get(at)?, column);
    let first = at.saturating_sub(context);
    let end = lines.len().min(at + context + 1);
    Some(Excerpt {
        first: u32::try_from(first).ok()? + 1,
        lines: lines[first..end].iter().map(|&line| line.to_owned()).collect(),
        marked: at - first,
        mark,
    })
}

/// Returns the bytes of a line to underline: the expression that is accessed at the column. If there is no
/// such column, it is the line without its indentation.
fn span(line: &str, column: Option<u32>) -> Range<usize> {
    let whole = line.len() - line.trim_start().len()..line.trim_end().len();
    let Some(start) = column.and_then(|column| (column as usize).checked_sub(1)) else {
        return if whole.is_empty() { 0..line.len() } else { whole };
    };
    match line.get(start..) {
        Some(rest) if !rest.is_empty() => {
            // clang gives a store the position of its operator.
            let is_assignment = rest.starts_with('=') && !rest.starts_with("==")
                || ASSIGNMENTS.iter().any(|operator| rest.starts_with(operator));
            match is_assignment.then(|| operand_before(line, start)).flatten() {
                Some(operand) => operand,
                None => start..start + operand_after(rest),
            }
        }
        _ if whole.is_empty() => 0..line.len(),
        _ => whole,
    }
}

/// Operators that store to what stands before them.
const ASSIGNMENTS: [&str; 12] = ["<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--"];

/// Returns the operand that ends before an operator: `a.b[i]`, with the `*` of a pointer. `None` if it begins on
/// another line.
fn operand_before(line: &str, operator: usize) -> Option<Range<usize>> {
    let end = line[..operator].trim_end().len();
    let mut start = end;
    let mut depth = 0_usize;
    for (at, character) in line[..end].char_indices().rev() {
        match character {
            ']' | ')' => depth += 1,
            '[' | '(' => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => break,
            },
            _ if depth > 0 => {}
            '>' if line[..at].ends_with('-') => {}
            '-' if line[at..].starts_with("->") => {}
            '.' | '_' | '*' | ':' => {}
            _ if character.is_alphanumeric() => {}
            _ => break,
        }
        start = at;
    }
    (start < end && depth == 0).then_some(start..end)
}

/// Returns the length in bytes of the operand at the start of a text: a name with its indices and fields, or
/// one character.
fn operand_after(text: &str) -> usize {
    let name = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let mut end = name(text);
    if end == 0 {
        return text.chars().next().map_or(0, char::len_utf8);
    }
    loop {
        let rest = &text[end..];
        let field = ["->", "."].iter().find(|dot| rest.starts_with(**dot)).map(|dot| dot.len());
        let field = field.filter(|dot| name(&rest[*dot..]) > 0);
        match field {
            Some(dot) => end += dot + name(&rest[dot..]),
            None if rest.starts_with('[') => match closing_bracket(rest) {
                Some(close) => end += close + 1,
                None => return end,
            },
            None => return end,
        }
    }
}

/// Returns the index of the bracket that closes the first one.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, character)| {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_marks_what_is_accessed() {
        for (line, column, marked) in [
            ("  tile[t] = 1;", Some(3), "tile[t]"),
            ("  tile[t] += 1;", Some(11), "tile[t]"),
            ("  tile[t + (a[1])].x = 1;", Some(22), "tile[t + (a[1])].x"),
            ("  p->q[t] = 1;", Some(11), "p->q[t]"),
            ("  if (t) *p = 1;", Some(13), "*p"),
            ("  t[0] = s.a[1][i].b + 2;", Some(10), "s.a[1][i].b"),
            ("  t[0] = a[", Some(10), "a"),
            ("      ] = 1;", Some(9), "="),
            ("  x == y", Some(5), "="),
            ("  x++;", Some(4), "x"),
            ("  x=-1;", Some(4), "x"),
            ("  *p = 1;", Some(3), "*"),
            ("  größe = 1;", Some(3), "größe"),
            ("  x = 1;  ", None, "x = 1;"),
            ("  x = 1;", Some(99), "x = 1;"),
            ("  x = 1;", Some(0), "x = 1;"),
            ("é = 1;", Some(2), "é = 1;"),
            ("", Some(1), ""),
            ("   ", None, "   "),
        ] {
            assert_eq!(&line[span(line, column)], marked, "`{line}` at {column:?}");
        }
    }
}
