//! What a diff that a report offers does to the source, and to the places of races. Such a diff inserts lines, and text
//! within lines.

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
    let changes = changes(diff);
    let place = |access: &Access| {
        let line = access.line.unwrap_or_default();
        let above =
            changes.iter().filter(|change| change.old.is_none() && change.line <= line as usize).count();
        let own = changes.iter().find(|change| change.old.is_some() && change.line == line as usize);
        let column = access.column.map(|column| own.map_or(column, |change| change.column(column)));
        (line + above as u32, column)
    };
    let mut places = race.accesses.each_ref().map(place);
    places.sort_unstable();
    let object = race.object.as_ref().and_then(|object| object.name.as_deref());
    MovedRace { kernel: race.kernel.as_deref(), object, places }
}

/// A new line.
struct Change<'a> {
    /// The number of the old line that it comes before, or that it replaces.
    line: usize,
    /// The line that it replaces.
    old: Option<&'a str>,
    new: &'a str,
}

impl Change<'_> {
    /// A column of the old line, in the new one: the text from there on stands in both.
    fn column(&self, old: u32) -> u32 {
        let before = old as usize - 1;
        let text = self.old.unwrap_or_default().get(before..).unwrap_or_default();
        let shortest = text.split(';').next().unwrap_or_default();
        self.new.get(before..).and_then(|new| new.find(shortest)).map_or(old, |more| old + more as u32)
    }
}

/// Returns the new lines of a unified diff, in order.
fn changes(diff: &str) -> Vec<Change<'_>> {
    let mut found = Vec::new();
    let mut next = 0;
    let mut removed = std::collections::VecDeque::new();
    for line in diff.lines().skip_while(|line| !line.starts_with("@@")) {
        if let Some(old) = line.strip_prefix("@@ -") {
            let number = old.split([',', ' ']).next().and_then(|number| number.parse::<usize>().ok());
            next = number.expect("a hunk has a line");
        } else if let Some(old) = line.strip_prefix('-') {
            removed.push_back((next, old));
            next += 1;
        } else if let Some(new) = line.strip_prefix('+') {
            match removed.pop_front() {
                Some((line, old)) => found.push(Change { line, old: Some(old), new }),
                None => found.push(Change { line: next, old: None, new }),
            }
        } else {
            assert!(removed.is_empty(), "a diff removes no line: {diff}");
            next += 1;
        }
    }
    found
}

/// Returns a text with the changes of a unified diff.
pub fn patched(text: &str, diff: &str) -> String {
    let changes = changes(diff);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let own = || changes.iter().filter(|change| change.line == number);
        lines.extend(own().filter(|change| change.old.is_none()).map(|change| change.new));
        lines.push(own().find(|change| change.old.is_some()).map_or(line, |change| change.new));
    }
    lines.join("\n") + "\n"
}
