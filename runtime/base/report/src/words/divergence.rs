//! Phrases about divergences.

use std::fmt::Write as _;

use super::plural;
use crate::schema::{Divergence, Waiting};

/// Returns the kind of a divergence in words.
pub const fn divergence_kind(divergence: &Divergence) -> &'static str {
    if divergence.skipped { "skipped barrier" } else { "barrier divergence" }
}

/// Returns the hint for a divergence.
pub const fn divergence_hint(divergence: &Divergence) -> &'static str {
    if divergence.skipped {
        "CUDA wants all threads of the block at the barrier, though hardware does not wait for threads that have ended: \
         move the barrier out of the condition; skipped_barrier=ignore hides this"
    } else {
        "put the barrier where every thread that it waits for reaches it"
    }
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
