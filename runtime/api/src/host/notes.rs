//! Notes of the report: what was lost or not checked.

use std::time::Duration;

use parking_lot::Mutex;

/// The notes so far.
#[derive(Default)]
pub struct Notes(Mutex<Vec<String>>);

impl Notes {
    /// Adds a note.
    pub fn add(&self, note: String) {
        self.0.lock().push(note);
    }

    /// Adds a note unless it was added before.
    pub fn add_once(&self, note: String) {
        let mut notes = self.0.lock();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Removes all notes.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// All notes, in the order in which they were added. `None` if a signal interrupted a thread
    /// that was adding one.
    pub fn all(&self) -> Option<Vec<String>> {
        self.0.try_lock_for(Duration::from_secs(1)).map(|notes| notes.clone())
    }
}
