//! Suppressions in the format of the LLVM sanitizers: a line `KIND:PATTERN` for each, in a file or from the program.
//! `#` begins a comment.
//!
//! | kind | leaves out |
//! |---|---|
//! | `race` | races in which any name matches: kernel, functions and files of both accesses, object |
//! | `divergence` | divergences in which kernel or a file matches |
//! | `kernel`, `file` | races and divergences in which that name matches |
//! | `function`, `object` | races in which that name matches |
//!
//! A pattern matches anywhere in a name. `*` matches any text. `^` at the beginning of the pattern
//! and `$` at its end match the ends of the name.

use std::collections::BTreeMap;
use std::path::Path;

use gpurace_report::schema::{Divergence, Race, Waiting};

/// The kinds of suppressions.
const KINDS: [&str; 6] = ["race", "divergence", "kernel", "function", "file", "object"];

/// The names in a finding that one kind of suppression is compared with.
type Names<'a> = (&'static str, Vec<&'a str>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Suppression {
    kind: &'static str,
    pattern: String,
}

impl Suppression {
    /// Its line in the file.
    fn line(&self) -> String {
        format!("{}:{}", self.kind, self.pattern)
    }
}

/// The suppressions of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions(Vec<Suppression>);

impl Suppressions {
    /// Reads a file.
    ///
    /// # Errors
    /// A message that names the file and the wrong line.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read suppressions `{}`: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}:{error}", path.display()))
    }

    /// Reads the lines of a file.
    ///
    /// # Errors
    /// A message that begins with the number of the wrong line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parts = line.split_once(':').and_then(|(kind, pattern)| {
                let kind = KINDS.into_iter().find(|known| *known == kind)?;
                Some((kind, pattern.trim()))
            });
            let Some((kind, pattern)) = parts else {
                let kinds = KINDS.join("`, `");
                return Err(format!(
                    "{number}: found `{line}`, wanted `KIND:PATTERN`, where the kind is one of `{kinds}`"
                ));
            };
            if pattern.is_empty() {
                return Err(format!("{number}: found no pattern after `{line}`"));
            }
            all.push(Suppression { kind, pattern: pattern.to_owned() });
        }
        Ok(Self(all))
    }

    /// Adds others behind these.
    pub fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The line of the suppression that leaves this race out.
    pub fn of_race(&self, race: &Race) -> Option<String> {
        let functions = race.accesses.iter().filter_map(|side| side.function.as_deref());
        let files = race.accesses.iter().filter_map(|side| side.file.as_deref());
        let object = race.object.as_ref().and_then(|object| object.name.as_deref());
        let each: [Names<'_>; 4] = [
            ("function", functions.collect()),
            ("file", files.collect()),
            ("kernel", race.kernel.as_deref().into_iter().collect()),
            ("object", object.into_iter().collect()),
        ];
        self.find("race", &each)
    }

    /// The line of the suppression that leaves this divergence out.
    pub fn of_divergence(&self, divergence: &Divergence) -> Option<String> {
        let files = divergence.waiting.iter().filter_map(|waiting| match waiting {
            Waiting::At(at) => at.file.as_deref(),
            Waiting::Exited(_) => None,
        });
        let each: [Names<'_>; 2] = [("file", files.collect()), ("kernel", vec![&*divergence.kernel])];
        self.find("divergence", &each)
    }

    /// The first suppression that matches one of the names of its kind. A suppression of kind `any`
    /// is compared with all names.
    fn find(&self, any: &str, each: &[Names<'_>]) -> Option<String> {
        let is_match = |suppression: &&Suppression| {
            let mut names = each
                .iter()
                .filter(|(kind, _)| suppression.kind == any || suppression.kind == *kind)
                .flat_map(|(_, names)| names);
            names.any(|name| matches(&suppression.pattern, name))
        };
        self.0.iter().find(is_match).map(Suppression::line)
    }

    /// The lines of the suppressions that left nothing out, in the order of the file. `used` has
    /// the lines of the others.
    pub fn unused(&self, used: &BTreeMap<String, u64>) -> Vec<String> {
        let lines = self.0.iter().map(Suppression::line);
        lines.filter(|line| !used.contains_key(line)).collect()
    }
}

/// True if the pattern matches the name.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, from_start) = pattern.strip_prefix('^').map_or((pattern, false), |rest| (rest, true));
    let (pattern, to_end) = pattern.strip_suffix('$').map_or((pattern, false), |rest| (rest, true));
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
    use gpurace_report::schema::DivergenceKind;

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
        assert_eq!(Suppressions::parse("# nothing\n\n"), Ok(Suppressions::default()));
        assert_eq!(Suppressions::parse("race:a\n divergence: b \n").map(|all| all.0.len()), Ok(2));
        let error = Suppressions::parse("race:a\nleak:b").unwrap_err();
        assert_eq!(
            error,
            "2: found `leak:b`, wanted `KIND:PATTERN`, where the kind is one of \
             `race`, `divergence`, `kernel`, `function`, `file`, `object`"
        );
        assert!(Suppressions::parse("race:").is_err());
        assert!(Suppressions::parse("race").is_err());
    }

    fn race() -> Race {
        let mut race: Race = serde_json::from_str(
            r#"{ "kind": "write-read", "space": "shared", "scope": "block", "same_value": null,
                 "kernel": "reduce(int*)", "launch": null,
                 "object": { "kind": "shared", "name": "tile", "size": 4, "offset": 0 },
                 "accesses": [
                   { "op": "read", "size": 4, "file": "reduce.cu", "line": 1, "column": 1, "function": "sum",
                     "launch": 1, "stream": 0, "block": null, "thread": null },
                   { "op": "write", "size": 4, "file": "tile.cuh", "line": 1, "column": 1, "function": "fill",
                     "launch": 1, "stream": 0, "block": null, "thread": null } ],
                 "hint": null, "count": 1 }"#,
        )
        .unwrap();
        race.count = 1;
        race
    }

    #[test]
    fn a_kind_looks_at_its_own_names_only() {
        let names =
            [("kernel", "reduce(int"), ("function", "fill"), ("file", "tile.cuh"), ("object", "^tile$")];
        for (kind, pattern) in names {
            for other in KINDS {
                let line = format!("{other}:{pattern}");
                let found = Suppressions::parse(&line).unwrap().of_race(&race());
                let wanted = other == kind || other == "race";
                assert_eq!(found, wanted.then_some(line.clone()), "{line}");
            }
        }
    }

    #[test]
    fn divergences_have_kernels_and_files() {
        let divergence = Divergence {
            kernel: "reduce(int*)".to_owned(),
            launch: 1,
            block: [0, 0, 0],
            waiting: vec![Waiting::at(Some("reduce.cu".to_owned()), Some(9), 32, [0, 0, 0])],
            kind: DivergenceKind::Barrier,
            seed: None,
        };
        for (line, wanted) in [
            ("divergence:reduce(", true),
            ("divergence:reduce.cu", true),
            ("kernel:reduce", true),
            ("file:.cu$", true),
            ("race:reduce", false),
            ("function:reduce", false),
            ("kernel:.cu", false),
        ] {
            let found = Suppressions::parse(line).unwrap().of_divergence(&divergence);
            assert_eq!(found.is_some(), wanted, "{line}");
        }
    }

    #[test]
    fn those_that_left_nothing_out_are_unused() {
        let all = Suppressions::parse("race:a\n# no\nkernel:b\nobject:c").unwrap();
        let used = BTreeMap::from([("kernel:b".to_owned(), 3)]);
        assert_eq!(all.unused(&used), ["race:a", "object:c"]);
    }
}
