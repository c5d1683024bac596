//! The text of source files.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A place that has source files.
pub trait Sources {
    /// Returns the text of the file that a report calls `file`. `None` if it cannot be read.
    fn text(&self, file: &str) -> Option<Arc<str>>;
}

/// No source files, so reports have no snippets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSources;

impl Sources for NoSources {
    fn text(&self, _: &str) -> Option<Arc<str>> {
        None
    }
}

/// Source files on disk. Each is read once.
#[derive(Debug, Default)]
pub struct DiskSources {
    directories: Vec<PathBuf>,
    read: Mutex<HashMap<String, Option<Arc<str>>>>,
}

impl DiskSources {
    /// Files with more bytes than this are not read.
    const MAX_SIZE: u64 = 16 << 20;

    /// Returns sources that search for a relative name in these directories, in this order, then in the
    /// current one.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { directories: directories.into_iter().collect(), read: Mutex::default() }
    }

    fn read(&self, file: &str) -> Option<Arc<str>> {
        // `join` with an absolute name returns that name.
        let mut paths = self
            .directories
            .iter()
            .map(|directory| directory.join(file))
            .chain(std::iter::once(PathBuf::from(file)));
        paths.find_map(|path| {
            // A pipe, for instance, might never end.
            let about = fs::metadata(&path).ok()?;
            if !about.is_file() || about.len() > Self::MAX_SIZE {
                return None;
            }
            let bytes = fs::read(path).ok()?;
            Some(String::from_utf8_lossy(&bytes).into())
        })
    }
}

impl Sources for DiskSources {
    fn text(&self, file: &str) -> Option<Arc<str>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = read.get(file) {
            return text.clone();
        }
        let text = self.read(file);
        read.insert(file.to_owned(), text.clone());
        text
    }
}
