//! The report of a run: one type, from which JSON and text come.
//!
//! | module | what it knows |
//! |---|---|
//! | [`schema`] | the stored report: what a race, a divergence, a side of a race is |
//!
//! What does *not* live here: shadow memory, how a race is found, where a
//! report is written to.

pub mod schema;
