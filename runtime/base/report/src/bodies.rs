//! Bodies of loops at whose end a statement can stand only if the line changes: they have no braces, or braces on one
//! line.

use std::ops::Range;

/// The body of a loop, as bytes of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    /// The parenthesis that ends the loop's head.
    pub head_end: usize,
    /// The statement, with its semicolon or braces.
    pub range: Range<usize>,
    /// It has braces already.
    pub has_braces: bool,
}

/// Words of statements that this module does not follow.
const UNKNOWN: [&str; 7] = ["do", "switch", "case", "default", "goto", "try", "asm"];

/// Returns the body of the loop that a line begins with. `None` for other lines, for a body with braces on several
/// lines, and where the text alone does not show where the body ends.
pub(crate) fn body_of(text: &str, line: u32) -> Option<Body> {
    let start = (1..).zip(line_starts(text)).find_map(|(number, at)| (number == line).then_some(at))?;
    if !text[start..].trim_start().starts_with(['f', 'w']) {
        return None;
    }
    let code = code(text);
    let scan = Scan(&code);
    let start = scan.blank(start);
    if !matches!(scan.word(start), b"for" | b"while") {
        return None;
    }
    let head_end = scan.parentheses(start + scan.word(start).len())?;
    let first = scan.blank(head_end);
    let end = scan.statement(first)?;
    let body = &code[first..end];
    let has_braces = body.starts_with(b"{");
    let words = |text: &[u8], unwanted: &[&str]| {
        text.split(|byte| !is_word(*byte)).any(|word| unwanted.iter().any(|one| one.as_bytes() == word))
    };
    let is_line = |range: &[u8]| !range.contains(&b'\n');
    // Loops whose heads share a line are not told apart.
    let beside_head = code[start..end].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let nested = beside_head.get(head_end.saturating_sub(start)..).unwrap_or_default();
    if body.len() <= 1
        || code[start..end].contains(&b'#')
        || words(body, &UNKNOWN)
        || is_skipped(body)
        || words(nested, &["for", "while"])
        || has_braces && !is_line(&code[start..end])
    {
        return None;
    }
    Some(Body { head_end, range: first..end, has_braces })
}

/// Returns the changes that put a statement at the end of a body: what is new at which byte.
pub(crate) fn with_last(text: &str, line_start: usize, body: &Body, statement: &str) -> Vec<(usize, String)> {
    let Range { start, end } = body.range;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if body.has_braces {
        let space = if text[..end - 1].ends_with(' ') { "" } else { " " };
        return vec![(end - 1, format!("{space}{statement} "))];
    }
    let open = match text[body.head_end..start].contains('\n') {
        true => (body.head_end, " {".to_owned()),
        false => (start, "{ ".to_owned()),
    };
    let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at);
    let rest = text[end..line_end].trim();
    let is_last = rest.is_empty() || rest.starts_with("//");
    if !text[line_start..end].contains('\n') || !is_last || line_end == text.len() {
        return vec![open, (end, format!(" {statement} }}"))];
    }
    let indent = indentation(&text[line_start..]);
    let own = text[..start].rfind('\n').map_or(start, |at| at + 1);
    let deeper = match indentation(&text[own..]) {
        inner if own > line_start && inner.len() > indent.len() => inner.to_owned(),
        _ => format!("{indent}    "),
    };
    vec![open, (line_end + 1, format!("{deeper}{statement}{newline}{indent}}}{newline}"))]
}

/// True if a thread may go on with the next iteration of a loop before the end of this body. A `continue` of a loop
/// within the body is no such way.
pub(crate) fn may_be_left(body: &str) -> bool {
    is_skipped(&code(body))
}

fn is_skipped(body: &[u8]) -> bool {
    let scan = Scan(body);
    let mut at = 0;
    while at < body.len() {
        let word = scan.word(at);
        at = match word {
            b"continue" => return true,
            b"for" | b"while" => scan.statement(at).unwrap_or(at + word.len()),
            _ => at + word.len().max(1),
        };
    }
    false
}

/// The bytes at which the lines of a text start.
pub(crate) fn line_starts(text: &str) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1))
}

/// The blanks that a text begins with.
fn indentation(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches([' ', '\t']).len()]
}

