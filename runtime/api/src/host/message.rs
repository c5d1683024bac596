//! Messages on standard error, in one form: `gpurace: error: ...`.

use std::collections::HashSet;
use std::io::Write;

use gpurace_report::plain;
use parking_lot::Mutex;

use crate::host::status_line;

/// Writes one message, in one piece, so that lines of several threads do not mix.
fn write(kind: &str, text: &str) {
    let line = format!("gpurace: {kind}: {}\n", plain::line(text));
    status_line::erase();
    // If standard error is closed, there is no other place for messages.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Prints an error: a requested action did not happen.
pub fn error(text: &str) {
    write("error", text);
}

/// Prints a hint how to avoid the error before it.
pub fn hint(text: &str) {
    write("hint", text);
}

/// Prints a note.
pub fn note(text: &str) {
    write("note", text);
}

/// The errors that are printed only once.
#[derive(Default)]
pub struct ErrorsOnce(Mutex<HashSet<String>>);

impl ErrorsOnce {
    /// Prints an error unless it was printed before.
    pub fn error(&self, text: &str) {
        let first = self.0.lock().insert(text.to_owned());
        if first {
            error(text);
        }
    }
}
