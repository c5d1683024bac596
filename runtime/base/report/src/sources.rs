//! Where source lines come from.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Gives the text of source files.
pub trait Sources {
    /// The text of the file that a report calls `file`, where it can be read.
    fn text(&self, file: &str) -> Option<Arc<str>>;
}

/// Has no file: reports come without snippets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSources;

impl Sources for NoSources {
    fn text(&self, _: &str) -> Option<Arc<str>> {
        None
    }
}

/// Reads files, each once.
#[derive(Debug, Default)]
pub struct DiskSources {
    directories: Vec<PathBuf>,
    read: Mutex<HashMap<String, Option<Arc<str>>>>,
}

impl DiskSources {
    /// Files larger than this are not read, bytes.
    const MAX_SIZE: u64 = 16 << 20;

    /// Looks for a relative name in these directories, in their order (those
    /// that the compiler ran in), then in the current one.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { directories: directories.into_iter().collect(), read: Mutex::default() }
    }

    fn read(&self, file: &str) -> Option<Arc<str>> {
        // Joining with an absolute name gives that name.
        let mut paths = self
            .directories
            .iter()
            .map(|directory| directory.join(file))
            .chain(std::iter::once(PathBuf::from(file)));
        paths.find_map(|path| {
            // Anything but a file, a pipe for instance, might never end.
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
