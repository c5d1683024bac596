//! The bytes of protocols, requests and answers: a magic number, a version, then the postcard
//! encoding. Bytes that do not decode are an error.
//!
//! # The solver's library
//! The solver is a shared library that a program opens on demand. It exports these C functions:
//! ```c
//! uint32_t gpurace_solve_version(void);   // PROTOCOL_VERSION
//! int32_t gpurace_solve(const uint8_t *request, size_t size,
//!                       uint8_t **answer, size_t *answer_size);  // 0: answered
//! void gpurace_solve_free(uint8_t *answer, size_t size);
//! ```
//! The bytes are those of a [`Request`] and an [`Answer`]. Without the library there are no proofs,
//! and every access stays checked.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::launch::Launch;
use crate::protocol::{PROTOCOL_VERSION, Protocol};
use crate::validate::{Malformed, validate};
use crate::verdict::Verdicts;

const MAGIC: [u8; 4] = *b"gprp";

/// The reason why bytes do not decode.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// They do not start with the magic number.
    #[error("not a protocol of gpurace")]
    NotOurs,
    /// Another version wrote them.
    #[error("protocol has version {0}, wanted {PROTOCOL_VERSION}")]
    Version(u32),
    /// They are incomplete or damaged.
    #[error("damaged protocol: {0}")]
    Damaged(#[from] postcard::Error),
    /// The protocol is not well formed.
    #[error("malformed protocol: {0}")]
    Malformed(#[from] Malformed),
}

/// A request to the solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The kernel's protocol.
    pub protocol: Protocol,
    /// The launch, if the request is about one launch.
    pub launch: Option<Launch>,
    /// The time limit for the kernel, milliseconds; 0 for the solver's own limit.
    pub budget_ms: u64,
    /// The folder to write queries to, if any.
    pub dump: Option<String>,
}

/// The solver's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The verdicts.
    pub verdicts: Verdicts,
    /// The number of queries.
    pub queries: u64,
    /// The number of queries that reached a limit.
    pub gave_up: u64,
    /// The cost in milliseconds of a common machine, computed from the solver's units and from what the
    /// prover does beside it. It is the same in every run.
    pub cost_ms: u64,
}

/// The proofs of a module's kernels, stored in a section of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModuleProofs {
    /// True if the runtime solves each launch again with its values.
    pub at_launch: bool,
    /// Mangled names and the bytes of [`KernelProofs`], which the runtime decodes on demand.
    pub kernels: Vec<(String, Vec<u8>)>,
}

/// The proofs of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelProofs {
    /// The kernel's protocol.
    pub protocol: Protocol,
    /// The verdicts for all launches.
    pub verdicts: Verdicts,
}

/// Returns a value as bytes.
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    // Writing to a vector fails for no type of this crate. If it did, the reader would reject the
    // bytes.
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

/// Decodes and validates a protocol.
pub fn protocol(bytes: &[u8]) -> Result<Protocol, WireError> {
    let protocol: Protocol = from_bytes(bytes)?;
    validate(&protocol)?;
    Ok(protocol)
}

/// Decodes a request and validates its protocol.
pub fn request(bytes: &[u8]) -> Result<Request, WireError> {
    let request: Request = from_bytes(bytes)?;
    validate(&request.protocol)?;
    Ok(request)
}

/// Decodes an answer to a request about `protocol`. Checks that its conditions name existing
/// expressions and objects.
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

/// Decodes the proofs of a module.
pub fn module_proofs(bytes: &[u8]) -> Result<ModuleProofs, WireError> {
    from_bytes(bytes)
}

/// Decodes the proofs of a kernel. Validates the protocol and the conditions.
pub fn kernel_proofs(bytes: &[u8]) -> Result<KernelProofs, WireError> {
    let proofs: KernelProofs = from_bytes(bytes)?;
    validate(&proofs.protocol)?;
    check_verdicts(&proofs.verdicts, &proofs.protocol)?;
    Ok(proofs)
}

/// Decodes verdicts about `protocol`.
pub fn verdicts(bytes: &[u8], protocol: &Protocol) -> Result<Verdicts, WireError> {
    let verdicts: Verdicts = from_bytes(bytes)?;
    let as_answer = to_bytes(&Answer { verdicts, ..Answer::default() });
    Ok(answer(&as_answer, protocol)?.verdicts)
}
