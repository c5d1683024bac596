//! Changes of the source that order the races of a finding.

use std::collections::BTreeSet;
use std::ops::Range;

use similar::TextDiff;

use crate::barriers::{Level, Pair};
use crate::bodies::{body_of, line_starts, may_be_left, with_last};
use crate::missing::{Insertion, Line, Missing, Unordered, missing};
use crate::schema::{Finding, Scope};
use crate::sources::Sources;

/// Lines around a change in a diff.
const CONTEXT: usize = 3;

/// Words that begin a line before which a statement would change what the code means.
const NO_STATEMENT: [&str; 5] = ["else", "do", "case", "default", "catch"];

/// Words that begin a loop whose head is a line's first statement.
const LOOPS: [&str; 2] = ["for", "while"];

/// Barriers that order all races of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barriers {
    /// The change of the source, as a unified diff.
    pub diff: String,
    /// The change in words.
    pub advice: String,
    /// Their number.
    pub barriers: usize,
    /// Of several barriers, what each one alone parts: the closest accesses, and the index of their kernel.
    pub parted: Vec<(usize, Pair)>,
}

/// Returns barriers that order all races of a finding. `widest` is the widest group of threads that race,
/// `kernels` has the races, by kernel, and the lines of `file` that may change. `None` if there is no place for them
/// that all threads of a block reach together. Barriers of the grid show where blocks lack an order: only a cooperative
/// launch can have them.
pub fn barriers(
    widest: Scope,
    kernels: &[Unordered<'_>],
    file: &str,
    sources: &dyn Sources,
) -> Option<Barriers> {
    let (level, statement) = match widest {
        Scope::Warp => (Level::Warp, "__syncwarp();"),
        Scope::Block => (Level::Block, "__syncthreads();"),
        _ => (Level::Grid, "cooperative_groups::this_grid().sync();"),
    };
    let text = sources.text(file)?;
    let old: Vec<&str> = text.split_inclusive('\n').collect();
    let depths = depths(&old);
    let depth = |one: Insertion| {
        let braces = depths.get(one.line() as usize).copied().unwrap_or_default();
        braces + usize::from(matches!(one, Insertion::BodyEnd(_)))
    };
    let kind = |one: Insertion| match one {
        Insertion::Before(line) => kind_of_line(&old, line),
        Insertion::BodyEnd(line) => body_of(&text, line).map(|_| Line::LoopEnd),
    };
    let Missing { insertions, in_every_launch, parted } = missing(kernels, level, kind, depth)?;
    let above = |one: Insertion| match one {
        Insertion::Before(line) => Insertion::Before(above_pragmas(&old, line)),
        Insertion::BodyEnd(_) => one,
    };
    let insertions: BTreeSet<Insertion> = insertions.into_iter().map(above).collect();
    let new = inserted(&text, &old, &insertions, statement)?;
    let diff = TextDiff::from_lines(&*text, &*new);
    let name = file.trim_start_matches('/');
    let diff = diff
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&format!("a/{name}"), &format!("b/{name}"))
        .to_string();
    let mut advice = format!("insert `{statement}` {} of {file}", places(&insertions));
    if !in_every_launch {
        advice.push_str(" (tried on this run's launches)");
    }
    Some(Barriers { diff, advice, barriers: insertions.len(), parted })
}

/// Returns a text, which has these lines, with a new statement at each of these places.
fn inserted(text: &str, lines: &[&str], all: &BTreeSet<Insertion>, statement: &str) -> Option<String> {
    let starts: Vec<usize> = line_starts(text).collect();
    // The end of an inner loop comes before that of the outer one.
    let mut changes = Vec::new();
    for one in all.iter().rev() {
        let at = *starts.get(one.line().checked_sub(1)? as usize)?;
        match *one {
            Insertion::Before(number) => {
                let line = *lines.get(number as usize - 1)?;
                let like = loop_around(lines, number)
                    .and_then(|body| lines.get(body.start))
                    .copied()
                    .unwrap_or(line);
                let indent = &like[..like.len() - like.trim_start().len()];
                let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
                changes.push((at, [indent, statement, end].concat()));
            }
            Insertion::BodyEnd(line) => {
                changes.extend(with_last(text, at, &body_of(text, line)?, statement));
            }
        }
    }
    changes.sort_by_key(|(at, _)| *at);
    let mut new = text.to_owned();
    for (at, inserted) in changes.iter().rev() {
        new.insert_str(*at, inserted);
    }
    Some(new)
}

