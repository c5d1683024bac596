//! The destination of the report's text: standard error, or the file of `log_path`.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use gpurace_options::LogPath;
use parking_lot::Mutex;

use crate::host::{message, status_line};

/// The open destination.
pub struct TextLog {
    /// The file and its name. `None` for standard error.
    file: Option<(Mutex<File>, PathBuf)>,
    /// True if it takes ANSI colours.
    pub color: bool,
}

impl TextLog {
    /// Opens the destination for the process `pid`. If the file cannot be opened, prints an error
    /// and uses standard error.
    pub fn open(path: &LogPath, pid: u32) -> Self {
        let pattern = match path {
            LogPath::Stderr => return Self::stderr(),
            LogPath::File(pattern) => pattern,
        };
        let path = pattern.expand(pid);
        match OpenOptions::new().create(true).write(true).truncate(true).open(&path) {
            Ok(file) => Self { file: Some((Mutex::new(file), path)), color: false },
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

    /// Writes a text in one piece.
    pub fn write(&self, text: &str) {
        if let Some((file, path)) = &self.file {
            let Err(error) = file.lock().write_all(text.as_bytes()) else { return };
            message::error(&format!("cannot write `{}`: {error}; its text follows", path.display()));
        }
        status_line::erase();
        // If this cannot be written, an error message cannot be either.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}
