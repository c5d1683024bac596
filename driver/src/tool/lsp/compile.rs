//! Compilations in the background. They run `gpurace explain` on one source after another. Each has processes of its
//! own, and the next edit of its source ends them.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group};

use super::Event;
use super::database::{Compilation, compilation};
use super::documents::{key, resolve};
use crate::diagnostic::Error;
use crate::tool::explain::Explained;

/// An explained access, and the [`key`] of its file.
pub type Located = (PathBuf, Explained);

/// The result of a compilation. `None` if neither a compile database nor an option says how to compile the source.
pub type Told = Result<Option<Vec<Located>>, Error>;

/// How far the processes of a compilation are.
#[derive(Debug)]
enum Stage {
    /// They have not started.
    Waiting,
    /// They run; the process of this number leads their group.
    Running(u32),
    /// They ended, or must not start.
    Over,
}

/// The compilation that runs.
#[derive(Debug)]
struct Current {
    source: PathBuf,
    /// Distinguishes it from a later compilation of the same source.
    number: u64,
    stage: Arc<Mutex<Stage>>,
}

/// The compilations of the editor's sources, one at a time.
#[derive(Debug)]
pub struct Compilations {
    events: Sender<Event>,
    databases: Vec<PathBuf>,
    fallback: Option<Vec<String>>,
    waiting: VecDeque<PathBuf>,
    current: Option<Current>,
    started: u64,
}

impl Compilations {
    /// Returns a queue without compilations. Those to come use the first of these databases that exists.
    pub fn new(events: Sender<Event>, databases: Vec<PathBuf>, fallback: Option<Vec<String>>) -> Self {
        Self { events, databases, fallback, waiting: VecDeque::new(), current: None, started: 0 }
    }

    /// Compiles a source when those before it are done.
    pub fn add(&mut self, source: PathBuf) {
        self.cancel(&source);
        self.waiting.push_back(source);
        self.start_next();
    }

    /// Ends the compilation of a source, and forgets that it was wanted.
    pub fn cancel(&mut self, source: &Path) {
        self.waiting.retain(|waiting| waiting != source);
        if let Some(current) = self.current.take_if(|current| current.source == source) {
            end(&current.stage);
            self.start_next();
        }
    }

    /// True if the result with this number is wanted. The next compilation then starts.
    pub fn is_wanted(&mut self, number: u64) -> bool {
        let is_wanted = self.current.take_if(|current| current.number == number).is_some();
        self.start_next();
        is_wanted
    }

    /// Begins to compile the next source, unless one is being compiled.
    fn start_next(&mut self) {
        if self.current.is_some() {
            return;
        }
        let Some(source) = self.waiting.pop_front() else { return };
        self.started += 1;
        let number = self.started;
        let stage = Arc::new(Mutex::new(Stage::Waiting));
        self.current = Some(Current { source: source.clone(), number, stage: Arc::clone(&stage) });
        let (events, databases) = (self.events.clone(), self.databases.clone());
        let fallback = self.fallback.clone();
        thread::spawn(move || {
            let told = explain(&source, &databases, fallback, &stage);
            // The server may have ended.
            let _ = events.send(Event::Explained { source, number, told });
        });
    }
}

impl Drop for Compilations {
    fn drop(&mut self) {
        if let Some(current) = &self.current {
            end(&current.stage);
        }
    }
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the processes of a compilation.
fn end(stage: &Mutex<Stage>) {
    let mut stage = lock(stage);
    if let Stage::Running(leader) = *stage
        && let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw)
    {
        // They remove their temporary files. If they are gone, there is nothing to end.
        let _ = kill_process_group(group, Signal::TERM);
    }
    *stage = Stage::Over;
}

/// Compiles a source and returns its accesses.
fn explain(
    source: &Path,
    databases: &[PathBuf],
    fallback: Option<Vec<String>>,
    stage: &Mutex<Stage>,
) -> Told {
    let folder = source.parent().unwrap_or(Path::new("/")).to_owned();
    let by_default = |flags: Vec<String>| Compilation {
        folder,
        arguments: flags.into_iter().map(OsString::from).collect(),
    };
    let Some(compilation) = compilation(databases, source)?.or_else(|| fallback.map(by_default)) else {
        return Ok(None);
    };
    let cannot = |e: std::io::Error| Error::new(format!("cannot run `gpurace explain`: {e}"));
    let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
    command.args(["explain", "--json"]).arg(source).arg("--").args(&compilation.arguments);
    command.current_dir(&compilation.folder).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = {
        let mut stage = lock(stage);
        if matches!(*stage, Stage::Over) {
            return Ok(None);
        }
        let child = command.spawn().map_err(cannot)?;
        *stage = Stage::Running(child.id());
        child
    };
    let errors = child.stderr.take().map(|errors| thread::spawn(move || std::io::read_to_string(errors)));
    let output = child.stdout.take().map(std::io::read_to_string);
    let errors = errors.and_then(|reader| reader.join().ok()).and_then(Result::ok).unwrap_or_default();
    // Until the child is waited for, no other process can have its number.
    *lock(stage) = Stage::Over;
    let status = child.wait().map_err(cannot)?;
    if !status.success() {
        return Err(Error::new(format!("`{}` was not explained ({status})", source.display())).hint(errors));
    }
    let output = output.and_then(Result::ok).unwrap_or_default();
    let explained: Vec<Explained> = serde_json::from_str(&output)
        .map_err(|e| Error::new(format!("cannot read what `gpurace explain` said: {e}")))?;
    // clang names a file from the innermost folder that has both the file and the folder of the compilation.
    let folders: Vec<&Path> = compilation.folder.ancestors().collect();
    Ok(Some(located(explained, &folders)))
}

/// Finds the files of accesses in these folders.
pub fn located(explained: Vec<Explained>, folders: &[&Path]) -> Vec<Located> {
    let mut known: HashMap<String, PathBuf> = HashMap::new();
    let locate = |access: Explained| {
        let file = access.file.clone()?;
        let found = known.entry(file).or_insert_with_key(|file| key(&resolve(file, folders.iter().copied())));
        Some((found.clone(), access))
    };
    explained.into_iter().filter_map(locate).collect()
}
