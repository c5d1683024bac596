//! The comments in an annotated program: how to build it, how to run it, and what to expect.
//!
//! A directive has a line of its own. `[rev]` limits it to one revision:
//!
//! ```text
//! //@ revisions: racy fixed      one build each, with -DRACY and -DFIXED
//! //@ opt: O0 O2                 optimisation levels (this is the default)
//! //@ seeds: 0 2 12              schedules of the executor (this is the default)
//! //@ compile-flags: -lineinfo   further arguments of gclang
//! //@ module: yes                its device code is also a file, `PROGRAM.fatbin`, for the driver API
//! //@ run-args: 64               arguments of the program
//! //@ options: key=value:...     further GPURACE_OPTIONS
//! //@ exit: 3                    exit status, if it is not 0 or 66
//! //@ stdout: text               a line of standard output; these lines are all of it
//! //@ stderr-contains: text      a fragment of the run's standard error
//! //@[racy] findings: alias a|b  the cause of each finding of a racy build; `a|b`: either, as the schedule shows
//! //@[racy] fixes: 1             for so many findings the report offers a change of the source
//! //@[racy] wrong-finding: why   a declared finding is not what the program does wrong
//! //@ compile-error: text        the build fails, and its standard error has this fragment
//! //@ requires: gpu              skipped on a machine without a GPU
//! //@[racy] known-miss: why      a declared race is not reported; fails on the day that it is
//! //@[fixed] known-alarm: why    a race that is not declared is reported; fails on the day that it is not
//! //@[rev] known-failure: why    the program fails otherwise; fails on the day that it does not
//! ```
//!
//! A label at the end of a line names the line. A race names two labels:
//!
//! ```text
//! tile[t] = v;                   //~ A
//! sum += tile[t ^ 1];            //~ B
//! //~ RACE[racy] write-read shared: A B
//! ```
//!
//! `write-read shared: A B` is a race of a write on line `A` and a read on line `B`. Either may come first,
//! because their order depends on the schedule. With several kinds, such as `write-read|write-write`, at
//! least one of them must be reported, and all of them may be. A scope may follow `shared` or `global`,
//! and one of `same-value`, `other-value` and `unknown-value`.
//! `RACE?` declares a race that may be reported or not, depending on the schedule.
//! `//~ DIVERGENCE[racy]: A exited` declares that threads wait at line `A` for threads that have ended. The kind of a
//! divergence follows the revision, as in `DIVERGENCE[racy] absent-lanes: A`. Without one it is `barrier`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// A program and its annotations.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The source file.
    pub path: PathBuf,
    /// Path under `tests/programs`, without the extension.
    pub name: String,
    /// The revisions. A program without revisions has the one entry `None`.
    pub revisions: Vec<Option<String>>,
    /// The directives in order: revision, key, value.
    directives: Vec<(Option<String>, String, String)>,
    /// The line of each label, from 1.
    pub labels: BTreeMap<String, u32>,
    races: Vec<(Option<String>, ExpectedRace)>,
    divergences: Vec<(Option<String>, ExpectedDivergence)>,
}

/// A declared race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedRace {
    /// The line of the declaration, for messages.
    pub declared_at: u32,
    /// True if the race may be reported or not.
    pub optional: bool,
    /// The alternatives for the operations on the two lines.
    pub kinds: Vec<(String, String)>,
    /// `shared` or `global`.
    pub space: String,
    /// The scope, if the program declares one.
    pub scope: Option<String>,
    /// The expected field `same_value` of the report, if the program declares one.
    pub same_value: Option<Option<bool>>,
    /// The two lines. A side without a line, such as a copy or the host, has `None`.
    pub lines: [Option<u32>; 2],
}

/// The place where some threads of a divergent block are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitingAt {
    /// At the barrier on this line.
    Line(u32),
    /// The threads have ended.
    Exited,
}

/// A declared divergence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedDivergence {
    /// Its kind, as in the JSON.
    pub kind: String,
    /// Where the threads are, in order.
    pub waiting: Vec<WaitingAt>,
}

impl fmt::Display for ExpectedDivergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "divergence of kind `{}`: {:?}", self.kind, self.waiting)
    }
}

/// A known fault of gpurace that a case shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// A declared race is not reported.
    Miss,
    /// A race that is not declared is reported.
    Alarm,
    /// The case fails otherwise.
    Failure,
}

