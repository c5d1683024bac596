//! Which bytes a transform touches, as rows that do not overlap.

use std::ops::Range;

use gpurace_abi::library::LibraryRows;
use gpurace_library::touched::Touches;

use crate::layout::Layout;

/// Bytes at equal distances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    start: usize,
    /// Bytes of a row.
    width: usize,
    /// How many rows, and the bytes from one to the next, the closest first.
    repeats: Vec<(usize, usize)>,
}

impl Area {
    /// Bytes side by side.
    pub fn bytes(start: usize, size: usize) -> Self {
        Self { start, width: size, repeats: Vec::new() }
    }

    /// The elements of a layout, of `size` bytes each. Neighbours are joined.
    pub fn elements(start: usize, size: usize, layout: &Layout) -> Self {
        let mut repeats: Vec<_> =
            layout.counts.into_iter().zip(layout.steps.map(|step| step * size)).collect();
        repeats.retain(|&(count, _)| count > 1);
        repeats.sort_by_key(|&(_, step)| step);
        let mut width = size;
        // Rows that touch or overlap are one row.
        repeats.retain(|&(count, step)| {
            let joins = step <= width;
            width += if joins { (count - 1) * step } else { 0 };
            !joins
        });
        // So are rows of rows, if all have the same distance.
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for (count, step) in repeats {
            match joined.last_mut() {
                Some((rows, pitch)) if *rows * *pitch == step => *rows *= count,
                _ => joined.push((count, step)),
            }
        }
        Self { start, width, repeats: joined }
    }

    /// From the first byte to the last.
    fn span(&self) -> Range<usize> {
        let size = self.repeats.iter().fold(self.width, |size, &(count, step)| size + (count - 1) * step);
        self.start..self.start.saturating_add(size)
    }

    /// False if rows may overlap.
    fn is_nested(&self) -> bool {
        let mut size = self.width;
        self.repeats.iter().all(|&(count, step)| {
            let fits = step >= size;
            size += (count - 1) * step;
            fits
        })
    }

    /// The first byte of each row.
    fn rows(&self) -> Vec<usize> {
        self.repeats.iter().fold(vec![self.start], |starts, &(count, step)| {
            (0..count).flat_map(|i| starts.iter().map(move |start| start.wrapping_add(i * step))).collect()
        })
    }

    /// The same bytes as rows of slices.
    fn slices(&self, writes: bool) -> Vec<LibraryRows> {
        let repeat = |i: usize| self.repeats.get(i).copied().unwrap_or((1, 0));
        let ((rows, pitch), (slices, slice)) = (repeat(0), repeat(1));
        let outer =
            Self { start: self.start, width: 0, repeats: self.repeats.get(2..).unwrap_or_default().to_vec() };
        let rows = |start| LibraryRows { start, width: self.width, rows, pitch, slices, slice, writes };
        outer.rows().into_iter().map(rows).collect()
    }
}

/// The rows of these areas. No two of them overlap, as the runtime demands of what one operation reads, and of what it
/// writes.
fn rows(areas: &[Area], writes: bool) -> Vec<LibraryRows> {
    let mut spans: Vec<_> = areas.iter().map(Area::span).collect();
    spans.sort_by_key(|span| span.start);
    let apart = spans.windows(2).all(|pair| pair[0].end <= pair[1].start);
    if apart && areas.iter().all(Area::is_nested) {
        return areas.iter().flat_map(|area| area.slices(writes)).collect();
    }
    let ranges = |area: &Area| {
        let width = area.width;
        area.rows().into_iter().map(move |start| start..start.saturating_add(width))
    };
    let mut ranges: Vec<_> = areas.iter().flat_map(ranges).collect();
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    let row = |range: Range<usize>| LibraryRows {
        start: range.start,
        width: range.len(),
        rows: 1,
        pitch: 0,
        slices: 1,
        slice: 0,
        writes,
    };
    joined.into_iter().map(row).collect()
}

