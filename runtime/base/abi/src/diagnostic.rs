//! Warnings and remarks about the user's code. The pass writes them as JSON, the driver prints them
//! in clang's form.

use serde::{Deserialize, Serialize};

/// A warning or remark with its notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The flag that asks for it.
    pub group: Group,
    /// The warning or remark itself.
    pub text: Note,
    /// Its notes.
    pub notes: Vec<Note>,
}

/// A message with its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The position; `None` without debug info.
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
    /// `-Wgpurace`: a proved race.
    Warning,
    /// `-Rpass=gpurace`: an access that cannot race.
    Proved,
    /// `-Rpass-missed=gpurace`: an access that stays checked.
    Missed,
}
