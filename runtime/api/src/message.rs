//! Messages on standard error, in one form: `gpurace: error: ...`.

use std::collections::HashSet;
use std::io::Write;

use parking_lot::Mutex;

/// Writes one message, in one piece, so that lines of several threads do not mix.
fn write(kind: &str, text: &str) {
    let line = format!("gpurace: {kind}: {text}\n");
    // Nobody is left to tell where standard error is closed.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// An error: something that was asked for did not happen.
pub fn error(text: &str) {
    write("error", text);
}

/// What to do about the error before.
pub fn hint(text: &str) {
    write("hint", text);
}

/// Something worth knowing.
pub fn note(text: &str) {
    write("note", text);
}

/// An error that is said once in a process, however often it happens.
pub fn error_once(text: &str) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let first = SAID.lock().get_or_insert_with(HashSet::new).insert(text.to_owned());
    if first {
        error(text);
    }
}
