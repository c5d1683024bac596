//! What a transform is: its type, its sizes, and the layouts of both its sides.

use crate::layout::Layout;
use crate::status::{Outcome, Status};

/// What is transformed into what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Complex numbers into complex numbers.
    Complex,
    /// Real numbers into the half of their transform that the other half follows from.
    FromReal,
    /// The reverse.
    ToReal,
}

/// `cufftType`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// See there.
    pub kind: Kind,
    /// Double precision, otherwise single.
    pub is_double: bool,
}

impl Type {
    /// The type with this number.
    ///
    /// # Errors
    /// `CUFFT_INVALID_TYPE` if there is none.
    pub fn new(number: u32) -> Outcome<Self> {
        let kind = match number & 0xf {
            0x9 => Kind::Complex,
            0xa => Kind::FromReal,
            0xc => Kind::ToReal,
            _ => return Err(Status::INVALID_TYPE),
        };
        match number & !0xf {
            0x20 => Ok(Self { kind, is_double: false }),
            0x60 => Ok(Self { kind, is_double: true }),
            _ => Err(Status::INVALID_TYPE),
        }
    }

    /// The type for these of `cudaDataType`. None for precisions other than single and double.
    pub fn of_data(from: u32, to: u32, computed: u32) -> Option<Self> {
        // CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F
        let (kind, is_double) = match (from, to, computed) {
            (4, 4, 4) => (Kind::Complex, false),
            (0, 4, 4) => (Kind::FromReal, false),
            (4, 0, 4) => (Kind::ToReal, false),
            (5, 5, 5) => (Kind::Complex, true),
            (1, 5, 5) => (Kind::FromReal, true),
            (5, 1, 5) => (Kind::ToReal, true),
            _ => return None,
        };
        Some(Self { kind, is_double })
    }

    /// Bytes of a complex number.
    pub fn complex_size(self) -> usize {
        if self.is_double { 16 } else { 8 }
    }

    /// Bytes of an element of the input, and of the output.
    pub fn sizes(self) -> (usize, usize) {
        let complex = self.complex_size();
        match self.kind {
            Kind::Complex => (complex, complex),
            Kind::FromReal => (complex / 2, complex),
            Kind::ToReal => (complex, complex / 2),
        }
    }
}

/// One side of an advanced layout.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// `inembed` or `onembed`, the fastest last.
    pub embed: [usize; 3],
    /// `istride` or `ostride`.
    pub stride: usize,
    /// `idist` or `odist`.
    pub distance: usize,
}

/// A transform: what it does, and to which elements.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// See there.
    pub ty: Type,
    /// The sizes, with 1 for dimensions that are not there. The fastest is last.
    pub sizes: [usize; 3],
    input: Layout,
    output: Layout,
    /// In place and with the basic layout, rows of real numbers have room for the complex ones.
    real_in_place: Option<Layout>,
}

impl Shape {
    /// A batch of transforms. `sides` are those of an advanced layout.
    ///
    /// # Errors
    /// `CUFFT_INVALID_SIZE` if no memory is that large.
    pub fn new(ty: Type, sizes: [usize; 3], batch: usize, sides: Option<(Side, Side)>) -> Outcome<Self> {
        let half = [sizes[0], sizes[1], sizes[2] / 2 + 1];
        let (from, to) = match ty.kind {
            Kind::Complex => (sizes, sizes),
            Kind::FromReal => (sizes, half),
            Kind::ToReal => (half, sizes),
        };
        let large = Status::INVALID_SIZE;
        let layout = |sizes: [usize; 3], side: Side| {
            Layout::new(sizes, side.embed, side.stride, batch, side.distance).ok_or(large)
        };
        let packed = |sizes, embed| Layout::packed(sizes, embed, batch).ok_or(large);
        let (input, output, real_in_place) = match sides {
            Some((input, output)) => (layout(from, input)?, layout(to, output)?, None),
            None => {
                let padded = [half[0], half[1], 2 * half[2]];
                (packed(from, from)?, packed(to, to)?, Some(packed(sizes, padded)?))
            }
        };
        Ok(Self { ty, sizes, input, output, real_in_place })
    }

    /// The layouts of the input and of the output.
    pub fn layouts(&self, in_place: bool) -> (Layout, Layout) {
        match (self.ty.kind, self.real_in_place) {
            (Kind::FromReal, Some(real)) if in_place => (real, self.output),
            (Kind::ToReal, Some(real)) if in_place => (self.input, real),
            _ => (self.input, self.output),
        }
    }

    /// Bytes of a work area that has room for all complex numbers.
    pub fn work_size(&self) -> usize {
        let counts = if self.ty.kind == Kind::ToReal { self.input.counts } else { self.output.counts };
        counts.iter().product::<usize>() * self.ty.complex_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(number: u32, sizes: [usize; 3], batch: usize) -> Shape {
        Shape::new(Type::new(number).unwrap(), sizes, batch, None).unwrap()
    }

    #[test]
    fn types_are_those_of_cufft() {
        for (number, kind, is_double) in [
            (0x29, Kind::Complex, false),
            (0x2a, Kind::FromReal, false),
            (0x2c, Kind::ToReal, false),
            (0x69, Kind::Complex, true),
            (0x6a, Kind::FromReal, true),
            (0x6c, Kind::ToReal, true),
        ] {
            assert_eq!(Type::new(number), Ok(Type { kind, is_double }));
        }
        for number in [0, 0x2b, 0x39, 0x9, 0x129] {
            assert_eq!(Type::new(number), Err(Status::INVALID_TYPE));
        }
    }

    #[test]
    fn real_rows_are_padded_in_place_only() {
        let rows = |layout: Layout| (layout.counts, layout.steps);
        let (input, output) = shape(0x2a, [1, 3, 5], 2).layouts(true);
        assert_eq!(rows(input), ([2, 1, 3, 5], [18, 18, 6, 1]));
        assert_eq!(rows(output), ([2, 1, 3, 3], [9, 9, 3, 1]));
        let (input, output) = shape(0x2a, [1, 3, 5], 2).layouts(false);
        assert_eq!(rows(input), ([2, 1, 3, 5], [15, 15, 5, 1]));
        assert_eq!(rows(output), ([2, 1, 3, 3], [9, 9, 3, 1]));
        // Also with one dimension.
        let (input, output) = shape(0x6c, [1, 1, 8], 2).layouts(true);
        assert_eq!(rows(input), ([2, 1, 1, 5], [5, 5, 5, 1]));
        assert_eq!(rows(output), ([2, 1, 1, 8], [10, 10, 10, 1]));
        // An advanced layout is what it says.
        let side = Side { embed: [1, 1, 8], stride: 1, distance: 8 };
        let advanced = Shape::new(Type::new(0x2a).unwrap(), [1, 1, 8], 2, Some((side, side))).unwrap();
        assert_eq!(rows(advanced.layouts(true).0), ([2, 1, 1, 8], [8, 8, 8, 1]));
    }

    #[test]
    fn a_work_area_has_room_for_the_complex_numbers() {
        assert_eq!(shape(0x29, [1, 3, 5], 2).work_size(), 30 * 8);
        assert_eq!(shape(0x2a, [1, 3, 5], 2).work_size(), 18 * 8);
        assert_eq!(shape(0x6c, [2, 3, 4], 1).work_size(), 18 * 16);
    }
}
