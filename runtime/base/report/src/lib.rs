//! The report of a run: one type, from which JSON and text come.
//!
//! | module | what it knows |
//! |---|---|
//! | [`schema`] | the stored report: what a race, a divergence, a side of a race is; its JSON |
//! | [`collect`] | which findings are one entry, how many are kept |
//! | [`merge`] | several reports as one |
//! | [`baseline`] | which findings an older report did not have |
//! | [`hint`] | what can truthfully be said about mending a race |
//! | [`text`] | the report as people read it |
//! | [`words`] | phrases that every rendering uses |
//! | [`snippet`] | which lines and which characters of a source to show |
//! | [`sources`] | where source lines come from: the one place that reads files |
//!
//! What does *not* live here: shadow memory, how a race is found, where a
//! report is written to.

pub mod baseline;
pub mod collect;
pub mod hint;
pub mod merge;
pub mod schema;
pub mod snippet;
pub mod sources;
#[cfg(test)]
mod tests;
pub mod text;
pub mod words;

pub use gpurace_abi::symbol::demangle;
