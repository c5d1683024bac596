//! Lines for a terminal of [`WIDTH`] columns.

/// The columns of a terminal.
pub(crate) const WIDTH: usize = 100;

/// How much further than the first line the others are indented.
const HANG: usize = 4;

/// Returns a line without its end, in as many lines as it needs. It breaks at spaces outside of backquotes: a quoted
/// name stays whole, as does a word that is longer than a line.
pub(crate) fn fold(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start().len();
    let mut out = line[..indent].to_owned();
    let mut column = indent;
    for (index, word) in words(line.trim()).into_iter().enumerate() {
        let length = word.chars().count();
        if index == 0 {
        } else if column + 1 + length <= WIDTH {
            out.push(' ');
            column += 1;
        } else {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent + HANG));
            column = indent + HANG;
        }
        out.push_str(word);
        column += length;
    }
    out
}

/// Returns the parts between which a line may break.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (at, character) in text.char_indices() {
        match character {
            '`' => is_quoted = !is_quoted,
            ' ' if !is_quoted && may_break(&text[start..at], &text[at + 1..]) => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words
}

/// True if a line may end between two words. A number stays with what it counts, an index with what it is of, and a
/// place with `at`, so that it can be searched for.
fn may_break(before: &str, after: &str) -> bool {
    let last = before.rsplit(' ').next().unwrap_or_default();
    let is_number = !last.is_empty() && last.trim_start_matches('(').chars().all(|c| c.is_ascii_digit());
    let ends_part = last.ends_with(',');
    let counts = after.starts_with(|c: char| c.is_ascii_digit()) && !ends_part;
    let is_place = last == "at" || after.starts_with("at ") && !ends_part;
    let belongs = is_number || is_place || counts || after.starts_with('(');
    !belongs
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, fold};

    #[test]
    fn a_line_breaks_between_words() {
        let short = format!("  {}", "x".repeat(WIDTH - 2));
        assert_eq!(fold(&short), short);
        let long = format!(
            "  hint: {} `a long name` {}",
            "word ".repeat(17).trim_end(),
            "more ".repeat(30).trim_end()
        );
        let lines: Vec<String> = fold(&long).lines().map(str::to_owned).collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert!(lines[1..].iter().all(|line| line.starts_with("      ") && !line.starts_with("       ")));
        assert!(lines.iter().any(|line| line.contains("`a long name`")), "{lines:?}");
        let joined: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        assert_eq!(joined.join(" "), long.trim());
        let path = format!("    #0 k {}", "p/".repeat(80));
        assert_eq!(fold(&path).lines().count(), 2);
    }
}
