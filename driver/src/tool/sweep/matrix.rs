//! The description of a sweep, and the runs that it stands for.
//!
//! ```toml
//! seeds = 20                                # or a list; without it, each program runs with its own options alone
//! options = ["", "same_value=ignore"]       # sets of `GPURACE_OPTIONS`
//!
//! [[run]]
//! command = "./reduce {size} --mode={mode}" # or a list of words
//! matrix = { size = [64, 1024], mode = ["fast", "safe"] }
//! ```
//!
//! `seeds` and `options` of a `[[run]]` take the place of those above.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::Path;

use gpurace_options::Options;
use serde::Deserialize;

use crate::diagnostic::Error;
use crate::tool::runs::PlannedRun;
use crate::tool::with;

/// The most runs of a sweep.
const MOST_RUNS: usize = 10_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    seeds: Option<Seeds>,
    options: Option<Vec<String>>,
    run: Vec<RunEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunEntry {
    command: CommandWords,
    #[serde(default)]
    matrix: BTreeMap<String, Vec<Value>>,
    seeds: Option<Seeds>,
    options: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "wanted a command line or a list of words")]
enum CommandWords {
    Line(String),
    List(Vec<String>),
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "wanted a number of seeds or a list of them")]
enum Seeds {
    Count(u64),
    List(Vec<u64>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "wanted a text, a number, `true` or `false`")]
enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Truth(bool),
}

impl Value {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Truth(truth) => truth.to_string(),
        }
    }
}

/// Returns the runs that a description stands for, each once, in its order. `own` are the user's options, which come
/// before the description's.
///
/// # Errors
/// The description is wrong, or stands for no run or too many.
pub fn plans(text: &str, own: &str) -> Result<Vec<PlannedRun>, Error> {
    let description: Description = toml::from_str(text).map_err(|e| {
        let before = e.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        Error::new(format!("line {}: {}", before.matches('\n').count() + 1, e.message()))
    })?;
    let mut plans = Vec::new();
    for entry in &description.run {
        let words = words(&entry.command)?;
        let seeds = entry.seeds.as_ref().or(description.seeds.as_ref());
        let seeds: Vec<Option<u64>> = match seeds {
            None => vec![None],
            Some(Seeds::Count(count)) if *count > MOST_RUNS as u64 => return Err(too_many()),
            Some(Seeds::Count(count)) => (0..*count).map(Some).collect(),
            Some(Seeds::List(list)) => list.iter().copied().map(Some).collect(),
        };
        let none = vec![String::new()];
        let sets = entry.options.as_ref().or(description.options.as_ref()).unwrap_or(&none);
        let sets: Vec<String> = sets.iter().map(|set| options(own, set)).collect::<Result<_, _>>()?;
        for words in fill(&words, &entry.matrix)? {
            for options in &sets {
                for &seed in &seeds {
                    plans.push(PlannedRun { words: words.clone(), options: options.clone(), seed });
                    if plans.len() > MOST_RUNS {
                        return Err(too_many());
                    }
                }
            }
        }
    }
    let mut known = HashSet::new();
    plans.retain(|plan| known.insert(key(plan)));
    if plans.is_empty() {
        return Err(Error::new("no runs: a list is empty"));
    }
    Ok(plans)
}

fn too_many() -> Error {
    Error::new(format!("more than {MOST_RUNS} runs"))
}

/// Returns the words of a command, at least one.
fn words(command: &CommandWords) -> Result<Vec<String>, Error> {
    let words = match command {
        CommandWords::Line(line) => shlex::split(line)
            .ok_or_else(|| Error::new(format!("`{line}` is no command line: a quote is not closed")))?,
        CommandWords::List(words) => words.clone(),
    };
    if words.is_empty() {
        return Err(Error::new("found a command without words, wanted a program and its arguments"));
    }
    Ok(words)
}

fn options(own: &str, set: &str) -> Result<String, Error> {
    let all = if set.is_empty() { own.to_owned() } else { with(own, set) };
    Options::parse(&all).map_err(|e| Error::new(e.to_string()).hint(e.hint()))?;
    if Options::parse(set).is_ok_and(|set| set.json.is_some()) {
        return Err(Error::new("`json` cannot be an option of a sweep: its reports are in its results"));
    }
    Ok(all)
}

