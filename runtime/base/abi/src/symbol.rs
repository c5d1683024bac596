//! Demangling: names of functions and variables as people write them.

/// The symbol without what clang adds to static kernels and variables of
/// separately compiled units, such as `__intern__b04fd23c98500190`.
pub fn without_unit(symbol: &str) -> &str {
    let unit = ["__intern__", "__static__"].iter().find_map(|mark| symbol.rsplit_once(mark));
    match unit {
        Some((name, id)) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_') => name,
        _ => symbol,
    }
}

/// The name in the source, with parameters, if `symbol` is mangled; otherwise `symbol`,
/// [`without_unit`].
pub fn demangle(symbol: &str) -> String {
    let name = without_unit(symbol);
    // A name that is not mangled may look like a mangled type: `d` is not `double`.
    let mangled = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok()).flatten();
    mangled.and_then(|parsed| parsed.demangle().ok()).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_clang_adds_is_taken_away() {
        assert_eq!(without_unit("_ZL4workv__intern__d32edae706f0f07d"), "_ZL4workv");
        assert_eq!(without_unit("_ZL5table__static__98c3adfe00_059a4aa7"), "_ZL5table");
        for whole in ["_Z4workv", "x__intern__y", "__static__"] {
            assert_eq!(without_unit(whole), whole);
        }
    }

    #[test]
    fn only_mangled_names_are_demangled() {
        for (symbol, name) in [
            ("_Z6reducePKfPf", "reduce(float const*, float*)"),
            ("_ZN2ns4scanIiEEvPT_", "void ns::scan<int>(int*)"),
            ("_ZL5total", "total"),
            ("_ZL4workv__intern__d32edae706f0f07d", "work()"),
            ("work__intern__d32edae706f0f07d", "work"),
            ("_Znonsense", "_Znonsense"),
            ("kernel_c", "kernel_c"),
            ("_total", "_total"),
            // Types, if they were mangled names.
            ("a", "a"),
            ("d", "d"),
            ("Pi", "Pi"),
            ("", ""),
        ] {
            assert_eq!(demangle(symbol), name);
        }
    }
}