/// Returns `before lines 5 and 8` or `at the end of the body of the loop at line 8, in braces,`.
fn places(all: &BTreeSet<Insertion>) -> String {
    let (before, ends): (Vec<Insertion>, _) = all.iter().partition(|one| matches!(one, Insertion::Before(_)));
    let named = |all: &[Insertion]| {
        let names: Vec<String> = all.iter().map(|one| one.line().to_string()).collect();
        format!("{} {}", if names.len() == 1 { "line" } else { "lines" }, listed(&names))
    };
    let before = (!before.is_empty()).then(|| format!("before {}", named(&before)));
    let loops = if ends.len() == 1 { "the loop" } else { "each loop" };
    let ends = (!ends.is_empty()).then(|| format!("as the last statement of {loops} at {}", named(&ends)));
    before.into_iter().chain(ends).collect::<Vec<_>>().join(" and ")
}

/// Returns `25`, `25 and 26` or `25, 26 and 27`.
fn listed(names: &[String]) -> String {
    match names {
        [names @ .., last] if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        _ => names.concat(),
    }
}

/// Returns that no barrier stands between each two of these accesses, in a sentence without a full stop.
pub fn why_several(parted: &[[String; 2]]) -> String {
    let between = parted.iter().map(|[one, other]| format!("between {one} and {other}"));
    format!("no barrier stands {}", between.collect::<Vec<_>>().join(", nor "))
}

/// True for a finding whose races barriers of a block could order.
pub fn may_need_barriers(finding: &Finding) -> bool {
    use crate::schema::CauseKind::{LoopBackEdge, Mask, MissingBarrier};
    matches!(finding.cause, MissingBarrier | LoopBackEdge | Mask)
}

/// A change of some lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The first old line that it removes, or the one before which it inserts.
    pub line: u32,
    /// The number of old lines that it removes.
    pub removed: u32,
    /// The new lines.
    pub text: String,
}

/// Returns the changes that a unified diff makes.
pub fn edits(diff: &str) -> Vec<Edit> {
    let mut found: Vec<Edit> = Vec::new();
    let mut line = 0_u32;
    let mut goes_on = false;
    for text in diff.lines().skip_while(|text| !text.starts_with("@@")) {
        if let Some(header) = text.strip_prefix("@@ -") {
            line = first_number(header).unwrap_or_default();
        }
        let is_change = text.starts_with(['+', '-']);
        if is_change && !goes_on {
            found.push(Edit { line, ..Edit::default() });
        }
        match found.last_mut().filter(|_| is_change) {
            Some(edit) if text.starts_with('+') => edit.text.extend([&text[1..], "\n"]),
            Some(edit) => edit.removed += 1,
            None => (),
        }
        if !text.starts_with(['+', '@', '\\']) {
            line = line.saturating_add(1);
        }
        goes_on = is_change || goes_on && text.starts_with('\\');
    }
    found
}

/// Returns the [`edits`] of a unified diff if it fits `text`: each line that the diff keeps or removes stands in the
/// text at the same place.
pub fn edits_that_fit(diff: &str, text: &str) -> Option<Vec<Edit>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0_usize;
    let mut is_in_text = false;
    for line in diff.lines().skip_while(|line| !line.starts_with("@@")) {
        if let Some(header) = line.strip_prefix("@@ -") {
            at = first_number(header)?.checked_sub(1)? as usize;
        } else if let Some(old) = line.strip_prefix([' ', '-']) {
            if lines.get(at)?.trim_end_matches('\r') != old.trim_end_matches('\r') {
                return None;
            }
            (at, is_in_text) = (at + 1, true);
        } else if !line.starts_with(['+', '\\']) {
            return None;
        }
    }
    is_in_text.then(|| edits(diff))
}

/// The number that a text begins with.
fn first_number(text: &str) -> Option<u32> {
    text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())].parse().ok()
}