/// Returns the words with each combination of the matrix's values in the places of their names.
fn fill(words: &[String], matrix: &BTreeMap<String, Vec<Value>>) -> Result<Vec<Vec<OsString>>, Error> {
    let mut filled = vec![words.to_vec()];
    for (name, values) in matrix {
        let place = format!("{{{name}}}");
        if !words.iter().any(|word| word.contains(&place)) {
            return Err(Error::new(format!("no word of the command has `{place}`, which the matrix names")));
        }
        if filled.len().saturating_mul(values.len()) > MOST_RUNS {
            return Err(too_many());
        }
        let with = |words: &Vec<String>, value: &Value| -> Vec<String> {
            words.iter().map(|word| word.replace(&place, &value.text())).collect()
        };
        filled = filled.iter().flat_map(|words| values.iter().map(move |value| with(words, value))).collect();
    }
    Ok(filled.into_iter().map(|words| words.into_iter().map(OsString::from).collect()).collect())
}

/// The name of a run's result: equal for equal runs, whatever else the sweep has.
pub fn key(plan: &PlannedRun) -> String {
    let mut hash = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(plan.options.as_bytes());
    add(plan.seed.map(|seed| seed.to_string()).unwrap_or_default().as_bytes());
    for word in &plan.words {
        add(word.as_encoded_bytes());
    }
    hash.finalize().to_hex()[..32].to_owned()
}

/// Reads the description in a file.
///
/// # Errors
/// It cannot be read, or is wrong.
pub fn read(file: &Path, own: &str) -> Result<Vec<PlannedRun>, Error> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| Error::new(format!("cannot read `{name}`: {e}")))?;
    plans(&text, own).map_err(|error| Error { message: format!("`{name}`: {}", error.message), ..error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, own: &str) -> Vec<String> {
        plans(text, own).unwrap().iter().map(|plan| plan.replay().unwrap()).collect()
    }

    #[test]
    fn a_matrix_is_every_combination_once() {
        let text = r#"
            options = ["", "every=2"]
            [[run]]
            command = "./a '{m} x' {n}"
            matrix = { m = ["p", "q"], n = [1, 2.5] }
            [[run]]
            command = ["./b", "{}"]
            seeds = [7, 7, 8]
            options = ["same_value=ignore"]
        "#;
        assert_eq!(
            lines(text, "stats=1"),
            [
                "GPURACE_OPTIONS=stats=1 ./a 'p x' 1",
                "GPURACE_OPTIONS=stats=1:every=2 ./a 'p x' 1",
                "GPURACE_OPTIONS=stats=1 ./a 'p x' 2.5",
                "GPURACE_OPTIONS=stats=1:every=2 ./a 'p x' 2.5",
                "GPURACE_OPTIONS=stats=1 ./a 'q x' 1",
                "GPURACE_OPTIONS=stats=1:every=2 ./a 'q x' 1",
                "GPURACE_OPTIONS=stats=1 ./a 'q x' 2.5",
                "GPURACE_OPTIONS=stats=1:every=2 ./a 'q x' 2.5",
                "GPURACE_OPTIONS=stats=1:same_value=ignore:seed=7 ./b '{}'",
                "GPURACE_OPTIONS=stats=1:same_value=ignore:seed=8 ./b '{}'",
            ]
        );
        assert_eq!(lines("seeds = 2\n[[run]]\ncommand = './a'", "").len(), 2);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| plans(text, "").unwrap_err().message;
        for (text, wanted) in [
            ("[[run]]\ncommand = 'a'\nmatrix = { n = [1] }", "no word of the command has `{n}`"),
            ("[[run]]\ncommand = \"a 'b\"", "a quote is not closed"),
            ("[[run]]\ncommand = []", "without words"),
            ("[[run]]\ncommand = 3", "wanted a command line or a list of words"),
            ("[[run]]\ncomand = 'a'", "unknown field `comand`"),
            ("[[run]]\ncommand = 'a'\noptions = ['sed=1']", "did you mean `seed`"),
            ("[[run]]\ncommand = 'a'\noptions = ['json=x']", "`json` cannot be an option"),
            ("[[run]]\ncommand = 'a'\nseeds = 0", "no runs"),
            ("[[run]]\ncommand = 'a'\nseeds = 10000001", "more than 10000000 runs"),
            ("seeds = 1", "missing field `run`"),
        ] {
            assert!(error(text).contains(wanted), "{text}: {}", error(text));
        }
    }

    #[test]
    fn a_key_stays_when_others_come_and_words_do_not_run_together() {
        let keys = |text: &str| plans(text, "").unwrap().iter().map(key).collect::<Vec<_>>();
        let one = keys("seeds = [1]\n[[run]]\ncommand = './a b'");
        let more = keys("seeds = 3\n[[run]]\ncommand = 'x'\n[[run]]\ncommand = './a b'");
        assert!(more.contains(&one[0]) && more.len() == 6);
        assert_ne!(keys("[[run]]\ncommand = ['ab', 'c']"), keys("[[run]]\ncommand = ['a', 'bc']"));
        assert_ne!(one, keys("[[run]]\ncommand = './a b'"));
    }
}
