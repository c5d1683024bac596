//! How protocols, requests and answers travel: a magic, a version, then
//! postcard's bytes. What does not decode is refused, never guessed.
//!
//! # The solver's library
//! The solver is a shared library that is opened on demand; it exports, in C's
//! terms,
//! ```c
//! uint32_t gpurace_solve_version(void);   // PROTOCOL_VERSION
//! int32_t gpurace_solve(const uint8_t *request, size_t size,
//!                       uint8_t **answer, size_t *answer_size);  // 0: answered
//! void gpurace_solve_free(uint8_t *answer, size_t size);
//! ```
//! with a [`Request`] and an [`Answer`] as bytes of this form. Without the
//! library nothing is proved, and every access stays checked.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::launch::Launch;
use crate::protocol::{PROTOCOL_VERSION, Protocol};
use crate::validate::{Malformed, validate};
use crate::verdict::Verdicts;

const MAGIC: [u8; 4] = *b"gprp";

/// Why bytes were refused.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// They do not start as they should.
    #[error("not a protocol of gpurace")]
    NotOurs,
    /// Another version wrote them.
    #[error("protocol has version {0}, wanted {PROTOCOL_VERSION}")]
    Version(u32),
    /// They break off or make no sense.
    #[error("damaged protocol: {0}")]
    Damaged(#[from] postcard::Error),
    /// The protocol is not well formed.
    #[error("malformed protocol: {0}")]
    Malformed(#[from] Malformed),
}

/// What is asked of the solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The kernel.
    pub protocol: Protocol,
    /// The launch, where the answer is for one.
    pub launch: Option<Launch>,
    /// Most time for the kernel, milliseconds; 0 for the solver's own limit.
    pub budget_ms: u64,
    /// Folder to write queries to.
    pub dump: Option<String>,
}

/// What the solver answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The verdicts.
    pub verdicts: Verdicts,
    /// Queries asked.
    pub queries: u64,
    /// Queries that ran into a limit.
    pub gave_up: u64,
    /// What it cost, in milliseconds of a common machine: counted in the
    /// solver's units, the same in every run.
    pub cost_ms: u64,
}

/// What is known of the kernels of a module: a section of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModuleProofs {
    /// Launches are to be solved again with their values.
    pub at_launch: bool,
    /// By mangled name, [`KernelProofs`] as bytes: each is read when it is
    /// needed.
    pub kernels: Vec<(String, Vec<u8>)>,
}

/// What is known of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelProofs {
    /// What it does.
    pub protocol: Protocol,
    /// What was found for all launches.
    pub verdicts: Verdicts,
}

/// As bytes.
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    // Writing to a vector fails for no type of this crate; were it to, the
    // bytes would be refused when read.
    if let Ok(body) = postcard::to_stdvec(value) {
        bytes.extend_from_slice(&body);
    }
    bytes
}

fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    let body = bytes.strip_prefix(&MAGIC).ok_or(WireError::NotOurs)?;
    let (version, body) = body.split_first_chunk::<4>().ok_or(WireError::NotOurs)?;
    match u32::from_le_bytes(*version) {
        PROTOCOL_VERSION => Ok(postcard::from_bytes(body)?),
        other => Err(WireError::Version(other)),
    }
}

/// A protocol from bytes, well formed.
pub fn protocol(bytes: &[u8]) -> Result<Protocol, WireError> {
    let protocol: Protocol = from_bytes(bytes)?;
    validate(&protocol)?;
    Ok(protocol)
}

/// A request from bytes, its protocol well formed.
pub fn request(bytes: &[u8]) -> Result<Request, WireError> {
    let request: Request = from_bytes(bytes)?;
    validate(&request.protocol)?;
    Ok(request)
}

/// An answer from bytes, to be used with the protocol that was asked about:
/// its conditions name expressions and objects that exist.
pub fn answer(bytes: &[u8], protocol: &Protocol) -> Result<Answer, WireError> {
    let answer: Answer = from_bytes(bytes)?;
    check_verdicts(&answer.verdicts, protocol)?;
    Ok(answer)
}

fn check_verdicts(verdicts: &Verdicts, protocol: &Protocol) -> Result<(), WireError> {
    if verdicts.sites.is_empty() {
        return Ok(());
    }
    let extended = Protocol { exprs: verdicts.exprs.clone(), ..protocol.clone() };
    validate(&extended)?;
    for site in &verdicts.sites {
        if let crate::verdict::Verdict::ProvedIf(conditions) = &site.verdict {
            for condition in conditions {
                condition.check_ids(&extended)?;
            }
        }
    }
    Ok(())
}

/// The proofs of a module from bytes.
pub fn module_proofs(bytes: &[u8]) -> Result<ModuleProofs, WireError> {
    from_bytes(bytes)
}

/// The proofs of a kernel from bytes: protocol and conditions name what exists.
pub fn kernel_proofs(bytes: &[u8]) -> Result<KernelProofs, WireError> {
    let proofs: KernelProofs = from_bytes(bytes)?;
    validate(&proofs.protocol)?;
    check_verdicts(&proofs.verdicts, &proofs.protocol)?;
    Ok(proofs)
}

/// Verdicts from bytes, with the protocol they are about.
pub fn verdicts(bytes: &[u8], protocol: &Protocol) -> Result<Verdicts, WireError> {
    let verdicts: Verdicts = from_bytes(bytes)?;
    let as_answer = to_bytes(&Answer { verdicts, ..Answer::default() });
    Ok(answer(&as_answer, protocol)?.verdicts)
}
