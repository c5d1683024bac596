//! Reads stored reports and facts, apart from the loop: a report may be large, and a file may be broken.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use gpurace_report::schema::Report;

use super::Event;
use super::compile::located;
use super::hovers::StoredVerdicts;
use crate::diagnostic::Error;
use crate::tool::{explain, reports};

/// The time within which most programs finish writing a report.
const WRITING: Duration = Duration::from_millis(500);

/// What the stored files hold.
#[derive(Debug)]
pub struct Loaded {
    /// The report. `None` if there is no file yet.
    pub report: Result<Option<Report>, Error>,
    /// The facts.
    pub facts: Result<Vec<StoredVerdicts>, Error>,
}

/// Reads the files again when they change, once at a time.
#[derive(Debug)]
pub struct Loader {
    reports: Vec<PathBuf>,
    facts: Vec<PathBuf>,
    roots: Vec<PathBuf>,
    events: Sender<Event>,
    is_running: bool,
    /// True if the files changed after the reading began.
    is_late: bool,
}

impl Loader {
    /// Returns a reader of these files and folders.
    pub fn new(
        reports: Vec<PathBuf>,
        facts: Vec<PathBuf>,
        roots: Vec<PathBuf>,
        events: Sender<Event>,
    ) -> Self {
        Self { reports, facts, roots, events, is_running: false, is_late: false }
    }

    /// Reads the files.
    pub fn start(&mut self) {
        if self.is_running {
            self.is_late = true;
            return;
        }
        self.is_running = true;
        let (reports, facts, roots) = (self.reports.clone(), self.facts.clone(), self.roots.clone());
        let events = self.events.clone();
        thread::spawn(move || {
            let loaded =
                Loaded { report: settled(|| report(&reports)), facts: settled(|| verdicts(&facts, &roots)) };
            // The server may have ended.
            let _ = events.send(Event::Loaded(Box::new(loaded)));
        });
    }

    /// Takes note that the files were read. True if they have changed since, and are read again.
    pub fn done(&mut self) -> bool {
        self.is_running = false;
        let is_late = std::mem::take(&mut self.is_late);
        if is_late {
            self.start();
        }
        is_late
    }
}

/// Reads once more if the first time fails: the editor tells of a file as soon as a program begins to write it.
fn settled<T>(read: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    guarded(&read).or_else(|_| {
        thread::sleep(WRITING);
        guarded(&read)
    })
}

/// A damaged file must not end the server, whatever it does to a reader.
fn guarded<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(Error::new("the reader of reports failed: the file may be damaged")))
}

/// Returns the files that these names stand for: themselves, or the JSON files in a folder.
fn files(names: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for name in names {
        match name.metadata() {
            Ok(about) if about.is_dir() => files.extend(reports::files_in(name)?),
            Ok(about) if about.is_file() => files.push(name.clone()),
            // A pipe, for instance, might never end.
            Ok(_) => return Err(Error::new(format!("`{}` is no file", name.display()))),
            Err(_) => {}
        }
    }
    Ok(files)
}

fn report(names: &[PathBuf]) -> Result<Option<Report>, Error> {
    let files = files(names)?;
    if files.is_empty() { Ok(None) } else { reports::read_all(&files).map(Some) }
}

fn verdicts(names: &[PathBuf], roots: &[PathBuf]) -> Result<Vec<StoredVerdicts>, Error> {
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    let read = |file: PathBuf| {
        let written = file.metadata().and_then(|about| about.modified());
        let written = written.map_err(Error::cannot("read", &file))?;
        Ok(StoredVerdicts { written, accesses: located(explain::stored(&file)?, &roots) })
    };
    files(names)?.into_iter().map(read).collect()
}
