//! What the pass has to say about the user's code: written as JSON, printed by
//! the driver in clang's form.

use serde::{Deserialize, Serialize};

/// A warning or remark with its notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Which of the flags asks for it.
    pub group: Group,
    /// Where, and what.
    pub text: Note,
    /// What belongs to it.
    pub notes: Vec<Note>,
}

/// A message and where it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Where; `None` without debug info.
    pub position: Option<Position>,
    /// Lower case, no full stop.
    pub message: String,
}

/// A source position as clang prints it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// The name as clang was given it, or as `#include` found it.
    pub file: String,
    /// The folder that a relative name is relative to.
    pub directory: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 where unknown.
    pub column: u32,
}

/// The flag that asks for a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// `-Wgpurace`: a race that was proved.
    Warning,
    /// `-Rpass=gpurace`: an access that cannot race.
    Proved,
    /// `-Rpass-missed=gpurace`: an access that stays checked.
    Missed,
}
