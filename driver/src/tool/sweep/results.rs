//! The results of a sweep: a file for each run, named by the run's [key](super::matrix::key).
//!
//! A file appears at once, with its final content. So a run counts once, however often it was begun, by however many
//! shards; and what was interrupted counts as not run.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::matrix;
use crate::diagnostic::Error;
use crate::tool::runs::{Outcome, PlannedRun};

/// The folder with the results.
pub struct Results {
    folder: PathBuf,
}

/// A stored result. The run is stored for those who read the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    words: Vec<String>,
    options: String,
    seed: Option<u64>,
    outcome: Outcome,
}

impl Results {
    /// Opens a folder, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(Error::cannot("write", folder))?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn file(&self, plan: &PlannedRun) -> PathBuf {
        self.folder.join(matrix::key(plan)).with_extension("json")
    }

    /// Returns the keys of all results.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn keys(&self) -> Result<HashSet<OsString>, Error> {
        let entries = fs::read_dir(&self.folder).map_err(Error::cannot("read", &self.folder))?;
        let paths = entries.filter_map(|entry| Some(PathBuf::from(entry.ok()?.file_name())));
        let results = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        Ok(results.filter_map(|path| Some(path.file_stem()?.to_owned())).collect())
    }

    /// Stores the result of a run.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn store(&self, plan: &PlannedRun, outcome: Outcome) -> Result<(), Error> {
        let words = plan.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let stored = Stored { words, options: plan.options.clone(), seed: plan.seed, outcome };
        let file = self.file(plan);
        let write = || {
            // As readable as the files of any program: the umask decides.
            let readable = fs::Permissions::from_mode(0o666);
            let mut new = tempfile::Builder::new().permissions(readable).tempfile_in(&self.folder)?;
            new.write_all(&serde_json::to_vec(&stored)?)?;
            new.persist(&file).map_err(|e| e.error)?;
            std::io::Result::Ok(())
        };
        write().map_err(Error::cannot("write", &file))
    }

    /// Returns the result of a run, if it has one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn load(&self, plan: &PlannedRun) -> Result<Option<Outcome>, Error> {
        let file = self.file(plan);
        let name = file.display();
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::new(format!("cannot read `{name}`: {e}"))),
        };
        let stored: Stored = serde_json::from_slice(&text).map_err(|e| {
            Error::new(format!("`{name}` is not a result of this version of gpurace: {e}"))
                .hint("remove it, and the run is made again")
        })?;
        Ok(Some(stored.outcome))
    }
}
