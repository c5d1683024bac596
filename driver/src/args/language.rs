//! The languages that `-x` sets.

use std::ffi::OsString;

use crate::clang_options as clang;

/// Returns the words with an `-x` at each source, if the only `-x` stands behind all inputs. clang ignores such an
/// option; for nvcc it holds for all sources, wherever it stands.
pub(super) fn with_language_first(words: Vec<OsString>) -> Vec<OsString> {
    let mut sources = Vec::new();
    let mut last_input = 0;
    let mut languages = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let text = words[at].to_string_lossy();
        let value = if clang::takes_next_word(&text) { words.get(at + 1) } else { None };
        if text == "--" {
            return words;
        } else if !text.starts_with('-') || text == "-" {
            last_input = at;
            if clang::is_cuda_source(&text) || clang::is_source(&text) {
                sources.push(at);
            }
        } else if let Some(language) =
            language_of(&text, value.map(|value| value.to_string_lossy()).as_deref())
        {
            languages.push((at..at + 1 + usize::from(value.is_some()), language));
        }
        at += 1 + usize::from(value.is_some());
    }
    match &languages[..] {
        [(option, language)] if option.start > last_input && language != "none" => {
            let mut out = Vec::with_capacity(words.len() + 4 * sources.len());
            for (at, word) in words.into_iter().enumerate().filter(|(at, _)| !option.contains(at)) {
                if sources.contains(&at) {
                    out.extend(["-x".into(), language.into(), word, "-x".into(), "none".into()]);
                } else {
                    out.push(word);
                }
            }
            out
        }
        _ => words,
    }
}

/// Returns the language that an option sets: `-x cu`, `-xcu`, `--language=cu`.
pub(super) fn language_of(word: &str, value: Option<&str>) -> Option<String> {
    match word {
        "-x" | "--language" => value.map(str::to_owned),
        _ => word.strip_prefix("--language=").or_else(|| word.strip_prefix("-x")).map(str::to_owned),
    }
}