const SCOPES: &[&str] = &["warp", "block", "cluster", "grid", "device", "system"];
const OPS: &[&str] = &["read", "write", "atomic", "copy", "host"];
const KEYS: &[&str] = &[
    "revisions",
    "opt",
    "seeds",
    "compile-flags",
    "module",
    "run-args",
    "options",
    "exit",
    "stdout",
    "stderr-contains",
    "findings",
    "fixes",
    "wrong-finding",
    "compile-error",
    "requires",
    "known-miss",
    "known-alarm",
    "known-failure",
];

impl Program {
    /// Reads and parses a program. Its name is its path relative to `root`.
    ///
    /// # Errors
    /// Names the line of an annotation that is wrong.
    pub fn load(root: &Path, path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(path).with_extension("");
        let mut program = Self::parse(&text).map_err(|e| format!("{}:{e}", path.display()))?;
        program.path = path.to_owned();
        program.name = name.to_string_lossy().replace('\\', "/");
        Ok(program)
    }

    /// Parses a program's text.
    ///
    /// # Errors
    /// Returns `LINE: MESSAGE`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut program = Self::default();
        // A declaration may stand before the labels that it names.
        let mut declarations = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let trimmed = line.trim_start();
            if let Some(rest) = trimmed.strip_prefix("//@") {
                let directive = parse_directive(rest).map_err(|e| format!("{number}: {e}"))?;
                program.directives.push(directive);
            } else if let Some(at) = line.find("//~") {
                let body = line[at + 3..].trim();
                if body.starts_with("RACE") || body.starts_with("DIVERGENCE") {
                    declarations.push((number, body));
                } else if is_label(body) {
                    if program.labels.insert(body.to_owned(), number).is_some() {
                        return Err(format!("{number}: label `{body}` is given twice"));
                    }
                } else {
                    return Err(format!("{number}: `{body}` is neither a label nor a declaration"));
                }
            }
        }
        let revisions: Vec<_> =
            program.words(None, "revisions").into_iter().map(|r| Some(r.to_owned())).collect();
        program.revisions = if revisions.is_empty() { vec![None] } else { revisions };
        for (number, body) in declarations {
            program.declare(number, body).map_err(|e| format!("{number}: {e}"))?;
        }
        for revision in program.directives.iter().map(|d| &d.0).chain(program.races.iter().map(|r| &r.0)) {
            if revision.is_some() && !program.revisions.contains(revision) {
                return Err(format!("1: revision `{}` is not declared", revision.as_deref().unwrap_or("")));
            }
        }
        Ok(program)
    }

    fn declare(&mut self, number: u32, body: &str) -> Result<(), String> {
        let (head, labels) = body.split_once(':').ok_or_else(|| format!("`{body}` has no `: LABELS`"))?;
        let labels: Vec<&str> = labels.split_whitespace().collect();
        let line_of = |label: &str| {
            self.labels.get(label).copied().ok_or_else(|| format!("no line is labelled `{label}`"))
        };
        if let Some(head) = head.strip_prefix("DIVERGENCE") {
            let mut waiting = labels
                .iter()
                .map(|l| if *l == "exited" { Ok(WaitingAt::Exited) } else { line_of(l).map(WaitingAt::Line) })
                .collect::<Result<Vec<_>, _>>()?;
            waiting.sort_unstable();
            let (revision, kind) = split_revision(head)?;
            let kind = Some(kind.trim()).filter(|kind| !kind.is_empty()).unwrap_or("barrier").to_owned();
            self.divergences.push((revision, ExpectedDivergence { kind, waiting }));
            return Ok(());
        }
        let head = head.strip_prefix("RACE").unwrap_or(head);
        let (optional, head) = match head.strip_prefix('?') {
            Some(rest) => (true, rest),
            None => (false, head),
        };
        let (revision, rest) = split_revision(head)?;
        let [first, second] = labels[..] else {
            return Err(format!("a race has 2 labels, found {}", labels.len()));
        };
        let mut words = rest.split_whitespace();
        let kinds = words
            .next()
            .ok_or("a race has a kind, such as `write-read`")?
            .split('|')
            .map(|kind| match kind.split_once('-') {
                Some((a, b)) if OPS.contains(&a) && OPS.contains(&b) => Ok((a.to_owned(), b.to_owned())),
                _ => Err(format!("`{kind}` is no kind of race")),
            })
            .collect::<Result<Vec<_>, String>>()?;
        let space = words.next().filter(|s| matches!(*s, "shared" | "global"));
        let space = space.ok_or("after the kind comes `shared` or `global`")?.to_owned();
        let (mut scope, mut same_value) = (None, None);
        for word in words {
            match word {
                "same-value" => same_value = Some(Some(true)),
                "other-value" => same_value = Some(Some(false)),
                "unknown-value" => same_value = Some(None),
                _ if SCOPES.contains(&word) => scope = Some(word.to_owned()),
                _ => {
                    return Err(format!(
                        "`{word}` is neither a scope nor `same-value`, `other-value` or `unknown-value`"
                    ));
                }
            }
        }
        let side = |label: &str| {
            if label == "_" { Ok(None) } else { line_of(label).map(Some) }
        };
        let lines = [side(first)?, side(second)?];
        let race = ExpectedRace { declared_at: number, optional, kinds, space, scope, same_value, lines };
        self.races.push((revision, race));
        Ok(())
    }

    /// Returns the values of a directive for a revision, in order.
    pub fn all<'a>(&'a self, revision: Option<&'a str>, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.directives
            .iter()
            .filter(move |(r, k, _)| k == key && (r.is_none() || r.as_deref() == revision))
            .map(|(_, _, value)| value.as_str())
    }

    /// Returns the words of all values of a directive for a revision.
    pub fn words<'a>(&'a self, revision: Option<&'a str>, key: &'a str) -> Vec<&'a str> {
        self.all(revision, key).flat_map(str::split_whitespace).collect()
    }

    /// Returns the optimisation levels, without the dash. A fixed program must be clean without proofs and with
    /// those of its launches, which have those of the compiler.
    pub fn opt_levels(&self, revision: Option<&str>) -> Vec<String> {
        let given = self.words(revision, "opt");
        let levels = if given.is_empty() { vec!["O0", "O2"] } else { given };
        levels.into_iter().map(str::to_owned).collect()
    }

    /// Returns a number for samples of programs, the same on each machine and in each folder: FNV-1a of the file's
    /// name.
    pub fn number(&self) -> u64 {
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        name.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }

    /// Returns the seeds of the executor's schedules.
    pub fn seeds(&self, revision: Option<&str>) -> Vec<String> {
        let given = self.words(revision, "seeds");
        let seeds = if given.is_empty() { vec!["0", "2", "12"] } else { given };
        seeds.into_iter().map(str::to_owned).collect()
    }

    /// Returns the races declared for a revision.
    pub fn races(&self, revision: Option<&str>) -> Vec<&ExpectedRace> {
        let applies = |r: &Option<String>| r.is_none() || r.as_deref() == revision;
        self.races.iter().filter(|(r, _)| applies(r)).map(|(_, race)| race).collect()
    }

    /// Returns the divergences declared for a revision.
    pub fn divergences(&self, revision: Option<&str>) -> Vec<&ExpectedDivergence> {
        let applies = |r: &Option<String>| r.is_none() || r.as_deref() == revision;
        self.divergences.iter().filter(|(r, _)| applies(r)).map(|(_, d)| d).collect()
    }

    /// Returns the known fault of gpurace that a revision shows.
    pub fn known(&self, revision: Option<&str>) -> Option<Known> {
        [("known-miss", Known::Miss), ("known-alarm", Known::Alarm), ("known-failure", Known::Failure)]
            .into_iter()
            .find(|(key, _)| self.all(revision, key).next().is_some())
            .map(|(_, known)| known)
    }
}