/// Returns what a line begins with. `None` if no statement of its own can stand before it. The text decides, so the
/// answer errs towards `None`.
fn kind_of_line(lines: &[&str], line: u32) -> Option<Line> {
    let index = (line as usize).checked_sub(1)?;
    let own = lines.get(index)?.trim_start();
    let word = first_word(own);
    let ends_loop = loop_around(lines, line).is_some();
    let begins_statement = own.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*' || c == '(');
    // This may be the end of a loop that begins with `do`.
    let may_end_loop = word == "while" && own.trim_end().ends_with(';');
    if !ends_loop && (!begins_statement || NO_STATEMENT.contains(&word) || may_end_loop) {
        return None;
    }
    let mut before =
        lines[..index].iter().rev().map(|line| code(line)).filter(|line| !line.is_empty()).peekable();
    if !before.peek().is_some_and(|line| line.ends_with([';', '{', '}'])) {
        return None;
    }
    // A semicolon may also stand in the header of a loop.
    let own_block = before.take_while(|line| !line.ends_with(['{', '}']));
    let (opened, closed) = own_block.fold((0, 0), |(opened, closed), line| {
        (opened + line.matches('(').count(), closed + line.matches(')').count())
    });
    match opened == closed {
        false => None,
        true if ends_loop => Some(Line::LoopEnd),
        true if LOOPS.contains(&word) => Some(Line::LoopHead),
        true => Some(Line::Statement),
    }
}

/// Returns the indices of the lines between the braces of a loop, given the line of the closing one, which has nothing
/// else. `None` for other lines, and for a loop that has a `continue` of its own: threads could skip what stands at its
/// end.
fn loop_around(lines: &[&str], line: u32) -> Option<Range<usize>> {
    let end = (line as usize).checked_sub(1)?;
    if code(lines.get(end)?) != "}" {
        return None;
    }
    let mut open = 1_usize;
    let start = (0..end).rev().find(|&index| {
        let code = code(lines[index]);
        open += code.matches('}').count();
        open = open.saturating_sub(code.matches('{').count());
        open == 0
    })?;
    // The brace may stand on a line of its own.
    let (head, rest) = match code(lines[start]) {
        "{" => (lines[..start].iter().rev().map(|line| code(line)).find(|line| !line.is_empty())?, ""),
        head => (head, "{"),
    };
    let is_loop =
        LOOPS.contains(&first_word(head)) && behind_parentheses(head).is_some_and(|behind| behind == rest);
    (is_loop && !may_be_left(&lines[start + 1..end].join("\n"))).then_some(start + 1..end)
}

/// The number of braces around each line, by its number.
fn depths(lines: &[&str]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut depths = vec![0];
    for code in lines.iter().map(|line| code(line)) {
        depths.push(depth);
        depth = (depth + code.matches('{').count()).saturating_sub(code.matches('}').count());
    }
    depths
}

/// The first of the pragmas right above a line, which are about its statement; the line itself if there are none.
fn above_pragmas(lines: &[&str], line: u32) -> u32 {
    let is_pragma = |line: &str| {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        directive.is_some_and(|directive| first_word(directive) == "pragma")
    };
    let above = lines.iter().take(line.saturating_sub(1) as usize).rev();
    line - above.take_while(|line| is_pragma(line)).count() as u32
}

/// What follows the first parentheses of a line.
fn behind_parentheses(code: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let end = code.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => (),
        }
        c == ')' && depth == 0
    })?;
    Some(code[end + 1..].trim())
}

