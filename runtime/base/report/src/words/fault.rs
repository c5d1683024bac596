//! Phrases about faults.

use std::fmt::Write as _;

use super::{location, plural};
use crate::names::kernel_name;
use crate::schema::{Fault, ObjectKind};

/// Returns what stays as it is when lines move. Addresses differ from run to run.
pub fn fault_fingerprint(fault: &Fault) -> String {
    format!("fault:{}:{:?}", kernel_name(&fault.kernel), fault.kind)
}

/// Returns a fault in one line, for lists and for `grep`.
pub fn fault_line(fault: &Fault) -> String {
    let mut text = match (&fault.file, fault.line, fault.column) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(file), Some(line), None) => format!("{file}:{line}"),
        _ => "<unknown>".to_owned(),
    };
    let _ = write!(text, ": fault: {}", fault.message);
    if let Some(distance) = fault_distance(fault) {
        let _ = write!(text, ", {distance}");
    }
    text
}

/// Returns ``4 bytes behind allocation `#1` of size 4096``.
pub fn fault_distance(fault: &Fault) -> Option<String> {
    let object = location(fault.object.as_ref()?);
    Some(match fault.distance {
        None => format!("inside {object}"),
        Some(0) => format!("right behind {object}"),
        Some(distance) => {
            let bytes = plural(distance.unsigned_abs(), "byte", "bytes");
            let side = if distance < 0 { "before" } else { "behind" };
            format!("{bytes} {side} {object}")
        }
    })
}

/// Returns advice on a fault, if there is any.
pub fn fault_hint(fault: &Fault) -> Option<&'static str> {
    let object = fault.object.as_ref()?;
    let is_forgotten = object.kind == ObjectKind::Shared && object.size == Some(0);
    is_forgotten.then_some(
        "the launch asks for no dynamic shared memory: give its size in bytes as the third value of \
         <<<blocks, threads, bytes>>>",
    )
}
