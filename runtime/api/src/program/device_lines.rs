//! The source lines of device code that runs on the host. Its images have line tables without the rest of the
//! debug info, so they are read here.

use std::path::Path;

use addr2line::gimli::{self, AttributeValue, ColumnType, DebugLine, DebugLineOffset, LineRow};
use object::{Object, ObjectSection, ObjectSymbol};

use super::host_lines::HostPosition;
use crate::host::stack;

type Reader<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;

/// Returns the position of an instruction of a device image. `None` without debug info.
pub fn position(instruction: usize) -> Option<HostPosition> {
    let image = stack::object_of(instruction)?;
    let bytes = std::fs::read(image.name.to_str().ok()?).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let address = (instruction - image.base) as u64;
    // The code that runs all threads of a block has no lines, and the table's last line reaches over it.
    let covers = |symbol: &object::Symbol<'_, '_>| {
        (symbol.address()..symbol.address() + symbol.size()).contains(&address)
    };
    let function = file.symbols().find(covers)?;
    if function.name().ok()?.starts_with("gpurace.") {
        return None;
    }
    let table = file.section_by_name(".debug_line")?.uncompressed_data().ok()?;
    of_address(&table, address)
}

/// Returns the position of an address in a section with line tables.
fn of_address(table: &[u8], address: u64) -> Option<HostPosition> {
    let lines = DebugLine::new(table, gimli::LittleEndian);
    let mut offset = 0;
    // The last line of one table may reach over those of the next, so the nearest start counts.
    let mut nearest: Option<(u64, HostPosition)> = None;
    while offset < table.len() {
        let program = lines.program(DebugLineOffset(offset), 8, None, None).ok()?;
        let header = program.header();
        let length_size = match header.format() {
            gimli::Format::Dwarf32 => 4,
            gimli::Format::Dwarf64 => 12,
        };
        offset += length_size + header.unit_length();
        let mut rows = program.rows();
        let mut before: Option<LineRow> = None;
        while let Some((header, row)) = rows.next_row().ok()? {
            let covers = |before: &LineRow| {
                !before.end_sequence() && (before.address()..row.address()).contains(&address)
            };
            if let Some(found) = before.filter(covers)
                && nearest.as_ref().is_none_or(|(start, _)| *start < found.address())
                && let (Some(line), Some(file)) = (found.line(), file_name(header, &found))
            {
                let line = u32::try_from(line.get()).unwrap_or(u32::MAX);
                let column = match found.column() {
                    ColumnType::LeftEdge => None,
                    ColumnType::Column(column) => u32::try_from(column.get()).ok(),
                };
                nearest = Some((found.address(), HostPosition { file, line, column }));
            }
            before = Some(*row);
        }
    }
    nearest.map(|(_, position)| position)
}

/// The path of a row's file, as the debug info has it.
fn file_name(header: &gimli::LineProgramHeader<Reader<'_>>, row: &LineRow) -> Option<String> {
    let text = |value: AttributeValue<Reader<'_>>| match value {
        AttributeValue::String(text) => Some(String::from_utf8_lossy(text.slice()).into_owned()),
        _ => None,
    };
    let file = row.file(header)?;
    let name = text(file.path_name())?;
    let directory = file.directory(header).and_then(text).unwrap_or_default();
    Some(Path::new(&directory).join(name).display().to_string())
}
