//! The external names of separately compiled device code (`-fgpu-rdc`): one translation unit finds
//! another's functions and variables by them.

use serde::{Deserialize, Serialize};

/// The external names of a translation unit's device code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbols {
    /// The names that it defines.
    pub defined: Vec<Definition>,
    /// The mangled names that it uses and does not define.
    pub needed: Vec<String>,
}

/// A function or variable that other translation units may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Its mangled name.
    pub name: String,
    /// True if another definition of it is no error.
    pub weak: bool,
}