/// Parses `[rev] key: value` or `key: value`.
fn parse_directive(text: &str) -> Result<(Option<String>, String, String), String> {
    let (revision, rest) = split_revision(text)?;
    let (key, value) = rest.split_once(':').unwrap_or((rest, ""));
    let key = key.trim();
    if !KEYS.contains(&key) {
        return Err(format!("`{key}` is no directive"));
    }
    // One space after the colon belongs to the syntax. Further ones belong to the value, because a line of
    // standard output may start with a space.
    let value = value.strip_prefix(' ').unwrap_or(value);
    let value = if key == "stdout" { value } else { value.trim() };
    Ok((revision, key.to_owned(), value.to_owned()))
}

/// Splits `[rev]` off the front of a text.
fn split_revision(text: &str) -> Result<(Option<String>, &str), String> {
    match text.strip_prefix('[') {
        Some(rest) => {
            let (revision, rest) = rest.split_once(']').ok_or_else(|| format!("`[{rest}` is not closed"))?;
            Ok((Some(revision.to_owned()), rest.trim_start()))
        }
        None => Ok((None, text.trim_start())),
    }
}

fn is_label(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// True if the causes that were found are those that `findings` declares, in any order. `a|b` declares either.
pub fn are_causes(declared: &[&str], found: &[String]) -> bool {
    let mut declared = declared.to_vec();
    // Those that leave no choice take theirs first.
    declared.sort_by_key(|causes| causes.split('|').count());
    let mut rest = found.to_vec();
    let mut is_found = |causes: &&str| {
        let at = rest.iter().position(|cause| causes.split('|').any(|wanted| wanted == cause));
        at.map(|at| rest.remove(at)).is_some()
    };
    declared.iter().all(&mut is_found) && rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//@ revisions: racy fixed
//@ opt: O1
//@[racy] exit: 3
//@ stdout:  two spaces
tile[t] = v;      //~ A
#ifdef FIXED
__syncthreads();
#endif
sum += tile[t];   //~ B
//~ RACE[racy] write-read shared block: A B
//~ RACE?[racy] write-write|write-atomic global other-value: A _
//~ DIVERGENCE[fixed]: exited B
";

    #[test]
    fn directives_apply_to_their_revision() {
        let p = Program::parse(SOURCE).unwrap();
        assert_eq!(p.revisions, [Some("racy".into()), Some("fixed".into())]);
        assert_eq!(p.opt_levels(Some("racy")), ["O1"]);
        assert_eq!(p.words(Some("racy"), "exit"), ["3"]);
        assert_eq!(p.words(Some("fixed"), "exit"), [""; 0]);
        assert_eq!(p.all(None, "stdout").collect::<Vec<_>>(), [" two spaces"]);
    }

    #[test]
    fn races_name_lines() {
        let p = Program::parse(SOURCE).unwrap();
        assert!(p.races(Some("fixed")).is_empty());
        let races = p.races(Some("racy"));
        assert_eq!(races[0].lines, [Some(5), Some(9)]);
        assert_eq!(races[0].kinds, [("write".to_owned(), "read".to_owned())]);
        assert_eq!(races[0].scope.as_deref(), Some("block"));
        assert!(races[1].optional && races[1].kinds.len() == 2);
        assert_eq!((races[1].same_value, races[1].lines[1]), (Some(Some(false)), None));
        let waiting = vec![WaitingAt::Line(9), WaitingAt::Exited];
        assert_eq!(
            p.divergences(Some("fixed")),
            [&ExpectedDivergence { kind: "barrier".to_owned(), waiting }]
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (source, want) in [
            ("//@ opts: O2", "1: `opts` is no directive"),
            ("\n//~ RACE write-read shared: A B", "2: no line is labelled `A`"),
            ("x; //~ A\n//~ RACE write-reed shared: A A", "2: `write-reed` is no kind of race"),
            ("x; //~ A\n//~ RACE write-read: A A", "2: after the kind comes `shared` or `global`"),
            ("x; //~ A\ny; //~ A", "2: label `A` is given twice"),
            ("x; //~ nope", "1: `nope` is neither a label nor a declaration"),
            ("//@[slow] exit: 1", "1: revision `slow` is not declared"),
        ] {
            assert_eq!(Program::parse(source).unwrap_err(), want);
        }
    }

    #[test]
    fn causes_are_those_declared_in_any_order() {
        let are = |declared: &[&str], found: &[&str]| {
            are_causes(declared, &found.iter().map(|cause| (*cause).to_owned()).collect::<Vec<_>>())
        };
        assert!(are(&["alias", "mask"], &["mask", "alias"]) && are(&[], &[]));
        assert!(are(&["alias|mask"], &["mask"]) && are(&["alias|mask", "alias"], &["alias", "mask"]));
        assert!(
            !are(&["alias"], &["mask"]) && !are(&["alias"], &[]) && !are(&["alias"], &["alias", "alias"])
        );
        assert!(!are(&["alias|mask"], &["alias", "mask"]));
    }
}
