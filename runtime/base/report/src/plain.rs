//! Text that a program, a source or a stored report brings. It may be a stranger's, and is shown on terminals, in
//! logs of a CI and in comments.
//!
//! Here is the one rule: no text has characters that hide or reorder others, move the cursor or change colours, and
//! a text that is one line stays one line. Reports are made plain where they enter: when one is read
//! ([`Report::from_json`]), and when the runtime adds to one.

use std::borrow::Cow;

use crate::schema::{
    Access, Call, CoveredAccess, Divergence, Element, Fault, Finding, Fix, KernelCoverage, KernelStats,
    Launch, Object, Parameter, Position, Race, Report, Run, SourceLines, Stats, Waiting, WaitingAt,
};

/// True for control characters, ends of lines and paragraphs, and marks of the bidirectional algorithm.
fn is_odd(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Returns a text on one line.
pub fn line(text: &str) -> Cow<'_, str> {
    replaced(text, |character, _| match character {
        '\n' | '\r' | '\t' => Some(' '),
        _ => is_odd(character).then_some(char::REPLACEMENT_CHARACTER),
    })
}

/// Returns a text of several lines. Its tabs and form feeds stay, and the ends of its lines, also those of Windows.
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |character, after| match character {
        '\n' | '\t' | '\u{c}' => None,
        '\r' if after == Some('\n') => None,
        _ => is_odd(character).then_some(char::REPLACEMENT_CHARACTER),
    })
}

/// Returns a name. Messages quote it with backquotes, so it has none.
pub fn name(text: &str) -> Cow<'_, str> {
    replaced(text, |character, _| match character {
        '`' => Some('\''),
        '\n' | '\r' | '\t' => Some(' '),
        _ => is_odd(character).then_some(char::REPLACEMENT_CHARACTER),
    })
}

/// Replaces each character for which `by` has another one. It also gets the character after.
fn replaced(text: &str, by: impl Fn(char, Option<char>) -> Option<char>) -> Cow<'_, str> {
    let after = |at: usize, character: char| text[at + character.len_utf8()..].chars().next();
    let is_plain = |(at, character): (usize, char)| by(character, after(at, character)).is_none();
    if text.char_indices().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let of = |(at, character)| by(character, after(at, character)).unwrap_or(character);
    Cow::Owned(text.char_indices().map(of).collect())
}

fn set(text: &mut String, to: fn(&str) -> Cow<'_, str>) {
    if let Cow::Owned(plain) = to(text) {
        *text = plain;
    }
}

/// A part of a report.
///
/// Each implementation names all fields, so that a new one cannot be forgotten.
pub trait MakePlain {
    /// Makes all of its texts plain.
    fn make_plain(&mut self);
}

impl<T: MakePlain> MakePlain for Option<T> {
    fn make_plain(&mut self) {
        self.iter_mut().for_each(T::make_plain);
    }
}

impl<T: MakePlain> MakePlain for [T] {
    fn make_plain(&mut self) {
        self.iter_mut().for_each(T::make_plain);
    }
}

/// A name, most often. Other texts are made plain one by one.
impl MakePlain for String {
    fn make_plain(&mut self) {
        set(self, name);
    }
}

impl MakePlain for Report {
    fn make_plain(&mut self) {
        let Self {
            schema: _,
            device: _,
            run,
            findings,
            races,
            divergence,
            faults,
            notes,
            stats,
            coverage,
            sources,
        } = self;
        run.make_plain();
        findings.make_plain();
        races.make_plain();
        divergence.make_plain();
        faults.make_plain();
        notes.iter_mut().for_each(|note| set(note, line));
        stats.make_plain();
        coverage.make_plain();
        sources.make_plain();
    }
}

impl MakePlain for Run {
    fn make_plain(&mut self) {
        let Self { program, arguments, directory, pid: _, time: _, seed: _, version } = self;
        program.make_plain();
        arguments.make_plain();
        directory.make_plain();
        version.make_plain();
    }
}

impl MakePlain for Finding {
    fn make_plain(&mut self) {
        let Self { id, cause: _, kernel, object, title, why, fix, races: _, pairs: _, count: _, fingerprint } =
            self;
        id.make_plain();
        kernel.make_plain();
        // The object has words beside its name.
        object.iter_mut().for_each(|object| set(object, line));
        [title, why, fingerprint].into_iter().for_each(|text| set(text, line));
        let Fix { diff, advice } = fix;
        diff.iter_mut().for_each(|diff| set(diff, lines));
        advice.iter_mut().for_each(|advice| set(advice, line));
    }
}

