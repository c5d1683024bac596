//! The report of a run: one type, from which JSON and text come.
//!
//! | module | what it knows |
//! |---|---|
//! | [`schema`] | the stored report: what a race, a divergence, a side of a race is; its JSON |
//! | [`collect`] | which findings are one entry, how many are kept |
//! | [`hint`] | what can truthfully be said about mending a race |
//! | [`text`] | the report as people read it |
//! | [`sources`] | where source lines come from: the one place that reads files |
//!
//! What does *not* live here: shadow memory, how a race is found, where a
//! report is written to.

pub mod collect;
pub mod hint;
pub mod schema;
mod snippet;
pub mod sources;
#[cfg(test)]
mod tests;
pub mod text;

/// The name as the source has it, with parameters, where `symbol` is mangled;
/// else `symbol` itself.
pub fn demangle(symbol: &str) -> String {
    cpp_demangle::Symbol::new(symbol)
        .ok()
        .and_then(|parsed| parsed.demangle().ok())
        .unwrap_or_else(|| symbol.to_owned())
}
