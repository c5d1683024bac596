//! The errors for a wrong string.

use crate::value::BadValue;
use crate::{ALL, VARIABLE};

/// The reason why `GPURACE_OPTIONS` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// No option has this key.
    #[error("{VARIABLE}: unknown option `{key}`; did you mean `{nearest}`?")]
    UnknownKey {
        /// The key found.
        key: String,
        /// The most similar known key.
        nearest: &'static str,
    },
    /// The option does not take this value.
    #[error("{VARIABLE}: `{key}={value}`: found `{found}`, wanted {wanted}")]
    BadValue {
        /// The key.
        key: String,
        /// The whole value.
        value: String,
        /// The wrong part of it.
        found: String,
        /// What that part should be.
        wanted: &'static str,
    },
    /// An item is not of the form `key=value`.
    #[error("{VARIABLE}: found `{item}`, wanted `key=value`")]
    NoEquals {
        /// The item.
        item: String,
    },
    /// A quote is not closed, or something follows a closing quote.
    #[error("{VARIABLE}: `{item}`: found {found}, wanted {wanted}")]
    Quote {
        /// The item up to the error.
        item: String,
        /// What was found there.
        found: String,
        /// What should be there.
        wanted: String,
    },
    /// The option cannot change while the program runs.
    #[error("`{key}` cannot change while the program runs: set it in {VARIABLE}")]
    Fixed {
        /// The key.
        key: String,
    },
    /// The variable's bytes are not UTF-8.
    #[error("{VARIABLE}: found bytes that are not UTF-8, wanted `key=value:key=value`")]
    NotUnicode,
}

impl OptionsError {
    pub(crate) fn bad_value(key: &str, value: &str, bad: BadValue) -> Self {
        Self::BadValue { key: key.to_owned(), value: value.to_owned(), found: bad.found, wanted: bad.wanted }
    }

    pub(crate) fn unknown_key(key: &str) -> Self {
        Self::UnknownKey { key: key.to_owned(), nearest: nearest(key) }
    }

    /// Returns advice, to print apart from the error.
    pub const fn hint(&self) -> &'static str {
        "`GPURACE_OPTIONS=help=1` lists every option"
    }
}

/// Returns the most similar known key.
fn nearest(key: &str) -> &'static str {
    let wanted = key.to_lowercase();
    let mut best = (ALL[0].key, f64::NEG_INFINITY);
    for option in ALL {
        // Jaro-Winkler finds keys with the same start, Damerau-Levenshtein those with swapped or missing
        // letters.
        let likeness = strsim::jaro_winkler(&wanted, option.key)
            + strsim::normalized_damerau_levenshtein(&wanted, option.key);
        if likeness > best.1 {
            best = (option.key, likeness);
        }
    }
    best.0
}
