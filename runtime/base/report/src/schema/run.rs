//! What the report says of the run itself, and the source lines that it keeps.

use serde::{Deserialize, Serialize};

/// The run of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The path of the program.
    pub program: Option<String>,
    /// Its arguments, without its name.
    pub arguments: Vec<String>,
    /// Its directory when it ended.
    pub directory: Option<String>,
    /// The process id.
    pub pid: u32,
    /// When it ended: seconds since 1970, UTC.
    pub time: u64,
    /// The seed of the schedule.
    pub seed: u64,
    /// The version of gpurace.
    pub version: String,
}

/// Consecutive lines of a source file, as they were when the program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceLines {
    /// The file, as positions in the report name it.
    pub file: String,
    /// The number of the first line, from 1.
    pub first: u32,
    /// The lines, without their ends.
    pub lines: Vec<String>,
}