/// Tells the runtime of these areas.
pub fn tell(touches: &mut Touches, areas: &[Area], writes: bool) {
    for rows in rows(areas, writes) {
        touches.rows(rows);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const START: usize = 1000;

    /// The bytes of rows. Fails if two of them overlap.
    fn bytes_of(rows: &[LibraryRows]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for r in rows {
            for (z, y) in (0..r.slices).flat_map(|z| (0..r.rows).map(move |y| (z, y))) {
                for byte in 0..r.width {
                    let byte = r.start + z * r.slice + y * r.pitch + byte;
                    assert!(found.insert(byte), "{byte} twice in {rows:?}");
                }
            }
        }
        found
    }

    fn wanted(layout: &Layout, size: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for array in 0..layout.counts[0] {
            layout.rows(array, |row| {
                for z in 0..layout.counts[3] {
                    let first = START + (row + z * layout.steps[3]) * size;
                    found.extend(first..first + size);
                }
            });
        }
        found
    }

    #[test]
    fn rows_are_exactly_the_bytes_of_the_elements() {
        let mut layouts = 0;
        for sizes in [[1, 1, 5], [1, 3, 4], [2, 3, 4], [1, 2, 1], [2, 1, 3]] {
            for extra in [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2], [0, 2, 1]] {
                for stride in [1, 2, 3] {
                    for (batch, distance) in [(1, 0), (3, 0), (3, 1), (2, 2), (4, 5), (2, 7), (2, 200)] {
                        let embed = [0, 1, 2].map(|i| sizes[i] + extra[i]);
                        let layout = Layout::new(sizes, embed, stride, batch, distance).unwrap();
                        let rows = rows(&[Area::elements(START, 8, &layout)], false);
                        assert_eq!(bytes_of(&rows), wanted(&layout, 8), "{layout:?}");
                        layouts += 1;
                    }
                }
            }
        }
        assert_eq!(layouts, 5 * 5 * 3 * 7);
    }

    fn one(layout: Layout) -> LibraryRows {
        let rows = rows(&[Area::elements(START, 8, &layout)], true);
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows[0]
    }

    #[test]
    fn neighbours_are_joined() {
        let all =
            LibraryRows { start: START, width: 24 * 8, rows: 1, pitch: 0, slices: 1, slice: 0, writes: true };
        assert_eq!(one(Layout::packed([2, 3, 4], [2, 3, 4], 1).unwrap()), all);
        assert_eq!(one(Layout::packed([1, 1, 12], [1, 1, 12], 2).unwrap()), all);
        // Elements of several arrays in turn.
        assert_eq!(one(Layout::new([1, 1, 12], [1, 1, 12], 2, 2, 1).unwrap()), all);
        // Arrays that overlap.
        assert_eq!(one(Layout::new([1, 1, 16], [1, 1, 16], 1, 3, 4).unwrap()), all);
        // Rows with space between them, in arrays with none.
        let padded = LibraryRows { width: 32, rows: 6, pitch: 48, ..all };
        assert_eq!(one(Layout::packed([1, 3, 4], [1, 3, 6], 2).unwrap()), padded);
        // Arrays with space between them too.
        let apart = LibraryRows { rows: 3, slices: 2, slice: 800, ..padded };
        assert_eq!(one(Layout::new([1, 3, 4], [1, 3, 6], 1, 2, 100).unwrap()), apart);
    }

    #[test]
    fn areas_that_overlap_are_joined() {
        let layout = Layout::packed([1, 2, 2], [1, 2, 4], 1).unwrap();
        let (first, second) = (Area::elements(START, 8, &layout), Area::elements(START + 8, 8, &layout));
        let joined = bytes_of(&rows(&[first.clone(), second], false));
        let wanted: BTreeSet<_> = (START..START + 24).chain(START + 32..START + 56).collect();
        assert_eq!(joined, wanted);
        // Apart, they stay as they are.
        let behind = Area::bytes(START + 48, 16);
        assert_eq!(rows(&[behind, first], false).len(), 2);
    }
}
