//! The report of a run, as JSON and as text.
//!
//! | module | what it knows |
//! |---|---|
//! | [`schema`] | the stored report and its JSON |
//! | [`collect`] | which races are one entry, which entries one finding, how many are kept |
//! | [`cause`] | the order that is missing |
//! | `diagnosis` | the table of causes: which of them a race has, and what is said of each |
//! | [`coverage`] | which accesses never ran |
//! | [`barriers`] | which barriers part two accesses |
//! | [`missing`] | where new barriers would part them |
//! | [`fix`] | changes of the source |
//! | `bodies` | where the body of a loop without braces ends |
//! | [`join`] | findings that the whole run shows to be one |
//! | [`merge`] | how to join several reports |
//! | [`mistakes`] | wrong stages, early releases, late looks |
//! | [`names`] | names of kernels |
//! | `parted` | which accesses further barriers part |
//! | `paths` | ways through a kernel's control flow |
//! | [`plain`] | which characters a text may have |
//! | [`baseline`] | which findings are not in an older report |
//! | [`hint`] | advice on each race |
//! | [`text`] | the report as text |
//! | [`updates`] | updates that several threads make at once |
//! | [`words`] | phrases for all formats |
//! | [`snippet`] | which lines and characters of a source to show |
//! | [`sources`] | source lines; the only module that reads files |
//!
//! Other crates find races, and write a report to its place.

pub mod barriers;
pub mod baseline;
mod bodies;
pub mod cause;
pub mod collect;
pub mod coverage;
mod diagnosis;
pub mod fix;
mod flags;
mod fold;
pub mod hint;
pub mod join;
pub mod merge;
pub mod missing;
pub mod mistakes;
pub mod names;
mod parted;
mod paths;
pub mod plain;
pub mod schema;
pub mod snippet;
pub mod sources;
#[cfg(test)]
mod tests;
pub mod text;
pub mod updates;
pub mod words;

pub use gpurace_abi::symbol::demangle;
