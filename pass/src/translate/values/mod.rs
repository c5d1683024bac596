//! The PTX instructions that only compute values from values: arithmetic, logic, comparison, selection, conversion.
//!
//! Each is a row: the instruction's name, the types of its operands, and the IR for its result, in the notation
//! of [`template`]. NVVM intrinsics of the same meaning use the same row. Instructions that move registers, touch
//! memory or order threads have a decoder instead: see [`super::ptx`].
//!
//! # To add an instruction
//!
//! Add a row to the file of its subject, and a test of its results to `../ptx_to_ir/tests/`. The types of a name
//! stand at its end, in the order of the PTX ISA. A program may write its modifiers in any order. Where `|` stands
//! in the types of results, a program may leave out the second one. The type `cc` is the carry of the condition
//! code.

mod bits;
mod comparisons;
mod conversions;
mod floats;
mod integers;
mod video;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::nvvm::template::names::{capture, expansions, words};
use super::nvvm::template::{self, Block, OperandTypes};
use super::ptx::types::Ty;

pub use video::BLOCKS;

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Block> {
    [integers::ROWS, bits::ROWS, floats::ROWS, comparisons::ROWS, conversions::ROWS, video::ROWS]
        .into_iter()
        .flatten()
}

/// The name of an instruction's function, and its types. `None` if no row has it.
pub fn find(mnemonic: &str) -> Option<(String, OperandTypes)> {
    let mut name = mnemonic.to_owned();
    loop {
        for Block(pattern, ..) in rows() {
            let arranged = arranged(pattern, mnemonic, &name);
            if let Some((arranged, simple)) = arranged
                && capture(pattern, &simple).is_some()
                && let Some(types) = template::value_types(&arranged)
            {
                return Some((arranged, types));
            }
        }
        name = template::simpler(&name)?.0;
    }
}

/// A mnemonic, and the simpler name that it follows from, with their words in the order of a pattern.
fn arranged(pattern: &str, mnemonic: &str, simple: &str) -> Option<(String, String)> {
    let at = pattern.find(['.', '{'])?;
    let mut rest = simple.split('.');
    let base = rest.next()?;
    if !base.starts_with(&pattern[..at]) {
        return None;
    }
    let order = |words: &mut Vec<&str>| {
        words.sort_by_key(|word| match Ty::from_suffix(word) {
            Some(_) => usize::MAX,
            None => place(&pattern[at..], word),
        });
    };
    let mut words: Vec<_> = rest.collect();
    let mut written: Vec<_> = mnemonic.split('.').skip(1).collect();
    order(&mut words);
    order(&mut written);
    let join = |words: Vec<&str>| [&[base][..], &words].concat().join(".");
    Some((join(written), join(words)))
}

/// The last place of a whole word in a pattern. The words of a class of alternatives come first.
fn place(pattern: &str, word: &str) -> usize {
    let is_end = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    let whole = |at: &usize| {
        is_end(pattern[..*at].chars().next_back()) && is_end(pattern[at + word.len()..].chars().next())
    };
    pattern.match_indices(word).map(|(at, _)| at).filter(whole).last().unwrap_or(0)
}

/// The mnemonics of the rows, without modifiers, and the names of the rows of each.
pub static MNEMONICS: LazyLock<BTreeMap<String, Vec<&str>>> = LazyLock::new(|| {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for Block(pattern, ..) in rows() {
        for start in expansions(pattern, &|start| start.contains('.')) {
            let patterns = all.entry(start.split('.').next().unwrap_or_default().to_owned()).or_default();
            if !patterns.contains(pattern) {
                patterns.push(pattern);
            }
        }
    }
    all
});

/// Returns the modifiers of which a mnemonic lacks one: with it, the mnemonic would be an instruction.
pub fn lacking(mnemonic: &str) -> Option<String> {
    let base = mnemonic.split('.').next()?;
    let mut found: Vec<&str> = Vec::new();
    for word in MNEMONICS.get(base)?.iter().flat_map(|pattern| words(pattern)) {
        let longer = format!("{base}.{word}{}", &mnemonic[base.len()..]);
        if !word.is_empty() && !found.contains(&word) && find(&longer).is_some() {
            found.push(word);
        }
    }
    if found.iter().any(|word| Ty::from_suffix(word).is_some()) {
        return Some("a type".to_owned());
    }
    let names: Vec<_> = found.iter().map(|word| format!("`.{word}`")).collect();
    let (last, others) = names.split_last()?;
    Some(if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) })
}
