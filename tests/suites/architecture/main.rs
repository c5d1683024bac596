//! The rules of the workspace's structure, read from its manifests, its Rust sources and its pages.
//!
//! | module | rule |
//! |---|---|
//! | `manifests` | dependencies between crates point one way; one crate uses each large library |
//! | `layers` | modules of a layered crate import nothing from a layer above, and no layers form a circle |
//! | `names` | a type's name is unique in its crate; names of entry points stand in one file |
//! | `lengths` | a source file has at most 500 lines |
//! | `pages` | the paths that ARCHITECTURE.md and the glossary name exist |
//! | `reader` | reads the modules of a crate, for the other modules |
//!
//! A rule that part of the code does not keep yet has a list `NOT_YET`. An entry that keeps the rule
//! must leave the list, and nothing may be added to it.

mod layers;
mod lengths;
mod manifests;
mod names;
mod pages;
mod reader;
