//! The text of source files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::coverage;
use crate::plain;
use crate::schema::{Report, SourceLines, Waiting};

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

/// The lines that a report keeps. The other lines of its files are empty.
#[derive(Debug)]
pub struct StoredSources(HashMap<String, Arc<str>>);

/// A file has at most this many lines: a damaged report could name any line.
const MOST_LINES: usize = 1 << 20;

impl StoredSources {
    /// Returns the lines that a report keeps.
    pub fn new(report: &Report) -> Self {
        let mut files: HashMap<&str, Vec<&str>> = HashMap::new();
        for part in &report.sources {
            let lines = files.entry(&part.file).or_default();
            for (line, text) in (part.first as usize..MOST_LINES).zip(&part.lines) {
                if let Some(index) = line.checked_sub(1) {
                    if lines.len() <= index {
                        lines.resize(index + 1, "");
                    }
                    lines[index] = text;
                }
            }
        }
        let text = |lines: Vec<&str>| Arc::from(lines.join("\n") + "\n");
        Self(files.into_iter().map(|(file, lines)| (file.to_owned(), text(lines))).collect())
    }
}

impl Sources for StoredSources {
    fn text(&self, file: &str) -> Option<Arc<str>> {
        self.0.get(file).cloned()
    }
}

/// The first of several places that has a file.
#[derive(Clone, Copy)]
pub struct FirstOf<'a>(pub [&'a dyn Sources; 2]);

impl std::fmt::Debug for FirstOf<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirstOf").finish_non_exhaustive()
    }
}

impl Sources for FirstOf<'_> {
    fn text(&self, file: &str) -> Option<Arc<str>> {
        self.0.iter().find_map(|sources| sources.text(file))
    }
}

/// Lines that a report keeps before and after each position.
const KEPT_AROUND: u32 = 3;
/// The most lines that a report keeps.
const MOST_KEPT: usize = 20_000;

/// Returns the lines around the positions that a report shows.
pub fn around_positions(report: &Report, sources: &dyn Sources) -> Vec<SourceLines> {
    let mut wanted: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for (file, line) in positions(report) {
        wanted
            .entry(file)
            .or_default()
            .extend(line.saturating_sub(KEPT_AROUND).max(1)..=line.saturating_add(KEPT_AROUND));
    }
    let mut kept: Vec<SourceLines> = Vec::new();
    let mut left = MOST_KEPT;
    for (file, numbers) in wanted {
        let Some(text) = sources.text(file) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        for number in numbers {
            let Some(line) = lines.get(number as usize - 1).filter(|_| left > 0) else { continue };
            left -= 1;
            match kept.last_mut() {
                Some(part) if part.file == file && part.first + part.lines.len() as u32 == number => {
                    part.lines.push((*line).to_owned());
                }
                _ => kept.push(SourceLines {
                    file: file.to_owned(),
                    first: number,
                    lines: vec![(*line).to_owned()],
                }),
            }
        }
    }
    kept
}

/// Returns the positions that a report shows.
fn positions(report: &Report) -> Vec<(&str, u32)> {
    let mut all = Vec::new();
    for race in &report.races {
        for access in &race.accesses {
            all.extend(access.file.as_deref().zip(access.line));
            all.extend(access.frames.iter().map(|call| (&*call.file, call.line)));
        }
        let launch = race.launch.as_ref();
        all.extend(launch.and_then(|launch| launch.file.as_deref().zip(launch.line)));
        let allocated = race.object.as_ref().and_then(|object| object.allocated_at.as_ref());
        all.extend(allocated.map(|at| (&*at.file, at.line)));
    }
    for waiting in report.divergence.iter().flat_map(|found| &found.waiting) {
        if let Waiting::At(at) = waiting {
            all.extend(at.file.as_deref().zip(at.line));
        }
    }
    all.extend(report.faults.iter().filter_map(|fault| fault.file.as_deref().zip(fault.line)));
    let never = coverage::never_ran(report).take(coverage::MOST_SHOWN);
    all.extend(never.filter_map(|(_, access)| access.file.as_deref().zip(access.line)));
    all
}

/// Source files on disk. Each is read once.
#[derive(Debug, Default)]
pub struct DiskSources {
    directories: Vec<PathBuf>,
    /// No file outside of the directories is read.
    is_confined: bool,
    read: Mutex<HashMap<String, Option<Arc<str>>>>,
}

impl DiskSources {
    /// Files with more bytes than this are not read.
    const MAX_SIZE: u64 = 16 << 20;

    /// Returns sources that search for a relative name in these directories, in this order, then in the
    /// current one.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { directories: directories.into_iter().collect(), ..Self::default() }
    }

    /// Returns sources that read files below these directories only. A report from elsewhere may name any file.
    pub fn below(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { is_confined: true, ..Self::new(directories) }
    }

    /// Takes this text for a file that was never on disk.
    pub fn keep(&self, file: &str, text: &str) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = read.entry(file.to_owned()).or_default();
        if kept.is_none() {
            *kept = Some(plain::lines(text).into());
        }
    }

    /// True if the file may be read.
    fn allows(&self, path: &Path) -> bool {
        let is_below = |directory: &PathBuf| {
            directory
                .canonicalize()
                .is_ok_and(|directory| path.canonicalize().is_ok_and(|path| path.starts_with(directory)))
        };
        !self.is_confined || self.directories.iter().any(is_below)
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
            if !about.is_file() || about.len() > Self::MAX_SIZE || !self.allows(&path) {
                return None;
            }
            let bytes = fs::read(path).ok()?;
            Some(plain::lines(&String::from_utf8_lossy(&bytes)).into())
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
