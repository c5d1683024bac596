//! The solver's library. It is opened when the first launch needs it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use gpurace_protocol::client::{LIBRARY, Solver};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::Protocol;
use gpurace_protocol::wire::{Answer, Request};

use crate::host::child;
use crate::host::notes::Notes;
use crate::host::stack::{self, LoadedObject};

/// The solver for launches.
#[derive(Default)]
pub struct LaunchSolver {
    library: OnceLock<Option<Solver>>,
    file: OnceLock<Option<SolverFile>>,
    /// The threads that the library has started.
    threads: AtomicUsize,
}

/// Size of the library's file, and when it was changed (nanoseconds): another build of the solver
/// may give other answers.
#[derive(Clone, Copy)]
pub struct SolverFile {
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since 1970.
    pub changed: u64,
}

impl LaunchSolver {
    /// The file of the library. `None` if there is none.
    pub fn file(&self) -> Option<SolverFile> {
        *self.file.get_or_init(|| {
            let file = fs::metadata(path()).ok()?;
            let changed = file.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            Some(SolverFile { size: file.len(), changed: changed.as_nanos() as u64 })
        })
    }

    /// The threads that the library has started, which wait for the next question.
    pub fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    /// Asks which sites are proved in one launch, or in all that the protocol describes. `None` if the solver
    /// is missing or fails: a note says so.
    pub fn ask(
        &self,
        protocol: &Protocol,
        launch: Option<&Launch>,
        budget: Duration,
        notes: &Notes,
    ) -> Option<Answer> {
        let library = self.library.get_or_init(|| {
            let note = |error| {
                notes.add(format!("no proofs at launch, all that needs them is checked: {error}"));
            };
            Solver::open(&path()).map_err(note).ok()
        });
        let request = Request {
            protocol: protocol.clone(),
            launch: launch.cloned(),
            budget_ms: budget.as_millis().max(1).try_into().unwrap_or(u64::MAX),
            dump: None,
        };
        let before = child::threads();
        let answer = library.as_ref()?.ask(&request);
        let more = child::threads().zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
        self.threads.fetch_add(more, Ordering::Relaxed);
        match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                notes.add(format!("no proofs at launch for `{}`: {error}", protocol.kernel));
                None
            }
        }
    }
}

/// Path of the library: in the folder of this one, or left to the loader.
fn path() -> PathBuf {
    let beside = |own: LoadedObject| {
        // Links in other folders lead to this library, under the names of CUDA's.
        let own = Path::new(OsStr::from_bytes(own.name.to_bytes())).canonicalize().ok()?;
        Some(own.parent()?.join(LIBRARY)).filter(|path| path.is_file())
    };
    stack::own_object().and_then(beside).unwrap_or_else(|| LIBRARY.into())
}
