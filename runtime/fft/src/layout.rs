//! Where the elements of a batch of arrays are (cuFFT's "Advanced Data Layout").

/// A batch of arrays of three dimensions, of which any may be 1. All numbers are elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of arrays, then the sizes of an array, the fastest dimension last.
    pub counts: [usize; 4],
    /// The distance from one to the next, for each of these.
    pub steps: [usize; 4],
}

impl Layout {
    /// Arrays of `sizes` elements within storage of `embed` elements (whose first is not used), `stride` elements
    /// apart, and `distance` from one array to the next. None if it spans more bytes than an address can name.
    pub fn new(
        sizes: [usize; 3],
        embed: [usize; 3],
        stride: usize,
        batch: usize,
        distance: usize,
    ) -> Option<Self> {
        let row = stride.checked_mul(embed[2])?;
        let plane = row.checked_mul(embed[1])?;
        let layout =
            Self { counts: [batch, sizes[0], sizes[1], sizes[2]], steps: [distance, plane, row, stride] };
        // An element has up to 16 bytes.
        (layout.span()? <= isize::MAX as usize / 16).then_some(layout)
    }

    /// Arrays side by side, each in storage of `embed` elements.
    pub fn packed(sizes: [usize; 3], embed: [usize; 3], batch: usize) -> Option<Self> {
        let distance = embed.iter().try_fold(1usize, |product, &n| product.checked_mul(n))?;
        Self::new(sizes, embed, 1, batch, distance)
    }

    /// Elements from the first to the last.
    fn span(&self) -> Option<usize> {
        self.counts.iter().zip(self.steps).try_fold(1usize, |span, (&count, step)| {
            span.checked_add(count.checked_sub(1)?.checked_mul(step)?)
        })
    }

    /// Calls `each` with the place of the first element of each row of an array. Rows come in order.
    pub fn rows(&self, array: usize, mut each: impl FnMut(usize)) {
        for x in 0..self.counts[1] {
            for y in 0..self.counts[2] {
                each(array * self.steps[0] + x * self.steps[1] + y * self.steps[2]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_where_cufft_documents_them() {
        // input[b * idist + ((x * inembed[1] + y) * inembed[2] + z) * istride]
        let layout = Layout::new([2, 3, 4], [9, 5, 7], 2, 3, 100).unwrap();
        let mut found = Vec::new();
        layout.rows(2, |row| found.push(row));
        let wanted: Vec<_> = (0..2).flat_map(|x| (0..3).map(move |y| 200 + (x * 5 + y) * 7 * 2)).collect();
        assert_eq!(found, wanted);
        assert_eq!(layout.steps[3], 2);
    }

    #[test]
    fn packed_arrays_follow_each_other() {
        let layout = Layout::packed([1, 3, 4], [1, 3, 6], 2).unwrap();
        assert_eq!(layout, Layout { counts: [2, 1, 3, 4], steps: [18, 18, 6, 1] });
        assert_eq!(layout.span(), Some(18 + 12 + 4));
    }

    #[test]
    fn too_large_ones_are_refused() {
        let n = 1 << 31;
        assert_eq!(Layout::packed([n, n, n], [n, n, n], 1), None);
        assert_eq!(Layout::packed([1, n, n], [1, n, n], 1), None);
        assert!(Layout::packed([1, 1, n], [1, 1, n], 1).is_some());
        assert_eq!(Layout::new([1, 1, 2], [1, 1, 2], usize::MAX, 1, 0), None);
    }
}