impl MakePlain for Race {
    fn make_plain(&mut self) {
        let Self {
            kind: _,
            space: _,
            scope: _,
            same_value: _,
            kernel,
            launch,
            object,
            accesses,
            hint,
            count: _,
            seed: _,
        } = self;
        kernel.make_plain();
        launch.make_plain();
        object.make_plain();
        accesses.make_plain();
        hint.iter_mut().for_each(|hint| set(hint, line));
    }
}

impl MakePlain for Launch {
    fn make_plain(&mut self) {
        let Self { index: _, grid: _, block: _, file, line: _, stack, regions } = self;
        file.make_plain();
        stack.make_plain();
        regions.make_plain();
    }
}

impl MakePlain for Object {
    fn make_plain(&mut self) {
        let Self { kind: _, name, size: _, offset: _, element, allocated_at, parameter } = self;
        name.make_plain();
        if let Some(Element { index: _, byte: _, ty, field }) = element {
            ty.make_plain();
            field.make_plain();
        }
        if let Some(Position { file, line: _ }) = allocated_at {
            file.make_plain();
        }
        parameter.make_plain();
    }
}

impl MakePlain for Parameter {
    fn make_plain(&mut self) {
        let Self { name, number: _ } = self;
        name.make_plain();
    }
}

impl MakePlain for Call {
    fn make_plain(&mut self) {
        let Self { function, file, line: _, column: _ } = self;
        function.make_plain();
        file.make_plain();
    }
}

impl MakePlain for Access {
    fn make_plain(&mut self) {
        let Self {
            op: _,
            size: _,
            file,
            line: _,
            column: _,
            function,
            launch: _,
            stream: _,
            block: _,
            thread: _,
            frames,
            parameter,
            ends_block: _,
        } = self;
        file.make_plain();
        function.make_plain();
        frames.make_plain();
        parameter.make_plain();
    }
}

impl MakePlain for Divergence {
    fn make_plain(&mut self) {
        let Self { kernel, launch: _, block: _, waiting, kind: _, seed: _ } = self;
        kernel.make_plain();
        for waiting in waiting {
            if let Waiting::At(WaitingAt { file, line: _, threads: _, example: _ }) = waiting {
                file.make_plain();
            }
        }
    }
}

impl MakePlain for Fault {
    fn make_plain(&mut self) {
        let Self {
            kind: _,
            message,
            file,
            line: _,
            column: _,
            kernel,
            launch: _,
            block: _,
            thread: _,
            object,
            distance: _,
            seed: _,
        } = self;
        set(message, self::line);
        file.make_plain();
        kernel.make_plain();
        object.make_plain();
    }
}

impl MakePlain for Stats {
    fn make_plain(&mut self) {
        for KernelStats { name, sites: _, launches: _, checks_executed: _ } in &mut self.kernels {
            name.make_plain();
        }
    }
}

impl MakePlain for KernelCoverage {
    fn make_plain(&mut self) {
        let Self { kernel, launches: _, accesses } = self;
        kernel.make_plain();
        for CoveredAccess { file, line: _, column: _, op: _, state: _ } in accesses {
            file.make_plain();
        }
    }
}

impl MakePlain for SourceLines {
    fn make_plain(&mut self) {
        let Self { file, first: _, lines } = self;
        file.make_plain();
        lines.iter_mut().for_each(|text| set(text, source_line));
    }
}

/// Returns a line of a source. Its tabs stay, since columns count them.
fn source_line(text: &str) -> Cow<'_, str> {
    replaced(text, |character, _| match character {
        '\t' => None,
        '\n' | '\r' => Some(' '),
        _ => is_odd(character).then_some(char::REPLACEMENT_CHARACTER),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_moves_other_text_is_replaced() {
        assert_eq!(
            line("k\u{1b}[2J\n::error::x\r\u{202e}y\tz\u{85}"),
            "k\u{fffd}[2J ::error::x \u{fffd}y z\u{fffd}"
        );
        assert_eq!(lines("a\tb\r\nc\rd\u{c}\u{2066}\n"), "a\tb\r\nc\u{fffd}d\u{c}\u{fffd}\n");
        assert_eq!(name("a`b\u{200f}"), "a'b\u{fffd}");
        assert!(matches!(name("größe<日本, 🙂>"), Cow::Borrowed(_)));
    }
}