/// The code of a line: without its comment, and nothing of a line for the preprocessor.
fn code(line: &str) -> &str {
    let code = line.split("//").next().unwrap_or_default().trim();
    if code.starts_with('#') { "" } else { code }
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !is_word(c)).next().unwrap_or_default()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Edit, above_pragmas, edits, edits_that_fit, inserted, kind_of_line, places};
    use crate::missing::{Insertion, Line};

    fn inserts(line: u32, text: &str) -> Edit {
        Edit { line, removed: 0, text: text.to_owned() }
    }

    #[test]
    fn statements_stand_before_lines_and_at_the_ends_of_bodies() {
        let text = "x();\nfor (;;)\n  for (;;)\n    a();\nfor (;;) b();\n";
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let all = BTreeSet::from([2, 3, 5].map(Insertion::BodyEnd));
        let new = inserted(text, &lines, &all, "B;").unwrap();
        let wanted = "x();\nfor (;;) {\n  for (;;) {\n    a();\n    B;\n  }\n  B;\n}\nfor (;;) { b(); B; }\n";
        assert_eq!(new, wanted);
        assert_eq!(places(&all), "as the last statement of each loop at lines 2, 3 and 5");
        let both = BTreeSet::from([Insertion::BodyEnd(5), Insertion::Before(5)]);
        let new = inserted(text, &lines, &both, "B;").unwrap();
        assert!(new.ends_with("a();\nB;\nfor (;;) { b(); B; }\n"), "{new}");
        assert_eq!(places(&both), "before line 5 and as the last statement of the loop at line 5");
        assert_eq!(inserted(text, &lines, &BTreeSet::from([Insertion::BodyEnd(4)]), "B;"), None);
    }

    #[test]
    fn a_diff_says_which_lines_it_changes() {
        let diff = "@@ -2,3 +2,4 @@\n a\n-b\n+c\n+d\n e\n-f\n\\ No newline at end of file\n+f\n";
        let wanted = [
            Edit { line: 3, removed: 1, text: "c\nd\n".to_owned() },
            Edit { line: 5, removed: 1, text: "f\n".to_owned() },
        ];
        assert_eq!(edits(diff), wanted);
        assert_eq!(edits_that_fit(diff, "x\na\nb\ne\nf"), Some(wanted.to_vec()));
        assert_eq!(edits_that_fit(diff, "x\na\nc\ne\nf"), None);
    }

    #[test]
    fn a_diff_says_before_which_lines_it_inserts() {
        let diff =
            "--- a/k.cu\n+++ b/k.cu\n@@ -5,3 +5,4 @@\n x\n+  barrier();\n y\n z\n@@ -20,1 +21,2 @@\n+b\n w\n";
        assert_eq!(edits(diff), [inserts(6, "  barrier();\n"), inserts(20, "b\n")]);
        assert_eq!(edits("nothing"), []);
    }

    #[test]
    fn a_pragma_stays_with_its_loop() {
        let lines =
            ["a();", "#pragma unroll", "# pragma nounroll", "for (;;) {", "#ifdef X", "b();", "#pragma"];
        assert_eq!([1, 4, 6].map(|line| above_pragmas(&lines, line)), [1, 2, 6]);
    }

    #[test]
    fn a_diff_fits_the_text_that_it_is_of_alone() {
        let diff =
            "--- a/k.cu\n+++ b/k.cu\n@@ -2,2 +2,3 @@\n x\n+  barrier();\n y\n\\ No newline at end of file\n";
        let wanted = Some(vec![inserts(3, "  barrier();\n")]);
        for text in ["a\nx\ny", "a\r\nx\r\ny\r\n", "other\nx\ny\nz\n"] {
            assert_eq!(edits_that_fit(diff, text), wanted, "{text}");
        }
        for text in ["", "a\nx\n", "a\nx\n y\n", "new\na\nx\ny\n", "a\nx\nbarrier();\ny\n"] {
            assert_eq!(edits_that_fit(diff, text), None, "{text}");
        }
        // These say nothing of the text, or are damaged.
        for diff in [
            "@@ -1,0 +1,1 @@\n+x\n",
            "@@ -0,0 +1,1 @@\n x\n",
            "@@ -99999999999999999999 @@\n x\n",
            "@@ -4294967295 @@\n x\n",
            "",
        ] {
            assert_eq!(edits_that_fit(diff, "a\nx\ny\n"), None, "{diff}");
        }
    }

    #[test]
    fn a_statement_stands_between_statements_only() {
        let text = "__global__ void k(int* a,\n\
                    int n) {\n\
                    int t = n; // note\n\
                    #ifdef X\n\
                    a[t] = 1;\n\
                    if (t)\n\
                    a[t] = 2;\n\
                    else\n\
                    a[t] = 3 +\n\
                    a[0];\n\
                    for (;;) {\n\
                    *a = 1;\n\
                    }\n\
                    for (int i = 0;\n\
                    i < n;\n\
                    i++) {\n\
                    f(i);\n\
                    a[i] = 1;\n\
                    }\n\
                    return;";
        let lines: Vec<&str> = text.lines().collect();
        let may: Vec<u32> = (0..30).filter(|&line| kind_of_line(&lines, line).is_some()).collect();
        assert_eq!(may, [3, 5, 6, 11, 12, 13, 14, 17, 18, 20]);
        let kinds = [11, 12, 13, 14].map(|line| kind_of_line(&lines, line));
        assert_eq!(kinds, [Line::LoopHead, Line::Statement, Line::LoopEnd, Line::LoopHead].map(Some));
    }

    #[test]
    fn a_barrier_may_end_the_body_of_a_loop_that_no_thread_leaves_early() {
        let ends = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            kind_of_line(&lines, lines.len() as u32)
        };
        let is_end = |text: &str| ends(text) == Some(Line::LoopEnd);
        assert!(is_end("x();\nfor (;;) {\nif (a) {\nb();\n} else { c(); }\nm = n; // {\n}"));
        assert!(is_end("x();\nwhile (a) {\nb();\n#pragma {\n}  // over"));
        assert!(is_end("x();\nfor (;;)  // all\n\n{\nb();\n}"));
        assert!(is_end("for (;;) {\nfor (;;) {\nif (a) continue;\n}\nb();\n}"));
        // An `if`, a function, a loop over an `if`, code beside the brace, a loop that threads go on with early.
        for text in [
            "if (a) {\nb();\n}",
            "void f() {\nb();\n}",
            "for (;;)\nif (a) {\nb();\n}",
            "for (;;) { if (a) {\nb();\n}",
            "for (;;) if (a) {\nb();\n}",
            "for (;;)\nif (a)\n{\nb();\n}",
            "while (a());\n{\nb();\n}",
            "for (;;) {\nb();\n} c();",
            "for (;;) {\nif (a) continue;\nb();\n}",
            "for (;;) {\nb(\n}",
            "}",
        ] {
            assert!(!is_end(text), "{text}");
        }
    }
}
