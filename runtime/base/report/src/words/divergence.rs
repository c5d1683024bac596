//! Phrases about divergences.

use std::fmt::Write as _;

use super::plural;
use crate::names::kernel_name;
use crate::schema::{Divergence, DivergenceKind, Waiting};

/// What is said of all divergences of one kind.
struct Phrases {
    /// Its name.
    kind: &'static str,
    /// What went wrong.
    why: &'static str,
    /// What to do.
    hint: &'static str,
    /// What one thread does at the place that is shown.
    one: &'static str,
    /// What several threads do there.
    several: &'static str,
}

const WAITS: &str = "thread waits";
const WAIT: &str = "threads wait";

const fn phrases(kind: DivergenceKind) -> Phrases {
    match kind {
        DivergenceKind::Barrier => Phrases {
            kind: "barrier divergence",
            why: "the threads of a block do not all reach the same barrier",
            hint: "put the barrier where every thread that it waits for reaches it",
            one: WAITS,
            several: WAIT,
        },
        DivergenceKind::SkippedBarrier => Phrases {
            kind: "skipped barrier",
            why: "threads of a block end and so skip a barrier that the others reach",
            hint: "CUDA wants all threads of the block at the barrier, though hardware does not wait for threads that \
                   have ended: move the barrier out of the condition; skipped_barrier=ignore hides this",
            one: WAITS,
            several: WAIT,
        },
        DivergenceKind::AbsentLanes => Phrases {
            kind: "absent lanes",
            why: "a mask names lanes that do not reach the call, which waits for them",
            hint: "name exactly the lanes that reach the call: take the mask from `__ballot_sync(mask, condition)` in \
                   front of the branch, or move the call out of the branch",
            one: WAITS,
            several: WAIT,
        },
        DivergenceKind::CallerNotInMask => Phrases {
            kind: "mask without its caller",
            why: "a lane makes a call of its warp with a mask that leaves it out, so its result is undefined",
            hint: "put the calling lane's own bit into the mask, or let only the lanes of the mask make the call",
            one: "thread is not in its own mask",
            several: "threads are not in their own masks",
        },
    }
}

/// Returns the kind of a divergence in words.
pub const fn divergence_kind(divergence: &Divergence) -> &'static str {
    phrases(divergence.kind).kind
}

/// Returns what went wrong.
pub(crate) const fn divergence_why(divergence: &Divergence) -> &'static str {
    phrases(divergence.kind).why
}

/// Returns the hint for a divergence.
pub const fn divergence_hint(divergence: &Divergence) -> &'static str {
    phrases(divergence.kind).hint
}

/// Returns what stays as it is when lines move.
pub fn divergence_fingerprint(divergence: &Divergence) -> String {
    format!("divergence:{}:{:?}", kernel_name(&divergence.kernel), divergence.kind)
}

/// Returns what these threads do at the place where a divergence of this kind has them: `32 threads wait`.
pub fn divergence_threads(kind: DivergenceKind, threads: u32) -> String {
    let phrases = phrases(kind);
    plural(threads.into(), phrases.one, phrases.several)
}

/// Returns a divergence in one line, for lists and for `grep`.
pub fn divergence_line(divergence: &Divergence) -> String {
    let mut places: Vec<String> = Vec::new();
    let mut gone = 0;
    for waiting in &divergence.waiting {
        match waiting {
            Waiting::At(at) => places.push(match (&at.file, at.line) {
                (Some(file), Some(line)) => format!("{file}:{line}"),
                _ => "<unknown>".to_owned(),
            }),
            Waiting::Exited(exited) => gone = exited.threads,
        }
    }
    let first = places.first().cloned().unwrap_or_else(|| "<unknown>".to_owned());
    let mut text = format!("{first}: {}", divergence_kind(divergence));
    if places.len() > 1 {
        let _ = write!(text, " with {}", places[1..].join(", "));
    }
    let _ = write!(text, ", in `{}`", divergence.kernel);
    if gone > 0 {
        let _ = write!(text, ", {} left the kernel", plural(gone.into(), "thread has", "threads have"));
    }
    text
}