/// The bytes of a source: comments and the contents of literals are blank, and each byte of a line for the preprocessor
/// is `#`. Lines stay where they are.
fn code(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    let mut is_start = true;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let until = |end: &[u8]| rest.windows(end.len()).skip(2).position(|part| part == end).map(|i| i + 2);
        let (length, filler) = match rest {
            [b'/', b'/', ..] => (line_length(rest), b' '),
            [b'/', b'*', ..] => (until(b"*/").map_or(rest.len(), |end| end + 2), b' '),
            [b'#', ..] if is_start => (line_length(rest), b'#'),
            // A quote within a number parts its digits.
            [b'\'', ..] if at > 0 && bytes[at - 1].is_ascii_alphanumeric() => (1, b'_'),
            [quote @ (b'"' | b'\''), ..] => (literal_length(rest, *quote), b' '),
            _ => (1, rest[0]),
        };
        for byte in code[at..at + length].iter_mut().filter(|byte| **byte != b'\n') {
            *byte = filler;
        }
        is_start = rest[0] == b'\n' || is_start && rest[0].is_ascii_whitespace();
        at += length;
    }
    code
}

/// The length of a line, with those that it goes on with.
fn line_length(text: &[u8]) -> usize {
    let ends = |at: &usize| {
        let line = text[..*at].strip_suffix(b"\r").unwrap_or(&text[..*at]);
        text[*at] == b'\n' && !line.ends_with(b"\\")
    };
    (0..text.len()).find(ends).unwrap_or(text.len())
}

/// The length of a string or character with its quotes.
fn literal_length(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote && text[at] != b'\n' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Statements in code.
struct Scan<'a>(&'a [u8]);

