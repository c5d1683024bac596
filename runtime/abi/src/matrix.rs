//! Products of matrices that a warp holds together, as they travel through
//! `__gpurace_matrix` (see [`crate::entry`]): which matrices, and which lane has
//! which element.

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// `.f16`.
    F16 = 0,
    /// `.bf16`.
    Bf16 = 1,
    /// `.tf32`: the lower 13 bits of a float do not take part.
    Tf32 = 2,
    /// `.f64`.
    F64 = 3,
    /// `.s8`.
    S8 = 4,
    /// `.u8`.
    U8 = 5,
    /// `.f32`.
    F32 = 6,
    /// `.s32`.
    S32 = 7,
    /// `.e4m3`: 8 bits, 4 of exponent.
    E4m3 = 8,
    /// `.e5m2`: 8 bits, 5 of exponent.
    E5m2 = 9,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::F16,
        Self::Bf16,
        Self::Tf32,
        Self::F64,
        Self::S8,
        Self::U8,
        Self::F32,
        Self::S32,
        Self::E4m3,
        Self::E5m2,
    ];

    /// The type of this PTX name; `None` for others, those of less than a byte among them.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f64" => Self::F64,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "f32" => Self::F32,
            "s32" => Self::S32,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            _ => return None,
        })
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::S8 | Self::U8 | Self::E4m3 | Self::E5m2 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::F32 | Self::S32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Rows and columns of the three matrices: A is `m` by `k`, B `k` by `n`, C and D `m` by `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as PTX names them")]
pub struct Shape {
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

impl Shape {
    /// Of text such as `m16n16k16`, if no number is above 32.
    pub fn named(text: &str) -> Option<Self> {
        let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        let shape = Self { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? };
        let fits = |size: u32| size.is_power_of_two() && size <= 32;
        (fits(shape.m) && fits(shape.n) && fits(shape.k)).then_some(shape)
    }
}

/// Which lane has which elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Of `wmma`, which leaves it open: element `e` of lane `l` is number `32 e + l` of
    /// the matrix, row by row.
    Round,
    /// Of `mma` (PTX ISA, "Matrix Fragments for mma"): four lanes share a row of A and of C, and
    /// a column of B.
    Quads,
}

/// One of the three places of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as PTX names them")]
pub enum Place {
    A,
    B,
    /// C and D.
    Sum,
}

/// `D = A * B + C`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as PTX names them")]
pub struct Product {
    pub shape: Shape,
    pub layout: Layout,
    pub a: Kind,
    pub b: Kind,
    pub c: Kind,
    pub d: Kind,
    /// Whole numbers stop at the largest and the smallest.
    pub saturates: bool,
}

impl Product {
    /// As one number: logarithms of the sizes from bit 0, the types from bit 9, then
    /// whether it saturates and the layout.
    pub const fn word(self) -> u32 {
        let Shape { m, n, k } = self.shape;
        m.trailing_zeros()
            | n.trailing_zeros() << 3
            | k.trailing_zeros() << 6
            | (self.a as u32) << 9
            | (self.b as u32) << 13
            | (self.c as u32) << 17
            | (self.d as u32) << 21
            | (self.saturates as u32) << 25
            | matches!(self.layout, Layout::Quads) as u32 * (1 << 26)
    }

    /// Of [`Self::word`]; `None` for a number that is none.
    pub fn of_word(word: u32) -> Option<Self> {
        let kind = |at: u32| Kind::ALL.get((word >> at & 15) as usize).copied();
        let size = |at: u32| 1 << (word >> at & 7);
        Some(Self {
            shape: Shape { m: size(0), n: size(3), k: size(6) },
            layout: if word >> 26 & 1 != 0 { Layout::Quads } else { Layout::Round },
            a: kind(9)?,
            b: kind(13)?,
            c: kind(17)?,
            d: kind(21)?,
            saturates: word >> 25 & 1 != 0,
        })
    }

    /// Rows and columns of a matrix.
    pub const fn size(&self, place: Place) -> (u32, u32) {
        let Shape { m, n, k } = self.shape;
        match place {
            Place::A => (m, k),
            Place::B => (k, n),
            Place::Sum => (m, n),
        }
    }

    /// Row and column of element `e` of lane `lane`, of a matrix of elements of `kind`; `None` where the
    /// lane has room for more elements than there are.
    pub fn position(&self, place: Place, kind: Kind, lane: u32, e: u32) -> Option<(u32, u32)> {
        let (rows, columns) = self.size(place);
        if self.layout == Layout::Round {
            let number = 32 * e + lane;
            return (number < rows * columns).then(|| (number / columns, number % columns));
        }
        let (quad, in_quad) = (lane / 4, lane % 4);
        if place == Place::Sum {
            return Some((quad + e / 2 * 8, in_quad * 2 + e % 2));
        }
        // Elements of a register lie side by side along `k`; registers go down the rows of A
        // first, where it has 16, and then along `k`.
        let held = (4 / kind.bytes()).max(1);
        let (register, in_register) = (e / held, e % held);
        let down = if place == Place::A { rows / 8 } else { 1 };
        let along = register / down * 4 * held + in_quad * held + in_register;
        let across = quad + register % down * 8;
        Some(if place == Place::A { (across, along) } else { (along, across) })
    }

    /// How many elements a lane has of a matrix.
    pub const fn held(&self, place: Place) -> u32 {
        let (rows, columns) = self.size(place);
        match (place, self.layout) {
            // Halves have room for the largest shape (PTX ISA, "Matrix Fragments for WMMA").
            (Place::A | Place::B, Layout::Round) if matches!(self.a, Kind::F16) => 16,
            _ => rows * columns / 32,
        }
    }

    /// Where a lane's parts of B, C and D begin in its buffer, which begins with A's, and the
    /// buffer's length: bytes.
    pub const fn starts(&self) -> [u32; 4] {
        let b = self.held(Place::A) * self.a.bytes();
        let c = b + self.held(Place::B) * self.b.bytes();
        let d = c + self.held(Place::Sum) * self.c.bytes();
        [b, c, d, d + self.held(Place::Sum) * self.d.bytes()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(shape: &str, layout: Layout, a: Kind, sum: Kind) -> Product {
        let shape = Shape::named(shape).unwrap();
        Product { shape, layout, a, b: a, c: sum, d: sum, saturates: false }
    }

    #[test]
    fn words_say_products() {
        let mut product = product("m16n8k32", Layout::Quads, Kind::E4m3, Kind::F32);
        product.b = Kind::E5m2;
        product.saturates = true;
        assert_eq!(Product::of_word(product.word()), Some(product));
        product.layout = Layout::Round;
        assert_eq!(Product::of_word(product.word()), Some(product));
        assert_eq!(Product::of_word(15 << 9), None);
    }

    /// Each element of each matrix has one place in one lane.
    #[test]
    fn every_element_is_held_once() {
        for (shape, kind, sum) in [
            ("m16n8k8", Kind::F16, Kind::F32),
            ("m16n8k16", Kind::Bf16, Kind::F32),
            ("m16n8k4", Kind::Tf32, Kind::F32),
            ("m16n8k8", Kind::Tf32, Kind::F32),
            ("m8n8k4", Kind::F64, Kind::F64),
            ("m16n8k16", Kind::F64, Kind::F64),
            ("m8n8k16", Kind::S8, Kind::S32),
            ("m16n8k16", Kind::U8, Kind::S32),
            ("m16n8k32", Kind::E4m3, Kind::F32),
        ] {
            for layout in [Layout::Quads, Layout::Round] {
                let product = product(shape, layout, kind, sum);
                for (place, kind) in [(Place::A, kind), (Place::B, kind), (Place::Sum, sum)] {
                    let (rows, columns) = product.size(place);
                    let mut seen = [0; 32 * 32];
                    for lane in 0..32 {
                        for e in 0..product.held(place) {
                            let Some((row, column)) = product.position(place, kind, lane, e) else {
                                continue;
                            };
                            assert!(
                                row < rows && column < columns,
                                "{shape} {place:?}: row {row}, column {column}"
                            );
                            seen[(row * columns + column) as usize] += 1;
                        }
                    }
                    assert!(seen[..(rows * columns) as usize].iter().all(|&n| n == 1), "{shape} {place:?}");
                }
            }
        }
    }

    /// Examples from the figures of the PTX ISA.
    #[test]
    fn lanes_have_what_the_figures_show() {
        let halves = product("m16n8k16", Layout::Quads, Kind::F16, Kind::F32);
        assert_eq!(halves.position(Place::A, Kind::F16, 5, 2), Some((9, 2)));
        assert_eq!(halves.position(Place::A, Kind::F16, 5, 5), Some((1, 11)));
        assert_eq!(halves.position(Place::B, Kind::F16, 5, 3), Some((11, 1)));
        assert_eq!(halves.position(Place::Sum, Kind::F32, 5, 3), Some((9, 3)));
        let bytes = product("m16n8k32", Layout::Quads, Kind::S8, Kind::S32);
        assert_eq!(bytes.position(Place::A, Kind::S8, 31, 10), Some((7, 30)));
        assert_eq!(bytes.position(Place::A, Kind::S8, 31, 6), Some((15, 14)));
        assert_eq!(bytes.starts(), [16, 24, 40, 56]);
    }
}
