//! What a diff that a report offers does to the source, and to the places of races. Such a diff inserts lines.

use crate::report::{Access, Race};

/// A race in the source, after a change.
#[derive(Debug, PartialEq)]
pub struct MovedRace<'a> {
    kernel: Option<&'a str>,
    object: Option<&'a str>,
    /// The lines and columns of both accesses, in order.
    places: [(u32, Option<u32>); 2],
}

/// Returns a race with its places as they are after the change.
pub fn moved<'a>(race: &'a Race, diff: &str) -> MovedRace<'a> {
    let inserted = insertions(diff);
    let place = |access: &Access| {
        let line = access.line.unwrap_or_default();
        let above = inserted.iter().filter(|&&(before, _)| before <= line as usize).count();
        (line + above as u32, access.column)
    };
    let mut places = race.accesses.each_ref().map(place);
    places.sort_unstable();
    let object = race.object.as_ref().and_then(|object| object.name.as_deref());
    MovedRace { kernel: race.kernel.as_deref(), object, places }
}

/// Returns the lines that a unified diff inserts, each with the number of the old line that it comes before.
fn insertions(diff: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut next = 0;
    for line in diff.lines().skip_while(|line| !line.starts_with("@@")) {
        if let Some(old) = line.strip_prefix("@@ -") {
            let number = old.split([',', ' ']).next().and_then(|number| number.parse::<usize>().ok());
            next = number.expect("a hunk has a line");
        } else if let Some(inserted) = line.strip_prefix('+') {
            found.push((next, inserted));
        } else {
            next += 1;
        }
    }
    found
}

/// Returns a text with the lines that a unified diff inserts.
pub fn patched(text: &str, diff: &str) -> String {
    let inserted = insertions(diff);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        lines.extend(inserted.iter().filter(|(before, _)| *before == number).map(|(_, new)| *new));
        lines.push(line);
    }
    lines.join("\n") + "\n"
}
