//! Suppressions, as the LLVM sanitizers have them: a file with a line for each,
//! `race:PATTERN` or `divergence:PATTERN`; `#` begins a comment.
//!
//! A pattern is looked for in the names of the kernel, of the functions and
//! files of both accesses, and of the object. It matches anywhere in a name; `*`
//! stands for any text, `^` at its beginning and `$` at its end for the name's.

use std::path::Path;

use gpurace_report::schema::{Divergence, Race, Waiting};

/// What a suppression is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Race,
    Divergence,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Suppression {
    kind: Kind,
    pattern: String,
}

/// The suppressions of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions(Vec<Suppression>);

impl Suppressions {
    /// Reads a file.
    ///
    /// # Errors
    /// A message that names the file and, where one is wrong, the line.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read suppressions `{}`: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}:{error}", path.display()))
    }

    /// Reads the lines of a file; the message of an error begins with the line.
    fn parse(text: &str) -> Result<Self, String> {
        let mut all = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let kind = match line.split_once(':') {
                Some(("race", _)) => Kind::Race,
                Some(("divergence", _)) => Kind::Divergence,
                _ => {
                    let number = number + 1;
                    return Err(format!(
                        "{number}: found `{line}`, wanted `race:PATTERN` or `divergence:PATTERN`"
                    ));
                }
            };
            let pattern = line
                .split_once(':')
                .map_or("", |(_, pattern)| pattern.trim());
            if pattern.is_empty() {
                return Err(format!("{}: found no pattern after `{line}`", number + 1));
            }
            all.push(Suppression {
                kind,
                pattern: pattern.to_owned(),
            });
        }
        Ok(Self(all))
    }

    /// The suppression that leaves this race out, as its line has it.
    pub fn of_race(&self, race: &Race) -> Option<String> {
        let sides = race
            .accesses
            .iter()
            .flat_map(|side| [side.function.as_deref(), side.file.as_deref()]);
        let object = race
            .object
            .as_ref()
            .and_then(|object| object.name.as_deref());
        let names: Vec<&str> = sides
            .chain([race.kernel.as_deref(), object])
            .flatten()
            .collect();
        self.find(Kind::Race, &names)
            .map(|pattern| format!("race:{pattern}"))
    }

    /// The suppression that leaves this divergence out, as its line has it.
    pub fn of_divergence(&self, divergence: &Divergence) -> Option<String> {
        let files = divergence
            .waiting
            .iter()
            .filter_map(|waiting| match waiting {
                Waiting::At(at) => at.file.as_deref(),
                Waiting::Exited(_) => None,
            });
        let names: Vec<&str> = files.chain([&*divergence.kernel]).collect();
        self.find(Kind::Divergence, &names)
            .map(|pattern| format!("divergence:{pattern}"))
    }

    fn find(&self, kind: Kind, names: &[&str]) -> Option<&str> {
        let mut of_kind = self.0.iter().filter(|suppression| suppression.kind == kind);
        let found = of_kind
            .find(|suppression| names.iter().any(|name| matches(&suppression.pattern, name)));
        found.map(|suppression| &*suppression.pattern)
    }
}

/// Whether the pattern is found in the name.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, from_start) = pattern
        .strip_prefix('^')
        .map_or((pattern, false), |rest| (rest, true));
    let (pattern, to_end) = pattern
        .strip_suffix('$')
        .map_or((pattern, false), |rest| (rest, true));
    let pieces: Vec<&str> = pattern.split('*').collect();
    let mut rest = name;
    for (index, piece) in pieces.iter().enumerate() {
        if index == 0 && from_start {
            match rest.strip_prefix(piece) {
                Some(after) => rest = after,
                None => return false,
            }
        } else if index + 1 == pieces.len() && to_end {
            return rest.ends_with(piece);
        } else {
            match rest.find(piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
    }
    !to_end || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_the_sanitizers_do() {
        for (pattern, name, wanted) in [
            ("clash", "void clash<int>(int*)", true),
            ("^clash", "void clash<int>(int*)", false),
            ("^void*int*)$", "void clash<int>(int*)", true),
            ("int>$", "void clash<int>(int*)", false),
            ("a*c", "abc", true),
            ("c*a", "abc", false),
            ("^abc$", "abc", true),
            ("^abc$", "abcc", false),
            ("^ab*bc$", "abc", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), wanted, "`{pattern}` in `{name}`");
        }
    }

    #[test]
    fn lines_that_are_none_are_named() {
        assert_eq!(
            Suppressions::parse("# nothing\n\n"),
            Ok(Suppressions::default())
        );
        assert_eq!(
            Suppressions::parse("race:a\n divergence: b \n").map(|all| all.0.len()),
            Ok(2)
        );
        let error = Suppressions::parse("race:a\nleak:b").unwrap_err();
        assert_eq!(
            error,
            "2: found `leak:b`, wanted `race:PATTERN` or `divergence:PATTERN`"
        );
        assert!(Suppressions::parse("race:").is_err());
    }
}
