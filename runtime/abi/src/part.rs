//! What the pass says of separately compiled device code (`-fgpu-rdc`): the
//! names by which one translation unit finds another's functions and variables.

use serde::{Deserialize, Serialize};

/// The external names of a translation unit's device code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbols {
    /// What it defines for others.
    pub defined: Vec<Definition>,
    /// What it uses and does not define, mangled.
    pub needed: Vec<String>,
}

/// A function or variable that other translation units may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Its mangled name.
    pub name: String,
    /// Another definition of it is no error.
    pub weak: bool,
}

/// The symbol without what clang adds to static kernels and variables of
/// separately compiled units, such as `__intern__b04fd23c98500190`.
pub fn without_unit(symbol: &str) -> &str {
    let unit = ["__intern__", "__static__"].iter().find_map(|mark| symbol.rsplit_once(mark));
    match unit {
        Some((name, id)) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_') => name,
        _ => symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::without_unit;

    #[test]
    fn only_what_clang_adds_is_taken_away() {
        assert_eq!(without_unit("_ZL4workv__intern__d32edae706f0f07d"), "_ZL4workv");
        assert_eq!(without_unit("_ZL5table__static__98c3adfe00_059a4aa7"), "_ZL5table");
        for whole in ["_Z4workv", "x__intern__y", "__static__"] {
            assert_eq!(without_unit(whole), whole);
        }
    }
}
