//! Where the text of the report goes: standard error or the file of
//! `log_path`.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};

use gpurace_options::LogPath;
use parking_lot::Mutex;

use crate::message;

/// The open log.
pub struct Log {
    /// `None` for standard error.
    file: Option<Mutex<File>>,
    /// Whether it takes ANSI colours.
    pub color: bool,
}

impl Log {
    /// Opens the log of the process `pid`. Where the file cannot be opened,
    /// standard error takes its place and says so.
    pub fn open(path: &LogPath, pid: u32) -> Self {
        let pattern = match path {
            LogPath::Stderr => return Self::stderr(),
            LogPath::File(pattern) => pattern,
        };
        let path = pattern.expand(pid);
        match OpenOptions::new().create(true).write(true).truncate(true).open(&path) {
            Ok(file) => Self { file: Some(Mutex::new(file)), color: false },
            Err(error) => {
                message::error(&format!("cannot write `{}`: {error}", path.display()));
                Self::stderr()
            }
        }
    }

    fn stderr() -> Self {
        let color = std::io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { file: None, color }
    }

    /// Writes a piece of text at once.
    pub fn write(&self, text: &str) {
        // Where it cannot be written there is nobody left to tell.
        let _ = match &self.file {
            Some(file) => file.lock().write_all(text.as_bytes()),
            None => std::io::stderr().lock().write_all(text.as_bytes()),
        };
    }
}
