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
