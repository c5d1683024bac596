//! Positions: those of a report count lines from 1 and bytes, those of the protocol count lines from 0 and the units
//! that client and server agree on.

use std::sync::Arc;

use gen_lsp_types::{ClientCapabilities, Position, PositionEncodingKind, Range};
use gpurace_report::snippet;
use gpurace_report::sources::Sources;

/// The units of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes of UTF-8.
    Utf8,
    /// Words of UTF-16, which each client knows.
    #[default]
    Utf16,
}

impl Encoding {
    /// Returns bytes if the client knows them, else words.
    pub fn of(client: &ClientCapabilities) -> Self {
        let offered = client.general.as_ref().and_then(|general| general.position_encodings.as_ref());
        let has_bytes = offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8));
        if has_bytes { Self::Utf8 } else { Self::Utf16 }
    }

    /// Returns the protocol's name for it.
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    /// Returns the length of a text.
    pub fn length(self, text: &str) -> u32 {
        let length = match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
        };
        u32::try_from(length).unwrap_or(u32::MAX)
    }

    /// Returns the range to mark for an access at this place of a file: the expression at the column, or the whole
    /// line. Without the file's text, the range is the line's start.
    pub fn range(self, text: Option<&Arc<str>>, line: u32, column: Option<u32>) -> Range {
        let row = line.saturating_sub(1);
        let excerpt = text.and_then(|text| snippet::excerpt(&Only(text), "", line, column, 0));
        let [start, end] = excerpt.map_or([0, 0], |excerpt| {
            let line = &excerpt.lines[excerpt.marked];
            [excerpt.mark.start, excerpt.mark.end].map(|byte| self.length(&line[..byte]))
        });
        Range { start: Position { line: row, character: start }, end: Position { line: row, character: end } }
    }
}

/// Gives one text for every file name.
struct Only<'a>(&'a Arc<str>);

impl Sources for Only<'_> {
    fn text(&self, _: &str) -> Option<Arc<str>> {
        Some(Arc::clone(self.0))
    }
}

/// Returns a line of a text, from 1, without its end.
pub fn line(text: &str, number: u32) -> Option<&str> {
    text.lines().nth((number as usize).checked_sub(1)?)
}

/// True if the two ranges touch.
pub fn touch(a: Range, b: Range) -> bool {
    a.start <= b.end && b.start <= a.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_the_agreed_units() {
        let text: Arc<str> = "x\n  /* 𝄞é */ tile[t] = 1;\r\n".into();
        let column = text.lines().nth(1).unwrap().find("tile").unwrap() as u32 + 1;
        for (encoding, start) in [(Encoding::Utf8, 15), (Encoding::Utf16, 12)] {
            let range = encoding.range(Some(&text), 2, Some(column));
            assert_eq!((range.start.line, range.start.character), (1, start), "{encoding:?}");
            assert_eq!((range.end.line, range.end.character), (1, start + 7), "{encoding:?}");
        }
    }

    #[test]
    fn places_that_are_not_there_have_a_range_too() {
        let text: Arc<str> = "é = 1;".into();
        for (line, column) in
            [(0, None), (0, Some(0)), (1, Some(2)), (1, Some(u32::MAX)), (u32::MAX, Some(1))]
        {
            let range = Encoding::Utf16.range(Some(&text), line, column);
            assert!(range.start <= range.end && range.end.character <= 6, "{range:?}");
        }
        assert_eq!(Encoding::Utf16.range(None, 7, Some(3)).start, Position { line: 6, character: 0 });
    }
}
