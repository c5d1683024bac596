//! Opens the solver's library on demand.

use std::path::Path;

use crate::protocol::{PROTOCOL_VERSION, Protocol};
use crate::wire::{Answer, Request, WireError, answer, to_bytes};

/// File name of the library.
pub const LIBRARY: &str = "libgpurace_solve.so";

type Version = unsafe extern "C" fn() -> u32;
type Solve = unsafe extern "C" fn(*const u8, usize, *mut *mut u8, *mut usize) -> i32;
type Free = unsafe extern "C" fn(*mut u8, usize);

/// The opened library.
pub struct Solver {
    library: libloading::Library,
}

/// The reason why the solver did not answer.
#[derive(Debug, thiserror::Error)]
pub enum SolverError {
    /// The library, or a library that it needs, cannot be opened.
    #[error("cannot open the solver: {0}")]
    Open(#[from] libloading::Error),
    /// The library has another version.
    #[error("solver has version {0}, wanted {PROTOCOL_VERSION}")]
    Version(u32),
    /// The solver failed with this status.
    #[error("solver failed with {0}")]
    Failed(i32),
    /// The answer does not decode.
    #[error(transparent)]
    Answer(#[from] WireError),
}

impl Solver {
    /// Opens the library at this path. The loader searches its folders for a bare file name.
    pub fn open(path: &Path) -> Result<Self, SolverError> {
        // SAFETY: the library's initialisers are Rust's and Z3's own.
        let library = unsafe { libloading::Library::new(path) }?;
        // SAFETY: the symbol has this type in every version.
        let version = unsafe { library.get::<Version>(b"gpurace_solve_version\0")?() };
        if version != PROTOCOL_VERSION {
            return Err(SolverError::Version(version));
        }
        Ok(Self { library })
    }

    /// Returns the solver's answer to a request.
    pub fn ask(&self, request: &Request) -> Result<Answer, SolverError> {
        let bytes = to_bytes(request);
        let (mut data, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the symbols of this version have these types. The pointers are to live bytes and variables.
        let status = unsafe {
            let solve = self.library.get::<Solve>(b"gpurace_solve\0")?;
            solve(bytes.as_ptr(), bytes.len(), &mut data, &mut size)
        };
        if status != 0 {
            return Err(SolverError::Failed(status));
        }
        // SAFETY: after status 0, `data` has `size` bytes, which the library's own function must free once.
        unsafe {
            let answer = decode(std::slice::from_raw_parts(data, size), &request.protocol);
            self.library.get::<Free>(b"gpurace_solve_free\0")?(data, size);
            answer
        }
    }
}

fn decode(bytes: &[u8], protocol: &Protocol) -> Result<Answer, SolverError> {
    Ok(answer(bytes, protocol)?)
}