impl Scan<'_> {
    /// The first byte from here on that is no blank.
    fn blank(&self, at: usize) -> usize {
        self.0[at..]
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())
            .map_or(self.0.len(), |more| at + more)
    }

    fn word(&self, at: usize) -> &[u8] {
        let rest = &self.0[at..];
        &rest[..rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len())]
    }

    /// The end of the parentheses that follow.
    fn parentheses(&self, at: usize) -> Option<usize> {
        let at = self.blank(at);
        (self.0.get(at) == Some(&b'(')).then(|| self.brackets(at))?
    }

    /// The end of the brackets that begin here.
    fn brackets(&self, start: usize) -> Option<usize> {
        let mut open = Vec::new();
        for (at, byte) in self.0.iter().enumerate().skip(start) {
            match byte {
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                b'{' => open.push(b'}'),
                b')' | b']' | b'}' if open.pop() != Some(*byte) => return None,
                _ => (),
            }
            if open.is_empty() {
                return Some(at + 1);
            }
        }
        None
    }

    /// The end of the statement that begins here.
    fn statement(&self, at: usize) -> Option<usize> {
        match self.word(at) {
            b"if" => {
                let condition = self.blank(at + 2);
                let condition = match self.word(condition) {
                    word @ b"constexpr" => condition + word.len(),
                    _ => condition,
                };
                let then = self.statement(self.blank(self.parentheses(condition)?))?;
                let other = self.blank(then);
                match self.word(other) {
                    word @ b"else" => self.statement(self.blank(other + word.len())),
                    _ => Some(then),
                }
            }
            word @ (b"for" | b"while") => self.statement(self.blank(self.parentheses(at + word.len())?)),
            b"else" | b"do" | b"switch" | b"case" | b"default" | b"try" => None,
            _ if self.0.get(at) == Some(&b'{') => self.brackets(at),
            _ => self.expression(at),
        }
    }

    /// The end of the statement that begins here and ends with a semicolon.
    fn expression(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.0.get(at)? {
                b';' => return Some(at + 1),
                b'(' | b'[' | b'{' => at = self.brackets(at)?,
                b')' | b']' | b'}' | b'#' => return None,
                _ => at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text with `B;` at the end of the body of the loop in its second line.
    fn with_barrier(text: &str) -> Option<String> {
        let text = format!("x();\n{text}\n");
        let body = body_of(&text, 2)?;
        let mut new = text.clone();
        for (at, inserted) in with_last(&text, 5, &body, "B;").into_iter().rev() {
            new.insert_str(at, &inserted);
        }
        Some(new.strip_prefix("x();\n")?.strip_suffix('\n')?.to_owned())
    }

    #[test]
    fn a_body_gets_braces_and_a_last_statement() {
        for (text, wanted) in [
            ("  for (;;) a += 1;", "  for (;;) { a += 1; B; }"),
            ("while (n) a(\";\");  // ; }", "while (n) { a(\";\"); B; }  // ; }"),
            ("for (;;) if (t < s) a[t] += a[t + s];", "for (;;) { if (t < s) a[t] += a[t + s]; B; }"),
            ("for (;;) { a(); }", "for (;;) { a(); B; }"),
            ("for (;;) {a();} b();", "for (;;) {a(); B; } b();"),
            ("for (;;) a(); b();", "for (;;) { a(); B; } b();"),
            ("  for (;;)\n    a();", "  for (;;) {\n    a();\n    B;\n  }"),
            ("\tfor (;;)  // all\n\t\ta = 1;  // ;", "\tfor (;;) {  // all\n\t\ta = 1;  // ;\n\t\tB;\n\t}"),
            (
                "for (;;)\n    if (c) {\n        a();\n    }",
                "for (;;) {\n    if (c) {\n        a();\n    }\n    B;\n}",
            ),
            (
                "for (;;)\n  if (c)\n    a();\n  else\n    b();",
                "for (;;) {\n  if (c)\n    a();\n  else\n    b();\n  B;\n}",
            ),
            ("for (;;) if (c)\n        a();", "for (;;) { if (c)\n        a();\n    B;\n}"),
            (
                "for (int i = 0;\n     i < n; i++)\n  f([=] { return 1'000; });",
                "for (int i = 0;\n     i < n; i++) {\n  f([=] { return 1'000; });\n  B;\n}",
            ),
            ("for (;;)\n  for (;;)\n    a();", "for (;;) {\n  for (;;)\n    a();\n  B;\n}"),
            ("for (;;)\r\n  a();\r", "for (;;) {\r\n  a();\r\n  B;\r\n}\r"),
            ("for (;;)\n  a(); b();", "for (;;) {\n  a(); B; } b();"),
        ] {
            assert_eq!(with_barrier(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn an_inner_loop_may_have_continue() {
        for body in [
            "a();\nfor (;;) {\n if (c) continue;\n}\nb();",
            "while (a) continue;",
            "a(); // continue",
            "continued();",
        ] {
            assert!(!may_be_left(body), "{body}");
        }
        for body in [
            "if (c) continue;",
            "for (;;) a();\ncontinue;",
            "do { continue; } while (c);",
            "for (;;) {\n continue;",
        ] {
            assert!(may_be_left(body), "{body}");
        }
        let inner = "for (;;)\n  for (;;)\n    if (c) continue;";
        assert_eq!(
            with_barrier(inner).as_deref(),
            Some("for (;;) {\n  for (;;)\n    if (c) continue;\n  B;\n}")
        );
    }

    #[test]
    fn other_bodies_stay() {
        for text in [
            "a();",
            "for (;;) {\n  a();\n}",
            "for (;;) {\n  a(); }",
            "for (;;);",
            "while (a())\n  ;",
            "for (;;) if (c) continue; else a();",
            "for (;;) for (;;) a();",
            "for (;;) if (c) while (d) a();",
            "for (;;) do a(); while (c);",
            "for (;;) switch (a) { case 1: b(); }",
            "for (;;)\n#pragma unroll\n  for (;;) a();",
            "for (;;)\n#ifdef X\n  a();\n#else\n  b();\n#endif",
            "for (;;) a(",
            "for (;;) a)",
            "#define X for (;;) a();",
            "#define X \\\n",
            "forall (;;) a();",
            "}",
        ] {
            assert_eq!(with_barrier(text), None, "{text}");
        }
        assert_eq!(body_of("#define X \\\nfor (;;) a();\n", 2), None);
        assert_eq!(body_of("/*\nfor (;;) a();\n*/", 2), None);
        assert_eq!(body_of("for (;;) a();", 2), None);
        assert_eq!(body_of("/", 1), None);
    }
}
