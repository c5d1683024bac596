//! The solver's library, opened when the first launch needs it.

use std::ffi::{CStr, OsStr, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use gpurace_protocol::client::{LIBRARY, Solver};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::Protocol;
use gpurace_protocol::wire::{Answer, Request};

use crate::session;

/// What can be proved of one launch; `None` where the solver is missing or
/// failed, which is said in the report's notes.
pub fn ask(protocol: &Protocol, launch: &Launch, budget: Duration) -> Option<Answer> {
    static SOLVER: OnceLock<Option<Solver>> = OnceLock::new();
    let solver = SOLVER.get_or_init(|| {
        let opened = Solver::open(&path());
        let note = |error| {
            session::get().note(format!("no proofs at launch, all that needs them is checked: {error}"));
        };
        opened.map_err(note).ok()
    });
    let request = Request {
        protocol: protocol.clone(),
        launch: Some(launch.clone()),
        budget_ms: budget.as_millis().max(1).try_into().unwrap_or(u64::MAX),
        dump: None,
    };
    match solver.as_ref()?.ask(&request) {
        Ok(answer) => Some(answer),
        Err(error) => {
            let kernel = &protocol.kernel;
            session::get().note(format!("no proofs at launch for `{kernel}`: {error}"));
            None
        }
    }
}

/// The library beside this one, or where the loader looks.
pub fn path() -> PathBuf {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is of this library; `info` is filled in where the
    // result is not 0.
    let own = unsafe {
        if libc::dladdr(path as *const c_void, info.as_mut_ptr()) == 0 {
            return LIBRARY.into();
        }
        let name = info.assume_init().dli_fname;
        if name.is_null() {
            return LIBRARY.into();
        }
        CStr::from_ptr(name)
    };
    let folder = Path::new(OsStr::from_bytes(own.to_bytes())).parent();
    folder.map(|folder| folder.join(LIBRARY)).filter(|path| path.is_file()).unwrap_or_else(|| LIBRARY.into())
}
