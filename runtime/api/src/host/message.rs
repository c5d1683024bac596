//! Messages on standard error, in one form: `gpurace: error: ...`.

use std::collections::HashSet;
use std::io::Write;

use parking_lot::Mutex;

/// Writes one message, in one piece, so that lines of several threads do not mix.
fn write(kind: &str, text: &str) {
    let line = format!("gpurace: {kind}: {text}\n");
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

/// Prints an error, but only once in a process.
pub fn error_once(text: &str) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let first = SAID.lock().get_or_insert_with(HashSet::new).insert(text.to_owned());
    if first {
        error(text);
    }
}
